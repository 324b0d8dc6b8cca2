"""Parameters of metrics as data: their text, their values, and what is wrong with a text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, get_args

from gradeval.grades import RANGE, is_grade
from gradeval.options import parse_number

LARGEST_WHOLE = 10**15
_PAIRS_FORM = "grade:gain/grade:gain/…"
_GAIN_FORM = f"linear, exp, or {_PAIRS_FORM}"

Pairs = tuple[tuple[float, float], ...]


@dataclass(frozen=True, eq=False)
class Param:
    """What a parameter of a metric means and takes; an annotation says it: p: Annotated[float, fraction(…)].

    parse: turns the text after '=' into the value, and raises ValueError with what the text must be.
    allowed: what a value may be, for people. example: the text of one. without: what None means where it is the
    default. aliases: other names. after_at: it is written after '@'.

    name, default, required: told from the signature of the metric's function.
    """

    about: str
    parse: Callable[[str], Any]
    allowed: str
    example: str
    without: str = ""
    aliases: tuple[str, ...] = ()
    after_at: bool = False
    name: str = ""
    default: Any = None
    required: bool = False

    def but(self, **fields: Any) -> Param:
        """The same parameter with something else about it."""
        return replace(self, **fields)

    def text(self, value: Any) -> str:
        """The value as it is written in a spec; parse(text(value)) == value."""
        return _text(value, "/:")


def declared(function: Callable[..., Any]) -> Iterator[Param]:
    """The keyword-only parameters of a function. Raises ValueError where one is not annotated with a Param."""
    for name, own in inspect.signature(function).parameters.items():
        if own.kind is own.KEYWORD_ONLY:
            try:
                param = _in_annotation(own.annotation, function.__globals__)
            except Exception as error:  # an annotation can be anything
                raise ValueError(f"the annotation of {name} is not as in 'cutoff: Cutoff' ({error})") from error
            required = own.default is own.empty
            yield param.but(name=name, required=required, default=None if required else own.default)


def _in_annotation(annotation: Any, names: dict[str, Any]) -> Param:
    if isinstance(annotation, str):  # as `from __future__ import annotations` leaves it
        annotation = eval(annotation, names)
    types = (annotation, *get_args(annotation))  # Cutoff is one of those of Cutoff | None
    found = (one for type_ in types for one in getattr(type_, "__metadata__", ()) if isinstance(one, Param))
    param = next(found, None)
    if param is None:
        raise TypeError("it has no Param")
    return param


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


def number(about: str, *, example: str = "2", **more: Any) -> Param:
    """A parameter that takes any finite number."""
    return Param(about, _number, "a number", example, **more)


def _within(allowed: str, holds: Callable[[float], bool], about: str, example: str, more: Any) -> Param:
    def parse(text: str) -> float:
        value = _number(text)
        if not holds(value):
            raise ValueError(allowed)
        return value

    return Param(about, parse, allowed, example, **more)


def positive(about: str, *, example: str = "2", **more: Any) -> Param:
    """A parameter that takes a number above 0."""
    return _within("a number above 0", lambda value: value > 0, about, example, more)


def negative(about: str, *, example: str = "-1", **more: Any) -> Param:
    """A parameter that takes a number below 0."""
    return _within("a number below 0", lambda value: value < 0, about, example, more)


def fraction(about: str, *, example: str = "0.5", **more: Any) -> Param:
    """A parameter that takes a number between 0 and 1, and neither of them."""
    return _within("a number between 0 and 1", lambda value: 0 < value < 1, about, example, more)


def share(about: str, *, example: str = "0.5", **more: Any) -> Param:
    """A parameter that takes a number from 0 to 1."""
    return _within("a number from 0 to 1", lambda value: 0 <= value <= 1, about, example, more)


def at_least(least: float, about: str, *, example: str = "", **more: Any) -> Param:
    """A parameter that takes a number from `least` up."""
    lowest = f"{least:g}"
    return _within(f"a number from {lowest}", lambda value: value >= least, about, example or lowest, more)


def numbers(about: str, *, example: str, of: Param | None = None, count: int = 0, **more: Any) -> Param:
    """A parameter that takes several numbers, each like `of`; `count` of them, or any number (0)."""
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

    return Param(about, parse, form, example, **more)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= LARGEST_WHOLE):
        raise ValueError("a whole number from 1")
    return int(text)


def whole(about: str, *, example: str = "10", **more: Any) -> Param:
    """A parameter that takes a whole number above 0."""
    return Param(about, _whole, "a whole number from 1", example, **more)


def flag(about: str, **more: Any) -> Param:
    """A parameter that takes true or false."""
    return Param(about, _truth, "true or false", "true", **more)


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.lower() == "true"


def choice(about: str, options: Sequence[str], **more: Any) -> Param:
    """A parameter that takes one of a few words."""
    allowed = " or ".join(options)

    def parse(text: str) -> str:
        if text.lower() not in options:
            raise ValueError(allowed)
        return text.lower()

    return Param(about, parse, allowed, options[-1], **more)


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


CUTOFF = whole("only the first k ranks count", without="all ranks", aliases=("k",), after_at=True)
REL = number("the least grade that is relevant", without="the --rel level, or any grade above 0")
GAIN = Param(
    "what a grade is worth: itself, 2^grade - 1, or as listed (a grade that is not listed is worth itself)",
    _gain,
    _GAIN_FORM,
    "1:3/2:9",
)
WORTH = GAIN.but(parse=_worth, about=f"{GAIN.about}; a gain below 0 takes away")
TOP = Param(
    "replace grades by place: with 10/25/50 the ten best judged get grade 3, those to 25 get 2, to 50 get 1",
    _places,
    "places in rising order, such as 10/25/50",
    "10/25/50",
    without="the grades as judged",
)
JUDGED_ONLY = flag(
    "take unjudged documents out of the ranking first, as --judged-only does", name="judged_only", default=False
)

# `cutoff: Cutoff` is required, `cutoff: Cutoff | None = None` is not
Cutoff = Annotated[int, CUTOFF]
Rel = Annotated[float, REL]
Gain = Annotated[str | Pairs, GAIN]
Worth = Annotated[str | Pairs, WORTH]
Top = Annotated[tuple[int, ...], TOP]
