"""Arithmetic within queries: one value a row in, one value a query (or a row) out.

Rows of one query are neighbours, and queries come in order; a query may have no rows. Sums are made one
by one in row order, as trec_eval's loops make them, so that a mean can agree with it to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Segments:
    """How rows fall into queries: offsets (Q+1,) says that query q owns rows offsets[q]:offsets[q+1]."""

    offsets: Ints

    @property
    def count(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    @cached_property
    def query(self) -> Ints:
        """The query of each row, (N,)."""
        return np.repeat(np.arange(self.count), self.lengths)

    @cached_property
    def place(self) -> Ints:
        """The 0-based place of each row within its query, (N,)."""
        return np.arange(len(self.query)) - self.offsets[:-1][self.query]

    def sum(self, values: NDArray[np.generic]) -> Floats:
        """(N,) -> (Q,), 0 for a query without rows."""
        return np.bincount(self.query, weights=values, minlength=self.count)

    def number(self, rows: Bools) -> Ints:
        """How many of the rows are true, (N,) -> (Q,)."""
        return np.bincount(self.query[rows], minlength=self.count)

    def max(self, values: Floats, empty: float = 0.0) -> Floats:
        """(N,) -> (Q,), `empty` for a query without rows."""
        return self._reduce(np.maximum, values, empty)

    def min(self, values: Floats, empty: float = 0.0) -> Floats:
        """(N,) -> (Q,), `empty` for a query without rows."""
        return self._reduce(np.minimum, values, empty)

    def _reduce(self, ufunc: np.ufunc, values: Floats, empty: float) -> Floats:
        result = np.full(self.count, empty)
        filled = self.lengths > 0
        # reduceat takes each filled query up to the start of the next filled one, which is its own end
        if filled.any():
            result[filled] = ufunc.reduceat(values, self.offsets[:-1][filled])
        return result

    def running_count(self, rows: Bools) -> Ints:
        """How many rows of the query up to and with this one are true, (N,) -> (N,)."""
        total = np.concatenate([[0], np.cumsum(rows)])
        return total[1:] - np.repeat(total[self.offsets[:-1]], self.lengths)

    def falling(self, values: Floats) -> bool:
        """Whether no value is larger than the one before it in the same query."""
        rises = values[1:] > values[:-1]
        return not rises[self.place[1:] > 0].any()

    def sorted_descending(self, values: Floats) -> Floats:
        """The values of each query from the largest to the smallest, (N,) -> (N,)."""
        if self.falling(values):
            return values
        return values[np.lexsort((-values, self.query))]


def stable_order(*keys: NDArray[np.int64]) -> Ints:
    """The rows in order of the first key, then the next; equal rows stay as they are. Keys are >= 0.

    Keys that fit in 63 bits together with the row number are packed and sorted as one integer, which is
    several times faster than an argsort.
    """
    n = len(keys[0])
    if n == 0:
        return np.empty(0, np.int64)
    packed = np.zeros(n, np.int64)
    room = 1
    for key in (*keys, np.arange(n)):
        size = int(key.max()) + 1
        room *= size
        if room >= 2**63:
            return np.lexsort(keys[::-1])
        packed = packed * size + key
    packed.sort()
    return packed % n
