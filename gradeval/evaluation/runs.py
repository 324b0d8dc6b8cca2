"""What a user passes as runs: paths, directories, dicts, lists, frames → (name, run) pairs, and their names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from gradeval.errors import InputError, OptionError, described, named, readable
from gradeval.evaluation.results import FailedRun, Results, Runs, SavedResult
from gradeval.file_formats import LabelledRun, LabelledRuns, run_files, run_names
from gradeval.formats.sources import Source, kept_open
from gradeval.options import Options
from gradeval.tables import load
from gradeval.tables.load import RunTable


def separate_runs(runs: Any) -> list[LabelledRun]:
    """(name, run) of each of the given runs, of which Results are saved ones. Raises InputError if there are
    none.
    """
    if isinstance(runs, LabelledRuns):
        return runs
    load.check_content(runs, "runs")
    with readable("runs"):
        separate = list(_separate(runs))
    for name, run in separate:
        load.check_content(run, name or "runs")
    if not separate:
        raise InputError("runs", "no runs given")
    return [(name, SavedResult.of(run) if isinstance(run, Results) else run) for name, run in separate]


def _separate(runs: Any) -> Iterator[LabelledRun]:
    from gradeval.formats import memory, shapes  # not for a command line, whose runs are labelled

    if shapes.are_scores(runs):
        yield None, runs
        return
    runs = shapes.plain(shapes.without_transport(runs), "runs", "score")
    if shapes.is_of_file(runs):
        yield None, runs
    elif type(runs) is not dict and (_is_one(runs) or memory.is_ranx(runs)):
        yield from _files(runs)
    elif isinstance(runs, Mapping):
        if shapes.records_of(runs, "runs") is not None:
            yield from _files(runs)
        elif not _are_rankings(runs) and _has_runs(runs):
            yield from ((str(name), run) for name, run in runs.items())
        else:
            yield None, runs
    else:
        items = _listed(runs)
        is_run = bool(items) and (is_row(items[0]) or _is_record(items[0]))
        if isinstance(runs, (set, frozenset)) and not is_run:
            hint = "Give runs as a list, and a ranking as {query: [document, …]}"
            raise InputError("runs", f"{described(runs)} is a set, which has no order", hint=hint)
        yield from _files(items) if is_run else chain.from_iterable(map(_files, items))


def _are_rankings(mapping: Mapping[Any, Any]) -> bool:
    """Whether each query has documents without a dict: ids, the best first, or (document, score) pairs,
    or arrays of ids, which are read; a set of ids or an array of numbers, which is an error of a run.
    """

    def is_ranking(value: Any) -> bool:
        if isinstance(value, np.ndarray):
            return value.ndim == 1
        if not isinstance(value, (list, tuple, set, frozenset)):
            return False
        are_ids = all(isinstance(item, (str, int)) or is_missing(item) for item in value)
        return are_ids or shapes.are_pairs(value)

    from gradeval.formats import shapes
    from gradeval.formats.memory import is_missing

    return bool(mapping) and all(map(is_ranking, mapping.values()))


def _is_record(item: Any) -> bool:
    """Whether it is a row by the names of columns, not a run {query: {document: score}}."""
    from gradeval.formats.shapes import are_names, is_series

    parts = (Mapping, list, tuple, set, frozenset, np.ndarray)
    if not isinstance(item, Mapping) or isinstance(next(iter(item), None), tuple):
        return False
    are_parts = [isinstance(value, parts) or is_series(type(value)) for value in item.values()]
    return not any(are_parts) or (not all(are_parts) and are_names([*item]))  # beside metadata or an embedding


def _is_one(value: Any) -> bool:
    from gradeval.formats.memory import is_frame

    is_record_array = isinstance(value, np.ndarray) and value.dtype.names is not None
    return load.is_path(value) or is_frame(value) or is_record_array or isinstance(value, (RunTable, Results))


def _has_runs(mapping: Mapping[Any, Any]) -> bool:
    """Whether these are runs by name, and not {query: {document: score}}."""
    from gradeval.formats import shapes

    values = mapping.values()
    some = next(iter(values), None)
    if shapes.is_of_file(some) or load.schema_of(some):
        return True
    # a run has no mappings in its mappings, of which the first value decides
    items = (item for run in values if isinstance(run, Mapping) for item in run.items())
    key, first = next(items, (None, None))
    is_part = isinstance(first, (Mapping, list, tuple, set, frozenset))  # or a ranking, or a column
    is_column = bool(getattr(first, "ndim", 0)) or shapes.is_series(type(first))
    if is_part or is_column or isinstance(key, tuple):
        return True
    # most are dicts, which a look at the type tells in a tenth of the time
    not_dicts = [run for run in values if type(run) is not dict and not isinstance(run, Mapping)]
    if not not_dicts or first is None:
        return bool(not_dicts)
    # beside the documents of a query, a number or None is a mistake in a run, and not another run
    return any(_is_one(value) or hasattr(value, "__iter__") for value in not_dicts)


def _listed(runs: Any) -> list[Any]:
    try:
        return list(runs)
    except TypeError:
        hint = "Give a path, {query: {document: score}}, tuples, a data frame, or a list or dict of these"
        raise InputError("runs", f"{described(runs)} is not a run", hint=hint) from None


def _files(run: Any) -> list[LabelledRun]:
    """The files of a directory or a pattern, the runs of a table with a column of them, or the run itself."""
    from gradeval.formats import shapes
    from gradeval.formats.memory import RUN_NAMES, is_frame, is_lazy, is_ranx

    if isinstance(run, (str, bytes, os.PathLike)):
        return [(None, file) for file in run_files(run)]
    if is_ranx(run):
        return [(run.name, run)]
    if not isinstance(run, (RunTable, Results)) and is_frame(run) and not is_lazy(run):
        names = getattr(run, "column_names", None)  # of pyarrow, whose columns are data
        if RUN_NAMES in (names if isinstance(names, list) else list(getattr(run, "columns", ()))):
            return _runs_of(run, RUN_NAMES)
        return [(None, run)]
    if RUN_NAMES in (fields := load.field_names(run)):
        return _runs_of_records([dict(zip(fields, row, strict=True)) for row in run], RUN_NAMES)
    records = shapes.records_of(run, "runs") or ()
    if any(RUN_NAMES in record for record in records):
        return _runs_of_records(records, RUN_NAMES)
    return [(None, run)]


def _runs_of_records(records: Sequence[Mapping[str, Any]], column: str) -> list[LabelledRun]:
    """The runs of records, as _runs_of() has those of a frame. Raises InputError."""
    from gradeval.formats.memory import is_missing

    runs: dict[str, list[Mapping[str, Any]]] = {}
    for row, record in enumerate(records, 1):
        if is_missing(name := record.get(column)):
            raise InputError("runs", f"the {column} (column {column}) is missing", line=row)
        runs.setdefault(str(name), []).append({key: record[key] for key in record if key != column})
    return [*runs.items()]


def _runs_of(frame: Any, column: str) -> list[LabelledRun]:
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


def names_by_path(runs: Runs, options: Options, are_features: Sequence[bool]) -> list[dict[str, str]]:
    """The names of the expected runs of each of these, by path, chosen before anything is read. are_features:
    whether each is a file whose chosen features are runs.
    """
    saved_paths = [run.path for _, run in runs if isinstance(run, SavedResult) for _ in run.runs]
    expected = [
        _expected_runs(
            label, run, path_of(run, label or f"run{position}"), options if has_features else None, saved_paths
        )
        for position, ((label, run), has_features) in enumerate(zip(runs, are_features, strict=True), 1)
    ]
    chosen = iter(run_names(chain.from_iterable(expected)))
    return [{path: next(chosen) for _, path, _ in of_run} for of_run in expected]


_Expected = tuple[str | None, str, str | None]  # the label of a run, its path, and its short name


def _expected_runs(
    label: str | None, run: Any, path: str, of_features: Options | None, saved_paths: Sequence[str]
) -> list[_Expected]:
    """of_features: the options where features of the file are runs. saved_paths: of each run of the saved
    results.
    """
    if isinstance(run, FailedRun):
        return []
    if isinstance(run, SavedResult):
        return _saved_runs(label, run, path, is_alone=saved_paths.count(path) < 2)
    if of_features is not None:
        return [load.feature_names(path, feature, label, of_features) for feature in of_features.features]
    has_path = load.is_path(run) or (isinstance(run, RunTable) and run.path is not None)
    return [(label if has_path else path, path, None)]


def _saved_runs(label: str | None, saved: SavedResult, path: str, *, is_alone: bool) -> list[_Expected]:
    """is_alone: whether it is the only run with this path."""
    names = [run.name for run in saved.runs]
    is_one = len(names) == 1
    return [
        (
            f"{label}:{name}" if label and not is_one else label or None,
            path if is_alone else f"{path}:{name}",
            name,
        )
        for name in names
    ]


def check_labels(runs: Sequence[LabelledRun]) -> None:
    """Raise OptionError where two runs have the same label."""
    first: dict[str, Any] = {}
    for label, run in runs:
        if label is not None and label in first:
            paths = [path_of(path, "") for path in (first[label], run) if load.is_path(path)]
            both = f": {paths[0]} and {paths[1]}" if len(paths) == 2 else ""
            raise OptionError(f"two runs have the label {named(label)}{both}")
        if label is not None:
            first[label] = run


def path_of(run: Any, name: str) -> str:
    """The path in Results.failed of a run that cannot be read; the name if it has none."""
    if isinstance(run, (RunTable, SavedResult)):
        return run.path or name
    try:
        return load.source_of(run).name if load.is_path(run) else name
    except InputError as error:
        return error.path


def with_saved(qrels: Any, runs: Runs, *, stay_open: bool = False) -> tuple[Any, Runs]:
    """The qrels and the runs, with each file of saved results read as a SavedResult, or a FailedRun if damaged.
    Other files may come back as Sources, since a pipe that was looked at cannot be opened again. stay_open:
    whether runs are read twice, and so are not closed before the first time. Raises InputError where the qrels
    are a saved result.
    """
    if isinstance(qrels, Results):
        hint = "Give the qrels first, or the results alone, as in gradeval.compare(results, metrics='AP')"
        raise InputError("qrels", "results given as the qrels", hint=hint)
    qrels = _opened(qrels)
    runs = [(label, _opened(run, qrels)) for label, run in runs]
    of_runs = [run for _, run in runs]
    with kept_open(of_runs if stay_open else ()):
        may_be_saved = [_may_be_saved(data) for data in (qrels, *of_runs)]
    if not any(may_be_saved):
        return qrels, runs
    from gradeval.evaluation.saved import look_for_saved

    return look_for_saved(qrels, runs)


def _opened(data: Any, qrels: Any = None) -> Any:
    """The Source of a path; other data as they are, and the path of the qrels, which may be a pipe."""
    with suppress(InputError):  # which the evaluation reports
        is_of_qrels = isinstance(qrels, Source) and load.is_file(data, qrels.name)
        return load.source_of(data) if load.is_path(data) and not is_of_qrels else data
    return data


def _may_be_saved(data: Any) -> bool:
    """Whether a file begins as JSON objects do."""
    with suppress(InputError):
        return isinstance(data, Source) and data.head.lstrip()[:1] == b"{"
    return False
