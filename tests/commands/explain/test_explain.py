"""Explanations: sums that add up to the value, leave-one-out, the tables of the papers; queries and data."""

import json
import math
import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from helpers import each, judgments_of, one_by_one, raises, ranked, with_needed

import gradeval
from gradeval.commands.explain.explain import Explanation, Phi, open_to_explain, titles_of
from gradeval.commands.explain.explain import explained as explained_by
from gradeval.errors import GradevalError, MetricError, OptionError
from gradeval.options import Options
from gradeval.registry.metric import REGISTRY, load
from gradeval.registry.spec import parse

load()
Data = dict[str, dict[str, float]]
GRADES = {"q1": [0, 1], "q2": [-1, 0, 1, 2, 3], "q3": [0.5, 2, 3]}


def collection(seed: int) -> tuple[Data, Data]:
    """Queries with tied scores, unjudged and unretrieved documents; the first one is not in the run."""
    rng = random.Random(seed)
    qrels, run = {"none": {"a": 1.0, "b": 0.0}}, {}
    names = [f"d{place}" for place in range(9)]
    for query, grades in GRADES.items():
        judged = {name: float(rng.choice(grades)) for name in names if rng.random() < 0.8}
        qrels[query] = {"kept": grades[-1], **judged}
        run[query] = {"kept": 3.0, **{name: float(rng.randrange(6)) for name in names if rng.random() < 0.8}}
    return qrels, run


QRELS, RUN = collection(1)
_, OTHER = collection(7)
MORE = """AP(rel=2)@3 AP(judged_only=true) nDCG@2 nDCG(gain=exp)@3 nDCG(gain=0:1/2:-2/3:5) nDCG(ideal=local)@4
    nDCG(top=2/4,gain=exp,discount=none)@5 nDCG(ideal=max)@3 nDCG(judged_only=true)@3 NDCNG@4
    nDCGphi(variant=released)@4 nDCGphi(points=0:0/1:0.5/3:1)@3 nERR(gain=linear) rbp(gain=binary)@3
    Compat(normalize=false) rankDCG(judged_only=true) F(judged_only=true)@3 muAP(judged_only=true)
    Accuracy(judged_only=true)"""
NUMBERS = [with_needed(name) for name in REGISTRY if not REGISTRY[name].text]
SPECS = parse([*NUMBERS, *MORE.split()])
TIES = {"ties": "trec"}  # without a search for other orders
OPTIONS = (TIES, {**TIES, "depth": 4, "no_relevant": "1", "judged_only": True})


@cache
def explained(options: int) -> dict[str, list[tuple[Explanation, Explanation]]]:
    """For each metric, of each query, the explanations by two runs."""
    how = Options(**OPTIONS[options])
    judged, opened, _ = open_to_explain(QRELS, [("run1", RUN), ("other", OTHER)], how)
    queries = explained_by(judged, opened, judged.positions(QRELS), SPECS, how)
    by_query = [list(zip(*of_runs, strict=True)) for of_runs in queries]
    return dict(zip(map(str, SPECS), map(list, zip(*by_query, strict=True)), strict=True))


@each("o", range(len(OPTIONS)))
def test_sums_add_up_to_the_value(o):
    values = gradeval.evaluate(QRELS, RUN, [*map(str, SPECS)], **OPTIONS[o]).runs[0].values.tolist()
    for spec, of_queries in zip(SPECS, values, strict=True):
        is_sum = spec.metric.terms(judgments_of([ranked([1, None, 2])]), **spec.params) is not None
        for (one, other), expected in zip(explained(o)[str(spec)], of_queries, strict=True):
            assert (repr(one.value), one.is_sum) == (repr(expected), is_sum), spec
            if is_sum and not one.is_empty:
                check_sum(one)
            if o:
                continue
            both = replace(one, against=other)
            documents = {d.id for side in (one, other) for d in side.documents}
            assert {d.id for d in both.differences} == documents
            if is_sum and "local" not in str(spec) and not math.isnan(one.value + other.value):
                total = sum(d.difference for d in both.differences)
                assert total == pytest.approx(one.value - other.value, abs=1e-9), spec


