"""The vectorised scanner: blocks of whole lines, with PAD bytes behind, as columns of ids and of floats."""

from __future__ import annotations

import re

import numpy as np

from gradeval.arrays import Bools, Bytes, Floats, Ints, Words
from gradeval.arrays.strings import MASKS, Ids, words
from gradeval.formats.diagnostics import LineProblems, Problem, shown
from gradeval.formats.sources import (
    ARROW_MAGIC,
    PARQUET_MAGIC,
    SAVE_AS_CSV,
    TOO_LONG,
    UTF8_MARK,
    WORKBOOK,
    Block,
)
from gradeval.records import Record

SPACE, TAB, LF, CR, HASH, DOT, PLUS, MINUS = b" \t\n\r#.+-"

_U = np.uint64
ONES, ZEROS = _U(0x0101010101010101), _U(0x3030303030303030)
_ABOVE_NINE, HIGH_BITS = _U(0x4646464646464646), _U(0x8080808080808080)
TO_HIGH = _U(0x7676767676767676)  # what makes a byte above 9 have its high bit
_PAIRS, _FOURS = _U(0x00FF00FF00FF00FF), _U(0x0000FFFF0000FFFF)
_PAIR, _FOUR, _EIGHT = (_U((10**n << 8 * n) + 1) for n in (1, 2, 4))  # first * 10^n + second, in their bytes
_1, _3, _7, _8, _10, _16, _32, _56, _64 = map(_U, (1, 3, 7, 8, 10, 16, 32, 56, 64))
_POWERS: Words = _10 ** np.arange(9, dtype=_U)
_ROOM: Words = _U(2**63 - 10**8) // _POWERS  # what can be multiplied by the power and still take 8 digits more
_POWERS_FLOAT: Floats = np.array([10.0**n for n in range(23)])  # all exact
_EXACT = _U(2**53)
_POINT = _U(DOT ^ ord("0"))
_SIZES = np.arange(17)
_FIRST_BYTES: Words = MASKS[np.minimum(_SIZES, 8)]
_SECOND_BYTES: Words = MASKS[np.maximum(_SIZES - 8, 0)]
_BY_FORMAT = "--qrels-format {0} and --run-format {0} read it"
_IN_PYTHON = "Load it in Python, and give its rows to gradeval.evaluate()"
_MAGIC = (  # of binary files: the offset of the first bytes, these, what the file is, and what to do
    (0, PARQUET_MAGIC, "a Parquet file", _BY_FORMAT.format("parquet")),
    (0, ARROW_MAGIC[0], "an Arrow file", _BY_FORMAT.format("arrow")),
    (0, b"\x93NUMPY", "a NumPy array", _IN_PYTHON),
    (0, b"\x89HDF", "an HDF5 file", _IN_PYTHON),
    (0, b"SQLite", "an SQLite database", _IN_PYTHON),
    (0, b"\xd0\xcf\x11\xe0", WORKBOOK, SAVE_AS_CSV),  # .xls
    (0, b"\x80", "a pickled Python object", _IN_PYTHON),
    (257, b"ustar", "a tar archive", "Extract it first, with tar -xf"),
)
MAGIC_END = 512  # of the bytes that may show what a binary file is
_MARKS = {"UTF-32": (b"\xff\xfe\0\0", b"\0\0\xfe\xff"), "UTF-16": (b"\xff\xfe", b"\xfe\xff")}
NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_CR_INSIDE = rb"(?m)^(?![ \t]*#)[^\n]*[^ \t\r\n]\r[^ \t\r\n]"  # of a line that is no comment
_FIRST_OF_NUMBER, _LAST_OF_NUMBER = np.zeros((2, 256), bool)
_FIRST_OF_NUMBER[list(b"0123456789.+-")] = _LAST_OF_NUMBER[list(b"0123456789.")] = True
_NONE: Ints = np.empty(0, np.int64)


class DataLines(Record):
    """The lines of a block that hold data."""

    fields: tuple[Ids, ...]  # the wanted ones, each a column
    line: Ints  # the 0-based line of each row
    lines: int  # how many the block has
    odd: Ints = _NONE  # the lines with too few or too many fields
    odd_counts: Ints = _NONE  # how many fields each of these has
    counts: Ints | int = 0  # how many fields each row has, or all rows


