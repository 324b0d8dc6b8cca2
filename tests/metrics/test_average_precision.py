"""AP and µAP on the tables of Scheel et al. 2011."""

from __future__ import annotations

import pytest
from helpers import judgments_of, ranked, scored, value, values

from gradeval.registry.metric import REGISTRY

TABLE = ranked([1, 0, 3, 3, 2, 0, 1, 4])


@pytest.mark.parametrize(
    ("rel", "expected"),
    [
        (5, 0),
        (4, 1 / 8),
        (3, (1 / 3 + 2 / 4 + 3 / 8) / 3),
        (2, (1 / 3 + 2 / 4 + 3 / 5 + 4 / 8) / 4),
        (1, (1 / 1 + 2 / 3 + 3 / 4 + 4 / 5 + 5 / 7 + 6 / 8) / 6),
    ],
)
def test_table_1(rel, expected):
    assert value(f"AP(rel={rel})", TABLE) == pytest.approx(expected, abs=1e-15)
    assert value("AP", TABLE, level=rel) == value(f"AP(rel={rel})", TABLE)


def test_table_1_mu():
    assert value("muAP", TABLE) == pytest.approx(0.447817, abs=5e-7)


def test_steps_weigh_the_levels():
    query = ranked([0.3, 1.0, 0.0], missed=[0.3])
    low, high = value("AP(rel=0.3)", query), value("AP(rel=1)", query)
    assert (low, high) == (2 / 3, 0.5)
    assert value("muAP", query) == pytest.approx(0.3 * low + 0.7 * high, abs=1e-15)


def test_one_grade_is_ap_to_the_bit():
    query = ranked([None, 0.1, 0, 0.1, 0.1, None, -1], missed=[0.1, 0])
    assert value("muAP", query) == value("AP", query)


def test_the_value_does_not_depend_on_other_queries():
    queries = [ranked([k % 3, 2.5, None, k / 7, 1]) for k in range(40)]
    together = values("muAP", *queries)
    assert together == [value("muAP", query) for query in queries]


def test_a_very_wide_range():
    grades = [3.0, 1e9, 1.0, 5e6, 2.0]
    top, second = value("AP(rel=1000000000)", ranked(grades)), value("AP(rel=5000000)", ranked(grades))
    third = value("AP(rel=3)", ranked(grades))
    expected = ((1e9 - 5e6) * top + (5e6 - 3) * second + third) / 1e9
    assert value("muAP", ranked(grades)) == pytest.approx(expected, abs=1e-8)


def test_cutoff_keeps_the_denominator():
    assert value("AP@2", ranked([1, 0, 1], missed=[1])) == pytest.approx(1 / 3)
    assert value("AP@3", ranked([1, 0, 1], missed=[1])) == pytest.approx((1 + 2 / 3) / 3)


def test_unjudged_and_negative_documents_take_up_ranks():
    assert value("AP", ranked([None, -2, 1])) == pytest.approx(1 / 3)


def test_rel_0_counts_grade_0_but_nothing_below():
    query = ranked([-1, 0, 1])
    assert value("AP(rel=0)", query) == value("AP(rel=-5)", query) == pytest.approx((1 / 2 + 2 / 3) / 2)


@pytest.mark.parametrize("name", ["AP", "muAP"])
def test_nothing_relevant_is_0(name):
    assert values(name, ranked([0, -1, None]), ({}, {}), ({"a": 1.0}, {}), ({}, {"a": 1.0})) == [0, 0, 0, 0]


def test_no_queries():
    assert REGISTRY["muAP"](judgments_of([])).tolist() == []


def test_ties_go_by_id_from_the_last():
    query = scored([1, 0], [5, 5])  # d0001 stands before d0000
    assert value("AP", query) == 0.5


def test_divided_by_what_fits():
    """AP(norm=min)@k: a ranking that is perfect in its first k ranks scores 1."""
    assert value("AP(norm=min)@2", ranked([1, 1, 0], missed=[1])) == 1
    assert value("AP(norm=min)@3", ranked([1, 0, 1], missed=[1])) == pytest.approx((1 + 2 / 3) / 3)
    assert value("AP(norm=min)", ranked([1, 0, 1])) == value("AP", ranked([1, 0, 1]))
