"""The registry of metrics: what a metric is called, takes, returns and promises."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gradeval.judgments import Judgments
from gradeval.segments import Floats

Function = Callable[..., Floats]

# The invariants a metric can promise; tests/metrics/test_invariants.py tries each on every metric that does.
IDEAL_IS_ONE = "the ideal ranking scores 1"
SCALE_FREE = "multiplying all grades by a positive number changes nothing"
PROMOTION_HELPS = "swapping a document with a better graded one below it never lowers the value"
BINARY_IS_AP = "with one grade above 0 it equals AP"
REVERSAL_NEGATES = "reversing the ranking turns the sign"
REVERSE_IS_ZERO = "the reversed ideal ranking scores 0"
UNJUDGED_IGNORED = "unjudged documents change nothing"


@dataclass(frozen=True, eq=False)
class Param:
    """One parameter of a metric.

    parse: turns the text after `=` into the value and raises ValueError with the reason.
    allowed: what a value may be, for messages. default: the value when it is not given, None if required
    or if the metric has a meaning of its own without it; then `without` says which.
    """

    name: str
    about: str
    parse: Callable[[str], Any]
    allowed: str
    default: Any = None
    without: str = ""
    required: bool = False

    def text(self, value: Any) -> str:
        """The value as it is written in a spec; parse(text(value)) == value."""
        return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric as it stands in the registry.

    range: the least and the largest value, None where there is no bound. holds: its invariants.
    aliases: other names -> the parameters that they fix. trec: trec_eval's name for it -> the parameter
    that a dotted value sets there ('' where it takes none), the first that fits being the one printed.
    cutoffs: what a missing required cutoff stands for (trec_eval's lists). aggregate: how the values
    of queries become one: 'mean' or 'sum'. whole: the values are whole numbers. undefined: it can be NaN.
    """

    name: str
    function: Function
    display: str
    params: tuple[Param, ...] = ()
    range: tuple[float | None, float | None] = (0, 1)
    holds: tuple[str, ...] = ()
    aliases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    trec: Mapping[str, str] = field(default_factory=dict)
    cutoffs: tuple[int, ...] = ()
    aggregate: str = "mean"
    whole: bool = False
    undefined: bool = False
    group: str = ""
    example: str = ""

    @cached_property
    def about(self) -> str:
        """The whole page: the function's docstring."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @cached_property
    def summary(self) -> str:
        """The first line of the page."""
        return self.about.split("\n", 1)[0]

    @cached_property
    def by_name(self) -> dict[str, Param]:
        return {param.name: param for param in self.params}

    def __call__(self, judgments: Judgments, **params: Any) -> Floats:
        return self.function(judgments, **params)


REGISTRY: dict[str, Metric] = {}


def metric(
    name: str, *, display: str | None = None, params: Sequence[Param] = (), holds: Sequence[str] = (), **more: Any
) -> Callable[[Function], Function]:
    """Declare a metric: the function takes Judgments and its parameters as keywords, and returns (Q,) float64.

    The module that it stands in is its group; its docstring is its page.
    """

    def declare(function: Function) -> Function:
        group = function.__module__.rsplit(".", 1)[-1].replace("_", " ")
        entry = Metric(
            name, function, display or name, tuple(params), holds=tuple(holds), **{"group": group, **more}
        )
        if REGISTRY.setdefault(name, entry) is not entry:
            raise ValueError(f"two metrics are named {name}")
        return function

    return declare


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("a number") from None
    if value != value or value in (float("inf"), float("-inf")) or "_" in text:
        raise ValueError("a finite number")
    return value


def number(name: str, about: str, default: float | None = None, **more: Any) -> Param:
    """A parameter that takes any finite number."""
    return Param(name, about, _number, "a number", default, **more)


def positive(name: str, about: str, default: float | None = None, **more: Any) -> Param:
    """A parameter that takes a number above 0."""

    def parse(text: str) -> float:
        value = _number(text)
        if value <= 0:
            raise ValueError("above 0")
        return value

    return Param(name, about, parse, "a number above 0", default, **more)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError("a whole number from 1")
    return int(text)


def choice(name: str, about: str, options: Sequence[str], default: str) -> Param:
    """A parameter that takes one of a few words."""

    def parse(text: str) -> str:
        if text.lower() not in options:
            raise ValueError("one of " + ", ".join(options))
        return text.lower()

    return Param(name, about, parse, " or ".join(options), default)


CUTOFF = Param("cutoff", "only the first k ranks count", _whole, "a whole number from 1", without="all ranks")
CUTOFF_NEEDED = Param("cutoff", "how many ranks count", _whole, "a whole number from 1", required=True)
REL = number("rel", "the least grade that is relevant", without="the --rel level, or any grade above 0")
