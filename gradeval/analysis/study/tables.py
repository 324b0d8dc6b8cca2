"""What every study returns, and the metrics that studies take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from gradeval.analysis.tabled import Tabled
from gradeval.errors import MetricError, OptionError, described
from gradeval.registry.metric import Kind
from gradeval.registry.spec import Spec, parse


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Study(Tabled):
    """The outcome of a study."""

    kind: ClassVar[str] = "study"


def averaged_metrics(metrics: str | Iterable[str]) -> list[Spec]:
    """The metrics of a study: those with a value for each query whose mean is taken. Raises MetricError."""
    specs = parse(metrics)
    for spec in specs:
        if spec.metric.kind is not Kind.MEAN or not spec.metric.per_query:
            raise MetricError(f"{spec}: a study needs metrics whose mean over queries is taken")
    return specs


def competing_metrics(metrics: str | Iterable[str]) -> list[Spec]:
    """Such metrics by which systems can be ordered. Raises MetricError."""
    specs = averaged_metrics(metrics)
    for spec in specs:
        if spec.metric.higher_is_better is None:
            raise MetricError(f"{spec}: neither high nor low values are better, so it orders no systems")
    return specs


def whole(name: str, value: Any, low: int, high: int) -> int:
    """The value, an integer from low to high. Raises OptionError."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = low - 1
    if isinstance(value, bool) or number != value or not low <= number <= high:
        raise OptionError(f"{name} must be an integer from {low} to {high}, not {described(value)}")
    return number


MAX_SEED = 2**64 - 1
