"""Runs reduced block by block against a ranking in plain Python."""

from __future__ import annotations

import tracemalloc
from contextlib import ExitStack

import numpy as np
import pytest
from helpers import examples
from hypothesis import given
from hypothesis import strategies as st
from plain import Cut, Halting, pipe, reduced, repeated

from gradeval.arrays.strings import Ids
from gradeval.errors import InputError, InputErrors
from gradeval.formats import sources
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import SHOWN
from gradeval.formats.sources import Source
from gradeval.formats.trec import run_columns
from gradeval.options import TIES
from gradeval.tables import reduction
from gradeval.tables.load import read_qrels
from gradeval.tables.reduction import reduce_blocks, reduce_columns

QUERIES = st.sampled_from([b"1", b"10", b"2", b"q" * 9, b"q" * 8, b"q" * 100, b"\xff\x01"])
LONG = [b"a" * 8, b"a" * 9, b"a" * 8 + b"\xff", b"a" * 16, b"b" * 70, b"b" * 1030, b"b" * 1029 + b"c"]
DOCUMENTS = st.sampled_from([b"a", b"b", b"A", b"\xc3\xa9", b"\x01", *LONG, *(b"d%d" % n for n in range(8))])
SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.0, 2.0, 2.5, -1.0, 1e300, 1e-300])
GRADES = st.sampled_from([0.0, 0.0, 1.0, 1.0, 2.0, 0.5, -1.0, -2.0])

QRELS = st.dictionaries(QUERIES, st.dictionaries(DOCUMENTS, GRADES, min_size=1), min_size=1, max_size=4)
FEW = st.tuples(st.sampled_from([b"1", b"2", b"x", b"y"]), st.sampled_from([b"a", b"b", b"c", b"d"]), SCORES)


@st.composite
def runs(draw, unique=True):
    """Lines of a run: as trec_eval likes them, grouped but in no order, interleaved, or in any order."""
    if unique:
        line = st.tuples(QUERIES, DOCUMENTS, SCORES)
        lines = draw(st.lists(line, min_size=1, max_size=40, unique_by=lambda line: line[:2]))
    else:
        lines = draw(st.lists(FEW, min_size=4, max_size=40))
    order = draw(st.sampled_from(["sorted", "grouped", "any", "sorted but for one"]))
    if order == "grouped":
        lines.sort(key=lambda line: line[0])
    elif order != "any":
        lines.sort(key=lambda line: (line[0], -line[2]))
    if order == "sorted but for one":
        lines.append(lines.pop(draw(st.integers(0, len(lines) - 1))))
    return lines


@st.composite
def texts(draw, lines):
    """The text of a run, and which of its lines are data; some others may stand between."""
    text, number, at = [], [], 0
    noisy = draw(st.booleans())
    for query, document, score in lines:
        if noisy and draw(st.integers(0, 4)) == 0:
            text.append(draw(st.sampled_from([b"\n", b"# a comment\n", b" \t\r\n", b"\n\n"])))
            at += text[-1].count(b"\n")
        text.append(b"%s Q0 %s 0 %s tag\n" % (query, document, repr(score).encode()))
        at += 1
        number.append(at)
    return b"".join(text), number


