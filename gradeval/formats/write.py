"""What the formats that are written have in common: lines by column, and ids that a format cannot hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools
from gradeval.arrays.strings import Ids, integer_ids
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import LineProblems, Problem, shown
from gradeval.formats.sources import UTF8_MARK
from gradeval.records import Record

if TYPE_CHECKING:
    from gradeval.arrays.text import Field


class Content(Record):
    """Rows to write."""

    role: str  # 'qrels' or 'run'
    tag: bytes = b"gradeval"  # of a run
    has_subtopics: bool = False  # whether the batches have some

    @property
    def names(self) -> tuple[str, ...]:
        """Those of columns."""
        names = "query_id", "doc_id", "relevance" if self.role == "qrels" else "score"
        return (*names, "subtopic") if self.has_subtopics else names


Write = Callable[[Iterator[Columns], Any, Content], None]
Refuse = Callable[[Columns, Content], LineProblems]
_Check = Callable[[bytes], object]


class LineFields(NamedTuple):
    """The fields of lines, each a column."""

    query: Ids
    document: Ids
    number: list[Field]  # whose texts follow one another
    rank: Ids
    subtopic: Ids | None


def by_column(fields_of: Callable[[LineFields, Content], list[Field]]) -> Write:
    """Writes lines some thousands at a time, in a fifth of the time that it takes singly. fields_of: what is in
    a line, from its beginning to its end.
    """

    def write(batches: Iterator[Columns], sink: Any, content: Content) -> None:
        from gradeval.arrays.text import ROWS, decimal_fields, lines_of  # imported only when needed

        for batch in batches:
            assert batch.rank is not None
            query = batch.query
            for first in range(0, len(query), ROWS):
                rows = slice(first, first + ROWS)
                fields = LineFields(
                    batch.queries.take(query[rows]),
                    batch.documents.take(rows),
                    decimal_fields(batch.value[rows]),
                    integer_ids(batch.rank[rows].astype(np.int64)),
                    batch.subtopic.take(rows) if isinstance(batch.subtopic, Ids) else None,
                )
                for lines in lines_of(fields_of(fields, content)):
                    sink.write(lines)

    return write


def contains(pattern: bytes) -> _Check:
    """Whether an id contains the pattern, which is compiled where it is needed."""
    return partial(re.search, pattern)


def is_one_of(characters: bytes) -> Bools:
    table = np.zeros(256, bool)
    table[list(characters)] = True
    return table


def refusing(
    names: str = "",
    characters: bytes = b"",
    wrong: _Check = lambda _: False,
    wrong_query: _Check = lambda _: False,
) -> Refuse:
    """Refuses empty and wrong ids. names: of what these have. characters: a wrong id has one of them."""
    may_be_wrong = is_one_of(characters)

    def refused(batch: Columns, content: Content) -> LineProblems:
        columns = [
            ("query id", batch.queries, batch.line[batch.bounds[:-1]]),
            ("document id", batch.documents, batch.line),
            ("subtopic", batch.subtopic, batch.line),
        ]
        problems = []
        for name, ids, line in columns:
            if not isinstance(ids, Ids) or (ids.length.all() and not may_be_wrong[ids.text()].any()):
                continue
            for row, text in enumerate(ids.tolist()):
                if not text or wrong(text) or (name == "query id" and wrong_query(text)):
                    why = f"no {names} there" if text else "it is empty"
                    message = f"the {name} {shown(text)} cannot be written: {why}"
                    problems.append(Problem(int(line[row]), message))
        return LineProblems.listed(problems)

    return refused


utf8_only = refusing(
    "bytes that are not UTF-8",
    bytes(range(128, 256)),
    lambda text: text.decode("utf-8", "ignore").encode() != text,
)
no_spaces = refusing(
    "spaces, tabs or line ends, nor # at its beginning,",
    b" \t\r\n#" + UTF8_MARK,
    contains(rb"[ \t\r\n]"),
    contains(b"\\A(?:#|" + UTF8_MARK + b")"),
)
