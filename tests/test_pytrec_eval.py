"""gradeval.pytrec_eval against pytrec_eval-terrier: equal floats, the same kinds of errors."""

import math
import random

import numpy as np
import pytest
from helpers import THOROUGH, each, error_of, examples, raises
from hypothesis import given
from hypothesis import strategies as st

from gradeval import pytrec_eval as ours

theirs = pytest.importorskip("pytrec_eval")

# runid is not a number in theirs, and whatever stands in memory is returned
MEASURES = sorted(ours.supported_measures - {"runid"})
INTERPOLATED = {"11pt_avg", *(f"iprec_at_recall_{n / 10:.2f}" for n in range(11))}
QRELS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1}, "e": {}}
RUN = {"1": {"b": 3.0, "x": 2.0, "a": 1.0}, "2": {"a": 5.0}, "9": {"a": 1.0}}


def both(qrels, run, measures, *arguments):
    return [one.RelevanceEvaluator(qrels, measures, *arguments).evaluate(run) for one in (ours, theirs)]


def check(qrels, run, measures, *arguments):
    found, expected = both(qrels, run, measures, *arguments)
    assert [*found] == [*expected]
    for query, values in expected.items():
        empty = not run[query]  # of which theirs returns at times what stands in memory
        for name, value in values.items():
            own = found[query].pop(name)
            assert (
                own == value or (math.isnan(value) and math.isnan(own)) or (empty and name in INTERPOLATED)
            ), name
        assert not found[query]


def collection(seed):
    draw = random.Random(seed)
    documents = [f"d{n}" for n in range(draw.choice([3, 10, 40, 150]))]
    grades = draw.choice([[0, 1], [0, 1, 2], [0, 1, 2, 3, 4], [1, 3, 9]])
    scores = [draw.random, lambda: draw.randint(0, 5), lambda: 1 + draw.random() * 1e-7]
    scores += [lambda: draw.randint(0, 9) / 10, lambda: draw.choice([math.inf, -math.inf, 1e300, -0.0, 0])]
    some = draw.sample(scores, draw.randint(1, len(scores)))

    def sample(least):
        return draw.sample(documents, draw.randint(least, len(documents)))

    qrels = {str(q): {d: draw.choice(grades) for d in sample(1)} for q in range(draw.randint(1, 4))}
    run = {str(q): {d: draw.choice(some)() for d in sample(draw.choice([0, 1, 1]))} for q in range(5)}
    return qrels, run


@examples(times=10 if THOROUGH else 0.25)  # thousands in the thorough profile
@given(seed=st.integers(0, 2**40), level=st.sampled_from([1, 1, 2]), judged_only=st.booleans())
def test_random_collections(seed, level, judged_only):
    check(*collection(seed), MEASURES, level, judged_only)


@each(
    "measure",
    [
        *"map map.5 ndcg_cut ndcg_cut_10 ndcg_cut.10,5 ndcg_cut.10abc P_5,10 P_5.7 P.5,5".split(),
        *("P_05", "official", "set", "set_F", "set_F.2", "set_F_0.5", "iprec_at_recall.0.2", "relative_P_3"),
        *("iprec_at_recall_0.25", "11pt_avg", "11pt_avg.0.1,0.2", "relstring", "relstring_5", "success_1"),
        *("Rprec_mult.0.5", "num_q", "gm_map", "gm_bpref", "utility", "recall_1000", "map_cut.1,3,5"),
    ],
)
def test_names_of_measures(measure):
    found, expected = both(QRELS, RUN, {measure})
    for values in (*found.values(), *expected.values()):
        values.pop("runid", None)
    assert found == expected
    check(QRELS, RUN, sorted({measure, "map_cut_7", "P.3"} - {"official", "set"}))


def test_measures_that_are_supported():
    assert ours.supported_measures == theirs.supported_measures
    for name, measures in ours.supported_nicknames.items():
        assert theirs.supported_nicknames[name] == measures
    for measure in ("x", "MAP", "ndcg_cut.x", "rbp", "yaap", "prefs", "", "map "):
        for one in (ours, theirs):
            raises(ValueError, "unsupported measure", one.RelevanceEvaluator, QRELS, {measure})
    for measure in ("P.0", "recall_5,05", "ndcg.10", "map_cut_0", "G_1"):  # which end the process there
        raises(ValueError, r"\w", ours.RelevanceEvaluator, QRELS, {measure})
    values = np.random.default_rng(1).random(1000).tolist()
    for measure in ("num_q", "gm_map", "map", "ndcg_cut_10"):
        found, expected = (one.compute_aggregated_measure(measure, values) for one in (ours, theirs))
        assert type(found) is float and found == expected


def test_interpolated_precision_of_an_empty_ranking():
    qrels = {"1": {"a": 1}, "2": {"a": 0}, "3": {"a": 1}}
    names = {"11pt_avg", "iprec_at_recall.0.0,0.05,0.5", "map"}
    for run, judged_only in (({"1": {}, "2": {}}, False), ({"1": {"x": 1.0}, "2": {"x": 1.0}}, True)):
        found = ours.RelevanceEvaluator(qrels, names, 1, judged_only).evaluate(run | {"3": {"a": 1.0}})
        lacking = [[name for name, value in sorted(found[q].items()) if math.isnan(value)] for q in "123"]
        of_none = ["11pt_avg", "iprec_at_recall_0.00", "iprec_at_recall_0.05"]
        assert lacking == [of_none, [*of_none, "iprec_at_recall_0.50"], []]
        assert found["1"]["iprec_at_recall_0.50"] == found["1"]["map"] == 0.0
    check(qrels, run, sorted(names), 1, True)


