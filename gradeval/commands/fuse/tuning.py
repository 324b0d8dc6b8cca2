"""Weights of runs chosen by a metric, with cross-validation: each query has weights that others have chosen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gradeval.arrays import Bools, Floats
from gradeval.arrays.strings import IdIndex, Texts
from gradeval.arrays.threads import default_jobs, ordered_map
from gradeval.commands.compare.compare import Comparison, comparable_metrics, compare_results, judged_spec
from gradeval.commands.fuse.options import FuseOptions
from gradeval.commands.fuse.rankings import Candidates, Rankings
from gradeval.compare_options import CompareOptions
from gradeval.errors import MetricError, OptionError
from gradeval.evaluation.caveats import Outcome, caveats_of_all
from gradeval.evaluation.evaluation import Collected, Evaluation
from gradeval.evaluation.outcome import Evaluated, ReducedRun, evaluate, no_common_query
from gradeval.evaluation.plan import Plan
from gradeval.evaluation.score import weighted_means
from gradeval.formats.columns import Columns
from gradeval.options import Options
from gradeval.registry.spec import Spec
from gradeval.tables.load import OpenedQrels
from gradeval.tables.ranking import RunLines
from gradeval.tables.reduction import Total

ALL = "all"  # in the place of a fold
TUNED, EQUAL = "tuned", "equal weights"  # the names of fused runs
_MOST = 10_000  # weights that are tried
_SAME = 12  # decimals of means: rounding does not decide which are the best


@dataclass(frozen=True)
class Fold:
    """Some of the queries, and the weights that the others have chosen."""

    name: str
    queries: int
    weights: tuple[float, ...]  # of the runs
    value: float  # the mean over the fold, which had no part in the choice
    optimistic: float  # the mean over the queries that have chosen the weights


@dataclass(frozen=True, eq=False)
class Tuning:
    """Weights that were chosen by a metric."""

    metric: str
    folds: tuple[Fold, ...]
    # the weights of all queries; value: the mean over all, each with the weights of its fold; optimistic: the
    # mean with these weights, which the same queries have chosen
    whole: Fold
    weights: Floats  # of each query of the runs and each run, (Q, R)
    comparison: Comparison  # of the fused run, equal weights and the best run


def tuned(rankings: Rankings, judged: OpenedQrels, options: FuseOptions, evaluation: Options) -> Tuning:
    """Choose the weights of the runs by options.tune. Raises GradevalError."""
    return _Tuner(rankings, judged, options, evaluation).tuning()


class _Tuner:
    """Evaluates fused runs by one metric."""

    def __init__(
        self, rankings: Rankings, judged: OpenedQrels, options: FuseOptions, evaluation: Options
    ) -> None:
        # the runs are read: these options have been applied, and the fused run must not be read by them again
        as_read = {"features": (), "max_passage": None, "duplicates": "error", "ignore_identical_ids": False}
        evaluation = evaluation.replace(**as_read)
        self.spec = _metric(options.tune or "")
        judged_too = [] if evaluation.judged_only else [judged_spec([self.spec], [])]
        plan = Plan([self.spec], evaluation, extra=judged_too)
        self.evaluation = Evaluation(plan, judged)
        self.rankings, self.options = rankings, options
        self.jobs = evaluation.jobs or default_jobs()
        self.blocks: Sequence[Candidates] = list(rankings.blocks(options, self.jobs))

    def tuning(self) -> Tuning:
        """The weights of each fold, of all queries and of each query; how good the fused run is."""
        singles = [
            self.evaluated(name, [table.columns])
            for name, table in zip(self.rankings.names, self.rankings.tables, strict=True)
        ]
        self._check_common(singles)
        shares = _grid(self.options.steps, len(singles))
        values = np.array([self._values(self.fused("", weights)) for weights in shares])
        counted = np.flatnonzero(~np.isnan(values).all(axis=0))
        if len(counted) < self.options.fold_count:
            raise OptionError(
                f"folds: {self.options.fold_count} need as many queries, and there are {len(counted)}",
                "folds",
            )
        fold_of = np.full(values.shape[1], -1)
        fold_of[counted] = np.arange(len(counted)) % self.options.fold_count
        folds = []
        for fold in range(self.options.fold_count):
            folds.append(
                self._fold(str(fold + 1), shares, values, (fold_of >= 0) & (fold_of != fold), fold_of == fold)
            )
        best = self._fold(ALL, shares, values, fold_of >= 0, fold_of >= 0)
        weights = np.array([*(fold.weights for fold in folds), best.weights])
        position = IdIndex(self.evaluation.qrels.queries).find(self.rankings.queries)
        of_queries = weights[np.where(position < 0, -1, fold_of[position])]
        fused = self.fused(TUNED, of_queries)
        comparison = self._comparison([fused, self.fused(EQUAL, np.ones(len(singles))), self._best(singles)])
        value = float(self._means(self._values(fused)[None], fold_of >= 0)[0])
        whole = Fold(ALL, best.queries, best.weights, value, best.optimistic)
        return Tuning(str(self.spec), tuple(folds), whole, of_queries, comparison)

    def fused(self, name: str, weights: Floats) -> Evaluated:
        """weights: of the runs, (R,), or of each query of the runs, (Q, R)."""
        every = np.broadcast_to(weights, (len(self.rankings.queries), weights.shape[-1]))
        return self.evaluated(name, ordered_map(lambda block: block.ranked(every), self.blocks, self.jobs))

    def evaluated(self, name: str, parts: Iterator[Columns] | Sequence[Columns]) -> Evaluated:
        """parts: of whole queries."""
        total = Total(self.evaluation.qrels, "trec")
        for part in parts:
            total.add(total.find(RunLines.of(part, self.evaluation.qrels)), 0)
        run = ReducedRun(name, name, "trec", total.reduced())
        return evaluate(self.evaluation.setting, run, self.jobs)

    def _values(self, run: Evaluated) -> Floats:
        """The value of each query, (Q,), NaN for a query that does not count."""
        return np.where(run.result.counted, run.result.values[0], np.nan)

    def _means(self, values: Floats, queries: Bools) -> Floats:
        """The means over some of the queries, (C, Q) -> (C,)."""
        weights = self.evaluation.setting.weights
        weights = np.ones(values.shape[1]) if weights is None else weights
        return weighted_means(np.where(queries, values, np.nan), weights)

    def _fold(self, name: str, shares: Floats, values: Floats, choosing: Bools, own: Bools) -> Fold:
        """The best weights by some queries, and what they are worth for those of the fold."""
        best = self._best_of(values, choosing)
        means = (float(self._means(values[[best]], queries)[0]) for queries in (own, choosing))
        return Fold(name, int(own.sum()), tuple(shares[best].tolist()), *means)

    def _best_of(self, values: Floats, queries: Bools) -> int:
        """Which of the rows (C, Q) has the best mean over some of the queries; the first of equal ones."""
        sign = -1 if self.spec.metric.higher_is_better is False else 1
        return int(np.nan_to_num(np.round(sign * self._means(values, queries), _SAME), nan=-np.inf).argmax())

    def _best(self, singles: Sequence[Evaluated]) -> Evaluated:
        """The run with the best mean over all queries."""
        every = np.ones(len(self.evaluation.setting.chosen), bool)
        return singles[self._best_of(np.array([self._values(run) for run in singles]), every)]

    def _comparison(self, runs: Sequence[Evaluated]) -> Comparison:
        """Of the first run with the others."""
        collected = Collected(self.evaluation)
        outcomes = list(map(Outcome.of, runs))
        for outcome in outcomes:
            collected.add(outcome)
        notices = caveats_of_all([outcome.facts for outcome in outcomes], collected.together())
        results = collected.results().replace(given_notices=notices)
        return compare_results(results, [self.spec], CompareOptions(baseline=0, min_coverage=0.0))

    def _check_common(self, singles: Sequence[Evaluated]) -> None:
        """Raise InputError where no run has a query of the qrels."""
        if not any(run.in_run.any() for run in singles):
            qrels = self.evaluation.qrels
            ids, judged = (
                list(Texts(of_file.take(slice(4)))) for of_file in (self.rankings.queries, qrels.queries)
            )
            raise no_common_query(self.rankings.tables[0].path or "", qrels.path, ids, judged)


def _metric(name: str) -> Spec:
    """Raises MetricError."""
    [*specs], _ = comparable_metrics(name)
    if len(specs) != 1 or specs[0].metric.higher_is_better is None:
        raise MetricError(f"{name}: weights are tuned by one metric of which high or low values are better")
    return specs[0]


def _grid(steps: int, runs: int) -> Floats:
    """All weights that are multiples of 1/steps and sum to 1, (C, R), those with more on the first runs first.
    Raises OptionError for too many.
    """
    count = math.comb(steps + runs - 1, runs - 1)
    if count > _MOST:
        raise OptionError(
            f"step: there are {count:,} weights of {runs} runs, more than {_MOST:,}. Choose a larger one",
            "step",
        )
    return np.array(list(_compositions(steps, runs))) / steps


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All tuples of so many non-negative integers whose sum is the total, in descending order."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        yield from ((first, *further) for further in _compositions(total - first, parts - 1))
