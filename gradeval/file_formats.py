"""The table of file formats: their names, the roles that they read and write, their endings, and the order of
their detection; and the names of runs, made from those of files.

Nothing here imports numpy, since --help needs the table. All else of a format is the Format of its name, in
capitals, in its module of gradeval.formats: JSON of gradeval/formats/json.py. To add one: a row here, and its
Format.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any

from gradeval.records import Record

COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}  # by the ending of the name


class FormatRow(Record):
    """A row of the table. Its module is imported only for files that it may read, and to write it."""

    name: str  # in options
    module: str  # of gradeval.formats, which has its Format
    # whether a file with this beginning may be of the format; None where the beginning does not show it
    begins: Callable[[bytes], bool] | None = None
    has_line: Callable[[bytes], bool] | None = None  # likewise, with this first line of data, stripped
    reads: tuple[str, ...] = ()  # what such a file can be given as: qrels, run
    writes: tuple[str, ...] = ()  # what convert writes as such a file
    endings: tuple[str, ...] = ()  # of names of files, which mean the format where it is written


# Patterns would be shorter, but each command that reads a file would compile them all.


def _is_arrow(text: bytes) -> bool:
    return text.startswith((b"ARROW1\0\0", b"\xff\xff\xff\xff"))


def _is_parquet(text: bytes) -> bool:
    return text.startswith(b"PAR1")


def _is_json(text: bytes) -> bool:
    return text.lstrip()[:1] in (b"{", b"[")


def _is_table(text: bytes) -> bool:
    """Whether the first line has fields between tabs, commas, semicolons or bars, as a header has."""
    header = text.partition(b"\n")[0]
    return b"\t" in header or b"," in header or b";" in header or b"|" in header


def _has_two_tabs(text: bytes) -> bool:
    return text.partition(b"\n")[0].count(b"\t") == 2


def _is_one_field(line: bytes) -> bool:
    return b" " not in line and b"\t" not in line


def _has_features(line: bytes) -> bool:
    """Whether 'name:value' or a comment follows the first field."""
    first, _, further = line.replace(b"\t", b" ").partition(b" ")
    second = further.lstrip(b" ").partition(b" ")[0]
    return b"#" in first or second.startswith(b"#") or b":" in second


_BOTH, _RUN = ("qrels", "run"), ("run",)
_TREC_ENDINGS = (".trec", ".run", ".qrels", ".qrel", ".res")
# In the order of messages; the beginning of a file, or its first line of data, is shown to the last first.
_ROWS = (
    FormatRow("trec", "trec", _has_two_tabs, has_line=bool, reads=_BOTH, writes=_BOTH, endings=_TREC_ENDINGS),
    FormatRow(
        "letor",
        "letor",
        has_line=_has_features,
        reads=_BOTH,
        writes=_BOTH,
        endings=(".letor",),
    ),
    FormatRow("scores", "letor", has_line=_is_one_field, reads=_RUN),
    FormatRow("ranklib", "letor", _has_two_tabs, reads=_RUN),
    FormatRow("msmarco", "csv", _has_two_tabs, reads=_RUN, writes=_BOTH),
    FormatRow("beir", "csv", _is_table, reads=_BOTH, writes=("qrels",)),
    FormatRow("csv", "csv", _is_table, reads=_BOTH, writes=_BOTH, endings=(".csv",)),
    FormatRow("tsv", "csv", _is_table, reads=_BOTH, writes=_BOTH, endings=(".tsv",)),
    FormatRow("json", "json", _is_json, reads=_BOTH, writes=_BOTH, endings=(".json",)),
    FormatRow("lists", "json", _is_json, reads=_BOTH),
    FormatRow("jsonl", "json", _is_json, reads=_BOTH, writes=_BOTH, endings=(".jsonl", ".ndjson")),
    FormatRow("responses", "responses", reads=_RUN),
    FormatRow("parquet", "arrow", _is_parquet, reads=_BOTH, writes=_BOTH, endings=(".parquet",)),
    FormatRow(
        "arrow",
        "arrow",
        _is_arrow,
        reads=_BOTH,
        writes=_BOTH,
        endings=(".arrow", ".feather"),
    ),
)
FORMATS = {row.name: row for row in _ROWS}
RUN_FORMATS = tuple(row.name for row in _ROWS if "run" in row.reads)
QRELS_FORMATS = tuple(row.name for row in _ROWS if "qrels" in row.reads)
WRITTEN_FORMATS = tuple(row.name for row in _ROWS if row.writes)
WRITTEN_RUNS = tuple(row.name for row in _ROWS if "run" in row.writes)

# --- names of runs: labels that the user gave, and names made from paths; the files of a directory

_COMPRESSED = {"gz", "bz2", "xz", "zst"}
_SUFFIXES = {"run", "txt", "res", "csv", "tsv", "json", "jsonl", "parquet", "arrow", "arrows", "feather"}


LabelledRun = tuple[str | None, Any]
"""A run of any form behind its label."""


class LabelledRuns(list[LabelledRun]):
    """(label, run) pairs, as commands have them."""

    @classmethod
    def of_arguments(cls, arguments: Iterable[str]) -> LabelledRuns:
        """Those of a command line: the files of directories and patterns."""
        return cls(labelled(str(file)) for path in arguments for file in run_files(path))


def labelled(argument: str, folder: str = "") -> tuple[str | None, str]:
    """'BM25=runs/bm25.run' -> the label and the path, in the folder; the label is None for a path alone.
    A file whose name is the whole argument is that file, and a label contains no '/'.
    """
    label, _, path = argument.partition("=")
    if not label or not path or "/" in label or os.path.lexists(os.path.join(folder, argument)):
        return None, argument
    return label, path


def ending_of(path: str) -> str:
    """The last suffix of a file's name in lower case, without that of a compression; '' without one."""
    stem, ending = os.path.splitext(path.lower())
    return os.path.splitext(stem)[1] if ending in COMPRESSIONS else ending


