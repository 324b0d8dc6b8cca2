"""Columns of ids against lists of bytes."""

from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from helpers import examples
from hypothesis import given
from hypothesis import strategies as st

from gradeval.arrays.segments import stable_order
from gradeval.arrays.strings import LONG, PAD, IdIndex, Ids, KeySet, KeyTable, ShortIds, repeats, salts

# few different ones, alike in their first words, of lengths around those of words and of LONG
NAMES = st.one_of(
    st.builds(
        lambda size, last: (b"a" * size + last)[-size:] if size else b"",
        st.sampled_from([0, 1, 2, 7, 8, 9, 15, 16, 17, LONG - 1, LONG, LONG + 1, 100]),
        st.sampled_from([b"", b"b", b"\xff", b"\x01"]),
    ),
    st.binary(max_size=20).map(lambda name: name.replace(b"\0", b"0")),
)
SHORT_NAMES = NAMES.map(lambda name: name[-20:])
COLUMNS = st.one_of(st.lists(NAMES, max_size=20), st.lists(SHORT_NAMES, max_size=20))


@contextmanager
def colliding(keys):
    """Only so many different keys, even of short ids."""
    plain = Ids.keys
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ids, "short", False)
        patch.setattr(Ids, "keys", lambda ids: plain(ids) % np.uint64(keys))
        yield


KEYS = st.sampled_from([1, 2, 2**63])


def scattered(names, between):
    """The names in a block with other bytes around them."""
    text = between.join([b"", *names, bytes(PAD)])
    ends = np.cumsum([len(name) + len(between) for name in names]).astype(np.int64)
    length = np.array([len(name) for name in names], np.int64)
    return Ids(np.frombuffer(text, np.uint8), ends - length, length)


def all_pairs(a, b):
    """The rows of each pair of two columns."""
    return np.repeat(np.arange(a), b), np.tile(np.arange(b), a)


@given(COLUMNS, st.sampled_from([b"", b" ", b"\xff9"]), st.lists(COLUMNS, max_size=3), KEYS)
def test_columns_are_lists(names, between, more, keys):
    """Equal ids have equal keys wherever they stand; different ones, at this number, different keys."""
    ids, count = scattered(names, between), len(names)
    assert len(ids) == count
    assert ids.keys().tolist() == Ids.of(names).keys().tolist()
    assert len(set(ids.keys().tolist())) == len(set(names))
    assert ids.short == all(len(name) <= 8 for name in names)
    assert ids.tolist() == Ids.of(names).tolist() == ids.compact().tolist() == names
    assert [ids[row] for row in range(count)] == names
    is_long = np.array([len(name) > 3 for name in names], bool)
    for rows in (slice(None, None, 2), slice(1, 3), np.arange(count)[::-2], is_long):
        expected = [names[row] for row in np.arange(count)[rows]]
        assert ids.take(rows).tolist() == ids.take(rows).compact().tolist() == expected
    assert len(ids.compact().block) == sum(map(len, names)) + PAD
    joined = Ids.joined([ids, *map(Ids.of, more)])
    assert joined.tolist() == [*names, *(name for column in more for name in column)]
    assert len(joined.block) >= int((joined.start + joined.length).max(initial=0)) + PAD
    rows, others = all_pairs(count, count)
    assert Ids.of(names).same(rows, ids, others).tolist() == [a == b for a in names for b in names]
    runs = [name for name in names for _ in range(1 + len(name) % 3)]
    assert scattered(runs, between).changes().tolist() == [
        n for n in range(1, len(runs)) if runs[n] != runs[n - 1]
    ]
    order = list(dict.fromkeys(names))
    with colliding(keys):
        first, which = ids.distinct()
        found = IdIndex(Ids.of(order)).find(Ids.joined([*map(Ids.of, more), ids]))
    assert first.tolist() == [names.index(name) for name in order]
    assert which.tolist() == [order.index(name) for name in names]
    assert found.tolist() == [
        order.index(name) if name in order else -1 for of in [*more, names] for name in of
    ]


@given(st.lists(st.tuples(st.integers(0, 3), st.one_of(NAMES, SHORT_NAMES)), max_size=20), st.booleans())
def test_descending(rows, long):
    if not long:
        rows = [(group, name[-20:]) for group, name in rows]
    names = [name for _, name in rows]
    order = scattered(names, b"9").descending(np.array([group for group, _ in rows], np.int64))
    expected = sorted(sorted(rows, key=lambda row: row[1], reverse=True), key=lambda row: row[0])
    assert sorted(order.tolist()) == list(range(len(rows)))
    assert [rows[row] for row in order] == expected


