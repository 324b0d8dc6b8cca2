"""Data of Python that is neither dicts of dicts nor tuples nor frames: records, columns, rankings, sets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from gradeval.formats.csv import are_columns
from gradeval.formats.sources import TextSource


def records_of(data: Any) -> Sequence[Mapping[str, Any]] | None:
    """The records of a list of dicts, or of a dict of columns; None for other data."""
    if isinstance(data, Mapping):
        columns = list(data.values())
        # of queries, of documents, and of grades or scores
        is_table = len(columns) >= 3 and all(
            isinstance(column, (list, tuple, np.ndarray)) for column in columns
        )
        if not is_table or len({len(column) for column in columns}) > 1 or not are_names([*data]):
            return None
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
    parts = (json.dumps(part, default=_plain) for part in (data if is_of_lines else [data]))
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
    if not isinstance(first, Mapping) or not any(isinstance(value, list) for value in first.values()):
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


def _plain(value: Any) -> Any:
    """A value that JSON has not, as a number of numpy."""
    return value.item() if hasattr(value, "item") else str(value)


def are_names(names: Sequence[Any]) -> bool:
    """Whether these are names of columns, two of which a table must have."""
    return all(isinstance(name, str) for name in names) and are_columns(names, {})


def are_pairs(documents: Any) -> bool:
    """Whether these are (document, score) pairs."""
    are_rows = bool(documents) and all(isinstance(row, (tuple, list)) and len(row) == 2 for row in documents)
    return are_rows and all(isinstance(row[0], str) for row in documents)


def listed(documents: Any) -> Any:
    """An array of ids as a list; other data as they are."""
    are_ids = isinstance(documents, np.ndarray) and documents.ndim == 1 and documents.dtype.kind in "iuUSO"
    return documents.tolist() if are_ids else documents


def nested(data: Mapping[Any, Any], number: str) -> Mapping[Any, Any]:
    """{query: {document: number}}, also of {query: [document, …]}, a run in order, the best first, of
    {query: [(document, score), …]}, and of {query: {document, …}}, the relevant documents of qrels. Raises
    ValueError for a document twice.
    """
    kinds = {type(documents) for documents in data.values()}
    if number == "grade" and kinds and kinds <= {set, frozenset}:
        return {query: dict.fromkeys(documents, 1) for query, documents in data.items()}
    if number != "score" or not kinds or not kinds <= {list, tuple, np.ndarray}:
        return data
    lists = {query: listed(documents) for query, documents in data.items()}
    if any(isinstance(documents, np.ndarray) for documents in lists.values()):
        return data
    return {query: _scored(query, documents) for query, documents in lists.items()}


def _scored(query: Any, documents: Sequence[Any]) -> dict[Any, Any]:
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
        raise ValueError(f"query {query!r} has document {twice!r} twice")
    return scores
