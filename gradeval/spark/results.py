"""Evaluation of Spark's data frames: one small action, then one shuffle for all runs and metrics.

Data frames become tables of rows, which are one table, in buckets of queries: its partitions.
"""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval import process
from gradeval.arrays import cached_property
from gradeval.arrays.segments import distinct
from gradeval.commands.compare.compare import comparable_metrics, judged_spec, pairs_of
from gradeval.compare_options import OF_SUMS, CompareOptions
from gradeval.errors import InputError, MetricError, OptionError, described, named
from gradeval.evaluation.evaluator import complete, with_levels
from gradeval.evaluation.outcome import left_out_of_groups
from gradeval.evaluation.runs import check_labels
from gradeval.evaluation.ties import check_expected
from gradeval.formats.arrow import column_labels
from gradeval.formats.csv import ARGUMENT, Chosen, check_has, choose, simplified
from gradeval.formats.memory import object_numbers
from gradeval.notices import Notice
from gradeval.options import (
    DEFAULT_METRICS,
    EXPECTED,
    FILES,
    PROCESS,
    ROLES,
    Options,
    read_columns,
    read_option,
    takes,
    whole,
)
from gradeval.registry.spec import Metrics, Spec, usable
from gradeval.spark.kernel import (
    DOCUMENT,
    NUMBER,
    PLACE,
    QRELS,
    QUERY,
    RUN,
    SUBTOPIC,
    Bucket,
    Job,
    Names,
    arrow_table,
    evaluate_bucket,
    tables,
)
from gradeval.spark.merge import SparkSummary, chosen_options, comparison, merged, no_rows, without_values
from gradeval.spark.sessions import check_installed, known_warnings_ignored
from gradeval.tables.load import check_names
from gradeval.tables.qrels import counted_grades

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from gradeval.commands.compare.compare import Comparison
    from gradeval.keywords import CompareOnSpark, OnSpark, Unpack

BUCKET_ROWS = 1 << 20  # at most about so many rows of qrels and runs together
MOST_BUCKETS = 100_000
FEWEST_ROWS = 1 << 16  # with fewer, a task takes longer to start than to run
WRONG_LINE = "gradeval wrong line"  # a column of files: the error of a line, after NO_ROW
_RUN_ROLES = ("run", "order")  # roles of columns that Options does not know
_RUN_NAMES = ("run", "runname", "runid", "system")
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FRACTIONS = ("float", "double", "decimal")


class Wire(NamedTuple):
    """A table as it is sent to the workers, without its buckets.

    frame: with the columns of kernel.read_rows(). names: for messages. by_rank: whether the numbers are ranks.
    run: the column with the names of the runs, None where frame has their positions, or there is one run.
    """

    frame: DataFrame
    names: Names
    by_rank: bool = False
    run: str | None = None


def qrels_wire(
    frame: DataFrame, columns: Mapping[str, str], path: str = "qrels", naming: str = ARGUMENT
) -> Wire:
    """The judgments. naming: how the user names a column. Raises InputError where a column is missing, or of a
    type that cannot be read.
    """
    chosen, types = choose(column_names(frame), "grade", columns, path, naming), _types(frame)
    row = _row(types, chosen, "grade", path)
    if chosen.subtopic:
        row.append(_id(types, chosen.subtopic, "subtopic", path).cast("string").alias(SUBTOPIC))
    return Wire(frame.select(*row), Names(path, *column_labels(chosen, "grade")))


