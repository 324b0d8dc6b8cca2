"""gradeval pool: the documents to judge next."""

from __future__ import annotations

from typing import Any

import click

from gradeval.cli import options as cli
from gradeval.cli.job import Job, echo_error, with_job
from gradeval.commands.pool.options import HEADING, METRIC, PoolOptions
from gradeval.options import Options

EPILOG = """\b
Examples:
  gradeval pool qrels.txt bm25.run dense.run --top 20
                                       the 20 documents that decide soonest which run is better
  gradeval pool bm25.run dense.run --depth 10 -o pool.csv
                                       the first 10 documents of each run and query, to be judged
  gradeval pool qrels.txt bm25.run dense.run --order rrf --per-query 5
                                       five more of each query, the best by both runs
  gradeval pool qrels.txt *.run --order sample --size 20 -f jsonl
                                       all unjudged documents of 20 random queries
  gradeval convert qrels.txt judged.csv more.qrels --merge first --unlabelled unjudged
                                       the qrels with the grades that annotators filled in
"""
FORMATS = ("table", "tsv", "csv", "jsonl")


@cli.sectioned_command("pool", "The documents to judge next.", EPILOG)
@click.argument("files", metavar="[QRELS] RUN...", type=cli.File(), nargs=-1, required=True)
@cli.section(HEADING)("--qrels", "The judgments, where the first file is a run.", "FILE", type=cli.File())
@cli.row_options(PoolOptions, HEADING)
@cli.section(HEADING)(
    "--text", "Add the texts of documents: 'id TAB title' lines, or JSON lines with an id.", type=cli.File()
)
@cli.metric_option(
    f"Of the orders effect and decide; decide takes nDCG, DCG, P, R and others. Default: {METRIC}."
)
@cli.row_option(Options, "rel")
@cli.row_option(Options, "depth", flags="-M")
@cli.row_option(Options, "ties")
@cli.row_option(Options, "top_grade")
@cli.row_option(Options, "zero_grade")
@cli.row_option(Options, "no_relevant")
@cli.row_option(Options, "query_ids")
@cli.output_options(FORMATS)
@cli.input_options
@cli.other_options
@cli.fail_on_warning_option
@with_job(FORMATS)
def pool_command(
    job: Job,
    files: tuple[str, ...],
    qrels: str | None,
    text: str | None,
    metrics: tuple[str, ...],
    **options: Any,
) -> int:
    """List the documents to judge next: those that runs retrieve and the qrels lack.

    Without QRELS nothing is judged yet. The first file is taken for the qrels if it has judgments; --qrels says
    it where it could be both. The csv and jsonl formats end with an empty column grade, for annotators: filled
    in, the file is qrels (rows without a grade need --unlabelled unjudged). Judge, join it and the qrels with
    gradeval convert, as in the examples, and ask again with these.

    The order decide is for two runs: of the documents whose judgment can turn the sign of their difference,
    those first that decide it soonest, and a note says how many judgments decide it if all turn out 0.
    Documents below the first K ranks (--depth) are taken for not relevant.

    runs: how many retrieve the document in the first ranks; best_rank: its best rank in them; effect: what
    its judgment can change in the mean or the difference; of decide, how far a grade of 0 moves the bound that
    keeps the sign open.
    """
    job.open()

    from gradeval.commands.pool.layout import closing
    from gradeval.commands.pool.pool import pool_of, separate_qrels

    own = PoolOptions.of(options)
    evaluation = Options.of(options)
    with job.running():
        judgments, runs = separate_qrels(files, qrels, evaluation)
        pool = pool_of(job.watched(judgments), job.watched(runs), metrics or METRIC, own, evaluation, text=text)
    if not job.passes(pool.notices, runs=pool.runs_read):
        return 2
    job.print(pool)
    if job.file is not None and job.format != "table" and not job.quiet:
        echo_error(f"{job.file.path}: {closing(pool)}")
    return 0
