"""What is wrong with a run, by line, in blocks of any size: bad lines, and documents that come twice."""

from __future__ import annotations

import pytest
from helpers import each, examples
from hypothesis import given
from hypothesis import strategies as st
from plain import Cut, reduced, repeated

from gradeval.errors import InputError, InputErrors
from gradeval.formats import sources
from gradeval.formats.diagnostics import SHOWN
from gradeval.formats.sources import Source
from gradeval.formats.trec import run_columns
from gradeval.options import TIES
from gradeval.tables.reduction import reduce_blocks

from .runs import JOBS, QRELS, SIZES, as_plain, messages, runs, table_of, texts


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
        "are repeated. Keep the lines above this one; 'gradeval --duplicates best' takes the best score"
    )


TWICE = [(b"%d" % q, b"d%d" % d, float(-d)) for q in range(8) for d in range(25)]
OTHER = [(b"%d" % q, b"d%d" % d, float(d)) for q in (3, 4, 5, 6, 7, 0, 1, 2) for d in reversed(range(25))]


@each(("size", "jobs"), [(150, 3), (1 << 20, 1)])
@each("copies", [[TWICE], [OTHER], [TWICE, OTHER]], ids=["same", "other order", "two"])
def test_a_file_that_holds_the_run_twice(folder, size, jobs, copies):
    """One error, at the line where it begins again."""
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
    assert f"{path}:3: duplicate document 'e' for its query" in str(caught.value)


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


@each("size", [500, 3000])
@each("jobs", [1, 3])
@each(
    ("lines", "what"),
    [
        ([b"1 Q0 a 0 x\n"], "and so in all [0-9,]+ lines read"),
        ([b"1 Q0 a\n", b"1 Q0 b 0 1\n", b"2 Q0 c 0 1\n"], "reading stopped here"),
    ],
    ids=["score", "fields"],
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


@each("jobs", [1, 2])
@each("size", [1, 30, 1 << 20])
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
    [(b"", "the file is empty"), (b"\n# a comment\n \r\n", "no data: all lines are blank or comments")],
)
def test_nothing_to_read(folder, size, text, what):
    path = folder / "run"
    path.write_bytes(text)
    with pytest.raises(InputError, match=what):
        reduce_blocks(Cut(path, size), run_columns, table_of(folder, {b"1": {b"a": 1}}), "trec", 1)
