"""Tables for Markdown, for LaTeX with the booktabs package, and for notebooks: the best values are bold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from gradeval.render.document import Block, Cell, Grid, Line, Lines, RenderOptions

# an underscore inside a word is only itself, and reads better bare; a bare address would become a link
_MD = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.")
# behind these GitHub reads @name, :emoji:, #12 and GH-12 where nothing separates them; backslashes do not
_REFERENCE = re.compile(r"(?<![^\W_])@(?=\w)|:(?=[\w+-]+:)|#(?=\d)|\bGH-(?=\d)", re.IGNORECASE)
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",  # after the end of a row, LaTeX takes a bare [ or * for an argument
        "*": "{*}",
        "µ": r"$\mu$",
        "φ": r"$\varphi$",
        "τ": r"$\tau$",
        "ρ": r"$\rho$",
        **{char: "\\" + char for char in "{}$&#_%"},
    }
)
_NUMBER = re.compile(r"-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|nan|inf)")
_INTERVAL = re.compile(r"[\[(](\S+), (\S+)[\])]")


def write_md(blocks: Iterable[Block], how: RenderOptions) -> str:
    return "\n".join(map(_md, blocks))


def _md(block: Block) -> str:
    if isinstance(block, Grid):
        return _md_table(block)
    if isinstance(block, Lines):
        return "```\n" + "".join(f"{line}\n" for line in block.lines) + "```\n"
    if isinstance(block, Line):
        text = escape_md(block.text)
        return f"### {text}\n" if block.style == "heading" else f"**{text}**\n"
    return escape_md(block if isinstance(block, str) else " ".join(block.sentences)) + "\n"


def _md_table(grid: Grid) -> str:
    rows = [list(map(escape_md, grid.head)), *(list(map(_md_cell, row)) for row in grid.cells)]
    widths = [max(3, *map(len, texts)) for texts in zip(*rows, strict=True)]
    left = [grid.is_left(c) for c in range(len(widths))]
    rules = ("-" * (width - 1) for width in widths)
    rows.insert(1, [f":{rule}" if is_left else f"{rule}:" for rule, is_left in zip(rules, left, strict=True)])
    title = f"**{escape_md(grid.title)}**\n\n" if grid.title else ""
    for row in rows:
        cells = (
            text.ljust(width) if is_left else text.rjust(width)
            for text, width, is_left in zip(row, widths, left, strict=True)
        )
        title += f"| {' | '.join(cells)} |\n"
    return title


def _md_cell(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.bold else escape_md(cell.text)
    return text + (f"<sup>{cell.mark}</sup>" if cell.has_letters else cell.mark)


def escape_md(text: str) -> str:
    """The text as Markdown shows it as it is; GitHub finds no name, emoji or number of an issue in it."""
    return _REFERENCE.sub(r"\g<0><!-- -->", _MD.sub(r"\\\g<0>", text))


def write_latex(blocks: Iterable[Block], how: RenderOptions) -> str:
    return "\n".join(map(_latex, blocks))


def _latex(block: Block) -> str:
    if isinstance(block, Grid):
        return _tabular(block)
    if isinstance(block, Lines):
        return "\\begin{verbatim}\n" + "".join(f"{line}\n" for line in block.lines) + "\\end{verbatim}\n"
    if isinstance(block, Line):
        return rf"\paragraph{{{escape_latex(block.text)}}}" + "\n"
    text = block if isinstance(block, str) else " ".join(block.sentences)
    return rf"\par{{\footnotesize {escape_latex(text)}}}" + "\n"


def _tabular(grid: Grid) -> str:
    columns = "".join("l" if grid.is_left(c) else "r" for c in range(len(grid.head)))
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    if grid.title:
        title = rf"\multicolumn{{{len(grid.head)}}}{{l}}{{{escape_latex(grid.title)}}} \\"
        lines += [title, r"\midrule"]
    lines += [" & ".join(map(escape_latex, grid.head)) + r" \\", r"\midrule"]
    for row in grid.cells:
        cells = (escape_latex(cell.text) if grid.is_left(c) else _number(cell) for c, cell in enumerate(row))
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _number(cell: Cell) -> str:
    ends = _INTERVAL.fullmatch(cell.text)
    if ends is not None:
        low, high = map(_plain, ends.groups())
        return f"{{{cell.text[0]}}}{low}, {high}{{{cell.text[-1]}}}"
    if cell.text.startswith("<"):
        return f"$<${cell.text[1:]}"
    if cell.text.startswith("+"):
        return "$+$" + cell.text[1:]
    text = rf"\textbf{{{_plain(cell.text)}}}" if cell.bold else _plain(cell.text)
    if cell.mark.startswith(" "):  # a range
        return text + escape_latex(cell.mark).replace("-", "$-$")
    return text + (f"$^{{{cell.mark}}}$" if cell.mark else "")


def _plain(text: str) -> str:
    if not _NUMBER.fullmatch(text):  # words
        return escape_latex(text).replace("-", "{-}")
    return "$-$" + text[1:] if text.startswith("-") else text


def escape_latex(text: str) -> str:
    return text.translate(_LATEX)


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
        return _html_table(block)
    if isinstance(block, Lines):
        return f"<pre>{escape(chr(10).join(block.lines))}</pre>"
    if isinstance(block, Line):
        return f"<p><b>{escape(block.text)}</b></p>" if block.style != "dim" else _paragraph(block.text)
    return _paragraph(block if isinstance(block, str) else " ".join(block.sentences))


def _paragraph(text: str) -> str:
    return f"<p><small>{escape(text)}</small></p>"


def _html_table(grid: Grid) -> str:
    aligned = ["left" if grid.is_left(c) else "right" for c in range(len(grid.head))]

    def row(tag: str, texts: Iterable[str]) -> str:
        cells = (
            f'<{tag} style="text-align:{side}">{text}</{tag}>'
            for side, text in zip(aligned, texts, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    head = row("th", map(escape, grid.head))
    body = "".join(row("td", map(_html_cell, cells)) for cells in grid.cells)
    title = f"<caption>{escape(grid.title)}</caption>" if grid.title else ""
    return f"<table>{title}<thead>{head}</thead><tbody>{body}</tbody></table>"


def _html_cell(cell: Cell) -> str:
    text = f"<b>{escape(cell.text)}</b>" if cell.bold else escape(cell.text)
    return text + (f"<sup>{escape(cell.mark)}</sup>" if cell.has_letters else escape(cell.mark))
