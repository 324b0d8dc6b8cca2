"""The table of file formats, and which of them a file has, detected from its first lines of data.

To add a format: a module here with what Reader says, named like the format; a row in FORMATS; and the name
among those that options.py lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple, Protocol, cast

import numpy as np

from gradeval.arrays import Bytes
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import no_data
from gradeval.formats.scan import CR, HASH, LF, SPACE, tokenize
from gradeval.formats.sources import Block, Source

_FIELD = re.compile(rb"[^ \t]+")
_FEATURE = re.compile(rb"(?:qid|\d+):\S*")
_LINES = 10_000  # lines of data that are examined
_BEGINNING = 1 << 16  # bytes of a line that are examined


class Format(NamedTuple):
    """A row of the table: the format that options and its module have this name.

    has_line: whether the first line of data is of it, given the line and its fields before any '#'.
    """

    name: str
    has_line: Callable[[bytes, list[bytes]], bool]


class Reader(Protocol):
    """What a format's module provides where each line is a row; its functions run in several threads.

    LETOR files, whose lines are several runs, and scores, which need a LETOR file's rows, are read whole.
    """

    def qrels_columns(self, block: Block, /) -> Columns:
        """The judgments of the block; the value is the grade."""

    def run_columns(self, block: Block, /) -> Columns:
        """The run lines of the block; the value is the score."""


def reader(name: str) -> Reader:
    """The module that reads a format, imported when it is needed."""
    return cast(Reader, import_module(f"gradeval.formats.{name}"))


def detect(source: Source) -> str:
    """The name of the format of a file. Raises InputError where the file cannot be read.

    The first line of data decides, unless it is one number: the label of a SVMlight line without features looks
    like a score. The file is then a LETOR file if one of the next lines is of that format.
    """
    size = seen = 0
    for block in source.blocks(_BEGINNING):
        size += block.size
        text = block.bytes[: block.size]
        text = np.where(text == CR, LF, text)  # a bare CR ends a line too, so that the right reader rejects it
        start = _first_data(text)
        if start is None:
            continue
        text = text[start:]
        if not seen:
            kind = _format_of(text, 0)
            if kind != "scores":
                return kind
        lines, has_letor = _scan_for_letor(text, _LINES - seen)
        if has_letor:
            return "letor"
        seen += lines
        if seen == _LINES:
            break
    if not seen:
        raise no_data(source.name, size)
    return "scores"


def _first_data(text: Bytes) -> int | None:
    """The offset of the first line that is neither blank nor a comment."""
    starts = np.append(0, np.flatnonzero(text == LF) + 1)[:-1]
    first = text[starts]
    other = starts[(first != LF) & (first != HASH)]
    if not len(other) or text[other[0]] > SPACE:
        return int(other[0]) if len(other) else None
    text = text[other[0] :]
    tokens = tokenize(text)
    first_tokens = tokens.start[tokens.first[tokens.counts > 0]]
    data = first_tokens[text[first_tokens] != HASH]
    return int(other[0] + data[0]) if len(data) else None


def _scan_for_letor(text: Bytes, most: int) -> tuple[int, bool]:
    """How many of the next lines are data, at most `most`, and whether one of them is a LETOR line."""
    tokens = tokenize(text)
    data = np.flatnonzero(tokens.counts)
    data = data[text[tokens.start[tokens.first[data]]] != HASH][:most]
    candidate = tokens.counts > 1
    candidate[np.searchsorted(tokens.line_end, np.flatnonzero(text == HASH))] = True
    starts = tokens.start[tokens.first[data[candidate[data]]]].tolist()
    return len(data), any(_format_of(text, start) == "letor" for start in starts)


def _format_of(text: Bytes, start: int) -> str:
    """The format of the line at this offset, which has no leading spaces."""
    line = text[start : start + _BEGINNING].tobytes().split(b"\n", 1)[0]
    fields = _FIELD.findall(line.split(b"#", 1)[0])
    if len(line) == _BEGINNING and len(fields) > 2:
        fields.pop()  # it may be cut off
    return next(row.name for row in FORMATS if row.has_line(line, fields))


def _is_letor(line: bytes, fields: list[bytes]) -> bool:
    if len(fields) == 1:
        return b"#" in line and _is_number(line)
    has_query = fields[1].startswith(b"qid:")  # a LETOR file, even if a feature is malformed
    return has_query or all(map(_FEATURE.fullmatch, fields[1:]))


def _is_number(line: bytes) -> bool:
    """Whether the first field is one."""
    try:
        float(_FIELD.findall(line)[0])
    except ValueError:
        return False
    return True


FORMATS = (
    Format("letor", _is_letor),
    Format("scores", lambda line, fields: len(fields) == 1 and _is_number(line)),
    Format("trec", lambda line, fields: True),  # its errors describe unknown files best
)
