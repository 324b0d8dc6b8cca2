"""Metrics of other packages: found by their entry points, checked, and contained in what they do.

A plugin is any code. Whatever it does where it is loaded, reads a parameter or computes a metric becomes a
message that names it, and affects no other metric. Only the user's Ctrl-C goes through.
"""

from __future__ import annotations

import inspect
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import cache, wraps
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Floats
from gradeval.arrays.segments import Segments
from gradeval.errors import MetricError, described, named, printable
from gradeval.registry import metric as registry
from gradeval.registry.families import load
from gradeval.registry.metric import REGISTRY, Declaration, Function, Kind, Metric, in_ascii
from gradeval.registry.params import JUDGED_ONLY, Param, declared
from gradeval.tables.judgments import Judgments

_Result = TypeVar("_Result")
_LONGEST = 300  # of what an error of a plugin says
_NUMBERS = ("cutoff", "length", "rel")  # parameters that the notice of tied scores reads too


# What plugins there are


@cache
def load_plugins() -> tuple[str, ...]:
    """Add what other packages offer under the entry point group 'gradeval.metrics': modules that use @metric.

    Finding them takes longer than all our own metrics, so it is done only where a name is not one of ours,
    or all are listed. Returns a line for each plugin, metric or name that is left out; the others work.
    """
    from importlib.metadata import entry_points

    load()

    try:
        points = contained(lambda: list(entry_points(group="gradeval.metrics")))
    except Failure as failure:
        return (f"the plugins cannot be listed: {failure}",)
    taken = _names_in_use()
    failed: list[str] = []
    for point in points:
        with registry.collected() as declarations, redirect_stdout(sys.stderr):  # results alone go there
            try:
                contained(point.load)
            except Failure as failure:
                failed.append(f"the plugin {point.value} cannot be loaded: {failure}")
        for declaration in declarations:
            failed += _register(declaration, taken)
    return tuple(failed)


def register(declaration: Declaration) -> None:
    """Register a metric that a program declares itself. Raises ValueError where it or a name cannot be."""
    from gradeval.registry import spec
    from gradeval.registry.families import load

    load()
    known = dict(REGISTRY)
    failed = _register(declaration, _names_in_use())
    if failed:
        REGISTRY.clear()
        REGISTRY.update(known)
        raise ValueError(failed[0])
    spec._names.cache_clear()


def _register(declaration: Declaration, taken: dict[str, str]) -> list[str]:
    """Register a metric with those of its names that are not taken; a line for each other name.

    taken: folded name -> what has it; the names of the metric are added.
    """
    from gradeval.registry.spec import fold

    who = _plugin(declaration.function)
    try:
        metric = contained(lambda: _checked(declaration.made()))
    except Failure as failure:
        return [f"{who}: the metric {described(declaration.name)} is left out: {failure}"]
    owners = {name: taken.get(fold(name)) or _value_after_a_name(name) for name in _names(metric)}
    if owners[metric.name]:
        return [
            f"{who}: the metric {named(metric.name)} is left out: the name stands for {owners[metric.name]}"
        ]
    aliases = tuple(name for name in metric.aliases if not owners[name])
    registry.add(replace(metric, aliases=aliases))
    taken |= {fold(name): metric.name for name in (metric.name, *aliases)}
    return [
        f"{who}: the name {named(name)} of the metric {metric.name} is left out: it stands for {owner}"
        for name, owner in owners.items()
        if owner
    ]


def _names(metric: Metric) -> list[str]:
    return list(dict.fromkeys([metric.name, *metric.aliases]))


def _names_in_use() -> dict[str, str]:
    """Every name that is understood, folded -> what it stands for."""
    from gradeval.registry.dialects.other import aliases
    from gradeval.registry.dialects.trec_eval import GROUPS, MEASURES
    from gradeval.registry.spec import fold

    return (
        {alias.name.lower(): alias.target for alias in aliases()}
        | {name.lower(): measure.metric for name, measure in MEASURES.items()}
        | {fold(name): metric.name for metric in REGISTRY.values() for name in _names(metric)}
        | {name: f"the group {name}" for name in GROUPS}
    )


def _value_after_a_name(name: str) -> str:
    """What P_10 stands for, which is P with a value; nothing where the name is not of that kind."""
    from gradeval.registry.spec import dotted

    try:
        specs = dotted(name)
    except MetricError:
        return ""
    return str(specs[0]) if specs else ""


