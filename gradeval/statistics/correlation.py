"""How alike two orders of systems are, and the orders by random halves of the queries; rank correlation."""

from __future__ import annotations

import math

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.statistics.sampling import TOLERANCE, FixedPoint


def levels_of(values: Floats) -> Ints:
    """The place of each value among the different ones, from 0 for the smallest, (S,); all 0 where one is NaN.

    Values that agree to 1e-12 of the largest magnitude are equal: rounding orders no systems.
    """
    if np.isnan(values).any():
        return np.zeros(len(values), np.int64)
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order]) > TOLERANCE * np.abs(values).max(initial=0.0)
    level = np.empty(len(values), np.int64)
    level[order] = np.append(0, np.cumsum(steps))[: len(values)]
    return level


def pair_signs(level: Ints) -> Floats:
    """The sign of each value less each other, (S, S)."""
    return np.asarray(np.sign(level[:, None] - level), np.float64)


def kendall_tau(x: Ints, y: Ints) -> float:
    """Kendall's τ-b of two orders of S systems, by the places of levels_of(); NaN where one has all tied.

    τ-b = (concordant - discordant pairs) / sqrt((pairs not tied in x) (pairs not tied in y)).
    Source: Kendall, "The treatment of ties in ranking problems", Biometrika 1945.
    """
    a, b = pair_signs(x), pair_signs(y)
    apart = math.sqrt(float(np.square(a).sum()) * float(np.square(b).sum()))
    return float((a * b).sum()) / apart if apart else math.nan


def tau_ap(estimate: Ints, truth: Ints) -> float:
    """The AP correlation of an order of S systems with the true one, by the places of levels_of().

    τ_AP = 2 / (S - 1) · sum over i = 2 … S of C(i) / (i - 1) - 1, with C(i) the systems above rank i of the
    estimate that the truth has above the one at rank i too: errors at the top cost most. Where the estimate
    ties systems, it is the mean over all orders of the tied; a pair that the truth ties counts as half right.
    With all of the truth tied, or fewer than 2 systems, it is NaN. It is not symmetric.
    Source: Yilmaz, Aslam and Robertson, "A new rank correlation coefficient for information retrieval", SIGIR
    2008; ties: Urbano and Marrero, "The treatment of ties in AP correlation", ICTIR 2017, τ_AP,a.
    """
    count = len(estimate)
    if count < 2 or (truth == truth[0]).all():
        return math.nan
    is_above = estimate[None, :] > estimate[:, None]  # [i, j]: j is above i
    right = (is_above * pair_signs(truth).T).sum(axis=1)
    above = is_above.sum(axis=1)
    tied = (estimate[None, :] == estimate[:, None]).sum(axis=1)
    # the mean of 1 / (rank - 1) over the ranks that the tied can take; at rank 1 there is nothing above
    inverse = np.append(0.0, np.cumsum(1 / np.arange(1.0, count)))
    weight = (inverse[above + tied - 1] - inverse[np.maximum(above - 1, 0)]) / tied
    return float((weight * right).sum() / (count - 1))


def halves(values: Floats, splits: int, seed: int) -> tuple[float, float, float, float]:
    """How alike random halves of the queries order the systems with these values (Q, R); NaN are left out: the
    mean of Kendall's τ-b over the splits, its 5 % and 95 % quantiles, and the mean share of pairs that the
    halves order the opposite way. The first half has Q / 2 queries, rounded down.
    """
    queries, systems = values.shape
    if queries < 2:
        return math.nan, math.nan, math.nan, math.nan
    random = np.random.default_rng(seed)
    defined = ~np.isnan(values)
    fixed = FixedPoint.of(np.where(defined, values, 0.0))
    columns = np.concatenate([fixed.parts, defined.astype(np.float64)], axis=1)
    total, last = columns.sum(axis=0), fixed.parts.shape[1]

    def means(sums: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            mean: Floats = fixed.value(sums[None, :last])[0] / sums[last:]
        return mean

    taus, swapped = np.empty(splits), np.empty(splits)
    for split in range(splits):
        first = columns[random.permutation(queries)[: queries // 2]].sum(axis=0)  # integers: exact in any order
        orders = [levels_of(means(sums)) for sums in (first, total - first)]
        taus[split] = kendall_tau(*orders)
        opposite = pair_signs(orders[0]) * pair_signs(orders[1]) < 0
        swapped[split] = np.count_nonzero(opposite) / (systems * (systems - 1))
    valid = taus[~np.isnan(taus)]
    if not len(valid):
        return math.nan, math.nan, math.nan, float(swapped.mean())
    low, high = np.quantile(valid, [0.05, 0.95]).tolist()
    return float(valid.mean()), low, high, float(swapped.mean())


def rank_correlation(x: Floats, y: Floats) -> float:
    """Spearman's ρ of n pairs, tied values at their mean place; NaN where one has all equal."""
    middles = []  # the mean place of each value in ascending order, less the mean of all places
    for values in (x, y):
        _, place, count = np.unique(values, return_inverse=True, return_counts=True)
        middles.append((2 * np.cumsum(count) - count - len(values))[place].astype(np.float64))
    a, b = middles
    spread = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / spread if spread else np.nan
