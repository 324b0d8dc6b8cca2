"""Arrow data in memory, from any library that exports it: record batches as columns of ids and numbers.

polars, pyarrow, pandas (with pyarrow), DuckDB and others offer `__arrow_c_stream__`, the Arrow PyCapsule
interface: pointers to their buffers, which are read in place through ctypes. Neither pyarrow nor an object for
each row is needed.
"""

from __future__ import annotations

import ctypes
import re
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Bools
from gradeval.arrays.strings import PAD, Ids


class _Schema(ctypes.Structure):
    """struct ArrowSchema of the Arrow C data interface."""


class _Array(ctypes.Structure):
    """struct ArrowArray of the Arrow C data interface."""


class _Stream(ctypes.Structure):
    """struct ArrowArrayStream of the Arrow C stream interface."""


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))),
    ("private_data", ctypes.c_void_p),
]

_NUMBERS = {b"c": "i1", b"C": "u1", b"s": "i2", b"S": "u2", b"i": "i4", b"I": "u4", b"l": "i8", b"L": "u8"}
_NUMBERS |= {b"e": "f2", b"f": "f4", b"g": "f8"}
_OFFSETS = {b"u": "i4", b"z": "i4", b"U": "i8", b"Z": "i8"}  # strings and bytes, with offsets of 32 or 64 bits
_VIEWS = (b"vu", b"vz")
_INLINE = 12  # bytes of a string that fit in its view
_NULL, _BOOLEAN = b"n", b"b"
_DECIMAL = re.compile(rb"d:\d+,(-?\d+)(?:,(\d+))?")  # precision, scale, and bits if not 128


class Chunk(NamedTuple):
    """Some rows of a column, in the buffers of the library that exports them.

    name: of the column. format: its type, as the Arrow C data interface writes it. offset, length: its rows, as
    places in the buffers. owner: keeps these alive.
    """

    name: str
    format: bytes
    array: Any
    schema: Any
    offset: int
    length: int
    owner: object

    def rows(self, first: int, last: int) -> Chunk:
        """Rows first:last of it."""
        return self._replace(offset=self.offset + first, length=last - first)

    @property
    def dictionary(self) -> Chunk | None:
        """The distinct values of a column that is encoded by a dictionary."""
        if not self.schema.dictionary:
            return None
        schema, array = self.schema.dictionary.contents, self.array.dictionary.contents
        return Chunk(self.name, schema.format, array, schema, array.offset, array.length, self.owner)

    @property
    def is_null(self) -> bool:
        """Whether its type has no values but null."""
        return self.format == _NULL

    def missing(self) -> Bools | None:
        """Which rows are null, (n,); None where none is."""
        if self.is_null:
            return np.ones(self.length, bool)
        if self.array.null_count == 0 or self.array.n_buffers == 0 or not self.array.buffers[0]:
            return None
        return ~self._bits(0)

    def numbers(self) -> NDArray[Any] | None:
        """The values of a numeric or boolean column, or the codes of a dictionary, (n,); None for another type.

        Rows that are null have any value.
        """
        if self.format == _BOOLEAN:
            return self._bits(1)
        if self.format not in _NUMBERS:
            return None
        return self._buffer(1, _NUMBERS[self.format], self.offset, self.length)

    def texts(self) -> Ids | None:
        """The values of a column of strings or bytes, (n,); None for another type. Nulls have any value.

        Raises ValueError where an offset is damaged, which would read other memory.
        """
        if not self.length and (self.format in _OFFSETS or self.format in _VIEWS):
            return Ids.of([])
        if self.format in _OFFSETS:
            offsets = self._buffer(1, _OFFSETS[self.format], self.offset, self.length + 1).astype(np.int64)
            first, end, length = int(offsets[0]), int(offsets[-1]), np.diff(offsets)
            if first < 0 or (length < 0).any():
                raise self._damaged("offsets")
            block = np.concatenate([self._buffer(2, "u1", first, end - first), np.zeros(PAD, np.uint8)])
            return Ids(block, offsets[:-1] - first, length)
        return self._views() if self.format in _VIEWS else None

    def decimals(self) -> tuple[NDArray[Any], int] | None:
        """The values of a column of decimals as integers, times 10^-scale, and the scale; None for others.

        The integers are of 64 bits where all fit, else Python's. Rows that are null have any value.
        """
        kind = _DECIMAL.fullmatch(self.format)
        if kind is None:
            return None
        count = int(kind[2] or 128) // 32
        words = self._buffer(1, "u4", count * self.offset, count * self.length).reshape(-1, count)
        missing = self.missing()
        if missing is not None:
            words = np.where(missing[:, None], np.uint32(0), words)
        low = words[:, :2].astype(np.uint64) << np.array([0, 32][:count], np.uint64)
        value = (
            low.sum(1, dtype=np.uint64).view(np.int64) if count > 1 else words.view(np.int32)[:, 0].astype("i8")
        )
        sign = np.where(value < 0, np.uint32(2**32 - 1), np.uint32(0))
        if (words[:, 2:] == sign[:, None]).all():
            return value, int(kind[1])
        large = [int.from_bytes(row.tobytes(), sys.byteorder, signed=True) for row in words]
        return np.array(large, object), int(kind[1])

    def may_hold_nul(self, texts: Ids) -> bool:
        """Whether one of its texts() may have a NUL byte; false where none has, as nearly always."""
        if self.format not in _VIEWS:
            return bool((texts.block[:-PAD] == 0).any())
        size = 16 * len(texts)  # of the views: the length, then the string up to zeros, or a place
        length, views = texts.length, texts.block[:size]
        is_inline = length <= _INLINE
        if not is_inline.all():
            length, views = length[is_inline], views.reshape(-1, 16)[is_inline]
        expected = length.sum() + np.count_nonzero(length)  # which are one byte each
        return np.count_nonzero(views != 0) != expected or bool((texts.block[size:-PAD] == 0).any())

    def _views(self) -> Ids:
        """A string of up to 12 bytes is in its view, behind the length; of others the view has the place."""
        views = self._buffer(1, "i4", 4 * self.offset, 4 * self.length).reshape(-1, 4)
        length = views[:, 0].astype(np.int64)
        missing = self.missing()
        if missing is not None:  # a null's view may be anything
            length[missing] = 0
        if (length < 0).any():
            raise self._damaged("lengths")
        start = 16 * np.arange(len(length)) + 4
        blocks = [views.reshape(-1).view(np.uint8)]
        long = np.flatnonzero(length > _INLINE)
        if len(long):
            buffer, place = views[long, 2], views[long, 3].astype(np.int64)
            size = len(blocks[0])
            count = self.array.n_buffers - 3  # of text: others are the validity, the views, and the sizes
            sizes = self._buffer(count + 2, "i8", 0, count)
            for number in np.unique(buffer).tolist():
                rows, places = long[buffer == number], place[buffer == number]
                low, high = int(places.min()), int((places + length[rows]).max())
                if not 0 <= number < count or low < 0 or high > sizes[number]:
                    raise self._damaged("offsets")
                blocks.append(self._buffer(2 + number, "u1", low, high - low))
                start[rows] = places - low + size
                size += high - low
        return Ids(np.concatenate([*blocks, np.zeros(PAD, np.uint8)]), start, length)

    def _damaged(self, what: str) -> ValueError:
        return ValueError(f"column {self.name} is damaged: its {what} point outside its text")

    def _bits(self, number: int) -> Bools:
        """The rows of a buffer of bits."""
        first, end = self.offset // 8, -(-(self.offset + self.length) // 8)
        bits = np.unpackbits(self._buffer(number, "u1", first, end - first), bitorder="little")
        skip = self.offset - 8 * first
        return bits[skip : skip + self.length].astype(bool)

    def _buffer(self, number: int, kind: str, first: int, count: int) -> NDArray[Any]:
        """Items first:first + count of a buffer, in place."""
        if not count:
            return np.empty(0, kind)
        size = np.dtype(kind).itemsize
        return np.asarray(_Memory(self.array.buffers[number] + first * size, kind, count, self.owner))


