"""Tabulars for LaTeX with the booktabs package: the best value bold, superscript letters for significance."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gradeval.render.document import Block, Cell, Grid, Line, Lines, RenderOptions

_NUMBER = re.compile(r"-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|nan|inf)")
_INTERVAL = re.compile(r"[\[(](\S+), (\S+)[\])]")
_SPECIAL = str.maketrans(
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


def write_latex(blocks: Iterable[Block], how: RenderOptions) -> str:
    return "\n".join(map(_written, blocks))


def _written(block: Block) -> str:
    if isinstance(block, Grid):
        return _tabular(block)
    if isinstance(block, Lines):
        return "\\begin{verbatim}\n" + "".join(f"{line}\n" for line in block.lines) + "\\end{verbatim}\n"
    if isinstance(block, Line):
        return rf"\paragraph{{{escape(block.text)}}}" + "\n"
    text = block if isinstance(block, str) else " ".join(block.sentences)
    return rf"\par{{\footnotesize {escape(text)}}}" + "\n"


def _tabular(grid: Grid) -> str:
    columns = "".join("l" if grid.is_left(c) else "r" for c in range(len(grid.head)))
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    if grid.title:
        lines += [rf"\multicolumn{{{len(grid.head)}}}{{l}}{{{escape(grid.title)}}} \\", r"\midrule"]
    lines += [_line(map(escape, grid.head)), r"\midrule"]
    for row in grid.cells:
        texts = (escape(cell.text) if grid.is_left(c) else _number(cell) for c, cell in enumerate(row))
        lines.append(_line(texts))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


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
        return text + escape(cell.mark).replace("-", "$-$")
    return text + (f"$^{{{cell.mark}}}$" if cell.mark else "")


def _plain(text: str) -> str:
    if not _NUMBER.fullmatch(text):  # words
        return escape(text).replace("-", "{-}")
    return "$-$" + text[1:] if text.startswith("-") else text


def escape(text: str) -> str:
    return text.translate(_SPECIAL)
