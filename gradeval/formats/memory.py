"""Data in memory, read in blocks as files are: columns of any type, dicts, tuples and arrays.

Only columns that mix types are read value by value: strings are joined and encoded at once, integers formatted
by array arithmetic, and of categories each distinct value is read once.
"""

from __future__ import annotations

import math
import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set, Sized
from contextlib import suppress
from datetime import date, time, timedelta
from functools import cache
from itertools import chain, pairwise, starmap
from typing import Any, Protocol

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, NDArray
from gradeval.arrays.segments import offsets_of
from gradeval.arrays.strings import PAD, Ids, integer_ids
from gradeval.errors import InputError, described, named, readable, reason
from gradeval.formats.columns import Columns, grouped, light_subtopics
from gradeval.formats.diagnostics import NOTHING, UNLABELLED_HINT, LineProblems, Problem, shown
from gradeval.formats.scan import NUMBER
from gradeval.notices import many
from gradeval.options import UNJUDGED

BLOCK_ROWS = 1 << 16  # so many rows are read at a time; data of no more are read whole
RUN_NAMES = "run"  # the column of a table that has the names of runs
QUERY, DOCUMENT, SUBTOPIC = "query id", "document id", "subtopic"  # what messages call them
A_TIME = "is a time, neither text nor number. Cast it to one of these"
ROWS = "each row must be (query, document, number)"
ROWS_OF_SUBTOPICS = "each row must be (query, subtopic, document, number)"
_NO_ROW = "files are given by their paths, and rankings as {query: [document, …]}"
_NUMBERS = {int, float, bool, np.float64, np.float32, np.int64, np.int32}
_NO_LABEL = re.compile(r"the grade(?: \(column .*\))? (?:is missing|nan is not a finite number)$", re.DOTALL)
_SEPARATOR = "\0"  # no id has one, as in files
# what was read of a column, and what is wrong with rows, whose value may be any
ReadIds = tuple[Ids, LineProblems]
ReadNumbers = tuple[Floats, LineProblems]


class ColumnValues(Protocol):
    """A column. label: of messages."""

    def __len__(self) -> int: ...

    def ids(self, rows: slice, label: str) -> ReadIds: ...

    def numbers(self, rows: slice, label: str) -> ReadNumbers: ...


