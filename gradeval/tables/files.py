"""Files of any format as tables of rows, for analyses that do not score them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradeval.arrays.threads import default_jobs
from gradeval.errors import InputError
from gradeval.formats.columns import Columns, Table
from gradeval.formats.detect import ROLES, format_of, kind_of, reader
from gradeval.formats.diagnostics import Problems
from gradeval.formats.sources import Source
from gradeval.formats.trec import ranked_table
from gradeval.options import Options
from gradeval.tables.load import check_letor_options, evaluated_rows, evaluated_table

if TYPE_CHECKING:
    from gradeval.formats.letor import Letor


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
    """A file as a table. role: 'qrels' or 'run'. name: of the run, where the file holds several. ties: the
    default rule for tied scores. letor: its lines, if it is a LETOR file.
    """

    source: Source
    role: str
    kind: str
    table: Table
    name: str = ""
    letor: Letor | None = None

    @property
    def ties(self) -> str:
        return format_of(self.kind).ties


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
    number = ROLES[role]
    kind = kind_of(source, number, options)
    check_letor_options(source, role, kind, options)
    if kind == "letor":
        return _of_letor(source, role, options, problems)
    if format_of(kind).of_letor:
        if letor is None:
            what = f"{format_of(kind).of_letor} need the LETOR file whose lines they are of"
            raise InputError(source.name, what, hint="Give it as qrels")
        rows = evaluated_rows(reader(kind)(source, letor, problems), options)
        return [File(source, role, kind, _whole(source, rows))]
    is_ranked = with_ranks and role == "run" and kind == "trec"
    table = ranked_table(source, options) if is_ranked else reader(kind)(source, number, options)
    return [File(source, role, kind, evaluated_table(table, options) if role == "run" else table)]


def _of_letor(source: Source, role: str, options: Options, problems: Problems | None) -> list[File]:
    from gradeval.formats.letor import read_letor

    jobs = options.jobs or default_jobs()
    feature = options.qrels_feature
    wanted = {*options.features, *(() if feature is None else (feature,))}
    letor = read_letor(source, wanted, options.groups, jobs, problems)
    if role == "qrels":
        grade = letor.label if feature is None else letor.feature(feature)
        return [File(source, role, "letor", _whole(source, letor.columns(grade)), "", letor)]
    runs = [(one, evaluated_rows(letor.columns(letor.feature(one)), options)) for one in options.features]
    return [File(source, role, "letor", _whole(source, rows), f"feature{one}") for one, rows in runs]


def _whole(source: Source, rows: Columns) -> Table:
    return Table(Whole(source.name, rows), lambda rows: rows)
