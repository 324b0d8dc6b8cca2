"""Runs reduced block by block against a ranking in plain Python."""

import tracemalloc
from contextlib import ExitStack

import numpy as np
import pytest
from helpers import each, examples
from hypothesis import given
from hypothesis import strategies as st
from plain import Cut, Halting, pipe, reduced

from gradeval.arrays.strings import Ids
from gradeval.formats.columns import Table
from gradeval.formats.problems import Problems
from gradeval.formats.trec import run_columns
from gradeval.options import TIES
from gradeval.tables import reduction
from gradeval.tables.reduction import Total, reduce_blocks

from .runs import JOBS, QRELS, SIZES, as_plain, runs, table_of, texts


def by_sorting(path, size, table, ties, jobs):
    total = Total(table, ties)
    return reduction.collect_by_sorting(
        Table.of(Cut(path, size), run_columns), total, Problems(str(path)), jobs
    ).reduced()


@examples(times=0.2)
@given(st.data(), QRELS, runs(), st.sampled_from(TIES), SIZES, JOBS)
def test_through_a_pipe(folder, data, qrels, run, ties, size, jobs):
    table = table_of(folder, qrels)
    with ExitStack() as stack:
        path = stack.enter_context(pipe(data.draw(texts(run))[0]))
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(Cut, "expected_size", 1 << 10)
        result = reduce_blocks(Table.of(Cut(path, size), run_columns), table, ties, jobs)
    assert as_plain(result, table) == reduced(qrels, run, ties)


@each("judged", [1, 5])
def test_scattered_queries_whose_keys_collide(folder, judged, monkeypatch):
    """Two that are not judged, and have the same documents, remain two, however many are judged."""
    queries = [*(b"%d" % n for n in range(judged)), b"x", b"y"]
    run = [(query, document, float(n)) for n, document in enumerate((b"a", b"b")) for query in queries]
    qrels, path = {query: {b"a": 1.0} for query in queries[:judged]}, folder / "run"
    path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for line in run))
    monkeypatch.setattr(Ids, "keys", lambda ids: np.zeros(len(ids), np.uint64))
    monkeypatch.setattr(Ids, "short", False)
    table = table_of(folder, qrels)
    expected = reduced(qrels, run, "trec")
    assert as_plain(by_sorting(path, 40, table, "trec", 1), table) == expected
    assert as_plain(reduce_blocks(Table.of(Cut(path), run_columns), table, "trec", 1), table) == expected


@each("scattered", [False, True])
def test_queries_that_are_not_judged_take_little_memory(folder, scattered, monkeypatch):
    """A key for each, in arrays; where queries come back not even that."""
    monkeypatch.setattr(Cut, "expected_size", 50 << 20)
    count = 10_000
    names = [b"query%d" % n for n in range(count)]
    path = folder / "run"
    text = b"".join(b"%s Q0 a 0 1\n" % name for name in names)
    path.write_bytes(text + b"query0 Q0 b 0 1\n" * scattered)
    table = table_of(folder, {b"1": {b"a": 1.0}})
    tracemalloc.start()
    try:
        assert reduce_blocks(Table.of(Cut(path, 1 << 14), run_columns), table, "trec", 1).unjudged == count
        assert tracemalloc.get_traced_memory()[1] < count * 60 + 1_200_000
    finally:
        tracemalloc.stop()


@each("size", [1, 25, 1 << 20])
@each("first", [b"1", b"2"])
@each(
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
    result = reduce_blocks(
        Table.of(Cut(path, size), run_columns), table_of(folder, {b"1": {b"a": 1}}), "trec", 2
    )
    assert result.tag == tag


@each("jobs", [1, 2])
@each("size", [1, 100])
def test_blocks_without_lines(folder, size, jobs):
    """What a pipe yields that brings nothing for a while."""
    run = [(b"%d" % q, b"d%d" % d, float(-d)) for q in range(5) for d in range(9)]
    qrels = {b"%d" % q: {b"d%d" % d: 1.0 for d in range(0, 9, 3)} for q in range(1, 7)}
    table = table_of(folder, qrels)
    path = folder / "run"
    for lines in (run, run[20:] + run[:20]):
        path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for line in lines))
        result = reduce_blocks(Table.of(Halting(path, size), run_columns), table, "trec", jobs)
        assert as_plain(result, table) == reduced(qrels, lines, "trec")


def test_a_run_in_order_is_read_once(folder, monkeypatch):
    """Also where every query is cut by several ends of blocks."""
    monkeypatch.setattr(reduction, "collect_by_sorting", None)
    run = [(b"%d" % q, b"d%d" % d, float(-d)) for q in range(5) for d in range(20)]
    qrels = {b"%d" % q: {b"d%d" % d: 1.0 for d in range(0, 20, 3)} for q in range(1, 7)}
    table = table_of(folder, qrels)
    path = folder / "run"
    path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for line in run))
    for size in (1, 50, 100, 150, 1000, 10000):
        result = reduce_blocks(Table.of(Cut(path, size), run_columns), table, "trec", 2)
        assert as_plain(result, table) == reduced(qrels, run, "trec")
