"""Rankings compared without judgments: worked values, and a slow direct implementation on random lists."""

import math
import re
from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from helpers import each
from hypothesis import given
from hypothesis import strategies as st

from gradeval.arrays.segments import Segments
from gradeval.statistics import overlap
from gradeval.statistics.overlap import RankedLists, RankedPairs

Groups = list[list[str]]  # documents with tied scores, the best first


def groups_of(text: str) -> Groups:
    """'(N H) M A'."""
    return [(tied or alone).split() for tied, alone in re.findall(r"\(([^)]*)\)|(\S+)", text)]


def flat(groups: Groups) -> list[str]:
    return [name for group in groups for name in group]


def lists_of(rankings: list[Groups]) -> RankedLists:
    lengths = [sum(map(len, groups)) for groups in rankings]
    tied = [place > 0 for groups in rankings for group in groups for place in range(len(group))]
    return RankedLists(Segments(np.append(0, np.cumsum(lengths)).astype(np.int64)), np.array(tied, bool))


def pairs_of(*pairs: tuple[Groups, Groups]) -> RankedPairs:
    rows: list[tuple[int, int]] = []
    begins = [0, 0]
    for first, second in ((flat(old), flat(new)) for old, new in pairs):
        rows += (
            (begins[0] + i, begins[1] + second.index(name)) for i, name in enumerate(first) if name in second
        )
        begins = [begins[0] + len(first), begins[1] + len(second)]
    lists = [lists_of([pair[side] for pair in pairs]) for side in (0, 1)]
    return RankedPairs((lists[0], lists[1]), np.array(rows, np.int64).reshape(-1, 2).T)


@each("text, ties, expected", [
    ("N H M A / C G N A", "wab", [.391500, .194686, .706428]),
    ("N H M A C F L / C G N A", "wab", [.490384, .260303, .688994]),
    ("(N H) M A / C G (N A)", "w", [.387643, .190828, .702571]),
    ("(N H) M A / C G (N A)", "a", [.378000, .181186, .692928]),
    ("(N H) M A / C G (N A)", "b", [.379289, .182474, .694217]),
    ("a b c / a b c", "wab", [1, .522528, 1]),
    ("a b c / d e f", "wab", [0, 0, .679428]),
    ("a / b", "wab", [0, 0, .9]),
    ("(N H) M / (N H) M", "a", [.95]),
    ("(N H) M / (N H) M", "wb", [1]),
    ("/", "wab", [1]),
    ("a / ", "wab", [0]),
    ("a b c d e f g h / b a c x e h y d", "wab", [.706620]),
])  # fmt: skip
def test_rbo_as_worked(text: str, ties: str, expected: list[float]) -> None:
    first, second = map(groups_of, text.split("/"))
    for rule in ties:
        values = overlap.rank_biased_overlap(pairs_of((first, second)), 0.9, rule)
        assert [round(float(value[0]), 6) for value in values][: len(expected)] == expected


def test_the_first_ranks_as_worked() -> None:
    pairs = pairs_of((groups_of("a b c d e f g h"), groups_of("b a c x e h y d")))
    values = overlap.first_ranks(pairs, [2, 3, 5, 8])
    expected = {
        "overlap": [0, 1, 1, 0.8, 0.75],
        "jaccard": [0, 1, 1, 0.666667, 0.6],
        "AO": [0, 0.5, 0.666667, 0.71, 0.692262],
    }
    for name, numbers in expected.items():
        assert [round(float(values[f"{name}@{k}"][0]), 6) for k in (1, 2, 3, 5, 8)] == numbers
    assert round(float(overlap.rank_biased_overlap(pairs, 0.8).value[0]), 6) == 0.661272


# --- directly from the definitions, a document and a depth at a time


def contribution(groups: Groups, name: str, depth: int, ties: str) -> float:
    top = 1
    for group in groups:
        bottom = top + len(group) - 1
        if name in group:
            if ties == "w" or depth >= bottom:
                return float(depth >= top)
            return max(depth - top + 1, 0) / (bottom - top + 1)
        top = bottom + 1
    return 0.0


def slow_rbo(old: Groups, new: Groups, p: float, ties: str) -> list[float]:
    shorter, longer = sorted((old, new), key=lambda groups: len(flat(groups)))
    in_both = set(flat(shorter)) & set(flat(longer))
    unseen = [name for name in flat(longer) if name not in in_both]
    s, length = len(flat(shorter)), len(flat(longer))

    def agreement(depth: int, added: float = 0.0) -> float:
        def shares(groups: Groups) -> list[float]:
            return [contribution(groups, name, depth, ties) for name in flat(groups)]

        x = added + sum(
            contribution(shorter, name, depth, ties) * contribution(longer, name, depth, ties)
            for name in in_both
        )
        sides = (shares(shorter), shares(longer))
        if ties == "w":
            n = [depth if depth > len(side) else sum(side) for side in sides]
            return 2 * x / sum(n)
        q = [depth if depth > len(side) else sum(c * c for c in side) for side in sides]
        return x / (depth if ties == "a" else math.sqrt(q[0] * q[1]))

    if not s:
        return [float(not length)] * 3
    sums = [0.0, 0.0, 0.0]
    for depth in range(1, length + 1):
        added = [0.0, 0.0, 0.0]
        if depth > s:
            shares = [contribution(longer, name, depth, ties) for name in unseen]
            nonzero = [c for c in shares if c]
            added = [(depth - s) * agreement(s) * sum(nonzero) / len(nonzero), 0.0, sum(shares[: depth - s])]
        sums = [total + agreement(depth, more) * p**depth for total, more in zip(sums, added, strict=True)]
    x = len(in_both)
    f = length + s - x
    sums[0] += (x + (length - s) * agreement(s)) / length * p ** (length + 1) / (1 - p)
    sums[1] += x * (math.log(1 / (1 - p)) - sum(p**d / d for d in range(1, length + 1)))
    sums[2] += sum((2 * d - f) / d * p**d for d in range(length + 1, f + 1)) + p ** (f + 1) / (1 - p)
    return [(1 - p) / p * total for total in sums]


