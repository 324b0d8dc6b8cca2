"""Random streams stay what they are, on every machine and in every version."""

from __future__ import annotations

import numpy as np
import pytest

from gradeval.errors import OptionError
from gradeval.statistics.sampling import Sampling, Stream, scaled


def test_the_stream_of_a_seed_is_fixed() -> None:
    words = Stream(seed=1, purpose=1, block=0).words(3)
    assert words.tolist() == [0x133D1B1836B49E25, 0xFBD9FF744933275E, 0xF289B1B94EF9E741]


def test_the_generator_is_the_published_one() -> None:
    """The test vector of philox4x64 with 10 rounds and all bits set, of Random123's kat_vectors.

    numpy counts up before it makes the first four words, so its counter is one below.
    """
    ones = np.full(4, 2**64 - 1, np.uint64)
    words = np.random.Philox(key=ones[:2], counter=ones - np.array([1, 0, 0, 0], np.uint64)).random_raw(4)
    assert words.tolist() == [0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0]


def test_blocks_seeds_and_purposes_have_streams_of_their_own() -> None:
    streams = {
        tuple(Stream(seed, purpose, block).words(4).tolist())
        for seed in (0, 1, 2**64 - 1)
        for purpose in (1, 2)
        for block in (0, 1, 2**32)
    }
    assert len(streams) == 18


def test_a_longer_stream_begins_with_the_shorter() -> None:
    longer = Stream(5, 2, 7).words(1000)
    stream = Stream(5, 2, 7)
    assert np.array_equal(longer[:37], stream.words(37))
    assert np.array_equal(longer[37:40], stream.words(3))


def test_parts_of_words_come_low_first() -> None:
    words = Stream(5, 2, 7).words(2).tolist()
    assert (
        Stream(5, 2, 7).bytes(9).tolist() == [word >> by & 255 for word in words for by in range(0, 64, 8)][:9]
    )
    quarters = [word >> by & 0xFFFF for word in words for by in range(0, 64, 16)]
    assert Stream(5, 2, 7).quarters(5).tolist() == quarters[:5]
    assert (
        Stream(5, 2, 7).halves(3).tolist()
        == [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)][:3]
    )
    stream = Stream(5, 2, 7)
    stream.bytes(1)  # what is left of the word is not used
    assert stream.words(1).tolist() == words[1:]


def test_integers_from_random_numbers() -> None:
    ends = np.array([0, 1 << 31, (1 << 32) - 1], np.uint32)
    assert scaled(ends, 7).tolist() == [0, 3, 6]
    assert scaled(ends, 1).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"samples": 0}, "samples must be a positive integer, not 0"),
        ({"seed": -1}, "the seed must be an integer from 0 to 2\\^64 - 1, not -1"),
        ({"seed": 2**64}, "the seed must be"),
        ({"jobs": 0}, "jobs must be a positive integer, not 0"),
    ],
)
def test_sampling_out_of_range(given: dict[str, int], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Sampling(**given)
