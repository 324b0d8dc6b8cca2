"""Figures of papers: Scheel's 4 to 8 (swaps, levels), Moniz's 2 and 4 (divergence); what changes no digit."""

import os
from pathlib import Path

import numpy as np
import pytest
from helpers import each, error_of, judgments_of, raises, ranked

import gradeval
from gradeval.commands.study import experiments
from gradeval.commands.study.experiments import (
    USES,
    _noise,
    _swapped,
    _uneven,
    divergence,
    levels,
    quartiles,
    swaps,
)
from gradeval.errors import InputError, MetricError, OptionError
from gradeval.evaluation.score import score
from gradeval.registry.spec import parse

SMALL = {"levels": (2, 3), "items": 8, "repeats": 7, "swaps": 5}


def distances(study):
    return {(row["use"], row["metric"]): row["distance"] for row in study.table("distances").to_dicts()}


@pytest.mark.slow
def test_figures_4_and_5():
    """µMAP and NDCNG do not depend on the number of levels, NDCG does. With 15 repeats chance adds to it."""
    found = distances(swaps(repeats=15))
    for metric in ("muAP", "NDCNG"):
        assert found["even", metric] < 0.04
        assert found["uneven", metric] < 0.11
        for use in USES:
            assert found[use, metric] < found[use, "nDCG(gain=exp)"] / 3
    assert found["even", "nDCG(gain=exp)"] > 0.35
    assert found["uneven", "nDCG(gain=exp)"] > 0.25


def test_noise_is_what_chance_stays_below():
    """Curves that differ by chance alone stay below it in 95 % of studies; the largest distance has no t."""
    rng = np.random.default_rng(1)
    below = 0
    for trial in range(100):
        shared = rng.normal(size=(1, 12, 20))  # as the swaps of a repeat are
        values = shared + rng.normal(size=(3, 12, 20)).cumsum(axis=2)
        below += np.ptp(values.mean(axis=1), axis=0).max() < _noise(values, trial)
    assert 0.9 <= below / 100 <= 0.99


