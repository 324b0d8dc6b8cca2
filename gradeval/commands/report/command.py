"""gradeval report: everything about runs on one page of HTML."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from typing import Any

import click

from gradeval.cli import options as cli
from gradeval.cli.job import Job, check_runs, echo_error, input_files, named_by, with_job
from gradeval.commands.compare.command import comparison_options, with_baseline
from gradeval.compare_options import EXPLAINED, CompareOptions
from gradeval.file_formats import LabelledRuns
from gradeval.notices import many
from gradeval.options import COMPARED_METRICS, Options

EPILOG = f"""\b
Examples:
  gradeval report qrels.txt bm25.run dense.run -o report.html
                                       the second run against the first
  gradeval report qrels.txt *.run --all-pairs -m 'nDCG@10 AP' -o report.html
                                       every run with every other
  gradeval report qrels.txt my.run --text titles.tsv --title 'Release 7' -o r.html
                                       one run, with the titles of documents
  gradeval report qrels.txt *.run --explain 20 -o report.html
                                       a smaller page, sooner

The page is one file that loads nothing, for any browser. It requires jinja2:
pip install 'gradeval[report]'. Each query can be opened, up to {EXPLAINED} by default,
which shows how its values come about, as gradeval explain does.
"""
_page = cli.section("Page")
_ENDINGS = ("", ".html", ".htm")


@cli.sectioned_command("report", "Write a page of HTML about runs.", EPILOG)
@click.argument("qrels", type=cli.File())
@click.argument("runs", metavar="RUN...", type=cli.File(), nargs=-1)
@_page("--title", "Of the page. Default: Ranking evaluation.", "TEXT", default="")
@cli.text_options(_page)
@_page(
    "--explain",
    "Explain the values of N queries: those on which the runs differ most by the first metric; of one "
    "run, those with the lowest values. With 0 the page contains no judgments and no rankings. This sets the "
    f"time and the size of the page. Default: {EXPLAINED}.",
    type=cli.Integer(0, 10**6),
    default=EXPLAINED,
)
@cli.row_option(Options, "interval", section="Page")
@cli.row_option(CompareOptions, "sort", section="Page")
@cli.row_option(CompareOptions, "by", section="Page", help=cli.BY)
@cli.row_option(CompareOptions, "bounds", section="Page")
@comparison_options
@cli.measure_options(f"{COMPARED_METRICS}, or all that saved results have")
@cli.row_option(Options, "query_weights")
@cli.query_options
@cli.digits_option
@cli.output_option("Write to this .html file, atomically. Default: standard output, unless it is a terminal.")
@cli.runs_from_option
@cli.name_by_option
@cli.input_options
@cli.other_options
@with_job()
def report_command(
    job: Job,
    qrels: str,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    runs_from: str | None,
    name_by: str | None,
    **options: Any,
) -> int:
    """Write a page of HTML about runs, which needs nothing else.

    It shows the means, and the differences from the first run with intervals and significance, as gradeval
    compare does; a chart and a table of all queries, which sort and filter; how the values of a query come
    about, as gradeval explain does; how much of the rankings is judged; and how the page was made. NAME=RUN
    labels a run. The page contains judgments and rankings of the queries that it explains; --explain 0 leaves
    them out of a page that is to be published. Runs that cannot be read are listed on it; the exit code is 2.
    """
    check_runs(runs, options["features"], runs_from)
    labelled = with_baseline(runs, options["baseline"], runs_from)
    job.file = job.output_file(job.output, input_files(*(path for _, path in labelled if path != "-")))
    if job.file is not None and not job.file.is_device:
        ending = os.path.splitext(job.file.path)[1]
        if ending.lower() not in _ENDINGS:
            message = f"a page of HTML, which a browser prints as PDF, ends in .html, not {ending}"
            raise click.UsageError(f"--output {job.file.path}: {message}.")
    if job.on_terminal:
        raise click.UsageError("-o FILE is missing: a page of HTML is not for a terminal.")

    from gradeval.commands.explain.explain import text_notices
    from gradeval.commands.report.report import report

    command = shlex.join(["gradeval", *click.get_current_context().find_root().meta["gradeval.args"]])
    paths = named_by(LabelledRuns(labelled or [(None, qrels)]), name_by)
    with job.running() as progress:
        page = report(
            job.watched(qrels),
            job.watched(paths),
            metrics or None,
            progress=progress.steps,
            errors=job.on_errors,
            **options,
        )
    failed = job.report_failed(page.results.failed)
    notices = list(page.notices)
    if page.explained:
        notices += text_notices(options["text"], page.titles, options["queries_text"], page.query_texts)
    if not job.passes(notices, runs=len(page.values.runs)):
        return 2
    job.write(replace(page, command=command).render(digits=job.digits))
    if job.file is not None and not job.quiet:
        counts = many(len(page.values.runs), "run", "runs"), many(len(page.values.queries), "query", "queries")
        echo_error(f"{job.file.path}: {', '.join(counts)}, {len(page.explained):,} explained")
    return 2 if failed else 0
