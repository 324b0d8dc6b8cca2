"""One object with everything: inputs, verdicts and exact numbers. ASCII, with null for what is not finite."""

from __future__ import annotations

import json

from gradeval.analysis.gate_report import GateReport
from gradeval.errors import inert
from gradeval.render.gate.layout import GateRenderOptions


def render(report: GateReport, options: GateRenderOptions) -> str:
    text = json.dumps(report.to_dict(), indent=2, default=str, allow_nan=False) + "\n"
    return inert(text, r"\u00")
