"""Whole queries ranked in memory: order, ties by each rule, and the judged documents among them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import ranking

from gradeval.arrays.segments import ranges
from gradeval.arrays.strings import Ids
from gradeval.formats.columns import Columns
from gradeval.options import TIES
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import Lines, find, query_indices


def qrels_of(qrels):
    rows = [(query, document, grade) for query, of in qrels.items() for document, grade in of.items()]
    queries, documents, grades = zip(*rows, strict=True)
    return Qrels.of("qrels", [Columns.whole(Ids.of(queries), Ids.of(documents), np.array(grades, float))])


def lines_of(table, run):
    rows = [(query, document, score) for query, of in run.items() for document, score in of]
    queries, documents = (Ids.of([row[column] for row in rows]) for column in (0, 1))
    return Lines.of(Columns.whole(queries, documents, np.array([row[2] for row in rows], float)), table)


def ranks_of(qrels, run, ties="trec"):
    """The rank of each judged document that was retrieved."""
    table = qrels_of(qrels)
    found = find(lines_of(table, run), table, ties)
    names = table.documents.tolist()
    return {names[row]: rank for row, rank in zip(found.row.tolist(), found.rank.tolist(), strict=True)}


def test_scores_fall():
    run = {b"q": [(b"a", -5.0), (b"b", 3.0), (b"c", 1e-9), (b"d", 0.0), (b"e", 1e9)]}
    assert ranks_of({b"q": dict.fromkeys([b"a", b"b", b"c", b"d", b"e", b"z"], 1)}, run) == {
        b"e": 1, b"b": 2, b"c": 3, b"d": 4, b"a": 5,
    }  # fmt: skip


@pytest.mark.parametrize("pieces", [1, 2, 3, 60])
def test_queries_in_sorted_pieces(pieces):
    """As where files are joined; with ties, and however many pieces there are."""
    run = {}
    for query, size in ((b"q", 240), (b"r", 121), (b"s", 300)):
        lines = [(b"d%d" % n, float(n // 3)) for n in reversed(range(size))]
        run[query] = [line for piece in range(pieces) for line in lines[piece::pieces]]
    qrels = {query: dict.fromkeys([query + name for name, _ in lines], 1) for query, lines in run.items()}
    run = {query: [(query + name, score) for name, score in lines] for query, lines in run.items()}
    for ties in TIES:
        ranks = ranks_of(qrels, run, ties)
        for query, lines in run.items():
            assert [ranks[name] for name in ranking(lines, qrels[query], ties)] == list(
                range(1, len(lines) + 1)
            )


TIED = [(b"b", 1.0), (b"u", 1.0), (b"a", 1.0), (b"c", 2.0), (b"\xff", 1.0), (b"aa", 1.0), (b"d", 0.0)]
GRADES = {b"a": 2, b"b": 1, b"aa": 0, b"\xff": -1, b"c": 0, b"d": 5}


@pytest.mark.parametrize(
    ("ties", "order"),
    [
        ("trec", [b"c", b"\xff", b"u", b"b", b"aa", b"a", b"d"]),
        ("input", [b"c", b"b", b"u", b"a", b"\xff", b"aa", b"d"]),
        ("best", [b"c", b"a", b"b", b"u", b"aa", b"\xff", b"d"]),
        ("worst", [b"c", b"\xff", b"u", b"aa", b"b", b"a", b"d"]),
    ],
)
def test_ties(ties, order):
    """By id as bytes, as they stand, or by grade with unjudged documents as grade 0, then by id."""
    assert ranking(TIED, GRADES, ties) == order
    ranks = ranks_of({b"q": GRADES}, {b"q": TIED}, ties)
    assert ranks == {document: rank for rank, document in enumerate(order, 1) if document in GRADES}


@pytest.mark.parametrize("ties", TIES)
def test_zero_and_minus_zero_tie(ties):
    run = {b"q": [(b"a", 0.0), (b"b", -0.0), (b"c", 0.0)]}
    grades = {b"a": 1, b"b": 1, b"c": 1}
    order = ranking(run[b"q"], grades, ties)
    assert ranks_of({b"q": grades}, run, ties) == {document: rank for rank, document in enumerate(order, 1)}


def test_tied_documents():
    """Those that are judged, and the ranks between which all stand that have their score."""
    table = qrels_of({b"1": {b"z": 1}, b"q": {b"a": 1, b"b": 2, b"c": 1, b"e": 0, b"f": -1}})
    scores = {b"a": 3, b"x": 3, b"y": 4, b"c": 2, b"v": 1, b"w": 1, b"f": 0, b"e": 0, b"z": 0, b"b": -1}
    for ties in TIES:
        found = find(lines_of(table, {b"other": [(b"a", 1.0), (b"b", 1.0)], b"q": scores.items()}), table, ties)
        names = [table.documents[row] for row in found.ties.row]
        ranks = zip(found.ties.first.tolist(), found.ties.last.tolist(), strict=True)
        assert dict(zip(names, ranks, strict=True)) == {b"a": (2, 3), b"e": (7, 9), b"f": (7, 9)}


def test_found():
    table = qrels_of({b"1": {b"a": 1}, b"2": {b"a": 1, b"b": 0}, b"3": {b"c": 1}})
    run = {b"x": [(b"a", 1.0)], b"2": [(b"c", 3.0), (b"b", 2.5), (b"d", 2.0)], b"1": [(b"z", 1.0)]}
    found = find(lines_of(table, run), table)
    assert dict(zip(found.query.tolist(), found.retrieved.tolist(), strict=True)) == {0: 1, 1: 3, 3: 1}
    assert (found.row.tolist(), found.rank.tolist(), found.score.tolist()) == ([2], [2], [2.5])
    assert (found.ties.row.tolist(), found.repeats) == ([], (0, [], [], [], 4))


def test_repeated():
    """Within a query only, judged or not; lines as they were counted."""
    table = qrels_of({b"1": {b"a": 1}, b"2": {b"a": 1}})
    run = {
        b"1": [(b"a", 3.0), (b"b", 2.0), (b"a", 1.0), (b"b", 2.0), (b"a", 3.0)],
        b"2": [(b"a", 1.0), (b"b", 0.0)],
    }
    lines = lines_of(table, run).later(10)
    assert find(lines, table).repeats == (3, [12, 13, 14], [10, 11, 10], [b"a", b"b", b"a"], 16)
    lines = lines_of(table, {b"x": [(b"u", 1.0), (b"u", 2.0)]})
    assert find(lines, table).repeats == (1, [1], [0], [b"u"], 0)
    lines = lines_of(table, {b"x": [(b"%d" % (n % 3), 1.0) for n in range(1000)]})
    repeats = find(lines, table).repeats
    assert (repeats.total, repeats.line, repeats.last_new) == (997, list(range(3, 23)), 2)
    assert repeats.document == [b"%d" % (n % 3) for n in range(3, 23)]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 4))))
def test_ranges(pairs):
    starts, counts = np.array(pairs, np.int64).reshape(-1, 2).T
    assert ranges(starts, counts).tolist() == [start + n for start, count in pairs for n in range(count)]


def table_of(lines):
    """(query, document, score, line) of each row, by query."""
    bounds = zip(lines.query.tolist(), lines.bounds[:-1].tolist(), lines.bounds[1:].tolist(), strict=True)
    rows = list(zip(lines.documents.tolist(), lines.score.tolist(), lines.line.tolist(), strict=True))
    return [(query, rows[a:b]) for query, a, b in bounds]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([b"a", b"bb"]), st.integers(0, 2)), max_size=15))
def test_lines(rows):
    query = np.array([row[0] for row in rows], np.int64)
    documents = Ids.of([row[1] for row in rows])
    lines = Lines.grouped(query, documents, np.array([float(row[2]) for row in rows]), np.arange(len(rows)))
    expected = [
        (one, [(document, float(score), line) for line, (q, document, score) in enumerate(rows) if q == one])
        for one in sorted(set(query.tolist()))
    ]
    assert table_of(lines) == table_of(lines.compact()) == expected
    count = len(expected)
    for first in range(count + 1):
        for last in range(first, count + 1):
            assert table_of(lines.part(first, last)) == expected[first:last]
    later = [(q, [(document, score, line + 7) for document, score, line in of]) for q, of in expected]
    assert table_of(lines.later(7)) == later
    if expected:
        one = lines.part(0, 1).compact()
        again = expected[0][1] + later[0][1]
        assert table_of(Lines.joined([one, one.later(7)])) == [(expected[0][0], again)]
        assert Lines.joined([one]) is one


def test_query_indices():
    table = qrels_of({b"b": {b"d": 1}, b"a": {b"d": 1}, b"c": {b"d": 1}})
    assert query_indices(table, Ids.of([])).tolist() == []
    ids = Ids.of([b"a", b"x", b"b", b"y", b"x", b"c", b"a"])
    assert query_indices(table, ids).tolist() == [1, 3, 0, 4, 3, 2, 1]
