"""The library and the whole command against pytrec_eval-terrier and ir_measures on random data, to 1e-9.

Small collections are in test_pytrec_eval.py and tests/peers.

pytrec_eval-terrier 0.5 crashes or hangs on grades below 0, so peers get them as 0: here they count as 0 too.
It leaves out queries that the run lacks, where we count them as 0; ir_measures counts them as we do.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterable
from pathlib import Path

import ir_measures
import pytest
import pytrec_eval

import gradeval
from gradeval.evaluation.results import Results

Table = dict[str, dict[str, float]]
Collection = tuple[dict[str, dict[str, int]], Table]

# what pytrec_eval computes, and our name for it
TREC = {
    "map": "AP",
    "map_cut_5": "AP@5",
    "map_cut_10": "AP@10",
    "ndcg": "nDCG",
    "ndcg_cut_1": "nDCG@1",
    "ndcg_cut_5": "nDCG@5",
    "ndcg_cut_10": "nDCG@10",
    "P_1": "P@1",
    "P_5": "P@5",
    "P_10": "P@10",
    "recall_1": "R@1",
    "recall_5": "R@5",
    "recall_10": "R@10",
    "recip_rank": "RR",
    "success_1": "Success@1",
    "success_5": "Success@5",
    "set_P": "set_P",
    "set_recall": "set_recall",
    "set_F": "set_F",
    "num_ret": "num_ret",
    "num_rel": "num_rel",
    "num_rel_ret": "num_rel_ret",
}
ASKED = (
    "map map_cut.5,10 ndcg ndcg_cut.1,5,10 P.1,5,10 recall.1,5,10 recip_rank success.1,5 set_P set_recall "
    "set_F num_ret num_rel num_rel_ret"
).split()
COUNTS = {"num_ret", "num_rel", "num_rel_ret"}

# what ir_measures computes, and our name for it
IR = {
    "AP": "AP",
    "AP(rel=2)": "AP(rel=2)",
    "AP@5": "AP@5",
    "AP(rel=2)@10": "AP(rel=2)@10",
    "nDCG": "nDCG",
    "nDCG@5": "nDCG@5",
    "nDCG(gains={1:2,2:5,3:10})@5": "nDCG(gain=1:2/2:5/3:10)@5",
    "P@5": "P@5",
    "P(rel=2)@5": "P(rel=2)@5",
    "R@5": "R@5",
    "R(rel=3)@10": "R(rel=3)@10",
    "RR": "RR",
    "RR(rel=2)": "RR(rel=2)",
    "Success@1": "Success@1",
    "Success(rel=2)@5": "Success(rel=2)@5",
    "SetP": "set_P",
    "SetR": "set_recall",
    "SetF": "set_F",
    "NumRet": "num_ret",
}


def large(seed: int, *, ties: bool = True) -> Collection:
    """A collection as large as a small track's."""
    rng = random.Random(seed)
    qrels: dict[str, dict[str, int]] = {}
    run: Table = {}
    for number in range(40):
        # some ids begin as others do, some have two bytes: ties are ordered by bytes, descending
        pool = [f"{rng.choice(('D-', '', 'é', '_'))}{n}" for n in rng.sample(range(10**4), 400)]
        qrels[f"q{number}"] = {d: rng.choice([-1, 0, 0, 0, 1, 1, 2, 3]) for d in pool[: rng.randint(1, 120)]}
        if number % 9:
            ranked = rng.sample(pool, rng.randint(1, 400))
            scores = (
                [float(rng.randint(0, 60)) for _ in ranked] if ties else rng.sample(range(10**5), len(ranked))
            )
            run[f"q{number}"] = dict(zip(ranked, map(float, scores), strict=True))
    return qrels, run


