from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradeval.registry.suggest import nearest, slips


@pytest.mark.parametrize(
    ("a", "b", "count"),
    [
        ("ndcg", "ndcg", 0),
        ("ndcg", "ndgc", 1),
        ("ndcg", "nddcg", 1),
        ("ndcg", "dcg", 1),
        ("ndcg", "ndch", 1),
        ("", "map", 3),
        ("num_rle", "num_ret", 2),
        ("abcd", "badc", 2),
    ],
)
def test_slips(a: str, b: str, count: int) -> None:
    assert slips(a, b) == slips(b, a) == count


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_slips_are_a_distance(a: str, b: str) -> None:
    assert (slips(a, b) == 0) == (a == b)
    assert abs(len(a) - len(b)) <= slips(a, b) <= max(len(a), len(b))


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("map", "map"),
        ("mpa", "map"),
        ("pa", None),  # too short to tell
        ("nap", None),
        ("mab", None),
        ("ndcg2", None),
        ("num_rel2", None),
        ("recll", "recall"),
        ("rcll", None),  # two slips in four letters
        ("num_rle", "num_rel"),  # the nearer one, wherever it stands
        ("alpha_ndcg", None),
        ("", None),
    ],
)
def test_nearest(word: str, found: str | None) -> None:
    assert nearest(word, ["num_ret", "num_rel", "map", "p", "recall", "ideal_dcg", "ndcg"]) == found


def test_no_word_is_known() -> None:
    assert nearest("map", []) is None
