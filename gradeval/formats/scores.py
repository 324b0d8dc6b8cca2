"""Scores of the data lines of a LETOR file, one per line."""

from __future__ import annotations

from gradeval.errors import InputError
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import Problems
from gradeval.formats.letor import Letor
from gradeval.formats.number_lines import read_numbers
from gradeval.formats.sources import Source


def read(source: Source, letor: Letor, problems: Problems | None = None) -> Columns:
    """Scores, one for each data line of the LETOR file. Raises InputError(s)."""
    rows, path = letor.columns(letor.label), letor.path
    count = len(rows.value)
    scores, line = read_numbers(source, "score", count, problems=problems)
    if len(scores) != count:
        raise InputError(source.name, f"there are {len(scores)} scores, but {path} has {count} lines of data")
    return rows._replace(value=scores, line=line)
