"""Parameters of metrics: how their values are parsed, checked and documented."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, get_args

import numpy as np

from gradeval.arrays import Floats
from gradeval.errors import GRADE_RANGE, is_grade
from gradeval.options import parse_number
from gradeval.records import Record

_PAIRS_FORM = "grade:gain/grade:gain/…"
_GAIN_FORM = f"linear, exp, or {_PAIRS_FORM}"

Pairs = tuple[tuple[float, float], ...]


class Param(Record, eq=False):
    """A parameter of a metric, given in an annotation: p: Annotated[float, fraction(…)]."""

    about: str  # its description
    # turns the text after '=' into the value, and raises ValueError with a description of valid texts
    parse: Callable[[str], Any]
    allowed: str  # the same description, for the page
    example: str  # a valid text
    without: str = ""  # the meaning of None as the default
    aliases: tuple[str, ...] = ()  # other names
    after_at: bool = False  # whether it is written after '@'
    name: str = ""  # of the keyword of the metric's function, as are its default, and whether it has none
    default: Any = None
    required: bool = False

    def text(self, value: Any, separators: str = "/:") -> str:
        """The value as written in a spec; parse(text(value)) == value."""
        if isinstance(value, tuple):
            return separators[0].join(self.text(item, separators[1:]) for item in value)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float):
            short = f"{value:.15g}"
            return short if float(short) == value else repr(value)
        return str(value)


def declared(function: Callable[..., Any]) -> Iterator[Param]:
    """The keyword-only parameters of a function. Raises ValueError where one is not annotated with a Param."""
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            annotation = parameter.annotation
            try:
                if isinstance(annotation, str):  # as `from __future__ import annotations` leaves it
                    annotation = eval(annotation, function.__globals__)
                types = (annotation, *get_args(annotation))  # Cutoff is one of those of Cutoff | None
                metadata = [item for type_ in types for item in getattr(type_, "__metadata__", ())]
                param = next((item for item in metadata if isinstance(item, Param)), None)
                if param is None:
                    raise TypeError("no Param found")
            except Exception as error:  # an annotation can be anything
                raise ValueError(f"{name} must be annotated as in 'cutoff: Cutoff' ({error})") from error
            required = parameter.default is parameter.empty
            yield param.replace(name=name, required=required, default=None if required else parameter.default)


class OutOfRange(ValueError):
    """A number too large, or too close to 0, to compute with."""


def _number(text: str) -> float:
    value = parse_number(text)
    if not is_grade(value):  # the range of grades, with which it is combined
        raise OutOfRange(GRADE_RANGE)
    return value


def _taking(
    allowed: str, convert: Callable[[str], Any], usual: str, holds: Callable[[Any], bool] = lambda value: True
) -> Callable[..., Param]:
    """Makes parameters of a kind: (about, fields) -> Param. convert: text -> value or ValueError."""

    def parse(text: str) -> Any:
        try:
            if holds(value := convert(text)):
                return value
        except OutOfRange:
            raise
        except ValueError:
            pass
        raise ValueError(allowed)

    def parameter(about: str, **fields: Any) -> Param:
        return Param(about, parse, **{"allowed": allowed, "example": usual, **fields})

    return parameter


number = _taking("a number", _number, "2")
positive = _taking("a positive number", _number, "2", lambda value: value > 0)
negative = _taking("a negative number", _number, "-1", lambda value: value < 0)
fraction = _taking("a number strictly between 0 and 1", _number, "0.5", lambda value: 0 < value < 1)
below_one = _taking("a number of at least 0, below 1", _number, "0.5", lambda value: 0 <= value < 1)
share = _taking("a number in [0, 1]", _number, "0.5", lambda value: 0 <= value <= 1)


def at_least(least: float, about: str, **fields: Any) -> Param:
    """A parameter that takes a number >= least."""
    kind = _taking(f"a number >= {least:g}", _number, f"{least:g}", lambda value: value >= least)
    return kind(about, **fields)


def numbers(about: str, *, example: str, item: Param | None = None, count: int = 0, **fields: Any) -> Param:
    """A parameter that takes a list of numbers, each as `of` allows; count: how many, 0 for any number."""

    def convert(text: str) -> tuple[float, ...]:
        return tuple(map(_number if item is None else item.parse, text.split("/")))

    form = f"{count or ''} numbers separated by '/', such as {example}".lstrip()
    form_of_each = "" if item is None else f", each {item.allowed}"
    kind = _taking(form + form_of_each, convert, example, lambda values: len(values) == (count or len(values)))
    return kind(about, allowed=form, **fields)


def _positive_integer(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= 10**15):
        raise ValueError
    return int(text)


positive_integer = _taking("a positive integer", _positive_integer, "10")
flag = _taking("true or false", lambda text: bool(("false", "true").index(text.lower())), "true")


def choice(about: str, options: Sequence[str], **fields: Any) -> Param:
    """A parameter that takes one of several words."""

    def convert(text: str) -> str:
        return options[options.index(text.lower())]

    return _taking(" or ".join(options), convert, options[-1])(about, **fields)


def pairs(text: str, message: str) -> Pairs:
    """'1:2.5/0:0' as ((0, 0), (1, 2.5)); message: the form, for the ValueError. First numbers must differ."""
    try:
        split = (pair.split(":") for pair in text.split("/"))
        points = tuple(sorted((_number(first), _number(second)) for first, second in split))
    except OutOfRange:
        raise
    except ValueError:
        raise ValueError(message) from None
    if len(dict(points)) < len(points):
        raise ValueError(f"{message}, without repetition")
    return points


def mapped(grade: Floats, gains: Pairs) -> Floats:
    """The mapped gain of each grade; other grades are their own gain, and those below 0 have gain 0."""
    grades, values = np.array(gains).T
    position = np.minimum(np.searchsorted(grades, grade), len(grades) - 1)
    return np.where(grades[position] == grade, values[position], np.maximum(grade, 0.0))


def _worth(text: str) -> str | Pairs:
    if text.lower() in ("linear", "exp"):
        return text.lower()
    gains = pairs(text, _PAIRS_FORM if ":" in text else _GAIN_FORM)
    if any(grade < 0 != gain for grade, gain in gains):
        raise ValueError(f"{_PAIRS_FORM}, with gain 0 for grades below 0")
    return gains


def _gain(text: str) -> str | Pairs:
    gains = _worth(text)
    if not isinstance(gains, str) and any(gain < 0 for _, gain in gains):
        raise ValueError(f"{_PAIRS_FORM}, without negative gains")
    return gains


CUTOFF = positive_integer("consider the first k ranks only", without="all ranks", aliases=("k",), after_at=True)
REL = at_least(
    0, "the relevance threshold: the lowest relevant grade", example="2", without="--rel, or any grade above 0"
)
_GAINS = "the grade (linear), 2^grade - 1 (exp), or a mapping (other grades are their gain)"
GAIN = Param(f"the gain of a grade: {_GAINS}", _gain, _GAIN_FORM, "1:3/2:9")
WORTH = GAIN.replace(parse=_worth, about=f"{GAIN.about}; gains may be negative")
_TOP = _taking(
    "positions in increasing order, such as 10/25/50",
    lambda text: tuple(map(_positive_integer, text.split("/"))),
    "10/25/50",
    lambda positions: list(positions) == sorted(set(positions)),
)
TOP = _TOP(
    "replace grades by position: 10/25/50 gives the 10 highest-graded documents grade 3, up to 25 grade 2, "
    "up to 50 grade 1",
    without="the judged grades",
)
JUDGED_ONLY = flag(
    "remove unjudged documents from the ranking first (condensed list), as --judged-only does; it removes "
    "those with a grade below 0 too, and then the invariants need not hold",
    name="judged_only",
    default=False,
)

# `cutoff: Cutoff` is required, `cutoff: AtK = None` is not, and neither is `rel: Rel = None`
Cutoff = Annotated[int, CUTOFF]
AtK = Annotated[int | None, CUTOFF]
Rel = Annotated[float | None, REL]
Gain = Annotated[str | Pairs, GAIN]
Worth = Annotated[str | Pairs, WORTH]
Top = Annotated[tuple[int, ...] | None, TOP]
