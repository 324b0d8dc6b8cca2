"""TREC's qrels (query iter document grade) and runs (query Q0 document rank score tag)."""

from __future__ import annotations

import re

import numpy as np

from gradeval.arrays import Ints
from gradeval.arrays.strings import Ids
from gradeval.formats import template
from gradeval.formats.columns import (
    RANKS_CHECKED,
    Columns,
    ExtraFields,
    RankCheck,
    Table,
    columns_of,
    odd_lines,
    places,
)
from gradeval.formats.diagnostics import NOTHING, LineProblems, shown
from gradeval.formats.scan import LF, DataLines, floats, split, unreadable
from gradeval.formats.sources import Block, Source
from gradeval.options import Options

_FIELD = re.compile(rb"[^ \t\r]+")
_FIELDS = 6  # of a run
_TWO_RECORDS = 9  # the fewest fields of a line that holds two: the second lacks its query, and both their tags
# behind the score, and perhaps a tag and a query: the Q0 of the line or a usual one, document, rank, score
_SECOND = (  # compiled at its first use, as only errors need it
    rb"(?m)^[ \t]*(?!\#)[^ \t\r\n]+[ \t]+([^ \t\r\n]+)[ \t]+(?:[^ \t\r\n]+[ \t]+){3,5}"
    rb"((?:Q0|q0|0|\1)[ \t]+[^ \t\r\n]+[ \t]+\d+[ \t]+[-+]?\.?\d[^ \t\r\n]*)"
)
_RUN_FIELDS = "a run has 6 (query Q0 document rank score tag)"


def table(source: Source, number: str, options: Options) -> Table:
    return Table.of(source, qrels_columns if number == "grade" else run_columns)


def qrels_columns(block: Block) -> Columns:
    rows = split(block.bytes, block.size, (0, 2, 3, 1), 4, 4)
    problems = odd_lines(rows, "qrels have 4 (query iter document grade)")
    columns = columns_of(block, rows, "grade", unreadable(block), problems, "trec")
    return columns.replace(queries=columns.queries.light(), documents=columns.documents.light())


def run_columns(block: Block, as_trec_eval: bool = False) -> Columns:
    """The run lines of a block; the value is the score. The tag may be missing; what follows it is ignored.

    as_trec_eval: whether a line may hold anything behind its score, and a CR separates fields.
    """
    # the rank column decides nothing; in the first block it is compared with the scores
    if not block.too_long and (usual := template.run_columns(block)):
        columns, ranks = usual
        return columns.replace(ranks=_rank_check(columns, columns.line, ranks)) if block.first else columns
    rows = split(block.bytes, block.size, (0, 2, 4, 3) if block.first else (0, 2, 4), 5)
    columns = _run_columns(block, rows, as_trec_eval)
    return columns.replace(ranks=_rank_check(columns, rows.line, rows.fields[3])) if block.first else columns


def ranked_columns(block: Block) -> Columns:
    rows = split(block.bytes, block.size, (0, 2, 4, 3), 5)
    columns = _run_columns(block, rows)
    rank, bad = floats(rows.fields[3])
    rank[bad] = np.nan
    good = np.searchsorted(rows.line, columns.line)  # lines with a bad score are no rows
    return columns.replace(rank=rank[good])


def _run_columns(block: Block, rows: DataLines, as_trec_eval: bool = False) -> Columns:
    problems, extra = odd_lines(rows, _RUN_FIELDS), ExtraFields()
    if not as_trec_eval:
        problems = LineProblems.joined([problems, _second_records(block, rows)])
        if np.max(rows.counts, initial=0) > _FIELDS:
            lines = rows.line[np.broadcast_to(rows.counts, rows.line.shape) > _FIELDS]
            extra = ExtraFields(len(lines), int(lines[0]))

    three = rows.replace(fields=rows.fields[:3])
    columns = columns_of(block, three, "score", unreadable(block, as_trec_eval), problems, "trec")
    tag = None
    if len(rows.line):
        fields = _FIELD.findall(_line_from(block, int(rows.fields[1].start[-1])))
        tag = fields[3] if len(fields) > 3 else b""
    return columns.replace(tag=tag, extra=extra)


def _second_records(block: Block, rows: DataLines) -> LineProblems:
    """The lines that hold two records, as where files were joined without a line end between them."""
    if np.max(rows.counts, initial=0) < _TWO_RECORDS:
        return NOTHING
    text = block.bytes[: block.size]
    matches = [*re.finditer(_SECOND, text.tobytes())]
    lines = np.searchsorted(np.flatnonzero(text == LF), [match.start() for match in matches])
    hint = "Were files joined without a line end between them?"
    return LineProblems.of(lines, lambda i: f"the line holds a second record ({shown(matches[i][2])})", hint)


def _rank_check(columns: Columns, line: Ints, ranks: Ids) -> RankCheck:
    """Whether ranks rise with scores, or the two are exchanged. line, ranks: of all rows, also of bad ones."""
    count = min(len(line), RANKS_CHECKED)
    rank, bad_ranks = floats(ranks.take(slice(count)))
    if not count or len(bad_ranks) or not np.array_equal(columns.line[:count], line[:count]):
        return RankCheck()
    score, starts = columns.value[:count], columns.bounds[:-1]
    starts = starts[starts < count]
    rises = np.append(np.sign(np.diff(rank)) * np.sign(np.diff(score)), 0.0)
    rises[starts[1:] - 1] = 0  # of two queries
    balance = np.add.reduceat(rises, starts)
    size = np.diff(np.append(starts, count))
    is_place = np.logical_and.reduceat(score == places(starts, size), starts)
    exchanged = is_place & np.logical_or.reduceat(rank != np.floor(rank), starts) & (size > 1)
    contradicting = (balance > 0) | exchanged
    return RankCheck(int(np.count_nonzero(contradicting)), int(np.count_nonzero((balance != 0) | exchanged)))


def _line_from(block: Block, start: int) -> bytes:
    return block.bytes[start : block.size].tobytes().split(b"\n", 1)[0]
