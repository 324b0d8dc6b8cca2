"""Level, depth, ties, judged-only and zero grade mean the same for every metric.

Metric by metric: a value with the option is the value, without it, of data that were changed by hand.
"""

from __future__ import annotations

import math
import random

import pytest
from helpers import ranking

import gradeval
from gradeval.registry.families import load
from gradeval.registry.metric import REGISTRY
from gradeval.registry.spec import parse
from gradeval.tables import qrels as qrels_table

load()

NEEDED = {"cutoff": "3", "max_rel": "3", "recall": "0.5", "multiple": "0.6"}
BY_SCORE = {"tau", "rho", "pearson", "AUC", "rankDCG"}  # tied scores are tied, for each by its own rule
BY_GRADE_TOO = {"Rndcg"}  # looks at the grades of the documents that are relevant at the level
BINARY = {"rbp": {"gain": "binary"}}  # how a metric of grades is told to know only relevant and not
Qrels = dict[str, dict[str, float]]
Run = dict[str, dict[str, float]]


def collection() -> tuple[Qrels, Run]:
    """Queries with tied scores, unjudged documents, grades from -1 to 4, and one that the run lacks."""
    rng = random.Random(7)
    names = [f"d{number:02}" for number in range(16)]
    qrels = {
        f"q{q}": {d: float(rng.choice([-1, 0, 0, 1, 2, 3, 4])) for d in rng.sample(names, 11)} for q in range(7)
    }
    run = {f"q{q}": {d: float(rng.randrange(5)) for d in rng.sample(names, 5 + q)} for q in range(6)}
    return qrels, run


QRELS, RUN = collection()


def values(name: str, qrels: Qrels = QRELS, run: Run = RUN, **options: object) -> list[float] | list[str]:
    """What a metric says of each query."""
    results = gradeval.evaluate(qrels, {"run": run}, name, **options)
    if results.specs[0].metric.text:
        return list(results.texts(0, 0).values())
    return results.values(0, 0).tolist()


def same(a: list[float] | list[str], b: list[float] | list[str]) -> bool:
    def alike(x: float | str, y: float | str) -> bool:
        if isinstance(x, str) or isinstance(y, str):
            return x == y
        return (math.isnan(x) and math.isnan(y)) or math.isclose(x, y, rel_tol=1e-12, abs_tol=1e-12)

    return len(a) == len(b) and all(map(alike, a, b))


def spec(name: str, **more: object) -> str:
    """The metric with the parameters that it needs, and more."""
    given = {p.name: NEEDED[p.name] for p in REGISTRY[name].params if p.required} | more
    return f"{name}({','.join(f'{key}={value}' for key, value in given.items())})" if given else name


def grades(change) -> Qrels:
    return {query: {d: change(grade) for d, grade in of.items()} for query, of in QRELS.items()}


def rankings(order) -> Run:
    """The run with each query's documents in the order that order(query, run) gives, all scores different."""
    return {q: {d: -float(place) for place, d in enumerate(order(q, of))} for q, of in RUN.items()}


every_metric = pytest.mark.parametrize("name", REGISTRY)


@every_metric
@pytest.mark.parametrize("level", [2, 2.5])
def test_level(name, level):
    has_level, binary = "rel" in REGISTRY[name].by_name, spec(name, **BINARY.get(name, {}))
    if not has_level or name in BINARY:
        assert same(values(spec(name), rel=level), values(spec(name))), "a metric of grades has no level"
    if not has_level:
        return
    with_option = values(binary, rel=level)
    assert same(with_option, values(spec(name, rel=level)))
    assert same(with_option, values(spec(name, rel=level), rel=4)), "its own level goes first"
    if name in BY_GRADE_TOO:
        return
    by_hand = grades(lambda grade: 1.0 if grade >= level else min(grade, 0.0))
    assert same(with_option, values(binary, by_hand))


@every_metric
@pytest.mark.parametrize("depth", [4, 100])
def test_depth(name, depth):
    by_hand = {query: {d: of[d] for d in ranking(of)[:depth]} for query, of in RUN.items()}
    assert same(values(spec(name), depth=depth), values(spec(name), run=by_hand))


@every_metric
def test_judged_only(name):
    by_hand = {q: {d: score for d, score in of.items() if QRELS[q].get(d, -1) >= 0} for q, of in RUN.items()}
    with_option = values(spec(name), judged_only=True)
    assert same(with_option, values(spec(name), run=by_hand))
    assert same(with_option, values(spec(name, judged_only="true")))
    assert same(with_option, values(spec(name, judged_only="true"), judged_only=True))


@every_metric
def test_judged_only_of_what_is_deep_enough(name):
    by_hand = {q: {d: of[d] for d in ranking(of)[:4] if QRELS[q].get(d, -1) >= 0} for q, of in RUN.items()}
    assert same(values(spec(name), judged_only=True, depth=4), values(spec(name), run=by_hand))
    assert same(values(spec(name, judged_only="true"), depth=4), values(spec(name), run=by_hand))


ORDERS = {
    "trec": lambda query, of: ranking(of),
    "input": lambda query, of: sorted(of, key=lambda d: -of[d]),
    "best": lambda query, of: sorted(ranking(of), key=lambda d: (-of[d], -QRELS[query].get(d, 0.0))),
    "worst": lambda query, of: sorted(ranking(of), key=lambda d: (-of[d], QRELS[query].get(d, 0.0))),
}


@every_metric
@pytest.mark.parametrize("ties", ORDERS)
def test_ties(name, ties):
    with_option = values(spec(name), ties=ties)
    if name in BY_SCORE:
        assert same(with_option, values(spec(name))), "equal scores stay equal"
    else:
        assert same(with_option, values(spec(name), run=rankings(ORDERS[ties])))


@every_metric
def test_zero_grade(name):
    by_hand = grades(lambda grade: grade - 1)
    assert same(values(spec(name), zero_grade=1), values(spec(name), by_hand))


def test_the_options_do_something():
    """Else this file would prove nothing: the collection has what each option is about."""
    plain = values("AP")
    for options in ({"rel": 2}, {"depth": 4}, {"judged_only": True}, {"ties": "best"}, {"zero_grade": 1}):
        assert not same(plain, values("AP", **options))
    assert len({tuple(values("AP", ties=ties)) for ties in ORDERS}) == 4


@every_metric
def test_parameters_that_are_needed_are_known(name):
    assert parse(spec(name))


WITH_SCALE = ["ERR(gain=0:0/1:9)", "ERR(gain=linear)", "nDCG(ideal=max)@5", "nDCG(ideal=max,gain=1:7/2:3)@5"]


@pytest.mark.parametrize("name", [*REGISTRY, *WITH_SCALE, "nDCG(ideal=max,top=2/4,gain=1:7)@5"])
def test_queries_evaluated_apart_or_together(name, monkeypatch):
    """In shares of a query each: to the last bit, even where the scale of the whole qrels counts."""
    name = spec(name) if name in REGISTRY else name
    together = values(name)
    monkeypatch.setattr(qrels_table, "SHARE", 1)
    assert repr(values(name)) == repr(together)
