"""The runs as they are given: one by one, with their names."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.errors import InputError, OptionError, described, named, readable
from gradeval.evaluation.results import FailedRun
from gradeval.notices import Notice
from gradeval.options import Options
from gradeval.records import Record
from gradeval.tables.load import Run, RunTable, feature_names, is_path, source_of
from gradeval.tables.run_names import LabelledRuns, run_files, run_names

Runs = Sequence[tuple[str | None, Any]]
"""(name, run) pairs; a run may be a SavedResult, or a FailedRun instead of one that cannot be read."""


class SavedRun(Record, eq=False):
    """One run of a saved result. name, path, sha256: of the run when it was evaluated.

    values: those of each metric, (n,), for these queries, NaN where it is undefined. ties: the order of tied
    scores, depths: quantiles of the documents of a query, None where they are unknown.
    """

    name: str
    path: str
    sha256: str | None
    queries: tuple[str, ...]
    values: Mapping[str, Floats]
    ties: str | None = None
    depths: tuple[int, int, int, int, int] | None = None


class SavedResult(Record, eq=False):
    """A saved result as read. path: its own; qrels, qrels_sha256, options: what it was made from.

    groups_sha256: of the group sizes of qrels without qid, None for others. metrics: canonical names.
    """

    path: str
    qrels: str
    qrels_sha256: str
    groups_sha256: str | None
    options: Mapping[str, Any]
    metrics: tuple[str, ...]
    runs: tuple[SavedRun, ...]
    notices: tuple[Notice, ...] = ()


def separate_runs(runs: Any) -> list[tuple[str | None, Any]]:
    """(name, run) of each of the given runs. Raises InputError if there are none."""
    if isinstance(runs, LabelledRuns):
        return runs
    with readable("runs"):
        separate = list(_separate(runs))
    if not separate:
        raise InputError("runs", "no runs given")
    return separate


def _separate(runs: Any) -> Iterator[tuple[str | None, Any]]:
    from gradeval.formats.memory import is_frame, is_ranx  # not for a command line, whose runs are labelled

    def is_one(value: Any) -> bool:
        return is_path(value) or is_frame(value) or isinstance(value, RunTable)

    if is_one(runs) or is_ranx(runs):
        yield from _files(runs)
    elif isinstance(runs, Mapping):
        # {query: {document: score}} has no mappings in its mappings, of which the first value decides
        first = next(
            (value for run in runs.values() if isinstance(run, Mapping) for value in run.values()), None
        )
        # most are dicts, which a look at the type tells in a tenth of the time
        others = [run for run in runs.values() if type(run) is not dict and not isinstance(run, Mapping)]
        # beside the documents of a query, a number or None is a mistake in a run, and not another run
        may_be_runs = (is_one(value) or hasattr(value, "__iter__") for value in others)
        if isinstance(first, Mapping) or (others and (first is None or any(may_be_runs))):
            yield from ((str(name), run) for name, run in runs.items())
        else:
            yield None, runs
    else:
        try:
            items = list(runs)
        except TypeError:
            hint = "Give a path, {query: {document: score}}, tuples, a data frame, or a list or dict of these"
            raise InputError("runs", f"{described(runs)} is not a run", hint=hint) from None
        is_run = bool(items) and is_row(items[0])
        yield from [(None, items)] if is_run else chain.from_iterable(map(_files, items))


def _files(run: Any) -> list[tuple[str | None, Any]]:
    """The files of a directory or a pattern, the runs of a frame with a column of them, or the run itself."""
    from gradeval.formats.memory import RUN_NAMES, is_frame, is_lazy, is_ranx

    if isinstance(run, (str, bytes, os.PathLike)):
        return [(None, file) for file in run_files(run)]
    if is_ranx(run):
        return [(run.name, run)]
    if not isinstance(run, RunTable) and is_frame(run) and not is_lazy(run):
        names = getattr(run, "column_names", None)  # of pyarrow, whose columns are data
        if RUN_NAMES in (names if isinstance(names, list) else list(getattr(run, "columns", ()))):
            return _runs_of(run, RUN_NAMES)
    return [(None, run)]


def _runs_of(frame: Any, column: str) -> list[tuple[str | None, Any]]:
    """The runs of a frame of any library, by the column of their names, in order. Raises InputError."""
    if hasattr(frame, "partition_by"):
        parts = frame.partition_by(column, maintain_order=True, as_dict=True)
        runs = [(name, part.drop(column)) for (name,), part in parts.items()]
    elif hasattr(frame, "groupby"):
        parts = frame.groupby(column, sort=False, dropna=False)
        runs = [(name, part.drop(columns=column)) for name, part in parts]
    else:
        import pyarrow.compute

        frame = pyarrow.table(frame)
        names = frame[column].unique().to_pylist()
        runs = [
            (name, frame.filter(pyarrow.compute.field(column) == name).drop_columns(column)) for name in names
        ]

    def is_missing(value: Any) -> bool:  # null or NaN, of any library, as Python writes them
        return not isinstance(value, str) and str(value) in ("None", "nan", "<NA>", "NaT")

    if any(is_missing(name) for name, _ in runs):
        row = next(row for row, name in enumerate(frame[column], 1) if is_missing(name))
        raise InputError("runs", f"the {column} (column {column}) is missing", line=row)
    return [(str(name), part) for name, part in runs]


def is_row(item: Any) -> bool:
    """Whether it is (query, document, score), not a run: its first element is an id of any type."""
    from gradeval.formats.memory import is_frame

    if isinstance(item, np.void):  # of a record array
        item = item.item()
    if is_frame(item) or not isinstance(item, (tuple, list, np.ndarray)) or not len(item):
        return False
    first = item[0]
    return not isinstance(first, (tuple, list, Mapping, np.ndarray, np.void)) and not hasattr(first, "columns")


class Planned(Record):
    """A run that is expected of what was given, before it is opened. name: its label, as of Run."""

    name: str | None
    path: str
    short_name: str | None = None


def names_by_path(runs: Runs, options: Options) -> list[dict[str, str]]:
    """The names of the expected runs of each of these, by path, chosen before anything is read."""
    count = Counter(run.path for _, run in runs if isinstance(run, SavedResult) for _ in run.runs)

    def planned(position: int, label: str | None, run: Any) -> list[Planned]:
        if isinstance(run, FailedRun):
            return []
        if isinstance(run, SavedResult):
            of_saved = [(saved.name, f"{label}:{saved.name}" if run.runs[1:] else label) for saved in run.runs]
            return [
                Planned(
                    full if label else None, f"{run.path}:{name}" if count[run.path] > 1 else run.path, name
                )
                for name, full in of_saved
            ]
        path = path_of(run, label or f"run{position}")
        if is_path(run) and options.features:
            names = [feature_names(path, feature, label, options) for feature in options.features]
            return [Planned(name, path, short) for short, path, name in names]
        has_path = is_path(run) or (isinstance(run, RunTable) and run.path is not None)
        return [Planned(label if has_path else path, path)]

    of_runs = [planned(position, label, run) for position, (label, run) in enumerate(runs, 1)]
    chosen = iter(names_of(list(chain.from_iterable(of_runs))))
    return [{run.path: next(chosen) for run in of_run} for of_run in of_runs]


def names_of(runs: Sequence[Planned | Run]) -> list[str]:
    """A unique name for each run; labels are kept."""
    labels = [run.name for run in runs if run.name is not None]
    others = [run for run in runs if run.name is None]
    made = iter(run_names([run.path for run in others], [run.short_name for run in others], labels))
    return [next(made) if run.name is None else run.name for run in runs]


def check_labels(runs: Sequence[tuple[str | None, Any]]) -> None:
    """Raise OptionError where two runs have the same label."""
    first: dict[str, Any] = {}
    for label, run in runs:
        if label is not None and label in first:
            both = f": {first[label]} and {run}" if is_path(run) and is_path(first[label]) else ""
            raise OptionError(f"two runs have the label {named(label)}{both}")
        if label is not None:
            first[label] = run


def path_of(run: Any, name: str) -> str:
    """The path in Results.failed of a run that cannot be read; the name if it has none."""
    if isinstance(run, (RunTable, SavedResult)):
        return run.path or name
    try:
        return source_of(run).name if is_path(run) else name
    except InputError as error:
        return error.path
