"""Files and folders that Spark reads: Parquet, CSV, JSON Lines, and TREC's lines, which the workers parse."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from glob import glob
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays.strings import PAD, Ids
from gradeval.commands.compare.compare import pairs_of
from gradeval.errors import InputError, OptionError
from gradeval.evaluation.evaluator import check_labels
from gradeval.file_formats import labelled, run_names, short_name
from gradeval.formats.csv import DELIMITERS, header_of
from gradeval.formats.json import reject_saved
from gradeval.formats.sources import Block
from gradeval.formats.trec import qrels_columns, run_columns
from gradeval.formats.write import text_column
from gradeval.spark.kernel import NO_ROW
from gradeval.spark.merge import without_values
from gradeval.spark.results import WRONG_LINE, Input, Request, quoted
from gradeval.spark.sessions import engine_errors, known_warnings_ignored

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_ENDINGS = {kind: kind for kind in ("parquet", "csv", "tsv", "jsonl")} | {"ndjson": "jsonl", "json": "jsonl"}
_COMPRESSED = re.compile(r"\.(gz|bz2|zst|snappy|lz4|deflate)$")
_PATTERN = re.compile(r"[*?]|\[[^]]*\]|\{[^}]*\}")
_OF_SPARK = ("part", "part-r", "part-m")  # names of the files that Spark and Hadoop write
_LINE = "_corrupt_record"  # Spark's name of the column with a line that is no row
_FILE_URI = re.compile(r"^file:(//)?(?=/)")
_BRACES = re.compile(r"\{[^{}]*\}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def named_runs(
    qrels: str, runs: Sequence[str], request: Request, are_local: bool
) -> tuple[dict[str, str], bool]:
    """The path, folder, pattern or URI of each run by its name; and whether there is one, without a label,
    which may be a table of several. runs: NAME=path names one. are_local: whether paths without a scheme are on
    this machine, where they are checked: there is a file, which is no saved result. Raises GradevalError.
    """
    pairs = [labelled(run) for run in runs]
    check_labels(pairs)
    names = run_names(
        (label, path if label else path.rstrip("/"), _pattern_name(path)) for label, path in pairs
    )
    named_paths = dict(zip(names, (path for _, path in pairs), strict=True))
    label, path = pairs[0]
    kind = request.options.run_format or _by_ending(path)
    is_trec = kind == "trec" or (kind is None and os.path.isfile(path))
    may_be_table = len(pairs) == 1 and label is None and not is_trec
    if request.compared is not None and not may_be_table:
        pairs_of(without_values([*named_paths], [*named_paths.values()]), request.compared)
    for number, path in (("grade", qrels), *(("score", path) for path in named_paths.values())):
        if not are_local or _SCHEME.match(path) or "{" in path or "\\" in path:  # which glob reads otherwise
            continue
        if not (glob(path) or os.path.lexists(path)):
            raise InputError(path, "No such file or directory")
        if os.path.isfile(path):
            try:
                with open(path, "rb") as file:
                    reject_saved(file.read(1 << 12), path, number)
            except OSError as error:
                raise InputError(path, error.strerror or str(error)) from None
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


def resolved(session: SparkSession, path: str) -> str:
    """The path for Spark: a relative path on this machine is relative to the directory of this process, which
    need not be that of the Java machine.
    """
    jvm: Any = session._jvm
    default = jvm.org.apache.hadoop.fs.FileSystem.getDefaultUri(session._jsc.hadoopConfiguration()).getScheme()
    return path if _SCHEME.match(path) or default != "file" else os.path.abspath(path)


def check_new(path: str, session: SparkSession | None = None) -> None:
    """Raise OptionError if there is a file or folder at a path or URI, of this machine without a session."""
    is_there = not _SCHEME.match(path) and os.path.lexists(path)
    if session is not None:
        jvm: Any = session._jvm
        hadoop_path = jvm.org.apache.hadoop.fs.Path(resolved(session, path))
        is_there = hadoop_path.getFileSystem(session._jsc.hadoopConfiguration()).exists(hadoop_path)
    if is_there:
        raise OptionError(f"{path} exists; choose another name, or remove it")


def opened(session: SparkSession, path: str, number: str, request: Request) -> Input:
    """The table of a path, a folder, a pattern or a URI. Its format is that of the options, else that of the
    ending of the path or of a file there, else TREC's. number: 'grade' or 'score'. Raises InputError.
    """
    options = request.options
    kind = options.qrels_format if number == "grade" else options.run_format
    with engine_errors(path):
        if (kind := kind or _by_ending(path)) is None:
            files = session.read.text(resolved(session, path)).inputFiles()
            kind = next(filter(None, map(_by_ending, files)), "trec")
        frame = _frame(session, path, kind, number, dict(options.columns))
        return Input(path, frame, has_names=kind != "trec")


def _by_ending(path: str) -> str | None:
    name = _COMPRESSED.sub("", path.rstrip("/").lower())
    return _ENDINGS.get(os.path.splitext(name)[1][1:])


def _frame(session: SparkSession, path: str, kind: str, number: str, columns: dict[str, str]) -> DataFrame:
    from pyspark.sql import functions as F

    resolved_path = resolved(session, path)
    if kind == "parquet":
        return session.read.parquet(resolved_path)
    text = session.read.text(resolved_path)
    if kind == "trec":
        schema = f"query string, document string, {number} double"
        with known_warnings_ignored():
            return text.mapInArrow(
                partial(parsed, number=number), f"{schema}, subtopic string" if number == "grade" else schema
            )
    text = text.where("trim(value) != ''")
    first = text.limit(1).collect()
    if not first:
        raise InputError(path, "the file is empty")
    line = first[0].value
    if kind == "jsonl":
        return _json_lines(path, text, line)
    delimiters = "\t" if kind == "tsv" else DELIMITERS
    header = header_of(np.frombuffer(line.encode(), np.uint8), delimiters, columns)
    if header is None:
        raise InputError(path, "the first line is no header with the names of at least two columns", line=1)
    reader = session.read.options(
        header=True, sep=header.delimiter, escape='"', columnNameOfCorruptRecord=_LINE
    )
    names = reader.csv(resolved_path).columns
    frame = reader.schema(_strings([*names, _LINE])).csv(resolved_path)
    what = F.lit(f"not as many fields as the header, which has {len(header.names)}")
    return frame.withColumn(WRONG_LINE, _wrong(F.col(_LINE).isNotNull(), what, _LINE)).drop(_LINE)


def _json_lines(path: str, text: DataFrame, first: str) -> DataFrame:
    """The members of the object of each line, as strings, with the names of those in the first line; and the
    columns of partitions.
    """
    from pyspark.sql import functions as F

    names = None
    with suppress(ValueError):
        names = json.loads(first)
    if not isinstance(names, dict):
        hint = "Spark reads JSON Lines, an object on each line"
        raise InputError(path, "the first line is not a JSON object", line=1, hint=hint)
    members = F.from_json("value", _strings([*names, _LINE]), {"columnNameOfCorruptRecord": _LINE})
    is_object = F.json_object_keys("value").isNotNull() & members.getField(_LINE).isNull()
    what = F.when(~is_object, "not a valid JSON object").otherwise("a key is in the object twice")
    has_repeated_key = F.try_parse_json("value").isNull()  # at any depth
    others = [name for name in text.columns if name != "value"]  # of partitions
    wrong = _wrong(~is_object | has_repeated_key, what, "value").alias(WRONG_LINE)
    frame = text.select(members.alias(_LINE), wrong, *others)
    return frame.select(f"{_LINE}.*", WRONG_LINE, *others).drop(_LINE)


def _wrong(is_wrong: Column, what: Column, line: str) -> Column:
    """The column WRONG_LINE. line: the column with the text of the line."""
    from pyspark.sql import functions as F

    return F.when(is_wrong, F.concat(F.lit(NO_ROW), what, F.lit(NO_ROW), F.col(line)))


def _strings(names: list[str]) -> str:
    """A schema of strings, so that numbers stay as they are in the file."""
    return ", ".join(f"{quoted(name)} string" for name in names)


def parsed(batches, number):  # type: ignore[no-untyped-def]  # Spark would look at annotations
    """Batches of lines of TREC as batches of rows; the query of a line that is no row begins with NO_ROW."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = ["query", "document", number, *(["subtopic"] if number == "grade" else [])]
    schema = pa.schema([(name, pa.float64() if name == number else pa.string()) for name in names])
    for batch in batches:
        lines = batch.column(0)
        if not len(lines):
            continue
        listed = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines.cast(pa.string()))
        text = pc.binary_join(listed, "\n")[0].as_buffer()
        block = np.zeros(text.size + 1 + PAD, np.uint8)
        block[: text.size] = np.frombuffer(text, np.uint8)
        block[text.size] = ord("\n")
        read = qrels_columns if number == "grade" else run_columns
        columns = read(Block(block, text.size + 1, False, False))
        subtopic, count = columns.subtopic, len(columns.value)
        if not isinstance(subtopic, Ids):
            subtopic = Ids.of([subtopic or b""]).take(np.zeros(count, np.int64))
        query = np.repeat(np.arange(len(columns.queries)), np.diff(columns.bounds))
        rows = {
            "query": text_column(pa, columns.queries.take(query)),
            "document": text_column(pa, columns.documents),
            number: pa.array(columns.value),
            "subtopic": text_column(pa, subtopic),
        }
        yield from pa.table({name: rows[name] for name in names}).cast(schema).to_batches()
        wrong = [
            {"query": f"{NO_ROW}{problem.what}{NO_ROW}{lines[problem.line or 0].as_py()}"}
            for problem in columns.problems.first
        ]
        if wrong:
            yield pa.RecordBatch.from_pylist(wrong, schema)
