"""Whether metrics, and sets of judgments, order systems alike, and how well they separate them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from gradeval.analysis.study.agreement_data import (
    Agreement,
    Confusion,
    Halves,
    Ordered,
    Power,
    Rescaled,
)
from gradeval.analysis.study.collection import Collection, collect, grades_in
from gradeval.analysis.study.orders import kendall_tau, levels_of, pair_signs
from gradeval.analysis.study.tables import MAX_SEED, competing_metrics, whole
from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import distinct
from gradeval.arrays.strings import Texts
from gradeval.arrays.threads import default_jobs
from gradeval.errors import InputError, MetricError, OptionError, described
from gradeval.evaluation.given import separate_runs
from gradeval.formats.sources import Source
from gradeval.grades import is_grade
from gradeval.notices import MAX_QUERIES, Kind, Notice
from gradeval.options import Options
from gradeval.registry.spec import Spec
from gradeval.scoring import Scored
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
    left_out = [
        Notice(Kind.NOT_IN_BOTH, one.path, len(own), queries=_ids(union, own))
        for one, of in zip(judged, has, strict=True)
        if len(own := np.flatnonzero(of & ~(has[0] & has[1])))
    ]
    return collections, Confusion(used, counts, *only), left_out


def _ids(collection: Collection, queries: Ints) -> tuple[str, ...]:
    return tuple(Texts(collection.qrels.queries.take(queries[:MAX_QUERIES])))


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
