"""A column of record batches: its values as ids or as numbers, read in Arrow's buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    object_ids,
    object_numbers,
)

_DIGITS = 100  # more than a decimal of 256 bits has


class Decimals:
    """Decimal numbers, as integers (of 64 bits or of any size) times 10^-scale."""

    def __init__(self, integers: NDArray[Any], scale: int, is_missing: Bools | None) -> None:
        self.integers, self.scale, self.is_missing = integers, scale, is_missing

    def __len__(self) -> int:
        return len(self.integers)

    def ids(self, rows: slice, what: str) -> tuple[Ids, Wrong]:
        integers = self.integers[rows]
        if self.scale == 0 and integers.dtype != object:
            return Numeric(integers, self._missing(rows)).ids(slice(None), what)
        from decimal import Context, Decimal

        exact = Context(prec=_DIGITS)
        values = [Decimal(one).scaleb(-self.scale, exact) for one in integers.tolist()]
        missing = missing_rows(self._missing(rows), what)
        return object_ids([f"{value:f}" for value in values], what)[0], missing

    def numbers(self, rows: slice, what: str) -> tuple[Floats, Wrong]:
        integers = self.integers[rows]
        missing = self._missing(rows)
        is_exact = integers.dtype != object and 0 <= self.scale <= 22
        if is_exact and len(integers) and max(int(integers.max()), -int(integers.min())) < 2**53:
            return Numeric(integers / 10.0**self.scale, missing).numbers(slice(None), what)
        above, below = 10 ** max(-self.scale, 0), 10 ** max(self.scale, 0)
        values = np.array([one * above / below for one in integers.tolist()], np.float64)  # rounded once
        return Numeric(values, missing).numbers(slice(None), what)

    def _missing(self, rows: slice) -> Bools | None:
        return None if self.is_missing is None else self.is_missing[rows]


class Arrow:
    """A column of record batches. objects: makes Python objects of a column of a type that is not read here."""

    def __init__(self, chunks: Sequence[Chunk], objects: Callable[[], Sequence[Any]] | None = None) -> None:
        self.chunks = chunks
        self.start = np.cumsum([0, *(chunk.length for chunk in chunks)])
        dictionaries = [chunk.dictionary for chunk in chunks]
        self.distinct = [None if one is None else Distinct(Arrow([one])) for one in dictionaries]
        if not all(map(_is_readable, chunks[:1])):
            self.objects: Objects | None = Objects(_made(objects, chunks[0]))
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


def _made(objects: Callable[[], Sequence[Any]] | None, chunk: Chunk) -> Sequence[Any]:
    """The Python objects of a column. Raises TypeError where its library makes none."""
    with suppress(Exception):  # which may be any library
        if objects is not None:
            return objects()
    column = f"the type of column {chunk.name} ({chunk.format.decode()})"
    raise TypeError(f"{column} is neither text nor number. Cast it to one of these")


def _is_readable(chunk: Chunk) -> bool:
    part = (chunk.dictionary or chunk).rows(0, 0)
    return part.is_null or any(values() is not None for values in (part.numbers, part.decimals, part.texts))


def _without_texts(chunk: Chunk, distinct: Distinct | None) -> Values | None:
    """The values of a chunk, None where they are strings. Raises ValueError where its codes are damaged."""
    if chunk.is_null:
        return Objects([None] * chunk.length)
    decimals = chunk.decimals()
    if decimals is not None:
        return Decimals(*decimals, chunk.missing())
    codes, missing = chunk.numbers(), chunk.missing()
    if codes is None or distinct is None:
        return None if codes is None else Numeric(codes, missing)
    outside = (codes < 0) | (codes >= len(distinct.values))
    if missing is not None:
        outside &= ~missing
        codes = np.where(missing, -1, codes.astype(np.int64))
    if outside.any():
        raise ValueError(f"column {chunk.name} is damaged: its codes point outside its dictionary")
    return Categories(codes, distinct)


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
