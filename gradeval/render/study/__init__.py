"""Studies as text: tables to look at, one table of rows for tsv and csv, or everything as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradeval.render import Digits

if TYPE_CHECKING:
    from gradeval.analysis.study.tables import Study

FORMATS = {
    "table": "the findings, human-readable",
    "tsv": "the rows of one table, separated by tabs",
    "csv": "the rows of one table, quoted where needed",
    "json": "one object with options and all tables, exact values",
}


# Modules are imported when they are used, so that the help does not wait for numpy.
def render(
    study: Study,
    format: str,
    *,
    table: str | None = None,
    digits: Digits = 4,
    colour: bool = False,
    width: int | None = None,
) -> str:
    """The study in one of FORMATS, with '\\n' at the end of each line.

    table: which one tsv and csv print, by default the first. The other arguments are those of render.render.
    """
    if format == "json":
        import json

        return json.dumps(study.to_dict(), indent=2) + "\n"
    if format == "table":
        from gradeval.render.study.table import tables

        return tables(study, digits, colour, width)
    from gradeval.render.study.rows import csv, tsv

    chosen = study.table(table) if table is not None else next(one for one in study.tables if one.data)
    return (csv if format == "csv" else tsv)(chosen, digits)
