"""Scheel's figures 4 and 5: what they claim, how rankings are made, and what changes no digit."""

import sys

import numpy as np
import pytest
from helpers import each, error_of, judgments_of, raises, ranked

from gradeval.commands.study.swaps import USES, _even, _noise, _swapped, _uneven, swaps
from gradeval.errors import MetricError, OptionError
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
    for i, levels in enumerate(SMALL["levels"]):
        by_swaps = [[] for _ in range(SMALL["swaps"] + 1)]
        for repeat in range(SMALL["repeats"]):
            ideal = _even(8, levels) if use == "even" else _uneven(8, levels, 3, repeat)
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
        patch.setattr(sys.modules["gradeval.commands.study.swaps"], "_noise", lambda *_: float(next(numbers)))
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
