"""Files and folders that Spark reads: Parquet, CSV, JSON Lines, and TREC's lines, which the workers parse."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from glob import glob
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays.strings import PAD, Ids
from gradeval.commands.compare.compare import pairs_of
from gradeval.errors import InputError, OptionError, described, named
from gradeval.evaluation.runs import Planned, check_labels, names_of
from gradeval.formats.columns import Columns
from gradeval.formats.csv import DELIMITERS, header_of
from gradeval.formats.json import reason, reject_saved
from gradeval.formats.sources import Block
from gradeval.formats.trec import qrels_columns, run_columns
from gradeval.formats.write import text_column
from gradeval.spark.kernel import NO_ROW
from gradeval.spark.merge import without_values
from gradeval.spark.results import WRONG_LINE, Request, SparkResults, column_names, qrels_wire, quoted, run_wire
from gradeval.spark.sessions import engine_errors, known_warnings_ignored
from gradeval.tables.load import check_names
from gradeval.tables.run_names import labelled, short_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

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
_LINE = "_corrupt_record"  # Spark's name of the column with a line that is no row
_JSON_LINES = "Spark reads JSON Lines, an object on each line"
_FILE_URI = re.compile(r"^file:(//)?(?=/)")
_BRACES = re.compile(r"\{[^{}]*\}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate")


def named_runs(
    qrels: str, runs: Sequence[str], request: Request, are_local: bool
) -> tuple[dict[str, str], bool]:
    """The path, folder, pattern or URI of each run by its name; and whether there is one, without a label,
    which may be a table of several. runs: NAME=path names one. are_local: whether paths without a scheme are on
    this machine, where they are checked: there is a file, which is no saved result. Raises GradevalError.
    """
    pairs = [labelled(run) for run in runs]
    check_labels(pairs)
    planned = [
        Planned(label, path if label else path.rstrip("/"), _pattern_name(path)) for label, path in pairs
    ]
    named_paths = dict(zip(names_of(planned), (path for _, path in pairs), strict=True))
    label, path = pairs[0]
    kind = request.options.run_format or _by_ending(path)
    is_trec = kind == "trec" or (kind is None and os.path.isfile(path))
    may_be_table = len(pairs) == 1 and label is None and not is_trec
    if request.compared is not None and not may_be_table:
        pairs_of(without_values([*named_paths], [*named_paths.values()]), request.compared)
    numbers = [(qrels, "grade"), *((path, "score") for path in named_paths.values())]
    for path, number in numbers if are_local else ():
        if _SCHEME.match(path) or "{" in path or "\\" in path:  # which glob reads in another way
            continue
        if not (glob(path) or os.path.lexists(path)):
            raise InputError(path, "No such file or directory")
        if os.path.isfile(path):
            try:
                with open(path, "rb") as file:
                    start = file.read(1 << 12)
            except OSError as error:
                raise InputError(path, error.strerror or str(error)) from None
            reject_saved(start, path, number)
    return named_paths, may_be_table


def _pattern_name(path: str) -> str | None:
    """The name of a run whose files match a pattern: the fixed part of that of the file or its folder."""
    parts = reversed(path.split("/")) if _PATTERN.search(path) else ()
    names = (_PATTERN.sub("", short_name(part)).strip("-_. ") for part in parts)
    return next((name for name in names if name and name not in _OF_SPARK), None)


def local_files(path: str) -> Iterator[str]:
    """The files of this machine that are read for a path, a folder, a pattern or a file: URI."""
    pattern = _BRACES.sub("*", _FILE_URI.sub("", path))  # braces stand for a part of what * stands for
    for file in glob(pattern) or [path]:
        yield file
        for folder, _, names in os.walk(file):
            yield from (os.path.join(folder, name) for name in names)


def evaluate_files(
    session: SparkSession, qrels: str, runs: Mapping[str, str], may_be_table: bool, request: Request
) -> SparkResults:
    """The evaluation of what named_runs() gives: a run that may be a table of several is one where it has a
    column of runs. Raises GradevalError.
    """
    options = request.options
    inputs = [(qrels, options.qrels_format, "grade")]
    inputs += [(path, options.run_format, "score") for path in runs.values()]
    tables = [(path, *opened(session, path, kind, number, request)) for path, kind, number in inputs]
    names = [(path, [] if kind == "trec" else column_names(frame)) for path, kind, frame in tables]
    check_names(names, options)
    wires = []
    for path, kind, frame in tables[1:]:
        if kind == "trec" and request.run_columns:
            role, name = next(iter(request.run_columns.items()))
            raise InputError(path, f"lines of TREC have no columns, and so no {role} column {named(name)}")
        columns = {} if kind == "trec" else dict(options.columns)
        wires.append(run_wire(frame, columns, request.run_columns, path, request.naming))
    path, kind, frame = tables[0]
    judged = qrels_wire(frame, {} if kind == "trec" else dict(options.columns), path, request.naming)
    is_table = may_be_table and wires[0].run is not None
    return SparkResults(judged, wires, None if is_table else tuple(runs), request)


def resolved(session: SparkSession, path: str) -> str:
    """The path for Spark: a relative path on this machine is relative to the directory of this process, which
    need not be that of the Java machine.
    """
    jvm: Any = session._jvm
    default = jvm.org.apache.hadoop.fs.FileSystem.getDefaultUri(session._jsc.hadoopConfiguration()).getScheme()
    return path if _SCHEME.match(path) or default != "file" else os.path.abspath(path)


def opened(
    session: SparkSession, path: str, kind: str | None, number: str, request: Request
) -> tuple[str, DataFrame]:
    """The format and the table of a path, a folder, a pattern or a URI. kind: None for that of the ending.
    number: 'grade' or 'score'. Raises InputError.
    """
    from pyspark.errors import AnalysisException

    with engine_errors(path):
        try:
            kind = kind or format_of(session, path)
            return kind, _frame(session, path, kind, dict(request.options.columns), number)
        except AnalysisException as error:
            why = _NOTHING_THERE.get(error.getCondition() or "")
            if why is None:
                raise
            raise InputError(path, why) from None


def format_of(session: SparkSession, path: str) -> str:
    """The format by the ending of a path, or of the first file in a folder or of a pattern; else TREC's."""
    if kind := _by_ending(path):
        return kind
    pattern, system = _hadoop(session, path)
    for match in system.globStatus(pattern) or ():
        for status in system.listStatus(match.getPath()) if match.isDirectory() else (match,):
            name = status.getPath().getName()
            if not name.startswith(("_", ".")) and (kind := _by_ending(name)):
                return kind
    return "trec"