def qrels_text(qrels):
    return b"".join(
        b"%s 0 %s %r\n" % (q, d, grade) for q, grades in qrels.items() for d, grade in grades.items()
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reduction")


def table_of(folder, qrels):
    path = folder / "qrels"
    path.write_bytes(qrels_text(qrels))
    return read_qrels(Cut(path))


def as_plain(result, table):
    """What was kept, in the form of the plain ranking."""
    query = np.repeat(np.arange(len(table.queries)), np.diff(table.offsets))
    queries, documents = table.queries.tolist(), table.documents.tolist()
    found = {
        (queries[query[row]], documents[row]): (rank, score)
        for row, (rank, score) in enumerate(zip(result.rank.tolist(), result.score.tolist(), strict=True))
        if rank != np.inf
    }
    assert (result.score[result.rank == np.inf] == -np.inf).all()
    return {
        "found": found,
        "retrieved": result.retrieved.tolist(),
        "unjudged": result.unjudged,
        "tied": {
            (queries[query[row]], documents[row]): (first, last)
            for row, first, last in zip(*(column.tolist() for column in result.ties), strict=True)
        },
    }


SIZES = st.one_of(st.integers(1, 300), st.just(1 << 20))
JOBS = st.sampled_from([1, 1, 2, 4])


@examples(times=4)
@given(st.data(), QRELS, runs(), st.sampled_from(TIES), SIZES, JOBS)
def test_reduce_blocks(folder, data, qrels, run, ties, size, jobs):
    table = table_of(folder, qrels)
    path = folder / "run"
    text, _ = data.draw(texts(run))
    path.write_bytes(text)
    result = reduce_blocks(Cut(path, size), run_columns, table, ties, jobs)
    assert as_plain(result, table) == reduced(qrels, run, ties)


@examples(times=1.5)
@given(st.data(), QRELS, runs(), st.sampled_from(TIES), SIZES, JOBS, st.sampled_from([8, 64, 8 << 20]))
def test_by_sorting(folder, data, qrels, run, ties, size, jobs, share):
    """The way through a temporary file gives the same for any run, however many shares it is sorted into."""
    table = table_of(folder, qrels)
    path = folder / "run"
    path.write_bytes(data.draw(texts(run))[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reduction, "_SHARE", share)
        result = reduction._by_sorting(Cut(path, size), run_columns, table, ties, jobs)
    assert as_plain(result, table) == reduced(qrels, run, ties)


@examples(times=0.6)
@given(st.data(), QRELS, runs(), st.sampled_from(TIES), SIZES, JOBS)
def test_through_a_pipe(folder, data, qrels, run, ties, size, jobs):
    table = table_of(folder, qrels)
    with ExitStack() as stack:
        path = stack.enter_context(pipe(data.draw(texts(run))[0]))
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(Cut, "expected_size", 1 << 10)
        result = reduce_blocks(Cut(path, size), run_columns, table, ties, jobs)
    assert as_plain(result, table) == reduced(qrels, run, ties)


@given(QRELS, runs(), st.sampled_from(TIES))
def test_reduce_columns(folder, qrels, run, ties):
    table = table_of(folder, qrels)
    score = np.array([score for _, _, score in run])
    queries, documents = (Ids.of(column) for column in list(zip(*run, strict=True))[:2])
    columns = Columns.whole(queries, documents, score)
    assert as_plain(reduce_columns(columns, table, ties, "run"), table) == reduced(qrels, run, ties)


@examples(times=1.5)
@given(
    QRELS,
    runs(),
    st.sampled_from(TIES),
    st.integers(1, 300),
    st.sampled_from([1, 3]),
)
def test_colliding_keys_change_nothing(folder, qrels, run, ties, size, keys):
    """Ids whose keys are equal though they differ."""
    plain_keys = Ids.keys
    path = folder / "run"
    path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for line in run))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ids, "keys", lambda ids: plain_keys(ids) % np.uint64(keys))
        patch.setattr(Ids, "short", False)
        table = table_of(folder, qrels)
        result = reduce_blocks(Cut(path, size), run_columns, table, ties, 1)
        sorted_result = reduction._by_sorting(Cut(path, size), run_columns, table, ties, 1)
    assert as_plain(result, table) == as_plain(sorted_result, table) == reduced(qrels, run, ties)


def messages(path, repeats):
    return [
        f"{path}:{line}: document '{document.decode()}' comes a second time for its query. "
        f"The first time is line {first}"
        for line, first, document in repeats
    ]


@examples(times=2)
@given(st.data(), QRELS, runs(unique=False), st.sampled_from(TIES), SIZES, JOBS)
def test_documents_that_come_twice(folder, data, qrels, run, ties, size, jobs):
    """Each is an error with its line and that of the first time, in whatever way the run is read."""
    table = table_of(folder, qrels)
    path = folder / "run"
    text, number = data.draw(texts(run))
    path.write_bytes(text)
    repeats = [(number[line - 1], number[first - 1], document) for line, first, document in repeated(run)]
    source = Cut(path, size)
    if not repeats:
        assert as_plain(reduce_blocks(source, run_columns, table, ties, jobs), table) == reduced(
            qrels, run, ties
        )
        return
    with pytest.raises((InputError, InputErrors)) as caught:
        reduce_blocks(source, run_columns, table, ties, jobs)
    lines = str(caught.value).splitlines()
    again = {line for line, _, _ in repeats}
    start = number.index(repeats[0][0])
    stretch = next((n for n, line in enumerate(number[start:]) if line not in again), len(number) - start)
    if "twice" in lines[0]:
        assert stretch >= min(start, SHOWN)
        assert lines == [lines[0]]
        assert lines[0].startswith(f"{path}:{repeats[0][0]}: the file seems to hold ")
        return
    assert stretch < min(start, SHOWN) or start + stretch < len(number)
    assert lines[:SHOWN] == messages(path, repeats[:SHOWN])
    if len(repeats) < SHOWN:
        assert len(lines) == len(repeats)
    elif lines[SHOWN:] and "reading stopped here" not in lines[SHOWN]:
        rest = len(repeats) - SHOWN
        assert lines[SHOWN:] == [f"{path}: {rest} more error{'s' * (rest > 1)}"]


