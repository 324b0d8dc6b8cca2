"""The registry of metrics: what a metric is called, takes, returns and promises."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gradeval.judgments import Judgments
from gradeval.metrics.params import Param
from gradeval.segments import Floats

Function = Callable[..., Floats]

# The invariants a metric can promise; tests/metrics/test_invariants.py tries each on every metric that does.
IDEAL_IS_ONE = "the ideal ranking scores 1 where a document is relevant"
SCALE_FREE = "multiplying all grades by a positive number changes nothing"
PROMOTION_HELPS = "swapping a document with a better graded one below it never lowers the value"
BINARY_IS_AP = "with one grade above 0 it equals AP"
REVERSAL_NEGATES = "reversing the ranking turns the sign"
REVERSE_IS_ZERO = "the reversed ideal ranking scores 0"
UNJUDGED_IGNORED = "unjudged documents change nothing"


@dataclass(frozen=True)
class Dotted:
    """What trec_eval's name for a metric takes after a dot.

    param: the parameter that is set there. values: what it is where nothing is given. pairs: the commas
    part the pairs of a single value (ndcg.1=3,2=9), not several values (P.5,10).
    """

    param: str
    values: tuple[Any, ...] = ()
    pairs: bool = False


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric as it stands in the registry.

    range: the least and the largest value, None where there is no bound. holds: its invariants.
    aliases: its other names. trec: trec_eval's names for it, and what each takes after a dot, if anything.
    check: raises ValueError where parameters do not go together. aggregate: how the values of queries
    become one, 'mean' or 'sum'. whole: the values are whole numbers. undefined: it can be NaN.
    group: its family, the module it stands in. example: how it is written.
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
    name: str,
    *,
    display: str | None = None,
    params: Sequence[Param] = (),
    holds: Sequence[str] = (),
    aliases: Sequence[str] = (),
    **more: Any,
) -> Callable[[Function], Function]:
    """Declare a metric: a function of Judgments, with its parameters as keywords, that returns float64 (Q,).

    The module that it stands in is its group; its docstring is its page.
    """

    def declare(function: Function) -> Function:
        fields = {
            "group": function.__module__.rsplit(".", 1)[-1].replace("_", " "),
            "example": name,
            "params": tuple(params),
            "holds": tuple(holds),
            "aliases": tuple(aliases),
            **more,
        }
        if name in REGISTRY:
            raise ValueError(f"two metrics are named {name}")
        REGISTRY[name] = Metric(name, function, display or name, **fields)
        return function

    return declare
