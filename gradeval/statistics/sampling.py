"""How many random samples to draw, from which seed, on how many threads; and the random streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Ints, Words
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


class Stream:
    """The random stream of one block, whose words are taken from its beginning on.

    It is that of Philox4x64 with ten rounds, with the key (seed, purpose) and the counter starting at
    block * 2^128, as numpy.random.Philox gives it. A block's stream depends on nothing else, so that blocks
    can be computed in any order and by any thread. Numbers smaller than a word are parts of the next words,
    the low ones first on every machine; the rest of the last word is not used.

    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """

    def __init__(self, seed: int, purpose: int, block: int) -> None:
        from numpy.random import Philox

        key, counter = np.array([seed, purpose], np.uint64), np.array([0, 0, block, 0], np.uint64)
        self._generator = Philox(key=key, counter=counter)

    def words(self, count: int) -> Words:
        """The next 64-bit words, (count,)."""
        return self._generator.random_raw(count)

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """The bytes of the next words, (count,)."""
        return self._parts(count, 8).view(np.uint8)[:count]

    def quarters(self, count: int) -> NDArray[np.uint16]:
        """The 16-bit quarters of the next words, (count,)."""
        return self._parts(count, 4).view("<u2")[:count]

    def halves(self, count: int) -> NDArray[np.uint32]:
        """The 32-bit halves of the next words, (count,)."""
        return self._parts(count, 2).view("<u4")[:count]

    def _parts(self, count: int, each: int) -> Words:
        return self.words(-(-count // each)).astype("<u8", copy=False)


def scaled(halves: NDArray[np.uint32], size: int) -> Ints:
    """Integers below `size` from random 32-bit numbers: half * size / 2^32, rounded down.

    Their probabilities differ by at most 2^-32.
    """
    numbers = halves.astype(np.uint64)
    numbers *= np.uint64(size)
    numbers >>= np.uint64(32)
    return numbers.view(np.int64)
