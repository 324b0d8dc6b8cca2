"""τ, ρ, r and AUC: against scipy, on large queries, and where they are undefined."""

import numpy as np
import pytest
from helpers import each, scored, values
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
