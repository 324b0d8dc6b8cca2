"""The recipes of the README for training loops, where the libraries are installed."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradeval

PAGE = Path(__file__).resolve().parents[1] / "gradeval" / "guide" / "python.md"
RNG = np.random.default_rng(2)
SIZES = RNG.integers(5, 30, 40)
QUERY = np.repeat(np.arange(40), SIZES)
GRADE = RNG.integers(0, 4, len(QUERY))
FEATURES = np.column_stack([QUERY, GRADE + RNG.normal(size=len(QUERY)), RNG.normal(size=len(QUERY))])


def recipes() -> dict[str, Any]:
    blocks = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    [text] = [block for block in blocks if "lightgbm" in block]
    names: dict[str, Any] = {"gradeval": gradeval, "np": np}
    exec(text, names)
    return names


def expected(scores, metric="nDCG@10", **how):
    return gradeval.score_arrays(metric, grade=GRADE, score=scores, query=QUERY, **how)[metric]


def test_names():
    assert {"lightgbm_ndcg", "xgboost_ndcg", "sklearn_ndcg"} <= {*recipes()}


def test_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    data = lightgbm.Dataset(FEATURES[:, 1:], GRADE, group=SIZES)
    found: dict[str, Any] = {}
    model = lightgbm.train(
        {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "verbose": -1, "num_threads": 1},
        data,
        5,
        valid_sets=[data],
        valid_names=["valid"],
        feval=recipes()["lightgbm_ndcg"],
        callbacks=[lightgbm.record_evaluation(found)],
    )
    scores = model.predict(FEATURES[:, 1:])
    assert found["valid"]["nDCG@10"][-1] == pytest.approx(expected(scores), abs=1e-12)
    own = expected(scores, "nDCG(gain=exp)@10", no_relevant=1)
    assert found["valid"]["ndcg@10"][-1] == pytest.approx(own, abs=1e-6)


def test_xgboost():
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(FEATURES[:, 1:], GRADE)
    data.set_group(SIZES)
    found: dict[str, Any] = {}
    model = xgboost.train(
        {"objective": "rank:ndcg", "eval_metric": "ndcg@10", "nthread": 1},
        data,
        5,
        evals=[(data, "valid")],
        custom_metric=recipes()["xgboost_ndcg"],
        evals_result=found,
        verbose_eval=False,
    )
    scores = model.predict(data)
    assert found["valid"]["nDCG@10"][-1] == pytest.approx(expected(scores), abs=1e-6)
    own = expected(scores, "nDCG(gain=exp)@10", no_relevant=1)
    assert found["valid"]["ndcg@10"][-1] == pytest.approx(own, abs=1e-5)


def test_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LinearRegression
    from sklearn.metrics import ndcg_score
    from sklearn.model_selection import GroupKFold, cross_val_score

    folds = cross_val_score(
        LinearRegression(), FEATURES, GRADE, groups=QUERY, cv=GroupKFold(4), scoring=recipes()["sklearn_ndcg"]
    )
    assert len(folds) == 4 and (folds > 0.5).all()
    scores = LinearRegression().fit(FEATURES, GRADE).predict(FEATURES)
    rows = np.split(np.arange(len(QUERY)), np.cumsum(SIZES)[:-1])
    own = [ndcg_score([GRADE[of]], [scores[of]], k=10) for of in rows]
    assert np.mean(own) == pytest.approx(expected(scores), abs=1e-12)
