"""Values that depend on the grades only, and so are the same for every run."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, cached_property
from gradeval.arrays.segments import Segments

_Made = TypeVar("_Made")
RECALLED = 16  # cached results that metrics share, more than they need at a time


def is_relevant(grade: Floats, level: float | None) -> Bools:
    """Which grades are relevant: from the threshold on, or above 0 without one; never those below 0."""
    return grade > 0 if level is None else grade >= max(level, 0.0)


class Recalling:
    """A table with results that metrics share."""

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    def once(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """The result of make(), cached by its key until RECALLED others were requested after it.

        So the cache does not grow with the number of metrics, such as AP at each of thousands of levels.
        Threads may share it: each step on the dict is atomic, and a result that another thread took out is
        made again.
        """
        made = self._made
        value: _Made | None = made.pop(key, None)
        if value is None:
            value = make()
        made[key] = value  # the most recently used is last
        if len(made) > RECALLED:
            for oldest in list(made)[:1]:
                made.pop(oldest, None)
        return value


@dataclass(frozen=True, eq=False, repr=False)
class Ideal(Recalling):
    """The grades of some queries, and their ideal ranking.

    segments: the Q queries that rows belong to. grade: float64 (N,), in any order within a query.
    """

    segments: Segments
    grade: Floats

    @cached_property
    def grades(self) -> Floats:
        """The grades of each query from the highest to the lowest: the ideal ranking, float64 (N,)."""
        return self.segments.sorted_descending(self.grade)

    @cached_property
    def levels(self) -> Segments:
        """The rows of the ideal ranking with equal grades, as segments of their own."""
        return self.segments.ties(self.grades)

    @cached_property
    def highest(self) -> Floats:
        """The largest grade of each query, at least 0, float64 (Q,)."""
        return np.maximum(self.segments.max(self.grade), 0.0)

    def relevant(self, level: float | None) -> Ints:
        """How many documents of each query are relevant, int64 (Q,)."""
        return self.once(("relevant", level), lambda: self.segments.number(is_relevant(self.grade, level)))
