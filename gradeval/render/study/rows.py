"""The rows of one table of a study, as TSV or CSV."""

from __future__ import annotations

import csv as csv_rows
from collections.abc import Callable, Sequence

import numpy as np

from gradeval.analysis.tabled import Table, Value
from gradeval.render import Digits
from gradeval.render.csv import Lines, not_a_formula
from gradeval.render.layout import decimals, one_field

GIVEN = (
    "at",
    "threshold",
    "grade",
    "grade2",
    "factor",
)  # columns of numbers that are not rounded: they are input


def tsv(table: Table, digits: Digits) -> str:
    return "".join("\t".join(map(one_field, row)) + "\n" for row in _rows(table, digits))


def csv(table: Table, digits: Digits, spreadsheet: bool = False) -> str:
    """spreadsheet: a single quote before text that a spreadsheet would read as a formula."""
    lines = Lines()
    escape = not_a_formula if spreadsheet else str
    csv_rows.writer(lines).writerows(_rows(table, digits, escape))
    return "".join(lines)


def _rows(table: Table, digits: Digits, escape: Callable[[str], str] = str) -> list[Sequence[str]]:
    return [table.columns, *(texts(table, row, digits, escape) for row in table.rows)]


def texts(table: Table, row: Sequence[Value], digits: Digits, escape: Callable[[str], str] = str) -> list[str]:
    """The values of a row as text; '' for None. escape: of what is text itself."""
    return [
        escape(value) if isinstance(value, str) else _text(value, "full" if name in GIVEN else digits)
        for name, value in zip(table.columns, row, strict=True)
    ]


def _text(value: Value, digits: Digits) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    [text] = decimals(np.array([value]), False, digits=digits)
    return text.removesuffix(".0") if digits == "full" else text
