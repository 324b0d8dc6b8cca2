"""Arithmetic within queries: one value per row in, one value per query (or row) out; and of numbers alone:
logarithms to the bit as C gives them, ratios, quantiles, decimal subtraction, and monotone curves for φ.

The rows of a query are neighbours, and queries are in order; a query may have no rows. Sums are added one by
one in row order, as in trec_eval's loops, so that means agree with it to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import EllipsisType
from typing import Any, TypeVar

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, NDArray, cached_property

_Number = TypeVar("_Number", np.float64, np.int64, np.int32, np.uint64)
Column = Floats | Ints | Bools


class Segments:
    """How rows belong to queries: query q owns rows offsets[q]:offsets[q+1]; offsets (Q+1,)."""

    def __init__(self, offsets: Ints) -> None:
        self.offsets = offsets

    @classmethod
    def of_equal(cls, *columns: NDArray[Any]) -> Segments:
        """Neighbouring rows that are equal in all of the columns."""
        return cls(np.append(np.flatnonzero(are_new(*columns)), len(columns[0])))

    def __getstate__(self) -> dict[str, Ints]:
        return {"offsets": self.offsets}

    @property
    def count(self) -> int:
        return len(self.offsets) - 1

    @property
    def starts(self) -> Ints:
        """The first row of each query, (Q,)."""
        return self.offsets[:-1]

    @property
    def ends(self) -> Ints:
        """The row behind the last of each query, (Q,)."""
        return self.offsets[1:]

    @cached_property
    def lengths(self) -> Ints:
        return self.ends - self.starts

    @cached_property
    def width(self) -> int:
        """How many rows each query has, 0 where they differ."""
        lengths = self.lengths
        return int(lengths[0]) if self.count and (lengths == lengths[0]).all() else 0

    @cached_property
    def query(self) -> Ints:
        """The query of each row, (N,)."""
        return np.repeat(np.arange(self.count), self.lengths)

    @cached_property
    def place(self) -> Ints:
        """The 0-based position of each row within its query, (N,)."""
        first = self.starts.repeat(self.lengths)
        place: Ints = np.arange(len(first)) - first
        return place

    def first(self, count: int) -> Ints:
        """The first rows of each query, up to so many."""
        return ranges(self.starts, np.minimum(self.lengths, count))

    def sum(self, values: Column, rows: Ints | None = None) -> Floats:
        """(N,) -> (Q,), 0 for a query without rows. rows: the rows of these values, if not all."""
        query = self.query if rows is None else self.query[rows]
        return np.bincount(query, values, self.count).astype(np.float64, copy=False)

    def number(self, rows: Bools) -> Ints:
        """How many of the rows are true, (N,) -> (Q,)."""
        if self.width:
            number: Ints = np.count_nonzero(rows.reshape(self.count, self.width), axis=1)
            return number
        # by index: numpy takes elements by a mask several times slower
        return np.bincount(self.query[np.flatnonzero(rows)], minlength=self.count)

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
            result[filled] = ufunc.reduceat(values, self.starts[filled])
        return result

    def running_count(self, rows: Bools) -> Ints:
        """How many rows of the query up to and with this one are true, (N,) -> (N,)."""
        total = offsets_of(rows)
        return total[1:] - total[self.offsets[self.query]]

    def running_sum(self, values: Floats) -> Floats:
        """The sum of the query's values up to and with this row, (N,) -> (N,).

        One cumulative sum over all queries, which an entry after each query resets to exactly 0: its negative
        total, added in the same order. So no query's digits depend on the queries before it. A sum that is not
        finite is not reset to 0; then each query is summed separately.
        """
        position = np.arange(len(values)) + self.query
        end = self.ends + np.arange(self.count)
        steps = np.zeros(len(values) + self.count)
        steps[position] = values
        steps[end] = -self.sum(values)
        with np.errstate(over="ignore", invalid="ignore"):
            np.cumsum(steps, out=steps)
            if steps[end].any():
                return self._running(np.cumsum, values)
        total: Floats = steps[position]
        return total

    def running_product(self, values: Floats) -> Floats:
        """The product of the query's values up to and with this row, (N,) -> (N,)."""
        return self._running(np.cumprod, values)

    def _running(self, accumulate: Callable[..., Floats], values: Floats) -> Floats:
        floats = values.astype(np.float64)
        return self._along(lambda block: accumulate(block, axis=1), floats, 0.0, floats)

    def take(self, rows: Ints) -> Segments:
        """The same queries with only these rows, which are in ascending order."""
        query = self.query.take(rows)
        if 8 * self.count < len(rows):  # 26,000 rows of 900 queries: 10 µs, where counting takes 73
            offsets = rows.searchsorted(self.offsets)
        else:
            offsets = offsets_of(np.bincount(query, minlength=self.count))
        taken = Segments(offsets)
        taken.__dict__["query"] = query  # the cached property, already known
        return taken

    def ties(self, values: Column) -> Segments:
        """Neighbouring rows of a query with equal values, as segments of their own."""
        new = np.ones(len(values) + 1, np.bool_)
        new[1:-1] = values[1:] != values[:-1]
        new[self.offsets] = True
        return Segments(new.nonzero()[0])

    def other_rows(self, query: Ints, rank: Ints) -> Ints:
        """The rows besides those at these ranks, from 1, of queries."""
        is_other = np.ones(int(self.offsets[-1]), bool)
        is_other[self.offsets[query] + rank - 1] = False
        return np.flatnonzero(is_other)

    def over(self, parts: Segments) -> Segments:
        """The same queries with their parts, such as ties, instead of rows."""
        return Segments(np.searchsorted(parts.offsets, self.offsets))

    def sorted_descending(self, values: Floats) -> Floats:
        """The values of each query from the largest to the smallest, (N,) -> (N,)."""
        rises = np.zeros(len(values) + 1, np.bool_)
        np.greater(values[1:], values[:-1], out=rises[1:-1])
        rises[self.offsets] = False
        if not rises.any():
            return values
        return self._along(lambda block: np.sort(block, axis=1)[:, ::-1], values, -np.inf, values)

    def descending(self, values: Floats) -> Ints:
        """The rows of each query by descending finite value, (N,); equal ones in arbitrary but fixed order."""
        first = np.zeros(len(values), np.int64)
        position = self._along(lambda block: block.argsort(axis=1), -values, np.inf, first)
        return position + self.starts.repeat(self.lengths)

    def ranked(self, values: Floats) -> tuple[Ints, Segments]:
        """The rows of each query by descending finite value, (N,), equal ones as they stand; and the ties."""
        order = self.descending(values)  # ten times faster than np.lexsort, which keeps equal ones in order
        ties = self.ties(values[order])
        if ties.count < len(order):
            rows = np.flatnonzero(ties.lengths[ties.query] > 1)
            shift = len(order).bit_length()
            order[rows] = np.sort(ties.query[rows] << shift | order[rows]) & ((1 << shift) - 1)
        return order, ties

    def nth_largest(self, values: Floats, n: int) -> Floats:
        """The n-th largest value of each query, -inf where it has fewer rows, (N,) -> (Q,)."""
        if n == 1:
            return self.max(values, -np.inf)
        if self.width:
            return _nth_largest(values.reshape(self.count, self.width), n)
        largest = np.full(self.count, -np.inf)
        for rows, _, block in self._matrices(values, -np.inf):
            largest[self.query[rows[:, 0]]] = _nth_largest(block, n)
        return largest

    def _along(
        self,
        function: Callable[[Floats], NDArray[_Number]],
        values: Floats,
        outside: float,
        alone: NDArray[_Number],
    ) -> NDArray[_Number]:
        """What a function makes of matrices whose rows are the values of queries, (N,) -> (N,). outside: fills
        the rows of shorter queries. alone: the result for queries of one row.
        """
        result: NDArray[_Number]
        if self.width > 1:
            result = function(values.reshape(self.count, self.width)).ravel()
            return result
        result = alone.copy()
        for rows, inside, block in self._matrices(values, outside):
            result[rows[inside]] = function(block)[inside]
        return result

    def _matrices(self, values: Floats, outside: float) -> Iterator[tuple[Ints, Bools | EllipsisType, Floats]]:
        """The rows of queries of similar length, from 2, as matrices; which entries there are; their values.
        Going along the rows of a matrix is many times faster than along one column with the query as a key.
        """
        for queries in self._of_similar_length():
            length = self.lengths[queries][:, None]
            column = np.arange(length.max())
            rows = self.starts[queries][:, None] + column
            if length.min() == len(column):
                yield rows, ..., values[rows]
            else:
                inside = column < length
                rows = np.where(inside, rows, 0)
                yield rows, inside, np.where(inside, values[rows], outside)

    def _of_similar_length(self) -> Iterator[Ints]:
        """The queries of 2 or 3 rows, those of 4 to 7, of 8 to 15, …"""
        size = np.frexp(self.lengths)[1]
        for exponent in distinct(size[size > 1]):
            yield np.flatnonzero(size == exponent)

    def bit_planes(self, level: Ints) -> Iterator[tuple[Ints, Segments, Bools, Ints]]:
        """Pair each row with the rows before it in its query, by level, in about N log(levels) steps.

        Yields (rows, groups, upper, before), once for each bit of the levels from the highest, and once more:
        rows is the table in another order, in which each group's rows are together, in table order. Two rows
        of a query whose levels differ share a group and differ in `upper` exactly once: the one with the
        higher level is upper. `before` counts the upper rows before each row in its group. In the last turn
        the rows of a group have equal levels, none is upper, and `before` counts all those before.
        """
        rows = np.arange(len(level))
        groups = self
        # from 0 in each query, so that how its rows are paired does not depend on other queries
        level = level - self.min(level.astype(np.float64)).astype(np.int64)[self.query]
        for bit in reversed(range(int(level.max(initial=0)).bit_length())):
            upper = (level[rows] >> bit) & 1 == 1
            total = offsets_of(upper)
            start = groups.starts
            lengths = groups.lengths
            before = total[:-1] - np.repeat(total[start], lengths)
            yield rows, groups, upper, before
            edge = groups.ends - np.diff(total[groups.offsets])
            moved = np.empty_like(rows)
            moved[np.where(upper, np.repeat(edge, lengths) + before, np.arange(len(rows)) - before)] = rows
            edges = np.append(np.stack([start, edge], axis=1).ravel(), len(rows))
            rows, groups = moved, Segments(np.append(edges[:-1][np.diff(edges) > 0], len(rows)))
        yield rows, groups, np.zeros(len(rows), np.bool_), groups.place

    def lower_before(self, level: Ints) -> tuple[Ints, Ints]:
        """How many rows before each in its query have a lower level, and an equal one, (N,) each."""
        order = stable_order(self.query, level)
        position, equal = np.empty((2, len(level)), np.int64)
        position[order] = self.place
        equal[order] = Segments.of_equal(self.query, level[order]).place
        return self.lower_before_in_order(position) - equal, equal

    def lower_before_in_order(self, position: Ints) -> Ints:
        """How many rows before each in its query have a lower position, (N,), where the positions of a query
        are 0, 1, … in any order: several times faster than by levels.
        """
        nowhere = len(position)
        position = np.append(position, 0)
        lower = np.zeros(nowhere + 1, np.int64)
        for queries in self._of_similar_length():
            lengths = self.lengths[queries]
            column = _columns_in_parts(int(lengths.max()))
            rows = np.where(column < lengths, column + self.starts[queries], nowhere)
            lower[rows] = _lower_before_in_order(np.where(rows < nowhere, position[rows], column))
        return lower[:-1]


