"""The power of the paired t-test: what difference n queries can show, and how many queries one needs."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cache
from typing import Final

import numpy as np

from gradeval.arrays import Floats

MOST_QUERIES: Final = 10**9
"""More queries than anybody has: a difference that needs more needs infinitely many."""


def power_of_t_test(effect_size: float, n: int, alpha: float) -> float:
    """The chance that the two-sided paired t-test of n >= 2 queries finds a true effect size at level alpha.

    P(|T'| > t) with T' noncentral t of n - 1 degrees of freedom and noncentrality effect_size sqrt(n), and t
    the 1 - alpha/2 quantile of the central t, as in R's power.t.test(strict = TRUE). effect_size: mean /
    standard deviation of the differences. It is the mean over W, W^2 = chi^2 / (n - 1), of
    P(|Z + noncentrality| > t W), Z normal, here by Gauss-Legendre quadrature to about 1e-13; scipy's nctdtr is
    NaN for some of these arguments.
    Source: Cohen, "Statistical Power Analysis for the Behavioral Sciences", 1988; Sakai, "Laboratory
    Experiments in Information Retrieval", 2018, chapter 7.
    """
    from scipy.special import ndtr, stdtrit

    df, shift = n - 1, abs(effect_size) * math.sqrt(n)
    quantile = -float(stdtrit(df, alpha / 2))
    # W lies within 10 of its standard deviations of 1, and the normal is decided 9 of its own from its middle
    reach = 10 / math.sqrt(2 * df)
    low, high = max(0.0, 1 - reach), 1 + reach
    turns = [low, (shift - 9) / quantile, (shift + 9) / quantile, high]
    edges = np.unique(np.clip(turns, low, high))
    nodes, weights = _legendre(96)
    nodes, weights = (nodes + 1) / 2, weights / 2  # on (0, 1)
    width = np.diff(edges)[:, None]
    w = edges[:-1, None] + width * nodes
    less = w - 1
    density = np.exp((df - 1) * (np.log1p(less) - less - less**2 / 2) - less - less**2 / 2) * weights * width
    chance = ndtr(shift - quantile * w) + ndtr(-shift - quantile * w)
    return float((density * chance).sum() / density.sum())


@cache  # and not np.polynomial…leggauss itself: numpy imports its module at the first use, which takes 10 ms
def _legendre(count: int) -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(count)


@cache
def smallest_effect_size(n: int, alpha: float, power: float = 0.8) -> float:
    """The effect size that n queries show with the given power (chance of p < alpha).

    Times the standard deviation of the differences, it is the smallest difference that these queries could
    have shown. NaN for fewer than 2 queries. power: between alpha and 1.
    """
    if n < 2:
        return math.nan
    low, high = 0.0, 1.0
    while power_of_t_test(high, n, alpha) < power:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if power_of_t_test(middle, n, alpha) >= power else (middle, high)
    return high


@cache
def queries_needed(effect_size: float, alpha: float, power: float = 0.8) -> float:
    """The least number of queries, from 2, that show an effect size with this power; infinite above 10^9."""
    if math.isnan(effect_size):
        return math.nan
    low, high = 1, 2  # too few, enough
    while power_of_t_test(effect_size, high, alpha) < power:
        if high == MOST_QUERIES:
            return math.inf
        low, high = high, min(2 * high, MOST_QUERIES)
    between = range(low + 1, high)
    return low + 1 + bisect_left(between, True, key=lambda n: power_of_t_test(effect_size, n, alpha) >= power)
