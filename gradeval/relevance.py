"""From grade to gain, from rank to discount, and the monotone curve that φ is read from."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from gradeval.errors import MetricError
from gradeval.segments import Floats, Ints

LARGEST_EXPONENT = 1000.0  # the gains of eight million documents, all of 2^1000, have a finite sum
_CANCELS = 1e-9  # of 2^grade - 1, so near 0, the subtraction leaves less than half of the digits
_TABLED = 1 << 16


def linear_gain(grade: Floats) -> Floats:
    """gain = grade, 0 below 0."""
    return np.maximum(grade, 0.0)


def exp2_gain(grade: Floats) -> Floats:
    """gain = 2^grade - 1, 0 below 0. Raises MetricError where that is no longer a number."""
    highest = grade.max(initial=0.0)
    if highest > LARGEST_EXPONENT:
        raise MetricError(
            f"gain=exp: 2^{highest:g} is too large a gain",
            hint="NDCNG and nDCGphi take grades of any size",
        )
    return _small_gains(np.exp2(np.maximum(grade, 0.0)) - 1, grade, 1.0)


def exp2_share(grade: Floats, largest: float | Floats) -> Floats:
    """(2^grade - 1) / 2^largest, 0 below 0, for grades up to the largest: none is too large."""
    scale = np.exp2(-largest)
    return _small_gains(np.where(grade > 0, np.exp2(grade - largest) - scale, 0.0), grade, scale)


def _small_gains(gain: Floats, grade: Floats, scale: float | Floats) -> Floats:
    """The gains, (2^grade - 1) * scale, with those of grades near 0 computed without the subtraction."""
    small = (grade > 0) & (grade < _CANCELS)
    if not small.any():
        return gain
    return np.where(small, np.expm1(np.minimum(grade, _CANCELS) * math.log(2)) * scale, gain)


def mapped(grade: Floats, gains: tuple[tuple[float, float], ...]) -> Floats:
    """The listed gain of each grade; other grades stay as they are, and those below 0 become 0."""
    grades, values = np.array(gains).T
    place = np.minimum(np.searchsorted(grades, grade), len(grades) - 1)
    return np.where(grades[place] == grade, values[place], np.maximum(grade, 0.0))


@cache
def _log2_table(size: int) -> Floats:
    return np.array([math.inf] + [math.log2(number) for number in range(1, size)])


def log2(numbers: Floats) -> Floats:
    """The binary logarithms of whole numbers from 1, to the bit as C's log2 gives them.

    numpy's own may differ in the last bit where the processor has AVX-512, and trec_eval's digits with it.
    """
    highest = numbers.max(initial=1.0)
    if highest >= _TABLED:
        return np.log2(numbers)
    return _log2_table(1 << int(highest).bit_length())[numbers.astype(np.int64)]


def natural_log(numbers: Floats) -> Floats:
    """The natural logarithms, to the bit as C's log gives them; for no more of them than there are queries."""
    return np.array([math.log(number) for number in numbers.tolist()], np.float64)


def discount(rank: Floats, kind: str = "log2") -> Floats:
    """What a gain at each rank is divided by."""
    if kind == "log2":
        return log2(rank + 1)
    if kind == "letor":
        return np.maximum(log2(rank), 1.0)
    return rank if kind == "zipf" else np.ones(len(rank))


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
    """The value at each place of `at` on one of the curves: (R, C), (R, C), (N,) row numbers, (N,) -> (N,).

    Outside its points a curve goes on level.
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
    """The value at a place (0-based from the smallest, may be a fraction) of each query's sorted values.

    descending: (N,), each query's from the largest; start, count, place: (Q,), counts from 1.
    Between two values it is interpolated on a line.
    """
    last = start + count - 1
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, count - 1)
    below: Floats = descending[last - low]
    above: Floats = descending[last - high]
    return below + (above - below) * (place - low)
