"""The report as a JUnit file, which CI services show: a test case for each check."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from gradeval.commands.gate.layout import bound, margin, value
from gradeval.commands.gate.result import CheckOutcome, GateReport
from gradeval.errors import printable
from gradeval.render import Digits
from gradeval.render.numbers import number, signed

_SUITE = "gradeval gate"


def render(report: GateReport, digits: Digits) -> str:
    """Inconclusive checks are failures; what could not be judged is an error."""
    errors = report.counts["error"] + bool(report.problems)
    tests = len(report.outcomes) + bool(report.problems)
    failures = len(report.outcomes) - report.counts["held"] - report.counts["error"]
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(errors)}
    suites = Element("testsuites", counts)
    suite = SubElement(suites, "testsuite", {"name": _SUITE, **counts})
    for one in report.outcomes:
        case = SubElement(suite, "testcase", {"classname": _SUITE, "name": printable(str(one.check))})
        if one.verdict != "held":
            kind = "error" if one.verdict == "error" else "failure"
            about = {"type": one.verdict, "message": printable(message(one, digits))}
            SubElement(case, kind, about).text = _text(one, digits)
    if report.problems:
        case = SubElement(suite, "testcase", {"classname": _SUITE, "name": "gate"})
        problems = list(map(printable, report.problems))
        SubElement(case, "error", {"type": "error", "message": problems[0]}).text = "\n".join(problems)
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def message(one: CheckOutcome, digits: Digits) -> str:
    """'failed: value 0.41, bound 0.45, margin -0.04'."""
    texts = [value(one, digits), bound(one, digits), margin(one, digits)]
    numbers = (f"{name} {text}" for name, text in zip(("value", "bound", "margin"), texts, strict=True))
    return f"{one.verdict}: {one.reason or ', '.join(numbers)}"


def _text(one: CheckOutcome, digits: Digits) -> str:
    lines = [message(one, digits)]
    for query in one.worst:
        numbers = [number(each, digits) for each in (query.baseline_value, query.value)]
        change = signed(query.difference, digits)
        lines.append(f"query {query.query}: baseline {numbers[0]}, run {numbers[1]}, difference {change}")
    return "\n".join(map(printable, lines))
