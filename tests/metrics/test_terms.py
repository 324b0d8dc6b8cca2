"""Metrics that are sums over documents: their terms add up to their values, to the bit."""

import math
import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from helpers import each, judgments_of, one_by_one, ranked, with_needed

from gradeval.registry.spec import Spec, parse
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import DiscountedTerms, Terms

SUMS = """AP muAP CG DCG nDCG NDCNG nDCGphi rankDCG P R set_P set_recall set_relative_P relative_P Success
    RR Rprec Rprec_mult ndcg_p G binG rbp bpref infAP gm_map gm_bpref gP gR tau rho pearson AUC ERR nERR
    iRBU INST INSQ BPM SDCG NERR8 NERR9 NERR10 NERR11 Q JKnDCG Compat Judged num_rel_ret
    num_nonrel_judged_ret alpha_DCG alpha_nDCG ERR_IA nERR_IA NRBP nNRBP AP_IA P_IA StRecall"""
OF_ALL_JUDGED = {"rankDCG", "AUC", "Compat"}  # documents that were not retrieved are at the end of the ranking
MORE = """AP(rel=2)@3 AP(judged_only=true) P(rel=2)@4 RR@2 Rprec_mult(multiple=2) CG@2 DCG(discount=zipf)@4
    nDCG@2,5 nDCG(gain=exp)@3 nDCG(gain=0:1/2:-2/3:5) nDCG(gain=1:9,discount=letor)@3 nDCG(ideal=local)@4
    nDCG(top=2/4,gain=exp,discount=none)@5 nDCG(ideal=local,gain=1:9) nDCG(ideal=max)@3 NDCNG@4
    nDCG(ideal=max,gain=0:7,top=1/3)@2 nDCG(judged_only=true,ideal=local)@3 nDCGphi(variant=released)@4
    nDCGphi(points=0:0/1:0.5/3:1)@3 JKnDCG(base=4)@3 rbp(gain=binary)@3 rbp(gain=1:-2/2:3) ERR@2
    nERR(gain=1:9)@3 nERR(gain=linear) iRBU(p=0.5)@3 Q(gain=exp)@3 Compat(normalize=false)
    Compat(p=0.5,judged_only=true) gP@3 gR@3 Judged@4 num_rel_ret@3 INST(T=0.5,max_rel=2,n=5)
    ndcg_p(gain=1:9) G(gain=0:1/1:-1) AUC(rel=2) rankDCG(judged_only=true) tau(judged_only=true)"""


SPECS = parse(" ".join(map(with_needed, SUMS.split())) + " " + MORE)
KINDS = [[0, 1], [-1, 0, 0, 1, 2, 3], [n / 8 for n in range(-8, 33)], [0, 900], [2]]


def tables(kinds: list[list[float]] = KINDS) -> Iterator[Judgments]:
    """Tied scores, missing queries and documents, and grades that are tied, negative, real or all the same."""
    rng = random.Random(11)
    for grades in kinds:
        queries = [({}, {}), ({}, {"d1": 1.0}), ({"d1": 2.0}, {})]
        for _ in range(12):
            names = [f"d{place:02}" for place in range(rng.choice([1, 3, 8, 14]))]
            qrels = {name: float(rng.choice(grades)) for name in names if rng.random() < 0.8}
            scores = rng.choice([2, 50])
            run = {name: float(rng.randrange(scores)) for name in names if rng.random() < 0.8}
            queries.append((qrels, run))
        rng.shuffle(queries)
        yield judgments_of(queries, rng.choice([None, 1.0]))


TABLES = list(tables())


def by_query(terms: Terms) -> list[list[tuple[int, float]]]:
    values = np.broadcast_to(terms.value, terms.row.shape).tolist()
    pairs = list(zip(terms.row.tolist(), values, strict=True))
    return [pairs[a:b] for a, b in pairwise(terms.segments.offsets.tolist())]


def for_each(number: Any, table: Judgments) -> list[float]:
    return np.broadcast_to(number, table.retrieved.shape).astype(float).tolist()


