"""Metrics of arrays, against the same data as dicts."""

from datetime import date

import numpy as np
import pytest
from helpers import each, each_row, error_of

from gradeval import InputError, MetricError, OptionError, evaluate, score_arrays

METRICS = "nDCG@5 AP RR(rel=2) ERR"
RNG = np.random.default_rng(5)
SIZES = [7, 1, 12, 30, 4]
QUERY = np.repeat([9, 3, 27, 1, 4], SIZES)
GRADE = RNG.integers(0, 4, sum(SIZES))
SCORE = np.round(RNG.random(sum(SIZES)), 1)


def nested(values, query=QUERY):
    """Documents whose trec order of ties, by id descending, is their order in the arrays."""
    found = {}
    for row, (name, value) in enumerate(zip(query.tolist(), values.tolist(), strict=True)):
        found.setdefault(str(name), {})[f"d{9999 - row}"] = value
    return found


def test_values_are_those_of_evaluate():
    expected = evaluate(nested(GRADE), nested(SCORE), METRICS)
    scores = score_arrays(METRICS, grade=GRADE, score=SCORE, query=QUERY)
    assert scores.queries.tolist() == [9, 3, 27, 1, 4]
    assert [*scores] == ["nDCG@5", "AP", "RR(rel=2)", "ERR"]
    for m, metric in enumerate(scores):
        assert scores[metric] == expected.mean(0, m)
        assert scores.per_query(metric).tolist() == [*expected.per_query(0, m).values()]
    assert scores["ndcg_cut_5"] == scores["nDCG@5"]
    by_size = score_arrays(METRICS, grade=GRADE, score=SCORE, group=[7, 1, 0, 12, 30, 4])
    assert dict(by_size) == dict(scores)
    assert by_size.queries.tolist() == [0, 1, 3, 4, 5]


@each(("ties", "kind"), [("input", int), ("best", str), ("worst", object), ("expected", float)])
def test_queries_in_any_order(ties, kind):
    ids = QUERY.astype(kind)
    order = np.lexsort((np.arange(len(QUERY)), RNG.permutation(len(QUERY)) % 7))  # of a query too
    shuffled = score_arrays(METRICS, grade=GRADE[order], score=SCORE[order], query=ids[order], ties=ties)
    whole = evaluate(nested(GRADE[order], QUERY[order]), nested(SCORE[order], QUERY[order]), METRICS, ties=ties)
    assert [*shuffled.values()] == whole.means[0].tolist()
    assert [str(one) for one in shuffled.queries] == [str(one) for one in dict.fromkeys(ids[order].tolist())]


def test_arrays_of_other_libraries():
    def exported(array):
        """An array that offers DLPack alone."""
        methods = {name: getattr(array, name) for name in ("__dlpack__", "__dlpack_device__")}
        return type("Exported", (), {name: staticmethod(method) for name, method in methods.items()})()

    expected = score_arrays("AP", grade=GRADE, score=SCORE, query=QUERY)
    kinds = [exported, list, lambda array: array.astype(np.float32)]
    for kind in (*kinds, pytest.importorskip("pandas").Series):
        found = score_arrays("AP", grade=kind(GRADE), score=SCORE, query=kind(QUERY))
        assert dict(found) == dict(expected)


