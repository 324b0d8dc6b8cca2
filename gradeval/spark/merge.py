"""What is kept of all buckets, merged in the order of the partitions: the results of the whole."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from gradeval.arrays import Bools, Floats
from gradeval.errors import GradevalError, InputError, InputErrors, UnknownQueryError
from gradeval.evaluation.findings import (
    ENOUGH_JUDGED,
    first_ranks,
    judged_notices,
    quartiles,
    short_notices,
    with_depths,
)
from gradeval.evaluation.outcome import no_common_query
from gradeval.evaluation.results import FailedRun, Results, RunResult, Summary
from gradeval.formats.diagnostics import SHOWN
from gradeval.notices import MAX_QUERIES, Kind, Notice
from gradeval.options import DEFAULT_TIES
from gradeval.registry.metric import Kind as MetricKind
from gradeval.registry.spec import Spec
from gradeval.spark.kernel import Bucket, Failure, Job, Moments, Part

_LAST = Kind.JUDGED_SHARE  # of the notices of a run, as in an evaluation of files
_KINDS = [*(kind for kind in Kind if kind is not _LAST), _LAST]


def _on_cluster() -> GradevalError:
    return GradevalError("the values of queries stay on the cluster: SparkResults.per_query() has them")


class QueriesOnCluster(Sequence[str]):
    """In the place of the ids of queries, which are not here: whoever asks for one is told so."""

    def __len__(self) -> int:
        raise _on_cluster()

    def __getitem__(self, position: Any) -> NoReturn:
        raise _on_cluster()

    def __iter__(self) -> NoReturn:
        raise _on_cluster()

    def __contains__(self, query: object) -> NoReturn:
        raise _on_cluster()

    def __repr__(self) -> str:
        return "<on the cluster: SparkResults.per_query()>"


@dataclass(frozen=True, eq=False)
class SparkSummary(Results):
    """Results without the values of the queries, which stay on the cluster, and with what their means are
    worth.

    standard_errors: of the mean of each run and metric, (R, M), in the metric's unit; NaN for fewer than two
    values, and for a metric whose summary is a sum or a geometric mean. counts: how many values are behind it,
    (R, M).
    """

    standard_errors: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    counts: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False)

    def values(self, run: str | int, metric: str | Spec | int) -> Floats:
        """Raises GradevalError: the values of the queries are not here."""
        raise _on_cluster()

    def per_query(self, run: str | int, metric: str | Spec | int) -> dict[str, float]:
        """Raises GradevalError: the values of the queries are not here."""
        raise _on_cluster()

    def compare(self, metrics: str | Iterable[str] | None = None, **options: Any) -> NoReturn:
        """Raises GradevalError: runs are compared by the values of the queries, which are not here."""
        raise GradevalError("the values of queries stay on the cluster: SparkResults.compare() compares there")

    def __repr__(self) -> str:
        return f"SparkSummary(qrels={self.qrels!r}, runs={len(self.runs)}, metrics={len(self.specs)})"

    def standard_error(self, run: str | int, metric: str | Spec | int) -> float:
        """The standard error of a mean: sd / sqrt(n), NaN where there is none."""
        return float(self.standard_errors[self._run(run), self._numeric(metric)])

    def interval(
        self, run: str | int, metric: str | Spec | int, confidence: float = 95.0
    ) -> tuple[float, float]:
        """The t interval of a mean, of the queries as a sample; (NaN, NaN) where there is no standard error.

        confidence: in percent. Raises OptionError for any other.
        """
        from gradeval.commands.compare.options import CompareOptions
        from gradeval.statistics.intervals import t_interval

        alpha = CompareOptions.of(confidence=confidence).alpha
        r, m = self._run(run), self._numeric(metric)
        error = float(self.standard_errors[r, m])
        if math.isnan(error):
            return math.nan, math.nan
        return t_interval(float(self.means[r, m]), error, int(self.counts[r, m]) - 1, alpha)


def check(buckets: Sequence[Bucket], job: Job) -> None:
    """Raise what is wrong with the qrels or the options."""
    failures = [bucket.failure for bucket in buckets if bucket.failure is not None]
    if failures:
        raise joined_error(failures)
    if job.options.query_ids is not None:
        known = {one for bucket in buckets for one in bucket.known}
        unknown = [one for one in job.options.query_ids if one not in known]
        if unknown:
            raise UnknownQueryError(unknown, job.qrels_names.path)


def joined_error(failures: Sequence[Failure]) -> GradevalError:
    """The errors of all buckets as one: the first by their text, which the order of rows does not change."""
    errors = [error for failure in failures for error in failure.errors]
    wrong = [error for error in errors if isinstance(error, InputError)]
    if len(wrong) < len(errors):  # of a metric: the same for all buckets
        return min((error for error in errors if not isinstance(error, InputError)), key=str)
    total = sum(failure.total for failure in failures)
    ordered = sorted(wrong, key=str)[:SHOWN]
    return InputErrors(ordered, total) if total > 1 else ordered[0]


def no_rows(path: str) -> InputError:
    """The error of a run without rows."""
    return InputError(path, "no data: it has no rows")


def merged(buckets: Sequence[Bucket], job: Job, noted: Sequence[Notice] = ()) -> SparkSummary:
    """The results of all buckets. noted: what a user should know besides.

    Raises GradevalError where the qrels or the options are wrong.
    """
    check(buckets, job)
    results: list[RunResult] = []
    failed: list[FailedRun] = []
    notices: list[Notice] = []
    errors, counts, shares = [], [], [0.0]
    for r, (name, path) in enumerate(zip(job.runs, job.paths, strict=True)):
        kept = [bucket.runs[r] for bucket in buckets]
        failures = [one for one in kept if isinstance(one, Failure)]
        if failures:
            failed.append(FailedRun(path, joined_error(failures)))
            continue
        parts = [one for one in kept if isinstance(one, Part)]
        if not any(part.found for part in parts):
            has_rows = any(part.rows for part in parts)
            why = no_common_query(path, job.qrels_names.path) if has_rows else no_rows(path)
            failed.append(FailedRun(path, why))
            continue
        values = Moments.joined([part.values for part in parts])
        results.append(_result(name, path, parts, values, job))
        errors.append(_standard_errors(values, job.specs))
        counts.append(values.size)
        share = _share(parts)
        shares.append(share)
        notices += _run_notices(name, parts, values, share, job)
    found = _merged_notices(notice for bucket in buckets for notice in bucket.notices)
    of_qrels = sorted(found, key=lambda one: _metric(one, job))
    shape = len(results), len(job.specs)
    if max(shares) < ENOUGH_JUDGED or len(job.scale) < 2:
        of_qrels = [one for one in of_qrels if one.kind is not Kind.ALL_RELEVANT]
    depths = [(run.name, run.depths) for run in results]
    return SparkSummary(
        job.qrels_names.path,
        None,
        QueriesOnCluster(),
        job.specs,
        tuple(results),
        job.options.to_dict(),
        with_depths((*noted, *of_qrels, *notices), depths, job.specs, job.options.to_dict()),
        tuple(failed),
        standard_errors=np.array(errors).reshape(shape),
        counts=np.array(counts).reshape(shape),
    )


def _result(name: str, path: str, parts: Sequence[Part], values: Moments, job: Job) -> RunResult:
    ends: tuple[Floats, ...] = ()
    if job.options.tie_range:
        found = ([part.low for part in parts], [part.high for part in parts])
        ends = tuple(
            summaries(Moments.joined([one for one in of if one is not None]), job.specs) for of in found
        )
    counted = sum(part.counted for part in parts)
    undefined = np.sum([part.undefined for part in parts], axis=0)
    summary = Summary(counted, summaries(values, job.specs), undefined, ends, {})
    nothing = np.empty((len(job.specs), 0))
    of_ties = np.array([nothing, nothing]) if ends else None
    rule = job.options.ties or DEFAULT_TIES
    numbers, counts = (np.concatenate(of) for of in zip(*(part.depths for part in parts), strict=True))
    depths = quartiles(numbers, counts)
    return RunResult(name, path, None, nothing, np.empty(0, np.bool_), {}, of_ties, rule, summary, depths)


def summaries(values: Moments, specs: Sequence[Spec]) -> Floats:
    """The summary value of each metric, (M,)."""
    found = np.where([spec.metric.is_summed for spec in specs], values.total, values.mean)
    geometric = _are_geometric(specs)
    found[geometric] = [math.exp(one) for one in found[geometric].tolist()]
    return found


def _are_geometric(specs: Sequence[Spec]) -> Bools:
    return np.array([spec.metric.kind is MetricKind.GEOMETRIC for spec in specs], np.bool_)


def _standard_errors(values: Moments, specs: Sequence[Spec]) -> Floats:
    is_mean = ~(_are_geometric(specs) | np.array([spec.metric.is_summed for spec in specs], np.bool_))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(is_mean, values.sd / np.sqrt(values.size), np.nan)


def _share(parts: Sequence[Part]) -> float:
    """The mean judged share of the first ranks, over the queries with documents."""
    queries = sum(part.judged[1] for part in parts)
    return math.fsum(part.judged[0] for part in parts) / queries if queries else 1.0


def _run_notices(
    name: str, parts: Sequence[Part], values: Moments, share: float, job: Job
) -> tuple[Notice, ...]:
    found = _merged_notices(
        notice
        for part in parts
        for notice in part.notices
        if notice.kind not in (Kind.NOTHING_JUDGED, Kind.JUDGED_SHARE, Kind.FEW_DOCUMENTS)
    )
    notices = [
        _with_ends(notice, parts, values, job) if notice.kind is Kind.TIES else notice for notice in found
    ]
    if not any(part.has_judged for part in parts):
        notices.append(Notice(Kind.NOTHING_JUDGED, name, 0))
    cutoff = first_ranks(job.specs, job.options)
    short = np.sum([part.short for part in parts], axis=0)
    few = (
        *judged_notices(share, cutoff, job.specs, job.scale, job.options),
        *short_notices(job.specs, short, sum(part.judged[1] for part in parts)),
    )
    notices += (replace(notice, subject=name) for notice in few)
    return tuple(sorted(notices, key=lambda one: (_KINDS.index(one.kind), _metric(one, job))))


def _metric(notice: Notice, job: Job) -> int:
    """The position of the metric of a notice."""
    names = [*map(str, job.specs)]
    return names.index(notice.metric) if notice.metric in names else -1


def _merged_notices(notices: Iterable[Notice]) -> list[Notice]:
    """One notice for those of each kind, subject and metric, with their counts added up."""
    merged: dict[tuple[str, ...], Notice] = {}
    for one in notices:
        key = one.kind.value, one.subject, one.metric
        before = merged.get(key)
        if before is None:
            merged[key] = one
        else:
            merged[key] = replace(
                before,
                count=before.count + one.count,
                total=before.total + one.total,
                undefined=before.undefined + one.undefined,
                queries=(*before.queries, *one.queries)[:MAX_QUERIES],
            )
    return list(merged.values())


def _with_ends(notice: Notice, parts: Sequence[Part], values: Moments, job: Job) -> Notice:
    """A notice of ties with the whole run's summary value, and its range over the orders tried.

    A part's notice has the range of the part's summary; a part without one has no range to add.
    """
    m = [str(spec) for spec in job.specs].index(notice.metric)
    own = [
        {(one.kind, one.metric): one for one in part.notices}.get((Kind.TIES, notice.metric)) for part in parts
    ]

    def defined(value: float) -> float | None:
        return None if math.isnan(value) else value

    def end(given: Sequence[float | None]) -> float | None:
        moments = [
            part.values if summary is None else _of_summary(part.values, summary, m, job.specs[m])
            for part, summary in zip(parts, given, strict=True)
        ]
        return defined(float(summaries(Moments.joined(moments), job.specs)[m]))

    return replace(
        notice,
        value=defined(float(summaries(values, job.specs)[m])),
        low=end([None if one is None else one.low for one in own]),
        high=end([None if one is None else one.high for one in own]),
    )


def _of_summary(values: Moments, summary: float, m: int, spec: Spec) -> Moments:
    """The moments with the total that the summary of a metric is made from."""
    if spec.metric.kind is MetricKind.GEOMETRIC:
        summary = math.log(summary)
    total = values.total.copy()
    total[m] = summary if spec.metric.is_summed else summary * values.size[m]
    return values._replace(total=total)
