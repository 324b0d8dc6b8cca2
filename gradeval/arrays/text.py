"""Lines of text from columns: ids and numbers, a field each, without a Python object for each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gradeval.arrays import Bytes, Floats
from gradeval.arrays.strings import Ids, integer_ids

Field = Ids | Bytes | bytes
"""Of lines: a column of ids, a character for each line (0: none), or what stands in all."""

_AT_ONCE = 4 << 20  # bytes of the lines that are made together
_DIGITS = 15  # of a decimal that a double always tells from longer
_LEAST = 1e-4  # smaller numbers have an exponent
_POWERS = 10 ** np.arange(19)
_FACTORS = np.array([float(10**exponent) for exponent in range(19)])
_ENDS = -np.array([float(10**exponent) for exponent in range(_DIGITS, -1, -1)] + [0.1, 0.01, 0.001, _LEAST])
_POINT, _MINUS = b".-"
ROWS = 1 << 14  # whose fields fit a processor's cache


def lines_of(fields: Sequence[Field]) -> Iterator[Bytes]:
    """The text of N lines, some at a time."""
    count = next(len(field) for field in fields if not isinstance(field, bytes))
    widths = [_width(field) for field in fields]
    step = max(1, _AT_ONCE // sum(widths))
    for first in range(0, count, step):
        rows = slice(first, min(first + step, count))
        table = np.empty((rows.stop - first, sum(widths)), np.uint8)
        begin = 0
        for field, width in zip(fields, widths, strict=True):
            _fill(table[:, begin : begin + width], field, rows)
            begin += width
        yield table[table != 0]  # ids have no NUL


def _width(field: Field) -> int:
    """How many bytes a field has in each line at most, of ids in whole words."""
    if isinstance(field, Ids):
        return 8 * -(-field.longest // 8)
    return len(field) if isinstance(field, bytes) else 1


def _fill(table: Bytes, field: Field, rows: slice) -> None:
    if isinstance(field, bytes):
        table[:] = np.frombuffer(field, np.uint8)
    elif not isinstance(field, Ids):
        table[:, 0] = field[rows]
    else:
        for k in range(table.shape[1] // 8):
            word = field.word(k, rows).astype("<u8", copy=False)
            table[:, 8 * k : 8 * k + 8] = word.view(np.uint8).reshape(-1, 8)


def decimal_fields(values: Floats) -> list[Field]:
    """Numbers as the shortest texts that read back equal, as repr() writes them, integers without .0: fields of
    their signs, of what is before the point, and of what is from the point on.
    """
    size = np.abs(values)
    is_short = ((size < 10.0**_DIGITS) & (size >= _LEAST)) | (size == 0)
    size = np.where(is_short, size, 0.0)
    decimals = np.where(size > 0, np.searchsorted(_ENDS, -size) - 1, 0)  # with which there are 15 digits
    rounded = np.rint(size * _FACTORS[decimals])
    is_short &= rounded / _FACTORS[decimals] == size
    digits = rounded.astype(np.int64)
    for zeros in (8, 4, 2, 1):  # at the end
        rows = np.flatnonzero((decimals >= zeros) & (digits % _POWERS[zeros] == 0))
        digits[rows] //= _POWERS[zeros]
        decimals[rows] -= zeros
    scale = _POWERS[decimals]
    whole, fraction = integer_ids(digits // scale), integer_ids(digits % scale + scale)
    fraction.block[fraction.start] = _POINT  # in the place of the 1 before the decimals
    longer = np.flatnonzero(~is_short)
    if len(longer):
        texts = [repr(value).removesuffix(".0").encode() for value in values[longer].tolist()]
        whole = whole.with_others(longer, Ids.of(texts))
    has_point = is_short & (decimals > 0)
    fraction = Ids(fraction.block, fraction.start, np.where(has_point, fraction.length, 0))
    return [np.where(is_short & np.signbit(values), _MINUS, 0).astype(np.uint8), whole, fraction]
