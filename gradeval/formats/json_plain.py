"""The rows of JSON text whose values are all numbers, found by array arithmetic."""

from __future__ import annotations

import json

import numpy as np

from gradeval.arrays import Bytes, Ints
from gradeval.arrays.strings import Ids
from gradeval.formats.columns import Columns
from gradeval.formats.json_text import (
    BACKSLASH,
    CLOSE,
    COLON,
    COMMA,
    OPEN,
    SPACE,
    Part,
    are_numbers,
    has_control_character,
    skip,
)
from gradeval.formats.scan import LF, floats

_NONE: Ints = np.empty(0, np.int64)


def plain_columns(part: Part, lines: int) -> Columns | None:
    """The rows of a part whose values are all numbers, None for another."""
    text, size, quotes = part.text, part.size, part.quotes
    if len(quotes) % 2 or not len(quotes) or has_control_character(text[:size], quotes):
        return None
    opening, closing = quotes[::2], quotes[1::2]
    between = text[: opening[0]].tobytes().strip(SPACE.encode())
    if between != (b"" if part.first else b","):
        return None
    gap_end = np.append(opening[1:], size)
    colon = skip(text, closing + 1, 1)
    if not (text[colon] == COLON).all():
        return None
    value = skip(text, colon + 1, 1)
    is_query = text[value] == OPEN
    if not is_query[0] or is_query[-1]:
        return None
    queries, documents = np.flatnonzero(is_query), np.flatnonzero(~is_query)
    if (skip(text, value[queries] + 1, 1) != gap_end[queries]).any() or is_query[queries + 1].any():
        return None
    tail = skip(text, gap_end[documents] - 1, -1)
    if not (text[tail[:-1]] == COMMA).all():
        return None
    tail[:-1] = skip(text, tail[:-1] - 1, -1)
    closes = text[tail] == CLOSE
    if (closes != np.append(is_query, True)[documents + 1]).any():
        return None
    ends = np.flatnonzero(closes)
    tail[ends] = skip(text, tail[ends] - 1, -1)
    start = value[documents]
    length = tail + 1 - start
    if (length <= 0).any():
        return None
    number, bad = floats(Ids(text, start, length))
    if len(bad) or not are_numbers(text, start, length):
        return None
    ids = _decoded(text, size, opening, closing)
    if ids is None:
        return None
    place = np.searchsorted(documents, queries)
    ends_of_lines = np.flatnonzero(text[:size] == LF) if lines > part.skipped else _NONE
    line = np.searchsorted(ends_of_lines, opening[documents]) + part.skipped
    bounds = np.append(place, len(documents))
    return Columns(ids.take(queries), bounds, ids.take(documents), number, line, lines, part.first, part.last)


def _decoded(text: Bytes, size: int, opening: Ints, closing: Ints) -> Ids | None:
    """The strings between these quotes, None where one is not valid or has a NUL."""
    ids = Ids(text, opening + 1, closing - opening - 1)
    backslashes = np.flatnonzero(text[:size] == BACKSLASH)
    if not len(backslashes):
        return ids
    rows = np.unique(np.searchsorted(opening, backslashes) - 1)
    try:
        strings = json.loads(b"[" + b",".join(b'"%b"' % one for one in ids.take(rows).tolist()) + b"]")
        decoded = [one.encode("utf-8", "surrogateescape") for one in strings]
    except ValueError:  # of JSON, or of UTF-8 or a lone surrogate
        return None
    if any(b"\0" in one for one in decoded):
        return None
    row = np.arange(len(ids))
    row[rows] = len(ids) + np.arange(len(rows))
    return Ids.joined([ids, Ids.of(decoded)]).take(row)
