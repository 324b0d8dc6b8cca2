"""Names of runs: labels that the user gave, and names made from paths; the files of a directory."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

_COMPRESSED = {"gz", "bz2", "xz", "zst"}
_SUFFIXES = {"run", "txt", "res", "csv", "tsv", "json", "jsonl", "parquet", "arrow", "arrows", "feather"}


class LabelledRuns(list[tuple[str | None, Any]]):
    """(label, run) pairs, as commands have them."""


def labelled(argument: str, folder: str = "") -> tuple[str | None, str]:
    """'BM25=runs/bm25.run' -> the label and the path, in the folder; the label is None for a path alone.
    A file whose name is the whole argument is that file, and a label contains no '/'.
    """
    label, _, path = argument.partition("=")
    if not label or not path or "/" in label or os.path.lexists(os.path.join(folder, argument)):
        return None, argument
    return label, path


def run_names(
    paths: Iterable[str], short: Sequence[str | None] | None = None, taken: Iterable[str] = ()
) -> list[str]:
    """A name for each run, all different: the file name without directory and suffix.

    Runs whose names would be equal are named by their paths, and a path that comes again gets #2, #3.
    short: names to use where they are not None. taken: labels, which no name may equal.
    """
    paths, labels = list(paths), set(taken)
    names = [name or short_name(path) for name, path in zip(short or [None] * len(paths), paths, strict=True)]
    while True:  # again because a path can be another run's short name
        count = Counter(names)
        apart = [
            path if count[name] > 1 or name in labels else name for name, path in zip(names, paths, strict=True)
        ]
        if apart == names:
            break
        names = apart
    in_use = labels | set(names)
    seen = Counter(labels)
    for i, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            while f"{name}#{seen[name]}" in in_use:
                seen[name] += 1
            names[i] = f"{name}#{seen[name]}"
    return names


def short_name(path: str) -> str:
    """The file name without directory and suffix."""
    name = os.path.basename(path)
    for suffixes in (_COMPRESSED, _SUFFIXES):
        stem, _, suffix = name.rpartition(".")
        name = stem if stem and suffix in suffixes else name
    return name or path


def run_files(path: str | bytes | os.PathLike[str]) -> list[Any]:
    """The files of a directory, or those that match a pattern of a shell, sorted by name; else the path itself.
    Hidden files and subdirectories are left out. Where nothing is found, opening the path raises the error.
    """
    try:
        if os.path.isdir(path):
            from gradeval.formats.sources import files_of

            return files_of(os.fsdecode(path)) or [path]
        text = os.fsdecode(path)
        if not any(mark in text for mark in "*?[") or os.path.lexists(text):
            return [path]
    except (OSError, ValueError):
        return [path]
    from glob import glob  # imported only when needed

    return sorted(file for file in glob(text) if not os.path.isdir(file)) or [path]