def check_sum(one: Explanation) -> None:
    total = one_by_one([term.value for term in one.terms])
    assert repr(total) == repr(one.total)
    assert not one.terms or repr(one.terms[-1].running) == repr(total)
    value = one.scale * (total - one.base) / one.normalizer if one.normalizer else 0.0
    assert repr(value) == repr(one.value) or (math.isnan(value) and math.isnan(one.value))
    assert {term.document for term in one.terms} <= set(one.documents)
    if math.isnan(value):
        return
    adds = sum(term.contribution for term in one.terms)
    shift = one.scale * one.base / one.normalizer if one.normalizer else 0.0
    assert adds - shift == pytest.approx(one.value, abs=1e-9)
    if one.ideal is not None:
        assert one_by_one([term.value for term in one.ideal]) - one.base == one.normalizer
    if one.has_losses and one.normalizer:
        assert sum(loss.loss for loss in one.losses) == pytest.approx(1 - one.value, abs=1e-9)


@each("o", range(len(OPTIONS)))
def test_leave_one_out_is_a_recomputation(o):
    names = [name for name, of_queries in explained(0).items() if not of_queries[1][0].is_sum]
    queries = list(GRADES)
    documents = {query: list(dict.fromkeys([*RUN[query], *QRELS[query]])) for query in queries}
    values: dict[tuple[str, str], dict[str, float]] = {}
    for place in range(max(map(len, documents.values()))):
        removed = {query: of[place % len(of)] for query, of in documents.items()}
        rest = [
            {query: {d: x for d, x in of.items() if d != removed.get(query)} for query, of in data.items()}
            for data in (QRELS, RUN)
        ]
        results = gradeval.evaluate(*rest, names, **OPTIONS[o])
        for query, document in removed.items():
            column = results.runs[0].values[:, results.queries.index(query)].tolist()
            values[query, document] = dict(zip(names, column, strict=True))
    for name in names:
        for one, _ in explained(o)[name][1:]:
            assert sorted(change.document.id for change in one.changes) == sorted(documents[one.query])
            for change in one.changes:
                assert repr(change.value) == repr(values[one.query, change.document.id][name]), (name, change)
                assert repr(change.change) == repr(change.value - one.value)


def test_utilities_pairs_and_losses(scheel):
    """Documents that are not judged have terms where they count; a pair is for its relevant document."""
    qrels, run = {"q": {"a": 1, "b": 0, "c": 2}}, {"q": {"x": 4.0, "b": 3.0, "a": 2.0, "y": 1.0}}
    adds = {
        name: {one.document.id: one.contribution for one in gradeval.explain(qrels, run, name, "q")[0].terms}
        for name in ("utility", "utility(weights=3/-2/-1/0)", "num_ret", "Accuracy")
    }
    assert adds["utility"] == {"a": 1, "b": -1, "c": 0, "x": -1, "y": -1}
    assert adds["utility(weights=3/-2/-1/0)"] == {"a": 3, "b": -2, "c": -1, "x": -2, "y": -2}
    assert adds["num_ret"] == dict.fromkeys("abxy", 1)
    assert adds["Accuracy"] == {"a": pytest.approx(1 / 3)}
    [cut] = gradeval.explain(qrels, run, "utility", "q", depth=2)
    assert (cut.value, {one.document.id for one in cut.terms if one.value}) == (-2, {"x", "b"})
    # H is at rank 8 instead of 1, and C before D where both may be second; b was never retrieved
    [one] = gradeval.explain(*scheel, "nDCG@5", "t")
    assert [(loss.document.id, loss.document.rank, loss.ideal_position) for loss in one.losses] == [
        ("H", 8, 1), ("C", 3, 2), ("D", 4, 3), ("E", 5, 4), ("A", 1, 5),
    ]  # fmt: skip
    assert one.losses[0].loss == pytest.approx(4 / one.normalizer)
    [one] = gradeval.explain({"q": {"a": 1, "b": 2}}, {"q": {"a": 1}}, "nDCG", "q")
    loss = one.losses[0]
    assert (loss.document.id, loss.document.rank, loss.contribution) == ("b", None, 0.0)


