"""A column of record batches: its values as ids or as numbers, read in Arrow's buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats
from gradeval.arrays.strings import Ids
from gradeval.formats.arrow import Chunk
from gradeval.formats.diagnostics import shown
from gradeval.formats.memory import (
    NOTHING,
    Categories,
    Distinct,
    Numeric,
    Objects,
    Values,
    Wrong,
    missing_rows,
    object_numbers,
)


class Arrow:
    """A column of record batches. objects: makes Python objects of a column of a type that is not read here."""

    def __init__(self, chunks: Sequence[Chunk], objects: Callable[[], Sequence[Any]] | None = None) -> None:
        self.chunks = chunks
        self.start = np.cumsum([0, *(chunk.length for chunk in chunks)])
        dictionaries = [chunk.dictionary for chunk in chunks]
        self.distinct = [None if one is None else Distinct(Arrow([one])) for one in dictionaries]
        if not all(map(_is_readable, chunks[:1])):
            if objects is None:
                kind = chunks[0].format.decode()
                raise TypeError(f"the type of column {chunks[0].name} ({kind}) is neither text nor number")
            self.objects: Objects | None = Objects(objects())
        else:
            self.objects = None

    def __len__(self) -> int:
        return int(self.start[-1])

    def ids(self, rows: slice, what: str) -> tuple[Ids, Wrong]:
        if self.objects is not None:
            return self.objects.ids(rows, what)
        parts = [_chunk_ids(*part, what) for part in self._parts(rows)]
        if len(parts) == 1:
            return parts[0]
        return Ids.joined([Ids.of([]), *(ids.compact() for ids, _ in parts)]), _joined(parts)

    def numbers(self, rows: slice, what: str) -> tuple[Floats, Wrong]:
        if self.objects is not None:
            return self.objects.numbers(rows, what)
        parts = [_chunk_numbers(*part, what) for part in self._parts(rows)]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([np.empty(0), *(numbers for numbers, _ in parts)]), _joined(parts)

    def _parts(self, rows: slice) -> Iterator[tuple[Chunk, Distinct | None]]:
        """The chunks that hold these rows."""
        first, end, _ = rows.indices(len(self))
        begin = max(int(np.searchsorted(self.start, first, "right")) - 1, 0)
        for number in range(begin, len(self.chunks)):
            start, chunk = int(self.start[number]), self.chunks[number]
            if start >= end:
                break
            if chunk.length:
                yield chunk.rows(max(first - start, 0), min(end - start, chunk.length)), self.distinct[number]


def _is_readable(chunk: Chunk) -> bool:
    part = (chunk.dictionary or chunk).rows(0, 0)
    return part.is_null or part.numbers() is not None or part.texts() is not None


def _without_texts(chunk: Chunk, distinct: Distinct | None) -> Values | None:
    """The values of a chunk, None where they are strings."""
    if chunk.is_null:
        return Objects([None] * chunk.length)
    codes, missing = chunk.numbers(), chunk.missing()
    if codes is None or distinct is None:
        return None if codes is None else Numeric(codes, missing)
    return Categories(codes if missing is None else np.where(missing, -1, codes.astype(np.int64)), distinct)


def _chunk_ids(chunk: Chunk, distinct: Distinct | None, what: str) -> tuple[Ids, Wrong]:
    values = _without_texts(chunk, distinct)
    if values is not None:
        return values.ids(slice(None), what)
    ids = chunk.texts()
    assert ids is not None
    missing = chunk.missing()
    wrong = missing_rows(missing, what)
    if not len(wrong.rows) and chunk.may_hold_nul(ids):
        rows = np.flatnonzero(_holds_nul(ids))
        wrong = Wrong(rows, lambda i: f"the {what} {shown(ids[int(rows[i])])} contains a NUL byte")
    return ids, wrong


def _chunk_numbers(chunk: Chunk, distinct: Distinct | None, what: str) -> tuple[Floats, Wrong]:
    values = _without_texts(chunk, distinct)
    if values is not None:
        return values.numbers(slice(None), what)
    ids = chunk.texts()
    assert ids is not None
    texts: list[str | None] = [text.decode("utf-8", "surrogateescape") for text in ids.tolist()]
    missing = chunk.missing()
    if missing is not None:
        for row in np.flatnonzero(missing).tolist():
            texts[row] = None
    return object_numbers(texts, what)


def _holds_nul(ids: Ids) -> Bools:
    """Which ids hold a NUL, (N,)."""
    count = np.zeros(len(ids.block) + 1, np.int64)
    np.cumsum(ids.block == 0, out=count[1:])
    holds: Bools = count[ids.start + ids.length] > count[ids.start]
    return holds


def _joined(parts: Sequence[tuple[Any, Wrong]]) -> Wrong:
    """What is wrong in parts of a column, as of the whole."""
    start = np.cumsum([0, *(len(values) for values, _ in parts)]).tolist()
    found = [(wrong.rows + at, wrong) for at, (_, wrong) in zip(start, parts, strict=False)]
    owner = [(wrong, i) for rows, wrong in found for i in range(len(rows))]
    if not owner:
        return NOTHING
    return Wrong(np.concatenate([rows for rows, _ in found]), lambda i: owner[i][0].what(owner[i][1]))
