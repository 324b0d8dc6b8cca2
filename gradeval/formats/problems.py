"""Collects what is wrong with a file: the first few problems as errors with their lines, then a count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gradeval.errors import InputError, InputErrors, named

SHOWN = 20


class Problem(NamedTuple):
    """line: 0-based, counted from the start of the block it stands in; None where no line is to blame."""

    line: int | None
    what: str
    hint: str = ""


class LastProblem(Problem):
    """A problem behind which nothing in the file is worth reading."""


class Problems:
    """The problems of one file, of which the first lines' are kept."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.errors: list[InputError] = []
        self.total = 0

    def add(self, problems: Iterable[Problem], first_line: int = 0) -> None:
        """first_line: how many lines stand before the block. Raises what there is where one is the last."""
        found = list(problems)
        self.total += len(found)
        for line, what, hint in sorted(found, key=lambda problem: problem.line or 0)[:SHOWN]:
            place = None if line is None else first_line + line + 1
            self.errors.append(InputError(self.path, what, line=place, hint=hint))
        self.errors = sorted(self.errors, key=lambda error: error.line or 0)[:SHOWN]
        if any(isinstance(problem, LastProblem) for problem in found):
            self.check()

    def check(self) -> None:
        """Raise what there is, in order of line."""
        if self.total:
            raise self.error()

    def error(self) -> InputError | InputErrors:
        """All of them as one error; there is one at least."""
        return InputErrors(self.errors, self.total) if self.total > 1 else self.errors[0]


def no_data(path: str, lines: int) -> InputError:
    """The error of a file without a line of data."""
    return InputError(
        path, "the file is empty" if not lines else "no line holds data: all are blank or comments"
    )


def shown(field: bytes) -> str:
    """A field as a message may have it."""
    return named(field.decode("utf-8", "backslashreplace"))