def twice(path, line, documents):
    return (
        f"{path}:{line}: the file seems to hold the run twice: from here on, the {documents:,} documents above "
        "come again. Keep the lines above this one"
    )


TWICE = [(b"%d" % q, b"d%d" % d, float(-d)) for q in range(8) for d in range(25)]
OTHER = [(b"%d" % q, b"d%d" % d, float(d)) for q in (3, 4, 5, 6, 7, 0, 1, 2) for d in reversed(range(25))]


@pytest.mark.parametrize("size", [1, 150, 400, 1 << 20])
@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("copies", [[TWICE], [OTHER], [TWICE, OTHER]], ids=["same", "other order", "two"])
def test_a_file_that_holds_the_run_twice(folder, size, jobs, copies, monkeypatch):
    """One error, at the line where it begins again; found in one pass where blocks are smaller than the run."""
    if size < 1 << 20:
        monkeypatch.setattr(reduction, "_by_sorting", None)
    table = table_of(folder, {b"%d" % q: {b"d3": 1.0} for q in range(6)})
    path = folder / "run"
    path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for run in [TWICE, *copies] for line in run))
    with pytest.raises(InputError) as caught:
        reduce_blocks(Cut(path, size), run_columns, table, "trec", jobs)
    assert str(caught.value) == twice(path, len(TWICE) + 1, len(TWICE))


def test_one_document_that_comes_again_behind_a_bad_line_is_no_second_run(folder):
    path = folder / "run"
    path.write_bytes(b"q Q0 d 1 bad t\nq Q0 e 1 1 t\nq Q0 e 1 1 t\n")
    with pytest.raises(InputErrors) as caught:
        reduce_blocks(Cut(path, 1 << 20), run_columns, table_of(folder, {b"q": {b"d": 1.0}}), "trec", 1)
    assert f"{path}:3: document 'e' comes a second time for its query" in str(caught.value)


@pytest.mark.parametrize("size", [150, 1 << 20])
def test_a_file_that_holds_a_part_of_the_run_twice(folder, size):
    table = table_of(folder, {b"%d" % q: {b"d3": 1.0} for q in range(6)})
    path = folder / "run"
    again = TWICE[:90]
    path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for line in TWICE + again))
    with pytest.raises(
        InputError, match=r":201: the file seems to hold a part of the run twice: from here on, 90 "
    ):
        reduce_blocks(Cut(path, size), run_columns, table, "trec", 2)
    path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for line in [*TWICE, *again, (b"9", b"x", 1.0)]))
    with pytest.raises(InputErrors) as caught:
        reduce_blocks(Cut(path, size), run_columns, table, "trec", 2)
    lines = str(caught.value).splitlines()
    assert lines[:20] == messages(path, [(201 + n, 1 + n, again[n][1]) for n in range(20)])
    assert lines[20:] == [f"{path}: 70 more errors"]


