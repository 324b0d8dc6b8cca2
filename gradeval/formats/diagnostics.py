"""What is wrong with a file: the first problems with their lines, as one error or several."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from gradeval.arrays import Ints
from gradeval.errors import InputError, InputErrors, named
from gradeval.records import Record

SHOWN = 20
# a hint where a document is a duplicate
COLLAPSES = "--duplicates best (in Python duplicates='best') takes the best score"
UNLABELLED_HINT = "--unlabelled unjudged (in Python unlabelled='unjudged') leaves out judgments without a label"
_VARIABLE = r"'.*'|\b\d+( fields?)?"  # what differs between problems of the same kind


class Problem(Record):
    """What is wrong with a line, or with a file."""

    line: int | None  # 0-based, from the start of its block; None where the problem is not in one line
    what: str
    hint: str = ""

    @property
    def kind(self) -> str:
        """The part of it that problems of the same kind in other lines share."""
        return re.sub(_VARIABLE, "…", self.what)


class LineProblems(Record):
    """The problems of a block or a file."""

    first: tuple[Problem, ...] = ()  # the first SHOWN by line
    total: int = 0  # how many there are
    final: bool = False  # the rest of the file need not be read
    # yields all of them, in any order; None where the first are all
    every: Callable[[], Iterator[Problem]] | None = None

    def all(self) -> Iterator[Problem]:
        return iter(self.first) if self.every is None else self.every()

    @classmethod
    def of(
        cls, lines: Ints, message: str | Callable[[int], str], hint: str | Callable[[int], str] = ""
    ) -> LineProblems:
        """A problem with each of the lines, -1 for data without lines. message(i), hint(i): of the i-th, called
        only for those shown.
        """

        def problem(i: int) -> Problem:
            texts = (text if isinstance(text, str) else text(i) for text in (message, hint))
            return Problem(None if lines[i] < 0 else int(lines[i]), *texts)

        first = tuple(map(problem, np.argsort(lines, kind="stable")[:SHOWN].tolist()))
        every = partial(map, problem, range(len(lines))) if len(lines) > SHOWN else None
        return cls(first, len(lines), every=every)

    @classmethod
    def listed(cls, problems: Sequence[Problem], final: bool = False) -> LineProblems:
        first = tuple(sorted(problems, key=_line)[:SHOWN])
        return cls(first, len(problems), final, partial(iter, problems) if len(problems) > SHOWN else None)

    @classmethod
    def joined(cls, parts: Iterable[LineProblems]) -> LineProblems:
        parts = list(parts)
        first = sorted(chain(*(part.first for part in parts)), key=_line)[:SHOWN]
        total = sum(part.total for part in parts)
        every = partial(chain.from_iterable, map(cls.all, parts)) if total > len(first) else None
        return cls(tuple(first), total, any(part.final for part in parts), every)

    def __add__(self, other: LineProblems) -> LineProblems:
        return self.joined([self, other])

    def changed(self, change: Callable[[Problem], Problem]) -> LineProblems:
        """Each problem changed, as where it is in another line."""
        first = tuple(map(change, self.first))
        every = self.every
        return self.replace(first=first, every=every and (lambda: map(change, every())))

    def in_lines(self, lines: Ints) -> LineProblems:
        """Those of rows, each in the line of its row. lines: of each row, (n,)."""
        return self.changed(lambda problem: problem.replace(line=int(lines[problem.line or 0])))

    def moved(self, lines: int) -> LineProblems:
        """Those behind so many lines."""
        return self.changed(
            lambda problem: problem if problem.line is None else problem.replace(line=lines + problem.line)
        )

    def check(self, path: str, end: int | None = None, hint: str = "") -> None:
        """Raise them, if any, as all that is wrong with a file. end, hint: as in InputErrors."""
        if not self.total:
            return
        errors = []
        for problem in self.first:
            line = None if problem.line is None else problem.line + 1
            errors.append(InputError(path, problem.what, line=line, hint=problem.hint))
        raise InputErrors(errors, self.total, end, hint) if self.total > 1 else errors[0]


NOTHING = LineProblems()


class Problems:
    """The problems of one file; the first by line are kept. enough: how many end the reading. hint: how to see
    those that are only counted, or ''. lines: how many have been read. end: the line, from 1, where this ended.
    """

    def __init__(self, path: str, enough: float = SHOWN, hint: str = "") -> None:
        self.path = path
        self.enough = enough
        self.hint = hint
        self.found = NOTHING
        self.lines = 0
        self.end: int | None = None

    def add(self, problems: LineProblems, first_line: int = 0) -> None:
        """first_line: the number of lines before the block of these problems."""
        if problems.total:  # those that are not shown are not kept, nor what they would be made from
            self.found = (self.found + problems.moved(first_line)).replace(every=None)

    def until_enough(
        self, parts: Iterable[Any], count_elsewhere: Callable[[], int] = int
    ) -> Iterator[tuple[int, Any]]:
        """Each part of the file, with the number of lines before it, until there are enough problems or a final
        one. parts: with lines, last and problems, as Columns have them. count_elsewhere: of other problems.
        """
        for part in parts:
            before = self.lines
            self.lines += part.lines
            self.add(part.problems, before)
            yield before, part
            if part.problems.final:
                self.end = before + (part.problems.first[-1].line or 0) + 1
            elif self.found.total + count_elsewhere() >= self.enough and not part.last:
                self.end = self.lines
            if self.end is not None:
                break
        if isinstance(parts, Generator):  # which closes the file, whatever keeps the iterator alive
            parts.close()

    def check(self) -> None:
        """Raise the problems, if any, ordered by line."""
        self.found.check(self.path, self.end, self.hint)


def _line(problem: Problem) -> int:
    return problem.line or 0


def first_in(line: int) -> str:
    """The hint for a duplicate document of a run. line: of the first, 0-based."""
    return f"The first is in line {line + 1}; {COLLAPSES}"


class LeftOut(Record):
    """Why an option leaves rows out, for the error of a file that has no others."""

    reason: str
    hint: str


def no_data(path: str, lines: int, left_out: LeftOut | None = None) -> InputError:
    """The error of a file without a line of data. left_out: why it has none, if it had some."""
    if left_out is not None:
        return InputError(path, left_out.reason, hint=left_out.hint)
    return InputError(path, "the file is empty" if not lines else "no data: all lines are blank or comments")


def shown(field: bytes) -> str:
    """A field, quoted and shortened for a message."""
    return named(field.decode("utf-8", "surrogateescape"))