def _by_ending(path: str) -> str | None:
    name = path.rstrip("/").rpartition("/")[2].lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    return next((kind for ending, kind in _ENDINGS.items() if name.endswith(ending)), None)


def _hadoop(session: SparkSession, path: str) -> tuple[Any, Any]:
    """Hadoop's path, and its file system."""
    jvm: Any = session._jvm
    hadoop_path = jvm.org.apache.hadoop.fs.Path(resolved(session, path))
    return hadoop_path, hadoop_path.getFileSystem(session._jsc.hadoopConfiguration())


def check_new(path: str, session: SparkSession | None = None) -> None:
    """Raise OptionError if there is a file or folder at a path or URI, of this machine without a session."""
    is_there = not _SCHEME.match(path) and os.path.lexists(path)
    if session is not None:
        hadoop_path, system = _hadoop(session, path)
        is_there = system.exists(hadoop_path)
    if is_there:
        raise OptionError(f"{path} exists; choose another name, or remove it")


def _frame(session: SparkSession, path: str, kind: str, columns: Mapping[str, str], number: str) -> DataFrame:
    """number: 'grade' or 'score'."""
    from pyspark.sql import functions as F

    resolved_path = resolved(session, path)
    if kind == "parquet":
        return session.read.parquet(resolved_path)
    text = session.read.text(resolved_path)
    if kind == "trec":
        read = qrels_columns if number == "grade" else run_columns

        def lines(batches):  # type: ignore[no-untyped-def]  # Spark would look at annotations
            return parsed(batches, read)

        with known_warnings_ignored():
            schema = f"query string, document string, {number} double"
            return text.mapInArrow(lines, f"{schema}, subtopic string" if number == "grade" else schema)
    text = text.where("trim(value) != ''")
    first = text.limit(1).collect()
    if not first:
        raise InputError(path, "the file is empty")
    line = first[0].value
    if kind == "jsonl":
        return _json_lines(path, text, line)
    header = header_of(
        np.frombuffer(line.encode(), np.uint8), "\t" if kind == "tsv" else DELIMITERS, dict(columns)
    )
    if header is None:
        raise InputError(path, "the first line is no header with the names of at least two columns", line=1)
    reader = session.read.options(
        header=True, sep=header.delimiter, escape='"', columnNameOfCorruptRecord=_LINE
    )
    names = reader.csv(resolved_path).columns
    frame = reader.schema(_strings([*names, _LINE])).csv(resolved_path)
    what = f"not as many fields as the header, which has {len(header.names)}"
    return frame.withColumn(WRONG_LINE, _wrong(F.col(_LINE).isNotNull(), F.lit(what), _LINE)).drop(_LINE)


