"""The paired t-test from the moments of the differences, without the values of the queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gradeval.commands.compare.compare import notices_of, notices_of_sections, pair_comparison, pairs_of
from gradeval.commands.compare.options import MAXT, OF_SUMS, CompareOptions
from gradeval.commands.compare.result import (
    ComparedMetric,
    Comparison,
    Judged,
    QueryValues,
    Section,
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


def chosen_options(values: Mapping[str, Any]) -> CompareOptions:
    """The options of a comparison on Spark. Raises OptionError for those of other tests."""
    for name in values:
        if name not in OF_SUMS and name in CompareOptions.table:
            raise OptionError(
                f"{name} requires the values of all queries in one place. On Spark, runs are "
                f"compared by the t-test, with the options {', '.join(OF_SUMS)}"
            )
    check_known(values, OF_SUMS)
    options = CompareOptions.of(**values)
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
    if metrics is None:
        positions = [job.specs.index(spec) for spec in without_judged(comparable(job.specs))]
    else:
        evaluated = Results("", None, (), job.specs, ())
        positions = [evaluated._metric(spec) for spec in parse(metrics)]
        check_comparable([job.specs[m] for m in positions])
    compared = tuple(ComparedMetric.of(job.specs[m]) for m in positions)
    values = _without_values(job.runs, job.paths, compared)
    buckets = run(job._replace(pairs=pairs))
    summary: SparkSummary = complete(merged(buckets, job))  # type: ignore[assignment]
    keys, tested = [], []
    for k, (baseline, other) in enumerate(pairs):
        pair = Pair.joined(
            [part for bucket in buckets if bucket.pairs and (part := bucket.pairs[k]) is not None]
        )
        for column, m in zip(compared, positions, strict=True):
            keys.append((job.runs[other], job.runs[baseline], column))
            tested.append(_t_test(pair, m, options.alpha))
    corrected = CORRECTIONS[options.used_correction](np.array([outcome.p for *_, outcome in tested])).tolist()
    comparisons = tuple(
        pair_comparison(*key, *test, p, options) for key, test, p in zip(keys, tested, corrected, strict=True)
    )
    is_summed = [spec.metric.is_summed for spec in job.specs]
    means = np.where(is_summed, summary.means / summary.counts, summary.means)[:, positions]
    sections = (Section(None, max(of_run.queries for of_run in summary.runs), means, comparisons, ()),)
    judged = _judged(summary)
    notices = (
        *notices_of(summary, values),
        *notices_of_sections(sections),
        *(judged.notices(job.runs) if judged else ()),
    )
    shown = None if judged is None or judged.name in {column.name for column in compared} else judged
    inputs = {"qrels": {"path": summary.qrels, "sha256": None}, "options": dict(summary.options)}
    return Comparison(values, pairs, options, sections, (), shown, notices, inputs)


def _judged(summary: SparkSummary) -> Judged | None:
    """Judged.of() from the totals of the runs, None where they do not differ."""
    for m, spec in reversed([*enumerate(summary.specs)]):
        if is_judged(spec):
            totals, counts = summary.means[:, m] * summary.counts[:, m], summary.counts[:, m]
            shares = [share(summary, r, totals[r], counts[r]) for r in range(len(summary.runs))]
            by_depth = differs_by_depth([run.depths for run in summary.runs], spec)
            judged = Judged(str(spec), np.array(shares), by_depth)
            return judged if judged.differs else None
    return None


def _t_test(pair: Pair, m: int, alpha: float) -> tuple[tuple[float, float], Summary, Outcome]:
    """The paired t-test of a metric: the means of the baseline and the run, their differences, the outcome."""
    n, mean, sd = int(pair.differences.size[m]), float(pair.differences.mean[m]), float(pair.differences.sd[m])
    won, lost = int(pair.won[m]), int(pair.lost[m])
    lowest, highest = float(pair.lowest[m]), float(pair.highest[m])
    if n < 2:
        outcome = Outcome(math.nan, math.nan, math.nan, mean, "", TOO_FEW_PAIRS)
    elif highest - lowest <= TOLERANCE * max(abs(lowest), abs(highest)):
        outcome = Outcome(math.nan, mean, mean, mean, "", ALL_EQUAL)
    else:
        outcome = t_outcome(n, mean, sd, alpha)
    effect_size = math.nan if outcome.reason else mean / sd
    summary = Summary(n, mean, sd, effect_size, won, n - won - lost, lost)
    return (float(pair.baseline.mean[m]), float(pair.run.mean[m])), summary, outcome