def slow_correlations(old: Groups, new: Groups) -> tuple[float, float]:
    """τ-b of the tie groups, τ_AP of the ranks."""
    common = [name for name in flat(old) if name in flat(new)]

    def places(groups: Groups) -> dict[str, int]:
        return {name: place for place, group in enumerate(groups) for name in group}

    a, b = places(old), places(new)
    signs = [(np.sign(a[x] - a[y]), np.sign(b[x] - b[y])) for x, y in combinations(common, 2)]
    apart = math.sqrt(sum(x != 0 for x, _ in signs) * sum(y != 0 for _, y in signs))
    tau = sum(x * y for x, y in signs) / apart if apart else math.nan
    if len(common) < 2:
        return tau, math.nan
    orders = [common, [name for name in flat(new) if name in common]]
    both = []
    for estimate, truth in (orders, orders[::-1]):
        right = (
            sum(truth.index(other) < truth.index(name) for other in estimate[:i]) / i
            for i, name in enumerate(estimate)
            if i
        )
        both.append(2 / (len(common) - 1) * sum(right) - 1)
    return tau, sum(both) / 2


def slow_first_ranks(old: Groups, new: Groups, k: int) -> dict[str, float]:
    a, b = flat(old)[:k], flat(new)[:k]
    in_both = [name for name in a if name in b]

    def overlap_at(depth: int) -> float:
        longest = min(depth, max(len(flat(old)), len(flat(new))))
        return len({*a[:depth]} & {*b[:depth]}) / longest if longest else 1.0

    return {
        "overlap": overlap_at(k),
        "jaccard": len(in_both) / len({*a, *b}) if a or b else 1.0,
        "AO": sum(map(overlap_at, range(1, k + 1))) / k,
        "same": float(a == b),
        "same_set": float({*a} == {*b}),
        "new": len({*b} - {*a}),
        "lost": len({*a} - {*b}),
        "up": sum(b.index(name) < a.index(name) for name in in_both),
        "down": sum(b.index(name) > a.index(name) for name in in_both),
    }


@st.composite
def rankings(draw: Callable[..., Any]) -> Groups:
    names = draw(st.permutations("abcdefghij"))[: draw(st.integers(0, 10))]
    ties = draw(st.lists(st.booleans(), min_size=10, max_size=10))
    groups: Groups = []
    for name, is_tied in zip(names, ties, strict=False):
        if is_tied and groups:
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


@given(pairs=st.lists(st.tuples(rankings(), rankings()), min_size=1, max_size=8), p=st.sampled_from([0.3, 0.9]))
def test_all_measures_as_defined(pairs: list[tuple[Groups, Groups]], p: float) -> None:
    columns = pairs_of(*pairs)
    for ties in "wab":
        slow = np.array([slow_rbo(*pair, p, ties) for pair in pairs]).T
        assert np.allclose(overlap.rank_biased_overlap(columns, p, ties), slow, atol=1e-11)
    slow_both = np.array([slow_correlations(*pair) for pair in pairs]).T
    assert np.allclose(overlap.correlations(columns), slow_both, atol=1e-11, equal_nan=True)
    values = overlap.first_ranks(columns, [1, 4, 12])
    for k in (1, 4, 12):
        for q, pair in enumerate(pairs):
            for name, number in slow_first_ranks(*pair, k).items():
                assert values[f"{name}@{k}"][q] == pytest.approx(number, abs=1e-12), name


def test_ranks_without_weight_and_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists far longer than the ranks that count, a few at a time."""
    monkeypatch.setattr(overlap, "NEGLIGIBLE", 3)
    monkeypatch.setattr(overlap, "_CELLS", 12)
    random = np.random.default_rng(1)
    names = [f"d{number}" for number in range(40)]

    def ranking() -> Groups:
        order = random.permutation(names)[: random.integers(1, 40)].tolist()
        bounds = [0, *np.flatnonzero(random.random(len(order)) < 0.7).tolist(), len(order)]
        return [part for a, b in pairwise(bounds) if (part := order[a:b])]

    pairs = [([names], [names]), *((ranking(), ranking()) for _ in range(20))]
    for ties in "wab":
        slow = np.array([slow_rbo(*pair, 0.5, ties) for pair in pairs]).T
        assert np.abs(np.array(overlap.rank_biased_overlap(pairs_of(*pairs), 0.5, ties)) - slow).max() < 0.5**5
