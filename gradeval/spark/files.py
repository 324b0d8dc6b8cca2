"""Files and folders that Spark reads: Parquet, CSV, JSON Lines, and TREC's lines, which the workers parse."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays.strings import PAD
from gradeval.errors import InputError, described
from gradeval.evaluation.given import check_labels
from gradeval.formats.columns import Columns
from gradeval.formats.csv import DELIMITERS, header_of
from gradeval.formats.diagnostics import shown
from gradeval.formats.sources import Block
from gradeval.formats.trec import qrels_columns, run_columns
from gradeval.options import Options
from gradeval.registry.spec import Spec
from gradeval.spark.arrow import text_column
from gradeval.spark.frames import Wire, qrels_wire, run_wire
from gradeval.spark.results import SparkResults, of_wires
from gradeval.spark.session import known_warnings_ignored
from gradeval.tables.run_names import labelled, run_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("trec", "csv", "tsv", "jsonl", "parquet")
_ENDINGS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate")


def evaluate_files(
    session: SparkSession,
    qrels: str,
    runs: Sequence[str],
    specs: Sequence[Spec],
    options: Options,
    own: Mapping[str, str],
    buckets: int | None,
) -> SparkResults:
    """The evaluation of paths, folders, patterns or URIs; NAME=path names a run.

    options: with the formats. own: the names of the columns of the roles 'run' and 'order'. A run alone without
    a name is a table of several where it has a column of runs. Raises GradevalError.
    """
    columns = dict(options.columns)
    judged = read_qrels(session, qrels, options.qrels_format, columns)
    given = [labelled(run) for run in runs]
    check_labels(given)
    wires = [read_runs(session, path, options.run_format, columns, own) for _, path in given]
    if len(wires) == 1 and given[0][0] is None and wires[0].run is not None:
        return of_wires(judged, [(None, wires[0])], specs, options, buckets, has_order="order" in own)
    labels = [label for label, _ in given if label is not None]
    made = iter(run_names([path.rstrip("/") for label, path in given if label is None], taken=labels))
    names = [next(made) if label is None else label for label, _ in given]
    pairs = list(zip(names, wires, strict=True))
    return of_wires(judged, pairs, specs, options, buckets, has_order="order" in own)


def resolved(session: SparkSession, path: str) -> str:
    """A path as Spark takes it. A relative path on this machine is relative to the directory of this process,
    which need not be that of the Java machine.
    """
    jvm: Any = session._jvm
    default = jvm.org.apache.hadoop.fs.FileSystem.getDefaultUri(session._jsc.hadoopConfiguration()).getScheme()
    return path if _SCHEME.match(path) or default != "file" else os.path.abspath(path)


def read_qrels(session: SparkSession, path: str, kind: str | None, columns: Mapping[str, str]) -> Wire:
    """The judgments at a path, a folder, a pattern or a URI. kind: one of FORMATS, by the ending if None."""
    with _readable(path):
        kind = kind or format_of(session, path)
        frame = _frame(session, path, kind, columns, "grade")
        return qrels_wire(frame, _names(kind, columns), path, kind == "trec")


def read_runs(
    session: SparkSession, path: str, kind: str | None, columns: Mapping[str, str], own: Mapping[str, str]
) -> Wire:
    """The run at a path, or the runs where it has a column of their names. Raises InputError."""
    with _readable(path):
        kind = kind or format_of(session, path)
        frame = _frame(session, path, kind, columns, "score")
        return run_wire(frame, _names(kind, columns), {} if kind == "trec" else own, path, kind == "trec")


def _names(kind: str, columns: Mapping[str, str]) -> Mapping[str, str]:
    """The names of columns; lines of TREC have none."""
    return {} if kind == "trec" else columns


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


def exists(session: SparkSession, path: str) -> bool:
    """Whether there is a file or folder at a path or URI."""
    jvm: Any = session._jvm
    place = jvm.org.apache.hadoop.fs.Path(resolved(session, path))
    found: bool = place.getFileSystem(session._jsc.hadoopConfiguration()).exists(place)
    return found


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Raise InputError where Spark finds no files, or cannot read them."""
    from pyspark.errors import AnalysisException

    try:
        yield
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise InputError(path, "No such file or directory") from None
        raise InputError(path, " ".join(str(error).split("\n", 1)[0].split())) from None


def _frame(session: SparkSession, path: str, kind: str, columns: Mapping[str, str], number: str) -> DataFrame:
    """number: 'grade' or 'score'."""
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
        return session.read.schema(_strings(_keys(path, line))).json(place)
    header = header_of(
        np.frombuffer(line.encode(), np.uint8), "\t" if kind == "tsv" else DELIMITERS, dict(columns)
    )
    if header is None:
        raise InputError(path, "the first line is no header with the names of at least two columns", line=1)
    reader = session.read.option("header", True).option("sep", header.dialect.delimiter).option("escape", '"')
    return reader.csv(place)


def _keys(path: str, line: str) -> list[str]:
    """The names in the object of a line."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(path, f"not valid JSON ({error.msg} in column {error.colno})", line=1) from None
    if not isinstance(value, dict):
        raise InputError(path, f"{described(value)} is not a JSON object", line=1)
    return [*value]


def _strings(names: list[str]) -> Any:
    """A schema of strings, which have the texts of numbers as they are in the file."""
    from pyspark.sql.types import StringType, StructField, StructType

    return StructType([StructField(name, StringType()) for name in names])


def parsed(batches: Iterator[Any], read: Callable[[Block], Columns]) -> Iterator[Any]:
    """Batches of lines of text as batches of rows; a line that is no row has its error as the query."""
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
            f"line {shown(lines[one.line].as_py().encode())}: {one.what}"
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
