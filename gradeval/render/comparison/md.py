"""Tables for GitHub's Markdown, the best mean of each metric bold."""

from __future__ import annotations

from gradeval.analysis.comparison import Comparison
from gradeval.render.comparison.layout import Cell, ComparisonRenderOptions, Grid, grids, legend
from gradeval.render.md import escape


def render(comparison: Comparison, options: ComparisonRenderOptions) -> str:
    drawn = [draw(grid) for grid in grids(comparison, options, with_letters=False)]
    sentences = legend(comparison, options, with_letters=False)
    if sentences:
        drawn.append(escape(" ".join(sentences)) + "\n")
    return "\n".join(drawn)


def draw(grid: Grid) -> str:
    rows = [tuple(map(_cell, row)) for row in grid.rows]
    head = tuple(map(escape, grid.head))
    widths = [max(3, *map(len, texts)) for texts in zip(head, *rows, strict=True)]
    rule = tuple(
        ":" + "-" * (width - 1) if c < grid.labels else "-" * (width - 1) + ":"
        for c, width in enumerate(widths)
    )
    lines = (_line(row, widths, grid.labels) for row in (head, rule, *rows))
    return f"**{escape(grid.title)}**\n\n" + "".join(lines)


def _line(row: tuple[str, ...], widths: list[int], labels: int) -> str:
    cells = (
        text.ljust(width) if c < labels else text.rjust(width)
        for c, (text, width) in enumerate(zip(row, widths, strict=True))
    )
    return f"| {' | '.join(cells)} |\n"


def _cell(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.bold else escape(cell.text)
    is_letters = cell.mark and cell.mark.replace(",", "").isalpha()
    return text + (f"<sup>{cell.mark}</sup>" if is_letters else cell.mark)
