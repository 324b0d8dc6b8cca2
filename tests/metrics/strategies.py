"""Random queries and random parameters.

Hypothesis draws seeds: what it draws itself repeats itself much, and is slow.
"""

from collections.abc import Callable, Iterable
from random import Random

from helpers import Query
from hypothesis import strategies as st

from gradeval.registry.metric import REGISTRY, Metric, load

load()

SEEDS = st.integers(0, 2**32)

# eighths are exact, so that no rounding decides what is beyond a fence
KINDS = {
    "binary": [0, 1],
    "graded": range(-1, 4),
    "eighths": [n / 8 for n in range(33)],
    "shares": range(901),
    "mixed": [*range(-2, 5), *(n / 8 for n in range(33)), *range(0, 900, 10)],
}


def crowd(seed: int, kind: str, most: int, count: int) -> list[Query]:
    """So many queries, with grades of one kind, tied scores, unjudged and unretrieved documents, or none.

    Where the largest grade of all queries counts, as in ERR, one of 900 would leave nothing of the others.
    """
    random = Random(seed)

    def query() -> Query:
        names = [f"d{place}" for place in range(random.randint(0, most))]
        seen, spread = random.choice([0, 0.2, 0.8, 0.8, 0.8]), random.choice([4, 16, 16000])
        qrels = {name: float(random.choice(KINDS[kind])) for name in names if random.random() < 0.8}
        run = {name: random.randrange(spread) / 8 - 1 for name in names if random.random() < seen}
        return qrels, run

    return [query() for _ in range(count)]


def crowds(count: int, kinds: Iterable[str] = KINDS) -> st.SearchStrategy[list[Query]]:
    sizes = [1, 2, 3, 4, 6, 8, *[14] * 12]  # mostly large, but a failure shrinks
    return st.builds(crowd, SEEDS, st.sampled_from([*kinds]), st.sampled_from(sizes), st.just(count))


Draw = Callable[[Random], object]


def one_of(*choices: object) -> Draw:
    return lambda random: random.choice(choices)


def number(least: float, most: float) -> Draw:
    """Either end, a number between them of few digits, of many, or near the least."""

    def draw(random: Random) -> float:
        between = random.uniform(least, most)
        kept = max(least, min(most, round(between * 8) / 8))
        return random.choice([least, most, between, between, kept, kept, least + (most - least) * 2**-20])

    return draw


def some(draw: Draw, most: int, least: int = 1) -> Draw:
    return lambda random: tuple(draw(random) for _ in range(random.randint(least, most)))


def whole(least: int, most: int) -> Draw:
    return lambda random: random.randint(least, most)


def positive(random: Random) -> float:
    return random.choice([float(random.randint(1, 9)), 2 ** random.uniform(-3, 20)])


def points(random: Random) -> tuple[tuple[float, float], ...]:
    x = sorted(random.sample(range(-4, 41), random.randint(2, 6)))
    return tuple(zip(map(float, x), sorted(random.randint(0, 16) / 16 for _ in x), strict=True))


def gain(random: Random) -> object:
    grades = sorted(random.sample(range(5), random.randint(1, 5)))
    table = tuple((float(grade), number(0, 20)(random)) for grade in grades)
    return random.choice(["linear", "exp", table, table])


share = number(0, 1)
flag = one_of(False, True)
VALUES: dict[str, Draw] = {  # a parameter that nothing is said of has the value of its example
    param.name: one_of(param.parse(param.example)) for metric in REGISTRY.values() for param in metric.params
} | {
    "rounding": one_of("nearest", "up"),
    "variant": one_of("paper", "released"),
    "discount": one_of("log2", "letor", "zipf", "none"),
    "ideal": one_of("global", "max", "local"),
    "judged_only": flag,
    "T": lambda random: random.choice([float(random.randint(1, 4)), random.uniform(0.125, 50)]),
    "min_rel": one_of(-1.0, 0.0, 0.5, 1.0),
    "max_rel": lambda random: random.choice([float(random.randint(2, 5)), random.uniform(1.125, 900)]),
    "n": one_of(*range(1, 21), 1000),
    "p": number(0.01, 0.99),
    "beta": positive,
    "alpha": number(0, 0.99),
    "of": one_of("relevant", "all"),
    "norm": one_of("relevant", "min"),
    "need": one_of("one", "all"),
    "base": number(1.125, 20),
    "normalize": flag,
    "recall": share,
    "points": some(share, 4),
    "multiple": number(0, 9),
    "weights": some(lambda random: random.randint(-8, 8) / 4, 4, least=4),
    "size": lambda random: float(random.randint(0, 100)),
    "length": whole(1, 20),
    "cutoff": whole(1, 16),
    "rel": lambda random: random.choice([float(random.randint(0, 4)), number(0, 5)(random)]),
    "gain": gain,
    "top": lambda random: tuple(sorted(random.sample(range(1, 16), random.randint(1, 4)))),
    "max_grade": lambda random: float(random.randint(900, 950)),
    "x": positive,
    "a": positive,
    "b": lambda random: -positive(random),
    "s": positive,
    "nDCGphi.points": points,
    "NRBP.beta": number(0.01, 0.99),
    "nNRBP.beta": number(0.01, 0.99),
    "rbp.gain": lambda random: random.choice(["binary", gain(random)]),
}

Parameters = dict[str, tuple[bool, object]]
"""A value for each parameter that a metric may have, and whether it is given where a metric can do without."""


def drawn(seed: int) -> Parameters:
    random = Random(seed)
    return {name: (random.random() < 0.5, draw(random)) for name, draw in VALUES.items()}


parameters: st.SearchStrategy[Parameters] = st.builds(drawn, SEEDS)


def params_of(metric: Metric, parameters: Parameters) -> dict[str, object]:
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
