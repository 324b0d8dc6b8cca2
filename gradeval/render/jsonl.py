"""An object on each line: run, query, metric and the exact value. ASCII, with null for undefined."""

from __future__ import annotations

import json

from gradeval.render.layout import RenderOptions, blocks, with_ends
from gradeval.results import Column, Results


def render(results: Results, options: RenderOptions) -> str:
    lines: list[str] = []
    cells = _with_ends if results.has_tie_range else _cells
    for block in blocks(results, options, cells):
        run = json.dumps(block.run.name)
        names = [f'"metric": {json.dumps(str(spec))}, "value": ' for spec in block.specs]
        for query, row in zip(block.queries, block.rows, strict=False):
            start = f'{{"run": {run}, "query": {json.dumps(query)}, '
            lines += [f"{start}{name}{text}}}\n" for name, text in zip(names, row, strict=True)]
    return "".join(lines)


def _cells(column: Column) -> list[str]:
    if column.texts is not None:
        return list(map(json.dumps, column.texts))
    return ["null" if number is None else repr(number) for number in column.exact()]


def _with_ends(column: Column) -> list[str]:
    rows = with_ends(column, _cells, absent="null")
    return [f'{value}, "low": {low}, "high": {high}' for value, low, high in rows]
