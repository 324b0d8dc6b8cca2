"""Agreement of raters, against published numbers and slow recomputation document by document."""

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from helpers import examples
from hypothesis import given
from hypothesis import strategies as st

from gradeval.statistics import agreement
from gradeval.statistics.agreement import ALPHAS, OF_TWO, Ratings, estimates
from gradeval.statistics.sampling import Sampling, over_resamples
from gradeval.statistics.tests import paired_tests

A, B = ([float(digit) for digit in text] for text in ("0011223301", "0111233200"))
NONE = math.nan
# Krippendorff, "Computing Krippendorff's alpha-reliability", 2011, section C: four observers, twelve units
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
    [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
]


def overall(grades, query=None):
    grades = np.array(grades, np.float64)
    query = np.zeros(grades.shape[1], np.int64) if query is None else np.array(query)
    ratings = Ratings.of(grades, query)
    return dict(zip(ratings.names, ratings.overall().tolist(), strict=True))


def slow_kappa(documents, weight):
    """1 - observed / expected disagreement, over all pairs of documents."""
    expected = sum(weight(a, b) for a, _ in documents for _, b in documents) / len(documents) ** 2
    observed = sum(weight(a, b) for a, b in documents) / len(documents)
    return 1 - observed / expected if expected else NONE


def slow_alpha(grades, kind):
    """From the coincidence matrix, with ordinal distances as sums over grades."""
    units = [[g for g in unit if not math.isnan(g)] for unit in zip(*grades, strict=True)]
    coincidences, count = Counter(), Counter()
    for unit in units:
        for c, k in permutations(unit, 2):
            coincidences[c, k] += 1 / (len(unit) - 1)
            count[c] += 1 / (len(unit) - 1)

    def square(c, k):
        between = sum(number for g, number in count.items() if min(c, k) <= g <= max(c, k))
        ordinal = between - (count[c] + count[k]) / 2 if c != k else 0.0
        return {"nominal": c != k, "interval": c - k, "ordinal": ordinal}[kind] ** 2

    n = sum(count.values())
    if len(count) < 2:
        return NONE
    observed = sum(number * square(c, k) for (c, k), number in coincidences.items()) / n
    expected = sum(count[c] * count[k] * square(c, k) for c in count for k in count) / (n * (n - 1))
    return 1 - observed / expected


def slow(grades):
    values = {f"alpha_{kind}": slow_alpha(grades, kind) for kind in ("nominal", "ordinal", "interval")}
    if len(grades) > 2:
        return values
    pairs = [pair for pair in zip(*grades, strict=True) if not any(map(math.isnan, pair))]
    return {
        "agreement": sum(a == b for a, b in pairs) / len(pairs),
        "difference": sum(b - a for a, b in pairs) / len(pairs),
        "kappa": slow_kappa(pairs, lambda a, b: a != b),
        "kappa_linear": slow_kappa(pairs, lambda a, b: abs(a - b)),
        "kappa_quadratic": slow_kappa(pairs, lambda a, b: (a - b) ** 2),
        **values,
    }


def test_published_numbers():
    """Krippendorff's; Cohen 1960, table 1, as counts of 200: agreement .70, by chance .41; grades 0, 1, 2."""
    values = overall(OBSERVERS)
    assert list(values) == list(ALPHAS)
    assert [round(value, 3) for value in values.values()] == [0.743, 0.815, 0.849]
    counts = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]
    cells = [(i, j) for i, row in enumerate(counts) for j, n in enumerate(row) for _ in range(n)]
    raters = list(zip(*cells, strict=True))
    values = overall(raters)
    assert values == pytest.approx(slow(raters))
    assert values["kappa"] == pytest.approx((0.70 - 0.41) / (1 - 0.41))
    far = [[9 if grade == 2 else grade for grade in of] for of in raters]
    assert overall(far)["kappa"] == values["kappa"]  # 0 and 9 are farther apart than 0 and 2
    assert overall(far)["kappa_linear"] != pytest.approx(values["kappa_linear"])
    for grade in (0.1, 0.0, -1 / 3):  # all values equal
        for raters in (2, 3):
            values = overall([[grade] * 7] * raters)
            assert all(math.isnan(value) for name, value in values.items() if name in (*ALPHAS, *OF_TWO[1:-1]))
    assert overall([[0.0] * 3, [1.0] * 3])["kappa"] == 0  # nothing but chance


GRADES = st.sampled_from([-2.0, -0.3, 0.0, 0.5, 1.0, 3.0, 7.5])


@st.composite
def rated(draw):
    """Grades of some raters, each lacking some documents, and the query of each document."""
    raters, documents = draw(st.integers(2, 4)), draw(st.integers(1, 12))
    grade = st.one_of(GRADES, GRADES, st.just(NONE))
    grades = draw(st.lists(st.tuples(*[grade] * raters), min_size=documents, max_size=documents))
    query = draw(st.lists(st.integers(0, 3), min_size=documents, max_size=documents))
    return np.array(grades).T, np.array(query)


