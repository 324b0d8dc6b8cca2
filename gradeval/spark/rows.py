"""The rows of an Arrow table of qrels or runs: ids, numbers and errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.strings import Ids
from gradeval.errors import InputError, InputErrors
from gradeval.formats.arrow import Arrow, batches
from gradeval.formats.diagnostics import SHOWN, shown

QUERY, DOCUMENT, NUMBER, RUN, PLACE = "query", "document", "number", "run", "place"  # the columns of a table
# a line of a file that is no row has as its query NO_ROW, the error, NO_ROW, and the line
NO_ROW = "\0"


class Names(NamedTuple):
    """The names of a table and its values in messages. path: the table, '' for runs, which have names."""

    path: str
    query: str = "query id"
    document: str = "document id"
    number: str = "score"


class RowError(NamedTuple):
    """The error of a row. where: its query and document."""

    row: int
    where: str
    what: str
    hint: str = ""


class TableRows(NamedTuple):
    """Rows as they are. queries, documents: ids, (n,). number: the grade or score, (n,). run: which run each is
    of, and place: its place in the order of the run, (n,); None where the table does not have them.

    errors: of the rows that cannot be read, ascending, and of which row each is.
    """

    queries: Ids
    documents: Ids
    number: Floats
    run: Ints | None = None
    place: Floats | Ints | None = None
    errors: Sequence[RowError] = ()

    def take(self, rows: Ints | Bools) -> TableRows:
        """Some of the rows, without errors."""
        place = None if self.place is None else self.place[rows]
        return TableRows(self.queries.take(rows), self.documents.take(rows), self.number[rows], None, place)

    def error(self, row: int, what: str, hint: str = "") -> RowError:
        where = f"query {shown(self.queries[row])}, document {shown(self.documents[row])}"
        return RowError(row, where, what, hint)


def raised(path: str, errors: Sequence[RowError]) -> InputError | InputErrors:
    """The errors of a table, of which there is at least one, as an exception."""
    first = [
        InputError(path, f"{error.where}: {error.what}" if error.where else error.what, hint=error.hint)
        for error in errors[:SHOWN]
    ]
    return InputErrors(first, len(errors)) if len(errors) > 1 else first[0]


def read_rows(table: Any, names: Names) -> TableRows:
    """The rows of a table with the columns QUERY, DOCUMENT, NUMBER, and perhaps RUN and PLACE.

    table: an object with Arrow's C stream.
    """
    parts = list(batches(table))
    columns: dict[str, Arrow] = {
        chunk.name: Arrow([part[position] for part in parts])
        for position, chunk in enumerate(parts[0] if parts else ())
    }
    if not columns:  # no batch, and so no rows
        return TableRows(Ids.of([]), Ids.of([]), np.empty(0))
    everything = slice(None)
    queries, wrong_query = columns[QUERY].ids(everything, names.query)
    documents, wrong_document = columns[DOCUMENT].ids(everything, names.document)
    number, wrong_number = columns[NUMBER].numbers(everything, names.number)
    run: Ints | None = None
    place: Floats | Ints | None = None
    wrong = [wrong_query, wrong_document, wrong_number]
    if RUN in columns:
        run = columns[RUN].numbers(everything, RUN)[0].astype(np.int64)
    if PLACE in columns:
        place, wrong_place = columns[PLACE].numbers(everything, "place in the order of the run")
        exact = [numbers for chunk in columns[PLACE].chunks if (numbers := chunk.numbers()) is not None]
        if len(exact) == len(columns[PLACE].chunks):  # integers may have more digits than doubles
            place = np.concatenate(exact)
        wrong.append(wrong_place)
    rows = TableRows(queries, documents, number, run, place)
    why: dict[int, RowError] = {}  # the first error of each row
    no_query, no_document = ({problem.line for problem in of.all()} for of in (wrong_query, wrong_document))
    for problem in chain.from_iterable(problems.all() for problems in wrong):
        row = problem.line or 0
        if row in why:
            continue
        if row in no_document and queries[row].startswith(NO_ROW.encode()):
            what, line = queries[row][1:].split(NO_ROW.encode(), 1)
            why[row] = RowError(row, f"line {shown(line)}", what.decode())
            continue
        columns_of_ids = (("query", queries, no_query), ("document", documents, no_document))
        where = ", ".join(f"{role} {shown(ids[row])}" for role, ids, no in columns_of_ids if row not in no)
        why[row] = RowError(row, where, problem.what)
    return rows._replace(errors=tuple(why[row] for row in sorted(why)))
