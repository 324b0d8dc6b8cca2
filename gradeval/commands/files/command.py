"""gradeval validate: what the files are and hold, and everything that is wrong with them."""

from __future__ import annotations

from typing import Any

import click

from gradeval import process
from gradeval.cli.arguments import expand_runs, input_files, output_file
from gradeval.cli.destination import Destination
from gradeval.cli.options import (
    input_options,
    other,
    output,
    output_option,
    row_option,
    section,
    sectioned_command,
)
from gradeval.cli.types import File, Finite, IntegerOrAll
from gradeval.options import Options

EPILOG = """\b
Examples:
  gradeval validate qrels.txt bm25.run      both, and whether they go together
  gradeval validate qrels.txt runs/*.run    several runs
  gradeval validate my.run.gz               one file: qrels or a run by its content
  gradeval validate --as run scores.json    where the content may be either
  zcat r.run.gz | gradeval validate qrels.txt - -f json
                                            JSON, from a pipe
  gradeval validate --strict q.txt r.run && gradeval q.txt r.run
                                            evaluate only without errors and warnings

\b
Exit codes: 0 no errors, 2 errors, or with --strict warnings.
"""
_checks = section("Checks")


FORMATS = ("table", "json")


@sectioned_command("validate", "Check files without scoring them.", EPILOG)
@click.argument("files", metavar="[QRELS] [RUN]...", type=File(), nargs=-1, callback=expand_runs)
@_checks(
    "--as", "role", type=click.Choice(("qrels", "run")), help="What all FILES are. Default: by the content."
)
@_checks(
    "--max-errors",
    type=IntegerOrAll(0, 10**9),
    default=10_000,
    metavar="N|all",
    help="How many errors, and how many warnings, are listed for each file; all are counted. Default: 10000.",
)
@_checks("-l", "--rel", type=Finite(), metavar="GRADE", help="Relevance threshold. Default: any grade above 0.")
@output(
    "-f",
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="Format.",
)
@output_option("Write to this file, atomically.")
@input_options()
@row_option(Options, "jobs")
@other("--quiet", is_flag=True, help="Do not show the progress bar.")
@other("--strict", is_flag=True, help="Treat warnings as errors: exit with code 2.")
def validate_command(
    files: tuple[str, ...],
    role: str | None,
    max_errors: int | None,
    format_: str,
    output: str | None,
    quiet: bool,
    strict: bool,
    **given: Any,
) -> int:
    """Check QRELS and RUNs without scoring them.

    All errors and warnings with their lines, and how many there are of each kind; what each file is and why it
    was taken for that; the queries, judgments and grades of qrels; of runs, the documents per query, tied
    scores, ranks against scores, duplicates and what of them is judged.
    """
    if not files:
        raise click.UsageError("Missing argument '[QRELS] [RUN]...': no files given.")
    destination = Destination.of(output_file(output, input_files()), format_, FORMATS)
    process.imported()
    from gradeval.commands.files.validate import validate_files
    from gradeval.render.progress import Progress

    with Progress(enabled=False if quiet else None) as progress:
        validation = validate_files(
            files,
            role,
            max_errors=max_errors,
            watch=progress.watch,
            **{name: value for name, value in given.items() if value is not None},
        )
    destination.write(validation.render(format_, colour=destination.has_colour))
    return 2 if validation.errors or (strict and validation.warnings) else 0
