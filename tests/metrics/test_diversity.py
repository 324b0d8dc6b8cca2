"""Metrics of subtopics: the examples of their definition, and random rankings against the reference."""

import json
from itertools import chain, permutations, product
from pathlib import Path

import numpy as np
import pytest
from cli.command import gradeval as run_gradeval
from helpers import each, examples
from hypothesis import given
from hypothesis import strategies as st

import gradeval
from gradeval.registry.metric import REGISTRY, load
from metrics.reference import DIVERSITY, diversity, ranked

A = "0 1 A 1\n0 2 B 1\n0 2 D 1\n0 3 C 1\n"
B = "0 1 d0 1\n0 2 d0 1\n0 1 d1 1\n"
OF_A = """ERR_IA@5 .393343 nERR_IA@5 .829787 alpha_DCG@5 .405289 alpha_nDCG@5 .786896 NRBP .390625 nNRBP .862069
AP_IA .5 P_IA@5 .2 StRecall .666667 ERR_IA@10 .390776"""
OF_D0 = "alpha_nDCG@5 .863757 ERR_IA@5 .726172 nERR_IA .888889 NRBP .75 nNRBP .888889 AP_IA .75"
OF_D1 = "alpha_nDCG@5 .431879 ERR_IA@5 .363086 nERR_IA .444444 NRBP .375 nNRBP .444444 AP_IA .25"


def values(folder, qrels, run, metrics, **options):
    """The value of each metric for each query. run: query -> document -> score."""
    path = folder / "qrels.txt"
    path.write_text(qrels)
    results = gradeval.evaluate(path, run, metrics, **options)
    return {
        str(spec): dict(zip(results.queries, results.runs[0].values[m], strict=True))
        for m, spec in enumerate(results.specs)
    }


@each(("qrels", "ranking", "listed"), [(A, "ADEB", OF_A), (B, ["d0"], OF_D0), (B, ["d1"], OF_D1)])
def test_the_examples(tmp_path, qrels, ranking, listed):
    expected = dict(zip(listed.split()[::2], map(float, listed.split()[1::2]), strict=True))
    run = {"0": {document: -place for place, document in enumerate(ranking)}}
    found = values(tmp_path, qrels, run, " ".join(expected))
    assert {name: of["0"] for name, of in found.items()} == pytest.approx(expected, abs=5e-7)


@st.composite
def collections(draw):
    judged = st.tuples(st.sampled_from("qrstuv"), st.sampled_from("123"), st.sampled_from("ABCDE"))
    qrels = draw(st.dictionaries(judged, st.sampled_from([-1, 0, 1, 2]), min_size=1, max_size=48))
    scores = st.dictionaries(st.sampled_from("ABCDEFG"), st.sampled_from([1.0, 2.0, 3.0]), min_size=1)
    return qrels, {query: draw(scores) for query in "qrstuv"}


PARAMS = {
    "": {}, "@1": {"cutoff": 1}, "@3": {"cutoff": 3}, "(alpha=0.3)@4": {"alpha": 0.3, "cutoff": 4},
    "(alpha=0)@2": {"alpha": 0.0, "cutoff": 2}, "(beta=0.8)": {"beta": 0.8}, "(rel=2)@3": {"cutoff": 3},
    "(of=all)@2": {"of": "all", "cutoff": 2},
}  # fmt: skip


@examples(times=0.3)
@given(collections())
def test_against_the_reference(tmp_path_factory, collection):
    qrels, run = collection
    load()
    takes = {name: set(REGISTRY[name].by_name) for name in DIVERSITY}
    cases = {
        name + written: (name, params, 2 if "rel" in written else 1)
        for name in DIVERSITY
        for written, params in PARAMS.items()
        if set(params) <= takes[name] and (name != "P_IA" or "cutoff" in params)
    }
    text = "".join(f"{q} {topic} {document} {grade}\n" for (q, topic, document), grade in qrels.items())
    found = values(tmp_path_factory.mktemp("of"), text, run, " ".join(cases))
    for query in {q for q, _, _ in qrels}:
        of_query = {(topic, d): grade for (q, topic, d), grade in qrels.items() if q == query}
        names = {topic for topic, _ in of_query}
        for written, (name, params, least) in cases.items():
            topics = [
                {d for (t, d), grade in of_query.items() if t == topic and grade >= least} for topic in names
            ]
            expected = diversity(name, ranked(run[query]), topics, len(names), **params)
            assert found[written][query] == pytest.approx(expected, abs=1e-12), (written, query)


