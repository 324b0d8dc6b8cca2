"""Random queries and random parameters."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from helpers import Query
from hypothesis import strategies as st

from gradeval.grades import is_grade
from gradeval.registry.families import load
from gradeval.registry.metric import REGISTRY, Metric

load()

WORDS = {
    "rounding": ("nearest", "up"),
    "variant": ("paper", "released"),
    "discount": ("log2", "letor", "zipf", "none"),
    "ideal": ("global", "max", "local"),
}

# eighths are exact, so that no rounding decides what is beyond a fence
grades = st.one_of(
    st.sampled_from([0.0, 1.0, 2.0, 3.0]),
    st.integers(-2, 4).map(float),
    st.integers(0, 32).map(lambda n: n / 8),
    st.integers(0, 900).map(float),
)
scores = st.one_of(st.integers(0, 3).map(float), st.integers(-8000, 8000).map(lambda n: n / 8))


@st.composite
def queries(draw, most=14):
    """(qrels, run): with tied grades and scores, unjudged and unretrieved documents, either of them empty."""
    names = [f"d{place}" for place in range(draw(st.integers(0, most)))]
    grade = draw(st.sampled_from([st.sampled_from([0.0, 1.0]), st.integers(-1, 3).map(float), grades]))
    qrels = {name: draw(grade) for name in names if draw(st.integers(0, 4))}
    seen = draw(st.sampled_from([0, 1, 4, 4, 4]))
    run = {name: draw(scores) for name in names if draw(st.integers(0, 4)) < seen}
    return qrels, run


tables = st.lists(queries(), max_size=4)


KINDS = {"binary": [0, 1], "graded": range(-1, 4), "eighths": [n / 8 for n in range(33)], "shares": range(901)}


def crowd(seed: int, kind: str, most: int, count: int) -> list[Query]:
    """So many queries, with grades of one kind: hypothesis itself repeats much of what it drew, and is slow.

    Where the largest grade of all queries counts, as in ERR, one of 900 would leave nothing of the others.
    """
    random = Random(seed)

    def query() -> Query:
        names = [f"d{place}" for place in range(random.randint(0, most))]
        seen, spread = random.choice([0, 0.2, 0.8, 0.8, 0.8]), random.choice([4, 16000])
        qrels = {name: float(random.choice(KINDS[kind])) for name in names if random.random() < 0.8}
        run = {name: random.randrange(spread) / 8 - 1 for name in names if random.random() < seen}
        return qrels, run

    return [query() for _ in range(count)]


def crowds(count: int, kinds: Iterable[str] = KINDS) -> st.SearchStrategy[list[Query]]:
    sizes = [1, 2, 3, 4, 6, 8, *[14] * 12]  # mostly large, but a failure shrinks
    seeds, kind = st.integers(0, 2**32), st.sampled_from([*kinds])
    return st.builds(crowd, seeds, kind, st.sampled_from(sizes), st.just(count))


positive = st.one_of(st.integers(1, 9).map(float), st.floats(0.125, 1e6))


@st.composite
def points(draw):
    x = sorted(draw(st.sets(st.integers(-4, 40).map(float), min_size=2, max_size=6)))
    y = sorted(draw(st.lists(st.integers(0, 16).map(lambda n: n / 16), min_size=len(x), max_size=len(x))))
    return tuple(zip(x, y, strict=True))


def numbers(least, most):
    """Those that a parameter takes."""
    return st.floats(least, most).filter(is_grade)


fraction = st.floats(0.01, 0.99)
share = st.one_of(st.integers(0, 10).map(lambda n: n / 10), numbers(0, 1))
VALUES = {
    "judged_only": st.booleans(),
    "T": st.one_of(st.integers(1, 4).map(float), st.floats(0.125, 50)),
    "min_rel": st.sampled_from([-1.0, 0.0, 0.5, 1.0]),
    "max_rel": st.one_of(st.integers(2, 5).map(float), st.floats(1.125, 900)),
    "n": st.one_of(st.integers(1, 20), st.just(1000)),
    "p": fraction,
    "beta": positive,
    "base": st.floats(1.125, 20),
    "normalize": st.booleans(),
    "recall": share,
    "points": st.lists(share, min_size=1, max_size=4).map(tuple),
    "multiple": st.one_of(st.integers(0, 10).map(lambda n: n / 5), numbers(0, 9)),
    "weights": st.lists(st.integers(-8, 8).map(lambda n: n / 4), min_size=4, max_size=4).map(tuple),
    "size": st.integers(0, 100).map(float),
    "length": st.integers(1, 20),
    "cutoff": st.integers(1, 16),
    "rel": st.one_of(st.integers(-1, 4).map(float), numbers(0, 5)),
    "gain": st.one_of(
        st.sampled_from(["linear", "exp"]),
        st.dictionaries(st.integers(0, 4).map(float), numbers(0, 20), min_size=1).map(
            lambda gains: tuple(sorted(gains.items()))
        ),
    ),
    "top": st.sets(st.integers(1, 15), min_size=1, max_size=4).map(lambda places: tuple(sorted(places))),
    "max_grade": st.integers(900, 950).map(float),
    "x": positive,
    "a": positive,
    "b": positive.map(lambda number: -number),
    "s": positive,
} | {name: st.sampled_from(words) for name, words in WORDS.items()}
OTHERS = {  # a parameter that nothing is said of has the value of its example
    param.name: st.just(param.parse(param.example)) for metric in REGISTRY.values() for param in metric.params
}
VALUES = OTHERS | VALUES
OWN_VALUES = {"nDCGphi.points": points(), "rbp.gain": st.just("binary") | VALUES["gain"]}

Parameters = dict[str, tuple[bool, object]]
parameters: st.SearchStrategy[Parameters] = st.fixed_dictionaries(
    {name: st.tuples(st.booleans(), values) for name, values in (VALUES | OWN_VALUES).items()}
)
"""A value for each parameter that a metric may have, and whether it is given where a metric can do without."""


def params_of(metric: Metric, parameters: Parameters) -> dict[str, object]:
    """Those that the metric accepts; those that it needs are always there."""
    chosen = {p.name: parameters.get(f"{metric.name}.{p.name}", parameters[p.name]) for p in metric.params}
    params = {p.name: chosen[p.name][1] for p in metric.params if p.required or chosen[p.name][0]}
    if params.get("ideal") == "max":
        params["cutoff"] = chosen["cutoff"][1]
    if params.get("ideal") != "max" or "top" in params:
        params.pop("max_grade", None)
    if "points" in params:
        params.pop("variant", None)
    if metric.name == "G" and params.get("gain") == "exp":
        del params["gain"]  # it takes gains from each other, which leaves nothing of 2^900 and 1
    if "rel" in params:  # takes the place of gains in rbp
        params.pop("gain", None)
    return params
