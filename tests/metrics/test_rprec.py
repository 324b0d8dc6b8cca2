"""R-precision and interpolated precision, worked by hand on one ranking."""

from __future__ import annotations

import pytest
from helpers import each, ranked, value, values

# R = 4; relevant at ranks 1, 3 and 6, where P is 1, 2/3 and 1/2
QUERY = ranked([1, 0, 2, None, 0, 1], missed=[1])
EMPTY = ({}, {})
MISSING = ({"a": 1.0, "b": 0.0}, {})
IRRELEVANT = ranked([0, -1, None])


@each(
    ("name", "expected"),
    [
        ("Rprec", 2 / 4),
        ("Rprec(rel=2)", 0),
        ("Rprec_mult@1", 2 / 4),
        ("Rprec_mult@0.2", 1),  # 0.8 + 0.9 = 1.7: one rank
        ("Rprec_mult@0.6", 2 / 3),  # 2.4 + 0.9: three
        ("Rprec_mult@1.5", 3 / 6),
        ("Rprec_mult@2", 3 / 8),  # beyond the last rank
        ("Rprec_mult@0.02", 0),  # no rank at all
        ("iprec_at_recall@0", 1),
        ("iprec_at_recall@0.25", 1),
        ("iprec_at_recall@0.37", 1),  # 1.48 documents are one
        ("iprec_at_recall@0.38", 2 / 3),  # 1.52 are two
        ("iprec_at_recall@0.5", 2 / 3),
        ("iprec_at_recall@0.625", 1 / 2),  # 2.5 are three
        ("iprec_at_recall@0.75", 1 / 2),
        ("iprec_at_recall@1", 0),
        # recall 0 .1 .2 .3 takes 0 0 1 1 documents, .4 .5 .6 two, .7 .8 three, .9 1 four
        ("11pt_avg", (4 * 1 + 3 * (2 / 3) + 2 * (1 / 2)) / 11),
        ("11pt_avg(points=0.5/1)", (2 / 3) / 2),
    ],
)
def test_by_hand(name, expected):
    assert value(name, QUERY) == pytest.approx(expected, abs=1e-15)


def test_a_later_precision_can_be_higher():
    query = ranked([0, 1, 1, 1])  # P is 1/2, 2/3, 3/4
    assert [value(f"iprec_at_recall@{r}", query) for r in (0, 0.34, 1)] == [0.75, 0.75, 0.75]


@pytest.mark.parametrize("name", ["Rprec", "Rprec_mult@1", "iprec_at_recall@0", "11pt_avg"])
def test_nothing_relevant_or_retrieved_is_0(name):
    assert values(name, EMPTY, MISSING, IRRELEVANT) == [0, 0, 0]
    assert values(name) == []


def test_level():
    assert value("Rprec", QUERY, level=2) == value("Rprec(rel=2)", QUERY)
    assert value("iprec_at_recall@1", QUERY, level=2) == pytest.approx(1 / 3)
