"""The names of metrics on the command line: 'nDCG(gain=exp)@5,10' to Specs, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from gradeval.errors import MetricError, described
from gradeval.registry.dialects import trec_eval
from gradeval.registry.dialects.trec_eval import to_ours, to_theirs
from gradeval.registry.families import load
from gradeval.registry.metric import REGISTRY, Metric, in_ascii
from gradeval.registry.notation import example, items_of, parts_of, split
from gradeval.registry.params import Param

if TYPE_CHECKING:
    from gradeval.registry.groups import Group


class Spec(NamedTuple):
    """A metric with its given parameters, in the metric's own order."""

    metric: Metric
    given: tuple[tuple[str, Any], ...] = ()

    @property
    def params(self) -> dict[str, Any]:
        return dict(self.given)

    @property
    def texts(self) -> dict[str, str]:
        """The parameters as text."""
        return {key: self.metric.by_name[key].text(value) for key, value in self.given}

    def __str__(self) -> str:
        """The canonical name, ASCII; it parses back to this spec."""
        return self.metric.written(self.metric.name, self.texts)

    def __repr__(self) -> str:
        return f"Spec({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its name: a metric is that of the registry, and its function cannot be pickled."""
        return _unpickled, (str(self),)

    @property
    def display(self) -> str:
        """The display name: µAP, nDCGφ@10."""
        return self.metric.written(self.metric.display, self.texts)

    @property
    def trec(self) -> str:
        """The name that trec_eval prints, or the canonical name if trec_eval does not have the measure."""
        return trec_eval.printed(self.metric.name, self.texts) or str(self)


def _unpickled(name: str) -> Spec:
    [spec] = parse_one(name)
    return spec


_LONGEST = 200  # of what is wrong with a plugin, where it is only a guess that the metric is there
_TAIL = re.compile(r"[._][\d.,]+$")


def parse(text: str | Iterable[str]) -> list[Spec]:
    """The Specs named by one or several texts, in order, without repetition. Raises MetricError."""
    return list(dict.fromkeys(spec for _, specs in named_specs(text) for spec in specs))


def named_specs(text: str | Iterable[str]) -> list[tuple[str, list[Spec]]]:
    """Each single name in one or several texts, at least one, with its Specs. Raises MetricError."""
    try:
        is_several = isinstance(text, Iterable) and not isinstance(text, (str, bytes, Mapping))
        texts: list[Any] = list(text) if is_several else [text]
    except Exception:  # of an iterator, or an object that only looks like one
        texts = [text]
    for one in texts:
        if not isinstance(one, str):
            raise MetricError(f"{described(one)} is not the name of a metric", hint="for example 'nDCG@10'")
    found = [(name, parse_one(name)) for one in texts for name in split(one)]
    if not found:
        raise MetricError("no metrics given", hint="for example nDCG@10")
    return found


def usable(
    metrics: str | Iterable[str], is_usable: Callable[[Spec], bool], refused: Callable[[Spec], MetricError]
) -> tuple[list[Spec], list[str]]:
    """The metrics that can be used, and the names of those of groups that cannot be, which are left out.

    refused: makes the error for one that is named itself. Raises MetricError.
    """
    chosen: dict[Spec, None] = {}
    left_out: dict[str, None] = {}
    for name, found in named_specs(metrics):
        for spec in found:
            if is_usable(spec):
                chosen[spec] = None
            elif group_of(name) is None:
                raise refused(spec)
            else:
                left_out[str(spec)] = None
    return list(chosen), list(left_out)


def parse_one(text: str) -> list[Spec]:
    """The Specs of one name; several if it lists cutoffs, or names a group."""
    group = group_of(text)
    if group is not None:
        return [spec for name in group.measures for spec in parse_one(name)]
    found = _dotted_or_plugin(text)
    if found is not None:
        return found
    name, items, cutoffs = _in_our_spelling(text)
    metric, takes = _named(name, text), trec_eval.measure_of(name)
    params: dict[str, Any] = {}
    for key, given in items:
        if given is None:
            raise MetricError(f"{text}: '{key}' is not of the form name=value", hint=_accepted(metric))
        param, value = _param(metric, key, given, text)
        found = _value(param, value, text)
        if params.get(param.name, param.default) != param.default:
            raise MetricError(f"{text}: {param.name} is given more than once")
        params[param.name] = found
    if cutoffs is not None:
        at = metric.at
        if at is None:
            raise MetricError(f"{text}: {metric.name} takes no cutoff", hint=_accepted(metric))
        if at.name in params:
            raise MetricError(f"{text}: the {at.name} is given more than once")
        values = [_value(at, one, text) for one in cutoffs.split(",")]
        return [_spec(metric, {**params, at.name: one}, text) for one in values]
    if takes is not None and takes.values and takes.param not in params:
        at = metric.by_name[takes.param]
        return [_spec(metric, {**params, at.name: at.parse(one)}, text) for one in takes.values.split(",")]
    return [_spec(metric, params, text)]


