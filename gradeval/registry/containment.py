"""Plugin code, contained: whatever it raises, or returns that it should not, is a MetricError of one line.

A plugin is any code. It is loaded, its metrics run, and their parameters are read, through contained(): nothing
that they do affects another metric, and what they print goes to standard error. Only the user's Ctrl-C passes.
"""

from __future__ import annotations

import inspect
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import wraps
from typing import Annotated, Any, TextIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Floats
from gradeval.arrays.segments import Segments
from gradeval.errors import MetricError, described, printable
from gradeval.registry.invariants import Condition
from gradeval.registry.metric import Function, Kind, Metric
from gradeval.registry.params import Param
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import DiscountedTerms, Terms

_Result = TypeVar("_Result")
_LONGEST = 300  # characters of an error's text
_LARGEST_COUNT = 2.0**53  # up to which a float64 holds every integer
_NUMBERS = ("cutoff", "length", "rel")  # parameters that the measured effect of ties reads too


def contained(prefix: str, call: Callable[[], _Result], passing: tuple[type[Exception], ...] = ()) -> _Result:
    """What the code of a plugin returns.

    Raises MetricError with the prefix for whatever it raises; `passing` are raised as they are, on one line.
    """
    error: BaseException | None = None
    with _interrupts() as interrupts:
        try:
            with _DIVERSION, np.errstate(all="ignore"):  # which also restores what the plugin sets
                result = call()
        except BaseException as raised:  # sys.exit or raise KeyboardInterrupt do not end the program
            error = raised
    if interrupts:
        raise KeyboardInterrupt
    if error is None:
        return result
    text = one_line(error)
    for kind in passing:
        if isinstance(error, kind):
            raise kind(text) from None
    if not isinstance(error, MetricError):
        text = f"{type(error).__name__}: {text}".removesuffix(": ")
    raise MetricError(prefix + text) from error


class _Diversion:
    """Standard output is standard error while any thread runs code of a plugin: only results go to stdout.

    Not redirect_stdout: of two threads that overlap, the last one would restore what the first one had set.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.depth = 0
        self.before: TextIO | None = None

    def __enter__(self) -> None:
        with self.lock:
            if not self.depth:
                self.before, sys.stdout = sys.stdout, sys.stderr
            self.depth += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.depth -= 1
            if not self.depth:
                sys.stdout, self.before = self.before, None


_DIVERSION = _Diversion()


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Notes each SIGINT, since a plugin can raise KeyboardInterrupt itself, or catch the user's.

    Python handles signals in the main thread; in another one every KeyboardInterrupt is the plugin's.
    """
    received: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield received
        return

    def note(number: int, frame: Any) -> Any:
        received.append(number)
        return before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield received
    finally:
        signal.signal(signal.SIGINT, before)


def one_line(error: BaseException) -> str:
    """The error's text, short and printable."""
    try:
        text = printable(" ".join(str(error).split()))
    except Exception:  # of a class of its own
        return ""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def plugin_of(function: Function) -> str:
    """The plugin as messages name it."""
    return f"plugin {getattr(function, '__module__', None) or type(function).__module__}"


def contain(metric: Metric, params: tuple[Param, ...]) -> Metric:
    """The metric with its function, the readers of its parameters and its check contained.

    The function returns new float64 (Q,), Terms, or strings (Q,), or raises MetricError.
    """
    function, check, prefix = metric.function, metric.check, f"{plugin_of(metric.function)} failed: "

    @wraps(function)
    def compute(judgments: Judgments, **given: Any) -> Any:
        own = _read_only(judgments)
        return contained(prefix, lambda: _returned(function(own, **given), metric.kind, own, prefix))

    def parser(param: Param) -> Callable[[str], Any]:
        return lambda text: contained(prefix, lambda: _parsed(param, text), (ValueError,))

    signature = inspect.signature(function)
    own = dict(signature.parameters)
    for param in params:
        annotation = Annotated[Any, param.but(parse=parser(param))]
        own[param.name] = own[param.name].replace(annotation=annotation)
    compute.__dict__["__signature__"] = signature.replace(parameters=list(own.values()))

    def within(condition: Condition) -> Condition:
        return replace(
            condition,
            is_met=lambda given, scale: contained(prefix, lambda: bool(condition.is_met(given, scale))),
        )

    invariants = [replace(one, conditions=tuple(map(within, one.conditions))) for one in metric.invariants]
    return replace(
        metric,
        function=compute,
        invariants=invariants,
        check=check and (lambda given: contained(prefix, lambda: check(given), (ValueError,))),
        undefined=True,
    )


