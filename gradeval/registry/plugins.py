"""Metrics of other packages: found by their entry points, checked, and contained.

A plugin is any code. Whatever it raises, also by sys.exit, is a MetricError of one line; what it prints through
sys.stdout goes to standard error; and a metric gets a table of its own. Nothing more is promised.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any, TextIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Floats
from gradeval.arrays.segments import Segments
from gradeval.errors import MetricError, described, named, printable
from gradeval.registry.invariants import Condition, Invariant
from gradeval.registry.metric import Kind, Metric, in_ascii
from gradeval.registry.params import JUDGED_ONLY, Param, declared
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms

_Result = TypeVar("_Result")
_LONGEST = 300  # characters of an error's text


def loaded() -> Iterator[str]:
    """Load what other packages offer under the entry point group 'gradeval.metrics': modules that use @metric.

    After each of them what is wrong with it, '' if nothing.
    """
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


# Containment


def contained(
    prefix: str, function: Callable[..., _Result], passing: tuple[type[Exception], ...] = ()
) -> Callable[..., _Result]:
    """The function, which raises MetricError with the prefix for whatever it raises; `passing` stay."""

    @wraps(function)
    def call(*args: Any, **params: Any) -> _Result:
        try:
            with _DIVERSION, np.errstate(all="ignore"):  # which also restores what the plugin sets
                return function(*args, **params)
        except BaseException as error:  # sys.exit and KeyboardInterrupt do not end the program
            text = _one_line(error)
            for kind in passing:
                if isinstance(error, kind):
                    raise kind(text) from None
            if not isinstance(error, MetricError):
                text = f"{type(error).__name__}: {text}".removesuffix(": ")
            raise MetricError(prefix + text) from error

    return call


class _Diversion:
    """Standard output is standard error while any thread runs code of a plugin: only results go to stdout.

    Not redirect_stdout: of two threads that overlap, the last one would restore what the first one had set.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.threads: list[int] = []  # that run code of a plugin, each as often as that calls another
        self.before: TextIO | None = None

    def __enter__(self) -> None:
        with self.lock:
            if not self.threads:
                self.before, sys.stdout = sys.stdout, sys.stderr
            self.threads.append(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.threads.remove(threading.get_ident())
            self._restore()

    def _restore(self) -> None:
        if not self.threads and self.before is not None:
            sys.stdout, self.before = self.before, None

    def keep_this_thread(self) -> None:
        """In a forked process there are no other threads, which would keep the lock and standard output."""
        self.lock = threading.Lock()
        self.threads = [one for one in self.threads if one == threading.get_ident()]
        self._restore()


_DIVERSION = _Diversion()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_DIVERSION.keep_this_thread)


def _one_line(error: BaseException) -> str:
    """The error's text, short and printable."""
    try:
        text = printable(" ".join(str(error).split()))
    except Exception:  # of a class of its own
        return ""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _contain(metric: Metric, params: tuple[Param, ...], prefix: str) -> Metric:
    """The metric with its function, its check, and the code of its parameters and invariants contained."""
    function, check = metric.function, metric.check

    @wraps(function)
    def compute(judgments: Judgments, **params: Any) -> Any:
        return _checked_result(function(_copied(judgments), **params), metric.kind, judgments, prefix)

    def within(condition: Condition) -> Condition:
        return replace(condition, is_met=contained(prefix, condition.is_met))

    own = replace(
        metric,
        function=contained(prefix, compute),
        invariants=[replace(one, conditions=tuple(map(within, one.conditions))) for one in metric.invariants],
        check=None if check is None else contained(prefix, check, (ValueError,)),
        undefined=True,
    )
    parsed = [param.but(parse=contained(prefix, _parser(param), (ValueError,))) for param in params]
    own.__dict__["params"] = (*parsed, JUDGED_ONLY)  # fills the cached property
    return own


def _parser(param: Param) -> Callable[[str], Any]:
    """The reader of a parameter's value, which must be hashable and have a text."""

    @wraps(param.parse)
    def parse(text: str) -> Any:
        value = param.parse(text)
        hash(value)
        param.text(value)
        return value

    return parse


def _copied(judgments: Judgments) -> Judgments:
    """The table with read-only arrays of its own: nothing that is done to them reaches another metric."""

    def copied(column: NDArray[Any]) -> NDArray[Any]:
        column = column.copy()
        column.flags.writeable = False
        return column

    names = ("grade", "rank", "score", "document", "retrieved", "scale")
    columns: dict[str, Any] = {name: copied(getattr(judgments, name)) for name in names}
    return replace(judgments, segments=Segments(copied(judgments.segments.offsets)), **columns)