class _Memory:
    """Memory of another library as numpy takes it; arrays that view it keep its owner alive."""

    def __init__(self, address: int, kind: str, count: int, owner: object) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (address, True),
            "typestr": np.dtype(kind).str,
            "shape": (count,),
            "version": 3,
        }


class _Owner:
    """Releases a struct of the interface when nothing refers to it any more. needs: what must outlive it."""

    def __init__(self, struct: Any, *needs: object) -> None:
        self.needs = needs
        weakref.finalize(self, _release, struct).atexit = False


def _release(struct: Any) -> None:
    if struct.release:
        struct.release(ctypes.byref(struct))


def offers_arrow(data: Any) -> bool:
    """Whether batches() can read it."""
    return hasattr(type(data), "__arrow_c_stream__")


def batches(data: Any) -> Iterator[list[Chunk]]:
    """The record batches of a table, each as its columns.

    Raises what the library raises, and ValueError where it reports an error or the data have no columns.
    """
    for table in _checked(data):
        yield from _exported(table)


def _checked(data: Any) -> Iterator[Any]:
    """The data, and those of pyarrow checked: the interface does not export the sizes of buffers."""
    pyarrow = sys.modules.get("pyarrow")
    tables: Iterable[Any] = [data]
    if pyarrow is not None and isinstance(data, (pyarrow.RecordBatch, pyarrow.RecordBatchReader)):
        batches_of = [data] if isinstance(data, pyarrow.RecordBatch) else data
        tables = (pyarrow.Table.from_batches([batch]) for batch in batches_of)
    for table in tables:
        if pyarrow is not None and isinstance(table, pyarrow.Table):
            table.validate()
        yield table


def _exported(data: Any) -> Iterator[list[Chunk]]:
    capsule = data.__arrow_c_stream__()  # which releases the stream at its end
    stream = ctypes.cast(_capsule_pointer(capsule, b"arrow_array_stream"), ctypes.POINTER(_Stream)).contents
    schema = _Schema()
    _check(stream, stream.get_schema(stream, schema))
    types = _Owner(schema)
    if schema.format != b"+s":
        raise ValueError("a table with columns is needed")
    while True:
        array = _Array()
        _check(stream, stream.get_next(stream, array))
        if not array.release:
            return
        owner = _Owner(array, schema, types)
        yield [
            _chunk(schema.children[i].contents, array.children[i].contents, array, owner)
            for i in range(schema.n_children)
        ]


def _chunk(schema: Any, array: Any, parent: Any, owner: _Owner) -> Chunk:
    name = schema.name.decode("utf-8", "replace") if schema.name else ""
    return Chunk(name, schema.format, array, schema, array.offset + parent.offset, parent.length, owner)


def _check(stream: Any, code: int) -> None:
    if code:
        message = stream.get_last_error(stream)
        raise ValueError(message.decode("utf-8", "replace") if message else f"error {code}")


_capsule_pointer: Callable[[Any, bytes], int] = ctypes.PYFUNCTYPE(
    ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
)(("PyCapsule_GetPointer", ctypes.pythonapi))
