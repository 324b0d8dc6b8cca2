"""The table of file formats: from it come their names in options, their detection, their readers and messages;
and the names of runs, made from those of files.

To add a format: a module in gradeval/formats with a function as detect.reader() says, and a row here. To write
it too: a row in WRITTEN_FORMATS, and one in WRITERS in gradeval/formats/write. Nothing here imports numpy:
--help needs the names. Functions are therefore named, as 'module.function' of gradeval.formats.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from gradeval.records import Record

_QRELS_FIRST = "The qrels come first, then the runs"
_EITHER = "each of its first lines is one number, so that it may hold labels or scores"
_AS_LABELS = "--qrels-format letor reads labels; scores are a run, which comes after a LETOR file"


class Format(Record):
    """A row of the table: the format that options have this name. why: what shows that a file is of it.
    begins: a function (beginning of the file, options) -> the name of the format that it has, or '', which
    several formats may share. reader: by default 'name.table'. is_of_fields: whether its fields are between
    spaces and tabs, so that its first line of data shows it. is_binary: whether it is no text. of_letor: what
    messages call its rows, where these are the lines of the LETOR file that is the qrels. ties: the default
    rule for tied scores. no_qrels: what is wrong with such a file as qrels, and a hint, where it can be a run
    only.
    """

    name: str
    why: str
    begins: str = ""
    reader: str = ""
    is_of_fields: bool = False
    is_binary: bool = False
    of_letor: str = ""
    ties: str = "trec"
    no_qrels: tuple[str, str] | None = None


_KNOWN = "its first line is a header of known column names"
_HEADER, _JSON, _MAGIC = "detect.of_header", "detect.of_json", "detect.of_magic"
# In the order of messages; the beginning of a file is shown to the last of them first.
FORMATS = (
    Format(
        "trec", "its lines are fields between spaces or tabs", "detect.of_trec_with_tabs", is_of_fields=True
    ),
    Format("letor", "its first line of data has qid: or numbered features", is_of_fields=True),
    Format(
        "scores",
        "its first lines of data are numbers, one per line",
        reader="letor.read_scores",
        is_of_fields=True,
        of_letor="scores, one per line,",
        ties="input",
        no_qrels=(_EITHER, _AS_LABELS),
    ),
    Format(
        "ranklib",
        "the second field counts 0, 1, … within the first query",
        "detect.of_indexes",
        "letor.read_ranklib",
        of_letor="scores of RankLib",
        ties="input",
        no_qrels=("this looks like scores of RankLib (query index score)", _QRELS_FIRST),
    ),
    Format(
        "msmarco",
        "the third field counts 1, 2, … within the first query",
        "detect.of_ranks",
        "csv.msmarco_table",
        no_qrels=("this looks like a run of MS MARCO (query passage rank)", _QRELS_FIRST),
    ),
    Format("beir", "its header is BEIR's: query-id, corpus-id, score", _HEADER, "csv.beir_table"),
    Format("csv", _KNOWN, _HEADER),
    Format("tsv", f"{_KNOWN}, separated by tabs", _HEADER, "csv.tsv_table"),
    Format("json", "it begins with a JSON object of objects", _JSON),
    Format("lists", "it begins with JSON whose first value is a list", _JSON, "json.lists_table"),
    Format("jsonl", "it begins with a JSON object of values", _JSON, "json.jsonl_table"),
    Format(
        "responses",
        "it begins with a response of Elasticsearch, OpenSearch or Solr",
        _JSON,
        no_qrels=("this is a response of a search engine, not qrels", _QRELS_FIRST),
    ),
    Format("parquet", "it begins with Parquet's magic number", _MAGIC, "arrow.parquet_table", is_binary=True),
    Format("arrow", "it begins with Arrow's magic number", _MAGIC, is_binary=True),
)
RUN_FORMATS = tuple(row.name for row in FORMATS)
QRELS_FORMATS = tuple(row.name for row in FORMATS if row.no_qrels is None)

# Those that are written, with the endings of file names that mean them.
WRITTEN_FORMATS: dict[str, tuple[str, ...]] = {
    "trec": (".trec", ".run", ".qrels", ".qrel", ".res"),
    "letor": (".letor",),
    "beir": (),
    "msmarco": (),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet",),
    "arrow": (".arrow", ".feather"),
}

# --- names of runs: labels that the user gave, and names made from paths; the files of a directory

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
