"""A Spark session of gradeval's own, Spark's errors and progress; and the files that Spark reads: Parquet, CSV,
JSON Lines, and TREC's lines, which the workers parse.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval.arrays.strings import padded
from gradeval.errors import GradevalError, InputError, OptionError
from gradeval.evaluation.runs import check_labels
from gradeval.file_formats import labelled, run_names, short_name
from gradeval.formats.arrow import text_column
from gradeval.formats.csv import DELIMITERS, header_of
from gradeval.formats.detect import reject_saved
from gradeval.formats.sources import Block
from gradeval.formats.trec import qrels_columns, run_columns
from gradeval.options import Options
from gradeval.spark.kernel import NO_ROW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NEEDED = (
    "gradeval spark requires PySpark and Java: pip install 'gradeval[spark]', and on Debian "
    "apt install default-jre-headless"
)
ATTEMPTS = 4  # of each task, as on a cluster
# Batches of rows for the workers are larger, and not measured after each row, which takes a third of the time.
BATCHES = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}
_SUBMITTED = "PYSPARK_GATEWAY_PORT"  # is set where spark-submit started this process, and Java for it
# lines of the Java machine on standard error that are no errors; of its log, '26/11/22 03:11:13 WARN Utils: …'
_NO_REASON = re.compile(
    r"WARNING: |Using Spark's|Setting default|To adjust|\tat |\d\d/\d\d/\d\d [\d:]+ (WARN|INFO) |\s*$"
)


def check_installed(*, with_java: bool = True) -> None:
    """Raise GradevalError without PySpark, which itself requires pyarrow and pandas, or Java."""
    missing = [name for name in ("pyspark", "pyarrow", "pandas") if importlib.util.find_spec(name) is None]
    home = os.environ.get("JAVA_HOME")
    if with_java and not shutil.which("java", path=os.path.join(home, "bin") if home else None):
        missing.append("java")
    if missing:
        raise GradevalError(f"{NEEDED} ({', '.join(missing)} not found)")


def session(master: str | None = None, settings: Iterable[tuple[str, str]] = ()) -> SparkSession:
    """A Spark session: the active one if there is one, else a new one, local unless told otherwise.

    master: the URL of a cluster; by default 'local[*]', and under spark-submit its own. Local workers run this
    Python and this gradeval, and a task is tried again if its worker dies. settings: of Spark, (name, value).
    Raises GradevalError without PySpark or Java.
    """
    check_installed()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return active
    if master is None and _SUBMITTED not in os.environ:
        master = "local[*]"
    chosen = BATCHES | ({} if master is None else {"spark.master": master})
    with known_warnings_ignored(), _stderr_in_file() as file:
        if master is not None and master.startswith("local"):
            master = "local[1]" if master == "local" else master
            if "," not in master and master.endswith("]"):  # tries a task again, as clusters do
                master = f"{master[:-1]},{ATTEMPTS}]"
            chosen |= {"spark.master": master, **_local()}
        try:
            builder = SparkSession.builder.appName("gradeval").config(map=chosen | dict(settings))
            started = builder.getOrCreate()
            started.range(0).schema  # noqa: B018  # reads the settings of SQL
            return started
        except Exception as error:
            file.seek(0)
            lines = file.read().decode("utf-8", "replace").splitlines()
            said = [line for line in lines if not _NO_REASON.match(line)]
            why = [*([] if hasattr(error, "java_exception") else said), reasons(error)[-1]][0]
            raise GradevalError(f"Spark cannot be started: {why}") from None


def reads_local_files(settings: Iterable[tuple[str, str]]) -> bool:
    """Whether a path without a scheme is certainly one on this machine: no setting makes it another."""
    variables = ("HADOOP_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME", _SUBMITTED)
    is_set = any(name in os.environ for name in variables)
    return not (is_set or any(name.endswith("fs.defaultFS") for name, _ in settings))


@contextmanager
def known_warnings_ignored() -> Iterator[None]:
    """Ignore PySpark's warnings that the newest pandas, unused here, is not supported, and that a function has
    no annotations, which would repeat the method that is called.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        warnings.filterwarnings("ignore", "Cannot infer the eval type", UserWarning)
        yield


@contextmanager
def _stderr_in_file() -> Iterator[Any]:
    """Redirect standard error to a file, which this yields, for the processes started here too."""
    with tempfile.TemporaryFile() as file:
        stderr = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield file
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


