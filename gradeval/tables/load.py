"""Qrels and runs from files of any format, or from Python data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from gradeval.arrays.threads import default_jobs, ordered_map, with_fewer
from gradeval.errors import InputError, OptionError, described
from gradeval.formats.columns import Columns, Table
from gradeval.formats.detect import ROLES, format_of, kind_of, reader
from gradeval.formats.diagnostics import Problems, no_data
from gradeval.formats.memory import (
    DOCUMENT,
    QUERY,
    ROWS,
    Data,
    Nested,
    Three,
    Tuples,
    array_values,
    is_frame,
    readable,
    refuse_ranx,
)
from gradeval.formats.sources import Source
from gradeval.formats.trec import ranked_table, trec_eval_table
from gradeval.options import DEFAULT_TIES, LETOR_TIES, OF_QRELS, OF_RUN, Options, check_known
from gradeval.tables.qrels import Qrels
from gradeval.tables.reduction import Reduced, reduce_blocks, reduce_columns

_Block = TypeVar("_Block")
_DEFAULTS = Options()

if TYPE_CHECKING:
    from gradeval.formats.letor import Letor


Filter = Callable[[Columns], Columns]


class Given(NamedTuple):
    """The judgments, and what runs may need: the file they are from, its format, and its lines if it is a LETOR
    file.
    """

    qrels: Qrels
    source: Source | None = None
    kind: str = ""
    letor: Letor | None = None

    def __repr__(self) -> str:
        queries, judgments = len(self.qrels.queries), len(self.qrels.grade)
        return f"Given(path={self.qrels.path!r}, queries={queries:,}, judgments={judgments:,})"


@dataclass(frozen=True, eq=False)
class RunTable:
    """A run that is in memory, for any judgments. path: of its file, None where it is from other data.
    ties: the default rule for its tied scores."""

    path: str | None
    columns: Columns
    ties: str = DEFAULT_TIES

    def __repr__(self) -> str:
        return f"RunTable(path={self.path!r}, rows={len(self.columns.value):,})"


@dataclass(frozen=True)
class Whole:
    """Rows that were read at once, as a source of one block."""

    name: str
    rows: Columns
    stored_size: int = 0
    expected_size: int = 1 << 20

    def blocks(self) -> Iterator[Columns]:
        yield self.rows


@dataclass(frozen=True)
class File:
    """A file as a table, for those who do not score it.

    role: 'qrels' or 'run'. kind: its format. name: of the run, where the file holds several. letor: its lines,
    if it is a LETOR file that the qrels are.
    """

    source: Source
    role: str
    kind: str
    table: Table
    name: str = ""
    letor: Letor | None = None


class Run(NamedTuple):
    """A run that can be reduced to the judgments.

    path: its name in messages. reduce: (qrels, ties, jobs) -> Reduced. rows: (filter of blocks, jobs) -> the
    rows that it keeps, from one pass over the run. source: its file, if it has one. name: its label, None for
    a name made from short_name, or from the path. ties: the default rule for its tied scores.
    """

    path: str
    reduce: Callable[[Qrels, str, int], Reduced]
    rows: Callable[[Filter, int], Columns]
    source: Source | None = None
    name: str | None = None
    ties: str = DEFAULT_TIES
    short_name: str | None = None

    def sha256(self) -> str | None:
        """The SHA-256 of its file, None without one."""
        return self.source.sha256() if self.source else None


def read_qrels(qrels: Any, **options: Any) -> Given:
    """Read judgments once, for several calls of evaluate().

    qrels: what evaluate() takes. options: qrels_format, qrels_feature, groups, columns and jobs of
    options.Options; and features, those of a LETOR file that are runs.
    Raises GradevalError: InputError for data, OptionError for options.
    """
    chosen = _chosen(options, Options.names(within=OF_QRELS))
    return open_qrels(qrels, chosen, chosen.jobs or default_jobs(), None, True)


def _chosen(options: Mapping[str, Any], names: tuple[str, ...]) -> Options:
    """The options, of which there are those with these names."""
    check_known(options, names)
    return Options.of(**options)


def read_run(run: Any, **options: Any) -> RunTable:
    """Read a run once, for several calls of evaluate(), whatever the judgments.

    run: a path, {query: {document: score}}, tuples (query, document, score), or a data frame. options:
    run_format, groups, columns, split, ignore_identical_ids and jobs of options.Options; and features, one, of
    a LETOR file.
    Raises GradevalError: InputError for data, OptionError for options.
    """
    chosen = _chosen(options, Options.names(within=OF_RUN))
    jobs = chosen.jobs or default_jobs()
    if isinstance(run, RunTable):
        return run
    if not is_path(run):
        data = open_data(run, "run", "score", chosen)
        table = _evaluated(Table(data, data.columns), chosen)
        return RunTable(None, _joined(table, 1 if data.is_small else jobs))
    source = source_of(run)
    kind = kind_of(source, "score", chosen)
    if of_letor := format_of(kind).of_letor:
        hint = "Give its path to evaluate(), with the LETOR file as qrels"
        raise InputError(source.name, f"{of_letor} require the lines of a LETOR file", hint=hint)
    if kind == "letor" and len(chosen.features) != 1:
        raise OptionError(f"features must be the one feature of {source.name} that is the run")
    [file] = open_file(source, "run", chosen)
    if kind != "letor":
        return RunTable(source.name, _joined(file.table, jobs, "run"), format_of(kind).ties)
    columns = file.table.columns(next(file.table.source.blocks()))
    return RunTable(f"{source.name}:{file.name}", columns, LETOR_TIES)


def _evaluated(table: Table, options: Options) -> Table:
    """A run with the rows that are evaluated."""
    if not options.ignore_identical_ids:
        return table
    return Table(table.source, lambda block: table.columns(block).without_identical_ids(), table.names)


def _whole(name: str, rows: Columns, options: Options | None = None) -> Table:
    """Rows as a table of one block. options: of a run, of which some may not be evaluated."""
    table = Table(Whole(name, rows), lambda rows: rows)
    return table if options is None else _evaluated(table, options)


def _table(
    source: Source,
    role: str,
    kind: str,
    options: Options,
    letor: Letor | None = None,
    problems: Problems | None = None,
) -> Table:
    """The rows of a file of any format but LETOR. letor, problems: those of open_file()."""
    if of_letor := format_of(kind).of_letor:
        if letor is None:
            what = f"{of_letor} need the LETOR file whose lines they are of"
            raise InputError(source.name, what, hint="Give it as qrels")
        return _whole(source.name, reader(kind)(source, letor, problems), options)
    table: Table = reader(kind)(source, ROLES[role], options)
    return table if role == "qrels" else _evaluated(table, options)


def _joined(table: Table, jobs: int, role: str = "") -> Columns:
    """All rows of a source. role: that of Problems. Raises InputError(s)."""

    def read(jobs: int) -> Columns:
        problems = Problems(table.source.name, role)
        blocks = ordered_map(table.columns, table.source.blocks(), jobs)
        parts = [part for _, part in problems.until_enough(blocks)]
        problems.check()
        return Columns.joined(parts)

    return with_fewer(read, jobs)


def open_qrels(
    qrels: Any,
    options: Options,
    jobs: int = 1,
    watch: Callable[[Source], None] | None = None,
    with_features: bool = False,
) -> Given:
    """The judgments. A LETOR file's labels are the grades, or one of its features.

    watch: is shown each source before it is read. with_features: also read the features that are runs.
    """
    if isinstance(qrels, Given):
        return qrels
    if not is_path(qrels):
        data = open_data(qrels, "qrels", "grade", options)
        if not data.rows:
            raise InputError(data.name, "no judgments given")
        table = Table(data, lambda block: data.columns(block).light())
        return Given(_qrels_of(table, 1 if data.is_small else jobs))
    source = _source(qrels, watch)
    kind = kind_of(source, "grade", options)
    check_letor_options(source, "qrels", kind, options)
    if kind != "letor":
        return Given(read_qrels_file(source, jobs, kind, options), source, kind)
    letor, table = _letor_qrels(source, options, jobs, with_features)
    return Given(_qrels_of(table, jobs), source, kind, letor)


def _letor_qrels(
    source: Source, options: Options, jobs: int, with_features: bool, problems: Problems | None = None
) -> tuple[Letor, Table]:
    """The lines of a LETOR file, and its labels, or one of its features, as grades."""
    feature = options.qrels_feature
    wanted = (*(options.features if with_features else ()), *(() if feature is None else (feature,)))
    letor = _read_letor(source, wanted, options, jobs, problems)
    grade = letor.label if feature is None else letor.feature(feature)
    return letor, _whole(source.name, letor.columns(grade))


def open_file(
    source: Source,
    role: str,
    options: Options,
    letor: Letor | None = None,
    problems: Problems | None = None,
    with_ranks: bool = False,
) -> list[File]:
    """The qrels, or the run, or a run for each of the chosen features of a LETOR file.

    letor: of the qrels, for runs that need its lines. problems: what collects those of files that are read at
    once. with_ranks: the rows of a run have its rank column, where the format has one. Raises InputError(s).
    """
    kind = kind_of(source, ROLES[role], options)
    check_letor_options(source, role, kind, options)
    if kind != "letor":
        if with_ranks and role == "run" and kind == "trec":
            return [File(source, role, kind, _evaluated(ranked_table(source), options))]
        return [File(source, role, kind, _table(source, role, kind, options, letor, problems))]
    jobs = options.jobs or default_jobs()
    if role == "qrels":
        letor, table = _letor_qrels(source, options, jobs, True, problems)
        return [File(source, role, kind, table, letor=letor)]
    letor = _read_letor(source, options.features, options, jobs, problems)
    return [
        File(source, role, kind, _feature_table(letor, feature, options), f"feature{feature}")
        for feature in options.features
    ]


def check_letor_options(source: Source, role: str, kind: str, options: Options) -> None:
    """Raise InputError or OptionError for options of LETOR files that are given for another, or missing."""
    if role == "run" and (kind == "letor") != bool(options.features):
        if kind == "letor":
            hint = "Choose what ranks its documents with --feature, such as --feature 1 or --feature 1-5,9"
            raise InputError(source.name, "this is a LETOR file", hint=hint)
        hint = "--feature requires LETOR files"
        if kind == "scores":
            hint += "; if each line is a label, give --run-format letor"
        raise InputError(source.name, "this is not a LETOR file", hint=hint)
    if role == "qrels" and kind != "letor":
        for option, value in (("--qrels-feature", options.qrels_feature), ("--groups", options.groups)):
            if value is not None:
                raise OptionError(f"{option} requires a LETOR file as qrels, but {source.name} is not one")


def read_qrels_file(source: Source, jobs: int = 1, kind: str = "trec", options: Options = _DEFAULTS) -> Qrels:
    """The judgments of a file with one per row. kind: its format. Raises InputError(s)."""
    return _qrels_of(_table(source, "qrels", kind, options), jobs)


def _qrels_of(table: Table, jobs: int) -> Qrels:
    source, columns, _ = table
    return with_fewer(
        lambda jobs: Qrels.of(source.name, ordered_map(columns, source.blocks(), jobs), jobs), jobs
    )


def open_runs(
    name: str | None,
    run: Any,
    given: Given,
    options: Options,
    watch: Callable[[Source], None] | None = None,
    position: int = 1,
    as_trec_eval: bool = False,
) -> list[Run | InputError]:
    """The run, or a run for each chosen feature of a LETOR file.

    position: among the runs, from 1. as_trec_eval: whether the lines of a TREC run are read as trec_eval does.
    """
    if isinstance(run, RunTable):
        path = run.path or name or f"run{position}"
        table = _whole(path, run.columns, options)
        return [_run(lambda: table, path, None, name if run.path else path, run.ties)]
    if not is_path(run):
        name = name or f"run{position}"
        return [run_of_data(open_data(run, name, "score", options), name, options)]
    own = given.source if given.source is not None and is_file(run, given.source.name) else None
    kind = options.run_format
    if own is not None:  # features of the qrels file itself, which may be a pipe
        kind = kind or given.kind
    source = own if own is not None and kind == "letor" else _source(run, watch)
    kind = kind or kind_of(source, "score", options)
    check_letor_options(source, "run", kind, options)
    if kind == "letor":
        letor = given.letor if own is not None else None
        if letor is None:
            letor = _read_letor(source, options.features, options, options.jobs or default_jobs())
        return _feature_runs(source, letor, options, name)

    def opened() -> Table:
        if as_trec_eval:
            return _evaluated(trec_eval_table(source), options)
        if (of_letor := format_of(kind).of_letor) and given.letor is None:
            what = f"{of_letor} need a LETOR file as qrels, but {given.qrels.path} is not one"
            raise InputError(source.name, what, hint="Give the LETOR file as qrels")
        return _table(source, "run", kind, options, given.letor)

    return [_run(opened, source.name, source, name, format_of(kind).ties)]


def _run(
    opened: Callable[[], Table],
    path: str,
    source: Source | None,
    name: str | None,
    ties: str = DEFAULT_TIES,
    short_name: str | None = None,
) -> Run:
    """opened: begins to read the run. The others are those of Run."""
    file = path if source is None else source.name

    def reduce(qrels: Qrels, ties: str, jobs: int) -> Reduced:
        table = opened()
        if isinstance(table.source, Whole):
            return reduce_columns(table.columns(table.source.rows), qrels, ties, file)
        return with_fewer(lambda jobs: reduce_blocks(table.source, table.columns, qrels, ties, jobs), jobs)

    def rows(keep: Filter, jobs: int) -> Columns:
        table = opened()
        if not isinstance(table.source, Whole):
            return _rows(table, keep, jobs)
        whole, problems = table.columns(table.source.rows), Problems(file)
        problems.add(whole.problems)
        problems.check()
        return keep(whole)

    return Run(path, reduce, rows, source, name, ties, short_name)


def default_ties(run: Any, given: Given, options: Options) -> str | None:
    """The default order of a run's tied scores, None where it cannot be read."""
    if isinstance(run, RunTable):
        return run.ties
    if not is_path(run):
        return DEFAULT_TIES
    try:
        source = source_of(run)
        is_qrels = given.source is not None and source.name == given.source.name
        kind = options.run_format or (given.kind if is_qrels else kind_of(source, "score", options))
        return format_of(kind).ties
    except InputError:
        return None


