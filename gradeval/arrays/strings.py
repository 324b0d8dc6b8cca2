"""Columns of ids: byte strings in the buffer they were read into; hash tables of their 64-bit keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Bytes, Ints, NDArray, Words, cached_property
from gradeval.arrays.segments import are_new, offsets_of, ranges

PAD = 32  # bytes that must follow the last id of a block, so that reading words stays within it
_AT_ONCE = 1 << 16  # rows whose keys are computed together, so that temporary arrays stay in the cache
LONG = 1 << 10  # ids longer than this are so rare and large that they are hashed and compared one by one

_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_FEW = 1 << 10
_GROUP = 10_000
_MINUS = b"-"[0]
MASKS: Words = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)


def words(block: Bytes) -> Words:
    """The eight bytes from each byte of the block on, as little-endian integers (a view)."""
    view: Words = np.ndarray(len(block) - 7, "<u8", buffer=block, strides=(1,))
    return view


def padded(*parts: Bytes) -> Bytes:
    """The parts as one block of ids."""
    return np.concatenate([*parts, np.zeros(PAD, np.uint8)])


def _word(block: Bytes, start: Ints, length: Ints) -> Words:
    """The first eight bytes at each offset as an integer, 0 for bytes beyond the `length`."""
    return words(block)[start] & MASKS[np.minimum(length, 8)]


class Ids:
    """A column of byte strings without NUL bytes: the start of each in a shared block, and its length. block:
    uint8, at least PAD bytes longer than the end of the last id. start, length: int64 (N,). known_keys: keys(),
    where the reader has them already.
    """

    __slots__ = ("block", "known_keys", "length", "start")

    def __init__(self, block: Bytes, start: Ints, length: Ints, known_keys: Words | None = None) -> None:
        self.block = block
        self.start = start
        self.length = length
        self.known_keys = known_keys

    @staticmethod
    def of(strings: Sequence[bytes]) -> Ids:
        return Ids.of_bytes(b"".join(strings), np.fromiter(map(len, strings), np.int64, len(strings)))

    @staticmethod
    def of_bytes(text: bytes | Bytes, length: Ints) -> Ids:
        """Ids of these lengths, whose bytes follow one another."""
        return Ids(padded(np.frombuffer(text, np.uint8)), np.cumsum(length) - length, length)

    def with_others(self, rows: Ints, others: Ids) -> Ids:
        """The column with other ids in these rows."""
        row = np.arange(len(self))
        row[rows] = len(self) + np.arange(len(rows))
        return Ids.joined([self, others]).take(row)

    @staticmethod
    def joined(parts: Sequence[Ids]) -> Ids:
        """One column from several (compact ones, since their whole blocks are copied)."""
        if len(parts) == 1:
            return parts[0]
        words = [part.words for part in parts if isinstance(part, ShortIds)]
        if parts and len(words) == len(parts):
            return ShortIds(np.concatenate(words))
        shift = offsets_of([len(part.block) for part in parts])
        none = np.empty(0, np.int64)
        return Ids(
            padded(*(part.block for part in parts)),
            np.concatenate([none, *(part.start + by for part, by in zip(parts, shift[:-1], strict=True))]),
            np.concatenate([none, *(part.length for part in parts)]),
        )

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, row: int) -> bytes:
        start = self.start[row]
        return self.block[start : start + self.length[row]].tobytes()

    def tolist(self) -> list[bytes]:
        text = self.text().tobytes()
        end = np.cumsum(self.length)
        return [text[a:b] for a, b in zip((end - self.length).tolist(), end.tolist(), strict=True)]

    def text(self) -> Bytes:
        """The concatenated bytes of all ids."""
        return self.block[ranges(self.start, self.length)]

    def take(self, rows: Ints | Bools | slice) -> Ids:
        """Some of the rows, still in the same block."""
        keys = None if self.known_keys is None else self.known_keys[rows]
        return Ids(self.block, self.start[rows], self.length[rows], keys)

    def light(self) -> Ids:
        """The same column, as words without a block if its ids are short."""
        return ShortIds(self.word(0)) if self.short else self

    def compact(self) -> Ids:
        """The same column, in a block of its own."""
        return Ids.of_bytes(self.text(), self.length.copy())

    def detached(self) -> Ids:
        """The same column, without the block that its ids are from."""
        return self.light() if self.short else self.compact()

    def word(self, k: int, rows: Ints | slice = slice(None)) -> Words:
        """Bytes 8k to 8k+7 of each row as a little-endian integer, 0 for bytes past its end."""
        start, length = self.start[rows], self.length[rows]
        if not k:
            return _word(self.block, start, length)
        return _word(self.block, np.minimum(start + 8 * k, len(self.block) - 8), np.maximum(length - 8 * k, 0))

    def keys(self) -> Words:
        """A 64-bit key of each row: equal ids have equal keys, different ids almost always different ones."""
        if self.known_keys is not None:
            return self.known_keys
        if len(self) > _AT_ONCE:
            parts = (self.take(slice(a, a + _AT_ONCE)) for a in range(0, len(self), _AT_ONCE))
            return np.concatenate([part.keys() for part in parts])
        keys = mix(self.word(0) ^ MASKS[8])
        longest = self.longest
        rows: Ints | slice = slice(None)  # that have more bytes
        for k in range(1, -(-min(longest, LONG) // 8)):
            length = self.length[rows]
            if not (continues := length > 8 * k).all():
                rows = np.flatnonzero(continues) if isinstance(rows, slice) else rows[continues]
            keys[rows] = mix(keys[rows] ^ self.word(k, rows))
        if longest > LONG:
            for row in np.flatnonzero(self.length > LONG).tolist():
                keys[row] = hash(self[row]) & 0xFFFFFFFFFFFFFFFF
        return keys

    @property
    def longest(self) -> int:
        return int(self.length.max(initial=0))

    @property
    def short(self) -> bool:
        """Whether no id is longer than a word, so that equal keys mean equal ids."""
        return self.longest <= 8

    def same(self, rows: Ints, other: Ids, other_rows: Ints) -> Bools:
        """Whether the ids of these rows equal those of the other column's rows, pair by pair."""
        same: Bools
        if isinstance(self, ShortIds) and isinstance(other, ShortIds):
            same = self.words[rows] == other.words[other_rows]
            return same
        length = self.length[rows]
        same = length == other.length[other_rows]
        same &= _word(self.block, self.start[rows], length) == _word(
            other.block, other.start[other_rows], length
        )
        longest = int(length.max(initial=0))
        for k in range(1, -(-min(longest, LONG) // 8)):
            open_ = np.flatnonzero(same & (length > 8 * k))
            if not len(open_):
                break
            same[open_] = self.word(k, rows[open_]) == other.word(k, other_rows[open_])
        if longest > LONG:
            for pair in np.flatnonzero(same & (length > LONG)).tolist():
                same[pair] = self[rows[pair]] == other[other_rows[pair]]
        return same

    def changes(self) -> Ints:
        """The rows whose id differs from the one before, without the first row."""
        n = len(self)
        if n == 0:
            return np.empty(0, np.int64)
        longest = self.longest
        if longest > LONG:
            rows = np.arange(1, n)
            return rows[~self.same(rows, self, rows - 1)]
        # ids hold no NUL, so equal words (0 behind the end) mean equal ids
        differs = np.zeros(n - 1, bool)
        for k in range(-(-longest // 8)):
            word = self.word(k)
            differs |= word[1:] != word[:-1]
        return np.flatnonzero(differs) + 1

    def before_last(self, separator: bytes) -> Ids:
        """The part of each id before the last separator; all of it without one, or with nothing before it."""
        if not separator:
            return self
        ids = self.compact()
        text = ids.block
        end = ids.start + ids.length
        at = np.flatnonzero(text == separator[0])
        at = at[at + len(separator) <= len(text)]
        for distance, byte in enumerate(separator[1:], 1):
            at = at[text[at + distance] == byte]
        # the last separator that ends within the id or before it; -1 stands for none
        last = np.append(at, -1)[np.searchsorted(at, end - len(separator), "right") - 1]
        length = last - ids.start
        return Ids(self.block, self.start, np.where(length > 0, length, ids.length))

    def repeated(self, group: Ints | None = None) -> tuple[Ints, Ints]:
        """The rows whose id is a duplicate, and the first row of each of these ids. group: equal ids of
        different groups (n,) are distinct.
        """
        keys = self.keys()
        if group is None:
            group = np.zeros(len(self), np.int64)
        else:
            keys = keys + salts(int(group.max(initial=-1)) + 1)[group]
        return repeats(KeyTable(keys), self, group)

    def distinct(self, group: Ints | None = None) -> tuple[Ints, Ints]:
        """The rows where each distinct id first occurs, in order; and for each row the index of its id. group:
        as of repeated().
        """
        again, first = self.repeated(group)
        first_of = np.arange(len(self))
        first_of[again] = first
        is_first = first_of == np.arange(len(self))
        return np.flatnonzero(is_first), (np.cumsum(is_first) - 1)[first_of]

    def descending(self, group: Ints) -> Ints:
        """The order of the rows by group, and within a group by id from the last to the first, as bytes."""
        if self.longest > LONG:
            ids = self.tolist()
            rank = np.empty(len(ids), np.int64)
            rank[sorted(range(len(ids)), key=ids.__getitem__, reverse=True)] = np.arange(len(ids))
            return np.lexsort((rank, group))
        order = np.argsort(group, kind="stable")
        rows = order  # the rows not yet in order
        positions: Ints | slice = slice(None)  # their positions
        new = np.ones(len(rows) + 1, bool)  # whether the row at this position differs from the one before
        new[1:-1] = np.diff(group[rows]) != 0
        for k in range(-(-self.longest // 8)):
            is_open = ~(new[:-1] & new[1:])
            if not is_open.all():
                rows = rows[is_open]
                new = np.append(new[:-1][is_open], True)
                positions = np.flatnonzero(is_open) if isinstance(positions, slice) else positions[is_open]
            if not len(rows):
                break
            # big-endian words compare as the bytes do; their complement sorts from the last to the first
            word = self.word(k, rows).byteswap()
            np.invert(word, out=word)
            if (new[1:-1] | (word[1:] == word[:-1])).all():
                continue  # as where all share a prefix
            sort = np.lexsort((word, np.cumsum(new[:-1])))
            rows, word = rows[sort], word[sort]
            order[positions] = rows
            new[1:-1] |= word[1:] != word[:-1]
        return order


class ShortIds(Ids):
    """A column of ids of up to eight bytes, each a little-endian word that ends in NULs. words: uint64 (N,)."""

    longest = 8  # at most

    def __init__(self, words: Words) -> None:
        self.words = words

    @cached_property
    def block(self) -> Bytes:  # type: ignore[override]
        return padded(self.words.astype("<u8", copy=False).view(np.uint8))

    @cached_property
    def start(self) -> Ints:  # type: ignore[override]
        return 8 * np.arange(len(self.words))

    @cached_property
    def length(self) -> Ints:  # type: ignore[override]
        return np.searchsorted(MASKS, self.words).astype(np.int64)

    def __len__(self) -> int:
        return len(self.words)

    def word(self, k: int, rows: Ints | slice = slice(None)) -> Words:
        return super().word(k, rows) if k else self.words[rows]

    def take(self, rows: Ints | Bools | slice) -> Ids:
        return ShortIds(self.words[rows])

    def compact(self) -> Ids:
        return self

    def tolist(self) -> list[bytes]:
        texts: list[bytes] = self.words.astype("<u8", copy=False).view("S8").tolist()  # which drops the NULs
        return texts

    def keys(self) -> Words:
        return mix(self.words ^ MASKS[8])


class Texts(Sequence[str]):
    """A column of ids as text, decoded on first access unless known; what is not UTF-8 is surrogates."""

    def __init__(self, ids: Ids, decoded: list[str] | None = None) -> None:
        self.ids = ids
        if decoded is not None:
            self.__dict__["_all"] = decoded  # fills the cached property

    def __reduce__(self) -> tuple[Any, ...]:
        return Texts, (self.ids,)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        first = [*map(repr, self._all[:3]), *(["…"] if len(self) > 3 else [])]
        return f"Texts({len(self)}: {', '.join(first)})"

    def __getitem__(self, row: Any) -> Any:
        return self._all[row]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    @cached_property
    def _all(self) -> list[str]:
        # decoded at once, in a third of the time: no id has a NUL, which ends any character before it
        text = b"\0".join(self.ids.tolist()).decode("utf-8", "surrogateescape")
        return text.split("\0") if len(self.ids) else []


class IdIndex:
    """Finds ids in a column of distinct ids."""

    def __init__(self, ids: Ids) -> None:
        self.ids = ids
        self.table = KeyTable(ids.keys())
        # different ids with one key: not seen so far
        self.others = {ids[row]: row for row in self.table.again.tolist()}

    def find(self, wanted: Ids) -> Ints:
        """The row of each wanted id, -1 if it is absent."""
        rows = self.table.find(wanted.keys())
        if not (self.ids.short and wanted.short):
            hits = np.flatnonzero(rows >= 0)
            for other in hits[~wanted.same(hits, self.ids, rows[hits])].tolist():
                rows[other] = self.others.get(wanted[other], -1)
        return rows


class IdPairs:
    """Finds pairs of ids, as of a query and a document. first, second: of each pair, (P,)."""

    def __init__(self, first: Ids, second: Ids) -> None:
        rows, self.group = first.distinct()
        self.first = IdIndex(first.take(rows))
        self.second = second
        self.salts = salts(len(rows))
        self.table = KeyTable(second.keys() + self.salts[self.group])

    @cached_property
    def members(self) -> set[tuple[int, bytes]]:
        return set(zip(self.group.tolist(), self.second.tolist(), strict=True))

    def has(self, first: Ids, bounds: Ints, second: Ids) -> Bools:
        """Which rows are among the pairs, (n,). first: of each group of rows, (S,), which owns the rows
        bounds[s]:bounds[s+1].
        """
        group = self.first.find(first)
        groups = np.flatnonzero(group >= 0)
        lengths = np.diff(bounds)[groups]
        rows, group = ranges(bounds[groups], lengths), group[groups].repeat(lengths)
        ids = second.take(rows)
        at = self.table.find(ids.keys() + self.salts[group])
        hit = np.flatnonzero(at >= 0)
        same = ids.same(hit, self.second, at[hit]) & (self.group[at[hit]] == group[hit])
        for other in np.flatnonzero(~same).tolist():  # different pairs with one key: not seen so far
            same[other] = (int(group[hit[other]]), ids[int(hit[other])]) in self.members
        are_pairs = np.zeros(len(second), bool)
        are_pairs[rows[hit[same]]] = True
        return are_pairs


def repeats(table: KeyTable, ids: Ids, group: Ints) -> tuple[Ints, Ints]:
    """The rows whose id is a duplicate in its group, and the rows of its first occurrence. table: of keys that
    are equal where group and id are; matches are confirmed on the bytes.
    """
    again, first = table.again, table.first
    if not len(again) or (ids.same(again, ids, first) & (group[again] == group[first])).all():
        return again, first
    seen: dict[tuple[int, bytes], int] = {}
    pairs = zip(group.tolist(), ids.tolist(), strict=True)
    first_of = np.array([seen.setdefault(pair, row) for row, pair in enumerate(pairs)])
    again = np.flatnonzero(first_of != np.arange(len(first_of)))
    return again, first_of[again]


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
        rows = np.arange(len(keys), dtype=np.int32)
        bits = keys
        while len(rows):
            # few rows have room for more slots, so that fewer levels follow
            size = ((2 if len(rows) > _FEW else 8) * len(rows)).bit_length()
            shift = np.uint64(64 - size)
            slots = np.zeros(1 << size, np.int32)
            at = (bits >> shift).view(np.int64)
            slots[at[::-1]] = rows[::-1]  # numpy leaves what is written last
            unplaced = np.flatnonzero(slots.take(at) != rows)
            rows, at, bits = rows[unplaced], at[unplaced], bits[unplaced]
            winner = slots[at]
            slots[at] = ~winner
            self.levels.append((slots, shift))
            same = keys[winner] == keys[rows]
            again.append(rows[same])
            first.append(winner[same])
            rows = rows[~same]
            bits = bits[~same] * _MIX
        self.again, self.first = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in (again, first))

    def find(self, wanted: Words) -> Ints:
        """The first row of each wanted key, -1 if it is absent."""
        return self._find(wanted, wanted, 0) if self.levels else np.full(len(wanted), -1)

    def _find(self, wanted: Words, bits: Words, level: int) -> Ints:
        slots, shift = self.levels[level]
        row = slots[(bits >> shift).view(np.int64)]
        is_candidate = row < 0
        row ^= row >> 31  # ~row where it is below 0
        hit = self.keys[row] == wanted
        matches = np.where(hit, row, np.int64(-1))
        open_ = np.flatnonzero(is_candidate & ~hit)
        if len(open_) and level + 1 < len(self.levels):
            matches[open_] = self._find(wanted[open_], bits[open_] * _MIX, level + 1)
        return matches


class KeySet:
    """A set of keys that grows: 8 bytes for each, in sorted arrays, each at least twice as long as the next."""

    def __init__(self) -> None:
        self.parts: list[Words] = []

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def has(self, keys: Words) -> Bools:
        """Whether each key is in the set, (n,)."""
        is_member = np.zeros(len(keys), bool)
        for part in self.parts:
            is_member |= part[np.minimum(np.searchsorted(part, keys), len(part) - 1)] == keys
        return is_member

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


@cache
def _tables() -> tuple[NDArray[np.uint32], Words]:
    """The four digits of each number below _GROUP, and the powers of ten; only few commands need them."""
    four = np.frombuffer(b"".join(b"%04d" % n for n in range(_GROUP)), "<u4")
    return four, np.uint64(10) ** np.arange(20, dtype=np.uint64)


def integer_ids(values: NDArray[np.integer[Any]]) -> Ids:
    """Each integer as str() writes it, (N,), of any integer type."""
    is_new = are_new(values)
    if 0 < 2 * is_new.sum() <= len(values):  # equal ones, as of a query, are written once
        return integer_ids(values[is_new]).take(np.cumsum(is_new) - 1)
    four, powers = _tables()
    count = len(values)
    negative = values < 0
    size = values.astype(np.uint64)
    np.negative(size, out=size, where=negative)  # modulo 2^64, where the lowest integer has its size too
    length = np.maximum(np.searchsorted(powers, size, "right"), 1)
    groups = -(-int(length.max(initial=1)) // 4)
    width = 4 * (groups + 1)  # a group more has room for a sign
    text = np.zeros(count * width + PAD, np.uint8)
    table = text[: count * width].view("<u4").reshape(count, groups + 1)
    for group in range(groups, 0, -1):
        higher = size // _GROUP if group > 1 else np.uint64(0)
        table[:, group] = four[(size - higher * np.uint64(_GROUP)).view(np.int64)]
        size = higher
    end = width * np.arange(1, count + 1)
    if negative.any():
        length = length + negative
        text[(end - length)[negative]] = _MINUS
    return Ids(text, end - length, length)