def run_wire(
    frame: DataFrame,
    columns: Mapping[str, str],
    run_columns: Mapping[str, str],
    path: str,
    naming: str = ARGUMENT,
) -> Wire:
    """The runs of a frame. run_columns: the names of the columns of the roles 'run' and 'order'. naming: as in
    qrels_wire(). Raises InputError.
    """
    names, types = column_names(frame), _types(frame)
    for name in run_columns.values():
        check_has(names, name, path)
    chosen = choose(names, "score", columns, path, naming)._replace(run="")
    selected = _row(types, chosen, "score", path)
    usual = [name for name in names if simplified(name) in _RUN_NAMES]
    run = run_columns.get("run", next(iter(usual), None))
    if "run" not in run_columns and len(usual) > 1:
        either = " or ".join(map(named, usual))
        raise InputError(path, f"the run column may be {either}", hint=f"Choose with {naming.format('run')}")
    if run is not None:
        selected.append(_id(types, run, "run", path).cast("string").alias(RUN))
    if order := run_columns.get("order"):
        place = _number(types, order, "order", path)
        if types[order] in _INTEGERS:  # which may be too large for exact doubles, as times are
            place = _column(order).cast("long")
        selected.append(place.alias(PLACE))
    labels = Names(path, *column_labels(chosen, "score"))
    return Wire(frame.select(*selected), labels, chosen.by_rank, run)


def column_names(frame: DataFrame) -> list[str]:
    return [name for name in frame.columns if name != WRONG_LINE]


def _types(frame: DataFrame) -> dict[str, str]:
    """The type of each column, without its parameters: char(3) and varchar(3) are strings."""
    types = {name: re.split(r"[ (<]", kind)[0] for name, kind in frame.dtypes}
    return {name: "string" if kind in ("char", "varchar") else kind for name, kind in types.items()}


def _row(types: Mapping[str, str], chosen: Chosen, number: str, path: str) -> list[Column]:
    """The query, the document and the number of each row; the query of a wrong line is its error."""
    from pyspark.sql import functions as F

    query = _id(types, chosen.query, "query id", path)
    document = _id(types, chosen.document, "document id", path)
    if WRONG_LINE in types:
        query = F.coalesce(F.col(WRONG_LINE), query)
        document = F.when(F.col(WRONG_LINE).isNull(), document)
    value = _number(types, chosen.number, number, path)
    return [query.alias(QUERY), document.alias(DOCUMENT), value.alias(NUMBER)]


def _id(types: Mapping[str, str], name: str, what: str, path: str) -> Column:
    kind = types[name]
    if kind in _INTEGERS:
        return _column(name).cast("long")
    if kind != "string":
        hint = "Ids are strings or integers: cast it to one of these"
        raise InputError(path, f"the {what} (column {name}) has the type {kind}", hint=hint)
    return _column(name).cast("string")  # without a collation


def _number(types: Mapping[str, str], name: str, what: str, path: str) -> Column:
    """A column of numbers; strings are read as numbers by the workers, whose errors name the row."""
    kind = types[name]
    if kind not in ("string", *_INTEGERS, *_FRACTIONS):
        raise InputError(path, f"the {what} (column {name}) has the type {kind}", hint="Cast it to a number")
    return _column(name).cast("string" if kind == "string" else "double")


