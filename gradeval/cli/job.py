"""The frame of every command: its inputs and its output, progress, query ids, warnings, and what is printed."""

from __future__ import annotations

import codecs
import errno
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property, update_wrapper
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TextIO

import click
from click.core import ParameterSource

from gradeval import errors, process
from gradeval.file_formats import LabelledRuns, labelled, run_files
from gradeval.notices import EvaluationWarning, Notice, NoticeKind, sentences
from gradeval.options import LaterIds, parse_ids
from gradeval.render import Digits, format_of

if TYPE_CHECKING:
    from rich.progress import Progress as ProgressBar

    from gradeval.evaluation.results import FailedRun
    from gradeval.formats.output import AppendedFile, OutputFile
    from gradeval.formats.sources import Source, Watch
    from gradeval.render.printable import Printable

PATIENCE = 1.0  # seconds before progress is shown
MOST_ON_TERMINAL = 4  # lines of warnings and notes
_FIRST_ON_TERMINAL = (
    NoticeKind.SAME_RANKING,  # a copy in the place of another run makes all else pointless
    NoticeKind.BIAS_DIFFERS,
    NoticeKind.NO_RANDOM_SAMPLE,
    NoticeKind.JUDGED_DIFFERS,
    NoticeKind.JUDGED_SHARE,
)
LABELLED = ("tsv", "csv", "jsonl")  # formats
WARNED = 3  # the exit code of --fail-on-warning


