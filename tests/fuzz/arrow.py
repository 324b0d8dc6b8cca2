"""Attack: damaged Arrow and Parquet, in files and in memory: refused, or read as pyarrow finds them valid."""

import io
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

import gradeval
from gradeval import GradevalError

from .attack import Wrong
from .call import gradeval as command
from .call import require, same

UNIT = "tables"

QRELS = {f"q{q}": {f"d{d}": d % 4 for d in range(0, 40, 3)} for q in range(6)}
KINDS = ("string", "large_string", "binary", "string_view", "dictionary")
IN_MEMORY = ("string", "large_string", "dictionary")  # whose buffers of offsets or codes can be damaged
MAGIC = 8  # bytes that say what a file is
METRICS = ["num_ret", "AP", "nDCG"]


@dataclass(frozen=True)
class Case:
    """rows: of the run. kind: of the documents' ids. way: how the table is given. packer: how its buffers are
    compressed. damage: what is changed, each a place as a share of all, and a value.
    """

    rows: list[tuple[str, str, float]]
    kind: str
    way: str
    packer: str | None
    damage: list[tuple[float, int]]


def make(rng: random.Random) -> tuple[Case]:
    way = rng.choice(["parquet", "file", "stream", "memory", "memory", "batches"])
    in_memory = way in ("memory", "batches")
    count, repeated = rng.choice([1, 5, 40]), rng.choice([1, 1, 9])
    rows = [(f"q{i // 8}", f"d{i}" * repeated, round(rng.uniform(0, 9), 2)) for i in range(count)]
    packer = rng.choice([None, "lz4" if way != "parquet" else "snappy"])
    values = [0, 1, -1, 3, 127, 1 << 20, -(1 << 30)] if in_memory else [1 << bit for bit in range(8)]
    damage = [(rng.random(), rng.choice(values)) for _ in range(rng.choice([1, 1, 1, 2, 5]))]
    return (Case(rows, rng.choice(IN_MEMORY if in_memory else KINDS), way, packer, damage),)


def check(case: Case) -> int:
    if case.way in ("memory", "batches"):
        _check_memory(case)
    else:
        _check_file(case)
    return 1


def _table(case: Case) -> Any:
    queries, documents, scores = zip(*case.rows, strict=True)
    column = pa.array(documents)
    column = column.dictionary_encode() if case.kind == "dictionary" else column.cast(getattr(pa, case.kind)())
    return pa.table({"qid": queries, "docno": column, "score": scores})


def _check_file(case: Case) -> None:
    sink, table = io.BytesIO(), _table(case)
    if case.way == "parquet":
        parquet.write_table(table, sink, compression=case.packer or "none")
    else:
        begin = ipc.new_file if case.way == "file" else ipc.new_stream
        with begin(sink, table.schema, options=ipc.IpcWriteOptions(compression=case.packer)) as out:
            out.write_table(table)
    text = bytearray(sink.getvalue())
    for share, bit in case.damage:
        text[MAGIC + int(share * (len(text) - MAGIC))] ^= bit
    Path("q").write_text("".join(f"{q} 0 {d} {grade}\n" for q, of in QRELS.items() for d, grade in of.items()))
    Path("r").write_bytes(text)
    kind = "parquet" if case.way == "parquet" else "arrow"
    args = ["q", "r", "-m", " ".join(METRICS), "--run-format", kind, "--digits", "full", "-j1"]
    done = command(*args)
    for line in done.lines if done.code else ():
        require(line.startswith(("r:", "warning: ")), "an error does not name its file", args, done)
    rows = _sound_rows(case, bytes(text), table.schema)
    if rows is None:
        require(done.code == 2, "a damaged file is read", args, done)
    elif rows:
        expected = _means(rows)
        require((expected is None) == (done.code == 2), "it is not read as its rows are", args, done)
        found = [float(line.split("\t")[3]) for line in done.out.splitlines()[1:]]
        require(all(map(same, found, expected or ())), f"it should be {expected}", args, done)


def _sound_rows(case: Case, text: bytes, schema: Any) -> list[Any] | None:
    """The rows of a file that pyarrow finds valid, none where its columns are others; None of a damaged one."""
    try:
        if case.way == "parquet":
            table = parquet.ParquetFile(io.BytesIO(text)).read(schema.names)
        else:
            opened = (ipc.open_file if case.way == "file" else ipc.open_stream)(io.BytesIO(text))
            table = opened.read_all().select(schema.names)
        table.validate(full=True)
        rows = [*zip(*(column.to_pylist() for column in table.columns), strict=True)]
        return rows if table.schema == schema else []
    except KeyError:  # of a column
        return []
    except Exception:  # of whatever kind
        return None


def _means(run: Any) -> list[float] | None:
    """The means of a run, None where it is refused, on lines of their own."""
    try:
        return gradeval.evaluate(QRELS, run, METRICS, jobs=1).means[0].tolist()  # type: ignore[no-any-return]
    except GradevalError as error:
        if not all(line.startswith(("run1", "...")) for line in str(error).splitlines()):
            raise Wrong(f"an error does not name its table\n{error}") from None
        return None


def _check_memory(case: Case) -> None:
    table = _table(case)
    column = table["docno"].combine_chunks()
    column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    of_codes = case.kind == "dictionary"
    kind = np.int64 if case.kind == "large_string" else np.int32
    buffers = (column.indices if of_codes else column).buffers()
    numbers = np.frombuffer(buffers[1], kind)[: len(column) + (not of_codes)].copy()
    owned = [None, pa.py_buffer(numbers), *buffers[2:]]
    if of_codes:
        codes = pa.Array.from_buffers(pa.int32(), len(column), owned)
        column = pa.DictionaryArray.from_arrays(codes, column.dictionary, safe=False)
    else:
        column = pa.Array.from_buffers(column.type, len(column), owned)
    table = table.set_column(1, "docno", column)
    for share, value in case.damage:
        numbers[int(share * len(numbers))] ^= value  # behind pyarrow's back
    try:
        table.validate(full=True)
        rows = [*zip(*(one.to_pylist() for one in table.columns), strict=True)]
        expected = _means(rows)
    except pa.ArrowException:
        expected = None
    found = _means(table if case.way == "memory" else table.to_reader())
    if (found is None) != (expected is None) or (found and not all(map(same, found, expected or ()))):
        raise Wrong(f"{found} where it should be {expected}\n{case.kind}: {numbers.tolist()}")
