"""Whether metrics, and sets of judgments, order systems alike, and how well they separate them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gradeval.arrays import Floats, Ints, cached_property
from gradeval.arrays.segments import distinct
from gradeval.arrays.strings import Texts
from gradeval.arrays.threads import default_jobs
from gradeval.commands.study.collection import Collection, collect, grades_in
from gradeval.commands.study.tabled import Row, Table
from gradeval.commands.study.tables import MAX_SEED, Study, competing_metrics, levels_of, whole
from gradeval.errors import InputError, MetricError, OptionError, described, is_grade
from gradeval.evaluation.runs import separate_runs
from gradeval.evaluation.score import Scored
from gradeval.formats.sources import Source
from gradeval.notices import MAX_QUERIES, Kind, Notice
from gradeval.options import Options
from gradeval.registry.spec import Spec
from gradeval.statistics.anova import randomized_tukey_hsd
from gradeval.statistics.corrections import CORRECTIONS, maxt
from gradeval.statistics.intervals import check_alpha
from gradeval.statistics.sampling import FixedPoint, Sampling
from gradeval.statistics.tests import TESTS, paired_differences, paired_tests
from gradeval.tables.qrels import Qrels

METRICS = "muAP NDCNG@10 nDCGphi@10 rankDCG nDCG@10 AP"
TUKEY = "tukey"
POWER_TESTS = (*(name for name in TESTS if name != "bootstrap"), TUKEY)
POWER_CORRECTIONS = (*CORRECTIONS, "maxt")
RESCALE = (0.5, 2.0)
_TOGETHER = 256  # pairs of systems that are tested at a time
_SHOWN = 12  # grades of a confusion matrix that is shown


def pair_signs(level: Ints) -> Floats:
    """The sign of each value less each other, (S, S)."""
    signs: Floats = np.sign(level[:, None] - level[None, :]).astype(np.float64)
    return signs


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


class Correlation(NamedTuple):
    """How far two orders of systems agree.

    tau: Kendall's τ-b. tau_ap: the AP correlation, the mean of both directions. truth_first, truth_second: the
    AP correlation of the other order with the first, or the second, as the true one.
    """

    tau: float
    tau_ap: float
    truth_first: float
    truth_second: float

    @classmethod
    def of(cls, first: Ints, second: Ints) -> Correlation:
        """Of two orders by the places of levels_of()."""
        one, other = tau_ap(second, first), tau_ap(first, second)
        return cls(kendall_tau(first, second), (one + other) / 2, one, other)


class Power(NamedTuple):
    """How many of the pairs of systems a metric separates: those whose corrected p is below α."""

    pairs: int
    separated: int
    share: float


class Halves(NamedTuple):
    """How alike two random halves of the queries order the systems.

    tau: the mean of Kendall's τ-b over the splits. low, high: its 5 % and 95 % quantiles. swapped: the mean
    share of pairs that the halves order the opposite way.
    """

    tau: float
    low: float
    high: float
    swapped: float


class Rescaled(NamedTuple):
    """What multiplying all grades by a factor does.

    change: the largest change of a system's mean, in the metric's unit. tau: Kendall's τ-b between the orders
    before and after it.
    """

    change: float
    tau: float


@dataclass(frozen=True, eq=False)
class Ordered:
    """What one set of judgments says of the systems.

    judgments: its name. means: (M, R). better: the same, signed so that higher is better. power, halves: of
    each metric. rescaled: of each metric and factor.
    """

    judgments: str
    means: Floats
    better: Floats
    power: tuple[Power, ...]
    halves: tuple[Halves, ...]
    rescaled: tuple[tuple[Rescaled, ...], ...]

    @cached_property
    def levels(self) -> list[Ints]:
        """The place of each system by each metric, the highest for the best, (M) of (R,)."""
        return [levels_of(own) for own in self.better]


@dataclass(frozen=True, eq=False)
class Confusion:
    """How two sets of judgments grade the documents that both judge.

    grades: the G grades that occur, ascending. counts: (G, G), rows by the first set. only_first, only_second:
    documents of common queries that only one of them judges.
    """

    grades: Floats
    counts: Ints
    only_first: int
    only_second: int

    @property
    def documents(self) -> int:
        return int(self.counts.sum())

    @property
    def agreement(self) -> float:
        """The share of documents with equal grades."""
        return float(np.trace(self.counts)) / self.documents if self.documents else math.nan

    def kappa(self, weights: str = "none") -> float:
        """Cohen's κ, 1 - observed / expected disagreement; NaN where none is expected.

        weights: of two different grades: 1 (none), their distance (linear), or its square (quadratic).
        Source: Cohen, "A coefficient of agreement for nominal scales", 1960; "Weighted kappa", 1968.
        """
        apart = np.abs(self.grades[:, None] - self.grades[None, :])
        weight = {"none": np.sign(apart), "linear": apart, "quadratic": apart * apart}[weights]
        expected = np.outer(self.counts.sum(axis=1), self.counts.sum(axis=0)) / max(self.documents, 1)
        chance = float((weight * expected).sum())
        return 1 - float((weight * self.counts).sum()) / chance if chance else math.nan


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Agreement(Study):
    """The outcome.

    specs: M metrics. systems: the names of R runs. sets: what each set of judgments says of them; there are two
    with qrels2. confusion: of the two sets, None with one.
    """

    name: ClassVar[str] = "agreement"
    specs: tuple[Spec, ...]
    systems: tuple[str, ...]
    sets: tuple[Ordered, ...]
    confusion: Confusion | None = None

    def correlation(self, first: int, second: int, judgments: int = 0) -> Correlation:
        """How far two metrics agree on the order of the systems, by the same judgments."""
        levels = self.sets[judgments].levels
        return Correlation.of(levels[first], levels[second])

    def between_judgments(self, metric: int) -> Correlation:
        """How far the two sets of judgments agree on the order of the systems, by the same metric."""
        one, other = (ordered.levels[metric] for ordered in self.sets)
        return Correlation.of(one, other)

    @property
    def tables(self) -> tuple[Table, ...]:
        names = [str(spec) for spec in self.specs]
        seed = self.options["seed"]
        two = len(self.sets) > 1
        own = ("judgments",) if two else ()

        def rows(of: Callable[[int, Ordered], Iterable[Row]]) -> list[Row]:
            return [
                (*((ordered.judgments,) if two else ()), *row)
                for j, ordered in enumerate(self.sets)
                for row in of(j, ordered)
            ]

        pairs = list(combinations(range(len(names)), 2))
        columns = ("tau", "tau_ap", "tau_ap_truth_first", "tau_ap_truth_second")
        tables = [
            Table(
                "correlations",
                "Agreement of the orders of systems by two metrics",
                (*own, "metric", "other", *columns),
                rows(lambda j, _: ((names[a], names[b], *self.correlation(a, b, j)) for a, b in pairs)),
                shown=bool(pairs),
            ),
            Table(
                "power",
                "Pairs of systems that the metric separates",
                (*own, "metric", *Power._fields),
                rows(lambda _, ordered: ((name, *one) for name, one in zip(names, ordered.power, strict=True))),
            ),
            Table(
                "halves",
                "Agreement of the orders of systems by two halves of the queries",
                (*own, "metric", *Halves._fields, "seed"),
                rows(lambda _, o: ((name, *one, seed) for name, one in zip(names, o.halves, strict=True))),
            ),
            Table(
                "rescaled",
                "What multiplying all grades changes",
                (*own, "metric", "factor", *Rescaled._fields),
                rows(
                    lambda _, ordered: (
                        (name, factor, *one)
                        for name, of in zip(names, ordered.rescaled, strict=True)
                        for factor, one in zip(self.options["rescale"], of, strict=True)
                    )
                ),
                shown=bool(self.options["rescale"]),
            ),
            Table(
                "systems",
                "Mean of each system",
                (*own, "metric", "system", "mean"),
                rows(
                    lambda _, ordered: (
                        (name, system, one)
                        for name, means in zip(names, ordered.means.tolist(), strict=True)
                        for system, one in zip(self.systems, means, strict=True)
                    )
                ),
                shown=False,
            ),
        ]
        return (*self._between(names), *tables)

    def _between(self, names: Sequence[str]) -> list[Table]:
        """The tables that compare two sets of judgments."""
        confusion = self.confusion
        if confusion is None:
            return []
        grades, counts = confusion.grades.tolist(), confusion.counts.tolist()
        first, second = (ordered.judgments for ordered in self.sets)
        orders = [(name, *self.between_judgments(m)) for m, name in enumerate(names)]
        kappas = [confusion.kappa(weights) for weights in ("none", "linear", "quadratic")]
        return [
            Table(
                "judgments",
                "Agreement of the orders of systems by the two sets of judgments",
                ("metric", "tau", "tau_ap", "tau_ap_truth_first", "tau_ap_truth_second"),
                orders,
            ),
            Table(
                "kappa",
                "Agreement of the grades",
                ("documents", "only_first", "only_second", "agreement", "kappa", "linear", "quadratic"),
                [
                    (
                        confusion.documents,
                        confusion.only_first,
                        confusion.only_second,
                        confusion.agreement,
                        *kappas,
                    )
                ],
            ),
            Table(
                "confusion",
                "Documents by their grades",
                ("grade", "grade2", "documents"),
                [
                    (a, b, n)
                    for a, own in zip(grades, counts, strict=True)
                    for b, n in zip(grades, own, strict=True)
                ],
                shown=False,
            ),
            Table(
                "matrix",
                f"Documents by their grades: rows by {first}, columns by {second}",
                ("grade", *(f"{grade:g}" for grade in grades)),
                [(f"{grade:g}", *own) for grade, own in zip(grades, counts, strict=True)],
                data=False,
                shown=len(grades) <= _SHOWN,
            ),
        ]


def agreement(
    qrels: Any,
    runs: Any,
    metrics: str | Iterable[str] = METRICS,
    *,
    qrels2: Any = None,
    test: str = "t",
    correction: str = "holm",
    alpha: float = 0.05,
    samples: int = 100_000,
    splits: int = 100,
    rescale: Sequence[float] = RESCALE,
    seed: int = 1,
    watch: Callable[[Source], None] | None = None,
    **options: Any,
) -> Agreement:
    """Whether metrics order systems alike, how well they separate them, and how stable their orders are.

    For each pair of metrics: Kendall's τ-b and the AP correlation between the orders of the systems by their
    means. For each metric: the share of pairs of systems that a paired test separates at α after correction for
    all pairs (discriminative power: Sakai 2006); the agreement of two random halves of the queries; and what
    multiplying all grades by the factors of `rescale` changes, while levels of relevance that are given as
    numbers stay. With qrels2, all of it for both sets of judgments on the queries that both have, and the
    agreement between them: of the orders of systems by each metric, and of the grades.

    qrels, runs, options: as evaluate() takes them. test: one of POWER_TESTS, 'tukey' being the randomized Tukey
    HSD, which is its own correction. correction: one of POWER_CORRECTIONS. samples: of tests that sample.
    Raises InputError, MetricError, OptionError.
    Source: Sakai, "Evaluating evaluation metrics based on the bootstrap", SIGIR 2006; Voorhees and Buckley,
    "The effect of topic set size on retrieval experiment error", SIGIR 2002.
    """
    specs = competing_metrics(metrics)
    chosen = Options.of(**options)
    jobs = chosen.jobs or default_jobs()
    if test not in POWER_TESTS:
        raise OptionError(f"unknown test {described(test)}. Tests: {', '.join(POWER_TESTS)}")
    if correction not in POWER_CORRECTIONS:
        raise OptionError(
            f"unknown correction {described(correction)}. Corrections: {', '.join(POWER_CORRECTIONS)}"
        )
    if isinstance(alpha, bool) or not isinstance(alpha, Real):
        raise OptionError(f"alpha must lie between 0 and 1, not {described(alpha)}")
    check_alpha(float(alpha))
    sampling = Sampling(whole("samples", samples, 1, 10**9), whole("seed", seed, 0, MAX_SEED), jobs)
    how = _Power(test, correction, float(alpha), sampling)
    factors = _factors(rescale)
    splits = whole("splits", splits, 1, 10**5)
    if chosen.query_ids is not None or chosen.by_level or chosen.tie_range:
        raise OptionError("agreement takes neither query_ids nor by_level nor tie_range")
    if qrels2 is not None and chosen.ties in ("best", "worst"):
        raise OptionError(f"ties={chosen.ties} orders by one set of judgments, so it does not go with qrels2")
    given = separate_runs(qrels if runs is None else runs)
    others = () if qrels2 is None else (qrels2,)
    collection, judged = collect(qrels, given, chosen, others=others, watch=watch)
    if len(collection.names) < 2:
        raise InputError(judged[0].path, "an order needs two systems", hint="Give two or more runs")
    collections, confusion, left_out = [collection], None, list[Notice]()
    if qrels2 is not None:
        collections, confusion, left_out = _by_each(collection, judged)
    noticed: list[list[Notice]] = []
    sets: list[Ordered] = []
    for own in collections:
        found = own.scored(specs)
        noticed.append(list(own.notices(specs, found)))
        path = own.qrels.path
        name = f"{path}#2" if path in [one.judgments for one in sets] else path
        sets.append(_ordered(name, own, specs, found, how, splits, factors))
    return Agreement(
        options={
            "metrics": [str(spec) for spec in specs],
            "test": test,
            **({} if test == TUKEY else {"correction": correction}),
            "alpha": how.alpha,
            "splits": splits,
            "rescale": list(factors),
            "seed": seed,
            "evaluation": chosen.to_dict(),
        },
        noticed=(tuple(left_out), *_by_their_judgments(noticed, sets)),
        runs_read=len(collection.names),
        specs=tuple(specs),
        systems=collection.names,
        sets=tuple(sets),
        confusion=confusion,
    )


def _by_their_judgments(
    noticed: Sequence[Sequence[Notice]], sets: Sequence[Ordered]
) -> Iterator[tuple[Notice, ...]]:
    """The notices by each set of judgments; of two, a notice of a run by one of them names it."""
    for own, other, judged in zip(noticed, reversed(noticed), sets, strict=True):
        yield tuple(
            one if one.subject == judged.judgments or one in other else replace(one, judgments=judged.judgments)
            for one in own
        )


def _factors(rescale: Any) -> tuple[float, ...]:
    try:
        factors = tuple(float(factor) for factor in rescale)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"rescale must be positive numbers, not {described(rescale)}") from None
    for factor in factors:
        if not (factor > 0 and is_grade(factor)):
            raise OptionError(f"rescale must be positive numbers, not {factor:g}")
    return factors


class _Power(NamedTuple):
    """How pairs of systems are tested."""

    test: str
    correction: str
    alpha: float
    sampling: Sampling

    def of(self, values: Floats) -> Power:
        """The pairs that values (Q, R) separate."""
        first, second = np.triu_indices(values.shape[1], 1)
        pairs = len(first)

        def differences(part: slice) -> Floats:
            return paired_differences(values[:, first[part]], values[:, second[part]])

        if self.test == TUKEY:
            p = randomized_tukey_hsd(values, self.alpha, self.sampling).p[first, second]
        elif self.correction == "maxt":
            p = maxt(differences(slice(None)), self.sampling)
        else:
            parts = (differences(slice(start, start + _TOGETHER)) for start in range(0, pairs, _TOGETHER))
            tested = (paired_tests(self.test, part, self.alpha, self.sampling) for part in parts)
            p = CORRECTIONS[self.correction](np.array([outcome.p for part in tested for outcome in part]))
        separated = int((p < self.alpha).sum())
        return Power(pairs, separated, separated / pairs)


def _by_each(union: Collection, judged: Sequence[Qrels]) -> tuple[list[Collection], Confusion, list[Notice]]:
    """The runs with either set of judgments of the queries that both have, and how these agree.

    union: has the documents of both.
    """
    grades = [grades_in(union.qrels, one) for one in judged]
    query = np.repeat(np.arange(len(union.qrels.queries)), np.diff(union.qrels.offsets))
    has = [np.bincount(query[~np.isnan(grade)], minlength=len(union.qrels.queries)) > 0 for grade in grades]
    common = np.flatnonzero(has[0] & has[1])
    if not len(common):
        raise InputError(
            judged[1].path, f"no query in common with {judged[0].path}", hint="Check the query ids"
        )
    first, second = (grade[np.isin(query, common)] for grade in grades)
    both = ~np.isnan(first) & ~np.isnan(second)
    used = distinct(np.concatenate([first[both], second[both]]))
    cell = np.searchsorted(used, first[both]) * len(used) + np.searchsorted(used, second[both])
    counts = np.bincount(cell, minlength=len(used) ** 2).reshape(len(used), len(used))
    only = (
        int(np.count_nonzero(~np.isnan(own) & np.isnan(other)))
        for own, other in ((first, second), (second, first))
    )
    collections = [union.judged_by(one, grade, common) for one, grade in zip(judged, grades, strict=True)]
    left_out = []
    for one, of in zip(judged, has, strict=True):
        if len(own := np.flatnonzero(of & ~(has[0] & has[1]))):
            ids = tuple(Texts(union.qrels.queries.take(own[:MAX_QUERIES])))
            left_out.append(Notice(Kind.NOT_IN_BOTH, one.path, len(own), queries=ids))
    return collections, Confusion(used, counts, *only), left_out


def _ordered(
    name: str,
    collection: Collection,
    specs: Sequence[Spec],
    found: Sequence[Scored],
    how: _Power,
    splits: int,
    factors: Sequence[float],
) -> Ordered:
    """What the judgments say of the systems, from what their metrics found."""
    values = np.stack(
        [np.where(own, of.values, np.nan) for own, of in zip(collection.counted, found, strict=True)], 1
    )
    means = collection.means(specs, found)
    signs = np.array([1.0 if spec.metric.higher_is_better else -1.0 for spec in specs])[:, None]
    by_id = values[:, :, collection.order_of_ids]
    rescaled = []
    for factor in factors:
        try:
            other = collection.rescaled(factor)
            changed = other.means(specs, other.scored(specs))
        except MetricError as error:
            raise MetricError(f"{error} (grades multiplied by {factor:g})") from None
        rescaled.append(
            [
                Rescaled(float(np.abs(after - before).max()), kendall_tau(levels_of(before), levels_of(after)))
                for before, after in zip(means, changed, strict=True)
            ]
        )
    return Ordered(
        name,
        means,
        means * signs,
        tuple(how.of(own.T) for own in by_id),
        tuple(halves(own.T, splits, how.sampling.seed) for own in by_id),
        tuple(zip(*rescaled, strict=True)) if rescaled else ((),) * len(specs),
    )


def halves(values: Floats, splits: int, seed: int) -> Halves:
    """How alike random halves of the queries order the systems with these values (Q, R); NaN are left out.

    The first half has Q / 2 queries, rounded down.
    """
    queries, systems = values.shape
    if queries < 2:
        return Halves(*[math.nan] * 4)
    random = np.random.default_rng(seed)
    defined = ~np.isnan(values)
    fixed = FixedPoint.of(np.where(defined, values, 0.0))
    columns = np.concatenate([fixed.parts, defined.astype(np.float64)], axis=1)
    total, last = columns.sum(axis=0), fixed.parts.shape[1]

    def means(sums: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            own: Floats = fixed.value(sums[None, :last])[0] / sums[last:]
        return own

    taus, swapped = np.empty(splits), np.empty(splits)
    for split in range(splits):
        first = columns[random.permutation(queries)[: queries // 2]].sum(axis=0)  # integers: exact in any order
        orders = [levels_of(means(sums)) for sums in (first, total - first)]
        taus[split] = kendall_tau(*orders)
        opposite = pair_signs(orders[0]) * pair_signs(orders[1]) < 0
        swapped[split] = np.count_nonzero(opposite) / (systems * (systems - 1))
    valid = taus[~np.isnan(taus)]
    if not len(valid):
        return Halves(math.nan, math.nan, math.nan, float(swapped.mean()))
    low, high = np.quantile(valid, [0.05, 0.95]).tolist()
    return Halves(float(valid.mean()), low, high, float(swapped.mean()))
