"""The metrics that are words."""

import tracemalloc

import numpy as np
from helpers import each, judgments_of, ranked

from gradeval.registry.spec import parse, parse_one


def texts(name, *queries, tag=""):
    [spec] = parse_one(name)
    table = judgments_of(queries).replace(tag=tag)
    assert np.isnan(spec.metric(table, **spec.params)).all()
    return spec.metric.texts(table, **spec.params)


@each(
    ("name", "expected"),
    [
        ("relstring", "1.-09>2"),
        ("relstring@3", "1.-"),
        ("relstring@1", "1"),
        ("relstring(judged_only=true)@4", "109>"),
    ],
)
def test_grades_in_a_row(name, expected):
    query = ranked([1, -1, None, 0, 9.5, 10, 2.75])
    assert texts(name, query) == [expected]
    assert texts(name, ({}, {}), query, ({"a": 1.0}, {})) == ["", expected, ""]


def test_texts_take_the_memory_of_their_letters():
    """One long ranking does not make all the others long, nor a long tag each text."""
    queries = [ranked([1]), ranked([None] * 4999 + [2])] + [ranked([0])] * 1000
    table = judgments_of(queries).replace(tag="t" * 10_000)
    row, tag = parse("relstring@10000 runid")
    tracemalloc.start()
    try:
        found = row.metric.texts(table, **row.params)
        tags = tag.metric.texts(table, **tag.params)
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()
    assert found == ["1", "-" * 4999 + "2", *["0"] * 1000]
    assert tags == [table.tag] * 1002


def test_run_id():
    assert texts("runid", ({}, {}), ranked([1]), tag="BM25 µ") == ["BM25 µ", "BM25 µ"]
