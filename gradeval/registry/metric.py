"""The registry of metrics: what a metric is called, takes, returns and promises."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gradeval.arrays import Floats
from gradeval.registry.families import family_of
from gradeval.registry.params import JUDGED_ONLY, Param
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms

Strings = list[str]
Function = Callable[..., Any]
_Declared = TypeVar("_Declared", bound=Callable[..., "Floats | Terms | Strings"])

GEOMETRIC_LEAST = 1e-5  # so that one query of 0 does not make the geometric mean 0; trec_eval's


class Sees(Enum):
    """What of a document a metric looks at; the notice of tied scores relies on it."""

    RELEVANCE = "whether it is relevant"
    GAIN = "its grade where that is above 0, and with a parameter rel whether it is relevant"
    JUDGMENT = "its grade, and whether it has one"
    POOL = "whether it is relevant, judged otherwise, or not judged"
    JUDGED = "whether it is judged"
    PLACE = "whether it is in the ranking"
    NOTHING = "nothing"


class Dotted(NamedTuple):
    """What trec_eval's name for a metric takes after a dot.

    param: the parameter that is set there. values: what it is where nothing is given. form: the commas part
    several values, a metric each (P.5,10); or the numbers of a 'list' (utility.1,-1,0,0), or the 'pairs' of a
    map (ndcg.1=3,2=9), which are a single value. named: parameters that a pair can set (rbp.p=0.8).
    digits: the parameter whose decimals can stand there alone, as in ranx (rbp.95).
    decimals: how many trec_eval prints of the value, None for all.
    """

    param: str
    values: tuple[Any, ...] = ()
    form: str = "each"
    named: tuple[str, ...] = ()
    digits: str = ""
    decimals: int | None = None


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric as it stands in the registry.

    range: the least and the largest value, None where there is no bound. holds: its invariants.
    aliases: its other names. trec: trec_eval's names for it, and what each takes after a dot, if anything.
    check: raises ValueError where parameters do not go together. aggregate: how the values of queries
    become one: 'mean', 'sum', or 'geometric', a mean of what is at least GEOMETRIC_LEAST. whole: the values
    are whole numbers. undefined: it can be NaN. text: the values are words, not numbers; over all queries
    they are those of the first. says: something of 'queries', of their 'summary', or of 'both'.
    order: the order of the documents that a cutoff lets through matters (that of equal scores, too).
    sees: what of a document it looks at. stops: where it has seen enough: at the 'first' relevant document, or
    after 'R' ranks, the number of relevant documents.
    group: its family, as users know it. example: how it is written. at: the parameter after '@'.
    """

    name: str
    function: Function
    display: str
    params: tuple[Param, ...] = ()
    range: tuple[float | None, float | None] = (0, 1)
    holds: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    trec: Mapping[str, Dotted | None] = field(default_factory=dict)
    check: Callable[[Mapping[str, Any]], None] | None = None
    aggregate: str = "mean"
    whole: bool = False
    undefined: bool = False
    text: bool = False
    says: str = "both"
    order: bool = True
    sees: Sees = Sees.GAIN
    stops: str = ""
    group: str = ""
    example: str = ""
    at: str = "cutoff"

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

    @cached_property
    def by_spelling(self) -> dict[str, tuple[Param, Mapping[str, str]]]:
        """What a parameter may be called, without case -> the parameter, and its words in that tool."""
        other = {
            alias: (param, spelling.words or {})
            for param in self.params
            for alias, spelling in param.aliases.items()
        }
        return other | {param.name.lower(): (param, {}) for param in self.params}

    def __call__(self, judgments: Judgments, **params: Any) -> Floats:
        """The value of each query, (Q,); NaN for a text."""
        if self.text:
            return np.full(judgments.segments.count, np.nan)
        values: Floats | Terms = self._values(judgments, **params)
        return values.values() if isinstance(values, Terms) else values

    def terms(self, judgments: Judgments, **params: Any) -> Terms | None:
        """What each document adds to the values; None for a metric that is no sum over documents.

        With judged_only the rows are those of judgments.judged_only().
        """
        values = self._values(judgments, **params)
        return values if isinstance(values, Terms) else None

    def texts(self, judgments: Judgments, **params: Any) -> list[str]:
        """The words of a metric that is text, for each query."""
        return list(map(str, self._values(judgments, **params)))

    def _values(self, judgments: Judgments, *, judged_only: bool = False, **params: Any) -> Any:
        if judged_only:
            judgments = judgments.once("judged_only", judgments.judged_only)
        return self.function(judgments, **params)


class Declaration(NamedTuple):
    """A metric as it is declared. made: the metric, or an error where the declaration is wrong."""

    name: str
    function: Function
    made: Callable[[], Metric]


REGISTRY: dict[str, Metric] = {}
_collected: list[Declaration] | None = None


@contextmanager
def collected() -> Iterator[list[Declaration]]:
    """Collect what is declared meanwhile, for plugins to be checked before they are registered."""
    global _collected  # noqa: PLW0603
    before, _collected = _collected, []
    try:
        yield _collected
    finally:
        _collected = before


def add(metric: Metric) -> None:
    if metric.name in REGISTRY:
        raise ValueError(f"two metrics are named {metric.name}")
    REGISTRY[metric.name] = metric


def is_ours(function: Function) -> bool:
    return str(getattr(function, "__module__", None)).startswith("gradeval.")


def metric(
    name: str,
    *,
    display: str | None = None,
    params: Sequence[Param] = (),
    holds: Sequence[str] = (),
    aliases: Sequence[str] = (),
    **more: Any,
) -> Callable[[_Declared], _Declared]:
    """Declare a metric: a function of Judgments, with its parameters as keywords, that returns float64 (Q,).

    The module that it stands in is its group; its docstring is its page. Every metric takes judged_only, which
    the function does not see. A metric of another package is checked, and contained in what it does.
    """

    def made(function: Function) -> Metric:
        if isinstance(aliases, str) or isinstance(holds, str):
            raise TypeError("aliases and holds are lists")
        names = {param.name for param in params}
        fields = {
            "sees": Sees.RELEVANCE if "rel" in names and "gain" not in names else Sees.GAIN,
            "group": family_of(function.__module__),
            "example": name,
            "params": (*params, JUDGED_ONLY),
            "holds": tuple(holds),
            "aliases": tuple(aliases),
            **more,
        }
        return Metric(name, function, display or name, **fields)

    def declare(function: _Declared) -> _Declared:
        if _collected is None and is_ours(function):
            add(made(function))
            return function
        declaration = Declaration(name, function, partial(made, function))
        if _collected is None:
            from gradeval.registry.plugins import register

            register(declaration)
        else:
            _collected.append(declaration)
        return function

    return declare