def with_job(formats: Iterable[str] = (), otherwise: str = "tsv") -> Callable[[Any], Any]:
    """Makes the first argument of a command its Job. otherwise: the format where nothing else sets it."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def command(**values: Any) -> int:
            job = Job(values, tuple(formats), otherwise)
            try:
                code = function(job, **values) or 0
            except errors.GradevalError as error:
                raise as_typed(error) from None
            except BrokenPipeError:  # the consumer closed the pipe; warnings are still of interest
                code = 0
            finally:
                job.show_warnings()
            return job.exit_code(code)

        return update_wrapper(command, function)

    return decorate


class Job:
    """The part of a command that all share. file: of --output, None for standard output and until open()."""

    # the options that it takes from the command, with their values where the command has no such option
    output: str | None = None
    digits: Digits = 4
    spreadsheet: bool = False
    no_header: bool = False
    history: str | None = None
    table: str | None = None
    signature: bool = False
    quiet: bool = False
    verbose: bool = False
    strict: bool = False
    fail_on_warning: bool = False
    allow: tuple[NoticeKind, ...] = ()

    def __init__(self, values: dict[str, Any], formats: Sequence[str], otherwise: str) -> None:
        """Take the shared options from `values`. Raises UsageError for those that are mutually exclusive."""
        self.formats, self._otherwise = formats, otherwise
        vars(self).update({name: values.pop(name) for name in Job.__annotations__ if name in values})
        self.asked_format: str | None = values.pop("format_", None)
        labels = values.pop("label", ())
        self.label: dict[str, str] = dict(labels)
        self.history_file: AppendedFile | None = None
        if len(self.label) < len(labels):
            raise click.UsageError("--label: a name is given twice.")
        for both, options in (
            (self.quiet and self.verbose, "--quiet and --verbose"),
            (self.strict and self.fail_on_warning, "--strict and --fail-on-warning"),
            (values.pop("complete", False) and values["queries"] == "both", "-c and --queries both"),
        ):
            if both:
                raise click.UsageError(f"{options} are mutually exclusive.")
        self.query_ids: QueryIds | None = None
        if values.get("query_ids") is not None:
            values["query_ids"] = self.query_ids = QueryIds(values["query_ids"])
        self.file: OutputFile | None = None
        self.format: Any = ""  # one of render.Format
        self.progress = Progress(enabled=False if self.quiet else None)
        self._reported: set[str] = set()
        self._warnings: list[str] = []  # to be printed, and notes
        self._unaccepted: list[NoticeKind] = []  # of warnings
        if self.quiet or self.strict:  # the warnings of other code, such as a plugin's, are treated as ours
            warnings.simplefilter("error" if self.strict else "ignore")
        warnings.simplefilter("ignore", EvaluationWarning)  # the command prints the notices itself

    # --- before anything is read

    def open(self, *read: str, more: Sequence[str] = (), checks_labels: bool = True) -> None:
        """Check inputs and output, and find the format. read: files that the command reads, though no argument
        names them. more: endings written by others, which messages name. checks_labels: False
        where a file may still name a history, with which labels go in any format.
        Raises UsageError, OptionError.
        """
        self.file = self.output_file(self.output, input_files(*read))
        self.history_file = self._opened_history(*read)
        self.format = self.asked_format
        if self.format is None and self.file is None and on_terminal():
            self.format = "table"
        elif self.format is None and self.file is not None and not self.file.is_device:
            self.format = format_of(self.file.path, self.formats, more)
        self.format = self.format or self._otherwise
        for option, is_given, formats in (
            ("--table", self.table is not None, ("tsv", "csv")),
            ("--spreadsheet", self.spreadsheet, ("csv",)),
            ("--no-header", self.no_header, ("tsv", "csv")),
            ("--label", self.label and self.history is None and checks_labels, LABELLED),
        ):
            if is_given:
                self.require_format(option, formats)

    def require_format(self, option: str, formats: Sequence[str]) -> None:
        """Raise UsageError for an option that only these formats show."""
        if self.format not in formats:
            raise click.UsageError(f"{option} requires -f {' or -f '.join(formats)}.")

    def _opened_history(self, *read: str) -> AppendedFile | None:
        """That of --history. read: as of open()."""
        if self.history is None:
            return None
        from gradeval.formats.output import AppendedFile

        if self.output is not None and os.path.realpath(self.output) == os.path.realpath(self.history):
            raise click.UsageError("--output and --history name the same file.")
        return AppendedFile(self.history, input_files(*read), "--history")

    @staticmethod
    def output_file(path: str | None, inputs: Iterable[str], option: str = "--output") -> OutputFile | None:
        """A file to write, None for standard output. inputs: those of input_files, and others read."""
        if path is None or path == "-":
            return None
        from gradeval.formats.output import OutputFile

        return OutputFile(path, inputs, option)

    # --- while it runs

    @contextmanager
    def running(self) -> Iterator[Progress]:
        """The evaluation: shows progress, and attributes unknown queries to --query-ids."""
        process.resume_garbage_collection()
        try:
            yield self.progress
        except errors.UnknownQueryError as error:
            raise (self.query_ids.unknown(error) if self.query_ids else error) from None
        finally:
            self.progress.close()

    @property
    def watch(self) -> Watch | None:
        """What files tell of their reading, for the progress bar."""
        return self.progress.watch if self.progress.enabled else None

    def watched(self, data: Any) -> Any:
        """Files instead of their paths, whose reading the progress bar shows: a path, (label, path) pairs or a
        sequence of paths. Directories and data stay as they are.
        """
        if self.watch is None:
            return data
        from gradeval.formats.sources import Source  # for a terminal only

        if isinstance(data, LabelledRuns):
            return LabelledRuns((label, self.watched(run)) for label, run in data)
        if isinstance(data, (list, tuple)):
            return [self.watched(path) for path in data]
        if isinstance(data, Source):
            data.watch = self.watch
        elif isinstance(data, str) and (data == "-" or os.path.isfile(data)):
            return Source(data, self.watch)
        return data

    def report_failed(self, failed: Sequence[FailedRun]) -> bool:
        """Print the errors of runs, each once; whether there are any."""
        self.report(line for run in failed for line in lines_of(run.error))
        return bool(failed)

    def report(self, lines: Iterable[str]) -> None:
        """Print lines of errors, each once."""
        for line in lines:
            if line not in self._reported:
                self._reported.add(line)
                self.progress.clear()
                echo_error(line)

    def sign(self, signatures: Iterable[str]) -> None:
        """Print the signatures after the results, where the format has no place for them."""
        if self.format not in ("json", "md", "latex"):
            self.report(signatures)

    # --- what it says

    def passes(self, *groups: Sequence[Notice], runs: int) -> bool:
        """Whether the command may go on; with --strict warnings are errors, printed now, otherwise after the
        results. groups: each with a line for each kind. runs: how many are evaluated.
        """
        groups = (self.query_ids.notices if self.query_ids else (), *groups)

        def lines(prefix: str, informational: bool) -> list[str]:
            chosen = ([notice for notice in group if notice.informational is informational] for group in groups)
            kinds_and_sentences = chain.from_iterable(sentences(group, runs) for group in chosen)
            return list(
                dict.fromkeys(f"{prefix}: {sentence} [{kind.value}]" for kind, sentence in kinds_and_sentences)
            )

        is_accepted = self.accepts(notice.kind for notice in chain(*groups) if not notice.informational)
        if not self.quiet or not is_accepted or (self.fail_on_warning and self._unaccepted):
            self._warnings = lines("warning", False)
        if not self.quiet:
            self._warnings += lines("note", True)
        if not is_accepted:
            self.show_warnings(all_of_them=True)
            self.refuse()
        return is_accepted

    def accepts(self, kinds: Iterable[NoticeKind]) -> bool:
        """Whether the command may go on with warnings of these kinds."""
        self._unaccepted = [kind for kind in dict.fromkeys(kinds) if kind not in self.allow]
        return not (self.strict and self._unaccepted)

    def refuse(self, reason: str = "warnings are treated as errors (--strict)") -> None:
        """Print why the command fails, and which option would let it pass."""
        kinds = ",".join(kind.value for kind in self._unaccepted)
        accepts = f"accepts {'this kind' if len(self._unaccepted) == 1 else 'these kinds'}"
        echo_error(f"gradeval: {reason}; --allow {kinds} {accepts}")

    def show_warnings(self, *, all_of_them: bool = False) -> None:
        """Print the warnings and notes that have not been printed, the first of them on a terminal."""
        lines = self._warnings
        self._warnings = []
        is_short = not (all_of_them or self.verbose) and on_terminal("stderr")
        count = MOST_ON_TERMINAL if is_short else len(lines)
        if lines[count:]:
            lines.sort(key=_place_on_terminal)
        if lines:
            self.progress.clear()
        for line in lines[:count]:
            echo_error(line)
        if lines[count:]:
            kinds = ", ".join(dict.fromkeys(map(_kind_of, lines[count:])))
            echo_error(f"… and {len(lines) - count} more: {kinds} (--verbose lists all)")

    def exit_code(self, code: int) -> int:
        """The exit code of the command, given that of its results: 3 where a warning makes it fail."""
        if code or not (self.fail_on_warning and self._unaccepted):
            return code
        self.refuse(f"exit code {WARNED}, for warnings (--fail-on-warning)")
        return WARNED

    @property
    def on_errors(self) -> Literal["raise", "keep"]:
        """What a run that cannot be read does: without --strict the others are printed."""
        return "raise" if self.strict else "keep"

    @property
    def on_terminal(self) -> bool:
        return self.file is None and on_terminal()

    @property
    def shows_notices(self) -> bool:
        """Whether what is written has notices, or they may be printed."""
        return self.format == "json" or not self.quiet or self.strict or self.fail_on_warning

    @property
    def wants_hashes(self) -> bool:
        """Whether what is written has the SHA-256 of files."""
        return self.format == "json" or self.signature or self.history is not None

    @property
    def style(self) -> dict[str, Any]:
        """How tables are drawn: with colours, and no wider than the terminal."""
        if not self.on_terminal:
            return {"colour": False, "width": None}
        from shutil import get_terminal_size

        is_plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        return {"colour": not is_plain, "width": get_terminal_size().columns}

    @property
    def render_options(self) -> dict[str, Any]:
        """The options of output, as Printable.render() takes them."""
        return {
            "digits": self.digits,
            "spreadsheet": self.spreadsheet,
            "header": not self.no_header,
            "label": self.label if self.format in LABELLED else {},  # else those of a history
            **self.style,
        }

    def print(self, result: Printable, **choices: Any) -> None:
        self.write(result.render(self.format, **self.render_options, **choices))

    def write(self, text: str) -> None:
        self.progress.clear()
        write(text, self.file, styled=self.format == "table")


def input_files(*listed: str) -> list[str]:
    """Those that the command reads, and those `listed`. Raises UsageError where two are standard input."""
    context = click.get_current_context()
    files = list(listed)
    for param in context.command.params:
        if getattr(param.type, "is_read", False):
            paths = context.params.get(param.name or "") or ()
            files += [labelled(path)[1] for path in ([paths] if isinstance(paths, str) else paths)]
    if files.count("-") > 1:
        raise click.UsageError("'-' can be given once only: there is one standard input.")
    _refuse_metrics(context)
    return files


def _refuse_metrics(context: click.Context) -> None:
    """Raise UsageError where arguments that are no files are metrics: -m takes several in one text."""
    params = (param for param in context.command.params if isinstance(param, click.Argument))
    arguments = [param.name or "" for param in params if getattr(param.type, "is_read", False)]
    paths = [context.params[name] or () for name in arguments]
    files = chain.from_iterable([path] if isinstance(path, str) else path for path in paths)
    missing = [file for file in files if not os.path.lexists(labelled(file)[1]) and file != "-"]
    if missing and (message := instead_of_files(missing, context)):
        raise click.UsageError(message)


def instead_of_files(words: Sequence[str], context: click.Context) -> str:
    """What words are that the command takes for files, if they are metrics or checks, and what to type."""
    from gradeval.registry.spec import group_of, is_metric, metric_suggested

    options = {name for param in context.command.params for name in param.opts}
    if check := _without_quotes(words[0], context.params):
        return f"A check is one argument, in quotes: {check}."
    checks = [word for word in words if is_metric(re.split(" ?[<>]", word)[0]) and re.search("[<>]", word)]
    if checks and "--require" in options:
        return f"{checks[0]} is a check, not a file: --require '{checks[0]}'."
    if metrics := list(filter(is_metric, words)):
        kind = "group of metrics" if group_of(metrics[0]) else "metric"
        message = f"{metrics[0]} is a {kind}, not a file"
        if len(metrics) > 1:
            message = f"{' and '.join(metrics)} are metrics, not files"
        return f"{message}: {_typed(metrics, options, context)}."
    for word in words:
        meant = metric_suggested(word, is_likely=bool(context.params.get("metrics")))
        if meant and "-m" in options:
            typed = _typed([meant], options, context)
            return f"{word}: no such file. Did you mean {meant}? It is written {typed}."
    return ""


def _without_quotes(number: str, params: Mapping[str, Any]) -> str:
    """The check that a number, with its operator or not, belongs to: that of a metric alone; '' for none."""
    match = re.fullmatch(r"([<>]=?)? ?([\d.]+ ?%?)", number)
    for name in ("require", "max_drop", "non_inferior"):
        last = (params.get(name) or ("",))[-1]
        if match and re.fullmatch(r"[^<>\s]+", last):
            operator = f"{match[1] or '>='} " if name == "require" else ""
            return f"--{name.replace('_', '-')} '{last} {operator}{match[2]}'"
    return ""


def _typed(metrics: Sequence[str], options: Set[str], context: click.Context) -> str:
    """What to type for these metrics."""
    if "--require" in options:
        return f"--require '{metrics[0]} >= X'"
    if "--tune" in options:
        return f"--tune '{metrics[0]}' chooses weights by it"
    if "-m" not in options:
        return f"{context.command_path} takes files only; gradeval QRELS RUN -m '{metrics[0]}' evaluates"
    given = context.params.get("metrics") or ()
    meant = " ".join(dict.fromkeys([*([given] if isinstance(given, str) else given), *metrics]))
    return "-m " + (f'"{meant}"' if " " in meant or "(" in meant else meant)


def refuse_options(names: Iterable[str], why: str) -> None:
    """Raise UsageError where the command line has one of these options."""
    context = click.get_current_context()
    for param in context.command.params:
        if param.name in names and context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{max(param.opts, key=len)} {why}.")


def listed_runs(path: str | None) -> LabelledRuns:
    """(label, path) of each of the runs of a list, whose paths are relative to it. Raises InputError."""
    runs = LabelledRuns()
    if path is None:
        return runs
    from gradeval.formats.lines import read_run_list
    from gradeval.formats.sources import Source

    folder = os.path.dirname(path) if os.path.isfile(path) else ""  # that of a pipe is /dev/fd
    listed = Source(path)
    for number, line in read_run_list(listed):
        label, run = labelled(line, folder)
        run = run if run == "-" else os.path.join(folder, run)
        files = run_files(run) if label is None else [run]
        if "#" in line and not os.path.lexists(files[0]):
            hint = "A comment is a line of its own"
            raise errors.InputError(listed.name, f"no such file {errors.named(run)}", line=number, hint=hint)
        runs += [(label, file) for file in files]
    return runs


def named_by(runs: LabelledRuns, name_by: str | None) -> LabelledRuns:
    """The runs, of which those without a label are named by their tag, where that is asked for."""
    if name_by != "tag":
        return runs
    from gradeval.formats.detect import detect
    from gradeval.formats.sources import Source
    from gradeval.formats.trec import first_tag

    named = LabelledRuns()
    for label, path in runs:
        source = Source(path)
        tag = ""
        with suppress(errors.GradevalError):  # which the evaluation reports
            tag = first_tag(source.head) if detect(source) == "trec" else ""
        named.append((label or tag or None, source))
    _check_tags([label for label, _ in runs], named)
    return named


def _check_tags(labels: Sequence[str | None], named: LabelledRuns) -> None:
    """Raise UsageError where a run that is named by its tag has the name of another. labels: those given."""
    first: dict[str, tuple[str | None, str]] = {}
    for label, (name, source) in zip(labels, named, strict=True):
        if name is None:
            continue
        other_label, other = first.setdefault(name, (label, source.name))
        if other != source.name and None in (label, other_label):
            runs = f"{other} and {source.name} would both be named {errors.named(name)}"
            hint = f"Name one, as NAME={source.name}, or use --name-by file."
            raise click.UsageError(f"--name-by tag: {runs}. {hint}")


def check_runs(runs: Sequence[str], features: Sequence[str], listed: str | None) -> None:
    """listed: the list of further runs."""
    if not runs and not features and listed is None:
        raise click.UsageError("Missing argument 'RUN...' (or --feature, for LETOR files).")


def expand_runs(
    context: click.Context | None, param: click.Parameter | None, paths: Sequence[str]
) -> tuple[str, ...]:
    """Runs with directories and patterns replaced by their files; a callback of arguments."""
    return tuple(str(file) for path in paths for file in run_files(path))


class QueryIds(LaterIds):
    """The value of --query-ids: ids, or the name of a file of ids; where it is both and all are judged, ids."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.notices = list[Notice]()
        is_path = text == "-" or "/" in text
        self._listed = () if is_path else parse_ids(text)
        self._is_file = is_path or (os.path.exists(text) and not os.path.isdir(text))

    def choose(self, judged: Iterable[str], qrels: str, *, is_part: bool = False) -> tuple[str, ...]:
        """Raises OptionError for no ids, and InputError for a file with others than those judged."""
        from gradeval.formats.lines import read_query_ids

        queries = set(judged)
        ids = self._listed and parse_ids(self.text, queries)
        if self._is_file:
            if ids and queries.issuperset(ids):
                self.notices.append(Notice(NoticeKind.AMBIGUOUS_IDS, self.text, 1))
            else:
                ids = read_query_ids(self._source, queries, "" if is_part else qrels)
        return self._some(ids)

    def unchecked(self) -> tuple[str, ...]:
        """The ids, where nothing can be compared with those of the qrels. Raises OptionError."""
        from gradeval.formats.lines import read_ids

        if self._is_file and self._listed:
            message = f"a file has this name, and an id may; ./{self.text} names the file"
            raise errors.OptionError(f"--query-ids {self.text}: {message}")
        fields = (fields for _, fields in read_ids(self._source)) if self._is_file else ()
        return self._some(self._listed or tuple(dict.fromkeys(chain.from_iterable(fields))))

    @cached_property
    def _source(self) -> Source:
        """The file, which may be a pipe that is read twice."""
        from gradeval.formats.sources import Source  # imported only when needed

        return Source(self.text)

    def unknown(self, error: errors.UnknownQueryError) -> errors.OptionError:
        no_file = f", nor is there a file '{self.text}'" if len(self._listed) == 1 else ""
        return errors.OptionError(f"--query-ids: {error}{no_file}")

    def _some(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        if not ids:
            raise errors.OptionError(f"--query-ids {self.text}: no queries given")
        return ids


# --- what is printed: incomplete output is an error


def _kind_of(line: str) -> str:
    """The kind of notice at the end of its line, '… [ties]'."""
    return line.rpartition("[")[2].rstrip("]")


def _place_on_terminal(line: str) -> int:
    kind = _kind_of(line)
    return _FIRST_ON_TERMINAL.index(kind) if kind in _FIRST_ON_TERMINAL else len(_FIRST_ON_TERMINAL)


def echo_error(line: str) -> None:
    """A line on standard error, without commands for the runner of a CI service."""
    command_runner(f"{errors.inert(errors.printable(line))}\n")


def command_runner(lines: str) -> None:
    """Lines on standard error, which a CI service's runner obeys. A closed one must not cost the results."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            process.write_all(_flushed(sys.stderr), lines.encode(sys.stderr.encoding, "backslashreplace"))


def show_warning(message: object, category: type[Warning], file: str, line: int, *_: Any, **__: Any) -> None:
    """Show a warning of other code, such as a plugin's; Python's warnings module calls this."""
    echo_error(f"warning: {file}:{line}: {category.__name__}: {' '.join(str(message).split())}")


def lines_of(error: errors.GradevalError) -> list[str]:
    """The lines of an error, which begin with the name of a file, or with our name."""
    ours = "" if isinstance(error, (errors.InputError, errors.InputErrors)) else "gradeval: "
    return [ours + line for line in str(error).split("\n")]


def as_typed(error: errors.GradevalError) -> errors.GradevalError:
    """An error of options of the command line, with their names as they are typed there; that of a file, with
    how the command takes qrels.
    """
    if isinstance(error, (errors.InputError, errors.InputErrors)):
        return _with_qrels_option(error)
    if not isinstance(error, errors.OptionError):
        return error
    context = click.get_current_context()
    flags = {str(p.name): max(p.opts, key=len) for p in context.command.params if p.name in error.options}
    if not any(context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in flags):
        return error
    text = str(error)
    for name, flag in flags.items():
        typed = flag if f"{name}=" not in text else f"{flag} "
        text = re.sub(rf"\b{name}\b=?", typed, text, count=1)
    return errors.OptionError(text)


def _with_qrels_option(error: errors.InputError | errors.InputErrors) -> errors.GradevalError:
    """The error of a file, whose hint names --qrels where the command takes qrels so."""
    if not any("--qrels" in param.opts for param in click.get_current_context().command.params):
        return error
    if isinstance(error, errors.InputErrors):
        first = [*map(_with_qrels_option, error.errors)]
        return errors.InputErrors(first, error.total, error.end, error.hint)  # type: ignore[arg-type]
    hint = re.sub("(?i)the qrels come first, then [a-z ]+", "--qrels FILE takes the qrels", error.hint)
    hint = hint.replace("Give it as qrels", "Give it as --qrels FILE")
    if hint == error.hint:
        return error
    return errors.InputError(error.path, error.what, line=error.line, hint=hint)


def on_terminal(stream: str = "stdout") -> bool:
    """Whether standard output, or 'stderr', is one."""
    opened = getattr(sys, stream)
    return opened is not None and bool(opened.isatty())


def write(text: str, file: OutputFile | None = None, *, styled: bool = False) -> None:
    """Write to the file or to standard output. styled: the text has terminal codes of gradeval; in other text
    these are escaped on a terminal. Raises GradevalError, BrokenPipeError.
    """
    if file is None and not styled and on_terminal():
        text = errors.visible_rows(text)
    write_data(text.encode("utf-8", "surrogateescape"), file)


def write_data(data: bytes, file: OutputFile | None) -> None:
    """Write to the file or to standard output. Raises GradevalError, BrokenPipeError."""
    if file is not None:
        file.write(data)
        return
    with errors.writing("standard output"):
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        process.write_all(_flushed(sys.stdout), data)


@contextmanager
def stream(file: OutputFile | None = None) -> Iterator[BinaryIO]:
    """A file for text of any size, which is written to the file or to standard output when the block ends
    without an error; on a terminal, control characters are escaped. Raises GradevalError, BrokenPipeError.
    """
    from gradeval.formats.output import delayed

    def visible(parts: Iterator[bytes]) -> Iterator[bytes]:
        for text in codecs.iterdecode(parts, "utf-8", "surrogateescape"):
            yield errors.visible_rows(text).encode("utf-8", "surrogateescape")

    if file is None and sys.stdout is None:
        raise errors.GradevalError("standard output cannot be written (it is closed)")
    stdout = delayed(lambda: nullcontext(_flushed(sys.stdout)), visible if on_terminal() else iter)
    with errors.writing("standard output"), stdout if file is None else file.stream() as sink:
        yield sink


def _flushed(stream: TextIO) -> Any:
    stream.flush()
    return getattr(stream.buffer, "raw", stream.buffer)


class Progress:
    """Shows after PATIENCE seconds how many bytes or steps are done. enabled: None: if stderr is a terminal."""

    def __init__(self, enabled: bool | None = None) -> None:
        self.enabled = on_terminal("stderr") if enabled is None else enabled
        self.total = self.read = 0
        self._since = time.monotonic()
        self._bar: ProgressBar | None = None
        self._in_steps = False
        self._lock = threading.Lock()  # runs are read by several threads

    def watch(self, size: int, count: int) -> None:
        """Add a file of this size, or this many bytes that were read."""
        with self._lock:
            self.total += size
            self.read += count
            if count and not self._in_steps:  # what is read besides them is not shown
                # a file may be read in part to detect its format, or twice to sort it
                self._show(min(self.read, self.total or self.read), self.total or None, in_bytes=True)

    def steps(self, done: int, total: int) -> None:
        """Show that `done` of `total` equal steps are done."""
        with self._lock:
            self._in_steps = True
            self._show(done, total, in_bytes=False)

    def _show(self, done: int, total: int | None, in_bytes: bool) -> None:
        if self._bar is None and self.enabled and time.monotonic() - self._since >= PATIENCE:
            from rich import progress
            from rich.console import Console

            class Terminal(Console):
                """One whose cursor stays: nobody shows it again where a signal ends the program."""

                def show_cursor(self, show: bool = True) -> bool:
                    return False

            activity = "reading" if in_bytes else "computing"
            count = progress.DownloadColumn() if in_bytes else progress.MofNCompleteColumn()
            columns = progress.TextColumn(activity), progress.BarColumn(), count, progress.TimeRemainingColumn()
            self._bar = progress.Progress(*columns, console=Terminal(file=sys.stderr), transient=True)
            self._bar.add_task(activity, total=None)
            self._bar.start()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def clear(self) -> None:
        """Remove the bar, for a message; it is shown again with the next bytes."""
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def close(self) -> None:
        self.enabled = False
        self.clear()
