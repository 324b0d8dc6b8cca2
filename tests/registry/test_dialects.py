"""Names in other tools: trec_eval's there and back as text, and ir_measures' providers."""

from __future__ import annotations

import ir_measures
import pytest
from helpers import each
from ir_measures.providers import registry

from gradeval import MetricError, evaluate
from gradeval.notices import Kind
from gradeval.registry.dialects import MEASURES, PROVIDERS, measure_of, names_of, printed, to_ours
from gradeval.registry.metric import Metric
from gradeval.registry.spec import metric_of, parse

READ = [
    ("P", "5,10", [{"cutoff": "5"}, {"cutoff": "10"}]),
    ("set_F", "0.5", [{"x": "0.5"}]),
    ("iprec_at_recall", "0.25", [{"recall": "0.25"}]),
    ("utility", "3,-2,0,0", [{"weights": "3,-2,0,0"}]),
    ("ndcg", "2=9,1=3", [{"gain": "1=3,2=9"}]),
    ("rbp", "p=0.8", [{"p": "0.8"}]),
    ("rbp", "p=0.8,1=3", [{"p": "0.8", "gain": "1=3"}]),
    ("rbp", "95", [{"p": "0.95"}]),
    ("rbp_resid", "p=0.8", [{"p": "0.8"}]),
]


@each(("name", "after", "texts"), READ)
def test_there_and_back(name: str, after: str, texts: list[dict[str, str]]) -> None:
    measure = MEASURES[name]
    assert measure.read(after, ".") == texts
    for one in texts:
        ours = {param: to_ours(text) for param, text in one.items()}
        assert measure.read(printed(measure.metric, ours).removeprefix(f"{name}_"), "_") == [one]


@pytest.mark.parametrize(
    ("name", "after"), [("ndcg", "x=1"), ("ndcg", "1"), ("rbp_resid", "1=3"), ("rbp", "p")]
)
def test_what_are_no_pairs(name: str, after: str) -> None:
    with pytest.raises(ValueError):
        MEASURES[name].read(after, ".")


@each(
    ("metric", "texts", "name"),
    [
        ("AP", {}, "map"),
        ("AP", {"cutoff": "5"}, "map_cut_5"),
        ("iprec_at_recall", {"recall": "0.5"}, "iprec_at_recall_0.50"),
        ("iprec_at_recall", {"recall": "0.125"}, "iprec_at_recall_0.125"),
        ("utility", {"weights": "3/-2/0/0"}, "utility_3,-2,0,0"),
        ("nDCG", {"gain": "1:3/2:9"}, "ndcg_1=3,2=9"),
        ("nDCG", {"gain": "exp"}, None),
        ("AP", {"rel": "2", "cutoff": "5"}, None),
        ("muAP", {}, None),
    ],
)
def test_printed(metric: str, texts: dict[str, str], name: str | None) -> None:
    assert printed(metric, texts) == name


def test_names() -> None:
    assert names_of("nDCG") == ["ndcg", "ndcg_cut"]
    assert measure_of("NDCG_CUT") is MEASURES["ndcg_cut"]
    assert measure_of("muAP") is None


# ir_measures: what the pages say of its providers; that they order equal scores so is tried in tests/peers


def test_they_are_in_its_order_but_for_the_last():
    asked = [provider.NAME for provider in ir_measures.DefaultPipeline.providers]
    assert [name for name in asked if name != "runtime"] == list(PROVIDERS)[:-1]


def can_change(metric: Metric) -> bool:
    """Whether the order of tied scores can change the metric, or it at a cutoff that other tools have."""
    has_cutoff = "cutoff" in metric.by_name and not metric.text and not metric.name.startswith("set_")
    names = [metric.usage, *([f"{metric.name}@2"] if has_cutoff else [])]
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


@each("name", PROVIDERS)
def test_each_has_these_metrics(name):
    metrics = [metric_of(measure.NAME) for measure in registry[name].SUPPORTED_MEASURES]
    assert set(PROVIDERS[name][1]) == {metric.name for metric in metrics if can_change(metric)}


def test_pytrec_eval_has_scores_as_32_bit_floats():
    """Two scores that only differ in the tenth digit are equal to it, and not to the others."""
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.000000001, "b": 1.0}}
    found = {
        name: [one.value for one in registry[name].iter_calc([ir_measures.RR], qrels, run)]
        for name in ("pytrec_eval", "msmarco")
    }
    assert found == {"pytrec_eval": [0.5], "msmarco": [1.0]}
