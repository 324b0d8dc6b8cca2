"""Flips: all of them, or those of the documented stream, with exact sums."""

from __future__ import annotations

import numpy as np
import pytest
from statistics_reference import random_signs

from gradeval.statistics.sampling import Sampling
from gradeval.statistics.sign_flips import flip_count, over_flips


def sums(columns: np.ndarray, **sampling: int) -> np.ndarray:
    return np.concatenate(list(over_flips(columns, Sampling(**sampling), lambda found: found)))


@pytest.mark.parametrize("n", [2, 3, 7, 16])
def test_all_flips_once_each_but_for_complements(n: int) -> None:
    powers = 2.0 ** np.arange(n)[:, None]  # the sum names the flipped queries
    found = sums(powers, samples=5)[:, 0].tolist()
    assert len(found) == flip_count(n, Sampling()) == 2 ** (n - 1) - 1
    assert sorted([0, 2**n - 1, *found, *(2**n - 1 - flip for flip in found)]) == list(range(2**n))


@pytest.mark.parametrize(("n", "samples"), [(17, 3), (64, 70), (65, 1025), (1100, 40)])
def test_random_flips_are_those_of_the_documented_stream(n: int, samples: int) -> None:
    columns = np.random.default_rng(n).integers(-(2**40), 2**40, (n, 3)).astype(np.float64)
    signs = random_signs(n, samples, seed=9)
    expected = [
        [sum(int(v) for v, s in zip(c, flip, strict=True) if s < 0) for c in columns.T] for flip in signs
    ]
    assert sums(columns, samples=samples, seed=9).tolist() == expected


def test_threads_and_the_number_of_samples_change_nothing() -> None:
    columns = np.random.default_rng(2).integers(-9, 9, (40, 2)).astype(np.float64)
    one = sums(columns, samples=5000)
    assert len(one) == 5000
    for jobs in (2, 5):
        assert np.array_equal(sums(columns, samples=5000, jobs=jobs), one)
    assert np.array_equal(sums(columns, samples=1500), one[:1500])
    assert not np.array_equal(sums(columns, samples=1500, seed=2), one[:1500])


def test_random_signs_are_fair_and_independent() -> None:
    n, samples = 100, 10_000
    flipped = sums(np.eye(n), samples=samples)
    deviation = np.sqrt(samples) / 2
    assert np.abs(flipped.sum(axis=0) - samples / 2).max() < 5 * deviation
    signs = 1 - 2 * flipped
    together = signs.T @ signs - samples * np.eye(n)
    assert np.abs(together).max() < 6 * np.sqrt(samples)
    assert abs((signs[1:] * signs[:-1]).sum()) < 5 * np.sqrt(samples * n)
