"""The tables of a study to look at, and a line that says what it was made from."""

from __future__ import annotations

from collections.abc import Iterator

from gradeval.analysis.study.tables import Study
from gradeval.analysis.tabled import Table
from gradeval.errors import visible
from gradeval.render import Digits
from gradeval.render.study.rows import texts
from gradeval.render.table import DIM, GAP, heading, parts, styled, text_width, wrapped


def tables(study: Study, digits: Digits, colour: bool, width: int | None) -> str:
    options = ((name.replace("_", " "), value) for name, value in study.options.items() if name != "evaluation")
    about = "; ".join(f"{name} {_listed(value)}" for name, value in options if value != [])
    drawn = [text for table in study.tables if table.shown for text in draw(table, digits, colour, width)]
    lines = wrapped(f"{study.name}: {visible(about)}", width)
    return "\n".join([*drawn, "".join(styled(line, DIM, colour) + "\n" for line in lines)])


def _listed(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_listed, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def draw(table: Table, digits: Digits, colour: bool, width: int | None) -> Iterator[str]:
    """The tables that a table takes: columns that do not fit beside each other go to a further one."""
    # what all rows have in the line below is no column
    names = [c for c, name in enumerate(table.columns) if name != "seed"]
    rows = [[visible(table.columns[c]) for c in names]]
    rows += [[visible(cells[c]) for c in names] for cells in (texts(table, row, digits) for row in table.rows)]
    is_text = [all(isinstance(row[c], str) for row in table.rows) for c in names]
    labels = max(1, next((c for c, text in enumerate(is_text) if not text), len(names)))
    widths = [max(text_width(row[c]) for row in rows) for c in range(len(names))]
    title = heading(visible(table.title), colour, width)
    for columns in parts(widths, width, labels):
        lines = []
        for row in rows:
            padding = [" " * (widths[c] - text_width(row[c])) for c in range(len(names))]
            cells = [row[c] + padding[c] if is_text[c] else padding[c] + row[c] for c in columns]
            lines.append(GAP.join(cells).rstrip())
        rule = "─" * min(sum(widths[c] + len(GAP) for c in columns) - len(GAP), width or 10**6)
        lines.insert(1, styled(rule, DIM, colour))
        yield title + "\n".join(lines) + "\n"
        title = ""
