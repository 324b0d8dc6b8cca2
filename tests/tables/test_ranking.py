"""Whole queries ranked in memory: order, ties by each rule, and the judged documents among them."""

import numpy as np
from helpers import each
from plain import ranking

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


@each("equal", [1, 3, 60])
@each("pieces", [1, 2, 3, 60])
def test_queries_in_sorted_pieces(pieces, equal):
    """As where files are joined; with few ties or many, and however many pieces there are."""
    run = {}
    for query, size in ((b"q", 240), (b"r", 121), (b"s", 300)):
        lines = [(b"d%d" % n, float(n // equal)) for n in reversed(range(size))]
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


@each(
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


def test_query_indices():
    table = qrels_of({b"b": {b"d": 1}, b"a": {b"d": 1}, b"c": {b"d": 1}})
    assert query_indices(table, Ids.of([])).tolist() == []
    ids = Ids.of([b"a", b"x", b"b", b"y", b"x", b"c", b"a"])
    assert query_indices(table, ids).tolist() == [1, 3, 0, 4, 3, 2, 1]
