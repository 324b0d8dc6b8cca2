"""The families cascade, user_model, ntcir, overlap and diagnosis, worked by hand."""

from __future__ import annotations

import math

import pytest
from helpers import each, judgments_of, ranked, value, values

from gradeval.errors import MetricError
from gradeval.registry.metric import REGISTRY

log2 = math.log2
GOOD = ranked([3, 2, 4])
HALF = ranked([1, 2])  # of a scale up to 2: gains 0.5 and 1
SPARSE = ranked([1, None, 3])
MISSING = ({"a": 1.0, "b": 0.0}, {})
NO_JUDGMENT = ({}, {"a": 1.0})
NOTHING_RELEVANT = ranked([0, -1, None])

ERR = 7 / 16 + 9 / 16 * 3 / 16 / 2 + 9 / 16 * 13 / 16 * 15 / 16 / 3
BEST_ERR = 15 / 16 + 1 / 16 * 7 / 16 / 2 + 1 / 16 * 9 / 16 * 3 / 16 / 3


@each(
    ("name", "query", "expected"),
    [
        ("ERR", GOOD, ERR),
        ("ERR@2", GOOD, 7 / 16 + 9 / 16 * 3 / 16 / 2),
        ("ERR(max_grade=5)@1", GOOD, 7 / 32),
        ("ERR(gain=linear,max_grade=4)@2", GOOD, 3 / 5 + 2 / 5 * 2 / 5 / 2),
        ("ERR(gain=1:1/2:1/3:9/4:9)@2", GOOD, 9 / 10 + 1 / 10 * 1 / 10 / 2),
        ("ERR", SPARSE, 1 / 16 + 15 / 16 * 7 / 16 / 3),
        ("nERR", GOOD, ERR / BEST_ERR),
        ("nERR@1", GOOD, 7 / 15),
        ("iRBU(p=0.5)", GOOD, 0.5 * 7 / 16 + 0.25 * 9 / 16 * 3 / 16 + 0.125 * 9 / 16 * 13 / 16 * 15 / 16),
        ("iRBU(p=0.5)@1", GOOD, 0.5 * 7 / 16),
        ("INST(max_rel=1,n=3)", ranked([1]), 1 / (1 + 1 / 4 + 1 / 9)),
        ("INST(max_rel=1,n=3)", ranked([None, 1]), (4 / 9) / (1 + 4 / 9 + 16 / 81)),
        ("INST(T=2,max_rel=1,n=2)", ranked([None, 1]), (16 / 25) / (41 / 25)),
        ("INSQ(max_rel=1,n=2)", ranked([None, 1]), 4 / 13),
        ("INSQ(max_rel=3,n=2)", ranked([None, 1]), 4 / 13 / 3),
        ("INSQ(min_rel=1,max_rel=3,n=2)", ranked([2, 1]), 0.5 / (1 + 4 / 9)),
        ("BPM(T=2,max_rel=3)@10", ranked([3, 1, 2, 3]), 2 / 3),
        ("BPM(T=2,max_rel=3)@2", ranked([3, 1, 2, 3]), (1 + 1 / 3) / 2),
        ("BPM(max_rel=2)@10", ranked([None, 1]), 0.5 / 10),
        ("BPM(T=0.5,max_rel=2)@10", ranked([None, 1, 2]), 0.25),
        ("SDCG(max_rel=3)@3", ranked([3, None, 1]), (1 + 1 / 3 / 2) / (1 + 1 / log2(3) + 1 / 2)),
        ("NERR8(max_rel=2)@3", HALF, (0.5 + 0.5) / 1.5),
        ("NERR8(max_rel=2)@1", HALF, 0.5),
        ("NERR8(max_rel=4)@3", ranked([None, 2]), 0.5 / 2.5),
        ("NERR9(max_rel=2)@3", HALF, (0.5 + 0.25) / 1.25),
        ("NERR10(p=0.8,max_rel=2)", HALF, (0.5 + 0.4) / 1.4),
        ("NERR11(max_rel=2)", HALF, (0.5 + 2 / 9) / (1 + 2 / 9)),
        ("Q", SPARSE, (2 / 4 + 6 / 7) / 2),
        ("Q@1", SPARSE, 2 / 4),
        ("Q(beta=10)", SPARSE, (11 / 31 + 42 / 43) / 2),
        ("Q(gain=exp)", SPARSE, (2 / 8 + 10 / 11) / 2),
        ("Q(gain=0:0/1:0/3:1)", SPARSE, (1 + 1) / (3 + 1)),
        ("JKnDCG", SPARSE, (1 + 3 / log2(3)) / 4),
        ("JKnDCG(base=4)", SPARSE, 1),
        ("JKnDCG(base=4)@2", SPARSE, 1 / 4),
        ("JKnDCG(base=1.5)@1", SPARSE, 1 / 3),
        ("Compat(p=0.5)", ranked([1, None, 1]), (1 + 1 / 4 + 1 / 6) / (1 + 1 / 2 + 1 / 6)),
        ("Compat(p=0.5,normalize=false)", ranked([1, None, 1]), (1 + 1 / 4 + 1 / 6) / (1 + 1 / 2 + 1 / 4)),
        ("Compat(p=0.5)", ranked([0, 1], missed=[2]), (1 / 4) / (1 + 1 / 2)),
        ("Compat(p=0.5)", ranked([0, 1], missed=[1]), (1 / 4) / (1 + 1 / 2)),
        ("Judged", ranked([1, None, 0, -1], missed=[2]), 3 / 4),
        ("Judged@2", ranked([1, None, 0, -1], missed=[2]), 1 / 2),
        ("Judged@9", ranked([1, None, 0, -1], missed=[2]), 3 / 4),
        ("Accuracy", ranked([1, 0, 1, None], missed=[2]), 3 / 4),
        ("Accuracy@3", ranked([1, 0, 1, None]), 1 / 2),
        ("Accuracy(rel=2)", ranked([1, 2]), 0),
    ],
)
def test_by_hand(name, query, expected):
    assert value(name, query) == pytest.approx(expected, abs=1e-14)


