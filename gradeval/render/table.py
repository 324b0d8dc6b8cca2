"""Human-readable tables, with metrics as columns and the best value of each column in bold.

Values are never truncated. Where the metrics do not fit the width, long names of runs are shortened in the
middle, or the table is turned, with metrics as rows, or metrics go to a further table. rich measures and styles
the cells; its own Table would take 0.35 ms per row, and collections have many queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.style import Style

from gradeval.render.grids import Cell, Grid
from gradeval.render.layout import RenderOptions, Row, Sheet, sheets
from gradeval.results import Results

GAP = "  "
MIN_WIDTH = 40  # of the values, however long the names of the runs are, but no more than half of the terminal
MIN_NAME = 16  # of the name of a run, however many metrics there are
MIN_HEAD = 8  # the same for a name above a column

BOLD, DIM = Style(bold=True), Style(dim=True)
# of the lines of a picture: no two neighbours are red and green
COLOURS = tuple(Style(color=name) for name in ("cyan", "yellow", "magenta", "blue", "green", "red"))


def render(results: Results, options: RenderOptions) -> str:
    return "\n".join(table for sheet in sheets(results, options) for table in _draw(sheet, options))


def _draw(sheet: Sheet, options: RenderOptions) -> Iterator[str]:
    """The tables that a sheet takes."""
    sheet = sheet if options.width is None else _fitted(sheet, options.width)
    rows, widths = _measured(sheet)
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


def _measured(sheet: Sheet) -> tuple[list[Row], list[int]]:
    """All rows with their ranges, and the width of each column."""
    rows = [sheet.head, *_with_ranges(sheet)]
    return rows, [max(map(text_width, texts)) for texts in zip(*rows, strict=True)]


def _fitted(sheet: Sheet, width: int) -> Sheet:
    """The sheet with the names of its runs shortened, or turned, so that it fits the width if it can."""
    if sheet.runs == "rows" and len(sheet.head) > 1 and sheet.rows:
        _, widths = _measured(sheet)
        room = width - sum(of + len(GAP) for of in widths[1:])
        short = _with_labels(sheet, max(room, MIN_NAME))
        if _fits(short, width):
            return short
        turned = _with_heads(sheet.turned, width)
        if _fits(turned, width):
            return turned
        short = _with_labels(sheet, max(width // 3, MIN_NAME))
        return min(short, turned, key=lambda one: max(_needed(one, width), width))
    return _with_heads(sheet, width) if sheet.runs == "columns" else sheet


def _fits(sheet: Sheet, width: int) -> bool:
    _, widths = _measured(sheet)
    return sum(widths) + len(GAP) * (len(widths) - 1) <= width


def _needed(sheet: Sheet, width: int) -> int:
    """How wide the tables are that a sheet takes."""
    _, widths = _measured(sheet)
    return max(sum(widths[c] + len(GAP) for c in columns) for columns in parts(widths, width)) - len(GAP)


def _with_labels(sheet: Sheet, room: int) -> Sheet:
    """The sheet with its labels no wider than this, if they stay different."""
    names = shortened([row[0] for row in sheet.rows], room)
    return sheet._replace(rows=[(name, *row[1:]) for name, row in zip(names, sheet.rows, strict=True)])


def _with_heads(sheet: Sheet, width: int) -> Sheet:
    """The sheet with shorter names of columns, if it does not fit the width."""
    if _fits(sheet, width) or len(sheet.head) < 2:
        return sheet
    _, (label, *_) = _measured(sheet)
    _, values = _measured(sheet._replace(head=(sheet.head[0], *[""] * (len(sheet.head) - 1))))
    room = (width - label) // (len(sheet.head) - 1) - len(GAP)
    return sheet._replace(head=(sheet.head[0], *shortened(sheet.head[1:], max(room, MIN_HEAD, *values[1:]))))


def shortened(names: Sequence[str], room: int) -> list[str]:
    """The names, no wider than this where they stay different: each with its middle replaced by '…'."""
    widest = max(map(text_width, names), default=0)
    while room < widest:
        short = [_without_middle(name, room) for name in names]
        if len(set(short)) == len(set(names)):
            return short
        room += 1
    return list(names)


def _without_middle(name: str, room: int) -> str:
    kept = room - 1
    short = name
    while text_width(short) > room:
        end = kept // 2
        short = f"{name[: kept - end]}…{name[len(name) - end :]}"
        kept -= 1
    return short


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
    columns = width or 0
    room = columns - sum(widths[c] + len(GAP) for c in names) + len(GAP)
    if max(widths[labels:], default=0) + len(GAP) > room:  # some table is wider however few columns it has
        room = max(room, min(MIN_WIDTH, columns // 2))
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


def wrapped(text: str, width: int | None) -> list[str]:
    """The text in lines of this width, where its words are no longer."""
    if width is None:
        return [text]
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and text_width(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def heading(title: str, colour: bool, width: int | None) -> str:
    """A title, in as many lines as it takes."""
    return "".join(styled(line, BOLD, colour) + "\n" for line in wrapped(title, width))


def draw(grid: Grid, colour: bool, width: int | None) -> Iterator[str]:
    """The tables that a grid takes: columns that do not fit the width go to a further table."""
    rows = [tuple(map(Cell, grid.head)), *grid.rows]
    columns = range(len(grid.head))
    # a mark stands behind its number, and numbers stay below each other
    marks = [max(text_width(row[c].mark) for row in rows) for c in columns]
    widths = [max(text_width(row[c].text) for row in rows) + marks[c] for c in columns]
    title = heading(grid.title, colour, width) if grid.title else ""
    for part in parts(widths, width, grid.labels):
        lines = [
            GAP.join(_cell(row[c], widths[c], marks[c], grid.is_left(c), colour) for c in part).rstrip()
            for row in rows
        ]
        rule = "─" * (sum(widths[c] + len(GAP) for c in part) - len(GAP))
        lines.insert(1, styled(rule, DIM, colour))
        yield title + "\n".join(lines) + "\n"
        title = ""


def _cell(cell: Cell, width: int, marks: int, is_label: bool, colour: bool) -> str:
    text = styled(cell.text, BOLD, colour and cell.bold)
    space = " " * (width - marks - text_width(cell.text))
    if is_label:
        return text + space
    return space + text + cell.mark + " " * (marks - text_width(cell.mark))
