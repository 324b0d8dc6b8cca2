"""Rows for programs: TSV with escapes for tabs and line ends, CSV with quotes, trec_eval's columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from gradeval.render.document import RenderOptions, Rows, Text, interleaved

_SPECIAL = re.compile(r'[,"\r\n]')
_FORMULA = tuple("=+-@＝＋－＠\t\r\n")  # text that begins so is a formula in spreadsheets
_BREAKS = str.maketrans({"\t": r"\t", "\n": r"\n", "\r": r"\r"})


def write_tsv(tables: Iterable[Rows], how: RenderOptions) -> str:
    """A line for each row; an empty line between tables."""
    return "\n".join(_lines(table, "\t", one_field) for table in tables)


def write_trec(tables: Iterable[Rows], how: RenderOptions) -> str:
    """trec_eval's columns, which have no head: for each run its queries, then the summary."""
    return "".join(_lines(table, "\t", str, one_field) for table in tables)


def write_csv(tables: Iterable[Rows], how: RenderOptions) -> str:
    """A line for each row; an empty line between tables."""
    return "\n".join(
        _lines(table, ",", _quoted, not_a_formula if how.spreadsheet else None) for table in tables
    )


def _lines(
    table: Rows, separator: str, field: Callable[[str], str], name: Callable[[str], str] | None = None
) -> str:
    """The head, if there is one, and the rows. field: writes a text; name: what is done to names before."""

    def written(column: Text, is_name: bool) -> Text:
        if is_name and name is not None:
            column = name(column) if isinstance(column, str) else list(map(name, column))
        if isinstance(column, str):
            return field(column)
        together = "".join(column)
        return column if field(together) == together else list(map(field, column))

    text = [separator.join(map(field, map(name or str, table.head))) + "\n"] if table.head else []
    for part in table.parts:
        rows = [[written(column, c in table.names) for c, column in enumerate(row)] for row in part]
        starts = ["", *[separator] * (max(map(len, rows), default=1) - 1)]
        text.append(interleaved(rows, starts, "\n"))
    return "".join(text)


def one_field(text: str) -> str:
    """A name with escapes for tabs and line ends, which would end its field or line."""
    return text.translate(_BREAKS)


def _quoted(text: str) -> str:
    """The text as a field, in quotes where it needs them."""
    return '"' + text.replace('"', '""') + '"' if _SPECIAL.search(text) else text


def not_a_formula(text: str) -> str:
    """The text, after a single quote if a spreadsheet would read it as a formula."""
    return "'" + text if text.startswith(_FORMULA) else text
