"""Judgments of ir_datasets, of a data set that the test registers."""

import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import error_of

import gradeval

RUN = {"1": {"b": 2, "a": 1}, "2": {"c": 1}}


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    ir_datasets: Any = pytest.importorskip(
        "ir_datasets", reason="ir_datasets is not installed (gradeval[irds])"
    )
    from ir_datasets.formats import TrecQrels
    from ir_datasets.util import LocalDownload

    path = tmp_path / "qrels"
    path.write_text("1 0 a 2\n1 0 b 0\n2 0 c 1\n")
    judged = ir_datasets.Dataset(TrecQrels(LocalDownload(path), {0: "no", 1: "some", 2: "much"}))
    for id, dataset in (("gradeval/test", judged), ("gradeval", ir_datasets.Dataset())):
        monkeypatch.setitem(ir_datasets.registry._registered, id, dataset)
    return "irds:gradeval/test"


def test_judgments(name: str) -> None:
    results = gradeval.evaluate(name, RUN, "RR")
    assert (results.qrels, results.per_query(0, "RR")) == (name, {"1": 0.5, "2": 1.0})
    [explanation] = gradeval.explain(name, RUN, "RR", "1")
    assert explanation.value == 0.5


def test_errors(name: str) -> None:
    unknown = f"{name}x: ir_datasets has no data set of this id. ir_datasets.com lists their ids"
    assert error_of(gradeval.InputError, gradeval.evaluate, f"{name}x", RUN) == unknown
    without = "irds:gradeval: the data set has no judgments. Another part of it may, such as /test"
    assert error_of(gradeval.InputError, gradeval.evaluate, "irds:gradeval", RUN) == without


def test_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    missing = "irds:a/b: ir_datasets is not installed. Run: pip install 'gradeval[irds]'"
    assert error_of(gradeval.InputError, gradeval.evaluate, "irds:a/b", RUN) == missing


def test_a_file_of_such_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("irds:q").write_text("1 0 a 1\n")
    assert gradeval.evaluate("irds:q", RUN, "RR").mean(0, "RR") == 0.5
