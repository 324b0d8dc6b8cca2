"""A row for each comparison, separated by commas, quoted where needed; further tables after an empty line."""

from __future__ import annotations

import csv

from gradeval.analysis.comparison import Comparison
from gradeval.render.comparison.layout import ComparisonRenderOptions
from gradeval.render.comparison.rows import plain_rows
from gradeval.render.csv import Lines, not_a_formula


def render(comparison: Comparison, options: ComparisonRenderOptions) -> str:
    word = not_a_formula if options.spreadsheet else str
    names = {"run", "baseline", "metric", "group", "query"}
    tables = []
    for head, rows in plain_rows(comparison, options):
        texts = {c for c, name in enumerate(head) if name in names}
        lines = Lines()
        writer = csv.writer(lines)
        writer.writerow(map(word, head))
        writer.writerows([word(text) if c in texts else text for c, text in enumerate(row)] for row in rows)
        tables.append("".join(lines))
    return "\n".join(tables)
