"""The evaluation of a bucket: some queries with all their judgments, and the rows of all runs for them.

Nothing here knows Spark: Arrow tables go in, and the state of the bucket comes out. Values and notices come
from the functions that evaluate files.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable, Iterator, Sequence
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
    outcome_of_reduced,
    qrels_notices_for,
    query_notices,
    relevance_notices,
)
from gradeval.evaluation.results import RunResult
from gradeval.evaluation.score import summands
from gradeval.formats.arrow import Arrow, batches
from gradeval.formats.columns import Columns, grouped, light_subtopics
from gradeval.formats.diagnostics import COLLAPSES, SHOWN, LineProblems, Problem, shown
from gradeval.formats.write import text_column
from gradeval.notices import Notice
from gradeval.options import DEFAULT_TIES, Options
from gradeval.registry.spec import Spec
from gradeval.statistics.tests import paired_differences
from gradeval.tables.qrels import RESCALE, JudgmentRows, Qrels, out_of_range
from gradeval.tables.ranking import Collapse, Lines
from gradeval.tables.reduction import Total
from gradeval.version import __version__

# the columns of a table
QUERY, DOCUMENT, NUMBER, RUN, PLACE, SUBTOPIC = "query", "document", "number", "run", "place", "subtopic"
QRELS = -1  # in the place of the position of a run
# a line of a file that is no row has as its query NO_ROW, the error, NO_ROW, and the line
NO_ROW = "\0"
RunValues = tuple[int, Ids, Floats]
"""The position of a run, the ids of its counted queries in a bucket, (n,), and their values, (M, n)."""


class Names(NamedTuple):
    """The names of a table and its values in messages. path: the table, '' for runs, which have names.
    subtopic: '' for a table without subtopics.
    """

    path: str
    query: str = "query id"
    document: str = "document id"
    number: str = "score"
    subtopic: str = ""


class TableRows(NamedTuple):
    """Rows as they are. queries, documents: ids, (n,). number: the grade or score, (n,). run: which run each is
    of, and place: its place in the order of the run, (n,); None where the table does not have them.
    subtopic: as in Columns.

    errors: of the rows that cannot be read, ascending; their line is the row.
    """

    queries: Ids
    documents: Ids
    number: Floats
    run: Ints | None = None
    place: Floats | Ints | None = None
    errors: Sequence[Problem] = ()
    subtopic: Ids | bytes | None = None

    def take(self, rows: Ints | Bools) -> TableRows:
        """Some of the rows, without errors."""
        place = None if self.place is None else self.place[rows]
        subtopic = self.subtopic.take(rows) if isinstance(self.subtopic, Ids) else self.subtopic
        queries, documents = self.queries.take(rows), self.documents.take(rows)
        return TableRows(queries, documents, self.number[rows], place=place, subtopic=subtopic)

    def error(self, row: int, what: str, hint: str = "") -> Problem:
        where = f"query {shown(self.queries[row])}, document {shown(self.documents[row])}"
        return Problem(row, f"{where}: {what}", hint)


def check_rows(path: str, errors: Sequence[Problem], total: int = 0) -> None:
    """Raise the errors of a table, if any, as InputError(s). total: how many there are."""
    first = tuple(error.replace(line=None) for error in errors[:SHOWN])  # a table has no lines
    LineProblems(first, total or len(errors)).check(path)


def read_rows(table: Any, names: Names) -> TableRows:
    """The rows of a table (an object with Arrow's C stream) with the columns above, of which RUN, PLACE and
    SUBTOPIC may be absent.
    """
    parts = list(batches(table))
    if not parts or not parts[0]:  # no batch, and so no rows
        return TableRows(Ids.of([]), Ids.of([]), np.empty(0))
    columns = {chunk.name: Arrow([part[k] for part in parts]) for k, chunk in enumerate(parts[0])}
    every = slice(None)
    queries, wrong_query = columns[QUERY].ids(every, names.query)
    documents, wrong_document = columns[DOCUMENT].ids(every, names.document)
    number, wrong_number = columns[NUMBER].numbers(every, names.number)
    run: Ints | None = None
    place: Floats | Ints | None = None
    subtopic: Ids | bytes | None = None
    wrong = [wrong_query, wrong_document, wrong_number]
    if RUN in columns:
        run = columns[RUN].numbers(every, RUN)[0].astype(np.int64)
    if PLACE in columns:
        place, wrong_place = columns[PLACE].numbers(every, "place in the order of the run")
        exact = [numbers for chunk in columns[PLACE].chunks if (numbers := chunk.numbers()) is not None]
        if len(exact) == len(columns[PLACE].chunks):  # integers may have more digits than doubles
            place = np.concatenate(exact)
        wrong.append(wrong_place)
    if names.subtopic:
        subtopics, wrong_subtopic = columns[SUBTOPIC].ids(every, names.subtopic)
        subtopic = light_subtopics(subtopics)
        wrong.append(wrong_subtopic)
    errors: dict[int, Problem] = {}  # the first error of each row
    no_query, no_document = ({problem.line for problem in of.all()} for of in (wrong_query, wrong_document))
    for problem in chain.from_iterable(problems.all() for problems in wrong):
        row = problem.line or 0
        if row in errors:
            continue
        where, what = [], problem.what
        if row in no_document and queries[row].startswith(NO_ROW.encode()):
            message, line = queries[row][1:].split(NO_ROW.encode(), 1)
            where, what = [f"line {shown(line)}"], message.decode()
        else:
            where += [f"query {shown(queries[row])}"] if row not in no_query else []
            where += [f"document {shown(documents[row])}"] if row not in no_document else []
        errors[row] = Problem(row, ": ".join(filter(None, (", ".join(where), what))))
    in_order = [errors[row] for row in sorted(errors)]
    return TableRows(queries, documents, number, run, place, in_order, subtopic)


class Job(NamedTuple):
    """An evaluation, the same for every bucket.

    scale: the distinct grades of all qrels, as they count, ascending. runs: their names. paths: what
    errors call the runs. qrels_names, run_names: for messages. by_rank: whether the numbers of the runs are
    ranks. pairs: (baseline, run) to compare, as positions in runs. version: of gradeval, which the workers must
    have too.
    """

    specs: tuple[Spec, ...]
    options: Options
    scale: Floats
    runs: tuple[str, ...]
    paths: tuple[str, ...]
    qrels_names: Names = Names("qrels", number="grade")
    run_names: Names = Names("")
    by_rank: bool = False
    pairs: tuple[tuple[int, int], ...] = ()
    version: str = __version__


class Part(NamedTuple):
    """The state of a run in a bucket.

    counted: how many queries. in_run: how many evaluated queries the run has.
    has_judged: whether it retrieved a judged document. values: of each metric, (M,), logarithms for a geometric
    mean. ends: of RunResult.tie_range, none without it. undefined: (M,).
    judged: the share of the first ranks that is judged, summed over queries, and how many these are. depths:
    the numbers of documents that queries have, and how many queries have each. short: for how many queries
    there are fewer than a metric's cutoff, (M,). notices: with the bucket's numbers. ids: the first queries
    that the run has, by id, where it has none that is evaluated.
    """

    counted: int
    in_run: int
    has_judged: bool
    values: Moments
    ends: tuple[Moments, ...]
    undefined: Ints
    judged: tuple[float, int]
    depths: tuple[Ints, Ints]
    short: Ints
    notices: tuple[Notice, ...]
    ids: tuple[str, ...]


class Pair(NamedTuple):
    """The state of two runs, for the queries that have a value in both: of each metric, (M,).

    moments: of the differences run - baseline, of the baseline, and of the run, (3, M). won, lost: how many
    differences are above and below 0. lowest, highest: the extreme ones, infinite where there are none.
    """

    moments: Moments
    won: Ints
    lost: Ints
    lowest: Floats
    highest: Floats

    @classmethod
    def of(cls, baseline: Outcome, run: Outcome) -> Pair:
        first, second = (np.where(of.result.counted, of.result.values, np.nan) for of in (baseline, run))
        differences = paired_differences(first, second)
        alone = np.isnan(differences)
        return cls(
            Moments.of(np.where(alone, np.nan, [differences, first, second])),
            (differences > 0).sum(axis=1),
            (differences < 0).sum(axis=1),
            np.where(alone, np.inf, differences).min(axis=1, initial=np.inf),
            np.where(alone, -np.inf, differences).max(axis=1, initial=-np.inf),
        )

    @classmethod
    def joined(cls, parts: Sequence[Pair]) -> Pair:
        """Of all parts, at least one, merged in the given order."""
        moments, won, lost, lowest, highest = zip(*parts, strict=True)
        return cls(
            Moments.joined(moments),
            np.sum(won, axis=0),
            np.sum(lost, axis=0),
            np.min(lowest, axis=0),
            np.max(highest, axis=0),
        )


class Bucket(NamedTuple):
    """The state of a bucket.

    runs: the state of each run, or why it failed; none where the qrels failed. notices: of the qrels.
    known: which of Options.query_ids it has. ids: the first evaluated queries, by id. pairs: those of the job,
    None where a run failed.
    """

    runs: tuple[Part | GradevalError, ...] = ()
    failure: GradevalError | None = None
    notices: tuple[Notice, ...] = ()
    known: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    pairs: tuple[Pair | None, ...] = ()


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
    ids = job.options.query_ids
    known = () if ids is None else tuple({*ids}.intersection(Texts(judged.queries)))
    states: list[Part | GradevalError] = []
    outcomes: list[Outcome | None] = []
    values: list[RunValues] = []
    for run, rows in enumerate(_rows_of_runs(runs, job)):
        outcome = None
        try:
            outcome, part = _evaluated(rows, judged, run, chosen, job)
            states.append(part)
            counted = outcome.result.counted
            values.append((run, judged.queries.take(counted), outcome.result.values[:, counted]))
        except GradevalError as error:
            states.append(error)
        outcomes.append(outcome)
    evaluated = [outcome for outcome in outcomes if outcome is not None]
    if evaluated and len(judged.queries):
        counted = np.any([outcome.result.counted for outcome in evaluated], axis=0)
        # as if much were judged: whether it is depends on all buckets
        of_relevance = relevance_notices(judged, job.specs, evaluated[0].empty, counted, job.options, 1.0)
        notices = (*notices, *of_relevance)
    of_pairs = ((outcomes[baseline], outcomes[run]) for baseline, run in job.pairs)
    pairs = tuple(Pair.of(first, second) if first and second else None for first, second in of_pairs)
    first = Texts(judged.queries.take(np.flatnonzero(chosen)[: SHOWN_IDS + 1]))  # which are in order
    return Bucket(tuple(states), None, notices, known, tuple(first), pairs), values


def _read_qrels(table: Any, job: Job) -> tuple[Qrels, tuple[Notice, ...]]:
    """The judgments, in an order that does not depend on that of the rows."""
    names, judged = job.qrels_names, read_rows(table, job.qrels_names)
    check_rows(names.path, judged.errors)
    notices: tuple[Notice, ...] = ()
    if not len(judged.number):
        qrels = Qrels(names.path, Ids.of([]), np.zeros(1, np.int64), Ids.of([]), np.empty(0))
    else:
        # by the ids of the queries, and those of a query by the keys of their documents
        groups, bounds = grouped(judged.queries)
        first, number = groups.distinct()
        place = np.empty(len(first), np.int64)
        place[groups.take(first).descending(np.zeros_like(place))[::-1]] = np.arange(len(first))
        query = np.repeat(place[number], np.diff(bounds))
        judged = judged.take(np.lexsort((judged.documents.keys(), query)))
        columns = Columns.whole(judged.queries, judged.documents, judged.number, subtopic=judged.subtopic)
        rows = JudgmentRows.of(names.path, [columns])
        line, grade = rows.line(), rows.qrels.grade
        errors = [
            judged.error(int(line[row]), f"the grade {float(grade[row])!r} is out of range", RESCALE)
            for row in out_of_range(grade).tolist()
        ]
        for again, before in zip(rows.again.tolist(), rows.first.tolist(), strict=True):
            if grade[again] != grade[before]:
                low, high = sorted((float(grade[again]), float(grade[before])))
                errors.append(judged.error(int(line[again]), f"it has two grades, {low:g} and {high:g}"))
        check_rows(names.path, errors)
        qrels = rows.without_duplicates()
        notices = (*qrels_notices_for(qrels, job.specs), *no_subtopics_notices(qrels, job.specs))
        qrels = qrels.evaluated(job.options)
    qrels.__dict__["scale"] = job.scale  # that of all qrels, instead of the bucket's
    return qrels, notices


def _rows_of_runs(table: Any, job: Job) -> Iterator[TableRows]:
    """The rows of each run, in the order of its places if it has any; of equal places, by document id from the
    last to the first, so that the values do not depend on the order of the rows.
    """
    retrieved = read_rows(table, job.run_names)
    if job.by_rank:
        retrieved = retrieved._replace(number=-retrieved.number)
    run = np.zeros(len(retrieved.number), np.int64) if retrieved.run is None else retrieved.run
    order = stable_order(run) if len(job.runs) > 1 else np.arange(len(run))
    bounds = np.searchsorted(run[order], np.arange(len(job.runs) + 1))
    for position in range(len(job.runs)):
        rows = order[bounds[position] : bounds[position + 1]]
        of_run = retrieved if len(rows) == len(run) else retrieved.take(rows)
        if of_run.place is not None:
            by_id = of_run.documents.descending(np.zeros(len(of_run.place), np.int64))
            of_run = of_run.take(by_id[np.argsort(of_run.place[by_id], kind="stable")])
        yield of_run._replace(errors=[error for error in retrieved.errors if run[error.line] == position])


def _evaluated(rows: TableRows, qrels: Qrels, run: int, chosen: Bools, job: Job) -> tuple[Outcome, Part]:
    """The outcome of a run, and its state. Raises InputError(s)."""
    name, path, options = job.runs[run], job.paths[run], job.options
    ties = options.ties or DEFAULT_TIES
    check_rows(path, rows.errors)
    columns = Columns.whole(rows.queries, rows.documents, rows.number)
    if options.ignore_identical_ids:
        columns = columns.without_identical_ids(options.delimiter)
    total = Total(qrels, ties, Collapse.of(options))
    if len(columns.value):
        total.add(total.find(Lines.of(columns, qrels)), 0)
    what = "duplicate document for its query"
    errors = [rows.error(problem.line or 0, what, COLLAPSES) for problem in total.repeats.first]
    check_rows(path, errors, total.repeats.total)
    reduced = total.reduced()
    if len(qrels.queries):
        outcome = outcome_of_reduced(qrels, name, name, reduced, ties, name, job.specs, options, 1, chosen)
    else:
        nothing = np.empty((len(job.specs), 0))
        ends = np.array([nothing] * 3) if options.tie_range else None
        notices = query_notices(qrels, reduced, job.specs, chosen, options)  # that queries are not judged
        short = np.zeros(len(job.specs), np.int64)
        none_judged = Noticed(tuple(notice.replace(subject=name) for notice in notices), 1.0, short)
        no_result = RunResult(name, name, None, nothing, np.empty(0, np.bool_), tie_range=ends)
        outcome = Outcome(no_result, np.empty(nothing.shape, np.bool_), lambda: none_judged)
    result, noticed = outcome.result, outcome.noticed()
    has_lines = reduced.retrieved > 0
    seen, in_run = int((result.counted & has_lines).sum()), int((chosen & has_lines).sum())
    ids = () if in_run else sorted(set(Texts(rows.queries)))[: SHOWN_IDS + 1]

    def moments(values: Floats) -> Moments:
        return Moments.of(summands(job.specs, values[:, result.counted]))

    return outcome, Part(
        result.queries,
        in_run,
        bool(np.isfinite(reduced.rank).any()),
        moments(result.values),
        () if result.tie_range is None else tuple(map(moments, result.tie_range)),
        (result.counted & np.isnan(result.values)).sum(axis=1),
        (noticed.judged_share * seen, seen),
        np.unique(depths_of(reduced, result.counted, options.depth), return_counts=True),
        noticed.short,
        noticed.notices,
        tuple(ids),
    )


class Moments(NamedTuple):
    """The moments of columns of numbers: arrays of one shape.

    size: how many numbers there are. total: their sum. squares: the sum of their squared deviations from the
    mean.
    """

    size: Floats
    total: Floats
    squares: Floats

    @classmethod
    def of(cls, values: Floats) -> Moments:
        """Those of the rows of values, (..., Q) -> (...), of which NaN are left out."""
        defined = ~np.isnan(values)
        size = defined.sum(axis=-1).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.where(defined, values, 0.0).sum(axis=-1)
            mean = total / np.maximum(size, 1)
            squares = np.square(np.where(defined, values - mean[..., None], 0.0)).sum(axis=-1)
        return cls(size, total, squares)

    @classmethod
    def joined(cls, parts: Sequence[Moments]) -> Moments:
        """Those of all parts, at least one, merged in the given order.

        Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
        variances", 1979.
        """
        size, total, squares = parts[0]
        with np.errstate(over="ignore", invalid="ignore"):
            for part in parts[1:]:
                apart = part.mean - Moments(size, total, squares).mean
                weight = size * part.size / np.maximum(size + part.size, 1)
                # a part without numbers has no mean
                squares = squares + part.squares + np.where(weight > 0, np.square(apart) * weight, 0.0)
                size, total = size + part.size, total + part.total
        return cls(size, total, squares)

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


def tables(batches: Iterable[Any]) -> tuple[Any, Any]:
    """The qrels and the runs of a bucket, from the batches of a partition, each as one chunk, which is read
    several times as fast as many.
    """
    import pyarrow as pa

    judged, retrieved = [], []
    for batch in batches:
        if not batch.num_rows:
            continue
        rows = batch.column(batch.schema.get_field_index(RUN)).to_numpy(zero_copy_only=False) == QRELS
        if rows.all():  # as in most batches: a map task writes the rows of one table
            judged.append(batch)
        elif not rows.any():
            retrieved.append(batch)
        else:
            judged.append(batch.filter(pa.array(rows)))
            retrieved.append(batch.filter(pa.array(~rows)))
    qrels, runs = (pa.Table.from_batches(of) if of else pa.table({}) for of in (judged, retrieved))
    if judged:
        qrels = qrels.drop_columns([name for name in (RUN, PLACE) if name in qrels.column_names])
    return qrels.combine_chunks(), runs.combine_chunks()


def arrow_table(bucket: Bucket, of_runs: Sequence[RunValues], metrics: int, large: bool) -> Any:
    """The rows of a bucket: its state, and the values of its queries."""
    import pyarrow as pa

    text, binary = (pa.large_string(), pa.large_binary()) if large else (pa.string(), pa.binary())
    values = [(f"v{m}", pa.float64()) for m in range(metrics)]
    schema = pa.schema([("state", binary), ("run", pa.int32()), ("query", text), *values])
    state = {"state": pickle.dumps(bucket), **dict.fromkeys(schema.names[1:])}
    parts = [pa.Table.from_pylist([state], schema)]
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
