"""From grade to gain, from rank to discount, and the monotone curve that φ is read from."""

from __future__ import annotations

import math

import numpy as np

from gradeval.arrays import Floats
from gradeval.arrays.numbers import log2
from gradeval.errors import MetricError

LARGEST_EXPONENT = 1000.0  # the gains of eight million documents, all of 2^1000, have a finite sum
_CANCELS = 1e-9  # of 2^grade - 1, so near 0, the subtraction leaves less than half of the digits


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


def discount(rank: Floats, kind: str = "log2") -> Floats:
    """What a gain at each rank is divided by."""
    if kind == "log2":
        return log2(rank + 1)
    if kind == "letor":
        return np.maximum(log2(rank), 1.0)
    return rank if kind == "zipf" else np.ones(len(rank))
