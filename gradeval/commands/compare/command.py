"""gradeval compare: is run B better than run A? And the options of all commands that compare runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any

import click

from gradeval.cli import options as cli
from gradeval.cli.job import Job, listed_runs, named_by, refuse_options, with_job
from gradeval.compare_options import COMPARISON, FEW_RUNS, FURTHER, CompareOptions, split_options
from gradeval.file_formats import LabelledRuns, run_names
from gradeval.options import COMPARED_METRICS, MORE, PROCESS, Options

if TYPE_CHECKING:
    from gradeval.commands.compare.compare import Comparison

EPILOG = """\b
Examples:
  gradeval compare qrels.txt bm25.run dense.run -m 'nDCG@10 AP'
                                       the second run against the first
  gradeval compare qrels.txt bm25.run dense.run --test randomization --worst 5
                                       by sign flips, and what got worse most
  gradeval compare qrels.txt *.run --all-pairs -f latex
                                       every run with every other, for a paper
  gradeval compare qrels.txt *.run --baseline bm25.run --by topics.tsv
                                       and for each group of queries
  gradeval qrels.txt old.run -q -f json -o old.json
  gradeval compare qrels.txt old.json new.run
                                       with a saved result
  gradeval compare --values a.csv b.csv
                                       values that any tool has computed

