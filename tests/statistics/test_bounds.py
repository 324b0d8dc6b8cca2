"""Bounds equal the minimum and maximum over all assignments of grades."""

from itertools import product

import numpy as np
import pytest
from helpers import each, some

from gradeval.arrays.segments import Segments
from gradeval.statistics.bounds import Between, Levels, Linear, Normalized, Share


def discount(rank, cutoff):
    return np.where(rank <= cutoff, 1 / np.log2(rank + 1), 0.0)


def ideal(grades, cutoff):
    gains = np.sort(np.maximum(grades, 0))[::-1]
    return (gains * discount(np.arange(1, gains.size + 1), cutoff)).sum()


def ends(values):
    return pytest.approx((min(values), max(values)), abs=1e-12)


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
def test_values_and_differences(seed):
    """Limits are those of all worlds, of a difference with both systems in the same one."""
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
    weights, hits = discount(one, cutoff), 1.0 * (one <= cutoff)
    assert np.ravel(first[0].limits()) == ends([world @ weights for world in worlds])
    shares = [(x > 0) @ hits / (x > 0).sum() if x.any() else 1.0 for x in worlds]
    assert np.ravel(first[1].limits()) == ends(shares)
    ratios = [x @ weights / ideal(x, cutoff) if x.any() else 1.0 for x in worlds]
    assert np.ravel(first[2].limits()) == ends(ratios)
    for value in (linear, share, normalized):  # as cases of their own, without each of the documents
        some_documents = np.array([np.delete(value.coefficient, n) for n in range(unjudged)])
        if unjudged:
            cases = value.cases(0, Segments(np.arange(unjudged + 1) * (unjudged - 1)), some_documents.ravel())
            alone = [value.cases(0, Segments(np.array([0, unjudged - 1])), row) for row in some_documents]
            assert np.ravel(cases.limits()) == pytest.approx(np.hstack([one.limits() for one in alone]).ravel())
    assert linear.is_exact and share.is_exact and normalized.is_exact
    alone = Between(*normalized.limits())
    outer = alone.minus(normalized)
    assert not outer.is_exact
    assert np.ravel(outer.limits()) == ends([*(alone.lowest - alone.highest), *(alone.highest - alone.lowest)])
