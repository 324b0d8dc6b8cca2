"""Spark's data frames as tables of rows, in buckets of queries: the partitions of one table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gradeval.commands.compare.options import CompareOptions
from gradeval.commands.compare.values import comparable_metrics, judged_spec
from gradeval.errors import InputError, MetricError, OptionError, described, named
from gradeval.evaluation.findings import left_out_of_groups
from gradeval.evaluation.runs import check_labels
from gradeval.formats.arrow import column_labels
from gradeval.formats.csv import ARGUMENT, Chosen, check_has, choose, simplified
from gradeval.notices import Notice
from gradeval.options import FILES, PROCESS, ROLES, Options, check_columns, check_known, read_option, whole
from gradeval.registry.spec import Spec, usable
from gradeval.spark.rows import DOCUMENT, NUMBER, PLACE, QUERY, RUN, Names
from gradeval.spark.sessions import check_modules

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType
if TYPE_CHECKING:
    from pyspark.sql import DataFrame

QRELS = -1  # in the place of the position of a run
BUCKET_ROWS = 1 << 20  # at most about so many rows of qrels and runs together
MOST_BUCKETS = 100_000
FEWEST_ROWS = 1 << 16  # with fewer, a task takes longer to start than to run
WRONG_LINE = "gradeval wrong line"  # a column of files: what is wrong with a line, after NO_ROW
_OWN = ("run", "order")  # roles of columns that Options does not know
_RUN_NAMES = ("run", "runname", "runid", "system")
_INTEGERS = ("byte", "short", "integer", "long")
_FRACTIONS = ("float", "double", "decimal")


class Wire(NamedTuple):
    """A table as it is sent to the workers, without its buckets.

    frame: with the columns of rows.read_rows(). has_integers: whether its query ids are integers. names: for
    messages. by_rank: whether the numbers are ranks. run: the column with the names of the runs, None where
    frame has their positions, or there is one run.
    """

    frame: DataFrame
    has_integers: bool
    names: Names
    by_rank: bool = False
    run: str | None = None


def split_columns(columns: Any) -> tuple[Any, dict[str, str]]:
    """The names of columns that Options knows, and those of the roles 'run' and 'order'. Raises OptionError."""
    pairs = read_option("columns", Options.table["columns"].kind, columns)
    check_columns("columns", pairs, (*ROLES, *_OWN))
    own = {role: name for role, name in pairs if role in _OWN}
    return [(role, name) for role, name in pairs if role not in own], own


def qrels_wire(
    frame: DataFrame,
    columns: Mapping[str, str],
    path: str = "qrels",
    naming: str = ARGUMENT,
) -> Wire:
    """The judgments. naming: how the user names a column. Raises InputError where a column is missing, or of a
    type that cannot be read.
    """
    chosen = choose(names_of(frame), "grade", columns, path, naming)
    types = _types(frame)
    wire = frame.select(*_row(types, chosen, "grade", path))
    return Wire(wire, types[chosen.query] in _INTEGERS, Names(path, *column_labels(chosen, "grade")))


def run_wire(
    frame: DataFrame,
    columns: Mapping[str, str],
    own: Mapping[str, str],
    path: str,
    naming: str = ARGUMENT,
) -> Wire:
    """The runs of a frame. own: the names of the columns of the roles 'run' and 'order'. naming: how the user
    names a column. Raises InputError.
    """
    for name in own.values():
        check_has(names_of(frame), name, path)
    chosen = choose(names_of(frame), "score", columns, path, naming)
    types = _types(frame)
    selected = _row(types, chosen, "score", path)
    run = _run_column(names_of(frame), own, path, naming)
    if run is not None:
        selected.append(_id(types, run, "run", path).cast("string").alias(RUN))
    if "order" in own:
        place = _number(types, own["order"], "order", path)
        if types[own["order"]] in _INTEGERS:  # which may be too large for exact doubles, as times are
            place = _column(own["order"]).cast("long")
        selected.append(place.alias(PLACE))
    names = Names(path, *column_labels(chosen, "score"))
    return Wire(frame.select(*selected), types[chosen.query] in _INTEGERS, names, chosen.by_rank, run)


def names_of(frame: DataFrame) -> list[str]:
    """The names of its columns."""
    return [name for name in frame.columns if name != WRONG_LINE]


def _row(types: Mapping[str, str], chosen: Chosen, number: str, path: str) -> list[Column]:
    """The query, the document and the number of each row; what is wrong with a line is its query."""
    from pyspark.sql import functions as F

    query = _id(types, chosen.query, "query id", path)
    document = _id(types, chosen.document, "document id", path)
    if WRONG_LINE in types:
        query = F.coalesce(F.col(WRONG_LINE), query)
        document = F.when(F.col(WRONG_LINE).isNull(), document)
    value = _number(types, chosen.number, number, path)
    return [query.alias(QUERY), document.alias(DOCUMENT), value.alias(NUMBER)]


def _run_column(names: list[str], own: Mapping[str, str], path: str, naming: str) -> str | None:
    if "run" in own:
        return own["run"]
    usual = [name for name in names if simplified(name) in _RUN_NAMES]
    if len(usual) > 1:
        both = " or ".join(map(named, usual))
        raise InputError(path, f"the run column may be {both}", hint=f"Choose with {naming.format('run')}")
    return usual[0] if usual else None


def _types(frame: DataFrame) -> dict[str, str]:
    """The names of the types of columns."""
    return {field.name: _type(field.dataType) for field in frame.schema.fields}


def _type(of: DataType) -> str:
    name = type(of).__name__.removesuffix("Type").lower()
    return "string" if name in ("char", "varchar") else name


def _column(name: str) -> Column:
    from pyspark.sql import functions as F

    escaped = name.replace("`", "``")
    return F.col(f"`{escaped}`")


def _id(types: Mapping[str, str], name: str, what: str, path: str) -> Column:
    """A column of ids: integers as they are, and strings."""
    kind = types[name]
    if kind in _INTEGERS:
        return _column(name).cast("long")
    if kind != "string":
        hint = "Ids are strings or integers: cast it to one of these"
        raise InputError(path, f"the {what} (column {name}) has the type {kind}", hint=hint)
    return _column(name).cast("string")  # without a collation


def _number(types: Mapping[str, str], name: str, what: str, path: str) -> Column:
    """A column of numbers; texts are read as numbers by the workers, which name what is none."""
    kind = types[name]
    if kind == "string":
        return _column(name).cast("string")
    if kind not in (*_INTEGERS, *_FRACTIONS):
        raise InputError(path, f"the {what} (column {name}) has the type {kind}", hint="Cast it to a number")
    return _column(name).cast("double")


def united(wires: list[Wire]) -> Wire:
    """The runs of several frames, one each, as one table with their positions."""
    from pyspark.sql import functions as F

    has_integers = all(wire.has_integers for wire in wires)
    if len({wire.by_rank for wire in wires}) > 1:
        raise OptionError("some runs have scores and some have ranks: give all the same columns")
    frames = []
    for position, wire in enumerate(wires):
        frame = wire.frame.drop(RUN)
        if len(wires) > 1:
            kinds = {QUERY: has_integers, DOCUMENT: _all_of(wires, DOCUMENT, "bigint")}
            texts = [name for name, is_integer in kinds.items() if not is_integer]
            if not _all_of(wires, NUMBER, "double"):
                texts.append(NUMBER)
            for name in texts:
                frame = frame.withColumn(name, F.col(name).cast("string"))
            frame = frame.withColumn(RUN, F.lit(position))
        frames.append(frame)
    union = frames[0]
    for frame in frames[1:]:
        union = union.unionByName(frame)
    return wires[0]._replace(frame=union, has_integers=has_integers, run=None)


def _all_of(wires: list[Wire], name: str, kind: str) -> bool:
    return all(dict(wire.frame.dtypes)[name] == kind for wire in wires)


def bucket_count(rows: int, cores: int) -> int:
    """How many buckets of at most BUCKET_ROWS, as many for each core; of FEWEST_ROWS at least."""
    for_all_cores = -(-rows // (BUCKET_ROWS * cores)) * cores
    return max(1, min(for_all_cores, rows // FEWEST_ROWS, MOST_BUCKETS))


def in_buckets(qrels: Wire, runs: Wire, buckets: int) -> DataFrame:
    """Both tables as one, in partitions by queries; in the rows of the qrels, RUN is QRELS.

    One table in partitions need not be sorted and grouped, as the two sides of a cogroup are.
    """
    from pyspark.sql import functions as F

    frames = [qrels.frame.withColumn(RUN, F.lit(QRELS)), runs.frame]
    if RUN not in runs.frame.columns:
        frames[1] = frames[1].withColumn(RUN, F.lit(0))
    if PLACE in runs.frame.columns:
        frames[0] = frames[0].withColumn(PLACE, F.lit(None).cast(dict(runs.frame.dtypes)[PLACE]))
    types = [dict(frame.dtypes) for frame in frames]
    for name in (QUERY, DOCUMENT, NUMBER):
        if types[0][name] != types[1][name]:
            frames = [frame.withColumn(name, F.col(name).cast("string")) for frame in frames]
    return frames[0].unionByName(frames[1]).repartition(buckets, QUERY)


class Request(NamedTuple):
    """What is to be evaluated, and how.

    specs: the metrics, whose values are numbers. own: the names of the columns of the roles 'run' and 'order'.
    buckets: how many, None for as many as the rows need. naming: how the user names a column. compared: how the
    runs are compared in the same pass, None where they are not. judged: a metric that only the comparison
    needs. notices: about the metrics.
    """

    specs: tuple[Spec, ...]
    options: Options
    own: Mapping[str, str]
    buckets: int | None = None
    naming: str = ARGUMENT
    compared: CompareOptions | None = None
    judged: Spec | None = None
    notices: tuple[Notice, ...] = ()

    @classmethod
    def of(
        cls,
        metrics: str | Iterable[str],
        options: Mapping[str, Any],
        buckets: int | None = None,
        naming: str = ARGUMENT,
        compared: CompareOptions | None = None,
    ) -> Request:
        """options: those of Options, whose columns may have the roles 'run' and 'order' too. Raises
        GradevalError.
        """
        columns, own = split_columns(options.get("columns", ()))
        chosen = Options.of(**{**options, "columns": columns})
        if compared is None:
            specs, left_out = usable(
                metrics,
                lambda spec: not spec.metric.text,
                lambda spec: MetricError(f"{spec} is text", hint="on Spark, metrics are numbers"),
            )
            notices = left_out_of_groups(left_out)
        else:
            specs, notices = comparable_metrics(metrics)
        if chosen.ties == "input" and "order" not in own:
            what = "ties 'input' requires a column that orders the rows of the runs: a shuffle keeps no order"
            raise OptionError(f"{what}. Name it with {naming.format('order')}")
        if buckets is not None:
            buckets = whole("buckets", buckets, 1, MOST_BUCKETS)
        judged = None if compared is None or chosen.judged_only else judged_spec(specs, ())
        if judged in specs:
            judged = None
        return cls(tuple(specs), chosen, own, buckets, naming, compared, judged, notices)

    @property
    def evaluated(self) -> tuple[Spec, ...]:
        """The metrics, with that which the comparison needs."""
        return self.specs if self.judged is None else (*self.specs, self.judged)


def check_options(options: Iterable[str]) -> None:
    """Raise OptionError for an option that evaluate() does not have."""
    check_known(options, [*Options.names(without=(FILES, PROCESS)), "buckets"])


def given_frames(qrels: Any, runs: Any) -> tuple[DataFrame, list[tuple[str | None, DataFrame]]]:
    """The qrels, and the runs with their names: None for a data frame that may have several.

    Raises GradevalError for anything else, and without PySpark.
    """
    check_modules()
    judged = _frame(qrels, "qrels")
    if isinstance(runs, (list, tuple)):
        hint = "Give a dict of data frames by the names of the runs, or one data frame with a column of runs"
        raise InputError("runs", f"a {type(runs).__name__} has no names of runs", hint=hint)
    if not isinstance(runs, Mapping):
        return judged, [(None, _frame(runs, "runs"))]
    if not runs:
        raise InputError("runs", "no runs given")
    named: list[tuple[str | None, DataFrame]] = [
        (str(name), _frame(frame, str(name))) for name, frame in runs.items()
    ]
    check_labels(named)
    return judged, named


def _frame(given: Any, what: str) -> DataFrame:
    from pyspark.sql import DataFrame

    if isinstance(given, DataFrame):
        return given
    if isinstance(given, (str, bytes, os.PathLike)):
        hint = "Read it with spark.read.parquet(PATH), or run 'gradeval spark QRELS RUN', which reads files"
        raise InputError(what, f"{described(given)} is not a data frame of Spark", hint=hint)
    module = type(given).__module__.partition(".")[0]
    kind = type(given).__name__ if module in ("builtins", "__main__") else f"{module}.{type(given).__name__}"
    hint = "Give spark.createDataFrame(…), or use gradeval.evaluate(), which takes other data"
    raise InputError(what, f"a {kind} is not a data frame of Spark", hint=hint)