@each("use", USES)
def test_values_are_those_of_each_ranking(use):
    """Each mean, computed again from rankings that are made one by one."""
    specs = parse("muAP rankDCG nDCGphi@3")
    study = swaps("muAP rankDCG nDCGphi@3", **SMALL, seed=3)
    for i, count in enumerate(SMALL["levels"]):
        by_swaps = [[] for _ in range(SMALL["swaps"] + 1)]
        for repeat in range(SMALL["repeats"]):
            ideal = (np.arange(8)[::-1] * count // 8) if use == "even" else _uneven(8, count, 3, repeat)
            orders = _swapped(8, 5, 3, repeat)
            assert (np.diff(orders, axis=0) != 0).sum(axis=1).tolist() == [2] * 5
            for k, order in enumerate(orders):
                grades = [float(ideal[place]) for place in order]
                by_swaps[k].append(score(judgments_of([ranked(grades)]), specs)[:, 0])
        expected = np.array(by_swaps)  # (K + 1, repeats, M)
        u = USES.index(use)
        np.testing.assert_allclose(study.mean[u, i], expected.mean(axis=1).T, rtol=1e-12)
        np.testing.assert_allclose(study.sd[u, i], expected.std(axis=1, ddof=1).T, rtol=1e-9, atol=1e-12)


def test_threads_blocks_and_other_levels_change_no_digit(monkeypatch):
    alone, seen = swaps(**SMALL, jobs=1), []
    together = swaps(**(SMALL | {"levels": (5, 3, 2), "jobs": 3}))
    np.testing.assert_array_equal(alone.mean, together.mean[:, [2, 1]])
    assert not np.array_equal(alone.mean, swaps(**SMALL, seed=2).mean)
    monkeypatch.setattr("gradeval.commands.study.tables.SHARE", 100)
    in_blocks = swaps(**SMALL, jobs=2, progress=lambda done, total: seen.append((done, total)))
    np.testing.assert_array_equal(alone.mean, in_blocks.mean)
    assert seen[-1] == (7, 7)


def test_wrong_arguments():
    wrong = [{"levels": levels} for levels in ((1,), (200,), (), 3, "ab")]
    wrong += [{"items": 1}, {"items": 2.5}, {"repeats": 0}, {"swaps": True}, {"seed": -1}]
    for options in (*wrong, {"items": 10**6, "swaps": 10**6}):
        error_of(OptionError, swaps, **options)
    for metrics in ("num_q", "gm_map", "runid", "num_rel_ret", "nosuch"):
        error_of(MetricError, swaps, metrics)


def test_tables(monkeypatch):
    numbers = iter(range(6))
    with monkeypatch.context() as patch:  # its noise stands beside each distance
        patch.setattr(experiments, "_noise", lambda *_: float(next(numbers)))
        assert [row["noise"] for row in swaps(**SMALL).table("distances").to_dicts()] == [0, 1, 2, 3, 4, 5]
    study = swaps(**SMALL)
    curves = study.table("curves")
    assert len(curves.rows) == 2 * 3 * 2 * 6
    assert curves.columns == ("use", "metric", "levels", "swaps", "mean", "sd", "seed")
    assert curves.rows[0] == ("even", "muAP", 2, 0, pytest.approx(1), pytest.approx(0), 1)
    first = study.table("distances").to_dicts()[0]
    low, high = (SMALL["levels"].index(first[name]) for name in ("levels_low", "levels_high"))
    means = study.mean[0, :, 0, first["swaps"]]
    assert means[high] - means[low] == first["distance"]
    assert swaps(**(SMALL | {"repeats": 1})).table("curves").to_dicts()[0]["sd"] is None
    metrics = ["muAP", "NDCNG", "nDCG(gain=exp)"]
    assert repr(study) == f"Swaps(swaps, {metrics=}, tables: distances (6), curves (72), notices=0)"
    raises(OptionError, "unknown table 'overview'", study.table, "overview")
    one_level = swaps(**(SMALL | {"levels": (2,)}))
    assert [table.name for table in one_level.tables if table.data] == ["curves"], "there are no distances"


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


JUDGED = {
    "q1": {"a": 9, "b": 3, "c": 1, "d": 0},
    "q2": {"a": 1, "b": 2, "c": 0, "d": 0},
    "q3": {"a": 0, "b": 0},
}
RANKED = {"q1": {"b": 3, "a": 2, "c": 1}, "q2": {"b": 2, "a": 1}, "q3": {"a": 1}}


def test_differences_of_user_data():
    study = divergence(JUDGED, RANKED, "nDCG@10 nDCGphi@10")
    results = gradeval.evaluate(JUDGED, RANKED, "nDCG@10 nDCGphi@10")
    [row] = study.table("differences").to_dicts()
    first, second = results.runs[0].values
    assert row["queries"] == 3
    assert [row[name] for name in ("min", "q1", "median", "q3", "max")] == quartiles(first - second)
    assert row["positive"] == np.mean(first > second)
    queries = study.table("queries").to_dicts()
    assert [one["query"] for one in queries] == ["q1", "q2", "q3"]
    assert queries[0]["difference"] == first[0] - second[0]
    assert study.notices == results.notices
    undefined = divergence(JUDGED, RANKED, "nDCG rankDCG").table("differences").to_dicts()
    assert [row["queries"] for row in undefined] == [2]


def test_wrong_arguments_of_divergence():
    for arguments, error, match in (
        ({"runs": RANKED}, OptionError, "runs need qrels"),
        ({"rel": 1}, OptionError, "rel requires qrels"),
        ({"items": 10}, OptionError, "items must be an integer from 11"),
        ({"items": 10**6, "draws": 100}, OptionError, "at most"),
        ({"qrels": JUDGED, "runs": RANKED, "metrics": "nDCG"}, MetricError, "two metrics"),
        ({"qrels": JUDGED, "runs": {"other": {"a": 1}}}, InputError, "no query in common"),
    ):
        raises(error, match, divergence, **arguments)


def test_grades_of_other_cutoffs_are_in_proportion():
    """Ranks k and k + 1 have different grades, so nDCG sees their swap."""
    study = divergence(cutoff=5, draws=20)
    assert study.options["metrics"] == ["nDCG(gain=exp,top=5/13/25)@5", "nDCGphi@5"]
    ndcg = values_of(study)[:, 0, 0]
    assert (ndcg < 1).all()
    assert divergence(draws=2).options["metrics"][0] == "nDCG(gain=exp,top=10/25/50)@10"


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
