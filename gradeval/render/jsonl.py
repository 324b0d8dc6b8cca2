"""An object on each line: run, query, metric and the exact value. ASCII, with null for undefined."""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii

from gradeval.render.layout import RenderOptions, blocks, exact_texts, rows_of, with_ends
from gradeval.results import Results
from gradeval.run_result import Column


def render(results: Results, options: RenderOptions) -> str:
    lines: list[str] = []
    cells = _with_ends if results.has_tie_range else exact_texts
    for block in blocks(results, options, cells):
        run = json.dumps(block.run.name)
        starts = [f'{{"run": {run}, "query": {encode_basestring_ascii(query)}, ' for query in block.queries]
        lines.append(
            rows_of(block, starts, lambda spec: f'"metric": {json.dumps(str(spec))}, "value": ', "}\n")
        )
    return "".join(lines)


def _with_ends(column: Column) -> list[str]:
    rows = with_ends(column, exact_texts, absent="null")
    return [f'{value}, "low": {low}, "high": {high}' for value, low, high in rows]
