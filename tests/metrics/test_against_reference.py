"""Each metric against the plain one of reference.py, on random queries with random parameters."""

from __future__ import annotations

import math
import os

import pytest
from helpers import judgments_of
from hypothesis import given, settings
from hypothesis import strategies as st

from gradeval.registry.metric import REGISTRY
from metrics import reference_trec, reference_user, strategies
from metrics.reference import REFERENCE

assert (
    reference_trec.REFERENCE is reference_user.REFERENCE is REFERENCE
)  # their references are in the same table
EXAMPLES = int(os.environ.get("GRADEVAL_EXAMPLES", "60"))


def test_every_metric_has_a_reference():
    assert set(REFERENCE) == set(REGISTRY)


def alike(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("name", REGISTRY)
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_agrees(name, data):
    metric = REGISTRY[name]
    queries = data.draw(strategies.tables)
    level = data.draw(st.sampled_from([None, None, 0.0, 1.0, 2.0]))
    params = data.draw(strategies.params(metric))
    judged = [grade for qrels, _ in queries for grade in qrels.values()]
    table = judgments_of(queries, level)
    result = metric(table, **params)
    assert result.dtype == "float64"
    assert result.shape == (len(queries),)
    found = metric.texts(table, **params) if metric.text else result.tolist()
    judged_only = params.pop("judged_only", False)
    for one, (qrels, run) in zip(found, queries, strict=True):
        kept = {d: score for d, score in run.items() if not judged_only or qrels.get(d, -1) >= 0}
        expected = REFERENCE[name](qrels, kept, level, judged, **params)
        assert one == expected if metric.text else alike(one, expected), (one, expected, qrels, run, params)


@pytest.mark.parametrize("name", ["nDCGphi", "muAP", "tau", "rankDCG", "rho", "AUC"])
@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(20, 300))
def test_agrees_on_long_queries(name, random, size):
    spread = random.choice([3, 40, 100_000])
    names = [f"d{place}" for place in range(size)]
    qrels = {name: float(round(spread * random.random() ** 3)) for name in names}
    run = {name: float(random.randrange(size)) for name in names if random.random() < 0.8}
    [one] = REGISTRY[name](judgments_of([(qrels, run)])).tolist()
    assert alike(one, REFERENCE[name](qrels, run, None, list(qrels.values())))
