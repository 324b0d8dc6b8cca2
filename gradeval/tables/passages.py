"""Passages, and documents that a run lists twice: the line of a document with the best score counts.

The lines of a query are collapsed before they are ranked (MaxP), so that ranks close up and cutoffs count
documents. Memory follows the lines of a block or of the longest query, as for ranking.
"""

from __future__ import annotations

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.hashing import KeyTable, salts
from gradeval.arrays.strings import Ids, repeats
from gradeval.formats.columns import Columns
from gradeval.options import BEST, Options
from gradeval.records import Record
from gradeval.tables.ranking import Lines, Repeats


class Collapse(Record):
    """Which lines of a query are of one document, True where any are.

    delimiter: what separates the id of a document from that of its passage, b"" where ids are those of
    documents. duplicates: whether a line may repeat the id of another one.
    """

    delimiter: bytes = b""
    duplicates: bool = False

    @classmethod
    def of(cls, options: Options) -> Collapse:
        return cls(options.delimiter, options.duplicates == BEST)

    def __bool__(self) -> bool:
        return bool(self.delimiter) or self.duplicates

    def joined(self, other: Collapse) -> Collapse:
        """The options of a run where it is evaluated, and the other ones where it was read before."""
        return Collapse(self.delimiter or other.delimiter, self.duplicates or other.duplicates)

    @property
    def what(self) -> str:
        """What messages call a line that is collapsed."""
        return "passage" if self.delimiter else "duplicate"

    def best(self, ids: Ids, score: Floats, query: Ints) -> tuple[Ids, Ints]:
        """The documents of these lines, and the line of each that has its best score, ascending.

        Of equal scores of a document the first counts. query: the index of each line's query, (n,).
        """
        documents = ids.before_last(self.delimiter) if self.delimiter else ids
        again, first = _again(documents, query)
        rows = np.arange(len(score))
        of_document = rows.copy()  # the first line of each line's document
        of_document[again] = first
        best = score.copy()
        np.maximum.at(best, first, score[again])
        has_best = np.flatnonzero(score == best[of_document])[::-1]
        line_of = np.empty_like(rows)
        line_of[of_document[has_best]] = has_best  # numpy leaves what is written last
        best_rows = np.sort(line_of[of_document == rows])
        return documents.take(best_rows), best_rows

    def lines(self, lines: Lines) -> tuple[Lines, Repeats]:
        """The lines of whole queries collapsed, and the duplicates among them that are errors."""
        query = np.repeat(np.arange(len(lines.query)), np.diff(lines.bounds))
        again = first = np.empty(0, np.int64)
        if not self.duplicates:
            again, first = _again(lines.documents, query)
        documents, rows = self.best(lines.documents, lines.score, query)
        collapsed = lines.replace(
            bounds=np.searchsorted(rows, lines.bounds),
            documents=documents,
            score=lines.score[rows],
            line=lines.line[rows],
            rank=None if lines.rank is None else lines.rank[rows],
        )
        return collapsed, Repeats.of(lines, again, first)

    def columns(self, columns: Columns) -> Columns:
        """A run in memory collapsed. Duplicates are no errors here."""
        query = np.repeat(columns.queries.distinct()[1], np.diff(columns.bounds))
        documents, rows = self.best(columns.documents, columns.value, query)
        is_best = np.zeros(len(query), bool)
        is_best[rows] = True
        return columns.take(is_best).replace(documents=documents)


EACH = Collapse()  # each line is a document


def _again(ids: Ids, query: Ints) -> tuple[Ints, Ints]:
    """The lines whose id is a duplicate in its query, and the first line of each of these ids."""
    table = KeyTable(ids.keys() + salts(int(query.max(initial=-1)) + 1)[query])
    return repeats(table, ids, query)
