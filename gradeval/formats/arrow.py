"""Arrow data as columns of ids and numbers: those of any library, data frames, Parquet and Arrow files.

polars, pyarrow, pandas (with pyarrow), DuckDB and others offer `__arrow_c_stream__`, the Arrow PyCapsule
interface: pointers to their buffers, which are read in place through ctypes. Neither pyarrow nor an object for
each row is needed. Files are read a batch of rows at a time with pyarrow.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Bytes, NDArray
from gradeval.arrays.segments import offsets_of
from gradeval.arrays.strings import MASKS, PAD, Ids, ShortIds, padded
from gradeval.errors import GradevalError, InputError, printable, readable
from gradeval.formats import memory
from gradeval.formats.columns import BlockTable, Columns, first_run, only_run
from gradeval.formats.csv import ARGUMENT, Chosen, choose, chosen_of, chosen_table
from gradeval.formats.diagnostics import NOTHING, LineProblems, shown
from gradeval.formats.format import Format, FormatWriter
from gradeval.formats.sources import ARROW_MAGIC, PARQUET_MAGIC, Source
from gradeval.formats.write import Content, utf8_only
from gradeval.options import Options

_DIGITS = 100  # more than a decimal of 256 bits has
_ONE_OF_ROWS = "Give evaluate() the rows without a name, or select the rows of one run"
_Values = Callable[[str], memory.ColumnValues]


class _Schema(ctypes.Structure): ...  # struct ArrowSchema of the Arrow C data interface


class _Array(ctypes.Structure): ...  # struct ArrowArray


class _Stream(ctypes.Structure): ...  # struct ArrowArrayStream of the Arrow C stream interface


_Schema._fields_ = [
    *((name, ctypes.c_char_p) for name in ("format", "name", "metadata")),
    *((name, ctypes.c_int64) for name in ("flags", "n_children")),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [  # whose others are not used
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
]
_NUMBERS = {b"c": "i1", b"C": "u1", b"s": "i2", b"S": "u2", b"i": "i4", b"I": "u4", b"l": "i8", b"L": "u8"}
_NUMBERS |= {b"e": "f2", b"f": "f4", b"g": "f8"}
_OFFSETS = {b"u": "i4", b"z": "i4", b"U": "i8", b"Z": "i8"}  # strings and bytes, with offsets of 32 or 64 bits
_VIEWS = (b"vu", b"vz")
_INLINE = 12  # bytes of a string that fit in its view
_NULL, _BOOLEAN = b"n", b"b"
_TYPES = {_NULL, _BOOLEAN, *_NUMBERS, *_OFFSETS, *_VIEWS}
_DECIMAL = re.compile(rb"d:\d+,(-?\d+)(?:,(\d+))?")  # precision, scale, and bits if not 128


class Chunk(NamedTuple):
    """Some rows of a column, in the buffers of the library that exports them."""

    name: str
    format: bytes  # the type, as the Arrow C data interface writes it
    array: Any
    schema: Any
    offset: int  # of the first row in the buffers
    length: int
    owner: object  # keeps the buffers alive
    validate: Callable[[], object] | None = None  # raises where a string is not UTF-8; None: all are

    @property
    def dictionary(self) -> Chunk | None:
        """The distinct values of a column that is encoded by a dictionary."""
        if not self.schema.dictionary:
            return None
        schema = self.schema.dictionary.contents
        array = self.array.dictionary.contents
        return self._replace(
            format=schema.format, array=array, schema=schema, offset=array.offset, length=array.length
        )

    def missing(self) -> Bools:
        """Which rows are null, (n,)."""
        if self.array.null_count == 0 or self.array.n_buffers == 0 or not self.array.buffers[0]:
            return np.full(self.length, self.format == _NULL)
        return ~self._bits(0)

    def numbers(self) -> NDArray[Any] | None:
        """The values of numbers or booleans, or a dictionary's codes, (n,); None for others. Nulls have any."""
        if self.format == _BOOLEAN:
            return self._bits(1)
        if self.format not in _NUMBERS:
            return None
        return self._buffer(1, _NUMBERS[self.format], self.offset, self.length)

    def texts(self) -> Ids:
        """The values of strings or bytes, (n,); nulls have any. Raises ValueError for a damaged offset."""
        if not self.length:
            return Ids.of([])
        return self._texts_by_offset() if self.format in _OFFSETS else self._texts_of_views()

    def _texts_by_offset(self) -> Ids:
        """Of a layout that has the offset of each string in one buffer."""
        kind = _OFFSETS[self.format]
        offsets = self._buffer(1, kind, self.offset, self.length + 1).astype(np.int64)
        first, end = int(offsets[0]), int(offsets[-1])
        length = np.diff(offsets)
        [size] = self._buffer(1, kind, self.array.offset + self.array.length, 1).tolist()  # of the column
        if first < 0 or (length < 0).any() or end > size:
            raise self._damaged("offsets")
        text = self._buffer(2, "u1", first, end - first)
        self._check_text(text)
        return Ids(padded(text), offsets[:-1] - first, length)

    def _texts_of_views(self) -> Ids:
        """Of a layout with a view for each string: the length, then the string itself if it has up to 12 bytes,
        else its first bytes, the number of a buffer and the offset there.
        """
        views = self._buffer(1, "i4", 4 * self.offset, 4 * self.length).reshape(-1, 4)
        length = views[:, 0].astype(np.int64)
        length[self.missing()] = 0  # a null's view may be anything
        if (length < 0).any():
            raise self._damaged("lengths")
        start = 16 * np.arange(len(length)) + 4
        blocks = [views.reshape(-1).view(np.uint8)]
        long = np.flatnonzero(length > _INLINE)
        if len(long):
            buffer = views[long, 2]
            offset = views[long, 3].astype(np.int64)
            size = len(blocks[0])
            for number in np.unique(buffer).tolist():
                rows, offsets = long[buffer == number], offset[buffer == number]
                low, high = int(offsets.min()), int((offsets + length[rows]).max())
                blocks.append(self._text_buffer(number, low, high))
                start[rows] = offsets - low + size
                size += high - low
        for block in blocks:
            self._check_text(block)
        return Ids(padded(*blocks), start, length)

    def _text_buffer(self, number: int, low: int, high: int) -> Bytes:
        """Bytes low:high of a buffer that views refer to."""
        count = self.array.n_buffers - 3  # of text: others are the validity, the views, and the sizes
        sizes = self._buffer(count + 2, "i8", 0, count)
        if not 0 <= number < count or low < 0 or high > sizes[number]:
            raise self._damaged("offsets")
        return self._buffer(2 + number, "u1", low, high - low)

    def decimals(self, as_numbers: bool = False) -> memory.ColumnValues | None:
        """The values of decimals, as texts or where that is quicker as numbers; None for another type."""
        kind = _DECIMAL.fullmatch(self.format)
        if kind is None:
            return None
        scale = int(kind[1])
        size = int(kind[2] or 128) // 8
        missing = self.missing()
        if as_numbers and 0 <= scale <= 22:  # of up to 53 bits, which one division makes exact
            n = -(-size // 8)
            words = self._buffer(1, f"i{size // n}", n * self.offset, n * self.length).reshape(-1, n)
            low = words[:, 0].astype(np.int64)
            is_small = (np.maximum(low, ~low) < 2**53) & (words[:, 1:] == low[:, None] >> 63).all(1)
            if is_small.all():
                return memory.Numeric(low / 10.0**scale, missing)
        from decimal import Context, Decimal

        exact = Context(prec=_DIGITS)
        stored = self._buffer(1, f"V{size}", self.offset, self.length).tolist()
        integers = (int.from_bytes(word, sys.byteorder, signed=True) for word in stored)
        texts = np.array([f"{Decimal(integer).scaleb(-scale, exact):f}" for integer in integers], object)
        texts[missing] = None
        return memory.Objects(texts.tolist())

    def short_views(self) -> ShortIds | None:
        """The values of a column of views where all have up to 8 bytes, without NUL; else None."""
        views = self._buffer(1, "u4", 4 * self.offset, 4 * self.length).reshape(-1, 4)
        length = views[:, 0].astype(np.int64)
        if length.max(initial=0) > 8:
            return None
        words = MASKS.take(length)
        words &= views[:, 1:3].view("<u8")[:, 0]
        self._check_text(words.view(np.uint8))
        return ShortIds(words) if np.count_nonzero(words.view(np.uint8)) == length.sum() else None

    def _check_text(self, text: Bytes) -> None:
        """Raise where a string is not UTF-8, which ASCII is."""
        if self.validate is not None and text.max(initial=0) > 127:
            self.validate()

    def _damaged(self, part: str) -> ValueError:
        return ValueError(f"column {self.name} is damaged: its {part} point outside its text")

    def _bits(self, number: int) -> Bools:
        first, end = self.offset // 8, -(-(self.offset + self.length) // 8)
        bits = np.unpackbits(self._buffer(number, "u1", first, end - first), bitorder="little")
        skip = self.offset - 8 * first
        return bits[skip : skip + self.length].astype(bool)

    def _buffer(self, number: int, kind: str, first: int, count: int) -> NDArray[Any]:
        """Items first:first + count of a buffer, in place."""
        if not count:
            return np.empty(0, kind)
        size = np.dtype(kind).itemsize
        region: Any = (ctypes.c_char * (count * size)).from_address(self.array.buffers[number] + first * size)
        region.owner = self.owner  # arrays that view it keep its owner alive
        values = np.frombuffer(region, kind)
        values.flags.writeable = False
        return values


class _Owner:
    """Releases a struct of the interface when nothing refers to it any more. needs: what must outlive it."""

    def __init__(self, struct: Any, *needs: object) -> None:
        self.needs = needs

        def release() -> None:
            if struct.release:
                struct.release(ctypes.byref(struct))

        weakref.finalize(self, release).atexit = False


_capsule_pointer: Callable[[Any, bytes], int] = ctypes.PYFUNCTYPE(
    ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
)(("PyCapsule_GetPointer", ctypes.pythonapi))


def batches(data: Any) -> Iterator[list[Chunk]]:
    """The record batches of a table, each as its columns. Raises the library's errors, and ValueError."""
    pyarrow = sys.modules.get("pyarrow")
    tables: Iterable[Any] = [data]
    if pyarrow is not None and isinstance(data, (pyarrow.RecordBatch, pyarrow.RecordBatchReader)):
        parts = [data] if isinstance(data, pyarrow.RecordBatch) else data
        tables = (pyarrow.Table.from_batches([part]) for part in parts)
    for table in tables:
        validate = None
        if pyarrow is not None and isinstance(table, pyarrow.Table):
            # the first and the last offset of its text, as the interface does not export the sizes of buffers
            table.validate()
            validate = cache(partial(table.validate, full=True))  # five times the time of a look for ASCII
        yield from _stream_batches(table, validate)


def _stream_batches(table: Any, validate: Callable[[], object] | None) -> Iterator[list[Chunk]]:
    """The batches that a table exports. validate: as of a Chunk."""
    capsule = table.__arrow_c_stream__()  # which releases the stream at its end
    address = _capsule_pointer(capsule, b"arrow_array_stream")
    stream = ctypes.cast(address, ctypes.POINTER(_Stream)).contents

    def check(code: int) -> None:
        if code:
            message = stream.get_last_error(stream)
            raise ValueError(message.decode("utf-8", "replace") if message else f"error {code}")

    schema = _Schema()
    check(stream.get_schema(stream, schema))
    types = _Owner(schema)
    if schema.format != b"+s":
        raise ValueError("a table with columns is needed")
    while True:
        array = _Array()
        check(stream.get_next(stream, array))
        if not array.release:
            break
        owner = _Owner(array, schema, types)
        chunks = []
        for number in range(schema.n_children):
            field = schema.children[number].contents
            column = array.children[number].contents
            chunk = Chunk(
                name=field.name.decode("utf-8", "replace") if field.name else "",
                format=field.format,
                array=column,
                schema=field,
                offset=column.offset + array.offset,
                length=array.length,
                owner=owner,
                validate=validate,
            )
            chunks.append(chunk)
        yield chunks


class Arrow:
    """A column of record batches. Raises TypeError for a type that is neither text nor number."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = chunks
        self.start = offsets_of([chunk.length for chunk in chunks])
        dictionaries = [chunk.dictionary for chunk in chunks]
        self.distinct = [chunk and memory.Distinct(Arrow([chunk])) for chunk in dictionaries]
        kind = (dictionaries[0] or chunks[0]).format if chunks else _NULL
        if kind not in _TYPES and not _DECIMAL.fullmatch(kind):
            column = f"the type of column {chunks[0].name} ({chunks[0].format.decode()})"
            raise TypeError(f"{column} is neither text nor number. Cast it to one of these")

    def __len__(self) -> int:
        return int(self.start[-1])

    def ids(self, rows: slice, label: str) -> memory.ReadIds:
        parts = [_chunk_ids(*part, label) for part in self._parts(rows)]
        if len(parts) == 1:
            return parts[0]
        return Ids.joined([ids.compact() for ids, _ in parts]), _joined(parts)

    def numbers(self, rows: slice, label: str) -> memory.ReadNumbers:
        parts = [_chunk_numbers(*part, label) for part in self._parts(rows)]
        return np.concatenate([np.empty(0), *(numbers for numbers, _ in parts)]), _joined(parts)

    def _parts(self, rows: slice) -> Iterator[tuple[Chunk, memory.Distinct | None]]:
        first, end, _ = rows.indices(len(self))
        begin = max(int(np.searchsorted(self.start, first, "right")) - 1, 0)
        for number in range(begin, len(self.chunks)):
            start = int(self.start[number])
            chunk = self.chunks[number]
            if start >= end:
                break
            if chunk.length:
                skip, count = max(first - start, 0), min(end - start, chunk.length)
                part = chunk._replace(offset=chunk.offset + skip, length=count - skip)
                yield part, self.distinct[number]


def _values(
    chunk: Chunk, distinct: memory.Distinct | None, as_numbers: bool = False
) -> memory.ColumnValues | None:
    """The values of a chunk, None where they are strings. Raises ValueError for damaged codes."""
    if chunk.format == _NULL:
        return memory.Objects([None] * chunk.length)
    if (decimals := chunk.decimals(as_numbers)) is not None:
        return decimals
    codes, missing = chunk.numbers(), chunk.missing()
    if codes is None or distinct is None:
        return None if codes is None else memory.Numeric(codes, missing)
    if (((codes < 0) | (codes >= distinct.count)) & ~missing).any():
        raise ValueError(f"column {chunk.name} is damaged: its codes point outside its dictionary")
    return memory.Categories(np.where(missing, -1, codes.astype(np.int64)), distinct)


def _chunk_ids(chunk: Chunk, distinct: memory.Distinct | None, label: str) -> memory.ReadIds:
    """The ids of a chunk; rows without one, or with one that has a NUL, are problems."""
    missing = chunk.missing()
    values = _values(chunk, distinct)
    if values is not None:
        return values.ids(slice(None), label)
    is_view = chunk.format in _VIEWS
    if is_view and not missing.any() and (short := chunk.short_views()) is not None:
        return short, NOTHING
    ids = chunk.texts()
    wrong = memory.missing_rows(missing, label)
    if not wrong.total and _may_hold_nul(ids, is_view):
        nuls = offsets_of(ids.block == 0)
        rows = np.flatnonzero(nuls[ids.start + ids.length] > nuls[ids.start])
        wrong = LineProblems.of(rows, lambda i: f"the {label} {shown(ids[int(rows[i])])} contains a NUL byte")
    return ids.light(), wrong


def _may_hold_nul(ids: Ids, is_view: bool) -> bool:
    """False where no id has a NUL. is_view: whether the ids are in views, which have zeros of their own."""
    if ids.block[:-PAD].all():
        return False
    if not is_view:
        return True
    size = 16 * len(ids)
    is_inline = ids.length <= _INLINE
    length = ids.length[is_inline]
    views = ids.block[:size].reshape(-1, 16)[is_inline]
    expected = length.sum() + np.count_nonzero(length)  # which are one byte each
    behind = ids.block[size:-PAD]
    return bool(np.count_nonzero(views) != expected or not behind.all())


def _chunk_numbers(chunk: Chunk, distinct: memory.Distinct | None, label: str) -> memory.ReadNumbers:
    missing = chunk.missing()
    values = _values(chunk, distinct, as_numbers=True)
    if values is not None:
        return values.numbers(slice(None), label)
    texts = zip(chunk.texts().tolist(), missing.tolist(), strict=True)
    objects = [None if is_null else text.decode("utf-8", "surrogateescape") for text, is_null in texts]
    return memory.object_numbers(objects, label)


def _joined(parts: Sequence[tuple[Any, LineProblems]]) -> LineProblems:
    """The problems of parts of a column, as of the whole."""
    starts = offsets_of([len(values) for values, _ in parts]).tolist()
    return LineProblems.joined(wrong.moved(start) for start, (_, wrong) in zip(starts, parts, strict=False))


def frame(data: Any, path: str, number: str, by_role: Mapping[str, str]) -> memory.Data:
    """A data frame, or any other table that offers its columns."""
    if memory.is_lazy(data):
        raise InputError(path, "a LazyFrame has no rows yet", hint="Call .collect() on it")
    if hasattr(data, "columns") and (hasattr(data, "iloc") or not memory.offers_arrow(data)):
        return of_columns([*map(str, data.columns)], lambda name: _series(data[name]), path, number, by_role)
    parts = list(batches(data))
    if not parts:
        return memory.Three(path, [memory.Objects([])] * 3, (memory.QUERY, memory.DOCUMENT, number))
    names = [chunk.name for chunk in parts[0]]

    def values(name: str) -> memory.ColumnValues:
        return Arrow([part[names.index(name)] for part in parts])

    return of_columns(names, values, path, number, by_role)


def of_columns(
    names: Sequence[str],
    values: _Values,
    path: str,
    number: str,
    by_role: Mapping[str, str],
) -> memory.Data:
    """Columns with names, of which a frame or records have these. Raises InputError."""
    if not names:
        raise InputError(path, "the table is empty: it has no columns")
    chosen = choose(names, number, by_role, path, ARGUMENT)
    three = memory.Three(path, [*map(values, chosen.names)], column_labels(chosen))
    if number == "grade":
        return three
    if chosen.rank:
        three.ranks = _ranks(values, chosen.rank)
    run = first_run(three.columns(range(1))) if chosen.run else b""

    def finished(read: Columns) -> Columns:
        return chosen.finished(only_run(read, run, _ONE_OF_ROWS) if chosen.run else read)

    three.finished = finished
    return three


def _ranks(values: _Values, name: str) -> memory.ColumnValues | None:
    """A column of ranks, None where its type is neither text nor number."""
    try:
        return values(name)
    except TypeError:
        return None


def column_labels(chosen: Chosen) -> list[str]:
    labels = zip(chosen.labels, chosen.names, strict=False)
    return [f"{label} (column {name})" for label, name in labels]


def _series(series: Any) -> memory.ColumnValues:
    """A column of pandas, or of any other frame without Arrow."""
    kind: Any = getattr(series, "dtype", None)
    if hasattr(series, "cat"):
        return memory.Categories(series.cat.codes.to_numpy(), memory.Distinct(_series(series.cat.categories)))
    if isinstance(kind, np.dtype):
        return memory.array_values(np.asarray(series))
    if getattr(kind, "storage", "") == "pyarrow" or hasattr(kind, "pyarrow_dtype"):
        has_rows = hasattr(series, "iloc")  # an index of pandas, such as that of categories, has none
        frame = series.to_frame().reset_index(drop=True) if has_rows else series.to_frame(index=False)
        from pyarrow import Table  # which the storage is of

        return Arrow([part[0] for part in batches(Table.from_pandas(frame, preserve_index=False))])
    if getattr(kind, "kind", "") in ("i", "u", "f") and hasattr(kind, "numpy_dtype"):  # of pandas, with a mask
        missing = np.asarray(series.isna(), bool)
        values = np.zeros(len(missing), kind.numpy_dtype)
        values[~missing] = series.array[~missing].to_numpy(kind.numpy_dtype)
        return memory.Numeric(values, missing)
    return memory.Objects(list(series))


def _file_table(kind: str, source: Source, number: str, options: Options) -> BlockTable:
    """A file that pyarrow reads. Raises InputError."""
    with _opened(source, kind) as (names, _):
        chosen = chosen_of(names, number, options, source.name)
    labels = column_labels(chosen)
    wanted = [*dict.fromkeys(filter(None, (*chosen.names, chosen.rank)))]

    def blocks() -> Iterator[_Rows]:
        with _opened(source, kind) as (_, read):
            is_first = True
            for rows, following in pairwise(chain(chain.from_iterable(map(_slices, read(wanted))), [None])):
                yield _Rows(rows, is_first, following is None)
                is_first = False
            if is_first:
                raise InputError(source.name, "no data: the file has no rows")
        source.close_seekable()

    def columns(block: _Rows, chosen: Chosen) -> Columns:
        with readable(source.name):
            [chunks] = batches(block.batch)
            by_name = {chunk.name: chunk for chunk in chunks}
            ranks = _ranks(lambda name: Arrow([by_name[name]]), chosen.rank) if chosen.rank else None
            values = [Arrow([by_name[name]]) for name in chosen.names]
            read = memory.read_values(values, labels, ranks=ranks, unlabelled=chosen.unlabelled)
            return read.replace(first=block.first, last=block.last)

    return chosen_table(source, names, chosen, columns, blocks)


class _Rows(NamedTuple):
    """Some rows of a file."""

    batch: Any  # exports them as Arrow data
    first: bool  # whether no rows are before them
    last: bool  # whether none are behind them


def _slices(batch: Any) -> Iterator[Any]:
    batch.validate(full=True)  # whose offsets are read without another look
    for start in range(0, batch.num_rows, memory.BLOCK_ROWS):  # a file may have a single batch
        yield batch.slice(start, memory.BLOCK_ROWS)


_NamesAndReader = tuple[list[str], Callable[[list[str]], Iterator[Any]]]


@contextmanager
def _opened(source: Source, kind: str) -> Iterator[_NamesAndReader]:
    """The names of a file's columns, and what makes record batches of some of them. Raises InputError."""
    try:
        import pyarrow
    except ImportError:
        hint = "Run: pip install 'gradeval[arrow]'"
        raise InputError(source.name, f"{kind} support (pyarrow) is not installed", hint=hint) from None
    with source.seekable() as stream:
        try:
            start = stream.read(len(ARROW_MAGIC[0]))
            if not start.startswith(PARQUET_MAGIC if kind == "Parquet" else ARROW_MAGIC):
                raise InputError(source.name, f"this is no {kind} file", hint="Omit the format: it is detected")
            stream.seek(0)
            yield _columns_and_reader(_Bounded(stream), start)
        except GradevalError:
            raise
        except Exception as error:  # pyarrow raises Python's own too, as for a name that is not UTF-8
            is_of_pyarrow = isinstance(error, pyarrow.ArrowException)
            if not is_of_pyarrow and (isinstance(error, MemoryError) or getattr(error, "errno", None)):
                raise
            why = printable(str(error).strip().split("\n")[0].rstrip("."))
            message = f"the {kind} file is damaged or incomplete ({why or type(error).__name__})"
            raise InputError(source.name, message, hint="Fetch it again") from None


def _columns_and_reader(file: _Bounded, start: bytes) -> _NamesAndReader:
    """As of _opened(). start: the first bytes of the file."""
    if start.startswith(PARQUET_MAGIC):
        from pyarrow.parquet import ParquetFile

        parquet = ParquetFile(file, pre_buffer=False)
        read = partial(parquet.iter_batches, memory.BLOCK_ROWS)
        groups = range(parquet.num_row_groups)  # singly, since pyarrow keeps those it was asked for
        return parquet.schema_arrow.names, lambda names: (rows for n in groups for rows in read([n], names))
    from pyarrow import ipc

    if start.startswith(ARROW_MAGIC[0]):
        opened = ipc.open_file(file)
        numbers = range(opened.num_record_batches)
        return opened.schema.names, lambda names: (opened.get_batch(n).select(names) for n in numbers)
    stream = ipc.open_stream(file)
    return stream.schema.names, lambda names: (batch.select(names) for batch in stream)


class _Bounded:
    """A file that reserves no memory for bytes that it does not have: a damaged length can be of any size."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.size = os.fstat(file.fileno()).st_size

    def read(self, count: int = -1) -> Any:
        remaining = max(self.size - self.file.tell(), 0)
        return self.file.read(remaining if count < 0 else min(count, remaining))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


# --- the formats


def _detected(text: bytes, options: Options) -> str:
    """By the magic number, which is all that this is asked for."""
    return "parquet" if text.startswith(PARQUET_MAGIC) else "arrow"


def _writer(opened: Callable[[Any, Any, Any], Any]) -> FormatWriter:
    """opened: (pyarrow, sink, schema) -> an object that writes tables, and is closed."""

    def write(batches: Iterator[Columns], sink: Any, content: Content) -> None:
        try:
            import pyarrow
        except ImportError:
            hint = "Run: pip install 'gradeval[arrow]'"
            raise GradevalError(f"Parquet and Arrow support (pyarrow) is not installed. {hint}") from None
        first = next(batches, None)
        if first is None:
            return
        is_integer = content.role == "qrels" and bool((first.value == np.rint(first.value)).all())
        number = pyarrow.int64() if is_integer and np.abs(first.value).max() < 2**53 else pyarrow.float64()
        text = pyarrow.string()
        schema = pyarrow.schema(list(zip(content.names, (text, text, number, text), strict=False)))
        with opened(pyarrow, sink, schema) as file:
            for batch in chain([first], batches):
                ids = batch.queries.take(batch.query), batch.documents
                columns = [text_column(pyarrow, column).cast(text) for column in ids]
                columns.append(pyarrow.array(batch.value).cast(number))
                if isinstance(batch.subtopic, Ids):
                    columns.append(text_column(pyarrow, batch.subtopic).cast(text))
                file.write_table(pyarrow.Table.from_arrays(columns, schema=schema))

    return FormatWriter(write, write, utf8_only, is_compressible=False)


def text_column(pyarrow: Any, ids: Ids) -> Any:
    offsets = offsets_of(ids.length)
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(ids.text())]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), len(ids), buffers)


PARQUET = Format(
    "parquet",
    "it begins with Parquet's magic number",
    partial(_file_table, "Parquet"),
    _detected,
    is_binary=True,
    writer=lambda: _writer(
        lambda pyarrow, sink, schema: import_module("pyarrow.parquet").ParquetWriter(sink, schema)
    ),
)
ARROW = Format(
    "arrow",
    "it begins with Arrow's magic number",
    partial(_file_table, "Arrow"),
    _detected,
    is_binary=True,
    writer=lambda: _writer(lambda pyarrow, sink, schema: pyarrow.ipc.new_file(sink, schema)),
)