def with_ending(path: str) -> str:
    """'Did you mean bm25.run?' for the path bm25 or bm25.rn of no file, where there is that file; else ''."""
    folder, name = os.path.split(path)
    with suppress(OSError, ValueError):
        from difflib import get_close_matches

        files = sorted(os.listdir(folder or "."))
        longer = [file for file in files if name and file.startswith(f"{name}.")]
        if meant := longer or get_close_matches(name, files, 1, 0.8):
            return f"Did you mean {os.path.join(folder, meant[0])}?"
    return ""


def run_names(runs: Iterable[tuple[str | None, str, str | None]]) -> list[str]:
    """A name for each (label, path, short name), all different: the label, or else the short name, or else the
    file name without directory and suffix.

    Runs whose names would be equal are named by their paths, and a path that comes again gets #2, #3.
    """
    runs = list(runs)
    labels = {label for label, *_ in runs if label is not None}
    unlabelled = [(path, short or short_name(path)) for label, path, short in runs if label is None]
    names = _short_or_paths(unlabelled, labels)
    in_use = labels | set(names)
    seen = dict.fromkeys(labels, 1)
    for i, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            while f"{name}#{seen[name]}" in in_use:
                seen[name] += 1
            names[i] = f"{name}#{seen[name]}"
    chosen = iter(names)
    return [next(chosen) if label is None else label for label, *_ in runs]


def _short_or_paths(unlabelled: Sequence[tuple[str, str]], labels: Collection[str]) -> list[str]:
    """The short name of each (path, short name), or the path where another run has the name."""
    names = [short for _, short in unlabelled]
    while names:  # again because a path can be another run's short name
        count = Counter(names)
        apart = [
            path if count[name] > 1 or name in labels else name
            for name, (path, _) in zip(names, unlabelled, strict=True)
        ]
        if apart == names:
            break
        names = apart
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
            return files_of(os.fsdecode(path)) or [path]
        text = os.fsdecode(path)
        if not any(mark in text for mark in "*?[") or os.path.lexists(text):
            return [path]
    except (OSError, ValueError):
        return [path]
    from glob import glob  # imported only when needed

    return sorted(file for file in glob(text) if not os.path.isdir(file)) or [path]


def files_of(folder: str) -> list[str]:
    """The files of a directory, sorted by name, without hidden files. Raises OSError."""
    entries = os.scandir(folder)
    return sorted(entry.path for entry in entries if not (entry.name.startswith(".") or entry.is_dir()))
