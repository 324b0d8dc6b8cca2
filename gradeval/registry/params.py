"""Parameters of metrics as data: their text, their values, and what is wrong with a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

from gradeval.grades import RANGE, is_grade
from gradeval.options import parse_number

LARGEST_WHOLE = 10**15
_PAIRS_FORM = "grade:gain/grade:gain/…"
_GAIN_FORM = f"linear, exp, or {_PAIRS_FORM}"

Pairs = tuple[tuple[float, float], ...]


class Spelling(NamedTuple):
    """How a parameter is spelled elsewhere.

    tool: where, '' for more than one. words: what its values are here; none where they are written as here.
    example: a value that is written in another way.
    """

    tool: str = ""
    words: Mapping[str, str] | None = None
    example: str = ""


@dataclass(frozen=True, eq=False)
class Param:
    """One parameter of a metric.

    parse: turns the text after `=` into the value, and raises ValueError with what the text must be.
    allowed: what a value may be, for people. default: the value when none is given; None where it is
    required, or where the metric has a meaning of its own without it: `without` says which. aliases: its other
    names.
    """

    name: str
    about: str
    parse: Callable[[str], Any]
    allowed: str
    default: Any = None
    without: str = ""
    required: bool = False
    aliases: Mapping[str, Spelling] = field(default_factory=dict)

    def but(self, **fields: Any) -> Param:
        """The same parameter with something else about it, such as its default."""
        return replace(self, **fields)

    def text(self, value: Any) -> str:
        """The value as it is written in a spec; parse(text(value)) == value."""
        return _text(value, "/:")


def _text(value: Any, separators: str) -> str:
    if isinstance(value, tuple):
        return separators[0].join(_text(one, separators[1:]) for one in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        short = f"{value:.15g}"
        return short if float(short) == value else repr(value)
    return str(value)


class OutOfRange(ValueError):
    """A number that is too large or too close to 0 to compute with."""


def _number(text: str) -> float:
    try:
        value = parse_number(text)
    except ValueError:
        raise ValueError("a finite number") from None
    if not is_grade(value):  # what is not a grade is added to grades and multiplied with them
        raise OutOfRange(RANGE)
    return value


def number(name: str, about: str, default: float | None = None, **more: Any) -> Param:
    """A parameter that takes any finite number."""
    return Param(name, about, _number, "a number", default, **more)


def positive(name: str, about: str, default: float | None = None, **more: Any) -> Param:
    """A parameter that takes a number above 0."""

    def parse(text: str) -> float:
        value = _number(text)
        if value <= 0:
            raise ValueError("a number above 0")
        return value

    return Param(name, about, parse, "a number above 0", default, **more)


def fraction(name: str, about: str, default: float | None = None, **more: Any) -> Param:
    """A parameter that takes a number between 0 and 1, and neither of them."""

    def parse(text: str) -> float:
        value = _number(text)
        if not 0 < value < 1:
            raise ValueError("a number between 0 and 1")
        return value

    return Param(name, about, parse, "a number between 0 and 1", default, **more)


def at_least(name: str, about: str, least: float, default: float | None = None, **more: Any) -> Param:
    """A parameter that takes a number from `least` up."""

    def parse(text: str) -> float:
        value = _number(text)
        if value < least:
            raise ValueError(f"a number from {least:g}")
        return value

    return Param(name, about, parse, f"a number from {least:g}", default, **more)


def share(name: str, about: str, **more: Any) -> Param:
    """A parameter that takes a number from 0 to 1."""

    def parse(text: str) -> float:
        value = _number(text)
        if not 0 <= value <= 1:
            raise ValueError("a number from 0 to 1")
        return value

    return Param(name, about, parse, "a number from 0 to 1", **more)


def numbers(
    name: str, about: str, default: tuple[float, ...], *, of: Param | None = None, count: int = 0
) -> Param:
    """A parameter that takes several numbers, each like `of`; `count` of them, or any number (0)."""
    example = _text(default[: count or 3], "/")
    form = f"{count or ''} numbers with '/' between, such as {example}".lstrip()

    def parse(text: str) -> tuple[float, ...]:
        try:
            found = tuple((of.parse if of else _number)(one) for one in text.split("/"))
        except OutOfRange:
            raise
        except ValueError:
            raise ValueError(form if of is None else f"{form}, each {of.allowed}") from None
        if count and len(found) != count:
            raise ValueError(form)
        return found

    return Param(name, about, parse, form, default)


def negative(name: str, about: str, default: float | None = None, **more: Any) -> Param:
    """A parameter that takes a number below 0."""

    def parse(text: str) -> float:
        value = _number(text)
        if value >= 0:
            raise ValueError("a number below 0")
        return value

    return Param(name, about, parse, "a number below 0", default, **more)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= LARGEST_WHOLE):
        raise ValueError("a whole number from 1")
    return int(text)


def whole(name: str, about: str, default: int | None = None, **more: Any) -> Param:
    """A parameter that takes a whole number above 0."""
    return Param(name, about, _whole, "a whole number from 1", default, **more)


def flag(name: str, about: str, default: bool = False) -> Param:
    """A parameter that takes true or false."""
    return Param(name, about, _truth, "true or false", default)


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.lower() == "true"


def choice(name: str, about: str, options: Sequence[str], default: str) -> Param:
    """A parameter that takes one of a few words."""
    allowed = " or ".join(options)

    def parse(text: str) -> str:
        if text.lower() not in options:
            raise ValueError(allowed)
        return text.lower()

    return Param(name, about, parse, allowed, default)


def pairs(text: str, what: str) -> Pairs:
    """'0:0/1:2.5' as ((0, 0), (1, 2.5)); what: the form, for the ValueError. First numbers must rise."""
    try:
        found = tuple((_number(a), _number(b)) for a, b in (one.split(":") for one in text.split("/")))
    except OutOfRange:
        raise
    except ValueError:
        raise ValueError(what) from None
    if any(a >= b for (a, _), (b, _) in pairwise(found)):
        raise ValueError(f"{what}, each number once and in rising order")
    return found


def _gain(text: str) -> str | Pairs:
    found = _worth(text)
    if not isinstance(found, str) and any(gain < 0 for _, gain in found):
        raise ValueError(f"{_PAIRS_FORM}, with no number below 0")
    return found


def _worth(text: str) -> str | Pairs:
    if text.lower() in ("linear", "exp"):
        return text.lower()
    found = pairs(text, _PAIRS_FORM if ":" in text else _GAIN_FORM)
    if any(grade < 0 != gain for grade, gain in found):
        raise ValueError(f"{_PAIRS_FORM}, with no gain for a grade below 0")
    return found


def _places(text: str) -> tuple[int, ...]:
    form = "places in rising order, such as 10/25/50"
    try:
        found = tuple(_whole(one) for one in text.split("/"))
    except ValueError:
        raise ValueError(form) from None
    if list(found) != sorted(set(found)):
        raise ValueError(form)
    return found


def _points(text: str) -> Pairs:
    form = "grade:φ/grade:φ/…, two or more"
    found = pairs(text, form)
    if len(found) < 2:
        raise ValueError(form)
    phis = [phi for _, phi in found]
    if phis != sorted(phis) or phis[0] < 0 or phis[-1] > 1:
        raise ValueError(f"{form}, with φ from 0 to 1 and never falling")
    return found


CUTOFF = whole("cutoff", "only the first k ranks count", without="all ranks", aliases={"k": Spelling()})
CUTOFF_NEEDED = whole("cutoff", "how many ranks count", required=True, aliases={"k": Spelling()})
REL = number("rel", "the least grade that is relevant", without="the --rel level, or any grade above 0")
GAIN = Param(
    "gain",
    "what a grade is worth: itself, 2^grade - 1, or as listed (a grade that is not listed is worth itself)",
    _gain,
    _GAIN_FORM,
    "linear",
    aliases={
        "gains": Spelling("ir_measures", example="{0:0,1:5}"),
        "dcg": Spelling("ir_measures", {"log2": "linear", "exp-log2": "exp"}),
    },
)
WORTH = GAIN.but(parse=_worth, about=f"{GAIN.about}; a gain below 0 takes away")
JUDGED_ONLY = flag("judged_only", "take unjudged documents out of the ranking first, as --judged-only does")
TOP = Param(
    "top",
    "replace grades by place: with 10/25/50 the ten best judged get grade 3, those to 25 get 2, to 50 get 1",
    _places,
    "places in rising order, such as 10/25/50",
    without="the grades as judged",
)
DISCOUNT = choice(
    "discount",
    "what a gain at rank i is divided by: log2(i + 1); 1, then log2(i) (letor); i (zipf); or 1 (none)",
    ("log2", "letor", "zipf", "none"),
    "log2",
)
POINTS = Param(
    "points",
    "the control points of φ by hand, the same for every query",
    _points,
    "grade:φ/grade:φ/…, two or more",
    without="points from each query's grades",
)
TREC_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
