"""Qrels from rows, queries ranked in memory, and the table of where a run put the judged documents."""

from itertools import pairwise

import numpy as np
from helpers import each, each_row, error_of, raises
from hypothesis import given
from hypothesis import strategies as st
from plain import ranking

from gradeval.arrays.strings import Ids
from gradeval.errors import InputError, InputErrors, OptionError
from gradeval.formats.columns import Columns
from gradeval.options import TIES, Options
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import MERGE_HINT, RECALLED, Qrels
from gradeval.tables.ranking import RunLines, find, query_indices


def qrels_of(rows, line=None):
    ids, documents = Ids.of([query for query, _, _ in rows]), Ids.of([document for _, document, _ in rows])
    grade = np.array([grade for _, _, grade in rows], float)
    return Qrels.of("Q", [Columns.whole(ids, documents, grade, line)])


def rows_of(qrels):
    query = np.repeat(np.array(qrels.queries.tolist(), object), np.diff(qrels.offsets))
    return list(zip(query.tolist(), qrels.documents.tolist(), qrels.grade.tolist(), strict=True))


def test_rows_of_a_query_are_brought_together():
    qrels = qrels_of([(b"b", b"x", 1.0), (b"a", b"x", 2.0), (b"b", b"a", 0.0), (b"a", b"b", 1.5)])
    assert rows_of(qrels) == [(b"b", b"x", 1.0), (b"b", b"a", 0.0), (b"a", b"x", 2.0), (b"a", b"b", 1.5)]
    assert qrels.offsets.tolist() == [0, 2, 4]
    assert qrels.keys.tolist() == qrels.documents.keys().tolist()
    assert qrels.query_index.find(Ids.of([b"a", b"b", b"c"])).tolist() == [1, 0, -1]


def test_the_same_grade_again_is_a_warning():
    qrels = qrels_of([(b"1", b"a", 1.0), (b"2", b"a", 1.0), (b"1", b"a", 1.0)])
    assert rows_of(qrels) == [(b"1", b"a", 1.0), (b"2", b"a", 1.0)]
    assert [*map(str, qrels.notices)] == ["Q: 1 duplicate judgment with the same grade"]
    assert [*map(str, qrels_of([(b"1", b"a", 1.0)] * 4).notices)] == [
        "Q: 3 duplicate judgments with the same grade"
    ]
    assert qrels_of([(b"1", b"a", 0.0), (b"1", b"a", -0.0)]).notices
    assert qrels.keys.tolist() == qrels.documents.keys().tolist()  # which follow the documents


def test_another_grade_is_an_error():
    rows = [(b"1", b"a", 1.0), (b"2", b"a", 2.0), (b"1", b"a", 0.5)]
    raises(
        InputError, r"^Q:3: document 'a' has grade 0\.5 here and 1 before in line 1\. --merge", qrels_of, rows
    )
    what = r"^Q:10: document 'a' has grade 0\.5 here and 1 before in line 8\. --merge"
    raises(InputError, what, qrels_of, rows, np.arange(7, 10))
    error = error_of(InputErrors, qrels_of, [*rows, (b"2", b"a", -1.0), (b"2", b"a", 2.0)], np.arange(5))
    assert error.splitlines() == [
        f"Q:3: document 'a' has grade 0.5 here and 1 before in line 1. {MERGE_HINT}",
        "Q:4: document 'a' has grade -1 here and 2 before in line 2",
    ]


def test_the_zero_grade_is_subtracted():
    qrels = qrels_of([(b"1", b"a", 1.0), (b"1", b"b", 3.0), (b"1", b"c", 1.8)])
    assert qrels.evaluated(Options()) is qrels
    assert qrels.evaluated(Options(zero_grade=1.5)).grade.tolist() == [-0.5, 1.5, 0.3]
    assert qrels.grade.tolist() == [1.0, 3.0, 1.8]


@each(("grade", "less"), [(1e150, -1e150), (-1e150, 1e150), (1e-150, 1.0000000000000002e-150)])
def test_the_zero_grade_stays_in_the_range_of_grades(grade, less):
    qrels = qrels_of([(b"1", b"a", less), (b"1", b"b", grade)])
    what = "^zero_grade leaves a grade that is out of range: .* rescale them$"
    raises(OptionError, what, qrels.evaluated, Options(zero_grade=less))


