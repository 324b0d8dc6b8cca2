"""gradeval gate: may this run be merged?"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from gradeval import process
from gradeval.cli import output as out
from gradeval.cli.arguments import asked_queries, check_new, check_queries, input_files, naming_queries
from gradeval.cli.options import (
    input_options,
    measure_options,
    other_options,
    output_options,
    query_options,
    section,
    sectioned_command,
)
from gradeval.cli.types import File, Integer, OutputPath, Percentage
from gradeval.commands.gate.reports import FORMATS, Reports
from gradeval.errors import GradevalError
from gradeval.notices import Kind, lines
from gradeval.options import Options
from gradeval.render import Digits

if TYPE_CHECKING:
    from gradeval.cli.query_ids import QueryIds
    from gradeval.commands.gate.checks import Check, GateConfig
    from gradeval.evaluation.results import Results
    from gradeval.evaluation.saved import Runs
    from gradeval.formats.output_file import OutputFile
    from gradeval.formats.toml import TomlFile
    from gradeval.registry.spec import Spec

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

EPILOG = """\b
Examples:
  gradeval gate qrels.txt new.run --require 'nDCG@10 >= 0.45' --require 'Judged@10 >= 0.8'
                                       values that the run must have
  gradeval gate qrels.txt new.run --baseline old.run --max-drop 'nDCG@10 2%'
                                       the mean may fall by 2 % at most
  gradeval gate qrels.txt new.run --baseline old.run --no-worse 'nDCG@10 AP'
                                       it must not be significantly worse
  gradeval gate qrels.txt new.run --baseline old.run --non-inferior 'nDCG@10 0.01'
                                       it must be shown to be no worse by 0.01
  gradeval qrels.txt old.run -m 'nDCG@10 RR' -q -f json -o old.json
  gradeval gate qrels.txt new.run --baseline old.json --max-query-drop 'RR 0.5 in 5%'
                                       against a saved result
  gradeval gate qrels.txt new.run --baseline old.run --init -o gates.toml
  gradeval gate qrels.txt new.run --config gates.toml --github --junit gate.xml
                                       checks in a file, reports for CI