def _local() -> dict[str, Any]:
    """The settings of a local session: quiet, and with the Python and the gradeval that are running."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # PySpark reads this, and no setting
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    package = str(Path(__file__).resolve().parents[2])
    memory = 0
    with suppress(AttributeError, ValueError, OSError):  # not on every system
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),  # of 200, most would be empty
        "spark.driver.memory": f"{max(1024, memory // 4 // (1 << 20))}m",  # the workers have the rest
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
        "spark.log.level": "OFF",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


@contextmanager
def engine_errors(path: str | None = None) -> Iterator[None]:
    """Raise the errors of Spark as a GradevalError of one line. path: of the data that is read, if known."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if path is None:
            raise GradevalError(f"Spark: {': '.join(reasons(error))}") from None
        raise InputError(path, reasons(error)[-1]) from None


def reasons(error: Any) -> list[str]:
    """Why Spark failed: the innermost Java exception, after the one around it, which names a file; of the error
    of a worker, the last line of its traceback.
    """
    from pyspark.errors import PythonException

    def lines(text: str) -> list[str]:
        return [line.strip() for line in text.splitlines() if line.strip()]

    if isinstance(error, PythonException):
        return lines(str(error))[-1:]
    chain = []
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None:
        chain += lines(java.getMessage() or java.toString())[:1]
        java = java.getCause()
    chain = chain or lines(str(error))[:1] or [type(error).__name__]
    return [line for line in chain[-2:-1] if chain[-1] not in line] + chain[-1:]


@contextmanager
def tasks_shown(session: SparkSession, steps: Callable[[int, int], None]) -> Iterator[None]:
    """Call steps(done, total) with the tasks of the running stages, a few times a second."""
    tracker = session.sparkContext.statusTracker()
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.2):
            with suppress(Exception):  # the session may have ended
                stages = [stage for id_ in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(id_))]
                if stages:
                    done = sum(stage.numCompletedTasks for stage in stages)
                    steps(done, sum(stage.numTasks for stage in stages))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


# --- files

WRONG_LINE = "gradeval wrong line"  # a column of files: the error of a line, after NO_ROW
_ENDINGS = {kind: kind for kind in ("parquet", "csv", "tsv", "jsonl")} | {"ndjson": "jsonl", "json": "jsonl"}
_COMPRESSED = re.compile(r"\.(gz|bz2|zst|snappy|lz4|deflate)$")
_PATTERN = re.compile(r"[*?]|\[[^]]*\]|\{[^}]*\}")
_OF_SPARK = ("part", "part-r", "part-m")  # names of the files that Spark and Hadoop write
_LINE = "_corrupt_record"  # Spark's name of the column with a line that is no row
_MEMBERS = "gradeval members"  # of a JSON object
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


class Input(NamedTuple):
    """Qrels or a run as a data frame; the last fields are of one that is sent to the workers."""

    path: str
    frame: DataFrame
    names: Sequence[str]  # of its columns as they were given; none of TREC's lines
    labels: Sequence[str] = ()  # as in SparkJob, as is_negated is
    is_negated: bool = False
    in_place: str = ""  # the column of ranks that is read because there are no scores, '' where there are
    run: str | None = None  # the column with the names of the runs


