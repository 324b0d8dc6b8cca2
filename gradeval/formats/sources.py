"""Where bytes come from: files, pipes and standard input, packed or not, as blocks of whole lines."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from gradeval.errors import InputError
from gradeval.ids import PAD, Bytes

BLOCK = 2 << 20
_LF = 10
_UTF8_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, eq=False)
class Block:
    """Whole lines of a source. bytes: uint8, `size` of them and at least PAD more to read into.

    first, last: whether it is the source's first block, and whether none follows.
    """

    bytes: Bytes
    size: int
    first: bool
    last: bool


class Source:
    """A file as the user named it ('-' is standard input), which can be read from its beginning repeatedly.

    What a pipe brings is kept in a temporary file while it is read, since no pipe can be read twice.
    progress, if set, is told how many bytes are taken from the file at each step.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.name = "<stdin>" if self.path == "-" else self.path
        self.progress: Callable[[int], object] | None = None
        self._raw: io.RawIOBase | None = None

    def blocks(self, size: int = BLOCK) -> Iterator[Block]:
        """The unpacked bytes in blocks of about this size, cut at line ends. Raises InputError."""
        errors: tuple[type[Exception], ...]
        try:
            stream, errors = _unpacked(io.BufferedReader(self._from_start(self.progress), 1 << 16), self.name)
        except OSError as error:
            raise InputError(self.name, _reason(error), hint=_hint(error)) from None
        try:
            yield from _cut(stream, size)
        except (EOFError, *errors) as error:  # type: ignore[misc]
            what = f"the archive is damaged or incomplete ({error})"
            raise InputError(self.name, what, hint="Pack or fetch it again") from None
        except OSError as error:
            raise InputError(self.name, _reason(error), hint=_hint(error)) from None

    def sha256(self) -> str:
        """The SHA-256 of the file as it is stored, in hexadecimal."""
        import hashlib

        digest = hashlib.sha256()
        raw = self._from_start(None)
        while chunk := raw.read(1 << 20):
            digest.update(chunk)
        return digest.hexdigest()

    @property
    def stored_size(self) -> int:
        """The size of the file as it is stored; 0 for a pipe, or where it cannot be told."""
        try:
            about = os.stat(_stdin() if self.path == "-" else self.path)
        except (OSError, ValueError):
            return 0
        return about.st_size if stat.S_ISREG(about.st_mode) else 0

    @property
    def expected_size(self) -> int:
        """A generous guess of how many bytes there are to read."""
        return 8 * self.stored_size or 2**33

    def _from_start(self, progress: Callable[[int], object] | None) -> io.RawIOBase:
        if self._raw is None:
            raw = io.FileIO(_stdin(), closefd=False) if self.path == "-" else io.FileIO(self.path)
            self._raw = raw if stat.S_ISREG(os.fstat(raw.fileno()).st_mode) else _Replayed(raw)
            self._begin = self._raw.tell()
            weakref.finalize(self, self._raw.close)
        self._raw.seek(self._begin)
        return _Counted(self._raw, progress)


def _stdin() -> int:
    if sys.stdin is None:  # closed by who started us; its number may be that of another file by now
        raise OSError(errno.EBADF, "standard input is closed")
    return sys.stdin.fileno()


class _Counted(io.RawIOBase):
    """Tells how much is read, and leaves the file below it open."""

    def __init__(self, raw: io.RawIOBase, progress: Callable[[int], object] | None) -> None:
        self.raw, self.progress = raw, progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self.raw.readinto(buffer) or 0
        if self.progress is not None:
            self.progress(count)
        return count