def quoted(name: str) -> str:
    """The name of a column in SQL, whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


def _column(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(quoted(name))


def _alike(frames: Sequence[DataFrame]) -> list[DataFrame]:
    """The frames, whose columns are strings where they are not of one type."""
    from pyspark.sql import functions as F

    types = [dict(frame.dtypes) for frame in frames]
    differing = [name for name in (QUERY, DOCUMENT, NUMBER) if len({of[name] for of in types}) > 1]
    strings = {name: F.col(name).cast("string") for name in differing}
    return [frame.withColumns(strings) for frame in frames]


def bucket_count(rows: int, cores: int) -> int:
    """How many buckets of at most BUCKET_ROWS, as many for each core; of FEWEST_ROWS at least."""
    for_all_cores = -(-rows // (BUCKET_ROWS * cores)) * cores
    return max(1, min(for_all_cores, rows // FEWEST_ROWS, MOST_BUCKETS))


def in_buckets(qrels: Wire, runs: Wire, buckets: int) -> DataFrame:
    """Both tables as one, in partitions by queries; in the rows of the qrels, RUN is QRELS. One table need not
    be sorted and grouped, as the two sides of a cogroup are.
    """
    from pyspark.sql import functions as F

    frames = [qrels.frame.withColumn(RUN, F.lit(QRELS)), runs.frame]
    if RUN not in runs.frame.columns:
        frames[1] = frames[1].withColumn(RUN, F.lit(0))
    if PLACE in runs.frame.columns:
        frames[0] = frames[0].withColumn(PLACE, F.lit(None).cast(dict(runs.frame.dtypes)[PLACE]))
    if SUBTOPIC in qrels.frame.columns:
        frames[1] = frames[1].withColumn(SUBTOPIC, F.lit(None).cast("string"))
    judged, retrieved = _alike(frames)
    return judged.unionByName(retrieved).repartition(buckets, QUERY)


class Request(NamedTuple):
    """The metrics to evaluate, and how.

    specs: those whose values are numbers. run_columns: the names of the columns of the roles 'run' and 'order'.
    buckets: how many, None for as many as the rows need. naming: how the user names a column. compared: how the
    runs are compared in the same pass, None where they are not. judged: a metric that only the comparison
    needs. notices: about the metrics.
    """

    specs: tuple[Spec, ...]
    options: Options
    run_columns: Mapping[str, str]
    buckets: int | None = None
    naming: str = ARGUMENT
    compared: CompareOptions | None = None
    judged: Spec | None = None
    notices: tuple[Notice, ...] = ()

    @classmethod
    def of(
        cls,
        metrics: Metrics,
        options: Mapping[str, Any],
        buckets: int | None = None,
        naming: str = ARGUMENT,
        compared: CompareOptions | None = None,
    ) -> Request:
        """options: those of Options, whose columns may have the roles 'run' and 'order' too. Raises
        GradevalError.
        """
        read = partial(read_columns, roles=(*ROLES, *_RUN_ROLES))
        kind = Options.table["columns"].kind.replace(read=read)
        pairs = read_option("columns", kind, options.get("columns", ()))
        run_columns = {role: name for role, name in pairs if role in _RUN_ROLES}
        chosen = Options(**{**options, "columns": [pair for pair in pairs if pair[0] not in run_columns]})
        if chosen.interval:
            raise OptionError("on Spark, the interval of a mean is SparkSummary.interval()")
        if chosen.query_weights is not None:
            raise OptionError("on Spark, means are not weighted by query_weights")
        if compared is None:
            specs, left_out = usable(
                metrics,
                lambda spec: not spec.metric.text,
                lambda spec: MetricError(f"{spec} is text", hint="on Spark, metrics are numbers"),
            )
            notices = left_out_of_groups(left_out)
        else:
            specs, notices = comparable_metrics(metrics)
        if chosen.ties == EXPECTED:
            check_expected(specs)
        if chosen.ties == "input" and "order" not in run_columns:
            what = "ties 'input' requires a column that orders the rows of the runs: a shuffle keeps no order"
            raise OptionError(f"{what}. Name it with {naming.format('order')}")
        if buckets is not None:
            buckets = whole("buckets", buckets, 1, MOST_BUCKETS)
        judged = None if compared is None or chosen.judged_only else judged_spec(specs, ())
        judged = None if judged in specs else judged
        return cls(tuple(specs), chosen, run_columns, buckets, naming, compared, judged, notices)

    @property
    def evaluated(self) -> tuple[Spec, ...]:
        """The metrics, with that which the comparison needs."""
        return self.specs if self.judged is None else (*self.specs, self.judged)


def _checked(frame: Any, what: str) -> DataFrame:
    from pyspark.sql import DataFrame

    if isinstance(frame, DataFrame):
        return frame
    if isinstance(frame, (str, bytes, os.PathLike)):
        hint = "Read it with spark.read.parquet(PATH), or run 'gradeval spark QRELS RUN', which reads files"
        raise InputError(what, f"{described(frame)} is not a data frame of Spark", hint=hint)
    module, kind = type(frame).__module__.partition(".")[0], type(frame).__name__
    kind = kind if module in ("builtins", "__main__") else f"{module}.{kind}"  # pandas has a DataFrame too
    hint = "Give spark.createDataFrame(…), or use gradeval.evaluate(), which takes other data"
    raise InputError(what, f"a {kind} is not a data frame of Spark", hint=hint)


@takes(Options.rows(without=(FILES, PROCESS)))
def evaluate(
    qrels: DataFrame,
    runs: DataFrame | Mapping[str, DataFrame],
    metrics: Metrics = DEFAULT_METRICS,
    *,
    buckets: int | None = None,
    **options: Unpack[OnSpark],
) -> SparkResults:
    """Evaluate the runs of Spark data frames, on the cluster.

    qrels: a data frame with the columns query_id, doc_id and relevance, or other common names. runs: one with
    the columns query_id, doc_id and score, and run where it has several runs; or a dict of frames by the names
    of the runs. metrics: as gradeval.evaluate() takes them, without runid and relstring.

    buckets: how many parts the queries are divided into, each of which is evaluated by one task at once (None:
    as many for each core, of a million rows at most). options: those of gradeval.evaluate() that are not about
    files; columns may name the roles 'run' and 'order' of the runs too, and ties='input' requires the latter.

    Errors of the columns and the options are raised here, before any job; errors of rows, by the methods of the
    results that read them. Frames that are expensive to compute should be persisted: the
    qrels are read twice, and the runs are counted unless `buckets` is given and they have no column of runs.
    """
    request = Request.of(metrics, options, buckets)
    check_installed(with_java=False)
    judged = _checked(qrels, "qrels")
    if isinstance(runs, (list, tuple)):
        hint = "Give a dict of data frames by the names of the runs, or one data frame with a column of runs"
        raise InputError("runs", f"a {type(runs).__name__} has no names of runs", hint=hint)
    if isinstance(runs, Mapping) and not runs:
        raise InputError("runs", "no runs given")
    frames: list[tuple[str | None, DataFrame]] = [(None, runs)]  # which may have several
    if isinstance(runs, Mapping):
        frames = [(str(name), frame) for name, frame in runs.items()]
    frames = [(name, _checked(frame, name or "runs")) for name, frame in frames]
    check_labels(frames)
    tables = [("qrels", judged), *((name or "runs", frame) for name, frame in frames)]
    check_names([(path, frame.columns) for path, frame in tables], request.options)
    columns = dict(request.options.columns)
    wires = [run_wire(frame, columns, request.run_columns, name or "runs") for name, frame in frames]
    names = [name for name, _ in frames if name is not None]
    return SparkResults(qrels_wire(judged, columns), wires, names or None, request)


class _Plan(NamedTuple):
    """The job, known after the small action. buckets: how many."""

    job: Job
    runs: Wire
    buckets: int


class SparkResults:
    """An evaluation on Spark, which runs when its values are asked for.

    per_query() is a data frame, whose values stay on the cluster; summary() has the means, and compare()
    compares the runs. Each takes a pass over the data, but summary() none after the others, and after
    persist() the first two share one in any order.
    """

    def __init__(
        self, qrels: Wire, tables: Sequence[Wire], names: Sequence[str] | None, request: Request
    ) -> None:
        """tables: a run each with its name, or without names one table that may have several."""
        from pyspark.sql import functions as F

        self._qrels, self._tables, self._names, self._request = qrels, tables, names, request
        self._runs = tables[0]  # or the tables as one, with the positions of the runs
        if names is not None:
            if len({table.by_rank for table in tables}) > 1:
                raise OptionError("some runs have scores and some have ranks: give all the same columns")
            frames = _alike([table.frame.drop(RUN) for table in tables])
            if len(frames) > 1:
                frames = [frame.withColumn(RUN, F.lit(position)) for position, frame in enumerate(frames)]
            union = reduce(lambda above, below: above.unionByName(below), frames)
            self._runs = tables[0]._replace(frame=union, run=None)
        self._persisted: DataFrame | None = None
        self._evaluated: list[Bucket] | None = None

    def __repr__(self) -> str:
        column = self._tables[0].run
        runs = [*(self._names or ["run"])] if column is None or self._names else f"column {column}"
        metrics = [*map(str, self._request.specs)]
        return f"SparkResults(qrels={self._qrels.names.path!r}, runs={runs}, metrics={metrics})"

    @cached_property
    def _plan(self) -> _Plan:
        """Reads the grades, and how many rows there are of each run: one action."""
        from pyspark.sql import functions as F

        names, request, runs = self._names, self._request, self._runs
        for table in self._tables if names is not None else ():
            if table.run is not None:  # an action over each that has a column of runs
                [(first, last)] = table.frame.agg(F.min(RUN), F.max(RUN)).collect()
                if first != last:
                    what = f"it has several runs (column {table.run}), such as {named(first)} and {named(last)}"
                    raise InputError(table.names.path, what, hint="Give it alone, and without a name")
        counted = self._counted()
        is_grade = counted["is_grade"].to_numpy()
        if not is_grade.any():
            raise InputError(self._qrels.names.path, "no judgments given")
        grades = counted.filter(is_grade)[NUMBER]  # others than numbers are reported with their rows later
        is_double = str(grades.type) == "double"  # NaN where there is none
        numbers = grades.to_numpy() if is_double else object_numbers(grades.to_pylist(), "grade")[0]
        scale = distinct(counted_grades(distinct(numbers[np.isfinite(numbers)]), request.options))
        rows = counted["count"].to_numpy()
        if names is None:
            names = counted.filter(~is_grade & (rows > 0))[RUN].to_pylist()
            if None in names:
                raise InputError(runs.names.path, f"the run (column {runs.run}) is missing in some rows")
            if not names:
                raise no_rows(runs.names.path)
            names.sort()
        context = getattr(runs.frame.sparkSession, "sparkContext", None)  # which a remote session does not have
        cores = 1 if context is None else max(1, context.defaultParallelism)
        buckets = request.buckets or bucket_count(int(rows.sum()), cores)
        specs = with_levels(request.evaluated, scale) if request.options.by_level else request.evaluated
        paths = names if self._names is None else [table.names.path for table in self._tables]
        job = Job(
            tuple(specs),
            request.options,
            scale,
            tuple(names),
            tuple(paths),
            self._qrels.names,
            runs.names,
            runs.by_rank,
            () if request.compared is None else pairs_of(without_values(names, paths), request.compared),
        )
        if runs.run is not None:  # positions take the place of names
            frame = runs.frame.drop(RUN)
            if len(names) > 1:
                position = F.array_position(F.array(*map(F.lit, names)), F.col(RUN)).cast("int") - 1
                frame = runs.frame.withColumn(RUN, position)
            runs = runs._replace(frame=frame)
        return _Plan(job, runs, buckets)

    def _counted(self) -> Any:
        """A table of Arrow with the distinct grades and the names of the runs, and how many rows have each."""
        from pyspark.sql import functions as F

        judged, runs = self._qrels.frame, self._runs
        grades = judged.groupBy(NUMBER).count()
        if SUBTOPIC in judged.columns:  # the highest grade of a document counts
            highest = F.max_by(NUMBER, F.expr(f"try_cast({NUMBER} as double)")).alias(NUMBER)
            of_documents = judged.groupBy(QUERY, DOCUMENT).agg(highest, F.count("*").alias("count"))
            grades = of_documents.groupBy(NUMBER).agg(F.sum("count").alias("count"))
        no_run, no_grade = (F.lit(None).cast(kind) for kind in ("string", dict(grades.dtypes)[NUMBER]))
        counted = grades.select(F.lit(True).alias("is_grade"), NUMBER, no_run.alias(RUN), "count")
        if self._names is None or self._request.buckets is None:
            has_names = self._names is None and runs.run is not None
            of_runs = runs.frame.groupBy([RUN] if has_names else []).count()
            name = F.col(RUN) if has_names else F.lit("run")
            counted = counted.unionAll(of_runs.select(F.lit(False), no_grade, name, "count"))
        return counted.toArrow()

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs; reads them if they are in a column."""
        return self._plan.job.runs if self._names is None else tuple(self._names)

    def per_query(self) -> DataFrame:
        """A data frame with the columns run, query, metric and value: a row for each value of a query.

        The value is null where it is undefined. The values are evaluated here, and kept on the cluster until
        unpersist(). Raises GradevalError as summary() does, with which this shares the pass.
        """
        self.persist().summary()
        return self._values()

    def per_query_of_evaluated(self) -> DataFrame:
        """per_query() of the runs that could be evaluated; those that failed are left out."""
        from pyspark.sql import functions as F

        evaluated = [run.name for run in self.persist().results().runs]
        return self._values().where(F.col("run").isin(evaluated))

    def _values(self) -> DataFrame:
        from pyspark.sql import functions as F

        job = self._plan.job
        pairs = [
            F.struct(F.lit(str(spec)).alias("metric"), F.col(f"v{m}").alias("value"))
            for m, spec in enumerate(job.specs)
            if spec != self._request.judged and spec.metric.per_query
        ]
        name = F.element_at(F.array(*map(F.lit, job.runs)), F.col("run") + 1).alias("run")
        rows = self._frame(job, values=True).where("run is not null")
        return rows.select(name, "query", F.inline(F.array(*pairs)))

    def summary(self) -> SparkSummary:
        """The means of the runs, with their standard errors, and the notices of the evaluation.

        Raises GradevalError for invalid rows.
        """
        return complete(self.results())  # type: ignore[return-value]

    def results(self) -> SparkSummary:
        """The summary, in which runs that could not be evaluated are listed as failed."""
        return merged(self._buckets(self._plan.job), self._plan.job, self._request.notices)

    @takes(OF_SUMS, refused=CompareOptions.table)
    def compare(self, metrics: Metrics | None = None, **options: Unpack[CompareOnSpark]) -> Comparison:
        """Compare the runs with a baseline, or all with each other, by the paired t-test.

        metrics: names; by default all with a value for each query. options: those
        listed below. Raises GradevalError.
        """
        chosen = chosen_options(options)
        return comparison(self._plan.job, metrics, chosen, self._buckets)

    def persist(self) -> SparkResults:
        """Keep the values of the queries on the cluster, so that per_query() and summary() share one pass."""
        if self._persisted is None:
            from pyspark.storagelevel import StorageLevel

            frame = self._frame(self._plan.job, values=True)
            self._persisted = frame.persist(StorageLevel.MEMORY_AND_DISK)
        return self

    def unpersist(self) -> SparkResults:
        """Release the cache of persist()."""
        if self._persisted is not None:
            self._persisted.unpersist()
            self._persisted = None
        return self

    def _buckets(self, job: Job) -> list[Bucket]:
        """The buckets with the pairs of this job, in the order of the partitions: an action over the runs, but
        for the pairs of the plan, whose buckets are kept.
        """
        is_planned = job.pairs == self._plan.job.pairs
        if is_planned and self._evaluated is not None:
            return self._evaluated
        frame = self._frame(job, values=is_planned and self._persisted is not None)
        states = frame.where("state is not null").select("state").collect()
        buckets = [pickle.loads(row.state) for row in states]
        self._evaluated = self._evaluated or buckets  # which have all that buckets without pairs have
        return buckets

    def _frame(self, job: Job, *, values: bool) -> DataFrame:
        """The evaluated buckets: a row with the state of each. values: and one for each query."""
        if self._persisted is not None and values:
            return self._persisted
        plan = self._plan
        large = plan.runs.frame.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")
        function = bucket_function(job, values, (large or "").lower() == "true")
        columns = ", ".join(f"v{m} double" for m in range(len(job.specs)))
        with known_warnings_ignored():
            return in_buckets(self._qrels, plan.runs, plan.buckets).mapInArrow(
                function, f"state binary, run int, query string, {columns}"
            )


def bucket_function(job: Job, values: bool, large: bool) -> Callable[..., Any]:
    """Evaluates a bucket in a worker, from batches to batches. values: whether those of the queries are
    returned. large: whether strings have 64-bit offsets.
    """

    def function(batches):  # type: ignore[no-untyped-def]  # Spark would look at annotations
        process.keep_freed()
        qrels, runs = tables(batches)
        if not len(qrels) + len(runs):
            return
        bucket, of_queries = evaluate_bucket(qrels, runs, job)
        table = arrow_table(bucket, of_queries if values else [], len(job.specs), large)
        yield from table.to_batches()

    return function
