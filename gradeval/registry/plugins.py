"""Metrics of other packages: found by their entry points, checked, and contained.

A plugin is any code. Whatever it raises, also by sys.exit, is a MetricError of one line; what it prints goes to
standard error; and a metric gets columns of its own. Nothing more is promised.
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
_LONGEST = 300  # characters of an error's text
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
            text = _one_line(error)
            if isinstance(error, passing):
                raise ValueError(text) from None
            if not isinstance(error, MetricError):
                text = f"{type(error).__name__}: {text}".removesuffix(": ")
            raise MetricError(prefix + text) from error

    return call


def _one_line(error: BaseException) -> str:
    """The error's text, short and printable."""
    try:
        text = printable(" ".join(str(error).split()))
    except Exception:  # of a class of its own
        return ""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def admitted(metric: Metric, owner: Callable[[str], str]) -> tuple[Metric | None, list[str]]:
    """A metric of another package, contained, with those of its names that are free; a line for each other.

    None for a metric whose declaration is wrong, or whose name is not free. owner: what a name is already used
    for, '' if it is free.
    """
    function = metric.function
    who = f"plugin {getattr(function, '__module__', None) or type(function).__module__}"
    ignored = f"{who}: metric {described(metric.display)} is ignored: "
    try:
        params = contained(ignored, _checked_declaration)(metric)
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


def _contain(metric: Metric, params: tuple[Param, ...], prefix: str) -> Metric:
    """The metric with the code of its function, invariants, check and parameters contained."""

    @wraps(metric.function)
    def compute(judgments: Judgments, **values: Any) -> Any:
        columns: dict[str, Any] = {
            name: getattr(judgments, name).copy() for name in ("grade", "rank", "score", "retrieved")
        }
        result = metric.function(judgments.replace(**columns), **values)
        count = judgments.segments.count
        if metric.text:
            texts = None if isinstance(result, (str, bytes)) else np.asarray(result).tolist()
            if not isinstance(texts, list) or [isinstance(text, str) for text in texts] != [True] * count:
                raise MetricError(f"it did not return {count} strings")
            return texts
        if not isinstance(result, Terms):
            return _numbers(result, count, metric.kind)
        _numbers(result.values(), count, metric.kind)
        rows = np.asarray(result.row)
        is_whole = rows.shape == (result.segments.offsets[-1],) and result.is_empty.shape == (count,)
        if not is_whole or not np.isin(rows, np.arange(-1, len(judgments.grade))).all():
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

    invariants = [
        item.replace(
            conditions=tuple(of.replace(is_met=contained(prefix, of.is_met)) for of in item.conditions)
        )
        for item in metric.invariants
    ]
    safe = metric.replace(
        function=contained(prefix, compute),
        invariants=invariants,
        check=None if metric.check is None else contained(prefix, metric.check, (ValueError,)),
        expected=contained(prefix, metric.expected) if callable(metric.expected) else None,
        undefined=True,
    )
    safe.__dict__["params"] = (*map(parsing, params), JUDGED_ONLY)  # fills the cached property
    return safe


def _numbers(values: Any, count: int, kind: Kind) -> Floats:
    """Values as float64 (Q,); masked ones are undefined."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.shape != (count,):
        is_array = array.ndim or array.dtype != object
        what = f"an array of {array.dtype.name}, shape {array.shape}" if is_array else type(values).__name__
        raise MetricError(f"it returned {what}, not numbers of shape ({count},)")
    numbers: Floats = np.array(array, np.float64)
    if hasattr(values, "filled"):  # a masked array, without an import of numpy.ma
        numbers = values.astype(np.float64).filled(np.nan)
    if np.isinf(numbers).any():
        raise MetricError("it returned an infinite number")
    if kind is Kind.COUNT and (numbers % 1 > 0).any():
        raise MetricError("it returned a number that is not an integer, as those of Kind.COUNT are")
    return numbers


def _checked_declaration(metric: Metric) -> tuple[Param, ...]:
    """The parameters of the metric. Raises MetricError for what is wrong with its declaration."""
    about = getattr(metric.function, "__doc__", None)

    def are_names(form: str, names: Any) -> bool:
        return isinstance(names, (list, tuple)) and all(
            isinstance(name, str) and re.fullmatch(form, in_ascii(name)) for name in names
        )

    is_function = callable(metric.function) and isinstance(about, (str, type(None))) and _is_line(metric.group)
    are_ends = (
        isinstance(metric.range, (list, tuple))
        and [isinstance(end, (int, float, type(None))) and end == end for end in metric.range] == [True] * 2
    )
    are_invariants = isinstance(metric.invariants, (list, tuple)) and all(
        isinstance(item, Invariant) and _is_line(str(item)) for item in metric.invariants
    )
    flags = ("undefined", "needs_relevant", "constant", "order_free")
    functions = {field: getattr(metric, field) for field in ("expected", "check")}
    for field, must, is_right in (
        ("display", "letters, digits, '_' and '-'", are_names(r"[A-Za-z0-9_-]+", [metric.display])),
        ("function", "a function whose docstring is a string", is_function),
        ("range", "(lowest, highest)", are_ends),
        ("invariants", "a list of those in gradeval/registry/invariants.py", are_invariants),
        (
            "aliases",
            "a list of names without spaces and any of (),@=.",
            are_names(r"[^\s(),@=.]+", metric.aliases),
        ),
        ("kind", "a member of Kind", isinstance(metric.kind, Kind)),
        ("higher_is_better", "true, false or None", isinstance(metric.higher_is_better, (bool, type(None)))),
        *((field, "true or false", isinstance(getattr(metric, field), bool)) for field in flags),
        *((name, "a function or None", item is None or callable(item)) for name, item in functions.items()),
        ("example", "a string of one line", _is_line(metric.example)),
    ):
        if not is_right:
            name = "name" if field == "display" else field  # as it is declared
            raise MetricError(f"{name} must be {must}, not {described(getattr(metric, field))}")
    try:
        params = tuple(declared(metric.function))
    except ValueError as error:
        raise MetricError(_one_line(error)) from error
    for param in params:
        texts = (param.about, param.allowed, param.example, param.without, *param.aliases)
        hash(param.default)
        if param.name == JUDGED_ONLY.name or not (
            all(map(_is_line, (*texts, param.text(param.default))))
            and callable(param.parse)
            and isinstance(param.after_at, bool)
        ):
            raise MetricError(f"parameter {param.name} is not declared as in gradeval/registry/params.py")
    return params


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()
