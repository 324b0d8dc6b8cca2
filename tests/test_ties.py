"""The notice of tied scores against values under other orders of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import groupby, permutations, product

import pytest

import gradeval
from gradeval.registry.families import load
from gradeval.registry.metric import REGISTRY
from gradeval.registry.spec import parse

Grades = dict[str, float]
Ranking = list[tuple[str, float]]

# those that any order of unlike documents changes, and so the notice can be exact
EXACT = (
    "AP AP(rel=2) P@1,2,3 P(rel=2,judged_only=true)@2 R@2 CG@1,3 DCG DCG@2 DCG(judged_only=true)@2 "
    "num_rel_ret@2 num_ret num_rel RR RR(rel=2) RR@2 Success@1 Rprec Rprec(rel=2) utility"
)


def collection(draw: random.Random) -> tuple[Grades, Ranking]:
    """A query with many tied scores, unjudged documents, and grades below 0."""
    grades = {f"d{i}": draw.choice([-1, 0, 0, 1, 2, 2]) for i in range(draw.randint(1, 5))}
    names = draw.sample([*grades, "x", "y", "z"], draw.randint(1, min(4, len(grades) + 3)))
    return {"a": 1, **grades}, [(name, draw.randint(0, 1)) for name in names]


def orders(ranking: Ranking) -> Iterator[dict[str, float]]:
    """The run with tied documents in every order."""
    by_score = sorted(ranking, key=lambda line: -line[1])
    groups = [list(permutations(group)) for _, group in groupby(by_score, key=lambda line: line[1])]
    for parts in product(*groups):
        yield {name: score for part in parts for name, score in part}


def differ(grades: Grades, ranking: Ranking, names: str | list[str], **options: object) -> list[bool]:
    """Whether the value of each metric hangs on the order of tied documents."""
    results = [
        gradeval.evaluate({"q": grades}, {"q": run}, names, ties="input", **options).means[0].tolist()
        for run in orders(ranking)
    ]
    # sums in another order may end in another last digit
    return [len({f"{value:.9f}" for value in values}) > 1 for values in zip(*results, strict=True)]


def noticed(grades: Grades, ranking: Ranking, name: str, **options: object) -> bool:
    warnings = gradeval.evaluate({"q": grades}, {"q": dict(ranking)}, name, **options).warnings
    return any("ties" in warning for warning in warnings)


@pytest.mark.parametrize(
    "options", [{}, {"depth": 2}, {"judged_only": True}, {"rel": 2}, {"rel": 0, "depth": 1}]
)
def test_exact(options: dict[str, object]) -> None:
    """The notice comes where an order changes the value, and nowhere else."""
    draw = random.Random(str(options))
    names = [str(spec) for spec in parse(EXACT) if "depth" not in options or "judged_only" not in spec.params]
    seen = set()
    for _ in range(50):
        grades, ranking = collection(draw)
        for name, changes in zip(names, differ(grades, ranking, names, **options), strict=True):
            assert noticed(grades, ranking, name, **options) is changes, (name, grades, ranking)
            seen.add((name, changes))
    assert len(seen) > len(names) + 5  # both ways, but for those that nothing changes


def test_never_missing() -> None:
    """No metric, whatever is set, changes without the notice."""
    load()
    draw = random.Random(7)
    changed = set()
    for _ in range(50):
        grades, ranking = collection(draw)
        options = {
            "depth": draw.choice([None, None, 1, 2, 3]),
            "judged_only": draw.random() < 0.3,
            "rel": draw.choice([None, None, 0, 2]),
        }
        names = [metric.example for metric in REGISTRY.values() if not metric.text]
        names += [
            "nDCG(gain=0:1/1:0)@2",
            "RR(judged_only=true)@2",
            "nDCG(top=1/2)@2",
            "rbp(rel=2)@2",
            "BPM(max_rel=2)@2",
        ]
        for name, changes in zip(names, differ(grades, ranking, names, **options), strict=True):
            assert not changes or noticed(grades, ranking, name, **options), (name, grades, ranking, options)
            if changes:
                changed.add(name)
    assert len(changed) > 60
