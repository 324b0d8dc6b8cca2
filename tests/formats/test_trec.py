"""TREC's qrels and runs: what is read, and the error of everything else with its line."""

from __future__ import annotations

import pytest
from helpers import each, examples
from hypothesis import given
from hypothesis import strategies as st
from plain import Halting

from formats.trec_rows import SIZES, errors_of, qrels_of, run_of
from gradeval.errors import InputError
from gradeval.formats.trec import not_a_number
from gradeval.tables.load import read_qrels_file

QRELS = [(b"301", b"d1", 1.0), (b"301", b"d2", 0.0), (b"302", b"d1", 2.0)]


@each(
    "text",
    [
        b"301 0 d1 1\n301 0 d2 0\n302 0 d1 2\n",
        b"301 0 d1 1\n301 0 d2 0\n302 0 d1 2",
        b"301\t0\td1\t1\n301 0\td2 0\n302 \t 0   d1\t\t2\n",
        b"  301 0 d1 1  \n\t301 0 d2 0\t\n302 0 d1 2\n",
        b"301 0 d1 1\r\n301 0 d2 0\r\n302 0 d1 2\r\n",
        b"301 0 d1 1\r\n301 0 d2 0\n302 0 d1 2\r",
        b"\xef\xbb\xbf301 0 d1 1\n301 0 d2 0\n302 0 d1 2\n",
        b"# query iter document grade\n\n301 0 d1 1\n   \n301 0 d2 0\n  # more\n\r\n302 0 d1 2\n#\n\n",
        b"301 Q0 d1 1.0\n301 x d2 -0\n302 # d1 2e0\n",
        b"302 0 d1 2\n301 0 d1 1\n301 0 d2 0\n",
        b"301 0 d1 1\n302 0 d1 2\n301 0 d2 0\n",
    ],
    ids=ascii,
)
@each("size", SIZES)
@each("jobs", [1, 2])
def test_qrels(text, size, jobs, path):
    queries, warnings = qrels_of(path, text, size, jobs)
    assert queries == {b"301": {b"d1": 1.0, b"d2": 0.0}, b"302": {b"d1": 2.0}}
    assert warnings == ()


@pytest.mark.parametrize("jobs", [1, 2])
def test_blocks_without_lines(jobs, path):
    """What a pipe yields that brings nothing for a while."""
    path.write_bytes(b"301 0 d1 1\n\n302 0 d1 2\n301 0 d2 x\n301 0 d2 0\n")
    for size in SIZES:
        with pytest.raises(InputError, match=":4: the grade 'x' is not a number"):
            read_qrels_file(Halting(path, size), jobs)
    path.write_bytes(b"301 0 d1 1\n\n302 0 d1 2\n301 0 d2 0\n")
    for size in SIZES:
        table = read_qrels_file(Halting(path, size), jobs)
        assert (table.queries.tolist(), table.documents.tolist()) == ([b"301", b"302"], [b"d1", b"d2", b"d1"])


def test_order_of_queries_is_that_of_the_file(path):
    queries, _ = qrels_of(path, b"b 0 y 1\na 0 x 1\nb 0 x 2\nc 0 x 1\na 0 w 3\n")
    assert list(queries) == [b"b", b"a", b"c"]
    assert list(queries[b"b"]) == [b"y", b"x"]


def test_grades_are_real_numbers(path):
    grades = {b"a": 1.5, b"b": -2.0, b"c": 3e-5, b"d": 0.1, b"e": 1e150, b"f": 5.0, b"g": 0.5, b"h": 1.0}
    written = zip(grades, [b"1.5", b"-2", b"3e-5", b".1", b"1E150", b"5.", b"+0.5", b"1"], strict=True)
    text = b"".join(b"q 0 %s %s\n" % pair for pair in written)
    assert qrels_of(path, text)[0] == {b"q": grades}


NAMES = [
    b"\xc3\xa9t\xc3\xa9",
    "a\u00a0b\u2003c\u2028d\u3000".encode(),
    b"a\x0bb\x0cc\x1cd\x1fe\x85f",
    b"\xff\xfe\x80",
    b"a#b",
    b'"quoted',
    b"x" * 300,
    b"clueweb09-en0000-00-00000",
    b"\x7f",
]


@each("name", NAMES, ids=ascii)
@each("gap", [b" ", b"  "])
def test_ids_are_opaque_bytes(name, gap, path):
    assert qrels_of(path, gap.join([name, b"0", b"#" + name, b"1\n"]))[0] == {name: {b"#" + name: 1.0}}
    rows, problems = run_of(path, gap.join([name, b"Q0", name, b"1", b"2", b"tag\n"]))
    assert (rows, problems) == ([(name, name, 2.0)], [])


