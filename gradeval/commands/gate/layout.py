"""The report of a gate as a document: the checks, the worst queries of those that did not hold, the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gradeval.commands.gate.checks import NO_WORSE, NON_INFERIOR
from gradeval.commands.gate.result import CheckOutcome, GateReport
from gradeval.commands.gate.verdicts import ALPHA, TOLERANCE
from gradeval.errors import visible
from gradeval.render import Digits
from gradeval.render.document import (
    NAME,
    NUMBER,
    SIGNED,
    Block,
    Cell,
    Column,
    Document,
    Grid,
    Kind,
    Line,
    RenderOptions,
    Rows,
    Sentences,
    grid_of,
    rows_of,
)
from gradeval.render.numbers import number, signed


def document(report: GateReport, how: RenderOptions) -> Document:
    """Ids, names of runs and paths are data: none of them can be markup, or a command of a CI runner."""
    outcomes = [
        {**vars(outcome), "outcome": outcome, "check": str(check), "kind": check.kind, "metric": check.metric}
        for outcome in report.outcomes
        for check in [outcome.check]
    ]
    worst = [
        {"check": str(outcome.check), "difference": query.difference, **vars(query)}
        for outcome in report.outcomes
        for query in outcome.worst
    ]

    def blocks() -> Iterator[Block]:
        if report.outcomes or how.format == "table":
            yield grid_of("Checks", _CHECKS, outcomes, how.digits)
        if worst:
            yield grid_of("Worst queries", _WORST, worst, how.digits, 2)
        if report.problems and how.format != "table":  # there they are errors on the terminal
            yield Grid("Errors", ("error",), [(visible(problem),) for problem in report.problems])
        if sentences := _sentences(report):
            yield Sentences(sentences)
        yield Line(verdict_line(report), "strong")

    def rows() -> Iterator[Rows]:
        yield rows_of(_CHECKS, outcomes, how.digits)
        if worst:
            yield rows_of(_WORST, worst, how.digits)

    return Document(blocks=blocks, rows=rows, content=report.to_dict, is_log=True)


def value(outcome: CheckOutcome, digits: Digits) -> str:
    """The value, and the interval of a difference."""
    text = _number(outcome, outcome.value, digits)
    if math.isnan(outcome.low):
        return text
    return f"{signed(outcome.value, digits)} [{number(outcome.low, digits)}, {number(outcome.high, digits)}]"


def bound(outcome: CheckOutcome, digits: Digits) -> str:
    return _number(outcome, outcome.bound, digits)


def margin(outcome: CheckOutcome, digits: Digits) -> str:
    """The margin; outcome that would be rounded to 0 has a significant digit."""
    if outcome.is_share or outcome.is_count:
        return ("+" if outcome.margin > 0 else "") + _number(outcome, outcome.margin, digits)
    return plain_margin(outcome, digits) if _vanishes(outcome, digits) else signed(outcome.margin, digits)


def plain_margin(outcome: CheckOutcome, digits: Digits) -> str:
    """The margin without a unit."""
    if math.isnan(outcome.margin):
        return "nan"
    return f"{outcome.margin:.0e}" if _vanishes(outcome, digits) else number(outcome.margin, digits)


def _vanishes(outcome: CheckOutcome, digits: Digits) -> bool:
    """Whether the margin would be rounded to 0, though it decides."""
    return abs(outcome.margin) > TOLERANCE and not number(outcome.margin, digits).strip("-0.")


def _number(outcome: CheckOutcome, of: float, digits: Digits) -> str:
    if outcome.is_share and not math.isnan(of):
        return f"{number(100 * of, 1 if digits != 'full' else digits)} %"
    if outcome.is_count and of.is_integer():
        return str(int(of))
    return number(of, digits)


_CHECKS = [
    Column("check", "check", NAME),
    Column("kind", ""),
    Column("metric", ""),
    Column("", "value", Kind(value, value), "outcome"),
    Column("", "bound", Kind(bound, bound), "outcome"),
    Column("value", "", NUMBER),
    Column("bound", "", NUMBER),
    Column("margin", "margin", Kind(plain_margin, margin), "outcome"),
    *(Column(name, "", NUMBER) for name in ("mean", "baseline_mean", "low", "high")),
    Column("n", ""),
    Column(
        "verdict",
        "verdict",
        Kind(lambda text, digits: text, lambda text, digits: Cell(text, bold=text != "held")),
    ),
    Column("reason", ""),
]
_WORST = [
    Column("check", "check", NAME),
    Column("query", "query", NAME),
    Column("baseline_value", "baseline value", NUMBER),
    Column("value", "value", NUMBER),
    Column("difference", "difference", SIGNED),
]


def _sentences(report: GateReport) -> list[str]:
    """Why checks could not be judged, and what the intervals are."""
    reasons: dict[str, list[str]] = {}
    for outcome in report.outcomes:
        if outcome.reason:
            reasons.setdefault(outcome.reason, []).append(str(outcome.check))
    sentences = [
        f"{checks[0] if len(checks) == 1 else f'{len(checks)} checks'}: {reason}."
        for reason, checks in reasons.items()
    ]
    kinds = [outcome.check.kind for outcome in report.outcomes if not math.isnan(outcome.low)]
    if kinds:
        level = f"{100 * (1 - ALPHA):g} % confidence, two-sided, paired t-test"
        sentences.append(f"Intervals: {level}, uncorrected for the number of checks.")
    if NO_WORSE in kinds:
        rate = f"{100 * ALPHA / 2:g} %"
        sentences.append(f"Where nothing changed, {rate} of the {NO_WORSE} checks fail by chance.")
    if NON_INFERIOR in kinds:
        sentences.append(f"{NON_INFERIOR} is inconclusive where the interval contains the bound.")
    return list(map(visible, sentences))


def verdict_line(report: GateReport) -> str:
    """The exit code in words."""
    counts, total = report.counts, len(report.outcomes)
    of = f"of {total} check{'s' * (total != 1)}"
    if report.problems or not report.outcomes:
        return "the gate could not decide: see the errors"
    others = [f"{counts[kind]} {kind}" for kind in ("failed", "inconclusive") if counts[kind]]
    if report.verdict == "error":
        more = f"; {', '.join(others)}" if others else ""
        return f"the gate could not decide: {counts['error']} {of} could not be judged{more}"
    if report.verdict == "failed":
        return f"gate failed: {total - counts['held']} {of} did not hold ({', '.join(others)})"
    return f"gate held: {total} {of} held"
