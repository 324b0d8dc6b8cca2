"""What metrics show whose value depends on levels of grades; few metrics need it."""

from __future__ import annotations

from typing import NamedTuple


class Level(NamedTuple):
    """A relevance threshold of a metric that is a weighted mean of AP over thresholds."""

    grade: float
    relevant: int  # how many judged documents reach it
    average_precision: float  # AP with rel=grade
    weight: float  # of this AP in the mean
    marks: str = ""  # of what was retrieved, '+' if it reaches it, else '-'; an explanation adds them


class LevelGroup(NamedTuple):
    """The documents of one grade in a metric that orders all judged documents and no others, of equal scores
    the lowest grade first. Their gain is their level.
    """

    level: int
    grade: float
    first: int  # the position of the first in the ideal ranking
    last: int  # likewise of the last
    discount: float  # which they share
