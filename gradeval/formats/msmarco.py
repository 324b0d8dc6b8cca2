"""MS MARCO's runs: query, passage and rank, separated by tabs, without a header. The score is -rank.

Ranks must be 1, 2, … within each query in file order. What precedes a line in another block decides this, so
that lines are read in turn, while other threads rank the documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from gradeval.formats.columns import Columns, FileBlocks, Table
from gradeval.formats.diagnostics import LineProblems, shown
from gradeval.formats.scan import bare_cr_pattern, split_at_tabs, unreadable
from gradeval.formats.sources import Block, Source
from gradeval.formats.trec import columns_of
from gradeval.notices import many
from gradeval.options import Options

_FIELDS = "a line has 3, separated by tabs (query passage rank)"
_BARE_CR = bare_cr_pattern(rb"(?:[^\t\r\n]+\t){2}\d")
_LINE = re.compile(rb"([^\t\r\n]+)\t([^\t\r\n]+)\t[ ]*(\d+)[ ]*\r?")


def table(source: Source, number: str, options: Options) -> Table:
    file = _File(source)
    return Table(file, lambda columns: columns)


def counts_documents(text: bytes) -> bool:
    """Whether the lines of the first query in the text have the ranks 1, 2, …"""
    first, rank = None, 0
    for line in text.split(b"\n"):
        found = _LINE.fullmatch(line)
        if found is None or (first is not None and found[1] != first):
            break
        first, rank = found[1], rank + 1
        if int(found[3]) != rank:
            return False
    return rank > 0


class _File(FileBlocks):
    def blocks(self) -> Iterator[Columns]:
        last: dict[bytes, int] = {}  # the last rank of each query so far
        for block in self.source.blocks():
            yield _checked(_columns(block), last)


def _columns(block: Block) -> Columns:
    rows = split_at_tabs(block.bytes, block.size, 3)
    problems = LineProblems.of(
        rows.odd, lambda i: f"{many(int(rows.odd_counts[i]), 'field', 'fields')} where {_FIELDS}"
    )
    return columns_of(block, rows, "rank", unreadable(block, rows, _BARE_CR), problems)


def _checked(columns: Columns, last: dict[bytes, int]) -> Columns:
    """The columns with -rank as the score, where each rank follows that of the line of its query before."""
    counts = np.diff(columns.bounds)
    before = []
    for query, count in zip(columns.queries.tolist(), counts.tolist(), strict=True):
        before.append(last.get(query, 0))
        last[query] = before[-1] + count
    rows = np.arange(len(columns.value))
    expected = rows - np.repeat(columns.bounds[:-1] - np.array(before, np.int64) - 1, counts)
    wrong = np.flatnonzero(columns.value != expected)
    if len(wrong):
        row = int(wrong[0])
        query = columns.queries[int(np.searchsorted(columns.bounds, row, "right")) - 1]
        what = f"the rank is {columns.value[row]:g} where query {shown(query)} needs {expected[row]}"
        hint = "Ranks must be 1, 2, … for each query in the order of the file"
        found = LineProblems.of(columns.line[[row]], lambda _: what, hint)._replace(final=True)
        columns = columns._replace(problems=LineProblems.joined([columns.problems, found]))
    return columns._replace(value=-columns.value)
