"""Random metrics and options: as they are written on the command line, and as slow.py takes them.

metrics/strategies.py draws parameters; what they do is the reference's own.
"""

import random
from decimal import Decimal
from typing import Any

from metrics.strategies import drawn, params_of

from gradeval.registry.dialects import AMBIGUOUS
from gradeval.registry.metric import REGISTRY

from .slow import EXACT, Grades, Metric

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
    params: dict[str, Any] = params_of(REGISTRY[name], drawn(rng.getrandbits(32)))
    if params.get("norm") == "min":
        params.setdefault("cutoff", rng.randint(1, 20))
    if "cutoff" in params and rng.random() < 0.2:
        # the reference writes down as many gains as these have
        is_listed = params.get("ideal") == "max" or "max_rel" in params or name in ("alpha_DCG", "ERR_IA")
        params["cutoff"] = 1000 if is_listed else 10**9
    if name in ("INST", "INSQ", "NERR10", "NERR11"):
        params["n"] = min(params.get("n", 1000), 30)  # the reference takes a while for all 1,000
    return name, tuple(params.items())


def options(rng: random.Random, qrels: Grades) -> dict[str, Any]:
    """Values of some of the options that slow.Asked has."""
    grades = sorted({grade for of in qrels.values() for grade in of.values()})
    zero = Decimal(0) if rng.random() < 0.7 else rng.choice([*grades, *map(Decimal, ("1", "0.1", "-1"))])
    levels = [*(EXACT.subtract(grade, zero) for grade in grades), Decimal(2), Decimal("0.5")]
    chosen = {
        "rel": float(rng.choice(levels)),
        "depth": rng.choice([1, 1, 2, 2, 3, 5, 1000, 10**9]),
        "judged_only": True,
        "queries": "both",
        "query_ids": tuple(rng.sample(list(qrels), rng.randint(1, len(qrels)))),
    }
    chosen = {name: value for name, value in chosen.items() if rng.random() < 0.3}
    if zero:
        chosen["zero_grade"] = zero
    if rng.random() < 0.6:
        chosen["ties"] = rng.choice(["trec", "input", "best", "worst"])
    return chosen


def written(rng: random.Random, metric: Metric) -> str:
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
    spelled = name if name.lower() in AMBIGUOUS else spelled
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
