"""Results: means, names, texts and ranges; z-scores of them."""

import math
from math import exp, log

import numpy as np
import pytest
from helpers import each_row, error_of, one_by_one, raises
from hypothesis import given
from hypothesis import strategies as st

from gradeval.commands.other_tools import UNKNOWN, standardized
from gradeval.errors import GradevalError, InputError, MetricError, OptionError
from gradeval.evaluation.evaluator import Evaluator, evaluate
from gradeval.evaluation.results import Results, RunResult
from gradeval.formats.lines import read_zscores
from gradeval.registry.spec import Spec, parse

NAN = float("nan")


def made(metrics: str, *runs: tuple[list[list[float]], list[bool]]) -> Results:
    return Results(
        "qrels",
        None,
        tuple(f"q{i + 1}" for i in range(len(runs[0][1]))),
        tuple(parse(metrics)),
        tuple(
            RunResult(f"run{r}", f"run{r}.txt", None, np.array(values, float), np.array(counted, bool))
            for r, (values, counted) in enumerate(runs)
        ),
    )


@pytest.fixture
def results() -> Results:
    values = [[1, 1, 1], [0.5, NAN, 0.25], [NAN, NAN, 1]]
    return made("num_q rankDCG nDCG@10", (values, [True, True, True]), (values, [True, True, False]))


def test_means(results: Results) -> None:
    np.testing.assert_array_equal(results.means, [[3, 0.375, 1], [2, 0.5, NAN]])
    assert results.mean("run0", "rankDCG") == 0.375
    assert math.isnan(results.mean("run1", "nDCG@10"))
    assert [results.undefined("run0", m) for m in range(3)] == [0, 1, 2]
    assert [results.undefined("run1", m) for m in range(3)] == [0, 1, 2]  # of counted queries
    assert results.per_query("run1", "num_q") == {"q1": 1.0, "q2": 1.0}
    np.testing.assert_array_equal(results.values("run1", "rankDCG"), [0.5, NAN, NAN])
    none = made("num_q AP", ([[1, 1], [1, 1]], [False, False]))
    np.testing.assert_array_equal(none.means, [[0, NAN]])
    assert none.per_query(0, "AP") == {}
    np.testing.assert_array_equal(made("num_q AP", ([[], []], [])).means, [[0, NAN]])
    assert Results("qrels", None, (), tuple(parse("AP P@5")), ()).means.shape == (0, 2)


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.booleans()), min_size=1, max_size=300))
def test_a_mean_is_that_of_a_loop(pairs: list[tuple[float, bool]]) -> None:
    values, counted = zip(*pairs, strict=True)
    total = one_by_one(value for value, counts in pairs if counts)
    mean = made("AP", ([list(values)], list(counted))).mean(0, 0)
    assert mean == total / sum(counted) if any(counted) else math.isnan(mean)


def test_any_spelling_and_place(results: Results) -> None:
    assert repr(results) == "Results(qrels='qrels', runs=2, metrics=3, queries=3, notices=0)"
    evaluator = Evaluator({"a": {"d": 1}, "b": {"d": 1}}, "AP nDCG@10", query_ids=["a"])
    assert repr(evaluator) == "Evaluator(qrels='qrels', metrics=2, queries=1)"
    for metric in ("nDCG@10", "NDCG@10", "ndcg_cut_10", "ndcg_cut.10", 2, -1, results.specs[2]):
        assert results.mean("run0", metric) == results.mean(0, metric) == results.mean(-2, metric) == 1.0
    raises(GradevalError, "unknown run 'bm25': the runs are run0, run1", results.mean, "bm25", "rankDCG")
    what = "nDCG@5 was not evaluated: the metrics are num_q, rankDCG, nDCG@10"
    raises(MetricError, what, results.mean, 0, "nDCG@5")
    raises(MetricError, "is 2 metrics", results.mean, 0, "nDCG@5,10")
    error_of(MetricError, results.mean, 0, "nDGC@10")
    raises(GradevalError, "run 2 is out of range: there are 2", results.mean, 2, 0)
    raises(GradevalError, "metric 3 is out of range: there are 3", results.mean, 0, 3)


