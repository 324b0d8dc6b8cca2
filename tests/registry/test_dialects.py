"""Names in other tools: trec_eval's there and back as text, and ir_measures' providers."""

import functools
from contextlib import suppress

import ir_measures
from helpers import each, each_row
from ir_measures.providers import registry

from gradeval import MetricError, evaluate
from gradeval.notices import NoticeKind
from gradeval.registry.dialects import MEASURES, PROVIDERS, TO_OURS, printed
from gradeval.registry.metric import Metric
from gradeval.registry.spec import metric_of


@each_row(
    ("P", "5,10", [{"cutoff": "5"}, {"cutoff": "10"}]), ("set_F", "0.5", [{"x": "0.5"}]),
    ("iprec_at_recall", "0.25", [{"recall": "0.25"}]), ("utility", "3,-2,0,0", [{"weights": "3,-2,0,0"}]),
    ("ndcg", "2=9,1=3", [{"gain": "2=9,1=3"}]), ("rbp", "p=0.8", [{"p": "0.8"}]),
    ("rbp", "p=0.8,1=3", [{"p": "0.8", "gain": "1=3"}]), ("rbp", "95", [{"p": "0.95"}]),
    ("rbp_resid", "p=0.8", [{"p": "0.8"}]),
)  # fmt: skip
def test_there_and_back(name: str, after: str, texts: list[dict[str, str]]) -> None:
    measure = MEASURES[name]
    assert measure.read(after, ".") == texts
    for one in texts:
        ours = {param: text.translate(TO_OURS) for param, text in one.items()}
        assert measure.read(printed(measure.metric, ours).removeprefix(f"{name}_"), "_") == [one]


# ir_measures: what the pages say of its providers; that they order equal scores so is tried in tests/peers


def test_they_are_in_its_order_but_for_the_last():
    asked = [provider.NAME for provider in ir_measures.DefaultPipeline.providers]
    assert [name for name in asked if name != "runtime"] == list(PROVIDERS)[:-1]


@functools.cache
def can_change(metric: Metric) -> bool:
    """Whether the order of tied scores can change the metric, or it at a cutoff that other tools have."""
    qrels = {"q": {f"d{number}": number % 4 for number in range(24)}}
    run = {"q": {f"d{number}": 1.0 for number in range(3, 30)}}
    names, notices = [metric.usage], []
    if "cutoff" in metric.by_name and not metric.text and not metric.name.startswith("set_"):
        names.append(f"{metric.name}@2")
    for name in names:
        with suppress(MetricError):  # of those that require more
            notices += evaluate(qrels, run, name).notices
    return any(notice.kind is NoticeKind.TIES for notice in notices)


@each("name", PROVIDERS)
def test_each_has_these_metrics(name):
    metrics = [metric_of(measure.NAME) for measure in registry[name].SUPPORTED_MEASURES]
    assert set(PROVIDERS[name][1]) == {metric.name for metric in metrics if can_change(metric)}


def test_pytrec_eval_has_scores_as_32_bit_floats():
    """Two scores that only differ in the tenth digit are equal to it, and not to the others."""
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.000000001, "b": 1.0}}
    for name, value in (("pytrec_eval", 0.5), ("msmarco", 1.0)):
        assert [one.value for one in registry[name].iter_calc([ir_measures.RR], qrels, run)] == [value]
