"""gradeval batch: systems on several collections."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from gradeval import heap
from gradeval.cli import output as out
from gradeval.cli.arguments import input_files, output_file
from gradeval.cli.destination import Destination
from gradeval.cli.options import other_options, output_options, section, sectioned_command
from gradeval.cli.types import File
from gradeval.errors import InputError
from gradeval.notices import Kind
from gradeval.render import Digits

if TYPE_CHECKING:
    from gradeval.commands.batch.result import Batch, Cell

EPILOG = """\b
Examples:
  gradeval batch batch.toml            a table for each metric: collections as columns
  gradeval batch batch.toml --baseline bm25 -f latex
                                       with significance, for a paper
  gradeval batch folds.toml --pool     over the queries of all folds together
  gradeval batch batch.toml -o results.json --resume
                                       evaluate what has changed since

\b
A manifest:
  metrics = ["nDCG@10", "AP"]
  runs = "runs/{collection}/{system}.run"
  systems = ["bm25", "dense"]
  [options]
  rel = 2
  [collections.covid]
  qrels = "qrels/covid.txt"
  [collections.news]
  qrels = "qrels/news.txt"
  metrics = ["AP"]

\b
Exit codes: 0 success, 2 wrong usage or input, or a run that cannot be evaluated.
A run that does not exist is a warning.
"""
_batch = section("Batch")
_RESUMED = ("json", "jsonl")


FORMATS = ("table", "tsv", "csv", "json", "jsonl", "md", "latex")


@sectioned_command("batch", "Evaluate systems on several collections.", EPILOG)
@click.argument("path", metavar="MANIFEST", type=File())
@_batch("--baseline", metavar="SYSTEM", help="Mark cells that are significantly better or worse than its.")
@_batch(
    "--pool", is_flag=True, help="Average over all queries together, instead of the mean of the collections."
)
@_batch(
    "--resume",
    is_flag=True,
    help="Keep what the file of -o (json or jsonl) has with the same hashes, metrics and options; it is "
    "written after each collection.",
)
@output_options(FORMATS)
@other_options()
def batch_command(
    path: str,
    baseline: str | None,
    pool: bool,
    resume: bool,
    format_: str | None,
    digits: Digits,
    spreadsheet: bool,
    output: str | None,
    jobs: int | None,
    quiet: bool,
    strict: bool,
    allow: tuple[Kind, ...],
) -> int:
    """Evaluate systems on several collections.

    MANIFEST is a TOML file: collections, each with qrels, metrics and options, and the systems, with the path
    of their runs. For each metric it prints a table with the collections as columns and their average.
    """
    from gradeval.commands.batch.batch import evaluate_batch, read_earlier
    from gradeval.commands.batch.manifest import read_manifest
    from gradeval.formats.sources import Source
    from gradeval.render.progress import Progress

    out.treat_warnings(quiet, strict)
    heap.imported()
    manifest = read_manifest(Source(path))
    qrels = [collection.qrels for collection in manifest.collections]
    runs = [path for collection in manifest.collections for path in collection.runs.values() if path]
    groups = [collection.options.groups for collection in manifest.collections if collection.options.groups]
    file = output_file(output, [*input_files(), *qrels, *runs, *groups])
    destination = Destination.of(file, format_, FORMATS, spreadsheet=spreadsheet)
    if resume and (file is None or destination.format not in _RESUMED):
        raise click.UsageError("--resume requires -o FILE in json or jsonl.")
    earlier = {}
    if resume and output is not None and os.path.exists(output) and os.path.getsize(output):
        earlier = read_earlier(Source(output))
    reported: set[str] = set()

    def on_cell(cell: Cell) -> None:
        for line in cell.errors:
            if line not in reported:
                reported.add(line)
                progress.clear()
                out.echo_error(line)

    def write(batch: Batch) -> None:
        style = {"digits": digits, "spreadsheet": spreadsheet, **destination.style}
        destination.write(batch.render(destination.format, **style))

    with Progress(enabled=False if quiet else None) as progress:
        batch = evaluate_batch(
            manifest,
            baseline=baseline,
            pool=pool,
            earlier=earlier,
            jobs=jobs or 0,
            watch=progress.watch,
            on_cell=on_cell,
            on_collection=write if resume and not strict else None,
        )
    statuses = {cell.status for cell in batch.cells.values()}
    if strict and "failed" in statuses:
        return 2
    if not out.passes((), batch.notices, len(batch.cells), quiet, strict, allow):
        return 2
    if statuses == {"missing"}:
        first = next(iter(batch.cells.values()))
        raise InputError(
            manifest.path, f"none of its runs exists, such as {first.path}", hint="Check the paths"
        )
    if "done" in statuses:
        write(batch)
    return 2 if "failed" in statuses else 0
