"""An object on each line: run, query, metric and the exact value. ASCII, with null for undefined."""

from __future__ import annotations

import json

from gradeval.arrays import Floats
from gradeval.render.layout import Look, blocks
from gradeval.results import Results, exact_numbers


def render(results: Results, look: Look) -> str:
    lines: list[str] = []
    for block in blocks(results, look, _column, json.dumps):
        run = json.dumps(block.run.name)
        names = [f'"metric": {json.dumps(str(spec))}, "value": ' for spec in block.specs]
        for query, row in zip(block.queries, block.rows, strict=False):
            start = f'{{"run": {run}, "query": {json.dumps(query)}, '
            lines += [f"{start}{name}{text}}}\n" for name, text in zip(names, row, strict=True)]
    return "".join(lines)


def _column(values: Floats, whole: bool) -> list[str]:
    return ["null" if number is None else repr(number) for number in exact_numbers(values, whole)]
