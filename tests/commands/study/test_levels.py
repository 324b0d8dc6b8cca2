"""Scheel's figures 6 to 8: AP at every threshold, and LETOR features as runs and as virtual assessors."""

import os
from pathlib import Path

import numpy as np
import pytest
from helpers import error_of

import gradeval
from gradeval.commands.study.levels import levels
from gradeval.errors import MetricError

SHARED = Path(os.environ.get("GRADEVAL_SHARED", Path(__file__).resolve().parents[4] / "shared"))
QRELS = {"q1": {"a": 3, "b": 1, "c": 0, "d": 0.5}, "q2": {"a": 1, "b": 0}}
RUNS = {
    "good": {"q1": {"a": 4, "b": 3, "d": 2, "c": 1}, "q2": {"a": 2, "b": 1}},
    "bad": {"q1": {"c": 4, "d": 3, "b": 2, "a": 1}, "q2": {"b": 2, "a": 1}},
    "same": {"q1": {"c": 4, "d": 3, "b": 2, "a": 1}, "q2": {"b": 2, "a": 1}},
}
DOCUMENTS = [(0, 1, 1.5, 4), (1, 2, 2.5, 1), (2, 3, 3.75, 2), (0, 0, 0, 3), (1, 1, 1.25, 5)]
LETOR = "\n".join(
    f"{grade} qid:{query} 1:{tf} 2:{tfidf} 3:{other}"
    for query in (1, 2)
    for grade, tf, tfidf, other in DOCUMENTS
)


def by_run(study):
    """For each run: AP by threshold, and the means of the metrics."""
    found = {}
    for run, metric, threshold, mean in study.table("values").rows:
        at_threshold, means = found.setdefault(run, ({}, {}))
        if threshold is None:
            means[metric] = mean
        else:
            at_threshold[threshold] = mean
    return found


def test_values_are_those_of_evaluate():
    """A metric that was asked for is no threshold."""
    study = levels(QRELS, RUNS, "AP(rel=1) muAP nDCG(gain=exp) NDCNG")
    expected = gradeval.evaluate(QRELS, RUNS, "AP(rel=0.5) AP(rel=1) AP(rel=3) muAP nDCG(gain=exp) NDCNG")
    for (run, (at_threshold, means)), row in zip(by_run(study).items(), expected.means.tolist(), strict=True):
        assert run in RUNS
        assert at_threshold == dict(zip((0.5, 1.0, 3.0), row[:3], strict=True))
        assert list(means.values()) == [row[1], *row[3:]]
    assert "reference" not in study.options
    error_of(MetricError, levels, QRELS, RUNS, "num_rel")
    # orders
    study = levels(QRELS, RUNS)
    assert [row[1] for row in study.table("orders").rows] == ["good > bad = same"] * 3
    rows = study.table("values").to_dicts()
    assert rows[0] == {"run": "good", "metric": "AP", "threshold": 0.5, "mean": 1.0}
    assert rows[3] == {"run": "good", "metric": "muAP", "threshold": None, "mean": 1.0}


@pytest.mark.parametrize("feature", [1, 2])
def test_the_virtual_assessor_scores_1(tmp_path, feature):
    path = tmp_path / "test.letor"
    path.write_text(LETOR)
    study = levels(path, features="1-3", qrels_feature=feature, ties="worst")
    assert study.options["reference"] == f"feature{feature}"
    means = {run: list(means.values()) for run, (_, means) in by_run(study).items()}
    np.testing.assert_allclose(means[f"feature{feature}"], 1, rtol=1e-12)
    assert max(means["feature3"]) < 1


FOLDS = [SHARED / "data" / "ohsumed" / f"Fold{fold}.test.txt.gz" for fold in range(1, 6)]
CLOSE_TO_TITLE = ["feature15", "feature11", "feature19"]
CONSTANT = {"feature5", "feature21", "feature22"}  # the same for all documents of a query


def check(study, thresholds, reference, *expected):
    """All three metrics order the strategies so; what has no order is where the rule for ties puts it. Returns
    the means: 1 for the reference, which assesses.
    """
    assert [len(at_threshold) for at_threshold, _ in by_run(study).values()] == [thresholds] * 8
    for _, text in study.table("orders").rows:
        order = [equal.split(" = ") for equal in text.split(" > ")]
        assert [equal for equal in order if set(equal) != CONSTANT] == [[run] for run in expected]
        assert len(order) == len(expected) + 1
    assert study.options.get("reference") == reference
    means = {run: of for run, (_, of) in by_run(study).items()}
    assert reference is None or [*means[reference].values()] == pytest.approx([1] * 3, abs=1e-12)
    return means


@pytest.mark.slow
@pytest.mark.skipif(not FOLDS[0].exists(), reason="the shared data are not there")
def test_figures_6_to_8(tmp_path):
    """The grades, the TF of the title and its TF-IDF assess: on many levels NDCG alone falls for the others."""
    path = tmp_path / "all.txt.gz"
    path.write_bytes(b"".join(fold.read_bytes() for fold in FOLDS))
    judged, tf, tfidf = (
        levels(path, features="1,5,9,11,15,19,21,22", **options)
        for options in ({}, {"qrels_feature": 1, "ties": "trec"}, {"qrels_feature": 9, "ties": "trec"})
    )
    check(judged, 2, None, "feature11", "feature15", "feature9", "feature1", "feature19")
    assert all(at_threshold[1] > at_threshold[2] for at_threshold, _ in by_run(judged).values())
    few = check(tf, 9, "feature1", "feature1", "feature9", *CLOSE_TO_TITLE)
    assert min(few["feature9"].values()) > 0.98
    many = check(tfidf, 1128, "feature9", "feature9", "feature1", *CLOSE_TO_TITLE)
    for run in CLOSE_TO_TITLE:
        assert few[run]["nDCG(gain=exp)"] - many[run]["nDCG(gain=exp)"] > 0.2  # "disproportionate lower"
        for metric in ("muAP", "NDCNG"):
            assert abs(few[run][metric] - many[run][metric]) < 0.02  # "do not differ much"
