"""Human-readable tables, with metrics as columns and the best value of each column in bold.

Values are never truncated: metrics that do not fit the width go to a further table. rich measures and styles
the cells; its own Table would take 0.35 ms per row, and collections have many queries.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.style import Style

from gradeval.render.layout import RenderOptions, Row, Sheet, sheets
from gradeval.results import Results

GAP = "  "
MIN_WIDTH = 40  # of the values, however long the names of the runs are

BOLD, DIM = Style(bold=True), Style(dim=True)


def render(results: Results, options: RenderOptions) -> str:
    return "\n".join(table for sheet in sheets(results, options) for table in _draw(sheet, options))


def _draw(sheet: Sheet, options: RenderOptions) -> Iterator[str]:
    """The tables that a sheet takes."""
    rows = [sheet.head, *_with_ranges(sheet)]
    widths = [max(map(text_width, texts)) for texts in zip(*rows, strict=True)]
    title = styled(sheet.title, BOLD, options.colour) + "\n" if sheet.title else ""
    for columns in parts(widths, options.width):
        lines = [_line(row, columns, widths) for row in rows]
        for r in {r for r, _ in sheet.best}:
            bold = [c for c in columns if (r, c) in sheet.best]
            lines[r + 1] = _line(rows[r + 1], columns, widths, bold if options.colour else ())
        rule = "─" * (sum(widths[c] + len(GAP) for c in columns) - len(GAP))
        lines.insert(1, styled(rule, DIM, options.colour))
        if sheet.ranges:  # values without a range are padded
            lines = [line.rstrip() for line in lines]
        yield title + "\n".join(lines) + "\n"
        title = ""


def _with_ranges(sheet: Sheet) -> list[Row]:
    """The rows with the ranges after the values, and the values aligned."""
    room: dict[int, int] = {}
    for (_, c), text in sheet.ranges.items():
        room[c] = max(room.get(c, 0), len(text) + 1)
    if not room:
        return sheet.rows
    return [
        (row[0], *(text + sheet.range(r, c).ljust(room.get(c, 0)) for c, text in enumerate(row[1:], 1)))
        for r, row in enumerate(sheet.rows)
    ]


def parts(widths: list[int], width: int | None, labels: int = 1) -> list[list[int]]:
    """The columns of each table: the labels, and as many values as fit. labels: how many columns are labels."""
    names = list(range(labels))
    found = [names[:]]
    room = max((width or 0) - sum(widths[c] + len(GAP) for c in names) + len(GAP), MIN_WIDTH)
    left = room
    for c in range(labels, len(widths)):
        needed = widths[c] + len(GAP)
        if width is not None and needed > left and len(found[-1]) > labels:
            found.append(names[:])
            left = room
        found[-1].append(c)
        left -= needed
    return found


def _line(row: Row, columns: list[int], widths: list[int], bold: list[int] | tuple[()] = ()) -> str:
    cells = [row[0] + " " * (widths[0] - text_width(row[0]))]
    for c in columns[1:]:
        cells.append(" " * (widths[c] - text_width(row[c])) + styled(row[c], BOLD, c in bold))
    return GAP.join(cells)


def styled(text: str, style: Style, colour: bool) -> str:
    return style.render(text) if colour else text


def text_width(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)
