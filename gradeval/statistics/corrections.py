"""p-values corrected for the size of their family. NaN are no p-values: they stay, outside of the family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.statistics.sampling import EXHAUSTIVE, TOLERANCE, FixedPoint, Sampling, flip_count, over_flips
from gradeval.statistics.tests import reason_without_p, root_sum_of_squares, valid_pairs


def bonferroni(p: Floats) -> Floats:
    """m p, at most 1, for m p-values: bounds the chance of any false rejection. Source: Dunn, JASA 1961."""
    return _in_order(p, lambda ordered, m: ordered * m)


def holm(p: Floats) -> Floats:
    """Holm's step-down p-values: bounds the chance of any false rejection, never above Bonferroni's.

    max over j <= i of (m - j + 1) p_(j), at most 1, for the i-th smallest of m. p: any shape, kept.
    Source: Holm, "A simple sequentially rejective multiple test procedure", 1979.
    """
    return _in_order(p, lambda ordered, m: np.maximum.accumulate(ordered * np.arange(m, 0, -1)))


def benjamini_hochberg(p: Floats) -> Floats:
    """Benjamini and Hochberg's p-values: bounds the expected share of false rejections.

    min over j >= i of m p_(j) / j for the i-th smallest of m. p: any shape, kept.
    Source: Benjamini and Hochberg, "Controlling the false discovery rate", JRSS B 1995.
    """
    return _in_order(
        p, lambda ordered, m: np.minimum.accumulate((ordered * (m / np.arange(1, m + 1)))[::-1])[::-1]
    )


def _in_order(p: Floats, adjust: Callable[[Floats, int], Floats]) -> Floats:
    """adjust(ascending p-values, their number) put back in place, at most 1; NaN stay."""
    flat = p.reshape(-1)
    order = np.argsort(flat, kind="stable")[: np.count_nonzero(~np.isnan(flat))]  # NaN sort last
    adjusted = np.full(flat.shape, np.nan)
    adjusted[order] = np.minimum(adjust(flat[order], len(order)), 1.0)
    return adjusted.reshape(p.shape)


CORRECTIONS: Final[dict[str, Callable[[Floats], Floats]]] = {
    "holm": holm,
    "bonferroni": bonferroni,
    "bh": benjamini_hochberg,
    "none": np.copy,
}
"""The corrections that need the p-values alone. 'maxt' needs the differences: see maxt."""


def maxt(differences: Floats, sampling: Sampling) -> Floats:
    """The step-down maxT p-values, (C,), of the comparisons in the columns of differences (Q, C).

    A sign flip, one of those of tests.randomization_tests, flips a query's differences in all columns, which
    keeps their dependence. With the comparisons in descending order of |t|, the adjusted p of the i-th is
    (b + 1) / (B + 1), b the number of flips in which the largest |t*| of the i-th and those after it reaches
    its |t|, to 1e-12; and no less than those before it. NaN are pairs that are left out, and the p of a
    comparison with fewer than 2 pairs or with equal differences, which is outside of the family.
    Source: Westfall and Young, "Resampling-Based Multiple Testing", 1993, algorithm 4.1; Ge, Dudoit and
    Speed, "Resampling-based multiple testing for microarray data analysis", Test 2003.
    """
    adjusted = np.full(differences.shape[1], np.nan)
    family = [column for column, d in enumerate(differences.T) if not reason_without_p(valid_pairs(d))]
    if not family:
        return adjusted
    valid = ~np.isnan(differences[:, family])
    rows = np.flatnonzero(valid.any(axis=1))
    if len(rows) > EXHAUSTIVE:  # random signs belong to the rows: all stay in their places
        rows = np.arange(len(valid))
    values, pairs = np.where(valid, differences[:, family], 0.0)[rows], valid.sum(axis=0)
    fixed = FixedPoint.of(values)
    total = fixed.parts.sum(axis=0)
    scale = np.sqrt(pairs) * np.array([root_sum_of_squares(column) for column in values.T])

    def studentized(sums: Floats) -> Floats:
        """|t| of flips by the sums (R, 2 C) of what they flip, as t^2 / (t^2 + N - 1), (R, C): sum d^2 is the
        same for all flips, and this needs no division by 0. N: the largest number of pairs, for all.
        """
        square = np.minimum(np.abs(fixed.value(total - 2 * sums)) / scale, 1.0) ** 2
        return np.asarray(np.sqrt(square / (square + (1 - square) * ((pairs.max() - 1) / (pairs - 1)))))

    observed = studentized(np.zeros((1, len(total))))[0]
    order = np.argsort(-observed, kind="stable")
    reached = observed[order] - TOLERANCE

    def exceeding(sums: Floats) -> Ints:
        """How many of the flips reach each |t| with one of the comparisons from it on, (C,)."""
        largest = np.maximum.accumulate(studentized(sums)[:, order[::-1]], axis=1)[:, ::-1]
        return np.asarray((largest >= reached).sum(axis=0))

    extreme = sum(over_flips(fixed.parts, sampling, exceeding), np.zeros(len(family), np.int64))
    p = (extreme + 1) / (flip_count(len(values), sampling) + 1)
    adjusted[np.array(family)[order]] = np.maximum.accumulate(p)
    return adjusted
