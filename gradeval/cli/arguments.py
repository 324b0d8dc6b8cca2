"""Checks of the arguments of commands, and what is derived from them: runs, output files, query ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from gradeval.cli.types import File, OutputPath
from gradeval.errors import UnknownQueryError

if TYPE_CHECKING:
    from gradeval.cli.query_ids import QueryIds
    from gradeval.formats.output_file import OutputFile


def check_queries(complete: bool, queries: str) -> None:
    """Raise UsageError for -c with another rule."""
    if complete and queries == "both":
        raise click.UsageError("-c and --queries both are mutually exclusive.")


def check_runs(runs: Sequence[str], features: Sequence[str]) -> None:
    """Raise UsageError where there is nothing to evaluate."""
    if not runs and not features:
        raise click.UsageError("Missing argument 'RUN...' (or --feature, for LETOR files).")


def expand_runs(
    context: click.Context | None, param: click.Parameter | None, paths: Sequence[str]
) -> tuple[str, ...]:
    """Runs with directories and patterns replaced by their files; a callback of arguments."""
    from gradeval.tables.run_names import run_files

    return tuple(str(file) for path in paths for file in run_files(path))


def input_files(*listed: str) -> list[str]:
    """The files that the command reads: those of its arguments and options, and those that a file lists.

    Raises UsageError where two of them are standard input.
    """
    from gradeval.tables.run_names import labelled

    context = click.get_current_context()
    files = list(listed)
    for param in context.command.params:
        if isinstance(param.type, File) and not isinstance(param.type, OutputPath):
            given = context.params.get(param.name or "") or ()
            files += [labelled(path)[1] for path in ([given] if isinstance(given, str) else given)]
    if files.count("-") > 1:
        raise click.UsageError("'-' can be given once only: there is one standard input.")
    return files


def output_file(path: str | None, inputs: Iterable[str], option: str = "--output") -> OutputFile | None:
    """The file of --output, None for standard output. inputs: those of input_files, and others read."""
    if path is None or path == "-":
        return None
    from gradeval.formats.output_file import OutputFile

    return OutputFile(path, inputs, option)


def asked_queries(given: str | None) -> QueryIds | None:
    """What --query-ids was given."""
    if given is None:
        return None
    from gradeval.cli.query_ids import QueryIds

    return QueryIds(given)


@contextmanager
def naming_queries(asked: QueryIds | None) -> Iterator[None]:
    """Attribute unknown queries to --query-ids in the error."""
    try:
        yield
    except UnknownQueryError as error:
        if asked is None:
            raise
        raise asked.unknown(error) from None