def group_of(text: str) -> Group | None:
    """The group of this name, None for other texts. Groups are imported only if the name is not gradeval's."""
    if "(" in text or "@" in text or fold(text) in _names():
        return None
    from gradeval.registry.groups import GROUPS

    return GROUPS.get(fold(text))


def metric_of(text: str) -> Metric:
    """The metric of a name, even if required parameters are missing. Raises MetricError."""
    found = _dotted_or_plugin(text)
    if found:
        return found[0].metric
    return _named(_in_our_spelling(text)[0], text)


# The names of other tools are imported only if a name is not gradeval's.
def _in_our_spelling(text: str) -> tuple[str, list[tuple[str, str | None]], str | None]:
    """Name, parameters and cutoffs of a text; None if there is no '@'."""
    name, inside, cutoffs = parts_of(text)
    items = items_of(inside)
    if fold(name) not in _names():
        from gradeval.registry.dialects.other import resolve

        name, items = resolve(name, items, cutoffs is not None)
    return name, items, cutoffs


def _dotted_or_plugin(text: str) -> list[Spec] | None:
    """dotted(text), or None if that is an error and the text is the name of a plugin's metric."""
    try:
        return dotted(text)
    except MetricError:
        if fold(text) in _names(plugins=True):
            return None
        _suggest(text)
        raise


def _suggest(text: str) -> None:
    """Raise MetricError if the text stands for a metric in a notation that is not parsed."""
    from gradeval.registry.suggest import meant

    for name in filter(None, map(_parseable, meant(text, _names()))):
        raise MetricError(text, hint=f"did you mean {name}?")


def _parseable(text: str) -> str:
    """The text of a known name if it parses; of a name alone, else, the usage; '' otherwise."""
    try:
        parse_one(text)
    except MetricError:
        if "(" in text or "@" in text:
            return ""
        with suppress(MetricError):  # of a plugin
            return metric_of(text).usage
        return ""
    return text


def dotted(text: str) -> list[Spec] | None:
    """The Specs of trec_eval's notation, such as ndcg_cut.5,10, ndcg_cut_10, P.5; None for other texts."""
    if "(" in text or "@" in text:
        return None
    for separator, (name, found, values) in ((".", text.partition(".")), ("_", text.rpartition("_"))):
        metric, takes = _names().get(fold(name)), trec_eval.measure_of(name)
        if not found or metric is None or (separator == "_" and _is_name(text)):
            continue
        if takes is None or not takes.param:
            hint = _at_cutoff(metric, name, values)
            raise MetricError(f"{text}: {name} takes no value after '{separator}'", hint=hint)
        try:
            given = takes.read(values, separator)
        except ValueError:
            hint = _at_cutoff(metric, name, values) or f"{name}.{takes.example}"
            raise MetricError(f"{text}: {name} takes {takes.pairs} after '{separator}'", hint=hint) from None
        return [_spec(metric, _dotted_values(metric, texts, text), text) for texts in given]
    return None


def _is_name(text: str) -> bool:
    """Whether the whole text is a name, of gradeval or of another tool."""
    from gradeval.registry.dialects.other import named

    return fold(text) in _names() or bool(named(text))


def _at_cutoff(metric: Metric, name: str, values: str) -> str:
    """The hint for cutoffs after a name that does not take them there, in the notation of the name."""
    if "cutoff" not in metric.by_name or not values.replace(",", "").isdigit():
        return ""
    names = trec_eval.names_of(metric.name)
    cut = [f"{cut}." for cut in names if trec_eval.MEASURES[cut].param == "cutoff"]
    return f"did you mean {cut[0] if cut and name in names else name + '@'}{values}?"


