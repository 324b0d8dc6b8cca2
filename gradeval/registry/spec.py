"""The names of metrics on the command line: 'nDCG(gain=exp)@5,10' to Specs, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from gradeval.errors import MetricError, described
from gradeval.registry.dialects.groups import GROUPS
from gradeval.registry.dialects.other import aliases, named, resolve, split_items, unquoted
from gradeval.registry.families import load
from gradeval.registry.metric import REGISTRY, Dotted, Metric
from gradeval.registry.params import Param
from gradeval.registry.plugins import load_plugins


class Spec(NamedTuple):
    """A metric with the parameters that were given for it, in the metric's own order."""

    metric: Metric
    given: tuple[tuple[str, Any], ...] = ()

    @property
    def params(self) -> dict[str, Any]:
        return dict(self.given)

    def __str__(self) -> str:
        """The canonical name, ASCII; it parses back to this spec."""
        return self._written(self.metric.name)

    def __repr__(self) -> str:
        return f"Spec({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its name: a metric is that of the registry, and its function cannot be pickled."""
        return _unpickled, (str(self),)

    @property
    def display(self) -> str:
        """The name as tables show it: µAP, nDCGφ@10."""
        return self._written(self.metric.display)

    @property
    def trec(self) -> str:
        """The name that trec_eval prints, or the canonical name where trec_eval has none."""
        names = (self._trec(name, dotted) for name, dotted in self.metric.trec.items())
        return next(filter(None, names), str(self))

    def _trec(self, name: str, dotted: Dotted | None) -> str | None:
        """This metric as trec_eval's measure of the name, None where it is not that."""
        params, by_name = self.params, self.metric.by_name
        if not params:
            return name
        if dotted is None:
            return None
        parts = [f"{key}={by_name[key].text(params.pop(key))}" for key in dotted.named if key in params]
        if dotted.param in params:
            value = params.pop(dotted.param)
            text = by_name[dotted.param].text(value)
            if dotted.form == "pairs" and ":" not in text:
                return None
            if dotted.decimals and float(f"{value:.{dotted.decimals}f}") == value:
                text = f"{value:.{dotted.decimals}f}"
            parts += text.replace(":", "=").split("/")
        return None if params else f"{name}_{','.join(parts)}"

    def _written(self, name: str) -> str:
        params = self.params
        texts = {key: self.metric.by_name[key].text(value) for key, value in params.items()}
        at = texts.pop(self.metric.at, "")
        inside = ",".join(f"{key}={text}" for key, text in texts.items())
        return name + (f"({inside})" if inside else "") + (f"@{at}" if at else "")


def _unpickled(name: str) -> Spec:
    [spec] = parse_one(name)
    return spec


_TAIL = re.compile(r"[._][\d.,]+$")
_OURS, _THEIRS = str.maketrans(",=", "/:"), str.maketrans("/:", ",=")  # separators here and in trec_eval
_LETTERS = {"µ": "mu", "μ": "mu", "φ": "phi", "ϕ": "phi", "τ": "tau", "ρ": "rho"}


def parse(text: str | Iterable[str]) -> list[Spec]:
    """The Specs that a text (or several) names, in order, each once. Raises MetricError."""
    try:
        is_several = isinstance(text, Iterable) and not isinstance(text, (str, bytes, Mapping))
        texts: list[Any] = list(text) if is_several else [text]
    except Exception:  # of an iterator, or an object that only looks like one
        texts = [text]
    for one in texts:
        if not isinstance(one, str):
            raise MetricError(f"{described(one)} is no name of a metric", hint="for example 'nDCG@10'")
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
    """The Specs of one name; several where it lists cutoffs, or is that of a group."""
    if fold(text) in GROUPS:
        return [spec for name in GROUPS[fold(text)].measures for spec in parse_one(name)]
    found = _dotted_or_plugin(text)
    if found is not None:
        return found
    name, inside, cutoffs = _parts(text)
    items = split_items(inside)
    if fold(name) not in _names():
        name, items = resolve(name, items, cutoffs is not None)
    metric, takes = _named(name, text)
    params: dict[str, Any] = {}
    for item in items:
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise MetricError(f"{text}: '{item.strip()}' is not name=value", hint=_accepted(metric))
        if key.lower() not in metric.by_spelling:
            raise MetricError(f"{text}: {metric.name} has no parameter '{key}'", hint=_accepted(metric))
        param, words = metric.by_spelling[key.lower()]
        found = _value(param, _word(words, unquoted(value), key, text), text)
        if params.get(param.name, param.default) != param.default:
            raise MetricError(f"{text}: {param.name} is given twice")
        params[param.name] = found
    if cutoffs is not None:
        at = metric.by_name.get(metric.at)
        if at is None:
            raise MetricError(f"{text}: {metric.name} takes no cutoff", hint=_accepted(metric))
        if at.name in params:
            raise MetricError(f"{text}: the {at.name} is given twice")
        values = [_value(at, one, text) for one in cutoffs.split(",")]
        return [_spec(metric, {**params, at.name: one}, text) for one in values]
    if takes is not None and takes.values and takes.param not in params:
        return [_spec(metric, {**params, takes.param: one}, text) for one in takes.values]
    return [_spec(metric, params, text)]


def metric_of(text: str) -> Metric:
    """The metric that a name is of, whatever it would need besides. Raises MetricError."""
    found = _dotted_or_plugin(text)
    if found:
        return found[0].metric
    name, inside, cutoffs = _parts(text)
    if fold(name) not in _names():
        name, _ = resolve(name, split_items(inside), cutoffs is not None)
    return _named(name, text)[0]


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