class Objects:
    """Python objects of any type."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def ids(self, rows: slice, label: str) -> ReadIds:
        return object_ids(self.values[rows], label)

    def numbers(self, rows: slice, label: str) -> ReadNumbers:
        return object_numbers(self.values[rows], label)


class Numeric:
    """A numpy array of numbers. is_missing: rows without a value, where these differ from NaN."""

    def __init__(self, values: NDArray[Any], is_missing: Bools | None = None) -> None:
        self.values = values
        self.is_missing = np.zeros(len(values), bool) if is_missing is None else is_missing

    def __len__(self) -> int:
        return len(self.values)

    def ids(self, rows: slice, label: str) -> ReadIds:
        values = self.values[rows]
        missing = missing_rows(self.is_missing[rows], label)
        if values.dtype.kind in "iu":
            return integer_ids(values), missing
        ids, wrong = object_ids(values.tolist(), label)
        return ids, missing if missing.total else wrong

    def numbers(self, rows: slice, label: str) -> ReadNumbers:
        with np.errstate(over="ignore"):
            values = self.values[rows].astype(np.float64)
        return values, _not_finite(values, label, self.is_missing[rows])


class Distinct:
    """The distinct values of a column, each read once; behind them NaN, and always an id, for none."""

    def __init__(self, values: ColumnValues) -> None:
        self.count = len(values)

        @cache
        def ids(label: str) -> ReadIds:
            ids, wrong = values.ids(slice(None), label)
            return ids if len(ids) else Ids.of([b""]), wrong

        @cache
        def numbers(label: str) -> ReadNumbers:
            numbers, wrong = values.numbers(slice(None), label)
            return np.append(numbers, np.nan), wrong

        self.ids = ids
        self.numbers = numbers


class Categories:
    """Values that are each one of a few. code: which of the distinct values each row has, -1 for none."""

    def __init__(self, code: NDArray[Any], distinct: Distinct) -> None:
        self.code = code
        self.distinct = distinct

    def __len__(self) -> int:
        return len(self.code)

    def ids(self, rows: slice, label: str) -> ReadIds:
        code = self.code[rows].astype(np.int64)
        ids, wrong = self.distinct.ids(label)
        return ids.take(np.maximum(code, 0)), _of_codes(code, wrong, label)

    def numbers(self, rows: slice, label: str) -> ReadNumbers:
        code = self.code[rows].astype(np.int64)
        numbers, wrong = self.distinct.numbers(label)
        return numbers[code], _of_codes(code, wrong, label)


def missing_rows(is_missing: Bools, label: str) -> LineProblems:
    return LineProblems.of(np.flatnonzero(is_missing), f"the {label} is missing")


def _of_codes(code: Ints, wrong: LineProblems, label: str) -> LineProblems:
    """The problems of rows that have no value, or a wrong one. wrong: of the distinct values."""
    if not wrong.total:
        return missing_rows(code < 0, label)
    of_code = {problem.line or 0: problem.what for problem in wrong.all()}
    rows = np.flatnonzero((code < 0) | np.isin(code, [*of_code]))
    return LineProblems.of(rows, lambda i: of_code.get(int(code[rows[i]]), f"the {label} is missing"))


def _not_finite(values: Floats, label: str, is_missing: Bools | bool = False) -> LineProblems:
    """The rows whose value is missing or no finite number."""
    rows = np.flatnonzero(~np.isfinite(values) | is_missing)
    missing = np.broadcast_to(is_missing, values.shape)

    def why(i: int) -> str:
        if missing[rows[i]]:
            return f"the {label} is missing"
        return f"the {label} {values[rows[i]]} is not a finite number"

    return LineProblems.of(rows, why)


def object_ids(values: Sequence[Any], label: str) -> ReadIds:
    """Ids of objects: strings, bytes, and the str() of any other that is no container."""
    ids = None
    try:
        ids = _separated(_SEPARATOR.join(values).encode("utf-8", "surrogateescape"), len(values))
    except (TypeError, UnicodeEncodeError):
        kinds = set(map(type, values))
        if kinds == {bytes}:
            ids = _separated(_SEPARATOR.encode().join(values), len(values))
        elif kinds == {int}:
            with suppress(OverflowError):
                ids = integer_ids(np.array(values, np.int64))
    if ids is not None:
        return ids, NOTHING
    read, wrong = _each(values, _id, b"", label)
    return Ids.of(read), wrong


def _separated(text: bytes, count: int) -> Ids | None:
    """So many ids with separators between, None where one holds a separator itself."""
    if not count:
        return Ids.of([])
    block = np.frombuffer(text + bytes(PAD), np.uint8)
    id_ends = np.append(np.flatnonzero(block[: len(text)] == 0), len(text))
    if len(id_ends) != count:
        return None
    start = np.append(0, id_ends[:-1] + 1)
    return Ids(block, start, id_ends - start)


def _each(
    values: Sequence[Any], read: Callable[[Any], Any], otherwise: Any, label: str
) -> tuple[list[Any], LineProblems]:
    """read(value) for each value, and why it raised an error."""
    results, problems = list[Any](), list[Problem]()
    for row, value in enumerate(values):
        try:
            results.append(read(value))
        except Exception as error:  # objects can fail wherever looked at
            results.append(otherwise)
            problems.append(Problem(row, f"the {label} {reason(error)}"))
    return results, LineProblems.listed(problems)


def _id(value: Any) -> bytes:
    if is_missing(value):
        raise ValueError("is missing")
    is_container = isinstance(value, Sized) and not isinstance(value, (str, bytes))
    if is_container or isinstance(value, (bool, np.bool_)):
        raise ValueError(f"cannot be {described(value)}")
    if is_time(value):
        raise ValueError(f"{described(value)} {A_TIME}")
    try:
        text = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ValueError(f"{described(value)} cannot be encoded ({error.reason})") from None
    if b"\0" in text:
        raise ValueError(f"{shown(text)} contains a NUL byte")
    return text


def is_time(value: Any) -> bool:
    """Whether it is a time, a date or a duration, whose text depends on the library and the unit."""
    return isinstance(value, (np.datetime64, np.timedelta64, date, time, timedelta))


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


def object_numbers(values: Sequence[Any], label: str) -> ReadNumbers:
    """Numbers of objects: what float() makes of them."""
    if types_of(values) <= _NUMBERS:
        with suppress(OverflowError):
            numbers = np.fromiter(values, np.float64, len(values))
            return numbers, _not_finite(numbers, label)
    read, wrong = _each(values, _number_of, 0.0, label)
    return np.array(read, np.float64), wrong


def _number_of(value: Any) -> float:
    if isinstance(value, (complex, np.complexfloating)):
        raise TypeError(f"{described(value)} is a complex number")
    if isinstance(value, (str, bytes)):
        text = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
        if not re.fullmatch(NUMBER, text):
            raise ValueError(f"{described(value)} is not a number")
    try:
        if isinstance(value, (np.datetime64, np.timedelta64)) or _is_masked(value):
            raise TypeError  # though float() takes times of some units, and makes NaN of what is masked
        number = float(value)
    except OverflowError:
        raise ValueError("is too large for a floating-point number") from None
    except (TypeError, ValueError):
        missing = not isinstance(value, (str, bytes)) and is_missing(value)
        raise ValueError("is missing" if missing else f"{described(value)} is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a finite number")
    return number


def labelled_only(columns: Columns, wrong: LineProblems, unlabelled: str | None) -> Columns:
    """The rows of judgments with a label, with what is wrong with the others. wrong: with the numbers.
    unlabelled: the option.
    """

    def hinted(problem: Problem) -> Problem:
        return problem.replace(hint=UNLABELLED_HINT) if _NO_LABEL.match(problem.what) else problem

    if not wrong.total or unlabelled != UNJUDGED:
        return columns.replace(problems=wrong.changed(hinted))
    has_label = np.ones(len(columns.value), bool)
    problems = list[Problem]()
    for problem in wrong.all():
        if _NO_LABEL.match(problem.what):
            has_label[problem.line or 0] = False
        else:
            problems.append(problem)
    unrated = len(has_label) - int(np.count_nonzero(has_label))
    return columns.take(has_label).replace(unrated=unrated, problems=LineProblems.listed(problems))


class Data:
    """Data in memory, read as a file is: in blocks, by several threads, again and again."""

    name: str  # in messages
    rows: int
    unlabelled: str | None = None  # the option

    @abstractmethod
    def columns(self, block: range, /) -> Columns:
        """Some of the rows, or of nested dicts those of some queries. Raises InputError."""

    def cuts(self) -> list[int]:
        """Where blocks begin, and the end of the last."""
        return [*range(0, self.rows, BLOCK_ROWS), self.rows]

    def blocks(self) -> Iterator[range]:
        return starmap(range, pairwise(self.cuts()))

    def whole(self) -> Columns:
        """All rows as one block. Raises InputError."""
        return self.columns(range(self.cuts()[-1]))

    @property
    def is_small(self) -> bool:
        """Whether all rows are one block, which no other thread need read."""
        return self.rows <= BLOCK_ROWS

    @property
    def expected_size(self) -> int:
        """About what a file with these rows would have in bytes."""
        return 32 * max(self.rows, 1)


def is_ranx(data: Any) -> bool:
    """Whether it is the Qrels or a Run of ranx, which hold their rows in a form of their own."""
    return type(data).__module__.partition(".")[0] == "ranx"


class Nested(Data):
    """{query: {document: number}}, in blocks of whole queries. numbers: what convert makes of the dicts'."""

    def __init__(
        self,
        path: str,
        data: Mapping[Any, Any],
        number: str,
        numbers: Numeric | None = None,
        convert: Callable[[Floats], Floats] | None = None,
    ) -> None:
        self.name = path
        self.number = number
        self.numbers = numbers
        self.convert = convert
        self.queries = list(data)
        self.documents: list[Mapping[Any, Any]] = list(data.values())
        if not are_mappings(self.documents):
            self.documents = [*starmap(self._as_mapping, zip(self.queries, self.documents, strict=True))]
        self.offsets = offsets_of([*map(len, self.documents)])
        self.rows = int(self.offsets[-1])

    def _as_mapping(self, query: Any, documents: Any) -> Mapping[Any, Any]:
        if isinstance(documents, Mapping):
            return documents
        if hasattr(documents, "items"):  # as a dict of numba has it
            return dict(documents.items())
        message = f"{described(documents)} is not a dict {{document: {self.number}}}"
        hint = ""
        if isinstance(documents, (list, tuple, set, frozenset, np.ndarray)):
            hint = "All queries of a run may have lists of documents, the best first; all of qrels sets"
        raise InputError(self.name, f"query {_named(query)}: {message}", hint=hint)

    def cuts(self, rows: int | None = None) -> list[int]:
        """rows: how many a block has, about."""
        rows = rows or BLOCK_ROWS
        steps = np.arange(rows, self.rows, rows)
        return [*dict.fromkeys([0, *self.offsets.searchsorted(steps).tolist(), len(self.queries)])]

    def columns(self, block: range) -> Columns:
        documents = self.documents[block.start : block.stop]
        offsets = self.offsets[block.start : block.stop + 1]
        queries = self.queries[block.start : block.stop]
        bounds = offsets - offsets[0]
        if not np.diff(bounds).all():  # a query without documents is none, as in files
            with_documents = np.flatnonzero(np.diff(bounds))
            queries = [queries[query] for query in with_documents.tolist()]
            bounds = np.append(bounds[with_documents], bounds[-1])
        with readable(self.name, ROWS):
            names = list(chain.from_iterable(documents))
            if self.numbers is None:
                values = list(chain.from_iterable(members.values() for members in documents))
                numbers = object_numbers(values, self.number)
            else:
                numbers = self.numbers.numbers(slice(int(offsets[0]), int(offsets[-1])), self.number)

            def name_of(query: int, row: int) -> str:
                return f"query {_named(queries[query])}, document {_named(names[row])}"

            columns = nested_columns(queries, bounds, names, numbers, name_of, unlabelled=self.unlabelled)
        return columns.replace(first=block.start == 0, last=block.stop == len(self.queries))


