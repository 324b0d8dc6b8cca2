"""gradeval spark: runs against qrels on a Spark cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from gradeval.cli import options as cli
from gradeval.cli.job import Job, echo_error, input_files, refuse_options, with_job
from gradeval.commands.compare.command import FORMATS as COMPARISON_FORMATS
from gradeval.compare_options import CORRECTIONS, MAXT, OF_SUMS, CompareOptions
from gradeval.options import COMPARED_METRICS, DEFAULT_METRICS, FILES, INPUT, Options
from gradeval.render import WRITERS

if TYPE_CHECKING:
    from gradeval.commands.compare.compare import Comparison
    from gradeval.evaluation.results import Results
    from gradeval.spark.results import Request, SparkResults

EPILOG = """\b
Examples:
  gradeval spark qrels.parquet new.parquet -m 'nDCG@10 AP'
                                       on this machine, with all its cores
  gradeval spark qrels.parquet OLD=runs/old NEW=runs/new --baseline OLD
                                       is NEW better than OLD?
  gradeval spark qrels.parquet runs.parquet -o values.parquet
                                       several runs of one table, by its column
                                       run; the values of queries in a file
  gradeval spark --master spark://host:7077 s3a://logs/qrels s3a://logs/new
                                       on a cluster

\b
Requires PySpark and Java: pip install 'gradeval[spark]', and on Debian
apt install default-jre-headless. Starting Spark takes several seconds: for
data that fit on one machine, 'gradeval QRELS RUN' is faster. Other comparisons,
such as randomization tests, need the values of all queries: 'gradeval compare'.
"""
_KINDS = ("trec", "csv", "tsv", "jsonl", "parquet")
_VALUES = ".parquet"  # the ending of the values of queries
_CHANGES: dict[str, dict[str, Any]] = {  # of the options of a comparison by the t-test
    "baseline": {"help": "Compare the other runs with this one, a path or a name, by the paired t-test."},
    "correction": {
        "type": click.Choice([name for name in CORRECTIONS if name != MAXT]),
        "help": CompareOptions.table["correction"].about.replace(", Bonferroni and maxT", " and Bonferroni"),
    },
}
_FORMAT = "Default: by the ending: .parquet, .csv, .tsv, .jsonl or .json; otherwise trec."


@cli.sectioned_command("spark", "Evaluate runs on Spark.", EPILOG)
@click.argument("qrels", type=cli.File())
@click.argument("runs", metavar="RUN...", type=cli.File(), nargs=-1, required=True)
@cli.measure_options(
    f"{DEFAULT_METRICS}; with --baseline or --all-pairs {COMPARED_METRICS}",
    helps={
        "ties": Options.table["ties"].about.partition(" Default: ")[0]
        + " Default: trec, with a warning if it can change a value; input requires --columns order=."
    },
)
@cli.row_option(Options, "tie_range")
@cli.row_option(Options, "bounds")
@cli.row_option(Options, "by_level")
@cli.together(*(cli.row_option(CompareOptions, name, **_CHANGES.get(name, {})) for name in OF_SUMS))
@cli.query_options
@cli.output_options(tuple(WRITERS), more=" With .parquet, Spark writes the values of all queries there.")
@cli.inputs("--qrels-format", f"Format of the qrels. {_FORMAT}", type=click.Choice(_KINDS))
@cli.inputs("--run-format", "Format of the runs, likewise.", type=click.Choice(_KINDS))
@cli.row_options(
    Options,
    INPUT,
    without=(FILES,),
    helps={
        "columns": Options.table["columns"].about.replace(
            "lowest first",
            "lowest first, run=NAME for several runs in one table, order=NAME for --ties input",
        )
    },
)
@cli.other("--master", "Where Spark runs. Default: local[*], or what spark-submit was given.", "URL")
@cli.other("--conf settings", "A setting of Spark.", type=cli.NamedValue(), multiple=True)
@cli.other(
    "--buckets",
    "Number of parts that the queries are divided into. Default: as many for each core, of a million rows "
    "at most.",
    type=cli.Integer(1, 100_000),
)
@cli.warning_options
@with_job()
def spark_command(
    job: Job,
    qrels: str,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    master: str | None,
    settings: tuple[tuple[str, str], ...],
    buckets: int | None,
    **options: Any,
) -> int:
    """Evaluate runs against relevance judgments on a Spark cluster, or on this machine.

    QRELS and each RUN are paths, folders, patterns or URIs that Spark reads: Parquet, CSV, TSV or JSON Lines by
    their endings, and TREC's lines otherwise. NAME=RUN names a run; a table alone may have a column of runs.
    -o OUT.parquet writes the values of all queries, by Spark; the summary is printed in any case. With
    --baseline or --all-pairs the runs are compared, as by 'gradeval compare'.
    """
    from gradeval.spark import sessions

    compare_options = _options_to_compare(options)
    values = _values_file(job)
    _open(job, bool(compare_options), options)
    request = _request(job, metrics, options, buckets, compare_options)

    are_local = sessions.reads_local_files(settings)
    named, may_be_table = sessions.named_runs(qrels, runs, request.options.run_format, are_local)
    if not may_be_table:
        _check_pairs(named, request.compared)
    if values is not None and are_local:
        sessions.check_new(values)
    spark = sessions.session(master, settings)  # which ends with this process
    with sessions.engine_errors():
        if values is not None:
            sessions.check_new(values, spark)
        evaluation = _evaluation(spark, qrels, named, request, may_be_table)
        with job.running() as progress, sessions.tasks_shown(spark, progress.steps):
            if values is not None:
                evaluation.persist()
            results = evaluation.results()
            job.report_failed(results.failed)
            comparison = _comparison(evaluation, results, request, compare_options)
            may_go_on = _passes(job, results, comparison)
            if values is not None:
                if may_go_on and results.runs:
                    evaluation.per_query_of_evaluated().write.parquet(sessions.resolved(spark, values))
                else:
                    echo_error(f"gradeval: {values} was not written")
    if not may_go_on:
        return 2
    if comparison is not None:
        job.print(comparison)
    elif results.runs and not compare_options:
        job.print(results)
    return 2 if results.failed else 0


def _comparison(
    evaluation: SparkResults, results: Results, request: Request, compare_options: Mapping[str, Any]
) -> Comparison | None:
    """None where the runs are not to be compared, or one failed."""
    if not compare_options or results.failed:
        return None
    return evaluation.compare(map(str, request.specs), **compare_options)


def _passes(job: Job, results: Results, comparison: Comparison | None) -> bool:
    """Whether the warnings, and with --strict the runs that failed, allow to print the results."""
    notices = results.notices if comparison is None else comparison.notices
    return not (job.strict and results.failed) and job.passes(notices, runs=len(results.runs))


def _options_to_compare(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a comparison, taken from `options`; none where the runs are not compared."""
    compare_options = {name: options.pop(name) for name in OF_SUMS}
    if compare_options["baseline"] is None and not compare_options["all_pairs"]:
        refuse_options(compare_options, "requires --baseline or --all-pairs")
        return {}
    refuse_options(("tie_range", "bounds", "by_level"), "is of evaluations; a comparison has no values for it")
    return compare_options