def seen(spec: Spec, table: Judgments) -> tuple[Terms, Judgments]:
    terms = spec.metric.terms(table, **spec.params)
    return terms, table.judged_only() if spec.params.get("judged_only") else table


def rows_are_of_their_query(terms: Terms, table: Judgments, allowed: np.ndarray) -> None:
    for query, part in enumerate(by_query(terms)):
        rows = [row for row, _ in part]
        assert len(set(rows)) == len(rows), "a document adds once"
        assert table.query[rows].tolist() == [query] * len(rows)
        assert allowed[rows].all()


@each("spec", SPECS)
def test_they_add_up_to_the_value(spec):
    for table in TABLES:
        terms, of = seen(spec, table)
        bases, normalizers = for_each(terms.base, of), for_each(terms.normalizer, of)
        expected = [
            terms.scale * (one_by_one(value for _, value in part) - base) / normalizer if normalizer else 0.0
            for part, base, normalizer in zip(by_query(terms), bases, normalizers, strict=True)
        ]
        found = spec.metric(table, **spec.params).tolist()
        assert list(map(repr, found)) == list(map(repr, expected))
        anywhere = np.ones(len(of.grade), bool)
        rows_are_of_their_query(terms, of, anywhere if spec.metric.name in OF_ALL_JUDGED else of.is_retrieved)
        if isinstance(terms, DiscountedTerms):
            assert (terms.value == terms.gain / terms.discount).all()
            if spec.metric.name != "rankDCG":
                assert terms.rank.tolist() == of.rank[terms.row].tolist()


WITH_IDEAL = [spec for spec in SPECS if (of := spec.metric.terms(TABLES[0], **spec.params)) and of.ideal]


def test_which_have_an_ideal():
    names = "nDCG NDCNG nDCGphi ndcg_p JKnDCG rankDCG nERR Compat gR alpha_nDCG nERR_IA nNRBP"
    assert {spec.metric.name for spec in WITH_IDEAL} == {*names.split()}


@each("spec", WITH_IDEAL)
def test_the_ideal_adds_up_to_the_normalizer_in_rank_order(spec):
    for table in TABLES:
        terms, of = seen(spec, table)
        ideal = terms.ideal()
        if isinstance(ideal, DiscountedTerms):
            assert (ideal.value == ideal.gain / ideal.discount).all()
            assert ideal.rank.tolist() == (ideal.segments.place + 1).tolist()
            grade = of.grade[ideal.row]
            for a, b in pairwise(range(len(grade))):
                if ideal.segments.query[a] == ideal.segments.query[b] and ideal.row[a] >= 0:
                    assert ideal.gain[a] >= ideal.gain[b]
                    assert grade[a] != grade[b] or ideal.row[a] < ideal.row[b], "equal grades as in the run"
        totals = [one_by_one(value for _, value in part) for part in by_query(ideal)]
        for total, base, normalizer in zip(
            totals, for_each(terms.base, of), for_each(terms.normalizer, of), strict=True
        ):
            assert total - base == normalizer or math.isnan(normalizer)
        if spec.params.get("ideal") == "max":
            assert set(ideal.row.tolist()) <= {-1}
            continue
        local = spec.params.get("ideal") == "local"
        rows_are_of_their_query(ideal, of, of.is_retrieved if local else np.ones(len(of.grade), bool))


def test_a_metric_that_is_no_sum_has_none():
    table = judgments_of([ranked([1, None, 2])])
    for name in ("F@3", "set_map", "11pt_avg", "scaled_utility", "unj@3", "relstring"):
        [spec] = parse(name)
        assert spec.metric.terms(table, **spec.params) is None


@each("metrics", [SPECS, SPECS[::-1]])
def test_what_metrics_share_is_the_same_for_each(metrics):
    [shared] = tables(KINDS[1:2])
    for spec in metrics:
        [fresh] = tables(KINDS[1:2])
        found, expected = (spec.metric(table, **spec.params) for table in (shared, fresh))
        assert found.tobytes() == expected.tobytes(), spec