\b
Checks are also read from [tool.gradeval.gate] of ./pyproject.toml.
Exit codes: 0 all checks held, 1 some did not, 2 they could not be judged: wrong usage or
input, an undefined value, or fewer of the judged queries than --min-coverage.
"""
# kind of check -> name of the parameter
_PARAMETERS = {
    "require": "require",
    "max-drop": "max_drop",
    "no-worse": "no_worse",
    "non-inferior": "non_inferior",
    "max-query-drop": "max_query_drop",
}
_MOST_WORST = 10**6

_checks = section("Checks (each option can be repeated)")
_against = section("What is judged")
_reports = section("Reports")


def _check_option(name: str, form: str, about: str) -> Callable[[Decorated], Decorated]:
    return _checks(f"--{name}", multiple=True, metavar=f"'{form}'", help=about)


@sectioned_command("gate", "Checks for CI: is the run good enough, no worse?", EPILOG)
@click.argument("qrels", metavar="QRELS", type=File())
@click.argument("run", metavar="RUN", type=File(), required=False)
@_check_option(
    "require",
    "METRIC >= X",
    "The value must be >=, >, <= or < X. METRIC may be num_q, Judged@10, or coverage, the share of the judged "
    "queries that are in the run.",
)
@_check_option(
    "max-drop", "METRIC X", "The mean must not fall by more than X, or X% of the baseline's; a point check."
)
@_check_option(
    "no-worse",
    "METRIC",
    "The run must not be significantly worse: the 95 % interval of the difference (paired t-test) must not lie "
    "below 0. 2.5 % of such checks fail by chance; there is no correction for several.",
)
@_check_option(
    "non-inferior",
    "METRIC X",
    "The run must be shown to be no worse by more than X: the interval must not reach below -X; inconclusive "
    "where it contains -X.",
)
@_check_option(
    "max-query-drop",
    "METRIC X in N%",
    "The value must not fall by more than X for more than N% of the queries (0 without 'in').",
)
@_against(
    "--config",
    type=File(),
    metavar="FILE",
    help="Checks in TOML, to which those of the command line are added, and options, which those of the "
    "command line replace. Default: ./pyproject.toml, if it has [tool.gradeval.gate].",
)
@_against("--baseline", type=File(), metavar="FILE", help="The run to compare with, or its saved result.")
@_against(
    "--min-coverage",
    type=Percentage(0.0, 100.0),
    metavar="PERCENT",
    help="Do not judge runs with fewer of the judged queries than this, or metrics with values for fewer, "
    "unless --allow undefined (exit code 2). Default: 100, or for RUN what --require 'coverage >= X' says.",
)
@_against(
    "--init", is_flag=True, help="Write a commented file of checks from today's values, and judge nothing."
)
@_reports(
    "--worst",
    type=Integer(0, _MOST_WORST),
    default=5,
    show_default=True,
    metavar="N",
    help="Queries to list for each check that did not hold.",
)
@_reports("--junit", type=OutputPath(), metavar="FILE", help="Write a JUnit file too.")
@_reports(
    "--github",
    is_flag=True,
    help="Print annotations for GitHub Actions to standard error, and append to the file that "
    "GITHUB_STEP_SUMMARY names.",
)
@measure_options("those of the checks; with --init nDCG@10 and AP, or those of a saved result")
@query_options()
@output_options(FORMATS, "table")
@input_options()
@other_options()
def gate_command(
    qrels: str,
    run: str | None,
    config: str | None,
    baseline: str | None,
    init: bool,
    worst: int,
    junit: str | None,
    github: bool,
    metrics: tuple[str, ...],
    complete: bool,
    format_: str | None,
    digits: Digits,
    output: str | None,
    query_ids: str | None,
    quiet: bool,
    strict: bool,
    allow: tuple[Kind, ...],
    **given: Any,
) -> int:
    """Judge a run by checks, for CI: exit code 0 if all held, 1 if some did not, 2 if they could not be judged.

    RUN and the baseline are runs, or saved results of one run (gradeval -q -f json). Better values never fail
    a check against a baseline. Values that differ by less than 1e-9 are equal. NAME=RUN labels a run.
    """
    check_queries(complete, given["queries"])
    own = {kind: given.pop(name) for kind, name in _PARAMETERS.items()}
    min_coverage = given.pop("min_coverage")
    judging = [*own.values(), config, junit, github, format_]
    if init and any(judging):
        raise click.UsageError("--init writes a file of checks, and goes with none and with no report.")
    if metrics and not init:
        raise click.UsageError("-m requires --init: the checks name their metrics.")
    if run is None and not given["features"]:
        raise click.UsageError("Missing argument 'RUN'.")
    if init:
        check_new(output)
    inputs = input_files()
    if junit is not None and output is not None and os.path.realpath(junit) == os.path.realpath(output):
        raise click.UsageError("--junit and --output name the same file.")
    out.treat_warnings(quiet, strict)
    process.imported()

    from gradeval.commands.gate.checks import PYPROJECT, GateConfig, named_files
    from gradeval.commands.gate.judge import check_baseline, first_checks, judge
    from gradeval.commands.gate.result import GateReport
    from gradeval.tables.run_names import labelled

    reports = Reports(digits, github)
    warnings: list[str] = []
    try:
        if config is None and not init:
            inputs.append(PYPROJECT)
        reports.open(output, junit, inputs)
        if not init:
            reports.format = format_ or out.default_format(reports.file, FORMATS, "table")
        asked = asked_queries(query_ids)
        file = None if init else _config_file(config)
        if file is not None:
            reports.open(output, junit, [*inputs, *(labelled(path)[1] for path in named_files(file))])
        settings = GateConfig() if init else _settings(file, own, baseline, min_coverage)
        options = _options(given, settings.options, complete)
        judged = (None, qrels) if run is None else labelled(run)
        evaluate = partial(_evaluated, qrels, judged, options, asked, quiet)
        if init:
            specs = _parsed(metrics)
            results, checks = evaluate(baseline, lambda runs: first_checks(runs, specs))
            _write_config(results, checks, baseline and labelled(baseline)[1], options, reports.file)
            return 0
        check_baseline(settings.checks, settings.baseline)
        results, checks = evaluate(
            settings.baseline, lambda _: settings.checks, hashes=reports.format == "json"
        )
        report = judge(results, checks, min_coverage=settings.min_coverage, allow=allow, worst=worst)
        of_ids, count = asked.warnings if asked else (), len(results.runs)
        faults = [notice for notice in report.notices if not notice.informational]
        warnings = [] if quiet else [*of_ids, *lines(faults, count)]
        if not out.passes(of_ids, report.notices, count, quiet, strict, allow):
            report = GateReport(problems=("warnings are treated as errors (--strict)",))
    except GradevalError as error:
        for each in error.errors if isinstance(error, _UnreadableRuns) else [error]:
            out.report(each)
        if init:
            return 2
        report = GateReport(problems=tuple(str(error).split("\n")))
    return reports.publish(report, warnings)


class _UnreadableRuns(GradevalError):
    """The run, the baseline, or both. errors: text -> error."""

    def __init__(self, errors: Mapping[str, GradevalError]) -> None:
        self.errors = list(errors.values())
        super().__init__(*(line for text in errors for line in text.split("\n")))


def _parsed(metrics: Sequence[str]) -> list[Spec] | None:
    from gradeval.registry.spec import parse

    return parse(metrics) if metrics else None


def _options(given: Mapping[str, Any], of_config: Mapping[str, Any], complete: bool) -> Options:
    """The options of the command line, and those of the configuration that it does not have."""
    source = click.get_current_context().get_parameter_source
    kept = {name: of for name, of in of_config.items() if source(name) is not ParameterSource.COMMANDLINE}
    if complete:
        kept.pop("queries", None)
    return Options.of(**{**given, **kept, "jobs": given["jobs"] or 0})


def _config_file(config: str | None) -> TomlFile | None:
    """The file of --config, or pyproject.toml where it says anything about gradeval."""
    from gradeval.commands.gate.checks import PYPROJECT, has_config
    from gradeval.formats.sources import Source
    from gradeval.formats.toml import read_toml

    if config is not None:
        return read_toml(Source(config))
    return file if os.path.isfile(PYPROJECT) and has_config(file := read_toml(Source(PYPROJECT))) else None


def _settings(
    file: TomlFile | None, own: Mapping[str, Sequence[str]], baseline: str | None, min_coverage: float | None
) -> GateConfig:
    """The checks of the file, then those of the command line, whose baseline and coverage come first."""
    from gradeval.commands.gate.checks import GateConfig, parse_checks, read_config

    checks = [check for kind, texts in own.items() for text in texts for check in parse_checks(kind, text)]
    settings = GateConfig(tuple(checks), baseline, min_coverage)
    return settings if file is None else read_config(file).with_more(settings)


def _evaluated(
    qrels: str,
    run: tuple[str | None, str],
    options: Options,
    asked: QueryIds | None,
    quiet: bool,
    baseline: str | None,
    checks_of: Callable[[Runs], Sequence[Check]],
    hashes: bool = False,
) -> tuple[Results, Sequence[Check]]:
    """The results of the run and of the baseline, and the checks of these. Raises GradevalError."""
    from gradeval.commands.gate.judge import evaluate_to_gate
    from gradeval.evaluation.saved import with_saved
    from gradeval.render.progress import Progress
    from gradeval.tables.run_names import labelled

    judgments, runs = with_saved(qrels, [run, *([] if baseline is None else [labelled(baseline)])])
    checks = checks_of(runs)
    with naming_queries(asked), Progress(enabled=False if quiet else None) as progress:
        results = evaluate_to_gate(
            judgments,
            runs,
            checks,
            options,
            watch=progress.watch,
            hashes=hashes,
            query_ids=None if asked is None else asked.chosen,
        )
    if results.failed:
        raise _UnreadableRuns({str(failed.error): failed.error for failed in results.failed})
    return results, checks


def _write_config(
    results: Results, checks: Sequence[Check], baseline: str | None, options: Options, file: OutputFile | None
) -> None:
    """A first file of checks; paths of the baseline and of groups are relative to it."""
    from gradeval.commands.batch.manifest import OPTIONS
    from gradeval.commands.gate.config import render

    def beside(path: str) -> str:
        return path if file is None else os.path.relpath(path, os.path.dirname(os.path.realpath(file.path)))

    given = {**{name: getattr(options, name) for name in OPTIONS}, "query_ids": results.options["query_ids"]}
    given = {name: value for name, value in given.items() if value != getattr(Options(), name)}
    if "groups" in given:
        given["groups"] = beside(given["groups"])
    if "columns" in given:
        given["columns"] = dict(given["columns"])
    specs = dict.fromkeys(check.spec for check in checks if check.spec is not None)
    path = None if baseline in (None, "-") else beside(baseline)
    out.write(render(results, list(specs), path, given), file)