def _dotted_or_plugin(text: str) -> list[Spec] | None:
    """What dotted(text) is, None where it would be an error and the text is the name of a plugin's metric."""
    try:
        return dotted(text)
    except MetricError:
        if fold(text) in _names(plugins=True):
            return None
        raise


def dotted(text: str) -> list[Spec] | None:
    """trec_eval's spelling: ndcg_cut.5,10, ndcg_cut_10, P.5; None where the text is not that."""
    if "(" in text or "@" in text:
        return None
    for separator, (name, found, values) in ((".", text.partition(".")), ("_", text.rpartition("_"))):
        entry = _names().get(fold(name))
        if not found or entry is None or (separator == "_" and (fold(text) in _names() or named(text))):
            continue
        metric, takes = entry
        if takes is None:
            hint = _at_cutoff(metric, name, values)
            raise MetricError(f"{text}: {name} takes no value after '{separator}'", hint=hint)
        if takes.form == "pairs":
            return [_spec(metric, _paired(metric, takes, name, separator, values, text), text)]
        param = metric.by_name[takes.param]
        items = [values] if takes.form == "list" else values.split(",")
        return [_spec(metric, {param.name: _dotted_value(param, one, text)}, text) for one in items]
    return None


def _paired(metric: Metric, takes: Dotted, name: str, separator: str, values: str, text: str) -> dict[str, Any]:
    """'1=3,2=9' as the map that it is, 'p=0.8' as the parameter that it names, ranx's '95' as p=0.95."""
    if takes.digits and separator == "." and values.isdigit():
        return {takes.digits: _value(metric.by_name[takes.digits], f"0.{values}", text)}
    pairs = [one.partition("=") for one in values.split(",")]
    try:
        gains = sorted((float(key), f"{key}={value}") for key, _, value in pairs if key not in takes.named)
        understood = all(equals for _, equals, _ in pairs) and not (gains and takes.param in takes.named)
    except ValueError:
        understood = False
    if not understood:
        kinds = [f"{key}=" for key in takes.named] + ["grade=gain pairs"] * (takes.param not in takes.named)
        hint = _at_cutoff(metric, name, values) or f"{name}.{after_dot(metric, takes)}"
        raise MetricError(f"{text}: {name} takes {' and '.join(kinds)} after '{separator}'", hint=hint)
    params = {key: _value(metric.by_name[key], value, text) for key, _, value in pairs if key in takes.named}
    if gains:
        together = ",".join(pair for _, pair in gains)
        params[takes.param] = _dotted_value(metric.by_name[takes.param], together, text)
    return params


def after_dot(metric: Metric, takes: Dotted) -> str:
    """What trec_eval takes after the dot of a name: as an example, or what a single value is called."""
    if takes.form == "each":
        return "k" if takes.param == "cutoff" else takes.param
    texts = {key: param.text(param.default).translate(_THEIRS) for key, param in metric.by_name.items()}
    if takes.form == "list":
        return texts[takes.param]
    pairs = [f"{key}={texts[key]}" for key in takes.named]
    return ",".join([*pairs, *(["1=3,2=9"] if takes.param not in takes.named else [])])


def _at_cutoff(metric: Metric, name: str, values: str) -> str:
    """The hint where cutoffs stand behind a name that takes none there, in the spelling of the name."""
    if "cutoff" not in metric.by_name or not values.replace(",", "").isdigit():
        return ""
    cut = [f"{cut}." for cut, takes in metric.trec.items() if takes and takes.param == "cutoff"]
    return f"did you mean {cut[0] if cut and name in metric.trec else name + '@'}{values}?"


def _dotted_value(param: Param, value: str, text: str) -> Any:
    """A value with trec_eval's separators, which what is said of it has too."""
    try:
        return param.parse(value.strip().translate(_OURS))
    except ValueError as error:
        must = str(error).translate(_THEIRS)
        raise MetricError(f"{text}: {param.name} must be {must}, not '{value.strip()}'") from None


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


def _word(words: Mapping[str, str], value: str, key: str, text: str) -> str:
    """A value as we write it, where another tool's parameter has words of its own."""
    if words and value.lower() not in words:
        raise MetricError(f"{text}: {key} must be {' or '.join(words)}, not '{value}'")
    return words[value.lower()] if words else value


def _accepted(metric: Metric) -> str:
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
            before = names.get(fold(name), (metric, None))[1]
            names[fold(name)] = (metric, takes or before)
    return names


def _named(name: str, text: str) -> tuple[Metric, Dotted | None]:
    for plugins in (False, True):
        if fold(name) in _names(plugins):
            return _names(plugins)[fold(name)]
    from gradeval.registry.suggest import nearest

    stem = _TAIL.sub("", name)
    near = nearest(fold(stem), [*_names(True), *GROUPS, *(alias.name.lower() for alias in aliases())])
    unread = "".join(f" ({failed})" for failed in load_plugins())  # it may be the metric's home
    if near is None:
        raise MetricError(f"{text}: there is no such metric", hint=f"'gradeval metrics' lists them{unread}")
    spelled = next((own for own in REGISTRY if fold(own) == near), near)
    meant = near if near in GROUPS else text.replace(stem, spelled, 1)
    if meant == text:  # all that is wrong is what stands behind the name
        raise MetricError(f"{text}: the cutoff is given twice", hint=f"for example {spelled}@5")
    raise MetricError(text, hint=f"did you mean {meant}?{unread}")
