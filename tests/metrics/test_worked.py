"""A value or two of each metric worked by hand, so that the references are not alone; examples of papers.

Those of nDCGphi are in test_ndcg_phi.py, those of subtopics in test_diversity.py.
"""

from math import log, log2

import numpy as np
import pytest
from helpers import check_each, each, each_row, judgments_of, raises, ranked, scored, value, values, with_needed
from scipy import stats

from gradeval.arrays.segments import Segments
from gradeval.errors import MetricError
from gradeval.registry.metric import REGISTRY, load
from gradeval.registry.spec import parse
from gradeval.tables.judgments import Judgments

load()

D = [0, 1, log2(3), 2, log2(5), log2(6)]  # the discounts from rank 1
# R = 4; relevant at ranks 1, 3 and 6, where P is 1, 2/3 and 1/2
POOLED = ranked([1, None, 0, -1, 1])  # at rank 5 are 4 above, 3 of them pooled: 1 relevant, 1 not
DCG = [0, 0, 2 / D[2], 2 / D[2] + 1 / D[3]]
IDEAL = [0, 2, 2 + 1 / D[2], 2 + 1 / D[2] + 1 / D[3]]
LAST = DCG[3] / IDEAL[3]
ERR = 7 / 16 + 9 / 16 * 3 / 16 / 2 + 9 / 16 * 13 / 16 * 15 / 16 / 3
BEST_ERR = 15 / 16 + 1 / 16 * 7 / 16 / 2 + 1 / 16 * 9 / 16 * 3 / 16 / 3


