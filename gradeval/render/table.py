"""Human-readable tables: a number is never cut; columns that do not fit the width go to a further table.

rich measures and styles the cells; its own Table would take 0.35 ms per row, and collections have many queries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from textwrap import wrap
from typing import Any

from rich.cells import cell_len
from rich.style import Style

from gradeval.render.document import Block, Cell, Grid, Lines, RenderOptions, StyledLine

GAP = "  "
MIN_WIDTH = 40  # of the values, however long the names of the runs are, but no more than half of the terminal
_OF_RUNS = frozenset(("run", "baseline", "system"))  # heads of columns that hold names of runs
_LEAST_NAMES, _LEAST_VALUES = 32, 20  # characters of names that are shortened, and of the values beside them
_PARAGRAPH = 100  # the most characters of a line of sentences

BOLD, DIM = Style(bold=True), Style(dim=True)


def write_table(blocks: Iterable[Block], options: RenderOptions) -> str:
    parts: list[str] = []
    for block in blocks:
        if isinstance(block, Grid):
            parts += draw(block, options.colour, options.width)
        elif isinstance(block, Lines):
            parts.append("".join(f"{line}\n" for line in block.lines))
        elif isinstance(block, StyledLine):
            parts.append(
                _line(block.text, DIM if block.style == "dim" else BOLD, options.colour, options.width)
            )
        else:
            width = max(min(options.width or _PARAGRAPH, _PARAGRAPH), MIN_WIDTH)
            sentences = [block] if isinstance(block, str) else block.sentences
            parts.append("".join(f"{line}\n" for text in sentences for line in wrapped(text, width)))
    return "\n".join(parts)


def wrapped(text: str, width: int | None) -> list[str]:
    lines = [text] if width is None else wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return lines or [""]


def _line(text: str, style: Style, colour: bool, width: int | None) -> str:
    return "".join(styled(line, style, colour) + "\n" for line in wrapped(text, width))


def draw(grid: Grid, colour: bool, width: int | None) -> Iterator[str]:
    """The tables that a grid takes: columns that do not fit the width go to a further table."""
    # a mark stands behind its number, and numbers stay below each other; a head is above a number, or a range
    if width is not None:
        grid = _with_short_names(grid, width)
    widths, marks, of_head = [], [], []
    for head, *column in zip(grid.head, *grid.rows, strict=True):
        behind = [cell.mark for cell in column if isinstance(cell, Cell)]
        marks.append(max(map(text_width, behind), default=0))
        of_head.append(0 if any(mark.startswith(" ") for mark in behind) else marks[-1])
        texts = (text_width(cell if isinstance(cell, str) else cell.text) for cell in column)
        widths.append(max(text_width(head) + of_head[-1], max(texts, default=0) + marks[-1]))
    title = _line(grid.title, BOLD, colour, width) if grid.title else ""
    for part in parts(widths, width, grid.labels, grid.joined):
        lines = []
        for row, mark_widths in ((grid.head, of_head), *((row, marks) for row in grid.rows)):
            cells = (_placed(row[c], widths[c], mark_widths[c], colour, is_left=grid.is_left(c)) for c in part)
            lines.append(GAP.join(cells).rstrip())
        rule = "─" * (sum(widths[c] + len(GAP) for c in part) - len(GAP))
        lines.insert(1, styled(rule, DIM, colour))
        yield title + "\n".join(lines) + "\n"
        title = ""


def _with_short_names(grid: Grid, width: int) -> Grid:
    """Names of runs for which there is no room lose their middle, where they stay different, so that values fit
    beside them. Nothing else is shortened.
    """
    if grid.runs_in_head:
        grid = grid.replace(head=tuple(_shortened(grid.head, max(width * 2 // 5, _LEAST_NAMES))))
    of_runs = [c for c, head in enumerate(grid.head) if head in _OF_RUNS and grid.is_left(c)]
    if not of_runs or not grid.rows:
        return grid
    size = _size_of_names(grid, of_runs, width)
    short = iter(_shortened([row[c] for row in grid.rows for c in of_runs], size))
    rows = [[next(short) if c in of_runs else cell for c, cell in enumerate(row)] for row in grid.rows]
    return grid.replace(rows=rows)


def _size_of_names(grid: Grid, of_runs: Sequence[int], width: int) -> int:
    """The most characters of a name in these columns: as they are where the values have room beside them."""
    widths = [max(text_width(cell.text) for cell in column) for column in zip(*grid.cells, strict=True)]
    names = [widths[c] for c in of_runs if c < grid.labels] or [max(widths[c] for c in of_runs)]
    labels = [widths[c] for c in range(grid.labels) if c not in of_runs]
    values = [widths[c] for c in range(grid.labels, len(widths)) if c not in of_runs]
    room = width - sum(labels) - len(GAP) * (len(labels) + len(names))
    if sum(names) <= room - max(values, default=_LEAST_VALUES):
        return max(widths)
    shared = max(room - width // 2, _LEAST_NAMES)  # by the names of a row
    return next(size for size in range(shared, 0, -1) if sum(min(name, size) for name in names) <= shared)


def _shortened(names: Sequence[Any], size: int) -> Sequence[Any]:
    """Texts of more characters without their middle; all as they are where two become equal."""
    short = [
        f"{name[: size // 2]}…{name[size // 2 - size + 1 :]}"
        if isinstance(name, str) and len(name) > size
        else name
        for name in names
    ]
    return names if len(set(short)) < len(set(names)) else short


def _placed(cell: Cell | str, width: int, mark_width: int, colour: bool, *, is_left: bool) -> str:
    """The text of a cell in its column: on the left, or before the room for the marks."""
    text, mark = (cell, "") if isinstance(cell, str) else (cell.text, cell.mark)
    space = " " * (width - mark_width - text_width(text))
    if colour and isinstance(cell, Cell) and cell.bold:
        text = BOLD.render(text)
    if is_left:
        return text + space
    return space + text + mark + " " * (mark_width - text_width(mark))


def parts(
    widths: list[int], width: int | None, labels: int = 1, joined: Set[int] = frozenset()
) -> list[list[int]]:
    """The columns of each table: the labels, and as many values as fit. labels: how many columns are labels.
    joined: as in Grid.
    """
    tables = [list(range(labels))]
    columns = width or 0
    room = columns - sum(widths[c] + len(GAP) for c in range(labels)) + len(GAP)
    if max(widths[labels:], default=0) + len(GAP) > room:  # some table is wider however few columns it has
        room = max(room, min(MIN_WIDTH, columns // 2))
    room_left = room
    for c in range(labels, len(widths)):
        needed = widths[c] + len(GAP)
        with_next = needed + (widths[c + 1] + len(GAP) if c + 1 in joined else 0)
        is_full = width is not None and with_next > room_left and c not in joined
        if is_full and len(tables[-1]) > labels:
            tables.append(list(range(labels)))
            room_left = room
        tables[-1].append(c)
        room_left -= needed
    return tables


def styled(text: str, style: Style, colour: bool) -> str:
    return style.render(text) if colour else text


def text_width(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


# --- pages in Markdown

_LINK = r"\[([^\]]+)\]\(([\w-]+)\.md(?:#[\w-]*)?\)"  # to another page
_BLOCK = r"(?m)^```\w+$"  # whose colours would be those of a language, not of a terminal
_PAGE_WIDTH = 102  # the most characters of a line; examples have 100
_STYLES = {
    "h1": "bold",
    "h2": "bold cyan",
    "h3": "bold",
    "code": "cyan",
    "table.border": "dim",
    "item.bullet": "",
}


def page(text: str, colour: bool, width: int) -> str:
    """A page of the guide for a terminal; its links to other pages become the commands that show them."""
    from rich.console import Console
    from rich.markdown import Markdown  # which takes longer to import than a table to draw
    from rich.theme import Theme

    text = re.sub(_BLOCK, "```text", re.sub(_LINK, r"\1 (`gradeval guide \2`)", text))
    console = Console(
        width=min(width, _PAGE_WIDTH),
        color_system="standard" if colour else None,
        force_terminal=colour,
        theme=Theme({f"markdown.{name}": style for name, style in _STYLES.items()}),
    )
    with console.capture() as capture:
        console.print(Markdown(text, code_theme="ansi_dark", hyperlinks=False))
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())
