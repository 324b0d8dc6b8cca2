"""trec_eval's z-scores: values as distances from a mean, in standard deviations, query by query."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from gradeval.arrays.numbers import natural_log
from gradeval.evaluation.results import Results
from gradeval.registry.metric import GEOMETRIC_MIN, Kind
from gradeval.registry.spec import Spec

UNKNOWN = -1_000_000.0  # where the file says nothing, or the deviation is 0 and the value not the mean

Scores = Mapping[tuple[str, str], tuple[float, float]]
"""(query, measure) -> mean, standard deviation."""


def standardized(results: Results, names: Sequence[str], scores: Scores, complete: bool) -> Results:
    """The results of one run as z-scores. names: what the file calls the metrics.

    As in trec_eval, sums and means are those of the z-scores, but num_q stays, and num_rel where missing
    queries count (complete); a geometric mean takes z-scores of logarithms.
    """
    [run] = results.runs
    counted = np.flatnonzero(run.counted)
    queries = results.counted_queries(0)
    values = run.values.copy()
    means = results.means.copy()
    for m, (spec, name) in enumerate(zip(results.specs, names, strict=True)):
        if spec.metric.text:
            continue
        geometric = spec.metric.kind is Kind.GEOMETRIC
        raw = natural_log(np.maximum(values[m], GEOMETRIC_MIN)) if geometric else values[m]
        standard = []
        for query, value in zip(queries, raw[counted].tolist(), strict=True):
            mean, deviation = scores.get((query, name), (None, 0.0))
            if mean is None or not deviation:
                standard.append(0.0 if value == mean else UNKNOWN)
            else:
                standard.append((value - mean) / deviation)
        values[m, counted] = standard
        if spec.metric.name != "num_q" and not (complete and spec.metric.name == "num_rel"):
            summary = sum(standard) if spec.metric.is_summed else sum(standard) / len(standard)
            means[0, m] = math.exp(summary) if geometric else summary
    specs = tuple(  # z-scores of counts are no counts
        Spec(spec.metric.replace(kind=Kind.MEAN), spec.given) if spec.metric.is_count else spec
        for spec in results.specs
    )
    changed = results.replace(specs=specs, runs=(run.replace(values=values),))
    changed.__dict__["means"] = means  # the cached property, already known
    return changed