BY_HAND = [
    (ranked([1, 1, 0, 0, 1], missed=[1]), {
        "P@5": 0.6, "R@2": 0.5, "F(x=4)@2": 5 * 1 * 0.5 / (4 * 1 + 0.5),
        "set_F(x=0.5)": 1.5 * 0.6 * 0.75 / (0.5 * 0.6 + 0.75), "set_map": 0.6 * 0.75, "relative_P@3": 2 / 3,
        "num_rel_ret@2": 2, "scaled_utility": (3 * 3 - 2 * 2 + 200) / (12 + 200),
        "utility(weights=3/-2/-1/0)": 9 - 4 - 1, "utility(weights=0/0/0/0.5,size=10)": 0.5 * 4,
    }),
    (ranked([1, 0, 2, 0]), {"Success(need=all)@3": 1}),
    (ranked([0] * 150, missed=[1]), {"scaled_utility": 0}),
    (ranked([2, None, 1], missed=[1, -1]), {
        "gP": (1 + 1 / 2) / 3, "gR@1": 1 / 2,
    }),
    (ranked([1, 0, 2, None, 0, 1], missed=[1]), {
        "Rprec": 2 / 4, "Rprec_mult@0.2": 1,  # 0.8 + 0.9 = 1.7: one rank
        "iprec_at_recall@0.38": 2 / 3,  # 1.52 documents are two
        "11pt_avg": (4 * 1 + 3 * (2 / 3) + 2 * (1 / 2)) / 11,
    }),
    (ranked([1, 1, 0, 1], missed=[1, 1]), {"iprec_at_recall@0.5": 3 / 4}),  # 2.5 documents are three
    (ranked([1, 0, None, 1, 0, -1, 2]), {"bpref": (1 + (1 - 1 / 2) + (1 - 2 / 2)) / 3}),
    (POOLED, {
        "infAP": (1 + 1 / 5 + 4 / 5 * (3 / 4) * (1.00001 / 2.00002)) / 2, "unj@3": 1 / 3,
        "num_nonrel_judged_ret": 1, "rbp": 0.1 * (1 + 0.9**4),
    }),
    (ranked([1, 0, None, 1], missed=[1]), {
        "gm_map": 1.5 / 3, "yaap": log((1 + 1.5) / (1 + 3 - 1.5)),
    }),
    (ranked([1, 4, 2]), {"rbp(p=0.5)": 0.5 * (1 / 4 + 1 / 2 + 1 / 8)}),
    (ranked([1, 2, None]), {"rbp(p=0.5,gain=0:-1/1:1/2:3)": 0.5 * (0.5 + 1 / 2)}),  # -1 to 3; unjudged none
    (ranked([1, None, 1, 0], missed=[1]), {"rbp.95": 0.095125}),  # as ranx 0.3.21 has it
    (ranked([1, 2, None, 3]), {"rbp(p=0.5,gain=binary)": 0.5 * (1 + 1 / 2 + 1 / 8)}),
    (ranked([1, None, 0, 1, -1]), {"rbp_resid(p=0.5)": 0.5 * (0.5 + 0.5**4) + 0.5**5}),
    (ranked([0, 2, 1, None, 0], missed=[1]), {
        "ndcg_rel": (DCG[2] / IDEAL[2] + LAST + LAST) / 3,
        "Rndcg": (DCG[1] / IDEAL[1] + DCG[3] / IDEAL[3] + LAST) / 3,
        "G": (2 / log2(2 + 1) + 1 / log2(2 + 1)) / 4, "binG(rel=2)": 1 / log2(3),
        "ndcg_p": (2 / 1 + 1 / D[2]) / (2 + 1 + 1 / D[2]), "ideal_dcg": IDEAL[3],
        # a gain can take away, and then nothing can be gained
        "DCG(gain=0:-1/2:3)": -1 / D[1] + 3 / D[2] + 1 / D[3] - 1 / D[5], "nDCG(gain=0:-1/2:3)@1": -1 / 3,
        "ndcg_rel(gain=0:-1/1:0/2:0)": 0, "Rndcg(gain=0:-1/1:0/2:0)": 0,
        "G(gain=0:-1/1:0/2:4)": (-1 / log2(7) + 4 / log2(2 + 5 - 3) - 1 / log2(2 + 8 - 2)) / 4,
    }),
    (ranked([0.5]), {"G": 0.5 / log2(2 + 1 - 0.5) / 0.5}),  # each rank of the ideal counts for 1 at least
    (ranked([3, 2, 4]), {
        "ERR": ERR, "ERR(max_grade=5)@1": 7 / 32, "ERR(gain=linear)@1": 3 / 5,
        "ERR(gain=1:1/2:1/3:9/4:9)@2": 9 / 10 + 1 / 10 * 1 / 10 / 2, "nERR": ERR / BEST_ERR,
        "iRBU(p=0.5)": 0.5 * 7 / 16 + 0.25 * 9 / 16 * 3 / 16 + 0.125 * 9 / 16 * 13 / 16 * 15 / 16,
    }),
    (ranked([5], missed=[6]), {"ERR@1": 31 / 64}),  # above 4 the largest grade is that of the qrels
    (ranked([5000]), {"ERR": 1}),
    (ranked([5000, 4999]), {"nERR": 1}),
    (ranked([None, 1]), {
        "INST(max_rel=1,n=3)": (4 / 9) / (1 + 4 / 9 + 16 / 81), "INSQ(max_rel=3,n=2)": 4 / 13 / 3,
    }),
    (ranked([2, *[None] * 50, 2, 1]), {
        "INST(T=0.5,max_rel=2)": 1,  # full gain ends the search for good
        "NERR8(max_rel=2)@60": 1,
    }),
    (ranked([3, 1, 2, 3]), {"BPM(T=2,max_rel=3)@2": (1 + 1 / 3) / 2}),
    (ranked([3, None, 1]), {"SDCG(max_rel=3)@3": (1 + 1 / 3 / 2) / (1 + 1 / log2(3) + 1 / 2)}),
    (ranked([1, 2]), {  # of a scale up to 2: gains 0.5 and 1
        "NERR8(max_rel=2)@3": (0.5 + 0.5) / 1.5, "NERR9(max_rel=2)@3": (0.5 + 0.25) / 1.25,
        "NERR10(p=0.8,max_rel=2)": (0.5 + 0.4) / 1.4, "NERR11(max_rel=2)": (0.5 + 2 / 9) / (1 + 2 / 9),
    }),
    (ranked([1, None, 3]), {
        "Q": (2 / 4 + 6 / 7) / 2, "Q(beta=10)": (11 / 31 + 42 / 43) / 2, "JKnDCG": (1 + 3 / log2(3)) / 4,
        "JKnDCG(base=4)@2": 1 / 4,
    }),
    (ranked([1, None, 1]), {"Compat(p=0.5)": (1 + 1 / 4 + 1 / 6) / (1 + 1 / 2 + 1 / 6)}),
    (ranked([0, 1], missed=[2]), {"Compat(p=0.5)": (1 / 4) / (1 + 1 / 2)}),
    (ranked([1, None, 0, -1], missed=[2]), {"Judged@9": 3 / 4}),
    (ranked([1, 0, 1, None], missed=[2]), {"Accuracy": 3 / 4}),
    (ranked([1, 0], missed=[1, 0]), {"AUC": (1 + 1 + 0 + 0.5) / 4}),
]  # fmt: skip


