"""Integers as text."""

from __future__ import annotations

import numpy as np
from helpers import each

from gradeval.arrays.numbers import integer_ids


@each("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
def test_integers_are_written_as_str_writes_them(kind):
    info = np.iinfo(kind)
    powers = [10**n + by for n in range(20) for by in (-1, 0, 1)]
    numbers = [n for n in (*powers, *(-n for n in powers), info.min, info.max) if info.min <= n <= info.max]
    stretches = [n for n in numbers for _ in range(3)]
    for values in (numbers, stretches, numbers[:1], [7], [7, 7, 7], []):
        ids = integer_ids(np.array(values, kind))
        assert ids.tolist() == [str(n).encode() for n in values]
