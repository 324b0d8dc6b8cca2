"""Output for CI services: a JUnit file, and annotations and the summary of a step of GitHub Actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from gradeval.commands.gate.layout import bound, margin, value, verdict_line
from gradeval.commands.gate.result import CheckOutcome, GateReport
from gradeval.errors import GradevalError, printable
from gradeval.render import Digits
from gradeval.render.numbers import number, signed

_SUITE = "gradeval gate"


def junit(report: GateReport, digits: Digits) -> str:
    """A test case for each check. Inconclusive checks are failures; what could not be judged is an error."""
    errors = report.counts["error"] + bool(report.problems)
    tests = len(report.outcomes) + bool(report.problems)
    failures = len(report.outcomes) - report.counts["held"] - report.counts["error"]
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(errors)}
    suites = Element("testsuites", counts)
    suite = SubElement(suites, "testsuite", {"name": _SUITE, **counts})
    for outcome in report.outcomes:
        case = SubElement(suite, "testcase", {"classname": _SUITE, "name": printable(str(outcome.check))})
        if outcome.verdict == "held":
            continue
        kind = "error" if outcome.verdict == "error" else "failure"
        lines = [_message(outcome, digits)]
        about = {"type": outcome.verdict, "message": printable(lines[0])}
        for query in outcome.worst:
            old, new = (number(each, digits) for each in (query.baseline_value, query.value))
            change = signed(query.difference, digits)
            lines.append(f"query {query.query}: baseline {old}, run {new}, difference {change}")
        SubElement(case, kind, about).text = "\n".join(map(printable, lines))
    if report.problems:
        case = SubElement(suite, "testcase", {"classname": _SUITE, "name": "gate"})
        problems = list(map(printable, report.problems))
        SubElement(case, "error", {"type": "error", "message": problems[0]}).text = "\n".join(problems)
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def github(report: GateReport, digits: Digits, warnings: Sequence[str] = ()) -> str:
    """Commands that the runner of GitHub Actions reads in the log, a line each."""

    def commands() -> Iterator[tuple[str, str]]:
        yield from (("error", problem) for problem in report.problems)
        yield from (("warning", warning) for warning in warnings)
        for outcome in report.outcomes:
            if outcome.verdict != "held":
                ids = ", ".join(query.query for query in outcome.worst)
                queries = f"; worst queries: {ids}" if ids else ""
                yield "error", f"{outcome.check}: {_message(outcome, digits)}{queries}"
        yield "notice" if report.exit_code == 0 else "error", verdict_line(report)

    # everything behind the second '::' is text, in which '%' begins an escape
    return "".join(
        f"::{level} title=gradeval gate::{printable(text).replace('%', '%25')}\n" for level, text in commands()
    )


def _message(outcome: CheckOutcome, digits: Digits) -> str:
    """'failed: value 0.41, bound 0.45, margin -0.04'."""
    numbers = {"value": value, "bound": bound, "margin": margin}
    texts = (f"{name} {text_of(outcome, digits)}" for name, text_of in numbers.items())
    return f"{outcome.verdict}: {outcome.reason or ', '.join(texts)}"


def append_summary(path: str, report: GateReport, digits: Digits) -> None:
    """Append to the file that GITHUB_STEP_SUMMARY names. Raises GradevalError."""
    text = f"## gradeval gate\n\n{report.render('md', digits=digits)}\n"
    try:
        with open(path, "ab") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        what = f"{path} cannot be written ({error.strerror or error})"
        raise GradevalError(f"GITHUB_STEP_SUMMARY: {what}") from None
