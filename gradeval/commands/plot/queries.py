"""The values of each query from the highest to the lowest, or differences from a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gradeval.arrays import Floats, Ints, cached_property
from gradeval.commands.compare.compare import compare_results, evaluate_to_compare, notices_of
from gradeval.commands.compare.options import CompareOptions
from gradeval.commands.compare.result import PairComparison
from gradeval.commands.compare.values import QueryValues
from gradeval.commands.plot.picture import Axis, Bars, Panel, Picture, checked_confidence, interval_of_mean
from gradeval.commands.study.tabled import Row, Table
from gradeval.evaluation.evaluator import complete
from gradeval.evaluation.runs import separate_runs
from gradeval.notices import Notice
from gradeval.options import Options

METRIC = "nDCG@10"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Queries(Picture):
    """The values of one run, or the differences of runs from a baseline.

    values: of the R runs and the metrics, queries in the order of their ids. pairs: the comparisons, by pair of
    runs, then by metric; none for one run. means: of the runs, (R, M), as an evaluation has them.
    """

    name: ClassVar[str] = "queries"
    values: QueryValues
    means: Floats
    pairs: tuple[PairComparison, ...]
    confidence: float

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        several = len(self.values.metrics) > 1
        found = []
        if not self.pairs:
            for m, metric in enumerate(self.values.metrics):
                order = self._order(self.values.values[0, m], 1)
                x = Axis(f"Queries by value ({len(order)})")
                found.append(
                    Panel(self.values.runs[0], x, Axis(metric.display, 0.0, 1.0), bars=self._bars(m, order))
                )
            return tuple(found)
        for pair in self.pairs:
            m = self.values.metric(pair.metric)
            bars = self._differences(pair, m)
            name = self.values.metrics[m].display
            title = f"{pair.run} − {pair.baseline}" + (f", {name}" if several else "")
            x = Axis(f"Queries by difference ({len(bars.queries)})")
            found.append(Panel(title, x, Axis(f"Difference in {name}"), bars=bars))
        return tuple(found)

    def _order(self, y: Floats, sign: int) -> Ints:
        """The queries with a value from the largest to the smallest; equal ones by id."""
        # rounding must not decide which of two equal differences is the larger one
        worth = np.round(sign * y / (np.nanmax(np.abs(y), initial=0.0) or 1.0), 12)
        order = np.argsort(-worth, kind="stable")
        return order[~np.isnan(y[order])]

    def _bars(self, m: int, order: Ints) -> Bars:
        y = self.values.values[0, m]
        mean = float(self.means[0, m])
        interval = interval_of_mean(y, mean, self.confidence)
        ids = tuple(self.values.queries[q] for q in order.tolist())
        return Bars(ids, y[order], mean, *interval)

    def _differences(self, pair: PairComparison, m: int) -> Bars:
        sign = self.values.metrics[m].sign
        runs = self.values.run(pair.baseline), self.values.run(pair.run)
        y = self.values.differences(*runs)[m]
        order = self._order(y, sign)
        ids = tuple(self.values.queries[q] for q in order.tolist())
        return Bars(ids, y[order], pair.difference, pair.low, pair.high, sign, pair)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        return self._of_pairs() if self.pairs else self._of_one()

    def _of_one(self) -> tuple[Table, ...]:
        run = self.values.runs[0]
        rows: list[Row] = []
        summary: list[Row] = []
        for metric, panel in zip(self.values.metrics, self.panels, strict=True):
            bars = panel.bars
            assert bars is not None
            pairs = zip(bars.queries, bars.y.tolist(), strict=True)
            rows += [(run, metric.name, place, *pair) for place, pair in enumerate(pairs, 1)]
            summary.append((run, metric.name, len(bars.queries), bars.mean, bars.low, bars.high))
        return (
            Table("queries", "Value of each query", ("run", "metric", "position", "query", "value"), rows),
            Table(
                "summary", "Mean over the queries", ("run", "metric", "queries", "mean", "low", "high"), summary
            ),
        )

    def _of_pairs(self) -> tuple[Table, ...]:
        position = {query: q for q, query in enumerate(self.values.queries)}
        rows: list[Row] = []
        summary: list[Row] = []
        for pair, panel in zip(self.pairs, self.panels, strict=True):
            bars, m = panel.bars, self.values.metric(pair.metric)
            assert bars is not None
            order = [position[query] for query in bars.queries]
            of_runs = (self.values.values[self.values.run(run), m, order] for run in (pair.baseline, pair.run))
            columns = zip(bars.queries, *(values.tolist() for values in of_runs), bars.y.tolist(), strict=True)
            rows += [(pair.run, pair.baseline, pair.metric, at, *row) for at, row in enumerate(columns, 1)]
            summary.append(
                (
                    *(pair.run, pair.baseline, pair.metric, pair.n, pair.baseline_mean, pair.mean),
                    *(pair.difference, pair.low, pair.high, pair.p, pair.p_corrected),
                    *(pair.won, pair.tied, pair.lost),
                )
            )
        labels = ("run", "baseline", "metric")
        return (
            Table(
                "queries",
                "Difference of each query",
                (*labels, "position", "query", "baseline_value", "value", "difference"),
                rows,
            ),
            Table(
                "summary",
                "Mean difference, paired t-test",
                (
                    *(*labels, "queries", "baseline_mean", "mean", "difference", "low", "high"),
                    *("p", "p_corrected", "won", "tied", "lost"),
                ),
                summary,
            ),
        )


def queries(
    qrels: Any,
    runs: Any,
    metrics: str | Iterable[str] = METRIC,
    *,
    baseline: str | int | None = None,
    confidence: float = 95.0,
    **options: Any,
) -> Queries:
    """The value of each query, the highest first; of several runs, differences from a baseline.

    qrels, runs, options: as evaluate() takes them; a run may be a file of saved results (gradeval -f json -q).
    baseline: a run by name or position, by default the first. confidence: of the intervals, in percent.
    Raises GradevalError.
    """
    return draw_queries(
        qrels,
        separate_runs(runs),
        metrics,
        Options.of(**options),
        baseline=baseline,
        confidence=confidence,
    )


def draw_queries(
    qrels: Any,
    runs: Sequence[tuple[str | None, Any]],
    metrics: str | Iterable[str],
    options: Options,
    *,
    baseline: str | int | None = None,
    confidence: float = 95.0,
    **how: Any,
) -> Queries:
    """The same with parsed arguments. how: watch and query_ids of evaluate_to_compare()."""
    confidence = checked_confidence(confidence)
    results, compared = evaluate_to_compare(qrels, runs, metrics, options, **how)
    complete(results)
    given = QueryValues.of(results, compared)
    values = given.select(given.by_id)
    pairs: tuple[PairComparison, ...] = ()
    notices: Sequence[Notice] = notices_of(results, values)
    if len(results.runs) > 1:
        chosen = CompareOptions.of(baseline=baseline, confidence=confidence, jobs=options.jobs)
        comparison = compare_results(results, compared, chosen)
        pairs, notices = comparison.comparisons, comparison.notices
    elif baseline is not None:
        values.run(baseline)  # raises where there is no such run
    return Queries(
        options={
            "metrics": [str(spec) for spec in compared],
            "runs": [run.name for run in results.runs],
            "baseline": pairs[0].baseline if pairs else None,
            "confidence": confidence,
            "evaluation": dict(results.options),
        },
        noticed=(tuple(notices),),
        runs_read=len(results.runs),
        note=_note(confidence, len(pairs)),
        values=values,
        means=given.means,
        pairs=pairs,
        confidence=confidence,
    )


def _note(confidence: float, pairs: int) -> str:
    interval = f"{confidence:g} % t interval of the mean"
    if not pairs:
        return interval
    corrected = f", corrected for {pairs} comparisons (Holm)" if pairs > 1 else ""
    return f"{interval} difference; p of the paired t-test{corrected}"
