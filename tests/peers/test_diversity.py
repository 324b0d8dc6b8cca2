"""Metrics of novelty and diversity against pyndeval, where it is right: 1 < k <= 20, and no ties."""

import random

import pytest

import gradeval

NAMES = {
    **{f"{name}@{k}": f"{ours}@{k}" for name, ours in (
        ("ERR-IA", "ERR_IA"), ("nERR-IA", "nERR_IA"), ("alpha-DCG", "alpha_DCG"), ("alpha-nDCG", "alpha_nDCG"),
        ("P-IA", "P_IA"), ("strec", "StRecall")) for k in (2, 5, 7, 10, 20)},
    "NRBP": "NRBP", "nNRBP": "nNRBP", "MAP-IA": "AP_IA",
}  # fmt: skip


def collection(seed: int) -> tuple[list[tuple[str, str, str, int]], dict[str, dict[str, float]]]:
    """Judgments of subtopics, and a run of which pyndeval reads every document: 20 or fewer, none tied."""
    rng = random.Random(seed)
    qrels, run = [], {}
    for number in range(200):
        query, documents = f"q{number}", [f"d{n:02}" for n in range(rng.randint(1, 20))]
        subtopics = [f"s{n}" for n in range(rng.randint(1, 6))]
        for document in documents:
            for subtopic in rng.sample(subtopics, rng.randint(1, len(subtopics))):
                qrels.append((query, subtopic, document, rng.choice([0, 0, 1, 2, -1])))
        qrels.append((query, subtopics[0], "e", 2))  # something is relevant
        retrieved = rng.sample([*documents, "e", "x", "y", "z"], rng.randint(1, min(20, len(documents) + 4)))
        run[query] = {document: 100.0 - place for place, document in enumerate(retrieved)}
    return qrels, run


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("level, alpha, beta", [(1, 0.5, 0.5), (2, 0.5, 0.5), (1, 0.2, 0.8)])
def test_pyndeval(level: int, alpha: float, beta: float, seed: int) -> None:
    pyndeval = pytest.importorskip("pyndeval", reason="pip install pyndeval")
    qrels, run = collection(seed)
    peer = pyndeval.RelevanceEvaluator(qrels, [*NAMES], relevance_level=level, alpha=alpha, beta=beta)
    theirs = peer.evaluate([(query, *pair) for query, of in run.items() for pair in of.items()])
    for name, ours in NAMES.items():
        head, at, k = ours.partition("@")
        params = f"rel={level}"
        params += f",alpha={alpha}" * (head not in ("AP_IA", "P_IA", "StRecall"))
        params += f",beta={beta}" * ("NRBP" in head)
        values = gradeval.evaluate(qrels, run, f"{head}({params}){at}{k}").per_query(0, 0)
        assert values == pytest.approx({query: theirs[query][name] for query in values}, abs=1e-9), name
