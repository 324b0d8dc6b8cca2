"""Attack: files that grow while they are read: an error, or the values and hashes of a state of theirs."""

import json
import random
import re
from pathlib import Path
from typing import Any

from cli.command import Done
from plain import changing

from . import damage, data
from .call import gradeval, require

UNIT = "calls"

CALLS = (
    "q r", "q r r2", "q r --query-ids ./i", "l s", "l --feature 1,2", "v --feature 1",
    "q r.csv", "q r.jsonl", "q r.json", "q r.parquet", "q saved.json", "q.parquet r",
)  # fmt: skip
EVAL = ["-mAP nDCG", "-q", "-fjson"]
MANIFEST = b"""
metrics = "AP nDCG"
systems = ["r", "r2"]
[collections.c]
qrels = "q"
runs = "{system}"
"""

Values = dict[str, Any]
"""By run: the hashes and values that were printed."""


def make(rng: random.Random) -> tuple[Any, ...]:
    files, call = {**damage.FILES, "v.query": damage.FILES["g"], "m.toml": MANIFEST}, rng.choice(CALLS).split()
    grown = rng.choice([*filter(re.compile(r"[a-z.][\w./]*$").match, call), *["v.query"] * ("v" in call)])
    args = [*call, *EVAL, f"-j{rng.choice([1, 2])}"]
    if not grown.endswith((".csv", ".jsonl", ".json", ".parquet")) and rng.random() < 0.7:
        collection = data.made(rng, runs=2)
        files["q"] = data.dressed(rng, data.qrels_rows(collection.qrels))
        files["r"], files["r2"] = (data.dressed(rng, data.run_rows(lines)) for lines in collection.runs)
        files["i"] = b"\n".join(collection.qrels) + b"\n"
        if rng.random() < 0.4:
            args, grown = ["batch", "m.toml", "-fjson"], rng.choice(["q", "r", "r2"])
        packer = data.PACKERS[rng.choice(list(data.PACKERS))] if rng.random() < 0.4 else bytes
        name = grown if grown in files else "r"
        files[name] = packer(files[name])
    behind = rng.choice([0, 1, 2, 3, rng.randrange(40)])
    most = rng.choice([40, 300, 1 << 20, 1 << 20])
    return files, args, grown.removeprefix("./"), rng.random(), rng.random() < 0.7, behind, most


def check(
    files: dict[str, bytes],
    args: list[str],
    grown: str,
    share: float,
    by_line: bool,
    behind: int,
    most: int,
) -> int:
    """grown: the file of which about this share is there at first. by_line: whether that is whole lines.
    behind: the number of the read behind which the rest comes. most: bytes of a read.
    """
    for name, content in files.items():
        Path(name).write_bytes(content)
    for name in {"saved.json", grown, *args} - files.keys():
        _make(name)
    whole = Path(grown).read_bytes()
    size = int(share * len(whole))
    size = whole.rfind(b"\n", 0, size) + 1 if by_line else size
    after = gradeval(*args)
    Path(grown).write_bytes(whole[:size])
    before = gradeval(*args)

    def grow() -> None:
        with open(grown, "ab") as file:
            file.write(whole[size:])

    named = f"./{grown}" if f"./{grown}" in args else grown
    with changing(named, grow, lambda size, number: number == behind, most):
        done = gradeval(*args)
    how = [*args, f"# {grown} grows from {size} bytes to {len(whole)} behind read {behind}"]
    check_one_of(how, done, [before, after], named)
    if args[0] == "batch" and done.out:
        Path("out.json").write_text(done.out, errors="surrogateescape")
        Path(grown).write_bytes(whole)
        resumed = gradeval(*args, "--resume", "-o", "out.json")
        kept = resumed._replace(out=Path("out.json").read_text(errors="surrogateescape"))
        require(values_of(kept) == values_of(after), "a cell is kept whose files have changed", how, resumed)
    return 1


def _make(name: str) -> None:
    """A file in another format, or a saved result."""
    stem, _, kind = name.partition(".")
    if name == "saved.json":
        Path(name).write_text(gradeval("q", "r", *EVAL).out, errors="surrogateescape")
    elif kind in ("csv", "jsonl", "json", "parquet"):
        gradeval("convert", stem, name)


def check_one_of(how: list[str], done: Done, states: list[Done], grown: str) -> None:
    """Each run is printed as in one of the states; what is missing is an error of one, or of the change."""
    known = [values_of(state) for state in states]
    for name, values in values_of(done).items():
        require(values in [of.get(name) for of in known], f"run {name!r} is of no state of a file", how, done)
    lines = {line for state in states for line in state.lines}
    changed = f"{grown}: the file changed while it was read. Run this again when it is complete"
    for line in done.lines:
        is_known = line in lines or line == changed or line.startswith(("warning: ", "note: "))
        require(is_known, "an error of no state of a file", how, done)


def values_of(call: Done) -> Values:
    content = json.loads(call.out or "{}")
    if "cells" in content:
        keys = "sha256", "qrels_sha256", "values"
        cells = (cell for cell in content["cells"] if cell["status"] == "done")
        return {cell["system"]: [cell[key] for key in keys] for cell in cells}
    keys = "sha256", "per_query", "summary"
    return {run["name"]: [content["qrels"], *map(run.get, keys)] for run in content.get("runs", ())}
