"""Tables for Markdown, for LaTeX with the booktabs package, and for notebooks: the best values are bold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from gradeval.render.document import Block, Cell, Grid, Lines, RenderOptions, StyledLine

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
        "λ": r"$\lambda$",
        "τ": r"$\tau$",
        "ρ": r"$\rho$",
        **{char: "\\" + char for char in "{}$&#_%"},
    }
)
_NUMBER = re.compile(r"-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|nan|inf)")
_INTERVAL = re.compile(r"[\[(](\S+), (\S+)[\])]")


def write_md(blocks: Iterable[Block], options: RenderOptions) -> str:
    parts = []
    for block in blocks:
        if isinstance(block, Grid):
            text = _md_table(block)
        elif isinstance(block, Lines):
            text = "```\n" + "".join(f"{line}\n" for line in block.lines) + "```\n"
        elif isinstance(block, StyledLine):
            text = escape_md(block.text)
            text = f"### {text}\n" if block.style == "heading" else f"**{text}**\n"
        else:
            text = escape_md(block if isinstance(block, str) else " ".join(block.sentences)) + "\n"
        parts.append(text)
    return "\n".join(parts)


def _md_table(grid: Grid) -> str:
    rows = [list(map(escape_md, grid.head)), *(list(map(_md_cell, row)) for row in grid.cells)]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    is_left = [grid.is_left(c) for c in range(len(widths))]
    rules = ("-" * (width - 1) for width in widths)
    rows.insert(1, [f":{rule}" if is_left[c] else f"{rule}:" for c, rule in enumerate(rules)])
    text = f"**{escape_md(grid.title)}**\n\n" if grid.title else ""
    for row in rows:
        cells = (cell.ljust(widths[c]) if is_left[c] else cell.rjust(widths[c]) for c, cell in enumerate(row))
        text += f"| {' | '.join(cells)} |\n"
    return text


def _md_cell(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.bold else escape_md(cell.text)
    return text + (f"<sup>{cell.mark}</sup>" if cell.has_letters else cell.mark)


def escape_md(text: str) -> str:
    """The text as Markdown shows it as it is; GitHub finds no name, emoji or number of an issue in it."""
    return _REFERENCE.sub(r"\g<0><!-- -->", _MD.sub(r"\\\g<0>", text))


def write_latex(blocks: Iterable[Block], options: RenderOptions) -> str:
    parts = []
    for block in blocks:
        if isinstance(block, Grid):
            lines = _latex_table(block)
        elif isinstance(block, Lines):
            lines = [r"\begin{verbatim}", *block.lines, r"\end{verbatim}"]
        elif isinstance(block, StyledLine):
            lines = [rf"\paragraph{{{escape_latex(block.text)}}}"]
        else:
            text = block if isinstance(block, str) else " ".join(block.sentences)
            lines = [rf"\par{{\footnotesize {escape_latex(text)}}}"]
        parts.append("".join(f"{line}\n" for line in lines))
    return "\n".join(parts)


def _latex_table(grid: Grid) -> list[str]:
    alignment = "".join("l" if grid.is_left(c) else "r" for c in range(len(grid.head)))
    lines = [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule"]
    if grid.title:
        title = rf"\multicolumn{{{len(alignment)}}}{{l}}{{{escape_latex(grid.title)}}} \\"
        lines += [title, r"\midrule"]
    lines += [" & ".join(map(escape_latex, grid.head)) + r" \\", r"\midrule"]
    for row in grid.cells:
        cells = (escape_latex(cell.text) if grid.is_left(c) else _number(cell) for c, cell in enumerate(row))
        lines.append(" & ".join(cells) + r" \\")
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _number(cell: Cell) -> str:
    interval = _INTERVAL.fullmatch(cell.text)
    if interval is not None:
        low, high = map(_plain, interval.groups())
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


def page(text: str) -> str:
    """A whole page within another, whose styles and scripts stay apart."""
    style = "width:100%;height:720px;border:0"
    return f'<iframe srcdoc="{escape(text)}" style="{style}" sandbox="allow-scripts"></iframe>'


def write_html(blocks: Iterable[Block], caveats: Iterable[str] = ()) -> str:
    """The parts of a document. caveats: lines below them."""
    parts = []
    for block in blocks:
        if isinstance(block, Grid):
            parts.append(_html_table(block))
        elif isinstance(block, Lines):
            parts.append(f"<pre>{escape(chr(10).join(block.lines))}</pre>")
        elif isinstance(block, StyledLine) and block.style != "dim":
            parts.append(f"<p><b>{escape(block.text)}</b></p>")
        else:
            text = block.text if isinstance(block, StyledLine) else block
            text = text if isinstance(text, str) else " ".join(text.sentences)
            parts.append(f"<p><small>{escape(text)}</small></p>")
    parts += [f"<div><small>{escape(text)}</small></div>" for text in caveats]
    return f"<div>{''.join(parts)}</div>"


def _html_table(grid: Grid) -> str:
    sides = ["left" if grid.is_left(c) else "right" for c in range(len(grid.head))]

    def row(tag: str, texts: Iterable[str]) -> str:
        pairs = zip(sides, texts, strict=True)
        cells = (f'<{tag} style="text-align:{side}">{text}</{tag}>' for side, text in pairs)
        return f"<tr>{''.join(cells)}</tr>"

    body = ""
    for cells in grid.cells:
        texts = (f"<b>{escape(cell.text)}</b>" if cell.bold else escape(cell.text) for cell in cells)
        marks = (f"<sup>{escape(cell.mark)}</sup>" if cell.has_letters else escape(cell.mark) for cell in cells)
        body += row("td", (text + mark for text, mark in zip(texts, marks, strict=True)))
    title = f"<caption>{escape(grid.title)}</caption>" if grid.title else ""
    head = row("th", map(escape, grid.head))
    return f"<table>{title}<thead>{head}</thead><tbody>{body}</tbody></table>"
