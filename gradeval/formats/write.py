"""What the formats that are written have in common: the rows of a query, and ids that a format cannot hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats
from gradeval.arrays.strings import Ids
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import LineProblems, Problem, shown
from gradeval.formats.sources import UTF8_MARK
from gradeval.records import Record


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


class QueryRows(NamedTuple):
    """The rows of a query."""

    id: bytes
    documents: list[bytes]
    values: Floats
    ranks: Floats
    subtopics: list[bytes]  # of each document, or none

    def numbers(self, are_floats: bool = False) -> list[bytes]:
        """The shortest texts that read back equal. are_floats: with .0, as pytrec_eval needs scores of JSON."""
        end = "" if are_floats else ".0"
        return [repr(value).removesuffix(end).encode() for value in self.values.tolist()]


def queries_of(batch: Columns) -> Iterator[QueryRows]:
    documents = batch.documents.tolist()
    ranks = batch.rank
    subtopics = batch.subtopic.tolist() if isinstance(batch.subtopic, Ids) else []
    assert ranks is not None
    for query, (a, b) in zip(batch.queries.tolist(), pairwise(batch.bounds.tolist()), strict=True):
        yield QueryRows(query, documents[a:b], batch.value[a:b], ranks[a:b], subtopics[a:b])


def lines(of_query: Callable[[QueryRows, Content], list[bytes]]) -> Write:
    """of_query: the lines of a query."""

    def write(batches: Iterator[Columns], sink: Any, content: Content) -> None:
        for batch in batches:
            sink.write(b"".join(line for query in queries_of(batch) for line in of_query(query, content)))

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
