"""The recipe of the guide: the command prints the digits of LightGBM and XGBoost, from files that they read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.command import gradeval

from gradeval import evaluate

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

LABELS = [0, 0, 0, 1, 0, 2, 1, 0, 0, 0, 0, 0, 3, 0, 1, 0]
GROUPS = [7, 5, 4]  # in the second no document is relevant
MARGINS = [0.5, 0.25, 0.5, 0.5, 1.0, 0.25, 0.0, 3.0, 1.0, 2.0, 5.0, 4.0, 0.5, 0.5, 0.75, 0.75]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    queries = np.repeat([1, 2, 3], GROUPS)
    lines = (
        f"{label} qid:{query} 1:{n}\n" for n, (label, query) in enumerate(zip(LABELS, queries, strict=True))
    )
    data, predictions = tmp_path / "test.letor", tmp_path / "model.scores"
    data.write_text("".join(lines))
    predictions.write_text("".join(f"{score}\n" for score in MARGINS))
    return data, predictions


def printed(files: tuple[Path, Path], metric: str, *options: str) -> float:
    data, predictions = files
    done = gradeval(data, predictions, "-m", metric, "--digits", "full", *options)
    assert done.code == 0
    return float(done.out.split()[-1])


RECIPE = ("--ties", "input", "--no-relevant", "1")


def test_lightgbm(files: Any) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    small = {"verbose": -1, "min_data_in_bin": 1, "min_data_in_leaf": 1}
    rows = np.arange(len(LABELS), dtype=float)[:, None]
    data = lightgbm.Dataset(rows, LABELS, group=GROUPS, init_score=MARGINS, params=small)
    params = small | {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": [3]}
    values = {name: value for _, name, value, _ in lightgbm.Booster(params, data).eval_train()}
    value = values["ndcg@3"]
    assert printed(files, "nDCG(gain=exp)@3", *RECIPE) == pytest.approx(value, abs=1e-12)
    assert printed(files, "AP(norm=min)@3", *RECIPE) == pytest.approx(values["map@3"], abs=1e-12)
    assert printed(files, "nDCG(gain=exp)@3", "--no-relevant", "0") < value - 0.1


def test_xgboost(files: Any) -> None:
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(np.zeros((len(LABELS), 1)), label=LABELS, group=GROUPS, base_margin=MARGINS)
    params = {"objective": "rank:ndcg", "eval_metric": ["ndcg@3", "ndcg@3-"]}
    shown = xgboost.Booster(params, [data]).eval_set([(data, "all")], 0)
    values = {name: float(value) for name, _, value in (one.rpartition(":") for one in shown.split("\t")[1:])}
    assert printed(files, "nDCG(gain=exp)@3", *RECIPE) == pytest.approx(values["all-ndcg@3"], abs=1e-12)
    zero = printed(files, "nDCG(gain=exp)@3", "--ties", "input", "--no-relevant", "0")
    assert zero == pytest.approx(values["all-ndcg@3-"], abs=1e-12)


def test_what_xgboost_does_without_a_cutoff() -> None:
    """It looks at 32 ranks, and compares 32-bit floats."""
    xgboost = pytest.importorskip("xgboost")
    labels, near = [n % 2 for n in range(60)], [1.0 - n * 1e-9 for n in range(60)]
    ranks = [float(-(n * 7 % 60)) for n in range(60)]

    def theirs(names: list[str], scores: list[float]) -> list[float]:
        data = xgboost.DMatrix(np.zeros((60, 1)), label=labels, group=[60], base_margin=scores)
        params = {"objective": "rank:ndcg", "eval_metric": names}
        shown = xgboost.Booster(params, [data]).eval_set([(data, "all")], 0)
        return [float(one.rpartition(":")[2]) for one in shown.split("\t")[1:]]

    def ours(metric: str, scores: list[float]) -> float:
        qrels = {"q": {f"d{n:02}": label for n, label in enumerate(labels)}}
        run = {"q": {f"d{n:02}": score for n, score in enumerate(scores)}}
        return evaluate(qrels, {"run": run}, metric, ties="input").values(0, 0)[0]

    expected = [ours("nDCG(gain=exp)@32", ranks)]
    assert theirs(["ndcg"], ranks) == pytest.approx(expected, abs=1e-9)
    assert abs(expected[0] - ours("nDCG(gain=exp)", ranks)) > 0.05
    assert theirs(["ndcg@5"], near[::-1]) == pytest.approx([ours("nDCG(gain=exp)@5", [1.0] * 60)], abs=1e-9)
    assert ours("nDCG(gain=exp)@5", near[::-1]) != ours("nDCG(gain=exp)@5", [1.0] * 60)
