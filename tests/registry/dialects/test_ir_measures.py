"""What the pages say of ir_measures' providers; that they order equal scores so is tried in tests/peers."""

from __future__ import annotations

import ir_measures
import pytest
from ir_measures.providers import registry

from gradeval import MetricError, evaluate
from gradeval.notices import Kind
from gradeval.registry.dialects.ir_measures import PROVIDERS
from gradeval.registry.metric import Metric
from gradeval.registry.spec import metric_of, parse


def test_they_are_in_its_order_but_for_the_last():
    asked = [provider.NAME for provider in ir_measures.DefaultPipeline.providers]
    assert [name for name in asked if name not in ("runtime", "pyndeval")] == list(PROVIDERS)[:-1]


def can_change(metric: Metric) -> bool:
    """Whether the order of tied scores can change the metric, or it at a cutoff."""
    names = [metric.usage, *([f"{metric.name}@2"] if "cutoff" in metric.by_name and not metric.text else [])]
    qrels = {"q": {f"d{number}": number % 4 for number in range(24)}}
    run = {"q": {f"d{number}": 1.0 for number in range(3, 30)}}
    notices = [notice for name in names if takes_no_more(name) for notice in evaluate(qrels, run, name).notices]
    return any(notice.kind is Kind.TIES for notice in notices)


def takes_no_more(name: str) -> bool:
    try:
        parse(name)
    except MetricError:
        return False
    return True


@pytest.mark.parametrize("name", PROVIDERS)
def test_each_has_these_metrics(name):
    metrics = [metric_of(measure.NAME) for measure in registry[name].SUPPORTED_MEASURES]
    assert set(PROVIDERS[name].metrics) == {metric.name for metric in metrics if can_change(metric)}


def test_pytrec_eval_has_scores_as_32_bit_floats():
    """Two scores that only differ in the tenth digit are equal to it, and not to the others."""
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.000000001, "b": 1.0}}
    found = {
        name: [one.value for one in registry[name].iter_calc([ir_measures.RR], qrels, run)]
        for name in ("pytrec_eval", "msmarco")
    }
    assert found == {"pytrec_eval": [0.5], "msmarco": [1.0]}
