"""A row for each comparison, separated by tabs; further tables after an empty line."""

from __future__ import annotations

from gradeval.analysis.comparison import Comparison
from gradeval.render.comparison.layout import ComparisonRenderOptions
from gradeval.render.comparison.rows import plain_rows
from gradeval.render.layout import one_field


def render(comparison: Comparison, options: ComparisonRenderOptions) -> str:
    tables = (
        "".join("\t".join(map(one_field, row)) + "\n" for row in (head, *rows))
        for head, rows in plain_rows(comparison, options)
    )
    return "\n".join(tables)
