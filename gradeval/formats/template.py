"""The quick scanner of a usual run: a block whose lines all have the shape of its first line.

Such lines have six fields with one separator between any two, and those that most runs have in common in one
width: the second field (Q0), the tag, and the decimals of the score. Then only the ends of lines are searched
for, and the other fields are looked up from both ends of their line. Any other block is for the general scanner
in scan.py, which alone decides what is wrong; both return the same columns.
"""

from __future__ import annotations

import numpy as np

from gradeval.arrays import Bytes, Floats, Ints, Words
from gradeval.arrays.strings import Ids, mix, words
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import LineProblems
from gradeval.formats.scan import DOT, HASH, LF, SPACE, TAB, eight_digits, floats
from gradeval.formats.sources import Block
from gradeval.records import Record

_U = np.uint64
_ONES, _ALL = _U(0x0101010101010101), _U(0xFFFFFFFFFFFFFFFF)
_ABOVE_SPACE, _HIGH_BITS = _U(0x21) * _ONES, _U(0x80) * _ONES
_ZEROS, _TO_HIGH = _U(ord("0")) * _ONES, _U(0x80 - 10) * _ONES  # what makes a byte above 9 have its high bit
_1, _7, _8, _BYTE = map(_U, (1, 7, 8, 255))
_LAST: Words = ~np.array([(1 << 8 * (8 - n)) - 1 for n in range(9)], _U)  # masks of the last n bytes of a word
_FIELDS = 6
_AT_ONCE = 1 << 15  # lines whose temporary arrays stay in the cache
_LONGEST = 31  # words of an id; their bytes still fit in 8 bits


class _Shape(Record):
    """The widths that the lines of a block have in common: of the second field and the tag, and how many digits
    the score has behind its point, 0 where that is not known.
    """

    second: int
    tag: int
    decimals: int


def run_columns(block: Block) -> tuple[Columns, Ids] | None:
    """The lines of a run, and their column of ranks; None for a block that the general scanner must read."""
    text = block.bytes[: block.size]
    ends = np.flatnonzero(text == LF)
    count = len(ends)
    shape = _shape(text, ends)
    if shape is None:
        return None
    starts = np.empty(count, np.int64)
    starts[0] = 0
    np.add(ends[:-1], 1, out=starts[1:])
    document, length, rank, rank_length = np.empty((4, count), np.int64)
    keys, value = np.empty(count, np.uint64), np.empty(count)
    first, query_length = [], []  # of rows whose query may be another than that of the row before
    for a in range(0, count, _AT_ONCE):
        rows = slice(a, a + _AT_ONCE)
        read = _lines(block.bytes, starts[rows], ends[rows], shape)
        if read is None:
            return None
        (
            new,
            new_length,
            document[rows],
            length[rows],
            keys[rows],
            rank[rows],
            rank_length[rows],
            value[rows],
        ) = read
        first.append(new + a)
        query_length.append(new_length)
    row = np.concatenate(first)
    queries = Ids(block.bytes, starts[row], np.concatenate(query_length))
    differs = np.append(0, queries.changes())  # the first rows of each turn may continue a query
    documents = Ids(block.bytes, document, length, keys)
    columns = Columns(
        queries.take(differs),
        np.append(row[differs], count),
        documents,
        value,
        np.arange(count),
        count,
        block.first,
        block.last,
        LineProblems(rows=count),
        text[ends[-1] - shape.tag : ends[-1]].tobytes(),
    )
    return columns, Ids(block.bytes, rank, rank_length)


def _shape(text: Bytes, ends: Ints) -> _Shape | None:
    """That of the first line, where the block has as many separators as such lines have.

    No other byte may end a field. So once five separators of each line are known, there are no others.
    """
    blanks = (_FIELDS - 1) * len(ends)
    if not len(ends) or np.count_nonzero(text <= SPACE) != blanks + len(ends):
        return None
    spaces = np.count_nonzero(text == SPACE)
    if spaces != blanks and spaces + np.count_nonzero(text == TAB) != blanks:
        return None
    fields = text[: ends[0]].tobytes().split()
    if len(fields) != _FIELDS:
        return None
    decimals = len(fields[4].partition(b".")[2])
    return _Shape(len(fields[1]), len(fields[5]), decimals if decimals < 8 else 0)


