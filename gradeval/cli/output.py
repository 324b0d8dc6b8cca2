"""Text to standard output or a file, messages and warnings to standard error; incomplete output is an error."""

from __future__ import annotations

import codecs
import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from gradeval.errors import GradevalError, InputError, InputErrors, inert, printable, visible_rows, writing
from gradeval.process import write_all

if TYPE_CHECKING:
    from gradeval.formats.output import OutputFile


def echo_error(line: str) -> None:
    """A line on standard error, without commands for the runner of a CI service."""
    command_runner(f"{inert(printable(line))}\n")


def command_runner(lines: str) -> None:
    """Lines on standard error for the runner of a CI service, which reads commands in what is printed.

    That no one is there to read them must not cost the results.
    """
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            write_all(_flushed(sys.stderr), lines.encode(sys.stderr.encoding, "backslashreplace"))


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning of other code, such as a plugin's; Python's warnings module calls this."""
    echo_error(f"warning: {filename}:{lineno}: {category.__name__}: {' '.join(str(message).split())}")


def lines_of(error: GradevalError) -> list[str]:
    """The lines of an error, which begin with the name of a file, or with our name."""
    ours = "" if isinstance(error, (InputError, InputErrors)) else "gradeval: "
    return [ours + line for line in str(error).split("\n")]


def report(error: GradevalError) -> None:
    for line in lines_of(error):
        echo_error(line)


def on_terminal(stream: str = "stdout") -> bool:
    """Whether standard output, or 'stderr', is one."""
    opened = getattr(sys, stream)
    return opened is not None and bool(opened.isatty())


def write(text: str, file: OutputFile | None = None, *, styled: bool = False) -> None:
    """Write to the file or to standard output. Raises GradevalError, BrokenPipeError.

    styled: the text has terminal codes of gradeval; in other text these are escaped on a terminal.
    """
    if file is None and not styled and on_terminal():
        text = visible_rows(text)
    write_data(text.encode("utf-8", "surrogateescape"), file)


def write_data(data: bytes, file: OutputFile | None = None) -> None:
    """Write to the file or to standard output. Raises GradevalError, BrokenPipeError."""
    if file is not None:
        file.write(data)
        return
    with writing("standard output"):
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        write_all(_flushed(sys.stdout), data)


@contextmanager
def stream(file: OutputFile | None = None) -> Iterator[BinaryIO]:
    """A file for text of any size, which is written to the file or to standard output when the block ends
    without an error; on a terminal, control characters are escaped. Raises GradevalError, BrokenPipeError.
    """
    from gradeval.formats.output import delayed

    def visible(parts: Iterator[bytes]) -> Iterator[bytes]:
        for text in codecs.iterdecode(parts, "utf-8", "surrogateescape"):
            yield visible_rows(text).encode("utf-8", "surrogateescape")

    if file is None and sys.stdout is None:
        raise GradevalError("standard output cannot be written (it is closed)")
    stdout = delayed(lambda: nullcontext(_flushed(sys.stdout)), visible if on_terminal() else iter)
    with writing("standard output"), stdout if file is None else file.stream() as sink:
        yield sink


def _flushed(stream: TextIO) -> Any:
    """The unbuffered file of a stream."""
    stream.flush()
    return getattr(stream.buffer, "raw", stream.buffer)