def _checked_result(result: Any, kind: Kind, judgments: Judgments, prefix: str) -> Any:
    """The values that a metric returned: Terms, strings (Q,), or else new float64 (Q,). Raises MetricError."""
    count = judgments.segments.count
    if kind is Kind.TEXT:
        texts = None if isinstance(result, (str, bytes)) else np.asarray(result).tolist()
        if not isinstance(texts, list) or len(texts) != count or not all(isinstance(one, str) for one in texts):
            raise MetricError(f"it did not return {count} strings")
        return texts
    if isinstance(result, Terms):
        _numbers(result.values(), count, kind)
        rows, table = np.asarray(result.row), np.arange(-1, len(judgments.grade))
        is_whole = rows.shape == (result.segments.offsets[-1],) and result.is_empty.shape == (count,)
        if not is_whole or not np.isin(rows, table).all():
            raise MetricError("it returned Terms whose rows are not those of the table")
        return replace(result, ideal=None if result.ideal is None else contained(prefix, result.ideal))
    return _numbers(result, count, kind)


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


# What a declaration must be


def plugin_of(metric: Metric) -> str:
    """The plugin as messages name it."""
    function = metric.function
    return f"plugin {getattr(function, '__module__', None) or type(function).__module__}"


def admitted(metric: Metric, owner: Callable[[str], str]) -> tuple[Metric | None, list[str]]:
    """A metric of another package, contained, with those of its names that are free; a line for each other.

    None for a metric whose declaration is wrong, or whose name is not free. owner: what a name is already used
    for, '' if it is free.
    """
    who = plugin_of(metric)
    ignored = f"{who}: metric {described(metric.display)} is ignored: "
    try:
        params = contained(ignored, _checked)(metric)
        owners = {name: owner(name) for name in (metric.name, *metric.aliases)}
        if owners[metric.name]:
            raise MetricError(f"{ignored}the name is already used for {owners[metric.name]}")
        free = replace(metric, aliases=[name for name in metric.aliases if not owners[name]])
        own = contained(ignored, _contain)(free, params, f"{who} failed: ")
    except MetricError as error:
        return None, [str(error)]
    return own, [
        f"{who}: alias {named(name)} of metric {metric.name} is ignored: it is already used for {used}"
        for name, used in owners.items()
        if used
    ]


def _checked(metric: Metric) -> tuple[Param, ...]:
    """The parameters of the metric. Raises MetricError for what is wrong with its declaration."""
    for field, (must, is_right) in _MUST.items():
        value = getattr(metric, field)
        if not is_right(value):
            name = "name" if field == "display" else field  # as it is declared
            raise MetricError(f"{name} must be {must}, not {described(value)}")
    try:
        params = tuple(declared(metric.function))
    except ValueError as error:
        raise MetricError(_one_line(error)) from error
    for param in params:
        if not _is_param(param):
            raise MetricError(f"parameter {param.name} is not declared as in gradeval/registry/params.py")
    return params


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


def _is_param(param: Param) -> bool:
    return (
        param.name != JUDGED_ONLY.name
        and all(map(_is_line, (param.about, param.allowed, param.example, param.without, *param.aliases)))
        and callable(param.parse)
        and isinstance(hash(param.default), int)
        and _is_line(param.text(param.default))
        and isinstance(param.after_at, bool)
    )


def _is_list_of(value: Any, is_right: Callable[[Any], object]) -> bool:
    return isinstance(value, (list, tuple)) and all(map(is_right, value))


def _is_form(form: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(form, in_ascii(value)) is not None


def _is_a(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


def _is_bound(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and value == value)


_NONE = type(None)
_TRUTH = "true or false", _is_a(bool)
_LINE = "a string of one line", _is_line
_MUST: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "display": ("letters, digits, '_' and '-'", _is_form(r"[A-Za-z0-9_-]+")),
    "function": (
        "a function whose docstring is a string",
        lambda value: callable(value) and isinstance(value.__doc__, (str, _NONE)),
    ),
    "range": ("(lowest, highest)", lambda value: _is_list_of(value, _is_bound) and len(value) == 2),
    "invariants": (
        "a list of those in gradeval/registry/invariants.py",
        lambda value: _is_list_of(value, lambda one: isinstance(one, Invariant) and _is_line(str(one))),
    ),
    "aliases": (
        "a list of names without spaces and any of (),@=.",
        lambda value: _is_list_of(value, _is_form(r"[^\s(),@=.]+")),
    ),
    "kind": ("a member of Kind", _is_a(Kind)),
    "higher_is_better": ("true, false or None", _is_a(bool, _NONE)),
    "undefined": _TRUTH,
    "needs_relevant": _TRUTH,
    "check": ("a function or None", lambda value: value is None or callable(value)),
    "constant": _TRUTH,
    "example": _LINE,
    "group": _LINE,
}
