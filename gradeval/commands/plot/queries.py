"""The values of each query from the highest to the lowest, or differences from a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.commands.compare.compare import compare_results, evaluate_to_compare, notices_of
from gradeval.commands.compare.options import CompareOptions
from gradeval.commands.compare.result import PairComparison, QueryValues
from gradeval.commands.plot.picture import Axis, Bars, Panel, Picture
from gradeval.commands.study.tables import Row, Table
from gradeval.evaluation.evaluator import complete
from gradeval.evaluation.runs import separate_runs
from gradeval.notices import Notice
from gradeval.options import OF_RUNS, Options, takes
from gradeval.render.document import warned
from gradeval.statistics.tests import interval_of_mean

if TYPE_CHECKING:
    from gradeval.keywords import Runs, Unpack

METRIC = "nDCG@10"
_PAIR = ("baseline_mean", "mean", "difference", "low", "high", "p", "p_corrected", "won", "tied", "lost")


@takes(OF_RUNS)
def queries(
    qrels: Any,
    runs: Any,
    metrics: str | Iterable[str] = METRIC,
    *,
    baseline: str | int | None = None,
    confidence: float = 95.0,
    **options: Unpack[Runs],
) -> Picture:
    """The value of each query, the highest first; of several runs, differences from a baseline.

    qrels, runs, options: as evaluate() takes them; a run may be a file of saved results (gradeval -f json -q).
    baseline: a run by name or position, by default the first. confidence: of the intervals, in percent.
    Raises GradevalError.
    """
    picture = draw_queries(
        qrels,
        separate_runs(runs),
        metrics,
        Options.of(**options),
        baseline=baseline,
        confidence=confidence,
    )
    return warned(picture)


def draw_queries(
    qrels: Any,
    runs: Sequence[tuple[str | None, Any]],
    metrics: str | Iterable[str],
    options: Options,
    *,
    baseline: str | int | None = None,
    confidence: float = 95.0,
    **how: Any,
) -> Picture:
    """The same with parsed arguments. how: watch and query_ids of evaluate_to_compare()."""
    confidence = CompareOptions.of(confidence=confidence).confidence
    results, compared = evaluate_to_compare(qrels, runs, metrics, options, **how)
    results.check_unweighted("the intervals of pictures")
    complete(results)
    of_results = QueryValues.of(results, compared)
    values = of_results.select(of_results.by_id)
    notices: Sequence[Notice] = notices_of(results, values)
    note = f"{confidence:g} % t interval of the mean"
    chosen_baseline = None
    if len(results.runs) > 1:
        chosen = CompareOptions.of(baseline=baseline, confidence=confidence, jobs=options.jobs)
        comparison = compare_results(results, compared, chosen)
        pairs, notices = comparison.comparisons, comparison.notices
        chosen_baseline = pairs[0].baseline
        corrected = f", corrected for {len(pairs)} comparisons (Holm)" if len(pairs) > 1 else ""
        note += f" difference; p of the paired t-test{corrected}"
        panels, tables = of_pairs(values, pairs)
    else:
        if baseline is not None:
            values.run(baseline)  # raises where there is no such run
        panels, tables = _of_one(values, of_results.means[0].tolist(), confidence)
    return Picture(
        name="queries",
        options={
            "metrics": [str(spec) for spec in compared],
            "runs": [run.name for run in results.runs],
            "baseline": chosen_baseline,
            "confidence": confidence,
            "evaluation": dict(results.options),
        },
        noticed=(tuple(notices),),
        runs_read=len(results.runs),
        note=note,
        panels=panels,
        tables=tables,
    )


def _of_one(
    values: QueryValues, means: Sequence[float], confidence: float
) -> tuple[tuple[Panel, ...], tuple[Table, ...]]:
    """The values of one run. means: of the metrics, as an evaluation has them."""
    [run] = values.runs
    panels: list[Panel] = []
    rows: list[Row] = []
    summary: list[Row] = []
    for metric, y, mean in zip(values.metrics, values.values[0], means, strict=True):
        order = _order(y, 1)
        ids = tuple(values.queries[q] for q in order.tolist())
        low, high = interval_of_mean(y, mean, "t", confidence)
        x = Axis(f"Queries by value ({len(order)})")
        bars = Bars(ids, y[order], mean, low, high)
        panels.append(Panel(run, x, Axis(metric.display, 0.0, 1.0), bars=bars))
        places = range(1, len(ids) + 1)
        rows += [(run, metric.name, *row) for row in zip(places, ids, y[order].tolist(), strict=True)]
        summary.append((run, metric.name, len(order), mean, low, high))
    return tuple(panels), (
        Table("queries", "Value of each query", ("run", "metric", "position", "query", "value"), rows),
        Table("summary", "Mean over the queries", ("run", "metric", "queries", "mean", "low", "high"), summary),
    )


def of_pairs(
    values: QueryValues, pairs: Sequence[PairComparison]
) -> tuple[tuple[Panel, ...], tuple[Table, ...]]:
    """The differences of runs from a baseline. values: of the runs and metrics, queries in the order of ids."""
    panels: list[Panel] = []
    rows: list[Row] = []
    summary: list[Row] = []
    for pair in pairs:
        m = values.metric(pair.metric)
        sign, name = values.metrics[m].sign, values.metrics[m].display
        runs = values.run(pair.baseline), values.run(pair.run)
        y = values.differences(*runs)[m]
        order = _order(y, sign)
        ids = tuple(values.queries[q] for q in order.tolist())
        title = f"{pair.run} − {pair.baseline}" + (f", {name}" if len(values.metrics) > 1 else "")
        x = Axis(f"Queries by difference ({len(order)})")
        bars = Bars(ids, y[order], pair.difference, pair.low, pair.high, sign, pair)
        panels.append(Panel(title, x, Axis(f"Difference in {name}"), bars=bars))
        columns = (column.tolist() for column in (*(values.values[run, m, order] for run in runs), y[order]))
        label = (pair.run, pair.baseline, pair.metric)
        rows += [(*label, *row) for row in zip(range(1, len(ids) + 1), ids, *columns, strict=True)]
        summary.append((*label, pair.n, *(getattr(pair, name) for name in _PAIR)))
    labels = ("run", "baseline", "metric")
    return tuple(panels), (
        Table(
            "queries",
            "Difference of each query",
            (*labels, "position", "query", "baseline_value", "value", "difference"),
            rows,
        ),
        Table("summary", "Mean difference, paired t-test", (*labels, "queries", *_PAIR), summary),
    )


def _order(y: Floats, sign: int) -> Ints:
    """The queries with a value from the largest to the smallest; equal ones by id."""
    # rounding must not decide which of two equal differences is the larger one
    worth = np.round(sign * y / (np.nanmax(np.abs(y), initial=0.0) or 1.0), 12)
    order = np.argsort(-worth, kind="stable")
    return order[~np.isnan(y[order])]
