"""Evaluation of Spark's data frames: one small action, then one shuffle for all runs and metrics.

Data frames become tables of rows, which are one table, in buckets of queries: its partitions.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval import options as option_table
from gradeval import process
from gradeval.arrays import cached_property
from gradeval.arrays.segments import distinct
from gradeval.commands.compare import compare
from gradeval.compare_options import MAXT, OF_SUMS, CompareOptions
from gradeval.errors import InputError, MetricError, OptionError, described, named
from gradeval.evaluation.bounds import check_bounds
from gradeval.evaluation.caveats import left_out_of_groups
from gradeval.evaluation.evaluation import complete
from gradeval.evaluation.plan import with_levels
from gradeval.evaluation.runs import check_labels
from gradeval.evaluation.score import check_expected
from gradeval.formats.arrow import column_labels
from gradeval.formats.csv import ARGUMENT, check_has, choose, simplified
from gradeval.formats.memory import object_numbers
from gradeval.notices import Notice, NoticeKind, Notices
from gradeval.options import FILES, PROCESS, Options, takes
from gradeval.registry.spec import Metrics, Spec, usable
from gradeval.spark import kernel, sessions
from gradeval.spark.kernel import QRELS, SparkJob, SparkSummary, without_values
from gradeval.spark.sessions import WRONG_LINE, Input, quoted
from gradeval.tables.excluded import with_excluded
from gradeval.tables.load import InputNames, check_names
from gradeval.tables.qrels import counted_grades

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from gradeval.keywords import CompareOnSpark, OnSpark, Unpack

BUCKET_ROWS = 1 << 20  # at most about so many rows of qrels and runs together
MOST_BUCKETS = 100_000
FEWEST_ROWS = 1 << 16  # with fewer, a task takes longer to start than to run
_RUN_ROLES = ("run", "order")  # roles of columns that Options does not know
_RUN_NAMES = ("run", "runname", "runid", "system")
_STRINGS = ("string", "char", "varchar")
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FRACTIONS = ("float", "double", "decimal")


class Request(NamedTuple):
    """The metrics to evaluate, and how."""

    specs: tuple[Spec, ...]  # those whose values are numbers
    options: Options
    run_columns: Mapping[str, str]  # the names of the columns of the roles 'run' and 'order'
    buckets: int | None = None  # how many, None for as many as the rows need
    naming: str = ARGUMENT  # how the user names a column
    compared: CompareOptions | None = None  # how runs are compared in the same pass, None where they are not
    judged: Spec | None = None  # a metric that only the comparison needs
    notices: Notices = Notices()  # about the metrics

    @classmethod
    def of(
        cls,
        metrics: Metrics,
        options: Mapping[str, Any],
        buckets: int | None = None,
        naming: str = ARGUMENT,
        compared: CompareOptions | None = None,
    ) -> Request:
        """options: those of Options, with the roles 'run' and 'order' of columns too. Raises GradevalError."""
        read = partial(option_table.read_columns, roles=(*option_table.ROLES, *_RUN_ROLES))
        kind = Options.table["columns"].kind.replace(read=read)
        columns = dict(option_table.read_option("columns", kind, options.get("columns", ())))
        run_columns = {role: columns.pop(role) for role in _RUN_ROLES if role in columns}
        chosen = with_excluded(Options(**{**options, "columns": columns}))
        if chosen.interval:
            raise OptionError("on Spark, the interval of a mean is SparkSummary.interval()")
        if chosen.query_weights is not None:
            raise OptionError("on Spark, means are not weighted by query_weights")
        if options.get("merge") == "first":
            raise OptionError("on Spark, rows have no order: merge='first' needs one")
        judged = None
        if compared is None:
            specs, left_out = usable(
                metrics,
                lambda spec: not spec.metric.text,
                lambda spec: MetricError(f"{spec} is text", hint="on Spark, metrics are numbers"),
            )
            notices = left_out_of_groups(left_out)
        else:
            specs, notices = compare.comparable_metrics(metrics)
            if not chosen.judged_only and compare.judged_spec(specs, ()) not in specs:
                judged = compare.judged_spec(specs, ())
        if chosen.ties == option_table.EXPECTED:
            check_expected(specs)
        if chosen.bounds:
            check_bounds(specs)
        if chosen.ties == "input" and "order" not in run_columns:
            message = (
                "ties 'input' requires a column that orders the rows of the runs: a shuffle keeps no order"
            )
            raise OptionError(f"{message}. Name it with {naming.format('order')}")
        if buckets is not None:
            buckets = option_table.whole("buckets", buckets, 1, MOST_BUCKETS)
        return cls(
            tuple(specs),
            chosen,
            run_columns,
            buckets,
            naming,
            compared=compared,
            judged=judged,
            notices=notices,
        )


def wire(table: Input, number: str, request: Request) -> Input:
    """The judgments or a run as they are sent to the workers, without their buckets: with the columns of
    kernel.read_rows(). number: 'grade' or 'score'. Raises InputError for a missing or unreadable column.
    """
    from pyspark.sql import functions as F

    path, frame, names, *_ = table
    types = {name: re.split(r"[ (<]", kind)[0] for name, kind in frame.dtypes}  # without their parameters
    columns = dict(request.options.columns) if names else {}
    chosen = choose(names or frame.columns, number, columns, path, request.naming)._replace(run="")
    labels = column_labels(chosen)

    def column(name: str, label: str, is_id: bool) -> Column:
        """An id is a string without a collation, or an integer. Numbers may be strings, which the workers read:
        their errors name the row.
        """
        kind = types[name]
        if kind not in (*_STRINGS, *_INTEGERS, *(() if is_id else _FRACTIONS)):
            hint = "Cast it to a string or an integer" if is_id else "Cast it to a number"
            raise InputError(path, f"the {label} has the type {kind}", hint=hint)
        exact = "long" if is_id else "double"
        return F.col(quoted(name)).cast("string" if kind in _STRINGS else exact)

    query, document = column(chosen.query, labels[0], True), column(chosen.document, labels[1], True)
    if WRONG_LINE in types:  # the query of a wrong line is its error
        query = F.coalesce(F.col(WRONG_LINE), query)
        document = F.when(F.col(WRONG_LINE).isNull(), document)
    value = column(chosen.number, labels[2], False)
    selected = [query.alias("query"), document.alias("document"), value.alias("number")]
    if number == "grade":
        if chosen.subtopic:
            selected.append(column(chosen.subtopic, labels[3], True).cast("string").alias("subtopic"))
        return table._replace(frame=frame.select(*selected), labels=labels)
    for name in request.run_columns.values():
        check_has(names, name, path)
    usual = [name for name in names if simplified(name) in _RUN_NAMES]
    run = request.run_columns.get("run", next(iter(usual), None))
    if "run" not in request.run_columns and len(usual) > 1:
        hint = f"Choose with {request.naming.format('run')}"
        raise InputError(path, f"the run column may be {' or '.join(map(named, usual))}", hint=hint)
    if run is not None:
        selected.append(column(run, f"run (column {run})", True).cast("string").alias("run"))
    if order := request.run_columns.get("order"):
        is_integer = types[order] in _INTEGERS  # which may be too large for exact doubles, as times are
        file_position = column(order, f"order (column {order})", is_integer)
        selected.append((file_position if is_integer else file_position.try_cast("double")).alias("place"))
    table = table._replace(frame=frame.select(*selected), labels=labels, run=run)
    return table._replace(is_negated=chosen.is_negated, in_place=chosen.in_place)


def _alike(frames: Sequence[DataFrame]) -> list[DataFrame]:
    """The frames, whose columns are strings where they are not of one type."""
    types = [dict(frame.dtypes) for frame in frames]
    differing = [
        name
        for name in ("query", "document", "number")
        if len({column_types[name] for column_types in types}) > 1
    ]
    return [frame.withColumns({name: frame[name].cast("string") for name in differing}) for frame in frames]


def bucket_count(rows: int, cores: int) -> int:
    """How many buckets of at most BUCKET_ROWS, as many for each core; of FEWEST_ROWS at least."""
    for_all_cores = -(-rows // (BUCKET_ROWS * cores)) * cores
    return max(1, min(for_all_cores, rows // FEWEST_ROWS, MOST_BUCKETS))


def in_buckets(qrels: DataFrame, runs: DataFrame, buckets: int) -> DataFrame:
    """Both tables as one, in partitions by queries; not sorted and grouped, as the two of a cogroup are."""
    judged, retrieved = _alike([qrels.selectExpr("*", f"{QRELS} run"), runs])
    return judged.unionByName(retrieved, allowMissingColumns=True).repartition(buckets, "query")


def _frame(data: Any, path: str) -> Input:
    from pyspark.sql import DataFrame

    if not isinstance(data, DataFrame):
        kind = f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}"  # pandas has a DataFrame too
        hint = "Give one, such as spark.read.parquet(PATH), or a dict of them by the names of the runs; "
        hint += "gradeval.evaluate() takes other data"
        raise InputError(path, f"{described(data)} ({kind}) is not a data frame of Spark", hint=hint)
    return Input(path, data, data.columns)


@takes(Options.rows(without=(FILES, PROCESS)))
def evaluate(
    qrels: DataFrame,
    runs: DataFrame | Mapping[str, DataFrame],
    metrics: Metrics = option_table.DEFAULT_METRICS,
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
    results that read them. Frames that are expensive to compute should be persisted: the qrels are read twice,
    and the runs are counted unless `buckets` is given and they have no column of runs.
    """
    request = Request.of(metrics, options, buckets)
    sessions.check_installed(with_java=False)
    judged = _frame(qrels, "qrels")
    if not isinstance(runs, Mapping):
        return SparkResults(judged, {"run": _frame(runs, "runs")}, request, may_be_table=True)
    labelled = [(str(name), _frame(frame, str(name))) for name, frame in runs.items()]
    if not labelled:
        raise InputError("runs", "no runs given")
    check_labels(labelled)
    return SparkResults(judged, dict(labelled), request)


