"""The states of all buckets, merged in the order of the partitions: the results, and their comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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
from gradeval.compare_options import MAXT, CompareOptions
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
from gradeval.options import DEFAULT_TIES
from gradeval.registry.metric import Kind as MetricKind
from gradeval.registry.spec import Metrics, Spec, parse
from gradeval.spark.kernel import Bucket, Job, Part, Statistics
from gradeval.statistics.intervals import t_interval
from gradeval.statistics.multiple import CORRECTIONS
from gradeval.statistics.sampling import TOLERANCE
from gradeval.statistics.tests import ALL_EQUAL, TOO_FEW_PAIRS, Outcome, t_outcome
from gradeval.statistics.tests import Summary as TestSummary

_KINDS = [*Kind]
_OF_QRELS_FIRST = (Kind.DUPLICATES, Kind.SUBTOPICS, Kind.NO_SUBTOPICS)  # as in an evaluation of files
_OF_SHARES = (Kind.JUDGED_SHARE, Kind.FEW_DOCUMENTS)  # which those of buckets do not decide
_IN_ALL = (Kind.NO_SUBTOPICS, Kind.NOTHING_JUDGED)  # true of the whole where they are of each bucket
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

    statistics: those of the values of each metric, (M,), by the name of the run.
    """

    statistics: Mapping[str, Statistics] = {}

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
        """The standard error of a mean, in the metric's unit: sd / sqrt(n). NaN for fewer than two values, and
        for a metric whose summary is a sum or a geometric mean.
        """
        r, m = self._run(run), self._numeric(metric)
        values = self.statistics[self.runs[r].name]
        is_mean = self.specs[m].metric.has_interval and values.size[m] > 1
        return float(values.sd[m]) / math.sqrt(values.size[m]) if is_mean else math.nan

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
        error = self.standard_error(run, metric)
        if math.isnan(error):
            return math.nan, math.nan
        size = self.statistics[self.runs[self._run(run)].name].size[self._numeric(metric)]
        return t_interval(self.mean(run, metric), error, int(size) - 1, alpha)


def joined_error(failures: Sequence[GradevalError]) -> GradevalError:
    """The errors of all buckets as one: the first by their text, which the order of rows does not change."""
    errors: list[GradevalError] = []
    for failure in failures:
        errors += failure.errors if isinstance(failure, InputErrors) else [failure]
    total = sum(failure.total if isinstance(failure, InputErrors) else 1 for failure in failures)
    errors.sort(key=lambda error: (isinstance(error, InputError), str(error)))
    if total == 1 or not isinstance(errors[0], InputError):  # of a metric: the same for all buckets
        return errors[0]
    return InputErrors(errors[:SHOWN], total)  # type: ignore[arg-type]


def no_rows(path: str) -> InputError:
    return InputError(path, "no data: it has no rows")


