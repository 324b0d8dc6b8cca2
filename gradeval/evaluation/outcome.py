"""The evaluation of one run: a run reduced to the ranks of the judged documents → values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradeval.arrays import Bools, cached_property
from gradeval.arrays.strings import Texts
from gradeval.errors import InputError, first_names, named
from gradeval.evaluation.depths import depths_of, quantiles
from gradeval.evaluation.plan import EvaluationSetting
from gradeval.evaluation.results import RunResult
from gradeval.evaluation.score import Judge, Scored
from gradeval.evaluation.ties import Spread, spread
from gradeval.options import Options
from gradeval.records import Record
from gradeval.registry.spec import Spec
from gradeval.tables.load import Run
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import NO_TIES
from gradeval.tables.reduction import Reduced

SHOWN_IDS = 3  # of the queries of files that have none in common
_FEW = 1 << 13  # judgments that are scored before another thread has started


class ReducedRun(Record, eq=False):
    """A run as evaluate() takes it."""

    name: str  # as in tables
    path: str  # as the user gave it
    ties: str  # the order of its tied scores
    reduced: Reduced
    tag: str = ""  # for metrics that print it
    read_with: Mapping[str, Any] = {}  # what read_run() read it with


class Evaluated(Record, eq=False):
    """A run that was evaluated: all that its caveats follow from. It holds the judgments and the ranks."""

    setting: EvaluationSetting
    judge: Judge  # with the reduced run
    scored: Scored
    spread: Spread | None  # over the orders of ties, where the options ask for it
    result: RunResult
    jobs: int  # threads
    reduced: Reduced  # the run, whose unjudged documents have no judgments that are assumed

    @cached_property
    def has_lines(self) -> Bools:
        """Which of the judged queries the run has, (Q,)."""
        return self.reduced.retrieved > 0

    @property
    def in_run(self) -> Bools:
        """Which of the counted queries the run has, (Q,)."""
        return self.result.counted & self.has_lines

    @property
    def empty(self) -> Bools:
        """That of without_relevant()."""
        return self.scored.empty

    def with_result(self, **fields: Any) -> Evaluated:
        """With other fields of the result."""
        return self.replace(result=self.result.replace(**fields))


def evaluate(setting: EvaluationSetting, run: ReducedRun, jobs: int) -> Evaluated:
    """The values of a run, with what its caveats follow from. Raises MetricError."""
    qrels, specs, options = setting.qrels, setting.plan.specs, setting.plan.options
    judge = Judge(qrels, run.reduced, options, run.tag)
    threads = jobs if len(qrels.grade) + len(run.reduced.scores) > _FEW else 1
    scored = judge.scored(specs, threads)
    counted = setting.counted(run.reduced.retrieved > 0)
    bounds = None
    if options.bounds:
        from gradeval.evaluation.bounds import bounds_of  # which few need

        bounds = bounds_of(judge, specs, scored.values, jobs)
    orders = spread(judge, counted, specs, scored, threads) if options.tie_range else None
    result = RunResult(
        run.name,
        run.path,
        None,
        scored.values,
        counted,
        texts=scored.texts,
        tie_range=None if orders is None else np.array([*orders.extremes, orders.expected()]),
        bounds=bounds,
        ties=run.ties,
        depths=quantiles(depths_of(run.reduced, counted, options.depth)),
        interval=options.intervals,
        weights=setting.weights,
        missing=setting.chosen & (run.reduced.retrieved == 0),
        read_with=run.read_with,
    )
    return Evaluated(setting, judge, scored, orders, result, jobs=threads, reduced=run.reduced)


def without_relevant(qrels: Qrels, specs: Sequence[Spec], options: Options, jobs: int) -> Bools:
    """Which queries have nothing relevant to a metric that needs it, (M, Q), whatever the run."""
    rank = np.full(len(qrels.grade), np.inf)
    nothing = Reduced(rank, -rank, np.zeros(len(qrels.queries), np.int64), 0, NO_TIES)
    return Judge(qrels, nothing, options).scored(specs, jobs).empty


def no_common_query(
    path: str, other: str, ids: Sequence[str], other_ids: Sequence[str], hint: str = "Check the query ids"
) -> InputError:
    """The error of a file whose queries another file lacks, with the first ids of both."""
    if ids and other_ids:
        ours, theirs = (first_names(map(named, of_file), SHOWN_IDS) for of_file in (ids, other_ids))
        hint = f"{hint}: {ours} here, {theirs} in {other}"
        # data frames turn integers into floats, where one is missing
        if ids[0].endswith(".0") != other_ids[0].endswith(".0"):
            hint = f"Query ids are compared as text: {named(ids[0])} here, {named(other_ids[0])} in {other}"
    return InputError(path, f"it has no query in common with {other}", hint=hint)


def check_common(run: Run, reduced: Reduced, qrels: Qrels, chosen: Bools) -> None:
    """Raise InputError where a run has none of the chosen queries, with its first ones, of a block at most."""
    if not ((reduced.retrieved > 0) & chosen).any():
        table = run.opened()
        ids = next((Texts(table.columns(block).queries) for block in table.blocks()), ())
        judged = Texts(qrels.queries.take(np.flatnonzero(chosen)[: SHOWN_IDS + 1]))
        raise no_common_query(run.path, qrels.path, list(dict.fromkeys(ids))[: SHOWN_IDS + 1], judged)
