"""nDCGφ: φ on worked vectors, against scipy's pchip, and the tables of Moniz et al. 2016."""

import random
import statistics
from itertools import pairwise

import numpy as np
import pytest
from helpers import each_row, judgments_of, ranked, values

from gradeval.metrics.ndcg_phi import fitted_phi


def phi(grades, variant="paper"):
    column = np.array(grades, np.float64)
    fitted = fitted_phi(judgments_of([ranked(grades)]), variant)
    return fitted.of(column, np.zeros(len(column), np.int64)).tolist()


@each_row(
    (list(range(1, 11)), [0] * 5 + [0.017832647, 0.148148148, 0.377229081, 0.672153635, 1]),
    ([*range(1, 10), 100], [0] * 5 + [0.000879727, 0.007431700, 0.019294047, 0.035171187, 1]),
    ([0, 1, 2, 3, 4], [0, 0, 0, 0.3125, 1]),
    ([0] * 6 + [1, 1, 2, 3], [0] * 6 + [0.333333333, 0.333333333, 0.666666667, 1]),
    ([5, 5, 5, 1], [1, 1, 1, 0]),
    ([7], [1]),
    ([0, 0], [0, 0]),
    ([0, 0, 0, 8], [0, 0, 0, 1]),
)
def test_vectors(grades, expected):
    assert phi(grades) == pytest.approx(expected, abs=1e-9)


@each_row(
    (list(range(1, 11)), [0] * 5 + [0.018381344307, 0.151851851852, 0.384087791495, 0.678875171468, 1]),
    ([*range(1, 10), 100], [0] * 5 + [0.003497636151, 0.025933250423, 0.056632709694, 0.080808080808, 1]),
    ([0.5, 1.25, 2, 2.75, 3.1, 4.4, 5.9, 12.5, 30], [0] * 5 + [0.065981233, 0.183050847, 0.495387203, 1]),
    ([0, 0, 0, 0, 0, 1, 1, 2], [0] * 7 + [1]),
    ([0, 1, 2, 3, 4], [0, 0, 0, 0.157407407407, 1]),
    # where the released code divides by zero: as for the paper's variant
    ([3, 3, 3], [1, 1, 1]),
    ([0, 0, 7], [0, 0, 1]),
    ([1, 1, 1, 1, 5], [0, 0, 0, 0, 1]),
    ([1, 5, 5, 5], [0, 1, 1, 1]),
)
def test_released_vectors(grades, expected):
    assert phi(grades, "released") == pytest.approx(expected, abs=1e-9)


def test_rounding_makes_no_outlier_and_the_worse_error_costs_more():
    """Q3 + 1.5 (Q3 - Q1) of 0 0 2 2 5 is 5, the largest, whatever the unit."""
    for unit in (1.0, 0.1, 0.3, 1 / 7, 1e-3, 123.456):
        assert phi([unit * grade for grade in (0, 0, 2, 3, 5)]) == pytest.approx(phi([0, 0, 2, 3, 5]))
        assert phi([unit * grade for grade in (0, 0, 2, 2, 5)]) == pytest.approx(phi([0, 0, 2, 2, 5]))
    days = values("nDCGphi", ranked([100, 80, 90, 15, 10]), ranked([100, 20, 90, 15, 10]))  # table 1
    assert days == pytest.approx([0.969593, 0.935632], abs=5e-7)


def is_as_ndcng(grades: list[float]) -> bool:
    """The condition on the pages of both: the control points of φ are then on the line grade / max."""
    counted = [max(grade, 0) for grade in grades]
    return statistics.median(counted) == 0 or len({grade for grade in grades if grade > 0}) <= 1


def test_it_equals_ndcng_exactly_where_the_pages_say_so():
    assert not is_as_ndcng([-2, -1, 1, 2])  # the median is 0, but not after grades below 0 became 0
    rng, queries, ends, drawn = random.Random(3), [], [0], []
    for _ in range(150):
        scales = [0, 1], [0, 0, 0, 1, 2, 3], [-1, 0, 1, 2], [-2, -1, 1, 2], [1, 2, 3, 4, 5]
        scale = rng.choice([*scales, [n / 8 for n in range(40)]])
        grades = [float(rng.choice(scale)) for _ in range(rng.randint(1, 12))]
        alone = [ranked([grade], missed=grades[:n] + grades[n + 1 :]) for n, grade in enumerate(grades)]
        shuffled = ranked(rng.sample(grades, len(grades)))
        queries += [shuffled, *alone]
        ends.append(len(queries))
        drawn.append(grades)
    found, expected = (values(name, *queries) for name in ("nDCGphi", "NDCNG"))
    for grades, (a, b) in zip(drawn, pairwise(ends), strict=True):
        assert (found[a:b] == pytest.approx(expected[a:b], abs=1e-12)) == is_as_ndcng(grades), grades
    assert {is_as_ndcng(grades) for grades in drawn} == {True, False}
