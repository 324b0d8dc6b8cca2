"""Tables for a terminal and for a log, and the verdict as the last line."""

from __future__ import annotations

from gradeval.analysis.gate_report import GateReport
from gradeval.errors import inert
from gradeval.render.gate.layout import GateRenderOptions, grids, sentences, verdict_line
from gradeval.render.table import BOLD, draw, styled


def render(report: GateReport, options: GateRenderOptions) -> str:
    tables = [
        table for grid in grids(report, options.digits) for table in draw(grid, options.colour, options.width)
    ]
    said = "".join(f"{sentence}\n" for sentence in sentences(report))
    verdict = styled(verdict_line(report), BOLD, options.colour) + "\n"
    return inert("\n".join([*tables, *([said] if said else []), verdict]))
