"""Metrics of subtopics: the examples of their definition, and random rankings against the reference."""

from itertools import chain, permutations, product

import pytest
from helpers import each, examples
from hypothesis import given
from hypothesis import strategies as st

import gradeval
from gradeval.registry.metric import REGISTRY, load
from metrics.reference import DIVERSITY, diversity, ranked

A = [("0", "1", "A", 1), ("0", "2", "B", 1), ("0", "2", "D", 1), ("0", "3", "C", 1)]
B = [("0", "1", "d0", 1), ("0", "2", "d0", 1), ("0", "1", "d1", 1)]
OF_A = """ERR_IA@5 .393343 nERR_IA@5 .829787 alpha_DCG@5 .405289 alpha_nDCG@5 .786896 NRBP .390625 nNRBP .862069
AP_IA .5 P_IA@5 .2 StRecall .666667 ERR_IA@10 .390776"""
OF_D0 = "alpha_nDCG@5 .863757 ERR_IA@5 .726172 nERR_IA .888889 NRBP .75 nNRBP .888889 AP_IA .75"
OF_D1 = "alpha_nDCG@5 .431879 ERR_IA@5 .363086 nERR_IA .444444 NRBP .375 nNRBP .444444 AP_IA .25"


def values(qrels, run, metrics):
    results = gradeval.evaluate(qrels, run, metrics)
    return {str(spec): results.per_query(0, spec) for spec in results.specs}


@each(("qrels", "ranking", "listed"), [(A, "ADEB", OF_A), (B, ["d0"], OF_D0), (B, ["d1"], OF_D1)])
def test_the_examples(qrels, ranking, listed):
    expected = dict(zip(listed.split()[::2], map(float, listed.split()[1::2]), strict=True))
    run = {"0": {document: -place for place, document in enumerate(ranking)}}
    found = values(qrels, run, " ".join(expected))
    assert {name: of["0"] for name, of in found.items()} == pytest.approx(expected, abs=5e-7)


@st.composite
def collections(draw):
    judged = st.tuples(st.sampled_from("qrstuv"), st.sampled_from("123"), st.sampled_from("ABCDE"))
    qrels = draw(st.dictionaries(judged, st.sampled_from([-1, 0, 1, 2]), min_size=1, max_size=48))
    scores = st.dictionaries(st.sampled_from("ABCDEFG"), st.sampled_from([1.0, 2.0, 3.0]), min_size=1)
    return qrels, {query: draw(scores) for query in "qrstuv"}


@examples(times=0.3)
@given(collections())
def test_against_the_reference(collection):
    qrels, run = collection
    load()
    takes = {name: set(REGISTRY[name].by_name) for name in DIVERSITY}
    written_params = {
        "": {}, "@1": {"cutoff": 1}, "@3": {"cutoff": 3}, "(alpha=0.3)@4": {"alpha": 0.3, "cutoff": 4},
        "(alpha=0)@2": {"alpha": 0.0, "cutoff": 2}, "(beta=0.8)": {"beta": 0.8}, "(rel=2)@3": {"cutoff": 3},
        "(of=all)@2": {"of": "all", "cutoff": 2},
    }  # fmt: skip
    cases = {
        name + written: (name, params, 2 if "rel" in written else 1)
        for name in DIVERSITY
        for written, params in written_params.items()
        if set(params) <= takes[name] and (name != "P_IA" or "cutoff" in params)
    }
    found = values([(*judgment, grade) for judgment, grade in qrels.items()], run, " ".join(cases))
    for query in {q for q, _, _ in qrels}:
        of_query = {(topic, d): grade for (q, topic, d), grade in qrels.items() if q == query}
        names = {topic for topic, _ in of_query}
        for written, (name, params, least) in cases.items():
            good = [judgment for judgment, grade in of_query.items() if grade >= least]
            topics = [{d for t, d in good if t == topic} for topic in names]
            expected = diversity(name, ranked(run[query]), topics, len(names), **params)
            assert found[written][query] == pytest.approx(expected, abs=1e-12), (written, query)


def test_judgments_without_subtopics_are_noted():
    for subtopic, expected in (("0", ["no_subtopics"]), ("2", [])):
        qrels = [("q", "0", "a", 1), ("q", subtopic, "b", 1)]
        results = gradeval.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "alpha_nDCG@2 AP")
        assert [notice.kind.value for notice in results.notices] == expected


def test_the_ideal_ranking_is_worth_one():
    """To the last digit or two: the sums of the ideal are of gains that were not rounded."""
    judged = {"q": {f"d{i}": 1 for i in range(12)}}
    run = {"q": {document: float(-i) for i, document in enumerate(sorted(judged["q"], reverse=True))}}
    alpha = 0.7764564963051171
    names = [f"nNRBP(alpha={alpha},beta=0.99)", f"alpha_nDCG(alpha={alpha})", f"nERR_IA(alpha={alpha})"]
    results = gradeval.evaluate(judged, run, names)
    assert [abs(results.mean("run1", name) - 1) < 1e-15 for name in names] == [True] * 3


@examples(times=0.5)
@given(collections())
def test_expected_over_the_orders_of_ties(collection):
    judged, runs = collection
    qrels = [(*judgment, max(grade, 0)) for judgment, grade in judged.items()]
    names = "AP_IA AP_IA@2 P_IA@1 P_IA@3 StRecall StRecall@2 StRecall(of=all)@3"
    query = qrels[0][0]
    run = dict(list(runs[query].items())[:4])
    of_score = [[document for document in run if run[document] == score] for score in (3.0, 2.0, 1.0)]
    orders = product(*map(permutations, of_score))
    ranked = [{query: {d: -float(i) for i, d in enumerate(chain(*order))}} for order in orders]
    every = gradeval.evaluate(qrels, ranked, names, queries="both").means
    expected = gradeval.evaluate(qrels, {query: run}, names, queries="both", ties="expected").means[0]
    assert expected == pytest.approx(every.mean(axis=0), abs=1e-12, nan_ok=True)
