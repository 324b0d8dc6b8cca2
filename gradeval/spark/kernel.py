"""The evaluation of a bucket: some queries with all their judgments, and the rows of all runs for them.

Nothing here knows Spark: Arrow tables go in, and the state of the bucket comes out. Values and notices come
from the functions that evaluate files.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import stable_order
from gradeval.arrays.strings import Ids, Texts
from gradeval.errors import GradevalError
from gradeval.evaluation.outcome import (
    SHOWN_IDS,
    Noticed,
    Outcome,
    chosen_queries,
    depths_of,
    no_subtopics_notices,
    outcome_of,
    qrels_notices_for,
    relevance_notices,
)
from gradeval.evaluation.score import Judge, summands
from gradeval.formats.arrow import Arrow, batches
from gradeval.formats.columns import Columns, grouped, light_subtopics
from gradeval.formats.diagnostics import COLLAPSES, LineProblems, Problem, shown
from gradeval.formats.write import text_column
from gradeval.notices import Notice
from gradeval.options import DEFAULT_TIES, Options
from gradeval.registry.spec import Spec
from gradeval.statistics.tests import paired_differences
from gradeval.tables.qrels import JudgmentRows, Qrels
from gradeval.tables.ranking import Collapse, Lines
from gradeval.tables.reduction import Total
from gradeval.version import __version__

QRELS = -1  # in the column run, the rows of the qrels
# a line of a file that is no row has as its query NO_ROW, the error, NO_ROW, and the line
NO_ROW = "\0"
RunValues = tuple[int, Ids, Floats]
"""The position of a run, the ids of its counted queries in a bucket, (n,), and their values, (M, n)."""


class Job(NamedTuple):
    """An evaluation, the same for every bucket.

    scale: the distinct grades of all qrels, as they count, ascending. runs: their names. paths: what errors
    call the runs. qrels: the path. qrels_labels, run_labels: what messages call the query, the document, the
    number and, of qrels that have one, the subtopic. by_rank: whether the numbers of the runs are ranks. pairs:
    (baseline, run) to compare, as positions in runs. version: of gradeval, which the workers must have too.
    """

    specs: tuple[Spec, ...]
    options: Options
    scale: Floats
    runs: tuple[str, ...]
    paths: tuple[str, ...]
    qrels: str = "qrels"
    qrels_labels: Sequence[str] = ("query id", "document id", "grade")
    run_labels: Sequence[str] = ("query id", "document id", "score")
    by_rank: bool = False
    pairs: tuple[tuple[int, int], ...] = ()
    version: str = __version__


class Statistics(NamedTuple):
    """The statistics of columns of numbers, from which NaN are left out: arrays of one shape.

    squares: the sum of the squared deviations from the mean. positive, negative: how many numbers are. lowest,
    highest: infinite where there are none.
    """

    size: Floats
    total: Floats
    squares: Floats
    positive: Ints
    negative: Ints
    lowest: Floats
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
        lowest = np.where(defined, values, np.inf).min(axis=-1, initial=np.inf)
        highest = np.where(defined, values, -np.inf).max(axis=-1, initial=-np.inf)
        return cls(size, total, squares, (values > 0).sum(axis=-1), (values < 0).sum(axis=-1), lowest, highest)

    @classmethod
    def joined(cls, parts: Sequence[Statistics]) -> Statistics:
        """Those of all parts, at least one, merged in this order.

        Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
        variances", 1979.
        """
        size, total, squares = parts[0][:3]
        with np.errstate(over="ignore", invalid="ignore"):
            for part in parts[1:]:
                apart = part.mean - total / size
                weight = size * part.size / np.maximum(size + part.size, 1)
                # a part without numbers has no mean
                squares = squares + part.squares + np.where(weight > 0, np.square(apart) * weight, 0.0)
                size, total = size + part.size, total + part.total
        positive, negative, lowest, highest = (
            np.array(column) for column in list(zip(*parts, strict=True))[3:]
        )
        return cls(size, total, squares, positive.sum(0), negative.sum(0), lowest.min(0), highest.max(0))

    @property
    def mean(self) -> Floats:
        """NaN where there are no numbers."""
        with np.errstate(invalid="ignore"):
            mean: Floats = self.total / self.size
        return mean

    @property
    def sd(self) -> Floats:
        """The standard deviation, n - 1 in the denominator; NaN for fewer than two numbers."""
        return np.sqrt(self.squares / np.where(self.size > 1, self.size - 1, math.nan))


class Part(NamedTuple):
    """The state of a run in a bucket.

    counted: how many queries. in_run: how many of these the run has. values: of each metric, (M,), logarithms
    for a geometric mean. ends: of RunResult.tie_range, none without it. depths: the numbers of documents that
    queries have, and how many queries have each. noticed: of the bucket. ids: the first queries that the run
    has, by id, where it has none that is evaluated.
    """

    counted: int
    in_run: int
    values: Statistics
    ends: tuple[Statistics, ...]
    depths: tuple[Ints, Ints]
    noticed: Noticed
    ids: Sequence[str]


class Bucket(NamedTuple):
    """The state of a bucket.

    runs: the state of each run, or why it failed; none where the qrels failed. notices: of the qrels. known:
    which of Options.query_ids it has. ids: the first evaluated queries, by id. pairs: for each pair of the job,
    of each metric, the differences run - baseline, the values of the baseline and those of the run, (3, M), for
    the queries that have a value in both; None where a run failed.
    """

    runs: tuple[Part | GradevalError, ...] = ()
    failure: GradevalError | None = None
    notices: tuple[Notice, ...] = ()
    known: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    pairs: tuple[Statistics | None, ...] = ()


def evaluate_bucket(qrels: Any, runs: Any, job: Job) -> tuple[Bucket, list[RunValues]]:
    """qrels, runs: Arrow tables with the columns of read_rows(); either may be empty."""
    try:
        if job.version != __version__:
            what = f"the workers have gradeval {__version__}, the driver {job.version}"
            raise GradevalError(f"{what}: install one version on both")
        judged, notices = _read_qrels(qrels, job)
    except GradevalError as error:
        return Bucket(failure=error), []
    chosen = chosen_queries(judged, job.options, is_part=True)
    states: list[Part | GradevalError] = []
    outcomes: dict[int, Outcome] = {}
    for r, rows in enumerate(_rows_of_runs(runs, job)):
        try:
            outcomes[r], part = _evaluated(rows, judged, r, chosen, job)
            states.append(part)
        except GradevalError as error:
            states.append(error)
    results = {r: outcome.result for r, outcome in outcomes.items()}
    if outcomes:
        counted = np.any([result.counted for result in results.values()], axis=0)
        empty = next(iter(outcomes.values())).empty
        # as if much were judged: whether it is depends on all buckets
        notices += tuple(relevance_notices(judged, job.specs, empty, counted, job.options, 1.0))

    def compared(baseline: int, run: int) -> Statistics | None:
        if baseline not in results or run not in results:
            return None
        first, second = (np.where(results[r].counted, results[r].values, np.nan) for r in (baseline, run))
        differences = paired_differences(first, second)
        return Statistics.of(np.where(np.isnan(differences), np.nan, [differences, first, second]))

    known = {*(job.options.query_ids or ())}.intersection(Texts(judged.queries))
    first = Texts(judged.queries.take(np.flatnonzero(chosen)[: SHOWN_IDS + 1]))  # which are in order
    pairs = tuple(compared(*pair) for pair in job.pairs)
    bucket = Bucket(tuple(states), None, notices, tuple(known), tuple(first), pairs)
    return bucket, [
        (r, judged.queries.take(result.counted), result.values[:, result.counted])
        for r, result in results.items()
    ]


class Rows(NamedTuple):
    """Rows of a table. queries, documents: ids, (n,). number: the grade or score, (n,). run: which run each is
    of, and place: its place in the order of the run, (n,), None where the table does not have them. subtopic:
    as in Columns. errors: the first of each row that cannot be read, in the order of the rows.
    """

    queries: Ids
    documents: Ids
    number: Floats
    run: Ints | None = None
    place: Floats | Ints | None = None
    subtopic: Ids | bytes | None = None
    errors: Mapping[int, Problem] = {}

    def take(self, rows: Ints) -> Rows:
        """Some of the rows, without errors."""
        return Rows(
            self.queries.take(rows),
            self.documents.take(rows),
            self.number[rows],
            place=None if self.place is None else self.place[rows],
            subtopic=self.subtopic.take(rows) if isinstance(self.subtopic, Ids) else self.subtopic,
        )

    def named(self, problem: Problem) -> Problem:
        """What is wrong with a row, which has no line: a shuffle keeps no order."""
        row = problem.line or 0
        where = f"query {shown(self.queries[row])}, document {shown(self.documents[row])}"
        return problem.replace(line=None, what=f"{where}: {problem.what}")


def read_rows(table: Any, labels: Sequence[str]) -> Rows:
    """The rows of a table (an object with Arrow's C stream) with the columns query, document and number, and
    perhaps run, place and subtopic. labels: as in Job.
    """
    parts = list(batches(table))
    columns = {
        chunk.name: Arrow([part[k] for part in parts]) for k, chunk in enumerate(parts[0] if parts else ())
    }
    if not columns:
        return Rows(Ids.of([]), Ids.of([]), np.empty(0))
    every = slice(None)
    queries, wrong_query = columns["query"].ids(every, labels[0])
    documents, wrong_document = columns["document"].ids(every, labels[1])
    number, wrong_number = columns["number"].numbers(every, labels[2])
    rows, wrong = Rows(queries, documents, number), [wrong_query, wrong_document, wrong_number]
    if "run" in columns:
        rows = rows._replace(run=columns["run"].numbers(every, "run")[0].astype(np.int64))
    if "place" in columns:  # integers may have more digits than doubles
        places = [chunk.numbers() for chunk in columns["place"].chunks]
        rows = rows._replace(place=np.concatenate([place for place in places if place is not None]))
        wrong.append(columns["place"].numbers(every, "place in the order of the run")[1])
    if len(labels) > 3:
        subtopics, wrong_subtopic = columns["subtopic"].ids(every, labels[3])
        rows = rows._replace(subtopic=light_subtopics(subtopics))
        wrong.append(wrong_subtopic)
    errors: dict[int, Problem] = {}
    no_query, no_document = ({problem.line for problem in of.all()} for of in (wrong_query, wrong_document))
    for problem in chain.from_iterable(problems.all() for problems in wrong):
        row, where = problem.line or 0, []
        if row in errors:
            continue
        if row in no_document and queries[row].startswith(NO_ROW.encode()):
            what, line = queries[row][1:].split(NO_ROW.encode(), 1)
            errors[row] = Problem(None, f"line {shown(line)}: {what.decode()}")
            continue
        if row not in no_query:
            where.append(f"query {shown(queries[row])}")
        if row not in no_document:
            where.append(f"document {shown(documents[row])}")
        errors[row] = Problem(None, ": ".join(filter(None, (", ".join(where), problem.what))))
    return rows._replace(errors=dict(sorted(errors.items())))


def _read_qrels(table: Any, job: Job) -> tuple[Qrels, tuple[Notice, ...]]:
    """The judgments, in an order that does not depend on that of the rows: by the ids of the queries, and those
    of a query by the keys of their documents.
    """
    judged = read_rows(table, job.qrels_labels)
    LineProblems.listed([*judged.errors.values()]).check(job.qrels)
    groups, bounds = grouped(judged.queries)
    first, number = groups.distinct()
    place = np.empty(len(first), np.int64)
    place[groups.take(first).descending(np.zeros_like(place))[::-1]] = np.arange(len(first))
    query = np.repeat(place[number], np.diff(bounds))
    judged = judged.take(np.lexsort((judged.documents.keys(), query)))
    columns = Columns.whole(judged.queries, judged.documents, judged.number)
    columns = columns.replace(subtopic=judged.subtopic)
    rows = JudgmentRows.of(job.qrels, [columns])
    line, grade = rows.line(), rows.qrels.grade
    differing = []
    for again, before in zip(rows.again.tolist(), rows.first.tolist(), strict=True):
        if grade[again] != grade[before]:
            low, high = sorted((float(grade[again]), float(grade[before])))
            differing.append(Problem(int(line[again]), f"it has two grades, {low:g} and {high:g}"))
    wrong = LineProblems.joined([rows.out_of_range(), LineProblems.listed(differing)])
    wrong.changed(judged.named).check(job.qrels)
    qrels = rows.without_duplicates()
    notices = (*qrels_notices_for(qrels, job.specs), *no_subtopics_notices(qrels, job.specs))
    qrels = qrels.evaluated(job.options)
    qrels.__dict__["scale"] = job.scale  # that of all qrels, instead of the bucket's
    return qrels, notices


def _rows_of_runs(table: Any, job: Job) -> Iterator[Rows]:
    """The rows of each run, in the order of its places if it has any; of equal places, by document id from the
    last to the first, so that the values do not depend on the order of the rows.
    """
    rows = read_rows(table, job.run_labels)
    if job.by_rank:
        rows = rows._replace(number=-rows.number)
    run = np.zeros(len(rows.number), np.int64) if rows.run is None else rows.run
    parts: Iterable[Rows] = [rows]
    if len(job.runs) > 1:
        order = stable_order(run)
        ends = np.searchsorted(run[order], np.arange(1, len(job.runs)))
        parts = map(rows.take, np.split(order, ends))
    for r, part in enumerate(parts):
        of_run = part
        if part.place is not None:
            by_id = part.documents.descending(np.zeros(len(part.place), np.int64))
            of_run = part.take(by_id[np.argsort(part.place[by_id], kind="stable")])
        yield of_run._replace(errors={row: error for row, error in rows.errors.items() if run[row] == r})


def _evaluated(rows: Rows, qrels: Qrels, r: int, chosen: Bools, job: Job) -> tuple[Outcome, Part]:
    """The outcome of a run, and its state. Raises InputError(s)."""
    name, path, options = job.runs[r], job.paths[r], job.options
    ties = options.ties or DEFAULT_TIES
    LineProblems.listed([*rows.errors.values()]).check(path)
    columns = Columns.whole(rows.queries, rows.documents, rows.number)
    if options.ignore_identical_ids:
        columns = columns.without_identical_ids(options.delimiter)
    total = Total(qrels, ties, Collapse.of(options))
    total.add(total.find(Lines.of(columns, qrels)), 0)
    what = "duplicate document for its query"
    repeats = total.repeats.changed(lambda problem: Problem(problem.line, what, COLLAPSES))
    repeats.changed(rows.named).check(path)
    reduced = total.reduced()
    outcome = outcome_of(Judge(qrels, reduced, options, name), name, name, ties, job.specs, 1, chosen)
    result = outcome.result
    in_run = int((chosen & (reduced.retrieved > 0)).sum())
    values, *ends = (
        Statistics.of(summands(job.specs, values[:, result.counted]))
        for values in (result.values, *(() if result.tie_range is None else result.tie_range))
    )
    return outcome, Part(
        result.queries,
        in_run,
        values,
        tuple(ends),
        np.unique(depths_of(reduced, result.counted, options.depth), return_counts=True),
        outcome.noticed(),
        () if in_run else sorted(set(Texts(rows.queries)))[: SHOWN_IDS + 1],
    )


def tables(batches: Iterable[Any]) -> tuple[Any, Any]:
    """The qrels and the runs of a bucket, from the batches of a partition, each as one chunk, which is read
    several times as fast as many.
    """
    import pyarrow as pa

    judged, retrieved = [], []
    for batch in batches:
        is_judged = batch.column("run").to_numpy(zero_copy_only=False) == QRELS
        if is_judged.all():  # as in most batches: a map task writes the rows of one table
            judged.append(batch)
        elif not is_judged.any():
            retrieved.append(batch)
        else:
            judged.append(batch.filter(pa.array(is_judged)))
            retrieved.append(batch.filter(pa.array(~is_judged)))
    qrels, runs = (
        pa.Table.from_batches(of).combine_chunks() if of else pa.table({}) for of in (judged, retrieved)
    )
    return qrels.select([name for name in qrels.column_names if name not in ("run", "place")]), runs


def arrow_table(bucket: Bucket, of_runs: Sequence[RunValues], metrics: int, large: bool) -> Any:
    """The rows of a bucket: its state, and the values of its queries."""
    import pyarrow as pa

    text, binary = (pa.large_string(), pa.large_binary()) if large else (pa.string(), pa.binary())
    values = [(f"v{m}", pa.float64()) for m in range(metrics)]
    schema = pa.schema([("state", binary), ("run", pa.int32()), ("query", text), *values])
    parts = [pa.Table.from_pylist([{"state": pickle.dumps(bucket)}], schema)]
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
