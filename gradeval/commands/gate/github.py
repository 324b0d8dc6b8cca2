"""Annotations of a run of GitHub Actions: commands that its runner reads in the log, a line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradeval.commands.gate.junit import message
from gradeval.commands.gate.layout import verdict_line
from gradeval.commands.gate.result import GateReport
from gradeval.errors import printable
from gradeval.render import Digits


def render(report: GateReport, digits: Digits, warnings: Sequence[str] = ()) -> str:
    return "".join(f"{line}\n" for line in _annotations(report, digits, warnings))


def _annotations(report: GateReport, digits: Digits, warnings: Sequence[str]) -> Iterator[str]:
    yield from (_command("error", problem) for problem in report.problems)
    yield from (_command("warning", warning) for warning in warnings)
    for one in report.outcomes:
        if one.verdict != "held":
            ids = ", ".join(query.query for query in one.worst)
            queries = f"; worst queries: {ids}" if ids else ""
            yield _command("error", f"{one.check}: {message(one, digits)}{queries}")
    yield _command("notice" if report.exit_code == 0 else "error", verdict_line(report))


def _command(level: str, text: str) -> str:
    """An annotation: everything behind the second '::' is its text, in which '%' begins an escape."""
    return f"::{level} title=gradeval gate::{printable(text).replace('%', '%25')}"
