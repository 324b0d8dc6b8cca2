"""Collects what is wrong with a file: the first few problems as errors with their lines, then a count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from gradeval.arrays import Ints
from gradeval.errors import InputError, InputErrors, named

SHOWN = 20


class Problem(NamedTuple):
    """line: 0-based, counted from the start of the block it stands in; None where no line is to blame."""

    line: int | None
    what: str
    hint: str = ""


class LineProblems(NamedTuple):
    """What is wrong with some lines: the first SHOWN problems by line, and how many there are.

    final: nothing behind them in the file is worth reading.
    """

    first: tuple[Problem, ...] = ()
    total: int = 0
    final: bool = False

    @classmethod
    def of(cls, lines: Ints, what: Callable[[int], str], hint: str = "") -> LineProblems:
        """A problem with each of the lines. what(i), for the i-th of them, is asked of those shown only."""
        order = np.argsort(lines, kind="stable")[:SHOWN].tolist()
        return cls(tuple(Problem(int(lines[i]), what(i), hint) for i in order), len(lines))

    @classmethod
    def joined(cls, several: Iterable[LineProblems]) -> LineProblems:
        several = list(several)
        first = sorted(chain(*(one.first for one in several)), key=_line)[:SHOWN]
        return cls(tuple(first), sum(one.total for one in several), any(one.final for one in several))


def _line(problem: Problem) -> int:
    return problem.line or 0


class Part(Protocol):
    """What was made of a block: how many lines it has, whether no block follows, and what is wrong in it."""

    @property
    def lines(self) -> int: ...

    @property
    def last(self) -> bool: ...

    @property
    def problems(self) -> LineProblems: ...


_Part = TypeVar("_Part", bound=Part)


class Problems:
    """The problems of one file, of which the first by line are kept.

    lines: how many have been read. end: the line, from 1, at which reading stopped before the file's end.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.found = LineProblems()
        self.lines = 0
        self.end: int | None = None

    def add(self, found: LineProblems, first_line: int = 0) -> None:
        """first_line: how many lines stand before those that the problems count."""
        if found.total:
            moved = (
                one if one.line is None else one._replace(line=first_line + one.line) for one in found.first
            )
            self.found = LineProblems.joined([self.found, found._replace(first=tuple(moved))])

    def until_enough(
        self, parts: Iterable[_Part], others: Callable[[], int] = lambda: 0
    ) -> Iterator[tuple[int, _Part]]:
        """Each part of the file, with the number of lines before it, until reading on is of no use.

        That is after SHOWN problems, or after one that is final. others: how many are known besides.
        """
        for part in parts:
            before = self.lines
            self.lines += part.lines
            self.add(part.problems, before)
            yield before, part
            if part.problems.final:
                self.end = before + (part.problems.first[-1].line or 0) + 1
                return
            if self.found.total + others() >= SHOWN and not part.last:
                self.end = self.lines
                return

    def check(self) -> None:
        """Raise what there is, in order of line."""
        if self.found.total:
            raise self.error()

    def error(self) -> InputError | InputErrors:
        """All of them as one error; there is one at least."""
        errors = [
            InputError(self.path, what, line=None if line is None else line + 1, hint=hint)
            for line, what, hint in self.found.first
        ]
        return InputErrors(errors, self.found.total, self.end) if self.found.total > 1 else errors[0]


def no_data(path: str, lines: int) -> InputError:
    """The error of a file without a line of data."""
    return InputError(path, "the file is empty" if not lines else "no data: all lines are blank or comments")


def shown(field: bytes) -> str:
    """A field as a message may have it."""
    return named(field.decode("utf-8", "backslashreplace"))
