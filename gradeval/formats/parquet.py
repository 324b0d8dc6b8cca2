"""Parquet files with columns named as those of CSV, read a batch of rows at a time with pyarrow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from gradeval.errors import GradevalError, InputError, printable
from gradeval.formats.arrow import batches
from gradeval.formats.arrow_columns import Arrow
from gradeval.formats.columns import Columns, FileBlocks, Table
from gradeval.formats.names import Chosen, choose
from gradeval.formats.python import BLOCK_ROWS, column_labels, read_values, readable
from gradeval.formats.sources import Source
from gradeval.options import Options


class Batch(NamedTuple):
    """Some rows, as an object that exports them as Arrow data. is_first, is_last: as in Columns."""

    rows: Any
    is_first: bool
    is_last: bool


MAGIC = (b"PAR1",)
Opened = tuple[list[str], Callable[[list[str]], Iterator[Any]]]
"""The names of a file's columns, and what makes record batches of some of them."""


def check_beginning(stream: Any, magic: tuple[bytes, ...], kind: str) -> None:
    """Raises OtherFormat where the file is given as another than it is."""
    beginning = stream.read(max(map(len, magic)))
    stream.seek(0)
    if not beginning.startswith(magic):
        raise OtherFormat(f"this is no {kind} file")


class OtherFormat(Exception):
    """A file does not begin as its format does."""


def table(source: Source, number: str, options: Options) -> Table:
    return arrow_table(source, number, options, _open, "Parquet")


def _open(arrow: Any, stream: Any) -> Opened:
    import pyarrow.parquet

    check_beginning(stream, MAGIC, "Parquet")

    file = pyarrow.parquet.ParquetFile(stream, pre_buffer=False)

    def batches_of(names: list[str]) -> Iterator[Any]:
        for group in range(
            file.num_row_groups
        ):  # one after the other, since pyarrow keeps those it was asked for
            yield from file.iter_batches(BLOCK_ROWS, row_groups=[group], columns=names)

    return file.schema_arrow.names, batches_of


def arrow_table(
    source: Source, number: str, options: Options, opened: Callable[[Any, Any], Opened], kind: str
) -> Table:
    """A file that pyarrow reads. opened: (pyarrow, stream) -> Opened. Raises InputError."""
    file = _File(source, opened, kind)
    with file.open() as (names, _):
        chosen = choose(names, number, dict(options.columns), source.name)
    file.names = [*dict.fromkeys(chosen[:3])]

    def columns(batch: Batch) -> Columns:
        with readable(source.name):
            return _columns(batch, chosen, number)

    return Table(file, columns, tuple(names))


class _File(FileBlocks):
    """names: of the columns that are read."""

    def __init__(self, source: Source, opened: Callable[[Any, Any], Opened], kind: str) -> None:
        super().__init__(source)
        self.opened, self.kind = opened, kind
        self.names: list[str] = []

    @contextmanager
    def open(self) -> Iterator[Opened]:
        """Raises InputError, also for what the block does with it."""
        try:
            import pyarrow
        except ImportError:
            hint = "Run: pip install 'gradeval[arrow]'"
            raise InputError(self.name, f"{self.kind} support (pyarrow) is not installed", hint=hint) from None
        with self.source.seekable() as stream:
            try:
                yield self.opened(pyarrow, _Bounded(stream))
            except OtherFormat as error:
                raise InputError(self.name, str(error), hint="Omit the format: it is detected") from None
            except GradevalError:
                raise
            except Exception as error:  # pyarrow raises Python's own too, as for a name that is not UTF-8
                is_of_pyarrow = isinstance(error, pyarrow.ArrowException)
                if not is_of_pyarrow and (isinstance(error, MemoryError) or getattr(error, "errno", None)):
                    raise
                why = printable(str(error).strip().split("\n")[0].rstrip("."))
                what = f"the {self.kind} file is damaged or incomplete ({why or type(error).__name__})"
                raise InputError(self.name, what, hint="Fetch it again") from None

    def blocks(self) -> Iterator[Batch]:
        with self.open() as (_, read):
            before = None
            is_first = True
            for batch in read(self.names):
                batch.validate(full=True)  # whose offsets are read without another look
                for first in range(0, batch.num_rows, BLOCK_ROWS):  # a file may have a single batch
                    if before is not None:
                        yield Batch(before, is_first, False)
                        is_first = False
                    before = batch.slice(first, BLOCK_ROWS)
            if before is None:
                raise InputError(self.name, "no data: the file has no rows")
            yield Batch(before, is_first, True)


class _Bounded:
    """A file that reserves no memory for bytes that it does not have: a damaged length can be of any size."""

    def __init__(self, file: Any) -> None:
        self.file, self.size = file, os.fstat(file.fileno()).st_size

    def read(self, count: int = -1) -> Any:
        left = max(self.size - self.file.tell(), 0)
        return self.file.read(left if count < 0 else min(count, left))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def _columns(batch: Batch, chosen: Chosen, number: str) -> Columns:
    [chunks] = batches(batch.rows)
    by_name = {chunk.name: chunk for chunk in chunks}
    values = [Arrow([by_name[name]]) for name in chosen[:3]]
    labels = column_labels(chosen, number)
    columns = read_values(values, labels, slice(0, batch.rows.num_rows), batch.is_first, batch.is_last)
    columns = columns._replace(value=-columns.value) if chosen.by_rank else columns
    return columns.light() if number == "grade" else columns
