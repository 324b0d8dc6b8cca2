"""The queries that --query-ids names: a list of ids, or a file of them."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from gradeval.errors import GradevalError, OptionError, UnknownQueryError, named
from gradeval.formats.diagnostics import LineProblems, Problems
from gradeval.formats.fields import read_fields
from gradeval.formats.sources import Source
from gradeval.options import parse_ids


class QueryIds:
    """What --query-ids was given: ids, or the name of a file of ids; ids where it is both and all are judged.

    warnings: one where it is both. Raises InputError for a file that cannot be read, OptionError for no ids.
    """

    def __init__(self, given: str) -> None:
        self.given = given
        self.warnings: list[str] = []
        self._listed = () if "/" in given else parse_ids(given)
        self._is_file = "/" in given or (os.path.exists(given) and not os.path.isdir(given))
        self._lines: dict[str, int] = {}  # of each id in the file, 0-based
        if self._is_file and not self._listed:
            self._read()
        elif not self._listed:
            raise self._empty()

    def chosen(self, judged: Iterable[str]) -> tuple[str, ...]:
        """The ids, given those of all queries of the qrels."""
        if not self._listed:
            return tuple(self._lines)
        if not self._is_file:
            return self._listed
        if set(self._listed).issubset(judged):
            self.warnings.append(
                f"--query-ids {self.given}: this is in the qrels, so the file of this name is ignored; "
                f"./{self.given} names the file"
            )
            return self._listed
        self._read()
        return tuple(self._lines)

    def unknown(self, error: UnknownQueryError) -> GradevalError:
        """What is said of ids that are not in the qrels: in which lines they stand, if they are from a file."""
        if self._lines:
            problems = Problems(self.given)
            lines = np.array([self._lines[one] for one in error.queries])
            problems.add(
                LineProblems.of(lines, lambda i: f"query {named(error.queries[i])} is not in {error.path}")
            )
            return problems.error()
        more = f", nor is there a file '{self.given}'" if len(self._listed) == 1 else ""
        return OptionError(f"--query-ids: {error}{more}")

    def _read(self) -> None:
        for line, ids in read_fields(Source(self.given)):
            for one in ids:
                self._lines.setdefault(one, line)
        if not self._lines:
            raise self._empty()

    def _empty(self) -> OptionError:
        return OptionError(f"--query-ids {self.given}: no query is named")