class Endless(Source):
    """A run that never ends, which must not be read for ever. size: of the blocks."""

    expected_size = 1 << 20

    def __init__(self, lines, size):
        super().__init__("endless")
        self.text, self.size = b"".join(lines), size

    def blocks(self, size=0):
        outer = self

        class Stream:
            place = 0

            def readinto(self, buffer):
                count = len(buffer)
                assert self.place + count < 100_000
                at = self.place % len(outer.text)
                self.place += count
                buffer[:] = (outer.text * (count // len(outer.text) + 2))[at : at + count]
                return count

        return sources._cut(Stream().readinto, self.size)


@pytest.mark.parametrize("size", [500, 3000])
@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ([b"1 Q0 a 0 x\n"], "reading stopped here"),
        ([b"1 Q0 a\n", b"1 Q0 b 0 1\n", b"2 Q0 c 0 1\n"], "reading stopped here"),
        ([b"1 Q0 a 0 1\n"], "the file seems to hold the run twice"),
        ([b"1 Q0 %d 0 1\n" % n for n in range(9)], "the file seems to hold the run twice"),
        ([b"%d Q0 %d 0 1\n" % (n // 2, n) for n in range(100)], "the file seems to hold the run twice"),
        ([b"%d Q0 %d 0 1\n" % (n % 3, n) for n in range(9)], "the file seems to hold the run twice"),
    ],
    ids=["score", "fields", "line", "query", "grouped", "scattered"],
)
def test_errors_end_what_is_endless(folder, lines, what, size, jobs):
    table = table_of(folder, {b"1": {b"a": 1.0, b"3": 1.0}})
    with pytest.raises((InputError, InputErrors), match=what):
        reduce_blocks(Endless(lines, size), run_columns, table, "trec", jobs)


def test_the_first_errors_by_line_are_shown_whatever_they_are(folder):
    """A document that comes again in the query that is cut where reading stops; in a bad block."""
    path = folder / "run"
    lines = [b"1 Q0 a 0 1\n", b"1 Q0 b 0 1\n", b"1 Q0 a 0 1\n", *[b"1 Q0 c 0 x\n"] * 30, b"1 Q0 d 0 1\n"]
    path.write_bytes(b"".join(lines))
    table = table_of(folder, {b"1": {b"a": 1}})
    errors = []
    for size in (1, 50, 1 << 20):
        with pytest.raises(InputErrors) as caught:
            reduce_blocks(Cut(path, size), run_columns, table, "trec", 2)
        errors.append(str(caught.value).splitlines()[:20])
    assert errors[0][0] == messages(path, [(3, 1, b"a")])[0]
    assert errors[0][1:] == [f"{path}:{n}: the score 'x' is not a number" for n in range(4, 23)]
    assert errors == [errors[0]] * 3


@pytest.mark.parametrize("size", [1, 40, 1 << 20])
def test_errors_of_scattered_lines_with_repeated_documents(folder, size):
    path = folder / "run"
    path.write_bytes(b"1 Q0 a 0 1\n2 Q0 a 0 1\n1 Q0 b 0 y\n1 Q0 a 0 1\n3 Q0 a 0 1\n2 Q0 b 0 nan\n")
    with pytest.raises(InputErrors) as caught:
        reduce_blocks(Cut(path, size), run_columns, table_of(folder, {b"1": {b"a": 1}}), "trec", 1)
    assert str(caught.value).splitlines() == [
        f"{path}:3: the score 'y' is not a number",
        *messages(path, [(4, 1, b"a")]),
        f"{path}:6: the score 'nan' is not a finite number",
    ]


@pytest.mark.parametrize("scattered", [False, True])
def test_queries_that_are_not_judged_take_little_memory(folder, scattered, monkeypatch):
    """A key for each, in arrays; where queries come back not even that."""
    monkeypatch.setattr(Cut, "expected_size", 50 << 20)
    names = [b"query%d" % n for n in range(30_000)]
    path = folder / "run"
    text = b"".join(b"%s Q0 a 0 1\n" % name for name in names)
    path.write_bytes(text + b"query0 Q0 b 0 1\n" * scattered)
    table = table_of(folder, {b"1": {b"a": 1.0}})
    tracemalloc.start()
    try:
        assert reduce_blocks(Cut(path, 1 << 14), run_columns, table, "trec", 1).unjudged == 30_000
        assert tracemalloc.get_traced_memory()[1] < 30_000 * 60
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [1, 30, 60, 1 << 20])
def test_lines_of_documents_that_come_twice_in_later_blocks(folder, size):
    """In a query that is whole in its block, one that is cut, and one that is not judged and comes back."""
    path = folder / "run"
    names = [
        b"1 a",
        b"1 b",
        b"2 a",
        b"2 b",
        b"2 a",
        b"x a",
        b"3 a",
        b"3 a",
        b"x b",
        b"4 a",
        b"4 b",
        b"x a",
        b"4 b",
    ]
    path.write_bytes(b"# first\n" + b"".join(name.replace(b" ", b" Q0 ") + b" 0 1\n" for name in names))
    table = table_of(folder, {b"2": {b"a": 1}, b"4": {b"b": 1}})
    with pytest.raises(InputErrors) as caught:
        reduce_blocks(Cut(path, size), run_columns, table, "trec", 1)
    assert str(caught.value).splitlines() == messages(
        path, [(6, 4, b"a"), (9, 8, b"a"), (13, 7, b"a"), (14, 12, b"b")]
    )
    path.write_bytes(b"".join(name.replace(b" ", b" Q0 ") + b" 0 1\n" for name in names if name[:1] != b"x"))
    with pytest.raises(InputErrors) as caught:
        reduce_blocks(Cut(path, size), run_columns, table, "trec", 1)
    assert str(caught.value).splitlines() == messages(path, [(5, 3, b"a"), (7, 6, b"a"), (10, 9, b"b")])


@pytest.mark.parametrize("size", [1, 25, 60, 1 << 20])
@pytest.mark.parametrize("first", [b"1", b"2"], ids=["one pass", "by sorting"])
@pytest.mark.parametrize(
    ("ends", "tag"),
    [
        ([b" a", b" b", b" c"], "c"),
        ([b" a", b" b", b""], ""),
        ([b"", b"", b"\tc  d\r"], "c"),
        ([b" a", b" b", b" \xff x\n# no\n\n \n"], "\udcff"),
    ],
)
def test_tag_is_that_of_the_last_line(folder, size, first, ends, tag):
    path = folder / "run"
    starts = (first + b" Q0 a 0 1", b"1 Q0 b 0 1", b"2 Q0 c 0 1")
    path.write_bytes(b"\n".join(start + end for start, end in zip(starts, ends, strict=True)))
    result = reduce_blocks(Cut(path, size), run_columns, table_of(folder, {b"1": {b"a": 1}}), "trec", 2)
    assert result.tag == tag


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("size", [1, 30, 100])
def test_blocks_without_lines(folder, size, jobs):
    """What a pipe yields that brings nothing for a while."""
    run = [(b"%d" % q, b"d%d" % d, float(-d)) for q in range(5) for d in range(9)]
    qrels = {b"%d" % q: {b"d%d" % d: 1.0 for d in range(0, 9, 3)} for q in range(1, 7)}
    table = table_of(folder, qrels)
    path = folder / "run"
    for lines in (run, run[20:] + run[:20]):
        path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for line in lines))
        result = reduce_blocks(Halting(path, size), run_columns, table, "trec", jobs)
        assert as_plain(result, table) == reduced(qrels, lines, "trec")