def split(
    block: Bytes, size: int, wanted: tuple[int, ...], min_fields: int, max_fields: int | None = None
) -> DataLines:
    """The wanted fields (by their 0-based place) of each line that is not blank or a comment, between spaces,
    tabs and CRs. Lines with fewer than `min_fields` or more than `max_fields` are listed, not returned.
    """
    usual = _regular(block, size, wanted, min_fields, max_fields)
    if usual is not None:
        return usual
    tokens = tokenize(block[:size])
    data = np.flatnonzero(tokens.counts)
    data = data[block[tokens.start[tokens.first[data]]] != HASH]
    counts = tokens.counts[data]
    is_odd = (counts < min_fields) | (counts > (max_fields or counts.max(initial=0)))
    odd, odd_counts = data[is_odd], counts[is_odd]
    data, counts = data[~is_odd], counts[~is_odd]
    fields = tuple(tokens.ids(block, tokens.first[data] + k) for k in wanted)
    return DataLines(fields, data, len(tokens.counts), odd, odd_counts, counts=counts)


def _regular(
    block: Bytes, size: int, wanted: tuple[int, ...], min_fields: int, max_fields: int | None
) -> DataLines | None:
    """The rows of a block whose lines all have the same number of fields, one separator behind each."""
    text = block[:size]
    field_ends = np.flatnonzero(text <= SPACE)
    if not len(field_ends):
        return None
    breaks = block[field_ends[:64]] == LF
    n = int(breaks.argmax()) + 1
    lines, remainder = divmod(len(field_ends), n)
    if remainder or not breaks.any() or n < min_fields or (max_fields is not None and n > max_fields):
        return None
    if (
        not (block[field_ends[n - 1 :: n]] == LF).all()
        or not field_ends[0]
        or (field_ends[1:] - field_ends[:-1]).min(initial=2) < 2
    ):
        return None
    blanks = len(field_ends) - lines  # neither CR nor another character that is no part of a line
    spaces = np.count_nonzero(text == SPACE)
    if spaces != blanks and spaces + np.count_nonzero(text == TAB) != blanks:
        return None
    starts = np.empty(lines, np.int64)
    starts[0] = 0
    np.add(field_ends[n - 1 : -1 : n], 1, out=starts[1:])
    if (block[starts] == HASH).any():
        return None
    fields = []
    for k in wanted:
        start = field_ends[k - 1 :: n] + 1 if k else starts
        fields.append(Ids(block, start, field_ends[k::n] - start))
    return DataLines(tuple(fields), np.arange(lines), lines, counts=n)


class Tokens(Record):
    """Fields between spaces."""

    start: Ints  # of each field
    end: Ints  # likewise
    first: Ints  # the first field of each line
    counts: Ints  # how many fields each line has

    def ids(self, block: Bytes, token: Ints) -> Ids:
        start = self.start[token]
        return Ids(block, start, self.end[token] - start)


def tokenize(text: Bytes, also: Ints | None = None) -> Tokens:
    """The tokens of whole lines; the offsets in `also` separate tokens too."""
    is_end = text == LF
    is_space = (text == SPACE) | (text == TAB) | (text == CR) | is_end
    if also is not None:
        is_space[also] = True
    before = np.ones(len(text), bool)
    before[1:] = is_space[:-1]
    edges = np.flatnonzero(before != is_space)  # a start, its end, the next start, …
    start, end = edges[::2].copy(), edges[1::2].copy()
    bounds = np.searchsorted(start, np.flatnonzero(is_end))  # tokens up to the end of each line
    first = np.append(0, bounds)[:-1]
    return Tokens(start, end, first, bounds - first)


def unreadable(block: Block, cr_separates: bool = False) -> LineProblems | None:
    """Why the lines of a block cannot be read, None where they can. cr_separates: fields, as spaces do."""
    problem = not_text(block)
    characters = block.text
    behind = characters[np.flatnonzero(characters[:-1] == CR) + 1]
    if problem is None and not cr_separates and ((behind != LF) & (behind != CR)).any():
        text = characters.tobytes()
        if match := re.search(_CR_INSIDE, text):
            line = text.count(b"\n", 0, match.start())
            whole = text[match.start() :].partition(b"\n")[0]
            hint = r"Where lines end in CR, convert them with tr '\r' '\n'"
            problem = Problem(line, f"a CR inside the line {shown(whole)}", hint)
    return None if problem is None else LineProblems((problem,), 1, final=True)


def not_text(block: Block, before: int = 0) -> Problem | None:
    """Why a block cannot be read as lines of text, if so. before: the number of lines before it."""
    if (problem := not_lines(block, before)) is not None:
        return problem
    marked = marked_lines(block)
    return byte_order_mark(before + int(marked[0])) if len(marked) else None


def not_lines(block: Block, before: int) -> Problem | None:
    """not_text(), but for byte order marks at the beginning of lines, which may be within a quoted field."""
    text = block.text
    if not text.all():
        line = int(np.count_nonzero(text[: int(text.argmin())] == LF))
        return binary_data(text[:MAGIC_END].tobytes() if block.first and not before else b"", before + line)
    return Problem(before, TOO_LONG, "Is this the right file?") if block.too_long else None


