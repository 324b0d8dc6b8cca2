"""The library and the whole command against pytrec_eval-terrier and ir_measures on random data, to 1e-9.

tests/peers compares with others too, on small collections; test_pytrec_eval.py compares the dialect.

pytrec_eval-terrier 0.5 crashes or hangs on grades below 0, so peers get them as 0: here they count as 0 too.
It leaves out queries that the run lacks, where we count them as 0.
"""

import gzip
import random
from pathlib import Path

import pytest
import pytrec_eval
from cli.command import values
from peers.adapters import PEERS, Peer
from peers.compare import Comparisons
from peers.data import collection

from gradeval.registry.measures import parse_trec_eval

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]

# but 11pt_avg and iprec_at_recall, which round as trec_eval 9 did
MEASURES = [
    *("map", "Rprec", "bpref", "recip_rank", "infAP", "utility", "binG", "G", "ndcg", "ndcg_rel", "Rndcg"),
    *(f"{name}.1,5,10" for name in ("P", "recall", "ndcg_cut", "map_cut", "relative_P", "success")),
    *("set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    *("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret"),
]
NAMES = {measure.printed: str(measure.spec) for measure in parse_trec_eval(MEASURES)}
BELOW_0 = {"bpref", "infAP", "num_nonrel_judged_ret"}  # to them a grade below 0 is not 0


def large(seed: int) -> tuple[Qrels, Run]:
    """A collection as large as a small track's."""
    rng = random.Random(seed)
    qrels: Qrels = {}
    run: Run = {}
    for number in range(40):
        # some ids begin as others do, some have two bytes: ties are ordered by bytes, descending
        pool = [f"{rng.choice(('D-', '', 'é', '_'))}{n}" for n in rng.sample(range(10**4), 400)]
        qrels[f"q{number}"] = {d: rng.choice([-1, 0, 0, 0, 1, 1, 2, 3]) for d in pool[: rng.randint(1, 120)]}
        if number % 9:
            run[f"q{number}"] = {d: float(rng.randint(0, 60)) for d in rng.sample(pool, rng.randint(1, 400))}
    return qrels, run


@pytest.mark.filterwarnings("ignore")  # what a peer warns of is its own affair
@pytest.mark.parametrize(
    "peer", [peer for peer in PEERS if "pytrec_eval" in peer.name], ids=lambda peer: peer.name
)
def test_library(peer: Peer) -> None:
    compared = Comparisons()
    compared.add(peer, collection("large", *large(0)))
    assert len(compared.found) > 30
    assert [one.where for one in compared.disagreeing()] == []


@pytest.mark.parametrize("seed, level, judged_only", [(1, 1, False), (2, 2, False), (3, 1, True)])
def test_the_whole_command(seed: int, level: int, judged_only: bool, tmp_path: Path) -> None:
    """Files in, every digit of a TSV out, by trec_eval's names of the measures."""
    qrels, run = large(seed)
    floored = {query: {d: max(grade, 0) for d, grade in of.items()} for query, of in qrels.items()}
    qrels = floored if judged_only else qrels  # -J removes documents below 0 too, here and in trec_eval
    peer = pytrec_eval.RelevanceEvaluator(floored, {*MEASURES}, level, judged_only).evaluate(run)
    judgments = [f"{query} 0 {d} {grade}\n" for query, of in qrels.items() for d, grade in of.items()]
    lines = [f"{query} Q0 {d} 1 {score!r} tag\n" for query, of in run.items() for d, score in of.items()]
    if seed > 1:
        random.Random(seed).shuffle(judgments)
        random.Random(seed).shuffle(lines)
    (tmp_path / "qrels").write_text("".join(judgments))
    with gzip.open(tmp_path / "r.run.gz", "wt") as file:
        file.writelines(lines)
    args = [tmp_path / "qrels", tmp_path / "r.run.gz", "-q", "-l", level, *(f"-m{name}" for name in MEASURES)]
    for which, queries in (("both", run), ("judged", qrels)):
        found = values(*args, "--queries", which, *["-J"] * judged_only)
        assert len(found) == len({*NAMES.values()}) * (len(queries) + 1)
        for measure, name in NAMES.items():
            if name == "num_rel" and which == "judged":  # of queries that pytrec_eval leaves out
                continue
            if name in BELOW_0 and qrels is not floored:
                continue
            expected = {query: peer[query][measure] if query in peer else 0.0 for query in queries}
            assert {query: found[query, name] for query in queries} == pytest.approx(expected, abs=1e-9), name
            divide = 1 if name.startswith("num_") else len(expected)
            assert found["all", name] == pytest.approx(sum(expected.values()) / divide, abs=1e-9), name
