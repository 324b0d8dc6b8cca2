"""What is wrong with the lines of a file: all of it is counted, the first is kept."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gradeval.formats.diagnostics import ORDER, LineProblems, Problem, Problems


class Issue(NamedTuple):
    """Something wrong in a line (from 1), None where it is not in one line. hint: what to do, or ''."""

    line: int | None
    what: str
    hint: str = ""


@dataclass(frozen=True)
class Issues:
    """Errors or warnings of a file: the first by line, how many there are, and how many of each kind."""

    first: tuple[Issue, ...] = ()
    total: int = 0
    kinds: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem) -> Issues:
        """A single one, whose line counts from 1."""
        return cls((Issue(problem.line, problem.what, problem.hint),), 1, {problem.kind: 1})

    def to_dict(self) -> dict[str, Any]:
        """The issues as JSON has them."""
        return {
            "total": self.total,
            "kinds": self.kinds,
            "first": [{"line": one.line, "what": one.what, "hint": one.hint} for one in self.first],
        }


NO_ISSUES = Issues()


class Collected:
    """Issues of a file while they are found: the first `limit` by line are kept."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept: list[Issue] = []
        self.kinds: Counter[str] = Counter()

    def add(self, problem: Problem, first_line: int = 0) -> None:
        line = None if problem.line is None else first_line + problem.line + 1
        self.kinds[problem.kind] += 1
        self.kept.append(Issue(line, problem.what, problem.hint))
        if len(self.kept) > 2 * self.limit + 100:
            self._prune()

    def _prune(self) -> None:
        self.kept.sort(key=lambda issue: issue.line or 0)
        del self.kept[self.limit :]

    def join(self, others: Collected) -> None:
        self.kept += others.kept
        self.kinds.update(others.kinds)

    def issues(self) -> Issues:
        self._prune()
        return Issues(tuple(self.kept), self.kinds.total(), dict(self.kinds.most_common()))


class AllProblems(Problems):
    """The problems of a file, which is read on whatever is wrong with its lines."""

    def __init__(self, path: str, role: str, limit: int, order: str = ORDER) -> None:
        super().__init__(path, role, order)
        self.errors = Collected(limit)

    @property
    def enough(self) -> float:
        return math.inf

    def add(self, found: LineProblems, first_line: int = 0) -> None:
        for problem in found.all() if found.total else ():
            self.errors.add(problem, first_line)
        super().add(found, first_line)

    def check(self) -> None:
        """They are reported with what the other lines hold."""


class LetorProblems(AllProblems):
    """The same of a LETOR file: without all of its lines there are no rows."""

    def check(self) -> None:
        Problems.check(self)
