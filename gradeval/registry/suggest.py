"""Suggestions for misspelled names."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word at the smallest edit distance; None if that is too large for a typo."""
    most = min(len(word) // 3, 2)
    near = [(slips(word, one), one) for one in known if abs(len(one) - len(word)) <= most]
    fewest, best = min(near, key=lambda pair: pair[0], default=(most + 1, None))
    return best if fewest <= most else None


def slips(a: str, b: str) -> int:
    """The edit distance: insertions, deletions, substitutions and transpositions of adjacent letters."""
    before, last = [0], list(range(len(b) + 1))
    for i, x in enumerate(a):
        row = [i + 1]
        for j, y in enumerate(b):
            least = min(last[j] + (x != y), last[j + 1] + 1, row[j] + 1)
            if i and j and (x, a[i - 1]) == (b[j - 1], y):
                least = min(least, before[j - 1] + 1)
            row.append(least)
        before, last = last, row
    return last[-1]
