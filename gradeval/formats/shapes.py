"""Data of Python that is neither dicts of dicts nor tuples nor frames: records, columns, rankings, sets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from numbers import Integral, Real
from typing import Any

import numpy as np

from gradeval.errors import InputError, described
from gradeval.formats.csv import are_columns
from gradeval.formats.memory import is_frame
from gradeval.formats.sources import TextSource

_MOST_COLUMNS = 64  # dicts with more keys have queries, whose ids are not compared with names of columns


def is_series(kind: type) -> bool:
    """Whether it is the type of a column of pandas or polars."""
    return hasattr(kind, "to_list") and hasattr(kind, "dtype")


def are_scores(data: Any) -> bool:
    """Whether it is {query: {document: number}}, as most are; a look at a few types tells it. Documents that
    are no str may be the index of columns.
    """
    if type(data) is not dict or {*map(type, data.values())} != {dict} or not _is_unmarked(data):
        return False
    first: dict[Any, Any] = next(iter(data.values()))
    document, number = next(iter(first.items()), (None, None))
    return type(document) is str and type(number) in (float, int) and _is_unmarked(first)


def as_list(data: Any) -> Any:
    """The rows of an iterator, which can be read once; other data as they are."""
    return list(data) if isinstance(data, Iterator) and not is_frame(data) else data


def plain(data: Any, path: str, number: str) -> Any:
    """An iterator as a list, Series as the lists, dicts or rows that they stand for, and {(query, document):
    number} as rows; other data as they are. path: in messages. Raises InputError.
    """
    data = as_list(data)
    if is_series(type(data)):
        return _of_series(data, path)
    if not isinstance(data, Mapping) or not data:
        return data
    _check_keys(data, path)
    if isinstance(next(iter(data)), tuple):
        return _rows(data)
    if not any(map(is_series, {*map(type, data.values())})):
        return data
    if are_names([*data]):
        return {name: _column(column) for name, column in data.items()}
    return {key: _of_query(key, value, path, number) for key, value in data.items()}


def _check_keys(data: Mapping[Any, Any], path: str) -> None:
    """Raise InputError for columns by index, and for a response that is not read."""
    root = data.get("root")
    if isinstance(root, Mapping) and isinstance(root.get("children"), list):
        hint = "Give {query: {hit['id']: hit['relevance'] for hit in response['root']['children']}}"
        raise InputError(path, "this is a response of Vespa, which is not read", hint=hint)
    if not 2 < len(data) <= _MOST_COLUMNS or not _have_one_index(data.values()):
        return
    values = [value for column in data.values() for value in islice(column.values(), 1)]
    if are_names([*data]) and not any(isinstance(value, Mapping) for value in values):
        hint = "Give the frame itself, or df.to_dict(orient='list')"
        raise InputError(path, "these are columns by index, as df.to_dict() gives them", hint=hint)


def _have_one_index(columns: Iterable[Any]) -> bool:
    """Whether all are mappings with the same keys, which few runs are: their names need not be looked at."""
    first, *more = columns
    return isinstance(first, Mapping) and all(
        isinstance(column, Mapping) and column.keys() == first.keys() for column in more
    )


def _column(column: Any) -> Any:
    return column.to_list() if is_series(type(column)) else column


def _has_parts(series: Any) -> bool:
    """Whether it has rows by two indices, or what queries have by one."""
    index = getattr(series, "index", None)
    first = next(iter(series), None)
    are_parts = isinstance(first, (list, tuple, set, frozenset, dict, np.ndarray))
    return getattr(index, "nlevels", 0) == 2 or (index is not None and are_parts)


def _of_series(series: Any, path: str) -> Any:
    """The rows of a Series by query and document, or the dict of one by query. Raises InputError."""
    if not _has_parts(series):
        hint = "Give the data frame, {query: Series of documents}, or a Series by query and document"
        raise InputError(path, "a Series of numbers or ids has no queries", hint=hint)
    parts = dict(series.items())
    return _rows(parts) if series.index.nlevels == 2 else parts


def _rows(numbers: Mapping[tuple[Any, ...], Any]) -> list[tuple[Any, ...]]:
    """(query, document, number) of each item of {(query, document): number}."""
    return [(*key, value) for key, value in numbers.items()]


def _of_query(key: Any, series: Any, path: str, number: str) -> Any:
    """What a query has: a ranking, or numbers by document. Raises InputError where it may be either."""
    if not is_series(type(series)):
        return series
    if _has_parts(series):  # a run, by its name
        return _of_series(series, path)
    index = getattr(series, "index", None)
    first = next(iter(series), None)
    if index is None or not isinstance(first, Real):
        return series.to_list()
    if number == "score" and isinstance(first, Integral) and isinstance(index[0], Integral):
        hint = "Give .to_list() of documents, the best first, or .to_dict() of scores"
        message = f"query {described(key)}: integers by integers may be documents or scores"
        raise InputError(path, message, hint=hint)
    return dict(series.items())


def records_of(data: Any, path: str) -> Sequence[Mapping[str, Any]] | None:
    """The records of a list of dicts, or of a dict of columns; None for other data. path: in messages. Raises
    InputError for columns of unequal length.
    """
    if isinstance(data, Mapping):
        columns = list(data.values())
        # of queries, of documents, and of grades or scores
        is_table = 3 <= len(columns) <= _MOST_COLUMNS and all(
            isinstance(column, (list, tuple, np.ndarray)) for column in columns
        )
        if not is_table or not are_names([*data]):
            return None
        lengths = {name: len(column) for name, column in data.items()}
        if len({*lengths.values()}) > 1:
            raise InputError(path, f"the columns are not of one length: {described(lengths)}")
        return [dict(zip(data, row, strict=True)) for row in zip(*columns, strict=True)]
    is_list = isinstance(data, (list, tuple)) and bool(data)
    return data if is_list and all(isinstance(row, Mapping) for row in data) else None


def as_file(data: Any, name: str) -> Any:
    """What JSON files have and is no table, as such a file: responses of search engines, their judgments, and
    lists of queries with their documents; other data as they are. name: in messages.
    """
    data = without_transport(data)
    if not is_of_file(data):
        return data
    is_of_lines = isinstance(data, (list, tuple)) and not (are_responses(data) or are_judgments(data))
    parts = (json.dumps(part, default=_of_json) for part in (data if is_of_lines else [data]))
    return TextSource(name, "\n".join(parts).encode())


_MARKS = frozenset(("rank_eval", "responses", "metric_score", "took", "error", "hits", "response", "requests"))
"""Keys of which responses and judgments have one, or their first value has."""


def _is_unmarked(data: Any) -> bool:
    return data.keys().isdisjoint(_MARKS) if type(data) is dict else not isinstance(data, Mapping)


def is_of_file(data: Any) -> bool:
    """Whether as_file() makes a file of it."""
    if type(data) is dict and _is_unmarked(data) and all(map(_is_unmarked, islice(data.values(), 1))):
        return False  # what most are, {query: {document: number}}: it is found in no time
    if are_responses(data) or are_judgments(data):
        return True
    first = data[0] if isinstance(data, (list, tuple)) and data else None
    if not isinstance(first, Mapping) or not all(isinstance(key, str) for key in first):
        return False
    if not any(isinstance(value, list) for value in first.values()):
        return False
    from gradeval.formats.json import list_member  # imported only when needed

    return bool(list_member(first, {}))


def are_responses(data: Any) -> bool:
    """Whether this is a response of a search engine, several, or {query: response}."""
    if isinstance(data, Mapping) and (_is_response(data) or _has_responses(data.get("rank_eval", data))):
        return True
    if not isinstance(data, (Mapping, list, tuple)) or not data:
        return False
    return all(map(_is_response, data.values() if isinstance(data, Mapping) else data))


def _is_response(data: Any) -> bool:
    """Whether it is one of a single search."""
    if not isinstance(data, Mapping) or _has_responses(data):
        return False
    if {"took", "timed_out"} <= data.keys() or {"error", "status"} <= data.keys():
        return True
    parts = [part for part in (data.get("hits"), data.get("response")) if isinstance(part, Mapping)]
    return any(isinstance(part.get(name), list) for part in parts for name in ("hits", "docs"))


def _has_responses(data: Mapping[str, Any]) -> bool:
    """Whether it is one of _msearch or _rank_eval."""
    return isinstance(data.get("responses"), list) or {"metric_score", "details"} <= data.keys()


def are_judgments(data: Any) -> bool:
    """Whether these are judgments as Elasticsearch or OpenSearch has them."""
    requests = data.get("requests") if isinstance(data, Mapping) else data
    if not isinstance(requests, (list, tuple)) or not requests:
        return False
    return all(isinstance(row, Mapping) and isinstance(row.get("ratings"), list) for row in requests)


def without_transport(data: Any) -> Any:
    """What a client of Elasticsearch returns, without its wrapper, which is no dict."""
    if isinstance(data, list):
        return [*map(without_transport, data)] if data and hasattr(data[0], "body") else data
    body = getattr(data, "body", None)
    return body if isinstance(body, dict) else data


def _of_json(value: Any) -> Any:
    """A value that JSON has not, as a number of numpy."""
    return value.item() if hasattr(value, "item") else str(value)


def are_names(names: Sequence[Any]) -> bool:
    """Whether these are names of columns, two of which a table must have."""
    return all(isinstance(name, str) for name in names) and are_columns(names, {})


def are_pairs(documents: Any) -> bool:
    """Whether these are (document, score) pairs."""
    are_rows = bool(documents) and all(isinstance(row, (tuple, list)) and len(row) == 2 for row in documents)
    return are_rows and all(isinstance(row[0], (str, int)) for row in documents)


def listed(documents: Any) -> Any:
    """An array of ids as a list; other data as they are."""
    are_ids = isinstance(documents, np.ndarray) and documents.ndim == 1 and documents.dtype.kind in "iuUSO"
    return documents.tolist() if are_ids else documents


def nested(data: Mapping[Any, Any], path: str, number: str) -> Mapping[Any, Any]:
    """{query: {document: number}}, also of {query: [document, …]}, a run in order, the best first, of
    {query: [(document, score), …]}, and of {query: {document, …}}, the relevant documents of qrels. path: in
    messages. Raises InputError for a document twice.
    """
    kinds = {type(documents) for documents in data.values()}
    if number == "grade" and kinds and kinds <= {set, frozenset}:
        return {query: dict.fromkeys(documents, 1) for query, documents in data.items()}
    if number != "score" or not kinds or not kinds <= {list, tuple, np.ndarray}:
        return data
    lists = {query: listed(documents) for query, documents in data.items()}
    if any(isinstance(documents, np.ndarray) for documents in lists.values()):
        return data
    return {query: _scored(query, documents, path) for query, documents in lists.items()}


def _scored(query: Any, documents: Sequence[Any], path: str) -> dict[Any, Any]:
    """The documents of a query with scores, which fall by position where there are none."""
    count = len(documents)
    if are_pairs(documents):
        ids = [document for document, _ in documents]
        scores = dict(documents)
    else:
        ids = [*documents]
        scores = {document: count - position for position, document in enumerate(documents)}
    if len(scores) < count:
        twice = next(document for document in ids if ids.count(document) > 1)
        raise InputError(path, f"query {described(query)} has document {described(twice)} twice")
    return scores
