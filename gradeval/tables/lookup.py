"""A run of dicts reduced by looking up the judged documents, without reading the ids of the others.

It gives what tables/reduction gives for the same dicts, and leaves to it all that it does not know: ids that
are no strings, numbers that are not finite, and whatever else may be an error.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable
from itertools import compress, repeat
from typing import Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, ranges
from gradeval.arrays.strings import Texts
from gradeval.formats.memory import Nested, object_numbers
from gradeval.options import DEFAULT_TIES
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import Ties
from gradeval.tables.reduction import Reduced

_FLOAT = np.dtype([("type", "S1"), ("value", "<f8")])  # as marshal writes it
_LIST = 5  # bytes before those of a list


def looked_up(data: Nested, qrels: Qrels, ties: str) -> Reduced | None:
    """The ranks of the judged documents, None where reduction must find them. ties: of tied scores."""
    if ties not in (DEFAULT_TIES, "input") or set(map(type, data.documents)) != {dict}:
        return None
    if not _are_texts([data.queries, *data.documents]):
        return None
    judged, missing = qrels.judged, repeat(np.nan)
    index: list[int] = []  # of the judged queries of the run in the qrels, and their places in the run
    places: list[int] = []
    numbers: list[Any] = []  # the scores of their judged documents
    unjudged = 0
    for place, (query, documents) in enumerate(zip(data.queries, data.documents, strict=True)):
        if query in documents:  # which is worth a notice
            return None
        if query in judged:
            number, names = judged[query]
            index.append(number)
            places.append(place)
            numbers += map(documents.get, names, missing)
        elif documents:
            unjudged += 1
    scores = _scores(data)
    if scores is None:
        return None
    found = _floats(numbers)
    if found is None:
        found = np.fromiter(numbers, np.float64, len(numbers))
    if data.convert is not None:
        found = data.convert(found)
    judged_query, of_run = np.array(index, np.int64), np.array(places, np.int64)
    counts = qrels.offsets[judged_query + 1] - qrels.offsets[judged_query]
    hits = np.flatnonzero(~np.isnan(found))
    row, found = ranges(qrels.offsets[judged_query], counts)[hits], found[hits]
    retrieved = np.zeros(len(qrels.queries), np.int64)
    retrieved[judged_query] = data.offsets[of_run + 1] - data.offsets[of_run]
    rank, score = np.full(len(qrels.grade), np.inf), np.full(len(qrels.grade), -np.inf)
    run_query = np.repeat(of_run, counts)[hits]
    rank[row], tied, first, last = _ranks(data, scores, ties, run_query, found, row, qrels.names)
    score[row] = found
    return Reduced(rank, score, retrieved, unjudged, Ties(row[tied], first, last))


def _are_texts(ids: Iterable[Iterable[Any]]) -> bool:
    """Whether all are strings without NUL, and different as bytes too, as they are without surrogates."""
    try:
        text = "".join(map("".join, ids))
        return "\0" not in text and (text.isascii() or bool(text.encode()))
    except (TypeError, UnicodeEncodeError):
        return False


def _scores(data: Nested) -> Floats | None:
    """The scores of all documents, None where one is not a finite number."""
    if data.numbers is not None:
        scores, wrong = data.numbers.numbers(slice(None), data.number)
        return None if wrong.total else scores
    values: list[Any] = []
    for documents in data.documents:
        values += documents.values()
    floats = _floats(values)
    if floats is not None:
        return floats if np.isfinite(floats).all() else None
    scores, wrong = object_numbers(values, data.number)
    return None if wrong.total else scores


def _floats(values: list[Any]) -> Floats | None:
    """Values that are all of type float, as mostly; marshal tells so in half the time of looking at each."""
    try:
        text = marshal.dumps(values, 2)
    except ValueError:
        return None
    if text[_LIST :: _FLOAT.itemsize] != b"g" * len(values):
        return None
    return np.frombuffer(text, _FLOAT, offset=_LIST)["value"].astype(np.float64)


def _ranks(
    data: Nested, scores: Floats, ties: str, query: Ints, found: Floats, row: Ints, names: Texts
) -> tuple[Ints, Ints, Ints, Ints]:
    """The rank of each hit; which hits are tied, and the first and the last rank with their scores.

    query, found, row: the query in the run, the score, and the row of the qrels of each hit. names: of rows.
    """
    segments = Segments(data.offsets)
    # complex numbers are ordered by their real parts, the queries, then by the imaginary ones
    ordered, wanted = np.full(len(scores) + 1, np.inf, np.complex128), np.empty(len(found), np.complex128)
    ordered.real[:-1], ordered.imag[:-1] = segments.query, -segments.sorted_descending(scores)
    wanted.real, wanted.imag = query, -found
    place = np.searchsorted(ordered, wanted)
    rank = place - data.offsets[query] + 1
    tied = np.flatnonzero(ordered[place + 1] == wanted)
    first, last = rank[tied], rank[tied]
    groups: dict[int, dict[str, int]] = {}  # the documents with one score, by its first place
    for i, (hit, top) in enumerate(zip(tied.tolist(), place[tied].tolist(), strict=True)):
        group = groups.get(top)
        if group is None:
            of_run = query[hit]
            is_tied = scores[data.offsets[of_run] : data.offsets[of_run + 1]] == found[hit]
            tied_names = [*compress(data.documents[of_run], is_tied.tobytes())]
            ordered_names = sorted(tied_names, reverse=True) if ties == DEFAULT_TIES else tied_names
            group = groups[top] = {name: number for number, name in enumerate(ordered_names)}
        rank[hit] += group[names[row[hit]]]
        last[i] += len(group) - 1
    return rank, tied, first, last
