"""Metrics of other packages: found by their entry points, checked, and contained.

A plugin is any code. Whatever it raises, also by sys.exit, is a MetricError of one line, and what it prints
goes to standard error. Nothing more is promised.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np

from gradeval.errors import MetricError, described, named, printable
from gradeval.registry.catalogue import in_ascii
from gradeval.registry.invariants import Invariant
from gradeval.registry.metric import Metric
from gradeval.registry.params import JUDGED_ONLY, Param, declared
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Details, Terms

_Result = TypeVar("_Result")
# one thread at a time: of two that overlap, the last would not restore standard output
_RUNNING = threading.RLock()


def load_all(register: Callable[[], list[str]]) -> list[str]:
    """Load the modules under the entry point group 'gradeval.metrics'; lines of errors, register()'s too."""
    from importlib.metadata import entry_points

    failed: list[str] = []
    try:
        points = contained("plugins cannot be listed: ", lambda: list(entry_points(group="gradeval.metrics")))()
    except MetricError as error:
        return [str(error)]
    for point in points:
        try:
            contained(f"plugin {point.value} cannot be loaded: ", point.load)()
        except MetricError as error:
            failed.append(str(error))
        failed += register()
    return failed


def contained(
    prefix: str, function: Callable[..., _Result], passing: tuple[type[ValueError], ...] = ()
) -> Callable[..., _Result]:
    """The function, which raises MetricError with the prefix for whatever it raises but errors `passing`."""

    @wraps(function)
    def call(*args: Any, **params: Any) -> _Result:
        try:
            with _RUNNING, redirect_stdout(sys.stderr), np.errstate(all="ignore"):
                return function(*args, **params)
        except BaseException as error:  # sys.exit and KeyboardInterrupt do not end the program
            try:
                text = printable(" ".join(str(error).split()))
            except Exception:  # of a class of its own
                text = ""
            if isinstance(error, passing):
                raise ValueError(text) from None
            if not isinstance(error, MetricError):
                text = f"{type(error).__name__}: {text}".removesuffix(": ")
            raise MetricError(prefix + text) from error

    return call


def admitted(metric: Metric, owner: Callable[[str], str]) -> Metric:
    """A metric of another package, contained. owner: what a name is used for, or ''. Raises MetricError."""
    function = metric.function
    who = f"plugin {getattr(function, '__module__', None) or type(function).__module__}"
    ignored = f"{who}: metric {described(metric.display)} is ignored: "
    params = contained(ignored, _checked)(metric)
    for name in (metric.name, *metric.aliases):
        if used := owner(name):
            raise MetricError(f"{ignored}the name {named(name)} is already used for {used}")
    return contained(ignored, _contain)(metric, params, f"{who} failed: ")


def _checked(metric: Metric) -> tuple[Param, ...]:
    """The parameters of a metric. Raises any error where its declaration cannot be used."""
    types: dict[str, Any] = {
        "function": Callable,
        **{name: type(default) for name, default in Metric._defaults.items() if default is not None},
        **dict.fromkeys(("range", "invariants", "aliases"), (list, tuple)),
        "higher_is_better": (bool, type(None)),
    }
    wrong = [field for field, kind in types.items() if not isinstance(getattr(metric, field), kind)]
    if not wrong:
        holds = {
            "invariants": all(isinstance(item, Invariant) for item in metric.invariants),
            "range": all(end is None or abs(end) <= np.inf for end in metric.range),
            "aliases": all(re.fullmatch(r"[^\s(),@=.]+", in_ascii(name)) for name in metric.aliases),
            "name": re.fullmatch(r"[A-Za-z0-9_-]+", metric.name),
        }
        wrong = [field for field, is_right in holds.items() if not is_right]
    for field in wrong:
        message = f"{field} cannot be {described(getattr(metric, field))}"
        raise MetricError(f"{message} (see Metric in gradeval/registry/metric.py)")
    return tuple(declared(metric.function))


def _contain(metric: Metric, params: tuple[Param, ...], prefix: str) -> Metric:
    """The metric with the code of its function, invariants, check and parameters contained."""

    @wraps(metric.function)
    def compute(judgments: Judgments, **values: Any) -> Any:
        result = metric.function(judgments, **values)
        count = judgments.segments.count
        of_queries = result.values() if isinstance(result, Terms) else result
        array = np.asarray(of_queries, None if metric.text else np.float64)
        if array.shape != (count,):
            raise MetricError(f"it returned {described(result)}, not {count} values")
        if not isinstance(result, Terms):
            return array
        if not np.isin(result.row, np.arange(-1, len(judgments.grade))).all():
            raise MetricError("it returned Terms whose rows are not those of the table")
        return result.replace(
            ideal=result.ideal and contained(prefix, result.ideal),
            expected_total=result.expected_total and contained(prefix, result.expected_total),
            details=contained(prefix, partial(_details, result, len(judgments.grade), prefix)),
        )

    invariants = []
    for item in metric.invariants:
        conditions = (
            condition.replace(is_met=contained(prefix, condition.is_met)) for condition in item.conditions
        )
        invariants.append(item.replace(conditions=tuple(conditions)))
    safe = metric.replace(
        function=contained(prefix, compute),
        invariants=invariants,
        check=metric.check and contained(prefix, metric.check, (ValueError,)),
        expected=contained(prefix, metric.expected) if callable(metric.expected) else None,
    )
    of_function = (param.replace(parse=contained(prefix, param.parse, (ValueError,))) for param in params)
    safe.__dict__["params"] = (*of_function, JUDGED_ONLY)  # fills the cached property
    return safe


def _details(result: Terms, count: int, prefix: str) -> Details:
    """What it shows of a table of so many rows besides the terms, with its code contained."""
    details = result.details()
    if details.scaled is not None and np.shape(details.scaled) != (count,):
        raise MetricError(f"its Details have scaled={described(details.scaled)}, not {count} values")
    if details.phi is None:
        return details
    phi = details.phi
    return details.replace(phi=phi.replace(of=contained(prefix, phi.of), points=contained(prefix, phi.points)))
