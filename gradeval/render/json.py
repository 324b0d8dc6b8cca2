"""One object with everything: versions, inputs, options, and exact values. ASCII, with null for undefined."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gradeval.formats.saved import FORMAT_VERSION
from gradeval.render.layout import RenderOptions
from gradeval.results import Column, Results
from gradeval.version import __version__


def render(results: Results, options: RenderOptions) -> str:
    return json.dumps(content(results, options.per_query, options.summary), indent=2, default=str) + "\n"


def content(results: Results, per_query: bool, summary: bool) -> dict[str, Any]:
    """What is printed, as an object. Numbers are exact, counts are int, undefined is None."""
    return {
        "gradeval": __version__,
        "format": FORMAT_VERSION,
        "qrels": {"path": results.qrels, "sha256": results.qrels_sha256},
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
    entry["queries"] = int(run.counted.sum())
    if summary:
        columns = results.columns(r, per_query=False)
        for key, part in _with_ends("summary", columns, "low", "high"):
            entry[key] = {str(one.spec): one.exact()[0] for one in part}
        numbers = [m for m, spec in enumerate(results.specs) if not spec.metric.text]
        entry["undefined"] = {str(results.specs[m]): n for m in numbers if (n := results.undefined(r, m))}
    if per_query:
        queries, columns = results.counted_queries(r), results.columns(r, per_query=True)
        for key, part in _with_ends("per_query", columns, "per_query_low", "per_query_high"):
            names = [str(one.spec) for one in part]
            rows = zip(*(one.exact() for one in part), strict=True)
            values = (dict(zip(names, row, strict=True)) for row in rows)
            entry[key] = dict(zip(queries, values, strict=False))
    return entry


def _with_ends(key: str, columns: list[Column], low: str, high: str) -> Iterator[tuple[str, list[Column]]]:
    """The columns, and the ends of those that have them, each with its key."""
    yield key, columns
    numbers = [one for one in columns if one.ends]
    if numbers:
        yield from ((end, [one.ends[k] for one in numbers]) for k, end in enumerate((low, high)))
