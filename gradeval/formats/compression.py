"""gzip, bzip2, xz and zstd, detected from the first bytes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from gradeval.errors import InputError

MAGIC_BYTES = 6  # the longest magic number that is detected
_GZIP, _BZIP2, _XZ, _ZSTD, _ZIP = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
_NAMES = {_GZIP: "gzip", _BZIP2: "bzip2", _XZ: "xz", _ZSTD: "zstd", _ZIP: "zip"}


def compression_of(start: bytes) -> str:
    """The compression of a file that begins with these bytes, '' for none."""
    return next((name for magic, name in _NAMES.items() if start.startswith(magic)), "")


def decompressed(stream: Any, name: str) -> tuple[Any, tuple[type[Exception], ...]]:
    """The decompressed stream, by its magic number, and the errors that reading it may raise."""
    start = stream.peek(MAGIC_BYTES)[:MAGIC_BYTES]
    if start.startswith(_GZIP):
        import gzip
        import zlib

        return gzip.GzipFile(fileobj=stream), (gzip.BadGzipFile, zlib.error)
    if start.startswith(_BZIP2):
        import bz2

        return _Streams(stream, bz2.BZ2Decompressor), (OSError, ValueError)
    if start.startswith(_XZ):
        import lzma

        return _Streams(stream, lzma.LZMADecompressor, padding=b"\0"), (lzma.LZMAError,)
    if start.startswith(_ZSTD):
        zstd = _zstd(name)
        return _Streams(stream, zstd.ZstdDecompressor), (zstd.ZstdError,)
    if start.startswith(_ZIP):
        if name.endswith(".npz"):
            hint = "Load it in Python, and give its arrays to gradeval.score_arrays()"
            raise InputError(name, "this is a file of NumPy arrays", hint=hint)
        raise InputError(name, "this is a zip archive", hint="Extract it first")
    return stream, ()


COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
"""The endings of names of compressed files."""


@contextmanager
def compressed(sink: Any, name: str) -> Iterator[Any]:
    """A file whose data go to the sink, compressed as the ending of the name says. Raises InputError."""
    kind = COMPRESSIONS.get(os.path.splitext(name)[1].lower(), "")
    if not kind:
        yield sink
        return
    opened: Any
    if kind == "gzip":
        import gzip

        opened = gzip.GzipFile("", "wb", 6, sink, 0)  # without a time, so that equal data are equal files
    elif kind == "bzip2":
        import bz2

        opened = bz2.BZ2File(sink, "wb")
    elif kind == "xz":
        import lzma

        opened = lzma.LZMAFile(sink, "wb")  # noqa: SIM115
    else:
        opened = _zstd(name).ZstdFile(sink, "wb")
    with opened as file:
        yield file


class _Streams(io.RawIOBase):
    """The bytes of one or several compressed streams. The standard library's files silently ignore what follows
    the first stream and is not another one; here it is an error.

    new: makes a decompressor for one stream. padding: bytes that are allowed between streams.
    """

    def __init__(self, stored: Any, new: Callable[[], Any], padding: bytes = b"") -> None:
        self.stored, self.new, self.padding = stored, new, padding
        self.decompressor = new()
        self.left = b""  # what was read beyond the end of the last stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            stored = b""
            if self.decompressor.eof:
                stored = self.left or self.stored.read(1 << 16)
                self.left = b""
                if not stored:
                    return 0
                stored = stored.lstrip(self.padding) if self.padding else stored
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


def _zstd(name: str) -> Any:
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(module)
        except ImportError:
            continue
    hint = "Run 'pip install backports.zstd', use Python 3.14, or decompress the file first"
    raise InputError(name, "zstd support is not installed", hint=hint)
