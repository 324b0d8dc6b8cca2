"""64-bit keys of ids, and a hash table of them as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradeval.arrays import Bools, Ints, Words

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_FEW = 1 << 10


def mix(keys: Words) -> Words:
    """Spread the bits of the keys, in place."""
    keys *= _MIX
    keys ^= keys >> _HALF
    keys *= _MIX
    return keys


class KeyTable:
    """A hash table of 64-bit keys, as arrays: finds the first row of each key with one access to a slot.

    All rows are written into their slots at once, and of those in one slot the first stays. The few others go
    to a smaller table, by other bits of their keys, and so on. A slot that others were moved from holds ~row
    for row.

    again, first: the rows whose key is a duplicate, and the rows of its first occurrence.
    """

    def __init__(self, keys: Words) -> None:
        self.keys = keys
        self.levels: list[tuple[NDArray[np.int32], np.uint64]] = []
        again, first = [], []
        rows, bits = np.arange(len(keys), dtype=np.int32), keys
        while len(rows):
            # few rows have room for more slots, so that fewer levels follow
            size = ((2 if len(rows) > _FEW else 8) * len(rows)).bit_length()
            shift = np.uint64(64 - size)
            slots = np.zeros(1 << size, np.int32)
            at = (bits >> shift).view(np.int64)
            slots[at[::-1]] = rows[::-1]  # numpy leaves what is written last
            left = np.flatnonzero(slots[at] != rows)
            rows, at, bits = rows[left], at[left], bits[left]
            winner = slots[at]
            slots[at] = ~winner
            self.levels.append((slots, shift))
            same = keys[winner] == keys[rows]
            again.append(rows[same])
            first.append(winner[same])
            rows, bits = rows[~same], bits[~same] * _MIX
        self.again, self.first = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in (again, first))

    def find(self, wanted: Words) -> Ints:
        """The first row of each wanted key, -1 if it is absent."""
        return self._find(wanted, wanted, 0) if self.levels else np.full(len(wanted), -1)

    def _find(self, wanted: Words, bits: Words, level: int) -> Ints:
        slots, shift = self.levels[level]
        row = slots[(bits >> shift).view(np.int64)]
        left = row < 0
        row ^= row >> 31  # ~row where it is below 0
        hit = self.keys[row] == wanted
        found: Ints = np.where(hit, row, np.int64(-1))
        open_ = np.flatnonzero(left & ~hit)
        if len(open_) and level + 1 < len(self.levels):
            found[open_] = self._find(wanted[open_], bits[open_] * _MIX, level + 1)
        return found


class KeySet:
    """A set of keys that grows: 8 bytes for each, in sorted arrays, each at least twice as long as the next."""

    def __init__(self) -> None:
        self.parts: list[Words] = []

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def has(self, keys: Words) -> Bools:
        """Whether each key is in the set, (n,)."""
        found = np.zeros(len(keys), bool)
        for part in self.parts:
            found |= part[np.minimum(np.searchsorted(part, keys), len(part) - 1)] == keys
        return found

    def add(self, keys: Words) -> None:
        """Add keys that are all different, and not in the set."""
        while self.parts and len(self.parts[-1]) < 2 * len(keys):
            keys = np.concatenate([self.parts.pop(), keys])
        if len(keys):
            self.parts.append(np.sort(keys))


def salts(count: int) -> Words:
    """What is added to the keys of ids by group, (count,), so that equal ids of different groups differ."""
    # mixed twice: once leaves some sums with the keys of ids equal (14 of 28 million), as both are mixed alike
    return mix(mix(np.arange(1, count + 1, dtype=np.uint64)))
