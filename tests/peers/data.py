"""What is evaluated: collections made at random, and files."""

import gzip
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gradeval.registry.vectors import vectors

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Collection:
    """Judgments and a run, over the queries that both have.

    ties: documents of a query can have equal scores. complete: the run has every judged document. largest: of
    the grades.
    """

    name: str
    qrels: Qrels
    run: Run
    ties: bool
    complete: bool
    largest: int


def collection(name: str, qrels: Qrels, run: Run) -> Collection:
    """The queries in both, grades below 0 as 0: pytrec_eval-terrier 0.5 crashes or hangs on them."""
    both = [query for query in run if query in qrels]
    qrels = {query: {d: max(grade, 0) for d, grade in qrels[query].items()} for query in both}
    run = {query: run[query] for query in both}
    ties = any(len(set(of.values())) < len(of) for of in run.values())
    complete = all(qrels[query].keys() <= run[query].keys() for query in both)
    largest = max((grade for of in qrels.values() for grade in of.values()), default=0)
    return Collection(name, qrels, run, ties, complete, largest)


def made(seed: int, queries: int = 300, *, ties=False, complete=False, most: int = 25) -> Collection:
    """Small queries of many kinds: few and many judged, retrieved, relevant and unjudged documents."""
    rng = random.Random(seed)
    qrels: Qrels = {}
    run: Run = {}
    for number in range(1, queries + 1):
        pool = [f"D{n}" for n in rng.sample(range(10**5), rng.randint(2, most))]
        grades = rng.choice([[0, 1], [0, 0, 0, 1, 2], [0, 1, 2, 3, 4], [1], [0, 0, 0, 0, 0, 0, 3]])
        judged = rng.sample(pool, rng.randint(1, len(pool)))
        found = rng.sample(pool, rng.randint(1, len(pool)))
        if complete:
            found = rng.sample(pool, len(pool))
        # compat takes a document that was not retrieved for one with score 0
        scores = [rng.randint(1, 7) for _ in found] if ties else rng.sample(range(1, 1000), len(found))
        qrels[str(number)] = {d: rng.choice(grades) for d in judged}
        run[str(number)] = {d: float(score) for d, score in zip(found, scores, strict=True)}
    name = "random" + (", ties" if ties else "") + (", all judged retrieved" if complete else "")
    return collection(name, qrels, run)


def deep(seed: int, queries: int = 12) -> Collection:
    """Runs that go beyond rank 1,000."""
    rng = random.Random(seed)
    qrels: Qrels = {}
    run: Run = {}
    for number in range(1, queries + 1):
        pool = [f"D{n}" for n in range(1500)]
        qrels[str(number)] = {d: rng.choice([0, 0, 1, 2, 3]) for d in rng.sample(pool, rng.choice([20, 300]))}
        run[str(number)] = {d: 1.0 + score for score, d in enumerate(rng.sample(pool, rng.randint(900, 1300)))}
    return collection("random, deep", qrels, run)


def of_vectors() -> Collection:
    """The conformance vectors with whole grades from 0, as peers need; query ids are numbers, for gdeval."""
    data = vectors(["AP"])["vectors"][0]
    whole = [query for query, of in data["qrels"].items() if all(grade in range(5) for grade in of.values())]
    both = [query for query in whole if query in data["run"]]
    qrels, run = (
        {str(number): data[part][query] for number, query in enumerate(both)} for part in ("qrels", "run")
    )
    return collection("vectors", qrels, run)


def read(qrels: Path, run: Path) -> Collection:
    """TREC files, read by themselves: grades are whole, as most peers need them."""
    judged: Qrels = {}
    ranked: Run = {}
    for path in (qrels, run):
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
        for query, _, document, number, *more in filter(None, map(str.split, text.splitlines())):
            if path is qrels:
                judged.setdefault(query, {})[document] = int(float(number))
            else:
                ranked.setdefault(query, {})[document] = float(more[0])
    return collection(run.name, judged, ranked)


# documents and scores of a query, in the order that tied scores have
ORDERS: dict[str, Callable[[dict[str, float]], list[str]]] = {
    "descending": lambda run: sorted(run, reverse=True),
    "ascending": sorted,
    "run": list,
}


def without_ties(given: Collection, order: str = "descending") -> Collection:
    """The same rankings with scores that are all different and positive, tied documents in an order."""
    run = {}
    for query, of in given.run.items():
        ranking = sorted(ORDERS[order](of), key=lambda document: -of[document])
        run[query] = {document: float(len(of) - place) for place, document in enumerate(ranking)}
    return collection(given.name, given.qrels, run)
