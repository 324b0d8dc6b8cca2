"""gradeval gate: may this run be merged?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from gradeval.cli import options as cli
from gradeval.cli.job import (
    Job,
    as_typed,
    command_runner,
    echo_error,
    input_files,
    lines_of,
    refuse_options,
    with_job,
    write,
)
from gradeval.compare_options import CompareOptions
from gradeval.errors import GradevalError, OptionError, UnsuitableOptionError
from gradeval.file_formats import LabelledRuns, labelled
from gradeval.notices import OF_QRELS, NoticeKind, Notices, lines
from gradeval.options import Options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from gradeval.commands.gate.configuration import GateConfig
    from gradeval.commands.gate.gate import GateReport
    from gradeval.commands.gate.rankings import RankingValues
    from gradeval.evaluation.results import Results
    from gradeval.formats.lines import TomlFile
    from gradeval.formats.output import OutputFile

FORMATS = ("table", "tsv", "json", "md")

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
  gradeval gate qrels.txt new.run --baseline old.json --no-worse RR --update-baseline
                                       where it holds, it is the next baseline
  gradeval gate new.run --baseline old.run --require 'RBO >= 0.95' --require 'same@10 >= 90%'
                                       a refactoring must not move results: no judgments

Checks are also read from [tool.gradeval.gate] of ./pyproject.toml.

Exit codes: 0 all checks held, 1 some did not, 2 they could not be judged: wrong usage or
input, an undefined value, or fewer of the judged queries than --min-coverage.
"""

_NOT_OF_INIT = (
    *("config", "min_coverage", "by", "window", "bounds", "update_baseline", "force", "name", "worst"),
    *("junit", "github", "format_"),
)
_checks = cli.section("Checks (each option can be repeated)")
_against = cli.section("What is judged")
_reports = cli.section("Reports")


_CHECKS = {
    "require": (
        "METRIC >= X",
        "The value must be >=, >, <= or < X. METRIC may be num_q, Judged@10, or coverage, the share of the "
        "judged queries that are in the run. In every check METRIC[GROUP] is of a group of queries (--by). Of "
        "rankings, against the baseline's, without judgments: RBO, overlap@k, jaccard@k, AO@k, same@k and "
        "same_set@k, of the mean, or with 'in N%' of this share of the queries.",
    ),
    "max-drop": ("METRIC X", "The mean must not fall by more than X, or X% of the baseline's; a point check."),
    "no-worse": (
        "METRIC",
        "The run must not be significantly worse: the 95 % interval of the difference (paired t-test) must not "
        "lie below 0. 2.5 % of such checks fail by chance; there is no correction for several.",
    ),
    "non-inferior": (
        "METRIC X",
        "The run must be shown to be no worse by more than X, or X% of the baseline's mean: the interval must "
        "not reach below -X; inconclusive where it contains -X.",
    ),
    "max-query-drop": (
        "METRIC X in N%",
        "The value must not fall by more than X for more than N% of the queries (0 without 'in').",
    ),
}


