"""One object with everything: versions, inputs, options, and exact values. ASCII, with null for undefined."""

from __future__ import annotations

import json
from collections.abc import Iterator
from json.encoder import encode_basestring_ascii
from typing import Any

from gradeval.formats.saved import FORMAT_VERSION
from gradeval.render.layout import RenderOptions, exact_texts, joined
from gradeval.results import Results
from gradeval.run_result import Column
from gradeval.version import __version__


def render(results: Results, options: RenderOptions) -> str:
    whole = content(results, False, options.summary)
    runs = []
    for r, entry in enumerate(whole["runs"]):
        text = _dumped(entry).replace("\n", "\n    ")  # no string has a line end
        if options.per_query:
            queries = list(map(encode_basestring_ascii, results.counted_queries(r)))
            for key, part in _per_query(results, r):
                text = f'{text.removesuffix(_END)},\n      "{key}": {_rows(queries, part)}{_END}'
        runs.append(f"    {text}")
    if not runs:
        return _dumped(whole) + "\n"
    return _dumped({**whole, "runs": []}).removesuffix("]\n}") + "\n" + ",\n".join(runs) + "\n  ]\n}\n"


_END = "\n    }"  # of a run


def _dumped(content: Any) -> str:
    return json.dumps(content, indent=2, default=str)


def _rows(queries: list[str], columns: list[Column]) -> str:
    """The values of the queries, as json.dumps writes them with indent=2; it takes several times as long."""
    if not queries or not columns:
        return "{}"
    parts: list[list[str] | str] = [queries]
    before = ": {"
    for column in columns:
        parts += (f"{before}\n          {json.dumps(str(column.spec))}: ", exact_texts(column))
        before = ","
    end = ",\n        "
    return "{\n        " + joined([*parts, "\n        }" + end], len(queries)).removesuffix(end) + "\n      }"


def content(results: Results, per_query: bool, summary: bool) -> dict[str, Any]:
    """What is printed, as an object. Numbers are exact, counts are int, undefined is None."""
    return {
        "gradeval": __version__,
        "format": FORMAT_VERSION,
        "qrels": results.judged_by,
        "options": dict(results.options),
        "metrics": [str(spec) for spec in results.specs],
        "warnings": list(results.warnings),
        "notices": [notice.to_dict() for notice in results.notices],
        "failed": [{"path": path, "errors": str(error).split("\n")} for path, error in results.failed],
        "runs": [_run(results, r, per_query, summary) for r in range(len(results.runs))],
    }


def _run(results: Results, r: int, per_query: bool, summary: bool) -> dict[str, Any]:
    run = results.runs[r]
    entry: dict[str, Any] = {"name": run.name, "path": run.path, "sha256": run.sha256, "ties": run.ties}
    entry["queries"] = run.queries
    if summary:
        columns = results.columns(r, per_query=False)
        for key, part in _with_ends("summary", columns, "low", "high"):
            entry[key] = {str(one.spec): one.exact()[0] for one in part}
        numbers = [m for m, spec in enumerate(results.specs) if not spec.metric.text]
        entry["undefined"] = {str(results.specs[m]): n for m in numbers if (n := results.undefined(r, m))}
    if per_query:
        queries = results.counted_queries(r)
        for key, part in _per_query(results, r):
            names = [str(one.spec) for one in part]
            rows = zip(*(one.exact() for one in part), strict=True)
            values = (dict(zip(names, row, strict=True)) for row in rows)
            entry[key] = dict(zip(queries, values, strict=False))
    return entry


def _per_query(results: Results, r: int) -> Iterator[tuple[str, list[Column]]]:
    """The values of queries, each part with its key."""
    return _with_ends("per_query", results.columns(r, per_query=True), "per_query_low", "per_query_high")


def _with_ends(key: str, columns: list[Column], low: str, high: str) -> Iterator[tuple[str, list[Column]]]:
    """The columns, and the ends of those that have them, each with its key."""
    yield key, columns
    numbers = [one for one in columns if one.ends]
    if numbers:
        yield from ((end, [one.ends[k] for one in numbers]) for k, end in enumerate((low, high)))
