"""Data of Python that is neither dicts of dicts nor tuples nor frames: records, columns, rankings, sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradeval.formats.csv import are_columns


def records_of(data: Any) -> Sequence[Mapping[str, Any]] | None:
    """The records of a list of dicts, or of a dict of columns; None for other data."""
    if isinstance(data, Mapping):
        columns = list(data.values())
        is_table = len(columns) > 2 and all(isinstance(column, (list, tuple, np.ndarray)) for column in columns)
        if not is_table or len({len(column) for column in columns}) > 1 or not are_names([*data]):
            return None
        return [dict(zip(data, row, strict=True)) for row in zip(*columns, strict=True)]
    is_list = isinstance(data, (list, tuple)) and bool(data)
    return data if is_list and all(isinstance(row, Mapping) for row in data) else None


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
