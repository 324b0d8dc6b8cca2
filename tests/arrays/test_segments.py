"""Arithmetic within queries, against loops over queries."""

from itertools import accumulate, pairwise
from operator import mul

import numpy as np
import pytest
from helpers import examples, one_by_one
from hypothesis import example, given
from hypothesis import strategies as st

from gradeval.arrays.segments import Segments, stable_order

numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6))
of_one_length = st.integers(1, 5).flatmap(
    lambda size: st.lists(st.lists(numbers, min_size=size, max_size=size))
)
tables = st.lists(st.lists(numbers, max_size=12), max_size=6) | of_one_length
many = examples(times=1.2)


def made(table):
    offsets = np.concatenate([[0], np.cumsum([len(query) for query in table], dtype=np.int64)])
    return Segments(offsets), np.array([n for query in table for n in query], np.float64)


def flat(lists):
    return [one for query in lists for one in query]


@many
@given(tables, st.data())
def test_against_loops(table, data):
    within, values = made(table)
    assert within.count == len(table)
    assert within.lengths.tolist() == [len(query) for query in table]
    assert within.query.tolist() == flat([number] * len(query) for number, query in enumerate(table))
    assert within.place.tolist() == flat(range(len(query)) for query in table)

    assert within.sum(values).tolist() == [one_by_one(query) for query in table]  # in row order
    assert within.max(values).tolist() == [max(query, default=0.0) for query in table]
    assert within.min(values, empty=np.inf).tolist() == [min(query, default=np.inf) for query in table]
    assert within.number(values > 0).tolist() == [sum(n > 0 for n in query) for query in table]
    positive = np.flatnonzero(values > 0)
    expected = within.sum(np.where(values > 0, values, 0.0)).tolist()
    assert within.sum(values[positive], positive).tolist() == expected

    counts = flat(accumulate(n > 0 for n in query) for query in table)
    assert within.running_count(values > 0).tolist() == counts
    # to the bit, whatever came before
    assert within.running_sum(values).tolist() == flat(map(accumulate, table))
    assert within.running_product(values).tolist() == flat(accumulate(query, mul) for query in table)

    falling = [sorted(query, reverse=True) for query in table]
    order = within.descending(values)
    assert within.sorted_descending(values).tolist() == values[order].tolist() == flat(falling)
    assert sorted(order.tolist()) == list(range(len(values)))
    ranked, groups = within.ranked(values)
    bounds = list(pairwise(within.offsets.tolist()))
    assert ranked.tolist() == flat(sorted(range(a, b), key=lambda row: -values[row]) for a, b in bounds)
    assert groups.offsets.tolist() == within.ties(values[ranked]).offsets.tolist()
    assert within.width == (len(table[0]) if len({*map(len, table)}) == 1 else 0)
    for n in (1, 2, 4):
        assert within.first(n).tolist() == flat(range(a, min(a + n, b)) for a, b in bounds)
        assert within.nth_largest(values, n).tolist() == [[*query, *[-np.inf] * n][n - 1] for query in falling]

    rows = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    taken = within.take(rows)
    assert taken.query.tolist() == within.query[rows].tolist()
    assert taken.lengths.tolist() == np.bincount(within.query[rows], minlength=len(table)).tolist()
    ties = within.ties(values)
    groups = [values[a:b].tolist() for a, b in pairwise(ties.offsets)]
    assert flat(groups) == values.tolist()
    assert all(group and len(set(group)) == 1 for group in groups)
    distinct = [sum(a != b for a, b in zip([None, *query], query, strict=False)) for query in table]
    assert within.over(ties).lengths.tolist() == distinct


any_number = st.sampled_from([0.0, 1.0, -2.5, 1e308, -1e308, np.inf, -np.inf, np.nan])


@many
@given(st.lists(st.lists(any_number, max_size=6), min_size=1, max_size=5))
def test_running_sums_of_any_numbers_stay_in_their_query(table):
    within, values = made(table)
    expected = flat(map(accumulate, table))
    assert within.running_sum(values) == pytest.approx(expected, nan_ok=True, rel=0, abs=0)


@many
@given(st.lists(st.lists(st.integers(0, 9), max_size=12), max_size=5))
def test_bit_planes_pair_every_two_rows_once(table):
    within, values = made(table)
    level = values.astype(np.int64)
    lower, higher, equal = (np.zeros(len(level), np.int64) for _ in range(3))
    turns = list(within.bit_planes(level))
    for turn, (rows, groups, upper, before) in enumerate(turns):
        assert sorted(rows.tolist()) == list(range(len(level)))
        assert within.query[rows].tolist() == within.query.tolist()
        if turn == len(turns) - 1:
            assert not upper.any()
            equal[rows] += before
        else:
            lower[rows] += np.where(upper, groups.place - before, 0)
            higher[rows] += np.where(upper, 0, before)
    for found, compare in ((lower, int.__lt__), (higher, int.__gt__), (equal, int.__eq__)):
        expected = [[sum(compare(s, r) for s in query[:i]) for i, r in enumerate(query)] for query in table]
        assert found.tolist() == flat(expected)


@many
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([3, 10**6, 2**40])), max_size=30), st.booleans())
@example([(2, 0), (0, 0)], True)  # one bit too large: 2^61 and two rows
def test_stable_order(pairs, are_large):
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    expected = sorted(range(len(pairs)), key=lambda row: pairs[row])
    assert stable_order(first << 60 * are_large, second).tolist() == expected  # too large to pack


def test_long_queries():
    rng = np.random.default_rng(3)
    within, values = made([rng.random(n).tolist() for n in (1, 5000, 0, 2, 3, 4, 700, 1)])
    expected = [sorted(values[a:b], reverse=True) for a, b in pairwise(within.offsets)]
    assert within.sorted_descending(values) == pytest.approx(flat(expected))
