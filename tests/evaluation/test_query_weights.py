"""Weighted means: of files and dicts, in saved results, and refused beside intervals and tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.command import gradeval as command

import gradeval
from gradeval.errors import GradevalError, InputErrors, OptionError

QRELS = {"1": {"a": 1, "b": 0}, "2": {"a": 0, "b": 1}, "3": {"a": 0}}
RUN = {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 2.0, "b": 1.0}, "3": {"a": 1.0}}
WEIGHTS = {"1": 1, "2": 3, "3": 0, "9": 5}


def test_means_are_weighted_and_sums_are_not() -> None:
    results = gradeval.evaluate(QRELS, RUN, "RR num_rel num_q gm_map", query_weights=WEIGHTS)
    assert results.mean(0, "RR") == (1 * 1 + 3 * 0.5) / 4
    assert (results.mean(0, "num_rel"), results.mean(0, "num_q")) == (2, 3)
    assert results.mean(0, "gm_map") == pytest.approx(0.5 ** (3 / 4))
    assert results.values(0, "RR").tolist() == [1, 0.5, 0]
    assert results.by_id().mean(0, "RR") == results.mean(0, "RR")
    skipped = gradeval.evaluate(QRELS, RUN, "AP", no_relevant="skip", query_weights={"1": 1, "2": 1, "3": 9})
    assert skipped.mean(0, "AP") == 0.75
    chosen = gradeval.evaluate(QRELS, RUN, "RR", query_ids="1,2", query_weights={"1": 1, "2": 0})
    assert chosen.mean(0, "RR") == 1


def test_what_is_noticed_is_weighted() -> None:
    tied = {"1": {"a": 1.0, "b": 1.0}, "2": {"a": 1.0, "b": 1.0}, "3": {"a": 1.0}}
    results = gradeval.evaluate(QRELS, tied, "RR", query_weights=WEIGHTS, no_relevant=0)
    [notice] = [notice for notice in results.notices if notice.kind == "ties"]
    assert (notice.value, notice.low, notice.high) == (results.mean(0, 0), 0.5, 1.0)
    ranged = gradeval.evaluate(QRELS, tied, "RR", query_weights=WEIGHTS, tie_range=True)
    assert ranged.range(0, 0) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("weights", "what"),
    [
        ({"1": 1}, "query_weights: 2 queries have no weight: '2', '3'"),
        ({"1": -1}, "the weight of query '1' must be a number from 0, not -1.0"),
        ({"1": "x"}, "the weight of query '1' must be a number from 0, not 'x'"),
        ({"1": 0}, "no query has a weight above 0"),
        ([1, 2], "query_weights must be {query: weight} or a path, not [1, 2]"),
    ],
)
def test_wrong_weights(weights: object, what: str) -> None:
    with pytest.raises(GradevalError) as caught:
        gradeval.evaluate(QRELS, RUN, "RR", query_weights=weights)  # type: ignore[arg-type]
    assert what in str(caught.value)


def test_tests_and_intervals_refuse_them() -> None:
    results = gradeval.evaluate(QRELS, {"a": RUN, "b": RUN}, "RR", query_weights=WEIGHTS)
    with pytest.raises(OptionError, match=r"^tests and the means beside them are of unweighted"):
        results.compare()
    with pytest.raises(OptionError, match=r"^intervals are of unweighted means"):
        results.interval(0, 0)
    with pytest.raises(OptionError, match="query_weights and interval are mutually exclusive"):
        gradeval.evaluate(QRELS, RUN, "RR", query_weights=WEIGHTS, interval="t")


def test_files(tmp_path: Path) -> None:
    qrels, run, weights = (tmp_path / name for name in ("qrels", "run", "weights"))
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, of in QRELS.items() for d, g in of.items()))
    run.write_text("".join(f"{q} Q0 {d} 0 {s} t\n" for q, of in RUN.items() for d, s in of.items()))
    weights.write_text("query\tweight\n# traffic\n\n1\t1\r\n2\t3\n3\t0\n")
    args = (str(qrels), str(run), "-m", "RR", "--query-weights", str(weights), "--quiet")
    assert command(*args).out.splitlines()[1].endswith("RR\t0.6250")
    saved = tmp_path / "saved.json"
    assert command(*args, "-q", "-f", "json", "-o", str(saved)).code == 0
    assert json.loads(saved.read_text())["options"]["query_weights"] == {"1": 1.0, "2": 3.0, "3": 0.0}
    again = command(str(qrels), str(saved), "-m", "RR", "--query-weights", str(weights), "--quiet")
    assert again.out.splitlines()[1].endswith("RR\t0.6250")
    assert command(str(qrels), str(saved), "-m", "RR", "--quiet").out.splitlines()[1].endswith("RR\t0.5000")


def test_wrong_files(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_text("1 2\n2\t-1\n3\tx\n2\t1\n")
    with pytest.raises(InputErrors) as caught:
        gradeval.evaluate(QRELS, RUN, "RR", query_weights=path)
    assert str(caught.value).splitlines() == [
        f"{path}:1: a line has a query and its weight, with a tab between",
        f"{path}:2: the weight '-1' is not a number from 0",
        f"{path}:3: the weight 'x' is not a number from 0",
        f"{path}:4: query '2' has a weight already",
    ]
    path.write_text("")
    with pytest.raises(GradevalError, match="empty"):
        gradeval.evaluate(QRELS, RUN, "RR", query_weights=path)
