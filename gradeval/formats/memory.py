"""A column of a table in memory, of any type: its values as ids or as numbers.

Only columns that mix types are read value by value: strings are joined and encoded at once, integers formatted
by array arithmetic, Arrow buffers taken as they are, and of categories each distinct value is read once.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.numbers import integer_ids
from gradeval.arrays.strings import PAD, Ids
from gradeval.errors import described
from gradeval.formats.diagnostics import shown
from gradeval.formats.scan import NUMBER

_NO_ROWS: Ints = np.empty(0, np.int64)
_NUMBERS = {int, float, bool, np.float64, np.float32, np.int64, np.int32}
_SEPARATOR = "\0"  # no id has one, as in files


class Wrong(NamedTuple):
    """The rows whose value cannot be read, ascending; what(i) says why, of the i-th of them."""

    rows: Ints
    what: Callable[[int], str]


NOTHING = Wrong(_NO_ROWS, str)


class Values(Protocol):
    """A column. what: what messages call a value, such as 'document id'; a wrong row has any value."""

    def __len__(self) -> int: ...

    def ids(self, rows: slice, what: str) -> tuple[Ids, Wrong]: ...

    def numbers(self, rows: slice, what: str) -> tuple[Floats, Wrong]: ...


class Objects:
    """Python objects of any type."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def ids(self, rows: slice, what: str) -> tuple[Ids, Wrong]:
        return object_ids(self.values[rows], what)

    def numbers(self, rows: slice, what: str) -> tuple[Floats, Wrong]:
        return object_numbers(self.values[rows], what)


class Numeric:
    """A numpy array of numbers. is_missing: rows without a value, where these differ from NaN."""

    def __init__(self, values: NDArray[Any], is_missing: Bools | None = None) -> None:
        self.values, self.is_missing = values, is_missing

    def __len__(self) -> int:
        return len(self.values)

    def ids(self, rows: slice, what: str) -> tuple[Ids, Wrong]:
        values, missing = self.values[rows], self._missing(rows, what)
        if values.dtype.kind in "iu":
            return integer_ids(values), missing
        ids, wrong = object_ids(values.tolist(), what)
        return ids, missing if len(missing.rows) else wrong

    def numbers(self, rows: slice, what: str) -> tuple[Floats, Wrong]:
        with np.errstate(over="ignore"):
            values = self.values[rows].astype(np.float64)
        return values, _not_finite(values, what, None if self.is_missing is None else self.is_missing[rows])

    def _missing(self, rows: slice, what: str) -> Wrong:
        return missing_rows(None if self.is_missing is None else self.is_missing[rows], what)


