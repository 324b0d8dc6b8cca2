"""Columns of ids against lists of bytes."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradeval.ids import LONG, PAD, IdIndex, Ids, alike, mix, order_of, repeats, short_keys

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
    """Only so many different keys."""
    plain = Ids.keys
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ids, "keys", lambda ids: plain(ids) % np.uint64(keys))
        yield


KEYS = st.sampled_from([1, 2, 2**63])


def scattered(names, between):
    """The names in a block with other bytes around them."""
    text = between.join([b"", *names, bytes(PAD)])
    ends = np.cumsum([len(name) + len(between) for name in names]).astype(np.int64)
    length = np.array([len(name) for name in names], np.int64)
    return Ids(np.frombuffer(text, np.uint8), ends - length, length)


@settings(deadline=None)
@given(COLUMNS, st.sampled_from([b"", b" ", b"\xff9"]))
def test_columns_are_lists(names, between):
    ids = scattered(names, between)
    assert len(ids) == len(names)
    assert ids.tolist() == Ids.of(names).tolist() == ids.compact().tolist() == names
    assert [ids[row] for row in range(len(names))] == names
    assert ids.take(slice(None, None, 2)).tolist() == names[::2]
    rows = np.arange(len(names))[::-2]
    assert ids.take(rows).tolist() == [names[row] for row in rows]
    assert ids.take(slice(1, 3)).tolist() == names[1:3]
    assert ids.take(np.array([len(name) > 3 for name in names], bool)).compact().tolist() == [
        n for n in names if len(n) > 3
    ]
    assert len(ids.compact().block) == sum(map(len, names)) + PAD


@settings(deadline=None)
@given(st.lists(COLUMNS, max_size=4))
def test_joined(columns):
    joined = Ids.joined([Ids.of(names) for names in columns])
    assert joined.tolist() == [name for names in columns for name in names]
    assert len(joined.block) >= int((joined.start + joined.length).max(initial=0)) + PAD


@settings(deadline=None)
@given(COLUMNS)
def test_keys(names):
    """Equal ids have equal keys wherever they stand; different ones, at this number, different keys."""
    keys = scattered(names, b"\xff9").keys()
    assert keys.tolist() == Ids.of(names).keys().tolist()
    assert len(set(keys.tolist())) == len(set(names))


def test_keys_of_many_ids_differ():
    names = [b"%s%d" % (head, n) for n in range(20_000) for head in (b"", b"d", b"clueweb09-en0000-00-")]
    assert len(np.unique(Ids.of(names).keys())) == len(names)


@settings(deadline=None)
@given(COLUMNS.filter(bool), st.data())
def test_same(names, data):
    pairs = data.draw(st.lists(st.tuples(*[st.integers(0, len(names) - 1)] * 2)))
    rows, others = np.array(pairs, np.int64).reshape(-1, 2).T
    same = Ids.of(names).same(rows, scattered(names, b"\xff9"), others)
    assert same.tolist() == [names[a] == names[b] for a, b in pairs]


def test_long_ids_differ_in_their_last_byte_alone():
    names = [b"a" * 200, b"a" * 199 + b"b", b"a" * 201, b"a" * 200]
    ids = Ids.of(names)
    rows = np.repeat(np.arange(4), 4)
    same = ids.same(rows, ids, np.tile(np.arange(4), 4))
    assert same.tolist() == [names[a] == names[b] for a in range(4) for b in range(4)]


@settings(deadline=None)
@given(COLUMNS, st.lists(st.integers(1, 3), min_size=20, max_size=20))
def test_changes(names, times):
    names = [name for name, n in zip(names, times, strict=False) for _ in range(n)]
    expected = [row for row in range(1, len(names)) if names[row] != names[row - 1]]
    assert scattered(names, b"9").changes().tolist() == expected


@settings(deadline=None)
@given(COLUMNS, KEYS)
def test_distinct(names, keys):
    with colliding(keys):
        first, which = scattered(names, b"9").distinct()
    order = list(dict.fromkeys(names))
    assert first.tolist() == [names.index(name) for name in order]
    assert which.tolist() == [order.index(name) for name in names]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.one_of(NAMES, SHORT_NAMES)), max_size=20), st.booleans())
def test_descending(rows, long):
    if not long:
        rows = [(group, name[-20:]) for group, name in rows]
    names = [name for _, name in rows]
    order = scattered(names, b"9").descending(np.array([group for group, _ in rows], np.int64))
    expected = sorted(sorted(rows, key=lambda row: row[1], reverse=True), key=lambda row: row[0])
    assert sorted(order.tolist()) == list(range(len(rows)))
    assert [rows[row] for row in order] == expected


@settings(deadline=None)
@given(COLUMNS, COLUMNS, KEYS)
def test_index(names, wanted, keys):
    names = list(dict.fromkeys(names))
    with colliding(keys):
        found = IdIndex(Ids.of(names)).find(scattered(wanted + names, b"9"))
    assert found.tolist() == [names.index(name) if name in names else -1 for name in wanted + names]


def test_short_keys():
    """Of the query as much as of the document."""
    documents = Ids.of([b"%d" % n for n in range(300)]).keys()
    queries = mix(np.arange(300, dtype=np.uint64))
    pairs = short_keys(np.tile(documents, 300), np.repeat(queries, 300))
    assert pairs.dtype == np.uint32
    assert len(np.unique(pairs)) > 0.999 * len(pairs)


SHORT_KEYS = st.lists(
    st.one_of(st.integers(0, 2**32 - 1), st.integers(0, 3), st.integers(0, 3).map(lambda n: n << 16))
)


@settings(deadline=None)
@given(SHORT_KEYS)
def test_order_of_and_alike(keys):
    column = np.array(keys, np.uint32)
    order = order_of(column)
    assert order.tolist() == sorted(range(len(keys)), key=keys.__getitem__)
    assert alike(order, column[order]).tolist() == [row for row, key in enumerate(keys) if keys.count(key) > 1]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([b"a", b"b", b"aa"])), max_size=12), st.data())
def test_repeats(rows, data):
    """Only among the rows asked about."""
    asked = sorted(data.draw(st.sets(st.sampled_from(range(len(rows)))))) if rows else []
    group = np.array([rows[row][0] for row in asked], np.int64)
    expected = []
    for place, row in enumerate(asked):
        before = [other for other in asked[:place] if rows[other] == rows[row]]
        if before:
            expected.append((row, before[0], rows[row][1]))
    assert repeats(np.array(asked, np.int64), group, Ids.of([name for _, name in rows])) == expected