def test_other_metrics_take_the_highest_grade(tmp_path):
    run = {"q": {"a": 2.0, "b": 1.0}}
    found = values(tmp_path, "q 1 a 0\nq 2 a 2\nq 1 b 1\n", run, "nDCG AP(rel=2)")
    assert found == values(tmp_path, "q 0 a 2\nq 0 b 1\n", run, "nDCG AP(rel=2)")


def test_judgments_without_subtopics_are_noted(tmp_path):
    path = tmp_path / "q"
    for column, expected in (("0", ["no_subtopics"]), ("2", [])):
        path.write_text(f"q 0 a 1\nq {column} b 1\n")
        results = gradeval.evaluate(path, {"q": {"a": 2.0, "b": 1.0}}, "alpha_nDCG@2 AP")
        assert [notice.kind.value for notice in results.notices] == expected


def test_the_ideal_ranking_is_worth_one():
    """To the last digit or two: the sums of the ideal are of gains that were not rounded."""
    judged = {"q": {f"d{i}": 1 for i in range(12)}}
    run = {"q": {document: float(-i) for i, document in enumerate(sorted(judged["q"], reverse=True))}}
    alpha = 0.7764564963051171
    names = [f"nNRBP(alpha={alpha},beta=0.99)", f"alpha_nDCG(alpha={alpha})", f"nERR_IA(alpha={alpha})"]
    results = gradeval.evaluate(judged, run, names)
    assert [abs(results.mean("run1", name) - 1) < 1e-15 for name in names] == [True] * 3


def test_every_command_that_compares_has_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(q, t, f"d{(q * 5 + t * 3 + i) % 7}", 1 + i) for q in range(4) for t in range(3) for i in range(2)]
    Path("q").write_text("".join(f"{q} {t} {d} {grade}\n" for q, t, d, grade in rows))
    for name, step in (("a", 2), ("b", 3)):
        run = (f"{q} Q0 d{(d * step) % 7} 1 {7 - d} t\n" for q in range(4) for d in range(7))
        Path(name).write_text("".join(run))
    load()
    metrics = [f"{name}@3" if REGISTRY[name].at else name for name in DIVERSITY] + ["nDCG@3"]
    means = gradeval.evaluate("q", ["a", "b"], metrics).means
    assert (means[0] != means[1]).sum() > 8
    for qrels in ("q", rows):
        pairs = gradeval.compare(qrels, ["a", "b"], metrics).to_dict()["comparisons"]
        np.testing.assert_allclose([[pair[key] for pair in pairs] for key in ("baseline_mean", "mean")], means)
    manifest = {"metrics": metrics, "systems": ["a", "b"], "runs": "{system}"}
    cells = gradeval.batch(manifest | {"collections": {"c": {"qrels": "q"}}}).to_dict()["cells"]
    np.testing.assert_allclose([[value["mean"] for value in cell["values"].values()] for cell in cells], means)
    checks = [f"{metric} >= {mean - 1e-6}" for metric, mean in zip(metrics, means[1], strict=True)]
    required = [part for check in checks for part in ("--require", check)]
    done = run_gradeval("gate", "q", "b", *required, "-f", "json", "--allow", "few_queries", "--quiet")
    np.testing.assert_allclose([check["value"] for check in json.loads(done.out)["checks"]], means[1])
    html = gradeval.report("q", ["a", "b"], metrics).render()
    assert all(f"{mean:.4f}" in html for mean in means.reshape(-1))
    assert all(REGISTRY[name].display in html for name in DIVERSITY)


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
