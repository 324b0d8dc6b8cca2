"""The names of metrics on the command line: 'nDCG(gain=exp)@5,10' to Specs, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gradeval.errors import MetricError
from gradeval.metrics import load, load_plugins
from gradeval.metrics.params import Param
from gradeval.metrics.registry import REGISTRY, Dotted, Metric


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
        for name, dotted in self.metric.trec.items():
            if dotted is None and not self.given:
                return name
            if dotted is not None and list(self.params) == [dotted.param]:
                text = self.metric.by_name[dotted.param].text(self.params[dotted.param])
                if not dotted.pairs:
                    return f"{name}_{text}"
                if ":" in text:
                    return f"{name}_{text.replace(':', '=').replace('/', ',')}"
        if not self.given and self.metric.trec:
            return next(iter(self.metric.trec))
        return str(self)

    def _written(self, name: str) -> str:
        params = self.params
        cutoff = params.pop("cutoff", None)
        by_name = self.metric.by_name
        inside = ",".join(f"{key}={by_name[key].text(value)}" for key, value in params.items())
        return name + (f"({inside})" if inside else "") + ("" if cutoff is None else f"@{cutoff}")


_TAIL = re.compile(r"[._][\d.,]+$")
_LETTERS = {"µ": "mu", "μ": "mu", "φ": "phi", "ϕ": "phi", "τ": "tau", "ρ": "rho"}


def parse(text: str | Iterable[str]) -> list[Spec]:
    """The Specs that a text (or several) names, in order, each once. Raises MetricError."""
    texts = [text] if isinstance(text, str) else list(text)
    specs = dict.fromkeys(spec for one in texts for name in split(one) for spec in parse_one(name))
    if not specs:
        raise MetricError("no metric is named", hint="for example nDCG@10")
    return list(specs)


def split(text: str) -> list[str]:
    """'AP nDCG@5,10, P(rel=2)@5' -> the single names: spaces part them, and a comma before a letter."""
    names, start, depth = [], 0, 0
    for i, char in enumerate(text):
        depth = max(depth + (char == "(") - (char == ")"), 0)
        following = text[i + 1 : i + 2]
        if depth == 0 and (char.isspace() or (char == "," and (following.isalpha() or following.isspace()))):
            names.append(text[start:i])
            start = i + 1
    names.append(text[start:])
    return [name.strip().rstrip(",") for name in names if name.strip(" ,\t\n")]


def parse_one(text: str) -> list[Spec]:
    """The Specs of one name; several where it lists cutoffs."""
    dotted = _dotted(text)
    if dotted is not None:
        return dotted
    name, inside, cutoffs = _parts(text)
    metric, takes = _named(name, text)
    params: dict[str, Any] = {}
    for item in inside.split(",") if inside.strip() else []:
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise MetricError(f"{text}: '{item.strip()}' is not name=value", hint=_accepted(metric))
        param = metric.by_name.get(key.lower())
        if param is None:
            raise MetricError(f"{text}: {metric.name} has no parameter '{key}'", hint=_accepted(metric))
        if param.name in params:
            raise MetricError(f"{text}: {param.name} is given twice")
        params[param.name] = _value(param, value, text)
    if cutoffs is not None:
        if "cutoff" not in metric.by_name:
            raise MetricError(f"{text}: {metric.name} takes no cutoff", hint=_accepted(metric))
        if "cutoff" in params:
            raise MetricError(f"{text}: the cutoff is given twice")
        found = [_value(metric.by_name["cutoff"], one, text) for one in cutoffs.split(",")]
        return [_spec(metric, {**params, "cutoff": one}, text) for one in found]
    if takes is not None and takes.values and takes.param not in params:
        return [_spec(metric, {**params, takes.param: one}, text) for one in takes.values]
    return [_spec(metric, params, text)]


def metric_of(text: str) -> Metric:
    """The metric that a name is of, whatever it would need besides. Raises MetricError."""
    dotted = _dotted(text)
    return dotted[0].metric if dotted else _named(_parts(text)[0], text)[0]


def _parts(text: str) -> tuple[str, str, str | None]:
    """'nDCG(gain=exp)@10' -> 'nDCG', 'gain=exp', '10'; None where there is no '@'."""
    opened, closed = text.find("("), text.rfind(")")
    if opened < 0:
        if closed >= 0:
            raise MetricError(f"{text}: ')' without '('")
        name, at, cutoffs = text.partition("@")
        inside = ""
    else:
        if closed < opened:
            raise MetricError(f"{text}: '(' is not closed")
        name, inside, rest = text[:opened], text[opened + 1 : closed], text[closed + 1 :]
        for char in "()":
            if char in inside:
                raise MetricError(f"{text}: '{char}' inside the parentheses")
        if "@" in name:
            raise MetricError(f"{text}: the cutoff comes last", hint=_example("nDCG(gain=exp)@10"))
        left, at, cutoffs = rest.partition("@")
        if left:
            raise MetricError(f"{text}: '{left}' after ')'", hint=_example("nDCG(gain=exp)@10"))
    if not name:
        raise MetricError(f"{text}: the name of the metric is missing", hint=_example("nDCG@10"))
    return name, inside, cutoffs if at else None


def _dotted(text: str) -> list[Spec] | None:
    """trec_eval's spelling: ndcg_cut.5,10, ndcg_cut_10, P.5; None where the text is not that."""
    if "(" in text or "@" in text:
        return None
    for separator, (name, found, values) in ((".", text.partition(".")), ("_", text.rpartition("_"))):
        entry = _names().get(fold(name))
        if not found or entry is None or (separator == "_" and fold(text) in _names()):
            continue
        metric, takes = entry
        if takes is None:
            hint = f"did you mean {name}@{values}?" if "cutoff" in metric.by_name else ""
            raise MetricError(f"{text}: {name} takes no value after '{separator}'", hint=hint)
        param = metric.by_name[takes.param]
        if takes.pairs:
            items = [values.replace("=", ":").replace(",", "/")]
            if "=" not in values:
                hint = f"did you mean {metric.name}@{values}?" if values.isdigit() else f"{name}.1=3,2=9"
                raise MetricError(f"{text}: {name} takes grade=gain pairs after '{separator}'", hint=hint)
        else:
            items = values.split(",")
        return [_spec(metric, {param.name: _value(param, one, text)}, text) for one in items]
    return None


