"""Level, depth, ties, judged-only and zero grade mean the same for every metric.

The values with the option are the values, without it, of data that were changed by hand.
"""

import random
from collections.abc import Callable, Iterable

import pytest
from helpers import each, ranking, with_needed

import gradeval
from gradeval.registry.metric import REGISTRY, load
from gradeval.tables import qrels as qrels_table

load()

BY_SCORE = {"tau", "rho", "pearson", "AUC", "rankDCG"}  # tied scores are tied, for each by its own rule
BINARY = {"rbp": {"gain": "binary"}}  # how a metric of grades is told to know only relevant and not
Qrels = dict[str, dict[str, float]]
Run = dict[str, dict[str, float]]
Values = dict[str, dict[str, float] | dict[str, str]]
"""metric -> query -> value."""


def collection(count: int = 21) -> tuple[Qrels, Run]:
    """Queries with tied scores, unjudged documents, grades from -1 to 4, and some that the run lacks."""
    rng = random.Random(7)
    names = [f"d{number:02}" for number in range(16)]
    qrels = {
        f"q{q}": {d: float(rng.choice([-1, 0, 0, 1, 2, 3, 4])) for d in rng.sample(names, 11)}
        for q in range(count)
    }
    run = {
        f"q{q}": {d: float(rng.randrange(5)) for d in rng.sample(names, 5 + q % 7)}
        for q in range(count)
        if q % 7 != 6
    }
    return qrels, run


QRELS, RUN = collection()


def values(
    names: Iterable[str] = REGISTRY, qrels: Qrels = QRELS, run: Run = RUN, spec=with_needed, **options: object
) -> Values:
    names = list(names)
    evaluator = gradeval.Evaluator(qrels, [spec(name) for name in names], warnings="ignore", **options)
    results = evaluator.evaluate({"run": run})  # which does not look for notices
    return {
        name: (results.texts if one.metric.text else results.per_query)(0, column)
        for column, (name, one) in enumerate(zip(names, results.specs, strict=True))
    }


def differing(found: Values, expected: Values) -> dict[str, str]:
    """metric -> a query whose values differ, and its data, for the metrics for which there is one."""
    assert found.keys() == expected.keys()
    different: dict[str, str] = {}
    for name, of in expected.items():
        assert found[name].keys() == of.keys()
        for query, value in of.items():
            other = found[name][query]
            if value != other and (
                isinstance(value, str) or value != pytest.approx(other, rel=1e-12, abs=1e-12, nan_ok=True)
            ):
                different[name] = f"{other}, not {value} of {query}: {QRELS[query]}, run {RUN.get(query)}"
    return different


def grades(change: Callable[[float], float]) -> Qrels:
    return {query: {d: change(grade) for d, grade in of.items()} for query, of in QRELS.items()}


def binary(name: str) -> str:
    return with_needed(name, **BINARY.get(name, {}))


def judged_only(name: str) -> str:
    return with_needed(name, judged_only="true")


WITH_LEVEL = [name for name, metric in REGISTRY.items() if "rel" in metric.by_name]
OF_GRADES = [name for name in REGISTRY if name not in WITH_LEVEL or name in BINARY]


@each("level", [2, 2.5])
def test_level(level):
    with_option = values(WITH_LEVEL, spec=binary, rel=level)
    with_parameter = values(WITH_LEVEL, spec=lambda name: with_needed(name, rel=level))
    other = values(WITH_LEVEL, spec=lambda name: with_needed(name, rel=level), rel=4)
    assert differing(with_option, with_parameter) == {}
    assert differing(with_option, other) == {}, "its own level goes first"
    by_hand = grades(lambda grade: 1.0 if grade >= level else min(grade, 0.0))
    changed = differing(with_option, values(WITH_LEVEL, by_hand, spec=binary))
    changed.pop("Rndcg", None)  # looks at the grades of the documents that are relevant at the level
    assert changed == {}
    assert differing(values(OF_GRADES, rel=level), values(OF_GRADES)) == {}, "a metric of grades has no level"


@each("depth", [4, 100])
def test_depth(depth):
    by_hand = {query: {d: of[d] for d in ranking(of)[:depth]} for query, of in RUN.items()}
    assert differing(values(depth=depth), values(run=by_hand)) == {}


@each("depth", [None, 4])
def test_judged_only(depth):
    by_hand = {q: {d: of[d] for d in ranking(of)[:depth] if QRELS[q].get(d, -1) >= 0} for q, of in RUN.items()}
    expected = values(run=by_hand)
    assert differing(values(judged_only=True, depth=depth), expected) == {}
    assert differing(values(spec=judged_only, depth=depth), expected) == {}
    assert differing(values(spec=judged_only, judged_only=True, depth=depth), expected) == {}


ORDERS = {
    "trec": lambda query, of: ranking(of),
    "input": lambda query, of: sorted(of, key=lambda d: -of[d]),
    "best": lambda query, of: sorted(ranking(of), key=lambda d: (-of[d], -QRELS[query].get(d, 0.0))),
    "worst": lambda query, of: sorted(ranking(of), key=lambda d: (-of[d], QRELS[query].get(d, 0.0))),
}


@each("ties", ORDERS)
def test_ties(ties):
    by_order = [name for name in REGISTRY if name not in BY_SCORE]
    run = {q: {d: -float(place) for place, d in enumerate(ORDERS[ties](q, of))} for q, of in RUN.items()}
    assert differing(values(by_order, ties=ties), values(by_order, run=run)) == {}
    assert differing(values(BY_SCORE, ties=ties), values(BY_SCORE)) == {}, "equal scores stay equal"


def test_zero_grade():
    assert differing(values(zero_grade=1), values(qrels=grades(lambda grade: grade - 1))) == {}


@each("options", [{}, {"zero_grade": 1, "judged_only": True}])
def test_neither_order_nor_shares_change_a_digit(options, monkeypatch):
    """Of the files; and in shares of a query each, even where the scale of the whole qrels counts."""
    rng = random.Random(1)

    def shuffled(of: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
        return {q: dict(rng.sample(list(of[q].items()), len(of[q]))) for q in sorted(of, reverse=True)}

    scale = "ERR(gain=0:0/1:9) nDCG(ideal=max,gain=1:7/2:3)@5 nDCG(ideal=max,top=2/4,gain=1:7)@5"
    names = [*map(with_needed, REGISTRY), *scale.split()]
    expected = values(names, spec=str, **options)
    monkeypatch.setattr(qrels_table, "SHARE", 1)
    found = values(names, shuffled(QRELS), shuffled(RUN), str, **options)
    for name, of in expected.items():
        assert [repr(found[name][query]) for query in of] == [repr(value) for value in of.values()], name