def _check_one_run(table: Input) -> None:
    """Raise InputError for a table with several runs: an action, if it has a column of runs."""
    from pyspark.sql import functions as F

    if table.run is None:
        return
    [(first, last)] = table.frame.agg(F.min("run"), F.max("run")).collect()
    if first != last:
        message = f"it has several runs (column {table.run}), such as {named(first)} and {named(last)}"
        raise InputError(table.path, message, hint="Give it alone, and without a name")


def _names_in_column(table: Input, names: list[Any]) -> list[str]:
    """The names of the runs of a table, in order. names: what its column of runs has. Raises InputError."""
    if None in names:
        raise InputError(table.path, f"the run (column {table.run}) is missing in some rows")
    if not names:
        raise InputError(table.path, kernel.NO_ROWS)
    return sorted(names)


class SparkResults:
    """An evaluation on Spark, which runs when its values are asked for.

    per_query() is a data frame, whose values stay on the cluster; summary() has the means, and compare()
    compares the runs. Each takes a pass over the data, but summary() none after the others, and after
    persist() the first two share one in any order.
    """

    def __init__(
        self, qrels: Input, runs: Mapping[str, Input], request: Request, *, may_be_table: bool = False
    ) -> None:
        """runs: by their names. may_be_table: whether the only one is several if it has a column of runs."""
        inputs = [("qrels", qrels), *(("run", table) for table in runs.values())]
        check_names([InputNames(table.path, role, table.names) for role, table in inputs], request.options)
        self._tables = [wire(table, "score", request) for table in runs.values()]
        self._qrels = wire(qrels, "grade", request)
        self._request = request
        is_table = may_be_table and self._tables[0].run is not None
        self._names = None if is_table else [*runs]  # None where they are in the column "run"
        self._runs = self._tables[0].frame  # all runs
        if not is_table:
            if len({table.is_negated for table in self._tables}) > 1:
                mixed = "some runs have scores and some have ranks or distances"
                raise OptionError(f"{mixed}: give all the same columns")
            frames = [table.frame.drop("run") for table in self._tables]
            frames = _alike([frame.selectExpr("*", f"{r} run") for r, frame in enumerate(frames)])
            self._runs = reduce(lambda above, below: above.unionByName(below), frames)
        self._persisted: DataFrame | None = None
        self._summary: SparkSummary | None = None

    def __repr__(self) -> str:
        runs = f"column {self._tables[0].run}" if self._names is None else [*self._names]
        metrics = [*map(str, self._request.specs)]
        return f"SparkResults(qrels={self._qrels.path!r}, runs={runs}, metrics={metrics})"

    @cached_property
    def _plan(self) -> tuple[SparkJob, DataFrame]:
        """The job, and the rows in buckets. One action reads the grades, and how many rows each run has."""
        from pyspark.sql import functions as F

        names, request, qrels, runs = self._names, self._request, self._qrels, self._runs
        if names is not None:
            for table in self._tables:
                _check_one_run(table)
        counted = self._counted().toArrow()
        is_grade = counted["is_grade"].to_numpy()
        if not is_grade.any():
            raise InputError(qrels.path, "no judgments given")
        # others than numbers are reported with their rows later
        numbers, _ = object_numbers(counted.filter(is_grade)["number"].to_pylist(), "grade")
        grades = numbers[np.isfinite(numbers)]
        if request.options.unjudged_grade is not None:
            grades = np.append(grades, float(request.options.unjudged_grade))
        scale = distinct(counted_grades(distinct(grades), request.options))
        paths = [table.path for table in self._tables]
        if names is None:
            names = paths = _names_in_column(self._tables[0], counted.filter(~is_grade)["run"].to_pylist())
            position = F.array_position(F.array(*map(F.lit, names)), F.col("run")).cast("int") - 1
            runs = runs.withColumn("run", position)
        specs = request.specs if request.judged is None else (*request.specs, request.judged)
        job = SparkJob(
            tuple(with_levels(specs, scale)) if request.options.by_level else specs,
            request.options,
            scale,
            tuple(names),
            tuple(paths),
            qrels=qrels.path,
            qrels_labels=qrels.labels,
            run_labels=self._tables[0].labels,
            is_negated=self._tables[0].is_negated,
        )
        if request.compared is not None:
            job = job._replace(pairs=compare.pairs_of(without_values(names, paths), request.compared))
        context = getattr(runs.sparkSession, "sparkContext", None)  # which a remote session does not have
        cores = 1 if context is None else max(1, context.defaultParallelism)
        buckets = request.buckets or bucket_count(int(counted["count"].to_numpy().sum()), cores)
        return job, in_buckets(qrels.frame, runs, buckets)

    def _counted(self) -> DataFrame:
        """How many judgments have each grade and, where that is not known otherwise, rows each run has: the
        columns count, is_grade, number or run.
        """
        from pyspark.sql import functions as F

        qrels = self._judged()
        grades = qrels.groupBy("number").count()
        if "subtopic" in qrels.columns:  # the highest grade of a document counts
            highest = F.max_by("number", F.expr("try_cast(number as double)")).alias("number")
            of_documents = qrels.groupBy("query", "document").agg(highest, F.count("*").alias("count"))
            grades = of_documents.groupBy("number").agg(F.sum("count").alias("count"))
        grades = grades.withColumn("is_grade", F.lit(True))
        if self._names is not None and self._request.buckets is not None:
            return grades
        of_runs = self._runs.groupBy(*(["run"] if self._names is None else [])).count()
        return grades.unionByName(of_runs.withColumn("is_grade", F.lit(False)), allowMissingColumns=True)

    def _judged(self) -> DataFrame:
        """The judgments, without those of excluded documents."""
        from pyspark.sql import functions as F

        qrels = self._qrels.frame
        pairs = self._request.options.exclude
        if not isinstance(pairs, tuple):
            return qrels
        excluded = qrels.sparkSession.createDataFrame(list(pairs), "of_query string, of_document string")
        is_query = F.col("query").cast("string") == F.col("of_query")
        is_document = F.col("document").cast("string") == F.col("of_document")
        return qrels.join(F.broadcast(excluded), is_query & is_document, "left_anti")

    def per_query(self) -> DataFrame:
        """A data frame with the columns run, query, metric and value: a row for each value of a query.

        The value is null where it is undefined. The values are evaluated here, and kept on the cluster until
        unpersist(). Raises GradevalError as summary() does, with which this shares the pass.
        """
        self.persist().summary()
        return self.per_query_of_evaluated()

    def per_query_of_evaluated(self) -> DataFrame:
        """per_query() of the runs that could be evaluated, after persist(); those that failed are left out."""
        from pyspark.sql import functions as F

        job, _ = self._plan
        values = [
            F.struct(F.lit(str(spec)).alias("metric"), F.col(f"v{m}").alias("value"))
            for m, spec in enumerate(job.specs)
            if spec != self._request.judged and spec.metric.per_query
        ]
        name = F.element_at(F.array(*map(F.lit, job.runs)), F.col("run") + 1).alias("run")
        evaluated = [job.runs.index(run.name) for run in self.results().runs]
        rows = self._evaluated(job, values=True).where(F.col("run").isin(evaluated))
        return rows.select(name, "query", F.inline(F.array(*values)))

    def summary(self) -> SparkSummary:
        """The means of the runs, with their standard errors, and the notices of the evaluation.

        Raises GradevalError for invalid rows.
        """
        return complete(self.results())  # type: ignore[return-value]

    def results(self) -> SparkSummary:
        """The summary, in which runs that could not be evaluated are listed as failed."""
        summary = self._summary_of(self._plan[0])
        tables = zip(self._names or ["runs"], self._tables, strict=True)
        by_rank = (
            Notice(NoticeKind.BY_RANK, name, 0, rule=run.in_place) for name, run in tables if run.in_place
        )
        return summary.replace(given_notices=Notices((*self._request.notices, *by_rank, *summary.notices)))

    @takes(OF_SUMS)
    def compare(self, metrics: Metrics | None = None, **options: Unpack[CompareOnSpark]) -> compare.Comparison:
        """Compare the runs with a baseline, or all with each other, by the paired t-test.

        metrics: names; by default all with a value for each query. Raises GradevalError.
        """
        chosen = CompareOptions(**options)
        if chosen.used_correction == MAXT:
            raise OptionError("the maxT correction requires the values of all queries in one place")
        return kernel.comparison(self._plan[0], metrics, chosen, self._summary_of)

    def persist(self) -> SparkResults:
        """Keep the values of the queries on the cluster, so that per_query() and summary() share one pass."""
        if self._persisted is None:
            from pyspark.storagelevel import StorageLevel

            self._persisted = self._evaluated(self._plan[0], values=True).persist(StorageLevel.MEMORY_AND_DISK)
        return self

    def unpersist(self) -> SparkResults:
        """Release the cache of persist()."""
        if self._persisted is not None:
            self._persisted.unpersist()
            self._persisted = None
        return self

    def _summary_of(self, job: SparkJob) -> SparkSummary:
        """The summary with the pairs of a job: an action over the runs; that with those of the plan is kept."""
        is_planned = job.pairs == self._plan[0].pairs
        if is_planned and self._summary is not None:
            return self._summary
        frame = self._evaluated(job, values=is_planned and self._persisted is not None)
        states = frame.where("state is not null").select("state").collect()  # in the order of the partitions
        summary = kernel.merged([pickle.loads(row.state) for row in states], job)
        if self._summary is None:  # with pairs it has all that it has without them
            self._summary = summary
        return summary

    def _evaluated(self, job: SparkJob, *, values: bool) -> DataFrame:
        """The evaluated buckets: a row with the state of each. values: and one for each query."""
        if values and self._persisted is not None:
            return self._persisted
        _, rows = self._plan
        large = rows.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")
        function = bucket_function(job, values, (large or "").lower() == "true")
        columns = ", ".join(f"v{m} double" for m in range(len(job.specs)))
        with sessions.known_warnings_ignored():
            return rows.mapInArrow(function, f"state binary, run int, query string, {columns}")


def bucket_function(job: SparkJob, values: bool, large: bool) -> Callable[..., Any]:
    """Evaluates a bucket in a worker, from batches to batches. values: whether those of the queries are
    returned. large: whether strings have 64-bit offsets.
    """

    def function(batches):  # type: ignore[no-untyped-def]  # Spark would look at annotations
        process.keep_freed()
        qrels, *runs = kernel.tables(batches, len(job.runs))
        if any(map(len, (qrels, *runs))):
            state, of_queries = kernel.evaluate_bucket(qrels, runs, job)
            rows = of_queries if values else []
            yield from kernel.arrow_table(state, rows, len(job.specs), large).to_batches()

    return function
