"""Whether the columns that a user names are there: in one table at least."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from gradeval.errors import GradevalError, OptionError, first_names, named
from gradeval.formats.columns import Table
from gradeval.formats.detect import ROLES, format_of, kind_of, reader
from gradeval.formats.sources import Source
from gradeval.options import Options
from gradeval.tables.load import Given, RunTable, is_path, source_of

_SHOWN = 20  # columns that an error names


def check_columns(given: Iterable[Any], options: Options) -> None:
    """Raise OptionError for a query or document column that no table has, which is a typo.

    given: qrels and runs. One table may lack the column, since qrels and runs may differ and
    usual names are understood; data that cannot be examined twice, such as pipes, may have it.
    """
    names = ((source_of(data).name if is_path(data) else "the table", _names(data, options)) for data in given)
    check_names(names, options)


def check_names(tables: Iterable[tuple[str, Sequence[str] | None]], options: Options) -> None:
    """Raise OptionError for a query or document column that no table has.

    tables: the path of each, and the names of its columns: none where they have no names, None where they are
    not known.
    """
    missing = {role: name for role, name in options.columns if role in ("query", "document")}
    if not missing:
        return
    first: tuple[str, Sequence[str]] | None = None
    for path, names in tables:
        if names is None:
            return
        missing = {role: name for role, name in missing.items() if name not in names}
        if names and first is None:
            first = path, names
    if missing and first is not None:
        role, name = next(iter(missing.items()))
        path, names = first
        has = first_names(map(named, names), _SHOWN)
        raise OptionError(f"columns: {role}={name} is no column of any table; {path} has {has}")


def _names(data: Any, options: Options) -> tuple[str, ...] | None:
    """The names of the columns of a table, none where they have no names, None where they are not known."""
    if isinstance(data, (Given, RunTable)):
        return None
    if not is_path(data):
        names: Any = getattr(data, "column_names", None) or getattr(data, "columns", ())
        return tuple(map(str, names)) if not callable(names) else ()
    if not isinstance(data, Source) and not os.path.isfile(data):
        return None
    for number in ROLES.values():
        with suppress(GradevalError):  # which reading the data will report
            source = source_of(data)
            kind = kind_of(source, number, options)
            if kind == "letor" or format_of(kind).of_letor:
                return ()
            table: Table = reader(kind)(source, number, options)
            return table.names
    return None