def floored(qrels: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    return {query: {d: max(grade, 0) for d, grade in of.items()} for query, of in qrels.items()}


def by_pytrec_eval(qrels: dict[str, dict[str, int]], run: Table, level: int) -> dict[str, dict[str, float]]:
    """measure -> query -> value."""
    found = pytrec_eval.RelevanceEvaluator(floored(qrels), {*ASKED}, relevance_level=level).evaluate(run)
    return {measure: {query: values[measure] for query, values in found.items()} for measure in TREC}


def check_pytrec_eval(results: Results, both: Results, theirs: dict[str, dict[str, float]]) -> None:
    for measure, name in TREC.items():
        expected = theirs[measure]
        ours = results.per_query(0, name)
        assert set(expected) <= set(ours)
        for query, value in ours.items():
            if query in expected:
                assert value == pytest.approx(expected[query], abs=1e-9), (name, query)
            else:  # not in the run
                assert name == "num_rel" or value == 0
        total = sum(expected.values())
        divide = 1 if name in COUNTS else len(expected)
        assert both.mean(0, name) == pytest.approx(total / divide, abs=1e-9), name
        if name != "num_rel":
            divide = 1 if name in COUNTS else len(ours)
            assert results.mean(0, name) == pytest.approx(total / divide, abs=1e-9), name


@pytest.mark.parametrize("seed, level", [(0, 1), (1, 2), (2, 1)])
def test_pytrec_eval_on_large_collections(seed: int, level: int) -> None:
    qrels, run = large(seed)
    results, both = (
        gradeval.evaluate(qrels, run, TREC.values(), rel=level, queries=queries)
        for queries in ("judged", "both")
    )
    check_pytrec_eval(results, both, by_pytrec_eval(qrels, run, level))


def ir(names: Iterable[str]) -> list[ir_measures.Measure]:
    return [ir_measures.parse_measure(name) for name in names]


def check_ir_measures(
    qrels: dict[str, dict[str, int]], run: Table, names: dict[str, str], **options: bool
) -> None:
    measures = ir(names)
    results = gradeval.evaluate(qrels, run, names.values(), **options)
    judged = {query: of for query, of in run.items() if query in qrels}
    ours = {measure: results.per_query(0, name) for measure, name in zip(measures, names.values(), strict=True)}
    # asked beside others, gains= of one nDCG may become those of another there, by the order of a set
    apart = [measure for measure in measures if "gains" in str(measure)]
    means = {}
    for asked in ([measure for measure in measures if measure not in apart], *([one] for one in apart)):
        for value in ir_measures.iter_calc(asked, floored(qrels), judged):
            assert ours[value.measure][value.query_id] == pytest.approx(value.value, abs=1e-9), value
        means |= ir_measures.calc_aggregate(asked, floored(qrels), judged)
    for measure, name in zip(measures, names.values(), strict=True):
        assert results.mean(0, name) == pytest.approx(means[measure], abs=1e-9), name


@pytest.mark.parametrize("seed", range(2))
def test_ir_measures_on_large_collections(seed: int) -> None:
    check_ir_measures(*large(seed), IR)


@pytest.mark.parametrize("seed", range(2))
def test_ir_measures_without_unjudged_documents(seed: int) -> None:
    """Theirs takes out what is not in the qrels, -1 as 0 among it; trec_eval's -J takes out -1 too."""
    qrels, run = large(seed)
    names = {"AP(judged_only=True)": "AP", "nDCG(judged_only=True)@5": "nDCG@5", "P(judged_only=True)@5": "P@5"}
    check_ir_measures(floored(qrels), run, names, judged_only=True)


@pytest.mark.parametrize("seed", range(2))
def test_reciprocal_rank_at_a_cutoff(seed: int) -> None:
    """ir_measures leaves RR@k to a provider that orders ties otherwise, so there are none here."""
    qrels, run = large(seed, ties=False)
    check_ir_measures(qrels, run, {"RR@10": "RR@10", "RR@1": "RR@1", "RR(rel=2)@5": "RR(rel=2)@5"})


def write(path: Path, qrels: dict[str, dict[str, int]], run: Table, rng: random.Random, shuffled: bool) -> None:
    judgments = [f"{query} 0 {d} {grade}\n" for query, of in qrels.items() for d, grade in of.items()]
    lines = [f"{query} Q0 {d} 1 {score!r} tag\n" for query, of in run.items() for d, score in of.items()]
    if shuffled:
        rng.shuffle(judgments)
        rng.shuffle(lines)
    (path / "qrels").write_text("".join(judgments))
    with gzip.open(path / "r.run.gz", "wt") as file:
        file.writelines(lines)


@pytest.mark.parametrize("seed, shuffled", [(0, False), (1, True), (2, True)])
def test_the_whole_command(
    seed: int, shuffled: bool, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Files in, every digit of a TSV out; by trec_eval's names of the measures."""
    from gradeval.cli import run as command

    qrels, run = large(100 + seed)
    write(tmp_path, qrels, run, random.Random(seed), shuffled)
    args = [str(tmp_path / "qrels"), str(tmp_path / "r.run.gz"), "-q", "--digits", "full", "-f", "tsv"]
    assert command([*args, "--queries", "both", *(f"-m{name}" for name in ASKED)]) == 0
    rows = [line.split("\t") for line in capsysbinary.readouterr().out.decode().splitlines()[1:]]
    values = {(query, metric): float(value) for _, query, metric, value in rows}
    for measure, expected in by_pytrec_eval(qrels, run, 1).items():
        name = TREC[measure]
        for query, value in expected.items():
            assert values[query, name] == pytest.approx(value, abs=1e-9), (name, query)
        divide = 1 if name in COUNTS else len(expected)
        assert values["all", name] == pytest.approx(sum(expected.values()) / divide, abs=1e-9), name
    assert len(values) == len(TREC) * (len(run) + 1)