def test_a_query_whose_grades_are_all_below_0():
    """As theirs, but for the first query of a process, of zeros there, and for grades below -1, a crash."""
    qrels = {"1": {"a": 1}, "2": {"a": -1, "b": -3}}
    check(qrels, {"1": {"a": 1.0}, "2": {"a": 3.0, "b": 2.0, "x": 1.0}}, MEASURES)
    first = ours.RelevanceEvaluator({"2": {"a": -5}}, {"num_ret", "num_rel", "map"}).evaluate({"2": {"x": 1.0}})
    assert first == {"2": {"num_ret": 1.0, "num_rel": 0.0, "map": 0.0}}


RUNS = [
    *({}, {"7": {"a": 1.0}}, {"1": {}}, {"1": {}, "2": {"a": 1.0}}, {"1": {"a": 1}}, {"1": {"a": True}}),
    *({"1": {"a": np.float64(1)}}, {"1": {"a": 10**30, "b": 1e300}}, {"1": {"é": 1.0, "a": 0.0}}),
]
WRONG_RUNS = [
    *({"1": {"a": "1"}}, {"1": {1: 1.0}}, {1: {"a": 1.0}}, [("1", "a", 1)], {"1": [1]}, {"1": {b"a": 1.0}}),
    *({"1": {"a": np.float32(1)}}, {"1": {"a": None}}, {"1": {"a": 1.0}, "2": {"b": "x"}}),
]
WRONG_QRELS = [
    *(({"1": {"a": grade}}, 1) for grade in (1.0, "1", np.int64(1), None)),
    *(({"1": {1: 1}}, 1), ({1: {"a": 1}}, 1), ({"1": [1]}, 1), (QRELS, 0), (QRELS, 1.5)),
]


@each("run", RUNS)
def test_runs(run):
    check(QRELS, run, {"map", "num_ret", "ndcg", "gm_map", "P.5"})
    check(QRELS, run, [])
    check({}, run, {"map"})
    check({"1": {"a": True, "b": -1 * 0}}, run, {"map"})


@pytest.mark.parametrize("one", [ours, theirs])
def test_wrong_types(one):
    for run in WRONG_RUNS:
        error_of(TypeError, one.RelevanceEvaluator(QRELS, {"map"}).evaluate, run)
    for qrels, level in WRONG_QRELS:
        error_of(TypeError, one.RelevanceEvaluator, qrels, {"map"}, level)


def test_what_is_wrong_is_named():
    evaluator = ours.RelevanceEvaluator(QRELS, {"map"})
    with pytest.raises(
        ValueError, match=r"^scores:3: query '2', document 'd': the score nan is not a finite number$"
    ):
        evaluator.evaluate({"1": {"a": 1.0}, "2": {"c": 1.0, "d": math.nan}})
    for qrels in ("qrels.txt", None, [], {"1": 3}):
        raises(TypeError, r"^qrels.* dict", ours.RelevanceEvaluator, qrels, {"map"})
    with pytest.raises(TypeError, match="query '2': the score of document 'd' has the wrong type: None"):
        evaluator.evaluate({"1": {"a": 1.0}, "2": {"c": 1.0, "d": None}})
    with pytest.raises(
        ValueError, match=r"^scores:2: query '2'.*: the document id 'd\\ud800' cannot be encoded"
    ):
        evaluator.evaluate({"1": {"a": 1.0}, "2": {"d\ud800": 1.0}})
    with pytest.raises(
        ValueError, match=r"^qrels:1: query '1'.*: the document id 'd\\x00' contains a NUL byte"
    ):
        ours.RelevanceEvaluator({"1": {"d\0": 1}}, {"map"})


def test_lines():
    run, qrels = ["1 Q0 a 1 1.5 t", " 1 Q0 b 2 1e0 t\n"], ["1 0 a 1", "2\t0 a -1\n"]
    assert ours.parse_run(run) == theirs.parse_run(run)
    assert ours.parse_qrel(qrels) == theirs.parse_qrel(qrels)
    for one in (ours, theirs):
        for lines in (["1 Q0 a 1"], ["1 Q0 a 1 x t"]):
            raises(ValueError, r"\w", one.parse_run, lines)
        raises(ValueError, "invalid literal", one.parse_qrel, ["1 0 a 1.5"])
        error_of(AssertionError, one.parse_run, run[:1] * 2)
        error_of(AssertionError, one.parse_qrel, qrels[:1] * 2)


def test_a_few_of_many_queries() -> None:
    """Only they are scored then, in any order, with the same digits."""
    qrels = {f"q{i}": {f"d{j}": (i + j) % 4 for j in range(i % 7 + 1)} for i in range(50)}
    run = {
        query: {document: (n * 7 + j * 3) % 5 / 3 for j, document in enumerate((*of, "x"))}
        for n, (query, of) in enumerate(qrels.items())
    }
    evaluator = ours.RelevanceEvaluator(qrels, {"map", "ndcg_cut.3", "recip_rank", "Rprec", "bpref"})
    whole = evaluator.evaluate(run)
    for some in (["q9"], ["q30", "q2", "q17"], [*run][::-1][:20]):
        assert evaluator.evaluate({query: run[query] for query in some}) == {
            query: whole[query] for query in some
        }
