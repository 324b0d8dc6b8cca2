"""TREC's qrels (query iter document grade) and runs (query Q0 document rank score tag).

Runs have a quick scanner, for blocks whose lines all have the shape of the first one: six fields with the same
separator between any two, and in one width the second field (Q0), the tag, and the decimals of the score. Only
line ends are searched for there; the other fields are looked up from both ends of their line. Any other block
is for the general scanner in scan.py, which alone decides what is wrong; both return the same columns.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from gradeval.arrays import Bytes, Floats, Ints, Words
from gradeval.arrays.segments import are_new
from gradeval.arrays.strings import MASKS, Ids, mix, words
from gradeval.formats.columns import RANKS_CHECKED, BlockTable, Columns, ExtraFields, columns_of, odd_lines
from gradeval.formats.diagnostics import NOTHING, LineProblems, shown
from gradeval.formats.format import RANKED, Format, FormatWriter, counts, is_number
from gradeval.formats.scan import (
    DOT,
    HASH,
    HIGH_BITS,
    LF,
    MINUS,
    SPACE,
    TAB,
    TO_HIGH,
    ZEROS,
    DataLines,
    eight_digits,
    floats,
    split,
    unreadable,
    up_to,
)
from gradeval.formats.sources import UTF8_MARK, Block, Source
from gradeval.options import Options
from gradeval.records import Record

if TYPE_CHECKING:
    from gradeval.arrays.text import Field
    from gradeval.formats.write import Content, LineFields

_FIELD = re.compile(rb"[^ \t\r]+")
_FIELDS = 6  # of a run
_TWO_RECORDS = 9  # the fewest fields of a line that holds two: the second lacks its query, and both their tags
# behind the score, and perhaps a tag and a query: the Q0 of the line or a usual one, document, rank, score
_SECOND = (  # compiled at its first use, as only errors need it
    rb"(?m)^[ \t]*(?!\#)[^ \t\r\n]+[ \t]+([^ \t\r\n]+)[ \t]+(?:[^ \t\r\n]+[ \t]+){3,5}"
    rb"((?:Q0|q0|0|\1)[ \t]+[^ \t\r\n]+[ \t]+\d+[ \t]+[-+]?\.?\d[^ \t\r\n]*)"
)
_LAYOUTS = {"grade": "query iter document grade", "score": "query Q0 document rank score tag"}

_U = np.uint64
_1, _8, _BYTE = map(_U, (1, 8, 255))
_THREE_BYTES = _U(2**24 - 1)
_MARK = _U(int.from_bytes(UTF8_MARK, "little"))
_LAST: Words = ~MASKS[::-1]  # masks of the last n bytes of a word
_LONGEST = 31  # words of an id; their bytes still fit in 8 bits


def _detected(text: bytes, options: Options) -> str:
    """A file that may be a run of MS MARCO whose ids have spaces may have TREC's fields as well."""
    line = text.split(b"\n", 1)[0]
    fields = line.split()
    is_trec = b" " in line and (len(fields) == 4 or (len(fields) > 4 and is_number(fields[4])))
    return "trec" if is_trec and counts(text, RANKED, 1, with_spaces=True) else ""


def table(source: Source, number: str, options: Options) -> BlockTable:
    if number == "grade":
        return BlockTable.of(source, qrels_columns)
    return BlockTable.of(source, run_columns).replace(ranked=ranked_columns)


def qrels_columns(block: Block) -> Columns:
    rows = split(block.bytes, block.size, (0, 2, 3, 1), 4, 4)
    problems = odd_lines(rows, f"qrels have 4 ({_LAYOUTS['grade']})")
    columns = columns_of(block, rows, "grade", unreadable(block), problems, kind="trec")
    return columns.replace(queries=columns.queries.light(), documents=columns.documents.light())


def first_tag(head: bytes) -> str:
    """The run tag of the first line with data; '' without one."""
    for line in head.split(b"\n"):
        fields = _FIELD.findall(line)
        if fields and not fields[0].startswith(b"#"):
            return fields[_FIELDS - 1].decode("utf-8", "surrogateescape") if len(fields) >= _FIELDS else ""
    return ""


