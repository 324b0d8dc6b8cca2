"""Files and folders that Spark reads: Parquet, CSV, JSON Lines, and TREC's lines, which the workers parse."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from glob import glob
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval.arrays.strings import PAD
from gradeval.errors import InputError, OptionError, described, named
from gradeval.evaluation.runs import check_labels
from gradeval.formats.columns import Columns
from gradeval.formats.csv import DELIMITERS, header_of
from gradeval.formats.json import reason, reject_saved
from gradeval.formats.sources import Block
from gradeval.formats.trec import qrels_columns, run_columns
from gradeval.spark.compare import pairs_to_compare
from gradeval.spark.frames import WRONG_LINE, Request, Wire, names_of, qrels_wire, run_wire
from gradeval.spark.kernel import text_column
from gradeval.spark.results import SparkResults, of_wires
from gradeval.spark.rows import NO_ROW
from gradeval.spark.sessions import engine_errors, known_warnings_ignored
from gradeval.tables.given_columns import check_names
from gradeval.tables.run_names import labelled, run_names, short_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FORMATS = ("trec", "csv", "tsv", "jsonl", "parquet")
_ENDINGS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
_NOTHING_THERE = {
    "PATH_NOT_FOUND": "No such file or directory",
    "UNABLE_TO_INFER_SCHEMA": "no data: there are no files in it",
}
_PATTERN = re.compile(r"[*?]|\[[^]]*\]|\{[^}]*\}")
_OF_SPARK = ("part", "part-r", "part-m")  # names of the files that Spark and Hadoop write
_LINE = "_corrupt_record"  # the text of a line, as Spark calls that of one that is no row
_JSON_LINES = "Spark reads JSON Lines, an object on each line"
_FILE_URI = re.compile(r"^file:(//)?(?=/)")
_BRACES = re.compile(r"\{[^{}]*\}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate")


class Files(NamedTuple):
    """The paths, folders, patterns or URIs of the qrels and the runs. names: of the runs.

    may_be_table: whether there is one run, without a label, which may be a table of several.
    """

    qrels: str
    runs: tuple[str, ...]
    names: tuple[str, ...]
    may_be_table: bool

    @classmethod
    def of(cls, qrels: str, runs: Sequence[str], request: Request, are_local: bool) -> Files:
        """runs: NAME=path names one. are_local: whether paths without a scheme are on this machine, where they
        can be checked. Raises GradevalError.
        """
        given = [labelled(run) for run in runs]
        check_labels(given)
        labels = [label for label, _ in given if label is not None]
        own = [path.rstrip("/") for label, path in given if label is None]
        made = iter(run_names(own, [_pattern_name(path) for path in own], labels))
        names = tuple(next(made) if label is None else label for label, _ in given)
        paths = tuple(path for _, path in given)
        kind = (
            request.options.run_format or _by_ending(paths[0]) or ("trec" if os.path.isfile(paths[0]) else "")
        )
        files = cls(qrels, paths, names, len(given) == 1 and not labels and kind != "trec")
        if request.compared is not None and not files.may_be_table:
            pairs_to_compare(files.names, files.runs, request.compared)
        if are_local:
            for path, number in ((qrels, "grade"), *((run, "score") for run in files.runs)):
                _check_local(path, number)
        return files


def _pattern_name(path: str) -> str | None:
    """The name of a run whose files match a pattern: what the pattern says of the file, or of its folder."""
    if not _PATTERN.search(path):
        return None
    for part in reversed(path.split("/")):
        name = _PATTERN.sub("", short_name(part)).strip("-_. ")
        if name and name not in _OF_SPARK:
            return name
    return None


def local_files(path: str) -> Iterator[str]:
    """The files of this machine that are read for a path, a folder, a pattern or a file: URI."""
    pattern = _BRACES.sub("*", _FILE_URI.sub("", path))  # braces stand for a part of what * stands for
    for found in glob(pattern) or [path]:
        yield found
        for folder, _, names in os.walk(found):
            yield from (os.path.join(folder, name) for name in names)


def _check_local(path: str, number: str) -> None:
    """Raise InputError for a path of this machine where nothing is, or a saved result is. number: 'grade' or
    'score', what its rows should have.
    """
    if _SCHEME.match(path) or "{" in path or "\\" in path:  # which glob reads in another way
        return
    if not (glob(path) or os.path.lexists(path)):
        raise InputError(path, "No such file or directory")
    if os.path.isfile(path):
        try:
            with open(path, "rb") as file:
                start = file.read(1 << 12)
        except OSError as error:
            raise InputError(path, error.strerror or str(error)) from None
        reject_saved(start, path, number)


def evaluate_files(session: SparkSession, files: Files, request: Request) -> SparkResults:
    """The evaluation of files. A run without a label is a table of several where it has a column of runs.

    Raises GradevalError.
    """
    options, kind = request.options, request.options.run_format
    qrels = opened(session, files.qrels, options.qrels_format, "grade", request)
    runs = [opened(session, path, kind, "score", request) for path in files.runs]
    check_names([(one.path, one.names) for one in (qrels, *runs)], options)
    wires = [run.run_wire(request) for run in runs]
    is_table = files.may_be_table and wires[0].run is not None
    names = (None,) if is_table else files.names
    return of_wires(qrels.qrels_wire(request), list(zip(names, wires, strict=True)), request)


def resolved(session: SparkSession, path: str) -> str:
    """A path as Spark takes it. A relative path on this machine is relative to the directory of this process,
    which need not be that of the Java machine.
    """
    jvm: Any = session._jvm
    default = jvm.org.apache.hadoop.fs.FileSystem.getDefaultUri(session._jsc.hadoopConfiguration()).getScheme()
    return path if _SCHEME.match(path) or default != "file" else os.path.abspath(path)


class Opened(NamedTuple):
    """A table that Spark reads. kind: one of FORMATS."""

    path: str
    kind: str
    frame: DataFrame

    @property
    def names(self) -> list[str]:
        """The names of the columns; lines of TREC have none."""
        return [] if self.kind == "trec" else names_of(self.frame)

    def _columns(self, request: Request) -> Mapping[str, str]:
        return dict(request.options.columns) if self.names else {}

    def qrels_wire(self, request: Request) -> Wire:
        """The judgments. Raises InputError."""
        columns = self._columns(request)
        return qrels_wire(self.frame, columns, self.path, request.naming)

    def run_wire(self, request: Request) -> Wire:
        """The run, or the runs where it has a column of their names. Raises InputError."""
        columns = self._columns(request)
        if self.kind == "trec" and request.own:
            role, name = next(iter(request.own.items()))
            raise InputError(self.path, f"lines of TREC have no columns, and so no {role} column {named(name)}")
        return run_wire(self.frame, columns, request.own, self.path, request.naming)


def opened(session: SparkSession, path: str, kind: str | None, number: str, request: Request) -> Opened:
    """What is at a path, a folder, a pattern or a URI. kind: None for that of the ending. number: 'grade' or
    'score'.
    """
    with _readable(path):
        kind = kind or format_of(session, path)
        return Opened(path, kind, _frame(session, path, kind, dict(request.options.columns), number))


def format_of(session: SparkSession, path: str) -> str:
    """The format by the ending of a path, or of the first file in a folder or of a pattern; else TREC's."""
    kind = _by_ending(path)
    if kind is None:
        files = (_by_ending(file) for file in _files(session, path))
        kind = next((found for found in files if found is not None), None)
    return kind or "trec"


