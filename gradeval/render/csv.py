"""A row for each value: run, query, metric and value, separated by commas and quoted where needed."""

from __future__ import annotations

import csv
import io
from functools import partial

from gradeval.render.layout import Look, blocks, column
from gradeval.results import Results


def render(results: Results, look: Look) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["run", "query", "metric", "value"])
    for block in blocks(results, look, partial(column, digits=look.digits)):
        run = block.run.name
        names = [str(spec) for spec in block.specs]
        for query, row in zip(block.queries, block.rows, strict=False):
            writer.writerows((run, query, name, text) for name, text in zip(names, row, strict=True))
    return file.getvalue()
