"""Tabulars for LaTeX with the booktabs package, the best value of each column bold."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gradeval.render.layout import RenderOptions, Sheet, sheets
from gradeval.results import Results

_NUMBER = re.compile(r"-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|nan|inf)")
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


def render(results: Results, options: RenderOptions) -> str:
    return "\n".join(_draw(sheet) for sheet in sheets(results, options))


def _draw(sheet: Sheet) -> str:
    lines = [rf"\begin{{tabular}}{{l{'r' * (len(sheet.head) - 1)}}}", r"\toprule"]
    if sheet.title:
        lines += [rf"\multicolumn{{{len(sheet.head)}}}{{l}}{{{escape(sheet.title)}}} \\", r"\midrule"]
    lines += [line(map(escape, sheet.head)), r"\midrule"]
    for r, (label, *texts) in enumerate(sheet.rows):
        values = (
            number(text, bold=(r, c) in sheet.best) + _range(sheet.range(r, c))
            for c, text in enumerate(texts, 1)
        )
        lines.append(line((escape(label), *values)))
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def number(text: str, bold: bool) -> str:
    if not _NUMBER.fullmatch(text):  # the words of a text metric
        return escape(text).replace("-", "{-}")
    signed = "$-$" + text[1:] if text.startswith("-") else text
    return rf"\textbf{{{signed}}}" if bold else signed


def _range(text: str) -> str:
    return escape(text).replace("-", "$-$")


def escape(text: str) -> str:
    return text.translate(_SPECIAL)