def _by_ending(path: str) -> str | None:
    name = path.rstrip("/").rpartition("/")[2].lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    return next((kind for ending, kind in _ENDINGS.items() if name.endswith(ending)), None)


def _files(session: SparkSession, path: str) -> Iterator[str]:
    """The first files that Spark would read."""
    jvm: Any = session._jvm
    pattern = jvm.org.apache.hadoop.fs.Path(resolved(session, path))
    system = pattern.getFileSystem(session._jsc.hadoopConfiguration())
    for found in system.globStatus(pattern) or ():
        for status in system.listStatus(found.getPath()) if found.isDirectory() else (found,):
            name = status.getPath().getName()
            if not name.startswith(("_", ".")):
                yield name


def check_new(path: str, session: SparkSession | None = None) -> None:
    """Raise OptionError if there is a file or folder at a path or URI, of this machine without a session."""
    if session is None:
        is_there = not _SCHEME.match(path) and os.path.lexists(path)
    else:
        jvm: Any = session._jvm
        place = jvm.org.apache.hadoop.fs.Path(resolved(session, path))
        is_there = place.getFileSystem(session._jsc.hadoopConfiguration()).exists(place)
    if is_there:
        raise OptionError(f"{path} exists; choose another name, or remove it")


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Raise InputError where Spark finds no files, or cannot read them."""
    from pyspark.errors import AnalysisException

    with engine_errors(path):
        try:
            yield
        except AnalysisException as error:
            why = _NOTHING_THERE.get(error.getCondition() or "")
            if why is None:
                raise
            raise InputError(path, why) from None


def _frame(session: SparkSession, path: str, kind: str, columns: Mapping[str, str], number: str) -> DataFrame:
    """number: 'grade' or 'score'."""
    from pyspark.sql import functions as F

    place = resolved(session, path)
    if kind == "parquet":
        return session.read.parquet(place)
    text = session.read.text(place)
    if kind == "trec":
        read = qrels_columns if number == "grade" else run_columns

        def lines(batches):  # type: ignore[no-untyped-def]  # Spark would look at annotations
            return parsed(batches, read)

        with known_warnings_ignored():
            return text.mapInArrow(lines, f"query string, document string, {number} double")
    first = text.where("trim(value) != ''").limit(1).collect()
    if not first:
        raise InputError(path, "the file is empty")
    line = first[0].value
    if kind == "jsonl":
        return _json_lines(text.where("trim(value) != ''"), _keys(path, line))
    header = header_of(
        np.frombuffer(line.encode(), np.uint8), "\t" if kind == "tsv" else DELIMITERS, dict(columns)
    )
    if header is None:
        raise InputError(path, "the first line is no header with the names of at least two columns", line=1)
    reader = session.read.option("header", True).option("sep", header.dialect.delimiter).option("escape", '"')
    names = reader.csv(place).columns
    frame = reader.schema(_strings([*names, _LINE])).option("columnNameOfCorruptRecord", _LINE).csv(place)
    what = f"not as many fields as the header, which has {len(header.names)}"
    return frame.withColumn(WRONG_LINE, _wrong(F.col(_LINE).isNotNull(), F.lit(what), _LINE)).drop(_LINE)


def _json_lines(text: DataFrame, names: list[str]) -> DataFrame:
    """The members of these names in the object of each line, as texts, and the columns of partitions."""
    from pyspark.sql import functions as F

    keys = F.json_object_keys("value")  # null where it is no object
    again = F.get(F.filter(keys, lambda key, place: F.array_position(keys, key) <= place), F.lit(0))
    members = F.from_json("value", _strings([*names, _LINE]), {"columnNameOfCorruptRecord": _LINE})
    is_valid = keys.isNotNull() & members.getField(_LINE).isNull()
    is_nested = (
        again.isNull() & F.try_parse_json("value").isNull()
    )  # which is null for a key twice at any depth
    what = (
        F.when(~is_valid, F.lit("not a valid JSON object"))
        .when(is_nested, F.lit("a key is in a nested object twice"))
        .otherwise(F.concat(F.lit("the key '"), again, F.lit("' is in the object twice")))
    )
    wrong = _wrong(~is_valid | again.isNotNull() | is_nested, what, "value")
    frame = text.select("*", members.alias(_LINE), wrong.alias(WRONG_LINE))
    others = [name for name in text.columns if name != "value"]
    return frame.select(f"{_LINE}.*", WRONG_LINE, *others).drop(_LINE)


def _wrong(is_wrong: Column, what: Column, line: str) -> Column:
    """What run_wire() and qrels_wire() are to say of a line. line: the column with its text."""
    from pyspark.sql import functions as F

    return F.when(is_wrong, F.concat(F.lit(NO_ROW), what, F.lit(NO_ROW), F.col(line)))


def _keys(path: str, line: str) -> list[str]:
    """The names in the object of a line."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        what = f"not valid JSON ({reason(error)} in column {error.colno})"
        raise InputError(path, what, line=1, hint=_JSON_LINES) from None
    if not isinstance(value, dict):
        raise InputError(path, f"{described(value)} is not a JSON object", line=1, hint=_JSON_LINES)
    return [*value]


