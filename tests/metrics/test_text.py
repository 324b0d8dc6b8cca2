"""The metrics that are words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers import judgments_of, ranked

from gradeval.metrics.spec import parse_one


def texts(name, *queries, tag=""):
    [spec] = parse_one(name)
    table = replace(judgments_of(queries), tag=tag)
    assert np.isnan(spec.metric(table, **spec.params)).all()
    return spec.metric.texts(table, **spec.params)


@pytest.mark.parametrize(
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


def test_no_query_and_no_document():
    assert texts("relstring") == []
    assert texts("relstring", ({"a": 1.0}, {})) == [""]


def test_run_id():
    assert texts("runid", ({}, {}), ranked([1]), tag="BM25 µ") == ["BM25 µ", "BM25 µ"]
