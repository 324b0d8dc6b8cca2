"""The registry as documentation: every metric says what it is, and no two share a name."""

from __future__ import annotations

import inspect

import pytest

from gradeval.registry import families, invariants, spec
from gradeval.registry.families import load
from gradeval.registry.metric import REGISTRY, Metric
from gradeval.registry.params import JUDGED_ONLY

load()

INVARIANTS = {text for name, text in vars(invariants).items() if name.isupper() and isinstance(text, str)}


@pytest.mark.parametrize("metric", REGISTRY.values(), ids=list(REGISTRY))
class TestEach:
    def test_page(self, metric: Metric):
        head, formula, *_ = metric.about.split("\n\n")
        assert head == metric.summary
        assert head.endswith((".", "?"))
        assert " = " in formula, "the formula comes first"
        assert f"\nReturns {'str' if metric.text else 'float64'} (Q,), " in metric.about
        assert "Unit" in metric.about
        assert metric.about.splitlines()[-1].startswith("Source: ") or "\nSource: " in metric.about
        assert metric.undefined == ("NaN" in metric.about)
        assert all(len(line) <= 106 for line in metric.about.splitlines())

    def test_range_is_on_the_page(self, metric: Metric):
        words = {(0, 1): "in [0, 1]", (-1, 1): "in [-1, 1]", (0, None): "from 0 up", (None, None): "any number"}
        if metric.name not in ("num_q", "Success") and not metric.text:
            assert f"Returns float64 (Q,), {words[metric.range]}" in metric.about

    def test_example(self, metric: Metric):
        [one] = spec.parse(metric.example)
        assert one.metric is metric
        assert str(one) == metric.example

    def test_parameters_are_those_of_the_function(self, metric: Metric):
        signature = inspect.signature(metric.function).parameters
        assert metric.params[-1] is JUDGED_ONLY
        assert {p.name for p in metric.params[:-1]} == set(signature) - {"judgments"}
        for param in metric.params[:-1]:
            expected = inspect.Parameter.empty if param.required else param.default
            assert signature[param.name].default == expected
            assert signature[param.name].kind is inspect.Parameter.KEYWORD_ONLY
            assert param.about and param.allowed
            assert param.default is None or param.parse(param.text(param.default)) == param.default
            assert param.required or param.default is not None or param.without

    def test_claims(self, metric: Metric):
        assert set(metric.holds) <= INVARIANTS
        assert len(set(metric.holds)) == len(metric.holds)
        assert metric.aggregate in ("mean", "sum", "geometric")
        assert metric.says in ("both", "queries", "summary")
        assert metric.group in set(families.FAMILIES.values())
        for dotted in filter(None, metric.trec.values()):
            assert dotted.param in metric.by_name


def test_names_are_unique():
    seen: dict[str, str] = {}
    for metric in REGISTRY.values():
        for name in {spec.fold(one) for one in (metric.name, metric.display, *metric.aliases, *metric.trec)}:
            assert seen.setdefault(name, metric.name) == metric.name


def test_names_in_use():
    used = """muAP muMAP µAP µMAP NDCNG nDCGphi nDCGφ rankDCG P@5 R@5 F@5 set_P set_recall set_F Success@1 RR@5
    AP MAP CG DCG nDCG gP gR tau kendall rho spearman pearson AUC scaled_utility num_q num_ret num_rel
    num_rel_ret map map_cut ndcg ndcg_cut P recall recip_rank success"""
    for name in used.split():
        assert spec.parse(name)


def test_the_four_come_first():
    assert list(REGISTRY)[:2] == ["AP", "muAP"]
    assert {"NDCNG", "nDCGphi", "rankDCG"} <= set(list(REGISTRY)[:8])
