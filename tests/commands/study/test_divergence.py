"""Moniz's figures 2 and 4."""

import numpy as np
import pytest
from helpers import raises

import gradeval
from gradeval.commands.study.divergence import divergence, quartiles
from gradeval.errors import InputError, MetricError, OptionError


def values_of(study):
    """(2, 2, M, D)."""
    shape = 2, 2, len(study.options["metrics"]), study.options["draws"]
    return np.array([row[4] for row in study.table("draws").rows]).reshape(shape)


def test_figure_2():
    """metrics.md: medians near .998 and .906 for balanced scores; the ad-hoc nDCG is .963645 and 1."""
    study = divergence()
    values = values_of(study)  # balanced and not; swap and reverse; the ad-hoc nDCG and nDCGφ; of each draw
    for (base, phi), ad_hoc, median, tolerance in zip(
        values[0], (0.963645, 1.0), (0.998, 0.906), (0.001, 0.005), strict=True
    ):
        np.testing.assert_allclose(base, ad_hoc, atol=5e-7)
        assert np.median(phi) == pytest.approx(median, abs=tolerance)
    # in most draws the ad-hoc nDCG overestimates the error of a swap, and underestimates that of a reversal
    impact = {tuple(row[:2]): row[3:5] for row in study.table("impact").rows}
    for distribution, ((base, phi), _) in zip(("balanced", "imbalanced"), values, strict=True):
        assert impact[distribution, "swap"][0] == np.mean(phi > base) > 0.5
        assert impact[distribution, "reverse"] == (0, 1)


def test_seed_alone_decides(monkeypatch):
    some = divergence(draws=40, items=30, cutoff=5, jobs=1)
    monkeypatch.setattr("gradeval.commands.study.tables.SHARE", 100)
    assert some.tables == divergence(draws=40, items=30, cutoff=5, jobs=3).tables
    assert not np.array_equal(values_of(some), values_of(divergence(draws=40, items=30, cutoff=5, seed=2)))


QRELS = {"q1": {"a": 9, "b": 3, "c": 1, "d": 0}, "q2": {"a": 1, "b": 2, "c": 0, "d": 0}, "q3": {"a": 0, "b": 0}}
RUN = {"q1": {"b": 3, "a": 2, "c": 1}, "q2": {"b": 2, "a": 1}, "q3": {"a": 1}}


def test_differences_of_user_data():
    study = divergence(QRELS, RUN, "nDCG@10 nDCGphi@10")
    results = gradeval.evaluate(QRELS, RUN, "nDCG@10 nDCGphi@10")
    [row] = study.table("differences").to_dicts()
    first, second = results.runs[0].values
    assert row["queries"] == 3
    assert [row[name] for name in ("min", "q1", "median", "q3", "max")] == quartiles(first - second)
    assert row["positive"] == np.mean(first > second)
    queries = study.table("queries").to_dicts()
    assert [one["query"] for one in queries] == ["q1", "q2", "q3"]
    assert queries[0]["difference"] == first[0] - second[0]
    assert study.notices == results.notices
    undefined = divergence(QRELS, RUN, "nDCG rankDCG").table("differences").to_dicts()
    assert [row["queries"] for row in undefined] == [2]


def test_wrong_arguments():
    for arguments, error, match in (
        ({"runs": RUN}, OptionError, "runs need qrels"),
        ({"rel": 1}, OptionError, "rel requires qrels"),
        ({"items": 10}, OptionError, "items must be an integer from 11"),
        ({"items": 10**6, "draws": 100}, OptionError, "at most"),
        ({"qrels": QRELS, "runs": RUN, "metrics": "nDCG"}, MetricError, "two metrics"),
        ({"qrels": QRELS, "runs": {"other": {"a": 1}}}, InputError, "no query in common"),
    ):
        raises(error, match, divergence, **arguments)


def test_grades_of_other_cutoffs_are_in_proportion():
    """Ranks k and k + 1 have different grades, so nDCG sees their swap."""
    study = divergence(cutoff=5, draws=20)
    assert study.options["metrics"] == ["nDCG(gain=exp,top=5/13/25)@5", "nDCGphi@5"]
    ndcg = values_of(study)[:, 0, 0]
    assert (ndcg < 1).all()
    assert divergence(draws=2).options["metrics"][0] == "nDCG(gain=exp,top=10/25/50)@10"
