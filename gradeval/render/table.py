"""Human-readable tables: a number is never cut; columns that do not fit the width go to a further table.

rich measures and styles the cells; its own Table would take 0.35 ms per row, and collections have many queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill

from rich.cells import cell_len
from rich.style import Style

from gradeval.render.document import Block, Cell, Grid, Line, Lines, RenderOptions

GAP = "  "
MIN_WIDTH = 40  # of the values, however long the names of the runs are, but no more than half of the terminal
_PARAGRAPH = 100  # the most characters of a line of sentences

BOLD, DIM = Style(bold=True), Style(dim=True)
# of the lines of a picture: no two neighbours are red and green
COLOURS = tuple(Style(color=name) for name in ("cyan", "yellow", "magenta", "blue", "green", "red"))


def write_table(blocks: Iterable[Block], how: RenderOptions) -> str:
    return "\n".join(text for block in blocks for text in _written(block, how))


def _written(block: Block, how: RenderOptions) -> Iterator[str]:
    if isinstance(block, Grid):
        yield from draw(block, how.colour, how.width)
    elif isinstance(block, Lines):
        yield "".join(f"{line}\n" for line in block.lines)
    elif isinstance(block, Line):
        style = DIM if block.style == "dim" else BOLD
        yield "".join(styled(line, style, how.colour) + "\n" for line in wrapped(block.text, how.width))
    else:
        width = max(min(how.width or _PARAGRAPH, _PARAGRAPH), MIN_WIDTH)
        yield "".join(
            fill(sentence, width, break_long_words=False, break_on_hyphens=False) + "\n"
            for sentence in ([block] if isinstance(block, str) else block.sentences)
        )


def draw(grid: Grid, colour: bool, width: int | None) -> Iterator[str]:
    """The tables that a grid takes: columns that do not fit the width go to a further table."""
    rows = _with_ranges(grid)
    columns = list(zip(grid.head, *rows, strict=True))
    # a mark stands behind its number, and numbers stay below each other
    marks = [
        max((text_width(cell.mark) for cell in column if isinstance(cell, Cell)), default=0)
        for column in columns
    ]
    widths = [
        max(text_width(cell if isinstance(cell, str) else cell.text) for cell in column) for column in columns
    ]
    widths = [width + mark for width, mark in zip(widths, marks, strict=True)]
    title = heading(grid.title, colour, width) if grid.title else ""
    for part in parts(widths, width, grid.labels):
        lines = [
            GAP.join(_cell(row[c], widths[c], marks[c], grid.is_left(c), colour) for c in part).rstrip()
            for row in (grid.head, *rows)
        ]
        rule = "─" * (sum(widths[c] + len(GAP) for c in part) - len(GAP))
        lines.insert(1, styled(rule, DIM, colour))
        yield title + "\n".join(lines) + "\n"
        title = ""


def _with_ranges(grid: Grid) -> Sequence[Sequence[str | Cell]]:
    """The rows with ranges as part of the texts, padded, so that the values stay below each other."""
    room: dict[int, int] = {}
    for row in grid.rows:
        for c, cell in enumerate(row):
            if isinstance(cell, Cell) and cell.mark.startswith(" "):
                room[c] = max(room.get(c, 0), len(cell.mark))
    if not room:
        return grid.rows
    return [
        [
            Cell(cell.text + cell.mark.ljust(room[c]), bold=cell.bold) if c in room else cell
            for c, cell in enumerate(row)
        ]
        for row in grid.cells
    ]


def _cell(cell: str | Cell, width: int, marks: int, is_label: bool, colour: bool) -> str:
    if isinstance(cell, str):
        if not marks:
            space = " " * (width - text_width(cell))
            return cell + space if is_label else space + cell
        cell = Cell(cell)
    text = styled(cell.text, BOLD, colour and cell.bold)
    space = " " * (width - marks - text_width(cell.text))
    if is_label:
        return text + space
    return space + text + cell.mark + " " * (marks - text_width(cell.mark))


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
