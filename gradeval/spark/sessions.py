"""A Spark session of gradeval's own."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradeval.errors import GradevalError, InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
_EVERY = 0.2  # seconds
# lines of the Java machine on standard error that are no errors; of its log, '26/11/22 03:11:13 WARN Utils: …'
_NO_REASON = re.compile(
    r"WARNING: |Using Spark's|Setting default|To adjust|\tat |\d\d/\d\d/\d\d [\d:]+ (WARN|INFO) |\s*$"
)
# Without an appender, Spark would use its own profile.
_SILENT = """\
status = off
rootLogger.level = off
rootLogger.appenderRef.nowhere.ref = nowhere
appender.nowhere.type = Null
appender.nowhere.name = nowhere
"""


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

    master: the URL of a cluster; by default 'local[*]', and under spark-submit its own. Local
    workers run this Python and this gradeval, and a task is tried again if its worker dies. settings: of Spark,
    (name, value). Raises GradevalError without PySpark or Java.
    """
    check_installed()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return active
    builder = SparkSession.builder.appName("gradeval")
    if master is None and _SUBMITTED not in os.environ:
        master = "local[*]"
    chosen: dict[str, Any] = BATCHES | dict(settings)
    with tempfile.TemporaryDirectory() as folder:  # which is read when the Java machine starts
        if master is not None:
            if master.startswith("local"):
                chosen = _local(Path(folder)) | chosen
                master = "local[1]" if master == "local" else master
                if "," not in master and master.endswith("]"):  # tries a task again, as clusters do
                    master = f"{master[:-1]},{ATTEMPTS}]"
            builder = builder.master(master)
        with known_warnings_ignored(), _stderr_in_file() as file:
            try:
                started = builder.config(map=chosen).getOrCreate()
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
def opened_session(master: str | None, settings: Iterable[tuple[str, str]]) -> Iterator[SparkSession]:
    """A session as session() gives it, which is stopped at the end if it was started here."""
    from pyspark.sql import SparkSession

    before = SparkSession.getActiveSession()
    opened = session(master, settings)
    try:
        yield opened
    finally:
        if opened is not before:
            opened.stop()


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


def _local(folder: Path) -> dict[str, Any]:
    """The settings of a local session: quiet, and with the Python and the gradeval that are running."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # PySpark reads this, and no setting
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    package = str(Path(__file__).resolve().parents[2])
    memory = 0
    with suppress(AttributeError, ValueError, OSError):  # not on every system
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    log = folder / "log4j2.properties"
    log.write_text(_SILENT)
    return {
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),  # of 200, most would be empty
        "spark.driver.memory": f"{max(1024, memory // 4 // (1 << 20))}m",  # the workers have the rest
        "spark.driver.extraJavaOptions": f"-XX:+UseParallelGC -Dlog4j2.configurationFile={log.as_uri()}",
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
        while not is_over.wait(_EVERY):
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
