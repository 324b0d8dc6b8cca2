"""What studies and pictures return: tables of their numbers, and what these were made from."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

from gradeval.errors import OptionError, described
from gradeval.notices import Notice, lines
from gradeval.render.document import Printable
from gradeval.version import __version__

Value = str | bool | int | float | None
Row = tuple[Value, ...]

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Table:
    """A table of values; None and NaN are undefined.

    name: one word. title: what it shows, in one line. data: whether it is one of the tables of tsv, csv and
    json, which have a row for each value or each finding. shown: whether it is one of those to look at.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[Row]
    data: bool = True
    shown: bool = True

    def to_dicts(self) -> list[dict[str, Value]]:
        """The rows as objects, undefined values as None."""
        return [dict(zip(self.columns, map(_defined, row), strict=True)) for row in self.rows]


def _defined(value: Value) -> Value:
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Tabled(Printable, ABC):
    """An outcome that is tables.

    kind: what it is, as the json format has it. name: the command's. options: what it was made from, the seed
    of its random numbers among it, as JSON can hold it. noticed: what a user should know of the input, in
    groups with a line for each kind. runs_read: how many runs there are.
    """

    kind: ClassVar[str]
    name: ClassVar[str]
    options: Mapping[str, Any]
    noticed: tuple[tuple[Notice, ...], ...] = ()
    runs_read: int = 0

    def __repr__(self) -> str:
        tables = ", ".join(f"{table.name} ({len(table.rows)})" for table in self.tables if table.data)
        return f"{type(self).__name__}(metrics={self.options['metrics']}, tables: {tables})"

    @property
    def notices(self) -> tuple[Notice, ...]:
        """All that a user should know of the input."""
        return tuple(chain(*self.noticed))

    def messages(self, *, informational: bool) -> list[str]:
        """The notices as text, a line each: those that are informational, or the warnings."""
        groups = ([one for one in group if one.informational is informational] for group in self.noticed)
        return list(dict.fromkeys(chain(*(lines(group, self.runs_read) for group in groups))))

    @property
    @abstractmethod
    def tables(self) -> tuple[Table, ...]:
        """All of it, the table of findings first."""

    def table(self, name: str) -> Table:
        """The table of this name. Raises OptionError."""
        for table in self.tables:
            if table.name == name and table.data:
                return table
        names = ", ".join(table.name for table in self.tables if table.data)
        raise OptionError(f"unknown table {described(name)}. Tables: {names}")

    def to_dict(self) -> dict[str, Any]:
        """The object that the json format prints. Numbers are exact, undefined ones None."""
        return {
            "gradeval": __version__,
            "format": FORMAT_VERSION,
            self.kind: self.name,
            "options": dict(self.options),
            "notices": [notice.to_dict() for notice in self.notices],
            "tables": {table.name: table.to_dicts() for table in self.tables if table.data},
        }