class _Replayed(io.RawIOBase):
    """A pipe that can be read from its beginning again, from a copy of what it has brought so far."""

    def __init__(self, pipe: io.RawIOBase) -> None:
        import tempfile

        self.pipe = pipe
        self.copy = tempfile.SpooledTemporaryFile(max_size=8 << 20)  # noqa: SIM115
        self.copied = self.place = 0

    def tell(self) -> int:
        return self.place

    def seek(self, place: int, whence: int = 0) -> int:
        self.place = place
        return place

    def close(self) -> None:
        self.pipe.close()
        self.copy.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        self.copy.seek(self.place)
        if self.place < self.copied:
            chunk = self.copy.read(min(len(buffer), self.copied - self.place))
            buffer[: len(chunk)] = chunk
            count = len(chunk)
        else:
            count = self.pipe.readinto(buffer) or 0
            self.copy.write(buffer[:count])
            self.copied += count
        self.place += count
        return count


def _cut(stream: Any, size: int) -> Iterator[Block]:
    """Blocks that end where a line ends; one grows where a line is longer than it."""
    rest = np.empty(0, np.uint8)
    first, ended = True, False
    while not ended:
        room = max(size, 2 * len(rest))
        buffer = np.empty(room + PAD, np.uint8)
        filled = len(rest)
        buffer[:filled] = rest
        end = 0
        while not end:
            if filled == room:
                room *= 2
                buffer = np.concatenate([buffer[:filled], np.empty(room - filled + PAD, np.uint8)])
            count = stream.readinto(buffer.data[filled:room])
            if not count:
                ended = True
                break
            filled += count
            if filled == room:
                end = _after_last_line(buffer, filled)
        if ended:
            if filled and buffer[filled - 1] != _LF:
                buffer[filled] = _LF
                filled += 1
            end = filled
        if first and buffer[:filled][:3].tobytes() == _UTF8_MARK:
            buffer, end, filled = buffer[3:], end - 3, filled - 3
        rest = buffer[end:filled].copy()
        if end:
            yield Block(buffer, end, first, ended)
            first = False


def _after_last_line(buffer: Bytes, filled: int) -> int:
    """The place behind the last line end, 0 without one."""
    step = 1 << 12
    while True:
        start = max(0, filled - step)
        ends = np.flatnonzero(buffer[start:filled] == _LF)
        if len(ends):
            return start + int(ends[-1]) + 1
        if not start:
            return 0
        step *= 16


def _unpacked(stream: io.BufferedReader, name: str) -> tuple[Any, tuple[type[Exception], ...]]:
    """The stream behind gzip, bzip2, xz or zstd, told by its first bytes; and the errors it may raise."""
    start = stream.peek(6)[:6]
    if start.startswith(b"\x1f\x8b"):
        import gzip
        import zlib

        return gzip.GzipFile(fileobj=stream), (gzip.BadGzipFile, zlib.error)
    if start.startswith(b"BZh"):
        import bz2

        return bz2.BZ2File(stream), (OSError, ValueError)
    if start.startswith(b"\xfd7zXZ\x00"):
        import lzma

        return lzma.LZMAFile(stream), (lzma.LZMAError,)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        return _zstd(stream, name)
    if start.startswith(b"PK\x03\x04"):
        raise InputError(name, "this is a zip archive", hint="Unpack it first")
    return stream, ()


def _zstd(stream: io.BufferedReader, name: str) -> tuple[Any, tuple[type[Exception], ...]]:
    for module in ("compression.zstd", "backports.zstd"):
        try:
            zstd: Any = import_module(module)
        except ImportError:
            continue
        return zstd.ZstdFile(stream), (zstd.ZstdError,)
    hint = "Run 'pip install backports.zstd', use Python 3.14, or unpack the file first"
    raise InputError(name, "nothing here can read zstd", hint=hint)


def _reason(error: OSError) -> str:
    text = error.strerror or str(error)
    return {
        FileNotFoundError: "there is no such file",
        IsADirectoryError: "this is a directory, not a file",
        PermissionError: "the file may not be read",
    }.get(type(error), f"the file cannot be read ({text})")


def _hint(error: OSError) -> str:
    return "Check the path" if isinstance(error, FileNotFoundError) else ""
