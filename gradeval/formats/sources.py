"""Files, pipes and standard input, compressed or plain, as blocks of whole lines."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np

from gradeval.arrays import Bytes, cached_property
from gradeval.arrays.strings import PAD
from gradeval.errors import InputError, first_names, printable
from gradeval.file_formats import COMPRESSIONS, files_of, with_ending
from gradeval.records import Record

MAGIC_BYTES = 6  # the longest magic number that is detected
_NAMES = {  # of compressions, by magic number
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
# the first entry of a spreadsheet of LibreOffice, or any entry of an Excel workbook
_WORKBOOK = rb"(?s)PK\x03\x04.{26}(?:xl/|mimetypeapplication/vnd.oasis.opendocument.spreadsheet)"
WORKBOOK, SAVE_AS_CSV = "a workbook of spreadsheets", "Save the sheet as CSV (in Excel: Save As, CSV UTF-8)"
PARQUET_MAGIC = b"PAR1"
ARROW_MAGIC = (b"ARROW1\0\0", b"\xff\xff\xff\xff")  # of files, and of streams
BLOCK = 3 << 20
HEAD = 1 << 16  # bytes that show what a file is
LONGEST_LINE = 64 << 20
TOO_LONG = f"the line is longer than {LONGEST_LINE >> 20} MiB"
_LF = 10
_BEGINNING = 4096  # bytes kept of a line that is too long, to detect binary data
UTF8_MARK = b"\xef\xbb\xbf"
_SYSTEM_ERRORS: dict[type[OSError], tuple[str, str]] = {
    IsADirectoryError: ("this is a directory, not a file", ""),
    FileNotFoundError: ("no such file", "Check the path"),
    PermissionError: ("permission denied", ""),
}
_IN_MEMORY = 8 << 20  # bytes of a pipe that need no temporary file
_KEPT_OPEN = 64  # files


@contextmanager
def compressed(sink: Any, name: str) -> Iterator[Any]:
    """A file whose data go to the sink, compressed as the ending of the name says. Raises InputError."""
    kind = COMPRESSIONS.get(os.path.splitext(name)[1].lower(), "")
    if not kind:
        yield sink
        return
    module = _module_of(kind, name)
    if kind == "gzip":  # without a time, so that equal data are equal files
        opened = module.GzipFile("", "wb", 6, sink, 0)
    else:
        opened = getattr(module, {"bzip2": "BZ2File", "xz": "LZMAFile", "zstd": "ZstdFile"}[kind])(sink, "wb")
    with opened as file:
        yield file


def _module_of(kind: str, name: str) -> Any:
    """The module for a compression. name: of the file, for the error."""
    names = {"gzip": ["gzip"], "bzip2": ["bz2"], "xz": ["lzma"], "zstd": ["compression.zstd", "backports.zstd"]}
    for module in names[kind]:
        with suppress(ImportError):
            return import_module(module)
    hint = "Run 'pip install backports.zstd', use Python 3.14, or decompress the file first"
    raise InputError(name, f"{kind} support is not installed", hint=hint)


class _Streams:
    """The bytes of compressed streams. What follows them is an error; the standard library's files ignore it.
    new: makes a decompressor of one stream. padding: allowed between streams.
    """

    def __init__(self, stored: Any, new: Callable[[], Any], padding: bytes = b"") -> None:
        self.stored = stored
        self.new = new
        self.padding = padding
        self.decompressor = new()
        self.left = b""  # what was read beyond the end of the last stream

    def readinto(self, buffer: Any) -> int:
        while True:
            stored = b""
            if self.decompressor.eof:
                stored = self.left or self.stored.read(1 << 16)
                self.left = b""
                if not stored:
                    return 0
                stored = stored.lstrip(self.padding)
                if not stored:
                    continue
                self.decompressor = self.new()
            elif self.decompressor.needs_input:
                stored = self.stored.read(1 << 16)
                if not stored:
                    raise EOFError("unexpected end of file")
            data = self.decompressor.decompress(stored, len(buffer))
            if self.decompressor.eof:
                self.left = self.decompressor.unused_data
            if data:
                buffer[: len(data)] = data
                return len(data)


class Block(Record):
    """Whole lines of a source, `size` bytes and at least PAD more; or the start of a line that is too long."""

    bytes: Bytes
    size: int
    first: bool
    last: bool
    too_long: bool = False

    @property
    def text(self) -> Bytes:
        """The lines, without the bytes behind them."""
        return self.bytes[: self.size]


Watch = Callable[[int, int], object]
_Readinto = Callable[[Any], int]


class Source:
    """A file as the user named it ('-' is standard input), which can be read from its beginning repeatedly.
    A folder of BEIR, which has a folder qrels, is its judgments. What a pipe delivers is copied to a temporary
    file; any other file that changes from its first to its last reading is an error. compression: known once it
    was read, '' for none. watch: is told the size of each file before it is read, and the bytes of each read,
    for the progress bar of a command.
    """

    def __init__(self, path: str | bytes | os.PathLike[str], watch: Watch | None = None) -> None:
        self.path = os.fsdecode(path)
        if "\0" in self.path:
            raise InputError(printable(self.path), "a path cannot contain a NUL byte")
        folder = os.path.join(self.path, "qrels")
        if os.path.isdir(folder):
            self.path = _judgments_in(folder, self.path)
        self.name = "<stdin>" if self.path == "-" else self.path
        self.watch = watch
        self._is_watched = False
        self.compression = ""
        self._pipe: _Pipe | None = None
        self._keeps = False  # whether a regular file stays open
        self._kept: io.FileIO | None = None  # one that does
        self._seekable: Any = None  # the file of seekable(), while it is not in use
        self._begin: int | None = None
        self._state: tuple[int, int, int] | None = None
        self._hashes = False
        self._digest = ""  # of the last reading that reached the end

    def blocks(self, size: int = BLOCK) -> Iterator[Block]:
        """The decompressed bytes in blocks of about this size, cut at line ends. Raises InputError."""
        with self._reader() as readinto:
            yield from _cut(readinto, size)

    def chunks(self, size: int = BLOCK) -> Iterator[Bytes]:
        """The decompressed bytes, cut anywhere, without a byte order mark. Raises InputError."""
        with self._reader() as readinto:
            first = True
            filled = size
            while filled == size:
                chunk = np.empty(size, np.uint8)
                filled = _fill(readinto, chunk)
                has_mark = first and chunk[:filled][:3].tobytes() == UTF8_MARK
                yield chunk[3 * has_mark : filled]
                first = False

    @cached_property
    def _start(self) -> bytes:
        """The first decompressed bytes, read once."""
        with self._reader() as readinto:
            text = np.empty(HEAD, np.uint8)
            return text[: _fill(readinto, text)].tobytes()

    @property
    def head(self) -> bytes:
        """The first decompressed bytes, without a byte order mark. Raises InputError."""
        return self._start.removeprefix(UTF8_MARK)

    @property
    def is_pipe(self) -> bool:
        """Whether it is no regular file; known once it was read."""
        return self._pipe is not None

    def begins_with_mark(self) -> bool:
        """Whether the text has a byte order mark. Raises InputError."""
        return self._start.startswith(UTF8_MARK)

    def blocks_from_head(self) -> Iterator[Block]:
        """blocks(HEAD), of which the first is that of the head. Raises InputError."""
        is_whole = len(self._start) < HEAD
        count = int(is_whole or b"\n" in self._start)
        yield from islice(_cut(io.BytesIO(self._start).readinto, HEAD), count)
        if not is_whole:
            yield from islice(self.blocks(HEAD), count, None)

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """The file stays open from its first reading meanwhile until the end of the first one after it."""
        self._keeps = True
        try:
            yield
        finally:
            self._keeps = False

    @contextmanager
    def seekable(self) -> Iterator[Any]:
        """The decompressed bytes as a file that can be read in any order. It stays open for the next call until
        close_seekable(). Raises InputError.
        """
        with self._system_errors():
            file = self._seekable or self._seekable_file()
            self._seekable = None
            try:
                with self._unchanged(file) if self._is_plain() else nullcontext():
                    file.seek(0)
                    yield file
            finally:
                self._seekable = file

    def close_seekable(self) -> None:
        if self._seekable is not None:
            self._seekable.close()
            self._seekable = None

    def _is_plain(self) -> bool:
        """Whether seekable() is the file itself, not a copy."""
        _ = self._start  # which shows the compression, and whether it is a pipe
        return not self.compression and self._pipe is None and self.path != "-"

    def _seekable_file(self) -> Any:
        if self._is_plain():
            file: Any = self._kept or open(self.path, "rb")  # noqa: SIM115
            self._kept = None
            weakref.finalize(self, file.close)
            stored = _Stored(self, lambda buffer, _: file.readinto(buffer))
            while self._hashes and stored.read(1 << 20):
                pass
            return file
        import tempfile

        copy = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, copy.close)
        for chunk in self.chunks():
            try:
                copy.write(chunk.data)
            except OSError as error:
                raise temporary_error(self.name, error) from None
        return copy

    @contextmanager
    def _reader(self) -> Iterator[_Readinto]:
        """readinto() of the decompressed bytes. Raises InputError for errors within the block."""
        with self._system_errors(), io.BufferedReader(self._opened(), 1 << 16) as stored:
            start = stored.peek(MAGIC_BYTES)
            kind = self.compression = next((_NAMES[magic] for magic in _NAMES if start.startswith(magic)), "")
            if kind == "zip":
                if re.search(_WORKBOOK, stored.peek()):
                    raise InputError(self.name, f"this is {WORKBOOK}", hint=SAVE_AS_CSV)
                raise InputError(self.name, "this is a zip archive", hint="Extract it first")
            stream: Any = stored
            errors: tuple[type[Exception], ...] = ()  # that reading it may raise
            module: Any = _module_of(kind, self.name) if kind else None
            if kind == "gzip":
                stream = module.GzipFile(fileobj=stored)
                errors = (module.BadGzipFile, module.zlib.error)
            elif kind == "bzip2":
                stream = _Streams(stored, module.BZ2Decompressor)
                errors = (OSError, ValueError)
            elif kind == "xz":
                stream = _Streams(stored, module.LZMADecompressor, b"\0")
                errors = (module.LZMAError,)
            elif kind == "zstd":
                stream = _Streams(stored, module.ZstdDecompressor)
                errors = (module.ZstdError,)
            try:
                yield stream.readinto
            except (EOFError, *errors) as error:  # type: ignore[misc]
                if isinstance(error, OSError) and error.errno:  # of the system; those of gzip and bz2 have none
                    raise
                message = f"the archive is damaged or incomplete ({error})"
                raise InputError(self.name, message, hint="Recompress it or fetch it again") from None

    @contextmanager
    def _system_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            unknown = f"the file cannot be read ({error.strerror or error})", ""
            message, hint = _SYSTEM_ERRORS.get(type(error), unknown)
            if isinstance(error, FileNotFoundError):
                hint = with_ending(self.name) or hint
            raise InputError(self.name or "''", message, hint=hint) from None

    @contextmanager
    def _unchanged(self, file: Any) -> Iterator[None]:
        """Raise InputError where the file changes until the block ends."""
        self.check(file)
        try:
            yield
        except Exception:
            self.check(file)  # which explains the error
            raise
        self.check(file)

    def check(self, file: Any) -> None:
        """Raise InputError where an opened file is not as it was when it was opened first."""
        about = os.fstat(file.fileno())
        state = about.st_ino, about.st_size, about.st_mtime_ns
        self._state = self._state or state
        if state != self._state:
            raise changed_error(self.name)

    def hash_while_reading(self) -> None:
        """Hash the bytes as they are read, so that sha256() need not read them again."""
        self._hashes = True

    def hasher(self) -> Any:
        """What hashes the bytes of a reading, None where no hash is needed."""
        if not self._hashes:
            return None
        import hashlib

        return hashlib.sha256()

    def ended(self, file: Any, hasher: Any) -> None:
        """Keep the hash of a reading that has reached the end. Raises InputError where the file has changed."""
        if file is not None:
            self.check(file)
        if hasher is not None:
            self._digest = hasher.hexdigest()

    def sha256(self) -> str:
        """The SHA-256, in hexadecimal, of the stored (compressed) bytes that were read last, from the beginning
        to the end; they are read now where that has not been done. Raises InputError.
        """
        self.hash_while_reading()
        if not self._digest:
            with self._system_errors(), self._opened() as stored:
                while stored.read(1 << 20):
                    pass
        return self._digest

    @property
    def stored_size(self) -> int:
        """The size of the stored (compressed) file; 0 for a pipe, or where it is unknown."""
        try:
            about = os.stat(self._named())
        except (OSError, ValueError):
            return 0
        return about.st_size if stat.S_ISREG(about.st_mode) else 0

    @property
    def expected_size(self) -> int:
        """An upper estimate of the decompressed size."""
        return 8 * self.stored_size or 2**33

    def _named(self) -> str | int:
        """The path, or the descriptor of standard input."""
        if self.path != "-":
            return self.path
        if sys.stdin is None:  # closed by the parent process; its descriptor may be another file's by now
            raise OSError(errno.EBADF, "standard input is closed")
        return sys.stdin.fileno()

    def _opened(self) -> _Stored:
        """The stored bytes, from the beginning."""
        if not self._is_watched and self.watch is not None:
            self._is_watched = True
            self.watch(self.stored_size, 0)
        if self._pipe is not None:
            return _Stored(self, self._pipe.readinto)
        file = self._kept or io.FileIO(self._named(), closefd=self.path != "-")
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            self._pipe = _Pipe(file, self.name)
            weakref.finalize(self, self._pipe.close)
            return _Stored(self, self._pipe.readinto)
        if self._begin is None:
            self._begin = file.tell()
        read_at = partial(_read_at, file, self._begin)
        if not self._keeps:
            self._kept = None
            return _Stored(self, read_at, file)
        if self._kept is None:
            self._kept = file
            weakref.finalize(self, file.close)
        return _Stored(self, read_at)


class TextSource(Source):
    """A text in memory, which is read as a file of it is. name: in messages."""

    def __init__(self, name: str, text: bytes) -> None:
        super().__init__("-")  # no path
        self.name = name
        self.text = text

    @property
    def stored_size(self) -> int:
        return len(self.text)

    def _opened(self) -> _Stored:
        def read_at(buffer: Any, offset: int) -> int:
            part = self.text[offset : offset + len(buffer)]
            buffer[: len(part)] = part
            return len(part)

        return _Stored(self, read_at)


@contextmanager
def kept_open(data: Iterable[Any]) -> Iterator[None]:
    """Source.keeping() of those of the data that are files, but not of so many that none could be opened."""
    sources = [source for source in data if isinstance(source, Source)]
    with ExitStack() as files:
        for source in sources[:_KEPT_OPEN]:
            files.enter_context(source.keeping())
        yield


def _read_at(file: io.FileIO, begin: int, buffer: Any, offset: int) -> int:
    """Read from there, wherever another reading, as that of a forked process, has left the file."""
    file.seek(begin + offset)
    return file.readinto(buffer) or 0


class _Stored(io.RawIOBase):
    """The stored bytes from the beginning. read_at: (buffer, offset) -> count. file: a regular one to close."""

    def __init__(self, source: Source, read_at: Callable[[Any, int], int], file: Any = None) -> None:
        self.source = source
        self.read_at = read_at
        self.file = file
        self.offset = 0
        self.has_ended = False
        self.hasher = source.hasher()

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
        super().close()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.has_ended:  # what has come since is of no reading
            return 0
        if self.file is not None and not self.offset:
            self.source.check(self.file)
        count = self.read_at(buffer, self.offset)
        if not count:
            self.source.ended(self.file, self.hasher)
            self.has_ended = True
            return 0
        if self.source.watch is not None:
            self.source.watch(0, count)
        if self.hasher is not None:
            self.hasher.update(memoryview(buffer)[:count])
        self.offset += count
        return count


class _Pipe:
    """A pipe that can be read again from its beginning, from a copy of what it has delivered so far."""

    def __init__(self, pipe: io.RawIOBase, name: str) -> None:
        import tempfile

        self.pipe = pipe
        self.name = name
        self.copy = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
        self.copied = 0
        self.has_ended = False

    def close(self) -> None:
        self.pipe.close()
        with suppress(OSError):  # it flushes, which fails again where the disk is full
            self.copy.close()

    def readinto(self, buffer: Any, offset: int) -> int:
        buffer = memoryview(buffer)  # whose slices are views
        new = 0
        if offset == self.copied and not self.has_ended:
            new = _read(self.pipe, buffer)
            self.has_ended = not new  # a FIFO or a terminal may bring more later, which was not evaluated
            # at the beginning enough bytes to detect compression
            while 0 < self.copied + new < MAGIC_BYTES and (count := _read(self.pipe, buffer[new:])):
                new += count
        count = new or min(len(buffer), self.copied - offset)
        try:
            self.copy.seek(offset)
            if new:
                self.copy.write(buffer[:new])
            else:
                buffer[:count] = self.copy.read(count)
        except OSError as error:
            raise temporary_error(self.name, error) from None
        self.copied += new
        return count


def _read(raw: io.RawIOBase, buffer: Any) -> int:
    """raw.readinto(buffer), but waits where a non-blocking descriptor has nothing yet."""
    while (count := raw.readinto(buffer)) is None:
        from gradeval.process import wait_for

        wait_for(raw.fileno(), "POLLIN")
    return count


def _fill(readinto: _Readinto, buffer: Bytes, filled: int = 0) -> int:
    """Read until the buffer is full or the stream ends; the number of bytes. filled: those it has already."""
    while filled < len(buffer) and (count := readinto(buffer.data[filled:])):
        filled += count
    return filled


def _cut(readinto: _Readinto, size: int) -> Iterator[Block]:
    """Blocks that end at a line end, however long a line is. One with a NUL or of more than LONGEST_LINE bytes
    is the last: it is an error whatever follows, so memory is bounded for any file.
    """
    begun_line = np.empty(0, np.uint8)
    first = True
    last = False
    while not last:
        room = max(size, min(2 * len(begun_line), LONGEST_LINE + 1))
        buffer = np.empty(room + PAD, np.uint8)
        buffer[: len(begun_line)] = begun_line
        filled = _fill(readinto, buffer[:room], len(begun_line))
        last = filled < room
        too_long = False
        end = filled if last else _behind_last_line(buffer, filled)
        if not end and not last:
            too_long = filled > LONGEST_LINE
            if not too_long and buffer[:filled].all():
                begun_line = buffer[:filled]
                continue
            filled = end = _BEGINNING if too_long else filled
            buffer = buffer[: filled + PAD].copy()
            last = True
        if last and filled and buffer[filled - 1] != _LF:
            buffer[filled] = _LF
            filled = end = filled + 1
        if first and buffer[:filled][:3].tobytes() == UTF8_MARK:
            buffer = buffer[3:]
            end -= 3
            filled -= 3
        begun_line = buffer[end:filled].copy()
        if end:
            yield Block(buffer, end, first, last, too_long)
            first = False


def _behind_last_line(buffer: Bytes, filled: int) -> int:
    """Where the last whole line ends, which is usually in the last bytes; 0 without one."""
    for start in (max(0, filled - _BEGINNING), 0):
        end = start + buffer[start:filled].tobytes().rfind(b"\n") + 1
        if end > start:
            return end
    return 0


def _judgments_in(folder: str, path: str) -> str:
    """The judgments of BEIR: qrels/test.tsv, or the only file there. path: of errors."""
    try:
        files = files_of(folder)
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from None
    tests = [file for file in files if os.path.basename(file) == "test.tsv"] or files
    if not tests:
        raise InputError(path, "its folder qrels has no files")
    if len(tests) > 1:
        message = f"several files of judgments: {first_names(files, 10)}"
        raise InputError(path, message, hint="Give one of them")
    return tests[0]


def changed_error(name: str) -> InputError:
    return InputError(name, "the file changed while it was read", hint="Run this again when it is complete")


def temporary_error(name: str, error: OSError) -> InputError:
    """The error for a temporary file, for a pipe or an unsorted run, that cannot be created or written."""
    from tempfile import gettempdir

    try:
        message = f"the temporary file in {gettempdir()}, for a pipe or an unsorted run, cannot be written"
    except OSError as unusable:  # which names the directories that were tried
        message = "a pipe or an unsorted run needs a temporary file"
        error = unusable
    hint = "Set TMPDIR to a directory that can be written and has room"
    return InputError(name, f"{message} ({error.strerror or error})", hint=hint)
