"""Tables as HTML, for notebooks: Printable shows them where a cell ends in a result."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from gradeval.render.document import Block, Cell, Grid, Line, Lines


def write_html(blocks: Iterable[Block], caveats: Iterable[str] = ()) -> str:
    """The parts of a document. caveats: lines below them."""
    below = "".join(f"<div><small>{escape(text)}</small></div>" for text in caveats)
    return f"<div>{''.join(map(_html, blocks))}{below}</div>"


def page(text: str) -> str:
    """A whole page within another, whose styles and scripts stay apart."""
    style = "width:100%;height:720px;border:0"
    return f'<iframe srcdoc="{escape(text)}" style="{style}" sandbox="allow-scripts"></iframe>'


def _html(block: Block) -> str:
    if isinstance(block, Grid):
        return _table(block)
    if isinstance(block, Lines):
        return f"<pre>{escape(chr(10).join(block.lines))}</pre>"
    if isinstance(block, Line):
        return f"<p><b>{escape(block.text)}</b></p>" if block.style != "dim" else _paragraph(block.text)
    return _paragraph(block if isinstance(block, str) else " ".join(block.sentences))


def _paragraph(text: str) -> str:
    return f"<p><small>{escape(text)}</small></p>"


def _table(grid: Grid) -> str:
    aligned = ["left" if grid.is_left(c) else "right" for c in range(len(grid.head))]

    def row(tag: str, texts: Iterable[str]) -> str:
        cells = (
            f'<{tag} style="text-align:{side}">{text}</{tag}>'
            for side, text in zip(aligned, texts, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    head = row("th", map(escape, grid.head))
    body = "".join(row("td", map(_cell, cells)) for cells in grid.cells)
    title = f"<caption>{escape(grid.title)}</caption>" if grid.title else ""
    return f"<table>{title}<thead>{head}</thead><tbody>{body}</tbody></table>"


def _cell(cell: Cell) -> str:
    text = f"<b>{escape(cell.text)}</b>" if cell.bold else escape(cell.text)
    is_letters = cell.mark and cell.mark.replace(",", "").isalpha()
    return text + (f"<sup>{escape(cell.mark)}</sup>" if is_letters else escape(cell.mark))
