"""Results as text: a module for each format.

Each module has render(results, options) -> str. It orders and formats values, and computes none.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from importlib import import_module
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gradeval.errors import OptionError

if TYPE_CHECKING:
    from gradeval.results import Results

Digits = int | Literal["full"]


class Format(NamedTuple):
    """A row of FORMATS: its description, and the ending of the names of its files, '' if it has none."""

    about: str
    ending: str = ""


# modules are imported when used, so that a TSV does not wait for rich
FORMATS = {
    "table": Format("human-readable table: metrics as columns, runs as rows", ".txt"),
    "tsv": Format("run, query, metric and value separated by tabs", ".tsv"),
    "csv": Format("run, query, metric and value, quoted where needed", ".csv"),
    "json": Format("one object with inputs, options and exact values", ".json"),
    "jsonl": Format("one object per line: run, query, metric, exact value", ".jsonl"),
    "md": Format("a table for GitHub's Markdown", ".md"),
    "latex": Format("a tabular for LaTeX with booktabs", ".tex"),
    "trec": Format("trec_eval's columns"),
}
BY_ROWS = ("tsv", "csv", "jsonl", "trec")  # the summary's rows are those of a query 'all'


def format_of(path: str, formats: Iterable[str] = FORMATS, more: Sequence[str] = ()) -> str | None:
    """The one of the formats that the ending of the path stands for; None for a path without an ending.

    more: endings that are valid elsewhere. Raises OptionError for another ending.
    """
    ending = os.path.splitext(path)[1].lower()
    if ending in ("", "."):
        return None
    by_ending = {FORMATS[name].ending: name for name in formats if FORMATS[name].ending}
    if ending not in by_ending:
        known = ", ".join([*by_ending, *more])
        raise OptionError(
            f"{path}: no format has the ending {ending}; the endings are {known}. -f sets the format"
        )
    return by_ending[ending]


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
    wide: bool = False,
) -> str:
    """The results in one of FORMATS, with '\\n' at the end of each line.

    Runs and metrics are in the given order, queries in qrels order; per-query rows are of counted queries.
    digits: decimals, or 'full' for the shortest representation that round-trips; json and jsonl are always
    exact. colour, width: for table only: terminal codes, and the width of the terminal (None: no limit).
    spreadsheet: for csv only: a single quote before text that a spreadsheet would read as a formula.
    wide: queries are rows and runs columns, for each metric; json and jsonl stay as they are.
    Encode the text with errors='surrogateescape' to write ids as the bytes that were read.
    """
    module = module_of(format, FORMATS, __name__)
    if wide and (format == "trec" or results.has_tie_range):
        what = "the format trec" if format == "trec" else "ranges over ties"
        raise OptionError(f"{what} cannot be printed wide")
    from gradeval.render.layout import RenderOptions

    options = RenderOptions(per_query, summary, checked_digits(digits), colour, width, spreadsheet, wide)
    text: str = module.render(results, options)
    return text


def check_format(format: object, formats: Collection[str]) -> None:
    """Raise OptionError where it is none of the formats."""
    if not isinstance(format, str) or format not in formats:
        raise OptionError(f"unknown format '{format}': choose from {', '.join(formats)}")


def module_of(format: str, formats: Collection[str], package: str) -> Any:
    """The module of the package that writes this one of its formats. Raises OptionError."""
    check_format(format, formats)
    return import_module(f"{package}.{format}")


def checked_digits(digits: Any) -> Digits:
    """The number of decimals, or 'full'. Raises OptionError."""
    if digits == "full":
        return "full"
    if isinstance(digits, Integral) and not isinstance(digits, bool) and 0 <= int(digits) <= 100:
        return int(digits)
    raise OptionError(f"digits must be an integer from 0 to 100, or 'full', not '{digits}'")


def content(results: Results, *, per_query: bool, summary: bool) -> dict[str, Any]:
    """The object that the json format prints."""
    from gradeval.render import json

    return json.content(results, per_query, summary)
