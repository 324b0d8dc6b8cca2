"""The file of --output: replaced atomically, or written to if it cannot be replaced, such as a device."""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter, BytesIO
from typing import Any, BinaryIO

from gradeval.errors import OptionError, writing
from gradeval.file_formats import COMPRESSIONS
from gradeval.formats.sources import compressed
from gradeval.options import GROUP_SUFFIXES
from gradeval.process import descriptor_of, lock, write_all

_BLOCK = 1 << 20  # bytes of a temporary file that are written at a time
_IN_MEMORY = 8 << 20  # bytes of what is written at the end that need no temporary file


class OutputFile:
    """A file to write to. Problems are found before the evaluation begins. Raises OptionError.

    path: as the user named it. inputs: the files that are read, '-' for standard input; it must not be one, nor
    a file of group sizes beside one. is_device: whether it is /dev/null or the like. option: that named it.
    """

    def __init__(self, path: str, inputs: Iterable[str], option: str = "--output") -> None:
        self.path = path
        self._replaced = ""  # the file whose place a new one takes, '' where this one is written to
        if not path:
            raise OptionError(f"{option}: no file given")
        try:
            about = _stat(path)
            mode = stat.S_IFREG if about is None else about.st_mode
            self.is_device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
            problem = self._prepare(about, stat.S_ISREG(mode), inputs)
        except OSError as error:
            problem = error.strerror or str(error)
        if problem:
            raise OptionError(f"{option} {path}: {problem}")

    def write(self, data: bytes) -> None:
        """Write all of it, compressed as the name says. Raises GradevalError, BrokenPipeError; a file that is
        replaced is then as it was.
        """
        written = BytesIO()
        with compressed(written, self.path) as sink:
            sink.write(data)
        with writing(self.path), _replacement(self._replaced) if self._replaced else self._open() as file:
            write_all(file, written.getbuffer())

    @contextmanager
    def stream(self) -> Iterator[BinaryIO]:
        """A file of any size, written when the block ends without an error. Raises as write() does."""
        if not self._replaced:
            with writing(self.path), delayed(self._open) as copy:
                yield copy
        else:
            with writing(self.path), _replacement(self._replaced) as file:
                buffered = BufferedWriter(file)
                yield buffered
                buffered.flush()

    def _open(self) -> Any:
        # opened by its name, the file of a stream would be written from its beginning
        stream = descriptor_of(self.path)
        target = os.open(self.path, os.O_WRONLY | os.O_APPEND) if stream is None else stream
        return open(target, "wb", 0, closefd=stream is None)

    def _prepare(self, about: os.stat_result | None, is_plain: bool, inputs: Iterable[str]) -> str:
        """Choose the way to write, or return what prevents it."""
        target = os.path.realpath(self.path)
        folder = os.path.dirname(target)
        if about is not None and stat.S_ISDIR(about.st_mode):
            return "it is a directory"
        if is_plain and (problem := _as_input(self.path, about, inputs)):
            return problem
        if descriptor_of(self.path) is not None:
            return ""
        if not os.path.isdir(folder) or self.path.endswith("/"):
            return f"directory {folder} does not exist"
        if about is not None and not os.access(self.path, os.W_OK):
            return "permission denied"
        if is_plain:
            self._replaced = target
            try:
                import tempfile

                tempfile.TemporaryFile(dir=folder).close()
            except OSError as error:
                return f"cannot create a file in {folder} ({error.strerror or error})"
        return ""


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _as_input(path: str, about: os.stat_result | None, inputs: Iterable[str]) -> str:
    """The error where the path is that of an input; '' where it is not. about: its status."""
    for read in (name + suffix for name in inputs for suffix in ("", *GROUP_SUFFIXES)):
        if about is None:
            if "\0" not in read and os.path.realpath(read) == os.path.realpath(path):
                return "it would be one of the input files"
            continue
        with suppress(OSError, ValueError, AttributeError):  # sys.stdin may be None
            if os.path.samestat(about, os.fstat(sys.stdin.fileno()) if read == "-" else os.stat(read)):
                return "it is one of the input files"
    return ""


def check_appended(path: str, inputs: Iterable[str], name: str) -> None:
    """Raise OptionError where a file to which lines are to be appended is one of the inputs."""
    about = _stat(path)
    if about is not None and stat.S_ISREG(about.st_mode) and (problem := _as_input(path, about, inputs)):
        raise OptionError(f"{name} {path}: {problem}")


class AppendedFile:
    """A file to which lines are appended. Problems are found before the evaluation begins. Raises OptionError.
    inputs, option: as of OutputFile.
    """

    def __init__(self, path: str, inputs: Iterable[str], option: str) -> None:
        self.path = path
        about = _stat(path)
        problem = _as_input(path, about, inputs)
        if os.path.splitext(path)[1].lower() in COMPRESSIONS:
            problem = "lines cannot be appended to a compressed file"
        if about is not None and stat.S_ISDIR(about.st_mode):
            problem = "it is a directory"
        elif about is None and not os.path.isdir(os.path.dirname(os.path.realpath(path))):
            problem = f"directory {os.path.dirname(os.path.realpath(path))} does not exist"
        elif about is not None and not os.access(path, os.W_OK):
            problem = "permission denied"
        if problem or not path:
            raise OptionError(f"{option} {path}: {problem or 'no file given'}")

    def append(self, lines: bytes) -> None:
        """Append whole lines, all of them or none, after those of other processes that do so; where the file
        ends within a line, the first begins a line of its own. Raises GradevalError.
        """
        with writing(self.path), open(self.path, "ab+", 0) as file:
            lock(file.fileno())
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                lines = lines if file.read(1) == b"\n" else b"\n" + lines
            try:
                write_all(file, lines)
            except OSError:
                file.truncate(size)
                raise


@contextmanager
def delayed(
    opened: Callable[[], Any], written: Callable[[Iterator[bytes]], Iterable[bytes]] = iter
) -> Iterator[BinaryIO]:
    """A temporary file, written to the raw file (as `written` makes it) when the block ends without error."""
    from tempfile import SpooledTemporaryFile

    with SpooledTemporaryFile(max_size=_IN_MEMORY) as copy:
        yield copy  # type: ignore[misc]
        copy.seek(0)
        with opened() as file:
            for data in written(iter(lambda: copy.read(_BLOCK), b"")):
                write_all(file, data)


@contextmanager
def _replacement(target: str) -> Iterator[Any]:
    """A raw file that replaces the target when the block ends without an error; otherwise it is removed."""
    old = _stat(target)
    mode = 0o666 if old is None else old.st_mode & 0o777
    new = os.path.join(os.path.dirname(target), f".gradeval-{os.urandom(8).hex()}")

    def end(number: int, _: object) -> None:
        with suppress(OSError):
            os.unlink(new)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    ending = [getattr(signal, name) for name in ("SIGHUP", "SIGINT", "SIGTERM") if hasattr(signal, name)]
    caught = [number for number in ending if signal.getsignal(number) is signal.SIG_DFL]
    try:
        with suppress(ValueError):  # of a thread that is not the main one, which catches no signals
            for number in caught:
                signal.signal(number, end)
        with open(new, "xb", 0, opener=lambda path, flags: os.open(path, flags, mode)) as file:
            if old is not None:
                os.chmod(new, mode)  # without regard to the umask
            yield file
        os.replace(new, target)
    finally:
        with suppress(OSError):
            os.unlink(new)
        with suppress(ValueError):
            for number in caught:
                signal.signal(number, signal.SIG_DFL)
