"""Tables for GitHub's Markdown, and the verdict as the last line."""

from __future__ import annotations

from gradeval.analysis.gate import GateReport
from gradeval.errors import inert
from gradeval.render.comparison.md import draw
from gradeval.render.gate.layout import GateRenderOptions, grids, sentences, verdict_line
from gradeval.render.md import escape


def render(report: GateReport, options: GateRenderOptions) -> str:
    parts = [draw(grid) for grid in grids(report, options.digits)]
    if said := sentences(report):
        parts.append(escape(" ".join(said)) + "\n")
    parts += [f"{escape(problem)}\n" for problem in report.problems]
    return inert("\n".join([*parts, f"**{verdict_line(report)}**\n"]))