def _json_lines(path: str, text: DataFrame, first: str) -> DataFrame:
    """The members of the object of each line, as strings, with the names of those in the first line; and the
    columns of partitions.
    """
    from pyspark.sql import functions as F

    try:
        names = json.loads(first)
    except json.JSONDecodeError as error:
        message = f"not valid JSON ({reason(error)} in column {error.colno})"
        raise InputError(path, message, line=1, hint=_JSON_LINES) from None
    if not isinstance(names, dict):
        raise InputError(path, f"{described(names)} is not a JSON object", line=1, hint=_JSON_LINES)
    keys = F.json_object_keys("value")  # null where it is no object
    again = F.get(F.filter(keys, lambda key, place: F.array_position(keys, key) <= place), F.lit(0))
    members = F.from_json("value", _strings([*names, _LINE]), {"columnNameOfCorruptRecord": _LINE})
    is_valid = keys.isNotNull() & members.getField(_LINE).isNull()
    is_nested = again.isNull() & F.try_parse_json("value").isNull()  # null for a key twice at any depth
    what = (
        F.when(~is_valid, F.lit("not a valid JSON object"))
        .when(is_nested, F.lit("a key is in a nested object twice"))
        .otherwise(F.concat(F.lit("the key '"), again, F.lit("' is in the object twice")))
    )
    wrong = _wrong(~is_valid | again.isNotNull() | is_nested, what, "value")
    others = [name for name in text.columns if name != "value"]  # of partitions
    frame = text.select(members.alias(_LINE), wrong.alias(WRONG_LINE), *others)
    return frame.select(f"{_LINE}.*", WRONG_LINE, *others).drop(_LINE)


def _wrong(is_wrong: Column, what: Column, line: str) -> Column:
    """The column WRONG_LINE. line: the column with the text of the line."""
    from pyspark.sql import functions as F

    return F.when(is_wrong, F.concat(F.lit(NO_ROW), what, F.lit(NO_ROW), F.col(line)))


def _strings(names: list[str]) -> str:
    """A schema of strings, so that numbers stay as they are in the file."""
    return ", ".join(f"{quoted(name)} string" for name in names)


def parsed(batches: Iterator[Any], read: Callable[[Block], Columns]) -> Iterator[Any]:
    """Batches of lines of text as batches of rows; a line that is no row has NO_ROW as the query."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for batch in batches:
        lines = batch.column(0)
        count = len(lines)
        if not count:
            continue
        listed = pa.ListArray.from_arrays(pa.array([0, count], pa.int32()), lines.cast(pa.string()))
        text = pc.binary_join(listed, "\n")[0].as_buffer()
        block = np.zeros(text.size + 1 + PAD, np.uint8)
        block[: text.size] = np.frombuffer(text, np.uint8)
        block[text.size] = ord("\n")
        columns = read(Block(block, text.size + 1, False, False))
        queries = columns.queries.take(np.repeat(np.arange(len(columns.queries)), np.diff(columns.bounds)))
        rows = {"query": text_column(pa, queries), "document": text_column(pa, columns.documents)}
        rows["grade" if read is qrels_columns else "score"] = pa.array(columns.value)
        if isinstance(columns.subtopic, Ids):
            rows["subtopic"] = text_column(pa, columns.subtopic)
        elif columns.subtopic is not None:
            rows["subtopic"] = pa.array([os.fsdecode(columns.subtopic)] * len(columns.value))
        yield _batch(pa, rows)
        wrong = [
            f"{NO_ROW}{problem.what}{NO_ROW}{lines[problem.line].as_py()}"
            for problem in columns.problems.first
            if problem.line is not None
        ]
        if wrong:
            yield _batch(pa, {**dict.fromkeys(rows, pa.nulls(len(wrong))), "query": pa.array(wrong)})


def _batch(pa: Any, rows: Mapping[str, Any]) -> Any:
    numbers = ("grade", "score")
    arrays = [column.cast(pa.float64() if name in numbers else pa.string()) for name, column in rows.items()]
    return pa.RecordBatch.from_arrays(arrays, [*rows])
