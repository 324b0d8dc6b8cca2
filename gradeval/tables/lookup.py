"""A run of dicts reduced by looking up the judged documents, without reading the ids of the others.

It gives what tables/reduction gives for the same dicts, and leaves to it all that it does not know: ids that
are no strings, numbers that are not finite, and whatever else may be an error.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable
from itertools import compress, islice, pairwise, repeat
from operator import contains
from typing import Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, ranges
from gradeval.arrays.strings import Texts
from gradeval.formats.memory import Nested, are_texts, object_numbers
from gradeval.options import DEFAULT_TIES
from gradeval.records import Record
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import Ties
from gradeval.tables.reduction import Reduced

_FLOAT = np.dtype([("type", "S1"), ("value", "<f8")])  # as marshal writes it
_LIST = 5  # bytes before those of a list
_UNJUDGED = repeat((-1, ()))
_AT_ONCE = 1 << 12  # documents that are read together, which stay in the processor's cache


def looked_up(data: Nested, qrels: Qrels, ties: str) -> Reduced | None:
    """The ranks of the judged documents, None where reduction must find them. ties: of tied scores."""
    if ties not in (DEFAULT_TIES, "input") or set(map(type, data.documents)) != {dict}:
        return None
    judged = qrels.judged
    missing = repeat(np.nan)
    indices = []  # of the queries in the qrels, -1 for those that are not judged
    numbers: list[Any] = []  # the scores of the judged documents
    scores = np.empty(data.rows)
    for first, end in pairwise(data.cuts(_AT_ONCE)):
        queries, documents = data.queries[first:end], data.documents[first:end]
        # a document with the query's id is worth a notice
        if not are_texts([queries, *documents]) or any(map(contains, documents, queries)):
            return None
        for of_query, (index, names) in zip(documents, map(judged.get, queries, _UNJUDGED), strict=False):
            indices.append(index)
            numbers += map(of_query.get, names, missing)
        if not _read(data, first, end, scores[data.offsets[first] : data.offsets[end]]):
            return None
    floats = _floats(numbers)
    run_score = np.fromiter(numbers, np.float64, len(numbers)) if floats is None else floats.astype(np.float64)
    if data.convert is not None:
        run_score = data.convert(run_score)
    query_of = np.array(indices, np.int64)
    lengths = data.offsets[1:] - data.offsets[:-1]
    [of_run] = (query_of >= 0).nonzero()
    judged_query = query_of[of_run]
    counts = qrels.ideal.segments.lengths[judged_query]
    [present] = (run_score == run_score).nonzero()
    row = ranges(qrels.offsets[judged_query], counts)[present]
    hits = _Hits(of_run.repeat(counts)[present], run_score[present], row)
    hit_rank, tied = _ranks(data, scores, hits, qrels.names, ties)
    rank = np.full(len(qrels.grade), np.inf)
    score = -rank
    rank[row] = hit_rank
    score[row] = hits.score
    retrieved = np.zeros(len(qrels.queries), np.int64)
    retrieved[judged_query] = lengths[of_run]
    unjudged = int(np.count_nonzero(lengths[query_of < 0]))
    return Reduced(rank, score, retrieved, unjudged, tied)


class _Hits(Record, eq=False):
    """The judged documents that a run retrieved, (n,)."""

    query: Ints  # in the run
    score: Floats
    row: Ints  # of the qrels


def _read(data: Nested, first: int, end: int, scores: Floats) -> bool:
    """Set the scores of all documents of queries first:end; False where one is not a finite number."""
    if data.numbers is not None:
        rows = slice(int(data.offsets[first]), int(data.offsets[end]))
        scores[:], wrong = data.numbers.numbers(rows, data.number)
        return not wrong.total
    values: list[Any] = []
    for documents in data.documents[first:end]:
        values += documents.values()
    floats = _floats(values)
    if floats is not None:
        scores[:] = floats
        return bool(np.isfinite(scores).all())
    scores[:], wrong = object_numbers(values, data.number)
    return not wrong.total


def _floats(values: list[Any]) -> Floats | None:
    """Values that are all of type float, as mostly; marshal tells so in half the time of looking at each."""
    try:
        text = marshal.dumps(values, 2)
    except ValueError:
        return None
    if text[_LIST :: _FLOAT.itemsize] != b"g" * len(values):
        return None
    return np.frombuffer(text, _FLOAT, offset=_LIST)["value"]


def _ranks(data: Nested, scores: Floats, hits: _Hits, names: Texts, ties: str) -> tuple[Ints, Ties]:
    """The rank of each hit, and those that are tied. scores: of all documents. names: of rows of the qrels."""
    segments = Segments(data.offsets)
    start = data.offsets[hits.query]
    ordered = segments.sorted_descending(scores)
    above = _last_above(segments, ordered, hits)
    rank = above - start + 2
    below = above + 2
    is_tied = (ordered.take(below, mode="clip") == hits.score) & (below < data.offsets[hits.query + 1])
    [tied] = is_tied.nonzero()
    if not len(tied):
        return rank, Ties(tied, tied, tied)
    tie_ends = segments.ties(ordered).ends
    top = rank[tied]
    first = above[tied] + 1
    last = tie_ends[tie_ends.searchsorted(first, "right")] - 1
    row = hits.row[tied]
    columns = (hits.query[tied], first, last, hits.score[tied])
    tied_hits = zip(*(column.tolist() for column in columns), map(names.__getitem__, row.tolist()), strict=True)
    rank[tied] += _places(data, tied_hits, None if ordered is scores else scores, ties)
    return rank, Ties(row, top, top + last - first)


def _places(
    data: Nested, hits: Iterable[tuple[int, int, int, float, str]], scores: Floats | None, ties: str
) -> Ints:
    """The place of each hit among the documents with its score. hits: the query, the first and the last
    position with the score, the score, and the document of each. scores: of all documents, None where they
    descend.
    """
    groups: dict[int, dict[str, int]] = {}  # the documents with one score, by their first position
    places = []
    for query, first, last, score, name in hits:
        group = groups.get(first)
        if group is None:
            documents = data.documents[query]
            begin = int(data.offsets[query])
            if scores is None:
                members: Iterable[str] = islice(documents, first - begin, last + 1 - begin)
            else:
                members = compress(documents, (scores[begin : begin + len(documents)] == score).tolist())
            in_order = sorted(members, reverse=True) if ties == DEFAULT_TIES else members
            group = groups[first] = {document: position for position, document in enumerate(in_order)}
        places.append(group[name])
    return np.array(places, np.int64)


def _last_above(segments: Segments, ordered: Floats, hits: _Hits) -> Ints:
    """The last position in the scores of its query, which descend, where each hit has a higher score."""
    longest = int(segments.lengths.max())
    remaining: Any = longest if longest * segments.count == len(ordered) else segments.lengths[hits.query]
    above = segments.offsets[hits.query] - 1
    for _ in range(longest.bit_length()):  # all queries are halved at once
        half = (remaining + 1) >> 1
        above += half * (ordered.take(above + half) > hits.score)
        remaining = remaining >> 1
    return above
