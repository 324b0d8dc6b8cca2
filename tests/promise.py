"""What the promise of the guide covers: an inventory of all names that users write or programs read.

python tests/promise.py adds what is new to tests/promise.json, and removes nothing: what goes is deprecated
first, and its line is deleted by hand with the release that removes it.
"""

import inspect
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from cli.command import gradeval as command

import gradeval
from gradeval.cli import app
from gradeval.notices import NoticeKind
from gradeval.registry.dialects import GROUPS
from gradeval.registry.metric import REGISTRY, load

ROOT = Path(__file__).parents[1]
FILE = Path(__file__).with_suffix(".json")
SEARCH = ROOT / "sample_data" / "search"
SCHEMAS = ROOT / "gradeval" / "guide" / "schemas"

# The guide names the same: these may change in any version until 1.1.
PROVISIONAL_COMMANDS = ("diff", "estimate", "fuse", "pool")
PROVISIONAL_OPTIONS = ("--bounds", "--history", "--top-grade", "--window")
PROVISIONAL_PYTHON = (
    "diff",
    "estimate",
    "fuse",
    "pool",
    "Diff",
    "Estimates",
    "Fusion",
    "Pool",
    "bounds",
    "top_grade",
)
PROVISIONAL_SCHEMAS = ("diff", "estimate", "fusion")
PROVISIONAL_KINDS = ("bias_differs", "forecast", "no_random_sample")

# Commands whose tab-separated output has a row of column names.
TABLES = (
    "qrels.txt bm25.run -m nDCG@10",
    "qrels.txt bm25.run -m nDCG@10 --interval 95",
    "qrels.txt bm25.run -m nDCG@10 --tie-range",
    "qrels.txt bm25.run dense.run -m nDCG@10 --rank",
    "qrels.txt bm25.run dense.run -m nDCG@10 --spread",
    "compare qrels.txt bm25.run dense.run -m nDCG@10",
    "gate qrels.txt hybrid.run --require nDCG@10>=0.5",
    "plot curve qrels.txt bm25.run",
    "plot queries qrels.txt bm25.run dense.run",
    "study agreement qrels.txt bm25.run dense.run hybrid.run -m nDCG@10",
)


def written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def keys_of(schema: Any, path: str = "") -> Iterator[str]:
    """The paths of the keys that a JSON Schema describes; a key that may be missing ends with '?'."""
    if isinstance(schema, list):
        for part in schema:
            yield from keys_of(part, path)
    elif isinstance(schema, dict):
        required = schema.get("required", ())
        for name, part in schema.get("properties", {}).items():
            yield f"{path}/{name}" + ("" if name in required else "?")
            yield from keys_of(part, f"{path}/{name}")
        for name, part in schema.items():
            if name != "properties":
                yield from keys_of(part, f"{path}/${name}" if name == "$defs" else path)


def options_of(name: str) -> list[str]:
    params = app.get_command(click.Context(app), name).params
    options = {
        text for param in params for text in (*param.opts, *param.secondary_opts) if text.startswith("-")
    }
    return sorted(options - {*PROVISIONAL_OPTIONS})


def parts_of(name: str) -> list[str]:
    """What users write of a public name: parameters of a function, attributes of a class or a module."""
    value = getattr(gradeval, name)
    if inspect.isfunction(value) or name == "Evaluator":
        parameters = inspect.signature(value).parameters
        names = [part for part in parameters if f"--{part.replace('_', '-')}" not in PROVISIONAL_OPTIONS]
    elif inspect.ismodule(value) or (inspect.isclass(value) and not issubclass(value, Warning)):
        names = [attribute for attribute in dir(value) if not attribute.startswith("_")]
    else:
        names = []
    return [part for part in names if part not in PROVISIONAL_PYTHON]


def positions_of(name: str) -> list[str]:
    """The parameters of a public function that may be given by position."""
    value = getattr(gradeval, name)
    if not (inspect.isfunction(value) or name == "Evaluator"):
        return []
    parameters = inspect.signature(value).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]


def columns() -> dict[str, list[str]]:
    before = os.getcwd()
    os.chdir(SEARCH)
    try:
        outputs = {line: command(*line.split(), "-f", "tsv", "--quiet").out for line in TABLES}
    finally:
        os.chdir(before)
    return {line: output.split("\n", 1)[0].split("\t") for line, output in outputs.items()}


def inventory() -> dict[str, dict[str, list[str]]]:
    """What there is now: kind -> name -> what belongs to it."""
    load()
    commands = [name for name in app.list_commands(click.Context(app)) if name not in PROVISIONAL_COMMANDS]
    names = sorted({*gradeval.__all__} - {*PROVISIONAL_PYTHON})
    return {
        "metrics": {
            name: sorted({*metric.aliases, *(f"{param.name}=" for param in metric.params)})
            for name, metric in REGISTRY.items()
        },
        "groups": {name: [*group.measures] for name, group in GROUPS.items()},
        "commands": {name: options_of(name) for name in sorted(commands)},
        "kinds": {kind.value: [] for kind in NoticeKind if kind.value not in PROVISIONAL_KINDS},
        "schemas": {
            path.stem: sorted({*keys_of(json.loads(path.read_text("utf-8")))})
            for path in sorted(SCHEMAS.iterdir())
            if path.stem not in PROVISIONAL_SCHEMAS
        },
        "python": {name: parts_of(name) for name in names},
        "positions": {name: positions_of(name) for name in names if positions_of(name)},
    }


def merged(kept: dict[str, dict[str, list[str]]], now: dict[str, dict[str, list[str]]]) -> Any:
    """What was promised, and what is new; the order of columns and parameters is that of now."""
    return {
        kind: {
            name: [
                *now[kind].get(name, []),
                *(set(kept.get(kind, {}).get(name, [])) - {*now[kind].get(name, [])}),
            ]
            for name in {**kept.get(kind, {}), **now[kind]}
        }
        for kind in now
    }


if __name__ == "__main__":
    before = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    FILE.write_text(written(merged(before, {**inventory(), "columns": columns()})), "utf-8")