def _rows(table: Table, keep: Filter, jobs: int) -> Columns:
    """The rows that a filter keeps. Raises InputError(s)."""
    has_rows: list[bool] = []
    left_out: list[bool] = []

    def kept(block: Any) -> Columns:
        read = table.columns(block)
        if len(read.value):
            has_rows.append(True)
        if read.left_out:
            left_out.append(True)
        return keep(read)

    found = _joined(Table(table.source, kept), jobs, "run")
    if not has_rows:
        raise no_data(table.source.name, found.lines, bool(left_out))
    return found


def is_path(value: Any) -> bool:
    """Whether it names a file, or is the Source of one that was opened already."""
    return isinstance(value, (str, bytes, os.PathLike, Source))


def is_file(value: Any, name: str) -> bool:
    """Whether it is the path of the file with this name in messages."""
    return is_path(value) and source_of(value).name == name


def source_of(path: Any) -> Source:
    """The file of a path. Raises InputError for an object that is not a valid path."""
    if isinstance(path, Source):
        return path
    with readable(described(path)):
        os.fsencode(path)  # a string that cannot be a path fails here, not where the file is opened
        return Source(path)


def _source(path: Any, watch: Callable[[Source], None] | None) -> Source:
    source = source_of(path)
    if watch is not None:
        watch(source)
    return source