def _lines(block: Bytes, start: Ints, end: Ints, shape: _Shape) -> tuple[Ints | Words | Floats, ...] | None:
    """Some lines as columns, None where one has another shape: the rows at which the query changes, the lengths
    of these queries; the start and length of each document, its key, the start and length of each rank; and the
    scores.
    """
    view = words(block)
    query = _field(view, start)
    if query is None:
        return None
    second = start + query[1]
    document = second + (shape.second + 2)
    score_end = end - (shape.tag + 1)
    if (document > end).any() or max(block[document - 1].max(), block[score_end].max()) > SPACE:
        return None
    new = np.ones(len(start), bool)
    np.not_equal(query[0][0][1:], query[0][0][:-1], out=new[1:])
    for word in query[0][1:]:
        new[1:] |= word[1:] != word[:-1]
    first = np.flatnonzero(new)
    if not query[1][first].all() or (block[start[first]] == HASH).any():
        return None
    ids = _field(view, document)
    if ids is None:
        return None
    length = ids[1]
    rank = document + length
    rank += 1
    ranks = _field(view, rank, 1)
    if ranks is None:
        return None
    score = rank + ranks[1]
    score += 1
    score_length = score_end - score
    if score_length.min() < 1 or length.min() < 1 or ranks[1].min() < 1:
        return None
    value = _decimal_numbers(block, score_end, score_length, shape.decimals)
    if value is None:
        value, bad = floats(Ids(block, score, score_length))
        if len(bad):
            return None
    return first, query[1][first], document, length, _keys(*ids), rank, ranks[1], value


def _field(view: Words, start: Ints, longest: int = _LONGEST) -> tuple[list[Words], Ints] | None:
    """The field at each offset, up to the next byte that is no more than a space: its words, 0 behind its end,
    and its length. None where one has more words than `longest`.
    """
    word, bits = _up_to_blank(view[start])
    fields, length = [word], bits >> 3
    while length.max(initial=0) >= 8 * len(fields):
        if len(fields) == longest:
            return None
        rows = np.flatnonzero(length == 8 * len(fields))
        word, bits = _up_to_blank(view[start[rows] + 8 * len(fields)])
        fields.append(np.zeros(len(start), np.uint64))
        fields[-1][rows] = word
        length[rows] += bits >> 3
    return fields, length.astype(np.int64)


def _up_to_blank(word: Words) -> tuple[Words, Bytes]:
    """The bytes of each word before the first that is no more than a space, and how many bits they have."""
    stop = word - _ABOVE_SPACE  # the lowest high bit marks that byte
    stop &= ~word
    stop &= _HIGH_BITS
    stop >>= _7
    mask = stop - _1
    mask &= ~stop
    word &= mask
    return word, np.bitwise_count(mask)


def _keys(fields: list[Words], length: Ints) -> Words:
    """Ids.keys() of fields."""
    keys = mix(fields[0] ^ _ALL)
    for k, word in enumerate(fields[1:], 1):
        rows = np.flatnonzero(length > 8 * k)
        keys[rows] = mix(keys[rows] ^ word[rows])
    return keys


def _decimal_numbers(block: Bytes, end: Ints, length: Ints, decimals: int) -> Floats | None:
    """floats() of numbers of up to eight digits, so many of them decimals; None for others."""
    digits = length - 1  # of each
    if not decimals or digits.min() <= decimals or digits.max() > 8:
        return None
    word = words(block)[end - 8]
    point = word >> _8 * _U(7 - decimals)
    point &= _BYTE
    if not (point == DOT).all():
        return None
    whole = word << _8  # whose digits are where they would be without the point
    if digits.max() == 8:
        whole |= block[end - 9]
    whole &= ~_LAST[decimals]
    word &= _LAST[decimals]
    word |= whole
    word ^= _ZEROS
    word &= _LAST[digits]
    if (((word + _TO_HIGH) | word) & _HIGH_BITS).any():
        return None
    value = eight_digits(word).astype(np.float64)
    value /= 10.0**decimals
    return value
