"""nDCG at ranks of its own, G and binG, worked by hand."""

from __future__ import annotations

from math import log2

import pytest
from helpers import each, ranked, value, values

EMPTY = ({}, {})
MISSING = ({"a": 1.0, "b": 0.0}, {})
D = [0, 1, log2(3), 2, log2(5), log2(6)]  # the discounts from rank 1
QUERY = ranked([0, 2, 1, None, 0], missed=[1])
DCG = [0, 0, 2 / D[2], 2 / D[2] + 1 / D[3]]
IDEAL = [0, 2, 2 + 1 / D[2], 2 + 1 / D[2] + 1 / D[3]]
LAST = DCG[3] / IDEAL[3]


def test_ndcg_rel():
    assert value("ndcg_rel", QUERY) == pytest.approx((DCG[2] / IDEAL[2] + LAST + LAST) / 3)


def test_rndcg():
    """Points after the 2, after both 1s, and at rank 5, which is two below."""
    assert value("Rndcg", QUERY) == pytest.approx((DCG[1] / IDEAL[1] + DCG[3] / IDEAL[3] + LAST) / 3)
    four, three = ranked([0, 2, 1, None], missed=[1]), ranked([0, 2, 1], missed=[1])
    assert value("Rndcg", four) == value("Rndcg", three) == pytest.approx((0 + LAST) / 2)
    assert value("Rndcg", ranked([0], missed=[2, 1])) == 0
    assert value("Rndcg", ranked([2, 2])) == 1
    assert value("Rndcg(rel=3)", QUERY) == value("Rndcg", QUERY, level=3) == 0


def test_g():
    """Behind the ideal ranking's 2, 3, 4, … by 3 - 2 at rank 2, and by 4 - 3 at rank 3."""
    assert value("G", QUERY) == pytest.approx((2 / log2(2 + 1) + 1 / log2(2 + 1)) / 4)
    assert value("G", ranked([2, 1])) == 1
    # each rank of the ideal ranking counts for 1 at least
    assert value("G", ranked([0.5])) == pytest.approx(0.5 / log2(2 + 1 - 0.5) / 0.5)
    assert value("G", ranked([None, None, 1])) == pytest.approx(1 / log2(2 + 3 - 1))
    assert 0 < value("G(gain=exp)", ranked([None] * 12 + [57])) <= 1


def test_bin_g():
    assert value("binG", QUERY) == pytest.approx((1 / log2(2 + 1) + 1 / log2(2 + 1)) / 3)
    assert value("binG(rel=2)", QUERY) == pytest.approx(1 / log2(3))


def test_kin_of_ndcg():
    assert value("ndcg_p", QUERY) == value("nDCG(discount=letor)", QUERY)
    assert value("ndcg_p", QUERY) == pytest.approx((2 / 1 + 1 / D[2]) / (2 + 1 + 1 / D[2]))
    assert value("ideal_dcg", QUERY) == pytest.approx(IDEAL[3])
    assert value("ideal_dcg", MISSING) == 1


@pytest.mark.parametrize("name", ["ndcg_rel", "Rndcg", "G"])
def test_gains_as_listed(name):
    doubled = ranked([0, 9, 1, None, 0], missed=[1])
    assert value(f"{name}(gain=2:9)", QUERY) == value(name, doubled)


@each(
    ("name", "expected"),
    [
        ("DCG(gain=0:-1/2:3)", -1 / D[1] + 3 / D[2] + 1 / D[3] - 1 / D[5]),
        ("nDCG(gain=0:-1/2:3)@1", -1 / 3),
        ("nDCG(gain=0:-1/1:0/2:0)", 0),  # nothing can be gained
        ("ideal_dcg(gain=0:-1/2:3)", 3 + 1 / D[2] + 1 / D[3]),
        ("ndcg_rel(gain=0:-1/1:0/2:0)", 0),
        ("ndcg_rel(gain=0:-9/2:3)", 0),  # never below 0
        ("Rndcg(gain=0:-1/1:0/2:0)", 0),
        ("G(gain=0:-1/1:0/2:0)", 0),
        ("G(gain=0:-1/1:0/2:4)", (-1 / log2(2 + 5) + 4 / log2(2 + 5 - 3) - 1 / log2(2 + 8 - 2)) / 4),
    ],
)
def test_a_gain_can_take_away(name, expected):
    assert value(name, QUERY) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("name", ["ndcg_rel", "Rndcg", "G", "binG", "ndcg_p"])
def test_nothing_relevant_or_retrieved_is_0(name):
    assert values(name, EMPTY, MISSING, ranked([0, -1, None])) == [0, 0, 0]
    assert values(name) == []
