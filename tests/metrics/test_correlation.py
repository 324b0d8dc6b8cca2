"""τ, ρ, r and AUC: against scipy, on large queries, and where they are undefined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers import each, judgments_of, ranked, scored, value, values
from scipy import stats

from gradeval.arrays.segments import Segments
from gradeval.registry.metric import REGISTRY
from gradeval.tables.judgments import Judgments

SCIPY = {
    "tau": lambda x, y: stats.kendalltau(x, y).statistic,
    "rho": lambda x, y: stats.spearmanr(x, y).statistic,
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
}


@each("name", SCIPY)
@each("levels", [2, 5, 1000])
def test_as_scipy(name, levels):
    rng = np.random.default_rng(levels)
    queries = [(rng.integers(levels, size=n), rng.integers(1, n + 1, size=n)) for n in (5, 30, 200)]
    found = values(name, *(scored(grades.tolist(), scores.tolist()) for grades, scores in queries))
    assert found == pytest.approx([SCIPY[name](scores, grades) for grades, scores in queries], abs=1e-12)


def test_a_query_of_a_hundred_thousand_documents():
    rng = np.random.default_rng(7)
    n = 100_000
    grade, score = rng.exponential(100, n).round(), -np.sort(-rng.integers(0, n, n).astype(np.float64))
    rows = np.arange(n)
    table = Judgments(Segments(np.array([0, n])), grade, rows + 1.0, score, rows, np.array([n]))
    for name, expected in SCIPY.items():
        assert REGISTRY[name](table).tolist() == pytest.approx([expected(score, grade)], abs=1e-12)


def test_only_judged_and_retrieved_documents_count():
    inside = ranked([3, 1, 2])
    around = ranked([None, 3, 1, None, 2], missed=[9, 0])
    assert value("tau", around) == value("tau", inside) == pytest.approx(1 / 3)
    assert value("rho", around) == value("rho", inside) == pytest.approx(1 / 2)


@pytest.mark.parametrize("name", SCIPY)
def test_undefined(name):
    queries = [
        ({}, {}),
        ranked([2, 2, 2]),
        scored([1, 2, 3], [5, 5, 5]),
        ranked([1], missed=[2]),
        ranked([1, 1], missed=[2]),
        ({"a": 1.0, "b": 1.0}, {}),
        ranked([None, None], missed=[1, 2]),
    ]
    assert all(math.isnan(one) for one in values(name, *queries))
    assert value(name, ({"a": 1.0, "b": 0.0}, {})) == 0  # the run lacks the query
    assert REGISTRY[name](judgments_of([])).tolist() == []


def test_pearson_of_extreme_scores():
    for unit in (1e-200, 1e-5, 1.0, 1e5, 1e150):
        assert value("pearson", scored([1, 2, 4], [unit, 2 * unit, 4 * unit])) == pytest.approx(1)
    assert value("pearson", scored([1, 2, 4], [1e6 + 1, 1e6 + 2, 1e6 + 4])) == pytest.approx(1)


@each(
    ("query", "expected"),
    [
        (ranked([1, 1, 0, 0]), 1),
        (ranked([0, 0, 1, 1]), 0),
        (ranked([1, 0, 1, 0]), 0.75),
        (scored([1, 0, 1, 0], [5, 5, 5, 5]), 0.5),
        (scored([1, 0, 1, 0], [5, 5, 4, 3]), 0.625),
        (ranked([None, 1, None, 0]), 1),
        (ranked([1], missed=[0, 0]), 1),
        (ranked([1, 0], missed=[1, 0]), (1 + 1 + 0 + 0.5) / 4),
        (ranked([None], missed=[1, 0]), 0.5),
        (({"a": 1.0, "b": 0.0}, {}), 0),
    ],
)
def test_auc(query, expected):
    assert value("AUC", query) == expected


def test_auc_level():
    assert value("AUC(rel=2)", ranked([2, 1, 2, 1])) == 0.75
    assert value("AUC", ranked([2, 1, 2, 1]), level=2) == 0.75


def test_auc_is_undefined_where_all_or_none_are_relevant():
    assert all(math.isnan(one) for one in values("AUC", ranked([1, 2, 3]), ranked([0, 0]), ({}, {})))
