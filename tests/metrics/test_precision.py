"""Precision, recall and their kin, generalized precision and recall, utility and counts, worked by hand."""

from __future__ import annotations

import pytest
from helpers import each, ranked, value, values

FIVE = ranked([1, 1, 0, 0, 1], missed=[1])
EMPTY = ({}, {})
MISSING = ({"a": 1.0, "b": 0.0}, {})
UNJUDGED = ({}, {"a": 1.0})


@each(
    ("name", "expected"),
    [
        ("P@5", 0.6),
        ("P@2", 1),
        ("P@10", 0.3),
        ("R@2", 0.5),
        ("R@5", 0.75),
        ("R@100", 0.75),
        ("F@2", 2 * 1 * 0.5 / 1.5),
        ("F(x=4)@2", 5 * 1 * 0.5 / (4 * 1 + 0.5)),
        ("set_P", 0.6),
        ("set_recall", 0.75),
        ("set_F", 2 * 0.6 * 0.75 / (0.6 + 0.75)),
        ("set_F(x=0.5)", 1.5 * 0.6 * 0.75 / (0.5 * 0.6 + 0.75)),
        ("Success@1", 1),
        ("RR", 1),
        ("num_q", 1),
        ("num_ret", 5),
        ("num_rel", 4),
        ("num_rel_ret", 3),
        ("num_rel_ret@2", 2),
        ("hits@3", 2),
        ("hits", 3),
    ],
)
def test_by_hand(name, expected):
    assert value(name, FIVE) == pytest.approx(expected, abs=1e-15)


@each(
    ("name", "expected"),
    [("RR", 1 / 3), ("RR@2", 0), ("RR@3", 1 / 3), ("Success@2", 0), ("Success@3", 1), ("RR(rel=2)", 0.25)],
)
def test_first_relevant(name, expected):
    assert value(name, ranked([None, 0, 1, 2])) == expected


@each("name", ["P@2", "R@2", "F@2", "set_P", "set_recall", "set_F", "Success@1", "RR"])
def test_level(name):
    query = ranked([1, 2, 3], missed=[2])
    head, at, tail = name.partition("@")
    assert value(name, query, level=2) == value(f"{head}(rel=2){at}{tail}", query) != value(name, query)
    assert value(f"{head}(rel=1){at}{tail}", query, level=3) == value(name, query)


@each("name", ["P@5", "R@5", "F@5", "set_P", "set_recall", "set_F", "Success@5", "RR", "gP", "gP@5", "gR@5"])
def test_nothing_relevant_or_retrieved_is_0(name):
    assert values(name, EMPTY, MISSING, UNJUDGED, ranked([0, -1, None])) == [0, 0, 0, 0]
    assert values(name) == []


def test_generalized():
    first, second = ranked([2, None, 1], missed=[1, -1]), ranked([4, 0])
    assert values("gP@2", first, second) == [0.25, 0.5]
    assert values("gP", first, second) == [0.75 / 3, 0.5]
    assert values("gR", first, second) == [0.75, 1]
    assert values("gR@1", first, second) == [0.5, 1]


def test_scaled_utility():
    """Three relevant and two other documents of four relevant: u = 3·3 - 2·2 = 5."""
    assert value("scaled_utility", FIVE) == pytest.approx((5 + 200) / (12 + 200))
    assert value("scaled_utility(a=1,b=-1,s=2)", FIVE) == pytest.approx((1 + 2) / (4 + 2))
    worst = ranked([0] * 150, missed=[1])
    assert value("scaled_utility", worst) == 0
    assert values("scaled_utility", EMPTY, MISSING, UNJUDGED) == [0, 0, pytest.approx(198 / 200)]


def test_utility():
    """Three relevant documents found and two others, one relevant one missed; of ten in all, four are left."""
    assert value("utility", FIVE) == 3 - 2
    assert value("utility(weights=3/-2/-1/0)", FIVE) == 9 - 4 - 1
    assert value("utility(weights=0/0/0/0.5,size=10)", FIVE) == 0.5 * 4
    assert values("utility(weights=1/1/-1/0)", EMPTY, MISSING, UNJUDGED) == [0, -1, 1]


def test_relative():
    assert [value(f"relative_P@{k}", FIVE) for k in (2, 3, 5, 10)] == [1, 2 / 3, 3 / 4, 3 / 4]
    assert value("set_relative_P", FIVE) == 3 / 4
    assert value("set_relative_P", ranked([1, 0], missed=[1, 1])) == 1 / 2
    assert value("set_map", FIVE) == pytest.approx(0.6 * 0.75)
    for name in ("relative_P@5", "set_relative_P", "set_map"):
        assert values(name, EMPTY, MISSING, UNJUDGED) == [0, 0, 0]


def test_counts():
    assert values("num_q", EMPTY, MISSING, UNJUDGED) == [1, 1, 1]
    assert values("num_ret", EMPTY, MISSING, UNJUDGED) == [0, 0, 1]
    assert values("num_rel", EMPTY, MISSING, UNJUDGED) == [0, 1, 0]
    assert values("num_rel(rel=0)", EMPTY, MISSING, UNJUDGED) == [0, 2, 0]
    assert values("num_rel_ret", EMPTY, MISSING, FIVE) == [0, 0, 3]


def test_success_with_all():
    """1 where all relevant documents are in the first ranks, and there is one."""
    query = ranked([1, 0, 2, 0])
    for name, expected in [
        ("Success(need=all)@2", 0),
        ("Success(need=all)@3", 1),
        ("Success(need=all,rel=2)@3", 1),
    ]:
        assert value(name, query) == expected, name
    assert value("Success(need=all)@3", ranked([1, 0, 1], missed=[1])) == 0
    assert value("Success(need=all)@3", ranked([0, 0])) == 0
