"""A grade for unjudged documents: the values are those of judgments that are completed by hand."""

import json
from functools import partial
from random import Random
from unittest.mock import patch

import numpy as np
from cli.command import gradeval as command
from helpers import each, error_of, examples, raises, ranking
from hypothesis import given
from hypothesis import strategies as st
from metrics import strategies

import gradeval
from gradeval import GradevalError, evaluate
from gradeval.errors import OptionError
from gradeval.evaluation import score
from gradeval.evaluation.score import has_expected
from gradeval.evaluation.ties import rises
from gradeval.notices import NoticeKind
from gradeval.registry.metric import REGISTRY
from gradeval.registry.spec import parse
from gradeval.tables.qrels import shares_of

METRICS = [metric.usage for metric in REGISTRY.values() if metric.is_ours]
EXPECTED = [name for name in METRICS if has_expected(parse(name)[0])]
SUBTOPICS = "alpha_nDCG alpha_nDCG@2 alpha_DCG nERR_IA NNRBP AP_IA P_IA@3 StRecall StRecall(of=all)@2 nDCG AP"
QRELS = {"1": {"a": 3.0, "b": 0.0, "c": 1.0}, "2": {"a": 1.0}}
RUN = {"1": {"a": 5, "x": 4, "b": 3, "y": 2}, "2": {"u": 9, "a": 8, "v": 7, "w": 7}}


def completed(qrels, run, grade, depth=None):
    """The judgments with those of the unjudged documents that the run retrieves."""
    retrieved = {query: ranking(run.get(query, {}))[:depth] for query in qrels}
    unjudged = {query: dict.fromkeys(retrieved[query], grade) for query in qrels}
    # the scale of grades has this one, whatever a run retrieves
    return {**{query: unjudged[query] | qrels[query] for query in qrels}, "": {"": grade}}


def check_same(ours, other, scale=None):
    """Values, and tie ranges where these are exact: others are of the orders tried, which depend on how many
    documents are judged. scale: the grades that count.
    """
    for m, spec in enumerate(ours.specs):
        queries = ours.runs[0].counted.sum()
        assert (
            ours.runs[0].texts.get(m) == (other.runs[0].texts.get(m) or [None])[:queries]
            or not spec.metric.text
        )
        compared = [(ours.runs[0].values[m], other.runs[0].values[m])]
        if scale is not None and rises(spec, scale):
            compared += zip(ours.runs[0].tie_range[:, m], other.runs[0].tie_range[:, m], strict=True)
        for numbers, expected in compared:
            np.testing.assert_array_equal(numbers, expected[:queries], str(spec))


@examples(times=0.5)
@given(
    st.integers(0, 2**32),
    st.sampled_from([*strategies.KINDS]),
    st.sampled_from([(None, None), (None, 3), ("trec", 1), ("input", None), ("best", None), ("worst", None)]),
    st.sampled_from([0.0, 1.0, 2.0, -1.0, 0.5, 4.0]),
    st.sampled_from([0.0, 0.0, 1.0]),
)
def test_every_metric(seed, kind, ties_and_depth, grade, zero_grade):
    ties, depth = ties_and_depth
    queries = strategies.crowd(seed, kind, 10, 4)
    qrels = {str(q): judged for q, (judged, _) in enumerate(queries)} | {"none": {"a": 1.0}}
    run = {str(q): scores for q, (_, scores) in enumerate(queries)} | {"none": {"b": 1.0}}
    qrels, run = ({query: of for query, of in data.items() if of} for data in (qrels, run))
    options = {"ties": ties, "depth": depth, "zero_grade": zero_grade, "query_ids": [*qrels]}
    options["tie_range"] = depth is None
    full = completed(qrels, run, grade, depth)
    of_full = evaluate(full, run, METRICS, **options)
    scale = np.unique([g - zero_grade for of in full.values() for g in of.values()]) if depth is None else None
    for rows in (1, 1 << 16):  # of the queries that are scored together
        with patch.object(score, "shares_of", partial(shares_of, rows=rows)):
            check_same(evaluate(qrels, run, METRICS, unjudged_grade=grade, **options), of_full, scale)
    options |= {"ties": "expected", "tie_range": False, "depth": None}
    full = completed(qrels, run, grade)
    check_same(
        evaluate(qrels, run, EXPECTED, unjudged_grade=grade, **options),
        evaluate(full, run, EXPECTED, **options),
    )


@each("rows", [1, 1 << 16])  # of the queries that are scored together
def test_metrics_of_subtopics(rows, monkeypatch):
    monkeypatch.setattr(score, "shares_of", partial(shares_of, rows=rows))
    random = Random(1)
    for grade in (0, 1, 2):
        judged = [
            (query, topic, document, random.randrange(3))
            for query in "12"
            for topic in "st"[: 1 + int(query == "1")]
            for document in "abcde"
            if random.random() < 0.5
        ]
        run = {query: {document: random.randrange(4) for document in "abcxyz"} for query in "12"}
        known = {(query, document) for query, _, document, _ in judged}
        topics = dict.fromkeys((query, topic) for query, topic, *_ in judged)
        full = [
            (query, topic, document, grade)
            for query, topic in topics
            for document in run[query]
            if (query, document) not in known
        ]
        ours = evaluate(judged, run, SUBTOPICS, unjudged_grade=grade)
        check_same(ours, evaluate([*judged, *full], run, SUBTOPICS))


