"""The structure of JSON text: strings, braces and spaces, found by array arithmetic."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Bools, Bytes, Ints
from gradeval.formats.diagnostics import Problem

SPACE = " \t\r\n"
NOT_CLOSED = "unexpected end of file: the JSON object is not closed"
MORE = "there is more after the end of the JSON object"
QUOTE, BACKSLASH, COLON, COMMA, OPEN, CLOSE, _OPEN_LIST, _CLOSE_LIST = b'"\\:,{}[]'
_MINUS, _DOT = b"-."
_ZERO = np.uint8(ord("0"))
STEP = np.zeros(256, np.int8)  # of the depth
STEP[[OPEN, _OPEN_LIST]], STEP[[CLOSE, _CLOSE_LIST]] = 1, -1
_BLANK: NDArray[np.int8] = np.zeros(256, np.int8)
_BLANK[list(SPACE.encode())] = 1


class Part(NamedTuple):
    """Members of an object: whole queries with their documents.

    text: `size` bytes and PAD more. quotes: those around strings. skipped: lines before the first member that
    no part has. first, last: whether it has the first and the last member. error: what follows it.
    """

    text: Bytes
    size: int
    quotes: Ints
    skipped: int
    first: bool
    last: bool
    error: Problem | None = None


def reason(error: json.JSONDecodeError) -> str:
    """What is wrong, without the words that lead to a place."""
    return error.msg.removesuffix(" at").removesuffix(" starting")


def not_utf8(text: bytes) -> tuple[int, str] | None:
    """The first place that is not UTF-8, and what to say of it; None where all is."""
    if text.isascii():
        return None
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return error.start, f"not valid JSON: {text[error.start : error.end]!r} is not UTF-8"
    return None


def has_control_character(text: Bytes, quotes: Ints) -> bool:
    """Whether a string between these quotes has one as it is, not as an escape."""
    return bool((np.searchsorted(quotes, np.flatnonzero(text < ord(" "))) % 2).any())


def string_quotes(text: Bytes) -> Ints:
    """The quotes that begin and end strings."""
    quotes = np.flatnonzero(text == QUOTE)
    if not len(quotes) or not (text == BACKSLASH).any():
        return quotes
    backslashes = np.flatnonzero(text == BACKSLASH)
    is_start = np.append(True, np.diff(backslashes) > 1)
    start = np.maximum.accumulate(np.where(is_start, backslashes, 0))  # of the run of each
    before = np.searchsorted(backslashes, quotes) - 1
    follows = (before >= 0) & (backslashes[before] == quotes - 1)
    is_quote: Bools = ~follows | ((quotes - start[before]) % 2 == 0)
    outside: Ints = quotes[is_quote]
    return outside


def braces(text: Bytes, quotes: Ints, depth: int) -> tuple[Ints, Ints]:
    """The braces and brackets outside strings, and the depth after each. depth: before the text."""
    at = np.flatnonzero(STEP[text])
    at = at[np.searchsorted(quotes, at) % 2 == 0]
    return at, depth + np.cumsum(STEP[text[at]], dtype=np.int64)


def are_numbers(text: Bytes, start: Ints, length: Ints) -> bool:
    """Whether fields that float() reads are numbers of JSON, which do not begin with +, a point or 00.

    After a point they have digits.
    """
    if (text[start + length - 1] == _DOT).any() or _have_bare_point(text, start, length):
        return False
    first = text[start]
    others = np.flatnonzero(first - _ZERO - 1 > 8)  # as bytes, which wrap around: all but 1, 2, … 9
    if not len(others):
        return True
    at = start[others] + (first[others] == _MINUS)
    digit = text[at] - _ZERO
    return bool(((digit <= 9) & ((digit > 0) | (text[at + 1] - _ZERO > 9))).all())


def _have_bare_point(text: Bytes, start: Ints, length: Ints) -> bool:
    """Whether an exponent follows a point in one of the fields, which are in the order of the text."""
    points = np.flatnonzero(text[:-1] == _DOT)
    points = points[(text[points + 1] | 0x20) == ord("e")]
    field = np.searchsorted(start, points, "right") - 1
    return bool((points < start[field] + length[field])[field >= 0].any())


def skip(text: Bytes, at: Ints, step: int) -> Ints:
    """The first places from these on, forwards or backwards, without a space or a line end."""
    blank: NDArray[np.int8]
    while (blank := _BLANK[text[at]]).any():
        at = at + step * blank.astype(np.int64)
    return at
