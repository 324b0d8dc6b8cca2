"""The registry as documentation: every metric says what it is, and no two share a name."""

import inspect
from typing import Annotated

from helpers import each

from gradeval.registry import invariants, spec
from gradeval.registry.catalogue import FAMILIES, by_name, fold
from gradeval.registry.dialects import MEASURES, names_of
from gradeval.registry.metric import REGISTRY, Metric, load
from gradeval.registry.params import Cutoff, fraction

load()


@each("metric", REGISTRY.values())
def test_page(metric: Metric):
    head, _, more = metric.about.partition("\n\n")
    use, _, more = more.partition("\n\n")
    returns = "str (Q,), " if metric.text else "NaN where " if metric.undefined else ""
    assert (
        head == metric.summary
        and head.endswith((".", "?"))
        and use.startswith("Use when ")
        and "\nNot when " in use
        and " = " in more.partition("\n\n")[0]
        and (not returns or f"\nReturns {returns}" in metric.about)
        and "\nSource: " in metric.about
        and all(len(line) <= 106 for line in metric.about.splitlines())
    ), f"{metric.name}'s docstring: what it is; when to use it; formula; 'Returns {returns}'; source"


@each("metric", REGISTRY.values())
def test_parameters(metric: Metric):
    [one] = spec.parse(metric.usage)
    assert one.metric is metric
    assert str(one) == metric.usage
    judgments, *signature = inspect.signature(metric.function).parameters
    assert judgments == "judgments"
    assert [param.name for param in metric.params] == [*signature, "judged_only"]
    for param in metric.params:
        assert param.about and param.allowed
        assert param.text(param.parse(param.example)) == param.example
        assert param.default is None or param.parse(param.text(param.default)) == param.default
        assert param.required or param.default is not None or param.without


@each("metric", REGISTRY.values())
def test_claims(metric: Metric):
    claimed = [one.about for one in metric.invariants]
    assert set(claimed) <= {
        one.about for one in vars(invariants).values() if isinstance(one, invariants.Invariant)
    }
    assert len(set(claimed)) == len(claimed)
    assert {one.param for claim in metric.invariants for one in claim.conditions} <= set(metric.by_name)
    assert metric.per_query or metric.has_summary


def test_names_are_unique_and_the_four_come_first():
    seen: dict[str, str] = {}
    for metric in REGISTRY.values():
        names = (metric.name, metric.display, *metric.aliases, *names_of(metric.name))
        for name in set(map(spec.fold, names)):
            assert seen.setdefault(name, metric.name) == metric.name
        assert metric.undefined == ("NaN" in metric.about)
    assert list(REGISTRY)[:2] == ["AP", "muAP"]
    assert [REGISTRY[name].display for name in ("muAP", "nDCGphi", "tau", "rho")] == ["µAP", "nDCGφ", "τ", "ρ"]
    assert {"muAP", "NDCNG", "nDCGphi", "rankDCG"} <= set(list(REGISTRY)[: list(REGISTRY).index("P")])


def test_measures_of_trec_eval_are_metrics():
    for name, measure in MEASURES.items():
        known = REGISTRY[measure.metric].by_name
        assert {measure.param, *measure.named} - {""} <= set(known)
        if measure.example:  # which shows the defaults, where it shows a parameter
            [one] = spec.parse(f"{name}.{measure.example}")
            assert set(one.params) <= {"gain"}


def toy(judgments, *, cutoff: Cutoff, p: Annotated[float, fraction("chance")] = 0.5):
    """Toy."""
    return judgments.segments.sum(judgments.grade)


def test_parameters_are_told_from_the_signature():
    cutoff, p, judged_only = Metric("Toy", toy).params
    assert (cutoff.name, cutoff.required, cutoff.default, cutoff.after_at) == ("cutoff", True, None, True)
    assert (p.name, p.required, p.default, p.about) == ("p", False, 0.5, "chance")
    assert (judged_only.name, judged_only.default) == ("judged_only", False)
    assert Metric("Toy", toy).usage == "Toy@10"
    assert Metric("Toy", toy, example="Toy(p=0.9)@5").usage == "Toy(p=0.9)@5"
    assert Metric("Toy", lambda judgments: judgments.grade).usage == "Toy"
    assert [REGISTRY[name].usage for name in ("SDCG", "set_P")] == ["SDCG(max_rel=3)@10", "set_P(rel=2)"]


def test_homes_of_names_are_those_of_the_metrics() -> None:
    """The text of the modules names what importing them declares."""
    declared = {
        fold(name): metric.function.__module__.rpartition(".")[2]
        for metric in REGISTRY.values()
        if metric.is_ours
        for name in (metric.display, *metric.aliases)
    }
    assert {name: metric.module for name, metric in by_name().items()} == declared
    assert list(dict.fromkeys(declared.values()))[: len(FAMILIES)] == list(FAMILIES)
