"""gradeval convert: qrels and runs in another format."""

from __future__ import annotations

from typing import Any

import click

from gradeval import process
from gradeval.cli import output as out
from gradeval.cli.arguments import input_files, output_file
from gradeval.cli.options import input_options, inputs, quiet_option, row_option, section, sectioned_command
from gradeval.cli.types import File, Integer, OutputPath
from gradeval.notices import many
from gradeval.options import Options

EPILOG = """\b
Examples:
  gradeval convert bm25.run bm25.json          for pytrec_eval, ranx, BEIR
  gradeval convert qrels.tsv qrels.txt --to trec
  gradeval convert bm25.run bm25.tsv --to msmarco
                                               query, document and rank
  gradeval convert run.json run.trec.gz --as run --tag bm25
                                               compressed by the ending
  gradeval convert --top 100 big.run.gz - --to trec | gradeval qrels.txt -
                                               the first 100 of each query
  gradeval convert test.letor f25.run --feature 25
                                               a feature as a run
  gradeval convert scores.txt model.run --qrels test.letor
                                               scores of its lines, RankLib's too

\b
Formats by the ending of OUT, before .gz, .bz2, .xz or .zst:
.run .qrels .trec .csv .tsv .json .jsonl .letor .parquet .arrow
"""
FORMATS = ("trec", "letor", "beir", "msmarco", "csv", "tsv", "json", "jsonl", "parquet", "arrow")
_target = section("Output")
_rows = section("Documents")


@sectioned_command("convert", "Convert qrels and runs to other formats.", EPILOG)
@click.argument("source", metavar="IN", type=File())
@click.argument("target", metavar="OUT", type=OutputPath())
@_target(
    "--to",
    type=click.Choice(FORMATS),
    help="Format of OUT; beir is for qrels. Default: by its ending.",
)
@_target("--tag", metavar="NAME", help="The run tag. Default: that of IN, or gradeval.")
@_rows("--as", "role", type=click.Choice(("qrels", "run")), help="What IN is. Default: by its content.")
@_rows("--sort", is_flag=True, help="Sort the documents of each query by score or grade, highest first.")
@_rows("--top", type=Integer(1, 10**9), metavar="N", help="Keep the N highest scores of each query.")
@_rows(
    "--ties",
    type=click.Choice(("trec", "input")),
    help="Order of tied scores for ranks, --sort and --top. Default: as in an evaluation.",
)
@inputs("--qrels", type=File(), metavar="FILE", help="The LETOR file whose lines IN has scores of.")
@input_options()
@row_option(Options, "jobs")
@quiet_option()
def convert_command(
    source: str,
    target: str,
    to: str | None,
    tag: str | None,
    role: str | None,
    sort: bool,
    top: int | None,
    ties: str | None,
    qrels: str | None,
    quiet: bool,
    **given: Any,
) -> int:
    """Convert the qrels or the run IN to another format, and write OUT atomically.

    Ids and numbers are kept: each number is written as the shortest text that reads back equal. All of IN is
    checked first as for an evaluation; what the format of OUT cannot hold is an error, and OUT is not written.
    '-' is standard input or output.
    """
    process.imported()
    from gradeval.commands.files.convert import Conversion, convert_file, format_by_ending
    from gradeval.formats.sources import Source
    from gradeval.formats.write import WRITERS
    from gradeval.options import Options
    from gradeval.render.progress import Progress

    if to is None and target == "-":
        raise click.UsageError("standard output has no ending: choose a format with --to.")
    conversion = Conversion(to or format_by_ending(target), role, sort, top, tag, ties)
    if target == "-" and out.on_terminal() and not WRITERS[conversion.to].is_compressible:
        raise click.UsageError(f"a {conversion.to} file is not for a terminal: name OUT.")
    file = output_file(target, input_files(), "OUT")
    options = Options.of(**{name: value for name, value in given.items() if value is not None})
    opened, *letor = (Source(one) for one in (source, qrels) if one is not None)
    with Progress(enabled=False if quiet else None) as progress, out.stream(file) as sink:
        for each in (opened, *letor):
            progress.watch(each)
        done = convert_file(opened, sink, "" if file is None else target, conversion, options, *letor)
    if not quiet:
        if done.duplicates:
            what = many(done.duplicates, "duplicate judgment", "duplicate judgments")
            out.echo_error(f"warning: {opened.name}: {what} with the same grade, written once")
        if done.subtopics:
            what = many(done.subtopics, "judgment of a further subtopic", "judgments of further subtopics")
            out.echo_error(f"note: {opened.name}: {what}; the highest grade of a document is written")
        if done.real and conversion.to == "trec":
            what = many(done.real, "grade is no integer", "grades are no integers")
            out.echo_error(f"warning: {opened.name}: {what}; trec_eval reads integers only")
    return 0
