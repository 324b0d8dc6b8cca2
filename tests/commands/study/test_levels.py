"""Scheel's figures 6 to 8: AP at every threshold, and LETOR features as runs and as virtual assessors."""

import numpy as np
import pytest
from shared_data import shared

import gradeval
from gradeval.commands.study.levels import levels
from gradeval.errors import MetricError

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
    with pytest.raises(MetricError):
        levels(QRELS, RUNS, "num_rel")
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


FEATURES = "1,5,9,11,15,19,21,22"
TITLE_TF, TITLE_TFIDF = 1, 9
CLOSE_TO_TITLE = ["feature15", "feature11", "feature19"]
CONSTANT = {"feature5", "feature21", "feature22"}  # the same for all documents of a query


@pytest.fixture(scope="module")
def ohsumed(tmp_path_factory):
    folds = [shared("ohsumed", f"Fold{fold}.test.txt.gz") for fold in range(1, 6)]
    path = tmp_path_factory.mktemp("ohsumed") / "all.txt.gz"
    path.write_bytes(b"".join(fold.read_bytes() for fold in folds))
    return path


def means_of(study):
    return {run: means for run, (_, means) in by_run(study).items()}


def thresholds(study):
    return list(next(iter(by_run(study).values()))[0])


def check_order(study, *expected):
    """All three metrics order the strategies so. What has no order is where the rule for ties puts it."""
    for _, text in study.table("orders").rows:
        order = [equal.split(" = ") for equal in text.split(" > ")]
        assert [equal for equal in order if set(equal) != CONSTANT] == [[run] for run in expected]
        assert len(order) == len(expected) + 1


@pytest.mark.slow
def test_figure_6(ohsumed):
    study = levels(ohsumed, features=FEATURES)
    assert thresholds(study) == [1, 2]
    check_order(study, "feature11", "feature15", "feature9", "feature1", "feature19")
    assert all(at_threshold[1] > at_threshold[2] for at_threshold, _ in by_run(study).values())


def check_reference(study, reference):
    assert study.options["reference"] == reference
    for value in means_of(study)[reference].values():
        assert value == pytest.approx(1, abs=1e-12)


@pytest.mark.slow
def test_figure_7(ohsumed):
    """The TF of the title assesses: it scores 1, and its TF-IDF comes closest, by every metric."""
    study = levels(ohsumed, features=FEATURES, qrels_feature=TITLE_TF, ties="trec")
    assert len(thresholds(study)) == 9
    check_reference(study, "feature1")
    check_order(study, "feature1", "feature9", *CLOSE_TO_TITLE)
    assert min(means_of(study)["feature9"].values()) > 0.98


@pytest.mark.slow
def test_figure_8(ohsumed):
    """The TF-IDF of the title assesses, on many levels: NDCG alone falls for what is not close to it."""
    study = levels(ohsumed, features=FEATURES, qrels_feature=TITLE_TFIDF, ties="trec")
    assert len(thresholds(study)) > 100
    check_reference(study, "feature9")
    check_order(study, "feature9", "feature1", *CLOSE_TO_TITLE)
    few = means_of(levels(ohsumed, features=FEATURES, qrels_feature=TITLE_TF, ties="trec"))
    many = means_of(study)
    for run in CLOSE_TO_TITLE:
        assert few[run]["nDCG(gain=exp)"] - many[run]["nDCG(gain=exp)"] > 0.2  # "disproportionate lower"
        for metric in ("muAP", "NDCNG"):
            assert abs(few[run][metric] - many[run][metric]) < 0.02  # "do not differ much"
