"""Saved results: what `gradeval -f json -q` printed, read back in place of the runs it was made from."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from gradeval.errors import InputError, named
from gradeval.formats.fields import read_text
from gradeval.formats.sources import Source

FORMAT_VERSION = 1
"""The version of the json format that is written and read."""

_HINT = "Save results with 'gradeval QRELS RUN -q -f json -o FILE'"
# the keys of JSON qrels and runs have objects and numbers
_SAVED = re.compile(rb'\s*\{\s*"(?:(?:gradeval|format)"\s*:\s*[^\s{]|.*"gradeval"\s*:\s*")', re.DOTALL)

T = TypeVar("T")
Values = Mapping[str, Mapping[str, float]]
"""query -> metric -> value, NaN where it is undefined."""


@dataclass(frozen=True)
class SavedRun:
    """One run of a saved result. name, path, sha256: of the run when it was evaluated.

    ties: the order of tied scores, None where it is not said.
    """

    name: str
    path: str
    sha256: str | None
    values: Values = field(repr=False)
    ties: str | None = None


@dataclass(frozen=True)
class SavedResult:
    """What a saved result holds. path: its own; qrels, qrels_sha256, options: what it was made from.

    metrics: canonical names. notices: as JSON has them.
    """

    path: str
    qrels: str
    qrels_sha256: str
    options: Mapping[str, Any]
    metrics: tuple[str, ...]
    runs: tuple[SavedRun, ...]
    notices: tuple[Mapping[str, Any], ...] = ()


def is_saved(source: Source) -> bool:
    """Whether the file begins as saved results do, and not as JSON of qrels and runs. Raises InputError."""
    for block in source.blocks(1 << 12):
        start = block.bytes[: block.size].tobytes()
        if start.strip():
            return _SAVED.match(start) is not None
    return False


def reject_saved(text: bytes, name: str, number: str) -> None:
    """Raise InputError where the text of a file of documents begins as saved results do."""
    if _SAVED.match(text[: 1 << 12]):
        hint = f"Give the {'qrels' if number == 'grade' else 'run'} that it was made from"
        raise InputError(name, "a saved result has no documents", hint=hint)


def read_saved(source: Source) -> SavedResult:
    """The saved result in a file. Raises InputError where it is none, or has no values per query."""
    content = _parsed(source)
    if not isinstance(content, dict) or "gradeval" not in content:
        raise _invalid(source, "this JSON is not a saved result of gradeval")
    if "comparisons" in content:
        raise _invalid(source, "this is the output of 'gradeval compare', not a saved result")
    version = _item(source, content, "format", int)
    if version != FORMAT_VERSION:
        raise InputError(source.name, f"its format is {version}; this gradeval reads format {FORMAT_VERSION}")
    qrels = _item(source, content, "qrels", dict)
    if qrels.get("sha256") is None:
        raise _invalid(source, _unnamed_qrels(content.get("runs")))
    metrics = _item(source, content, "metrics", list)
    return SavedResult(
        source.name,
        str(qrels.get("path")),
        _item(source, qrels, "sha256", str),
        _item(source, content, "options", dict),
        tuple(map(str, metrics)),
        tuple(_run(source, run) for run in _item(source, content, "runs", list)),
        tuple(one for one in content.get("notices", ()) if isinstance(one, dict)),
    )


def _unnamed_qrels(runs: Any) -> str:
    """What is wrong with a result that does not name its qrels."""
    has_values = not isinstance(runs, list) or any(isinstance(run, dict) and "per_query" in run for run in runs)
    if has_values:
        return "it does not name the qrels file that it was made from"
    what = "it has neither values per query nor the SHA-256 of its qrels, as all results of 'gradeval spark'"
    return f"{what}, which compares runs itself (--baseline)"


def _parsed(source: Source) -> Any:
    def refused(name: str) -> NoReturn:
        raise _invalid(source, f"{name} is not JSON")

    try:
        return json.loads(read_text(source).decode("utf-8"), parse_constant=refused)
    except json.JSONDecodeError as error:
        raise InputError(source.name, f"this is not JSON ({error.msg})", line=error.lineno) from None
    except (ValueError, RecursionError) as error:  # bytes that are not UTF-8, an integer without end, [[[[…
        raise InputError(source.name, f"this JSON cannot be read ({type(error).__name__})") from None


def _run(source: Source, run: Any) -> SavedRun:
    if not isinstance(run, dict):
        raise _invalid(source, "a run is not an object")
    name = _item(source, run, "name", str)
    if "per_query" not in run:
        raise _invalid(source, f"run {named(name)} has no values per query, since it was made without -q")
    rows = _item(source, run, "per_query", dict)
    values = {query: _row(source, query, row) for query, row in rows.items()}
    sha256, ties = (None if run.get(key) is None else str(run[key]) for key in ("sha256", "ties"))
    return SavedRun(name, str(run.get("path")), sha256, values, ties)


def _row(source: Source, query: str, row: Any) -> dict[str, float]:
    """The numbers of one query; the strings of text metrics are ignored."""
    if not isinstance(row, dict):
        raise _invalid(source, f"the values of query {named(query)} are not an object")
    return {
        metric: _number(source, query, metric, value)
        for metric, value in row.items()
        if not isinstance(value, str)
    }


def _number(source: Source, query: str, metric: str, value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise _invalid(source, f"{metric} of query {named(query)} is not a finite number")


def _item(source: Source, content: Mapping[str, Any], key: str, kind: type[T]) -> T:
    value = content.get(key)
    if not isinstance(value, kind):
        raise _invalid(source, f"'{key}' is missing" if key not in content else f"'{key}' is not valid")
    return value


def _invalid(source: Source, what: str) -> InputError:
    return InputError(source.name, what, hint=_HINT)
