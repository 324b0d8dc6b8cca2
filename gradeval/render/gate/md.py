"""Tables for GitHub's Markdown, and the verdict as the last line."""

from __future__ import annotations

from gradeval.analysis.gate_report import GateReport
from gradeval.errors import inert, visible
from gradeval.render.gate.layout import GateRenderOptions, grids, sentences, verdict_line
from gradeval.render.grids import Cell, Grid
from gradeval.render.md import draw, escape


def render(report: GateReport, options: GateRenderOptions) -> str:
    parts = [draw(grid) for grid in grids(report, options.digits)] if report.outcomes else []
    if report.problems:  # in a table, where no text begins a heading or a list
        parts.append(draw(Grid("Errors", ("error",), [(Cell(visible(one)),) for one in report.problems])))
    if said := sentences(report):
        parts.append(escape(" ".join(said)) + "\n")
    return inert("\n".join([*parts, f"**{verdict_line(report)}**\n"]))
