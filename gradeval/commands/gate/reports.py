"""Where the report of a gate goes: the output, a JUnit file, annotations and a step summary for CI services."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradeval.cli import output as out
from gradeval.cli.arguments import output_file
from gradeval.cli.destination import Destination
from gradeval.errors import GradevalError
from gradeval.render import Digits

if TYPE_CHECKING:
    from gradeval.commands.gate.result import GateReport
    from gradeval.formats.output_file import OutputFile

FORMATS = ("table", "tsv", "json", "md")
WITH_VERDICT = ("table", "md")  # formats whose last line is the verdict
WITH_PROBLEMS = ("json", "md")  # formats that say too why nothing could be judged


@dataclass
class Reports:
    """Where the report goes. file: of --output; junit: of --junit; summary: the file of GITHUB_STEP_SUMMARY;
    None where it is not asked for.
    """

    digits: Digits
    github: bool
    format: str = "table"
    file: OutputFile | None = None
    junit: OutputFile | None = None
    summary: str | None = None

    def open(self, output: str | None, junit: str | None, inputs: Sequence[str]) -> None:
        """Find problems with the files before the evaluation. Raises OptionError."""
        from gradeval.formats.output_file import check_appended

        self.junit = self.file = self.summary = None  # nothing is written where one is wrong
        summary = os.environ.get("GITHUB_STEP_SUMMARY") if self.github else None
        if summary:
            check_appended(summary, inputs, "GITHUB_STEP_SUMMARY")
        junit_file = output_file(junit, inputs, "--junit")
        self.file = output_file(output, inputs)
        self.junit, self.summary = junit_file, summary

    def publish(self, report: GateReport, warnings: Sequence[str]) -> int:
        """Write and print the report; the exit code."""
        from gradeval.commands.gate.layout import verdict_line
        from gradeval.commands.gate.result import GateReport

        has_verdict = self.file is None and self.format in WITH_VERDICT and self._is_printed(report)
        try:
            self._for_services(report, warnings)
            self._print(report)
        except BrokenPipeError:  # the consumer closed the pipe; the exit code is still that of the checks
            has_verdict = False
        except GradevalError as error:
            out.report(error)
            report, has_verdict = GateReport(problems=(str(error),)), False
        if not has_verdict:
            out.echo_error(verdict_line(report))
        return report.exit_code

    def _for_services(self, report: GateReport, warnings: Sequence[str]) -> None:
        """The JUnit file, annotations and the step summary."""
        from gradeval.commands.gate import github, junit

        if self.junit is not None:
            out.write(junit.render(report, self.digits), self.junit)
        if not self.github:
            return
        out.command_runner(github.render(report, self.digits, warnings))
        if self.summary:
            text = f"## gradeval gate\n\n{report.render('md', digits=self.digits)}\n"
            try:
                with open(self.summary, "ab") as file:
                    file.write(text.encode("utf-8", "backslashreplace"))
            except OSError as error:
                what = f"{self.summary} cannot be written ({error.strerror or error})"
                raise GradevalError(f"GITHUB_STEP_SUMMARY: {what}") from None

    def _is_printed(self, report: GateReport) -> bool:
        return bool(report.outcomes) or self.format in WITH_PROBLEMS

    def _print(self, report: GateReport) -> None:
        if not self._is_printed(report):
            return
        destination = Destination.of(self.file, self.format, FORMATS)
        destination.write(report.render(destination.format, digits=self.digits, **destination.style))