@each(
    "name",
    [
        *("ERR", "nERR", "iRBU", "INST(max_rel=2)", "INSQ(max_rel=2)", "BPM(max_rel=2)@5", "SDCG(max_rel=2)@5"),
        *("NERR8(max_rel=2)@5", "NERR9(max_rel=2)@5", "NERR10(max_rel=2)", "NERR11(max_rel=2)"),
        *("Q", "Q@5", "JKnDCG", "Compat", "Compat(normalize=false)"),
    ],
)
def test_nothing_to_gain(name):
    assert values(name, MISSING, NO_JUDGMENT, NOTHING_RELEVANT) == [0, 0, 0]
    assert values(name) == []


def test_accuracy_without_a_pair():
    empty = values("Accuracy", NO_JUDGMENT, NOTHING_RELEVANT, ranked([1, 1]))
    assert all(map(math.isnan, empty))
    assert values("Accuracy", MISSING, ({}, {})) == [0, 0]
    assert values("Judged", MISSING, NO_JUDGMENT, NOTHING_RELEVANT) == [0, 0, 2 / 3]


def test_the_largest_grade_is_that_of_the_qrels_where_it_is_above_4():
    assert value("ERR@1", ranked([5], missed=[6])) == 31 / 64
    assert values("ERR@1", ranked([1]), ranked([6])) == [1 / 64, 63 / 64]
    with pytest.raises(MetricError, match="max_grade=2 is below the largest grade, 3"):
        value("ERR(max_grade=2)", ranked([3]))


def test_grades_of_any_size():
    assert value("ERR", ranked([5000])) == pytest.approx(1, abs=1e-15)
    assert value("nERR", ranked([5000, 4999])) == 1


