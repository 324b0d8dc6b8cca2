"""Tables for GitHub's Markdown, the best value of each column bold."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gradeval.render.document import Block, Cell, Grid, Line, Lines, RenderOptions

# an underscore inside a word is only itself, and reads better bare; a bare address would become a link
_SPECIAL = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.")
# behind these GitHub reads @name, :emoji:, #12 and GH-12 where nothing separates them; backslashes do not
_REFERENCE = re.compile(r"(?<![^\W_])@(?=\w)|:(?=[\w+-]+:)|#(?=\d)|\bGH-(?=\d)", re.IGNORECASE)


def write_md(blocks: Iterable[Block], how: RenderOptions) -> str:
    return "\n".join(map(_written, blocks))


def _written(block: Block) -> str:
    if isinstance(block, Grid):
        return _table(block)
    if isinstance(block, Lines):
        return "```\n" + "".join(f"{line}\n" for line in block.lines) + "```\n"
    if isinstance(block, Line):
        return f"### {escape(block.text)}\n" if block.style == "heading" else f"**{escape(block.text)}**\n"
    return escape(block if isinstance(block, str) else " ".join(block.sentences)) + "\n"


def _table(grid: Grid) -> str:
    rows = [tuple(map(_cell, row)) for row in grid.cells]
    head = tuple(map(escape, grid.head))
    widths = [max(3, *map(len, texts)) for texts in zip(head, *rows, strict=True)]
    rule = tuple(
        ":" + "-" * (width - 1) if grid.is_left(c) else "-" * (width - 1) + ":"
        for c, width in enumerate(widths)
    )
    lines = (_line(row, widths, grid) for row in (head, rule, *rows))
    title = f"**{escape(grid.title)}**\n\n" if grid.title else ""
    return title + "".join(lines)


def _line(row: tuple[str, ...], widths: list[int], grid: Grid) -> str:
    cells = (
        text.ljust(width) if grid.is_left(c) else text.rjust(width)
        for c, (text, width) in enumerate(zip(row, widths, strict=True))
    )
    return f"| {' | '.join(cells)} |\n"


def _cell(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.bold else escape(cell.text)
    is_letters = cell.mark and cell.mark.replace(",", "").isalpha()
    return text + (f"<sup>{cell.mark}</sup>" if is_letters else cell.mark)


def escape(text: str) -> str:
    """The text as Markdown shows it as it is; GitHub finds no name, emoji or number of an issue in it."""
    return _REFERENCE.sub(r"\g<0><!-- -->", _SPECIAL.sub(r"\\\g<0>", text))