def _strings(names: list[str]) -> Any:
    """A schema of strings, which have the texts of numbers as they are in the file."""
    from pyspark.sql.types import StringType, StructField, StructType

    return StructType([StructField(name, StringType()) for name in names])


def parsed(batches: Iterator[Any], read: Callable[[Block], Columns]) -> Iterator[Any]:
    """Batches of lines of text as batches of rows; a line that is no row has NO_ROW as the query."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for batch in batches:
        lines = batch.column(0)
        count = len(lines)
        if not count:
            continue
        whole = pa.ListArray.from_arrays(pa.array([0, count], pa.int32()), lines.cast(pa.string()))
        text = pc.binary_join(whole, "\n")[0].as_buffer()
        block = np.zeros(text.size + 1 + PAD, np.uint8)
        block[: text.size] = np.frombuffer(text, np.uint8)
        block[text.size] = ord("\n")
        columns = read(Block(block, text.size + 1, False, False))
        queries = columns.queries.take(np.repeat(np.arange(len(columns.queries)), np.diff(columns.bounds)))
        name = "grade" if read is qrels_columns else "score"
        yield _batch(pa, text_column(pa, queries), text_column(pa, columns.documents), columns.value, name)
        wrong = [
            f"{NO_ROW}{one.what}{NO_ROW}{lines[one.line].as_py()}"
            for one in columns.problems.first
            if one.line is not None
        ]
        if wrong:
            nothing = pa.nulls(len(wrong))
            yield _batch(pa, pa.array(wrong, pa.string()), nothing, nothing, name)


def _batch(pa: Any, queries: Any, documents: Any, numbers: Any, name: str) -> Any:
    kinds = (pa.string(), pa.string(), pa.float64())
    columns = (queries, documents, pa.array(numbers) if isinstance(numbers, np.ndarray) else numbers)
    arrays = [column.cast(kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, ["query", "document", name])