def test_files_passages_and_an_evaluator_agree(tmp_path):
    lines = [f"{q} Q0 {d} 0 {s} t\n" for q, of in RUN.items() for d, s in of.items()]
    Random(3).shuffle(lines)
    (tmp_path / "run").write_text("".join(lines) + "3 Q0 a 0 1 t\n")
    (tmp_path / "passages").write_text("".join(lines).replace(" 0 ", "#1 0 ") + "1 Q0 x#2 0 0 t\n")
    expected = evaluate(completed(QRELS, RUN, 2.0), RUN, "nDCG AP", query_ids="1,2").means
    for run, options in (("run", {}), ("passages", {"max_passage": "#"})):
        results = evaluate(QRELS, tmp_path / run, "nDCG AP", unjudged_grade=2, **options)
        np.testing.assert_array_equal(results.means, expected)
    evaluator = gradeval.Evaluator(QRELS, "nDCG AP", unjudged_grade=2, warnings="ignore")
    np.testing.assert_array_equal(evaluator.evaluate(RUN).means, expected)
    # each run has its own judgments
    other = {"1": {"a": 5, "z": 4}}
    both = evaluator.evaluate({"one": other, "two": RUN})
    np.testing.assert_array_equal(both.means[1:], expected)
    alone = evaluate(completed(QRELS, other, 2.0), other, "nDCG AP", query_ids="1,2").means
    np.testing.assert_array_equal(both.means[:1], alone)


def test_what_is_said():
    results = evaluate(QRELS, {"1": {"x": 1}}, "nDCG", unjudged_grade=1)
    assert results.notices.only(NoticeKind.NOTHING_JUDGED)
    assert not results.notices.only(NoticeKind.JUDGED_SHARE)
    assert "unjudged_grade:1" in results.signature(0, "nDCG")
    assert results.options["unjudged_grade"] == 1
    raises(
        OptionError,
        "unjudged_grade and judged_only",
        evaluate,
        QRELS,
        RUN,
        "AP",
        unjudged_grade=1,
        judged_only=True,
    )
    raises(OptionError, "no unjudged documents", gradeval.pool, QRELS, [RUN], unjudged_grade=1)
    low = error_of(OptionError, evaluate, QRELS, RUN, "AP", unjudged_grade=1e-150, zero_grade=-1e-300)
    assert "zero_grade" in low


def test_saved_results_agree_in_it(tmp_path):
    (tmp_path / "q").write_text("1 0 a 1\n")
    (tmp_path / "r").write_text("1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n")
    saved = tmp_path / "s.json"
    files = [tmp_path / "q", tmp_path / "r"]
    done = command(*map(str, files), "-mAP", "--unjudged-grade=1", "-q", "-fjson", "-o", str(saved))
    assert (done.code, json.loads(saved.read_text())["options"]["unjudged_grade"]) == (0, 1)
    assert evaluate(files[0], saved, "AP", unjudged_grade=1).mean(0, "AP") == 1
    text = error_of(GradevalError, evaluate, files[0], saved, "AP")
    assert "--unjudged-grade 1, and here it is default" in text
    content = json.loads(saved.read_text())
    del content["options"]["unjudged_grade"]  # as of an older version
    saved.write_text(json.dumps(content))
    assert evaluate(files[0], saved, "AP").mean(0, "AP") == 1


def test_explanations_show_the_grade():
    [one] = gradeval.explain(QRELS, RUN, "nDCG@3", "2", unjudged_grade=2, against=RUN, zero_grade=0)
    full = completed(QRELS, RUN, 2.0)
    [other] = gradeval.explain(full, RUN, "nDCG@3", "2")
    assert one.documents == other.documents and one.terms == other.terms and one.ideal == other.ideal
    assert [document.id for document in one.documents] == ["u", "a", "w", "v"]
    [alone] = gradeval.explain(QRELS, RUN, "nDCG@3", "2", unjudged_grade=2)
    text = " ".join(str(alone).split())
    assert " 2* " in text and "Not judged: documents with the grade of --unjudged-grade (*)." in text
    content = alone.to_dict()["documents"]
    assert [document.get("assumed", False) for document in content] == [True, False, True, True]
    [cut] = gradeval.explain(QRELS, RUN, "AP", "1", unjudged_grade=2, depth=2)
    assert {document.id: document.grade for document in cut.documents} == {
        "a": 3,
        "x": 2,
        "b": 0,
        "y": None,
        "c": 1,
    }
    for metric in ("Rprec", "bpref", "muAP", "rankDCG"):
        both = [
            gradeval.explain(q, RUN, metric, "1", **o)[0]
            for q, o in ((QRELS, {"unjudged_grade": 2}), (full, {}))
        ]
        assert both[0].value == both[1].value and both[0].changes == both[1].changes


def test_metrics_of_condensed_lists_are_refused():
    """As with the option judged_only."""
    message = "judged_only removes the unjudged documents"
    judged = {"q": {"a": 1}}
    raises(GradevalError, message, gradeval.evaluate, judged, judged, "P(judged_only=true)@1", unjudged_grade=1)
