"""Runs compared by what is kept of their differences: the paired t-test, without the values of the queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gradeval.commands.compare.compare import notices_of, notices_of_sections, pair_comparison, pairs_of
from gradeval.commands.compare.options import MAXT, OF_SUMS, CompareOptions
from gradeval.commands.compare.result import Comparison, PairComparison, Section
from gradeval.commands.compare.values import (
    ComparedMetric,
    Judged,
    QueryValues,
    check_comparable,
    comparable,
    differs_by_depth,
    is_judged,
    share,
    without_judged,
)
from gradeval.errors import InputError, OptionError
from gradeval.evaluation.evaluator import complete
from gradeval.evaluation.results import Results
from gradeval.options import check_known
from gradeval.registry.spec import parse
from gradeval.spark.kernel import Bucket, Job, Pair
from gradeval.spark.merge import SparkSummary, merged
from gradeval.statistics.corrections import CORRECTIONS
from gradeval.statistics.sampling import TOLERANCE
from gradeval.statistics.tests import ALL_EQUAL, TOO_FEW_PAIRS, Outcome, Summary, t_outcome


def chosen_options(given: Mapping[str, Any]) -> CompareOptions:
    """The options of a comparison on Spark. Raises OptionError for those of other tests."""
    for name in given:
        if name not in OF_SUMS and name in CompareOptions.table:
            raise OptionError(
                f"{name} requires the values of all queries in one place. On Spark, runs are "
                f"compared by the t-test, with the options {', '.join(OF_SUMS)}"
            )
    check_known(given, OF_SUMS)
    options = CompareOptions.of(**given)
    if options.used_correction == MAXT:
        raise OptionError("the maxT correction requires the values of all queries in one place")
    return options


def pairs_to_compare(
    runs: Sequence[str], paths: Sequence[str], options: CompareOptions
) -> tuple[tuple[int, int], ...]:
    """(baseline, run) of each comparison, as positions. Raises GradevalError."""
    if len(runs) < 2:
        raise InputError("runs", f"there is {len(runs)} run", hint="Give two runs or more")
    return tuple(pairs_of(_without_values(runs, paths, ()), options))


def _without_values(
    runs: Sequence[str], paths: Sequence[str], metrics: Sequence[ComparedMetric]
) -> QueryValues:
    nothing = np.empty((len(runs), len(metrics), 0))
    return QueryValues((), tuple(runs), tuple(paths), tuple(metrics), nothing)


def comparison(
    job: Job,
    metrics: str | Iterable[str] | None,
    options: CompareOptions,
    run: Callable[[Job], Sequence[Bucket]],
) -> Comparison:
    """The runs compared. run: evaluates a job. Raises GradevalError."""
    pairs = pairs_to_compare(job.runs, job.paths, options)
    places = _places(job, metrics)
    compared = tuple(ComparedMetric.of(job.specs[m]) for m in places)
    values = _without_values(job.runs, job.paths, compared)
    buckets = run(job._replace(pairs=pairs))
    summary: SparkSummary = complete(merged(buckets, job))  # type: ignore[assignment]
    kept = [
        Pair.joined([one for bucket in buckets if bucket.pairs and (one := bucket.pairs[k]) is not None])
        for k in range(len(pairs))
    ]
    keys = [(k, column, m) for k in range(len(pairs)) for column, m in zip(compared, places, strict=True)]
    outcomes = [_outcome(kept[k], m, options.alpha) for k, _, m in keys]
    corrected = CORRECTIONS[options.used_correction](np.array([one.p for one in outcomes])).tolist()
    comparisons = tuple(
        _compared(job.runs[pairs[k][0]], job.runs[pairs[k][1]], column, kept[k], m, outcome, p, options)
        for (k, column, m), outcome, p in zip(keys, outcomes, corrected, strict=True)
    )
    means = np.where(
        [spec.metric.is_summed for spec in job.specs], summary.means / summary.counts, summary.means
    )
    queries = max(one.queries for one in summary.runs)
    sections = (Section(None, queries, means[:, places], comparisons, ()),)
    judged = _judged(summary)
    names = {column.name for column in compared}
    results: Results = summary
    inputs = {"qrels": {"path": summary.qrels, "sha256": None}, "options": dict(summary.options)}
    notices = (
        *notices_of(results, values),
        *notices_of_sections(sections),
        *(judged.notices(job.runs) if judged else ()),
    )
    shown = judged if judged is not None and judged.name not in names else None
    return Comparison(values, pairs, options, sections, (), shown, notices, inputs)


def _places(job: Job, metrics: str | Iterable[str] | None) -> list[int]:
    """The positions of the metrics to compare. Raises MetricError."""
    if metrics is None:
        return [job.specs.index(spec) for spec in without_judged(comparable(job.specs))]
    evaluated = Results("", None, (), job.specs, ())
    places = [evaluated._metric(spec) for spec in parse(metrics)]
    check_comparable([job.specs[m] for m in places])
    return places


def _judged(summary: SparkSummary) -> Judged | None:
    """How much of the runs was judged, if that was evaluated and differs."""
    for m, spec in reversed([*enumerate(summary.specs)]):
        if is_judged(spec):
            totals, counts = summary.means[:, m] * summary.counts[:, m], summary.counts[:, m]
            shares = [share(summary, r, totals[r], counts[r]) for r in range(len(summary.runs))]
            by_depth = differs_by_depth([run.depths for run in summary.runs], spec)
            judged = Judged(str(spec), np.array(shares), by_depth)
            return judged if judged.differs else None
    return None


def _outcome(pair: Pair, m: int, alpha: float) -> Outcome:
    """The paired t-test of a metric."""
    n, mean, sd = int(pair.differences.size[m]), float(pair.differences.mean[m]), float(pair.differences.sd[m])
    if n < 2:
        return Outcome(math.nan, math.nan, math.nan, mean, "", TOO_FEW_PAIRS)
    lowest, highest = float(pair.lowest[m]), float(pair.highest[m])
    if highest - lowest <= TOLERANCE * max(abs(lowest), abs(highest)):
        return Outcome(math.nan, mean, mean, mean, "", ALL_EQUAL)
    return t_outcome(n, mean, sd, alpha)


def _compared(
    baseline: str,
    run: str,
    column: ComparedMetric,
    pair: Pair,
    m: int,
    outcome: Outcome,
    p_corrected: float,
    options: CompareOptions,
) -> PairComparison:
    n, won, lost = int(pair.differences.size[m]), int(pair.won[m]), int(pair.lost[m])
    mean, sd = float(pair.differences.mean[m]), float(pair.differences.sd[m])
    effect_size = math.nan if outcome.reason else mean / sd
    summary = Summary(n, mean, sd, effect_size, won, n - won - lost, lost)
    means = (float(pair.baseline.mean[m]), float(pair.run.mean[m]))
    return pair_comparison(run, baseline, column, means, summary, outcome, p_corrected, options)
