"""Documents as text: the formats, and the module that writes each.

A module has write_FORMAT(part of a document, how) -> str. It orders and formats texts, computes nothing, and
knows no feature. Modules are imported when used, so that a TSV does not wait for rich.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from gradeval.errors import OptionError
from gradeval.file_formats import ending_of
from gradeval.records import Record

Digits = int | Literal["full"]
Format = Literal["table", "tsv", "csv", "json", "jsonl", "md", "latex", "trec", "html"]  # html: of pages


class Writer(Record):
    """module: of this package. part: of the document that is written. ending: of the names of files, or ''."""

    module: str
    part: str
    ending: str = ""


WRITERS = {
    "table": Writer("table", "blocks", ".txt"),
    "tsv": Writer("document", "rows", ".tsv"),
    "csv": Writer("document", "rows", ".csv"),
    "json": Writer("document", "content", ".json"),
    "jsonl": Writer("document", "records", ".jsonl"),
    "md": Writer("markup", "blocks", ".md"),
    "latex": Writer("markup", "blocks", ".tex"),
    "trec": Writer("document", "columns"),
}


def format_of(path: str, formats: Iterable[str] = WRITERS, more: Sequence[str] = ()) -> str | None:
    """The format of the path's ending, None without one. more: endings valid elsewhere. Raises OptionError."""
    ending = ending_of(path)
    if ending in ("", "."):
        return None
    by_ending = {WRITERS[name].ending: name for name in formats if WRITERS[name].ending}
    if ending not in by_ending:
        endings = ", ".join([*by_ending, *more])
        raise OptionError(f"cannot infer a format from {path}: the endings are {endings}. -f sets the format")
    return by_ending[ending]