def test_full_gain_ends_the_search_for_good():
    """A chance of 0 to go on stays 0, whatever comes after."""
    late = ranked([2, *[None] * 50, 2, 1])
    assert value("NERR8(max_rel=2)@60", late) == 1
    assert value("INST(T=0.5,max_rel=2)", late) == pytest.approx(1, abs=1e-15)


def test_ranks_beyond_n_are_not_looked_at():
    deep = ranked([*[None] * 4, 1])
    for name in "INST(max_rel=1,n=4) INSQ(max_rel=1,n=4) NERR10(max_rel=1,n=4) NERR11(max_rel=1,n=4)".split():
        assert value(name, deep) == 0


@pytest.mark.parametrize("name", ["INST", "INSQ", "NERR10", "NERR11"])
def test_a_very_long_look_changes_little(name):
    """The sums in closed form stay exact where a loop would take a while."""
    near, far = (value(f"{name}(max_rel=3,n={n})", ranked([3, None, 1])) for n in (10**6, 10**12))
    assert near == pytest.approx(far, rel=1e-5)
    assert near >= far


def test_compat_reads_no_more_than_can_be_seen():
    """A run of 10^12 documents: what weighs nothing is not added up."""
    table = judgments_of([ranked([1, 0, 2])])
    table.retrieved[0] = 10**12
    [result] = REGISTRY["Compat"](table, p=0.9).tolist()
    assert result == pytest.approx(value("Compat(p=0.9)", ranked([1, 0, 2, *[None] * 900])), abs=1e-12)


def test_ideal_rankings_for_the_normalized():
    best = ranked([4, 3, 3, 1, 0])
    for name in ("nERR", "nERR@2", "Q", "Q@2", "JKnDCG", "Compat"):
        assert value(name, best) == pytest.approx(1, abs=1e-15)


def test_as_the_others_where_they_meet():
    queries = [GOOD, SPARSE, HALF, ranked([0, 1, None, 4], missed=[2])]
    assert values("JKnDCG@3", *queries) == pytest.approx(values("nDCG(discount=letor)@3", *queries), abs=1e-15)
    assert values("SDCG(max_rel=4)@3", *queries) == pytest.approx(
        values("nDCG(ideal=max,max_grade=4)@3", *queries), abs=1e-15
    )
    assert values("Q(beta=1e-12)", *queries) == pytest.approx(values("AP", *queries), abs=1e-9)
    binary = [ranked([0, 1, None, 1], missed=[1]), ranked([1])]
    assert values("BPM(T=9,max_rel=1)@4", *binary) == values("P@4", *binary)
    assert values("BPM(max_rel=1)@4", *binary) == values("RR@4", *binary)


@pytest.mark.parametrize("name", ["SDCG(min_rel=-1,max_rel=3)@3", "INST(min_rel=-1,max_rel=3)"])
def test_a_grade_below_0_gains_what_0_does(name):
    """Also where min_rel is lower, and 0 gains something; what is unjudged gains nothing."""
    below, zero, unjudged = (value(name, ranked([2, grade, 1])) for grade in (-1, 0, None))
    assert below == zero > unjudged


@pytest.mark.parametrize("grades", [[1, None, 2], [0, 1]], ids=["longer ranking", "longer ideal ranking"])
def test_compatibility_as_deep_as_the_longer_of_both(grades):
    query, p = ranked(grades, missed=[1] * (len(grades) == 2) * 2), 0.5
    own = list(range(len(grades)))  # the documents by rank, those that were missed behind
    ideal = sorted((d for d in own if grades[d]), key=lambda d: -grades[d]) + [7, 8] * (len(grades) == 2)
    ranks = range(1, max(len(own), len(ideal)) + 1)

    def overlap(ranking: list[int]) -> float:
        return sum(p ** (i - 1) * len({*ranking[:i]} & {*ideal[:i]}) / i for i in ranks)

    assert value("Compat(p=0.5)", query) == pytest.approx(overlap(own) / overlap(ideal))
    normal = sum(p ** (i - 1) for i in ranks)
    assert value("Compat(p=0.5,normalize=false)", query) == pytest.approx(overlap(own) / normal)
