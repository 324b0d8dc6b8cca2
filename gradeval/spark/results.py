"""Evaluation of Spark's data frames: one small action, then one shuffle for all runs and metrics."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval import process
from gradeval.arrays import cached_property
from gradeval.arrays.segments import distinct
from gradeval.commands.compare.compare import pairs_of
from gradeval.compare_options import OF_SUMS, CompareOptions
from gradeval.errors import InputError, named
from gradeval.evaluation.evaluator import complete, with_levels
from gradeval.formats.memory import object_numbers
from gradeval.options import DEFAULT_METRICS, FILES, PROCESS, Options, takes
from gradeval.spark.frames import (
    Request,
    Wire,
    bucket_count,
    checked_frames,
    in_buckets,
    qrels_wire,
    run_wire,
    united,
)
from gradeval.spark.kernel import (
    DOCUMENT,
    NUMBER,
    QUERY,
    RUN,
    SUBTOPIC,
    Bucket,
    Job,
    arrow_table,
    evaluate_bucket,
    tables,
)
from gradeval.spark.merge import SparkSummary, chosen_options, comparison, merged, no_rows, without_values
from gradeval.spark.sessions import known_warnings_ignored
from gradeval.tables.load import check_names
from gradeval.tables.qrels import counted_grades

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from gradeval.commands.compare.compare import Comparison
    from gradeval.keywords import CompareOnSpark, OnSpark, Unpack
    from gradeval.registry.spec import Metrics


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
    judged, frames = checked_frames(qrels, runs)
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
        self._qrels, self._tables, self._names, self._request = qrels, tables, names, request
        self._runs = tables[0] if names is None else united([*tables])
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