def is_bound(value: Any) -> bool:
    """Whether it is a number, or None for no bound."""
    return value is None or (isinstance(value, (int, float)) and value == value)


def _parsed(param: Param, text: str) -> Any:
    """A parameter's value, which must be hashable and have a text."""
    value = param.parse(text)
    hash(value)
    param.text(value)
    if param.name in _NUMBERS and not is_bound(value):
        raise TypeError(f"{param.name} must be a number, not {described(value)}")
    return value


def _read_only(judgments: Judgments) -> Judgments:
    """The same table for a plugin alone: no other metric sees what it changes or keeps there."""

    def view(column: NDArray[Any]) -> NDArray[Any]:
        column = column.view()
        column.flags.writeable = False
        return column

    names = ("grade", "rank", "score", "document", "retrieved")
    columns: dict[str, Any] = {name: view(getattr(judgments, name)) for name in names}
    return replace(judgments, segments=Segments(view(judgments.segments.offsets)), **columns)


# What a metric returned, checked and copied: the plugin may use its arrays again


def _returned(values: Any, kind: Kind, judgments: Judgments, prefix: str) -> Any:
    count = judgments.segments.count
    if kind is Kind.TEXT:
        return _strings(values, count)
    terms = None
    if type(values) in (Terms, DiscountedTerms):
        terms = _terms(values, judgments, prefix)
        values = terms.values()
    numbers = _numbers(values, count)
    if kind is Kind.COUNT and ((numbers % 1 > 0) | (abs(numbers) > _LARGEST_COUNT)).any():
        raise MetricError("it returned a number that is not an integer, as those of Kind.COUNT are")
    return numbers if terms is None else terms


def _numbers(values: Any, count: int) -> Floats:
    """Values as float64 (Q,); masked ones are undefined."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.shape != (count,):
        is_array = array.ndim or array.dtype != object
        found = f"an array of {array.dtype.name}, shape {array.shape}" if is_array else type(values).__name__
        raise MetricError(f"it returned {found}, not numbers of shape ({count},)")
    numbers: Floats = np.array(array, np.float64)
    if hasattr(values, "filled"):  # a masked array, without an import of numpy.ma
        numbers = values.astype(np.float64).filled(np.nan)
    if np.isinf(numbers).any():
        raise MetricError("it returned an infinite number")
    return numbers


def _strings(values: Any, count: int) -> NDArray[np.object_]:
    texts = None if isinstance(values, (str, bytes)) else np.asarray(values).tolist()
    if not isinstance(texts, list) or len(texts) != count or not all(isinstance(text, str) for text in texts):
        raise MetricError(f"it did not return {count} strings")
    return np.array(texts, object)


def _terms(terms: Terms, judgments: Judgments, prefix: str) -> Terms:
    def copied(name: str) -> Any:
        copy: NDArray[Any] = np.array(getattr(terms, name), dtypes.get(name, np.float64))
        return copy if copy.ndim else float(copy)

    segments = Segments(np.array(terms.segments.offsets, np.int64))
    dtypes = {"row": np.int64, "has_relevant": np.bool_}
    names = {field.name for field in fields(terms) if getattr(terms, field.name) is not None}
    names -= {"segments", "ideal"}
    ideal = terms.ideal
    own = replace(
        terms,
        segments=segments,
        ideal=ideal and (lambda: contained(prefix, lambda: _terms(ideal(), judgments, prefix))),
        **{name: copied(name) for name in names},
    )
    is_within = (own.row >= -1) & (own.row < len(judgments.grade))
    if (
        np.shape(own.row) != (segments.offsets[-1],)
        or segments.count != judgments.segments.count
        or segments.offsets[0] != 0
        or (own.has_relevant is not None and np.shape(own.has_relevant) != (segments.count,))
        or np.any(own.row != terms.row)
        or not is_within.all()
    ):
        raise MetricError("it returned Terms whose rows are not those of the table")
    return own
