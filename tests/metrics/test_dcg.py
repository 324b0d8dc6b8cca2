"""CG, DCG, nDCG and NDCNG on the papers' numbers."""

import pytest
from helpers import each, ranked, value

from gradeval.errors import MetricError

TABLE = [1, 0, 3, 3, 2, 0, 1, 4]
NDCNG = [0.1892, 0.1323, 0.2993, 0.4225, 0.4865, 0.4708, 0.5010, 0.6519]
NDCG = [0.0667, 0.0515, 0.1964, 0.3104, 0.3527, 0.3477, 0.3610, 0.5507]


@each(("name", "row", "mean"), [("NDCNG", NDCNG, 0.39), ("nDCG(gain=exp)", NDCG, 0.28)])
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
        ("CG@5", [4, 3, 2, 1, 0], 10), ("CG@5", [0, 1, 2, 3, 4], 10), ("DCG@5", [4, 3, 2, 1, 0], 7.323466),
        ("DCG@5", [0, 1, 2, 3, 4], 4.470371), ("DCG(gain=exp)@5", [4, 3, 2, 1, 0], 21.347185),
        ("DCG(gain=exp)@5", [0, 1, 2, 3, 4], 10.948458), ("DCG(gain=exp)@5", [4, 4, 3, 3, 3], 33.686652),
        ("DCG(gain=exp)@5", [2, 1, 1, 1, 0], 4.561606), ("nDCG@5", [4, 4, 3, 3, 3], 1),
        ("nDCG@5", [2, 1, 1, 1, 0], 1), ("nDCG@5", [3, 2, 1, 4, 0], 0.8854504),
        ("nDCG@5", [0, 1, 2, 3, 4], 0.6104174), ("nDCG@5", [4, 3, 2, 1, 1, 0, 3, 4, 0, 0], 0.7641958),
    ],
)  # fmt: skip
def test_choosing_a_metric(name, grades, expected):
    assert value(name, ranked(grades)) == pytest.approx(expected, abs=1e-6)


def test_grades_by_place():
    top_10_reversed = [*range(91, 101), *range(90, 0, -1)]
    swapped = [*range(100, 91, -1), 90, 91, *range(89, 0, -1)]
    ad_hoc = "nDCG(gain=exp,top=10/25/50)@10"
    assert value(ad_hoc, ranked(top_10_reversed)) == 1
    assert value(ad_hoc, ranked(swapped)) == pytest.approx(0.963645, abs=5e-7)


def test_max_grade_below_a_grade_is_refused():
    with pytest.raises(MetricError, match="max_grade=3 is below the largest grade, 4"):
        value("nDCG(ideal=max,max_grade=3)@5", ranked([4]))
