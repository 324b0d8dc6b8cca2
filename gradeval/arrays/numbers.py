"""Logarithms to the bit as C gives them, ratios, quantiles, decimal subtraction, and monotone curves for φ."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Floats, Ints, Words
from gradeval.arrays.segments import distinct
from gradeval.arrays.strings import PAD, Ids

if TYPE_CHECKING:
    from numpy.typing import NDArray


_TABLED = 1 << 16
_EXACT = 800  # digits for any two grades
_GROUP = 10_000
_MINUS = b"-"[0]


@cache
def _log2_table(size: int) -> Floats:
    return np.array([math.inf] + [math.log2(number) for number in range(1, size)])


def log2(numbers: Floats) -> Floats:
    """The binary logarithms of integers from 1, bit for bit as C's log2 gives them.

    numpy's own may differ in the last bit where the processor has AVX-512, and trec_eval's digits with it.
    """
    highest = numbers.max(initial=1.0)
    if highest >= _TABLED:
        return np.log2(numbers)
    return _log2_table(1 << int(highest).bit_length())[numbers.astype(np.int64)]


def ratio(part: Floats | Ints, whole: Floats | Ints | float) -> Floats:
    """part / whole, 0 where the whole is 0; whole: (Q,) as part, or one number for all."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=np.not_equal(whole, 0))


def quotient(part: Floats | Ints, whole: Floats | Ints) -> Floats:
    """part / whole, NaN where the whole is 0, (Q,) each."""
    divided: Floats = np.divide(part, whole, out=np.full(len(part), np.nan), where=np.not_equal(whole, 0))
    return divided


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
    left, right = width[:, :-1], width[:, 1:]
    rising = (side[:, :-1] > 0) & (side[:, 1:] > 0)
    before, after = np.where(rising, side[:, :-1], 1.0), np.where(rising, side[:, 1:], 1.0)
    weights = 2 * right + left, right + 2 * left
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
    low, high = (curve, right - 1), (curve, right)
    width = x[high] - x[low]
    t = np.clip((at - x[low]) / width, 0.0, 1.0)
    # the polynomial in the form y + t (…) gives both ends exactly
    rise = y[high] - y[low]
    step = scaled[high] - scaled[low]
    first, last = slope[low] * step, slope[high] * step
    value = y[low] + t * (first + t * ((3 * rise - 2 * first - last) + t * (first + last - 2 * rise)))
    return np.where(t == 1.0, y[high], value)


def quantile(descending: Floats, start: Ints, count: Ints, place: Floats) -> Floats:
    """The value at a position (0-based from the smallest, may be fractional) of each query's sorted values.

    descending: (N,), each query's from the largest; start, count, place: (Q,), counts from 1.
    Between two values it is interpolated linearly.
    """
    last = start + count - 1
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, count - 1)
    below: Floats = descending[last - low]
    above: Floats = descending[last - high]
    return below + (above - below) * (place - low)


def subtracted(values: Floats, number: float) -> Floats:
    """values - number, by the shortest decimal texts of the floats, so that 1.2 - 1 is 0.2: (N,) -> (N,)."""
    from decimal import Context, Decimal  # which few need

    subtract, subtrahend = Context(prec=_EXACT).subtract, Decimal(repr(number))
    different = distinct(values)
    differences = [float(subtract(Decimal(repr(value)), subtrahend)) for value in different.tolist()]
    return np.array(differences, np.float64)[np.searchsorted(different, values)]


@cache
def _tables() -> tuple[NDArray[np.uint32], Words]:
    """The four digits of each number below _GROUP, and the powers of ten; only few commands need them."""
    four = np.frombuffer(b"".join(b"%04d" % n for n in range(_GROUP)), "<u4")
    return four, np.uint64(10) ** np.arange(20, dtype=np.uint64)


def integer_ids(values: NDArray[np.integer[Any]]) -> Ids:
    """Each integer as str() writes it, (N,), of any integer type."""
    is_new = np.append(True, values[1:] != values[:-1])[: len(values)]
    if 0 < 2 * is_new.sum() <= len(values):  # equal ones, as of a query, are written once
        return integer_ids(values[is_new]).take(np.cumsum(is_new) - 1)
    four, powers = _tables()
    count = len(values)
    negative = values < 0
    size = values.astype(np.uint64)
    np.negative(size, out=size, where=negative)  # modulo 2^64, where the lowest integer has its size too
    length: Ints = np.maximum(np.searchsorted(powers, size, "right"), 1)
    groups = -(-int(length.max(initial=1)) // 4)
    width = 4 * (groups + 1)  # a group more has room for a sign
    text = np.zeros(count * width + PAD, np.uint8)
    table = text[: count * width].view("<u4").reshape(count, groups + 1)
    for group in range(groups, 0, -1):
        rest = size // _GROUP if group > 1 else np.uint64(0)
        table[:, group] = four[(size - rest * np.uint64(_GROUP)).view(np.int64)]
        size = rest
    end = width * np.arange(1, count + 1)
    if negative.any():
        length = length + negative
        text[(end - length)[negative]] = _MINUS
    return Ids(text, end - length, length)