def test_ids_are_ordered_hashed_and_compared_as_columns(monkeypatch):
    """Those of up to LONG bytes, such as URLs that begin alike, never one by one."""
    names = [b"https://example.org/%s/%03d.html" % (b"a" * 80, n * 7919 % 1000) for n in range(1000)]
    names += [b"a" * LONG, b"a" * (LONG - 1), b"a", b""]
    ids, group = scattered(names, b"9"), np.arange(len(names)) % 3
    expected = sorted(range(len(names)), key=names.__getitem__, reverse=True)
    expected.sort(key=lambda row: row % 3)
    keys = [Ids.of([name]).keys()[0] for name in names]

    def refuse(*args):
        raise AssertionError

    monkeypatch.setattr(Ids, "tolist", refuse)
    monkeypatch.setattr(Ids, "__getitem__", refuse)
    assert ids.descending(group).tolist() == expected
    assert ids.keys().tolist() == keys
    rows = np.arange(len(names))
    assert ids.same(rows, ids, rows).all()
    assert not ids.same(rows, ids, rows[::-1]).any()
    assert len(ids.changes()) == len(names) - 1


@given(st.lists(NAMES.map(lambda name: name[-8:]), max_size=20), COLUMNS)
def test_short_ids_are_as_others(names, more):
    plain = scattered(names, b"9")
    short = plain.light()
    assert isinstance(short, ShortIds)
    assert short.tolist() == short.compact().tolist() == names
    assert [short[row] for row in range(len(names))] == names
    assert short.take(slice(None, None, 2)).tolist() == names[::2]
    assert short.text().tobytes() == b"".join(names)
    assert short.keys().tolist() == plain.keys().tolist()
    assert short.changes().tolist() == plain.changes().tolist()
    assert [part.tolist() for part in short.distinct()] == [part.tolist() for part in plain.distinct()]
    group = np.zeros(len(names), np.int64)
    assert short.descending(group).tolist() == plain.descending(group).tolist()
    rows, others = all_pairs(len(names), len(more))
    expected = [name == other for name in names for other in more]
    assert short.same(rows, Ids.of(more), others).tolist() == expected
    assert Ids.of(more).same(others, short, rows).tolist() == expected
    assert Ids.joined([short, short]).tolist() == names + names
    assert Ids.joined([short, Ids.of(more), short]).tolist() == names + more + names


# few different ones, some of which meet in a slot of the first level and of others
TABLE_KEYS = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(0, 9),
    st.integers(0, 9).map(lambda n: n << 50),
    st.integers(0, 3).map(lambda n: (n << 62) + 1),
)


@examples(times=1.5)
@given(st.lists(TABLE_KEYS, max_size=60), st.lists(TABLE_KEYS, max_size=60))
def test_key_table(keys, others):
    table = KeyTable(np.array(keys, np.uint64))
    repeated = [(row, keys.index(key)) for row, key in enumerate(keys) if keys.index(key) < row]
    assert sorted(zip(table.again.tolist(), table.first.tolist(), strict=True)) == repeated
    found = table.find(np.array(others + keys, np.uint64))
    assert found.tolist() == [keys.index(key) if key in keys else -1 for key in others + keys]


def test_key_table_of_many_keys():
    keys = Ids.of([b"%d" % (n // 2) for n in range(100_000)]).keys()
    table = KeyTable(keys)
    assert sorted(table.again.tolist()) == list(range(1, 100_000, 2))
    assert table.find(keys).tolist() == [n // 2 * 2 for n in range(100_000)]
    assert (table.find(~keys) == -1).all()


@given(st.lists(st.sets(TABLE_KEYS, max_size=9), max_size=9), st.lists(TABLE_KEYS, max_size=20))
def test_key_set(several, others):
    seen, expected = KeySet(), set()
    for keys in several:
        new = keys - expected
        seen.add(np.array(sorted(new), np.uint64))
        expected |= new
        assert len(seen) == len(expected)
        assert seen.has(np.array(others, np.uint64)).tolist() == [key in expected for key in others]
        lengths = [len(part) for part in seen.parts]
        assert all(a >= 2 * b for a, b in pairwise(lengths))


@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 3) | st.integers(0, 3).map(lambda n: n << 16)))
def test_stable_order(keys):
    assert stable_order(np.array(keys, np.int64)).tolist() == sorted(range(len(keys)), key=keys.__getitem__)


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([b"a", b"b", b"aa"])), max_size=12), KEYS)
def test_repeats(rows, keys):
    ids, group = Ids.of([name for _, name in rows]), np.array([group for group, _ in rows], np.int64)
    with colliding(keys):
        again, first = repeats(KeyTable((ids.keys() + salts(3)[group]) % np.uint64(keys)), ids, group)
    expected = [(row, rows.index(pair)) for row, pair in enumerate(rows) if rows.index(pair) < row]
    assert sorted(zip(again.tolist(), first.tolist(), strict=True)) == expected