A saved result must come from the same qrels, options and metrics. With --values
each file is CSV or TSV with a column of query ids (query, qid, query_id, … or
--columns query=NAME) and one for each metric, gradeval's own TSV (-q, also with
--wide), or the output of trec_eval -q. A query that a table lacks counts as 0, or
is excluded if lower values are better, or with --queries both.
"""
FEW = "there is none to compare it with"
_values = cli.section("Tables of values")

comparison_options = cli.row_options(CompareOptions, COMPARISON)


def with_baseline(arguments: Sequence[str], baseline: str | None, listed: str | None = None) -> LabelledRuns:
    """(label, path) of the runs or tables, after the baseline if that is another file, and no name of a run.
    listed: the list of further runs.
    """
    runs = LabelledRuns.of_arguments(arguments)
    runs += listed_runs(listed)
    if baseline is None or baseline in [path for _, path in runs] or not os.path.exists(baseline):
        return runs
    names = run_names((label, path, None) for label, path in runs)
    return runs if baseline in names else LabelledRuns([(None, baseline), *runs])


FORMATS = ("table", "tsv", "csv", "json", "md", "latex")


@cli.sectioned_command("compare", "Compare runs: differences, tests, intervals.", EPILOG)
@click.argument("files", metavar="QRELS RUN RUN...", type=cli.File(), nargs=-1)
@comparison_options
@cli.row_options(CompareOptions, FURTHER)
@cli.section(FURTHER)("--relative", "Differences in percent of the baseline's mean too.")
@cli.section(FURTHER)(
    "--pairs", f"With --all-pairs of more than {FEW_RUNS} runs: print the table of pairs too, as of fewer."
)
@_values("--values of_values", "The files are tables of values per query; no qrels.")
@_values(
    "--lower-is-better",
    "A metric of the tables where lower values are better; a query that a table lacks is excluded for it. "
    "Default: as gradeval's metric of that name, or higher.",
    "NAME",
    multiple=True,
)
@cli.measure_options(f"{COMPARED_METRICS}, or all that saved results or tables have")
@cli.row_option(Options, "query_weights")
@cli.queries("-q --per-query", "Print every query too: the values of the runs, the differences.")
@cli.queries("-n --no-summary", "Do not print the comparisons; requires -q.")
@cli.query_options
@cli.output_options(FORMATS)
@cli.signature_option
@cli.runs_from_option
@cli.name_by_option
@cli.input_options
@cli.other_options
@cli.fail_on_warning_option
@with_job(FORMATS)
def compare_command(
    job: Job,
    files: tuple[str, ...],
    metrics: tuple[str, ...],
    of_values: bool,
    lower_is_better: tuple[str, ...],
    relative: bool,
    per_query: bool,
    no_summary: bool,
    runs_from: str | None,
    name_by: str | None,
    pairs: bool,
    **options: Any,
) -> int:
    """Compare runs by their values for the same queries.

    The first RUN is the baseline. For each other RUN and each metric: the difference of the means, its
    confidence interval, p before and after correction for multiple comparisons, effect size, and how many
    queries got better and worse. A RUN may be a saved result (gradeval -q -f json) too.
    NAME=RUN labels a run. Where a run cannot be read, the others are compared, and the exit code is 2.
    """
    if no_summary and not per_query:
        raise click.UsageError("-n requires -q: nothing would be printed.")
    if no_summary and job.asked_format == "json":
        raise click.UsageError("-n and -f json are mutually exclusive: JSON has the comparisons.")
    if pairs and not options["all_pairs"]:
        raise click.UsageError("--pairs requires --all-pairs.")
    if of_values:
        _check_tables(files)
    else:
        _check_runs(files, options["features"] or runs_from, lower_is_better)
    runs = with_baseline(files if of_values else files[1:], options["baseline"], runs_from)
    job.open(*(path for _, path in runs if path != "-"))
    runs = named_by(runs, name_by)
    comparison: Comparison | None
    with job.running():
        if of_values:
            comparison = _compared_tables(job.watched(runs), metrics, lower_is_better, options)
        else:
            comparison = _compared_runs(job, files[0], runs, metrics or None, options, per_query=per_query)
    if comparison is None or not job.passes(comparison.notices, runs=len(comparison.values.runs)):
        return 2
    job.print(comparison, per_query=per_query, summary=not no_summary, relative=relative, pairs=pairs)
    job.sign(comparison.inputs.get("signatures", ()))
    return 2 if comparison.failed else 0


def _check_tables(files: Sequence[str]) -> None:
    """Raise UsageError without tables of values, or for an option of evaluations."""
    unused = Options.rows(without=(MORE, PROCESS)).keys() - _options_of_tables()
    refuse_options(
        ("signature", "runs_from", "name_by", *unused),
        "and --values are mutually exclusive: nothing is evaluated",
    )
    if not files:
        raise click.UsageError("Missing argument: the tables of values to compare.")


def _options_of_tables() -> set[str]:
    from gradeval.commands.compare.tables import compare_tables

    return {*signature(compare_tables).parameters}


def _check_runs(
    files: Sequence[str], further_runs: Sequence[str] | None, lower_is_better: Sequence[str]
) -> None:
    """Raise UsageError without qrels and two runs. further_runs: features that are runs, or a list of runs."""
    if lower_is_better:
        raise click.UsageError(
            "--lower-is-better requires --values: the direction of gradeval's metrics is known."
        )
    if not files or (len(files) < 2 and not further_runs):
        hint = "tables without qrels go with --values" if files else "the qrels, then two runs or more"
        raise click.UsageError(f"Missing argument 'QRELS RUN RUN...': {hint}.")


def _compared_tables(
    tables: LabelledRuns, metrics: Sequence[str], lower_is_better: Sequence[str], options: dict[str, Any]
) -> Comparison:
    from gradeval.commands.compare.tables import compare_tables

    names = _options_of_tables()
    used = {name: value for name, value in options.items() if name in names}
    return compare_tables(tables, metrics, lower_is_better=lower_is_better, **used)


def _compared_runs(
    job: Job,
    qrels: str,
    runs: LabelledRuns,
    metrics: Sequence[str] | None,
    options: dict[str, Any],
    *,
    per_query: bool,
) -> Comparison | None:
    """None where too few runs can be evaluated, or the baseline cannot; runs that cannot are reported."""
    from gradeval.commands.compare.compare import check_baseline, compare_results, evaluate_to_compare

    compared_as, evaluation = split_options(options)
    paths = runs or LabelledRuns([(None, qrels)])
    results, specs = evaluate_to_compare(
        job.watched(qrels),
        job.watched(paths),
        metrics,
        evaluation,
        hashes=job.wants_hashes,
        shows_queries=per_query,
        bounds=compared_as.bounds,
    )
    if results.failed:
        check_baseline(results, paths, compared_as)
        job.report_failed(results.failed)
        if len(results.runs) == 1:
            job.report([f"gradeval: {results.runs[0].name} is the only run that could be evaluated: {FEW}"])
        if job.strict or len(results.runs) < 2:
            return None
    comparison = compare_results(results, specs, compared_as)
    if not job.signature:
        return comparison
    inputs = {**comparison.inputs, "signatures": results.signatures(specs)}
    return replace(comparison, inputs=inputs)
