"""The invariants a metric can declare, and where they hold; tests/registry/test_invariants.py tries them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.records import Record
from gradeval.registry.params import mapped

if TYPE_CHECKING:
    from typing_extensions import Self

Given = Mapping[str, Any]  # the parameters of a metric by name, with their defaults


class Condition(Record):
    """A condition on a parameter under which an invariant holds."""

    param: str
    about: str  # the condition in words
    is_met: Callable[[Given, Floats], bool]  # (parameters, the distinct grades of the qrels, ascending) -> bool


class Invariant(Record):
    """A property of the values of a metric."""

    about: str
    conditions: tuple[Condition, ...] = ()  # it holds where all are met

    def __str__(self) -> str:
        only = " and ".join(condition.about for condition in self.conditions)
        return self.about + (f"; only {only}" if only else "")

    def where(self, *conditions: Condition, **allowed: Any) -> Self:
        """The invariant under more conditions: allowed: parameter -> its value, or a tuple of values."""

        def one_of(param: str, value: Any) -> Condition:
            values = value if isinstance(value, tuple) else (value,)
            texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
            about = f"with {param}={' or '.join(texts)}"
            return Condition(param, about, lambda params, scale: params.get(param) in values)

        return self.replace(conditions=(*self.conditions, *conditions, *starmap(one_of, allowed.items())))

    def unless(self, param: str) -> Self:
        """The invariant where the parameter is not given."""
        about = f"without {_WRITTEN.get(param, f'{param}=')}"
        return self.where(Condition(param, about, lambda params, scale: params.get(param) is None))

    def holds(self, params: Given, scale: Floats) -> bool:
        return all(condition.is_met(params, scale) for condition in self.conditions)


_WRITTEN = {"cutoff": "@k", "rel": "rel= and --rel"}


def _gain_rises(params: Given, scale: Floats) -> bool:
    gain = params.get("gain")
    if not isinstance(gain, tuple):
        return True
    grades = np.arange(len(params["top"]) + 1.0) if params.get("top") is not None else scale
    return bool((np.diff(mapped(grades, gain), prepend=0.0) >= 0).all())


GAIN_RISES = Condition("gain", "with gains of at least 0 that never decrease with the grade", _gain_rises)

IDEAL_IS_ONE = Invariant("the ideal ranking scores 1 if any document is relevant")
SCALE_FREE = Invariant("multiplying all grades by a positive number does not change the value")
PROMOTION_HELPS = Invariant("swapping a document with a higher-graded one below it never decreases the value")
BINARY_IS_AP = Invariant("with a single grade above 0 it equals AP")
REVERSAL_NEGATES = Invariant("reversing the ranking negates the value")
REVERSE_IS_ZERO = Invariant("the reversed ideal ranking scores 0")
UNJUDGED_IGNORED = Invariant("unjudged documents do not affect the value")
