"""Simulations: tests hold their level, intervals cover, corrections bound what they say, power is as computed.

A rate is compared with what it should be to 4 standard errors of a binomial rate. Seeds are fixed.
"""

import math

import numpy as np
import pytest

from gradeval.statistics.anova import randomized_tukey_hsd
from gradeval.statistics.corrections import CORRECTIONS, maxt
from gradeval.statistics.power import power_of_t_test, smallest_effect_size
from gradeval.statistics.sampling import Sampling
from gradeval.statistics.tests import paired_tests

pytestmark = pytest.mark.slow

ALPHA = 0.05
GROUP = 20  # comparisons that share their random flips, which are then no cause of a common deviation


def error(rate: float, repetitions: int) -> float:
    return 4 * math.sqrt(rate * (1 - rate) / repetitions)


def outcomes(test: str, d: np.ndarray, alpha: float = ALPHA):
    """Of each column, with a seed for each group."""
    groups = range(0, d.shape[1], GROUP)
    return [
        one
        for start in groups
        for one in paired_tests(test, d[:, start : start + GROUP], alpha, Sampling(499, start))
    ]


def symmetric(kind: str, n: int, repetitions: int, rng: np.random.Generator) -> np.ndarray:
    """Differences that are symmetric about 0."""
    if kind == "normal":
        return rng.normal(size=(n, repetitions))
    if kind == "heavy":
        return rng.standard_t(2, (n, repetitions))
    first, second = rng.beta(0.5, 1, (2, n, repetitions))  # many ties: reciprocal ranks
    return 1 / np.ceil(4 * first + 1e-9) - 1 / np.ceil(4 * second + 1e-9)


@pytest.mark.parametrize(
    ("test", "kind", "n", "attained"),
    [
        ("t", "normal", 10, ALPHA),
        ("randomization", "normal", 10, 50 / 1024),  # p is a multiple of 2 / 1024
        ("randomization", "heavy", 30, 25 / 500),  # p is a multiple of 1 / 500
        ("wilcoxon", "normal", 10, 50 / 1024),  # 25 sets of ranks have a sum of at most 8
        ("wilcoxon", "heavy", 60, ALPHA),
        ("sign", "normal", 10, 22 / 1024),  # 1 + 10 sets of at most one sign
        ("sign", "heavy", 20, 43400 / 2**20),
    ],
)
def test_level_and_coverage(test: str, kind: str, n: int, attained: float) -> None:
    """attained: the chance that p <= 0.05, which a test of few queries or flips may not be able to reach."""
    repetitions, center = 20_000 if test in ("t", "sign") else 4000, 0.375
    d = symmetric(kind, n, repetitions, np.random.default_rng(n))
    rejected = np.mean([one.p <= ALPHA for one in outcomes(test, d)])
    assert rejected == pytest.approx(attained, abs=error(attained, repetitions))
    # p < alpha is outside of the interval, and p = alpha is in it
    beyond = np.nextafter(ALPHA, 1)
    covered = np.mean([one.low <= center <= one.high for one in outcomes(test, d + center, beyond)])
    assert covered == pytest.approx(1 - attained, abs=error(attained, repetitions))


@pytest.mark.parametrize(("test", "n"), [("t", 12), ("randomization", 12), ("wilcoxon", 50), ("sign", 12)])
def test_level_with_ties(test: str, n: int) -> None:
    """Discrete differences: never above the level, but for t and the normal approximation within 1 %."""
    repetitions = 3000
    d = symmetric("tied", n, repetitions, np.random.default_rng(n))
    rejected = np.mean([one.p <= ALPHA for one in outcomes(test, d) if not one.reason])
    assert rejected <= ALPHA + error(ALPHA, repetitions) + (0.01 if test in ("t", "wilcoxon") else 0)


def test_coverage_of_the_bootstrap() -> None:
    """BCa is approximate: at 100 queries within 1 % of its confidence, also of skewed differences."""
    repetitions, n = 2000, 100
    d = np.random.default_rng(1).exponential(1, (n, repetitions)) - 1
    covered = np.mean([one.low <= 0 <= one.high for one in outcomes("bootstrap", d, 0.1)])
    assert covered == pytest.approx(0.9, abs=error(0.9, repetitions) + 0.01)


def family(repetitions: int, comparisons: int, n: int, rng: np.random.Generator, effects: np.ndarray):
    """Comparisons of several runs with one baseline: they share its values."""
    for _ in range(repetitions):
        yield rng.normal(size=(n, 1)) - rng.normal(size=(n, comparisons)) + effects


@pytest.mark.parametrize("effects", [np.zeros(6), np.array([0, 0, 0, 0, 0.8, 0.8])])
def test_any_false_rejection(effects: np.ndarray) -> None:
    """Holm, Bonferroni and maxT bound its chance, also where some differences are real; maxT uses it up."""
    repetitions, null = 600, effects == 0
    false = {"holm": 0, "bonferroni": 0, "maxt": 0, "none": 0}
    for seed, d in enumerate(family(repetitions, 6, 24, np.random.default_rng(2), effects)):
        p = np.array([one.p for one in paired_tests("t", d, ALPHA, Sampling())])
        for name in false:
            corrected = maxt(d, Sampling(499, seed)) if name == "maxt" else CORRECTIONS[name](p)
            false[name] += bool((corrected <= ALPHA)[null].any())
    assert all(
        false[name] / repetitions <= ALPHA + error(ALPHA, repetitions) for name in false if name != "none"
    )
    assert false["none"] / repetitions > 0.1
    if null.all():
        assert false["maxt"] / repetitions == pytest.approx(ALPHA, abs=error(ALPHA, repetitions))
        assert false["bonferroni"] <= false["holm"] <= false["maxt"]


def test_share_of_false_rejections() -> None:
    """Benjamini and Hochberg: at most alpha times the share of true null hypotheses."""
    effects = np.array([0, 0, 0, 0, 0.9, 0.9, 0.9, 0.9])
    shares = []
    for d in family(1000, 8, 20, np.random.default_rng(3), effects):
        p = np.array([one.p for one in paired_tests("t", d, ALPHA, Sampling())])
        rejected = CORRECTIONS["bh"](p) <= ALPHA
        shares.append(rejected[effects == 0].sum() / max(rejected.sum(), 1))
    assert np.mean(shares) <= ALPHA / 2 + 4 * np.std(shares) / math.sqrt(len(shares))


def test_any_false_rejection_of_tukeys_hsd() -> None:
    repetitions = 1000
    rng = np.random.default_rng(4)
    false = covered = 0
    for seed in range(repetitions):
        values = rng.beta(2, 3, (20, 1)) + rng.normal(0, 0.1, (20, 4))
        found = randomized_tukey_hsd(values, ALPHA, Sampling(199, seed))
        false += bool(np.nanmin(found.p) <= ALPHA)
        covered += bool((np.abs(found.differences) <= found.margin).all())
    assert false / repetitions == pytest.approx(ALPHA, abs=error(ALPHA, repetitions))
    assert covered >= repetitions - false


@pytest.mark.parametrize("n", [5, 25, 100])
def test_power_of_the_t_test(n: int) -> None:
    repetitions = 6000
    rng = np.random.default_rng(n)
    for effect in (smallest_effect_size(n, ALPHA), 0.3):
        d = rng.normal(effect, 1, (n, repetitions))
        shown = np.mean([one.p < ALPHA for one in paired_tests("t", d, ALPHA, Sampling())])
        expected = power_of_t_test(effect, n, ALPHA)
        assert shown == pytest.approx(expected, abs=error(expected, repetitions))