def _columns_in_parts(width: int) -> Ints:
    """So many columns or more, from 0, in parts of about √width: (columns of a part, parts, 1)."""
    shift = (
        int(width - 1).bit_length() + 1
    ) // 2  # a power of two, by which numbers are divided without division
    size = 1 << shift
    parts = -(-width // size)
    columns: Ints = np.arange(parts * size).reshape(parts, size).T.copy()
    return columns[:, :, None]


def _lower_before_in_order(position: Ints) -> Ints:
    """How many entries of the columns before each are lower, for R rows that each have 0, 1, … in some order:
    (columns of a part, parts, R), as position. Positions are cut into parts as columns are. An entry that is
    lower and before is in another part by both, or in the same part by column, or by position.
    """
    size, parts, count = position.shape
    column_part = np.arange(parts)[:, None]
    part = position >> (size.bit_length() - 1)
    row = np.arange(count)
    cell = (column_part * parts + part) * count + row
    entries = np.bincount(cell.ravel(), minlength=parts * parts * count).reshape(parts, parts, count)
    lower: Ints = _sums_before(entries).take(cell)
    lower += _lower_above(position)
    # a table that has the column's part at each position
    cell = ((position & (size - 1)) * parts + part) * count + row
    by_position = np.empty_like(position)
    by_position.ravel()[cell] = column_part
    lower += _lower_above(by_position).take(cell)
    return lower


def _sums_before(entries: Ints) -> Ints:
    """The sums of the entries before each by both of the first axes."""
    sums = np.zeros_like(entries)
    sums[1:, 1:] = entries[:-1, :-1]
    # many times faster than np.cumsum along the first axes
    for n in range(1, len(sums)):
        sums[n] += sums[n - 1]
        sums[:, n] += sums[:, n - 1]
    return sums


def _lower_above(table: Ints) -> NDArray[Any]:
    """How many entries above each along the first axis, which is short, are lower."""
    smallest = np.min_scalar_type(-1 - int(table.max()))
    lines = table.astype(smallest).reshape(len(table), -1)
    lower = np.zeros(lines.shape, np.uint8 if len(lines) <= 256 else np.int64)
    for n in range(len(lines) - 1):
        lower[n + 1 :] += (lines[n + 1 :] > lines[n]).view(np.uint8)
    return lower.reshape(table.shape)


def _nth_largest(rows: Floats, n: int) -> Floats:
    """The n-th largest value of each row, -inf in rows that are shorter."""
    at = rows.shape[1] - n
    return np.partition(rows, at, axis=1)[:, at] if at >= 0 else np.full(len(rows), -np.inf)


def stable_order(*keys: NDArray[np.int64]) -> Ints:
    """The rows in order of the first key, then the next; equal rows stay as they are. Keys are >= 0. Keys that
    fit in 63 bits together with the row number are sorted as one integer, several times faster than argsort.
    """
    n = len(keys[0])
    if n == 0:
        return np.empty(0, np.int64)
    sizes = [int(key.max()) + 1 for key in keys]
    shift = n.bit_length()
    if math.prod(sizes) << shift >= 2**63:
        return np.lexsort(keys[::-1])
    joined = keys[0]
    for key, size in zip(keys[1:], sizes[1:], strict=True):
        joined = joined * size + key
    joined = joined << shift | np.arange(n)
    joined.sort()
    return joined & ((1 << shift) - 1)


def offsets_of(lengths: Column | Sequence[int]) -> Ints:
    """Where each of several groups of so many rows begins, and where the last one ends, (G,) -> (G+1,)."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, dtype=np.int64, out=offsets[1:])
    return offsets


def are_new(*columns: NDArray[Any]) -> Bools:
    """Which rows differ from the one before in any of the columns, (N,); the first one does."""
    new = np.zeros(len(columns[0]), bool)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return new


def ranges(starts: Ints, counts: Ints) -> Ints:
    """starts[0], starts[0]+1, … counts[0] of them, then those of starts[1], …"""
    rows: Ints = (starts - counts.cumsum() + counts).repeat(counts)
    rows += np.arange(len(rows))
    return rows


def distinct(values: NDArray[_Number]) -> NDArray[_Number]:
    """The different values, ascending; np.unique would import numpy.ma, a tenth of a short command's time."""
    ordered = np.sort(values)
    return ordered[are_new(ordered)]


# --- numbers, whatever their queries


_TABLED = 1 << 16
_EXACT = 800  # digits for any two grades


@cache
def _log2_table(size: int) -> Floats:
    return np.array([math.inf] + [math.log2(number) for number in range(1, size)])


def log2(numbers: Floats) -> Floats:
    """The binary logarithms of integers from 1, bit for bit as C's log2 gives them. numpy's own may differ in
    the last bit where the processor has AVX-512, and trec_eval's digits with it.
    """
    highest = numbers.max(initial=1.0)
    if highest >= _TABLED:
        return np.log2(numbers)
    return _log2_table(1 << int(highest).bit_length())[numbers.astype(np.int64)]


def ratio(part: Floats | Ints, whole: Floats | Ints | float, empty: float = 0.0) -> Floats:
    """part / whole, `empty` where the whole is 0; whole: as part, or one number for all."""
    ratios: Floats = np.divide(part, whole, out=np.full(part.shape, empty), where=np.not_equal(whole, 0))
    return ratios


def natural_log(numbers: Floats) -> Floats:
    """The natural logarithms, bit for bit as C's log gives them; a loop, for one number per query at most."""
    return np.array([math.log(number) for number in numbers.tolist()], np.float64)


def pchip_slopes(x: Floats, y: Floats) -> Floats:
    """The slope of the monotone cubic through the points, at each of them: (R, C) and (R, C) -> (R, C).

    Each row is a curve of its own through C >= 2 points; x rises along it and y never falls. Inside, the
    slope is the weighted harmonic mean of the slopes of the two sides, and 0 beside a flat side; at an
    end it is that of the parabola through the last three points, or 0 if that falls.
    Source: Fritsch and Butland, "A method for constructing local monotone piecewise cubic interpolants",
    1984, with the ends of Moler, "Numerical Computing with MATLAB", 2004, section 3.6, as in scipy.
    """
    width = np.diff(x, axis=1)
    side = np.diff(y, axis=1) / width
    if x.shape[1] == 2:
        return np.repeat(side, 2, axis=1)
    width_before = width[:, :-1]
    width_after = width[:, 1:]
    rising = (side[:, :-1] > 0) & (side[:, 1:] > 0)
    before = np.where(rising, side[:, :-1], 1.0)
    after = np.where(rising, side[:, 1:], 1.0)
    weights = 2 * width_after + width_before, width_after + 2 * width_before
    inner = np.where(rising, (weights[0] + weights[1]) / (weights[0] / before + weights[1] / after), 0.0)

    def end(near: int, far: int) -> Floats:
        h, k, near_side, far_side = width[:, near], width[:, far], side[:, near], side[:, far]
        return np.maximum(((2 * h + k) * near_side - h * far_side) / (h + k), 0.0)[:, None]

    return np.concatenate([end(0, 1), inner, end(-1, -2)], axis=1)


def monotone_curve(x: Floats, y: Floats, curve: Ints, at: Floats) -> Floats:
    """The value at each point of `at` on one of the curves: (R, C), (R, C), (N,) row numbers, (N,) -> (N,).
    Outside its points a curve is constant.
    """
    # slopes are made of squares of widths: in units of a power of two, which rounds nothing, these are numbers
    unit = np.frexp(np.abs(x).max(axis=1, initial=0.0))[1][:, None]
    scaled = np.ldexp(x, -unit)
    slope = pchip_slopes(scaled, y)
    right = np.ones(len(at), np.int64)
    for column in range(1, x.shape[1] - 1):
        right += at >= x[curve, column]
    low = (curve, right - 1)
    high = (curve, right)
    width = x[high] - x[low]
    t = np.clip((at - x[low]) / width, 0.0, 1.0)
    # the polynomial in the form y + t (…) gives both ends exactly
    rise = y[high] - y[low]
    step = scaled[high] - scaled[low]
    first, last = slope[low] * step, slope[high] * step
    value = y[low] + t * (first + t * ((3 * rise - 2 * first - last) + t * (first + last - 2 * rise)))
    return np.where(t == 1.0, y[high], value)


def quantile(descending: Floats, start: Ints, count: Ints, position: Floats) -> Floats:
    """The value at a position (0-based from the smallest, may be fractional) of each query's sorted values.
    descending: (N,), each query's from the largest; start, count, position: (Q,), counts from 1. Between two
    values it is interpolated linearly.
    """
    last = start + count - 1
    low = np.floor(position).astype(np.int64)
    high = np.minimum(low + 1, count - 1)
    below: Floats = descending[last - low]
    above: Floats = descending[last - high]
    return below + (above - below) * (position - low)


def subtracted(values: Floats, number: float) -> Floats:
    """values - number, by the shortest decimal texts of the floats, so that 1.2 - 1 is 0.2: (N,) -> (N,)."""
    from decimal import Context, Decimal  # which few need

    subtract = Context(prec=_EXACT).subtract
    subtrahend = Decimal(repr(number))
    different = distinct(values)
    differences = [float(subtract(Decimal(repr(value)), subtrahend)) for value in different.tolist()]
    return np.array(differences, np.float64)[np.searchsorted(different, values)]
