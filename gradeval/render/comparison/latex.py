"""Tabulars for LaTeX with the booktabs package: superscript letters name the runs that one is better than."""

from __future__ import annotations

import re

from gradeval.analysis.comparison import Comparison
from gradeval.render.comparison.layout import ComparisonRenderOptions, grids, legend
from gradeval.render.grids import Cell, Grid
from gradeval.render.latex import escape, line, number

_INTERVAL = re.compile(r"[\[(](\S+), (\S+)[\])]")


def render(comparison: Comparison, options: ComparisonRenderOptions) -> str:
    drawn = [draw(grid) for grid in grids(comparison, options, with_letters=True)]
    sentences = legend(comparison, options, with_letters=True)
    if sentences:
        drawn.append(rf"\par{{\footnotesize {escape(' '.join(sentences))}}}" + "\n")
    return "\n".join(drawn)


def draw(grid: Grid) -> str:
    columns = "l" * grid.labels + "r" * (len(grid.head) - grid.labels)
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    lines += [rf"\multicolumn{{{len(grid.head)}}}{{l}}{{{escape(grid.title)}}} \\", r"\midrule"]
    lines += [line(map(escape, grid.head)), r"\midrule"]
    for row in grid.rows:
        cells = (escape(cell.text) if c < grid.labels else _number(cell) for c, cell in enumerate(row))
        lines.append(line(cells))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _number(cell: Cell) -> str:
    ends = _INTERVAL.fullmatch(cell.text)
    if ends is not None:
        low, high = (number(end, bold=False) for end in ends.groups())
        return f"{{{cell.text[0]}}}{low}, {high}{{{cell.text[-1]}}}"
    if cell.text.startswith("<"):
        return f"$<${cell.text[1:]}"
    if cell.text.startswith("+"):
        return "$+$" + cell.text[1:]
    return number(cell.text, bold=cell.bold) + (f"$^{{{cell.mark}}}$" if cell.mark else "")
