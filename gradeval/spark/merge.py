"""The states of all buckets, merged in the order of the partitions: the results, and their comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from gradeval.arrays import Floats
from gradeval.commands.compare.compare import (
    ComparedMetric,
    Comparison,
    Judged,
    QueryValues,
    Section,
    comparable_metrics,
    compare_values,
    metrics_to_test,
    notices_of,
    pair_comparison,
    pairs_of,
    share,
)
from gradeval.compare_options import MAXT, OF_SUMS, CompareOptions
from gradeval.errors import GradevalError, InputError, InputErrors, OptionError, UnknownQueryError, described
from gradeval.evaluation.evaluator import complete
from gradeval.evaluation.outcome import (
    ENOUGH_JUDGED,
    first_ranks,
    judged_notices,
    no_common_query,
    quantiles,
    short_notices,
    with_depths,
)
from gradeval.evaluation.results import FailedRun, Results, RunResult, Summary, position_of
from gradeval.evaluation.score import summaries
from gradeval.formats.diagnostics import SHOWN
from gradeval.notices import MAX_QUERIES, Kind, Notice
from gradeval.options import DEFAULT_TIES, check_known
from gradeval.registry.metric import Kind as MetricKind
from gradeval.registry.spec import Metrics, Spec, parse
from gradeval.spark.kernel import Bucket, Job, Moments, Pair, Part
from gradeval.statistics.corrections import CORRECTIONS
from gradeval.statistics.intervals import t_interval
from gradeval.statistics.sampling import TOLERANCE
from gradeval.statistics.tests import ALL_EQUAL, TOO_FEW_PAIRS, Outcome, t_outcome
from gradeval.statistics.tests import Summary as TestSummary

_LAST = Kind.JUDGED_SHARE  # of the notices of a run, as in an evaluation of files
_KINDS = [*(kind for kind in Kind if kind is not _LAST), _LAST]


_ON_CLUSTER = "the values of queries stay on the cluster: "


class QueriesOnCluster(Sequence[str]):
    """Stands for the ids of the queries, which are not here: reading one raises GradevalError."""

    def __len__(self, *position: Any) -> NoReturn:
        raise GradevalError(f"{_ON_CLUSTER}SparkResults.per_query() has them")

    __getitem__ = __len__

    def __repr__(self) -> str:
        return "<on the cluster: SparkResults.per_query()>"


class SparkSummary(Results):
    """Results with the standard errors of the means; the values of the queries stay on the cluster.

    standard_errors: of the mean of each run and metric, (R, M), in the metric's unit; NaN for fewer than two
    values, and for a metric whose summary is a sum or a geometric mean. counts: how many values are behind it,
    (R, M).
    """

    standard_errors: Floats = np.empty((0, 0))
    counts: Floats = np.empty((0, 0))

    def values(self, run: str | int, metric: str | Spec | int) -> Floats:
        """Raises GradevalError: the values of the queries are not here."""
        raise GradevalError(f"{_ON_CLUSTER}SparkResults.per_query() has them")

    per_query = values  # type: ignore[assignment]

    def compare(self, metrics: Metrics | None = None, **options: Any) -> NoReturn:
        """Raises GradevalError: runs are compared by the values of the queries, which are not here."""
        raise GradevalError(f"{_ON_CLUSTER}SparkResults.compare() compares there")

    def __repr__(self) -> str:
        return f"SparkSummary(qrels={self.qrels!r}, runs={len(self.runs)}, metrics={len(self.specs)})"

    def standard_error(self, run: str | int, metric: str | Spec | int) -> float:
        """The standard error of a mean: sd / sqrt(n), NaN where there is none."""
        return float(self.standard_errors[self._run(run), self._numeric(metric)])

    def interval(
        self,
        run: str | int,
        metric: str | Spec | int,
        confidence: float | None = None,
        method: str | None = None,
    ) -> tuple[float, float]:
        """The t interval of a mean, of the queries as a sample; (NaN, NaN) where there is no standard error.

        confidence: in percent, 95 by default. Raises OptionError for any other, and for another method.
        """
        if method not in (None, "t"):
            raise OptionError(f"method must be t, not {described(method)}: the values of queries are not here")
        alpha = CompareOptions(confidence=95.0 if confidence is None else confidence).alpha
        r, m = self._run(run), self._numeric(metric)
        error = float(self.standard_errors[r, m])
        if math.isnan(error):
            return math.nan, math.nan
        return t_interval(float(self.means[r, m]), error, int(self.counts[r, m]) - 1, alpha)


def joined_error(failures: Sequence[GradevalError]) -> GradevalError:
    """The errors of all buckets as one: the first by their text, which the order of rows does not change."""
    wrong: list[InputError] = []
    total = 0
    for failure in sorted(failures, key=str):
        if isinstance(failure, InputErrors):
            wrong, total = wrong + failure.errors, total + failure.total
        elif isinstance(failure, InputError):
            wrong, total = [*wrong, failure], total + 1
        else:  # of a metric: the same for all buckets
            return failure
    first = sorted(wrong, key=str)[:SHOWN]
    return InputErrors(first, total) if total > 1 else first[0]


def no_rows(path: str) -> InputError:
    return InputError(path, "no data: it has no rows")


def merged(buckets: Sequence[Bucket], job: Job, of_metrics: Sequence[Notice] = ()) -> SparkSummary:
    """of_metrics: notices that no bucket has. Raises GradevalError where the qrels or the options are wrong."""
    if wrong := [bucket.failure for bucket in buckets if bucket.failure is not None]:
        raise joined_error(wrong)
    known = {query for bucket in buckets for query in bucket.known}
    if unknown := [query for query in job.options.query_ids or () if query not in known]:
        raise UnknownQueryError(unknown, job.qrels_names.path)
    results: list[RunResult] = []
    failed: list[FailedRun] = []
    notices: list[Notice] = []
    errors, counts, shares = [], [], [0.0]
    metrics = [spec.metric for spec in job.specs]
    is_mean = [metric.kind is not MetricKind.GEOMETRIC and not metric.is_summed for metric in metrics]
    for r, (name, path) in enumerate(zip(job.runs, job.paths, strict=True)):
        states = [bucket.runs[r] for bucket in buckets]
        parts = [state for state in states if isinstance(state, Part)]
        if failures := [state for state in states if isinstance(state, GradevalError)]:
            failed.append(FailedRun(path, joined_error(failures)))
            continue
        if not any(part.in_run for part in parts):
            ids = sorted(query for part in parts for query in part.ids)
            judged = sorted(query for bucket in buckets for query in bucket.ids)
            error = no_common_query(path, job.qrels_names.path, ids, judged) if ids else no_rows(path)
            failed.append(FailedRun(path, error))
            continue
        values = Moments.joined([part.values for part in parts])
        results.append(_result(name, path, parts, values, job))
        with np.errstate(invalid="ignore", divide="ignore"):
            errors.append(np.where(is_mean, values.sd / np.sqrt(values.size), np.nan))
        counts.append(values.size)
        queries = sum(part.judged[1] for part in parts)
        share = math.fsum(part.judged[0] for part in parts) / queries if queries else 1.0
        shares.append(share)
        notices += _run_notices(name, parts, values, share, job)
    of_qrels = _merged_notices(notice for bucket in buckets for notice in bucket.notices)
    excluded = set()
    if not all(Kind.NO_SUBTOPICS in {notice.kind for notice in bucket.notices} for bucket in buckets):
        excluded.add(Kind.NO_SUBTOPICS)  # others have subtopics
    if max(shares) < ENOUGH_JUDGED or len(job.scale) < 2:
        excluded.add(Kind.ALL_RELEVANT)
    of_qrels = [notice for notice in of_qrels if notice.kind not in excluded]
    first = (Kind.DUPLICATES, Kind.SUBTOPICS, Kind.NO_SUBTOPICS)  # as in an evaluation of files
    of_qrels.sort(key=lambda notice: (notice.kind not in first, _metric(notice, job)))
    options, depths = job.options.to_dict(), [(run.name, run.depths) for run in results]
    shape = len(results), len(job.specs)
    return SparkSummary(
        job.qrels_names.path,
        None,
        QueriesOnCluster(),
        job.specs,
        tuple(results),
        options,
        with_depths((*of_metrics, *of_qrels, *notices), depths, job.specs, options),
        tuple(failed),
        standard_errors=np.array(errors).reshape(shape),
        counts=np.array(counts).reshape(shape),
    )


def _result(name: str, path: str, parts: Sequence[Part], values: Moments, job: Job) -> RunResult:
    specs, no_values = job.specs, np.empty((len(job.specs), 0))
    ends = map(Moments.joined, zip(*(part.ends for part in parts), strict=True))
    ranges = tuple(summaries(specs, of_end.total, of_end.mean) for of_end in ends)
    counted = sum(part.counted for part in parts)
    undefined = np.sum([part.undefined for part in parts], axis=0)
    summary = Summary(counted, summaries(specs, values.total, values.mean), undefined, ranges, {})
    of_ties = np.array([no_values] * len(ranges)) if ranges else None
    rule = job.options.ties or DEFAULT_TIES
    depths = quantiles(*map(np.concatenate, zip(*(part.depths for part in parts), strict=True)))
    return RunResult(name, path, None, no_values, np.empty(0, np.bool_), {}, of_ties, rule, summary, depths)


def _run_notices(name: str, parts: Sequence[Part], values: Moments, share: float, job: Job) -> list[Notice]:
    of_whole = (Kind.NOTHING_JUDGED, Kind.JUDGED_SHARE, Kind.FEW_DOCUMENTS)
    of_parts = (notice for part in parts for notice in part.notices if notice.kind not in of_whole)
    notices = [
        _with_ends(notice, parts, values, job) if notice.kind is Kind.TIES else notice
        for notice in _merged_notices(of_parts)
    ]
    if not any(part.has_judged for part in parts):
        notices.append(Notice(Kind.NOTHING_JUDGED, name, 0))
    short, queries = np.sum([part.short for part in parts], axis=0), sum(part.judged[1] for part in parts)
    of_share = judged_notices(share, first_ranks(job.specs, job.options), job.specs, job.scale, job.options)
    few = [*of_share, *short_notices(job.specs, short, queries)]
    notices += (notice.replace(subject=name) for notice in few)
    return sorted(notices, key=lambda notice: (_KINDS.index(notice.kind), _metric(notice, job)))


def _metric(notice: Notice, job: Job) -> int:
    names = [*map(str, job.specs)]
    return names.index(notice.metric) if notice.metric in names else -1


def _merged_notices(notices: Iterable[Notice]) -> list[Notice]:
    """One notice for those of each kind, subject and metric, with their counts added up."""
    merged: dict[tuple[str, ...], Notice] = {}
    for notice in notices:
        key = notice.kind.value, notice.subject, notice.metric
        before = merged.setdefault(key, notice)
        if before is not notice:
            merged[key] = before.replace(
                count=before.count + notice.count,
                total=before.total + notice.total,
                undefined=before.undefined + notice.undefined,
                queries=(*before.queries, *notice.queries)[:MAX_QUERIES],
            )
    return list(merged.values())


def _with_ends(notice: Notice, parts: Sequence[Part], values: Moments, job: Job) -> Notice:
    """A notice of ties with the whole run's summary value, and its range over the orders tried, from that of
    each part; a part without a notice has no range to add.
    """
    m = _metric(notice, job)
    metric = job.specs[m].metric
    ties = [
        next((tie for tie in part.notices if (tie.kind, tie.metric) == (Kind.TIES, notice.metric)), None)
        for part in parts
    ]

    def value(moments: Moments) -> float | None:
        summary = float(summaries(job.specs, moments.total, moments.mean)[m])
        return None if math.isnan(summary) else summary

    def end(name: str) -> float | None:
        """The summary of the run, from that of each part."""
        moments = []
        for part, tie in zip(parts, ties, strict=True):
            total, summary = part.values.total.copy(), getattr(tie, name, None)
            if summary is not None:
                mean = math.log(summary) if metric.kind is MetricKind.GEOMETRIC else summary
                total[m] = mean if metric.is_summed else mean * part.values.size[m]
            moments.append(part.values._replace(total=total))
        return value(Moments.joined(moments))

    has_expected = all(tie is None or tie.expected is not None for tie in ties)
    expected = end("expected") if has_expected else None
    return notice.replace(value=value(values), low=end("low"), high=end("high"), expected=expected)


def chosen_options(values: Mapping[str, Any]) -> CompareOptions:
    """The options of a comparison on Spark. Raises OptionError for those of other tests."""
    if others := [name for name in values if name not in OF_SUMS and name in CompareOptions.table]:
        raise OptionError(
            f"{others[0]} requires the values of all queries in one place. On Spark, runs are "
            f"compared by the t-test, with the options {', '.join(OF_SUMS)}"
        )
    check_known(values, list(OF_SUMS))
    options = CompareOptions(**values)
    if options.used_correction == MAXT:
        raise OptionError("the maxT correction requires the values of all queries in one place")
    return options


def without_values(
    runs: Sequence[str], paths: Sequence[str], metrics: Sequence[ComparedMetric] = ()
) -> QueryValues:
    """The runs to compare, whose values stay on the cluster."""
    return QueryValues((), tuple(runs), tuple(paths), tuple(metrics), np.empty((len(runs), len(metrics), 0)))


def comparison(
    job: Job,
    metrics: Metrics | None,
    options: CompareOptions,
    run: Callable[[Job], Sequence[Bucket]],
) -> Comparison:
    """The runs compared. run: evaluates a job. Raises GradevalError."""
    pairs = pairs_of(without_values(job.runs, job.paths), options)
    if metrics is None:
        positions = [job.specs.index(spec) for spec in metrics_to_test(job.specs)]
    else:
        positions = [position_of(spec, job.specs) for spec in parse(metrics)]
        comparable_metrics([str(job.specs[m]) for m in positions])
    compared = tuple(ComparedMetric.of(job.specs[m]) for m in positions)
    values = without_values(job.runs, job.paths, compared)
    buckets = run(job._replace(pairs=pairs))
    summary: SparkSummary = complete(merged(buckets, job))  # type: ignore[assignment]
    tests = []
    for k, (baseline, other) in enumerate(pairs):
        pair = Pair.joined([part for bucket in buckets for part in bucket.pairs[k : k + 1] if part is not None])
        for column, m in zip(compared, positions, strict=True):
            tests.append((job.runs[other], job.runs[baseline], column, *_t_test(pair, m, options.alpha)))
    corrected = CORRECTIONS[options.used_correction](np.array([outcome.p for *_, outcome in tests])).tolist()
    comparisons = tuple(pair_comparison(*test, p, options) for test, p in zip(tests, corrected, strict=True))
    is_summed = [spec.metric.is_summed for spec in job.specs]
    means = np.where(is_summed, summary.means / summary.counts, summary.means)[:, positions]
    section = Section(None, max(of_run.queries for of_run in summary.runs), means, comparisons, ())

    def judged_mean(summary: SparkSummary, r: int, spec: Spec) -> float:
        m = summary.specs.index(spec)
        count = summary.counts[r, m]
        return share(summary, r, summary.means[r, m] * count, count)

    judged, notices = Judged.of(summary, judged_mean), notices_of(summary, values)
    inputs = {"qrels": {"path": summary.qrels, "sha256": None}, "options": dict(summary.options)}
    return compare_values(values, options, notices, judged=judged, inputs=inputs, sections=(section,))


def _t_test(pair: Pair, m: int, alpha: float) -> tuple[tuple[float, float], TestSummary, Outcome]:
    """The paired t-test of a metric: the means of the baseline and the run, their differences, the outcome."""
    moments = pair.moments
    (mean, *means), sd, n = moments.mean[:, m].tolist(), float(moments.sd[0, m]), int(moments.size[0, m])
    won, lost = int(pair.won[m]), int(pair.lost[m])
    lowest, highest = float(pair.lowest[m]), float(pair.highest[m])
    if n < 2:
        outcome = Outcome(math.nan, math.nan, math.nan, mean, "", TOO_FEW_PAIRS)
    elif highest - lowest <= TOLERANCE * max(abs(lowest), abs(highest)):
        outcome = Outcome(math.nan, mean, mean, mean, "", ALL_EQUAL)
    else:
        outcome = t_outcome(n, mean, sd, alpha)
    effect_size = math.nan if outcome.reason else mean / sd
    summary = TestSummary(n, mean, sd, effect_size, won, n - won - lost, lost)
    return (means[0], means[1]), summary, outcome
