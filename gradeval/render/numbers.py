"""Numbers as text: one at a time for tables, and in columns of any length."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.render import Digits

ABSENT = "-"  # stands where there is no number
_FEW = 100  # values that are written one by one


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
    if signed or not (values < 0).any():
        return of_distinct(values, pattern.__mod__)

    def write(number: float) -> str:
        text = pattern % number
        return text if text[0] != "-" or text.strip("-0.") else text[1:]

    return of_distinct(values, write)


def of_distinct(values: Floats, write: Callable[[float], str]) -> list[str]:
    """write(value) for each value, called once for equal ones where there seem to be many."""
    first = values[:_FEW].tolist()
    if len(values) <= _FEW or len(set(first)) > 0.9 * len(first):
        return list(map(write, values.tolist()))
    distinct, index = np.unique(values, return_inverse=True)
    texts: list[str] = np.array(list(map(write, distinct.tolist())), object)[index].tolist()
    return texts


def exact(value: Any) -> Any:
    """A number as JSON can hold it, None where it is not finite; so each one in a dict or a list."""
    if isinstance(value, float):
        return value + 0.0 if math.isfinite(value) else None  # + 0.0 makes -0.0 a plain 0.0
    if isinstance(value, dict):
        return {name: exact(part) for name, part in value.items()}
    return list(map(exact, value)) if isinstance(value, list) else value
