"""A value or two of each metric worked by hand, so that the references are not alone; and no queries at all.

Papers' examples stand in the files of their metrics; random queries are in test_against_reference.
"""

from math import log, log2

import pytest
from helpers import each, judgments_of, ranked, value, with_needed

from gradeval.registry.metric import REGISTRY, load
from gradeval.registry.spec import parse

load()

D = [0, 1, log2(3), 2, log2(5), log2(6)]  # the discounts from rank 1
FIVE = ranked([1, 1, 0, 0, 1], missed=[1])
TWO_GRADES = ranked([2, None, 1], missed=[1, -1])
# R = 4; relevant at ranks 1, 3 and 6, where P is 1, 2/3 and 1/2
SIX = ranked([1, 0, 2, None, 0, 1], missed=[1])
POOLED = ranked([1, None, 0, -1, 1])  # at rank 5 are 4 above, 3 of them pooled: 1 relevant, 1 not
THREE = ranked([1, 0, None, 1], missed=[1])
LISTED = ranked([0, 2, 1, None, 0], missed=[1])
DCG = [0, 0, 2 / D[2], 2 / D[2] + 1 / D[3]]
IDEAL = [0, 2, 2 + 1 / D[2], 2 + 1 / D[2] + 1 / D[3]]
LAST = DCG[3] / IDEAL[3]
GOOD = ranked([3, 2, 4])
HALF = ranked([1, 2])  # of a scale up to 2: gains 0.5 and 1
SPARSE = ranked([1, None, 3])
SECOND = ranked([None, 1])
ERR = 7 / 16 + 9 / 16 * 3 / 16 / 2 + 9 / 16 * 13 / 16 * 15 / 16 / 3
BEST_ERR = 15 / 16 + 1 / 16 * 7 / 16 / 2 + 1 / 16 * 9 / 16 * 3 / 16 / 3