def nested_columns(
    queries: Sequence[Any],
    bounds: Ints,
    documents: Sequence[Any],
    numbers: ReadNumbers,
    name_of: Callable[[int, int], str],
    unlabelled: str | None,
) -> Columns:
    """Rows by query, whose ids are objects. name_of: names a row of a query, by the positions of both.
    unlabelled: the option.
    """
    query, wrong_query = object_ids(queries, QUERY)
    document, wrong_document = object_ids(documents, DOCUMENT)
    number, wrong_number = numbers

    def at_row(problem: Problem) -> Problem:
        row = problem.line or 0
        where = name_of(int(np.searchsorted(bounds, row, "right")) - 1, row)
        return problem.replace(what=f"{where}: {problem.what}")

    columns = Columns(query, bounds, document, number, line=np.arange(len(number)), lines=len(number))
    columns = labelled_only(columns, wrong_number, unlabelled)
    wrong = wrong_query.in_lines(bounds) + (wrong_document + columns.problems).changed(at_row)
    return columns.without_rows(wrong)


def _named(key: Any) -> str:
    return named(key) if isinstance(key, str) else described(key)


def are_texts(ids: Iterable[Iterable[Any]]) -> bool:
    """Whether all are strings without NUL, and different as bytes too, as they are without surrogates."""
    try:
        text = "".join(map("".join, ids))
        return "\0" not in text and (text.isascii() or bool(text.encode()))
    except (TypeError, UnicodeEncodeError):
        return False