def test_grades_out_of_range_are_errors_with_their_lines():
    for grade in (1e150, -1e150, 1e-150, -1e-150, 0.0, -0.0):
        assert qrels_of([(b"1", b"a", grade)]).grade.tolist() == [grade]
    rows = [(b"2", b"a", 1.01e150), (b"1", b"a", 0.0), (b"2", b"b", -1e308), (b"1", b"c", 5e-324)]
    hint = "Grades are 0 or between 1e-150 and 1e150 in absolute value; rescale them"
    for line, places in ((None, (1, 3, 4)), (np.array([6, 7, 8, 9]), (7, 9, 10))):
        error = error_of(InputErrors, qrels_of, rows, line)
        grades = zip(places, ("1.01e+150", "-1e+308", "5e-324"), strict=True)
        assert error.splitlines() == [
            f"Q:{place}: the grade {grade} is out of range. {hint}" for place, grade in grades
        ]


@st.composite
def rankings(draw):
    """Queries, each a list of (grade, rank or None), its documents being retrieved or not, and its depth."""
    queries = []
    for size in draw(st.lists(st.integers(1, 8), min_size=1, max_size=5)):
        retrieved = draw(st.integers(0, 30))
        ranks = draw(st.lists(st.integers(1, 30), min_size=size, max_size=size, unique=True))
        grades = draw(st.lists(st.sampled_from([-1.0, 0.0, 1.0, 2.0]), min_size=size, max_size=size))
        queries.append(
            ([(g, r if r <= retrieved else None) for g, r in zip(grades, ranks, strict=True)], retrieved)
        )
    return queries


def judgments_of(queries, level=None):
    """The table; the score of rank r is -r."""
    rows = [
        (b"%d" % q, b"%d" % d, grade) for q, (of, _) in enumerate(queries) for d, (grade, _) in enumerate(of)
    ]
    ranks = [rank for of, _ in queries for _, rank in of]
    rank = np.array([np.inf if rank is None else rank for rank in ranks], np.float64)
    retrieved = np.array([count for _, count in queries])
    return Judgments.of(qrels_of(rows), slice(0, len(queries)), rank, -rank, retrieved, relevance_level=level)


def plain(queries):
    """(grade, rank, score, row of the qrels) by query, in order of rank, what is not retrieved last."""
    table, row = [], 0
    for of, _ in queries:
        numbered = [(grade, np.inf if rank is None else rank, row + n) for n, (grade, rank) in enumerate(of)]
        row += len(of)
        table.append([(g, r, -float(r), at) for g, r, at in sorted(numbered, key=lambda one: one[1:])])
    return table


def as_plain(table):
    columns = table.grade, table.rank, table.score, table.document
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    return [rows[a:b] for a, b in pairwise(table.segments.offsets.tolist())]


def with_ranks(queries, ranks_of):
    """The rows with the ranks that ranks_of(rows of a query) gives, None where one is not retrieved."""
    table = []
    for of in queries:
        pairs = zip(of, ranks_of(of), strict=True)
        rows = [(g, *((np.inf, -np.inf) if rank is None else (rank, s)), at) for (g, _, s, at), rank in pairs]
        table.append(sorted(rows, key=lambda row: row[1]))  # which keeps the order of those not retrieved
    return table


def closed_ranks(rows):
    """A grade below 0 is that of a document that was not judged after all."""
    count = iter(range(1, len(rows) + 1))
    return [next(count) if grade >= 0 and rank < np.inf else None for grade, rank, _, _ in rows]


