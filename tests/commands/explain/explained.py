"""A collection to explain: tied scores, unjudged and unretrieved documents."""

import random

Data = dict[str, dict[str, float]]
GRADES = {"q1": [0, 1], "q2": [-1, 0, 1, 2, 3], "q3": [0.5, 2, 3]}


def collection(seed: int) -> tuple[Data, Data]:
    """Queries with tied scores, unjudged and unretrieved documents; the first one is not in the run."""
    rng = random.Random(seed)
    qrels, run = {"none": {"a": 1.0, "b": 0.0}}, {}
    for query, grades in GRADES.items():
        names = [f"d{place}" for place in range(9)]
        judged = {name: float(rng.choice(grades)) for name in names if rng.random() < 0.8}
        qrels[query] = {"kept": grades[-1], **judged}
        run[query] = {"kept": 3.0, **{name: float(rng.randrange(6)) for name in names if rng.random() < 0.8}}
    return qrels, run


QRELS, RUN = collection(1)
_, OTHER = collection(7)
TIES = {"ties": "trec"}  # without a search for other orders