def are_mappings(values: Iterable[Any]) -> bool:
    """Whether all are; types are few, however many values there are."""
    return all(issubclass(kind, Mapping) for kind in set(map(type, values)))


class Three(Data):
    """Three columns: query, document and number; and perhaps the subtopic. labels: what messages call their
    values.
    """

    ranks: ColumnValues | None = None  # beside scores
    # if set, makes of the columns of a block what they are read as, such as scores of ranks
    finished: Callable[[Columns], Columns] | None = None

    def __init__(self, path: str, columns: Sequence[ColumnValues], labels: Sequence[str]) -> None:
        self.name = path
        self.values = columns
        self.labels = labels
        self.rows = len(columns[0])

    def columns(self, block: range) -> Columns:
        with readable(self.name):
            ranks = None if block.start else self.ranks
            rows = slice(block.start, block.stop)
            columns = read_values(self.values, self.labels, rows, ranks, unlabelled=self.unlabelled)
        columns = columns.replace(first=block.start == 0, last=block.stop == self.rows)
        return columns if self.finished is None else self.finished(columns)


def tuples(path: str, rows: list[Any], number: str, places: Sequence[int] = (0, 1, 2)) -> Three:
    """Rows (query, document, number), or four with a subtopic. places: of these in a row. Raises InputError."""
    count = len(places)
    with readable(path, ROWS if count == 3 else ROWS_OF_SUBTOPICS):
        are_rows = all(issubclass(kind, (tuple, list)) for kind in set(map(type, rows)))
        if not are_rows or not {*map(len, rows)} <= {count}:
            rows = [_tuple(row, path, line, count) for line, row in enumerate(rows, 1)]
        columns = [Objects([row[column] for row in rows]) for column in places]
    return Three(path, columns, (QUERY, DOCUMENT, number, SUBTOPIC))