def run_columns(block: Block, as_trec_eval: bool = False) -> Columns:
    """The run lines of a block; the value is the score. The tag may be missing; what follows it is ignored.
    as_trec_eval: whether a line may hold anything behind its score, and a CR separates fields.
    """
    # the rank column decides nothing; in the first block it is compared with the scores
    if not block.too_long and (usual := usual_run_columns(block)):
        columns, ranks = usual
        return _checked(columns, columns.line, ranks) if block.first else columns
    rows = split(block.bytes, block.size, (0, 2, 4, 3) if block.first else (0, 2, 4), 5)
    columns = _run_columns(block, rows, as_trec_eval)
    return _checked(columns, rows.line, rows.fields[3]) if block.first else columns


def ranked_columns(block: Block) -> Columns:
    rows = split(block.bytes, block.size, (0, 2, 4, 3), 5)
    return _run_columns(block, rows).with_ranks(rows, 3)


def _checked(columns: Columns, line: Ints, ranks: Ids) -> Columns:
    """With a check of the first ranks that are numbers. line, ranks: also of bad rows."""
    count = min(len(line), RANKS_CHECKED)
    rank, bad = floats(ranks.take(slice(count)))
    rank[bad] = np.nan
    if not np.array_equal(columns.line[:count], line[:count]):
        return columns
    return columns.checked(rank)


def _run_columns(block: Block, rows: DataLines, as_trec_eval: bool = False) -> Columns:
    problems = odd_lines(rows, f"a run has 6 ({_LAYOUTS['score']})")
    extra = ExtraFields()
    if not as_trec_eval:
        problems += _second_records(block, rows)
        if np.max(rows.counts, initial=0) > _FIELDS:
            lines = rows.line[np.broadcast_to(rows.counts, rows.line.shape) > _FIELDS]
            extra = ExtraFields(len(lines), int(lines[0]))
    three = rows.replace(fields=rows.fields[:3])
    columns = columns_of(block, three, "score", unreadable(block, as_trec_eval), problems, kind="trec")
    tag = None
    if len(rows.line):
        end = block.bytes[rows.fields[1].start[-1] : block.size].tobytes().partition(b"\n")[0]
        tag = (*_FIELD.findall(end), b"")[3]  # behind document, rank and score
    return columns.replace(tag=tag, extra=extra)


def _second_records(block: Block, rows: DataLines) -> LineProblems:
    """The lines that hold two records, as where files were joined without a line end between them."""
    if np.max(rows.counts, initial=0) < _TWO_RECORDS:
        return NOTHING
    text = block.text
    matches = [*re.finditer(_SECOND, text.tobytes())]
    lines = np.searchsorted(np.flatnonzero(text == LF), [match.start() for match in matches])
    hint = "Were files joined without a line end between them?"
    return LineProblems.of(lines, lambda i: f"the line holds a second record ({shown(matches[i][2])})", hint)


def usual_run_columns(block: Block) -> tuple[Columns, Ids] | None:
    """The lines of a run and their column of ranks by the quick scanner; None for a block that it cannot read.
    Each step is of all lines: of many short steps with fewer lines, which stay in the cache, one thread does
    most while others wait for the interpreter lock.
    """
    text = block.bytes
    line_ends = _line_ends(block)
    shape = None if line_ends is None else _shape(text[: block.size], line_ends)
    if line_ends is None or shape is None:
        return None
    starts = np.empty_like(line_ends)
    starts[0] = 0
    np.add(line_ends[:-1], 1, out=starts[1:])
    turns = _queries(text, starts, shape.gap)
    if turns is None:
        return None
    row, queries = turns
    document = starts + np.repeat(queries.length + (shape.second + 2), np.diff(np.append(row, len(starts))))
    documents = _documents(text, document, shape.gap)
    ranks = None if documents is None else _ranks(text, documents, shape.gap)
    if documents is None or ranks is None:
        return None
    value = _scores(text, ranks, line_ends - (shape.tag + 1), shape)
    if value is None:
        return None
    differs = np.append(0, queries.changes())
    columns = Columns(
        queries.take(differs),
        np.append(row[differs], len(line_ends)),
        documents,
        value,
        line=np.arange(len(line_ends)),
        lines=len(line_ends),
        first=block.first,
        last=block.last,
        tag=text[line_ends[-1] - shape.tag : line_ends[-1]].tobytes(),
    )
    return columns, ranks


