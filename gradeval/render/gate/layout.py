"""What the formats of gates share: numbers as text, the tables, and the line with the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from gradeval.analysis.gate_checks import NO_WORSE, NON_INFERIOR
from gradeval.analysis.gate_report import CheckOutcome, GateReport
from gradeval.analysis.gate_verdicts import ALPHA, TOLERANCE
from gradeval.errors import visible
from gradeval.render import Digits
from gradeval.render.grids import Cell, Grid, number, signed


class GateRenderOptions(NamedTuple):
    """How it is printed; colour and width are for the table."""

    digits: Digits = 4
    colour: bool = False
    width: int | None = None


def value(one: CheckOutcome, digits: Digits) -> str:
    """The value, and the interval of a difference."""
    text = _number(one, one.value, digits)
    if math.isnan(one.low):
        return text
    return f"{signed(one.value, digits)} [{number(one.low, digits)}, {number(one.high, digits)}]"


def bound(one: CheckOutcome, digits: Digits) -> str:
    return _number(one, one.bound, digits)


def margin(one: CheckOutcome, digits: Digits) -> str:
    """The margin; one that would be rounded to 0 has a significant digit."""
    if one.is_share or one.is_count:
        return ("+" if one.margin > 0 else "") + _number(one, one.margin, digits)
    return plain_margin(one, digits) if _vanishes(one, digits) else signed(one.margin, digits)


def plain_margin(one: CheckOutcome, digits: Digits) -> str:
    """The margin without a unit."""
    return f"{one.margin:.0e}" if _vanishes(one, digits) else number(one.margin, digits)


def _vanishes(one: CheckOutcome, digits: Digits) -> bool:
    """Whether the margin would be rounded to 0, though it decides."""
    return abs(one.margin) > TOLERANCE and not number(one.margin, digits).strip("-0.")


def _number(one: CheckOutcome, of: float, digits: Digits) -> str:
    if one.is_share and not math.isnan(of):
        return f"{number(100 * of, 1 if digits != 'full' else digits)} %"
    if one.is_count and of.is_integer():
        return str(int(of))
    return number(of, digits)


def grids(report: GateReport, digits: Digits) -> Iterator[Grid]:
    """The checks, then the queries that count most against those that did not hold."""
    rows = [
        (
            Cell(visible(str(one.check))),
            *(Cell(text(one, digits)) for text in (value, bound, margin)),
            Cell(one.verdict, bold=one.verdict != "held"),
        )
        for one in report.outcomes
    ]
    yield Grid("Checks", ("check", "value", "bound", "margin", "verdict"), rows)
    worst = [(one, query) for one in report.outcomes for query in one.worst]
    if worst:
        rows = []
        for one, query in worst:
            texts = [visible(str(one.check)), visible(query.query), number(query.baseline_value, digits)]
            texts += [number(query.value, digits), signed(query.difference, digits)]
            rows.append(tuple(map(Cell, texts)))
        head = ("check", "query", "baseline value", "value", "difference")
        yield Grid("Worst queries", head, rows, 2)


def sentences(report: GateReport) -> list[str]:
    """Why checks could not be judged, and what the intervals are."""
    reasons: dict[str, list[str]] = {}
    for one in report.outcomes:
        if one.reason:
            reasons.setdefault(one.reason, []).append(str(one.check))
    said = [
        f"{checks[0] if len(checks) == 1 else f'{len(checks)} checks'}: {reason}."
        for reason, checks in reasons.items()
    ]
    kinds = [one.check.kind for one in report.outcomes if not math.isnan(one.low)]
    if kinds:
        level = f"{100 * (1 - ALPHA):g} % confidence, two-sided, paired t-test"
        said.append(f"Intervals: {level}, uncorrected for the number of checks.")
    if NO_WORSE in kinds:
        rate = f"{100 * ALPHA / 2:g} %"
        said.append(f"Where nothing changed, {rate} of the {NO_WORSE} checks fail by chance.")
    if NON_INFERIOR in kinds:
        said.append(f"{NON_INFERIOR} is inconclusive where the interval contains the bound.")
    return list(map(visible, said))


def verdict_line(report: GateReport) -> str:
    """The exit code in words."""
    counts, total = report.counts, len(report.outcomes)
    of = f"of {total} check{'s' * (total != 1)}"
    if report.problems or not report.outcomes:
        return "gate not judged: see the errors"
    others = [f"{counts[kind]} {kind}" for kind in ("failed", "inconclusive") if counts[kind]]
    if report.verdict == "error":
        more = f"; {', '.join(others)}" if others else ""
        return f"gate not judged: {counts['error']} {of} could not be judged{more}"
    if report.verdict == "failed":
        return f"gate failed: {total - counts['held']} {of} did not hold ({', '.join(others)})"
    return f"gate held: {total} {of} held"