# What a declaration must be


def _checked(metric: Metric) -> Metric:
    """The metric, contained in what it does. Raises Failure for what is wrong with its declaration."""
    for field, (must, is_right) in _MUST.items():
        if not is_right(getattr(metric, field)):
            # its name is declared as it is displayed
            name = "name" if field == "display" else field
            raise Failure(f"{name} must be {must}, not {described(getattr(metric, field))}")
    try:
        params = tuple(declared(metric.function))
    except ValueError as error:
        raise Failure(_one_line(error)) from error
    for param in params:
        if not _is_param(param):
            raise Failure(f"the parameter {param.name} is not declared as those of gradeval/registry/params.py")
    check = metric.check and _contained_check(metric.check, metric)
    own = replace(metric, function=_contained_function(metric, params), check=check, undefined=True)
    assert own.usage and own.summary is not None  # which are made of more that can be wrong
    return own


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


def _is_name(value: Any, form: str) -> bool:
    return isinstance(value, str) and re.fullmatch(form, value) is not None


def _is_param(param: Param) -> bool:
    return (
        param.name != JUDGED_ONLY.name
        and all(map(_is_line, (param.about, param.allowed, param.example, param.without, *param.aliases)))
        and callable(param.parse)
        and isinstance(hash(param.default), int)
        and _is_line(param.text(param.default))
        and isinstance(param.after_at, bool)
    )


def _is_bound(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and value == value)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


_TRUTH = ("true or false", lambda value: isinstance(value, bool))
_LINE = ("a text of one line", _is_line)
_MUST: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "display": (
        "letters, digits, '_' and '-'",
        lambda value: isinstance(value, str) and _is_name(in_ascii(value), r"[A-Za-z0-9_-]+"),
    ),
    "function": (
        "a function with a text as its docstring",
        lambda value: callable(value) and isinstance(value.__doc__, (str, type(None))),
    ),
    "range": ("(least, largest)", lambda value: len(value) == 2 and all(map(_is_bound, value))),
    "invariants": ("a list of texts", lambda value: _is_list(value) and all(map(_is_line, value))),
    "aliases": (
        "a list of names without spaces and any of (),@=.",
        lambda value: _is_list(value) and all(_is_name(one, r"[^\s(),@=.]+") for one in value),
    ),
    "kind": ("a member of Kind", lambda value: isinstance(value, Kind)),
    "higher_is_better": ("true, false or None", lambda value: isinstance(value, (bool, type(None)))),
    "undefined": _TRUTH,
    "needs_relevant": _TRUTH,
    "check": ("a function or None", lambda value: value is None or callable(value)),
    "constant": _TRUTH,
    "example": _LINE,
    "group": _LINE,
}


# What a plugin does


class Failure(Exception):
    """What a plugin did, in words."""