def marked_lines(block: Block) -> Ints:
    """The lines that begin with a byte order mark; of a file, that at its beginning is no longer there."""
    text = block.text
    if text.max(initial=0) < UTF8_MARK[0]:  # as in most text
        return _NONE
    marks = np.flatnonzero(text == UTF8_MARK[0])
    for index in (1, 2):
        marks = marks[block.bytes[marks + index] == UTF8_MARK[index]]
    marks = marks[text[marks - 1] == LF]  # so does the block end
    lines: Ints = np.searchsorted(np.flatnonzero(text == LF), marks)
    return lines


def byte_order_mark(line: int) -> Problem:
    hint = r"Where files were joined, remove theirs with sed 's/^\xef\xbb\xbf//'"
    return Problem(line, "a byte order mark at the beginning of a line", hint)


def binary_data(text: bytes, line: int) -> Problem:
    """The problem of text with a NUL in this line: it may be in another encoding, which a BOM shows."""
    for name, marks in _MARKS.items():
        if line == 0 and text.startswith(marks):
            return Problem(0, f"this is text in {name}", f"Convert it with iconv -f {name} -t UTF-8")
    for offset, magic, kind, hint in _MAGIC:
        if text[offset : offset + len(magic)] == magic:
            return Problem(None, f"this is {kind}", hint)
    return Problem(line, "binary data (a NUL byte)", "Is this the right file?")


def floats(text: Ids) -> tuple[Floats, Ints]:
    """Each field as a number, equal to float(text), and the rows that hold no finite number."""
    # by their mean: eight bytes are quicker by _any_floats(), and most above 16 are for it alone
    if not 8 * len(text) < text.length.sum() <= 16 * len(text):
        return _any_floats(text)
    values, unread = _short_floats(text)
    if len(unread):
        values[unread], bad = _any_floats(text.take(unread))
        unread = unread[bad]
    return values, unread


def _short_floats(text: Ids) -> tuple[Floats, Ints]:
    """Numbers of up to 15 digits, perhaps with a point and a minus sign; and the rows of all other fields.

    The digits are read as 16, with zeros behind. A float holds these exactly: n zeros are a factor 2^n, the
    other one is below 5 * 10^15, so below 2^53. It holds the power of 10 too: their quotient is rounded once.
    """
    negative = text.block[text.start] == MINUS
    start = text.start + negative
    length = text.length - negative
    size = np.minimum(length, 16)
    view = words(text.block)
    first = (view[start] ^ ZEROS) & _FIRST_BYTES[size]
    second = (view[start + 8] ^ ZEROS) & _SECOND_BYTES[size]
    whole = np.minimum(_remove_point(first, second), size)  # digits before the point
    digits = length - (whole < length)
    unread = ((first + TO_HIGH) | first | (second + TO_HIGH) | second) & HIGH_BITS != 0
    unread |= (digits < 1) | (digits > 15)
    number = eight_digits(first)
    number *= _POWERS[8]
    number += eight_digits(second)
    values = number.astype(np.float64)
    values /= _POWERS_FLOAT[16 - whole]
    np.negative(values, out=values, where=negative)
    return values, np.flatnonzero(unread)


def _remove_point(first: Words, second: Words) -> Bytes:
    """The place of the first point in 16 bytes, 16 for none; what follows it is moved there, in place."""
    before = up_to(_POINT, first)
    position = np.bitwise_count(before)
    position >>= 3
    behind = (first >> _8) | (second << _56)
    first ^= (first ^ behind) & ~before
    rows = np.flatnonzero(position == 8)
    before = np.zeros_like(second)
    before[rows] = up_to(_POINT, second[rows])
    position[rows] += np.bitwise_count(before[rows]) >> 3
    second ^= (second ^ (second >> _8)) & ~before
    return position


def up_to(character: np.uint64, word: Words) -> Words:
    """A mask of the bytes of each word before the first `character`."""
    other: Words = word ^ (character * ONES)  # 0 where the character is
    stop = other - ONES  # the lowest high bit marks that byte
    np.invert(other, out=other)
    stop &= other
    stop &= HIGH_BITS
    stop >>= _7
    np.subtract(stop, _1, out=other)
    np.invert(stop, out=stop)
    other &= stop
    return other


def _any_floats(text: Ids) -> tuple[Floats, Ints]:
    """floats() of any fields.

    Digits are read eight at a time. A number whose digits stay below 2^53 is one exact division; below 2^63
    a division in twice the precision, checked to round the right way; all others are left to float().
    """
    first = text.block[text.start]
    negative = first == MINUS
    signed = negative | (first == PLUS)
    mantissa, decimals, hard = _decimal_digits(text, text.start + signed if signed.any() else text.start)
    hard |= decimals > 22
    np.minimum(decimals, 22, out=decimals)
    scale = _POWERS_FLOAT[decimals]
    values = mantissa.astype(np.float64)
    values /= scale
    large = np.flatnonzero((mantissa >= _EXACT) & ~hard)
    if len(large):
        values[large], unsure = _long_division(mantissa[large], scale[large])
        hard[large] = unsure
    np.negative(values, out=values, where=negative)
    hard_rows = np.flatnonzero(hard)
    if not len(hard_rows):
        return values, hard_rows
    values[hard_rows] = _python_floats(text.take(hard_rows))
    return values, hard_rows[~np.isfinite(values[hard_rows])]


