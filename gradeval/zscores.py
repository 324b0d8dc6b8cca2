"""trec_eval's z-scores: values as distances from a mean, in standard deviations, query by query."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gradeval.errors import InputError
from gradeval.formats.fields import read_fields
from gradeval.formats.sources import Source
from gradeval.metrics.registry import GEOMETRIC_LEAST
from gradeval.metrics.spec import Spec
from gradeval.options import parse_number
from gradeval.relevance import natural_log
from gradeval.results import Results, counted_queries

UNKNOWN = (
    -1_000_000.0
)  # the value where the file says nothing, or the deviation is 0 and the value not the mean

Scores = Mapping[tuple[str, str], tuple[float, float]]
"""(query, measure) -> mean, standard deviation."""


def read_zscores(path: str) -> dict[tuple[str, str], tuple[float, float]]:
    """The 'query measure mean deviation' lines of a file. Raises InputError."""
    scores: dict[tuple[str, str], tuple[float, float]] = {}
    for number, fields in read_fields(Source(path)):
        if len(fields) != 4:
            count = f"{len(fields)} field{'s' * (len(fields) != 1)}"
            what = f"{count} where a line has 4 (query measure mean deviation)"
            raise InputError(path, what, line=number + 1)
        query, measure, *rest = fields
        try:
            mean, deviation = map(parse_number, rest)
        except ValueError:
            what = f"'{rest[0]} {rest[1]}' are not two numbers"
            raise InputError(path, what, line=number + 1) from None
        if (query, measure) in scores:
            raise InputError(path, f"{measure} of query '{query}' comes a second time", line=number + 1)
        scores[query, measure] = mean, deviation
    if not scores:
        raise InputError(path, "there is nothing in it")
    return scores


def standardized(results: Results, names: Sequence[str], scores: Scores, complete: bool) -> Results:
    """The results of one run as z-scores. names: what the file calls the metrics.

    As in trec_eval, sums and means are those of the z-scores, but num_q stays, and num_rel where missing
    queries count (complete); a geometric mean takes z-scores of logarithms.
    """
    [run] = results.runs
    counted = np.flatnonzero(run.counted)
    queries = counted_queries(results, run)
    values = run.values.copy()
    means = results.means.copy()
    for m, (spec, name) in enumerate(zip(results.specs, names, strict=True)):
        if spec.metric.text:
            continue
        geometric = spec.metric.aggregate == "geometric"
        raw = natural_log(np.maximum(values[m], GEOMETRIC_LEAST)) if geometric else values[m]
        one = [
            _score(value, scores.get((query, name)))
            for query, value in zip(queries, raw[counted].tolist(), strict=True)
        ]
        values[m, counted] = one
        if spec.metric.name != "num_q" and not (complete and spec.metric.name == "num_rel"):
            mean = sum(one) if spec.metric.aggregate == "sum" else sum(one) / len(one)
            means[0, m] = math.exp(mean) if geometric else mean
    specs = tuple(Spec(replace(spec.metric, whole=False), spec.given) for spec in results.specs)
    changed = replace(results, specs=specs, runs=(replace(run, values=values),))
    changed.__dict__["means"] = means  # the cached property, already known
    return changed


def _score(value: float, known: tuple[float, float] | None) -> float:
    if known is None:
        return UNKNOWN
    mean, deviation = known
    if deviation:
        return (value - mean) / deviation
    return 0.0 if value == mean else UNKNOWN
