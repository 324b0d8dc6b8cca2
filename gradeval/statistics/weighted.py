"""Numbers of queries with the weights of these: their mean, their deviation, their effective number."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gradeval.arrays import Floats, cached_property
from gradeval.records import Record


class Sample(Record, eq=False):
    """Numbers of n queries, (n,), and the weights of these in proportion to the largest, (n,). Equal weights
    are 1, and what is computed of them has then the digits of what is computed without weights.
    """

    values: Floats
    weights: Floats

    @classmethod
    def of(cls, values: Floats, weights: Floats | None = None) -> Sample:
        """The values (Q,) that are not NaN, of queries with a weight above 0. weights: (Q,); None: all 1."""
        counts = ~np.isnan(values)
        if weights is None:
            return cls(values[counts], np.ones(np.count_nonzero(counts)))
        counts &= weights > 0
        return cls(values[counts], relative(weights[counts]))

    @property
    def n(self) -> int:
        return len(self.values)

    @cached_property
    def mean(self) -> float:
        """The weighted mean, whatever the order; NaN of nothing."""
        return math.fsum((self.weights * self.values).tolist()) / self._total if self.n else math.nan

    @cached_property
    def sd(self) -> float:
        """The standard deviation, sqrt(n / (n - 1) * sum w^2 (x - mean)^2 / sum w^2), whatever the order; NaN
        for fewer than 2 numbers. The standard error of the mean is sd / sqrt(effective_n).
        """
        if self.n < 2:
            return math.nan
        root = root_sum_of_squares(self.weights * (self.values - self.mean))
        return root / math.sqrt(self.n - 1) * math.sqrt(self.n / self._total_of_squares)

    @cached_property
    def effective_n(self) -> float:
        """How many queries of equal weight have a mean as certain: (sum w)^2 / sum w^2, n for equal weights.
        Source: Kish, "Survey Sampling", 1965, section 11.7.
        """
        return self._total**2 / self._total_of_squares if self.n else 0.0

    @property
    def standard_error(self) -> float:
        """Of the mean; NaN for fewer than 2 numbers."""
        return self.sd / math.sqrt(self.effective_n) if self.n else math.nan

    @cached_property
    def _total(self) -> float:
        return math.fsum(self.weights.tolist())

    @cached_property
    def _total_of_squares(self) -> float:
        return math.fsum(np.square(self.weights).tolist())


LEAST_WEIGHT: Final = 1e-18
"""Of the largest weight: a smaller one would change no sum in which that is, and vanish where that is not."""


def relative(weights: Floats) -> Floats:
    """Weights (Q,) in proportion to the largest, at least LEAST_WEIGHT where they are above 0."""
    return np.where(weights > 0, np.maximum(weights / (weights.max(initial=0.0) or 1.0), LEAST_WEIGHT), 0.0)


def root_sum_of_squares(values: Floats) -> float:
    """sqrt(sum values^2) of (n,) numbers, n >= 1, in any order the same; tiny ones do not vanish as squares."""
    exponent = int(np.frexp(np.abs(values).max())[1])
    return math.ldexp(math.sqrt(math.fsum(np.square(np.ldexp(values, -exponent)).tolist())), exponent)