@given(rated(), st.randoms())
def test_slow_recomputation(case, random):
    """Whatever the order of raters and documents, and the unit; of all, and as if each query were alone."""
    grades, query = case
    values = overall(grades, query)
    if ((~np.isnan(grades)).sum(axis=0) > 1).any():
        assert values == pytest.approx(slow(grades.tolist()), abs=1e-12, nan_ok=True)
    else:
        assert all(map(math.isnan, values.values()))
    places = random.sample(range(len(query)), len(query))
    assert overall(grades[:, places], query[places]) == pytest.approx(values, abs=1e-12, nan_ok=True)
    for unit, other in ((1, overall(grades[::-1], query)), (-1e120, overall(grades * 1e120, query))):
        if "difference" in other:  # its unit is that of the grades, and so is its rounding
            other["difference"] /= -unit
        assert other == pytest.approx(values, rel=1e-9, abs=1e-9, nan_ok=True)
    ratings = Ratings.of(grades, query)
    values, without = ratings.by_query(), ratings.without_each()
    for index, of_query in enumerate(ratings.queries.tolist()):
        for rows, mask in ((values, query == of_query), (without, query != of_query)):
            alone = Ratings.of(grades[:, mask], query[mask])
            np.testing.assert_allclose(rows[index], alone.overall(), atol=1e-9)


@examples(times=0.4)
@given(rated())
def test_resamples_are_those_of_repeated_queries(case):
    grades, query = case
    ratings, sampling = Ratings.of(grades, query), Sampling(20, 3)
    if not len(ratings.queries):
        return
    [times] = over_resamples(len(ratings.queries), sampling, lambda times: times)
    for row, values in zip(times.astype(int), ratings.resampled(sampling), strict=True):
        parts = [np.flatnonzero(query == q) for q in np.repeat(ratings.queries, row)]
        again = Ratings.of(grades[:, np.concatenate(parts)], np.zeros(sum(map(len, parts)), np.int64))
        np.testing.assert_allclose(values, again.overall(), atol=1e-12)


def made(seed, queries=30, documents=20):
    random = np.random.default_rng(seed)
    ease = np.repeat(random.random(queries), documents)
    truth = random.integers(0, 4, queries * documents)
    other = np.where(random.random(len(truth)) < ease, truth, random.integers(0, 4, len(truth)))
    return np.array([truth, other], np.float64), np.repeat(np.arange(queries), documents)


def test_intervals_of_a_mean_are_those_of_the_bootstrap():
    """The mean difference of queries of one size is a mean over queries, whose BCa interval is known."""
    grades, query = made(1)
    sampling = Sampling(2000, 5)
    made_of = dict(zip(OF_TWO, estimates(Ratings.of(grades, query), 0.1, sampling), strict=True))
    of_queries = np.bincount(query, grades[1] - grades[0]) / 20
    [expected] = paired_tests("bootstrap", of_queries[:, None], 0.1, sampling)
    value, *interval = made_of["difference"]
    assert value == pytest.approx(of_queries.mean())
    assert tuple(interval) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_edges_of_intervals():
    one_query = estimates(Ratings.of(np.array([A, B]), np.zeros(10, int)), 0.05, Sampling(50))
    assert all(math.isnan(low) and not math.isnan(value) for value, low, _ in one_query)
    same = estimates(Ratings.of(np.array([A, A]), np.arange(10)), 0.05, Sampling(50))
    assert {tuple(estimate) for estimate in same} == {(1, 1, 1), (0, 0, 0)}
    # two queries with equal kappas, whose kappa together is another one: no query has an influence
    mirrored = Ratings.of(np.array([[0, 0, 1, 1, 1, 0.0], [0, 1, 1, 1, 0, 0]]), np.repeat([0, 1], 3))
    _, *interval = estimates(mirrored, 0.6, Sampling(200))[1]
    of_query, together = mirrored.by_query()[0, 1], mirrored.overall()[1]
    assert interval == [min(of_query, together), max(of_query, together)]
    # influences that are rounding, which depends on the unit of the grades, decide nothing
    grades, queries = np.array([[1, 1, 0, 1, 0, 0, 0, 0], [1, 0, 1, 1, 1, 0, 1, 0.0]]), np.repeat(range(4), 2)
    units = [estimates(Ratings.of(grades * unit, queries), 0.05, Sampling(200)) for unit in (1, 1 / 7)]
    np.testing.assert_allclose(units[1][:-1], units[0][:-1], atol=1e-12)
    nothing = estimates(Ratings.of(np.array([[1, NONE], [NONE, 1]]), np.arange(2)), 0.05, Sampling(50))
    assert all(map(math.isnan, np.ravel(nothing)))


def test_parts_change_nothing(monkeypatch):
    grades, query = made(2)
    ratings = Ratings.of(grades, query)
    methods = (ratings.by_query, ratings.without_each, lambda: ratings.resampled(Sampling(30)))
    whole = [method() for method in methods]
    monkeypatch.setattr(agreement, "_CELLS", 70)
    for method, values in zip(methods, whole, strict=True):
        np.testing.assert_allclose(method(), values, rtol=1e-14)