def _values_file(job: Job) -> str | None:
    """The file for the values of all queries, which Spark writes and not the job."""
    if job.output is None or not job.output.endswith(_VALUES):
        return None
    values = job.output
    job.output = None
    return values


def _open(job: Job, compares: bool, options: Mapping[str, Any]) -> None:
    from gradeval.spark import sessions

    job.formats = COMPARISON_FORMATS if compares else tuple(WRITERS)
    job.open(*(file for path in input_files() for file in sessions.local_files(path)), more=(_VALUES,))
    if compares and job.format not in COMPARISON_FORMATS:
        formats = ", ".join(COMPARISON_FORMATS)
        raise click.UsageError(f"A comparison has no format {job.format}. Formats: {formats}.")
    for name in ("tie_range", "bounds"):
        if options[name] and job.format == "trec":
            option = "--" + name.replace("_", "-")
            raise click.UsageError(f"{option} and -f trec are mutually exclusive: it has no such columns.")


def _request(
    job: Job,
    metrics: tuple[str, ...],
    options: dict[str, Any],
    buckets: int | None,
    compare_options: dict[str, Any],
) -> Request:
    from gradeval.formats.csv import OPTION
    from gradeval.spark.results import Request

    if job.query_ids is not None:
        options["query_ids"] = job.query_ids.unchecked()
    if not compare_options:
        return Request.of(metrics or DEFAULT_METRICS, options, buckets, OPTION, None)
    compared = CompareOptions(**compare_options)
    return Request.of(metrics or COMPARED_METRICS, options, buckets, OPTION, compared)


def _check_pairs(runs: Mapping[str, str], compared: CompareOptions | None) -> None:
    """Raise the error of a baseline that is none of the runs before anything is read. runs: name -> path."""
    from gradeval.commands.compare.compare import pairs_of
    from gradeval.spark.kernel import without_values

    if compared is not None:
        pairs_of(without_values([*runs], [*runs.values()]), compared)


def _evaluation(
    spark: Any, qrels: str, named: Mapping[str, str], request: Request, may_be_table: bool
) -> SparkResults:
    from gradeval.spark import sessions
    from gradeval.spark.results import SparkResults

    judged = sessions.opened(spark, qrels, "grade", request.options)
    tables = {name: sessions.opened(spark, path, "score", request.options) for name, path in named.items()}
    return SparkResults(judged, tables, request, may_be_table=may_be_table)