def _read_letor(
    source: Source, features: Iterable[int], options: Options, jobs: int, problems: Problems | None = None
) -> Letor:
    from gradeval.formats.letor import read_letor

    def read(jobs: int) -> Letor:
        return read_letor(source, set(features), options.groups, jobs, problems)

    return with_fewer(read, jobs) if problems is None else read(jobs)  # which would collect them twice


def _feature_table(letor: Letor, feature: int, options: Options) -> Table:
    return _whole(letor.path, letor.columns(letor.feature(feature)), options)


def _feature_runs(source: Source, letor: Letor, options: Options, label: str | None) -> list[Run | InputError]:
    """A run for each feature that the file has, and one error for the others."""

    def run(feature: int) -> Run:
        short, path, name = feature_names(source.name, feature, label, options)
        return _run(lambda: _feature_table(letor, feature, options), path, source, name, LETOR_TIES, short)

    runs: list[Run | InputError] = [run(feature) for feature in options.features if feature in letor.features]
    missing = [feature for feature in options.features if feature not in letor.features]
    return [*runs, letor.missing(missing)] if missing else runs


def feature_names(path: str, feature: int, label: str | None, options: Options) -> tuple[str, str, str | None]:
    """The short name, the path and the label of the run of a feature.

    label: that of the file: the label of a single feature, and the beginning of the labels of several.
    """
    short = f"feature{feature}"
    name = label if label is None or len(options.features) == 1 else f"{label}:{short}"
    return short, f"{path}:{short}", name


def open_data(data: Any, path: str, number: str, options: Options = _DEFAULTS) -> Data:
    """A dict of dicts, tuples (query, document, number), or a data frame.

    number: 'grade' or 'score', what the number is. path: what messages call the data. options: may name the
    columns of a frame. Raises InputError.
    """
    refuse_ranx(data, path)
    with readable(path, ROWS):
        if isinstance(data, Mapping):
            return Nested(path, data, number)
        is_table = is_frame(data)
    if is_table:
        with readable(path):
            from gradeval.formats.arrow import frame  # imported only when needed

            return frame(data, path, number, dict(options.columns))
    with readable(path, ROWS):
        if isinstance(data, np.ndarray) and data.dtype.names and len(data.dtype.names) >= 3:
            labels = (QUERY, DOCUMENT, number)
            return Three(path, [array_values(data[field]) for field in data.dtype.names[:3]], labels)
        return Tuples(path, list(data), number)


def run_of_data(data: Data, name: str, options: Options = _DEFAULTS) -> Run:
    def opened() -> Table:
        if data.is_small:
            return _whole(data.name, data.whole(), options)
        return _evaluated(Table(data, data.columns), options)

    return _run(opened, data.name, None, name)