@each(("query", "name", "expected"), [(query, *value) for query, values in BY_HAND for value in values.items()])
def test_by_hand(name, query, expected):
    assert value(name, query) == pytest.approx(expected, abs=1e-14)


# Scheel, Lommatzsch, Albayrak 2011, tables 1 and 2
SCHEEL = [1, 0, 3, 3, 2, 0, 1, 4]
NDCNG = [0.1892, 0.1323, 0.2993, 0.4225, 0.4865, 0.4708, 0.5010, 0.6519]
NDCG = [0.0667, 0.0515, 0.1964, 0.3104, 0.3527, 0.3477, 0.3610, 0.5507]
# Katerenchuk and Rosenberg 2016
POPULAR = [9, 4, 4, 2, 2, 2, 1, 1, 1, 1]
SWAPPED = [*range(100, 91, -1), 90, 91, *range(89, 0, -1)]
BY_PLACE = "nDCG(gain=exp,top=10/25/50)@10"


@each_row(
    ("AP(rel=5)", ranked(SCHEEL), 0),
    ("AP(rel=4)", ranked(SCHEEL), 1 / 8),
    ("AP(rel=3)", ranked(SCHEEL), (1 / 3 + 2 / 4 + 3 / 8) / 3),
    ("AP(rel=2)", ranked(SCHEEL), (1 / 3 + 2 / 4 + 3 / 5 + 4 / 8) / 4),
    ("AP(rel=1)", ranked(SCHEEL), (1 / 1 + 2 / 3 + 3 / 4 + 4 / 5 + 5 / 7 + 6 / 8) / 6),
    ("muAP", ranked(SCHEEL), 0.447817),
    *((f"NDCNG@{k}", ranked(SCHEEL), expected) for k, expected in enumerate(NDCNG, 1)),
    *((f"NDCNG@{k}", ranked([2 * g for g in SCHEEL]), expected) for k, expected in enumerate(NDCNG, 1)),
    *((f"nDCG(gain=exp)@{k}", ranked(SCHEEL), expected) for k, expected in enumerate(NDCG, 1)),
    ("nDCG(gain=exp)@8", ranked([2 * g for g in SCHEEL]), 0.4445),
    ("CG@5", ranked([4, 3, 2, 1, 0]), 10), ("DCG@5", ranked([4, 3, 2, 1, 0]), 7.323466),
    ("CG@5", ranked([0, 1, 2, 3, 4]), 10), ("DCG@5", ranked([0, 1, 2, 3, 4]), 4.470371),
    ("DCG(gain=exp)@5", ranked([4, 3, 2, 1, 0]), 21.347185),
    ("DCG(gain=exp)@5", ranked([4, 4, 3, 3, 3]), 33.686652),
    ("nDCG@5", ranked([2, 1, 1, 1, 0]), 1), ("nDCG@5", ranked([3, 2, 1, 4, 0]), 0.8854504),
    ("nDCG@5", ranked([4, 3, 2, 1, 1, 0, 3, 4, 0, 0]), 0.7641958),
    (BY_PLACE, ranked([*range(91, 101), *range(90, 0, -1)]), 1), (BY_PLACE, ranked(SWAPPED), 0.963645),
    ("rankDCG", scored(POPULAR, POPULAR), 1), ("tau", scored(POPULAR, POPULAR), 1),
    ("rankDCG", scored(POPULAR, [9, 4, 4, 2, 2, 1, 2, 1, 1, 1]), 0.975),
    ("tau", scored(POPULAR, [9, 4, 4, 2, 2, 1, 2, 1, 1, 1]), 0.8),
    ("rankDCG", scored(POPULAR, [4, 4, 2, 9, 2, 2, 1, 1, 1, 1]), 0.65),
    ("tau", scored(POPULAR, [4, 4, 2, 9, 2, 2, 1, 1, 1, 1]), 0.742857),
    ("rankDCG", scored(POPULAR, [1, 4, 4, 2, 2, 2, 9, 1, 1, 1]), 0.325),
    ("rankDCG", scored(POPULAR, POPULAR[::-1]), 0), ("tau", scored(POPULAR, POPULAR[::-1]), -0.8),
)  # fmt: skip
def test_examples_of_papers(name, query, expected):
    """To as many digits as they have, six at most."""
    digits = min(6, max(4, len(repr(expected).partition(".")[2])))
    assert value(name, query) == pytest.approx(expected, abs=0.51 * 10**-digits)