def test_ranks_and_documents_that_are_shown():
    """By score, ties by id from the last to the first; then judged documents not retrieved, by grade."""
    qrels = {"q": {"b": 1, "z": 0, "y": 2, "x": 2}}
    run = {"q": {"a": 1.0, "b": 2.0, "c": 2.0, "d": 3.0}}
    [one] = gradeval.explain(qrels, run, "AP", "q")
    assert [(d.id, d.rank, d.score, d.grade) for d in one.documents] == [
        ("d", 1, 3.0, None),
        ("c", 2, 2.0, None),
        ("b", 3, 2.0, 1.0),
        ("a", 4, 1.0, None),
        ("y", None, None, 2.0),
        ("x", None, None, 2.0),
        ("z", None, None, 0.0),
    ]
    [one] = gradeval.explain(qrels, run, "AP", "q", ties="best")
    assert [d.id for d in one.documents[:3]] == ["d", "b", "c"]
    assert one.ties == "best"
    # the first ranks, then as many of those below that add most, then those missing
    run = {"q": {f"x{place:02}": 50.0 - place for place in range(9)} | {"a": 1.0, "b": 0.5, "c": 0.1}}
    [one] = gradeval.explain({"q": dict.fromkeys("abcde", 1)}, run, "AP", "q")
    selection = one.selected(2)
    assert [document.id for document in selection.documents] == ["x00", "x01", "b", "c", "d", "e"]
    assert (selection.hidden, selection.missed) == (8, 2)
    assert selection.hidden_contribution == pytest.approx(1 / 10 / 5)
    [one] = gradeval.explain({"q": dict.fromkeys("abcde", 1)}, run, "nDCG@1", "q")
    assert [document.id for document in one.selected(1).documents] == ["x00"]


@pytest.fixture
def scheel() -> tuple[Data, Data]:
    """Scheel et al. 2011: documents A to H in this order."""
    grades = dict(zip("ABCDEFGH", [1.0, 0, 3, 3, 2, 0, 1, 4], strict=True))
    return {"t": grades}, {"t": {name: -float(place) for place, name in enumerate(grades)}}


@each("name, options", [("muAP(judged_only=true)", {}), ("muAP", {"judged_only": True})])
def test_positions_without_unjudged_documents(name, options):
    qrels = {"q": {"b": 1, "d": 0, "e": 2, "f": 1}}
    run = {"q": {name: 9.0 - place for place, name in enumerate("abcde")}}
    [one] = gradeval.explain(qrels, run, name, "q", **options)
    assert [(document.id, document.rank, one.place(document)) for document in one.documents] == [
        ("a", 1, None), ("b", 2, 1), ("c", 3, None), ("d", 4, 2), ("e", 5, 3), ("f", None, None),
    ]  # fmt: skip
    assert [document.id for document in one.ranked] == ["b", "d", "e"]
    assert [level.marks for level in one.levels] == ["+-+", "--+"]


@each("name", ["AP", "nDCG(ideal=max)@3", "F@3", "nERR", "DCG"])
def test_other_metrics_have_no_losses(name):
    [one] = gradeval.explain(QRELS, RUN, name, "q1")
    assert not one.has_losses
    assert one.losses == one.differences == ()
    raises(OptionError, "losses are defined for DCGs", one.render, loss=True)


