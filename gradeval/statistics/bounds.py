"""The lowest and highest value of a query over the judgments that are missing.

A world gives each unjudged retrieved document a grade from 0 to `top`. Call with the numbers of one query:

- `normalized_bounds`: nDCG, or a difference of two. `base` is the gain of the judged documents, discounted;
  `coefficients` has the discount of each unjudged document (0 below the cutoff; of a pair, discount in B
  minus discount in A); `grades` are all of the query's grades in the qrels.
- `linear_bounds`: P, DCG, CG, RBP, SDCG, gP and their differences, with the same base and coefficients.
- `recall_bounds`: R@k and its difference; `base` counts the relevant documents found (B minus A).
- `average_precision_bounds`: AP@k; the ranks of the relevant and of the unjudged documents, from 1.

`empty` is the value where nothing is relevant (--no-relevant). Each returns (lowest, highest).
Source: Dinkelbach, "On nonlinear fractional programming", 1967, for the highest nDCG.
"""

from __future__ import annotations

import numpy as np

from gradeval.arrays import Floats

_STEPS = 100  # Dinkelbach's method needs 2 to 4


def linear_bounds(base: float, coefficients: Floats, top: float) -> tuple[float, float]:
    """Bounds of base + sum(coefficients * grades)."""
    lowest = base + top * coefficients[coefficients < 0].sum()
    highest = base + top * coefficients[coefficients > 0].sum()
    return float(lowest), float(highest)


def recall_bounds(base: float, coefficients: Floats, relevant: int, empty: float) -> tuple[float, float]:
    """Bounds of (base + sum of the chosen coefficients) / (relevant + number chosen)."""
    ascending = np.sort(coefficients)
    found = np.concatenate([_sums(ascending), _sums(ascending[::-1])])
    total = relevant + np.tile(np.arange(ascending.size + 1), 2)
    values = np.where(total > 0, (base + found) / np.maximum(total, 1), empty)
    return float(values.min()), float(values.max())


def average_precision_bounds(
    ranks: Floats, unjudged: Floats, relevant: int, cutoff: float = np.inf, *, empty: float = 0.0
) -> tuple[float, float]:
    """Bounds of AP@cutoff: `ranks` of the relevant documents retrieved, `relevant` the number in the qrels."""
    ascending = np.sort(unjudged)
    lowest, highest = np.inf, -np.inf
    for count in range(ascending.size + 1):
        bottom = _average_precision(ranks, ascending[ascending.size - count :], relevant, cutoff)
        upper = _average_precision(ranks, ascending[:count], relevant, cutoff)
        lowest = min(lowest, empty if np.isnan(bottom) else bottom)
        highest = max(highest, empty if np.isnan(upper) else upper)
    return lowest, highest


def normalized_bounds(
    base: float, coefficients: Floats, grades: Floats, top: float, *, cutoff: float = np.inf, empty: float = 0.0
) -> tuple[float, float]:
    """Bounds of (base + sum(coefficients * x)) / ideal(grades and x)."""
    highest = _highest_normalized(base, coefficients, grades, top, cutoff)
    lowest = -_highest_normalized(-base, -coefficients, grades, top, cutoff)
    if not (grades > 0).any():
        return min(lowest, empty), max(highest, empty)
    return lowest, highest


def _highest_normalized(base: float, coefficients: Floats, grades: Floats, top: float, cutoff: float) -> float:
    """The highest ratio; -inf where no world has a relevant document."""
    sums = _sums(np.sort(coefficients)[::-1])
    levels = np.unique(np.append(grades[grades > 0], top))
    steps = np.diff(levels, prepend=0.0)
    open_levels = levels <= top
    chosen = np.arange(sums.size)
    judged = (grades[:, None] >= levels).sum(axis=0)
    discounts = np.arange(1, grades.size + coefficients.size + 1)
    ideal = _sums(np.where(discounts <= cutoff, 1 / np.log2(discounts + 1), 0.0))
    # rows: levels, columns: how many unjudged documents have at least that grade
    ideals = ideal[judged[:, None] + np.where(open_levels[:, None], chosen, 0)]
    gains = np.where(open_levels[:, None], sums, 0.0)
    numerators, denominators = base + steps @ gains, steps @ ideals
    defined = denominators > 0
    if not defined.any():
        return -np.inf
    ratio = float((numerators[defined] / denominators[defined]).max())
    rows = np.arange(levels.size)
    for _ in range(_STEPS):
        if ratio < 0:  # then grades between 0 and top are never best
            return ratio
        counts = sums.size - 1 - (gains - ratio * ideals)[:, ::-1].argmax(axis=1)
        denominator = steps @ ideals[rows, counts]
        if denominator <= 0:
            return ratio
        better = float((base + steps @ gains[rows, counts]) / denominator)
        if better <= ratio:
            return ratio
        ratio = better
    return ratio


def _average_precision(ranks: Floats, more_ranks: Floats, relevant: int, cutoff: float) -> float:
    total = relevant + more_ranks.size
    if total == 0:
        return np.nan
    ascending = np.sort(np.concatenate([ranks, more_ranks]))
    ascending = ascending[ascending <= cutoff]
    return float((np.arange(1, ascending.size + 1) / ascending).sum() / total)


def _sums(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values)])
