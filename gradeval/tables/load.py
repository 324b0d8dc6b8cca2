"""Qrels and runs from files of any format, or from Python data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays.strings import Ids, Texts
from gradeval.arrays.threads import default_jobs, with_fewer
from gradeval.errors import (
    GradevalError,
    InputError,
    OptionError,
    UnsuitableOptionError,
    described,
    first_names,
    named,
    readable,
)
from gradeval.file_formats import LabelledRun, run_names
from gradeval.formats.columns import EXCLUDED, BlockTable, Columns
from gradeval.formats.detect import ROLES, kind_of
from gradeval.formats.diagnostics import Problems, no_data
from gradeval.formats.format import format_of
from gradeval.formats.sources import Source, kept_open
from gradeval.formats.trec import run_columns
from gradeval.options import ALL_FEATURES, DEFAULT_TIES, LETOR_TIES, OF_QRELS, OF_SCORES, Options
from gradeval.records import Record
from gradeval.tables.excluded import excluded, with_excluded
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import EACH, Collapse, Wanted
from gradeval.tables.reduction import AnyTotal, Reduced, Total, collect, collect_columns

if TYPE_CHECKING:
    from gradeval.formats.letor import Letor
    from gradeval.formats.memory import Data, Nested
_DEFAULTS = Options()
_NO_IDS = Ids.of([])
_SHOWN = 20  # columns that an error names
# what has the column of a role, if only one of both does
_OWNERS = {"grade": "qrels", "subtopic": "qrels", **dict.fromkeys(OF_SCORES, "run")}


class OpenedQrels(Record):
    """The judgments as read and as evaluated, their file, its format, and its lines if it is a LETOR file."""

    as_read: Qrels
    qrels: Qrels
    source: Source | None = None
    kind: str = ""
    letor: Letor | None = None
    read_with: Mapping[str, Any] = {}  # as of Options.of_reading()

    def __repr__(self) -> str:
        queries, judgments = len(self.qrels.queries), len(self.qrels.grade)
        return f"OpenedQrels(path={self.qrels.path!r}, queries={queries:,}, judgments={judgments:,})"


_NO_JUDGMENTS = Qrels("", _NO_IDS, np.zeros(1, np.int64), _NO_IDS, np.empty(0))
NOTHING_JUDGED = OpenedQrels(_NO_JUDGMENTS, _NO_JUDGMENTS)


class RunTable(Record, eq=False):
    """A run in memory."""

    path: str | None  # of its file, if any
    columns: Columns
    ties: str = DEFAULT_TIES  # the default rule
    collapse: Collapse = EACH  # rows of one document
    read_with: Mapping[str, Any] = {}  # as of Options.of_reading()
    excluded: Any = None  # as Options.exclude

    def __repr__(self) -> str:
        return f"RunTable(path={self.path!r}, rows={len(self.columns.value):,})"


class TableFile(Record, eq=False):
    """A file as a table."""

    source: Source
    role: str  # 'qrels' or 'run'
    kind: str
    table: BlockTable
    name: str = ""  # of one of several runs
    letor: Letor | None = None  # lines of LETOR qrels


class Run(Record, eq=False):
    """A run that can be reduced to the judgments."""

    path: str  # its name in messages
    opened: Callable[[], BlockTable]  # begins to read it
    ties: str
    source: Source | None = None
    name: str | None = None  # its label, None for one made from short_name, or from the path
    short_name: str | None = None
    nested: Nested | None = None  # all of it, if it is dicts
    collapse: Collapse = EACH
    read_with: Mapping[str, Any] = {}  # of a RunTable

    def reduce(self, qrels: Qrels, jobs: int, wanted: Wanted | None = None) -> Reduced:
        """The ranks of the judged documents, and unjudged documents that are wanted. Raises InputError(s)."""
        if self.nested is not None and not self.collapse and wanted is None and qrels.assumed is None:
            from gradeval.tables.lookup import looked_up  # imported only when needed

            if reduced := looked_up(self.nested, qrels, self.ties):
                return reduced
        return self.collect(lambda ties: Total(qrels, ties, self.collapse, wanted), jobs).reduced()

    def collect(self, begin: Callable[[str], AnyTotal], jobs: int) -> AnyTotal:
        """All lines, as a total takes them. begin: makes it, by the order of ties, and again for a second pass.
        Raises InputError(s).
        """
        table = self.opened()
        if table.is_whole:
            return collect_columns(_rows(table), begin, self.ties, table.name)

        def read(jobs: int) -> AnyTotal:
            return collect(table, lambda: (begin(self.ties), Problems(table.name)), jobs)

        return with_fewer(read, jobs)

    def rows(self, keep: Callable[[Columns], Columns], jobs: int) -> Columns:
        """The rows that a filter of blocks keeps, from one pass over the run. Raises InputError(s)."""
        table = self.opened()
        has_rows = table.is_whole

        def kept(block: Any) -> Columns:
            nonlocal has_rows
            columns = table.columns(block)
            has_rows = has_rows or len(columns.value) > 0
            return keep(columns)

        columns = joined(table.replace(columns=kept), jobs)
        if not has_rows:
            raise no_data(table.name, columns.lines, columns.left_out)
        return columns


def _evaluated(table: BlockTable, options: Options) -> BlockTable:
    """A run with the rows that are evaluated."""
    table = _without_excluded(table, options)
    if not options.ignore_identical_ids:
        return table
    delimiter = options.delimiter
    return table.replace(columns=lambda block: table.columns(block).without_identical_ids(delimiter))


def _without_excluded(table: BlockTable, options: Options) -> BlockTable:
    """Qrels or a run without the documents that are excluded."""
    pairs = excluded(options)
    if pairs is None:
        return table
    delimiter = options.delimiter
    return table.replace(columns=lambda block: table.columns(block).without_pairs(pairs, delimiter))


def _whole(name: str, rows: Columns, options: Options | None = None) -> BlockTable:
    """Rows as a table of one block. options: of a run, of which some may not be evaluated."""
    table = BlockTable(name, lambda: iter([rows]), lambda rows: rows, is_whole=True)
    return table if options is None else _evaluated(table, options)


def _rows(table: BlockTable) -> Columns:
    [block] = table.blocks()
    return table.columns(block)


def _of_data(data: Data) -> BlockTable:
    return BlockTable(data.name, data.blocks, data.columns, expected_size=data.expected_size)


def _table(
    source: Source,
    role: str,
    kind: str,
    options: Options,
    letor: Letor | None = None,
    problems: Problems | None = None,
    with_ranks: bool = False,
) -> BlockTable:
    """The rows of a file of any format but LETOR. The others are as in open_file()."""
    format = format_of(kind)
    if format.of_letor:
        if letor is None:
            message = f"{format.of_letor} need the LETOR file whose lines they are of"
            raise InputError(source.name, message, hint="Give it as qrels")
        return _whole(source.name, format.read(source, letor, problems), options)
    table: BlockTable = format.read(source, ROLES[role], options)
    if with_ranks and table.ranked is not None:
        table = table.replace(columns=table.ranked)
    return (_without_excluded if role == "qrels" else _evaluated)(table, options)


def joined(table: BlockTable, jobs: int) -> Columns:
    """All rows of a source. Raises InputError(s)."""
    if table.is_whole:
        rows = _rows(table)
        rows.problems.check(table.name)
        return rows

    def read(jobs: int) -> Columns:
        problems = Problems(table.name)
        parts = [part for _, part in problems.until_enough(table.read(jobs))]
        problems.check()
        return Columns.joined(parts)

    return with_fewer(read, jobs)


def open_qrels(qrels: Any, options: Options, hashes: bool = False, name: str = "qrels") -> OpenedQrels:
    """The judgments. hashes: whether the SHA-256 of the file is found while it is read. name: of data in
    memory, in messages.
    """
    if isinstance(qrels, OpenedQrels):
        _check_read(qrels, options)
        return qrels.replace(qrels=_counted(qrels.as_read, options))
    jobs = options.jobs or default_jobs()
    read_with = options.of_reading(OF_QRELS)
    qrels = as_file(qrels, name)
    if is_path(qrels) and is_irds(path := source_of(qrels).name):
        from gradeval.formats.irds import judgments

        name, qrels = path, judgments(path)
    if is_path(qrels):
        [file] = open_file(_source(qrels, hashes), "qrels", options.replace(exclude=None))
        as_read = _judgments(file.table, jobs, options.merge)
        return OpenedQrels(as_read, _counted(as_read, options), file.source, file.kind, file.letor, read_with)
    from gradeval.formats.memory import Nested, are_texts  # imported only when needed

    data = open_data(qrels, name, "grade", options)
    data.unlabelled = options.unlabelled
    if not data.rows:
        raise InputError(data.name, "no judgments given")
    rows = _of_data(data).replace(columns=lambda block: data.columns(block).light())
    as_read = _judgments(rows, 1 if data.is_small else jobs, options.merge)
    if isinstance(data, Nested) and are_texts([data.queries, *data.documents]):
        names = [*chain.from_iterable(data.documents)]
        # rows as in the dicts
        if len(as_read.queries) == len(data.queries) and len(as_read.grade) == len(names):
            as_read.__dict__["names"] = Texts(as_read.documents, names)  # which need not be decoded then
    return OpenedQrels(as_read, _counted(as_read, options), read_with=read_with)


def _check_read(judged: OpenedQrels, options: Options) -> None:
    """Raise OptionError for an option of reading with which the judgments were not read."""
    read, wanted = map(_of_judgments, (judged.read_with, options.of_reading(OF_QRELS)))
    for name, value in wanted.items():
        if value and value != read.get(name):
            message = f"{name} differs from that of read_qrels(), which read the judgments"
            raise OptionError(f"{message}. Give it there")


def _of_judgments(read_with: Mapping[str, Any]) -> dict[str, Any]:
    """What qrels were read with, without the columns that a run may have too."""
    columns = [pair for pair in read_with.get("columns", ()) if _OWNERS.get(pair[0]) == "qrels"]
    return {**read_with, "columns": columns}


def _counted(qrels: Qrels, options: Options) -> Qrels:
    """The judgments that count. Raises InputError where none is left."""
    counted = qrels.evaluated(options, excluded(options))
    if not len(counted.grade):
        raise no_data(qrels.path, 0, EXCLUDED)
    return counted


def judgment_columns(qrels: Any, options: Options) -> BlockTable:
    """The rows of judgments, of a file or of data, before they are checked. Raises InputError(s)."""
    if is_path(qrels):
        [file] = open_file(source_of(qrels), "qrels", options)
        return file.table
    return _of_data(open_data(qrels, "qrels", "grade", options))


def _judgments(table: BlockTable, jobs: int, merge: str | None) -> Qrels:
    return with_fewer(lambda jobs: Qrels.of(table.name, table.read(jobs), jobs, merge), jobs)


def open_file(
    source: Source,
    role: str,
    options: Options,
    letor: Letor | None = None,
    problems: Problems | None = None,
    with_ranks: bool = False,
) -> list[TableFile]:
    """The qrels, or the run, or a run for each of the chosen features of a LETOR file. letor: of the qrels, for
    runs that need its lines. problems: collects those of files that are read at once. with_ranks: the rows of a
    run have its rank column, where the format has one. Raises InputError(s).
    """
    kind = kind_of(source, ROLES[role], options)
    check_letor_options(source, role, kind, options)
    if kind != "letor":
        table = _table(source, role, kind, options, letor, problems=problems, with_ranks=with_ranks)
        return [TableFile(source, role, kind, table)]
    feature = options.qrels_feature if role == "qrels" else None
    features = options.features if feature is None else (*options.features, feature)
    letor = _read_letor(source, features, options, problems)
    if role == "qrels":
        grade = letor.label if feature is None else letor.feature(feature)
        table = _without_excluded(_whole(source.name, letor.columns(grade)), options)
        return [TableFile(source, role, kind, table, letor=letor)]
    return [
        TableFile(source, role, kind, _feature_table(letor, feature, options), f"feature{feature}")
        for feature in options.features
    ]


def with_all_features(options: Options, judged: OpenedQrels) -> Options:
    """The options, with the features of the qrels where all are chosen. Raises OptionError."""
    if options.features != ALL_FEATURES:
        return options
    if judged.letor is None:
        raise OptionError(f"--feature all requires a LETOR file as qrels, but {judged.qrels.path} is not one")
    return options.replace(features=tuple(sorted(judged.letor.features)))


def are_features(run: Any, judged: OpenedQrels, options: Options) -> bool:
    """Whether the run is a LETOR file, of which the chosen features are runs."""
    if not options.features or not is_path(run):
        return False
    try:
        return _source_and_format(run, judged, options, hashes=False)[1] == "letor"
    except GradevalError:  # which opening it reports
        return True


def with_feature_runs(
    runs: Sequence[LabelledRun], judged: OpenedQrels, options: Options
) -> Sequence[LabelledRun]:
    """The (label, run) pairs; where features are chosen and no run is a LETOR file, those of the qrels too."""
    if not options.features or judged.letor is None:
        return runs
    has_features = any(are_features(run, judged, options) for _, run in runs)
    return runs if has_features else [*runs, (None, judged.source)]


def check_letor_options(
    source: Source, role: str, kind: str, options: Options, letor: Letor | None = None
) -> None:
    """Raise InputError or OptionError for options of LETOR files that are given for another, or missing. letor:
    the qrels, whose features may be runs beside this one.
    """
    if role == "run" and kind != "letor" and letor is not None:
        return
    if role == "run" and (kind == "letor") != bool(options.features):
        if kind == "letor":
            hint = "Choose what ranks its documents, such as --feature 1-5,9 (in Python features=[1])"
            raise InputError(source.name, "this is a LETOR file", hint=hint)
        hint = "--feature requires LETOR files"
        if kind == "scores":
            hint += "; if each line is a label, give --run-format letor"
        raise InputError(source.name, "this is not a LETOR file", hint=hint)
    if role == "qrels" and kind != "letor":
        for option, name in (("--qrels-feature", "qrels_feature"), ("--groups", "groups")):
            if getattr(options, name) is not None:
                message = f"requires a LETOR file as qrels, but {source.name} is not one"
                raise UnsuitableOptionError(name, f"{option} {message}", f"{name} {message}")


def open_runs(
    name: str | None,
    run: Any,
    judged: OpenedQrels,
    options: Options,
    hashes: bool = False,
    position: int = 1,
    as_trec_eval: bool = False,
) -> list[Run | InputError]:
    """The run, or a run for each chosen feature of a LETOR file, and one error for the features that it lacks.
    position: among the runs. as_trec_eval: whether the lines of a TREC run are read as trec_eval does.
    """
    if isinstance(run, RunTable):
        if judged is not NOTHING_JUDGED:
            _check_excluded(run, options)
        return [_run_of_table(run, name, options, position)]
    run = as_file(run, name or f"run{position}")
    if not is_path(run):
        name = name or f"run{position}"
        return [run_of_data(open_data(run, name, "score", options), name, options)]
    source, kind = _source_and_format(run, judged, options, hashes)
    check_letor_options(source, "run", kind, options, judged.letor)
    if kind == "letor":
        known_letor = judged.letor if source is judged.source else None
        letor = known_letor or _read_letor(source, options.features, options)
        return _runs_of_features(letor, source, name, options)
    opened = partial(_table, source, "run", kind, options, letor=judged.letor)
    if as_trec_eval and kind == "trec":
        opened = partial(_evaluated, BlockTable.of(source, partial(run_columns, as_trec_eval=True)), options)
    ties = options.ties or format_of(kind).ties
    return [Run(source.name, opened, ties, source, name, collapse=Collapse.of(options))]


def _source_and_format(run: Any, judged: OpenedQrels, options: Options, hashes: bool) -> tuple[Source, str]:
    """The file of a run; for features of the qrels file, which may be a pipe, that of the qrels."""
    of_qrels = judged.source if judged.source is not None and is_file(run, judged.source.name) else None
    kind = options.run_format or (judged.kind if of_qrels else None)
    source = of_qrels if of_qrels and kind == "letor" else _source(run, hashes)
    return source, kind or kind_of(source, "score", options)


def _check_excluded(run: RunTable, options: Options) -> None:
    """Raise OptionError where documents were removed from the run that the judgments have."""
    if run.excluded not in (None, with_excluded(options).exclude):
        reason = "exclude: read_run() removed documents from the run alone"
        raise OptionError(f"{reason}. Give it to evaluate() too")


def _run_of_table(run: RunTable, name: str | None, options: Options, position: int) -> Run:
    path = run.path or name or f"run{position}"
    return Run(
        path,
        lambda: _whole(path, run.columns, options),
        options.ties or run.ties,
        name=name if run.path else path,
        collapse=Collapse.of(options).joined(run.collapse),
        read_with=run.read_with,
    )


def _runs_of_features(
    letor: Letor, source: Source, name: str | None, options: Options
) -> list[Run | InputError]:
    """A run for each of the chosen features, and one error for those that no line has. name: of the file."""
    runs: list[Run | InputError] = []
    for feature in filter(letor.features.__contains__, options.features):
        label, path, short = feature_names(source.name, feature, name, options)
        opened = partial(_feature_table, letor, feature, options)
        ties = options.ties or LETOR_TIES
        run = Run(path, opened, ties, source, label, short_name=short, collapse=Collapse.of(options))
        runs.append(run)
    missing = [feature for feature in options.features if feature not in letor.features]
    return [*runs, letor.missing(missing)] if missing else runs


def open_all(
    runs: Iterable[LabelledRun], judged: OpenedQrels, options: Options, *, first: int = 1
) -> list[Run]:
    """The runs of (name, run) pairs. first: the position of the first of them, which may name it. Raises
    InputError for the first that cannot be opened.
    """
    opened = []
    for position, (name, run) in enumerate(runs, first):
        for opened_run in open_runs(name, run, judged, options, position=position):
            if isinstance(opened_run, InputError):
                raise opened_run
            opened.append(opened_run)
    return opened


def open_inputs(qrels: Any, runs: Sequence[LabelledRun], options: Options) -> tuple[OpenedQrels, list[Run]]:
    """The qrels, in which nothing is judged where there are none, and the runs. Raises GradevalError."""
    check_inputs(inputs_of([] if qrels is None else [qrels], runs), options)
    judged = NOTHING_JUDGED if qrels is None else open_qrels(qrels, options)
    return judged, open_all(runs, judged, options)


def names_of(runs: Iterable[Run]) -> list[str]:
    """The names of runs in tables, all different."""
    return run_names((run.name, run.path, run.short_name) for run in runs)


def is_path(value: Any) -> bool:
    """Whether it names a file, or is the Source of one that was opened already."""
    return isinstance(value, (str, bytes, os.PathLike, Source))


def as_file(data: Any, name: str) -> Any:
    """What is read as a JSON file of it is, such as the response of a search engine, as this file."""
    if is_path(data):
        return data
    from gradeval.formats import shapes  # imported only when needed

    with readable(name):
        return shapes.as_file(data, name)


def names_responses(runs: Iterable[tuple[str | None, Any]], options: Options) -> bool:
    """Whether query ids name the responses of a run, of which some may be of queries that are not judged."""
    return options.query_ids is not None and any(_is_unnamed(run, options) for _, run in runs)


def check_ids_of_responses(runs: Iterable[Any], options: Options) -> None:
    """Raise OptionError for query ids that name no responses, where nothing is evaluated."""
    if options.query_ids is not None and not names_responses([(None, run) for run in runs], options):
        message = "query_ids are those of responses of search engines, which no file has without ids"
        raise OptionError(message, "query_ids")


def _is_unnamed(run: Any, options: Options) -> bool:
    with suppress(GradevalError):  # which reading it reports
        source = as_file(run, "run")
        if isinstance(source, Source) and kind_of(source, "score", options) == "responses":
            from gradeval.formats.responses import are_unnamed  # imported only when needed

            return are_unnamed(source)
    return False


def is_irds(path: str) -> bool:
    """Whether it names a data set of ir_datasets, as irds:beir/scifact/test does, and no file."""
    return path.startswith("irds:") and not os.path.lexists(path)


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


def with_sources(runs: Iterable[LabelledRun]) -> list[LabelledRun]:
    """(label, run) pairs with the Source of each path, whose head is read once, as is a pipe."""
    return [(label, source_of(run) if is_path(run) else run) for label, run in runs]


def to_be_read_twice(runs: Iterable[LabelledRun]) -> list[LabelledRun]:
    """with_sources() of which each stays open from its head until it was read once; iterators as lists."""
    opened = [(label, _to_be_read_again(run)) for label, run in with_sources(runs)]
    sources = [run for _, run in opened if isinstance(run, Source)]
    with kept_open(sources):
        for source in sources:
            with suppress(InputError):  # which reading it reports
                source.begins_with_mark()
    return opened


def _to_be_read_again(run: Any) -> Any:
    if is_path(run):
        return run
    from gradeval.formats import shapes  # imported only when needed

    with readable("run"):
        return shapes.as_list(run)


def stored_size(run: Any) -> int:
    """The bytes of a file, 0 where they are unknown."""
    with suppress(InputError):
        return source_of(run).stored_size if is_path(run) else 0
    return 0


def _source(path: Any, hashes: bool) -> Source:
    source = source_of(path)
    if hashes:
        source.hash_while_reading()
    return source


def _read_letor(
    source: Source, features: Iterable[int], options: Options, problems: Problems | None = None
) -> Letor:
    from gradeval.formats.letor import read_letor

    def read(jobs: int) -> Letor:
        chosen = set(features)
        wanted = None if chosen.issuperset(ALL_FEATURES) else chosen
        return read_letor(source, wanted, options.groups, jobs, problems)

    jobs = options.jobs or default_jobs()
    return with_fewer(read, jobs) if problems is None else read(jobs)  # which would collect them twice


def _feature_table(letor: Letor, feature: int, options: Options) -> BlockTable:
    return _whole(letor.path, letor.columns(letor.feature(feature)), options)


def feature_names(path: str, feature: int, label: str | None, options: Options) -> tuple[str | None, str, str]:
    """The label, the path and the short name of the run of a feature. label: that of the file."""
    short = f"feature{feature}"
    name = label if label is None or len(options.features) == 1 else f"{label}:{short}"
    return name, f"{path}:{short}", short


def _of_dicts(records: Sequence[Mapping[str, Any]], path: str, number: str, options: Options) -> Data:
    """Records, by the names of columns, as a data frame with these."""
    from gradeval.formats import arrow, memory

    def values(name: str) -> memory.ColumnValues:
        for line, record in enumerate(records, 1):
            if name not in record:
                raise InputError(path, f"the record has no {named(name)}", line=line)
        return memory.Objects([record[name] for record in records])

    names = [*dict.fromkeys(name for record in records for name in record)]
    return arrow.of_columns(names, values, path, number, dict(options.columns))


def open_data(data: Any, path: str, number: str, options: Options = _DEFAULTS) -> Data:
    """A dict of dicts, tuples or a data frame. path: its name in messages. number: 'grade' or 'score'."""
    from gradeval.formats import memory, shapes  # imported only when needed

    with readable(path, memory.ROWS):
        check_documents(data, path, number)
        if shapes.are_scores(data):
            return memory.Nested(path, data, number)
        data = data.to_dict() if memory.is_ranx(data) else shapes.plain(data, path, number)
        if (table := shapes.records_of(data, path)) is not None:
            return _of_dicts(table, path, number, options)
        if isinstance(data, Mapping):
            return memory.Nested(path, shapes.nested(data, path, number), number)
        is_table = memory.is_frame(data) and not isinstance(data, np.ndarray)
    if is_table:
        with readable(path):
            from gradeval.formats.arrow import frame

            return frame(data, path, number, dict(options.columns))
    with readable(path, memory.ROWS):
        check_rows(data, path, number)
        records = data if isinstance(data, np.ndarray) else list(data)
        names = field_names(records)
    if _are_known(names, options):
        return _of_records(records, names, path, number, options)
    with readable(path, memory.ROWS):
        if isinstance(records, np.ndarray) and len(names) in (3, 3 + (number == "grade")):
            places = _places(names) if len(names) == 4 else (0, 1, 2)
            columns = [memory.array_values(records[names[column]]) for column in places]
            return memory.Three(path, columns, (memory.QUERY, memory.DOCUMENT, number, memory.SUBTOPIC))
        rows = list(records)
        first = rows[0] if rows else ()
        if isinstance(first, Mapping):
            hint = "Give a list of dicts alone, or a data frame of them, such as pandas.DataFrame(rows)"
            raise InputError(path, "the first row is a dict, and not all are", hint=hint)
        has_subtopics = number == "grade" and isinstance(first, (tuple, list)) and len(first) == 4
        return memory.tuples(path, rows, number, _places(names) if has_subtopics else (0, 1, 2))


def schema_of(data: Any) -> str:
    """That of what to_dict() makes of results, '' of other data."""
    schema = data.get("schema") if isinstance(data, Mapping) else None
    return schema if isinstance(schema, str) and schema.startswith("gradeval/") else ""


def check_content(data: Any, path: str) -> None:
    """Raise InputError for what to_dict() makes of results."""
    if schema := schema_of(data):
        hint = "gradeval.load(dict) reads it" if schema.startswith("gradeval/results/") else ""
        raise InputError(path, f"this is a result as a dict ({schema}), neither qrels nor a run", hint=hint)


def check_documents(data: Any, path: str, number: str) -> None:
    """Raise InputError for results, and for a set of documents, which has no query."""
    check_content(data, path)
    role = "qrels" if number == "grade" else "run"
    if getattr(data, "_has_documents", None) is False:
        raise InputError(path, "results have no documents", hint=f"Give the {role} that they were made from")
    if isinstance(data, (set, frozenset)) and not all(isinstance(row, tuple) for row in data):
        hint = "Give " + ("{query: {document, …}}" if role == "qrels" else "{query: [document, …]}")
        raise InputError(path, f"{described(data)} is a set without a query", hint=hint)


def check_rows(data: Any, path: str, number: str) -> None:
    """Raise InputError for what has no rows, such as a number."""
    if hasattr(data, "__iter__") or (hasattr(data, "__getitem__") and not isinstance(data, np.generic)):
        return
    forms = f"{{query: {{document: {number}}}}} or (query, document, {number}) rows"
    fault = "are not qrels" if number == "grade" else "is not a run"
    raise InputError(path, f"{described(data)} {fault}", hint=f"Give a path, a data frame, {forms}")


def _places(names: Sequence[str]) -> list[int]:
    """Where rows of four have the query, the document, the grade and the subtopic, which is usually the second.
    names: of the fields, if they have some.
    """
    from gradeval.formats.csv import usual_columns  # imported only when needed

    subtopic = next(iter(usual_columns(names, "subtopic")), 1)
    return [*(column for column in range(4) if column != subtopic), subtopic]


def field_names(data: Any) -> Sequence[str]:
    """The names of the fields of a record array, or of a list of named tuples; else none."""
    if isinstance(data, np.ndarray):
        return data.dtype.names or ()
    first: Any = data[0] if isinstance(data, (list, tuple)) and data else ()
    is_named = isinstance(first, tuple) and hasattr(first, "_fields") and {*map(type, data)} == {type(first)}
    return first._fields if is_named else ()


def _are_known(names: Sequence[str], options: Options) -> bool:
    """Whether a name is the usual one, or the given one, of a column. Other records are read by position."""
    if not names:
        return False
    from gradeval.formats.csv import usual_columns  # imported only when needed

    is_given = any(column in names for _, column in options.columns)
    return is_given or any(usual_columns(names, role) for role in ("query", "document", "grade", *OF_SCORES))


def _of_records(data: Any, names: Sequence[str], path: str, number: str, options: Options) -> Data:
    """A record array, or named tuples, as a data frame with these columns."""
    from gradeval.formats import arrow, memory

    def values(name: str) -> memory.ColumnValues:
        if isinstance(data, np.ndarray):
            return memory.array_values(data[name])
        column = names.index(name)
        return memory.Objects([row[column] for row in data])

    with readable(path):
        return arrow.of_columns(names, values, path, number, dict(options.columns))


def run_of_data(data: Data, name: str, options: Options = _DEFAULTS) -> Run:
    def opened() -> BlockTable:
        if data.is_small:
            return _whole(data.name, data.whole(), options)
        return _evaluated(_of_data(data), options)

    from gradeval.formats.memory import Nested  # imported only when needed

    has_all = not options.ignore_identical_ids and options.exclude is None
    nested = data if isinstance(data, Nested) and has_all else None
    ties = options.ties or DEFAULT_TIES
    collapse = Collapse.of(options)
    return Run(data.name, opened, ties, name=name, nested=nested, collapse=collapse)


class InputNames(Record):
    """What options of input can name in the data of a call."""

    path: str  # in messages
    role: str | None  # 'qrels' or 'run', None for either
    columns: Sequence[str] = ()  # the names of its columns, none where these have no names
    has_splits: bool = False  # as in BlockTable


def inputs_of(qrels: Iterable[Any], runs: Iterable[LabelledRun]) -> list[tuple[str, Any]]:
    """The inputs of a call, for check_inputs()."""
    return [*(("qrels", judged) for judged in qrels), *(("run", run) for _, run in runs)]


def check_inputs(inputs: Iterable[tuple[str | None, Any]], options: Options) -> None:
    """Raise OptionError for a column or a split that none of the inputs of a call can have: (role, data) pairs,
    the role as in InputNames. A pipe is not read for it.
    """
    if options.columns or options.split is not None:
        check_names([input_names(role, data, options) for role, data in inputs], options)


def check_names(inputs: Sequence[InputNames | None], options: Options) -> None:
    """check_inputs() for the names of each input, None where these are unknown."""
    names = [of_input for of_input in inputs if of_input is not None]
    if len(names) < len(inputs):
        return
    for role, column in options.columns:
        _check_column(role, column, names)
    if options.split is not None and not any(of_input.has_splits for of_input in names):
        raise UnsuitableOptionError("split", "split: no run is a predictions file of MTEB")


def _check_column(role: str, column: str, inputs: Iterable[InputNames]) -> None:
    owner = _OWNERS.get(role)
    inputs = [names for names in inputs if owner is None or names.role in (owner, None)]
    tables = [names for names in inputs if names.columns]
    is_usable = any(column in names.columns for names in tables)
    if is_usable or (owner and tables):  # reading a table reports that it lacks a column of its own
        return
    reason = f"columns: {role}={column} is no column of any {owner or 'table'}"
    for names in (tables or inputs)[:1]:
        columns = first_names(map(named, names.columns), _SHOWN)
        reason += f"; {names.path} has {columns or 'no named columns'}"
    raise UnsuitableOptionError("columns", reason)


def input_names(role: str | None, data: Any, options: Options) -> InputNames | None:
    """The names in data of this role; None where they are unknown: read before, a pipe, or not readable."""
    if isinstance(data, (OpenedQrels, RunTable)):
        return None
    data = as_file(data, "the table")
    if not is_path(data):
        names: Any = field_names(data) or getattr(data, "column_names", None) or getattr(data, "columns", ())
        return InputNames("the table", role, () if callable(names) else tuple(map(str, names)))
    for number in ROLES.values() if role is None else [ROLES[role]]:
        with suppress(GradevalError):  # which reading the data will report
            source = source_of(data)
            if not isinstance(data, Source) and not os.path.isfile(source.path):
                return None
            kind = kind_of(source, number, options)
            if kind == "letor" or format_of(kind).of_letor:
                return InputNames(source.name, role)
            table: BlockTable = format_of(kind).read(source, number, options)
            return InputNames(source.name, role, table.names, table.has_splits)
    return None
