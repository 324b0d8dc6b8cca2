"""Paired differences, and what describes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from gradeval.arrays import Floats
from gradeval.statistics.sampling import TOLERANCE

TOO_FEW_PAIRS: Final = "fewer than 2 pairs"
ALL_EQUAL: Final = "all differences are equal"


def paired_differences(baseline: Floats, run: Floats) -> Floats:
    """run - baseline for each query, of arrays of one shape; NaN where either value is NaN.

    Values that agree to 1e-12 of the larger are tied: their difference is exactly 0. Two systems with the
    same ranking quality may reach it by sums in another order, and rounding is no win.
    """
    difference = run - baseline
    difference[np.abs(difference) <= TOLERANCE * np.maximum(np.abs(baseline), np.abs(run))] = 0.0
    return difference


def valid_pairs(differences: Floats) -> Floats:
    """The differences (Q,) of the queries where both systems have a value: those that are not NaN, (n,)."""
    return differences[~np.isnan(differences)]


def reason_without_p(pairs: Floats) -> str:
    """Why the differences (n,) have no p whatever the test, or ''."""
    if len(pairs) < 2:
        return TOO_FEW_PAIRS
    return ALL_EQUAL if np.ptp(pairs) <= TOLERANCE * np.abs(pairs).max() else ""


def mean_and_sd(pairs: Floats) -> tuple[float, float]:
    """The mean and standard deviation (n - 1 in the denominator) of (n,) numbers, in their unit.

    The sums are correctly rounded, so the order of the numbers does not matter. NaN where there are too few:
    the mean of none, the standard deviation of one.
    """
    n = len(pairs)
    mean = math.fsum(pairs.tolist()) / n if n else math.nan
    return mean, root_sum_of_squares(pairs - mean) / math.sqrt(n - 1) if n > 1 else math.nan


def root_sum_of_squares(values: Floats) -> float:
    """sqrt(sum values^2) of (n,) numbers, n >= 1, in any order the same; tiny ones do not vanish as squares."""
    exponent = int(np.frexp(np.abs(values).max())[1])
    return math.ldexp(math.sqrt(math.fsum(np.square(np.ldexp(values, -exponent)).tolist())), exponent)


@dataclass(frozen=True)
class Summary:
    """What describes paired differences.

    n: pairs. mean, sd: in the unit of the values; NaN for no pair, or for fewer than 2. effect_size:
    mean / sd, unit free; NaN where all differences are equal. wins, ties, losses: pairs with a difference
    above, equal to and below 0; they add up to n.
    """

    n: int
    mean: float
    sd: float
    effect_size: float
    wins: int
    ties: int
    losses: int


def summarize(differences: Floats) -> Summary:
    """The summary of paired differences (Q,), without NaN.

    The effect size is the mean of the differences over their standard deviation: Cohen's d_z, the sample
    effect size of the paired t-test in Sakai, "Laboratory Experiments in Information Retrieval", 2018.
    """
    pairs = valid_pairs(differences)
    mean, sd = mean_and_sd(pairs)
    effect = math.nan if reason_without_p(pairs) else mean / sd
    wins, losses = int((pairs > 0).sum()), int((pairs < 0).sum())
    return Summary(len(pairs), mean, sd, effect, wins, len(pairs) - wins - losses, losses)