@each("rest", [b"", b" tag", b" tag more fields # here", b"\ttag\t", b" \r", b" tag" * 100], ids=ascii)
@each("ends", [b"\n", b"\r\n"])
def test_run_lines_end_as_they_like_after_the_score(rest, ends, path):
    text = b"1 Q0 a 1 2.5" + rest + ends + b"1 Q0 b 2 -1e-3" + rest + ends
    assert run_of(path, text) == ([(b"1", b"a", 2.5), (b"1", b"b", -1e-3)], [])
    assert run_of(path, text + b"2 Q0 a 0 7\n") == (
        [(b"1", b"a", 2.5), (b"1", b"b", -1e-3), (b"2", b"a", 7.0)],
        [],
    )


def test_q0_and_rank_may_be_anything(path):
    assert run_of(path, b"1 0 a zero 5\n1 Q1 b -7 4\n") == ([(b"1", b"a", 5.0), (b"1", b"b", 4.0)], [])


@pytest.mark.parametrize("size", SIZES)
def test_same_grade_twice_is_a_warning(size, path):
    text = b"q 0 a 1\nq 0 b 2\nr 0 a 1\nq 0 a 1.0\n"
    assert qrels_of(path, text, size) == (
        {b"q": {b"a": 1.0, b"b": 2.0}, b"r": {b"a": 1.0}},
        (f"{path}: 1 duplicate judgment with the same grade",),
    )
    assert qrels_of(path, text + b"r 0 a 1\nr 0 a 1\n", size)[1] == (
        f"{path}: 3 duplicate judgments with the same grade",
    )


@pytest.mark.parametrize("size", SIZES)
def test_two_grades_are_an_error_that_names_both_lines(size, path):
    text = b"q 0 a 1\n# no\nq 0 b 2\nr 0 a 1\nq 0 a 1.5\nq 0 b 2\n\nr 0 a 0\n"
    assert errors_of(path, text, size) == [
        "5: document 'a' has grade 1.5 here and 1 before in line 1",
        "8: document 'a' has grade 0 here and 1 before in line 4",
    ]


@examples(times=0.6)
@given(
    st.lists(
        st.tuples(st.sampled_from([b"1", b"2", b"33333333", b"4444444x"]), st.sampled_from([b"a", b"b", b"c"])),
        min_size=1, max_size=20,
    ),
    st.integers(1, 100),
)  # fmt: skip
def test_qrels_in_any_order(path, pairs, size):
    """Documents repeated or not, queries together or not: a dictionary would hold the same."""
    grades = {pair: float(len(pair[0]) + pair[1][0]) for pair in pairs}
    expected = {query: {} for query, _ in pairs}
    for (query, document), grade in grades.items():
        expected[query][document] = grade
    text = b"".join(b"%s 0 %s %r\n" % (*pair, grades[pair]) for pair in pairs)
    queries, warnings = qrels_of(path, text, size)
    assert [*queries.items()] == [*expected.items()]
    assert [[*of] for of in queries.values()] == [[*of] for of in expected.values()]
    assert len(warnings) == (len(grades) < len(pairs))


@pytest.mark.parametrize(("field", "kind"), [(b"x", "number"), (b"1_0", "number"), (b"nan", "finite number")])
def test_not_a_number(field, kind):
    assert not_a_number("score", field) == f"the score '{field.decode()}' is not a {kind}"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("before", [b"", b"r 1 a 1\n"], ids=["first", "behind"])
def test_the_highest_grade_of_subtopics_counts(size, before, path):
    text = before + b"q 1 a 0\nq 1 b 2\nq 2 a 2\np 1 a 1\nq 3 a 1\nq 2 c 1\nq a-longer-subtopic b 0\n"
    queries, notices = qrels_of(path, text, size)
    assert queries.pop(b"r", None) == ({b"a": 1} if before else None)
    assert queries == {b"q": {b"a": 2, b"b": 2, b"c": 1}, b"p": {b"a": 1}}
    assert notices == (f"{path}: 2 documents have judgments of subtopics; the highest grade counts",)


@pytest.mark.parametrize("size", SIZES)
def test_duplicates_within_a_subtopic(size, path):
    text = b"q 1 a 1\nq 2 a 0\nq 2 a 0\nq 1 a 1\n"
    assert qrels_of(path, text, size) == (
        {b"q": {b"a": 1.0}},
        (
            f"{path}: 2 duplicate judgments with the same grade",
            f"{path}: 1 document has judgments of subtopics; the highest grade counts",
        ),
    )
    [error] = errors_of(path, text + b"q 2 a 3\n", size)
    assert error == "5: document 'a' has grade 3 here and 0 before in line 2"


def test_a_column_2_that_differs_between_queries_is_no_subtopic(path):
    queries, notices = qrels_of(path, b"q 1 a 1\nr 2 a 0\nr 2 b 1\n")
    assert (queries, notices) == ({b"q": {b"a": 1}, b"r": {b"a": 0, b"b": 1}}, ())
