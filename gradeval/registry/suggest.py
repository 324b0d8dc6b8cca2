"""What was meant by a word that is none of those there are."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is the fewest slips away; None where that would be a guess, not a typo."""
    most = min(len(word) // 3, 2)
    near = [(slips(word, one), one) for one in known if abs(len(one) - len(word)) <= most]
    fewest, best = min(near, key=lambda pair: pair[0], default=(most + 1, None))
    return best if fewest <= most else None


def slips(a: str, b: str) -> int:
    """How many slips make b of a: a letter too many, missing or wrong, or two that change places."""
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
