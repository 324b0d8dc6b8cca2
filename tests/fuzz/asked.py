"""Random metrics and options: as they are written on the command line, and as slow.py takes them.

The registry says which parameters there are; what they do is the reference's own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from gradeval.registry.metric import REGISTRY, load

from .slow import Metric

load()

Draw = Callable[[random.Random], Any]


def _number(rng: random.Random, low: float, high: float) -> float:
    return float(rng.randint(1, 9)) if rng.random() < 0.5 else round(rng.uniform(low, high), rng.randint(1, 6))


def _share(rng: random.Random) -> float:
    return rng.randint(0, 10) / 10 if rng.random() < 0.7 else rng.random()


def _gain(rng: random.Random) -> Any:
    if rng.random() < 0.6:
        return rng.choice(["linear", "exp"])
    grades = sorted(rng.sample(range(5), rng.randint(1, 4)))
    return tuple((float(grade), rng.choice([0.0, 1.0, 2.5, rng.uniform(0, 20)])) for grade in grades)


def _points(rng: random.Random) -> Any:
    x = sorted(rng.sample(range(-4, 40), rng.randint(2, 6)))
    y = sorted(rng.randint(0, 16) / 16 for _ in x)
    return tuple(zip(map(float, x), y, strict=True))


DRAWS: dict[str, Draw] = {
    "judged_only": lambda rng: rng.random() < 0.5,
    "T": lambda rng: _number(rng, 0.125, 50),
    "min_rel": lambda rng: rng.choice([-1.0, 0.0, 0.5, 1.0]),
    "max_rel": lambda rng: rng.choice([2.0, 3.0, 4.0, 1.125, 900.0]),
    "n": lambda rng: rng.randint(1, 30),
    "p": lambda rng: round(rng.uniform(0.01, 0.99), 3),
    "beta": lambda rng: _number(rng, 0.1, 100),
    "base": lambda rng: round(rng.uniform(1.125, 20), 3),
    "normalize": lambda rng: rng.random() < 0.5,
    "recall": _share,
    "points": lambda rng: tuple(_share(rng) for _ in range(rng.randint(1, 4))),
    "multiple": lambda rng: rng.randint(0, 10) / 5 if rng.random() < 0.7 else rng.uniform(0, 9),
    "weights": lambda rng: tuple(rng.randint(-8, 8) / 4 for _ in range(4)),
    "size": lambda rng: float(rng.randint(0, 100)),
    "length": lambda rng: rng.randint(1, 20),
    "cutoff": lambda rng: rng.choice([1, 2, 3, 5, 10, rng.randint(1, 20), 1000, 10**9]),
    "rel": lambda rng: rng.choice([-1.0, 0.0, 0.2, 0.5, 1.0, 2.0, 3.0, round(rng.uniform(0, 5), 2)]),
    "gain": _gain,
    "top": lambda rng: tuple(sorted(rng.sample(range(1, 16), rng.randint(1, 4)))),
    "max_grade": lambda rng: float(rng.randint(900, 950)),
    "x": lambda rng: _number(rng, 0.1, 100),
    "a": lambda rng: _number(rng, 0.1, 100),
    "b": lambda rng: -_number(rng, 0.1, 100),
    "s": lambda rng: _number(rng, 0.1, 100),
    "rounding": lambda rng: rng.choice(["nearest", "up"]),
    "variant": lambda rng: rng.choice(["paper", "released"]),
    "discount": lambda rng: rng.choice(["log2", "letor", "zipf", "none"]),
    "ideal": lambda rng: rng.choice(["global", "max", "local"]),
    "need": lambda rng: rng.choice(["one", "all"]),
    "norm": lambda rng: rng.choice(["relevant", "min"]),
    "of": lambda rng: rng.choice(["relevant", "all"]),
    "alpha": lambda rng: round(rng.uniform(0, 0.99), 3),
}
OWN: dict[tuple[str, str], Draw] = {
    ("nDCGphi", "points"): _points,
    **dict.fromkeys([("NRBP", "beta"), ("nNRBP", "beta")], lambda rng: round(rng.uniform(0.01, 0.99), 3)),
    ("rbp", "gain"): lambda rng: "binary" if rng.random() < 0.4 else _gain(rng),
}
# trec_eval's names, and what they are here
TREC: dict[str, Metric] = {
    "map": ("AP", ()),
    "recip_rank": ("RR", ()),
    "ndcg": ("nDCG", ()),
    "ndcg_cut.5": ("nDCG", (("cutoff", 5),)),
    "ndcg_cut_10": ("nDCG", (("cutoff", 10),)),
    "P.3": ("P", (("cutoff", 3),)),
    "recall_4": ("R", (("cutoff", 4),)),
    "success.1": ("Success", (("cutoff", 1),)),
    "map_cut.2": ("AP", (("cutoff", 2),)),
    "ndcg.1=3,2=9": ("nDCG", (("gain", ((1.0, 3.0), (2.0, 9.0))),)),
    "iprec_at_recall.0.4": ("iprec_at_recall", (("recall", 0.4),)),
    "rbp.p=0.8": ("rbp", (("p", 0.8),)),
}


def metric(rng: random.Random, name: str) -> Metric:
    """The metric with parameters that it accepts; those it needs are always there."""
    params = REGISTRY[name].params
    given = {
        param.name: OWN.get((name, param.name), DRAWS[param.name])(rng)
        for param in params
        if param.required or rng.random() < 0.4
    }
    if given.get("ideal") == "max" or given.get("norm") == "min":
        given.setdefault("cutoff", rng.randint(1, 20))
    if "cutoff" in given and (
        given.get("ideal") == "max" or "max_rel" in given or name in ("alpha_DCG", "ERR_IA")
    ):
        given["cutoff"] = min(given["cutoff"], 1000)  # the reference writes that many gains down
    if given.get("ideal") != "max" or "top" in given:
        given.pop("max_grade", None)
    if name == "nDCGphi" and "points" in given:
        given.pop("variant", None)
    if name == "G" and given.get("gain") == "exp":
        del given["gain"]  # it subtracts gains, which leaves nothing of 2^900 and 1
    if name == "rbp" and "rel" in given:  # which takes the place of gains
        given.pop("gain", None)
    for reader in ("INST", "INSQ", "NERR10", "NERR11"):
        if name == reader:
            given.setdefault("n", rng.randint(1, 30))  # the reference takes a while for all 1,000
    return name, tuple((param.name, given[param.name]) for param in params if param.name in given)


def written(rng: random.Random, metric: Metric) -> str:
    """The metric as a user may write it."""
    name, params = metric
    texts = {key: _text(value) for key, value in params}
    at = texts.pop(REGISTRY[name].at, None)
    behind = ""
    if at is not None and rng.random() < 0.8:
        behind = f"@{at}"
    elif at is not None:
        texts[REGISTRY[name].at] = at
    inside = ",".join(f"{key}={value}" for key, value in texts.items())
    spelled = rng.choice([name, name, name.lower(), name.upper()])
    return spelled + (f"({inside})" if inside else "") + behind


def _text(value: Any, separators: str = "/:") -> str:
    if isinstance(value, tuple):
        return separators[0].join(_text(one, separators[1:]) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def metrics(rng: random.Random, names: list[str], most: int = 8) -> list[tuple[str, Metric]]:
    """Some different metrics: how they are written, and what they are."""
    chosen = [metric(rng, name) for name in rng.sample(names, rng.randint(1, min(most, len(names))))]
    asked = [(written(rng, one), one) for one in chosen]
    if rng.random() < 0.2:
        spelling, one = rng.choice(list(TREC.items()))
        if one[0] not in [name for name, _ in chosen]:
            asked.insert(rng.randrange(len(asked) + 1), (spelling, one))
    return asked
