"""The report of a gate as text: one module a format, and the table of them.

A format's module has render(report, options) -> str; junit and github are for machines that run the gate. Ids,
names of runs and paths are data: none of them can be markup, or a command of a CI runner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradeval.render import Digits, module_of

if TYPE_CHECKING:
    from gradeval.analysis.gate_report import GateReport

FORMATS = {
    "table": "the checks, the worst queries of those that did not hold, and the verdict, human-readable",
    "tsv": "a row for each check, separated by tabs",
    "json": "one object with inputs, options and exact numbers",
    "md": "the tables for GitHub's Markdown",
}


def render(
    report: GateReport,
    format: str = "table",
    *,
    digits: Digits = 4,
    colour: bool = False,
    width: int | None = None,
) -> str:
    """The report in one of FORMATS, with '\\n' at the end of each line."""
    from gradeval.render.gate.layout import GateRenderOptions

    text: str = module_of(format, FORMATS, __name__).render(report, GateRenderOptions(digits, colour, width))
    return text
