"""The registry of metrics: their names, parameters, ranges and invariants."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gradeval.arrays import Bools, Floats, cached_property
from gradeval.arrays.segments import Segments
from gradeval.errors import MetricError, NoExpectedValueError
from gradeval.records import Record
from gradeval.registry.catalogue import family_of, in_ascii, modules
from gradeval.registry.invariants import Given, Invariant
from gradeval.registry.params import JUDGED_ONLY, Param, declared
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms

if TYPE_CHECKING:
    from gradeval.statistics.bounds import OpenValues
    from gradeval.tables.unjudged import Unjudged

Strings = list[str]
_Declared = TypeVar("_Declared", bound=Callable[..., "Floats | Terms | Strings"])

GEOMETRIC_MIN = 1e-5  # as in trec_eval: a query with value 0 does not make the geometric mean 0


class Kind(Enum):
    """The values of a metric, and how those of the queries become one value."""

    MEAN = "numbers; their mean"
    GEOMETRIC = "numbers; their geometric mean, each at least GEOMETRIC_MIN; no values per query"
    SUM = "numbers; their sum"
    COUNT = "integers, printed without decimals; their sum"
    TEXT = "strings; no summary"


EXACT, OUTER, NO_BOUNDS = "exact", "outer", "none"  # whether worlds have the bounds of a metric


class Bounding(Invariant, kw_only=True):
    """How far judgments that are missing can move the values of a metric, and under which conditions that is
    known. about: exact, where worlds have the lowest and the highest value, or outer.
    """

    # (metric, judgments, unjudged, all parameters) -> the values as a function of the grades of the unjudged
    find: Callable[[Metric, Judgments, Unjudged, Given], OpenValues]
    # how many unjudged documents below the cutoff count: none, as many as the cutoff, or all
    below: str = "all"


class Metric(Record, eq=False):
    """A metric of the registry."""

    display: str  # its name as tables show it, with Greek letters
    function: Callable[..., Any]  # Judgments, and parameters as keywords -> the value of each query, (Q,)
    range: tuple[float | None, float | None] = (0, 1)  # of its values; None where there is no bound
    # those of invariants.py that hold, with the parameters for which they do; the property tests check them
    invariants: Sequence[Invariant] = ()
    aliases: Sequence[str] = ()  # other names for it
    kind: Kind = Kind.MEAN  # the type of its values, and how their summary is computed
    higher_is_better: bool | None = True  # None for a count or a diagnostic
    undefined: bool = False  # whether its value can be undefined (NaN) for a query
    # whether it divides by the number or the gain of relevant documents, and so is NaN (0 / 0) for a query
    # without one; Judgments.no_relevant is its value there
    needs_relevant: bool = False
    # raises ValueError for parameters that cannot be combined
    check: Callable[[Mapping[str, Any]], None] | None = None
    constant: bool = False  # its value is the same for every query, so it is printed in the summary only
    example: str = ""  # the spec that its page shows; by default, its name with the required parameters
    order_free: bool = False  # whether the order of tied scores does not change its values
    # Judgments.tied, and parameters -> the mean of the values over all orders of tied scores, (Q,), NaN as in
    # the values; for a metric without Terms. True: the function itself computes that
    expected: Callable[..., Any] | bool | None = None
    # parameters -> whether documents below the cutoff can change the value, where there is one
    sees_all: Callable[[Mapping[str, Any]], bool] | None = None
    bounds: Bounding | None = None  # over the judgments that are missing; None: they are not known
    of_subtopics: bool = False  # whether it is of the judgments by subtopic, instead of the grades of documents
    family: str = ""  # the heading it is listed under, by default that of its module

    @cached_property
    def name(self) -> str:
        """Its canonical name, in ASCII."""
        return in_ascii(self.display)

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """Its parameters: those of the function's signature, then judged_only. Raises MetricError."""
        try:  # the annotations are evaluated here, so that only metrics that are used cost that
            return (*declared(self.function), JUDGED_ONLY)
        except ValueError as error:
            raise MetricError(f"{self.name}: {error}") from error

    @cached_property
    def by_name(self) -> dict[str, Param]:
        return {param.name: param for param in self.params}

    @cached_property
    def at(self) -> Param | None:
        """The parameter that is written after '@'."""
        return next((param for param in self.params if param.after_at), None)

    @cached_property
    def usage(self) -> str:
        """The spec that its page shows: the example, or its name with the parameters it needs."""
        needed = [param for param in self.params if param.required or param.after_at] or self.params[:-1][:1]
        return self.example or self.written(self.name, {param.name: param.example for param in needed})

    def written(self, name: str, texts: Mapping[str, str]) -> str:
        """'nDCG(gain=exp)@10': a name of this metric with the texts of parameters."""
        at = self.at.name if self.at else ""
        inside = ",".join(f"{key}={text}" for key, text in texts.items() if key != at)
        return name + (f"({inside})" if inside else "") + (f"@{texts[at]}" if at in texts else "")

    def _all_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {param.name: param.default for param in self.params} | dict(params)

    def holds(self, invariant: Invariant, params: Mapping[str, Any], scale: Floats) -> bool:
        """Whether it declares the invariant, and that with these parameters, on this scale of grades.
        judged_only removes documents with a grade below 0, so that others move up: nothing is declared of that.
        """
        values = self._all_params(params)
        if values["judged_only"] and (scale < 0).any():
            return False
        return any(item.about == invariant.about and item.holds(values, scale) for item in self.invariants)

    @property
    def group(self) -> str:
        """The display name of its family, by default its module's; for other packages, the module's name."""
        name = self.function.__module__.rsplit(".", 1)[-1]
        return self.family or family_of(name)

    @property
    def is_ours(self) -> bool:
        return str(getattr(self.function, "__module__", None)).startswith("gradeval.")

    @cached_property
    def about(self) -> str:
        """The whole page: the function's docstring."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @cached_property
    def summary(self) -> str:
        return self.about.split("\n", 1)[0]

    @property
    def text(self) -> bool:
        return self.kind is Kind.TEXT

    @property
    def is_count(self) -> bool:
        return self.kind is Kind.COUNT

    @property
    def is_summed(self) -> bool:
        return self.kind in (Kind.SUM, Kind.COUNT)

    @property
    def per_query(self) -> bool:
        return not self.constant and self.kind is not Kind.GEOMETRIC

    @property
    def has_interval(self) -> bool:
        """Whether its summary is a mean, with the queries as a sample."""
        return self.kind is Kind.MEAN and not self.constant

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of its range as numbers, infinite where there is no bound."""
        low, high = self.range
        return -np.inf if low is None else float(low), np.inf if high is None else float(high)

    @property
    def has_summary(self) -> bool:
        return self.constant or self.kind is not Kind.TEXT

    def __call__(self, judgments: Judgments, **params: Any) -> Floats:
        """The value of each query, (Q,); NaN for a text."""
        values, empty = self.values(judgments, **params)
        return values if empty is None else np.where(empty, judgments.no_relevant, values)

    def values(self, judgments: Judgments, **params: Any) -> tuple[Floats, Bools | None]:
        """The value of each query, (Q,), and which have NaN for want of relevant documents, if that matters."""
        if self.text:
            return np.full(judgments.segments.count, np.nan), None
        compute = self._values if judgments.first is None else self._expected
        result: Floats | Terms = compute(judgments, **params)
        values = _numbers(result)
        if not self.needs_relevant:
            return values, None
        empty = result.is_empty if isinstance(result, Terms) else np.isnan(values)
        return (np.where(empty, np.nan, values), empty) if empty.any() else (values, None)

    def has_expected(self, params: Mapping[str, Any]) -> bool:
        """Whether it has an expected value over the orders of tied scores: one of two tied documents."""
        two = np.array([0, 2])
        rank, score = np.array([1.0, 2.0]), np.zeros(2)
        ranking = Judgments(Segments(two), np.array([1.0, 0.0]), rank, score, two // 2, two[1:])
        try:
            with np.errstate(all="ignore"):
                self.values(ranking.with_ties(np.ones(2), np.full(2, 2.0)), **params)
        except NoExpectedValueError:
            return False
        except MetricError:  # of these grades
            pass
        return self.order_free or not self.text

    def last_rank(self, params: Mapping[str, Any]) -> int | None:
        """The last rank whose document can change a value, None where any can."""
        sees_all = self.sees_all is not None and self.sees_all(params)
        return params.get("cutoff") if self.is_ours and not params.get("judged_only") and not sees_all else None

    def bounded(self, params: Mapping[str, Any]) -> str:
        """How its bounds over the judgments that are missing are known with these parameters: exact or outer;
        none: they are not.
        """
        values = self._all_params(params)
        if self.bounds is None or values["judged_only"] or not self.bounds.holds(values, np.zeros(1)):
            return NO_BOUNDS
        return self.bounds.about

    def open_values(self, judgments: Judgments, unjudged: Unjudged, **params: Any) -> OpenValues:
        """Its values as a function of the grades of the unjudged documents, where its bounds are known."""
        assert self.bounds is not None
        values = self._all_params(params)
        del values["judged_only"]
        return self.bounds.find(self, judgments, unjudged, values)

    def terms(self, judgments: Judgments, **params: Any) -> Terms | None:
        """The contribution of each document to the values; None for a metric that is not a sum over documents.
        With judged_only the rows are those of judgments.judged_only().
        """
        values = self._values(judgments, **params)
        return values if isinstance(values, Terms) else None

    def texts(self, judgments: Judgments, **params: Any) -> list[str]:
        return list(map(str, self._values(judgments, **params)))

    def _values(self, judgments: Judgments, *, judged_only: bool = False, **params: Any) -> Any:
        if judged_only:
            judgments = judgments.once("judged_only", judgments.judged_only)
        return self.function(judgments, **params)

    def _expected(self, judgments: Judgments, *, judged_only: bool = False, **params: Any) -> Any:
        """The values or terms expected over all orders of tied scores."""
        if judged_only:
            judgments = judgments.once("judged_only", judgments.judged_only)
        if self.order_free:
            values = self.function(judgments, **params)
            for is_divided in (
                (True, False) if judgments.divided.any() else ()
            ):  # it is order-free within the depth
                other = self.function(judgments.with_divided(is_divided), **params)
                if not np.array_equal(_numbers(values), _numbers(other), True):
                    judgments.check_depth_divides_no_ties()
            return values
        function = self.expected if callable(self.expected) else self.function
        result = function(judgments.tied, **params)
        if self.expected:
            return result
        result = judgments.tied.expected(result) if isinstance(result, Terms) else None
        if result is not None:
            if not (self.is_count and (result.values() % 1).any()):
                return result
            judgments.check_depth_divides_no_ties()
        raise NoExpectedValueError(f"{self.name} has no expected value over the orders of tied scores")


def _numbers(values: Floats | Terms) -> Floats:
    return values.values() if isinstance(values, Terms) else values


# those declared by other packages or the program, until registry/spec.py checks them
UNCHECKED: list[Metric] = []
# those that can be used, by name: gradeval's after load(); registry/spec.py adds those of plugins
REGISTRY: dict[str, Metric] = {}


def metric(name: str, **fields: Any) -> Callable[[_Declared], _Declared]:
    """Declare a metric: a function of Judgments, with its parameters as keywords, that returns float64 (Q,).
    name: as tables show it. fields: those of Metric. The function's docstring is the metric's page, its module
    the metric's family. Every metric has the parameter judged_only, which the function does not see. A metric
    of another package is checked where names of metrics are looked up, and its errors are contained.
    """

    def declare(function: _Declared) -> _Declared:
        metric = Metric(name, function, **fields)
        if metric.is_ours:
            REGISTRY[metric.name] = metric
        else:
            UNCHECKED.append(metric)
        return function

    return declare


@cache
def load() -> None:
    """Import all built-in families, and put their metrics in the order of the families."""
    built_in = [metric for module in modules() for metric in import_family(module)]
    of_plugins = [metric for metric in REGISTRY.values() if not metric.is_ours]
    REGISTRY.clear()
    REGISTRY.update({metric.name: metric for metric in built_in + of_plugins})


def import_family(family: str) -> list[Metric]:
    """The metrics of a built-in family, in the order of its module."""
    module = import_module(f"gradeval.metrics.{family}").__name__
    return [metric for metric in REGISTRY.values() if metric.function.__module__ == module]
