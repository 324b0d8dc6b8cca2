"""Agreement of raters about the grades of documents: Cohen's κ, Krippendorff's α, the mean difference; and of
orders of systems, by two metrics or by random halves of the queries: rank correlation.

Documents of a query are not independent, so that the bootstrap samples queries, not documents.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import distinct
from gradeval.records import Record
from gradeval.statistics.intervals import bca_interval
from gradeval.statistics.sampling import TOLERANCE, FixedPoint, Sampling, over_resamples

ALPHAS: Final = ("alpha_nominal", "alpha_ordinal", "alpha_interval")
OF_TWO: Final = ("agreement", "kappa", "kappa_linear", "kappa_quadratic", *ALPHAS, "difference")

_CELLS = 1 << 20  # sums that are held at once


class Ratings(Record, eq=False):
    """The grades that R raters gave the same documents with two grades or more, counted by query."""

    raters: int
    levels: Floats  # the different grades, ascending, (G,)
    queries: Ints  # ascending, (Q,)
    # sparse, (Q, R G + K): how often each rater gave each grade, and the pairs of grades of the same document,
    # a column for each kind of pair; a pair of a document with m grades weighs 1 / (m - 1)
    table: Any
    first: Ints  # the grade of each kind that the earlier rater gave, as a position in levels, (K,)
    second: Ints  # that of the later rater

    @classmethod
    def of(cls, grades: Floats, query: Ints) -> Ratings:
        """grades: of each rater and document, (R, N), NaN: none. query: of each document, (N,)."""
        from scipy.sparse import csr_array

        rated = (~np.isnan(grades)).sum(axis=0)
        grades = grades[:, rated > 1]
        query = query[rated > 1]
        rated = rated[rated > 1]
        is_rated = ~np.isnan(grades)
        levels = distinct(grades[is_rated])
        queries = distinct(query)
        row = np.searchsorted(queries, query)
        code = np.searchsorted(levels, grades)
        size = len(levels)
        columns = [rater * size + code[rater, is_rated[rater]] for rater in range(len(grades))]
        rows = [row[has] for has in is_rated]
        weights = [np.ones(len(column)) for column in columns]
        both = [(a, b, is_rated[a] & is_rated[b]) for a, b in combinations(range(len(grades)), 2)]
        pairs = np.concatenate([code[a, has] * size + code[b, has] for a, b, has in both])
        kinds, kind = np.unique(pairs, return_inverse=True)
        columns.append(len(grades) * size + kind)
        rows += [row[has] for _, _, has in both]
        weights += [1 / (rated[has] - 1) for _, _, has in both]
        cells = np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))
        table = csr_array(cells, shape=(len(queries), len(grades) * size + len(kinds)))  # adds up duplicates
        return cls(len(grades), levels, queries, table, *np.divmod(kinds, max(size, 1)))

    @property
    def names(self) -> tuple[str, ...]:
        """The statistics for so many raters, in order: for more than two only Krippendorff's."""
        return OF_TWO if self.raters == 2 else ALPHAS

    @property
    def scaled(self) -> Floats:
        """The levels as shares of the largest magnitude, if that is above 1."""
        return self.levels / max(float(np.abs(self.levels).max()), 1.0)

    @property
    def units(self) -> list[float]:
        """What each statistic is rounded relative to: the range of the grades for their difference, or 1."""
        return [float(np.ptp(self.levels)) if name == "difference" else 1.0 for name in self.names]

    def overall(self) -> Floats:
        return np.asarray(self._statistics(self.table.sum(axis=0)[None])[0])

    def by_query(self) -> Floats:
        return self._in_blocks(len(self.queries), lambda rows: self.table[rows].toarray())

    def without_each(self) -> Floats:
        total = self.table.sum(axis=0)
        return self._in_blocks(len(self.queries), lambda rows: total - self.table[rows].toarray())

    def resampled(self, sampling: Sampling) -> Floats:
        """The statistics of bootstrap resamples of the queries, (samples, S)."""

        def of_block(times: Floats) -> Floats:
            return self._in_blocks(len(times), lambda rows: times[rows] @ self.table)

        return np.concatenate(list(over_resamples(len(self.queries), sampling, of_block)))

    def _in_blocks(self, count: int, sums: Callable[[slice], Floats]) -> Floats:
        """The statistics of samples, a block at a time. sums: of the rows of the table, for some samples."""
        size = max(1, _CELLS // max(int(self.table.shape[1]), 1))
        parts = (self._statistics(sums(slice(start, start + size))) for start in range(0, count, size))
        return np.concatenate([np.empty((0, len(self.names))), *parts])

    def _statistics(self, sums: Floats) -> Floats:
        """The statistics of samples with these sums of the rows of the table, (B, S)."""
        if not len(self.levels):
            return np.full((len(sums), len(self.names)), np.nan)
        counts = sums[:, : self.raters * len(self.levels)].reshape(len(sums), self.raters, -1)
        pairs = sums[:, self.raters * len(self.levels) :]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.array(self._alphas(counts.sum(axis=1), pairs))
            if self.raters == 2:
                documents = pairs.sum(axis=1)
                change = self.levels[self.second] - self.levels[self.first]
                agreement = (pairs * (change == 0)).sum(axis=1) / documents
                difference = (pairs * change).sum(axis=1) / documents
                values = np.array([agreement, *self._kappas(counts, pairs), *values, difference])
        return np.transpose(values)

    def _kappas(self, counts: Floats, pairs: Floats) -> list[Floats]:
        """Cohen's κ of two raters: unweighted, linear, quadratic, (B,) each; NaN where all grades are equal. κ
        = 1 - Σ w observed / Σ w expected, w = 1 for two different grades, |i - j|, or (i - j)², of grades i, j.
        counts: how often each gave each grade, (B, 2, G). pairs: documents by the kind of pair, (B, K).
        Source: Cohen, "A coefficient of agreement for nominal scales", 1960; "Weighted kappa", 1968.
        """
        documents = pairs.sum(axis=1)
        value = self.scaled
        p, q = (counts[:, rater] / documents[:, None] for rater in (0, 1))
        means = [(shares * value).sum(axis=1) for shares in (p, q)]
        spread = (
            (shares * np.square(value - m[:, None])).sum(axis=1)
            for shares, m in zip((p, q), means, strict=True)
        )
        up_to_p, up_to_q = (np.cumsum(shares, axis=1)[:, :-1] for shares in (p, q))
        expected = (
            (p * (1 - q)).sum(axis=1),
            # two grades are apart by the gaps that lie between them
            ((up_to_p * (1 - up_to_q) + up_to_q * (1 - up_to_p)) * np.diff(value)).sum(axis=1),
            sum(spread) + np.square(means[0] - means[1]),
        )
        apart = np.abs(value[self.first] - value[self.second])
        observed = [(pairs * weight).sum(axis=1) / documents for weight in (apart > 0, apart, np.square(apart))]
        return [1 - o / e for o, e in zip(observed, expected, strict=True)]  # 0 / 0 where all grades are equal

    def _alphas(self, counts: Floats, pairs: Floats) -> list[Floats]:
        """Krippendorff's α, nominal, ordinal and interval, (B,) each; NaN where all grades are equal. α = 1 -
        D_o / D_e, D_o = Σ o_ck δ²_ck / n, D_e = Σ n_c n_k δ²_ck / (n (n - 1)), over all ordered pairs of grades
        c, k; n_c is how often c was given to documents with two grades or more, n their sum. δ² is 1 for
        different grades (nominal), (c - k)² (interval), or the square of Σ_{g=c..k} n_g - (n_c + n_k) / 2
        (ordinal), which is the distance of the mean ranks of c and k. counts: n_c, (B, G). pairs: o_ck of pairs
        in one order, (B, K).
        Source: Krippendorff, "Computing Krippendorff's alpha-reliability", 2011.
        """
        n = counts.sum(axis=1)
        varies = np.count_nonzero(counts, axis=1) > 1  # where not, the mean may differ from them by rounding
        mean_rank = (np.cumsum(counts, axis=1) - counts / 2) / n[:, None]
        value = np.broadcast_to(self.scaled, counts.shape)
        observed = [(pairs * (self.first != self.second)).sum(axis=1)]
        expected = [(counts * (n[:, None] - counts)).sum(axis=1)]
        for position in (mean_rank, value):
            observed.append((pairs * np.square(position[:, self.first] - position[:, self.second])).sum(axis=1))
            mean = (counts * position).sum(axis=1) / n
            expected.append(2 * n * (counts * np.square(position - mean[:, None])).sum(axis=1))
        return list(np.where(varies, 1 - (n - 1) * 2 * np.array(observed) / np.array(expected), np.nan))


def estimates(ratings: Ratings, alpha: float, sampling: Sampling) -> list[tuple[float, float, float]]:
    """The statistics in the order of Ratings.names, each with the ends of its bootstrap interval (BCa) over
    queries with the jackknife's acceleration; NaN where it is undefined, or with fewer than two queries.
    """
    values = ratings.overall().tolist()
    if len(ratings.queries) < 2:
        return [(value, math.nan, math.nan) for value in values]
    made = []
    columns = (ratings.resampled(sampling).T, ratings.without_each().T, ratings.units)
    for value, of_samples, of_others, unit in zip(values, *columns, strict=True):
        valid = of_samples[~np.isnan(of_samples)]
        low = math.nan
        high = math.nan
        if not np.isnan(value) and len(valid):
            influence = _influences(of_others, unit)
            if influence.any() and np.ptp(valid) != 0:
                low, high = bca_interval(valid, value + influence, value, alpha)
            else:
                low, high = np.quantile(valid, [alpha / 2, 1 - alpha / 2]).tolist()
        made.append((value, low, high))
    return made


def _influences(of_others: Floats, unit: float) -> Floats:
    """The influence of each query, where the mean of numbers would have its difference from the mean, by the
    values without it: 0 where that is undefined, and for all queries where no value differs beyond rounding.
    """
    if np.isnan(of_others).all():
        return np.zeros(len(of_others))
    influence = np.nan_to_num(np.nanmean(of_others) - of_others)
    is_rounding = float(np.abs(influence).max()) <= TOLERANCE * unit
    return np.zeros(len(of_others)) if is_rounding else influence


def levels_of(values: Floats) -> Ints:
    """The place of each value among the different ones of its row, from 0 for the smallest, (…, S); all 0 where
    one is NaN. Values that agree to 1e-12 of the largest magnitude are equal: rounding orders no systems.
    """
    order = np.argsort(values, axis=-1, kind="stable")
    largest = np.abs(values).max(axis=-1, initial=0.0, keepdims=True)
    steps = np.diff(np.take_along_axis(values, order, -1)) > TOLERANCE * largest  # none where one is NaN
    level = np.zeros(values.shape, np.int64)
    np.put_along_axis(level, order[..., 1:], np.cumsum(steps, axis=-1), -1)
    return level


def pair_signs(level: Ints) -> Floats:
    """The sign of each value less each other, (S, S)."""
    return np.asarray(np.sign(level[:, None] - level), np.float64)


def kendall_tau(x: Ints, y: Ints) -> float:
    """Kendall's τ-b of two orders of S systems, by the places of levels_of(); NaN where one has all tied. τ-b =
    (concordant - discordant pairs) / sqrt((pairs not tied in x) (pairs not tied in y)).
    Source: Kendall, "The treatment of ties in ranking problems", Biometrika 1945.
    """
    a, b = pair_signs(x), pair_signs(y)
    apart = math.sqrt(float(np.square(a).sum()) * float(np.square(b).sum()))
    return float((a * b).sum()) / apart if apart else math.nan


def tau_ap(estimate: Ints, truth: Ints) -> float:
    """The AP correlation of an order of S systems with the true one, by the places of levels_of(). τ_AP = 2 /
    (S - 1) · sum over i = 2 … S of C(i) / (i - 1) - 1, with C(i) the systems above rank i of the estimate that
    the truth has above the one at rank i too: errors at the top cost most. Where the estimate ties systems, it
    is the mean over all orders of the tied; a pair that the truth ties counts as half right. With all of the
    truth tied, or fewer than 2 systems, it is NaN. It is not symmetric.
    Source: Yilmaz, Aslam and Robertson, SIGIR 2008; ties: τ_AP,a of Urbano and Marrero, ICTIR 2017.
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


class OrderCorrelations(NamedTuple):
    """How alike two orders of systems are."""

    tau: float  # Kendall's τ-b
    tau_ap: float  # the AP correlation: the mean of these two
    tau_ap_truth_first: float  # with the first order as the true one
    tau_ap_truth_second: float


def correlations(first: Ints, second: Ints) -> OrderCorrelations:
    """Of two orders by levels_of()."""
    truth_first = tau_ap(second, first)
    truth_second = tau_ap(first, second)
    mean = (truth_first + truth_second) / 2
    return OrderCorrelations(kendall_tau(first, second), mean, truth_first, truth_second)


class _QuerySums(Record, eq=False):
    """Values of queries as integers, whose sums over any sample of the queries are exact."""

    columns: Floats  # (Q, 3 C)
    fixed: FixedPoint

    @classmethod
    def of(cls, values: Floats) -> _QuerySums:
        """values: (Q, C), NaN for none."""
        defined = ~np.isnan(values)
        fixed = FixedPoint.of(np.where(defined, values, 0.0))
        return cls(np.concatenate([fixed.parts, defined.astype(np.float64)], axis=1), fixed)

    def means(self, sums: Floats) -> Floats:
        """The means of samples with these sums of the columns, (B, 3 C); NaN where a sample has no value."""
        last = self.fixed.parts.shape[1]
        with np.errstate(invalid="ignore"):
            return self.fixed.value(sums[:, :last]) / sums[:, last:]


class HalvesAgreement(NamedTuple):
    """How alike random halves of the queries order systems; NaN for fewer than two queries."""

    tau: float  # the mean of Kendall's τ-b over the splits
    low: float  # its 5 % quantile
    high: float  # its 95 % quantile
    swapped: float  # the mean share of pairs of systems that the halves order the opposite way


def halves(values: Floats, splits: int, seed: int) -> HalvesAgreement:
    """Of the systems with these values, (Q, R), of which NaN are left out. The first half has Q / 2 queries,
    rounded down.
    """
    queries, systems = values.shape
    if queries < 2:
        return HalvesAgreement(*[math.nan] * 4)
    random = np.random.default_rng(seed)
    query_sums = _QuerySums.of(values)
    columns = query_sums.columns
    total = columns.sum(axis=0)
    taus, swapped = np.empty((2, splits))
    for split in range(splits):
        first = columns[random.permutation(queries)[: queries // 2]].sum(axis=0)  # integers: exact in any order
        orders = levels_of(query_sums.means(np.stack([first, total - first])))
        taus[split] = kendall_tau(*orders)
        opposite = pair_signs(orders[0]) * pair_signs(orders[1]) < 0
        swapped[split] = np.count_nonzero(opposite) / (systems * (systems - 1))
    valid = taus[~np.isnan(taus)]
    tau = float(valid.mean()) if len(valid) else math.nan
    return HalvesAgreement(tau, *_percentiles(valid, 0.1), float(swapped.mean()))


class JudgesAgreement(NamedTuple):
    """How alike two sets of judgments order systems, over bootstrap resamples of the queries."""

    tau_low: float  # the percentile interval of Kendall's τ-b
    tau_high: float
    tau_ap_low: float  # that of the AP correlation
    tau_ap_high: float
    swapped: float  # of the pairs that the first set separates, the share that the second orders otherwise
    swapped_low: float  # its percentile interval
    swapped_high: float
    first_changes: float  # the share of resamples in which no system is the first by both


def judges(
    first: Floats, second: Floats, separated: Bools, alpha: float, sampling: Sampling
) -> JudgesAgreement:
    """Of the systems with these values by each set of judgments, (Q, R) each, the higher the better, of which
    NaN are left out. separated: the pairs of systems, in the order of np.triu_indices, that the first set
    separates, by all queries. NaN where nothing is defined, and with
    one query.
    """
    query_sums = _QuerySums.of(np.concatenate([first, second], axis=1))
    whole = query_sums.means(query_sums.columns.sum(axis=0)[None])
    swapped = _compared_orders(levels_of(whole.reshape(2, -1)), separated).swapped
    resampled = over_resamples(len(first), sampling, lambda times: query_sums.means(times @ query_sums.columns))
    means = np.concatenate(list(resampled)).reshape(sampling.samples, 2, -1)
    is_defined = (len(first) > 1) & ~np.isnan(means).any(axis=(1, 2))
    levels = levels_of(means[is_defined])
    pairs, which = np.unique(levels, axis=0, return_inverse=True)
    compared = np.array([_compared_orders(orders, separated) for orders in pairs]).reshape(-1, 4)
    taus, taus_ap, swaps, changes = compared[which.reshape(-1)].T
    return JudgesAgreement(
        *_percentiles(taus, alpha),
        *_percentiles(taus_ap, alpha),
        swapped,
        *_percentiles(swaps, alpha),
        float(changes.mean()) if len(changes) else math.nan,
    )


class _ComparedOrders(NamedTuple):
    tau: float
    tau_ap: float
    swapped: float
    first_changes: bool


def _compared_orders(orders: Ints, separated: Bools) -> _ComparedOrders:
    """Of two orders of the systems, (2, S)."""
    correlation = correlations(*orders)
    a, b = (pair_signs(order)[np.triu_indices(len(order), 1)][separated] for order in orders)
    swapped = float((a * b < 0).mean()) if separated.any() else math.nan
    both_first = (orders == orders.max(axis=1, keepdims=True)).all(axis=0)
    return _ComparedOrders(correlation.tau, correlation.tau_ap, swapped, not both_first.any())


def _percentiles(values: Floats, alpha: float) -> tuple[float, float]:
    """The ends of the middle 1 - α of the values that are not NaN."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return math.nan, math.nan
    low, high = np.quantile(defined, [alpha / 2, 1 - alpha / 2]).tolist()
    return low, high


def rank_correlation(x: Floats, y: Floats) -> float:
    """Spearman's ρ of n pairs, tied values at their mean place; NaN where one has all equal."""
    middles = []  # the mean place of each value in ascending order, less the mean of all places
    for values in (x, y):
        _, position, count = np.unique(values, return_inverse=True, return_counts=True)
        middles.append((2 * np.cumsum(count) - count - len(values))[position].astype(np.float64))
    a, b = middles
    spread = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / spread if spread else np.nan