def _line_ends(block: Block) -> Ints | None:
    """The places of line ends; None where two are in the same eight bytes, as none are in lines of a run."""
    is_end = block.bytes[: -(-block.size // 8) * 8] == LF
    is_end[block.size :] = False
    eight = is_end.view(_U)
    line_ends = np.flatnonzero(eight != 0)
    byte = eight[line_ends]
    below = byte - _1
    if np.bitwise_or.reduce(byte & below):
        return None
    line_ends <<= 3
    line_ends += np.bitwise_count(below) >> 3
    return line_ends


class _Shape(Record):
    """What the lines of a block have in common."""

    gap: np.uint64  # the byte between two fields
    second: int  # the width of the second field
    tag: int  # the width of the tag
    decimals: int  # how many digits the score has behind its point, 0 where that is not known


def _shape(text: Bytes, line_ends: Ints) -> _Shape | None:
    """None where the block does not have as many separators as lines like the first one have.

    No other byte may end a field. So once five separators of each line are known, there are no others.
    """
    if not len(line_ends) or np.count_nonzero(text <= SPACE) != _FIELDS * len(line_ends):
        return None
    line = text[: line_ends[0]].tobytes()
    gap = TAB if b"\t" in line else SPACE
    fields = line.split(bytes([gap]))
    if len(fields) != _FIELDS or not fields[1]:  # the other fields are found in each line
        return None
    decimals = len(fields[4].partition(b".")[2])
    return _Shape(_U(gap), len(fields[1]), len(fields[5]), decimals if decimals < 8 else 0)


def _queries(text: Bytes, start: Ints, gap: np.uint64) -> tuple[Ints, Ids] | None:
    """The lines whose query may be another than that of the line before, and their queries; None where one may
    be no query: it is empty, or a comment or a byte order mark begins.
    """
    view = words(text)
    turns = _turns(view, start, gap)
    if turns is None:
        return None
    row, length = turns
    queries = Ids(text, start[row], length)
    begin = view[queries.start]
    if not length.all() or (begin & _BYTE == HASH).any() or (begin & _THREE_BYTES == _MARK).any():
        return None
    return row, queries


def _turns(view: Words, start: Ints, gap: np.uint64) -> tuple[Ints, Ints] | None:
    """The lines whose query may be another than that of the line before, and the length of their queries."""
    word = view[start]
    row = np.flatnonzero(word[1:] != word[:-1])
    row += 1
    row = np.append(0, row)
    query = _field(view, start[row], gap)
    if query is None or len(query[0]) == 1:
        return query and (row, query[1])
    # a query may differ behind its first word
    query = _field(view, start, gap)
    if query is None:
        return None
    fields, length = query
    row = np.flatnonzero(are_new(*fields))
    return row, length[row]


def _documents(text: Bytes, start: Ints, gap: np.uint64) -> Ids | None:
    """The ids at these offsets, with their keys; None where one is empty, or begins elsewhere."""
    view = words(text)
    if start.max() >= len(view) or (text[start - 1] != gap).any():
        return None
    field = _field(view, start, gap)
    if field is None:
        return None
    id_words, length = field
    if not length.all():
        return None
    keys = mix(id_words[0] ^ MASKS[8])  # as Ids.keys() makes them
    for k, word in enumerate(id_words[1:], 1):
        rows = np.flatnonzero(length > 8 * k)
        keys[rows] = mix(keys[rows] ^ word[rows])
    return Ids(text, start, length, keys)


def _ranks(text: Bytes, documents: Ids, gap: np.uint64) -> Ids | None:
    """The fields behind the documents; None where one is empty or has more than seven bytes."""
    view = words(text)
    start = documents.start + documents.length
    start += 1
    if start.max() >= len(view):
        return None
    bits = _up_to(gap, view[start])[1]
    length = (bits >> 3).astype(np.int64)
    return None if bits.max() > 56 or not length.all() else Ids(text, start, length)


def _scores(text: Bytes, ranks: Ids, end: Ints, shape: _Shape) -> Floats | None:
    """The numbers behind the ranks, which end there; None where one is none."""
    length = end - ranks.start
    length -= ranks.length
    length -= 1
    if length.min() < 1 or (text[end] != shape.gap).any():
        return None
    value = _decimal_numbers(text, end, length, shape.decimals)
    if value is not None:
        return value
    value, bad = floats(Ids(text, end - length, length))
    return None if len(bad) else value


def _field(view: Words, start: Ints, gap: np.uint64) -> tuple[list[Words], Ints] | None:
    """The field at each offset, up to the next `gap`: its words, 0 behind its end, and its length; or None."""
    word, bits = _up_to(gap, view[start])
    fields = [word]
    length = bits >> 3
    while length.max(initial=0) >= 8 * len(fields):
        rows = np.flatnonzero(length == 8 * len(fields))
        following = start[rows] + 8 * len(fields)
        if len(fields) == _LONGEST or following.max() >= len(view):
            return None
        word, bits = _up_to(gap, view[following])
        fields.append(np.zeros(len(start), np.uint64))
        fields[-1][rows] = word
        length[rows] += bits >> 3
    return fields, length.astype(np.int64)


def _up_to(gap: np.uint64, word: Words) -> tuple[Words, Bytes]:
    """The bytes of each word before the first `gap`, and how many bits they have."""
    before = up_to(gap, word)
    word &= before
    return word, np.bitwise_count(before)


def _decimal_numbers(text: Bytes, end: Ints, length: Ints, decimals: int) -> Floats | None:
    """floats() of numbers of up to eight digits, so many of them decimals; None for others. Minus signs are
    looked for only where the first or the last number has one: other runs do not pay for it.
    """
    if MINUS not in text[end[[0, -1]] - length[[0, -1]]]:
        return _unsigned_numbers(text, end, length - 1, decimals)
    negative = text[end - length] == MINUS
    value = _unsigned_numbers(text, end, length - 1 - negative, decimals)
    return value if value is None else np.negative(value, out=value, where=negative)


def _unsigned_numbers(text: Bytes, end: Ints, digits: Ints, decimals: int) -> Floats | None:
    """The numbers of so many digits and decimals before each end; None for more digits or other characters."""
    if not decimals or digits.min() <= decimals or digits.max() > 8:
        return None
    word = words(text)[end - 8]
    # the digits before the point, where they would be without it, and the point
    whole = word << _8
    if digits.max() == 8:
        whole |= text[end - 9]
    at_point = _8 * _U(8 - decimals)
    if np.bitwise_or.reduce(whole ^ (_U(DOT) << at_point)) & (_BYTE << at_point):
        return None
    whole &= ~_LAST[decimals]
    word &= _LAST[decimals]
    word |= whole
    word ^= ZEROS
    word &= _LAST[digits]
    if np.bitwise_or.reduce((word + TO_HIGH) | word) & HIGH_BITS:
        return None
    value = eight_digits(word).astype(np.float64)
    value /= 10.0**decimals
    return value


# --- writing


def qrels_fields(row: LineFields, content: Content, space: bytes = b" ") -> list[Field]:
    return [row.query, space, row.subtopic or b"0", space, row.document, space, *row.number, b"\n"]


def _run_fields(row: LineFields, content: Content) -> list[Field]:
    tag = b" %b\n" % content.tag
    return [row.query, b" Q0 ", row.document, b" ", row.rank, b" ", *row.number, tag]


def _writer() -> FormatWriter:
    from gradeval.formats.write import by_column, no_spaces  # imported only when needed

    return FormatWriter(by_column(qrels_fields), by_column(_run_fields), no_spaces, has_tag=True)


TREC = Format(
    "trec",
    "its lines are fields between spaces or tabs",
    table,
    _detected,
    is_of_fields=True,
    layouts=_LAYOUTS,
    writer=_writer,
)