def _spec(metric: Metric, params: Mapping[str, Any], text: str) -> Spec:
    """A spec without the parameters that say what is so anyway, in the metric's order."""
    given = {
        param.name: params[param.name]
        for param in metric.params
        if param.name in params and params[param.name] != param.default
    }
    for param in metric.params:
        if param.required and param.name not in given:
            what = "a cutoff" if param.name == "cutoff" else param.name
            raise MetricError(f"{text}: {metric.name} needs {what}", hint=_example(metric.example))
    if metric.check is not None:
        try:
            metric.check(given)
        except ValueError as error:
            raise MetricError(f"{text}: {error}") from None
    return Spec(metric, tuple(given.items()))


def _value(param: Param, value: str, text: str) -> Any:
    try:
        return param.parse(value.strip())
    except ValueError as error:
        raise MetricError(f"{text}: {param.name} must be {error}, not '{value.strip()}'") from None


def _accepted(metric: Metric) -> str:
    if not metric.params:
        return f"{metric.name} takes no parameters"
    return f"{metric.name} takes " + ", ".join(f"{p.name} ({p.allowed})" for p in metric.params)


def _example(text: str) -> str:
    return f"for example {text}"


def fold(name: str) -> str:
    """What a name is looked up as: no case, and one spelling for each Greek letter."""
    return "".join(_LETTERS.get(letter, letter) for letter in name.lower())


@cache
def _names(plugins: bool = False) -> dict[str, tuple[Metric, Dotted | None]]:
    """Every name, folded -> its metric, and what it takes after a dot."""
    (load_plugins if plugins else load)()
    names: dict[str, tuple[Metric, Dotted | None]] = {}
    for metric in REGISTRY.values():
        own = dict.fromkeys([metric.name, *metric.aliases]) | dict(metric.trec)
        for name, takes in own.items():
            known, before = names.get(fold(name), (metric, None))
            if known is not metric:
                raise MetricError(f"{name} is the name of two metrics, {known.name} and {metric.name}")
            names[fold(name)] = (metric, takes or before)
    return names


def _named(name: str, text: str) -> tuple[Metric, Dotted | None]:
    for plugins in (False, True):
        if fold(name) in _names(plugins):
            return _names(plugins)[fold(name)]
    stem = _TAIL.sub("", name)
    from difflib import get_close_matches  # only a mistake pays for it

    near = get_close_matches(fold(stem), _names(True), n=5)
    if near:
        # two letters that changed places are likelier than another letter
        best = min(near, key=lambda one: sorted(one) != sorted(fold(stem)))
        metric = _names(True)[best][0]
        spelled = metric.name if best == fold(metric.name) else best
        raise MetricError(text, hint=f"did you mean {text.replace(stem, spelled, 1)}?")
    raise MetricError(f"{text}: there is no such metric", hint="'gradeval metrics' lists them")