def test_geometric_mean() -> None:
    results = made("gm_map AP", ([[0.5, 0.125, 0.9]] * 2, [True, True, False]))
    np.testing.assert_allclose(results.means, [[0.25, 0.3125]], rtol=1e-15)
    assert results.per_query(0, "gm_map") == {"q1": 0.5, "q2": 0.125}
    assert made("gm_map", ([[1, 0]], [True, True])).mean(0, 0) == pytest.approx(1e-5**0.5, rel=1e-15)
    assert math.isnan(made("gm_map", ([[1]], [False])).mean(0, 0))


def words() -> Results:
    values = np.array([[NAN] * 3, [0.5] * 3, [NAN] * 3])
    texts = {0: ["me"] * 3, 2: ["1-", '0\t"', ""]}
    run = RunResult("run0", "run0.txt", None, values, np.array([True, True, False]), texts)
    return Results("qrels", None, ("b", "a", "c"), tuple(parse("runid AP relstring")), (run,))


def test_texts() -> None:
    results = words()
    assert results.texts(0, "runid") == {"b": "me", "a": "me"}
    assert results.texts("run0", 2) == {"b": "1-", "a": '0\t"'}
    raises(MetricError, r"AP is numeric: use Results.values", results.texts, 0, "AP")
    for asked in (results.mean, results.values, results.per_query, results.undefined):
        for name in ("relstring", "runid", 2, results.specs[0]):
            raises(MetricError, r"is text: use Results.texts", asked, 0, name)
    [run] = results.to_dict(per_query=True)["runs"]
    assert run["summary"] == {"runid": "me", "AP": 0.5}
    assert run["undefined"] == {}
    assert run["per_query"] == {"b": {"AP": 0.5, "relstring": "1-"}, "a": {"AP": 0.5, "relstring": '0\t"'}}


def test_by_id() -> None:
    results = words().by_id()
    assert list(results.queries) == ["a", "b", "c"]
    assert results.texts(0, 2) == {"a": '0\t"', "b": "1-"}
    assert results.runs[0].counted.tolist() == [True, True, False]
    ids = ("10", "9", "\udcff", "é", "a", "B")
    run = RunResult("r", "r", None, np.arange(6.0)[None], np.ones(6, bool))
    sorted_ = Results("q", None, ids, tuple(parse("AP")), (run,)).by_id()
    assert list(sorted_.queries) == ["10", "9", "B", "a", "é", "\udcff"]  # as bytes
    assert sorted_.per_query(0, 0) == {"10": 0, "9": 1, "B": 5, "a": 4, "é": 3, "\udcff": 2}


def test_range() -> None:
    results = made("AP num_q", ([[0.5, NAN, 0.25], [1, 1, 1]], [True, True, False]))
    ends = np.array([[[0.25, NAN, 0], [1, 1, 1]], [[0.75, NAN, 1], [1, 1, 1]], np.full((2, 3), NAN)])
    ranged = results.replace(runs=(results.runs[0].replace(tie_range=ends),))
    assert ranged.range("run0", "AP") == (0.25, 0.75)
    assert ranged.range(0, "num_q") == (2, 2)
    assert ranged.by_id().range(0, 0) == (0.25, 0.75)
    raises(OptionError, "evaluate with tie_range=True", results.range, 0, "AP")
    ranged = evaluate({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}, "RR relstring", tie_range=True)
    assert ranged.range(0, "RR") == (0.5, 1)
    raises(MetricError, "is text", ranged.range, 0, "relstring")


def test_sorted_by() -> None:
    values = {"a": 0.5, "b": float("nan"), "c": 0.75, "d": 0.5, "e": 0.25}
    runs = tuple(
        RunResult(name, name, None, np.array([[value], [10 * value]]), np.ones(1, bool))
        for name, value in values.items()
    )
    results = Results("q", None, ("1",), tuple(parse("AP num_ret")), runs)

    def names(*args: object, **options: bool) -> str:
        return "".join(run.name for run in results.sorted_by(*args, **options).runs)

    assert names("AP") == names("map") == names(0) == names("num_ret") == "cadeb"
    assert names("AP", worst_first=True) == "eadcb"
    assert [results.sorted_by("AP").mean(r, "AP") for r in range(2)] == [0.75, 0.5]
    raises(MetricError, "was not evaluated", results.sorted_by, "RR")
    error = Spec(results.specs[0].metric.replace(higher_is_better=False))
    results = results.replace(specs=(error, results.specs[1]))
    assert names(0) == "eadcb"


