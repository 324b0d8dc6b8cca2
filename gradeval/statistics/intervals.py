"""Confidence intervals: those that invert a test, and the bootstrap's; and the power of the paired t-test.

An interval that inverts a test has the values that the test of the differences less the value does not reject;
so it contains 0 exactly where p >= alpha, and reaches to infinity where the test can reject nothing.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.statistics.sampling import TOLERANCE

Interval = tuple[float, float]
UNBOUNDED: Final = (-math.inf, math.inf)

_LISTED = 1 << 20  # Walsh averages that are held at once
_HELD = 1 << 17  # sign flips whose ends are held before the outermost are selected, well above those of a block


def agreeing(interval: Interval, p: float, alpha: float, direction: float) -> Interval:
    """The interval, with the end nearest to 0 moved so that it contains 0 exactly where p >= alpha, despite
    rounding, an open end of 0, or so many differences of 0 that no value is accepted. direction: the sign.
    """
    low, high = interval
    if p >= alpha:
        return min(low, 0.0), max(high, 0.0)
    if low <= 0.0 <= high:
        next_to_0 = math.copysign(math.ulp(0.0), direction)
        return (next_to_0, max(high, next_to_0)) if direction > 0 else (min(low, next_to_0), next_to_0)
    return low, high


LEAST_DF: Final = 1e-3
"""With fewer degrees of freedom, where one query has nearly all of the weight, t rejects nothing."""


def t_interval(mean: float, standard_error: float, df: float, alpha: float) -> Interval:
    """mean -/+ t(1 - alpha/2; df) * standard_error: the values that the t-test does not reject."""
    from scipy.special import stdtrit

    if df <= LEAST_DF:
        return UNBOUNDED
    half = -float(stdtrit(df, alpha / 2)) * standard_error
    return mean - half, mean + half


def within(interval: Interval, mean: float, bounds: Interval) -> Interval:
    """The interval of a mean, cut to the lowest and the highest value that a mean can have. It keeps the mean,
    even where values lie outside of the bounds, as those of a plugin with a wrong range may.
    """
    low, high = interval
    if math.isnan(low):
        return interval
    lowest, highest = bounds
    return max(low, min(lowest, mean)), min(high, max(highest, mean))


def t_intervals(mean: Floats, sd: Floats, count: Ints, alpha: float) -> tuple[Floats, Floats]:
    """The t intervals of means of `count` numbers with this standard deviation; NaN for fewer than two."""
    from scipy.special import stdtrit

    with np.errstate(divide="ignore", invalid="ignore"):
        half = -stdtrit(np.maximum(count - 1, 1), alpha / 2) * np.where(count > 1, sd, np.nan) / np.sqrt(count)
    return mean - half, mean + half


def sign_flip_intervals(
    blocks: Iterable[tuple[Floats, Floats]], columns: int, flips: int, alpha: float
) -> tuple[Floats, Floats, Floats]:
    """The sign-flip test's p(0) of C comparisons and the ends of what it does not reject with the same flips.
    blocks: of the B flips, the ends low and high, (rows, C), of the values for which each is at least as
    extreme as the observed signs. A value v has p(v) = (1 + #{low <= v <= high}) / (B + 1), which falls to both
    sides of the mean; so p(v) >= alpha from the k-th smallest `low` to the k-th largest `high`, with k the
    least for which (k + 1) / (B + 1) >= alpha. Source: Tritchler, "On inverting permutation tests", JASA 1984.
    """
    k = fewest_extreme(flips, alpha)
    held = np.empty((2, columns, flips_held(flips, alpha)))  # low, and -high
    extreme = np.zeros(columns, np.int64)
    count = 0
    for low, high in blocks:
        extreme += ((low <= 0) & (high >= 0)).sum(axis=0)
        if count + len(low) > held.shape[2]:
            held[:, :, :count].partition(k - 1)
            count = k
        end = count + len(low)
        held[0, :, count:end] = low.T
        held[1, :, count:end] = -high.T
        count = end
    p = (1 + extreme) / (flips + 1)
    if k == 0:
        return p, np.full(columns, -np.inf), np.full(columns, np.inf)
    held[:, :, :count].partition(k - 1)
    return p, held[0, :, k - 1].copy(), -held[1, :, k - 1]


def flips_held(flips: int, alpha: float) -> int:
    """How many flips' ends sign_flip_intervals holds at once: those that may be the k-th, and a block."""
    return min(flips, max(_HELD, 2 * fewest_extreme(flips, alpha)))


def fewest_extreme(samples: int, alpha: float) -> int:
    """The least k for which (k + 1) / (samples + 1) >= alpha; `samples` if that is no smaller k."""
    return bisect_left(range(samples), True, key=lambda k: (k + 1) / (samples + 1) >= alpha)


def rank_interval(
    order_statistic: Callable[[int], float], size: int, p_value: Callable[[int], float], alpha: float
) -> Interval:
    """The values that a test by ranks does not reject: between two order statistics. order_statistic(i): the
    i-th smallest, from 0, of `size` numbers: the differences (sign test), or their Walsh averages (signed-rank
    test). p_value(s): the p of as many more of them above than below a value, s, or the other way round. With c
    the largest s for which p_value(s) >= alpha, the ends are the ceil((size - c) / 2)-th smallest and largest.
    Source: Hollander and Wolfe, "Nonparametric Statistical Methods", sections 3.3 and 3.6 (2nd ed., 1999).
    """
    outside = (bisect_left(range(size), True, key=lambda below: p_value(size - below) >= alpha) + 1) // 2
    if outside == 0:
        return -math.inf, math.inf
    return order_statistic(outside - 1), order_statistic(size - outside)


def walsh_order_statistic(ordered: Floats, position: int) -> float:
    """The Walsh average at a position (0: the smallest) of the n (n + 1) / 2: (x_i + x_j) / 2 with i <= j.
    ordered: (n,), ascending. While there are more than 2^20 candidates, they are divided at the weighted median
    of the rows' middles, which leaves at most 3/4.
    Source: Johnson and Mizoguchi, "Selecting the Kth element in X + Y", SIAM Journal on Computing 1978.
    """
    n = len(ordered)
    first, last = np.arange(n), np.full(n, n)  # the candidates of row i: columns first[i] to last[i] - 1
    while int((width := last - first).sum()) > _LISTED:
        rows = np.flatnonzero(width)
        middles = ordered[rows] + ordered[(first + last)[rows] // 2]
        order = np.argsort(middles)
        weight = np.cumsum(width[rows][order])
        pivot = float(middles[order][np.searchsorted(weight, weight[-1] / 2)])
        lower = _boundary(ordered, first, last, np.less, pivot)
        upper = _boundary(ordered, first, last, np.less_equal, pivot)
        below, through = int((lower - first).sum()), int((upper - first).sum())
        if below <= position < through:
            return pivot / 2
        if position < below:
            last = lower
        else:
            first = upper
            position = position - through
    columns = np.arange(width.sum()) - np.repeat(np.cumsum(width) - last, width)
    sums = np.repeat(ordered, width) + ordered[columns]
    return float(np.partition(sums, position)[position]) / 2


def _boundary(ordered: Floats, first: Ints, last: Ints, is_before: np.ufunc, pivot: float) -> Ints:
    """For each row the first candidate whose sum is not before the pivot, or last; by bisection, (n,)."""
    low: Ints = first.copy()
    high = last.copy()
    while (searching := low < high).any():
        middle = (low + high) // 2
        before: Bools = is_before(ordered + ordered[np.minimum(middle, len(ordered) - 1)], pivot)
        low[searching & before] = middle[searching & before] + 1
        high[searching & ~before] = middle[searching & ~before]
    return low


def bca_interval(
    means: Floats, pairs: Floats, mean: float, alpha: float, weights: Floats | float = 1.0
) -> Interval:
    """The bootstrap's bias-corrected and accelerated interval of the mean. The ends are the quantiles of the
    resampled means at Phi(z0 + (z0 + z) / (1 - a (z0 + z))) for z the normal quantiles of alpha/2 and 1 -
    alpha/2. z0 is the normal quantile of the share of resampled means below the observed one, ties counted
    half; a = sum u^3 / (6 (sum u^2)^1.5) with u_i = w_i (d_i - mean), the (infinitesimal) jackknife's. means:
    (B,), from resampled_means, whose order is lost. pairs: (n,), the differences; mean: theirs. weights: (n,).
    Source: Efron, JASA 1987; Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, section 14.3.
    """
    from scipy.special import ndtr, ndtri

    slack = TOLERANCE * float(np.abs(pairs).max())
    samples = len(means)
    below = int((means < mean - slack).sum())
    through = int((means <= mean + slack).sum())
    # with few samples all may lie on one side, where the normal quantile would be infinite
    bias = ndtri(min(max((below + through) / 2 / samples, 0.5 / samples), 1 - 0.5 / samples))
    u = weights * (pairs - mean)
    u /= np.abs(u).max() or 1.0  # 0 where one query has nearly all of the weight
    squares = math.fsum((u**2).tolist())
    acceleration = math.fsum((u**3).tolist()) / (6 * squares**1.5) if squares else 0.0
    shifted = bias + ndtri(np.array([alpha / 2, 1 - alpha / 2]))
    # beyond 1 / a, where only an alpha below 1e-6 leads, the formula turns over: take the outermost quantile
    shifted /= np.maximum(1 - acceleration * shifted, np.finfo(np.float64).tiny)
    low, high = np.quantile(means, ndtr(bias + shifted), overwrite_input=True).tolist()
    return low, high


MOST_QUERIES: Final = 10**9  # more than anybody has: a difference that needs more needs infinitely many


def power_of_t_test(effect_size: float, n: float, alpha: float) -> float:
    """The chance that the two-sided paired t-test of n >= 2 queries finds a true effect size at level alpha.
    P(|T'| > t) with T' noncentral t of n - 1 degrees of freedom and noncentrality effect_size sqrt(n), and t
    the 1 - alpha/2 quantile of the central t, as in R's power.t.test(strict = TRUE). effect_size: mean /
    standard deviation of the differences. It is the mean over W, W^2 = chi^2 / (n - 1), of P(|Z +
    noncentrality| > t W), Z normal, here by Gauss-Legendre quadrature to about 1e-13; scipy's nctdtr is NaN for
    some of these arguments.
    Source: Sakai, "Laboratory Experiments in Information Retrieval", 2018, chapter 7, after Cohen, 1988.
    """
    from scipy.special import ndtr, stdtrit

    df = n - 1
    shift = abs(effect_size) * math.sqrt(n)
    quantile = -float(stdtrit(df, alpha / 2))
    # W lies within 10 of its standard deviations of 1, and the normal is decided 9 of its own from its middle
    reach = 10 / math.sqrt(2 * df)
    low = max(0.0, 1 - reach)
    high = 1 + reach
    edges = np.unique(np.clip([low, (shift - 9) / quantile, (shift + 9) / quantile, high], low, high))
    nodes, weights = _legendre(96)
    nodes, weights, width = (nodes + 1) / 2, weights / 2, np.diff(edges)[:, None]  # on (0, 1)
    w = edges[:-1, None] + width * nodes
    less = w - 1
    density = np.exp((df - 1) * (np.log1p(less) - less - less**2 / 2) - less - less**2 / 2) * weights * width
    chance = ndtr(shift - quantile * w) + ndtr(-shift - quantile * w)
    return float((density * chance).sum() / density.sum())


@cache  # and not np.polynomial…leggauss itself: numpy imports its module at the first use, which takes 10 ms
def _legendre(count: int) -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(count)


@cache
def smallest_effect_size(n: float, alpha: float, power: float = 0.8) -> float:
    """The effect size that n queries show with the given power (chance of p < alpha). Times the standard
    deviation of the differences, it is the smallest difference that these queries could have shown. NaN for
    fewer than 2 queries. n: of weighted queries their effective number. power: between alpha and 1.
    """
    if n < 2:
        return math.nan
    low, high = 0.0, 1.0
    while power_of_t_test(high, n, alpha) < power:
        low = high
        high = 2 * high
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
        low = high
        high = min(2 * high, MOST_QUERIES)
    between = range(low + 1, high)
    return low + 1 + bisect_left(between, True, key=lambda n: power_of_t_test(effect_size, n, alpha) >= power)
