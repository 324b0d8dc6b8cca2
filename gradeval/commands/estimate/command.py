"""gradeval estimate: means from few judgments of people and many of a model."""

from __future__ import annotations

from typing import Any

import click

from gradeval.cli import options as cli
from gradeval.cli.job import Job, check_runs, listed_runs, named_by, with_job
from gradeval.commands.estimate.options import HEADING, WEIGHT, EstimateOptions
from gradeval.file_formats import LabelledRuns
from gradeval.options import COMPARED_METRICS

EPILOG = """\b
Examples:
  gradeval estimate people.qrels bm25.run --model-qrels llm.qrels
                                       the mean that people would find, with its interval
  gradeval estimate people.qrels bm25.run dense.run --model-qrels llm.qrels
                                       and the difference of the second run from the first
  gradeval estimate people.qrels *.run --model-qrels clicks.tsv -m 'nDCG@10 RR' -f json
                                       clicks in place of a model
  gradeval estimate people.qrels bm25.run --model-qrels llm.qrels --lambda 1
                                       plain prediction-powered inference
"""
FORMATS = ("table", "tsv", "csv", "json", "md", "latex")
_estimate = cli.section(HEADING)


@cli.sectioned_command("estimate", "Few judgments of people, many of a model: the means of runs.", EPILOG)
@click.argument("qrels", type=cli.File())
@click.argument("runs", metavar="[RUN]...", type=cli.File(), nargs=-1)
@_estimate(
    "--model-qrels",
    "The judgments of a model, or of clicks: of all queries that people judged, and of others.",
    "FILE",
    type=cli.File(),
    required=True,
)
@cli.row_option(EstimateOptions, "lambda_", type=cli.Number("X", WEIGHT, lambda number: 0 <= number <= 1, None))
@cli.row_option(EstimateOptions, "confidence")
@cli.measure_options(COMPARED_METRICS)
@cli.query_options
@cli.output_options(FORMATS)
@cli.runs_from_option
@cli.name_by_option
@cli.input_options
@cli.other_options
@cli.fail_on_warning_option
@with_job(FORMATS)
def estimate_command(
    job: Job,
    qrels: str,
    runs: tuple[str, ...],
    model_qrels: str,
    metrics: tuple[str, ...],
    lambda_: float | None,
    confidence: float,
    runs_from: str | None,
    name_by: str | None,
    **options: Any,
) -> int:
    """Estimate means from the judgments of people for some queries, and of a model for all.

    QRELS has people's judgments. For each RUN and metric: an estimate of the mean that people would find if
    they judged all queries, with its interval; people alone; the model alone; and the model's bias. For runs
    after the first the same of the difference from the first. It is prediction-powered inference (PPI++): the
    model's judgments make the interval shorter, and its bias is removed. A warning says where the bias differs
    between runs, for then rankings by the model's judgments mislead.

    The queries that people judged must be a random sample of all: draw them, and take neither the first ones
    nor those where systems differ. Five are needed, and fifteen or more are better. 'gradeval guide judges'
    shows how. NAME=RUN labels a run. Where a run other than the first cannot be read, the others are printed,
    and the exit code is 2.
    """
    check_runs(runs, options["features"], runs_from)
    listed = listed_runs(runs_from)
    job.open(*(path for _, path in listed))

    from gradeval.commands.estimate.estimate import Judges, estimates_of
    from gradeval.options import Options

    files = LabelledRuns.of_arguments(runs)
    files = named_by(LabelledRuns([*files, *listed]), name_by)
    own = EstimateOptions(lambda_=lambda_, confidence=confidence)
    with job.running():
        judges = Judges(job.watched(qrels), job.watched(model_qrels))
        estimates = estimates_of(
            judges,
            job.watched(files or LabelledRuns([(None, qrels)])),
            metrics or COMPARED_METRICS,
            own,
            Options(**options),
            errors=job.on_errors,
            hashes=job.format == "json",
        )
    failed = job.report_failed(estimates.failed)
    if not job.passes(*estimates.noticed, runs=estimates.runs_read):
        return 2
    job.print(estimates)
    return 2 if failed else 0
