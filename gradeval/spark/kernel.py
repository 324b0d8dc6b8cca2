"""The evaluation of a bucket, some queries with all their judgments and the rows of all runs for them; and the
states of all buckets, merged in the order of the partitions: the results, and their comparison.

Nothing here knows Spark: Arrow tables go in, and the state of the bucket comes out. Values and notices come
from the functions that evaluate files.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.strings import Ids, Texts
from gradeval.commands.compare import compare
from gradeval.commands.compare.coverage import coverage_of_runs
from gradeval.compare_options import CompareOptions
from gradeval.errors import GradevalError, InputError, InputErrors, OptionError, UnknownQueryError, described
from gradeval.evaluation.caveats import (
    ENOUGH_JUDGED,
    Facts,
    bounds_notices,
    caveats,
    first_ranks,
    judged_notices,
    merged_notices,
    no_subtopics_notices,
    qrels_notices_for,
    relevance_notices,
    tie_notices,
    unscaled_notices,
)
from gradeval.evaluation.depths import cutoff_notices, depths_of, quantiles, with_depths
from gradeval.evaluation.evaluation import complete
from gradeval.evaluation.outcome import SHOWN_IDS, Evaluated, ReducedRun, evaluate, no_common_query
from gradeval.evaluation.plan import EvaluationSetting, Plan, chosen_queries
from gradeval.evaluation.results import BOUNDS, TIE_RANGE, FailedRun, Results, RunResult, Summary, position_of
from gradeval.evaluation.score import Scored, summands, summaries
from gradeval.evaluation.ties import TRIALS, spread
from gradeval.formats.arrow import Arrow, batches, text_column
from gradeval.formats.columns import Columns, grouped, light_subtopics
from gradeval.formats.diagnostics import COLLAPSES, SHOWN, LineProblems, Problem, shown
from gradeval.notices import Notice, NoticeKind, Notices
from gradeval.options import DEFAULT_TIES, Options
from gradeval.registry.spec import Metrics, OneMetric, OneRun, Spec, parse
from gradeval.statistics import tests
from gradeval.statistics.intervals import t_interval, within
from gradeval.statistics.multiple import CORRECTIONS
from gradeval.tables.excluded import excluded
from gradeval.tables.qrels import JudgmentRows, Qrels
from gradeval.tables.ranking import Collapse, RunLines
from gradeval.tables.reduction import Total
from gradeval.version import __version__

QRELS = -1  # in the column run, the rows of the qrels
# a line of a file that is no row has as its query NO_ROW, the error, NO_ROW, and the line
NO_ROW = "\0"
NO_ROWS = "no data: it has no rows"
_State = TypeVar("_State")
RunValues = tuple[int, Ids, Floats]
"""The position of a run, the ids of its counted queries in a bucket, (n,), and their values, (M, n)."""


class SparkJob(NamedTuple):
    """An evaluation, the same for every bucket."""

    specs: tuple[Spec, ...]
    options: Options
    scale: Floats  # the distinct grades of all qrels, as they count, ascending
    runs: tuple[str, ...]  # their names
    paths: tuple[str, ...]  # what errors call the runs
    qrels: str = "qrels"  # the path
    # what messages call the query, the document, the number and, of qrels that have one, the subtopic
    qrels_labels: Sequence[str] = ("query id", "document id", "grade")
    run_labels: Sequence[str] = ("query id", "document id", "score")
    is_negated: bool = False  # whether the numbers of the runs are ranks or distances
    pairs: compare.Pairs = ()  # (baseline, run) to compare, as positions in runs
    version: str = __version__  # of gradeval, which the workers must have too


class Statistics(NamedTuple):
    """The statistics of columns of numbers, from which NaN are left out: arrays of one shape."""

    size: Floats
    total: Floats
    squares: Floats  # the sum of the squared deviations from the mean
    positive: Ints  # how many numbers are
    negative: Ints
    lowest: Floats  # infinite where there are no numbers, as is highest
    highest: Floats

    @classmethod
    def of(cls, values: Floats) -> Statistics:
        """Those of the rows of values, (..., Q) -> (...)."""
        defined = ~np.isnan(values)
        size = defined.sum(axis=-1).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.where(defined, values, 0.0).sum(axis=-1)
            mean = total / np.maximum(size, 1)
            squares = np.square(np.where(defined, values - mean[..., None], 0.0)).sum(axis=-1)
        counts = (values > 0).sum(axis=-1), (values < 0).sum(axis=-1)
        extremes = (
            np.fmin.reduce(values, axis=-1, initial=np.inf),
            np.fmax.reduce(values, axis=-1, initial=-np.inf),
        )
        return cls(size, total, squares, *counts, *extremes)

    @classmethod
    def joined(cls, parts: Sequence[Statistics]) -> Statistics:
        """Those of all parts, at least one, merged in this order.

        Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for … variances", 1979.
        """
        size, total, squares = parts[0][:3]
        with np.errstate(over="ignore", invalid="ignore"):
            for part in parts[1:]:
                apart = part.mean - total / size
                weight = size * part.size / np.maximum(size + part.size, 1)
                # a part without numbers has no mean
                squares = squares + part.squares + np.where(weight > 0, np.square(apart) * weight, 0.0)
                size, total = size + part.size, total + part.total
        positive, negative, lowest, highest = map(np.array, list(zip(*parts, strict=True))[3:])
        counts = positive.sum(0), negative.sum(0)
        return cls(size, total, squares, *counts, lowest.min(0), highest=highest.max(0))

    @property
    def mean(self) -> Floats:
        """NaN where there are no numbers."""
        with np.errstate(invalid="ignore"):
            return np.divide(self.total, self.size, dtype=np.float64)

    @property
    def sd(self) -> Floats:
        """The standard deviation, n - 1 in the denominator; NaN for fewer than two numbers."""
        return np.sqrt(self.squares / np.where(self.size > 1, self.size - 1, math.nan))


class Part(NamedTuple):
    """The state of a run in a bucket."""

    counted: int  # how many queries
    # of each metric, logarithms for a geometric mean; where the order of ties changes some, or
    # RunResult.tie_range is asked for, followed by those of its three, (1 or 4, M)
    values: Statistics
    bounds: Statistics | None  # of the lowest and of the highest values, (2, M), with Options.bounds
    depths: tuple[Ints, Ints]  # the numbers of documents that queries have, and how many queries have each
    facts: Facts  # of the bucket
    ids: Sequence[str]  # the first queries that the run has, by id, where it has none that is evaluated


class Bucket(NamedTuple):
    """The state of a bucket."""

    runs: tuple[Part | GradevalError, ...]  # the state of each run, or why it failed
    notices: Notices  # of the qrels
    ids: tuple[str, ...]  # the evaluated queries, by id; only the first where Options.query_ids is not given
    # for each pair of the job, of each metric, the differences run - baseline, the values of the baseline and
    # those of the run, (3, M), for the queries that have a value in both; none where a run failed
    pairs: tuple[Statistics, ...]


State = Bucket | GradevalError
"""Of a bucket, or why its qrels failed."""


def evaluate_bucket(qrels: Any, runs: Sequence[Any], job: SparkJob) -> tuple[State, list[RunValues]]:
    """qrels, runs: the table of the qrels and those of the runs, as of read_rows(); any may be empty."""
    try:
        if job.version != __version__:
            message = f"the workers have gradeval {__version__}, the driver {job.version}"
            raise GradevalError(f"{message}: install one version on both")
        judged, notices = _read_qrels(qrels, job)
    except GradevalError as error:
        return error, []
    chosen = chosen_queries(judged, job.options, is_part=True)
    ties = job.options.ties or DEFAULT_TIES
    plan = Plan(job.specs, job.options.replace(ties=ties))  # with a rule, so that nothing is noticed of ties
    setting = EvaluationSetting(plan, judged, chosen, None)
    states: list[Part | GradevalError] = []
    evaluated = {}
    for r, table in enumerate(runs):
        try:
            evaluated[r], part = _evaluated(table, setting, r, job)
            states.append(part)
        except GradevalError as error:
            states.append(error)
    results = {r: of_run.result for r, of_run in evaluated.items()}
    if results:
        counted = np.any([result.counted for result in results.values()], axis=0)
        empty = next(iter(evaluated.values())).empty
        # as if much were judged: whether it is depends on all buckets
        of_relevance = relevance_notices(judged, job.specs, empty, counted, job.options, share=1.0)
        notices = Notices((*notices, *of_relevance))
    pairs = []
    for pair in job.pairs if len(results) == len(runs) else ():
        values = [np.where(results[r].counted, results[r].values, np.nan) for r in pair]
        differences = tests.paired_differences(*values)
        pairs.append(Statistics.of(np.where(np.isnan(differences), np.nan, [differences, *values])))
    shown_ids = None if job.options.query_ids is not None else SHOWN_IDS + 1
    ids = Texts(judged.queries.take(np.flatnonzero(chosen)[:shown_ids]))  # which are in order
    return Bucket(tuple(states), notices, tuple(ids), tuple(pairs)), [
        (r, judged.queries.take(result.counted), result.values[:, result.counted])
        for r, result in results.items()
    ]


class TableRows(NamedTuple):
    """Rows of a table: ids, (n,), and grades or scores, (n,). subtopic: as in Columns."""

    queries: Ids
    documents: Ids
    number: Floats
    subtopic: Ids | bytes | None = None

    def take(self, rows: Ints) -> TableRows:
        subtopic = self.subtopic.take(rows) if isinstance(self.subtopic, Ids) else self.subtopic
        return TableRows(self.queries.take(rows), self.documents.take(rows), self.number[rows], subtopic)

    def named(self, problem: Problem, without: Sequence[Collection[int | None]] = ((), ())) -> Problem:
        """What is wrong with a row, which has no line: a shuffle keeps no order. without: the rows that have no
        query, and those that have no document.
        """
        row = problem.line or 0
        if row in without[1] and self.queries[row].startswith(NO_ROW.encode()):
            message, line = self.queries[row][1:].split(NO_ROW.encode(), 1)
            return Problem(None, f"line {shown(line)}: {message.decode()}")
        columns = zip(("query", "document"), (self.queries, self.documents), without, strict=True)
        ids = ", ".join(f"{name} {shown(of_rows[row])}" for name, of_rows, rows in columns if row not in rows)
        return problem.replace(line=None, what=": ".join(filter(None, (ids, problem.what))))


def read_rows(table: Any, labels: Sequence[str], path: str, *, is_ordered: bool = False) -> TableRows:
    """The rows of a table (an object with Arrow's C stream) with the columns query, document and number, and
    subtopic where there is a label of it; in the order of the column place if so, and where it is equal by
    document id from the last to the first. labels: as in SparkJob. Raises InputError(s).
    """
    chunks = [*chain.from_iterable(batches(table))]
    every = slice(None)

    def column(name: str) -> Arrow:
        return Arrow([chunk for chunk in chunks if chunk.name == name])

    queries, wrong_query = column("query").ids(every, labels[0])
    documents, wrong_document = column("document").ids(every, labels[1])
    number, wrong_number = column("number").numbers(every, labels[2])
    wrong = [wrong_query, wrong_document, wrong_number]
    rows = TableRows(queries, documents, number)
    if is_ordered:
        wrong.append(column("place").numbers(every, "place in the order of the run")[1])
    if len(labels) > 3:
        subtopics, wrong_subtopic = column("subtopic").ids(every, labels[3])
        rows = rows._replace(subtopic=light_subtopics(subtopics))
        wrong.append(wrong_subtopic)
    if any(problems.total for problems in wrong):
        without = [{problem.line for problem in problems.all()} for problems in wrong[:2]]
        of_row = (problem for problems in reversed(wrong) for problem in problems.all())
        first = {problem.line: problem for problem in of_row}
        LineProblems.listed([*first.values()]).changed(partial(rows.named, without=without)).check(path)
    if is_ordered and len(number):  # integers may have more digits than doubles
        file_position: Any = np.concatenate([chunk.numbers() for chunk in column("place").chunks])
        by_id = documents.descending(np.zeros(len(file_position), np.int64))
        rows = rows.take(by_id[np.argsort(file_position[by_id], kind="stable")])
    return rows


def _read_qrels(table: Any, job: SparkJob) -> tuple[Qrels, Notices]:
    """The judgments by the ids of the queries and the keys of the documents, whatever the order of the rows."""
    judged = read_rows(table, job.qrels_labels, job.qrels)
    groups, bounds = grouped(judged.queries)
    first, number = groups.distinct()
    position = np.empty(len(first), np.int64)
    position[groups.take(first).descending(np.zeros_like(position))[::-1]] = np.arange(len(first))
    query = np.repeat(position[number], np.diff(bounds))
    judged = judged.take(np.lexsort((judged.documents.keys(), query)))
    columns = Columns.whole(judged.queries, judged.documents, judged.number)
    columns = columns.replace(subtopic=judged.subtopic)
    rows = JudgmentRows.of(job.qrels, [columns])
    grades = np.sort(rows.qrels.grade[[rows.again, rows.first]], axis=0).T.tolist()
    differing = [
        Problem(line, f"it has two grades, {low:g} and {high:g}")
        for line, (low, high) in zip(rows.line()[rows.again].tolist(), grades, strict=True)
        if low != high
    ]
    merge = job.options.merge
    wrong = rows.out_of_range() + LineProblems.listed([] if merge else differing)
    wrong.changed(judged.named).check(job.qrels)
    qrels = rows.merged(merge)
    qrels = qrels.evaluated(job.options, excluded(job.options))
    of_subtopics = no_subtopics_notices(qrels, job.specs)
    of_qrels = (
        notice.replace(rule="")  # which queries are not judged is known of all buckets together
        if notice.kind is NoticeKind.EXCLUDED_JUDGMENTS
        else notice
        for notice in qrels_notices_for(qrels, job.specs)
    )
    notices = Notices((*of_qrels, *of_subtopics))
    qrels.__dict__["scale"] = job.scale  # that of all qrels, instead of the bucket's
    return qrels, notices


def _evaluated(table: Any, setting: EvaluationSetting, r: int, job: SparkJob) -> tuple[Evaluated, Part]:
    """A run, and its state. Raises GradevalError."""
    name = job.runs[r]
    path = job.paths[r]
    options = job.options
    qrels = setting.qrels
    ties = options.ties or DEFAULT_TIES
    rows = read_rows(table, job.run_labels, path, is_ordered=ties == "input")
    columns = Columns.whole(rows.queries, rows.documents, -rows.number if job.is_negated else rows.number)
    if (pairs := excluded(options)) is not None:
        columns = columns.without_pairs(pairs, options.delimiter)
    if options.ignore_identical_ids:
        columns = columns.without_identical_ids(options.delimiter)
    total = Total(qrels, ties, Collapse.of(options))
    total.note(columns, 0)
    total.add(total.find(RunLines.of(columns, qrels)), 0)
    message = "duplicate document for its query"
    repeats = total.repeats.changed(lambda problem: Problem(problem.line, message, COLLAPSES))
    repeats.changed(rows.named).check(path)
    reduced = total.reduced()
    evaluated = evaluate(setting, ReducedRun(name, name, ties, reduced, name), 1)
    result = evaluated.result
    facts = caveats(evaluated)
    tie_values = [] if result.tie_range is None else [*result.tie_range]
    if not tie_values and options.ties is None:  # a user who names a rule has decided the order
        scored = Scored(result.values, {}, evaluated.empty)
        changes = spread(evaluated.judge, result.counted, job.specs, scored, 1, trials=TRIALS)
        if changes.changes.any():
            tie_values = [*changes.extremes, changes.expected()]
            of_ties = tie_notices(qrels, job.specs, result, changes)
            facts = facts.replace(notices=Notices((*facts.notices, *of_ties)))
    values = _statistics([result.values, *tie_values], result, job)
    bounds = None if result.bounds is None else _statistics([*result.bounds], result, job)
    depths = np.unique(depths_of(reduced, result.counted, options.depth), return_counts=True)
    ids = () if len(depths[0]) else sorted(set(Texts(rows.queries)))[: SHOWN_IDS + 1]
    return evaluated, Part(result.queries, values, bounds, depths, facts, ids=ids)


def _statistics(arrays: Sequence[Floats], result: RunResult, job: SparkJob) -> Statistics:
    """Those of the values of queries that count, (M, Q) each, together."""
    statistics = [Statistics.of(summands(job.specs, array[:, result.counted])) for array in arrays]
    return Statistics(*map(np.array, zip(*statistics, strict=True)))


def tables(batches: Iterable[Any], runs: int) -> list[Any]:
    """The table of the qrels and those of the runs, from the batches of a partition, each as one chunk, which
    is read several times as fast as many.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    parts: list[list[Any]] = [[] for _ in range(QRELS, runs)]
    for batch in batches:
        of_rows = batch.column("run")
        present = pc.unique(of_rows).to_pylist()  # one in most batches: a map task writes the rows of one table
        for run in present:
            rows = batch if len(present) == 1 else batch.filter(pc.equal(of_rows, run))
            parts[run - QRELS].append(rows)
    return [pa.Table.from_batches(part).combine_chunks() if part else pa.table({}) for part in parts]


def arrow_table(state: State, of_runs: Sequence[RunValues], metrics: int, large: bool) -> Any:
    """The rows of a bucket: its state, and the values of its queries."""
    import pyarrow as pa

    text, binary = (pa.large_string(), pa.large_binary()) if large else (pa.string(), pa.binary())
    values = [(f"v{m}", pa.float64()) for m in range(metrics)]
    schema = pa.schema([("state", binary), ("run", pa.int32()), ("query", text), *values])
    parts = [pa.Table.from_pylist([{"state": pickle.dumps(state)}], schema)]
    for run, queries, of_run in of_runs:
        count = len(queries)
        columns = [
            pa.nulls(count, binary),
            pa.array(np.full(count, run, np.int32)),
            text_column(pa, queries).cast(text),
            *(pa.array(row, pa.float64(), mask=np.isnan(row)) for row in of_run),
        ]
        parts.append(pa.table(columns, schema=schema))
    return pa.concat_tables(parts)


# --- the states of all buckets


class OnCluster(Sequence[Any]):
    """Stands for the queries or their values, which are not here: reading one raises GradevalError."""

    def __len__(self, *position: Any) -> NoReturn:
        message = "the values of queries stay on the cluster: SparkResults.per_query() has them"
        raise GradevalError(f"{message}, SparkResults.compare() compares there")

    __getitem__ = __len__


ON_CLUSTER: Any = OnCluster()


class SparkSummary(Results):
    """Results with the standard errors of the means; the values of the queries stay on the cluster.

    statistics: those of the values of each metric, as of Part, by the name of the run. pairs: as of Bucket.
    """

    statistics: Mapping[str, Statistics] = {}
    pairs: Sequence[Statistics] = ()

    def check_values(self) -> None:
        """Raise GradevalError: the values of the queries are not here."""
        len(self.queries)

    def __repr__(self) -> str:
        return f"SparkSummary(qrels={self.qrels!r}, runs={len(self.runs)}, metrics={len(self.specs)})"

    def standard_error(self, run: OneRun, metric: OneMetric) -> float:
        """The standard error of a mean, in the metric's unit: sd / sqrt(n). NaN for fewer than two values, and
        for a metric whose summary is a sum or a geometric mean.
        """
        m = self._numeric(metric)
        values = self.statistics[self.runs[self._run(run)].name]
        has_error = self.specs[m].metric.has_interval and values.size[0, m] > 1
        return float(values.sd[0, m]) / math.sqrt(values.size[0, m]) if has_error else math.nan

    def interval(
        self,
        run: OneRun,
        metric: OneMetric,
        confidence: float | None = None,
        method: str | None = None,
    ) -> tuple[float, float]:
        """The t interval of a mean, of the queries as a sample, cut to the metric's range; (NaN, NaN) where
        there is no standard error.

        confidence: in percent, 95 by default. Raises OptionError for any other, and for another method.
        """
        if method not in (None, "t"):
            raise OptionError(f"method must be t, not {described(method)}: the values of queries are not here")
        alpha = CompareOptions(confidence=95.0 if confidence is None else confidence).alpha
        n = self.runs[self._run(run)].queries - self.undefined(run, metric)
        mean = self.mean(run, metric)
        bounds = self.specs[self._numeric(metric)].metric.limits
        return within(t_interval(mean, self.standard_error(run, metric), n - 1, alpha), mean, bounds)


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


def merged(states: Sequence[State], job: SparkJob) -> SparkSummary:
    """Raises GradevalError where the qrels or the options are wrong."""
    buckets = _without_errors(states)
    evaluated = {query for bucket in buckets for query in bucket.ids}
    if unknown := [query for query in job.options.query_ids or () if query not in evaluated]:
        raise UnknownQueryError(unknown, job.qrels)
    merged_runs = []
    failed = []
    for r, path in enumerate(job.paths):
        try:
            merged_runs.append(_merged_run(r, buckets, job))
        except GradevalError as error:
            failed.append(FailedRun(path, error))
    results = tuple(merged_run.result for merged_run in merged_runs)
    options = job.options.to_dict()
    evaluation = SparkSummary(
        job.qrels,
        None,
        ON_CLUSTER,
        job.specs,
        results,
        options=options,
        given_notices=with_depths(
            _notices(merged_runs, buckets, job),
            [(result.name, result.depths) for result in results],
            job.specs,
            options,
        ),
        failed=tuple(failed),
    )
    pairs = [Statistics.joined(parts) for parts in zip(*(bucket.pairs for bucket in buckets), strict=False)]
    statistics = {merged_run.result.name: merged_run.statistics for merged_run in merged_runs}
    return evaluation.replace(statistics=statistics, pairs=pairs)


def _without_errors(states: Sequence[_State | GradevalError]) -> list[_State]:
    """The states, of which none is an error. Raises GradevalError where some are."""
    if errors := [state for state in states if isinstance(state, GradevalError)]:
        raise joined_error(errors)
    return [state for state in states if not isinstance(state, GradevalError)]


class _MergedRun(NamedTuple):
    """What the buckets make together of a run."""

    result: RunResult
    statistics: Statistics
    judged_share: float
    notices: list[Notice]


def _notices(runs: Sequence[_MergedRun], buckets: Sequence[Bucket], job: SparkJob) -> Iterator[Notice]:
    """Those of the qrels, then those of the runs."""
    most_judged = max((run.judged_share for run in runs), default=0.0)
    for notice in merged_notices([bucket.notices for bucket in buckets], job.specs):
        if notice.kind is not NoticeKind.ALL_RELEVANT or most_judged >= ENOUGH_JUDGED:
            yield notice
    yield from bounds_notices(job.specs, job.options)
    yield from unscaled_notices(job.qrels, job.scale, job.specs)
    for run in runs:
        yield from (notice.replace(subject=run.result.name) for notice in run.notices)


def _merged_run(r: int, buckets: Sequence[Bucket], job: SparkJob) -> _MergedRun:
    """Raises GradevalError."""
    path = job.paths[r]
    specs = job.specs
    options = job.options
    parts = _without_errors([bucket.runs[r] for bucket in buckets])
    depths, counts = map(np.concatenate, zip(*(part.depths for part in parts), strict=True))
    in_run = int(counts.sum())
    if not in_run:
        raise _without_queries(path, parts, buckets, job)
    values = _joined_values(parts)
    # (1 or 4, M): the mean over all orders of ties has no values where some queries have no closed form
    is_partial = values.size < values.size[0]
    total, mean = (np.where(is_partial, math.nan, array) for array in (values.total, values.mean))
    means, *tie_means = map(partial(summaries, specs), total, mean)
    counted = sum(part.counted for part in parts)
    undefined = (counted - values.size[0]).astype(np.int64)
    limits = dict(zip(TIE_RANGE, tie_means, strict=True)) if options.tie_range else {}
    summary = Summary(counted, means, undefined, limits, {})
    result = RunResult(job.runs[r], path, None, ON_CLUSTER, np.empty(0, np.bool_), summary=summary)
    result = result.replace(ties=options.ties or DEFAULT_TIES, depths=quantiles(depths, counts))
    if options.tie_range:
        result = result.replace(tie_range=ON_CLUSTER)
    bounds = [part.bounds for part in parts if part.bounds is not None]
    if bounds:
        of_bounds = Statistics.joined(bounds)
        means_of_bounds = map(partial(summaries, specs), of_bounds.total, of_bounds.mean)
        summary = summary.replace(limits={**limits, **dict(zip(BOUNDS, means_of_bounds, strict=True))})
        result = result.replace(bounds=ON_CLUSTER, summary=summary)
    notices = _notices_of_run(parts, specs, [means, *tie_means])
    # of each bucket's queries that are in the run: depths[1] has how many there are of each depth
    share = math.fsum(part.facts.judged_share * part.depths[1].sum() for part in parts) / in_run
    cutoff = first_ranks(specs, options)
    notices += judged_notices(share, cutoff, specs, job.scale, options)
    short = np.sum([part.facts.short for part in parts], axis=0)
    notices += cutoff_notices(specs, short, in_run)
    return _MergedRun(result, values, share, notices)


def _notices_of_run(parts: Sequence[Part], specs: Sequence[Spec], means: Sequence[Floats]) -> list[Notice]:
    """Those of the buckets that concern the means. means: as of _with_means()."""
    notices = (
        _with_means(notice, specs, means) if notice.kind is NoticeKind.TIES else notice
        for notice in merged_notices([part.facts.notices for part in parts], specs)
    )
    return [notice for notice in notices if notice.concerns_means]


def _without_queries(path: str, parts: Sequence[Part], buckets: Sequence[Bucket], job: SparkJob) -> InputError:
    """The error of a run that has none of the queries."""
    ids = sorted(chain.from_iterable(part.ids for part in parts))
    if not ids:
        return InputError(path, NO_ROWS)
    judged = sorted(chain.from_iterable(bucket.ids for bucket in buckets))
    return no_common_query(path, job.qrels, ids, judged)


def _joined_values(parts: Sequence[Part]) -> Statistics:
    shape = max(part.values.size.shape for part in parts)  # no order of ties changes a part without ends
    return Statistics.joined(
        [Statistics._make(np.broadcast_to(column, shape) for column in part.values) for part in parts]
    )


def _with_means(notice: Notice, specs: Sequence[Spec], means: Sequence[Floats]) -> Notice:
    """The notice of ties with the means of its metric: of the run, lowest, highest, and perhaps expected."""
    m = [*map(str, specs)].index(notice.metric)
    numbers = [None if math.isnan(of_metrics[m]) else float(of_metrics[m]) for of_metrics in means]
    return notice.replace(**dict(zip(("value", "low", "high", "expected"), numbers, strict=True)))


def without_values(
    runs: Iterable[str], paths: Iterable[str], specs: Sequence[Spec] = ()
) -> compare.QueryValues:
    """The runs to compare, whose values stay on the cluster."""
    compared = tuple(map(compare.ComparedSystem, runs, paths))
    metrics = tuple(map(compare.ComparedMetric.of, specs))
    return compare.QueryValues((), compared, metrics, np.empty((len(compared), len(specs), 0)))


def comparison(
    job: SparkJob,
    metrics: Metrics | None,
    options: CompareOptions,
    summarized: Callable[[SparkJob], SparkSummary],
) -> compare.Comparison:
    """The runs compared. summarized: evaluates a job. Raises GradevalError."""
    pairs = compare.pairs_of(without_values(job.runs, job.paths), options)
    if metrics is None:
        specs = compare.metrics_to_test(job.specs)
    else:
        specs = [job.specs[position_of(spec, job.specs)] for spec in parse(metrics)]
        compare.comparable_metrics([*map(str, specs)])
    places = [*map(job.specs.index, specs)]
    values = without_values(job.runs, job.paths, specs)
    summary: SparkSummary = complete(summarized(job._replace(pairs=pairs)))  # type: ignore[assignment]
    compared_runs = map(compare.ComparedSystem, job.runs, job.paths, coverage_of_runs(summary))
    values = replace(values, compared=tuple(compared_runs))
    shortfalls = values.shortfalls(options.min_coverage)
    tested = [
        (
            *(job.runs[run], job.runs[baseline], column),
            *_t_test(pair, m, options.alpha, shortfalls[baseline] or shortfalls[run]),
        )
        for (baseline, run), pair in zip(pairs, summary.pairs, strict=True)
        for column, m in zip(values.metrics, places, strict=True)
    ]
    corrected = CORRECTIONS[options.used_correction](np.array([outcome.p for *_, outcome in tested])).tolist()
    compared = (compare.pair_comparison(test, p, options) for test, p in zip(tested, corrected, strict=True))
    of_runs = [summary.statistics[name] for name in job.runs]
    means = np.array([of_run.mean[0, places] for of_run in of_runs])
    most = max(of_run.queries for of_run in summary.runs)
    section = compare.Section(None, most, means, tuple(compared), (), shortfalls=tuple(shortfalls))

    def judged_mean(results: Results, r: int, spec: Spec) -> float:
        m = job.specs.index(spec)
        return compare.share(results, r, of_runs[r].total[0, m], of_runs[r].size[0, m])

    judged = compare.Judged.of(summary, judged_mean)
    notices = compare.notices_of(summary, values)
    inputs = {"qrels": summary.judged_by, "options": dict(summary.options)}
    return compare.compare_values(values, options, notices, judged=judged, inputs=inputs, sections=(section,))


def _t_test(
    pair: Statistics, m: int, alpha: float, shortfall: str
) -> tuple[list[float], tests.PairedSummary, tests.PairedOutcome]:
    """The paired t-test of a metric: the means of the baseline and the run, their differences, the outcome.
    shortfall: why they are not tested, '' if they are.
    """
    mean, *means = pair.mean[:, m].tolist()
    size, _, _, won, lost, lowest, highest = (column[0, m].item() for column in pair)
    n = int(size)
    sd = float(pair.sd[0, m])
    reason = tests.reason_without_p(np.array([lowest, highest][:n]))
    if shortfall:
        outcome = tests.untested(mean, shortfall)
    elif reason:
        end = mean if n > 1 else math.nan
        outcome = tests.untested(mean, reason).replace(low=end, high=end)
    else:
        outcome = tests.t_outcome(n, mean, sd, alpha)
    summary = tests.PairedSummary(
        n=n,
        effective_n=float(n),
        mean=mean,
        sd=sd,
        effect_size=math.nan if reason else mean / sd,
        wins=won,
        ties=n - won - lost,
        losses=lost,
    )
    return means, summary, outcome
