"""How many random samples to draw, from which seed, on how many threads; and the random streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Words
from gradeval.errors import OptionError

TOLERANCE: Final = 1e-12
"""Relative difference below which two statistics are tied: rounding in the values must not decide."""

# the second word of a stream's key: each use of randomness has streams of its own
SIGNS, RESAMPLES, PERMUTATIONS = 1, 2, 3


@dataclass(frozen=True)
class Sampling:
    """Random sampling: the number of samples, the seed, and the number of threads.

    samples: sign flips, bootstrap resamples or permutations, at least 1. seed: 0 to 2^64 - 1.
    jobs: at least 1; it affects the time and nothing else. Raises OptionError outside of these ranges.
    """

    samples: int = 100_000
    seed: int = 1
    jobs: int = 1

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise OptionError(f"samples must be a positive integer, not {self.samples}")
        if not 0 <= self.seed < 2**64:
            raise OptionError(f"the seed must be an integer from 0 to 2^64 - 1, not {self.seed}")
        if self.jobs < 1:
            raise OptionError(f"jobs must be a positive integer, not {self.jobs}")


def random_words(seed: int, purpose: int, block: int, count: int) -> Words:
    """The first `count` 64-bit words of one block's random stream, (count,).

    The stream is that of Philox4x64 with ten rounds, with the key (seed, purpose) and the counter starting at
    block * 2^128, as numpy.random.Philox gives it. A block's stream depends on nothing else, so that blocks
    can be computed in any order and by any thread.

    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    from numpy.random import Philox

    key, counter = np.array([seed, purpose], np.uint64), np.array([0, 0, block, 0], np.uint64)
    return Philox(key=key, counter=counter).random_raw(count)


def random_bytes(seed: int, purpose: int, block: int, count: int) -> NDArray[np.uint8]:
    """The stream's words as bytes, the low byte first on every machine, (8 * count,)."""
    return random_words(seed, purpose, block, count).astype("<u8", copy=False).view(np.uint8)


def random_fractions(seed: int, purpose: int, block: int, count: int) -> Words:
    """Random multiples of 2^-32 in [0, 1), as their numerators: `count` words below 2^32.

    (numerator * k) >> 32 is then an integer below k; its probabilities differ by at most 2^-32.
    """
    halves = random_words(seed, purpose, block, (count + 1) // 2).astype("<u8", copy=False).view("<u4")
    return halves[:count].astype(np.uint64)
