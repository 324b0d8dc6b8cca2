"""A row for each check, separated by tabs; after an empty line, one for each of the worst queries."""

from __future__ import annotations

import math

from gradeval.analysis.gate_report import GateReport
from gradeval.errors import inert
from gradeval.render import Digits
from gradeval.render.gate.layout import GateRenderOptions, plain_margin
from gradeval.render.grids import number
from gradeval.render.layout import one_field

_NUMBERS = ("value", "bound", "margin", "mean", "baseline_mean", "low", "high")


def render(report: GateReport, options: GateRenderOptions) -> str:
    rows = [["check", "kind", "metric", *_NUMBERS, "n", "verdict", "reason"]]
    for one in report.outcomes:
        texts = [_plain(getattr(one, name), options.digits) for name in _NUMBERS]
        if not math.isnan(one.margin):
            texts[_NUMBERS.index("margin")] = plain_margin(one, options.digits)
        about = [str(one.check), one.check.kind, one.check.metric]
        rows.append([*about, *texts, str(one.n), one.verdict, one.reason])
    worst = [["check", "query", "baseline_value", "value", "difference"]]
    for one in report.outcomes:
        for query in one.worst:
            numbers = (query.baseline_value, query.value, query.difference)
            worst.append([str(one.check), query.query, *(_plain(each, options.digits) for each in numbers)])
    tables = [rows, *([worst] if worst[1:] else [])]
    return inert("\n".join("".join(_line(row) for row in table) for table in tables))


def _plain(value: float, digits: Digits) -> str:
    return "nan" if math.isnan(value) else number(value, digits)


def _line(row: list[str]) -> str:
    return "\t".join(map(one_field, row)) + "\n"
