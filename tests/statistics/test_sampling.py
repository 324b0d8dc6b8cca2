"""Random streams stay what they are, on every machine; flips and resamples are those that they document."""

import math
from fractions import Fraction

import numpy as np
import pytest
import statistics_reference as reference
from helpers import each
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson
from statistics_reference import random_signs

from gradeval.statistics.sampling import (
    FixedPoint,
    Sampling,
    Stream,
    flip_count,
    over_flips,
    poisson_thresholds,
    resampled_means,
)


def test_the_stream_of_a_seed_is_fixed_and_the_published_one() -> None:
    """The test vector of philox4x64 with 10 rounds and all bits set, of Random123's kat_vectors.

    numpy counts up before it makes the first four words, so its counter is one below.
    """
    words = Stream(seed=1, purpose=1, block=0).take(3)
    assert words.tolist() == [0x133D1B1836B49E25, 0xFBD9FF744933275E, 0xF289B1B94EF9E741]
    ones = np.full(4, 2**64 - 1, np.uint64)
    words = np.random.Philox(key=ones[:2], counter=ones - np.array([1, 0, 0, 0], np.uint64)).random_raw(4)
    assert words.tolist() == [0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0]


# sums on a grid


# what metric values differ by: nothing below 2^-20 of the largest but 0, so that every bit is on the grid
differences = st.one_of(st.just(0.0), st.floats(2**-20, 1), st.floats(-1, -(2**-20)))


@given(st.lists(st.tuples(differences, st.booleans()), min_size=1, max_size=40))
def test_the_sum_of_any_part_is_correctly_rounded(drawn: list[tuple[float, bool]]) -> None:
    values, chosen = (np.array(part) for part in zip(*drawn, strict=True))
    fixed = FixedPoint.of(values[:, None])
    sums = chosen[None].astype(np.float64) @ fixed.parts
    assert fixed.value(sums)[0, 0] == math.fsum(values[chosen])
    assert fixed.value(fixed.parts.sum(axis=0)[None] - sums)[0, 0] == math.fsum(values[~chosen])


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20))
def test_parts_are_integers_that_cannot_overflow(drawn: list[float]) -> None:
    values = np.array(drawn)[:, None]
    fixed = FixedPoint.of(values)
    assert np.array_equal(fixed.parts, np.rint(fixed.parts))
    assert np.abs(fixed.parts).max() * len(values) <= 2**51
    unit = Fraction(2) ** int(fixed.exponent[0])
    for value, (high, low) in zip(drawn, fixed.parts.astype(int).tolist(), strict=True):
        assert abs((high * 2**fixed.bits + low) * unit - Fraction(value)) <= unit / 2


# sign flips


def sums(columns: np.ndarray, **sampling: int) -> np.ndarray:
    return np.concatenate(list(over_flips(columns, Sampling(**sampling), lambda found: found)))


@each("n", [2, 3, 7, 16])
def test_all_flips_once_each_but_for_complements(n: int) -> None:
    powers = 2.0 ** np.arange(n)[:, None]  # the sum names the flipped queries
    found = sums(powers, samples=5)[:, 0].tolist()
    assert len(found) == flip_count(n, Sampling()) == 2 ** (n - 1) - 1
    assert sorted([0, 2**n - 1, *found, *(2**n - 1 - flip for flip in found)]) == list(range(2**n))


@each(("n", "samples"), [(17, 3), (64, 70), (65, 1025), (1100, 40)])
def test_random_flips_are_those_of_the_documented_stream(n: int, samples: int) -> None:
    columns = np.random.default_rng(n).integers(-(2**40), 2**40, (n, 3)).astype(np.float64)
    signs = random_signs(n, samples, seed=9)
    expected = [
        [sum(int(v) for v, s in zip(c, flip, strict=True) if s < 0) for c in columns.T] for flip in signs
    ]
    assert sums(columns, samples=samples, seed=9).tolist() == expected


# resamples


@each(("n", "restarted"), [(2, 0), (17, 0), (50, 0), (200, 1)])
def test_resamples_are_those_of_the_documented_stream(n: int, restarted: int) -> None:
    values = np.random.default_rng(n).integers(-100, 100, (n, 2)) / 64
    means = resampled_means(values, Sampling(100, seed=33))
    assert means.shape == (100, 2)
    for column, own in zip(values.T, means.T, strict=True):
        assert (own.tolist(), restarted) == reference.resampled_means(column.tolist(), 100, 33)


def test_blocks_and_threads_change_nothing() -> None:
    values = np.random.default_rng(3).normal(size=(3000, 2))  # 43 resamples a block
    one = resampled_means(values, Sampling(200))
    assert len(np.unique(one[:, 0])) == 200  # no block has the stream of another
    assert np.array_equal(resampled_means(values, Sampling(200, jobs=3)), one)
    assert np.array_equal(resampled_means(values, Sampling(86)), one[:86])
    assert np.array_equal(resampled_means(values[:, 1:], Sampling(200)), one[:, 1:])
    means, _ = reference.resampled_means(values[:, 0].tolist(), 9, 1)
    assert resampled_means(values, Sampling(9))[:, 0].tolist() == means


@each("mean", [0.0, 0.3, 1 - 3 / np.sqrt(7000)])
def test_thresholds_are_of_the_poisson_distribution(mean: float) -> None:
    found = poisson_thresholds(mean)
    assert found.tolist() == reference.poisson_thresholds(mean)
    assert found / 2**48 == pytest.approx(poisson.cdf(np.arange(len(found)), mean), abs=1e-14)
    assert (len(found) == 0) == (mean == 0)
