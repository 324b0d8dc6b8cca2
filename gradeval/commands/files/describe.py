"""What a file is: its compression, encoding, separators and line ends, as they are seen while it is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gradeval.arrays import Bytes
from gradeval.formats.scan import CR, LF, SPACE, TAB
from gradeval.formats.sources import BLOCK, Block, Source, compression_of

_MARK = b"\xef\xbb\xbf"
_DELIMITERS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
_HEAD = 1 << 16  # bytes in which a delimiter is looked for


class Description(NamedTuple):
    """compression: 'gzip', …, '' where there is none. encoding: 'ASCII', 'UTF-8', 'UTF-8 with a BOM',
    'not UTF-8' or 'binary'. not_utf8: the first line, from 1, that is not UTF-8, None without one. separators:
    between fields, '' where the format has none. line_ends: 'LF', 'CRLF', 'LF and CRLF', '' where there are no
    lines.
    """

    compression: str
    encoding: str
    not_utf8: int | None
    separators: str
    line_ends: str


class ObservedSource(Source):
    """A file that is described while it is read; the last reading from the beginning counts."""

    def blocks(self, size: int = BLOCK) -> Iterator[Block]:
        self._seen = _Seen()
        for block in super().blocks(size):
            self._seen.add(block.bytes[: block.size])
            yield block

    def chunks(self, size: int = BLOCK) -> Iterator[Bytes]:
        self._seen = _Seen()
        for chunk in super().chunks(size):
            self._seen.add(chunk)
            yield chunk

    def described(self, has_fields: bool) -> Description:
        """Raises InputError. has_fields: whether fields are separated by spaces and tabs."""
        stored, start = self.beginning()
        return self._seen.described(compression_of(stored), start.startswith(_MARK), has_fields)


class _Seen:
    """Counts of the bytes so far."""

    def __init__(self) -> None:
        self.head = b""
        self.lines = self.returns = self.tabs = self.spaces = 0
        self.is_ascii, self.is_binary = True, False
        self.not_utf8: int | None = None
        self.pending = b""  # the beginning of a character that the text was cut in

    def add(self, text: Bytes) -> None:
        if not len(text):
            return
        self.head = self.head or text[:_HEAD].tobytes()
        ends = text == LF
        if self.not_utf8 is None and (self.pending or text.max() > 127):
            self.is_ascii = False
            self._check(text)
        self.is_binary |= not text.all()
        self.returns += int(np.count_nonzero(ends[1:] & (text[:-1] == CR)))
        self.tabs += int(np.count_nonzero(text == TAB))
        self.spaces += int(np.count_nonzero(text == SPACE))
        self.lines += int(np.count_nonzero(ends))

    def _check(self, text: Bytes) -> None:
        data = self.pending + text.tobytes()
        before, self.pending = len(self.pending), b""
        try:
            data.decode()
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                self.pending = data[error.start :]
            else:
                at = max(error.start - before, 0)
                self.not_utf8 = self.lines + int(np.count_nonzero(text[:at] == LF)) + 1

    def described(self, compression: str, has_mark: bool, has_fields: bool) -> Description:
        if self.is_binary:
            return Description(compression, "binary", None, "", "")
        encoding = "ASCII" if self.is_ascii else "UTF-8" if self.not_utf8 is None else "not UTF-8"
        encoding = "UTF-8 with a BOM" if has_mark and self.not_utf8 is None else encoding
        ends = " and ".join(
            name for name, count in (("LF", self.lines - self.returns), ("CRLF", self.returns)) if count
        )
        return Description(compression, encoding, self.not_utf8, self._separators(has_fields), ends)

    def _separators(self, has_fields: bool) -> str:
        if has_fields:
            return " and ".join(name for name, count in (("spaces", self.spaces), ("tabs", self.tabs)) if count)
        line = self.head.split(b"\n", 1)[0].decode("utf-8", "replace")
        if line.lstrip()[:1] in ("{", "["):
            return ""
        return max(_DELIMITERS.items(), key=lambda item: line.count(item[0]))[1]
