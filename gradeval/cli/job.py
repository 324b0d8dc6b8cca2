"""The frame of every command: its inputs and its output, progress, query ids, warnings, and what is printed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any

import click

from gradeval import process
from gradeval.cli import output as out
from gradeval.cli.types import File, OutputPath
from gradeval.errors import OptionError, UnknownQueryError
from gradeval.notices import EvaluationWarning, Kind, Notice, lines
from gradeval.options import parse_ids
from gradeval.render import Digits

if TYPE_CHECKING:
    from gradeval.evaluation.results import FailedRun
    from gradeval.formats.output import OutputFile
    from gradeval.render.document import Document, Printable
    from gradeval.render.progress import Progress


def with_job(
    formats: Iterable[str] = (), otherwise: str = "tsv"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The first argument of a command is its Job, which takes the options that commands share.

    formats: those of the command. otherwise: the format where neither -f nor the ending of -o nor a terminal
    sets it.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def command(**values: Any) -> Any:
            return function(Job(values, tuple(formats), otherwise), **values)

        return update_wrapper(command, function)

    return decorate


class Job:
    """The part of a command that all commands share.

    formats: those of the command. file: of --output; None for standard output, and until open(). format: of the
    output.
    """

    def __init__(self, values: dict[str, Any], formats: Sequence[str], otherwise: str) -> None:
        """Take the shared options from `values`. Raises UsageError for those that are mutually exclusive."""
        self.formats, self._otherwise = formats, otherwise
        self.output: str | None = values.pop("output", None)
        self.asked_format: str | None = values.pop("format_", None)
        self.digits: Digits = values.pop("digits", 4)
        self.spreadsheet: bool = values.pop("spreadsheet", False)
        self.table: str | None = values.pop("table", None)
        self.quiet: bool = values.pop("quiet", False)
        self.strict: bool = values.pop("strict", False)
        self.allow: tuple[Kind, ...] = values.pop("allow", ())
        if values.pop("complete", False) and values["queries"] == "both":
            raise click.UsageError("-c and --queries both are mutually exclusive.")
        self._listed: str | None = values.pop("query_ids", None)
        self.file: OutputFile | None = None
        self.format = ""
        self.progress: Progress | None = None
        self._reported: set[str] = set()
        if self.quiet or self.strict:  # the warnings of other code, such as a plugin's, are treated as ours
            warnings.simplefilter("error" if self.strict else "ignore")
        warnings.simplefilter("ignore", EvaluationWarning)  # the command prints the notices itself

    # --- before anything is read

    @cached_property
    def query_ids(self) -> QueryIds | None:
        """The value of --query-ids. Raises OptionError."""
        return None if self._listed is None else QueryIds(self._listed)

    def open(self, *read: str, more: Sequence[str] = ()) -> None:
        """Check inputs and output, and find the format.

        read: files that the command reads, though no argument names them. more: endings that are written by
        others, which messages name. Raises UsageError, OptionError.
        """
        self.file = self.output_file(self.output, input_files(*read))
        self.format = self.asked_format or self._default_format(more)
        if self.table is not None and self.format not in ("tsv", "csv"):
            raise click.UsageError("--table requires -f tsv or -f csv.")
        if self.spreadsheet and self.format != "csv":
            raise click.UsageError("--spreadsheet requires -f csv.")

    @staticmethod
    def output_file(path: str | None, inputs: Iterable[str], option: str = "--output") -> OutputFile | None:
        """A file to write, None for standard output. inputs: those of input_files, and others read."""
        if path is None or path == "-":
            return None
        from gradeval.formats.output import OutputFile

        return OutputFile(path, inputs, option)

    def _default_format(self, more: Sequence[str]) -> str:
        from gradeval.render import format_of

        if self.file is None:
            return "table" if out.on_terminal() else self._otherwise
        format = None if self.file.is_device else format_of(self.file.path, self.formats, more)
        return format or self._otherwise

    # --- while it runs

    @contextmanager
    def running(self) -> Iterator[Progress]:
        """The evaluation: shows progress, and attributes unknown queries to --query-ids."""
        from gradeval.render.progress import Progress

        process.imported()
        with Progress(enabled=False if self.quiet else None) as self.progress:
            try:
                yield self.progress
            except UnknownQueryError as error:
                if self.query_ids is None:
                    raise
                raise self.query_ids.unknown(error) from None

    @property
    def chosen(self) -> Callable[[Iterable[str], str], tuple[str, ...]] | None:
        """The function that finds the ids of --query-ids, given those of the qrels and their path."""
        return None if self.query_ids is None else self.query_ids.chosen

    def report_failed(self, failed: Iterable[FailedRun]) -> None:
        """Print the errors of runs, each once."""
        self._clear()
        for run in failed:
            if str(run.error) not in self._reported:
                self._reported.add(str(run.error))
                out.report(run.error)

    def report(self, lines: Iterable[str]) -> None:
        """Print lines of errors, each once."""
        for line in lines:
            if line not in self._reported:
                self._reported.add(line)
                self._clear()
                out.echo_error(line)

    def _clear(self) -> None:
        """Remove the progress bar, for text."""
        if self.progress is not None:
            self.progress.clear()

    # --- what it says

    def passes(self, notices: Iterable[Notice], runs: int, warnings: Iterable[str] = ()) -> bool:
        """Print the warnings and notices; whether the command may go on, since with --strict they are errors.

        runs: how many are evaluated. warnings: others than notices.
        """
        notices, texts = list(notices), [*(self.query_ids.warnings if self.query_ids else ()), *warnings]
        faults = [notice for notice in notices if not notice.informational]
        notes = lines((notice for notice in notices if notice.informational), runs)
        is_wrong = bool(texts) or any(notice.kind not in self.allow for notice in faults)
        return out.passes_with((*texts, *lines(faults, runs)), notes, is_wrong, self.quiet, self.strict)

    @property
    def on_terminal(self) -> bool:
        """Whether the output is a terminal."""
        return self.file is None and out.on_terminal()

    @property
    def style(self) -> dict[str, Any]:
        """How tables are drawn: with colours, and no wider than the terminal."""
        if not self.on_terminal:
            return {"colour": False, "width": None}
        from shutil import get_terminal_size

        is_plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        return {"colour": not is_plain, "width": get_terminal_size().columns}

    def print(self, result: Printable | Callable[..., Document], **what: Any) -> None:
        """Write the result, or the document of this layout, in the format of the command. what: to print."""
        from gradeval.render.document import Printable, RenderOptions

        how = {"digits": self.digits, "spreadsheet": self.spreadsheet, **self.style}
        if isinstance(result, Printable):
            self.write(result.render(self.format, **how, **what))
        else:
            options = RenderOptions(**how, format=self.format)
            self.write(result(options, **what).write(options))

    def write(self, text: str) -> None:
        self._clear()
        out.write(text, self.file, styled=self.format == "table")


def input_files(*listed: str) -> list[str]:
    """The files that the command reads: those of its arguments and options, and those that a file lists.

    Raises UsageError where two of them are standard input.
    """
    from gradeval.tables.run_names import labelled

    context = click.get_current_context()
    files = list(listed)
    for param in context.command.params:
        if isinstance(param.type, File) and not isinstance(param.type, OutputPath):
            paths = context.params.get(param.name or "") or ()
            files += [labelled(path)[1] for path in ([paths] if isinstance(paths, str) else paths)]
    if files.count("-") > 1:
        raise click.UsageError("'-' can be given once only: there is one standard input.")
    return files


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


class QueryIds:
    """The value of --query-ids: ids, or the name of a file of ids ('-': standard input); ids where it is both
    and all are judged.

    warnings: one where it is both. Raises OptionError for no ids.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.warnings: list[str] = []
        is_path = text == "-" or "/" in text
        self._listed = () if is_path else parse_ids(text)
        self._is_file = is_path or (os.path.exists(text) and not os.path.isdir(text))
        if not self._is_file:
            self._some(self._listed)

    def chosen(self, judged: Iterable[str], qrels: str) -> tuple[str, ...]:
        """The ids, given those of all queries of the qrels. Raises InputError for a file with others."""
        if not self._is_file:
            return self._listed
        queries = set(judged)
        if self._listed and queries.issuperset(self._listed):
            self.warnings.append(
                f"--query-ids {self.text}: the id is in the qrels, so the file of this name is ignored; "
                f"./{self.text} names the file"
            )
            return self._listed
        from gradeval.formats.lines import read_query_ids
        from gradeval.formats.sources import Source

        return self._some(read_query_ids(Source(self.text), queries, qrels))

    def unchecked(self) -> tuple[str, ...]:
        """The ids, where nothing can be compared with those of the qrels. Raises OptionError."""
        if not self._is_file:
            return self._listed
        if self._listed:
            what = f"a file has this name, and an id may; ./{self.text} names the file"
            raise OptionError(f"--query-ids {self.text}: {what}")
        from gradeval.formats.lines import read_fields
        from gradeval.formats.sources import Source

        return self._some(
            tuple(dict.fromkeys(query for _, fields in read_fields(Source(self.text)) for query in fields))
        )

    def unknown(self, error: UnknownQueryError) -> OptionError:
        """The error about listed ids that are not in the qrels."""
        no_file = f", nor is there a file '{self.text}'" if len(self._listed) == 1 else ""
        return OptionError(f"--query-ids: {error}{no_file}")

    def _some(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        if not ids:
            raise OptionError(f"--query-ids {self.text}: no queries given")
        return ids
