"""Batches as text: one module a format, and the table of them.

A format's module has render(batch, options) -> str. It orders and writes numbers, and computes none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradeval.render import Digits, checked_digits, module_of

if TYPE_CHECKING:
    from gradeval.analysis.batch_table import Batch

FORMATS = {
    "table": "systems as rows, collections as columns, human-readable; a table for each metric",
    "tsv": "a row for each system, collection and metric, separated by tabs",
    "csv": "a row for each system, collection and metric, quoted where needed",
    "json": "one object with inputs, options and exact values",
    "jsonl": "one object per line: a cell with its exact values, then the averages of each system",
    "md": "the tables for GitHub's Markdown",
    "latex": "the tables for LaTeX with booktabs, superscript letters for significance",
}


def render(
    batch: Batch,
    format: str = "table",
    *,
    digits: Digits = 4,
    colour: bool = False,
    width: int | None = None,
    spreadsheet: bool = False,
) -> str:
    """The batch in one of FORMATS; the arguments are those of gradeval.render.render."""
    module = module_of(format, FORMATS, __name__)
    from gradeval.render.batch.layout import BatchRenderOptions

    options = BatchRenderOptions(checked_digits(digits), colour, width, spreadsheet)
    text: str = module.render(batch, options)
    return text