def _dotted_values(metric: Metric, texts: Mapping[str, str], text: str) -> dict[str, Any]:
    """Values with trec_eval's separators; messages use these separators too."""
    params = {}
    for name, value in texts.items():
        try:
            params[name] = metric.by_name[name].parse(to_ours(value.strip()))
        except ValueError as error:
            must = to_theirs(str(error))
            raise MetricError(f"{text}: {name} must be {must}, not '{value.strip()}'") from None
    return params


def _spec(metric: Metric, params: Mapping[str, Any], text: str) -> Spec:
    """A spec without parameters at their defaults, in the metric's order."""
    given = {
        param.name: params[param.name]
        for param in metric.params
        if param.name in params and params[param.name] != param.default
    }
    for param in metric.params:
        if param.required and param.name not in given:
            what = "a cutoff" if param.name == "cutoff" else param.name
            raise MetricError(f"{text}: {metric.name} requires {what}", hint=example(metric.usage))
    if metric.check is not None:
        try:
            metric.check(given)
        except (ValueError, MetricError) as error:
            raise MetricError(f"{text}: {error}") from None
    return Spec(metric, tuple(given.items()))


def _value(param: Param, value: str, text: str) -> Any:
    try:
        return param.parse(value.strip())
    except ValueError as error:
        raise MetricError(f"{text}: {param.name} must be {error}, not '{value.strip()}'") from None
    except MetricError as error:  # of a plugin
        raise MetricError(f"{text}: {error}") from None


def _param(metric: Metric, key: str, value: str, text: str) -> tuple[Param, str]:
    """The parameter of a key in our notation or another tool's, and its value in ours."""
    name = key.lower()
    for param in metric.params:
        if name in (param.name.lower(), *param.aliases):
            return param, value
    from gradeval.registry.dialects.other import spelling_of

    spelling = spelling_of(metric.name, name)
    if spelling is None or spelling.param not in metric.by_name:
        raise MetricError(f"{text}: {metric.name} has no parameter '{key}'", hint=_accepted(metric))
    if spelling.words is not None:
        if value.lower() not in spelling.words:
            raise MetricError(f"{text}: {key} must be {' or '.join(spelling.words)}, not '{value}'")
        value = spelling.words[value.lower()]
    return metric.by_name[spelling.param], value


def _accepted(metric: Metric) -> str:
    return f"{metric.name} takes " + ", ".join(f"{p.name} ({p.allowed})" for p in metric.params)


def fold(name: str) -> str:
    """The key for looking up a name: lower case, with one spelling for each Greek letter."""
    return in_ascii(name.lower())


@cache
def _names(plugins: bool = False) -> dict[str, Metric]:
    """Every name, folded -> its metric."""
    if plugins:
        from gradeval.registry.plugins import load_plugins  # a start without them does not pay for it

        load_plugins()
    else:
        load()
    names: dict[str, Metric] = {}
    for metric in REGISTRY.values():
        for name in (metric.name, *metric.aliases, *trec_eval.names_of(metric.name)):
            names[fold(name)] = metric
    return names


def _ignored(failed: Sequence[str]) -> str:
    """What is wrong with plugins, in short: the first, and how many more there are."""
    if not failed:
        return ""
    first = failed[0] if len(failed[0]) <= _LONGEST else failed[0][:_LONGEST] + "…"
    more = f"; 'gradeval metrics' reports {len(failed) - 1} more" if len(failed) > 1 else ""
    return f" ({first}{more})"


def _named(name: str, text: str) -> Metric:
    for plugins in (False, True):
        if fold(name) in _names(plugins):
            return _names(plugins)[fold(name)]
    _suggest(text)
    from gradeval.registry.dialects.other import aliases
    from gradeval.registry.groups import GROUPS
    from gradeval.registry.plugins import load_plugins
    from gradeval.registry.suggest import nearest

    stem = _TAIL.sub("", name)
    near = nearest(fold(stem), [*_names(True), *GROUPS, *(alias.name.lower() for alias in aliases())])
    unread = _ignored(load_plugins())  # it may be the metric's home
    spelled = next((own for own in REGISTRY if fold(own) == near), near or "")
    meant = spelled if spelled in GROUPS else text.replace(stem, spelled, 1)
    if meant == text:  # the name is right, what follows it is not
        raise MetricError(f"{text}: the cutoff is given more than once", hint=f"for example {spelled}@5")
    suggested = _parseable(meant) if near else ""
    if not suggested:
        raise MetricError(f"{text}: unknown metric", hint=f"'gradeval metrics' lists the metrics{unread}")
    raise MetricError(text, hint=f"did you mean {suggested}?{unread}")
