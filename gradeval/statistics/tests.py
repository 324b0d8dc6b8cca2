"""Paired differences, what describes them, and the paired tests by name: p and its interval.

They need only scipy.special, whose import takes a third of the time of that of scipy.stats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.records import Record
from gradeval.statistics import intervals
from gradeval.statistics.sampling import FEW_PAIRS, TOLERANCE, FixedPoint, Sampling, over_flips, resampled_means
from gradeval.statistics.weighted import Sample, relative

TOO_FEW_PAIRS: Final = "fewer than 2 pairs"
ALL_EQUAL: Final = "all differences are equal"
FEW_EFFECTIVE: Final = "the weights leave fewer than 2 effective queries"
NO_P: Final = "the bootstrap has an interval and no p"
REASONS: Final = (TOO_FEW_PAIRS, ALL_EQUAL, FEW_EFFECTIVE, NO_P)  # of the values, why there is no p

_EXACT_RANKS = 50  # nonzero pairs up to which the signed-rank test is exact, where no two are tied
_EXACT_TIED_RANKS = 13  # pairs up to which it is exact where some are
_TOGETHER = 32  # comparisons that share their flips or resamples
_HELD = 1 << 25  # numbers of all of them that are held at once, 256 MB, or those of one comparison


def paired_differences(baseline: Floats, run: Floats) -> Floats:
    """run - baseline for each query, NaN where either is; 0 if they agree to 1e-12, for rounding is no win."""
    difference = run - baseline
    difference[np.abs(difference) <= TOLERANCE * np.maximum(np.abs(baseline), np.abs(run))] = 0.0
    return difference


def reason_without_p(pairs: Floats, effective_n: float = math.inf) -> str:
    """Why the differences (n,) have no p whatever the test, or ''. effective_n: of weighted ones."""
    if len(pairs) < 2:
        return TOO_FEW_PAIRS
    if np.ptp(pairs) <= TOLERANCE * np.abs(pairs).max():
        return ALL_EQUAL
    return FEW_EFFECTIVE if effective_n < 2 - TOLERANCE else ""


class PairedSummary(Record):
    """A description of n paired differences."""

    n: int
    effective_n: float  # as of Sample
    mean: float  # NaN for no pair
    sd: float  # NaN for fewer than 2
    effect_size: float  # mean / sd; NaN where all differences are equal, or one has nearly all of the weight
    wins: int  # differences above 0, whatever their weights
    ties: int  # equal to 0
    losses: int


def summarize(differences: Floats, weights: Floats | None = None) -> PairedSummary:
    """The summary of paired differences (Q,), without NaN; the effect size is Cohen's d_z (Sakai, 2018).
    weights: of the queries, (Q,).
    """
    sample = Sample.of(differences, weights)
    has_effect_size = not reason_without_p(sample.values, sample.effective_n) and sample.sd > 0
    wins = int((sample.values > 0).sum())
    losses = int((sample.values < 0).sum())
    return PairedSummary(
        n=sample.n,
        effective_n=sample.effective_n,
        mean=sample.mean,
        sd=sample.sd,
        effect_size=sample.mean / sample.sd if has_effect_size else math.nan,
        wins=wins,
        ties=sample.n - wins - losses,
        losses=losses,
    )


class PairedOutcome(Record):
    """The outcome of a test in one comparison."""

    p: float  # two-sided, uncorrected; NaN where there is none
    # of the interval; infinite where the test can reject nothing on that side, NaN for fewer than 2 pairs
    low: float
    high: float
    estimate: float  # what the interval is of, PairedTest.estimand
    method: str  # how p was found
    reason: str = ""  # why there is no p


class PairedTest(Record):
    """A paired test."""

    title: str  # its name in full
    estimand: str  # what its interval is of
    # of the differences (Q, C) and the weights of the queries (Q,), which tests by ranks and signs ignore
    run: Callable[[Floats, Floats, float, Sampling], list[PairedOutcome]]


def paired_tests(
    test: str, differences: Floats, alpha: float, sampling: Sampling, weights: Floats | None = None
) -> list[PairedOutcome]:
    """The outcomes of a test for the comparisons in the columns of differences (Q, C), in order. NaN are pairs
    that are left out; all others are finite. test: one of TESTS. alpha: the level of the test, between 0 and 1;
    the intervals have the confidence 1 - alpha, and contain 0 exactly where p >= alpha. With fewer than 2
    pairs, or 2 effective ones by the weights, or equal differences, there is no p; where all are equal, the
    interval is that value. weights: of the queries, (Q,), those of weight 0 are left out; None: all count
    alike. Only the tests in WEIGHTED_TESTS of gradeval.compare_options have weights.
    """
    if weights is None:
        weights = np.ones(len(differences))
    else:
        weights, differences = relative(weights), np.where(weights[:, None] > 0, differences, np.nan)
    outcomes = [without_p(Sample.of(column, weights)) for column in differences.T]
    is_tested = [outcome is None for outcome in outcomes]
    tested = iter(TESTS[test].run(differences[:, is_tested], weights, alpha, sampling))
    return [outcome or next(tested) for outcome in outcomes]


def without_p(sample: Sample) -> PairedOutcome | None:
    """The outcome of differences that have no p whatever the test; None for others."""
    if not (reason := reason_without_p(sample.values, sample.effective_n)):
        return None
    outcome = untested(sample.mean, reason)
    return outcome.replace(low=sample.mean, high=sample.mean) if reason == ALL_EQUAL else outcome


def untested(mean: float, reason: str) -> PairedOutcome:
    """The outcome of differences with this mean that are not tested, as the reason says."""
    return PairedOutcome(math.nan, math.nan, math.nan, mean, "", reason=reason)


def _one_by_one(
    test: Callable[[Sample, float], PairedOutcome],
    differences: Floats,
    weights: Floats,
    alpha: float,
    sampling: Sampling,
) -> list[PairedOutcome]:
    """Each column is tested separately, by a test that samples nothing."""
    return [test(Sample.of(column, weights), alpha) for column in differences.T]


def t_outcome(n: float, mean: float, sd: float, alpha: float) -> PairedOutcome:
    """The paired t-test of n >= 2 differences with this mean and standard deviation, not all equal. t = mean /
    (sd / sqrt(n)) with n - 1 degrees of freedom; p = P(|T| >= |t|). The interval is that of the mean
    difference. n: of weighted differences their effective number, above 1.
    Source: Student, "The probable error of a mean", Biometrika 1908.
    """
    from scipy.special import stdtr

    error = sd / math.sqrt(n)
    df = max(n - 1, intervals.LEAST_DF)
    p = 2 * float(stdtr(df, -abs(mean / error))) if df > intervals.LEAST_DF else 1.0
    interval = intervals.agreeing(intervals.t_interval(mean, error, df, alpha), p, alpha, mean)
    return PairedOutcome(p, *interval, mean, f"t with {df:.1f} degrees of freedom".replace(".0 ", " "))


def sign_test(sample: Sample, alpha: float) -> PairedOutcome:
    """The sign test of differences (n,), n >= 2, not all equal; differences of 0 are left out. p = 2 P(X >=
    max(wins, losses)), at most 1, with X binomial of wins + losses trials and probability 1/2. The interval is
    that of the median of the differences other than 0, from their order statistics.
    Source: Dixon and Mood, "The statistical sign test", JASA 1946.
    """
    from scipy.special import bdtr

    ordered = np.sort(sample.values[sample.values != 0])
    n = len(ordered)

    def p_value(margin: int) -> float:
        return min(1.0, 2 * float(bdtr((n - margin) // 2, n, 0.5)))

    balance = int(np.sign(ordered).sum())
    return _by_ranks(lambda i: float(ordered[i]), n, p_value, balance, alpha, method="exact binomial")


def _by_ranks(
    order_statistic: Callable[[int], float],
    size: int,
    p_value: Callable[[int], float],
    balance: int,
    alpha: float,
    method: str,
) -> PairedOutcome:
    """The outcome of a test by ranks; balance: its statistic. See intervals.rank_interval."""
    p = p_value(abs(balance))
    interval = intervals.rank_interval(order_statistic, size, p_value, alpha)
    low, high = intervals.agreeing(interval, p, alpha, balance)
    median = (order_statistic((size - 1) // 2) + order_statistic(size // 2)) / 2
    # ties may leave a median of exactly 0 though the test rejects 0: the open end of the interval
    return PairedOutcome(p, low, high, min(max(median, low), high), method)


def wilcoxon_test(sample: Sample, alpha: float) -> PairedOutcome:
    """Wilcoxon's signed-rank test of differences (n,), n >= 2, not all equal. Differences of 0 are left out;
    tied magnitudes get their mean rank. The statistic is the sum of the ranks of the positive differences less
    that of the negative. p is exact for up to 50 differences without ties or zeros, and for up to 13 with; else
    the normal approximation with the variance corrected for ties, as scipy.stats.wilcoxon(method='auto'). The
    interval is that of the Hodges-Lehmann estimate, the median of the Walsh averages of the differences other
    than 0, from the order statistics of these.
    Source: Wilcoxon, 1945; Hollander and Wolfe, "Nonparametric Statistical Methods", 1999, chapter 3.
    """
    from scipy.special import ndtr

    nonzero = sample.values[sample.values != 0]
    order = np.argsort(np.abs(nonzero))
    magnitude = np.abs(nonzero)[order]
    # magnitudes that agree to 1e-12 of the largest are made equal
    starts = np.diff(magnitude, prepend=-1.0) > TOLERANCE * magnitude.max(initial=0.0)
    n = len(nonzero)
    position = np.empty(len(nonzero), np.int64)
    position[order] = np.cumsum(starts) - 1
    ordered = np.sort(np.copysign(magnitude[starts][position], nonzero))
    count = np.bincount(position)
    double_rank = (2 * np.cumsum(count) - count + 1)[position]  # integers, where mean ranks are not
    balance = int((np.where(nonzero > 0, 1, -1) * double_rank).sum()) // 2
    tied = n < sample.n or len(count) < n
    exact = sample.n <= (_EXACT_TIED_RANKS if tied else _EXACT_RANKS)
    if exact:  # all sets of signs are counted (Streitberg and Röhmel, 1986): exact up to n = 52
        total = int(double_rank.sum())
        ways = np.zeros(total + 1)  # ways[s]: how many sets of positive ranks have the sum s / 2
        ways[0] = 1
        for rank in double_rank.tolist():
            ways[rank:] += ways[:-rank].copy()
        tail = np.cumsum(ways[::-1])[::-1] / 2.0**n
    ties = count.astype(np.float64)
    variance = (n * (n + 1) * (2 * n + 1) - float((ties**3 - ties).sum()) / 2) / 24

    def p_value(margin: int) -> float:
        if exact:
            return min(1.0, 2 * float(tail[total // 2 + margin]))
        return 2 * float(ndtr(-margin / 2 / math.sqrt(variance)))

    walsh = partial(intervals.walsh_order_statistic, ordered)
    method = "exact" if exact else "normal approximation"
    return _by_ranks(walsh, n * (n + 1) // 2, p_value, balance, alpha, method=method)


def randomization_tests(
    differences: Floats, weights: Floats, alpha: float, sampling: Sampling
) -> list[PairedOutcome]:
    """Fisher's randomization test of each column of differences (Q, C), by flipping signs. p = (b + 1) / (B +
    1) for b of B flips whose sum reaches the magnitude of the observed one, to 1e-12 of sum |d|. All sets of
    signs are tried for up to 16 pairs, and p is then exact; otherwise `samples` random ones, the same for all
    comparisons: they belong to the rows. Sums are exact. weights: (Q,), of differences in the sums.
    Source: Fisher, "The Design of Experiments", 1935, section 21; Smucker, Allan and Carterette, CIKM 2007; (b
    + 1) / (B + 1): Phipson and Smyth, "Permutation p-values should never be zero", 2010.
    """
    few = (~np.isnan(differences)).sum(axis=0) <= FEW_PAIRS
    outcomes = {}
    for column in np.flatnonzero(few).tolist():
        rows = ~np.isnan(differences[:, column])
        [outcomes[column]] = _flipped(differences[rows, column][:, None], weights[rows], alpha, sampling)
    for group in _groups(np.flatnonzero(~few), 2 * intervals.flips_held(sampling.samples, alpha)):
        outcomes |= zip(group.tolist(), _flipped(differences[:, group], weights, alpha, sampling), strict=True)
    return [outcomes[column] for column in range(differences.shape[1])]


def _groups(columns: Ints, held: int) -> Iterator[Ints]:
    """Columns in groups small enough to be sampled together; held: the numbers held of each."""
    size = min(max(1, _HELD // held), _TOGETHER)
    return (columns[start : start + size] for start in range(0, len(columns), size))


def _flipped(differences: Floats, weights: Floats, alpha: float, sampling: Sampling) -> list[PairedOutcome]:
    """The outcomes of the columns (Q, C), all with the same flips of all Q rows. With S the sum of the flipped
    differences, each times its weight, F that of their weights, and S', F' those of the others, a flip of d - v
    is at least as extreme as none for v from the lesser to the greater of the means S / F and S' / F', and for
    every v if one has no differences. A sum within half the tolerance counts as 0, so that ties have v = 0.
    """
    queries = len(differences)
    valid = ~np.isnan(differences)
    weighted = np.where(valid, differences * weights[:, None], 0.0)
    fixed = FixedPoint.of(weighted)
    patterns, pattern = _patterns(valid)
    shares = FixedPoint.of(patterns * weights[:, None])
    columns = np.concatenate([fixed.parts, shares.parts], axis=1)
    total = columns.sum(axis=0)
    last = fixed.parts.shape[1]
    slack = np.array([TOLERANCE / 2 * math.fsum(column) for column in np.abs(weighted).T.tolist()])

    def mean(sums: Floats) -> Floats:
        value = fixed.value(sums[:, :last])
        share = shares.value(sums[:, last:])[:, pattern]
        value[np.abs(value) <= slack] = 0.0
        return value / share

    def ranges(sums: Floats) -> tuple[Floats, Floats]:
        with np.errstate(invalid="ignore", divide="ignore"):
            flipped = mean(sums)
            complements = mean(total - sums)
        low, high = np.minimum(flipped, complements), np.maximum(flipped, complements)
        return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)

    flips = sampling.flips(queries)
    method = f"all {2**queries:,} sign flips" if queries <= FEW_PAIRS else f"{flips:,} random sign flips"
    blocks = over_flips(columns, sampling, ranges)
    intervals_by_sign = intervals.sign_flip_intervals(blocks, differences.shape[1], flips, alpha)
    return [
        PairedOutcome(p, low, high, Sample.of(column, weights).mean, method)
        for p, low, high, column in zip(
            *(end.tolist() for end in intervals_by_sign), differences.T, strict=True
        )
    ]


def _patterns(valid: Bools) -> tuple[Bools, Ints]:
    """The different columns of valid (Q, C), (Q, P), and which of them each column is, (C,)."""
    patterns, pattern = np.unique(valid, axis=1, return_inverse=True)
    return patterns, pattern.reshape(-1)


def bootstrap_intervals(
    differences: Floats, weights: Floats, alpha: float, sampling: Sampling
) -> list[PairedOutcome]:
    """The BCa interval of the mean of each column of differences (Q, C), of the same resamples; no p. Queries
    are drawn alike, and keep their weights (Q,) in the mean of a resample.
    """
    outcomes = {}
    method = f"{sampling.samples:,} bootstrap resamples"
    patterns, pattern = _patterns(~np.isnan(differences))
    for index, rows in enumerate(patterns.T):
        for group in _groups(np.flatnonzero(pattern == index), sampling.samples):
            resampled = resampled_means(differences[np.ix_(rows, group)], sampling, weights[rows])
            for column, means in zip(group.tolist(), resampled.T, strict=True):
                sample = Sample.of(differences[rows, column], weights[rows])
                pairs = sample.values, sample.mean
                interval = intervals.bca_interval(means, *pairs, alpha, sample.weights)
                outcomes[column] = PairedOutcome(math.nan, *interval, sample.mean, method, NO_P)
    return [outcomes[column] for column in range(differences.shape[1])]


def interval_of_mean(
    values: Floats,
    mean: float,
    method: str,
    confidence: float,
    *,
    bounds: tuple[float, float] = intervals.UNBOUNDED,
    weights: Floats | None = None,
) -> tuple[float, float]:
    """The interval of the mean of the values that are not NaN, (Q,); NaN for fewer than two of them. method:
    't', or 'bootstrap', BCa of 100,000 resamples. confidence: in percent. bounds: the lowest and the highest
    value that there can be, at which t intervals end. weights: of the queries, (Q,).
    """
    sample = Sample.of(values, weights)
    alpha = 1 - confidence / 100
    if sample.n < 2:
        return math.nan, math.nan
    if method == "bootstrap":
        if (sample.values == sample.values[0]).all():
            return mean, mean
        [outcome] = bootstrap_intervals(sample.values[:, None], sample.weights, alpha, Sampling())
        return outcome.low, outcome.high
    interval = intervals.t_interval(mean, sample.standard_error, sample.effective_n - 1, alpha)
    return intervals.within(interval, mean, bounds)


def _t_test(sample: Sample, alpha: float) -> PairedOutcome:
    return t_outcome(sample.effective_n, sample.mean, sample.sd, alpha)


_HODGES_LEHMANN = "Hodges-Lehmann estimate of the nonzero differences"
TESTS: Final = {
    "t": PairedTest("paired t-test", "mean difference", partial(_one_by_one, _t_test)),
    "randomization": PairedTest("randomization test by sign flips", "mean difference", randomization_tests),
    "bootstrap": PairedTest("bootstrap BCa interval", "mean difference", bootstrap_intervals),
    "wilcoxon": PairedTest("Wilcoxon signed-rank test", _HODGES_LEHMANN, partial(_one_by_one, wilcoxon_test)),
    "sign": PairedTest("sign test", "median of the nonzero differences", partial(_one_by_one, sign_test)),
}
