"""Text to standard output, or to a file whole or not at all."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable
from contextlib import suppress

import click

from gradeval.errors import GradevalError, InputError, InputErrors, OptionError, printable


def say(line: str) -> None:
    """A line on standard error, if anyone is there to read it: that no one is must not cost the results."""
    with suppress(OSError, ValueError):
        click.echo("\n".join(map(printable, line.split("\n"))), err=True)


def described(error: GradevalError) -> str:
    """The error as it is said: after the file that is to blame, or else after our name."""
    return str(error) if isinstance(error, (InputError, InputErrors)) else f"gradeval: {error}"


def on_terminal() -> bool:
    """Whether standard output is one."""
    return sys.stdout is not None and sys.stdout.isatty()


def columns() -> int:
    """How wide the terminal is."""
    import shutil

    return shutil.get_terminal_size().columns


def check(output: str, inputs: Iterable[str]) -> None:
    """Raise what would keep us from writing, before there is anything to write."""
    target = os.path.realpath(output)
    folder = os.path.dirname(target)
    if not output:
        raise OptionError("--output: no file is named")
    if os.path.isdir(target):
        raise OptionError(f"--output {output}: this is a directory")
    if not os.path.isdir(folder):
        raise OptionError(f"--output {output}: there is no directory {folder}")
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise OptionError(f"--output {output}: the file may not be written")
    for path in inputs:
        if os.path.isfile(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise OptionError(f"--output {output}: this is one of the files to read")


def write(text: str, output: str | None = None) -> None:
    """Write to the file whole or not at all, or to standard output. Raises GradevalError, BrokenPipeError."""
    data = text.encode("utf-8", "surrogateescape")
    try:
        _write(data, output)
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if output is None else output
        raise GradevalError(f"{name} cannot be written ({error.strerror or error})") from None


def _write(data: bytes, output: str | None) -> None:
    if output is None:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    if os.path.exists(output) and not os.path.isfile(output):  # a device or a pipe cannot be replaced
        with open(output, "wb") as file:
            file.write(data)
        return
    import tempfile

    target = os.path.realpath(output)
    handle, temporary = tempfile.mkstemp(prefix=".gradeval-", dir=os.path.dirname(target))
    try:
        with open(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o666 & ~umask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
