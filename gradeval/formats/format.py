"""File formats: their declarations, their writers, and rules of detection that several share.

file_formats has the table of their names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from gradeval.errors import OptionError
from gradeval.file_formats import COMPRESSIONS, FORMATS, WRITTEN_FORMATS, ending_of
from gradeval.formats.sources import HEAD
from gradeval.options import Options
from gradeval.records import Record

QRELS_FIRST = "The qrels come first, then the runs"


class FormatWriter(Record):
    """How a format is written. A batch is whole queries as Columns, with ranks (from 1) and subtopics."""

    qrels: Callable[..., None] | None  # (batches, sink, content) writes all of them; None where it holds none
    run: Callable[..., None] | None  # likewise
    refused: Callable[..., Any]  # (batch, content) -> LineProblems: what of a batch the format cannot hold
    is_compressible: bool = True
    has_subtopics: bool = True  # of qrels
    has_tag: bool = False  # of runs

    def write(self, batches: Iterator[Any], sink: Any, content: Any) -> None:
        """Write all batches. content: their role, which must be one that the format holds, and more."""
        getattr(self, content.role)(batches, sink, content)

    def check_name(self, path: str, name: str) -> None:
        """Raise OptionError where the ending of a path compresses what is compressed. name: of the format."""
        if not self.is_compressible and os.path.splitext(path)[1].lower() in COMPRESSIONS:
            raise OptionError(
                f"{name} files are compressed internally: remove the compression suffix of {path}"
            )


class Format(Record):
    """A format, which is declared in its module under its name in capitals."""

    name: str
    why: str  # what shows that a file is of it
    # (source, number, options) -> BlockTable: the qrels (number: 'grade') or the run ('score') of a file. With
    # of_letor: (source, letor, problems=None) -> Columns, a number for each line of the LETOR file; problems
    # collects those of the lines. It raises InputError(s). LETOR files are read by read_letor().
    read: Callable[..., Any]
    # (beginning of a file, options) -> the name of the format that it has, or ''; several may share it
    detects: Callable[[bytes, Options], str] | None = None
    is_line: Callable[[bytes], bool] | None = None  # whether a stripped line of data is of it, by its beginning
    may_be: str = ""  # the format that a file has instead whose first lines are of this one, but a later is not
    is_of_fields: bool = False  # whether its fields are between spaces and tabs
    is_binary: bool = False  # whether it is no text
    of_letor: str = ""  # what messages call its rows, where these are of the lines of the LETOR file as qrels
    ties: str = "trec"  # the default rule for tied scores
    # what is wrong with such a file as qrels, where it can be a run only, and a hint
    no_qrels: tuple[str, str] = "this is a run, not qrels", QRELS_FIRST
    layouts: Mapping[str, str] = {}  # the fields of a line by number, where a header names none
    writer: Callable[[], FormatWriter] | None = None  # what makes it, when it is needed

    @property
    def reads(self) -> tuple[str, ...]:
        """The roles that such a file can have."""
        return FORMATS[self.name].reads


def format_of(name: str) -> Format:
    """The format of a name, whose module is imported when it is needed."""
    module = import_module(f"gradeval.formats.{FORMATS[name].module}")
    declared: Format = getattr(module, name.upper())
    return declared


def writer_of(name: str) -> FormatWriter:
    """The writer of a format that the table lists as written."""
    writer = format_of(name).writer
    assert writer is not None
    return writer()


def check_role(role: str, name: str) -> None:
    """Raise OptionError where the format is not written as qrels, or as a run."""
    if role not in FORMATS[name].writes:
        only, other = ("qrels", "runs") if role == "run" else ("runs", "qrels")
        all_roles = "tsv, csv, trec, json and others"
        raise OptionError(f"{name} is a format of {only}; {other} can be written as {all_roles}")


def format_by_ending(path: str, otherwise: str = "") -> str:
    """The format of a file by the suffix of its name, without that of a compression. otherwise: the format for
    an unknown suffix, which is an OptionError where this is ''.
    """
    ending = ending_of(path)
    for name in WRITTEN_FORMATS:
        if ending in FORMATS[name].endings:
            return name
    if otherwise:
        return otherwise
    formats = ", ".join(WRITTEN_FORMATS)
    raise OptionError(f"cannot infer a format from {path}. Choose one with --to (in Python to=): {formats}")


# --- rules of detection that several formats share


def is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_HAS_ITERATION = rb"[ \t]*[^ \t]+[ \t]+Q?0[ \t]"
_CELL = rb"[^ \t\r\n](?:[^\t\r\n]*[^ \t\r\n])?"
_TWO_TABS = _CELL + (rb"\t" + _CELL) * 2 + rb"\r?(?:\n|\Z)"
RANKED = rb"(?P<query>[^\t\r\n]+)\t[^\t\r\n]+\t[ ]*(?P<number>\d+)[ ]*\r?"  # a line of MS MARCO


def counts(text: bytes, pattern: bytes, number: int, with_spaces: bool = False) -> bool:
    """Whether the first query's lines, with two tabs each, are numbered from this one on, as the pattern says.
    with_spaces: whether fields may have spaces, where all lines have two tabs, and not TREC's 0 or Q0.
    """
    if (first := re.match(_TWO_TABS, text)) is None:
        return False
    is_cut = len(text) > HEAD - 4  # with a byte order mark before it or not
    lines = (text[: text.rfind(b"\n") + 1] if is_cut else text).split(b"\n")
    if b" " in first[0] and not (with_spaces and _have_two_tabs(lines)):
        return False
    query = None
    for line in lines:
        row = re.fullmatch(pattern, line)
        if row is None or query not in (None, row["query"]):
            break
        if int(row["number"]) != number:
            return False
        query = row["query"]
        number += 1
    return query is not None


def _have_two_tabs(lines: list[bytes]) -> bool:
    """Whether all lines have three fields between tabs, and are none of TREC, which mix spaces and tabs."""
    data = [line for line in lines if line.strip()]
    if not all(re.fullmatch(_TWO_TABS, line) for line in data):
        return False
    return not all(re.match(_HAS_ITERATION, line) for line in data)
