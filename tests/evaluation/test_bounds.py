"""Bounds over missing judgments are the lowest and the highest value over all judgments of the unjudged
documents, tried one by one with the public evaluate().
"""

import random
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from helpers import each, each_row, error_of, raises
from hypothesis import given
from hypothesis import strategies as st

import gradeval
from gradeval.errors import MetricError, OptionError

EXACT = (
    "P@1,3 P(rel=2)@3 P(rel=0)@2 Success@2 Success(need=all)@3 Success(rel=2,need=all)@4 RR RR@2 RR(rel=2) "
    "DCG DCG(gain=exp)@3 DCG(gain=0:0/1:3/2:9)@3 DCG(discount=zipf)@2 CG@3 CG(gain=1:-1/2:3)@3 gP gP@3 "
    "rbp(gain=binary) rbp(rel=2,p=0.5)@3 ERR ERR(gain=linear,max_grade=9)@3 SDCG(min_rel=1,max_rel=3)@4 "
    "R@1,3 R(rel=0)@3 relative_P@1,3 AP AP@2 AP(norm=min)@2 AP(rel=2) AP(rel=0)@3 F@3 F(x=2.5)@2 Rprec "
    "Rprec(rel=2) nDCG nDCG@1,3,5 nDCG(gain=exp)@3 nDCG(gain=0:0/1:1/2:5/3:9)@3 nDCG(discount=letor)@3 "
    "nDCG(discount=none)@2 nDCG(ideal=max)@3 nDCG(ideal=local)@3 nDCG(ideal=local) ndcg_p JKnDCG(base=4)@3"
)
OUTER = "muAP"


def collection(draw: random.Random) -> tuple[dict[str, float], dict[str, float]]:
    """Judgments, and a run whose documents may be passages and have tied scores."""
    documents = [f"d{number}" for number in range(draw.randint(2, 7))]
    run = {
        f"{document}#{passage}": float(draw.randint(1, 9))
        for document in documents[: draw.randint(1, 5)]
        for passage in range(draw.choice([1, 1, 2]))
    }
    judged = draw.sample(documents, draw.randint(1, len(documents)))
    return {document: draw.choice([-1.0, 0, 0, 1, 1, 2, 3, 1.5]) for document in judged}, run


def evaluated(qrels: Any, run: Any, **options: Any) -> gradeval.Results:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gradeval.evaluate(qrels, run, f"{EXACT} {OUTER}", max_passage="#", **options)


def unjudged(grades: dict[str, float], run: dict[str, float], depth: int | None) -> list[str]:
    """The documents of a run that have no judgment, in its first ranks."""
    best: dict[str, float] = {}
    for passage, score in run.items():
        document = passage.partition("#")[0]
        best[document] = max(score, best.get(document, 0.0))
    ranked = sorted(best, key=lambda document: (best[document], document), reverse=True)
    return [document for document in ranked[:depth] if document not in grades]


