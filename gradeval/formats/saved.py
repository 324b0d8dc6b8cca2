"""Saved results: what `gradeval -f json -q` printed, read back in place of the runs it was made from."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import NoneType
from typing import Any, NoReturn, TypeVar

from gradeval.errors import InputError, named
from gradeval.formats.lines import RepeatedKey, read_text, unique_keys
from gradeval.formats.sources import Source
from gradeval.options import TIES

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

    values: the numbers of each query; all queries have those of the same metrics. ties: the order of tied
    scores, None where it is not said. summary, undefined: of metrics; None where no summary was saved. depth:
    the most documents of a query, None where it is not said.
    """

    name: str
    path: str
    sha256: str | None
    values: Values = field(repr=False)
    ties: str | None = None
    summary: Mapping[str, float] | None = field(default=None, repr=False)
    undefined: Mapping[str, int] = field(default_factory=dict, repr=False)
    depth: int | None = None


@dataclass(frozen=True)
class SavedResult:
    """What a saved result holds. path: its own; qrels, qrels_sha256, options: what it was made from.

    groups_sha256: of the group sizes of qrels without qid, None for others. metrics: canonical names. notices:
    as JSON has them.
    """

    path: str
    qrels: str
    qrels_sha256: str
    groups_sha256: str | None
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
    if not all(isinstance(name, str) for name in metrics) or len(set(metrics)) < len(metrics):
        raise _invalid(source, "'metrics' is not valid")
    notices = _item(source, content, "notices", list)
    if not all(isinstance(one, dict) for one in notices):
        raise _invalid(source, "'notices' is not valid")
    runs = tuple(_run(source, run) for run in _item(source, content, "runs", list))
    names = [run.name for run in runs]
    if len(set(names)) < len(names):
        raise _invalid(source, f"two runs have the name {named(max(names, key=names.count))}")
    return SavedResult(
        source.name,
        str(qrels.get("path")),
        _item(source, qrels, "sha256", str),
        None if qrels.get("groups_sha256") is None else _item(source, qrels, "groups_sha256", str),
        _item(source, content, "options", dict),
        tuple(metrics),
        runs,
        tuple(notices),
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
        text = read_text(source).decode("utf-8")
        return json.loads(text, parse_constant=refused, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        raise InputError(source.name, f"this is not JSON ({error.msg})", line=error.lineno) from None
    except RepeatedKey as error:
        raise _invalid(source, f"{named(error.key)} is in an object twice") from None
    except (ValueError, RecursionError) as error:  # bytes that are not UTF-8, an integer without end, [[[[…
        raise InputError(source.name, f"this JSON cannot be read ({type(error).__name__})") from None


def _run(source: Source, run: Any) -> SavedRun:
    if not isinstance(run, dict):
        raise _invalid(source, "a run is not an object")
    name = _item(source, run, "name", str)
    if "per_query" not in run:
        raise _invalid(source, f"run {named(name)} has no values per query, since it was made without -q")
    of_run = f" of run {named(name)}"
    rows = _item(source, run, "per_query", dict)
    if _item(source, run, "queries", int) != len(rows) or isinstance(run["queries"], bool):
        what = f"run {named(name)} has {run['queries']} queries, and values of {len(rows)}"
        raise _invalid(source, what)
    values = {}
    for query, row in rows.items():
        place = f" of query {named(query)}{of_run}"
        if not isinstance(row, dict):
            raise _invalid(source, f"the values{place} are not an object")
        values[query] = _numbers(source, row, place)
    columns = dict.fromkeys(chain.from_iterable(rows.values()))
    numeric = set(chain.from_iterable(values.values()))
    for query, row in rows.items():
        for metric in columns if (len(row), len(values[query])) != (len(columns), len(numeric)) else ():
            if metric not in row or (metric in numeric and metric not in values[query]):
                what = "is not a finite number" if metric in row else "is missing"
                raise _invalid(source, f"{metric} of query {named(query)}{of_run} {what}")
    sha256, ties, path = (run.get(key) for key in ("sha256", "ties", "path"))
    if not isinstance(sha256, (str, NoneType)) or ties not in (None, *TIES) or not isinstance(path, str):
        raise _invalid(source, f"'sha256', 'ties' or 'path'{of_run} is not valid")
    summary, undefined = None, {}
    if "summary" in run or "undefined" in run:
        summary = _numbers(source, _item(source, run, "summary", dict), f" in the summary{of_run}")
        undefined = _item(source, run, "undefined", dict)
    if any(type(count) is not int for count in undefined.values()):
        raise _invalid(source, f"'undefined'{of_run} is not valid")
    depth = None if run.get("depth") is None else _item(source, run, "depth", int)
    return SavedRun(name, path, sha256, values, ties, summary, undefined, depth)


def _numbers(source: Source, row: Mapping[str, Any], place: str) -> dict[str, float]:
    """The numbers of a query or of the summary, NaN for null; the strings of text metrics are ignored."""
    found = {}
    for metric, value in row.items():
        if isinstance(value, str):
            continue
        try:
            found[metric] = math.nan if value is None else float(value)
        except (TypeError, OverflowError):
            found[metric] = math.inf
        if math.isinf(found[metric]) or isinstance(value, bool):
            raise _invalid(source, f"{metric}{place} is not a finite number")
    return found


def _item(source: Source, content: Mapping[str, Any], key: str, kind: type[T]) -> T:
    value = content.get(key)
    if not isinstance(value, kind):
        raise _invalid(source, f"'{key}' is missing" if key not in content else f"'{key}' is not valid")
    return value


def _invalid(source: Source, what: str) -> InputError:
    return InputError(source.name, what, hint=_HINT)