def test_a_run_in_order_is_read_once(folder, monkeypatch):
    """Also where every query is cut by several ends of blocks."""
    monkeypatch.setattr(reduction, "_by_sorting", None)
    run = [(b"%d" % q, b"d%d" % d, float(-d)) for q in range(5) for d in range(20)]
    qrels = {b"%d" % q: {b"d%d" % d: 1.0 for d in range(0, 20, 3)} for q in range(1, 7)}
    table = table_of(folder, qrels)
    path = folder / "run"
    path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for line in run))
    for size in (1, 50, 100, 150, 1000, 10000):
        result = reduce_blocks(Cut(path, size), run_columns, table, "trec", 2)
        assert as_plain(result, table) == reduced(qrels, run, "trec")


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("size", [1, 30, 1 << 20])
def test_errors_have_their_line_in_any_block(folder, size, jobs):
    path = folder / "run"
    lines = [b"%d Q0 d%d 0 1 tag\n" % (n // 3, n) for n in range(30)]
    lines[4:5] = [b"# comment\n", b"\n", b"1 Q0 d4 0 x tag\n"]
    lines[20] = b"6 Q0 d\n"
    path.write_bytes(b"".join(lines))
    table = table_of(folder, {b"1": {b"d4": 1}})
    with pytest.raises(InputErrors) as caught:
        reduce_blocks(Cut(path, size), run_columns, table, "trec", jobs)
    assert str(caught.value) == (
        f"{path}:7: the score 'x' is not a number\n"
        f"{path}:21: 3 fields where a run has 6 (query Q0 document rank score tag)"
    )


@pytest.mark.parametrize("size", [1, 40, 1 << 20])
def test_errors_behind_a_query_that_comes_back(folder, size):
    path = folder / "run"
    path.write_bytes(b"1 Q0 a 0 1\n2 Q0 a 0 1\n1 Q0 b 0 1\n3 Q0 a 0 nan\n")
    with pytest.raises(InputError, match=":4: the score 'nan' is not a finite number"):
        reduce_blocks(Cut(path, size), run_columns, table_of(folder, {b"1": {b"a": 1}}), "trec", 1)


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize(
    ("text", "what"),
    [(b"", "the file is empty"), (b"\n# a comment\n \r\n", "no line holds data: all are blank or comments")],
)
def test_nothing_to_read(folder, size, text, what):
    path = folder / "run"
    path.write_bytes(text)
    with pytest.raises(InputError, match=what):
        reduce_blocks(Cut(path, size), run_columns, table_of(folder, {b"1": {b"a": 1}}), "trec", 1)


def test_no_lines_in_memory(folder):
    table = table_of(folder, {b"1": {b"a": 1}})
    result = reduce_columns(Columns.whole(Ids.of([]), Ids.of([]), np.empty(0)), table, "trec", "run")
    assert as_plain(result, table) == {"found": {}, "retrieved": [0], "unjudged": 0, "tied": {}}
