"""gradeval report: everything about runs on one page of HTML."""

from __future__ import annotations

import os
import shlex
from typing import Any

import click

from gradeval import process
from gradeval.cli import output as out
from gradeval.cli.arguments import (
    asked_queries,
    check_queries,
    check_runs,
    input_files,
    naming_queries,
    output_file,
)
from gradeval.cli.options import (
    digits_option,
    input_options,
    measure_options,
    other_options,
    output_option,
    query_options,
    section,
    sectioned_command,
    text_option,
)
from gradeval.cli.types import File, Integer
from gradeval.commands.compare.command import comparison_options, with_baseline
from gradeval.commands.compare.options import EXPLAINED, CompareOptions, split_options
from gradeval.notices import Kind
from gradeval.options import DEFAULT_METRICS, Options
from gradeval.render import Digits

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

\b
The page is one file that loads nothing, for any browser. It requires jinja2:
pip install 'gradeval[report]'. Each query can be opened, up to {EXPLAINED} by default,
which shows how its values come about, as gradeval explain does.
"""
_page = section("Page")
_ENDINGS = ("", ".html", ".htm")


@sectioned_command("report", "Write a page of HTML about runs.", EPILOG)
@click.argument("qrels", type=File())
@click.argument("runs", metavar="RUN...", type=File(), nargs=-1)
@_page("--title", metavar="TEXT", default="", help="Of the page. Default: Ranking evaluation.")
@text_option(_page)
@_page(
    "--explain",
    type=Integer(0, 10**6),
    default=EXPLAINED,
    metavar="N",
    help="Explain the values of N queries: those on which the runs differ most by the first metric; of one "
    f"run, those with the lowest values. This sets the time and the size of the page. Default: {EXPLAINED}.",
)
@comparison_options()
@measure_options(f"{DEFAULT_METRICS.removeprefix('num_q ')}, or all that saved results have")
@query_options()
@digits_option()
@output_option("Write to this .html file, atomically. Default: standard output, unless it is a terminal.")
@input_options()
@other_options()
def report_command(
    qrels: str,
    runs: tuple[str, ...],
    title: str,
    text: str | None,
    explain: int,
    metrics: tuple[str, ...],
    complete: bool,
    digits: Digits,
    output: str | None,
    query_ids: str | None,
    quiet: bool,
    strict: bool,
    allow: tuple[Kind, ...],
    **given: Any,
) -> int:
    """Write a page of HTML about runs, which needs nothing else.

    It shows the means, and the differences from the first run with intervals and significance, as gradeval
    compare does; a chart and a table of all queries, which sort and filter; how the values of a query come
    about, as gradeval explain does; how much of the rankings is judged; and how the page was made. NAME=RUN
    labels a run.
    """
    from gradeval.commands.report import check_installed

    check_installed()
    check_queries(complete, given["queries"])
    check_runs(runs, given["features"])
    named = with_baseline(runs, given["baseline"])
    file = output_file(output, [*input_files(), *(path for _, path in named)])
    if file is not None and not file.is_device:
        ending = os.path.splitext(file.path)[1]
        if ending.lower() not in _ENDINGS:
            hint = " A browser prints it as PDF." if ending.lower() == ".pdf" else ""
            raise click.UsageError(f"--output {file.path}: a page of HTML ends in .html, not {ending}.{hint}")
    if file is None and out.on_terminal():
        raise click.UsageError("-o FILE is missing: a page of HTML is not for a terminal.")

    from gradeval.commands.report.result import evaluate_to_report, report_of
    from gradeval.render.progress import Progress

    out.treat_warnings(quiet, strict)
    process.imported()
    of_comparison, of_evaluation = split_options({**given, "jobs": given["jobs"] or 0})
    evaluation, compared_as = Options.of(**of_evaluation), CompareOptions.of(**of_comparison)
    asked = asked_queries(query_ids)
    arguments = click.get_current_context().find_root().meta["gradeval.args"]
    with naming_queries(asked), Progress(enabled=False if quiet else None) as progress:
        evaluated = evaluate_to_report(
            qrels,
            named or [(None, qrels)],
            metrics or None,
            evaluation,
            watch=progress.watch,
            query_ids=None if asked is None else asked.chosen,
        )
        progress.clear()
        out.report_failed(evaluated.results.failed)
        if evaluated.results.failed:
            return 2
        found = report_of(
            evaluated,
            compared_as,
            text=text,
            title=title,
            command=shlex.join(["gradeval", *arguments]),
            explain=explain,
            steps=progress.steps,
        )
    warnings = [*(asked.warnings if asked else ())]
    if text is not None and found.explained and not found.titles:
        warnings.append(f"{text}: no document of the queries has a title in it; are the ids those of the runs?")
    if not out.passes(warnings, found.notices, len(found.values.runs), quiet, strict, allow):
        return 2
    out.write(found.render(digits=digits), file)
    return 0