@each_row(
    ({"score": [1.0]}, "score: 1 scores for 2 grades"),
    ({"grade": [1, np.nan]}, "grade:2: the grade nan is not a finite number"),
    ({"score": [np.inf, 1]}, "score:1: the score inf is not a finite number"),
    ({"grade": [1, 1e200]}, "grade:2: the grade 1e+200 is out of range"),
    ({"grade": ["a", "b"]}, "grade: an array of numbers is needed, not of <U1"),
    ({"score": [[[1, 2]]]}, "score: an array of one dimension or two is needed, not of shape"),
    ({"score": [[1, 2]]}, "grade and score need one shape of two dimensions, not (2,) and (1, 2)"),
    ({"mask": [True, True]}, "grade and score need one shape of two dimensions"),
    ({"grade": [[1, -1]], "score": [[1, 2]]}, "If it is padding, give mask=grade != -1"),
    ({"grade": [[1, 0]], "score": [[1, 2]], "mask": [[0.5, 1]]}, "mask: booleans of the shape"),
    ({"grade": [[1, 0]], "score": [[1, 2]], "query": [1]}, "query and group go with arrays"),
    ({"weights": [1, 2]}, "weights: 2 weights for 1 queries"),
    ({"grade": [[1, -100]], "score": [[1, 2]]}, "give mask=grade != -100"),
    ({"grade": [[-1, -100.0]], "score": [[1, 2]]}, "give mask=grade != -100"),
    ({"weights": [-1]}, "weights: weights are numbers from 0, and one"),
    ({"weights": [0]}, "weights: weights are numbers from 0, and one"),
    *(({"weights": [far]}, "weights are 0 or between 1e-150 and 1e150") for far in (1e-322, 1e308)),
    ({"grade": [], "score": []}, "grade: no documents given"),
    ({"query": [1]}, "query: 1 query ids for 2 documents"),
    ({"query": [1.0, np.nan]}, "query:2: the query id is missing"),
    ({"query": ["a", None]}, "query:2: the query id is missing"),
    ({"query": np.array(["NaT", "2026-01-01"], "M8[D]")}, "query:1: the query id is missing"),
    ({"query": np.array([1, 2], "M8[s]")}, "query:1: the query id np.datetime64('1970-01-01T00:00:01')"),
    ({"query": [1, date(2026, 1, 1)]}, "query:2: the query id datetime.date(2026, 1, 1) is a time"),
    ({"query": np.array(["a", 1], object)}, "query:2: the ids cannot be compared"),
    ({"group": [1]}, "group: the sizes add up to 1, but there are 2 documents"),
    ({"group": [3, -1]}, "group: the sizes are integers from 0"),
    ({"group": [2], "query": [1, 1]}, "query and group are mutually exclusive"),
    ({"ties": "trec"}, "ties must be input, best, worst or expected"),
    ({"depth": 0}, "depth must be"),
    ({"metrics": "runid"}, "runid has no numbers"),
    ({"metrics": "nDGC"}, "did you mean"),
    *(({name: np.ma.array([1, 1], mask=mask)}, f"{name}: a masked array ") for mask in (False, True)
      for name in ("grade", "score", "query", "group")),
)  # fmt: skip
def test_wrong_arguments(arguments, what):
    of_options = what.startswith(("query and group", "ties must", "depth must"))
    kind = MetricError if "metrics" in arguments else OptionError if of_options else InputError
    call = {"metrics": "AP", "grade": [1, 0], "score": [1.0, 2.0], **arguments}
    assert what in error_of(kind, score_arrays, **call)


def test_unknown_metrics_are_no_keys():
    scores = score_arrays("AP", grade=[1], score=[1])
    for name in ("RR", "AP RR", 5):
        error_of((KeyError, MetricError), scores.__getitem__, name)
    assert repr(scores) == "Scores({'AP': 1.0})" and len(scores) == 1


def test_rows_are_queries():
    grade, score = [[2, 0, 1], [0, 1, -1], [-1, -1, -1]], [[0.1, 0.9, 0.4], [0.3, 0.2, 9.0], [1, 2, 3]]
    found = score_arrays("nDCG@10 RR", grade=grade, score=score, mask=np.array(grade) != -1)
    flat = score_arrays("nDCG@10 RR", grade=[2, 0, 1, 0, 1], score=[0.1, 0.9, 0.4, 0.3, 0.2], group=[3, 2, 0])
    assert dict(found) == dict(flat) and found.queries.tolist() == flat.queries.tolist() == [0, 1]
    whole = score_arrays("AP", grade=[[1, -1]], score=[[1.0, 2.0]], mask=[[1, 1]])
    assert whole["AP"] == 0.5


def test_weights_of_queries():
    grade, score = [[1, 0], [0, 1], [1, 0]], [[1, 2], [1, 2], [1, 2]]
    found = score_arrays("RR num_rel nDCG gm_map", grade=grade, score=score, weights=[1, 2, 0])
    assert found["RR"] == pytest.approx((0.5 + 2 * 1) / 3)
    assert found["num_rel"] == 3  # a sum has no weights
    assert found["gm_map"] == pytest.approx((0.5 * 1 * 1) ** (1 / 3))
    assert found.per_query("RR").tolist() == [0.5, 1, 0.5]
    for how in ({"query": ["b", "b", "a", "a"], "weights": [1, 2]}, {"group": [2, 0, 2], "weights": [1, 5, 2]}):
        assert score_arrays("RR", grade=[1, 0, 0, 1], score=[1, 2, 1, 2], **how)["RR"] == found["RR"]
    undefined = score_arrays("AP", grade=[[0], [1]], score=[[1], [1]], weights=[9, 1], no_relevant="skip")
    assert undefined["AP"] == 1
