"""Directories of files."""

from __future__ import annotations

import os
from contextlib import suppress

from gradeval.errors import InputError


def files_of(folder: str) -> list[str]:
    """The files of a directory, sorted by name, without hidden files. Raises OSError."""
    entries = os.scandir(folder)
    return sorted(entry.path for entry in entries if not (entry.name.startswith(".") or entry.is_dir()))


def directory_error(path: str) -> InputError:
    """The error of a directory where a file is needed."""
    with suppress(OSError):
        if not files_of(path):
            hint = "Hidden files, and those of directories within it, are not read"
            return InputError(path, "this directory has no files", hint=hint)
    return InputError(path, "this is a directory, not a file")
