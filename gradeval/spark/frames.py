"""Spark's data frames as tables of rows, in buckets of queries: the partitions of one table."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from gradeval.commands.compare.compare import comparable_metrics, judged_spec
from gradeval.compare_options import CompareOptions
from gradeval.errors import InputError, MetricError, OptionError, described, named
from gradeval.evaluation.outcome import left_out_of_groups
from gradeval.evaluation.runs import check_labels
from gradeval.evaluation.ties import check_expected
from gradeval.formats.arrow import column_labels
from gradeval.formats.csv import ARGUMENT, Chosen, check_has, choose, simplified
from gradeval.notices import Notice
from gradeval.options import EXPECTED, ROLES, Options, read_columns, read_option, whole
from gradeval.registry.spec import Metrics, Spec, usable
from gradeval.spark.kernel import DOCUMENT, NUMBER, PLACE, QRELS, QUERY, RUN, SUBTOPIC, Names
from gradeval.spark.sessions import check_installed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

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


def united(wires: list[Wire]) -> Wire:
    """The runs of several frames, one each, as one table with their positions."""
    from pyspark.sql import functions as F

    if len({wire.by_rank for wire in wires}) > 1:
        raise OptionError("some runs have scores and some have ranks: give all the same columns")
    frames = _alike([wire.frame.drop(RUN) for wire in wires])
    if len(wires) > 1:
        frames = [frame.withColumn(RUN, F.lit(position)) for position, frame in enumerate(frames)]
    union = reduce(lambda above, below: above.unionByName(below), frames)
    return wires[0]._replace(frame=union, run=None)


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


def checked_frames(qrels: Any, runs: Any) -> tuple[DataFrame, list[tuple[str | None, DataFrame]]]:
    """The qrels, and the runs with their names: None for a data frame that may have several. Raises
    GradevalError for anything else, and without PySpark.
    """
    check_installed(with_java=False)
    judged = _checked(qrels, "qrels")
    if isinstance(runs, (list, tuple)):
        hint = "Give a dict of data frames by the names of the runs, or one data frame with a column of runs"
        raise InputError("runs", f"a {type(runs).__name__} has no names of runs", hint=hint)
    if not isinstance(runs, Mapping):
        return judged, [(None, _checked(runs, "runs"))]
    if not runs:
        raise InputError("runs", "no runs given")
    frames: list[tuple[str | None, DataFrame]] = [
        (str(name), _checked(frame, str(name))) for name, frame in runs.items()
    ]
    check_labels(frames)
    return judged, frames


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
