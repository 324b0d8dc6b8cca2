"""CG, DCG, nDCG and NDCNG on the papers' numbers."""

from __future__ import annotations

import math

import pytest
from helpers import each, judgments_of, ranked, value, values

from gradeval.errors import MetricError
from gradeval.registry.spec import parse

TABLE = [1, 0, 3, 3, 2, 0, 1, 4]
NDCNG = [0.1892, 0.1323, 0.2993, 0.4225, 0.4865, 0.4708, 0.5010, 0.6519]
NDCG = [0.0667, 0.0515, 0.1964, 0.3104, 0.3527, 0.3477, 0.3610, 0.5507]


@pytest.mark.parametrize(("name", "row", "mean"), [("NDCNG", NDCNG, 0.39), ("nDCG(gain=exp)", NDCG, 0.28)])
def test_scheel_table_2(name, row, mean):
    found = [value(f"{name}@{k}", ranked(TABLE)) for k in range(1, 9)]
    assert found == pytest.approx(row, abs=5e-5)
    assert sum(found) / 8 == pytest.approx(mean, abs=5e-3)


def test_scheel_table_2_with_doubled_grades():
    doubled = ranked([2 * grade for grade in TABLE])
    found = [value(f"nDCG(gain=exp)@{k}", doubled) for k in range(1, 9)]
    assert found[-1] == pytest.approx(0.444, abs=5e-4)
    assert sum(found) / 8 == pytest.approx(0.17, abs=5e-3)
    assert [value(f"NDCNG@{k}", doubled) for k in range(1, 9)] == pytest.approx(NDCNG, abs=5e-5)


@each(
    ("name", "grades", "expected"),
    [
        ("CG@5", [4, 3, 2, 1, 0], 10),
        ("CG@5", [0, 1, 2, 3, 4], 10),
        ("DCG@5", [4, 3, 2, 1, 0], 7.323466),
        ("DCG@5", [0, 1, 2, 3, 4], 4.470371),
        ("DCG(gain=exp)@5", [4, 3, 2, 1, 0], 21.347185),
        ("DCG(gain=exp)@5", [0, 1, 2, 3, 4], 10.948458),
        ("DCG(gain=exp)@5", [4, 4, 3, 3, 3], 33.686652),
        ("DCG(gain=exp)@5", [2, 1, 1, 1, 0], 4.561606),
        ("nDCG@5", [4, 4, 3, 3, 3], 1),
        ("nDCG@5", [2, 1, 1, 1, 0], 1),
        ("nDCG@5", [3, 2, 1, 4, 0], 0.8854504),
        ("nDCG@5", [0, 1, 2, 3, 4], 0.6104174),
        ("nDCG@5", [4, 3, 2, 1, 1, 0, 3, 4, 0, 0], 0.7641958),
    ],
)
def test_choosing_a_metric(name, grades, expected):
    assert value(name, ranked(grades)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("discount", "divisors"),
    [
        ("log2", [1, math.log2(3), 2, math.log2(5)]),
        ("letor", [1, 1, math.log2(3), 2]),
        ("zipf", [1, 2, 3, 4]),
        ("none", [1, 1, 1, 1]),
    ],
)
def test_discounts(discount, divisors):
    grades = [2, 5, 1, 3]
    expected = sum(grade / divisor for grade, divisor in zip(grades, divisors, strict=True))
    assert value(f"DCG(discount={discount})", ranked(grades)) == pytest.approx(expected, abs=1e-14)
    assert value(f"DCG(discount={discount})@2", ranked(grades)) == pytest.approx(2 + 5 / divisors[1])


def test_gains_by_list():
    query = ranked([0, 2, None, 1, 7, -1])
    gains = [0.5, 10, 0, 1, 7, 0]  # 7 is not listed and stays
    assert value("CG(gain=0:0.5/1:1/2:10)", query) == sum(gains)
    assert value("nDCG(gain=0:0.5/1:1/2:10)", query) == pytest.approx(
        sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
        / sum(gain / math.log2(rank + 1) for rank, gain in enumerate(sorted(gains, reverse=True), 1))
    )


