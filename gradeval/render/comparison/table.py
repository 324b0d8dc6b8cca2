"""Tables for a terminal: means with marks of significance, then the differences, and a legend."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

from gradeval.analysis.comparison import Comparison
from gradeval.render.comparison.layout import Cell, ComparisonRenderOptions, Grid, grids, legend
from gradeval.render.table import BOLD, DIM, GAP, MIN_WIDTH, parts, styled, text_width

_LEGEND_WIDTH = 100


def render(comparison: Comparison, options: ComparisonRenderOptions) -> str:
    drawn = [
        table
        for grid in grids(comparison, options, with_letters=False)
        for table in draw(grid, options.colour, options.width)
    ]
    sentences = legend(comparison, options, with_letters=False)
    if sentences:
        width = min(options.width or _LEGEND_WIDTH, _LEGEND_WIDTH)
        drawn.append("".join(fill(sentence, max(width, MIN_WIDTH)) + "\n" for sentence in sentences))
    return "\n".join(drawn)


def draw(grid: Grid, colour: bool, width: int | None) -> Iterator[str]:
    """The tables that a grid takes: columns that do not fit the width go to a further table."""
    rows = [tuple(map(Cell, grid.head)), *grid.rows]
    columns = range(len(grid.head))
    # a mark stands behind its number, and numbers stay below each other
    marks = [max(text_width(row[c].mark) for row in rows) for c in columns]
    widths = [max(text_width(row[c].text) for row in rows) + marks[c] for c in columns]
    heading = styled(grid.title, BOLD, colour) + "\n"
    for part in parts(widths, width, grid.labels):
        lines = [
            GAP.join(_cell(row[c], widths[c], marks[c], c < grid.labels, colour) for c in part).rstrip()
            for row in rows
        ]
        rule = "─" * (sum(widths[c] + len(GAP) for c in part) - len(GAP))
        lines.insert(1, styled(rule, DIM, colour))
        yield heading + "\n".join(lines) + "\n"
        heading = ""


def _cell(cell: Cell, width: int, marks: int, is_label: bool, colour: bool) -> str:
    text = styled(cell.text, BOLD, colour and cell.bold)
    space = " " * (width - marks - text_width(cell.text))
    if is_label:
        return text + space
    return space + text + cell.mark + " " * (marks - text_width(cell.mark))
