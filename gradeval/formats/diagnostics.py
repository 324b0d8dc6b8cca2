"""What is wrong with lines of a file: the first few problems with their lines, and how many there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from gradeval.arrays import Ints
from gradeval.arrays.segments import distinct
from gradeval.errors import InputError, InputErrors, named
from gradeval.records import Record

if TYPE_CHECKING:
    from gradeval.formats.sources import Block

SHOWN = 20
HEAD = 4096  # bytes that show what a file looks like
# a hint where a document is a duplicate
COLLAPSES = "--duplicates best (in Python duplicates='best') takes the best score"
_VARIABLE = r"'.*'|\b\d+( fields?)?"  # what differs between problems of the same kind


class Problem(Record):
    """line: 0-based, from the start of its block; None where the problem is not in one line."""

    line: int | None
    what: str
    hint: str = ""

    @property
    def kind(self) -> str:
        """The part of it that problems of the same kind in other lines share."""
        return re.sub(_VARIABLE, "…", self.what)


class LineProblems(Record):
    """The problems of some lines: the first SHOWN problems by line, and how many there are.

    final: the rest of the file need not be read. bad: how many lines have a problem. rows: the lines of data of
    the block. head: the beginning of the file, if the block has it. every: yields all of the problems, in any
    order; None where the first are all.
    """

    first: tuple[Problem, ...] = ()
    total: int = 0
    final: bool = False
    bad: int = 0
    rows: int = 0
    head: bytes = b""
    every: Callable[[], Iterator[Problem]] | None = None

    def all(self) -> Iterator[Problem]:
        return iter(self.first) if self.every is None else self.every()

    @classmethod
    def of(cls, lines: Ints, what: Callable[[int], str], hint: str | Callable[[int], str] = "") -> LineProblems:
        """A problem with each of the lines. what(i) describes the i-th, and is called only for those shown; so
        does hint(i), or it is the same for all.
        """

        def problem(i: int) -> Problem:
            return Problem(int(lines[i]), what(i), hint if isinstance(hint, str) else hint(i))

        first = tuple(map(problem, np.argsort(lines, kind="stable")[:SHOWN].tolist()))
        every = partial(map, problem, range(len(lines))) if len(lines) > SHOWN else None
        return cls(first, len(lines), bad=len(distinct(lines)), every=every)

    @classmethod
    def listed(cls, problems: Sequence[Problem], final: bool = False) -> LineProblems:
        first = tuple(sorted(problems, key=_line)[:SHOWN])
        every = partial(iter, problems) if len(problems) > SHOWN else None
        bad = len({problem.line for problem in problems})
        return cls(first, len(problems), final, bad, every=every)

    @classmethod
    def joined(cls, parts: Iterable[LineProblems]) -> LineProblems:
        parts = list(parts)
        first = sorted(chain(*(part.first for part in parts)), key=_line)[:SHOWN]
        total, bad = sum(part.total for part in parts), sum(part.bad for part in parts)
        every = partial(chain.from_iterable, map(cls.all, parts)) if total > len(first) else None
        return cls(tuple(first), total, any(part.final for part in parts), bad, every=every)

    def changed(self, change: Callable[[Problem], Problem]) -> LineProblems:
        """Each problem changed, as where it is in another line."""
        every = self.every
        return self.replace(
            first=tuple(map(change, self.first)), every=every and (lambda: map(change, every()))
        )

    def check(self, path: str) -> None:
        """Raise them, if any, as all that is wrong with a file."""
        if self.total:
            raise self.error(path)

    def error(self, path: str, end: int | None = None) -> InputError | InputErrors:
        """They as one error; there must be at least one. end: the line, from 1, at which reading stopped."""
        errors = [
            InputError(
                path, problem.what, line=None if problem.line is None else problem.line + 1, hint=problem.hint
            )
            for problem in self.first
        ]
        return InputErrors(errors, self.total, end) if self.total > 1 else errors[0]

    def within(self, block: Block, rows: int) -> LineProblems:
        """The same problems, of a block with this many lines of data."""
        if not self.total:
            return self
        return self.replace(
            rows=rows, head=block.bytes[: min(block.size, HEAD)].tobytes() if block.first else b""
        )


NOTHING = LineProblems()


def _line(problem: Problem) -> int:
    return problem.line or 0


def first_in(line: int) -> str:
    """The hint for a duplicate document of a run. line: of the first, 0-based."""
    return f"The first is in line {line + 1}; {COLLAPSES}"


def no_data(path: str, lines: int, left_out: bool = False) -> InputError:
    """The error of a file without a line of data. left_out: whether it has some, which were left out."""
    if left_out:
        what = "no document is left: the id of each is that of its query"
        return InputError(path, what, hint="--ignore-identical-ids leaves these out")
    return InputError(path, "the file is empty" if not lines else "no data: all lines are blank or comments")


def shown(field: bytes) -> str:
    """A field, quoted and shortened for a message."""
    return named(field.decode("utf-8", "backslashreplace"))