def _complete_check(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Metrics, and for --require measures of rankings too."""
    from gradeval.commands.gate.rankings import completed_measures

    more = completed_measures() if param.name == "require" else {}
    return cli.complete_metric(ctx, param, incomplete, more=more)


_check_options = cli.together(
    *(
        _checks(f"--{kind}", about, f"'{form}'", multiple=True, shell_complete=_complete_check)
        for kind, (form, about) in _CHECKS.items()
    )
)


@cli.sectioned_command("gate", "Checks for CI: is the run good enough, no worse?", EPILOG)
@click.argument("qrels", metavar="QRELS", type=cli.File())
@click.argument("run", metavar="RUN", type=cli.File(), required=False)
@_check_options
@_against(
    "--config",
    "Checks in TOML, to which those of the command line are added, and options, which those of the "
    "command line replace. Default: ./pyproject.toml, if it has [tool.gradeval.gate].",
    type=cli.File(),
)
@_against("--baseline", "The run to compare with, or its saved result.", type=cli.File())
@cli.row_option(
    CompareOptions,
    "min_coverage",
    section="What is judged",
    default=None,
    help="Do not judge runs with fewer of the judged queries than this, or metrics with values for fewer, "
    "unless --allow undefined (exit code 2). Default: 100, or for RUN what --require 'coverage >= X' says.",
)
@cli.row_option(
    CompareOptions,
    "by",
    section="What is judged",
    help="Groups of queries, 'query TAB group' lines, which checks name: 'nDCG@10[head] >= 0.4'.",
)
@_against(
    "--window",
    "Compare --max-drop with the median of the last N lines of --history that have the name of the run "
    "(NAME=RUN) and the metric, and that no gate has found to fail. Default: 14 where there is no baseline.",
    type=cli.Integer(3, 10**6),
)
@cli.row_option(
    CompareOptions,
    "bounds",
    section="What is judged",
    help="A check against a baseline is inconclusive where judgments of unjudged documents could turn it.",
)
@_against("--init", "Write a commented file of checks of metrics from the values of RUN, and judge nothing.")
@_against(
    "--update-baseline",
    "Where all checks hold, regenerate the baseline from RUN: its saved result, with the metrics and "
    "options of the gate.",
)
@_against("--force", "With --update-baseline: judge nothing, and write even a first baseline.")
@_reports("--name", "Name of the gate, in its titles. Default: 'name' of the configuration.", "TEXT")
@_reports(
    "--worst",
    "Queries to list for each metric, or metric and group, with a check that did not hold.",
    type=cli.Integer(0, 10**6),
    default=5,
    show_default=True,
)
@_reports("--junit", "Write a JUnit file too.", type=cli.OutputPath())
@_reports(
    "--github",
    "Print annotations for GitHub Actions to standard error, and append to the file that "
    "GITHUB_STEP_SUMMARY names.",
)
@cli.measure_options("those of the checks; with --init nDCG@10 and AP, or those of a saved result")
@cli.row_option(Options, "query_weights")
@cli.query_options
@cli.output_options(FORMATS, "table")
@cli.history_option
@cli.input_options
@cli.other_options
@with_job(FORMATS, "table")
def gate_command(
    job: Job,
    qrels: str,
    run: str | None,
    config: str | None,
    baseline: str | None,
    by: str | None,
    bounds: bool,
    init: bool,
    metrics: tuple[str, ...],
    junit: str | None,
    github: bool,
    min_coverage: float | None,
    window: int | None,
    worst: int,
    name: str | None,
    update_baseline: bool,
    force: bool,
    **options: Any,
) -> int:
    """Judge a run by checks, for CI: exit code 0 if all held, 1 if some did not, 2 if they could not be judged.

    RUN and the baseline are runs, or saved results of one run (gradeval -q -f json). Better values never fail
    a check against a baseline. Values that differ by less than 1e-9 are equal. NAME=RUN labels a run. Where all
    checks are of rankings, QRELS is left out, and --min-coverage counts the queries of the baseline.
    """
    from gradeval.commands.gate import configuration, gate
    from gradeval.commands.gate.checks import KINDS
    from gradeval.commands.gate.history import HistoryChoice

    _check_usage(job)
    texts = {kind: options.pop(kind.replace("-", "_")) for kind in KINDS}
    if init:
        return _write_first_config(job, qrels, run, options, baseline=baseline, metrics=metrics)
    reports = _Reports(job, junit, github)
    reports.name = name
    reports.subject["run"] = _in_words(run or qrels)
    path = config or configuration.PYPROJECT
    updated = None
    file = None
    results: Results | None
    rankings: RankingValues | None
    try:
        reports.open(path)
        file = configuration.open_config(config)
        read = [path, *configuration.named_files(file)]
        job.history = job.history or configuration.named_history(file)
        reports.open(*read, checks_labels=True)
        chosen_history = HistoryChoice(job.history, window)
        settings = configuration.read_config(
            file, texts, baseline, min_coverage, by or None, history=chosen_history, bounds=bounds
        )
        reports.describe(settings)
        chosen = _chosen_options(options, settings)
        reports.describe_evaluation(qrels, chosen)
        if update_baseline:
            updated = _baseline_file(job, settings.baseline, force, read)
        history = settings.opened_history(job.history_file)
        judged = _judged(job, (qrels, run), settings, chosen, judges=not force)
        results, rankings = judged
        if force and updated and results is not None:
            return _replace_baseline(job, results, settings, updated)
        settings = replace(settings, windows=history.windows(results))
        report = reports.judge(judged, settings, worst)
        # a check of coverage may ask for less than a baseline needs
        if updated and results is not None and report.exit_code == 0:
            gate.check_baseline(results, updated.path, settings.least_coverage)
    except GradevalError as error:
        problem = as_typed(_problem(error, path, file))
        job.report(lines_of(problem))
        report = gate.GateReport(problems=tuple(str(problem).split("\n")))
        results = rankings = None
    code = reports.publish(report, updates=updated is not None)
    if report.outcomes:
        history.append(gate.judged_means(report, results, rankings, job.label))
    if updated is None or results is None or code:
        return code
    return _write_baseline(results, updated)


class _Judged(NamedTuple):
    """What is judged."""

    results: Results | None  # None without qrels
    rankings: RankingValues | None  # None without checks of rankings


def _judged(
    job: Job, files: tuple[str, str | None], settings: GateConfig, options: Options, *, judges: bool
) -> _Judged:
    """files: QRELS and RUN, or RUN alone where all checks are of rankings. judges: whether there is more to do
    than to write a baseline. Raises UsageError, GradevalError.
    """
    from gradeval.commands.gate import gate

    qrels, run = files
    if run is None and not options.features and (settings.of_metrics or not judges):
        why = f" {gate.needs_qrels(settings.of_metrics[0])}." if settings.of_metrics else ""
        raise click.UsageError(f"Missing argument 'QRELS' or 'RUN'.{why}")
    results = rankings = None
    runs = LabelledRuns([labelled(qrels)])
    with job.running():
        if run is not None or options.features:
            judgments, opened = gate.opened(qrels, run, settings.baseline if judges else None)
            runs = LabelledRuns(job.watched(opened)[:1])
            hashes = bool(
                click.get_current_context().params["update_baseline"] or job.format == "json" or job.history
            )
            results = gate.evaluate_to_gate(
                job.watched(judgments),
                job.watched(opened),
                settings.of_metrics,
                options,
                hashes=hashes,
                bounds=settings.bounds and judges,
            )
        if settings.of_rankings and judges:
            baseline = job.watched(LabelledRuns([labelled(str(settings.baseline))]))
            rankings = gate.rankings_of(LabelledRuns([*job.watched(runs), *baseline]), settings, options)
    return _Judged(results, rankings)


def _check_usage(job: Job) -> None:
    """Raise UsageError for a missing run, and for options that do not go together."""
    from gradeval.commands.gate.checks import KINDS
    from gradeval.commands.gate.configuration import PYPROJECT

    values = click.get_current_context().params
    is_init = values["init"]
    is_forced = values["force"]
    kinds = [kind.replace("-", "_") for kind in KINDS]
    checks = [values[kind] for kind in kinds]
    reports = [values["junit"], values["github"], job.asked_format]
    if is_init:
        refuse_options((*kinds, *_NOT_OF_INIT), "and --init, which writes checks, are mutually exclusive")
    if values["metrics"] and not is_init:
        raise click.UsageError("-m requires --init: the checks name their metrics.")
    may_be_of_rankings = any([*checks, values["config"], os.path.exists(PYPROJECT)]) and not is_init
    if values["run"] is None and not values["features"] and not may_be_of_rankings:
        if is_init:
            needs = "--init writes checks of metrics from the values of a run, and needs both"
            raise click.UsageError(f"Missing argument 'QRELS' or 'RUN'. {needs}.")
        raise click.UsageError("Missing argument 'RUN'.")
    if is_forced and not values["update_baseline"]:
        raise click.UsageError("--force requires --update-baseline.")
    if is_forced and any([*reports, job.output]):
        raise click.UsageError("--force judges nothing, and goes with no report.")
    if job.history is not None and (is_init or is_forced):
        raise click.UsageError("--history and --init or --force are mutually exclusive: nothing is judged.")


def _in_words(argument: str) -> str:
    """'NAME (path)' of a labelled run, whose name picks the lines of a history."""
    name, path = labelled(argument)
    return path if name is None else f"{name} ({path})"


def _chosen_options(options: Mapping[str, Any], settings: GateConfig) -> Options:
    """The options of the evaluation: the command line overrides the file."""
    typed = _typed_options()
    of_file = {option: value for option, value in settings.options.items() if option not in typed}
    return Options(**{**options, **of_file})


def _problem(error: GradevalError, path: str, file: TomlFile | None) -> GradevalError:
    """The error, with the line of the file where that has the option that it is about."""
    from gradeval.commands.gate.configuration import options_table

    if file is None or not isinstance(error, UnsuitableOptionError) or error.option in _typed_options():
        return error
    return error.in_file(path, file.line_of(error.option, options_table(file)))


def _typed_options() -> set[str]:
    """The names of the options that the command line has, which override those of a file."""
    context = click.get_current_context()
    names = (param.name or "" for param in context.command.params)
    typed = {name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    return typed | {"queries"} if "complete" in typed else typed


def _replace_baseline(job: Job, results: Results, settings: GateConfig, file: OutputFile) -> int:
    """Write a baseline without judging the run."""
    from gradeval.commands.gate import gate

    notices = gate.that_matter(results.notices, settings.checks)
    if job.report_failed(results.failed) or not job.passes(notices, runs=len(results.runs)):
        return 2
    gate.check_baseline(results, file.path, settings.least_coverage)
    return _write_baseline(results, file)


def _baseline_file(job: Job, baseline: str | None, force: bool, read: Sequence[str]) -> OutputFile:
    """The baseline to write. read: files that are read though no argument names them. Raises OptionError."""
    from gradeval.evaluation.saved import is_saved
    from gradeval.formats.sources import Source

    option = "--update-baseline"
    if baseline is None:
        raise OptionError(f"{option}: there is no baseline. Add --baseline FILE")
    path = labelled(baseline)[1]
    if not os.path.exists(path) and not force:
        raise OptionError(f"{option} {path}: no such file. Add --force to write a first one")
    if os.path.exists(path) and not is_saved(Source(path)):
        raise OptionError(f"{option} {path}: it is not a saved result, and is not replaced")
    arguments = click.get_current_context().params
    files = [labelled(arguments[name])[1] for name in ("qrels", "run") if arguments[name] is not None]
    file = job.output_file(path, [*files, *(other for other in input_files(*read) if other != path)], option)
    if file is None:
        raise OptionError(f"{option}: the baseline is standard input")
    return file


def _write_baseline(results: Results, file: OutputFile) -> int:
    run = results.runs[0]
    notices = Notices((*results.notices.only(*OF_QRELS), *results.notices.about(run.name)))
    write(results.replace(runs=(run,), given_notices=notices).render("json", per_query=True), file)
    echo_error(f"{file.path}: written from {run.path}")
    return 0


def _write_first_config(
    job: Job,
    qrels: str,
    run: str | None,
    values: dict[str, Any],
    *,
    baseline: str | None,
    metrics: Sequence[str],
) -> int:
    """Write the checks that these runs pass now. Returns the exit code."""
    from gradeval.commands.gate import gate
    from gradeval.commands.gate.configuration import first_checks, first_config

    if job.output is not None and os.path.exists(job.output):
        raise click.UsageError(f"--output {job.output}: the file exists; --init does not overwrite.")
    job.file = job.output_file(job.output, input_files())
    options = Options(**values)
    judgments, runs = gate.opened(qrels, run, baseline)
    checks = first_checks(runs, metrics)
    with job.running():
        results = gate.evaluate_to_gate(job.watched(judgments), job.watched(runs), checks, options)
    if job.report_failed(results.failed):
        return 2
    path = None if baseline is None else labelled(baseline)[1]
    write(first_config(results, checks, path, options, job.output if job.file else None), job.file)
    return 0


class _Reports:
    """Where the report goes: the output of the job, a JUnit file, annotations and the summary of a step."""

    def __init__(self, job: Job, junit: str | None, github: bool) -> None:
        """Raises UsageError where two of them are the same file."""
        self.job = job
        self.github = github
        summary = os.environ.get("GITHUB_STEP_SUMMARY") if github else None
        self.paths = {
            "--junit": junit,
            "--output": job.output,
            "GITHUB_STEP_SUMMARY": summary,
            "--history": job.history,
        }
        self.junit: OutputFile | None = None
        self.summary: str | None = None
        self.warnings: list[str] = []  # for annotations
        self.name: str | None = None  # of the gate
        self.subject: dict[str, str] = {}  # what is judged, as far as it is known
        options: dict[str, str] = {}
        for option, path in self.paths.items():
            if path and (other := options.setdefault(os.path.realpath(path), option)) != option:
                raise click.UsageError(f"{other} and {option} name the same file.")

    def open(self, *read: str, checks_labels: bool = False) -> None:
        """Find problems with the files; where one is wrong, none is written. The arguments are those of
        Job.open().
        """
        from gradeval.formats.output import check_appended

        self.job.file = self.junit = self.summary = None
        inputs = input_files(*read, *filter(None, [self.job.history]))
        summary = self.paths["GITHUB_STEP_SUMMARY"]
        if summary:
            check_appended(summary, inputs, "GITHUB_STEP_SUMMARY")
        junit = self.job.output_file(self.paths["--junit"], inputs, "--junit")
        self.job.open(*read, checks_labels=checks_labels)
        self.junit = junit
        self.summary = summary

    def describe(self, settings: GateConfig) -> None:
        self.name = self.name or settings.name
        if settings.uses_baseline:
            self.subject["baseline"] = _in_words(settings.baseline)

    def describe_evaluation(self, qrels: str, options: Options) -> None:
        from gradeval.commands.gate.configuration import options_in_words

        ids = self.job.query_ids.text if self.job.query_ids else None
        is_judged = bool(click.get_current_context().params["run"] or options.features)
        judged = {"qrels": qrels} if is_judged else {}
        self.subject |= {**judged, **options_in_words(options, ids)}

    def judge(self, judged: _Judged, settings: GateConfig, worst: int) -> GateReport:
        from gradeval.commands.gate.gate import GateReport, judge_all

        job = self.job
        if judged.results is not None and job.report_failed(judged.results.failed):
            errors = dict.fromkeys(str(run.error) for run in judged.results.failed)
            return GateReport(problems=tuple("\n".join(errors).split("\n")))
        report = judge_all(*judged, settings, allow=job.allow, worst=worst)
        if click.get_current_context().params["update_baseline"]:  # RUN may replace it
            notices = Notices(report.notices).without(NoticeKind.UNUSED_BASELINE)
            report = replace(report, notices=tuple(notices))
        runs = len(report.coverage)
        if report.counts["error"] == len(report.outcomes):  # the reason comes first, and nothing else
            return report
        of_ids = job.query_ids.notices if job.query_ids else ()
        faults = [notice for notice in report.notices if not notice.informational]
        self.warnings = [] if job.quiet else list(lines([*of_ids, *faults], runs))
        if not job.passes(report.notices, runs=runs):
            report = GateReport(problems=("warnings are treated as errors (--strict)",))
        job.show_warnings()  # the verdict is the last line
        return report

    def publish(self, report: GateReport, *, updates: bool) -> int:
        """Print and write the report; its exit code. updates: whether RUN may become the baseline."""
        from gradeval.commands.gate import layout
        from gradeval.commands.gate.gate import GateReport

        job = self.job
        report = replace(report, name=self.name or "", subject=self.subject, updates=updates)
        is_printed = bool(report.outcomes) or job.format in ("json", "md")  # which have the problems too
        has_verdict = is_printed and job.file is None and job.format in ("table", "md")  # as the last line
        try:
            if self.junit is not None:
                write(layout.junit(report, job.digits), self.junit)
            if self.github:
                command_runner(layout.github(report, job.digits, self.warnings))
            if self.summary:
                layout.append_summary(self.summary, report, job.digits)
            if is_printed:
                job.print(report)
        except BrokenPipeError:  # the consumer closed the pipe; the exit code is still that of the checks
            has_verdict = False
        except GradevalError as error:
            job.report(lines_of(error))
            report = GateReport(problems=(str(error),))
            has_verdict = False
        if not has_verdict:
            echo_error(layout.verdict_line(report))
        return report.exit_code
