"""Metrics against their plain references of reference*.py, on random queries with random parameters."""

import math
from pathlib import Path
from random import Random

from helpers import check_each, examples, judgments_of
from hypothesis import given
from hypothesis import strategies as st

from gradeval.registry.metric import REGISTRY
from metrics import reference_correlation, reference_trec, reference_user, strategies
from metrics.reference import REFERENCE

for module in (reference_correlation, reference_trec, reference_user):
    assert module.REFERENCE is REFERENCE  # they fill the same table


def test_every_metric_is_tested():
    """By a reference, or by a test with values calculated by hand."""
    by_hand = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    missing = [name for name in REGISTRY if name not in REFERENCE and f'"{name}' not in by_hand]
    assert not missing, f"write a test of {missing} as in the guide, 'gradeval guide plugins'"
    assert set(REFERENCE) <= set(REGISTRY)


def alike(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


def check_reference(queries, level, parameters):
    """Every metric with a reference has its values, with these parameters."""
    table = judgments_of(queries, level)
    judged = [grade for qrels, _ in queries for grade in qrels.values()]

    def check(metric):
        params = strategies.params_of(metric, parameters)
        result = metric(table, **params)
        assert result.dtype == "float64"
        assert result.shape == (len(queries),)
        found = metric.texts(table, **params) if metric.text else result.tolist()
        plain = dict(params)
        judged_only = plain.pop("judged_only", False)
        for one, (qrels, run) in zip(found, queries, strict=True):
            kept = {d: score for d, score in run.items() if not judged_only or qrels.get(d, -1) >= 0}
            expected = REFERENCE[metric.name](qrels, kept, level, judged, **plain)
            agrees = one == expected if metric.text else alike(one, expected)
            assert agrees, f"{one}, not {expected}: {params} on judgments {qrels}, run {run}, level {level}"

    check_each([REGISTRY[name] for name in REFERENCE], check)


LEVELS = st.sampled_from([None, None, 0.0, 1.0, 2.0])


@examples(times=0.5)
@given(strategies.crowds(30), LEVELS, strategies.parameters)
def test_agrees(queries, level, parameters):
    check_reference(queries, level, parameters)


@examples(times=0.4)
@given(st.integers(0, 2**32), st.integers(20, 300))
def test_agrees_on_long_queries(seed, size):
    random = Random(seed)
    spread = random.choice([3, 40, 100_000])
    names = [f"d{place}" for place in range(size)]
    qrels = {name: float(round(spread * random.random() ** 3)) for name in names}
    run = {name: float(random.randrange(size)) for name in names if random.random() < 0.8}
    table = judgments_of([(qrels, run)])

    def check(metric):
        [one] = metric(table).tolist()
        expected = REFERENCE[metric.name](qrels, run, None, list(qrels.values()))
        assert alike(one, expected), f"{one}, not {expected}: judgments {qrels}, run {run}"

    check_each([REGISTRY[name] for name in ("nDCGphi", "muAP", "tau", "rankDCG", "rho", "AUC")], check)
