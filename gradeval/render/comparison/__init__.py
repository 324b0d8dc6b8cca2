"""Comparisons as text: one module a format, and the table of them.

A format's module has render(comparison, options) -> str. It orders and writes numbers, and computes none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradeval.render import Digits, checked_digits, module_of

if TYPE_CHECKING:
    from gradeval.analysis.comparison import Comparison

FORMATS = {
    "table": "means as papers print them, then the differences, human-readable",
    "tsv": "a row for each comparison, separated by tabs",
    "csv": "a row for each comparison, quoted where needed",
    "json": "one object with inputs, options and exact numbers",
    "md": "the tables for GitHub's Markdown",
    "latex": "the tables for LaTeX with booktabs, superscript letters for significance",
}


def render(
    comparison: Comparison,
    format: str = "table",
    *,
    per_query: bool = False,
    summary: bool = True,
    relative: bool = False,
    digits: Digits = 4,
    colour: bool = False,
    width: int | None = None,
    spreadsheet: bool = False,
) -> str:
    """The comparison in one of FORMATS, with '\\n' at the end of each line.

    per_query: every query, with the values of the runs and their differences. summary: the comparisons.
    relative: differences in percent too. The other arguments are those of gradeval.render.render.
    """
    module = module_of(format, FORMATS, __name__)
    from gradeval.render.comparison.layout import ComparisonRenderOptions

    options = ComparisonRenderOptions(
        per_query, summary, relative, checked_digits(digits), colour, width, spreadsheet
    )
    text: str = module.render(comparison, options)
    return text
