"""A row for each value: run, query, metric and value, separated by commas and quoted where needed."""

from __future__ import annotations

import csv
from functools import partial

from gradeval.render.layout import Look, blocks, column
from gradeval.results import Results


def render(results: Results, look: Look) -> str:
    lines = _Lines()
    writer = csv.writer(lines)  # whose own line ends have it quote a CR too
    writer.writerow(["run", "query", "metric", "value"])
    for block in blocks(results, look, partial(column, digits=look.digits)):
        run = block.run.name
        names = [str(spec) for spec in block.specs]
        for query, row in zip(block.queries, block.rows, strict=False):
            writer.writerows((run, query, name, text) for name, text in zip(names, row, strict=True))
    return "".join(lines)


class _Lines(list[str]):
    """The rows that a writer writes, one behind the other, each with the line end of all our formats."""

    def write(self, row: str) -> None:
        self.append(row.removesuffix("\r\n") + "\n")
