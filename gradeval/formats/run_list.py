"""Lists of runs: a path, or NAME=path, on each line."""

from __future__ import annotations

from gradeval.errors import InputError
from gradeval.formats.fields import read_text
from gradeval.formats.sources import Source


def read_run_list(source: Source) -> list[str]:
    """The lines that are neither blank nor comments, without the spaces around them. Raises InputError."""
    text = read_text(source).decode("utf-8", "surrogateescape")
    lines = (line.strip() for line in text.split("\n"))
    runs = [line for line in lines if line and not line.startswith("#")]
    if not runs:
        raise InputError(source.name, "no runs given", hint="Write a path, or NAME=path, on each line")
    return runs