def test_points_and_groups():
    def values(grades: list[float], name: str = "nDCGphi") -> Phi:
        judged = {f"d{place}": grade for place, grade in enumerate(grades)}
        [one] = gradeval.explain({"q": judged}, {"q": {"d0": 1}}, name, "q")
        return one.phi

    phi = values([1, 2, 3, 4, 5, 6, 7, 8, 9, 100])
    assert [name for name, _, _ in phi.points] == ["lowest", "median", "whisker", "highest"]
    assert phi.whisker == 7.75 + 1.5 * 4.5
    phi = values([0, 1, 2, 3, 4])
    assert [name for name, _, _ in phi.points] == ["lowest", "median", "highest"]
    assert [row[:3] for row in phi.values][:3] == [(4.0, 1, 1.0), (3.0, 1, 0.3125), (2.0, 1, 0.0)]
    assert values([5, 5, 5, 1]).points == (("highest", 5.0, 1.0),)
    phi = values([1, 3], "nDCGphi(points=0:0/4:1)")
    assert phi.points == (("given", 0.0, 0.0), ("given", 4.0, 1.0)) and phi.whisker is None
    # katerenchuk and Rosenberg 2016, table 1, second row: .975
    grades = [9.0, 4, 4, 2, 2, 2, 1, 1, 1, 1]
    scores = [9.0, 4, 4, 2, 2, 1, 2, 1, 1, 1]
    names = [f"d{place}" for place in range(10)]
    qrels, run = ({"q": dict(zip(names, column, strict=True))} for column in (grades, scores))
    [one] = gradeval.explain(qrels, run, "rankDCG", "q")
    levels = [(4, 9.0, 1, 1, 1.0), (3, 4.0, 2, 3, 2.0), (2, 2.0, 4, 6, 3.0), (1, 1.0, 7, 10, 4.0)]
    assert [(g.level, g.grade, g.first, g.last, g.discount) for g in one.groups] == levels
    assert one.value == pytest.approx(0.975)
    assert one.normalizer + one.base == pytest.approx(4 + 3 + 2 + 1)  # the maximum
    assert [term.position for term in one.terms] == list(range(1, 11))


def test_leave_one_out_of_many_documents_is_bounded(monkeypatch):
    """Of the first ranks and the highest grades; a sentence and JSON say that the others were not tried."""
    every = gradeval.explain(QRELS, RUN, "F@3", "q2")[0]
    monkeypatch.setattr(
        "gradeval.commands.explain.explain._AT_MOST", 5 * sum(one.grade is not None for one in every.documents)
    )
    [one] = gradeval.explain(QRELS, RUN, "F@3", "q2")
    changes = {change.document: change for change in every.changes}
    assert all(change == changes[change.document] for change in one.changes)
    assert [change.document for change in one.changes][:3] == list(every.documents[:3])
    assert one.untried == one.to_dict()["untried"] == len(every.changes) - len(one.changes) > 0
    assert "untried" not in every.to_dict()
    assert f"{one.untried} others would take too long" in " ".join(one.render().split())
    [both] = gradeval.explain(QRELS, RUN, "F@3", "q2", against=OTHER)
    assert "would take too long" in " ".join(both.render().split())
    assert all(one.difference == one.contribution - one.other for one in both.differences)
    untried = {d.id for one in (both, both.against) for d in one.documents} - {d.id for d in both.differences}
    assert untried == {d.id for one in (both, both.against) for d in {*one.documents} - {*one.contributions}}


# which queries are explained, and of which data


def test_worst_queries():
    results = gradeval.evaluate(QRELS, RUN, "nDCG")
    values = results.runs[0].values[0]
    expected = [results.queries[q] for q in sorted(range(4), key=lambda q: values[q])]
    assert expected[0] == "none"
    assert [one.query for one in gradeval.explain(QRELS, RUN, "nDCG", worst=3)] == expected[:3]
    both = [one.query for one in gradeval.explain(QRELS, RUN, "nDCG", worst=9, queries="both")]
    assert both == expected[1:]
    [one] = gradeval.explain(QRELS, RUN, "nDCG", worst=1, query_ids=["q2"])
    assert one.query == "q2"
    # queries without a relevant document are not the worst
    qrels = {"empty": {"a": 0, "b": 0}, "low": {"a": 1, "b": 0}, "high": {"a": 0, "b": 1}}
    run = {query: {"b": 2.0, "a": 1.0} for query in qrels}
    order = [one.query for one in gradeval.explain(qrels, run, "nDCG", worst=3)]
    assert order == ["low", "high", "empty"]
    # undefined values are not the worst
    qrels = {"same": {"a": 1, "b": 1}, "q": {"a": 1, "b": 2}}
    run = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    assert [one.query for one in gradeval.explain(qrels, run, "rankDCG", worst=2)] == ["q"]
    [one] = gradeval.explain(qrels, run, "rankDCG", "same")
    assert math.isnan(one.value)
    assert one.to_dict()["value"] is None


