"""The names of metrics on the command line: 'nDCG(gain=exp)@5,10' to Specs, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from gradeval.errors import MetricError
from gradeval.metrics import load
from gradeval.metrics.registry import REGISTRY, Metric, Param


@dataclass(frozen=True)
class Spec:
    """A metric with the parameters that were given for it, in the metric's own order."""

    metric: Metric
    given: tuple[tuple[str, Any], ...] = ()

    @property
    def params(self) -> dict[str, Any]:
        return dict(self.given)

    def __str__(self) -> str:
        """The canonical name, ASCII; it parses back to this spec."""
        return self._written(self.metric.name)

    @property
    def display(self) -> str:
        """The name as tables show it: µAP, nDCGφ@10."""
        return self._written(self.metric.display)

    @property
    def trec(self) -> str:
        """The name that trec_eval prints, or the canonical name where trec_eval has none."""
        names = [name for name, _ in self.given]
        for trec, takes in self.metric.trec.items():
            if names == ([takes] if takes else []):
                value = f"_{self.metric.by_name[takes].text(self.params[takes])}" if takes else ""
                return trec + value
        return str(self)

    def _written(self, name: str) -> str:
        params = self.params
        cutoff = params.pop("cutoff", None)
        by_name = self.metric.by_name
        inside = ",".join(f"{key}={by_name[key].text(value)}" for key, value in params.items())
        return name + (f"({inside})" if inside else "") + ("" if cutoff is None else f"@{cutoff}")


_SPEC = re.compile(r"(?P<name>[^\s@(.]+)(?:\((?P<inside>[^()]*)\))?(?:@(?P<cutoffs>[^@()]*))?")


def parse(text: str | Iterable[str]) -> list[Spec]:
    """The Specs that a text (or several) names, in order, each once. Raises MetricError."""
    texts = [text] if isinstance(text, str) else list(text)
    specs: dict[Spec, None] = {}
    for one in texts:
        for name in split(one):
            specs.update(dict.fromkeys(parse_one(name)))
    if not specs:
        raise MetricError("no metric is named", hint="for example nDCG@10")
    return list(specs)


def split(text: str) -> list[str]:
    """'AP nDCG@5,10, P(rel=2)@5' -> the single names: spaces part them, and a comma before a letter."""
    names, start, depth = [], 0, 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        following = text[i + 1 : i + 2]
        if depth == 0 and (char.isspace() or (char == "," and (following.isalpha() or following.isspace()))):
            names.append(text[start:i])
            start = i + 1
    names.append(text[start:])
    return [name.strip().rstrip(",") for name in names if name.strip(" ,\t\n")]


def parse_one(text: str) -> list[Spec]:
    """The Specs of one name; several where it lists cutoffs."""
    found = _trec(text)
    if found is not None:
        return found
    match = _SPEC.fullmatch(text)
    if match is None:
        raise MetricError(f"{text}: this is not how a metric is written", hint="for example nDCG(gain=exp)@5,10")
    metric, fixed = _named(match["name"], text)
    params = dict(fixed)
    for item in _items(match["inside"]):
        key, equals, value = item.partition("=")
        key = key.strip().lower()
        if not equals:
            raise MetricError(f"{text}: '{item}' is not name=value", hint=_takes(metric))
        _set(params, metric, key, value.strip(), text)
    if match["cutoffs"] is None:
        cutoffs: list[Any] = [params["cutoff"]] if "cutoff" in params else []
        if not cutoffs and "cutoff" in metric.by_name and metric.by_name["cutoff"].required:
            if not metric.cutoffs:
                raise MetricError(f"{text}: {metric.name} needs a cutoff", hint=f"for example {metric.name}@10")
            cutoffs = list(metric.cutoffs)
    else:
        if "cutoff" in params:
            raise MetricError(f"{text}: the cutoff is given twice")
        if "cutoff" not in metric.by_name:
            raise MetricError(f"{text}: {metric.name} takes no cutoff", hint=_takes(metric))
        cutoffs = [_value(metric.by_name["cutoff"], one, text) for one in match["cutoffs"].split(",")]
    return [_spec(metric, {**params, "cutoff": one}) for one in cutoffs] or [_spec(metric, params)]


def _trec(text: str) -> list[Spec] | None:
    """trec_eval's spelling: map, ndcg_cut.5,10, ndcg_cut_10, P.5; None where the text is not that."""
    names = _names()
    name, dot, values = text.partition(".")
    if not dot and name.lower() not in names:
        name, dot, values = text.rpartition("_")
    if not dot or "(" in text or "@" in text or name.lower() not in names:
        return None
    metric, fixed, takes = names[name.lower()]
    takes = takes or ("cutoff" if "cutoff" in metric.by_name and "cutoff" not in fixed else "")
    if not takes:
        raise MetricError(f"{text}: {name} takes no value after the dot", hint=_takes(metric))
    return [
        _spec(metric, {**fixed, takes: _value(metric.by_name[takes], one, text)}) for one in values.split(",")
    ]


def _items(inside: str | None) -> list[str]:
    return [item for item in (inside or "").split(",") if item.strip()]


def _spec(metric: Metric, params: Mapping[str, Any]) -> Spec:
    """A spec without the parameters that say what is so anyway, in the metric's order."""
    given = ((p.name, params[p.name]) for p in metric.params if p.name in params)
    return Spec(metric, tuple((name, value) for name, value in given if value != metric.by_name[name].default))


def _set(params: dict[str, Any], metric: Metric, key: str, value: str, text: str) -> None:
    if key not in metric.by_name:
        raise MetricError(f"{text}: {metric.name} has no parameter '{key}'", hint=_takes(metric))
    if key in params:
        raise MetricError(f"{text}: {key} is given twice")
    params[key] = _value(metric.by_name[key], value, text)


def _value(param: Param, value: str, text: str) -> Any:
    try:
        return param.parse(value.strip())
    except ValueError as error:
        raise MetricError(f"{text}: {param.name} must be {error}, not '{value}'") from None


def _takes(metric: Metric) -> str:
    if not metric.params:
        return f"{metric.name} takes no parameters"
    return f"{metric.name} takes " + ", ".join(f"{p.name} ({p.allowed})" for p in metric.params)


@cache
def _names() -> dict[str, tuple[Metric, Mapping[str, Any], str]]:
    """Every name in lower case -> its metric, the parameters the name fixes, and what a dotted value sets."""
    load()
    names: dict[str, tuple[Metric, Mapping[str, Any], str]] = {}
    for metric in REGISTRY.values():
        for trec, takes in metric.trec.items():
            names[trec.lower()] = (metric, {}, takes)
    for metric in REGISTRY.values():
        for alias, fixed in metric.aliases.items():
            names[alias.lower()] = (metric, fixed, "")
    for metric in REGISTRY.values():
        takes = names[metric.name.lower()][2] if metric.name.lower() in names else ""
        names[metric.name.lower()] = (metric, {}, takes)
    return names


def _named(name: str, text: str) -> tuple[Metric, Mapping[str, Any]]:
    plain = name.lower().replace("μ", "µ").replace("ϕ", "φ")
    names = _names()
    if plain in names:
        return names[plain][:2]
    spelled = {known: (entry[0].name if known == entry[0].name.lower() else known) for known, entry in names.items()}
    near = get_close_matches(plain, names, n=1, cutoff=0.5)
    if near:
        raise MetricError(text, hint=f"did you mean {text.replace(name, spelled[near[0]], 1)}?")
    raise MetricError(f"{text}: there is no such metric", hint="'gradeval metrics' lists them")
