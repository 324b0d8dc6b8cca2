"""What metrics promise: their ranges, and each invariant on every metric that claims it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import pytest
from helpers import judgments_of, ranking, value
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from metrics import strategies

from gradeval.registry import invariants as registry
from gradeval.registry.metric import REGISTRY, Metric

EXAMPLES = int(os.environ.get("GRADEVAL_EXAMPLES", "25"))
NUMBERS = [name for name, metric in REGISTRY.items() if not metric.text]
TRIALS: dict[str, Callable[[Metric, st.DataObject], None]] = {}


def trial(invariant):
    def keep(function):
        TRIALS[invariant] = function
        return function

    return keep


def one(metric: Metric, qrels, run, **params) -> float:
    return float(metric(judgments_of([(qrels, run)]), **params)[0])


def draw_query(data, *, distinct_scores=False):
    qrels, run = data.draw(strategies.queries())
    if distinct_scores:
        run = {document: float(-place) for place, document in enumerate(ranking(run))}
    return qrels, run


def draw_params(metric, data, *, optional=False):
    """The parameters that the metric needs, and where `optional` a cutoff if it takes one."""
    needed = {p.name for p in metric.params if p.required or (optional and p.name == "cutoff")}
    return {name: data.draw(strategies.VALUES[name]) for name in sorted(needed)}


def ordered(qrels, sign=-1.0):
    """The run that has the judged documents in order of grade."""
    order = sorted(qrels, key=lambda document: sign * qrels[document])
    return {document: float(-place) for place, document in enumerate(order)}


def same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


@trial(registry.IDEAL_IS_ONE)
def _(metric, data):
    qrels, _ = draw_query(data)
    assume(any(grade > 0 for grade in qrels.values()))
    result = one(metric, qrels, ordered(qrels), **draw_params(metric, data))
    assert math.isnan(result) or same(result, 1.0)


@trial(registry.SCALE_FREE)
def _(metric, data):
    qrels, run = draw_query(data)
    params = draw_params(metric, data, optional=True)
    factor = data.draw(st.floats(0.001, 1000))
    scaled = {document: factor * grade for document, grade in qrels.items()}
    assert same(one(metric, qrels, run, **params), one(metric, scaled, run, **params))


@trial(registry.PROMOTION_HELPS)
def _(metric, data):
    qrels, run = draw_query(data, distinct_scores=True)
    assume(len(qrels) > 1 and run)
    params = draw_params(metric, data, optional=True)
    better, worse = data.draw(st.permutations(sorted(qrels)))[:2]
    assume(qrels[better] > qrels[worse] and run.get(better, -math.inf) < run.get(worse, -math.inf))
    names = {better: worse, worse: better}
    promoted = {names.get(document, document): score for document, score in run.items()}
    before, after = one(metric, qrels, run, **params), one(metric, qrels, promoted, **params)
    assert math.isnan(before) or after >= before - 1e-12


@trial(registry.BINARY_IS_AP)
def _(metric, data):
    qrels, run = draw_query(data)
    top = data.draw(st.sampled_from([1.0, 3.0, 0.1, 7.3]))
    qrels = {document: top if grade > 0 else grade for document, grade in qrels.items()}
    assert one(metric, qrels, run, **draw_params(metric, data)) == value("AP", (qrels, run))  # to the bit


@trial(registry.REVERSAL_NEGATES)
def _(metric, data):
    qrels, run = draw_query(data)
    back = {document: -score for document, score in run.items()}
    forth = one(metric, qrels, run)
    assert same(one(metric, qrels, back), -forth)


@trial(registry.REVERSE_IS_ZERO)
def _(metric, data):
    qrels, _ = draw_query(data)
    assume(any(grade > 0 for grade in qrels.values()))
    result = one(metric, qrels, ordered(qrels, 1.0), **draw_params(metric, data))
    assert math.isnan(result) or same(result, 0.0)


@trial(registry.UNJUDGED_IGNORED)
def _(metric, data):
    qrels, run = draw_query(data)
    assume(run)  # with nothing retrieved the query is missing, which is another case
    more = run | {f"new{place}": data.draw(strategies.scores) for place in range(data.draw(st.integers(1, 5)))}
    params = draw_params(metric, data, optional=True)
    assert same(one(metric, qrels, run, **params), one(metric, qrels, more, **params))


def try_out(invariant: str, metric: Metric, **how) -> None:
    suppressed = [HealthCheck.filter_too_much, HealthCheck.too_slow]

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=suppressed, database=None, **how)
    @given(data=st.data())
    def run(data):
        TRIALS[invariant](metric, data)

    run()


CLAIMS = [(name, invariant) for name, metric in REGISTRY.items() for invariant in metric.holds]


@pytest.mark.parametrize(("name", "invariant"), CLAIMS)
def test_holds(name, invariant):
    try_out(invariant, REGISTRY[name])


@pytest.mark.parametrize(
    ("invariant", "name"),
    [
        (registry.IDEAL_IS_ONE, "P"),
        (registry.SCALE_FREE, "DCG"),
        (registry.BINARY_IS_AP, "RR"),
        (registry.REVERSAL_NEGATES, "AUC"),
        (registry.REVERSE_IS_ZERO, "nDCG"),
        (registry.UNJUDGED_IGNORED, "AP"),
    ],
)
def test_a_metric_without_it_is_caught(invariant, name):
    assert invariant not in REGISTRY[name].holds
    assert is_caught(invariant, REGISTRY[name])


def test_a_metric_that_punishes_promotion_is_caught():
    wrong = Metric("wrong", lambda judgments: -REGISTRY["DCG"](judgments), "wrong")
    assert is_caught(registry.PROMOTION_HELPS, wrong)


def is_caught(invariant: str, metric: Metric) -> bool:
    try:
        try_out(invariant, metric, derandomize=True, phases=[Phase.generate])
    except AssertionError:
        return True
    return False


def test_every_invariant_is_tried_and_claimed():
    declared = {text for name, text in vars(registry).items() if name.isupper() and isinstance(text, str)}
    assert declared == set(TRIALS)
    assert declared == {invariant for _, invariant in CLAIMS}


@pytest.mark.parametrize("name", NUMBERS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_range(name, data):
    metric = REGISTRY[name]
    least, most = metric.range
    table = judgments_of(data.draw(strategies.tables), data.draw(st.sampled_from([None, 1.0])))
    for result in metric(table, **data.draw(strategies.params(metric))).tolist():
        if math.isnan(result):
            assert metric.undefined
            continue
        assert least is None or result >= least - 1e-12
        assert most is None or result <= most + 1e-12
        assert not metric.whole or result == int(result)


OF_THE_WHOLE_QRELS = {"gP", "gR", "ERR", "nERR", "iRBU"}  # the largest grade counts


@pytest.mark.parametrize("name", sorted(set(NUMBERS) - OF_THE_WHOLE_QRELS))
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_queries_do_not_touch_each_other(name, data):
    """A query's value is the same to the bit, whatever queries stand around it."""
    metric = REGISTRY[name]
    params = draw_params(metric, data, optional=True)
    query = data.draw(strategies.queries())
    around = data.draw(strategies.tables), data.draw(strategies.tables)
    alone = one(metric, *query, **params)
    among = float(metric(judgments_of([*around[0], query, *around[1]]), **params)[len(around[0])])
    assert alone == among or (math.isnan(alone) and math.isnan(among))


@pytest.mark.parametrize("name", NUMBERS)
def test_a_missing_query_scores_zero(name):
    metric = REGISTRY[name]
    values = {"cutoff": 5, "max_rel": 3.0, "recall": 0.5, "multiple": 1.0}
    params = {p.name: values[p.name] for p in metric.params if p.required}
    # the odds of AP = 0, and what is said of the qrels alone
    others = {"num_q": 1.0, "num_rel": 2.0, "yaap": math.log(1 / 3), "ideal_dcg": 2 + 1 / math.log2(3)}
    assert one(metric, {"a": 2.0, "b": 1.0, "c": 0.0}, {}, **params) == others.get(name, 0.0)
