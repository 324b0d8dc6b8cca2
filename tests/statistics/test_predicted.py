"""Prediction-powered means: the worked values, and a slow reference that follows ppi_py's loss."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from gradeval.statistics.predicted import predicted_mean, welch_p

Y = [0.50, 0.62, 0.31, 0.80, 0.45, 0.70, 0.55, 0.20, 0.66, 0.41]
F = [0.60, 0.70, 0.35, 0.85, 0.60, 0.72, 0.66, 0.35, 0.70, 0.50]
OTHERS = """.55 .75 .40 .62 .91 .33 .58 .47 .69 .52 .80 .44 .61 .38 .73
.57 .66 .49 .71 .59 .64 .36 .78 .53 .60 .45 .68 .50 .74 .56"""
ARRAYS = np.array(Y), np.array(F), np.array([float(text) for text in OTHERS.split()])


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (None, (0.505961, 0.440465, 0.571457, 0.935925)),
        (1.0, (0.505, 0.438135, 0.571865, 1.0)),
        (0.0, (0.52, 0.388267, 0.651733, 0.0)),
    ],
)
def test_worked_values(weight: float | None, expected: tuple[float, ...]) -> None:
    mean = predicted_mean(*ARRAYS, 0.05, weight)
    assert (mean.estimate, mean.low, mean.high, mean.weight) == pytest.approx(expected, abs=6e-7)


def reference(y: list[float], f: list[float], others: list[float]) -> tuple[float, float]:
    """θ and λ of ppi_py's ppi_mean_pointestimate, term by term: the gradients of the squared loss."""
    n, count = len(y), len(others)
    mean_y, mean_f = sum(y) / n, sum(f) / n
    covariance = sum((a - mean_y) * (b - mean_f) for a, b in zip(y, f, strict=True)) / n
    predicted = [*f, *others]
    center = sum(predicted) / len(predicted)
    variance = sum((value - center) ** 2 for value in predicted) / (len(predicted) - 1)
    weight = min(1.0, max(0.0, covariance / ((1 + n / count) * variance)))
    rectifier = sum(a - weight * b for a, b in zip(y, f, strict=True)) / n
    return weight * sum(others) / count + rectifier, weight


@pytest.mark.parametrize("seed", range(20))
def test_point_and_weight_are_the_reference(seed: int) -> None:
    random = np.random.default_rng(seed)
    y = random.normal(0.5, 0.2, 30)
    f = random.choice([-1, 0, 0.5, 3]) * y + random.normal(0, 0.1, 30)
    others = random.normal(0.5, 0.2, 1 + 15 * seed)
    mean = predicted_mean(y, f, others, 0.05)
    expected = reference(y.tolist(), f.tolist(), others.tolist())
    assert (mean.estimate, mean.weight) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("f", "others"), [(np.full(10, 0.5), np.full(30, 0.5)), (ARRAYS[1], np.empty(0))])
def test_without_information_people_count_alone(f: np.ndarray, others: np.ndarray) -> None:
    assert predicted_mean(ARRAYS[0], f, others, 0.05) == predicted_mean(*ARRAYS, 0.05, 0.0)


@pytest.mark.slow
def test_coverage_of_30_queries_of_330() -> None:
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(4000):
        y = random.normal(0.5, 0.2, 330)
        f = 0.1 + 0.9 * y + random.normal(0, 0.08, 330)
        mean = predicted_mean(y[:30], f[:30], f[30:], 0.05)
        covered += mean.low <= 0.5 <= mean.high
    assert 0.93 <= covered / 4000 <= 0.97


def test_welch() -> None:
    random = np.random.default_rng(3)
    x, y = random.normal(0, 1, 12), random.normal(0.5, 3, 40)
    assert welch_p(x, y) == pytest.approx(ttest_ind(x, y, equal_var=False).pvalue)
    for few, other in ((x[:1], y), (np.full(9, 0.1), np.full(5, 0.3))):
        assert np.isnan(welch_p(few, other))