def test_read(tmp_path):
    file = tmp_path / "z"
    file.write_bytes(b"\n q1\tmap 0.5  0.25\r\nq\xff map -1 0\nq1 P_5 1e-1 2\n\n")
    expected = {("q1", "map"): (0.5, 0.25), ("q\udcff", "map"): (-1, 0), ("q1", "P_5"): (0.1, 2)}
    assert read_zscores(str(file)) == expected


@each_row(
    ("q map 1 2\nq map 1\n", ":2: 'q map 1' is not a query, a measure, its mean and its deviation"),
    ("q\n", ":1: 'q' is not a query, a measure, its mean and its deviation"),
    ("q map 1 2 3\n", ":1: 'q map 1 2 3' is not a query, a measure, its mean and its deviation"),
    ("q map x 2\n", ":1: 'q map x 2' is not a query, a measure, its mean and its deviation"),
    ("q map nan 2\n", ":1: 'q map nan 2' is not a query, a measure, its mean and its deviation"),
    ("q map ١ 2\n", ":1: 'q map ١ 2' is not a query, a measure, its mean and its deviation"),
    ("q map 1_0 2\n", ":1: 'q map 1_0 2' is not a query, a measure, its mean and its deviation"),
    ("q map 1 2\n\nq map 1 2\n", ":3: duplicate map of query 'q'"),
    ("\n\n", ": the file is empty"),
)
def test_bad_file(text, what, tmp_path):
    file = tmp_path / "z"
    file.write_text(text)
    assert error_of(InputError, read_zscores, str(file)).startswith(f"{file}{what}")


def to_standardize(metrics, values, texts=None):
    results = made(metrics, (values, [True] * (len(values[0]) - 1) + [False]))
    return results.replace(runs=(results.runs[0].replace(texts=texts or {}),))


def test_values_and_means():
    before = to_standardize("AP num_ret", [[0.5, 0.25, 9], [4, 6, 9]])
    scores = {("q1", "map"): (0.25, 0.5), ("q2", "map"): (0.25, 0), ("q1", "num_ret"): (1, 2)}
    after = standardized(before, ["map", "num_ret"], scores, False)
    assert after.per_query(0, 0) == {"q1": 0.5, "q2": 0.0}
    assert after.per_query(0, 1) == {"q1": 1.5, "q2": UNKNOWN}
    assert after.means.tolist() == [[0.25, 1.5 + UNKNOWN]]
    assert not any(spec.metric.is_count for spec in after.specs)
    known = {**scores, ("q2", "map"): (0.3, 0)}
    assert standardized(before, ["map", "num_ret"], known, False).per_query(0, 0)["q2"] == UNKNOWN


def test_a_geometric_mean_is_of_logarithms():
    before = to_standardize("gm_map", [[0.5, 0, 9]])
    scores = {("q1", "gm_map"): (-1, 2), ("q2", "gm_map"): (-10, 4)}
    after = standardized(before, ["gm_map"], scores, False)
    first, second = (log(0.5) + 1) / 2, (log(1e-5) + 10) / 4
    assert after.per_query(0, 0) == {"q1": pytest.approx(first), "q2": pytest.approx(second)}
    assert after.means.tolist() == [[pytest.approx(exp((first + second) / 2))]]


def test_counts_and_texts_that_stay():
    before = to_standardize("num_q num_rel", [[1, 1, 1, 1], [1, 2, 3, 9]])
    for complete, relevant in ((False, 3 * UNKNOWN), (True, 6)):
        after = standardized(before, ["num_q", "num_rel"], {("q", "map"): (1, 1)}, complete)
        assert after.means.tolist() == [[3, relevant]]
    before = to_standardize("relstring AP", [[NAN] * 2, [0.5] * 2], {0: ["10", "-"]})
    after = standardized(before, ["relstring", "map"], {("q1", "map"): (0.5, 0)}, False)
    assert after.texts(0, 0) == {"q1": "10"}
    assert after.per_query(0, 1) == {"q1": 0.0}
