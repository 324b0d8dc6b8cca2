"""gradeval fuse: one run from several."""

from __future__ import annotations

from typing import Any

import click

from gradeval.cli import options as cli
from gradeval.cli.job import Job, expand_runs, input_files, on_terminal, refuse_options, stream, with_job
from gradeval.commands.fuse.options import HEADING, TUNING, FuseOptions
from gradeval.file_formats import WRITTEN_RUNS, LabelledRuns, labelled
from gradeval.options import METRICS, MORE, QUERIES_SECTION, Options

EPILOG = """\b
Examples:
  gradeval fuse bm25.run dense.run -o fused.run
                                       by reciprocal rank fusion
  gradeval fuse bm25.run dense.run --method wsum --weights 0.4,0.6 --top 100 -o fused.run
                                       by normalized scores, the first 100 documents
  gradeval fuse bm25.run dense.run --method wsum --tune nDCG@10 --qrels qrels.txt -o fused.run
                                       with weights chosen by cross-validation
  gradeval fuse bm25.run dense.run -o - | gradeval qrels.txt -
                                       evaluated at once

fused.run is written in TREC's format, other formats by the ending (.csv, .json, .parquet) or
--to, compressed by .gz, .bz2, .xz or .zst.
"""
FORMATS = ("table", "tsv", "csv", "json", "jsonl", "md", "latex")
_evaluation = [
    name
    for name, row in Options.rows(without=(MORE,)).items()
    if row.section == METRICS and name not in ("depth", "ties")
]
_judged = cli.section(TUNING)


@cli.sectioned_command("fuse", "One run from several.", EPILOG)
@click.argument("runs", metavar="RUN RUN...", type=cli.File(), nargs=-1, required=True, callback=expand_runs)
@cli.row_options(FuseOptions, HEADING)
@cli.row_options(FuseOptions, TUNING)
@_judged(
    "--qrels", "The judgments for --tune, or the LETOR file whose lines runs are scores of.", type=cli.File()
)
@cli.together(*(cli.row_option(Options, name, section=TUNING) for name in (*_evaluation, "query_weights")))
@cli.row_options(Options, QUERIES_SECTION)
@cli.output(
    "-o --output target",
    "Write the fused run to this file, atomically; - is standard output. Default: with --tune none, else - "
    "where that is no terminal.",
    "OUT",
    type=cli.OutputPath(),
)
@cli.output("--to", "Format of OUT. Default: by its ending, else trec.", type=click.Choice(WRITTEN_RUNS))
@cli.output_options(FORMATS, with_file=False)
@cli.input_options
@cli.other_options
@cli.fail_on_warning_option
@with_job(FORMATS)
def fuse_command(
    job: Job, runs: tuple[str, ...], qrels: str | None, target: str | None, to: str | None, **options: Any
) -> int:
    """Fuse runs to one run, by their ranks or scores.

    Each RUN is a finished run, of any format; documents are ranked by score, ties by id, both descending. A
    document has the sum of what the runs that retrieve it add to it.

    --tune chooses the weights by a metric, with cross-validation: each query has those that are best for the
    queries of the other folds, so that the value of OUT is out of sample. What is printed are the weights of
    each fold and of all queries, the value, the optimistic one, and OUT compared with equal weights and with
    the best RUN. NAME=RUN labels a run.
    """
    target = _target(target, is_tuned=bool(options["tune"]))
    if target == "-":
        refuse_options(("format_",), "is of what is printed beside a file: name it with -o OUT")
    job.open()

    from gradeval.commands.fuse.fuse import FORMAT, fused, write_run
    from gradeval.formats.format import writer_of

    if target == "-" and on_terminal() and not writer_of(to or FORMAT).is_compressible:
        raise click.UsageError(f"a {to} file is not for a terminal: name OUT.")
    file = job.output_file(target or None, input_files(), "--output")
    own = FuseOptions.of(options)
    evaluation = Options.of(options, without=FuseOptions.table)
    with job.running():
        labelled_runs = job.watched(LabelledRuns(map(labelled, runs)))
        fusion, batches = fused(job.watched(qrels), labelled_runs, own, evaluation)
        if not job.passes(fusion.notices, runs=fusion.runs_read):
            return 2
        if target:
            with stream(file) as sink:
                documents = write_run(batches, sink, "" if file is None else target, to)
            fusion = fusion.replace(documents=documents)
    if target != "-":
        job.print(fusion)
    return 0


def _target(path: str | None, *, is_tuned: bool) -> str:
    """The path of the fused run, '-' for standard output, '' for none. Raises UsageError."""
    if path or is_tuned:
        return path or ""
    if on_terminal():
        raise click.UsageError("Missing option '-o': -o OUT names the fused run, and -o - prints it.")
    return "-"
