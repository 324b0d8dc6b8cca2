"""Lists of runs: a path, or NAME=path, on each line.

A comment is a line of its own, since a path may have a '#'.
"""

from __future__ import annotations

from gradeval.errors import InputError
from gradeval.formats.fields import read_text
from gradeval.formats.sources import Source


def read_run_list(source: Source) -> list[tuple[int, str]]:
    """The lines with a run, without the spaces around it, and the number of each. Raises InputError."""
    text = read_text(source).decode("utf-8", "surrogateescape")
    lines = enumerate(map(str.strip, text.split("\n")), start=1)
    runs = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not runs:
        raise InputError(source.name, "no runs given", hint="Write a path, or NAME=path, on each line")
    return runs