@given(st.integers(0, 2**32))
def test_all_judgments(seed: int) -> None:
    draw = random.Random(seed)
    options: dict[str, Any] = {
        "depth": draw.choice([None, None, 2, 3, 4]),
        "zero_grade": draw.choice([0.0, 0.0, 1.0]),
        "rel": draw.choice([None, None, 2.0]),
        "no_relevant": draw.choice(["0", "1"]),
        "ties": "trec",
    }
    cases = {f"q{number}": collection(draw) for number in range(12)}
    qrels, runs = ({query: case[side] for query, case in cases.items()} for side in (0, 1))
    largest = max(max(grades.values()) for grades in qrels.values())
    top = draw.choice([None, None, 1.0 + options["zero_grade"], 2.0, 4.0])
    results = evaluated(qrels, runs, **options, top_grade=top, bounds=True)
    lowest, highest = results.runs[0].bounds
    zero = options["zero_grade"]
    top = max(largest if top is None else top, zero)
    tried = {
        zero,
        top,
        zero + 1,
        zero + 2,
        zero + 3,
        *(grade for grades in qrels.values() for grade in grades.values()),
    }
    worlds: dict[str, tuple[dict[str, float], dict[str, float]]] = {}
    count = {}
    for query, (grades, run) in cases.items():
        documents = unjudged(grades, run, options["depth"])
        judgments = [*product([grade for grade in tried if zero <= grade <= top], repeat=len(documents))]
        judgments = draw.sample(judgments, min(len(judgments), 300))
        judgments += product({zero, top}, repeat=len(documents))
        count[query] = len(judgments)
        for number, grade in enumerate(judgments):
            worlds[f"{query}/{number}"] = {**grades, **dict(zip(documents, grade, strict=True))}, run
    every = (
        {query: world[0] for query, world in worlds.items()},
        {query: world[1] for query, world in worlds.items()},
    )
    values = evaluated(*every, **options, top_grade=top).runs[0].values
    offsets = np.append(0, np.cumsum([*count.values()]))[:-1]
    low, high = (ufunc.reduceat(values, offsets, axis=1) for ufunc in (np.minimum, np.maximum))
    exact = len(results.specs) - 1
    is_whole = [len({*tried}) ** len(unjudged(*case, options["depth"])) <= 300 for case in cases.values()]
    for m, spec in enumerate(results.specs):
        assert (lowest[m] <= low[m] + 1e-9).all() and (highest[m] >= high[m] - 1e-9).all(), str(spec)
        chosen = np.array(is_whole) & (m < exact)
        np.testing.assert_allclose(lowest[m][chosen], low[m][chosen], atol=1e-9, err_msg=str(spec))
        np.testing.assert_allclose(highest[m][chosen], high[m][chosen], atol=1e-9, err_msg=str(spec))


@each_row(
    # grades of the judged documents among a, b, c, …, which are retrieved in this order; z is not
    ({"a": 3, "c": 0, "d": 1, "z": 2}, 5, "nDCG@3", {}, (0.509097, 0.630006, 0.830301)),
    ({"a": 3, "c": 0, "d": 1, "z": 2}, 5, "nDCG@5", {}, (0.720449, 0.720449, 0.853827)),
    ({"a": 1}, 2, "nDCG", {"top_grade": 3}, (0.796708, 1, 1)),
    ({"a": 1, "c": 0, "d": 1, "z": 1}, 5, "AP", {}, (0.5, 0.5, 0.71)),
    ({"a": 1, "c": 0, "d": 1, "z": 1}, 5, "R@3", {}, (0.25, 1 / 3, 0.5)),
    ({"a": 1}, 2, "muAP", {"top_grade": 3}, (2 / 3, 1, 1)),
)
def test_worked(
    grades: Any, count: int, metric: str, options: Any, expected: tuple[float, float, float]
) -> None:
    run = {document: -float(rank) for rank, document in enumerate("abcde"[:count])}
    results = gradeval.evaluate({"q": grades}, {"q": run}, metric, bounds=True, **options)
    lower, upper = results.bounds(0, metric)
    assert (lower, results.mean(0, metric), upper) == pytest.approx(expected, abs=1e-6)


