"""RankLib's -score output for a LETOR file: query, index of the document in its query from 0, and score."""

from __future__ import annotations

import re

import numpy as np

from gradeval.arrays.segments import stable_order
from gradeval.arrays.strings import IdIndex
from gradeval.arrays.threads import ordered_map
from gradeval.errors import InputError
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import LineProblems, Problems, no_data, shown
from gradeval.formats.letor import Letor
from gradeval.formats.scan import bare_cr_pattern, split_at_tabs, unreadable
from gradeval.formats.sources import Block, Source
from gradeval.formats.trec import columns_of
from gradeval.notices import many

_FIELDS = "a line has 3, separated by tabs (query index score)"
_BARE_CR = bare_cr_pattern(rb"[^\t\r\n]+\t\d+\t[-+.\d]")
_LINE = re.compile(rb"([^\t\r\n]+)\t(\d+)\t[ ]*[-+.\d][^\t\r\n]*")


def counts_documents(text: bytes) -> bool:
    """Whether the lines of the first query in the text have the indices 0, 1, …"""
    first, index = None, 0
    for line in text.split(b"\n"):
        found = _LINE.fullmatch(line.rstrip(b"\r"))
        if found is None or (first is not None and found[1] != first):
            break
        if int(found[2]) != index:
            return False
        first, index = found[1], index + 1
    return index > 0


def read(source: Source, letor: Letor, problems: Problems | None = None) -> Columns:
    """The scores of a LETOR file's lines. problems: collects those of the lines. Raises InputError(s)."""
    problems = problems or Problems(source.name)
    parts = [part for _, part in problems.until_enough(ordered_map(_columns, source.blocks(), 1))]
    problems.check()
    columns = Columns.joined(parts)
    if not len(columns.value):
        raise no_data(source.name, problems.lines)
    query = np.repeat(IdIndex(letor.queries).find(columns.queries), np.diff(columns.bounds))
    sizes = np.bincount(letor.query, minlength=len(letor.queries))
    row_at = stable_order(letor.query)  # the lines of each query together
    index = np.array([int(text) for text in columns.documents.tolist()], np.int64)
    unknown = np.flatnonzero((query < 0) | (index >= sizes[query]))

    def what(i: int) -> str:
        row = int(unknown[i])
        name = shown(columns.queries[int(np.searchsorted(columns.bounds, row, "right")) - 1])
        if query[row] < 0:
            return f"query {name} is not in {letor.path}"
        return f"index {index[row]} where query {name} has {sizes[query[row]]} lines in {letor.path}, from 0"

    problems.add(LineProblems.of(columns.line[unknown], what))
    problems.check()
    row = row_at[(np.cumsum(sizes) - sizes)[query] + index]
    times = np.bincount(row, minlength=len(letor.line))
    seen_before = np.ones(len(row), bool)
    seen_before[np.unique(row, return_index=True)[1]] = False
    again = np.flatnonzero(seen_before)
    twice = LineProblems.of(
        columns.line[again], lambda i: f"index {index[again[i]]} of its query has a score already"
    )
    problems.add(twice)
    problems.check()
    missing = np.flatnonzero(times == 0)
    if len(missing):
        where = f"the first is in line {letor.line[missing[0]] + 1}"
        raise InputError(
            source.name, f"{many(len(missing), 'line', 'lines')} of {letor.path} without a score; {where}"
        )
    number = np.empty(len(row))
    number[row] = columns.value
    line = np.empty(len(row), np.int64)
    line[row] = columns.line
    return letor.columns(letor.label)._replace(value=number, line=line)


def _columns(block: Block) -> Columns:
    rows = split_at_tabs(block.bytes, block.size, 3)
    problems = LineProblems.of(
        rows.odd, lambda i: f"{many(int(rows.odd_counts[i]), 'field', 'fields')} where {_FIELDS}"
    )
    index = rows.fields[1]
    bad = [place for place, text in enumerate(index.tolist()) if not text.isdigit() or len(text) > 9]
    of_index = LineProblems.of(
        rows.line[bad], lambda i: f"the index {shown(index[bad[i]])} is not a non-negative integer"
    )
    columns = columns_of(
        block, rows, "score", unreadable(block, rows, _BARE_CR), LineProblems.joined([problems, of_index])
    )
    return columns.light()
