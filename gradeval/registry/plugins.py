"""Metrics of other packages: found by their entry points, checked, and contained.

A plugin is any code. Whatever it raises, also by sys.exit, is a MetricError of one line, and what it prints
goes to standard error. Nothing more is promised.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from gradeval.arrays import Floats
from gradeval.errors import MetricError, described, named, printable
from gradeval.registry.invariants import Invariant
from gradeval.registry.metric import Kind, Metric, in_ascii
from gradeval.registry.params import JUDGED_ONLY, Param, declared
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms

_Result = TypeVar("_Result")
# one thread at a time: of two that overlap, the last would not restore standard output
_RUNNING = threading.RLock()


def loaded() -> Iterator[str]:
    """Load the modules under the entry point group 'gradeval.metrics'; after each what is wrong, or ''."""
    from importlib.metadata import entry_points

    try:
        points = contained("plugins cannot be listed: ", lambda: list(entry_points(group="gradeval.metrics")))()
    except MetricError as error:
        yield str(error)
        return
    for point in points:
        try:
            contained(f"plugin {point.value} cannot be loaded: ", point.load)()
            yield ""
        except MetricError as error:
            yield str(error)


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


def admitted(metric: Metric, owner: Callable[[str], str]) -> tuple[Metric | None, list[str]]:
    """A metric of another package, contained, with those of its names that are free; a line for each other.

    None for a metric whose declaration is wrong, or whose name is not free. owner: what a name is already used
    for, '' if it is free.
    """
    function = metric.function
    who = f"plugin {getattr(function, '__module__', None) or type(function).__module__}"
    ignored = f"{who}: metric {described(metric.display)} is ignored: "
    try:
        params = contained(ignored, _checked)(metric)
        owners = {name: owner(name) for name in (metric.name, *metric.aliases)}
        if owners[metric.name]:
            raise MetricError(f"{ignored}the name is already used for {owners[metric.name]}")
        free = metric.replace(aliases=[name for name in metric.aliases if not owners[name]])
        safe = contained(ignored, _contain)(free, params, f"{who} failed: ")
    except MetricError as error:
        return None, [str(error)]
    return safe, [
        f"{who}: alias {named(name)} of metric {metric.name} is ignored: it is already used for {used}"
        for name, used in owners.items()
        if used
    ]


def _checked(metric: Metric) -> tuple[Param, ...]:
    """The parameters of a metric. Raises any error where a field of its declaration cannot be used."""

    def is_line(value: Any) -> bool:
        return isinstance(value, str) and value.isprintable()

    about, invariants = getattr(metric.function, "__doc__", None), metric.invariants
    is_right = {
        "name": re.fullmatch(r"[A-Za-z0-9_-]+", metric.name),
        "function": callable(metric.function)
        and isinstance(about, (str, type(None)))
        and is_line(metric.group),
        "range": [end is None or -np.inf <= end <= np.inf for end in metric.range] == [True, True],
        "invariants": all(isinstance(item, Invariant) and is_line(str(item)) for item in invariants),
        "aliases": not isinstance(metric.aliases, str)
        and all(re.fullmatch(r"[^\s(),@=.]+", in_ascii(name)) for name in metric.aliases),
        "kind": isinstance(metric.kind, Kind),
        "higher_is_better": isinstance(metric.higher_is_better, (bool, type(None))),
        "check": metric.check is None or callable(metric.check),
        "example": is_line(metric.example),
    }
    for field, right in is_right.items():
        if not right:
            what = f"{field} cannot be {described(getattr(metric, field))}"
            raise MetricError(f"{what} (see Metric in gradeval/registry/metric.py)")
    params = tuple(declared(metric.function))
    for param in params:
        texts = (param.about, param.allowed, param.example, param.without, *param.aliases)
        hash(param.default)
        if param.name == JUDGED_ONLY.name or not all(map(is_line, (*texts, param.text(param.default)))):
            raise MetricError(f"parameter {param.name} is not declared as in gradeval/registry/params.py")
    return params


def _contain(metric: Metric, params: tuple[Param, ...], prefix: str) -> Metric:
    """The metric with the code of its function, invariants, check and parameters contained."""

    @wraps(metric.function)
    def compute(judgments: Judgments, **values: Any) -> Any:
        result, count = metric.function(judgments, **values), judgments.segments.count
        if metric.text:
            if not isinstance(result, list) or [isinstance(text, str) for text in result] != [True] * count:
                raise MetricError(f"it did not return {count} strings")
            return result
        if not isinstance(result, Terms):
            return _numbers(result, count, metric.kind)
        _numbers(result.values(), count, metric.kind)
        is_whole = len(result.row) == result.segments.offsets[-1]
        if not is_whole or not np.isin(result.row, np.arange(-1, len(judgments.grade))).all():
            raise MetricError("it returned Terms whose rows are not those of the table")
        return result.replace(
            ideal=result.ideal and contained(prefix, result.ideal),
            expected_total=result.expected_total and contained(prefix, result.expected_total),
        )

    def parsing(param: Param) -> Param:
        @wraps(param.parse)
        def parse(text: str) -> Any:
            value = param.parse(text)
            hash(value)
            param.text(value)
            return value

        return param.replace(parse=contained(prefix, parse, (ValueError,)))

    safe = metric.replace(
        function=contained(prefix, compute),
        invariants=[
            item.replace(
                conditions=tuple(of.replace(is_met=contained(prefix, of.is_met)) for of in item.conditions)
            )
            for item in metric.invariants
        ],
        check=metric.check and contained(prefix, metric.check, (ValueError,)),
        expected=contained(prefix, metric.expected) if callable(metric.expected) else None,
        undefined=True,
        **{field: bool(getattr(metric, field)) for field in ("needs_relevant", "constant", "order_free")},
    )
    safe.__dict__["params"] = (*map(parsing, params), JUDGED_ONLY)  # fills the cached property
    return safe


def _numbers(values: Any, count: int, kind: Kind) -> Floats:
    """Values as float64 (Q,); masked ones are undefined."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.shape != (count,):
        raise MetricError(f"it returned {described(values)}, not an array of {count} numbers")
    numbers: Floats = np.array(array, np.float64)
    if hasattr(values, "filled"):  # a masked array, without an import of numpy.ma
        numbers = values.astype(np.float64).filled(np.nan)
    if np.isinf(numbers).any():
        raise MetricError("it returned an infinite number")
    if kind is Kind.COUNT and (numbers % 1 > 0).any():
        raise MetricError("it returned a number that is not an integer, as those of Kind.COUNT are")
    return numbers
