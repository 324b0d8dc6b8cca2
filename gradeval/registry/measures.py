"""The measures of the commands trec_eval and ir_measures: parsed into Specs, with the names they print."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from gradeval.errors import MetricError
from gradeval.registry.dialects import MEASURES, TREC_EVAL, TrecMeasure, translated
from gradeval.registry.spec import Spec, parse, parse_measure, parse_one, split

_DECIMAL = re.compile(r"(\d+)\.\d*")


class PrintedSpec(NamedTuple):
    """A spec, and its name in the output."""

    spec: Spec
    printed: str


def parse_trec_eval(texts: Iterable[str], size: float = 0.0) -> list[PrintedSpec]:
    """The measures that trec_eval's -m names, in trec_eval's order; then gradeval metrics, as given. As in
    trec_eval, a measure named again keeps its first values, and cutoffs are sorted. size: the number of
    documents in the collection, for utility. Raises MetricError.
    """
    marked: dict[str, str] = {}
    ours: list[Spec] = []
    for text in texts:
        name, dot, values = text.partition(".")
        if name in TREC_EVAL and not dot:
            marked |= dict.fromkeys(TREC_EVAL[name].measures, "") | marked
        elif name in MEASURES and bool(dot) == bool(values):
            marked[name] = marked.get(name) or values
        else:
            ours += parse(text)
    measures = [new for name in MEASURES if name in marked for new in _of_trec_eval(name, marked[name], size)]
    printed = {measure.spec for measure in measures}
    return measures + [PrintedSpec(spec, spec.trec) for spec in dict.fromkeys(ours) if spec not in printed]


def _of_trec_eval(name: str, values: str, size: float) -> list[PrintedSpec]:
    measure = MEASURES[name]
    if not measure.param or not values:
        specs = parse_one(f"{name}.{values}") if values else parse_measure(name)
        measures = [PrintedSpec(spec, spec.trec) for spec in specs]
    elif measure.values:
        measures = _in_ascending_order(name, measure, values)
    else:
        spec, *more = parse_one(f"{name}.{values}")
        if more:
            raise MetricError(f"{name}.{values}: {name} takes one value")
        measures = [PrintedSpec(spec, f"{name}_{values}")]
    if name == "utility" and size:
        return [PrintedSpec(spec.replace(given=(*spec.given, ("size", size))), text) for spec, text in measures]
    return measures


def _in_ascending_order(name: str, measure: TrecMeasure, values: str) -> list[PrintedSpec]:
    """A measure for each of the values. Raises MetricError."""
    texts = values.split(",")
    if measure.param == "cutoff":
        texts = [_DECIMAL.sub(r"\1", text) for text in texts]  # it takes 23.4 as 23
    by_value: dict[float, PrintedSpec] = {}
    for text, spec in zip(texts, parse_one(f"{name}.{','.join(texts)}"), strict=True):
        value = spec.params[measure.param]
        if value in by_value:
            raise MetricError(f"{name}.{values}: {text} is given more than once")
        printed = f"{value}" if measure.decimals is None else f"{value:.{measure.decimals}f}"
        by_value[value] = PrintedSpec(spec, f"{name}_{printed}")
    return [by_value[value] for value in sorted(by_value)]


def parse_ir_measures(texts: Iterable[str]) -> list[PrintedSpec]:
    """The measures named in ir_measures' notation or ours, without repetition. Raises MetricError."""
    measures: list[PrintedSpec] = []
    for name in (name for text in texts for name in split(text)):
        ours, printed = translated(name) or (name, "")
        specs = parse_one(ours)
        at = specs[0].metric.at
        if printed and len(specs) > 1 and at:  # trec_eval's default cutoffs, which ir_measures does not have
            raise MetricError(f"{name}: the {at.name} is missing", hint=f"for example {printed}@{at.example}")
        measures += [PrintedSpec(spec, printed or str(spec)) for spec in specs]
    return list(dict.fromkeys(measures))