@each(
    ("name", "query", "expected"),
    [
        ("P@5", FIVE, 0.6),
        ("R@2", FIVE, 0.5),
        ("F(x=4)@2", FIVE, 5 * 1 * 0.5 / (4 * 1 + 0.5)),
        ("set_F(x=0.5)", FIVE, 1.5 * 0.6 * 0.75 / (0.5 * 0.6 + 0.75)),
        ("set_map", FIVE, 0.6 * 0.75),
        ("relative_P@3", FIVE, 2 / 3),
        ("RR(rel=2)", ranked([None, 0, 1, 2]), 1 / 4),
        ("Success(need=all)@3", ranked([1, 0, 2, 0]), 1),
        ("num_rel_ret@2", FIVE, 2),
        ("scaled_utility", FIVE, (3 * 3 - 2 * 2 + 200) / (12 + 200)),
        ("scaled_utility", ranked([0] * 150, missed=[1]), 0),
        ("utility(weights=3/-2/-1/0)", FIVE, 9 - 4 - 1),
        ("utility(weights=0/0/0/0.5,size=10)", FIVE, 0.5 * 4),
        ("gP", TWO_GRADES, (1 + 1 / 2) / 3),
        ("gR@1", TWO_GRADES, 1 / 2),
        ("Rprec", SIX, 2 / 4),
        ("Rprec_mult@0.2", SIX, 1),  # 0.8 + 0.9 = 1.7: one rank
        ("iprec_at_recall@0.38", SIX, 2 / 3),  # 1.52 documents are two
        ("11pt_avg", SIX, (4 * 1 + 3 * (2 / 3) + 2 * (1 / 2)) / 11),
        ("bpref", ranked([1, 0, None, 1, 0, -1, 2]), (1 + (1 - 1 / 2) + (1 - 2 / 2)) / 3),
        ("infAP", POOLED, (1 + 1 / 5 + 4 / 5 * (3 / 4) * (1.00001 / 2.00002)) / 2),
        ("unj@3", POOLED, 1 / 3),
        ("num_nonrel_judged_ret", POOLED, 1),
        ("gm_map", THREE, 1.5 / 3),
        ("yaap", THREE, log((1 + 1.5) / (1 + 3 - 1.5))),
        ("rbp", POOLED, 0.1 * (1 + 0.9**4)),
        ("rbp(p=0.5)", ranked([1, 4, 2]), 0.5 * (1 / 4 + 1 / 2 + 1 / 8)),
        ("rbp(p=0.5,gain=0:-1/1:1/2:3)", ranked([1, 2, None]), 0.5 * (0.5 + 1 / 2)),  # -1 to 3; unjudged none
        ("rbp(p=0.5,gain=0:-1/1:1/2:3)", ranked([0, -1, 1]), 0.5 * 0.5 / 4),
        ("rbp_resid(p=0.5)", ranked([1, None, 0, 1, -1]), 0.5 * (0.5 + 0.5**4) + 0.5**5),
        ("ndcg_rel", LISTED, (DCG[2] / IDEAL[2] + LAST + LAST) / 3),
        ("Rndcg", LISTED, (DCG[1] / IDEAL[1] + DCG[3] / IDEAL[3] + LAST) / 3),
        ("G", LISTED, (2 / log2(2 + 1) + 1 / log2(2 + 1)) / 4),
        ("G", ranked([0.5]), 0.5 / log2(2 + 1 - 0.5) / 0.5),  # each rank of the ideal counts for 1 at least
        ("binG(rel=2)", LISTED, 1 / log2(3)),
        ("ndcg_p", LISTED, (2 / 1 + 1 / D[2]) / (2 + 1 + 1 / D[2])),
        ("ideal_dcg", LISTED, IDEAL[3]),
        # a gain can take away, and then nothing can be gained
        ("DCG(gain=0:-1/2:3)", LISTED, -1 / D[1] + 3 / D[2] + 1 / D[3] - 1 / D[5]),
        ("nDCG(gain=0:-1/2:3)@1", LISTED, -1 / 3),
        ("nDCG(gain=0:-1/1:0/2:0)", LISTED, 0),
        ("ideal_dcg(gain=0:-1/2:3)", LISTED, 3 + 1 / D[2] + 1 / D[3]),
        ("ndcg_rel(gain=0:-1/1:0/2:0)", LISTED, 0),
        ("ndcg_rel(gain=0:-9/2:3)", LISTED, 0),
        ("Rndcg(gain=0:-1/1:0/2:0)", LISTED, 0),
        ("G(gain=0:-1/1:0/2:0)", LISTED, 0),
        ("G(gain=0:-1/1:0/2:4)", LISTED, (-1 / log2(7) + 4 / log2(2 + 5 - 3) - 1 / log2(2 + 8 - 2)) / 4),
        ("ERR", GOOD, ERR),
        ("ERR(max_grade=5)@1", GOOD, 7 / 32),
        ("ERR(gain=1:1/2:1/3:9/4:9)@2", GOOD, 9 / 10 + 1 / 10 * 1 / 10 / 2),
        ("ERR@1", ranked([5], missed=[6]), 31 / 64),  # above 4 the largest grade is that of the qrels
        ("nERR", GOOD, ERR / BEST_ERR),
        ("iRBU(p=0.5)", GOOD, 0.5 * 7 / 16 + 0.25 * 9 / 16 * 3 / 16 + 0.125 * 9 / 16 * 13 / 16 * 15 / 16),
        ("INST(max_rel=1,n=3)", SECOND, (4 / 9) / (1 + 4 / 9 + 16 / 81)),
        ("INSQ(max_rel=3,n=2)", SECOND, 4 / 13 / 3),
        ("BPM(T=2,max_rel=3)@2", ranked([3, 1, 2, 3]), (1 + 1 / 3) / 2),
        ("SDCG(max_rel=3)@3", ranked([3, None, 1]), (1 + 1 / 3 / 2) / (1 + 1 / log2(3) + 1 / 2)),
        ("NERR8(max_rel=2)@3", HALF, (0.5 + 0.5) / 1.5),
        ("NERR9(max_rel=2)@3", HALF, (0.5 + 0.25) / 1.25),
        ("NERR10(p=0.8,max_rel=2)", HALF, (0.5 + 0.4) / 1.4),
        ("NERR11(max_rel=2)", HALF, (0.5 + 2 / 9) / (1 + 2 / 9)),
        ("Q", SPARSE, (2 / 4 + 6 / 7) / 2),
        ("Q(beta=10)", SPARSE, (11 / 31 + 42 / 43) / 2),
        ("JKnDCG", SPARSE, (1 + 3 / log2(3)) / 4),
        ("JKnDCG(base=4)@2", SPARSE, 1 / 4),
        ("Compat(p=0.5)", ranked([1, None, 1]), (1 + 1 / 4 + 1 / 6) / (1 + 1 / 2 + 1 / 6)),
        ("Compat(p=0.5)", ranked([0, 1], missed=[2]), (1 / 4) / (1 + 1 / 2)),
        ("Judged@9", ranked([1, None, 0, -1], missed=[2]), 3 / 4),
        ("Accuracy", ranked([1, 0, 1, None], missed=[2]), 3 / 4),
        ("AUC", ranked([1, 0], missed=[1, 0]), (1 + 1 + 0 + 0.5) / 4),
    ],
)
def test_by_hand(name, query, expected):
    assert value(name, query) == pytest.approx(expected, abs=1e-14)


@each("name", REGISTRY)
def test_no_queries(name):
    [spec] = parse(with_needed(name))
    assert spec.metric(judgments_of([]), **spec.params).tolist() == []
    assert not spec.metric.text or spec.metric.texts(judgments_of([]), **spec.params) == []
