"""Sums that parts of a collection are described by, and that add up to those of the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gradeval.arrays import Floats


class Moments(NamedTuple):
    """What is kept of columns of numbers: arrays of one shape.

    size: how many numbers there are. total: their sum. squares: the sum of their squared deviations from the
    mean.
    """

    size: Floats
    total: Floats
    squares: Floats

    @classmethod
    def of(cls, values: Floats) -> Moments:
        """Those of the rows of values, (..., Q) -> (...), of which NaN are left out."""
        defined = ~np.isnan(values)
        size = defined.sum(axis=-1).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.where(defined, values, 0.0).sum(axis=-1)
            mean = total / np.maximum(size, 1)
            squares = np.square(np.where(defined, values - mean[..., None], 0.0)).sum(axis=-1)
        return cls(size, total, squares)

    @classmethod
    def joined(cls, parts: Sequence[Moments]) -> Moments:
        """Those of all parts, at least one, merged in the given order.

        Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
        variances", 1979.
        """
        size, total, squares = parts[0]
        with np.errstate(over="ignore", invalid="ignore"):
            for more in parts[1:]:
                apart = more.mean - Moments(size, total, squares).mean
                weight = size * more.size / np.maximum(size + more.size, 1)
                # a part without numbers has no mean
                squares = squares + more.squares + np.where(weight > 0, np.square(apart) * weight, 0.0)
                size, total = size + more.size, total + more.total
        return cls(size, total, squares)

    @property
    def mean(self) -> Floats:
        """NaN where there are no numbers."""
        with np.errstate(invalid="ignore"):
            mean: Floats = self.total / self.size
        return mean

    @property
    def sd(self) -> Floats:
        """The standard deviation, n - 1 in the denominator; NaN for fewer than two numbers."""
        return np.sqrt(self.squares / np.where(self.size > 1, self.size - 1, math.nan))