def contained(call: Callable[[], _Result], passing: tuple[type[Exception], ...] = ()) -> _Result:
    """What the code of a plugin returns.

    Raises Failure for whatever else it does, unless it raises one of `passing`.
    """
    error: BaseException | None = None
    with _interrupts() as pressed:
        try:
            with np.errstate(all="ignore"):  # which also undoes what it may have set
                result = call()
        except BaseException as raised:  # sys.exit and raise KeyboardInterrupt are no end of the program
            error = raised
    if pressed:
        raise KeyboardInterrupt
    if error is None:
        return result
    if isinstance(error, (Failure, *passing)):
        raise error
    raise Failure(_what_is(error)) from error


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Notes each SIGINT, since a plugin can raise KeyboardInterrupt itself, or catch that of the user.

    Python handles signals in the main thread; in another one every KeyboardInterrupt is of the plugin.
    """
    pressed: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield pressed
        return

    def note(number: int, frame: Any) -> Any:
        pressed.append(number)
        return before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _what_is(error: BaseException) -> str:
    """The error as 'ValueError (what it says)'."""
    text = _one_line(error)
    return f"{type(error).__name__} ({text})" if text else type(error).__name__


def _one_line(error: BaseException) -> str:
    try:
        text = printable(" ".join(str(error).split()))
    except Exception:  # of a class of its own
        return ""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _plugin(function: Function) -> str:
    return f"the plugin {getattr(function, '__module__', None) or type(function).__module__}"


def _contained_function(metric: Metric, params: tuple[Param, ...]) -> Function:
    """The metric's function, which returns a new float64 (Q,), or texts (Q,), or raises MetricError.

    Its signature has the same parameters, contained in how they are read.
    """
    function, who = metric.function, _plugin(metric.function)
    converted = _texts if metric.text else _numbers

    @wraps(function)
    def compute(judgments: Judgments, **params: Any) -> Any:
        count = judgments.segments.count
        try:
            return contained(
                lambda: converted(function(_read_only(judgments), **params), count), (MetricError, _Wrong)
            )
        except _Wrong as wrong:
            raise MetricError(f"{who} returns {wrong}") from None
        except Failure as failure:
            raise MetricError(f"{who} fails with {failure}") from failure

    signature = inspect.signature(function)
    own = dict(signature.parameters)
    for param in params:
        contained_param = param.but(parse=_contained_parse(param, metric))
        own[param.name] = own[param.name].replace(annotation=Annotated[Any, contained_param])
    compute.__dict__["__signature__"] = signature.replace(parameters=list(own.values()))
    return compute


class _Wrong(Exception):
    """What a metric returns in place of a value for each query."""


_KINDS = {"U": "texts", "S": "bytes", "c": "complex numbers", "M": "dates", "m": "durations", "V": "records"}


def _numbers(values: Any, count: int) -> Floats:
    """What a metric returned as an array of its own; what is masked is undefined."""
    array = np.asarray(values)
    if array.dtype == object and not array.ndim:
        raise _Wrong(f"a value of type {type(values).__name__}, not numbers")
    if array.dtype.kind not in "biuf":
        raise _Wrong(f"{_KINDS.get(array.dtype.kind, 'objects')}, not numbers")
    if array.shape != (count,):
        raise _Wrong(f"an array of shape {array.shape} for {count} queries, not a number for each")
    numbers: Floats = np.array(array, np.float64)
    if hasattr(values, "filled"):  # a masked array, without an import of numpy.ma
        numbers = values.astype(np.float64).filled(np.nan)
    if np.isinf(numbers).any():
        raise _Wrong("an infinite number")
    return numbers


def _texts(values: Any, count: int) -> NDArray[np.object_]:
    """What a metric that is text returned."""
    texts = None if isinstance(values, (str, bytes)) else np.asarray(values).tolist()
    if not isinstance(texts, list) or len(texts) != count or not all(isinstance(text, str) for text in texts):
        raise _Wrong("no text for each query")
    return np.array(texts, object)


def _read_only(judgments: Judgments) -> Judgments:
    """The same table for a plugin alone: what it changes, or keeps there, no other metric sees."""

    def view(column: NDArray[Any]) -> NDArray[Any]:
        column = column.view()
        column.flags.writeable = False
        return column

    return replace(
        judgments,
        segments=Segments(view(judgments.segments.offsets)),
        grade=view(judgments.grade),
        rank=view(judgments.rank),
        score=view(judgments.score),
        document=view(judgments.document),
        retrieved=view(judgments.retrieved),
    )


def _contained_parse(param: Param, metric: Metric) -> Callable[[str], Any]:
    """The function that reads a parameter, which returns a hashable, or raises ValueError or MetricError."""

    def read(text: str) -> Any:
        value = param.parse(text)
        hash(value)
        param.text(value)
        if param.name in _NUMBERS and not _is_bound(value):
            raise TypeError(f"it is {described(value)}, not a number")
        return value

    def parse(text: str) -> Any:
        try:
            return contained(lambda: read(text), (ValueError, MetricError))
        except ValueError as error:
            raise ValueError(_one_line(error)) from None
        except Failure as failure:
            what = f"{_plugin(metric.function)} fails with {failure}"
            raise MetricError(f"{metric.name}({param.name}={text}): {what}") from failure

    return parse


def _contained_check(
    check: Callable[[Mapping[str, Any]], None], metric: Metric
) -> Callable[[Mapping[str, Any]], None]:
    """The function that checks parameters together: it raises nothing but ValueError or MetricError."""

    def checked(params: Mapping[str, Any]) -> None:
        try:
            contained(lambda: check(params), (ValueError, MetricError))
        except ValueError as error:
            raise ValueError(_one_line(error)) from None
        except Failure as failure:
            raise ValueError(f"{_plugin(metric.function)} fails with {failure}") from failure

    return checked
