"""gradeval batch: systems on several collections."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from gradeval.cli import options as cli
from gradeval.cli.job import Job, refuse_options, with_job
from gradeval.compare_options import CompareOptions
from gradeval.errors import InputError
from gradeval.options import FILE_PATHS

if TYPE_CHECKING:
    from gradeval.commands.batch.batch import BatchCell, Key
    from gradeval.commands.batch.manifest import Manifest

EPILOG = """\b
Examples:
  gradeval batch batch.toml            a table for each metric: collections as columns
  gradeval batch batch.toml --baseline bm25 -f latex
                                       with significance, for a paper
  gradeval batch batch.toml -m 'nDCG@10 RR'
                                       other metrics than those of the manifest
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

Exit codes: 0 success, 2 wrong usage or input, or a run that cannot be evaluated,
3 warnings with --fail-on-warning. A run that does not exist is a warning.
"""
_batch = cli.section("Batch")
FORMATS = ("table", "tsv", "csv", "json", "jsonl", "md", "latex")


@cli.sectioned_command("batch", "Evaluate systems on several collections.", EPILOG)
@click.argument("path", metavar="MANIFEST", type=cli.File())
@cli.metric_option("One or several metrics, for all collections. Default: those of the manifest.")
@_batch("--baseline", "Mark cells that are significantly better or worse than its.", "SYSTEM")
@cli.row_option(CompareOptions, "min_coverage", section="Batch")
@_batch("--pool", "Average over all queries together, instead of the mean of the collections.")
@_batch(
    "--resume",
    "Keep what the file of -o (json or jsonl) has with the same hashes, metrics and options; it is "
    "written after each collection.",
)
@cli.output_options(FORMATS)
@cli.signature_option
@cli.other_options
@cli.fail_on_warning_option
@with_job(FORMATS)
def batch_command(
    job: Job,
    path: str,
    metrics: tuple[str, ...],
    baseline: str | None,
    min_coverage: float,
    pool: bool,
    resume: bool,
    jobs: int,
) -> int:
    """Evaluate systems on several collections.

    MANIFEST is a TOML file: collections, each with qrels, metrics and options, and the systems, with the path
    of their runs. For each metric it prints a table with the collections as columns and their average.
    """
    from gradeval.commands.batch.batch import evaluate_batch
    from gradeval.commands.batch.manifest import read_manifest

    if baseline is None:
        refuse_options(("min_coverage",), "requires --baseline")
    manifest = read_manifest(path, baseline, metrics, min_coverage)
    job.open(*_files(manifest, os.path.dirname(path)))
    if resume:
        _check_resume(job)
    show = partial(job.print, signature=job.signature)
    with job.running():
        batch = evaluate_batch(
            manifest,
            _earlier(job) if resume else {},
            pool,
            jobs,
            on_cell=lambda cell: job.report(cell.errors),
            on_collection=show if resume and not job.strict else None,
            watched=job.watched,
        )
    statuses = {cell.status for cell in batch.cells.values()}
    if (job.strict and "failed" in statuses) or not job.passes(batch.notices, runs=len(batch.cells)):
        return 2
    if statuses == {"missing"}:
        first = next(iter(batch.cells.values()))
        raise InputError(path, f"none of its runs exists, such as {first.path}", hint="Check the paths")
    if "done" in statuses:
        show(batch)
        job.sign(batch.signatures() if job.signature else ())
    return 2 if "failed" in statuses else 0


def _check_resume(job: Job) -> None:
    if job.file is None or job.format not in ("json", "jsonl"):
        raise click.UsageError("--resume requires -o FILE in json or jsonl.")
    if job.label:
        raise click.UsageError("--resume and --label are mutually exclusive.")


def _earlier(job: Job) -> dict[Key, BatchCell]:
    """The cells of the output as it is, none where there is none yet."""
    from gradeval.commands.batch.batch import read_earlier
    from gradeval.formats.sources import Source

    return read_earlier(Source(job.output)) if job.output and os.path.exists(job.output) else {}


def _files(manifest: Manifest, folder: str) -> Iterator[str]:
    """The files that a manifest in this folder names."""
    from gradeval.formats.lines import files_named

    for collection in manifest.collections:
        options = collection.options
        named = files_named(options.query_ids or (), folder)
        of_options = (getattr(options, name) for name in FILE_PATHS)
        for file in (collection.qrels, *collection.runs.values(), *of_options, *named):
            if isinstance(file, str) and file not in ("", "-"):
                yield file