class Distinct:
    """The distinct values of a column, each read once."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.found: dict[str, Any] = {}

    def ids(self, what: str) -> tuple[Ids, Wrong]:
        if "ids" not in self.found:
            ids, wrong = self.values.ids(slice(None), what)
            self.found["ids"] = ids if len(ids) else Ids.of([b""]), wrong
        found: tuple[Ids, Wrong] = self.found["ids"]
        return found

    def numbers(self, what: str) -> tuple[Floats, Wrong]:
        """With NaN behind the last."""
        if "numbers" not in self.found:
            numbers, wrong = self.values.numbers(slice(None), what)
            self.found["numbers"] = np.append(numbers, np.nan), wrong
        found: tuple[Floats, Wrong] = self.found["numbers"]
        return found


class Categories:
    """Values that are each one of a few. code: which of the distinct values each row has, below 0 for none."""

    def __init__(self, code: NDArray[Any], distinct: Distinct) -> None:
        self.code, self.distinct = code, distinct

    def __len__(self) -> int:
        return len(self.code)

    def ids(self, rows: slice, what: str) -> tuple[Ids, Wrong]:
        code = self.code[rows].astype(np.int64)
        ids, wrong = self.distinct.ids(what)
        return ids.take(np.maximum(code, 0)), _of_codes(code, wrong, what)

    def numbers(self, rows: slice, what: str) -> tuple[Floats, Wrong]:
        code = self.code[rows].astype(np.int64)
        numbers, wrong = self.distinct.numbers(what)
        return numbers[np.where(code < 0, -1, code)], _of_codes(code, wrong, what)


def missing_rows(is_missing: Bools | None, what: str) -> Wrong:
    if is_missing is None or not is_missing.any():
        return NOTHING
    return Wrong(np.flatnonzero(is_missing), lambda i: f"the {what} is missing")


def _of_codes(code: Ints, wrong: Wrong, what: str) -> Wrong:
    """What is wrong with rows that have no value, or a wrong one."""
    if not len(wrong.rows):
        return missing_rows(code < 0, what)
    rows = np.flatnonzero((code < 0) | np.isin(code, wrong.rows))

    def why(i: int) -> str:
        value = code[rows[i]]
        return f"the {what} is missing" if value < 0 else wrong.what(int(np.searchsorted(wrong.rows, value)))

    return Wrong(rows, why)


def _not_finite(values: Floats, what: str, is_missing: Bools | None = None) -> Wrong:
    """The rows whose value is missing or no finite number."""
    is_wrong = ~np.isfinite(values)
    rows = np.flatnonzero(is_wrong if is_missing is None else is_wrong | is_missing)

    def why(i: int) -> str:
        if is_missing is not None and is_missing[rows[i]]:
            return f"the {what} is missing"
        return f"the {what} {values[rows[i]]} is not a finite number"

    return Wrong(rows, why)


def object_ids(values: Sequence[Any], what: str) -> tuple[Ids, Wrong]:
    """Ids of objects: strings, bytes, and the str() of any other that is no container."""
    ids = _strings(values)
    if ids is None:
        kinds = set(map(type, values))
        if kinds == {bytes}:
            ids = _separated(_SEPARATOR.encode().join(values), len(values))
        elif kinds == {int}:
            ids = _integers(values)
    return (ids, NOTHING) if ids is not None else _one_by_one(values, what)


def _strings(values: Sequence[Any]) -> Ids | None:
    """Ids of strings, None where one is none or cannot be encoded."""
    try:
        text = _SEPARATOR.join(values).encode("utf-8", "surrogateescape")
    except (TypeError, UnicodeEncodeError):
        return None
    return _separated(text, len(values))


def _separated(text: bytes, count: int) -> Ids | None:
    """So many ids with separators between, None where one holds a separator itself."""
    if not count:
        return Ids.of([])
    block = np.frombuffer(text + bytes(PAD), np.uint8)
    ends = np.append(np.flatnonzero(block[: len(text)] == 0), len(text))
    if len(ends) != count:
        return None
    start = np.append(0, ends[:-1] + 1)
    return Ids(block, start, ends - start)


def _integers(values: Sequence[int]) -> Ids | None:
    try:
        return integer_ids(np.array(values, np.int64))
    except OverflowError:
        return None


def _one_by_one(values: Sequence[Any], what: str) -> tuple[Ids, Wrong]:
    ids: list[bytes] = []
    why: dict[int, str] = {}
    for row, value in enumerate(values):
        try:
            ids.append(_id(value))
        except Exception as error:  # objects can fail wherever looked at
            ids.append(b"")
            why[row] = f"the {what} {_reason(error)}"
    return Ids.of(ids), _wrong(why)


def _id(value: Any) -> bytes:
    if is_missing(value):
        raise ValueError("is missing")
    is_container = isinstance(value, Sized) and not isinstance(value, (str, bytes))
    if is_container or isinstance(value, (bool, np.bool_)):
        raise ValueError(f"cannot be {described(value)}")
    try:
        text = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ValueError(f"{described(value)} cannot be encoded ({error.reason})") from None
    if b"\0" in text:
        raise ValueError(f"{shown(text)} contains a NUL byte")
    return text


def is_missing(value: Any) -> bool:
    """Whether it is None, NaN, NaT, masked, or pandas' NA, which has no truth value."""
    if _is_masked(value):
        return True
    if isinstance(value, Sized):  # an array or a series, which has none either
        return False
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _is_masked(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value is np.ma.masked


def types_of(values: Iterable[Any]) -> set[type]:
    """The types of the values. Mostly there is one, and counting it takes half the time of a set."""
    types = list(map(type, values))
    return {types[0]} if types and types.count(types[0]) == len(types) else set(types)


def floats_of(numbers: Sequence[float]) -> Floats:
    """Numbers of Python or numpy as an array. Raises OverflowError for an integer beyond the floats."""
    try:  # half the time of np.fromiter
        block = struct.pack(f"{len(numbers)}d", *numbers)
    except struct.error:
        raise OverflowError("an integer is too large for a floating-point number") from None
    return np.frombuffer(bytearray(block), np.float64)


def object_numbers(values: Sequence[Any], what: str) -> tuple[Floats, Wrong]:
    """Numbers of objects: what float() makes of them."""
    if types_of(values) <= _NUMBERS:
        try:
            numbers = floats_of(values)
        except OverflowError:
            pass
        else:
            return numbers, _not_finite(numbers, what)
    numbers = np.zeros(len(values))
    why: dict[int, str] = {}
    for row, value in enumerate(values):
        try:
            number = _number(value)
        except Exception as error:  # objects can fail wherever looked at
            why[row] = f"the {what} {_reason(error)}"
        else:
            numbers[row] = number
            if not np.isfinite(number):
                why[row] = f"the {what} {number} is not a finite number"
    return numbers, _wrong(why)


def _number(value: Any) -> float:
    if isinstance(value, (complex, np.complexfloating)):
        raise TypeError(f"{described(value)} is a complex number")
    if isinstance(value, (str, bytes)) and not NUMBER.fullmatch(_encoded(value)):
        raise ValueError(f"{described(value)} is not a number")
    try:
        if isinstance(value, (np.datetime64, np.timedelta64)) or _is_masked(value):
            raise TypeError  # though float() takes times of some units, and makes NaN of what is masked
        return float(value)
    except OverflowError:
        raise ValueError("is too large for a floating-point number") from None
    except (TypeError, ValueError):
        missing = not isinstance(value, (str, bytes)) and is_missing(value)
        raise ValueError("is missing" if missing else f"{described(value)} is not a number") from None


def _encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def _reason(error: Exception) -> str:
    """Why a value cannot be read; the error may be of the object itself."""
    try:
        return " ".join(str(error).split()) or type(error).__name__
    except Exception:
        return type(error).__name__


def _wrong(why: dict[int, str]) -> Wrong:
    texts = list(why.values())
    return Wrong(np.array([*why], np.int64), texts.__getitem__)