def test_a_run_of_files_is_the_same(tmp_path: Path):
    q, r = tmp_path / "q", tmp_path / "r.run"
    q.write_text("".join(f"{i} 0 {d} {g}\n" for i, of in QRELS.items() for d, g in of.items()))
    lines = [f"{i} Q0 {d} 1 {s} t\n" for i, of in RUN.items() for d, s in of.items()]
    random.Random(1).shuffle(lines)  # so that the lines of a query are not together
    r.write_text("".join(lines))
    for name in ("nDCG@3", "F@3"):
        [one], [other] = gradeval.explain(q, r, name, "q1"), gradeval.explain(QRELS, RUN, name, "q1")
        assert one.run == "r" and list(one.documents) == list(other.documents)
        assert (one.terms, one.changes) == (other.terms, other.changes)


@each("given, options, error, message", [
    (("AP",), {}, OptionError, "no query is chosen"),
    (("AP", "q"), {"worst": 1}, OptionError, "queries are chosen twice"),
    (("AP",), {"worst": 0}, OptionError, "worst must be an integer from 1 to .*, not 0"),
    (("AP", "nothing"), {}, OptionError, "query 'nothing' is not in"),
    (("AP P@5", "q"), {}, MetricError, "one metric with numbers is explained at a time, not AP, P@5"),
    (("relstring", "q"), {}, MetricError, "one metric with numbers .* not relstring"),
    (("num_ret",), {"worst": 1}, MetricError, "neither high nor low values are better"),
    (("rankDCG",), {"worst": 1}, MetricError, "undefined for all queries"),
    (("AP",), {"worst": 1, "queries": "both", "query_ids": "p"}, OptionError, "no query is left"),
    (("AP", "q"), {"nothing": 1}, OptionError, "unknown option nothing"),
    (("AP", "q"), {"against": [{"q": {"a": 1}}] * 2}, OptionError, "one run .*, not 3 runs"),
])  # fmt: skip
def test_errors(given, options, error, message):
    with pytest.raises(error, match=message):
        gradeval.explain({"q": {"a": 1, "b": 1}, "p": {"a": 0}}, {"q": {"a": 1.0}}, *given, **options)


def read(tmp_path: Path, text: str) -> dict[str, str]:
    (tmp_path / "t").write_text(text)
    return dict(titles_of(tmp_path / "t", {"d1", "d2"}))


def test_titles(tmp_path):
    """The first one of a document counts, and reading stops when all are found."""
    text = "d3\tother\n\nd1\tA  title\tin two fields\r\nd1\tlater\nd2\t two \nno tab\n"
    assert read(tmp_path, text) == {"d1": "A title in two fields", "d2": "two"}
    assert read(tmp_path, "d1\t\n") == read(tmp_path, "\n") == {}
    for key in ("_id", "id", "doc_id", "docid", "docno", "pid"):
        first = {key: "d1", "title": "", "text": "first text"}
        lines = map(json.dumps, (first, {key: "d2", "title": "Two", "text": "x"}))
        assert read(tmp_path, "\n".join(lines)) == {"d1": "first text", "d2": "Two"}


@each("text, message", [
    ("d1 title\n", "t:1: there is no tab after the id"),
    ('{"id": "d1", "title": "a"}\nd2\tb\n', "t:2: .* is not a JSON object, as the first line is"),
    ('{"title": "a"}\n', "t:1: the object has no id; its name is one of _id, id"),
    ('{"id": "d1", "titel": "a"}\n', "t:1: the object has no text; its name is one of title, text"),
    ("d1\ta\0\n", "t:1: binary data"),
    ("x\n" * 50, "t:20: reading stopped here"),
])  # fmt: skip
def test_files_that_are_no_titles(tmp_path, text, message):
    raises(GradevalError, message, read, tmp_path, text)
