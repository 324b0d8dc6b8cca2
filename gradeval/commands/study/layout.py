"""The output of a study: the tables that people see, one of them as rows, or all as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gradeval.commands.study.tables import Study, Table, Value
from gradeval.errors import visible
from gradeval.render import Digits
from gradeval.render.document import Block, Document, Grid, Line, RenderOptions, Rows
from gradeval.render.numbers import decimals

EXACT = ("at", "threshold", "grade", "grade2", "factor")  # columns of numbers that the user gave


def document(study: Study, how: RenderOptions, *, table: str | None = None) -> Document:
    """table: which one tsv and csv print, by default the first."""

    def blocks() -> Iterator[Block]:
        yield from (_grid(one, how.digits) for one in study.tables if one.shown)
        options = (
            (name.replace("_", " "), value) for name, value in study.options.items() if name != "evaluation"
        )
        about = "; ".join(f"{name} {_listed(value)}" for name, value in options if value != [])
        yield Line(f"{study.name}: {visible(about)}", "dim")

    def rows() -> list[Rows]:
        chosen = study.table(table) if table is not None else next(one for one in study.tables if one.data)
        texts = [_texts(chosen, row, how.digits) for row in chosen.rows]
        is_text = (any(isinstance(row[c], str) for row in chosen.rows) for c in range(len(chosen.columns)))
        names = [name for name, is_name in zip(chosen.columns, is_text, strict=True) if is_name]
        return [Rows.of(chosen.columns, texts, names)]

    return Document(blocks=blocks, rows=rows, content=study.to_dict)


def _listed(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_listed, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _grid(table: Table, digits: Digits) -> Grid:
    shown = [c for c, name in enumerate(table.columns) if name != "seed"]  # which is in the line below
    rows = [[visible(texts[c]) for c in shown] for texts in (_texts(table, row, digits) for row in table.rows)]
    is_text = [all(isinstance(row[c], str) for row in table.rows) for c in shown]
    labels = max(1, next((c for c, text in enumerate(is_text) if not text), len(shown)))
    left = frozenset(c for c, text in enumerate(is_text) if text)
    return Grid(visible(table.title), tuple(visible(table.columns[c]) for c in shown), rows, labels, left)


def _texts(table: Table, row: Sequence[Value], digits: Digits) -> list[str]:
    """The values of a row as text; '' for None."""
    return [
        _text(value, "full" if name in EXACT else digits)
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