def test_levels_and_scales():
    query = ranked([1, 2, None, 3])
    for with_level, with_parameter in (("AP", "AP(rel=2)"), ("rbp(p=0.5,gain=Binary)", "rbp(p=0.5,rel=2)")):
        assert value(with_level, query, level=2) == value(with_parameter, query)
    assert value("rbp(p=0.5,rel=3)", query, level=2) == pytest.approx(0.5 / 8)
    assert value("rbp(p=0.5)", query, level=2) == value("rbp(p=0.5)", query)
    assert values("ERR@1", ranked([1]), ranked([6])) == [1 / 64, 63 / 64]
    for name in ("ERR(max_grade=2)", "nDCG(ideal=max,max_grade=2)@5"):
        raises(MetricError, "max_grade=2 is below the largest grade, 3", value, name, ranked([3]))
    grades = ranked([3.0, 1e9, 1.0, 5e6, 2.0])  # a very wide range
    top, second, third = (value(f"AP(rel={level})", grades) for level in (1000000000, 5000000, 3))
    expected = ((1e9 - 5e6) * top + (5e6 - 3) * second + third) / 1e9
    assert value("muAP", grades) == pytest.approx(expected, abs=1e-8)


def test_very_long_rankings():
    """The sums in closed form stay exact where a loop would take a while."""
    for name in ("INST", "INSQ", "NERR10", "NERR11"):
        near, far = (value(f"{name}(max_rel=3,n={n})", ranked([3, None, 1])) for n in (10**6, 10**12))
        assert near == pytest.approx(far, rel=1e-5) and near >= far
    table = judgments_of([ranked([1, 0, 2])])
    table.retrieved[0] = 10**12  # what weighs nothing is not added up
    [result] = REGISTRY["Compat"](table, p=0.9).tolist()
    assert result == pytest.approx(value("Compat(p=0.9)", ranked([1, 0, 2, *[None] * 900])), abs=1e-12)
    expected = {
        "tau": lambda x, y: stats.kendalltau(x, y).statistic,
        "rho": lambda x, y: stats.spearmanr(x, y).statistic,
        "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    }
    rng = np.random.default_rng(7)
    for n in (30, 100_000):
        grade, score = rng.exponential(100, n).round(), -np.sort(-rng.integers(0, n, n).astype(np.float64))
        rows = np.arange(n)
        table = Judgments(Segments(np.array([0, n])), grade, rows + 1.0, score, rows, np.array([n]))
        for name, of_scipy in expected.items():
            assert REGISTRY[name](table).tolist() == pytest.approx([of_scipy(score, grade)], abs=1e-12)


def test_no_queries():
    def check(metric):
        [spec] = parse(with_needed(metric.name))
        assert spec.metric(judgments_of([]), **spec.params).tolist() == []
        assert not metric.text or metric.texts(judgments_of([]), **spec.params) == []

    check_each(REGISTRY.values(), check)