def named_runs(
    qrels: str, runs: Sequence[str], run_format: str | None, are_local: bool
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
    if are_local:
        _check_path(qrels, "grade")
        for _, path in pairs:
            _check_path(path, "score")
    label, path = pairs[0]
    kind = run_format or _by_ending(path)
    is_trec = kind == "trec" or (kind is None and os.path.isfile(path))
    may_be_table = len(pairs) == 1 and label is None and not is_trec
    return dict(zip(names, (path for _, path in pairs), strict=True)), may_be_table


def _check_path(path: str, number: str) -> None:
    """Raise InputError where this machine has nothing at the path, or a saved result."""
    if _SCHEME.match(path) or "{" in path or "\\" in path:  # which glob reads otherwise
        return
    if not (glob(path) or os.path.lexists(path)):
        raise InputError(path, "No such file or directory")
    if os.path.isfile(path):
        try:
            with open(path, "rb") as file:
                reject_saved(file.read(1 << 12), path, number)
        except OSError as error:
            raise InputError(path, error.strerror or str(error)) from None


def _pattern_name(path: str) -> str | None:
    """The name of a run whose files match a pattern: the fixed part of that of the file or its folder."""
    parts = reversed(path.split("/")) if _PATTERN.search(path) else ()
    names = (_PATTERN.sub("", short_name(part)).strip("-_. ") for part in parts)
    return next((name for name in names if name and name not in _OF_SPARK), None)


def local_files(path: str) -> Iterator[str]:
    """The files of this machine that are read for a path, a folder, a pattern or a file: URI."""
    path = re.sub(r"^file:(//)?(?=/)", "", path)
    pattern = re.sub(r"\{[^{}]*\}", "*", path)  # braces stand for a part of what * stands for
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


def _by_ending(path: str) -> str | None:
    name = _COMPRESSED.sub("", path.rstrip("/").lower())
    return _ENDINGS.get(os.path.splitext(name)[1][1:])


def opened(session: SparkSession, path: str, number: str, options: Options) -> Input:
    """The table of a path, a folder, a pattern or a URI. Its format is that of the options, else that of the
    ending of the path or of a file there, else TREC's. number: 'grade' or 'score'. Raises InputError.
    """
    where = resolved(session, path)
    kind = (options.qrels_format if number == "grade" else options.run_format) or _by_ending(path)
    with engine_errors(path):
        if kind is None:
            kind = next(filter(None, map(_by_ending, session.read.text(where).inputFiles())), "trec")
        if kind == "trec":
            schema = f"query string, document string, {number} double"
            schema += ", subtopic string" if number == "grade" else ""
            with known_warnings_ignored():
                frame = session.read.text(where).mapInArrow(partial(parsed, number=number), schema)
            return Input(path, frame, ())
        if kind == "parquet":
            frame = session.read.parquet(where)
        else:
            frame = _text_table(session, path, where, kind, dict(options.columns))
        return Input(path, frame, [name for name in frame.columns if name != WRONG_LINE])


def _text_table(session: SparkSession, path: str, where: str, kind: str, columns: dict[str, str]) -> DataFrame:
    """The fields of each line as strings, so that numbers stay as they are in the file, and the columns of
    partitions. Those of JSON Lines are the members of the object of the first line.
    """
    from pyspark.sql import functions as F

    text = session.read.text(where).where("trim(value) != ''")
    first = text.limit(1).collect()
    if not first:
        raise InputError(path, "the file is empty")
    line = first[0].value

    def schema(names: Iterable[str]) -> str:
        return ", ".join(f"{quoted(name)} string" for name in (*names, _LINE))

    if kind == "jsonl":
        names = None
        with suppress(ValueError):
            names = json.loads(line)
        if not isinstance(names, dict):
            hint = "Spark reads JSON Lines, an object on each line"
            raise InputError(path, "the first line is not a JSON object", line=1, hint=hint)
        members = F.from_json("value", schema(names), {"columnNameOfCorruptRecord": _LINE})
        frame = text.withColumn(_MEMBERS, members)
        text_of_line = "value"
        is_object = F.json_object_keys("value").isNotNull() & F.col(_MEMBERS).getField(_LINE).isNull()
        is_wrong = ~is_object | F.try_parse_json("value").isNull()  # which rejects a repeated key at any depth
        message = F.when(~is_object, "not a valid JSON object").otherwise("a key is in the object twice")
        fields = f"{_MEMBERS}.*", *(name for name in text.columns if name != "value")
    else:
        delimiters = "\t" if kind == "tsv" else DELIMITERS
        header = header_of(np.frombuffer(line.encode(), np.uint8), delimiters, columns)
        if header is None:
            raise InputError(path, "the first line is no header with the names of at least two columns", line=1)
        reader = session.read.option("header", True).option("sep", header.delimiter)
        reader = reader.option("escape", '"').option("columnNameOfCorruptRecord", _LINE)
        frame = reader.schema(schema(reader.csv(where).columns)).csv(where)
        text_of_line = _LINE
        is_wrong = F.col(_LINE).isNotNull()
        message = F.lit(f"not as many fields as the header, which has {len(header.names)}")
        fields = ("*",)
    error = F.when(is_wrong, F.concat(F.lit(NO_ROW), message, F.lit(NO_ROW), F.col(text_of_line)))
    return frame.select(*fields, error.alias(WRONG_LINE)).drop(_LINE)


def quoted(name: str) -> str:
    """The name of a column in SQL, whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


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
        block = padded(np.frombuffer(text, np.uint8), np.frombuffer(b"\n", np.uint8))
        read = qrels_columns if number == "grade" else run_columns
        columns = read(Block(block, text.size + 1, False, False))
        ids = [columns.queries.take(columns.query), columns.documents]
        if number == "grade":
            ids.append(columns.subtopics)
        rows = [text_column(pa, of_rows) for of_rows in ids]
        rows.insert(2, pa.array(columns.value))
        yield from pa.table(rows, names).cast(schema).to_batches()
        wrong = [
            {"query": f"{NO_ROW}{problem.what}{NO_ROW}{lines[problem.line or 0].as_py()}"}
            for problem in columns.problems.first
        ]
        if wrong:
            yield pa.RecordBatch.from_pylist(wrong, schema)
