"""What `make peers` compares, with the peers that come with the tests; and the table it makes."""

import pytest

import gradeval
from gradeval.registry.dialects import MEASURES, aliases
from gradeval.registry.spec import parse

from . import test_diversity
from .__main__ import Comparisons
from .adapters import PEERS, Peer
from .data import deep, made, of_vectors, without_ties

pytestmark = pytest.mark.slow

THERE = [peer for peer in PEERS if peer.there and peer.name != "ranx"]  # ranx compiles for a minute
COLLECTIONS = [
    *(made(seed, ties=ties, queries=150) for seed in (11, 12) for ties in (False, True)),
    made(13, complete=True, queries=100),
    deep(14, queries=4),
    of_vectors(),
    without_ties(of_vectors()),
]


@pytest.mark.filterwarnings("ignore")  # what a peer warns of is its own affair
@pytest.mark.parametrize("peer", THERE, ids=[peer.name for peer in THERE])
def test_agrees(peer: Peer) -> None:
    compared = Comparisons()
    for given in COLLECTIONS:
        compared.add(peer, given)
    assert [row.where for row in compared.disagreeing()] == []
    assert sum(row.values for row in compared.values()) >= 100


def test_every_metric_of_ir_measures_is_compared() -> None:
    """And of the others, but for num_q, which is 1, and those that only trec_eval has."""
    compared = {parse(name)[0].metric.name for peer in PEERS for name in peer.names.values()}
    compared |= {parse(name)[0].metric.name for name in test_diversity.NAMES.values()}
    there = {alias.target.partition("(")[0] for alias in aliases()} | {one.metric for one in MEASURES.values()}
    of_trec_eval_alone = {"gm_map", "gm_bpref", "yaap", "ndcg_p", "ideal_dcg", "rbp_resid", "unj"}
    assert {"pytrec_eval", "ir_measures: pytrec_eval", "ir_measures: compat"} <= {peer.name for peer in THERE}
    assert there | {"JKnDCG", "nERR"} <= compared | of_trec_eval_alone | {"num_q", "runid", "relstring"}


def test_table() -> None:
    given = made(3, queries=5)

    def evaluate(names, given):
        results = gradeval.evaluate(given.qrels, {"run": given.run}, list(names))
        wrong = {q: value + 0.25 for q, value in results.per_query(0, "P@5").items()}
        return {"AP": results.per_query(0, "AP"), "P@5": wrong}

    names, compared = {"P@5": "P@5", "AP": "AP"}, Comparisons()
    peers = [
        Peer("liar", names, evaluate, "gradeval"),
        Peer("deaf", names, evaluate, "no_such_module", fits=lambda given: False),
    ]
    for peer in peers:
        compared.add(peer, given)
    head = "| metric | liar | deaf (not installed) |\n| --- | ---: | ---: |\n"
    assert compared.markdown(peers) == f"{head}| `AP` | 0 |  |\n| `P@5` | 2e-01 ✗ |  |\n"
    [wrong] = compared.disagreeing()
    assert (wrong.metric, wrong.values, wrong.where[:13]) == ("P@5", 5, "random, query")
