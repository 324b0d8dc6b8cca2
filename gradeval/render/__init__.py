"""Results as text: a module for each format.

Each module has render(results, options) -> str. It orders and formats values, and computes none.
"""

from __future__ import annotations

from importlib import import_module
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

from gradeval.errors import OptionError

if TYPE_CHECKING:
    from gradeval.results import Results

Digits = int | Literal["full"]

# modules are imported when used, so that a TSV does not wait for rich
FORMATS = {
    "table": "human-readable table: metrics as columns, runs as rows",
    "tsv": "run, query, metric and value separated by tabs",
    "csv": "run, query, metric and value, quoted where needed",
    "json": "one object with inputs, options and exact values",
    "jsonl": "one object per line: run, query, metric, exact value",
    "md": "a table for GitHub's Markdown",
    "latex": "a tabular for LaTeX with booktabs",
    "trec": "trec_eval's columns",
}
BY_ROWS = ("tsv", "csv", "jsonl", "trec")  # the summary's rows are those of a query 'all'


def render(
    results: Results,
    format: str,
    *,
    per_query: bool = False,
    summary: bool = True,
    digits: Digits = 4,
    colour: bool = False,
    width: int | None = None,
    spreadsheet: bool = False,
) -> str:
    """The results in one of FORMATS, with '\\n' at the end of each line.

    Runs and metrics are in the given order, queries in qrels order; per-query rows are of counted queries.
    digits: decimals, or 'full' for the shortest representation that round-trips; json and jsonl are always
    exact. colour, width: for table only: terminal codes, and the width of the terminal (None: no limit).
    spreadsheet: for csv only: a single quote before text that a spreadsheet would read as a formula.
    Encode the text with errors='surrogateescape' to write ids as the bytes that were read.
    """
    if not isinstance(format, str) or format not in FORMATS:
        raise OptionError(f"unknown format '{format}': choose from {', '.join(FORMATS)}")
    is_integer = isinstance(digits, Integral) and not isinstance(digits, bool)
    if digits != "full" and not (is_integer and 0 <= digits <= 100):
        raise OptionError(f"digits must be an integer from 0 to 100, or 'full', not '{digits}'")
    from gradeval.render.layout import RenderOptions

    digits = digits if digits == "full" else int(digits)
    text: str = import_module(f"{__name__}.{format}").render(
        results, RenderOptions(per_query, summary, digits, colour, width, spreadsheet)
    )
    return text


def content(results: Results, *, per_query: bool, summary: bool) -> dict[str, Any]:
    """The object that the json format prints."""
    from gradeval.render import json

    return json.content(results, per_query, summary)
