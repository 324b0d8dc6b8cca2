"""What is wrong with a run, by line, in blocks of any size: bad lines, and documents that come twice."""

import pytest
from helpers import each, error_of, examples
from hypothesis import given
from hypothesis import strategies as st
from plain import Cut, reduced, repeated

from gradeval.errors import InputError, InputErrors
from gradeval.formats import sources
from gradeval.formats.columns import Table
from gradeval.formats.diagnostics import SHOWN
from gradeval.formats.sources import Source
from gradeval.formats.trec import run_columns
from gradeval.options import TIES
from gradeval.tables.reduction import reduce_blocks

from .runs import JOBS, QRELS, SIZES, as_plain, messages, runs, table_of, texts


@examples(times=1.2)
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
        assert as_plain(reduce_blocks(Table.of(source, run_columns), table, ties, jobs), table) == reduced(
            qrels, run, ties
        )
        return
    error = error_of((InputError, InputErrors), reduce_blocks, Table.of(source, run_columns), table, ties, jobs)
    lines = error.splitlines()
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
        "are repeated. Keep the lines above this one; --duplicates best (in Python duplicates='best') takes "
        "the best score"
    )


TWICE = [(b"%d" % q, b"d%d" % d, float(-d)) for q in range(8) for d in range(25)]
OTHER = [(b"%d" % q, b"d%d" % d, float(d)) for q in (3, 4, 5, 6, 7, 0, 1, 2) for d in reversed(range(25))]


@each(("size", "jobs"), [(150, 3), (1 << 20, 1)])
@each("copies", [[TWICE], [OTHER], [TWICE, OTHER]])
def test_a_file_that_holds_the_run_twice(folder, size, jobs, copies):
    """One error, at the line where it begins again."""
    table = table_of(folder, {b"%d" % q: {b"d3": 1.0} for q in range(6)})
    path = folder / "run"
    path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for run in [TWICE, *copies] for line in run))
    error = error_of(InputError, reduce_blocks, Table.of(Cut(path, size), run_columns), table, "trec", jobs)
    assert error == twice(path, len(TWICE) + 1, len(TWICE))


@each("size", [150, 1 << 20])
def test_a_file_that_holds_a_part_of_the_run_twice(folder, size):
    table = table_of(folder, {b"%d" % q: {b"d3": 1.0} for q in range(6)})
    path = folder / "run"
    again = TWICE[:90]
    path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for line in TWICE + again))
    with pytest.raises(
        InputError, match=r":201: the file seems to hold a part of the run twice: from here on, 90 "
    ):
        reduce_blocks(Table.of(Cut(path, size), run_columns), table, "trec", 2)
    path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for line in [*TWICE, *again, (b"9", b"x", 1.0)]))
    error = error_of(InputErrors, reduce_blocks, Table.of(Cut(path, size), run_columns), table, "trec", 2)
    lines = error.splitlines()
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
)
def test_errors_end_what_is_endless(folder, lines, what, size, jobs):
    table = table_of(folder, {b"1": {b"a": 1.0, b"3": 1.0}})
    with pytest.raises((InputError, InputErrors), match=what):
        reduce_blocks(Table.of(Endless(lines, size), run_columns), table, "trec", jobs)


def test_the_first_errors_by_line_are_shown_whatever_they_are(folder):
    """A document that comes again in the query that is cut where reading stops; in a bad block."""
    path = folder / "run"
    lines = [b"1 Q0 a 0 1\n", b"1 Q0 b 0 1\n", b"1 Q0 a 0 1\n", *[b"1 Q0 c 0 x\n"] * 30, b"1 Q0 d 0 1\n"]
    path.write_bytes(b"".join(lines))
    table = table_of(folder, {b"1": {b"a": 1}})
    errors = []
    for size in (1, 50, 1 << 20):
        error = error_of(InputErrors, reduce_blocks, Table.of(Cut(path, size), run_columns), table, "trec", 2)
        errors.append(error.splitlines()[:20])
    assert errors[0][0] == messages(path, [(3, 1, b"a")])[0]
    assert errors[0][1:] == [f"{path}:{n}: the score 'x' is not a number" for n in range(4, 23)]
    assert errors == [errors[0]] * 3