def merged(buckets: Sequence[Bucket], job: Job, of_metrics: Sequence[Notice] = ()) -> SparkSummary:
    """of_metrics: notices that no bucket has. Raises GradevalError where the qrels or the options are wrong."""
    if failures := [bucket.failure for bucket in buckets if bucket.failure is not None]:
        raise joined_error(failures)
    qrels, options = job.qrels, job.options.to_dict()
    known = {query for bucket in buckets for query in bucket.known}
    if unknown := [query for query in job.options.query_ids or () if query not in known]:
        raise UnknownQueryError(unknown, qrels)
    results: list[RunResult] = []
    failed: list[FailedRun] = []
    notices: list[Notice] = []
    statistics: dict[str, Statistics] = {}
    most_judged = 0.0
    for r, (name, path) in enumerate(zip(job.runs, job.paths, strict=True)):
        states = [bucket.runs[r] for bucket in buckets]
        parts = [state for state in states if isinstance(state, Part)]
        if len(parts) < len(states):
            errors = [state for state in states if isinstance(state, GradevalError)]
            failed.append(FailedRun(path, joined_error(errors)))
        elif not any(part.in_run for part in parts):
            ids = sorted(query for part in parts for query in part.ids)
            judged = sorted(query for bucket in buckets for query in bucket.ids)
            failed.append(FailedRun(path, no_common_query(path, qrels, ids, judged) if ids else no_rows(path)))
        else:
            statistics[name] = Statistics.joined([part.values for part in parts])
            results.append(_result(name, path, parts, statistics[name], job))
            in_run = sum(part.in_run for part in parts)
            share = math.fsum(part.noticed.judged_share * part.in_run for part in parts) / in_run
            most_judged = max(most_judged, share)
            notices += _run_notices(results[-1], parts, share, in_run, job)
    excluded = (Kind.ALL_RELEVANT,) if most_judged < ENOUGH_JUDGED or len(job.scale) < 2 else ()
    of_qrels = [
        notice
        for notice in _merged_notices([bucket.notices for bucket in buckets])
        if notice.kind not in excluded
    ]
    of_qrels.sort(key=lambda notice: (notice.kind not in _OF_QRELS_FIRST, _metric(notice, job)))
    depths = [(run.name, run.depths) for run in results]
    return SparkSummary(
        qrels,
        None,
        QueriesOnCluster(),
        job.specs,
        tuple(results),
        options,
        with_depths((*of_metrics, *of_qrels, *notices), depths, job.specs, options),
        tuple(failed),
        statistics=statistics,
    )


def _result(name: str, path: str, parts: Sequence[Part], values: Statistics, job: Job) -> RunResult:
    specs, nothing = job.specs, np.empty((len(job.specs), 0))
    counted = sum(part.counted for part in parts)
    of_ends = map(Statistics.joined, zip(*(part.ends for part in parts), strict=True))
    ends = tuple(summaries(specs, end.total, end.mean) for end in of_ends)
    undefined = (counted - values.size).astype(np.int64)
    return RunResult(
        name,
        path,
        None,
        nothing,
        np.empty(0, np.bool_),
        tie_range=np.array([nothing] * len(ends)) if ends else None,
        ties=job.options.ties or DEFAULT_TIES,
        summary=Summary(counted, summaries(specs, values.total, values.mean), undefined, ends, {}),
        depths=quantiles(*map(np.concatenate, zip(*(part.depths for part in parts), strict=True))),
    )


def _run_notices(run: RunResult, parts: Sequence[Part], share: float, in_run: int, job: Job) -> list[Notice]:
    """share: of the first ranks, which is judged. in_run: how many queries the run has."""
    notices = [
        _with_range(notice, run, parts, job) if notice.kind is Kind.TIES else notice
        for notice in _merged_notices([part.noticed.notices for part in parts])
        if notice.kind not in _OF_SHARES
    ]
    cutoff = first_ranks(job.specs, job.options)
    short = np.sum([part.noticed.short for part in parts], axis=0)
    few = [
        *judged_notices(share, cutoff, job.specs, job.scale, job.options),
        *short_notices(job.specs, short, in_run),
    ]
    notices += [notice.replace(subject=run.name) for notice in few]

    def place(notice: Notice) -> tuple[bool, int, int]:  # as in an evaluation of files
        return notice.kind is Kind.JUDGED_SHARE, _KINDS.index(notice.kind), _metric(notice, job)

    return sorted(notices, key=place)


def _metric(notice: Notice, job: Job) -> int:
    names = [*map(str, job.specs)]
    return names.index(notice.metric) if notice.metric in names else -1


def _merged_notices(of_buckets: Sequence[Sequence[Notice]]) -> list[Notice]:
    """One notice for those of each kind, subject and metric, with their counts added up."""
    alike: dict[tuple[str, ...], list[Notice]] = {}
    for notices in of_buckets:
        for notice in notices:
            alike.setdefault((notice.kind.value, notice.subject, notice.metric), []).append(notice)
    return [
        group[0].replace(
            count=sum(notice.count for notice in group),
            total=sum(notice.total for notice in group),
            undefined=sum(notice.undefined for notice in group),
            queries=tuple(query for notice in group for query in notice.queries)[:MAX_QUERIES],
        )
        for group in alike.values()
        if group[0].kind not in _IN_ALL or len(group) == len(of_buckets)
    ]


