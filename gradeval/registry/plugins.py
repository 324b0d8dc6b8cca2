"""Metrics of other packages: found by their entry points, checked, and registered if their names are free."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from gradeval.errors import MetricError, described, named
from gradeval.registry import metric as registry
from gradeval.registry.containment import contain, contained, is_bound, one_line, plugin_of
from gradeval.registry.invariants import Invariant
from gradeval.registry.metric import REGISTRY, Declaration, Kind, Metric, in_ascii, load
from gradeval.registry.params import JUDGED_ONLY, Param, declared


@cache
def load_plugins() -> tuple[str, ...]:
    """Add what other packages offer under the entry point group 'gradeval.metrics': modules that use @metric.

    Finding them takes longer than importing all our own metrics, so it is done only where a name is not one of
    ours, or all are listed. Returns a line for each plugin, metric or name that is ignored; the others work.
    """
    from importlib.metadata import entry_points

    load()
    try:
        points = contained("plugins cannot be listed: ", lambda: list(entry_points(group="gradeval.metrics")))
    except MetricError as error:
        return (str(error),)
    taken = _names_in_use()
    failed: list[str] = []
    for point in points:
        with registry.collected() as declarations:
            try:
                contained(f"plugin {point.value} cannot be loaded: ", point.load)
            except MetricError as error:
                failed.append(str(error))
        for declaration in declarations:
            failed += _register(declaration, taken)
    return tuple(failed)


def register(declaration: Declaration) -> None:
    """Register a metric that a program declares itself. Raises ValueError where it or a name is ignored."""
    from gradeval.registry import spec

    load()
    known = dict(REGISTRY)
    failed = _register(declaration, _names_in_use())
    if failed:
        REGISTRY.clear()
        REGISTRY.update(known)
        raise ValueError(failed[0])
    spec._names.cache_clear()


def _register(declaration: Declaration, taken: dict[str, str]) -> list[str]:
    """Register a metric with those of its names that are free; a line for each other name.

    taken: folded name -> what has it; the names of the metric are added.
    """
    from gradeval.registry.spec import fold

    who = plugin_of(declaration.function)
    ignored = f"{who}: metric {described(declaration.name)} is ignored: "
    try:
        metric = contained(ignored, lambda: _checked(declaration.made()))
    except MetricError as error:
        return [str(error)]
    owners = {name: taken.get(fold(name)) or _value_after_a_name(name) for name in _names(metric)}
    if owners[metric.name]:
        return [f"{ignored}the name is already used for {owners[metric.name]}"]
    aliases = tuple(name for name in metric.aliases if not owners[name])
    registry.add(replace(metric, aliases=aliases))
    taken |= {fold(name): metric.name for name in (metric.name, *aliases)}
    return [
        f"{who}: alias {named(name)} of metric {metric.name} is ignored: it is already used for {owner}"
        for name, owner in owners.items()
        if owner
    ]


def _names(metric: Metric) -> list[str]:
    return list(dict.fromkeys([metric.name, *metric.aliases]))


def _names_in_use() -> dict[str, str]:
    """All names in use, folded -> their meaning."""
    from gradeval.registry.dialects import GROUPS, MEASURES, aliases
    from gradeval.registry.spec import fold

    return (
        {alias.name.lower(): alias.target for alias in aliases()}
        | {name.lower(): measure.metric for name, measure in MEASURES.items()}
        | {fold(name): metric.name for metric in REGISTRY.values() for name in _names(metric)}
        | {name: f"the group {name}" for name in GROUPS}
    )


def _value_after_a_name(name: str) -> str:
    """The meaning of a name with a value, such as P_10; '' for other names."""
    from gradeval.registry.spec import dotted

    try:
        specs = dotted(name)
    except MetricError:
        return ""
    return str(specs[0]) if specs else ""


# What a declaration must be


def _checked(metric: Metric) -> Metric:
    """The metric, contained. Raises MetricError for what is wrong with its declaration."""
    for field, (must, is_right) in _MUST.items():
        value = getattr(metric, field)
        if not is_right(value):
            name = "name" if field == "display" else field  # as it is declared
            raise MetricError(f"{name} must be {must}, not {described(value)}")
    try:
        params = tuple(declared(metric.function))
    except ValueError as error:
        raise MetricError(one_line(error)) from error
    for param in params:
        if not _is_param(param):
            raise MetricError(f"parameter {param.name} is not declared as in gradeval/registry/params.py")
    own = contain(metric, params)
    assert own.usage and own.summary is not None  # which are made of more that can be wrong
    return own


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


def _is_invariant(value: Any) -> bool:
    return isinstance(value, Invariant) and _is_line(str(value))


def _is_form(form: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(form, in_ascii(value)) is not None


def _is_a(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


_NONE = type(None)
_MUST: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "display": ("letters, digits, '_' and '-'", _is_form(r"[A-Za-z0-9_-]+")),
    "function": (
        "a function whose docstring is a string",
        lambda value: callable(value) and isinstance(value.__doc__, (str, _NONE)),
    ),
    "range": (
        "(lowest, highest)",
        lambda value: _is_list_of(value, is_bound) and len(value) == 2,
    ),
    "invariants": (
        "a list of those in gradeval/registry/invariants.py",
        lambda value: _is_list_of(value, _is_invariant),
    ),
    "aliases": (
        "a list of names without spaces and any of (),@=.",
        lambda value: _is_list_of(value, _is_form(r"[^\s(),@=.]+")),
    ),
    "kind": ("a member of Kind", _is_a(Kind)),
    "higher_is_better": ("true, false or None", _is_a(bool, _NONE)),
    "undefined": ("true or false", _is_a(bool)),
    "needs_relevant": ("true or false", _is_a(bool)),
    "check": ("a function or None", lambda value: value is None or callable(value)),
    "constant": ("true or false", _is_a(bool)),
    "example": ("a string of one line", _is_line),
    "group": ("a string of one line", _is_line),
}
