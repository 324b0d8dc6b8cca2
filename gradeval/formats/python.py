"""Dicts, tuples and data frames as blocks of columns, read like files: a row is a line."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple

import numpy as np

from gradeval.arrays import Ints
from gradeval.errors import GradevalError, InputError, described, named, printable
from gradeval.formats.arrow import batches, offers_arrow
from gradeval.formats.arrow_columns import Arrow
from gradeval.formats.columns import Columns, grouped
from gradeval.formats.diagnostics import LineProblems, shown
from gradeval.formats.memory import (
    Categories,
    Distinct,
    Numeric,
    Objects,
    Values,
    Wrong,
    object_ids,
    object_numbers,
)
from gradeval.formats.names import ARGUMENT, Chosen, choose
from gradeval.notices import many

BLOCK_ROWS = 1 << 16  # so many rows are read at a time; data of no more are read whole
_ROW_BYTES = 32
_QUERY, _DOCUMENT = "query id", "document id"
NO_NAMES: Mapping[str, str] = {}
_ROWS = "each row must be (query, document, number)"


@contextmanager
def readable(path: str, requirement: str = "it cannot be read", line: int | None = None) -> Iterator[None]:
    """Raise InputError for any error of user objects, whose methods can fail anywhere."""
    try:
        yield
    except (GradevalError, MemoryError):
        raise
    except Exception as error:
        try:
            why = " ".join(str(error).split())
        except Exception:
            why = ""
        raise InputError(path, printable(f"{requirement}: {why or type(error).__name__}"), line=line) from None


class Slice(NamedTuple):
    """A block of data in memory. first, end: its rows, or of nested dicts its queries. is_first, is_last: as in
    Columns.
    """

    first: int
    end: int
    is_first: bool
    is_last: bool


class Data(ABC):
    """Data in memory, which are read as a file is: in blocks, by several threads, again and again.

    name: what messages call them. rows: how many there are.
    """

    name: str
    rows: int

    @abstractmethod
    def columns(self, block: Slice, /) -> Columns:
        """The rows of a block. Raises InputError."""

    def cuts(self) -> list[int]:
        """The rows between which blocks are cut, with the first and the end."""
        return [*range(0, self.rows, BLOCK_ROWS), self.rows]

    def blocks(self) -> Iterator[Slice]:
        cuts = self.cuts()
        for first, end in pairwise(cuts):
            yield Slice(first, end, first == 0, end == cuts[-1])

    def whole(self) -> Columns:
        """All rows as one block. Raises InputError."""
        return self.columns(Slice(0, self.cuts()[-1], True, True))

    @property
    def is_small(self) -> bool:
        """Whether all rows are one block, which no other thread need read."""
        return self.rows <= BLOCK_ROWS

    @property
    def stored_size(self) -> int:
        """About what a file with these rows would have in bytes."""
        return _ROW_BYTES * max(self.rows, 1)

    expected_size = stored_size


def open_data(data: Any, path: str, name: str, columns: Mapping[str, str] = NO_NAMES) -> Data:
    """A dict of dicts, tuples (query, document, number), or a data frame.

    name: 'grade' or 'score', what the number is. path: what messages call the data. columns: names of those of
    a frame, by role. Raises InputError.
    """
    refuse_ranx(data, path)
    with readable(path, _ROWS):
        if isinstance(data, Mapping):
            return Nested(path, data, name)
        is_table = is_frame(data)
    if is_table:
        with readable(path):
            return _frame(data, path, name, columns)
    with readable(path, _ROWS):
        if isinstance(data, np.ndarray) and data.dtype.names and len(data.dtype.names) >= 3:
            labels = (_QUERY, _DOCUMENT, name)
            return _Table(path, [_array(data[field]) for field in data.dtype.names[:3]], labels)
        return _Rows(path, list(data), name)


def refuse_ranx(data: Any, path: str) -> None:
    """Raise InputError for the Qrels or a Run of ranx, which hold their rows in a form of their own."""
    if type(data).__module__.partition(".")[0] == "ranx":
        what = f"a {type(data).__name__} object of ranx is not readable"
        raise InputError(path, what, hint="Pass what its to_dict() returns")


class Nested(Data):
    """{query: {document: number}}; a block has whole queries.

    numbers: of all documents, in order; by default those in the dicts.
    """

    def __init__(self, path: str, data: Mapping[Any, Any], number: str, numbers: Numeric | None = None) -> None:
        self.name, self.number, self.numbers = path, number, numbers
        self.queries = list(data)
        self.documents: list[Mapping[Any, Any]] = list(data.values())
        if not are_mappings(self.documents):
            self.documents = list(map(_mapping, self.documents))
        self.offsets: Ints = np.cumsum([0, *map(len, self.documents)])
        self.rows = int(self.offsets[-1])

    def cuts(self) -> list[int]:
        steps = np.arange(BLOCK_ROWS, self.rows, BLOCK_ROWS)
        return [*dict.fromkeys([0, *np.searchsorted(self.offsets, steps).tolist(), len(self.queries)])]

    def columns(self, block: Slice) -> Columns:
        with readable(self.name, _ROWS):
            return self._columns(block)

    def _columns(self, block: Slice) -> Columns:
        documents = self.documents[block.first : block.end]
        offsets = self.offsets[block.first : block.end + 1]
        queries, bounds = self.queries[block.first : block.end], offsets - offsets[0]
        lengths = np.diff(bounds)
        if not lengths.all():  # a query without documents is none, as in files
            kept = np.flatnonzero(lengths)
            queries = [queries[query] for query in kept.tolist()]
            bounds = np.append(bounds[kept], bounds[-1])
        query, wrong_query = object_ids(queries, _QUERY)
        if len(wrong_query.rows):  # of which the first row is reported
            wrong_query = wrong_query._replace(rows=bounds[wrong_query.rows])

        def of_query(wrong: Wrong, has_document: bool) -> Wrong:
            """The same, with the keys: dicts have no lines."""

            def what(i: int) -> str:
                row = int(wrong.rows[i])
                place = f"query {_named(queries[int(np.searchsorted(bounds, row, 'right')) - 1])}"
                if has_document:
                    place += f", document {_named(next(islice(chain.from_iterable(documents), row, None)))}"
                return f"{place}: {wrong.what(i)}"

            return Wrong(wrong.rows, what)

        document, wrong_document = object_ids(list(chain.from_iterable(documents)), _DOCUMENT)
        if self.numbers is None:
            values = list(chain.from_iterable(of.values() for of in documents))
            number, wrong_number = object_numbers(values, self.number)
        else:
            number, wrong_number = self.numbers.numbers(slice(int(offsets[0]), int(offsets[-1])), self.number)
        rows = len(number)
        line = np.arange(rows)
        columns = Columns(query, bounds, document, number, line, rows, block.is_first, block.is_last)
        wrong = [wrong_query, of_query(wrong_document, False), of_query(wrong_number, True)]
        return _with_problems(columns, wrong)


def _named(key: Any) -> str:
    return named(key) if isinstance(key, str) else described(key)


def one_of_each_type(values: Iterable[Any]) -> Iterable[Any]:
    """A value of each type; types are few, however many values there are."""
    return {type(value): value for value in values}.values()


def are_mappings(values: Iterable[Any]) -> bool:
    return all(isinstance(value, Mapping) for value in one_of_each_type(values))


def _mapping(documents: Any) -> Mapping[Any, Any]:
    return documents if isinstance(documents, Mapping) else dict(documents.items())


class _Table(Data):
    """Three columns: query, document and number. labels: what messages call their values. by_rank: whether the
    numbers are ranks.
    """

    def __init__(
        self, path: str, columns: Sequence[Values], labels: Sequence[str], by_rank: bool = False
    ) -> None:
        self.name, self.values, self.labels, self.by_rank = path, columns, labels, by_rank
        self.rows = len(columns[0])

    def columns(self, block: Slice) -> Columns:
        rows = slice(block.first, block.end)
        with readable(self.name):
            columns = read_values(self.values, self.labels, rows, block.is_first, block.is_last)
        return columns._replace(value=-columns.value) if self.by_rank else columns


class _Rows(Data):
    """Tuples (query, document, number), or any other rows of three items or more."""

    def __init__(self, path: str, data: list[Any], number: str) -> None:
        self.name, self.data, self.labels = path, data, (_QUERY, _DOCUMENT, number)
        self.rows = len(data)

    def columns(self, block: Slice) -> Columns:
        rows = self.data[block.first : block.end]
        with readable(self.name, _ROWS):
            if not all(issubclass(kind, (tuple, list)) for kind in set(map(type, rows))):
                rows = [self._row(row, block.first + i) for i, row in enumerate(rows)]
            try:
                values = [Objects([row[place] for row in rows]) for place in range(3)]
            except IndexError:
                for i, row in enumerate(rows):
                    self._row(row, block.first + i)
                raise
            return read_values(values, self.labels, slice(None), block.is_first, block.is_last)

    def _row(self, row: Any, place: int) -> tuple[Any, ...]:
        with readable(self.name, _ROWS, place + 1):
            if isinstance(row, (str, bytes)):
                raise TypeError(f"{shown(os.fsencode(row))} is a string; files are given by their paths")
            items = tuple(row)
            if len(items) < 3:
                raise ValueError(f"{described(row)} has {many(len(items), 'item', 'items')}")
            return items


def read_values(
    values: Sequence[Values], labels: Sequence[str], rows: slice, is_first: bool, is_last: bool
) -> Columns:
    """Some rows of three columns. labels: what messages call their values."""
    query, document, number = values
    queries, wrong_query = query.ids(rows, labels[0])
    documents, wrong_document = document.ids(rows, labels[1])
    numbers, wrong_number = number.numbers(rows, labels[2])
    count = len(numbers)
    if not len(queries) == len(documents) == count:
        raise ValueError("the columns are not of one length")
    columns = Columns(*grouped(queries), documents, numbers, np.arange(count), count, is_first, is_last)
    return _with_problems(columns, [wrong_query, wrong_document, wrong_number])


def _with_problems(columns: Columns, found: Sequence[Wrong]) -> Columns:
    """The columns with what is wrong in them; then none of their rows is used."""
    if not any(len(wrong.rows) for wrong in found):
        return columns
    problems = LineProblems.joined(LineProblems.of(wrong.rows, wrong.what) for wrong in found)
    return columns.take(np.zeros(len(columns.value), bool))._replace(problems=problems)


def is_frame(data: Any) -> bool:
    """Whether it has columns with names."""
    return _is_lazy(data) or hasattr(data, "columns") or offers_arrow(data)


def _is_lazy(data: Any) -> bool:
    """Whether it is a LazyFrame of polars, whose columns are not known yet."""
    return hasattr(type(data), "collect") and hasattr(type(data), "collect_schema")


def _frame(data: Any, path: str, number: str, given: Mapping[str, str]) -> Data:
    """A data frame, or any other table that offers its columns."""
    if _is_lazy(data):
        raise InputError(path, "a LazyFrame has no rows yet", hint="Call .collect() on it")
    if hasattr(data, "columns") and (hasattr(data, "iloc") or not offers_arrow(data)):
        names = [*map(str, data.columns)]
        chosen = choose(names, number, given, path, ARGUMENT)
        columns = [_series(data[name]) for name in chosen[:3]]
    else:
        parts = list(batches(data))
        names = [chunk.name for chunk in parts[0]] if parts else []
        chosen = choose(names, number, given, path, ARGUMENT) if parts else Chosen("", "", "")
        columns = [
            _arrow(data, [part[names.index(name)] for part in parts] if parts else [], name)
            for name in chosen[:3]
        ]
    return _Table(path, columns, column_labels(chosen, number), chosen.by_rank)


def column_labels(chosen: Chosen, number: str) -> list[str]:
    """What messages call the values of columns."""
    what = "rank" if chosen.by_rank else number
    return [f"{each} (column {name})" for each, name in zip((_QUERY, _DOCUMENT, what), chosen, strict=False)]


def _arrow(data: Any, chunks: Sequence[Any], name: str) -> Values:
    return Arrow(chunks, (lambda: list(data[name])) if hasattr(data, "columns") else None)


def _series(series: Any) -> Values:
    """A column of pandas, or of any other frame without Arrow."""
    kind: Any = getattr(series, "dtype", None)
    if hasattr(series, "cat"):
        return Categories(series.cat.codes.to_numpy(), Distinct(_series(series.cat.categories)))
    if isinstance(kind, np.dtype):
        return _array(np.asarray(series))
    if getattr(kind, "storage", "") == "pyarrow" or hasattr(kind, "pyarrow_dtype"):
        has_rows = hasattr(series, "iloc")  # an index of pandas, such as that of categories, has none
        frame = series.to_frame().reset_index(drop=True) if has_rows else series.to_frame(index=False)
        from pyarrow import Table  # which the storage is of

        table = Table.from_pandas(frame, preserve_index=False)
        return Arrow([part[0] for part in batches(table)], lambda: list(series))
    if getattr(kind, "kind", "") in ("i", "u", "f") and hasattr(kind, "numpy_dtype"):  # of pandas, with a mask
        missing = np.asarray(series.isna(), bool)
        values = np.zeros(len(missing), kind.numpy_dtype)
        values[~missing] = series.array[~missing].to_numpy(kind.numpy_dtype)
        return Numeric(values, missing)
    return Objects(list(series))


def _array(values: Any) -> Values:
    """A column of a numpy array."""
    if values.ndim != 1:
        raise ValueError("a column has one dimension")
    if values.dtype.kind in "biuf" and values.dtype.itemsize <= 8:
        is_masked = np.ma.getmaskarray(values) if hasattr(values, "mask") else None
        return Numeric(np.asarray(values), is_masked)
    return Objects(values.tolist() if values.dtype.kind in "USO" else list(values))
