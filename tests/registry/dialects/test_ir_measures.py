"""What the pages say of ir_measures' providers; that they order equal scores so is tried in tests/peers."""

from __future__ import annotations

import ir_measures
import pytest
from ir_measures.providers import registry

from gradeval.registry.dialects.ir_measures import PROVIDERS
from gradeval.registry.spec import metric_of


def test_they_are_in_its_order_but_for_the_last():
    asked = [provider.NAME for provider in ir_measures.DefaultPipeline.providers]
    assert [name for name in asked if name not in ("runtime", "pyndeval")] == list(PROVIDERS)[:-1]


@pytest.mark.parametrize("name", PROVIDERS)
def test_each_has_these_metrics(name):
    metrics = [metric_of(measure.NAME) for measure in registry[name].SUPPORTED_MEASURES]
    with_order = {
        metric.name for metric in metrics if metric.order or metric.stops or "cutoff" in metric.by_name
    }
    assert set(PROVIDERS[name].metrics) == with_order


def test_pytrec_eval_has_scores_as_32_bit_floats():
    """Two scores that only differ in the tenth digit are equal to it, and not to the others."""
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.000000001, "b": 1.0}}
    found = {
        name: [one.value for one in registry[name].iter_calc([ir_measures.RR], qrels, run)]
        for name in ("pytrec_eval", "msmarco")
    }
    assert found == {"pytrec_eval": [0.5], "msmarco": [1.0]}
