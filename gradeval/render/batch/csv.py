"""A row for each system, collection and metric, separated by commas and quoted where needed."""

from __future__ import annotations

import csv

from gradeval.analysis.batch_table import Batch
from gradeval.render.batch.layout import HEAD, BatchRenderOptions, head, plain_rows
from gradeval.render.csv import Lines, not_a_formula

_NAMES = [HEAD.index(name) for name in ("collection", "system", "baseline")]


def render(batch: Batch, options: BatchRenderOptions) -> str:
    lines = Lines()
    writer = csv.writer(lines)
    writer.writerow(head(batch))
    word = not_a_formula if options.spreadsheet else str
    for row in plain_rows(batch, options.digits):
        writer.writerow([word(text) if c in _NAMES else text for c, text in enumerate(row)])
    return "".join(lines)
