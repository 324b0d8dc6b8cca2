"""Integers as decimal text, four digits at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Ints, Words
from gradeval.arrays.strings import PAD, Ids

_GROUP = 10_000
_FOUR: NDArray[np.uint32] = np.frombuffer(b"".join(b"%04d" % n for n in range(_GROUP)), "<u4")
_POWERS: Words = np.uint64(10) ** np.arange(20, dtype=np.uint64)
_MINUS = b"-"[0]


def integer_ids(values: NDArray[np.integer[Any]]) -> Ids:
    """Each integer as str() writes it, (N,), of any integer type."""
    is_new = np.append(True, values[1:] != values[:-1])[: len(values)]
    if 2 * is_new.sum() > len(values):
        return _written(values)
    return _written(values[is_new]).take(np.cumsum(is_new) - 1)  # equal ones, as of a query, are written once


def _written(values: NDArray[np.integer[Any]]) -> Ids:
    count = len(values)
    negative = values < 0
    size = values.astype(np.uint64)
    np.negative(size, out=size, where=negative)  # modulo 2^64, where the lowest integer has its size too
    length: Ints = np.maximum(np.searchsorted(_POWERS, size, "right"), 1)
    groups = -(-int(length.max(initial=1)) // 4)
    width = 4 * (groups + 1)  # a group more has room for a sign
    text = np.zeros(count * width + PAD, np.uint8)
    table = text[: count * width].view("<u4").reshape(count, groups + 1)
    for group in range(groups, 0, -1):
        rest = size // _GROUP if group > 1 else np.uint64(0)
        table[:, group] = _FOUR[(size - rest * np.uint64(_GROUP)).view(np.int64)]
        size = rest
    end = width * np.arange(1, count + 1)
    if negative.any():
        length = length + negative
        text[(end - length)[negative]] = _MINUS
    return Ids(text, end - length, length)
