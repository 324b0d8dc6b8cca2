"""The report of a gate: as a document, as a JUnit file, and as annotations of GitHub Actions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gradeval.commands.gate.verdicts import ALPHA, NO_WORSE, NON_INFERIOR, TOLERANCE, CheckOutcome, GateReport
from gradeval.errors import first_names, printable, visible, writing
from gradeval.render import Digits
from gradeval.render import document as doc
from gradeval.render.markup import escape_md
from gradeval.render.numbers import nonzero, number, plain, signed


def document(report: GateReport, how: doc.RenderOptions) -> doc.Document:
    """Ids, names of runs and paths are data: none of them can be markup, or a command of a CI runner."""
    outcomes = [
        {**vars(outcome), "outcome": outcome, "check": str(check), "kind": check.kind, "metric": check.metric}
        for outcome in report.outcomes
        for check in [outcome.check]
    ]
    shown = _shows_worst(report)
    worst = [{"metric": of.check.metric, **query.to_dict()} for of in shown for query in of.worst]

    def blocks() -> Iterator[doc.Block]:
        reasons: dict[str, list[str]] = {}
        for outcome in report.outcomes:
            if outcome.reason:
                reasons.setdefault(outcome.reason, []).append(str(outcome.check))
        if reasons:
            checks = (names[0] if len(names) == 1 else f"{len(names)} checks" for names in reasons.values())
            lines = [f"{of}: {reason}." for of, reason in zip(checks, reasons, strict=True)]
            yield doc.Sentences(list(map(visible, lines)))
        if is_judged := report.counts["error"] < len(report.outcomes):
            title = f"Checks: {visible(report.name)}" if report.name else "Checks"
            yield doc.grid_of(title, _CHECKS, outcomes, how.digits)
            if worst:
                yield doc.grid_of("Worst queries", _WORST, worst, how.digits, 2)
        if report.problems and how.format != "table":  # there they are errors on the terminal
            yield doc.Grid("Errors", ("error",), [(visible(problem),) for problem in report.problems])
        kinds = [outcome.check.kind for outcome in report.outcomes if not math.isnan(outcome.low)]
        level, rate = f"{100 * (1 - ALPHA):g} % confidence", f"{100 * ALPHA / 2:g} %"
        how_judged = f"{level}, two-sided, paired t-test, uncorrected for the number of checks"
        sentences = [
            f"R{_subject(report)[1:]}." if report.subject else "",
            f"Intervals: {how_judged}." if kinds else "",
            f"Where nothing changed, {rate} of the {NO_WORSE} checks fail by chance."
            if NO_WORSE in kinds
            else "",
            f"{NON_INFERIOR} is inconclusive where the interval contains the bound."
            if NON_INFERIOR in kinds
            else "",
            _exceeded(report),
        ]
        if is_judged and any(sentences):
            yield doc.Sentences([visible(sentence) for sentence in sentences if sentence])
        yield doc.Line(verdict_line(report), "strong")

    def rows() -> Iterator[doc.Rows]:
        yield doc.rows_of(_CHECKS, outcomes, how.digits)
        if worst:
            yield doc.rows_of(_WORST, worst, how.digits)

    return doc.Document(blocks=blocks, rows=rows, content=report.to_dict, is_log=True)


def _value(outcome: CheckOutcome, digits: Digits) -> str:
    if math.isnan(outcome.low):
        return _number(outcome, outcome.value, digits)
    return f"{signed(outcome.value, digits)} [{number(outcome.low, digits)}, {number(outcome.high, digits)}]"


def _bound(outcome: CheckOutcome, digits: Digits) -> str:
    return _number(outcome, outcome.bound, digits)


def margin(outcome: CheckOutcome, digits: Digits) -> str:
    if outcome.is_share or outcome.is_count:
        return ("+" if outcome.margin > 0 else "") + _number(outcome, outcome.margin, digits)
    return nonzero(outcome.margin, signed(outcome.margin, digits), TOLERANCE)


def _number(outcome: CheckOutcome, value: float, digits: Digits) -> str:
    if outcome.is_share and not math.isnan(value):
        return f"{number(100 * value, 1 if digits != 'full' else digits)} %"
    return str(int(value)) if outcome.is_count and value.is_integer() else number(value, digits)


_MARGIN = doc.ColumnKind(lambda value, digits: nonzero(value, plain(value, digits), TOLERANCE), number)
_CHECKS = [
    doc.Column("check", "check", doc.NAME),
    doc.Column("kind", ""),
    doc.Column("metric", ""),
    doc.Column("", "value", doc.ColumnKind(_value, _value), "outcome"),
    doc.Column("", "bound", doc.ColumnKind(_bound, _bound), "outcome"),
    doc.Column("value", "", doc.NUMBER),
    doc.Column("bound", "", doc.NUMBER),
    doc.Column("", "margin", doc.ColumnKind(margin, margin), "outcome"),
    doc.Column("margin", "", _MARGIN),
    *(doc.Column(name, "", doc.NUMBER) for name in ("mean", "baseline_mean", "low", "high")),
    doc.Column("n", ""),
    doc.Column(
        "verdict", "verdict", doc.WORD.replace(shown=lambda text, digits: doc.Cell(text, bold=text != "held"))
    ),
    doc.Column("reason", ""),
]
_WORST = [
    doc.Column("metric", "metric", doc.NAME),
    doc.Column("query", "query", doc.NAME),
    doc.Column("baseline_value", "baseline value", doc.NUMBER),
    doc.Column("value", "value", doc.NUMBER),
    doc.Column("difference", "difference", doc.SIGNED),
]


def _shows_worst(report: GateReport) -> list[CheckOutcome]:
    """The check of each metric whose worst queries are shown: one against the baseline, if one did not hold."""
    by_metric: dict[str, CheckOutcome] = {}
    for outcome in sorted(report.outcomes, key=lambda outcome: not outcome.check.needs_baseline):
        if outcome.worst:
            by_metric.setdefault(outcome.check.metric, outcome)
    return list(by_metric.values())


def _exceeded(report: GateReport) -> str:
    """That the baseline could be raised, or ''."""
    exceeding = [outcome for outcome in report.outcomes if outcome.exceeds and outcome.verdict == "held"]
    if not exceeding:
        return ""
    becomes = report.updates and report.exit_code == 0
    what = ", and becomes the baseline." if becomes else ": raise the baseline (--update-baseline)?"
    metrics = first_names(dict.fromkeys(outcome.check.metric for outcome in exceeding))
    return f"The run beats its baseline by more than the tolerance in {metrics}{what}"


def _subject(report: GateReport) -> str:
    """'run new.run, baseline old.json, qrels qrels.txt, rel = 2'."""
    return ", ".join(f"{role} {text}" if role != "options" else text for role, text in report.subject.items())


def _titled(report: GateReport) -> str:
    return f"gradeval gate {printable(report.name)}".rstrip()


def verdict_line(report: GateReport) -> str:
    """The exit code in words."""
    if report.problems or not report.outcomes:
        return "the gate could not decide: see the errors"
    counts, total = report.counts, len(report.outcomes)
    of = f"of {total} check{'s' * (total != 1)}"
    others = ", ".join(f"{counts[kind]} {kind}" for kind in ("failed", "inconclusive") if counts[kind])
    if counts["error"]:
        rest = f"; {others}" if others else ""
        return f"the gate could not decide: {counts['error']} {of} could not be judged{rest}"
    if others:
        return f"gate failed: {total - counts['held']} {of} did not hold ({others})"
    return f"gate held: {total} {of} held"


# --- for CI services


def _message(outcome: CheckOutcome, digits: Digits) -> str:
    value, bound, by = (text_of(outcome, digits) for text_of in (_value, _bound, margin))
    return f"{outcome.verdict}: {outcome.reason or f'value {value}, bound {bound}, margin {by}'}"


def junit(report: GateReport, digits: Digits) -> str:
    """A test case for each check. Inconclusive checks are failures; what could not be judged is an error."""
    from xml.etree import ElementTree
    from xml.etree.ElementTree import Element, SubElement

    title, problems = _titled(report), report.problems
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
            texts, tag = list(map(printable, lines)), "error" if verdict == "error" else "failure"
            SubElement(case, tag, {"type": verdict, "message": texts[0]}).text = "\n".join(texts)

    for outcome in report.outcomes:
        lines = [_message(outcome, digits)]
        for query in outcome.worst:
            old, new = (number(value, digits) for value in (query.baseline_value, query.value))
            change = signed(query.value - query.baseline_value, digits)
            lines.append(f"query {query.query}: baseline {old}, run {new}, difference {change}")
        add(str(outcome.check), outcome.verdict, lines)
    if problems:
        add("gate", "error", problems)
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def github(report: GateReport, digits: Digits, warnings: Sequence[str] = ()) -> str:
    """Commands that the runner of GitHub Actions reads in the log, a line each; the first is the verdict."""
    subject = f" ({_subject(report)})" if report.subject else ""
    commands = [("notice" if report.exit_code == 0 else "error", verdict_line(report) + subject)]
    commands += [("error", problem) for problem in report.problems]
    commands += [("warning", warning) for warning in warnings]
    shows_worst = _shows_worst(report)
    undecided = Counter(outcome.reason for outcome in report.outcomes if outcome.verdict == "error")
    commands += [("error", f"{count} checks: {reason}") for reason, count in undecided.items() if count > 1]
    for outcome in report.outcomes:
        if outcome.verdict != "held" and undecided[outcome.reason] < 2:
            ids = ", ".join(query.query for query in outcome.worst if outcome in shows_worst)
            queries = f"; worst queries: {ids}" if ids else ""
            commands.append(("error", f"{outcome.check}: {_message(outcome, digits)}{queries}"))
    if exceeded := _exceeded(report):
        commands.append(("notice", exceeded))
    # everything behind the second '::' is text, in which '%' begins an escape; so do ':' and ',' in the title
    title = _titled(report).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    return "".join(
        f"::{level} title={title}::{printable(text).replace('%', '%25')}\n" for level, text in commands
    )


def append_summary(path: str, report: GateReport, digits: Digits) -> None:
    """Append to the file that GITHUB_STEP_SUMMARY names. Raises GradevalError."""
    text = f"## {escape_md(_titled(report))}\n\n{report.render('md', digits=digits)}\n"
    with writing(f"GITHUB_STEP_SUMMARY: {path}"), open(path, "ab") as file:
        file.write(text.encode("utf-8", "backslashreplace"))