def _with_range(notice: Notice, run: RunResult, parts: Sequence[Part], job: Job) -> Notice:
    """A notice of ties with the run's summary value, and its range over the orders tried, from that of each
    part; a part without a notice has no range to add.
    """
    m = _metric(notice, job)
    spec, size = job.specs[m], sum(part.values.size[m] for part in parts)
    ties = [
        {tie.metric: tie for tie in part.noticed.notices if tie.kind is Kind.TIES}.get(notice.metric)
        for part in parts
    ]

    def whole(name: str) -> float | None:
        total = np.zeros(1)
        for part, tie in zip(parts, ties, strict=True):
            mean = getattr(tie, name, None)
            if mean is not None and spec.metric.kind is MetricKind.GEOMETRIC:
                mean = math.log(mean)
            if mean is None:
                total += part.values.total[m]
            else:
                total += mean if spec.metric.is_summed else mean * part.values.size[m]
        with np.errstate(invalid="ignore"):
            return defined(summaries([spec], total, total / size)[0])

    def defined(value: float) -> float | None:
        return None if math.isnan(value) else float(value)

    has_expected = all(tie is None or tie.expected is not None for tie in ties)
    return notice.replace(
        value=defined(run.summarized(job.specs).means[m]),
        low=whole("low"),
        high=whole("high"),
        expected=whole("expected") if has_expected else None,
    )


def chosen_options(values: Mapping[str, Any]) -> CompareOptions:
    """The options of a comparison on Spark. Raises OptionError."""
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
        pair = Statistics.joined([of for bucket in buckets for of in bucket.pairs[k : k + 1] if of is not None])
        for column, m in zip(compared, positions, strict=True):
            tests.append((job.runs[other], job.runs[baseline], column, *_t_test(pair, m, options.alpha)))
    corrected = CORRECTIONS[options.used_correction](np.array([outcome.p for *_, outcome in tests])).tolist()
    comparisons = tuple(pair_comparison(test, p, options) for test, p in zip(tests, corrected, strict=True))
    of_runs = [summary.statistics[name] for name in job.runs]
    means = np.array([of_run.mean[positions] for of_run in of_runs])
    section = Section(None, max(of_run.queries for of_run in summary.runs), means, comparisons, ())

    def judged_mean(results: Results, r: int, spec: Spec) -> float:
        m = job.specs.index(spec)
        return share(results, r, of_runs[r].total[m], of_runs[r].size[m])

    judged, notices = Judged.of(summary, judged_mean), notices_of(summary, values)
    inputs = {"qrels": {"path": summary.qrels, "sha256": None}, "options": dict(summary.options)}
    return compare_values(values, options, notices, judged=judged, inputs=inputs, sections=(section,))


def _t_test(pair: Statistics, m: int, alpha: float) -> tuple[list[float], TestSummary, Outcome]:
    """The paired t-test of a metric: the means of the baseline and the run, their differences, the outcome."""
    mean, *means = pair.mean[:, m].tolist()
    sd = float(pair.sd[0, m])
    n, won, lost, lowest, highest = (
        column[0, m].item() for column in (pair.size, pair.positive, pair.negative, pair.lowest, pair.highest)
    )
    n = int(n)
    if n < 2:
        outcome = Outcome(math.nan, math.nan, math.nan, mean, "", TOO_FEW_PAIRS)
    elif highest - lowest <= TOLERANCE * max(abs(lowest), abs(highest)):
        outcome = Outcome(math.nan, mean, mean, mean, "", ALL_EQUAL)
    else:
        outcome = t_outcome(n, mean, sd, alpha)
    effect_size = math.nan if outcome.reason else mean / sd
    return means, TestSummary(n, mean, sd, effect_size, won, n - won - lost, lost), outcome