@given(rankings(), st.integers(1, 12))
def test_judgments(queries, depth):
    """Judged documents only and a depth, alone and together; levels."""
    table, rows = judgments_of(queries), plain(queries)
    assert as_plain(table) == rows
    assert table.rank.dtype == table.score.dtype == table.grade.dtype == np.float64
    assert table.retrieved.tolist() == [count for _, count in queries]
    assert table.query.tolist() == [q for q, (of, _) in enumerate(queries) for _ in of]
    assert table.is_retrieved.tolist() == [rank < np.inf for of in rows for _, rank, _, _ in of]
    assert as_plain(table.found) == [[row for row in of if row[1] < np.inf] for of in rows]

    def cut_ranks(of):
        return [rank if rank <= depth else None for _, rank, _, _ in of]

    judged, cut, closed = table.judged_only(), table.cut(depth), with_ranks(rows, closed_ranks)
    assert as_plain(judged) == closed
    assert judged.retrieved.tolist() == [sum(rank < np.inf for _, rank, _, _ in of) for of in closed]
    assert as_plain(cut) == with_ranks(rows, cut_ranks)
    assert cut.retrieved.tolist() == [min(count, depth) for _, count in queries]
    assert as_plain(judged.cut(depth)) == with_ranks(closed, cut_ranks)
    assert judged.cut(depth).retrieved.tolist() == [min(n, depth) for n in judged.retrieved.tolist()]
    assert as_plain(cut.judged_only()) == with_ranks(with_ranks(rows, cut_ranks), closed_ranks)
    assert as_plain(table) == rows

    by_query = [[grade for grade, _, _, _ in of] for of in rows]
    assert table.ideal.tolist() == [g for grades in by_query for g in sorted(grades, reverse=True)]
    assert table.grade[table.by_grade].tolist() == table.ideal.tolist()
    assert table.levels.lengths.tolist() == [len(set(grades)) for grades in by_query]
    assert table.level.tolist() == [sorted(set(grades)).index(g) for grades in by_query for g in grades]
    assert table.level[table.by_grade].tolist() == table.ideal_level.tolist()
    assert table.highest.tolist() == [max(0.0, *grades) for grades in by_query]


def test_what_is_shared_does_not_grow_with_the_metrics():
    table = judgments_of([([(float(grade), grade) for grade in range(1, 100)], 99)])
    first = table.hits(1.0)
    for level in range(2, 100):
        assert table.hits(float(level)).relevant.tolist() == [100 - level]
        assert table.hits(1.0) is first and len(table._made) <= RECALLED


def qrels_by_id(qrels):
    rows = [(query, document, grade) for query, of in qrels.items() for document, grade in of.items()]
    queries, documents, grades = zip(*rows, strict=True)
    return Qrels.of("qrels", [Columns.whole(Ids.of(queries), Ids.of(documents), np.array(grades, float))])


def lines_of(table, run):
    rows = [(query, document, score) for query, of in run.items() for document, score in of]
    queries, documents = (Ids.of([row[column] for row in rows]) for column in (0, 1))
    return RunLines.of(Columns.whole(queries, documents, np.array([row[2] for row in rows], float)), table)


def ranks_of(qrels, run, ties="trec"):
    table = qrels_by_id(qrels)
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
            ordered = ranking(lines, qrels[query], ties)
            assert [ranks[name] for name in ordered] == [*range(1, len(lines) + 1)]


TIED = [(b"b", 1.0), (b"u", 1.0), (b"a", 1.0), (b"c", 2.0), (b"\xff", 1.0), (b"aa", 1.0), (b"d", 0.0)]
GRADES = {b"a": 2, b"b": 1, b"aa": 0, b"\xff": -1, b"c": 0, b"d": 5}


@each_row(
    ("trec", [b"c", b"\xff", b"u", b"b", b"aa", b"a", b"d"]),
    ("input", [b"c", b"b", b"u", b"a", b"\xff", b"aa", b"d"]),
    ("best", [b"c", b"a", b"b", b"u", b"aa", b"\xff", b"d"]),
    ("worst", [b"c", b"\xff", b"u", b"aa", b"b", b"a", b"d"]),
)
def test_ties(ties, order):
    """By id as bytes, as they stand, or by grade with unjudged documents as grade 0, then by id."""
    assert ranking(TIED, GRADES, ties) == order
    ranks = ranks_of({b"q": GRADES}, {b"q": TIED}, ties)
    assert ranks == {document: rank for rank, document in enumerate(order, 1) if document in GRADES}


def test_query_indices():
    table = qrels_by_id({b"b": {b"d": 1}, b"a": {b"d": 1}, b"c": {b"d": 1}})
    assert query_indices(table, Ids.of([])).tolist() == []
    ids = Ids.of([b"a", b"x", b"b", b"y", b"x", b"c", b"a"])
    assert query_indices(table, ids).tolist() == [1, 3, 0, 4, 3, 2, 1]
