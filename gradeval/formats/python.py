"""Dicts, tuples and data frames as columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.strings import Ids
from gradeval.errors import GradevalError, InputError, described, printable
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import LineProblems, shown

_QUERY_COLUMNS = ("query_id", "qid", "query", "q_id", "topic", "topic_id")
_DOCUMENT_COLUMNS = ("doc_id", "docid", "docno", "document", "document_id", "doc", "did", "iid", "item")
_NUMBER_COLUMNS = {
    "grade": ("grade", "relevance", "rel", "label", "rating"),
    "score": ("score", "sim", "scores"),
}


@contextmanager
def readable(path: str, requirement: str = "it cannot be read") -> Iterator[None]:
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
        raise InputError(path, printable(f"{requirement}: {why or type(error).__name__}")) from None


def read_data(data: Any, path: str, name: str) -> Columns:
    """A dict of dicts, tuples (query, document, number), or a data frame, whose rows are its lines.

    name: 'grade' or 'score', what the number is. path: what messages call it. Raises InputError.
    """
    with readable(path, "each row must be (query, document, number)"):
        if isinstance(data, Mapping):
            triples = [
                (query, document, number) for query, of in data.items() for document, number in of.items()
            ]
        elif hasattr(data, "columns"):
            names = [*map(str, data.columns)]
            all_options = (_QUERY_COLUMNS, _DOCUMENT_COLUMNS, _NUMBER_COLUMNS[name])
            triples = list(zip(*(data[_named(names, options, path)] for options in all_options), strict=True))
        else:
            triples = [_triple(row) for row in data]
        numbers = _numbers([number for _, _, number in triples])
        columns = Columns.whole(_ids(row[0] for row in triples), _ids(row[1] for row in triples), numbers)
    bad: Ints = np.flatnonzero(~np.isfinite(numbers))
    what = LineProblems.of(bad, lambda i: f"the {name} {numbers[bad[i]]} is not a finite number")
    return columns._replace(problems=what)


def _numbers(values: Sequence[Any]) -> Floats:
    if any(issubclass(kind, (complex, np.complexfloating)) for kind in set(map(type, values))):
        raise TypeError("a complex number is neither a grade nor a score")
    return np.array([float(value) for value in values], np.float64)


def _triple(row: Any) -> tuple[Any, Any, Any]:
    if isinstance(row, (str, bytes)):
        raise TypeError(f"{shown(os.fsencode(row))} is a string; files are given by their paths")
    query, document, number = tuple(row)[:3]  # of ir_measures' Qrel, a named tuple of four
    return query, document, number


def _named(names: Sequence[str], options: Sequence[str], path: str) -> str:
    lower = {name.lower(): name for name in reversed(names)}
    for option in options:
        if option in lower:
            return lower[option]
    raise InputError(path, f"no column named {' or '.join(options)}; columns are {', '.join(names)}")


def _ids(values: Iterable[Any]) -> Ids:
    return Ids.of([_id(value) for value in values])


def _is_missing(value: Any) -> bool:
    """Whether it is None, NaN, NaT, or pandas' NA, which has no truth value."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _id(value: Any) -> bytes:
    if _is_missing(value):
        raise ValueError("an id is missing")
    if isinstance(value, Sized) and not isinstance(value, (str, bytes)):
        raise ValueError(f"{described(value)} is not an id")
    text = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
    if b"\0" in text:  # columns of ids have none, as files have none
        raise ValueError(f"the id {shown(text)} contains a NUL byte")
    return text