def _tuple(row: Any, path: str, line: int, count: int) -> tuple[Any, ...]:
    with readable(path, ROWS if count == 3 else ROWS_OF_SUBTOPICS, line):
        if isinstance(row, (str, bytes)):
            raise TypeError(f"{shown(os.fsencode(row))} is a string; {_NO_ROW}")
        if isinstance(row, (Set, Mapping)) or not (hasattr(row, "__iter__") or hasattr(row, "__len__")):
            raise TypeError(f"{described(row)} is not one; {_NO_ROW}")
        items = tuple(row)
        if len(items) != count:
            message = f"{described(row)} has {many(len(items), 'item', 'items')}"
            is_longer = len(items) > count
            raise ValueError(
                f"{message}; give longer rows as a data frame, by column name" if is_longer else message
            )
        return items


def read_values(
    values: Sequence[ColumnValues],
    labels: Sequence[str],
    rows: slice = slice(None),
    ranks: ColumnValues | None = None,
    unlabelled: str | None = None,
) -> Columns:
    """Some rows of three columns, or four with the subtopics. labels: what messages call their values. ranks:
    a column of ranks, of which some may be no numbers. unlabelled: the option.
    """
    query, document, number = values[:3]
    queries, wrong_query = query.ids(rows, labels[0])
    documents, wrong_document = document.ids(rows, labels[1])
    numbers, wrong_number = number.numbers(rows, labels[2])
    count = len(numbers)
    if not len(queries) == len(documents) == count:
        raise ValueError("the columns are not of one length")
    columns = Columns(*grouped(queries), documents, numbers, np.arange(count), count)
    problems = [wrong_query, wrong_document]
    if len(values) > 3:
        subtopics, wrong_subtopic = values[3].ids(rows, labels[3])
        columns = columns.replace(subtopic=light_subtopics(subtopics))
        problems.append(wrong_subtopic)
    if ranks is not None:
        rank, wrong_rank = ranks.numbers(rows, "rank")
        rank[[problem.line or 0 for problem in wrong_rank.all()]] = np.nan
        columns = columns.replace(rank=rank)
    columns = labelled_only(columns, wrong_number, unlabelled)
    return columns.without_rows(LineProblems.joined([*problems, columns.problems]))


def offers_arrow(data: Any) -> bool:
    return hasattr(type(data), "__arrow_c_stream__")


def is_frame(data: Any) -> bool:
    """Whether it has columns with names."""
    return is_lazy(data) or hasattr(data, "columns") or offers_arrow(data)


def is_lazy(data: Any) -> bool:
    """Whether it is a LazyFrame of polars, whose columns are not known yet."""
    return hasattr(type(data), "collect") and hasattr(type(data), "collect_schema")


def array_values(values: Any) -> ColumnValues:
    if values.ndim != 1:
        raise ValueError("a column has one dimension")
    if values.dtype.kind in "biuf" and values.dtype.itemsize <= 8:
        is_masked = np.ma.getmaskarray(values) if hasattr(values, "mask") else None
        return Numeric(np.asarray(values), is_masked)
    return Objects(values.tolist() if values.dtype.kind in "USO" else list(values))