def _decimal_digits(text: Ids, start: Ints) -> tuple[Words, Ints, Bools]:
    """The digits of each field from these offsets on, as an integer; how many of them are decimals; and which
    fields have too many, or are no digits with a point.
    """
    end = text.start + text.length
    view = words(text.block)
    mantissa, count = _leading_number(view[start])
    at = start + count.view(np.int64)
    decimals = np.zeros(len(start), np.int64)
    has_point = text.block[at] == DOT
    hard = np.where(has_point, (count == 0) & (at + 1 == end), (count == 0) | (at != end))
    # then the digits behind the point, for the rows that have some
    rows = _chosen(has_point & (at + 1 < end))
    at = at[rows] + 1
    while len(at):
        digits, count = _leading_number(view[at])
        places = count.view(np.int64)
        at += places
        value = mantissa[rows]
        fits = (value <= _ROOM[places]) & (count > 0)
        value *= _POWERS[places]
        value += digits
        mantissa[rows] = value
        decimals[rows] += places
        hard[rows] = ~fits
        more = _chosen(fits & (at < end[rows]))
        at = at[more]
        rows = np.arange(len(start))[rows][more] if len(at) else rows
    return mantissa, decimals, hard


def _python_floats(text: Ids) -> Floats:
    """Each field as float() reads it, NaN where it is no number."""
    values = np.full(len(text), np.nan)
    # most fields that are not numbers have a first or last byte that shows it
    first = text.block[text.start]
    last = text.block[np.maximum(text.start + text.length - 1, 0)]
    likely = np.flatnonzero(_FIRST_OF_NUMBER[first] & _LAST_OF_NUMBER[last])
    fields = text.take(likely).tolist()
    is_number = re.compile(NUMBER).fullmatch
    values[likely] = [float(field) if is_number(field) else np.nan for field in fields]
    return values


def _chosen(rows: Bools) -> Ints | slice:
    """An index of the rows that are true, cheap if all or none are."""
    if rows.all():
        return slice(None)
    return np.flatnonzero(rows) if rows.any() else slice(0)


def leading_integers(block: Bytes, start: Ints) -> tuple[Ints, Ints]:
    """The integer at each offset, of up to eight digits, and how many digits it has."""
    number, count = _leading_number(words(block)[start])
    return number.astype(np.int64), count.astype(np.int64)


def _leading_number(word: Words) -> tuple[Words, Words]:
    """The integer that eight characters start with, and how many digits it has."""
    digits = word - ZEROS
    # the lowest high bit marks the first byte outside '0'..'9' (carries may corrupt the bytes above it)
    stop = ((word + _ABOVE_NINE) | digits) & HIGH_BITS
    stop &= ~stop + _1
    stop >>= _7
    stop -= _1
    digits &= stop
    stop &= ONES
    stop *= ONES
    stop >>= _56
    return eight_digits(digits << (_64 - (stop << _3))), stop


def eight_digits(digits: Words) -> Words:
    """Eight digits, one a byte with the first one lowest, as a number: pairs, then fours, then all."""
    number: Words = digits * _PAIR
    number >>= _8
    number &= _PAIRS
    number *= _FOUR
    number >>= _16
    number &= _FOURS
    number *= _EIGHT
    number >>= _32
    return number


def _long_division(mantissa: Words, scale: Floats) -> tuple[Floats, Bools]:
    """mantissa / scale rounded once, and where that is not certain (Dekker's exact products)."""
    high = mantissa.astype(np.float64)
    low = (mantissa - high.astype(_U)).view(np.int64).astype(np.float64)
    quotient = high / scale
    product = quotient * scale
    q_high, q_low = _halves(quotient)
    s_high, s_low = _halves(scale)
    error = ((q_high * s_high - product) + q_high * s_low + q_low * s_high) + q_low * s_low
    correction = ((high - product) - error + low) / scale
    value = quotient + correction
    remainder = np.abs(correction - (value - quotient))
    half = np.spacing(value) / 2
    at_power = np.frexp(value)[0] == 0.5
    return value, (np.abs(remainder - half) <= half * 2.0**-40) | at_power


def _halves(value: Floats) -> tuple[Floats, Floats]:
    """A float as the sum of two of 26 bits."""
    spread = value * 134217729.0
    high = spread - (spread - value)
    return high, value - high