def test_means_and_frames() -> None:
    qrels = {"1": {"a": 3, "c": 0, "d": 1}, "2": {"a": 1}, "3": {"b": 2}}
    run = {query: {"a": 3.0, "b": 2.0, "c": 1.0} for query in qrels}
    options: dict[str, Any] = {"bounds": True, "query_weights": {"1": 2, "2": 1, "3": 1}, "query_ids": "1,2"}
    results = gradeval.evaluate(qrels, run, "nDCG@2 bpref num_q", **options)
    [low, high] = results.runs[0].bounds[:, 0, :2]
    assert results.bounds(0, "nDCG@2") == pytest.approx(
        ((2 * low[0] + low[1]) / 3, (2 * high[0] + high[1]) / 3)
    )
    assert np.isnan(results.bounds(0, "bpref")).all()
    frame = results.to_pandas()
    assert list(frame.columns) == ["run", "query", "metric", "value", "lower_bound", "upper_bound"]
    assert frame.lower_bound[:3:2].tolist() == low.tolist()
    wide = results.per_query_frame()
    assert list(wide.columns)[:3] == ["nDCG@2", "nDCG@2 lower_bound", "nDCG@2 upper_bound"]
    assert wide["nDCG@2 upper_bound"].tolist() == high.tolist()
    unbounded = gradeval.evaluate(qrels, run, "nDCG@2")
    raises(OptionError, "evaluate with bounds=True", unbounded.bounds, 0, "nDCG@2")
    assert list(unbounded.to_pandas().columns) == ["run", "query", "metric", "value"]


@each_row(
    (
        "AP",
        {"judged_only": True},
        "bounds and judged_only are mutually exclusive: no documents are unjudged then",
    ),
    (
        "AP",
        {"unjudged_grade": 1},
        "bounds and unjudged_grade, which gives them a grade, are mutually exclusive",
    ),
    ("AP", {"ties": "expected"}, "bounds require ties=trec or input, not expected"),
    ("AP", {"no_relevant": "skip"}, "bounds require no_relevant=0 or 1: skip is no value of queries"),
)
def test_options_without_bounds(metric: str, options: Any, message: str) -> None:
    assert error_of(OptionError, gradeval.Evaluator, {"q": {"a": 1}}, metric, bounds=True, **options) == message


@each_row(
    ("bpref tau", "no bounds over missing judgments: bpref, tau: metrics with bounds: AP, muAP, "),
    (
        "nDCG(judged_only=true)@3",
        "no bounds over missing judgments: nDCG(judged_only=true)@3: nDCG has them without judged_only",
    ),
    (
        "nDCG(gain=0:1/1:2)",
        "no bounds over missing judgments: nDCG(gain=0:1/1:2): nDCG has them only with gains",
    ),
    ("nDCG(top=1/2)", "no bounds over missing judgments: nDCG(top=1/2): nDCG has them only with gains"),
    ("rbp", "no bounds over missing judgments: rbp: rbp has them only with rel= or gain=binary"),
)
def test_metrics_without_bounds(metrics: str, message: str) -> None:
    assert error_of(MetricError, gradeval.Evaluator, {"q": {"a": 1}}, metrics, bounds=True).startswith(message)


@each("grade, options", [(0, {}), (1, {"top_grade": -1}), (2, {"top_grade": 1, "zero_grade": 2})])
def test_grades_that_change_nothing(grade: int, options: Any) -> None:
    """Where no judgment could be above 0, bounds would claim that none can change anything."""
    qrels, run = {"q": {"a": grade}}, {"q": {"a": 1.0, "b": 2.0}}
    raises(OptionError, "Give --top-grade", gradeval.evaluate, qrels, run, "AP", bounds=True, **options)
    raises(OptionError, "Give --top-grade", gradeval.compare, qrels, [run, run], "AP", bounds=True, **options)
    pool = gradeval.pool
    raises(OptionError, "Give --top-grade", pool, qrels, [run, run], "P@1", order="decide", **options)


def test_gains_that_unjudged_documents_jump_over() -> None:
    qrels, run = {"q": {"a": 3, "b": 1}}, {"q": {"a": 2.0, "x": 1.0}}
    metric = "nDCG(gain=0:0/1:1/2:9/3:2)"
    message = "no bounds: the gain of grade 3, above the top grade, is below others"
    evaluator = gradeval.Evaluator(qrels, metric, top_grade=2, bounds=True)
    raises(MetricError, message, evaluator.evaluate, run)
    assert gradeval.evaluate(qrels, run, metric, bounds=True).bounds(0, 0)[1] == pytest.approx(0.867087)
