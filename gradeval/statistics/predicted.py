"""Means over queries from the judgments of people for some, and of a model for all (prediction-powered)."""

from __future__ import annotations

import math

import numpy as np

from gradeval.arrays import Floats
from gradeval.records import Record
from gradeval.statistics.intervals import t_interval
from gradeval.statistics.sampling import TOLERANCE


class PredictedMean(Record):
    """A mean, in the unit of the values, with the ends of its interval."""

    estimate: float
    low: float
    high: float
    weight: float  # λ, in [0, 1]: how far the model's values count; 0: people's alone


def predicted_mean(
    y: Floats, f: Floats, predicted: Floats, alpha: float, weight: float | None = None
) -> PredictedMean:
    """The mean of all queries by people's judgments, estimated with the model's.

    θ = λ mean(predicted) + mean(y - λ f), SE² = λ² var(predicted) / N + var(y - λ f) / n; interval by t(n - 1).

    y, f: values by people and by the model of the queries that people judged, a random sample of all, (n,) with
    n ≥ 2.
    predicted: values by the model of the other queries, (N,); of one alone there is no interval, unless λ is 0.
    weight: λ; None: the one with the smallest variance.
    Source: Angelopoulos, Duchi, Zrnic, "PPI++: Efficient prediction-powered inference", 2023.
    """
    n = len(y)
    count = len(predicted)
    weight = _best_weight(y, f, predicted) if weight is None else weight
    if not count:  # nothing is predicted
        weight = 0.0
    rectified = y - weight * f
    estimate = float(rectified.mean())
    variance = float(rectified.var(ddof=1)) / n
    if weight:
        estimate += weight * float(predicted.mean())
        variance += weight**2 * (float(predicted.var(ddof=1)) if count > 1 else math.nan) / count
    low, high = t_interval(estimate, math.sqrt(variance), n - 1, alpha)
    return PredictedMean(estimate, low, high, weight)


def welch_p(x: Floats, y: Floats) -> float:
    """The two-sided p of Welch's t-test of two samples with variances of their own; NaN for fewer than two
    numbers in one, or where neither varies beyond rounding.
    Source: Welch, "The generalization of 'Student's' problem when several different population variances are
    involved", Biometrika 1947.
    """
    from scipy.special import stdtr

    if min(len(x), len(y)) < 2:
        return math.nan
    largest = max(float(np.abs(x).max()), float(np.abs(y).max()))
    if max(float(np.ptp(x)), float(np.ptp(y))) <= TOLERANCE * largest:
        return math.nan
    squares = float(x.var(ddof=1)) / len(x), float(y.var(ddof=1)) / len(y)  # of the standard errors
    df = sum(squares) ** 2 / (squares[0] ** 2 / (len(x) - 1) + squares[1] ** 2 / (len(y) - 1))
    t = abs(float(x.mean() - y.mean())) / math.sqrt(sum(squares))
    return 2 * float(stdtr(df, -t))


def _best_weight(y: Floats, f: Floats, predicted: Floats) -> float:
    """λ = cov(y, f) / ((1 + n / N) var f), cut to [0, 1]; 0 where f is constant, or nothing is predicted."""
    all_predicted = np.concatenate([f, predicted])
    if not len(predicted) or np.ptp(all_predicted) == 0:
        return 0.0
    covariance = float(((y - y.mean()) * (f - f.mean())).mean())
    spread = (1 + len(y) / len(predicted)) * float(all_predicted.var(ddof=1))
    return min(max(covariance / spread, 0.0), 1.0)
