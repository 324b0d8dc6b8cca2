"""Numbers as text: one at a time for tables, and in columns of any length."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.render import Digits

ABSENT = "-"  # stands where there is no number


def number(value: float, digits: Digits) -> str:
    """A value or a difference; zero has no sign."""
    if math.isnan(value):
        return ABSENT
    if digits == "full" or math.isinf(value):
        return repr(float(value) + 0.0)
    text = f"{value:.{digits}f}"
    return text if text[0] != "-" or text.strip("-0.") else text[1:]


def signed(value: float, digits: Digits) -> str:
    """A difference, with its sign."""
    text = number(value, digits)
    return text if text == ABSENT or text[0] == "-" or not text.strip("0.") else f"+{text}"


def plain(value: float, digits: Digits) -> str:
    """A number for a program."""
    return "nan" if math.isnan(value) else number(value, digits)


def nonzero(value: float, text: str, least: float = 0.0) -> str:
    """The text of a number; one that decides, and would be rounded to 0, has a significant digit.

    least: values up to this are 0.
    """
    return f"{value:.0e}" if abs(value) > least and not text.strip("+-0.") else text


def significant(value: float, digits: Digits) -> str:
    """A p-value with this many significant digits, so that a small one is not 0."""
    return repr(value) if digits == "full" else f"{value:.{max(digits, 1)}g}"


def probability(p: float, digits: Digits) -> str:
    """A p-value for people; one that would be rounded to 0 is shown as below the smallest number shown."""
    least = 0.0 if digits == "full" else 10.0**-digits
    return f"<{least:.{digits}f}" if p < least / 2 else number(p, digits)


def decimals(values: Floats, whole: bool, *, digits: Digits, width: int = 0, signed: bool = False) -> list[str]:
    """Values as text. Counts have no decimals. Zero has no sign; with signed, a rounded negative has."""
    values = values + 0.0  # makes -0.0 a plain 0.0
    if whole:
        return of_distinct(values, lambda number: str(int(number)) if number == number else "nan")
    if digits == "full":
        return of_distinct(values, repr)
    pattern = f"%{width}.{digits}f"

    def write(number: float) -> str:
        text = pattern % number
        return text if signed or text[0] != "-" or text.strip("-0.") else text[1:]

    return _rounded(values, digits, write)


_FEW = 100  # values that are written one by one
_UNITS = 10**6  # the most units of the last decimal for which texts are looked up


def of_distinct(values: Floats, write: Callable[[float], str]) -> list[str]:
    """write(value) for each value, called once for equal ones where there seem to be many."""
    first = values[:_FEW].tolist()
    if len(values) <= _FEW or len(set(first)) > 0.9 * len(first):
        return list(map(write, values.tolist()))
    distinct, index = np.unique(values, return_inverse=True)
    return _looked_up(list(map(write, distinct.tolist())), index)


def _rounded(values: Floats, digits: int, write: Callable[[float], str]) -> list[str]:
    """write(value) for each value, which rounds to this many decimals.

    A value is first rounded to a number of units by arithmetic, and that number's text looked up. What is near
    to the middle of two such numbers, below 0, or large is written separately.
    """
    if len(values) <= _FEW or digits > 6:
        return of_distinct(values, write)
    unit = 10.0**digits
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = values * unit
        nearest = np.rint(scaled)
        is_sure = (scaled >= 0) & (scaled < _UNITS) & (np.abs(scaled - nearest) < 0.49999)
    count = np.where(is_sure, nearest, 0).astype(np.int64)
    present = np.flatnonzero(np.bincount(count))
    index = np.empty(_UNITS + 1, np.int32)
    index[present] = np.arange(len(present))
    texts = _looked_up([write(number / unit) for number in present.tolist()], index[count])
    others = np.flatnonzero(~is_sure)
    for row, text in zip(others.tolist(), of_distinct(values[others], write), strict=True):
        texts[row] = text
    return texts


def _looked_up(texts: list[str], index: Any) -> list[str]:
    column: list[str] = np.array(texts, object)[index].tolist()
    return column


def exact(value: Any) -> Any:
    """A number as JSON can hold it, None where it is not finite; so each one in a dict or a list."""
    if isinstance(value, float):
        return value + 0.0 if math.isfinite(value) else None  # + 0.0 makes -0.0 a plain 0.0
    if isinstance(value, dict):
        return {name: exact(part) for name, part in value.items()}
    return list(map(exact, value)) if isinstance(value, list) else value
