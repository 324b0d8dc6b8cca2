"""Pictures as text: drawn in characters, one table of their numbers, or everything as JSON.

file and figure save them with matplotlib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradeval.render import Digits, check_format

if TYPE_CHECKING:
    from gradeval.analysis.plot.picture import Picture

FORMATS = {
    "table": "the picture in characters, and the numbers beside it",
    "tsv": "the rows of one table, separated by tabs",
    "csv": "the rows of one table, quoted where needed",
    "json": "one object with options and all tables, exact values",
}
WIDTH = 80  # where there is no terminal
SUFFIXES = (".svg", ".png", ".pdf")


class PlotRenderOptions(NamedTuple):
    """How a picture is drawn in characters. ascii: without block characters and lines of them."""

    digits: Digits = 4
    colour: bool = False
    width: int = WIDTH
    ascii: bool = False


# Modules are imported when they are used, so that the help does not wait for numpy.
def render(
    picture: Picture,
    format: str = "table",
    *,
    table: str | None = None,
    digits: Digits = 4,
    colour: bool = False,
    width: int | None = None,
    ascii: bool = False,
    spreadsheet: bool = False,
) -> str:
    """The picture in one of FORMATS, with '\\n' at the end of each line.

    table: which one tsv and csv print, by default the first. width: of the drawing, by default 80 characters.
    ascii: draw with ASCII characters only. The other arguments are those of render.render.
    """
    check_format(format, FORMATS)
    if format == "json":
        import json

        return json.dumps(picture.to_dict(), indent=2) + "\n"
    if format == "table":
        from gradeval.render.plot.table import drawn

        return drawn(picture, PlotRenderOptions(digits, colour, width or WIDTH, ascii))
    from gradeval.render.study.rows import csv, tsv

    chosen = picture.tables[0] if table is None else picture.table(table)
    return csv(chosen, digits, spreadsheet) if format == "csv" else tsv(chosen, digits)


def save(picture: Picture, path: str, size: tuple[float, float] | None = None) -> None:
    """Save it as an SVG, PNG or PDF file, by the ending of the path. size: in inches. Raises GradevalError."""
    from gradeval.render.plot.file import save

    save(picture, path, size)
