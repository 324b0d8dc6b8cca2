"""The command run in this process, and what it prints beside the values of the slow pipeline."""

import csv
import io
import json
import math
import shlex
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unicodedata import category
from unittest import mock

from cli.command import Done
from cli.command import gradeval as command

from gradeval.formats.sources import Block, Source

from .attack import Wrong
from .slow import QUERIES_ONLY, SUMMARY_ONLY, Value, Values

Row = tuple[str, Value]  # query, value
TURNS = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # of writing


def gradeval(*args: object, stdin: str | None = None) -> Done:
    """What the command does; code 0 or 2, and on stdout nothing where it fails."""
    done = command(*args, stdin=stdin)
    require(done.code in (0, 2), f"exit code {done.code}", args, done)
    require(done.code == 0 or bool(done.err), "it fails without a word", args, done)
    errors = [line for line in done.err.split("\n") if line and not line.startswith(("warning: ", "note: "))]
    require(done.code == 2 or not errors, "there is an error, and it does not fail", args, done)
    require(not obeyed(done.err), f"a message that a terminal would obey\n{obeyed(done.err)!r}", args, done)
    return done


def require(is_right: bool, what: str, args: Sequence[object], done: Done | None = None) -> None:
    """Raise Wrong with all that one needs to see it again."""
    if not is_right:
        said = done and f"\nexit code {done.code}\nstdout: {done.out[:2000]}\nstderr: {done.err[:2000]}"
        typed = shlex.join(["gradeval", *map(str, args)])
        raise Wrong(f"{what}\n{typed}{said or ''}")


def obeyed(text: str) -> str:
    """What of the text a terminal obeys, takes for a line's end, or turns around."""
    lines = text.replace("\n", "")
    return "".join(char for char in lines if category(char) in ("Cc", "Zl", "Zp") or char in TURNS)


def same(found: Value, expected: Value, absolute: float = 1e-12) -> bool:
    if isinstance(found, str) or isinstance(expected, str):
        return found == expected
    if math.isnan(found) or math.isnan(expected):
        return math.isnan(found) and math.isnan(expected)
    return math.isclose(found, expected, rel_tol=1e-9, abs_tol=absolute)


def check_values(
    args: Sequence[object],
    done: Done,
    expected: Sequence[Values],
    form: str = "tsv",
    *,
    per_query: bool = True,
    summary: bool = True,
    digits: int | None = None,
) -> int:
    """Compare what was printed with the values of each run, row by row. Returns how many were compared."""
    require(done.code == 0, "it fails where it should not", args, done)
    wanted = [row for values in expected for row in _rows(values, per_query, summary)]
    found = list(printed(done.out, form))
    # JSON can hold no two metrics of a name, nor an order of its own
    require(len(found) == len(wanted), f"{len(found)} rows where there should be {len(wanted)}", args, done)
    exact = digits is None or form.startswith("json")
    absolute = 1e-12 if exact else 0.5 * 10.0 ** -(digits or 0) * (1 + 1e-6) + 1e-12
    for (query, metric, value), (its_query, its_metric, its_value) in zip(found, wanted, strict=True):
        where = f"{metric} ({its_metric}) of query {query!r}"
        require(query == its_query, f"{where}: the query should be {its_query!r}", args, done)
        number = math.nan if value is None else value
        right = same(number if isinstance(its_value, str) else float(number), its_value, absolute)
        require(right, f"{where}: {value!r} where it should be {its_value!r}", args, done)
    return len(wanted)


def _rows(values: Values, per_query: bool, summary: bool) -> Iterator[tuple[str, str, Value]]:
    names = [f"{name}{dict(params) or ''}" for name, params in values.metrics]
    kinds = [name for name, _ in values.metrics]
    if per_query:
        for query, row in zip(values.queries, values.per_query, strict=True):
            for kind, name, value in zip(kinds, names, row, strict=True):
                if kind not in SUMMARY_ONLY:
                    yield query.decode("utf-8", "surrogateescape"), name, value
    if summary:
        for kind, name, value in zip(kinds, names, values.summary, strict=True):
            if kind not in QUERIES_ONLY:
                yield "all", name, value


def printed(text: str, form: str) -> Iterator[tuple[str, str, Any]]:
    if form == "tsv":
        for line in text.split("\n")[1:-1]:
            yield tuple(line.split("\t")[1:])  # type: ignore[misc]
    elif form == "csv":
        for row in list(csv.reader(io.StringIO(text, newline="")))[1:]:
            yield tuple(row[1:])  # type: ignore[misc]
    elif form == "jsonl":
        for line in text.split("\n")[:-1]:
            row = json.loads(line)
            yield row["query"], row["metric"], row["value"]
    else:
        for run in json.loads(text)["runs"]:
            for query, row in run.get("per_query", {}).items():
                yield from ((query, metric, value) for metric, value in row.items())
            yield from (("all", metric, value) for metric, value in run.get("summary", {}).items())


def blocks_of(size: int | None) -> AbstractContextManager[object]:
    """All files are read in blocks of this size (None: as ever)."""
    plain = Source.blocks
    if size is None:
        return nullcontext()

    def in_size(self: Source, *_: object, **__: object) -> Iterator[Block]:
        return plain(self, size)

    return mock.patch.multiple(Source, blocks=in_size, blocks_from_head=in_size)
