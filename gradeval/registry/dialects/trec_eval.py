"""trec_eval's measures as its -m takes them, in its order and with the names that it prints."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from gradeval.errors import MetricError
from gradeval.registry.dialects.groups import GROUPS, MEASURES
from gradeval.registry.families import load
from gradeval.registry.metric import REGISTRY, Dotted, Metric
from gradeval.registry.spec import Spec, parse, parse_one

_OTHER_INPUT = re.compile(r"(all_)?prefs|prefs_\w+|qrels_jg|\w+_avgjg")
_DECIMAL = re.compile(r"(\d+)\.\d*")


class Measure(NamedTuple):
    """What is computed, and what it is called in the output."""

    spec: Spec
    printed: str


def parse_measures(texts: Iterable[str], size: float = 0.0) -> list[Measure]:
    """The measures that the texts name, in trec_eval's order; then ours, as given. Raises MetricError.

    As in trec_eval, a measure that is named again keeps what it took first, and cutoffs are put in order. size:
    how many documents the collection has, for utility.
    """
    marked: dict[str, str] = {}
    ours: list[Spec] = []
    for text in texts:
        name, dot, values = text.partition(".")
        if _OTHER_INPUT.fullmatch(name):
            hint = "gradeval reads qrels only; this needs preferences, or several judges"
            raise MetricError(f"{text}: not a measure for qrels", hint=hint)
        if name in GROUPS and dot:
            raise MetricError(f"{text}: {name} stands for several measures and takes no value after '.'")
        if dot and not values:
            raise MetricError(f"{text}: there is nothing after '.'")
        if name in GROUPS:
            named = GROUPS[name].measures
        elif name in MEASURES:
            named = (name,)
        else:
            named = ()
            ours += parse(text)
        for one in named:
            marked[one] = marked.get(one) or values
    found = [measure for name in MEASURES if name in marked for measure in _measures(name, marked[name], size)]
    known = {measure.spec for measure in found}
    return found + [Measure(spec, spec.trec) for spec in dict.fromkeys(ours) if spec not in known]


def _measures(name: str, values: str, size: float) -> list[Measure]:
    metric, takes = _trec_names()[name]
    if takes is None or not values:
        found = [Measure(spec, spec.trec) for spec in parse_one(f"{name}.{values}" if values else name)]
    elif takes.values:
        found = _at_cutoffs(name, takes, values)
    else:
        [*specs] = parse_one(f"{name}.{values}")
        if len(specs) > 1:
            raise MetricError(f"{name}.{values}: {name} takes one value")
        found = [Measure(specs[0], f"{name}_{values}")]
    if name != "utility" or not size:
        return found
    [(spec, printed)] = found
    weights = metric.by_name["weights"]
    chosen = weights.text(spec.params.get("weights", weights.default))
    return [Measure(parse_one(f"utility(weights={chosen},size={size!r})")[0], printed)]


def _at_cutoffs(name: str, takes: Dotted, values: str) -> list[Measure]:
    """A measure for each of the values, in rising order."""
    texts = values.split(",")
    if takes.param == "cutoff":
        texts = [_DECIMAL.sub(r"\1", text) for text in texts]  # it takes 23.4 as 23
    found: dict[float, Measure] = {}
    for text, spec in zip(texts, parse_one(f"{name}.{','.join(texts)}"), strict=True):
        value = spec.params[takes.param]
        if value in found:
            raise MetricError(f"{name}.{values}: {text} is given twice")
        printed = f"{value}" if takes.decimals is None else f"{value:.{takes.decimals}f}"
        found[value] = Measure(spec, f"{name}_{printed}")
    return [found[value] for value in sorted(found)]


@cache
def _trec_names() -> dict[str, tuple[Metric, Dotted | None]]:
    load()
    return {name: (metric, takes) for metric in REGISTRY.values() for name, takes in metric.trec.items()}
