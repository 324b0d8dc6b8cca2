"""gradeval diff: what changed between rankings, without judgments."""

from __future__ import annotations

from typing import Any

import click

from gradeval.cli import options as cli
from gradeval.cli.job import Job, listed_runs, named_by, with_job
from gradeval.commands.diff.options import HEADING, PERSISTENCE, DiffOptions, is_persistence
from gradeval.file_formats import LabelledRuns, labelled
from gradeval.options import Options

EPILOG = """\b
Examples:
  gradeval diff old.run new.run        does the new version rank otherwise, and how much
  gradeval diff old.run new.run --worst 3 --text titles.tsv
                                       the queries that changed most, side by side
  gradeval diff old.run a.run b.run -k 5,10 -q -f csv -o diff.csv
                                       each query of two runs
  gradeval diff old.run new.run --qrels qrels.txt -m nDCG@10
                                       the grades of what moved, and what it did to nDCG@10
"""
FORMATS = ("table", "tsv", "csv", "json", "jsonl", "md", "latex")
SIDE_BY_SIDE = ("table", "json", "md", "latex")  # formats that show queries so


@cli.sectioned_command("diff", "What changed between rankings, without judgments.", EPILOG)
@click.argument("old", type=cli.File())
@click.argument("runs", metavar="NEW...", type=cli.File(), nargs=-1, required=True)
@cli.row_option(DiffOptions, "p", type=cli.Number("P", PERSISTENCE, is_persistence, None), show_default=False)
@cli.row_option(DiffOptions, "rbo_ties")
@cli.row_option(DiffOptions, "k", default="10")
@cli.row_option(DiffOptions, "diff_depth")
@cli.row_option(DiffOptions, "worst")
@cli.section(HEADING)(
    "--text",
    "Titles of the documents of --worst: 'id TAB title' lines, or JSON lines with an id.",
    type=cli.File(),
)
@cli.section(HEADING)("--qrels", "Count the documents that moved by their grade.", "FILE", type=cli.File())
@cli.metric_option("With --qrels: the differences NEW - OLD of these metrics too.")
@cli.row_option(Options, "rel")
@cli.row_option(Options, "depth", flags="-M")
@cli.row_option(Options, "ties", help="trec: by document id descending, as trec_eval; input: in file order.")
@cli.row_option(Options, "zero_grade")
@cli.row_option(Options, "no_relevant")
@cli.row_option(Options, "query_ids")
@cli.output("-q --per-query", "Print the values of each query, then the means.")
@cli.output_options(FORMATS)
@cli.runs_from_option
@cli.name_by_option
@cli.input_options
@cli.other_options
@cli.fail_on_warning_option
@with_job(FORMATS)
def diff_command(
    job: Job,
    old: str,
    runs: tuple[str, ...],
    qrels: str | None,
    text: str | None,
    metrics: tuple[str, ...],
    per_query: bool,
    runs_from: str | None,
    name_by: str | None,
    **options: Any,
) -> int:
    """Show what changed between the rankings of OLD and of each NEW run, without judgments.

    Means over the queries in both: RBO (rank-biased overlap) with its ends whatever follows below the lists;
    overlap@k, jaccard@k and AO@k of the first k documents; Kendall's tau-b of the scores and the AP correlation
    of the documents in both; same@1, same@k, same_set@k: shares of queries whose first k are the same, in order
    or as a set; new@k, lost@k, up@k, down@k: how many documents of the first k are new, lost, higher or lower.
    A run and itself have 1 everywhere but in RBO_min, and nothing moves. 'gradeval guide changing' shows how
    to use it.

    NAME=RUN labels a run. Where a NEW run cannot be read, the others are printed, and the exit code is 2.
    """
    if metrics and qrels is None:
        raise click.UsageError("-m requires --qrels.")
    listed = listed_runs(runs_from)
    if text and not options["worst"]:
        raise click.UsageError("--text requires --worst.")
    job.open(*(path for _, path in listed))
    if options["worst"]:
        job.require_format("--worst", SIDE_BY_SIDE)

    from gradeval.commands.diff.diff import diff_of
    from gradeval.commands.diff.rankings import DiffedRuns

    own = DiffOptions(**{name: options.pop(name) for name in DiffOptions.table})
    files = LabelledRuns.of_arguments(runs)
    first = named_by(LabelledRuns([labelled(old)]), name_by)
    new = named_by(LabelledRuns([*files, *listed]), name_by)
    with job.running():
        diff = diff_of(
            DiffedRuns.of(job.watched(first), job.watched(new)),
            own,
            Options(**options),
            qrels=job.watched(qrels),
            metrics=metrics or None,
            text=text,
        )
    failed = job.report_failed(diff.failed)
    if (failed and job.strict) or not job.passes(diff.notices, runs=diff.runs_read):
        return 2
    job.print(diff, per_query=per_query)
    return 2 if failed else 0
