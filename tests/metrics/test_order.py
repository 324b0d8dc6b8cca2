"""What a metric says of the order of documents is so: the notice of tied scores relies on it."""

from __future__ import annotations

import random

import gradeval
from gradeval.options import TIES
from gradeval.registry.families import load
from gradeval.registry.metric import REGISTRY
from gradeval.registry.spec import parse

QUERIES = 60


def test_order() -> None:
    """Equal scores in any order change those metrics that say so, and no others."""
    load()
    specs = {}
    for metric in REGISTRY.values():
        if not metric.text:
            needed = [param.name for param in metric.params if param.required]
            text = metric.usage if needed else metric.name
            specs[metric.name] = parse(f"{metric.name}@2" if needed == ["cutoff"] else text)[0]
    draw = random.Random(5)
    qrels, run = {}, {}
    for query in map(str, range(QUERIES)):
        judged = range(draw.randint(2, 8))
        qrels[query] = {f"d{i}": draw.choice([-1, 0, 0, 1, 2, 3]) for i in judged}
        run[query] = {
            f"d{i}": draw.randint(0, 2) for i in range(len(judged) + 3) if i == 0 or draw.random() < 0.8
        }
    results = [gradeval.evaluate(qrels, run, map(str, specs.values()), ties=ties) for ties in TIES]
    changed = set()
    for name, spec in specs.items():
        for values in zip(*(result.per_query(0, spec).values() for result in results), strict=True):
            # sums in another order may end in another last digit
            if len({f"{value:.9f}" for value in values}) > 1:
                changed.add(name)
    assert changed == {
        name
        for name, spec in specs.items()
        if spec.metric.order or spec.metric.stops or "cutoff" in spec.params
    }


def test_the_notice_of_ties_is_for_metrics_that_they_can_change() -> None:
    qrels = {"q": {"a": 2, "b": 1, "c": 0}}
    run = {"q": {"a": 5.0, "x": 3.0, "b": 3.0, "c": 3.0}}
    for names, reached in (
        ("num_ret set_P rankDCG", False),
        ("nDCG@1", False),
        ("nDCG@2", True),
        ("num_ret AP", True),
        ("P@1 CG", False),
        ("P@1,2", True),
    ):
        assert bool(gradeval.evaluate(qrels, run, names).warnings) is reached, names
    assert not gradeval.evaluate(qrels, run, "AP", depth=1).warnings
    assert gradeval.evaluate(qrels, run, "set_P", depth=2).warnings
