"""Bounds equal the minimum and maximum over all assignments of grades."""

from itertools import product

import numpy as np
import pytest
from helpers import each, some

from gradeval.arrays.segments import Segments
from gradeval.statistics.bounds import (
    Between,
    Levels,
    Linear,
    Normalized,
    Share,
    linear_bounds,
    normalized_bounds,
    recall_bounds,
)


def discount(rank, cutoff):
    return np.where(rank <= cutoff, 1 / np.log2(rank + 1), 0.0)


def ideal(grades, cutoff):
    gains = np.sort(np.maximum(grades, 0))[::-1]
    return (gains * discount(np.arange(1, gains.size + 1), cutoff)).sum()


def ends(values):
    return pytest.approx((min(values), max(values)), abs=1e-12)


@each("seed", some(range(300), 4))
def test_enumeration(seed):
    random = np.random.default_rng(seed)
    judged, unjudged = random.integers(1, 4), random.integers(0, 5)
    grades = random.choice([-1.0, 0, 0.5, 1, 2, 3, 5], judged)
    top, cutoff, empty = random.choice([1.0, 2, 3]), random.integers(1, 8), random.choice([0.0, 1])
    one, other = (random.permutation(judged + unjudged) + 1.0 for _ in range(2))
    gains = np.maximum(grades, 0)
    alphabet = sorted({0.0, top, *grades[(grades > 0) & (grades < top)]})
    worlds = [np.array(world, float) for world in product(alphabet, repeat=unjudged)]
    sets = [np.array(world, bool) for world in product([0, 1], repeat=unjudged)]
    relevant = grades > 0
    total = relevant.sum()

    for weights in (discount(one, cutoff), discount(other, cutoff) - discount(one, cutoff)):
        # of a pair the value where nothing is relevant is 0 for both, so their difference is 0
        empty_value = empty if (weights >= 0).all() else 0.0
        base, free = gains @ weights[:judged], weights[judged:]
        ideals = [ideal(np.append(grades, x), cutoff) for x in worlds]
        ratios = [(base + free @ x) / i if i else empty_value for x, i in zip(worlds, ideals, strict=True)]
        assert normalized_bounds(base, free, grades, top, cutoff=cutoff, empty=empty_value) == ends(ratios)
        assert linear_bounds(base, free, top) == ends([base + free @ x for x in worlds])

    for hits in (1.0 * (one <= cutoff), 1.0 * (other <= cutoff) - (one <= cutoff)):
        base, free = relevant @ hits[:judged], hits[judged:]
        values = [(base + free @ x) / (total + x.sum()) if total + x.sum() else empty for x in sets]
        assert recall_bounds(base, free, total, empty) == ends(values)


def forms(judged, unjudged, gains, rank, cutoff, top):
    """Of one ranking: a DCG, a share of what is relevant, and an nDCG."""
    query, weights = Segments(np.array([0, unjudged])), discount(rank, cutoff)
    base, free = np.array([gains @ weights[:judged]]), weights[judged:]
    levels = Levels.of(Segments(np.array([0, judged])), gains, top)
    ideal = np.append(0, np.cumsum(discount(np.arange(1, cutoff + 1), cutoff)))
    hits = 1.0 * (rank <= cutoff)
    found, relevant = np.array([(gains > 0) @ hits[:judged]]), np.array([(gains > 0).sum()])
    nothing = np.zeros(1, int)
    return (
        Linear(query, base, free, (0.0, top)),
        Share(query, found, hits[judged:], nothing, relevant, empty=1.0),
        Normalized(query, base, free, nothing, levels, ideal=ideal, empty=np.ones(1)),
    )


@each("seed", some(range(300), 4))
def test_differences_of_pairs(seed):
    """Equal those of all worlds, both systems in the same one."""
    random = np.random.default_rng(seed)
    judged, unjudged = random.integers(1, 4), random.integers(0, 5)
    gains = np.maximum(random.choice([-1.0, 0, 0.5, 1, 2, 3, 5], judged), 0)
    top, cutoff = random.choice([1.0, 2, 3]), random.integers(1, 8)
    one, other = (random.permutation(judged + unjudged) + 1.0 for _ in range(2))
    first, second = (forms(judged, unjudged, gains, rank, cutoff, top) for rank in (one, other))
    linear, share, normalized = (b.minus(a) for a, b in zip(first, second, strict=True))
    alphabet = sorted({0.0, top, *gains[gains < top]})
    worlds = [np.append(gains, world) for world in product(alphabet, repeat=unjudged)]
    weights, hits = discount(other, cutoff) - discount(one, cutoff), 1.0 * (other <= cutoff) - (one <= cutoff)
    assert np.ravel(linear.limits()) == ends([world @ weights for world in worlds])
    assert np.ravel(share.limits()) == ends([(x > 0) @ hits / max((x > 0).sum(), 1) for x in worlds])
    assert np.ravel(normalized.limits()) == ends([x @ weights / (ideal(x, cutoff) or 1) for x in worlds])
    assert linear.is_exact and share.is_exact and normalized.is_exact
    alone = Between(*normalized.limits())
    outer = alone.minus(normalized)
    assert not outer.is_exact
    assert np.ravel(outer.limits()) == ends([*(alone.lowest - alone.highest), *(alone.highest - alone.lowest)])


def test_worked():
    """Run 3 - 0 1 - with a 2 missed; run 1 -; run 1 - 0 1 - with a 1 missed."""
    grades, ranks, unjudged = np.array([3.0, 0, 1, 2]), np.array([1, 3, 4, np.inf]), np.array([2.0, 5])
    for cutoff, bounds in ((3, (0.509097, 0.830301)), (5, (0.720449, 0.853827))):
        base = grades @ discount(ranks, cutoff)
        free = discount(unjudged, cutoff)
        assert normalized_bounds(base, free, grades, 3, cutoff=cutoff) == pytest.approx(bounds, abs=1e-6)
    graded = normalized_bounds(1.0, discount(np.array([2.0]), 9), np.array([1.0]), 3)
    assert graded == pytest.approx((0.796708, 1), abs=1e-6)
    assert recall_bounds(1, np.array([1.0, 0]), 3, 0.0) == pytest.approx((0.25, 0.5))
