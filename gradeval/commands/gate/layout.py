"""The report of a gate: as a document, as a JUnit file, and as annotations of GitHub Actions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from gradeval.commands.compare.coverage import TOLERANCE
from gradeval.commands.compare.layout import BOUND
from gradeval.commands.gate import gate
from gradeval.commands.gate.checks import ALPHA, MAX_DROP, NO_WORSE, NON_INFERIOR, REQUIRE
from gradeval.errors import first_names, printable, visible, writing
from gradeval.records import grouped
from gradeval.render import Digits
from gradeval.render.document import (
    ABSENT,
    NAME,
    NUMBER,
    SIGNED,
    WORD,
    Block,
    Cell,
    Column,
    ColumnKind,
    Grid,
    OutputDocument,
    RenderOptions,
    Sentences,
    StyledLine,
    data_columns,
    grid_of,
    nonzero,
    number,
    plain,
    rows_of,
    signed,
)
from gradeval.render.markup import escape_md


def document(report: gate.GateReport, options: RenderOptions) -> OutputDocument:
    """Ids, names of runs and paths are data: none of them can be markup, or a command of a CI runner."""
    outcomes = [
        {**vars(outcome), **outcome.to_dict(), **texts(outcome, options.digits)} for outcome in report.outcomes
    ]
    worst = [
        {**row, "metric": outcome.check.label}
        for outcome in _shows_worst(report)
        for row in outcome.to_dict()["worst"]
    ]

    def blocks() -> Iterator[Block]:
        if reasons := _reasons(report):
            yield Sentences(reasons)
        if is_judged := report.counts["error"] < len(report.outcomes):
            title = f"Checks: {visible(report.name)}" if report.name else "Checks"
            yield grid_of(title, _checks(report), outcomes, options.digits)
            if worst:
                yield grid_of("Worst queries", _worst(worst), worst, options.digits, 2)
        if report.problems and options.format != "table":  # there they are errors on the terminal
            yield Grid("Errors", ("error",), [(visible(problem),) for problem in report.problems])
        if is_judged and (sentences := list(map(visible, _legend(report)))):
            yield Sentences(sentences)
        yield StyledLine(verdict_line(report), "strong")

    tables = [(_checks(report), outcomes)] + ([(_WORST, worst)] if worst else [])
    rows = (rows_of(columns, of_table, options.digits) for columns, of_table in tables)
    return OutputDocument(blocks=blocks, rows=lambda: rows, content=report.to_dict, is_log=True)


def _reasons(report: gate.GateReport) -> list[str]:
    """Why checks could not be judged: a sentence for each reason."""
    checks = grouped((outcome.reason, str(outcome.check)) for outcome in report.outcomes if outcome.reason)
    subjects = (names[0] if len(names) == 1 else f"{len(names)} checks" for names in checks.values())
    return [visible(f"{subject}: {reason}.") for subject, reason in zip(subjects, checks, strict=True)]


def _legend(report: gate.GateReport) -> Iterator[str]:
    """The sentences below the tables."""
    kinds = [outcome.check.kind for outcome in report.outcomes if not math.isnan(outcome.low)]
    if report.subject:
        yield f"R{_subject(report)[1:]}."
    yield from _medians(report)
    if kinds:
        level = f"{100 * (1 - ALPHA):g} % confidence"
        yield f"Intervals: {level}, two-sided, paired t-test, uncorrected for the number of checks."
    if NO_WORSE in kinds:
        rate = f"{100 * ALPHA / 2:g} %"
        yield f"Where nothing changed, {rate} of the {NO_WORSE} checks fail by chance."
    if NON_INFERIOR in kinds:
        yield f"{NON_INFERIOR} is inconclusive where the interval contains the bound."
    if report.has_bounds:
        yield (
            "Bounds: of the margin, over all judgments of the unjudged documents retrieved; a check is "
            "inconclusive where they could turn it. An interval is moved, as wide as it is."
        )
    if exceeded := _exceeded(report):
        yield exceeded


def _medians(report: gate.GateReport) -> Iterator[str]:
    """What checks compare with where that is not the baseline, a sentence for each median of a history."""
    metrics = grouped((outcome.median, outcome.check.label) for outcome in report.outcomes if outcome.median)
    for median, labels in metrics.items():
        yield f"{', '.join(labels)}: {MAX_DROP} compares with the median of {_lines(median)}."


def _lines(median: gate.Median) -> str:
    return f"{median.lines} lines of {median.history}"


def texts(outcome: gate.CheckOutcome, digits: Digits) -> dict[str, str]:
    """The value, the bound and the margin of a check for people."""
    check = outcome.check
    is_share = check.is_of_share
    is_count = check.kind == REQUIRE and check.spec is not None and check.spec.metric.is_count

    def text(value: float) -> str:
        if is_share and not math.isnan(value):
            return f"{number(100 * value, 1 if digits != 'full' else digits)} %"
        return str(int(value)) if is_count and value.is_integer() else number(value, digits)

    value = text(outcome.value)
    margin = ("+" if outcome.margin > 0 else "") + text(outcome.margin)
    if not math.isnan(outcome.low):
        low, high = number(outcome.low, digits), number(outcome.high, digits)
        value = f"{signed(outcome.value, digits)} [{low}, {high}]"
    if not (is_share or is_count):
        margin = nonzero(outcome.margin, signed(outcome.margin, digits), TOLERANCE)
    limits = outcome.lower_bound, outcome.upper_bound
    bounds = " to ".join("+" * (limit > 0) + text(limit) for limit in limits)
    bounds = ABSENT if math.isnan(outcome.lower_bound) else bounds
    bound = text(outcome.bound)
    return {"value text": value, "bound text": bound, "bounds text": bounds, "margin text": margin}


_MARGIN = ColumnKind(lambda value, digits: nonzero(value, plain(value, digits), TOLERANCE), number)
_VERDICT = WORD.replace(shown=lambda text, digits: Cell(text, bold=text != "held"))
_BOUNDS = [
    Column("", "bounds of margin", key="bounds text"),
    *data_columns("lower_bound upper_bound", BOUND),
]


def _checks(report: gate.GateReport) -> list[Column]:
    """The columns of checks."""
    return [
        Column("check", "check", NAME),
        *data_columns("kind metric"),
        *(Column("", name, key=f"{name} text") for name in ("value", "bound", "margin")),
        *data_columns("value bound", NUMBER),
        Column("margin", "", _MARGIN),
        *data_columns("mean baseline_mean low high", NUMBER),
        *_BOUNDS * report.has_bounds,
        Column("n", ""),
        Column("verdict", "verdict", _VERDICT),
        Column("reason", ""),
    ]


_WORST = [
    Column("metric", "metric", NAME),
    Column("query", "query", NAME),
    Column("baseline_value", "baseline value", NUMBER),
    Column("value", "value", NUMBER),
    Column("difference", "difference", SIGNED),
]


def _worst(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """The columns of queries in a table, without those of a baseline where none has such values."""
    has_baseline = any(not math.isnan(row["baseline_value"]) for row in rows)
    return [column for column in _WORST if has_baseline or column.name not in ("baseline_value", "difference")]


def _shows_worst(report: gate.GateReport) -> list[gate.CheckOutcome]:
    """The check of each metric and group with worst queries to show: one against the baseline, if any has."""
    by_label: dict[str, gate.CheckOutcome] = {}
    for outcome in sorted(report.outcomes, key=lambda outcome: not outcome.check.needs_baseline):
        if outcome.worst:
            by_label.setdefault(outcome.check.label, outcome)
    return list(by_label.values())


def _exceeded(report: gate.GateReport) -> str:
    """That the baseline could be raised, or ''."""
    exceeding = [outcome for outcome in report.outcomes if outcome.exceeds and outcome.verdict == "held"]
    becomes = report.updates and report.exit_code == 0
    consequence = ", and becomes the baseline." if becomes else ": raise the baseline (--update-baseline)?"
    metrics = first_names(dict.fromkeys(outcome.check.metric for outcome in exceeding))
    exceeds = f"The run beats its baseline by more than the tolerance in {metrics}{consequence}"
    return exceeds if exceeding else ""


def _subject(report: gate.GateReport) -> str:
    """'run new.run, baseline old.json, qrels qrels.txt, rel = 2'."""
    return ", ".join(f"{role} {text}" if role != "options" else text for role, text in report.subject.items())


def _titled(report: gate.GateReport) -> str:
    return f"gradeval gate {printable(report.name)}".rstrip()


def verdict_line(report: gate.GateReport) -> str:
    """The exit code in words."""
    if report.problems or not report.outcomes:
        return "the gate could not decide: see the errors"
    counts = report.counts
    total = len(report.outcomes)
    of_checks = f"of {total} check{'s' * (total != 1)}"
    not_held = ", ".join(f"{counts[kind]} {kind}" for kind in ("failed", "inconclusive") if counts[kind])
    if counts["error"]:
        besides = f"; {not_held}" if not_held else ""
        return f"the gate could not decide: {counts['error']} {of_checks} could not be judged{besides}"
    if not_held:
        return f"gate failed: {total - counts['held']} {of_checks} did not hold ({not_held})"
    return f"gate held: {total} {of_checks} held"


# --- for CI services


def _message(outcome: gate.CheckOutcome, digits: Digits) -> str:
    value, bound, bounds, margin = texts(outcome, digits).values()
    could_be = "" if bounds == ABSENT else f", with missing judgments {bounds}"
    source = f" (from the median of {_lines(outcome.median)})" if outcome.median else ""
    numbers = f"value {value}, bound {bound}{source}, margin {margin}{could_be}"
    return f"{outcome.verdict}: {outcome.reason if outcome.verdict == 'error' else numbers}"


def junit(report: gate.GateReport, digits: Digits) -> str:
    """A test case for each check. Inconclusive checks are failures; what could not be judged is an error."""
    from xml.etree import ElementTree
    from xml.etree.ElementTree import Element, SubElement

    title = _titled(report)
    problems = report.problems
    counts = {
        "tests": str(len(report.outcomes) + bool(problems)),
        "failures": str(report.counts["failed"] + report.counts["inconclusive"]),
        "errors": str(report.counts["error"] + bool(problems)),
    }
    suites = Element("testsuites", counts)
    suite = SubElement(suites, "testsuite", {"name": title, **counts})
    properties = SubElement(suite, "properties") if report.subject else suite
    for role, text in report.subject.items():
        SubElement(properties, "property", {"name": role, "value": printable(text)})

    def add(name: str, verdict: str, lines: Iterable[str]) -> None:
        case = SubElement(suite, "testcase", {"classname": title, "name": printable(name)})
        if verdict != "held":
            texts = list(map(printable, lines))
            tag = "error" if verdict == "error" else "failure"
            SubElement(case, tag, {"type": verdict, "message": texts[0]}).text = "\n".join(texts)

    for outcome in report.outcomes:
        lines = [_message(outcome, digits)]
        for query in outcome.worst:
            lines.append(_of_query(query, digits))
        add(str(outcome.check), outcome.verdict, lines)
    if problems:
        add("gate", "error", problems)
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def _of_query(query: gate.WorstQuery, digits: Digits) -> str:
    old, new = (number(value, digits) for value in (query.baseline_value, query.value))
    change = signed(query.value - query.baseline_value, digits)
    if math.isnan(query.baseline_value):
        return f"query {query.query}: {new}"
    return f"query {query.query}: baseline {old}, run {new}, difference {change}"


def github(report: gate.GateReport, digits: Digits, warnings: Sequence[str] = ()) -> str:
    """Commands that the runner of GitHub Actions reads in the log, a line each; the first is the verdict."""
    # everything behind the second '::' is text, in which '%' begins an escape; so do ':' and ',' in the title
    title = _titled(report).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    commands = _annotations(report, digits, warnings)
    escaped = ((level, printable(text).replace("%", "%25")) for level, text in commands)
    return "".join(f"::{level} title={title}::{text}\n" for level, text in escaped)


def _annotations(report: gate.GateReport, digits: Digits, warnings: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The level and the text of each."""
    subject = f" ({_subject(report)})" if report.subject else ""
    yield "notice" if report.exit_code == 0 else "error", verdict_line(report) + subject
    yield from zip(repeat("error"), report.problems, strict=False)
    yield from zip(repeat("warning"), warnings, strict=False)
    undecided = Counter(outcome.reason for outcome in report.outcomes if outcome.verdict == "error")
    yield from (("error", f"{count} checks: {reason}") for reason, count in undecided.items() if count > 1)
    shows_worst = _shows_worst(report)
    for outcome in report.outcomes:
        if outcome.verdict != "held" and undecided[outcome.reason] < 2:
            ids = ", ".join(query.query for query in outcome.worst if outcome in shows_worst)
            queries = f"; worst queries: {ids}" if ids else ""
            yield "error", f"{outcome.check}: {_message(outcome, digits)}{queries}"
    if exceeded := _exceeded(report):
        yield "notice", exceeded


def append_summary(path: str, report: gate.GateReport, digits: Digits) -> None:
    """Append to the file that GITHUB_STEP_SUMMARY names. Raises GradevalError."""
    text = f"## {escape_md(_titled(report))}\n\n{report.render('md', digits=digits)}\n"
    with writing(f"GITHUB_STEP_SUMMARY: {path}"), open(path, "ab") as file:
        file.write(text.encode("utf-8", "backslashreplace"))
