"""Tables for GitHub's Markdown, the best value of each column bold."""

from __future__ import annotations

import re

from gradeval.render.grids import Cell, Grid
from gradeval.render.layout import RenderOptions, Row, Sheet, sheets
from gradeval.results import Results

# an underscore inside a word is only itself, and reads better bare; a bare address would become a link
_SPECIAL = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.")
# behind these GitHub reads @name, :emoji:, #12 and GH-12 where nothing separates them; backslashes do not
_REFERENCE = re.compile(r"(?<![^\W_])@(?=\w)|:(?=[\w+-]+:)|#(?=\d)|\bGH-(?=\d)", re.IGNORECASE)


def render(results: Results, options: RenderOptions) -> str:
    return "\n".join(_draw(sheet) for sheet in sheets(results, options))


def _draw(sheet: Sheet) -> str:
    title = f"**{escape(sheet.title)}**\n\n" if sheet.title else ""
    head = tuple(map(escape, sheet.head))
    rows = [
        (
            escape(label),
            *(
                (f"**{text}**" if (r, c) in sheet.best else escape(text)) + sheet.range(r, c)
                for c, text in enumerate(texts, 1)
            ),
        )
        for r, (label, *texts) in enumerate(sheet.rows)
    ]
    widths = [max(3, *map(len, texts)) for texts in zip(head, *rows, strict=True)]
    rule = (":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:]))
    return title + "".join(_line(row, widths) for row in (head, rule, *rows))


def _line(row: Row, widths: list[int]) -> str:
    values = map(str.rjust, row[1:], widths[1:])
    return f"| {' | '.join((row[0].ljust(widths[0]), *values))} |\n"


def escape(text: str) -> str:
    """The text as Markdown shows it as it is; GitHub finds no name, emoji or number of an issue in it."""
    return _REFERENCE.sub(r"\g<0><!-- -->", _SPECIAL.sub(r"\\\g<0>", text))


def draw(grid: Grid) -> str:
    rows = [tuple(map(_cell, row)) for row in grid.rows]
    head = tuple(map(escape, grid.head))
    widths = [max(3, *map(len, texts)) for texts in zip(head, *rows, strict=True)]
    rule = tuple(
        ":" + "-" * (width - 1) if grid.is_left(c) else "-" * (width - 1) + ":"
        for c, width in enumerate(widths)
    )
    lines = (_grid_line(row, widths, grid) for row in (head, rule, *rows))
    title = f"**{escape(grid.title)}**\n\n" if grid.title else ""
    return title + "".join(lines)


def _grid_line(row: tuple[str, ...], widths: list[int], grid: Grid) -> str:
    cells = (
        text.ljust(width) if grid.is_left(c) else text.rjust(width)
        for c, (text, width) in enumerate(zip(row, widths, strict=True))
    )
    return f"| {' | '.join(cells)} |\n"


def _cell(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.bold else escape(cell.text)
    is_letters = cell.mark and cell.mark.replace(",", "").isalpha()
    return text + (f"<sup>{cell.mark}</sup>" if is_letters else cell.mark)