def test_gains_that_fall_still_have_an_ideal_of_1():
    assert value("nDCG(gain=1:9/2:1)", ranked([1, 2])) == 1
    assert value("nDCG(gain=1:9/2:1)", ranked([2, 1])) < 1


def test_grades_by_place():
    top_10_reversed = [*range(91, 101), *range(90, 0, -1)]
    swapped = [*range(100, 91, -1), 90, 91, *range(89, 0, -1)]
    ad_hoc = "nDCG(gain=exp,top=10/25/50)@10"
    assert value(ad_hoc, ranked(top_10_reversed)) == 1
    assert value(ad_hoc, ranked(swapped)) == pytest.approx(0.963645, abs=5e-7)


def test_grades_by_place_with_ties():
    """The grade 2 documents stand at place 3, which is not in the top 2."""
    assert value("CG(top=2/3)", ranked([5, 2, 2, 1, 0])) == 2 + 1 + 1
    assert value("CG(top=9)", ranked([5, 0, -1])) == 1  # what is not relevant has no place


def test_ideals():
    query = ranked([1, 2], missed=[4])
    assert value("nDCG@2", query) == pytest.approx((1 + 2 / math.log2(3)) / (4 + 2 / math.log2(3)))
    assert value("nDCG(ideal=local)@2", query) == pytest.approx((1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3)))
    perfect = 1 + 1 / math.log2(3) + 1 / 2
    assert value("nDCG(ideal=max)@3", query) == pytest.approx((1 + 2 / math.log2(3)) / (4 * perfect))
    assert value("nDCG(ideal=max,max_grade=5)@3", query) == pytest.approx(
        (1 + 2 / math.log2(3)) / (5 * perfect)
    )


def test_local_ideal_reorders_all_that_was_retrieved():
    query = ranked([0, 0, 3], missed=[4])
    assert value("nDCG(ideal=local)@2", query) == 0
    assert value("nDCG(ideal=local)@3", query) == 0.5


def test_largest_grade_is_that_of_all_queries():
    first, second = ranked([2, 1]), ranked([4])
    assert values("nDCG(ideal=max)@1", first, second) == [0.5, 1]


def test_max_grade_below_a_grade_is_refused():
    with pytest.raises(MetricError, match="max_grade=3 is below the largest grade, 4"):
        value("nDCG(ideal=max,max_grade=3)@5", ranked([4]))


def test_max_grade_of_places():
    assert value("nDCG(ideal=max,top=1/2)@1", ranked([9, 8])) == 1
    assert value("nDCG(ideal=max,top=1/2,gain=2:8)@1", ranked([9, 8])) == 1


def test_gain_exp_refuses_what_overflows():
    with pytest.raises(MetricError, match="NDCNG and nDCGphi accept grades of any size"):
        value("nDCG(gain=exp)", ranked([5000, 1]))
    assert 0 < value("NDCNG", ranked([1, 5000])) < 1


@each("name", ["CG", "DCG", "nDCG", "NDCNG", "nDCG(ideal=local)", "nDCG(ideal=max)@5"])
def test_nothing_gained_is_0(name):
    assert values(name, ranked([0, -3, None]), ({}, {}), ({"a": 1.0}, {}), ({}, {"a": 1.0})) == [0, 0, 0, 0]
    [spec] = parse(name)
    assert spec.metric(judgments_of([]), **spec.params).tolist() == []


def test_negative_grades_gain_nothing():
    assert value("nDCG", ranked([-2, 1])) == value("nDCG", ranked([0, 1])) == value("nDCG", ranked([None, 1]))


def test_rel_leaves_gains_alone():
    query = ranked([1, 3, 2])
    assert value("nDCG", query, level=3) == value("nDCG", query)
