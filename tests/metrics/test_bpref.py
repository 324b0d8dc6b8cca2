"""bpref, inferred AP and unjudged documents, worked by hand."""

from __future__ import annotations

import pytest
from helpers import ranked, value, values

EMPTY = ({}, {})
MISSING = ({"a": 1.0, "b": 0.0}, {})


def test_bpref():
    """R = 3, N = 2; above the relevant documents stand 0, 1 and 2 that were judged not relevant."""
    query = ranked([1, 0, None, 1, 0, -1, 2])
    assert value("bpref", query) == pytest.approx((1 + (1 - 1 / 2) + (1 - 2 / 2)) / 3)
    assert value("bpref(rel=2)", query) == 0  # R = 1: the four above count as one
    assert value("bpref", ranked([0, 0, 0, 1], missed=[1])) == pytest.approx((1 - 2 / 2) / 2)
    assert value("bpref", ranked([0, 1], missed=[1, 0, 0])) == pytest.approx((1 - 1 / 2) / 2)
    assert value("bpref", ranked([None, None, 1])) == 1


def test_inferred():
    """At rank 5 there are 4 above, 3 of them pooled, of which 1 was judged relevant and 1 not."""
    query = ranked([1, None, 0, -1, 1])
    second = 1 / 5 + 4 / 5 * (3 / 4) * (1.00001 / 2.00002)
    assert value("infAP", query) == pytest.approx((1 + second) / 2, abs=1e-15)
    assert value("infAP", ranked([None, 1], missed=[1])) == pytest.approx((1 / 2 + 0) / 2)


def test_unjudged():
    query = ranked([1, None, -1, 0, None])
    assert [value(f"unj@{k}", query) for k in (1, 2, 3, 5, 10)] == [0, 1 / 2, 2 / 3, 3 / 5, 3 / 10]
    assert values("unj@5", EMPTY, MISSING) == [0, 0]


def test_what_is_judged_only_is_judged():
    query = ranked([1, None, -1, 0, None])
    assert value("unj(judged_only=true)@1", query) == 0
    assert value("unj(judged_only=true)@5", query) == 0


def test_nonrelevant_count():
    query = ranked([1, None, -1, 0, 2], missed=[0])
    assert value("num_nonrel_judged_ret", query) == 1
    assert value("num_nonrel_judged_ret(rel=2)", query) == 2


@pytest.mark.parametrize("name", ["bpref", "infAP"])
def test_nothing_relevant_or_retrieved_is_0(name):
    assert values(name, EMPTY, MISSING, ranked([0, -1, None])) == [0, 0, 0]
    assert values(name) == []
