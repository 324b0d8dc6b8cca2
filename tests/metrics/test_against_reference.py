"""Metrics against their plain references of reference.py, on random queries with random parameters."""

import math
from pathlib import Path
from random import Random

from helpers import check_each, examples, judgments_of
from hypothesis import given
from hypothesis import strategies as st

from gradeval.registry.metric import REGISTRY
from metrics import strategies
from metrics.reference import REFERENCE, Topic


def test_every_metric_is_tested():
    """By a reference, or by a test with values calculated by hand."""
    by_hand = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    missing = [name for name in REGISTRY if name not in REFERENCE and f'"{name}' not in by_hand]
    assert not missing, f"write a test of {missing} as in the guide, 'gradeval guide plugins'"
    assert set(REFERENCE) <= set(REGISTRY)


def check_reference(queries, level, metrics, params_of):
    table = judgments_of(queries, level)
    judged = [grade for qrels, _ in queries for grade in qrels.values()]
    topics = [Topic(*query, level, judged) for query in queries]
    runs = [{d: score for d, score in run.items() if qrels.get(d, -1) >= 0} for qrels, run in queries]
    condensed = [Topic(qrels, run, level, judged) for (qrels, _), run in zip(queries, runs, strict=True)]

    def check(metric):
        params = params_of(metric)
        result = metric(table, **params)
        assert (result.dtype, result.shape) == ("float64", (len(queries),))
        found = metric.texts(table, **params) if metric.text else result.tolist()
        plain = dict(params)
        of = condensed if plain.pop("judged_only", False) else topics
        for one, topic, query in zip(found, of, queries, strict=True):
            expected = REFERENCE[metric.name](topic, **plain)
            agrees = one == expected or (not metric.text and math.isnan(one) and math.isnan(expected))
            if not agrees and not metric.text:
                agrees = math.isclose(one, expected, rel_tol=1e-12, abs_tol=1e-12)
            assert agrees, f"{one}, not {expected}: {params} on (judgments, run) {query}, level {level}"

    check_each([REGISTRY[name] for name in metrics], check)


@examples(times=0.8)
@given(strategies.crowds(30), st.sampled_from([None, None, 0.0, 1.0, 2.0]), strategies.parameters)
def test_agrees(queries, level, parameters):
    check_reference(queries, level, REFERENCE, lambda metric: strategies.params_of(metric, parameters))


@examples(times=0.4)
@given(st.integers(0, 2**32), st.integers(20, 300))
def test_agrees_on_long_queries(seed, size):
    random = Random(seed)
    spread = random.choice([3, 40, 100_000])
    names = [f"d{place}" for place in range(size)]
    qrels = {name: float(round(spread * random.random() ** 3)) for name in names}
    run = {name: float(random.randrange(size)) for name in names if random.random() < 0.8}
    metrics = ("nDCGphi", "muAP", "tau", "rankDCG", "rho", "AUC")
    check_reference([(qrels, run)], None, metrics, lambda metric: {})
