"""Grades at both ends of their range, and scores at both ends of the floats: exact, and alone."""

import math
from fractions import Fraction

import pytest
from helpers import each, examples, judgments_of, raises, ranked, scored, value, values, with_needed
from hypothesis import given

import gradeval
from gradeval import MetricError
from gradeval.registry.invariants import SCALE_FREE
from gradeval.registry.metric import REGISTRY, load
from gradeval.registry.spec import parse
from metrics import strategies

load()

BIGGEST = 1.7976931348623157e308
UNIT = 2.0**490  # grades up to 9 times it, and from an eighth of its inverse, are in their range
VARIANTS = """nDCG(discount=zipf)@5 nDCG(ideal=local) nDCG(gain=1:3/2:1e150) nDCGphi(variant=released)
    nDCGphi(points=0:0/1e-150:0.1/2:0.9/1e150:1) Q(beta=1e150) JKnDCG(base=1.5) rbp(p=0.5)
    INST(max_rel=1e150) SDCG(max_rel=1e-150)@3 AP(rel=1e150) AP(rel=1e-150) muAP(judged_only=true)"""
UNIT_FREE = [
    spec
    for spec in parse([with_needed(name) for name in REGISTRY])
    if any(one.about == SCALE_FREE.about for one in spec.metric.invariants)
]
NAMES = [*(with_needed(name) for name in REGISTRY if not REGISTRY[name].text), *VARIANTS.split()]

QRELS = {
    "huge": {"a": 1e150, "b": -1e150, "c": 1e150, "d": 9e149, "e": 1.0},
    "ordinary": {"a": 3.0, "b": 0.0, "c": 1.0, "d": 2.0},
    "tiny": {"a": 1e-150, "b": -1e-150, "c": 2e-150, "d": 0.0},
    "both": {"a": 1e150, "b": 1e-150, "c": 1.0, "d": 0.0},
    "small": {"a": 0.1, "b": 0.25, "c": -1.0, "d": 1.0},
    "missing": {"a": 1e150, "b": 1e-150},
}
RUN = {
    "huge": {"c": 9.0, "x": 8.0, "a": 7.0, "e": 6.0},
    "ordinary": {"b": 4.0, "a": 3.0, "x": 2.5, "d": 2.0},
    "tiny": {"x": BIGGEST, "a": 5e-324, "b": 0.0, "c": -BIGGEST},
    "both": {"c": 1e300, "b": 1e299, "a": -1e308, "d": -BIGGEST},
    "small": {"d": 0.1, "c": 0.2, "a": 0.3},
}


def evaluated(*queries: str) -> dict[str, dict[str, float]]:
    """The values of every metric and query; a warning would be an error here."""
    results = gradeval.evaluate(QRELS, {"run": RUN}, NAMES, query_ids=queries)
    return {str(spec): results.per_query(0, spec) for spec in results.specs}


TOGETHER = evaluated(*QRELS)


@each("query", RUN)
def test_values_are_in_their_range_and_leave_other_queries_alone(query):
    """To the bit, but for metrics with the largest grade of the whole qrels in their definition."""
    for name, found in TOGETHER.items():
        least, most = parse(name)[0].metric.range
        assert math.isnan(found[query]) or least is None or found[query] >= least, name
        assert math.isnan(found[query]) or most is None or found[query] <= most + 1e-12, name
    alone = {name: found[query] for name, found in evaluated(query).items()}
    among = {name: found[query] for name, found in TOGETHER.items()}
    kept = [name for name in alone if parse(name)[0].metric.name not in ("gP", "gR", "ERR", "nERR", "iRBU")]
    assert [repr(alone[name]) for name in kept] == [repr(among[name]) for name in kept]


@examples(times=0.2)
@given(strategies.crowds(15))
def test_a_unit_changes_no_bit(queries):
    """A power of two as the unit of all grades rounds nothing, if nothing over- or underflows."""
    units = (1.0, UNIT, 1 / UNIT)
    tables = [
        judgments_of(({d: min(grade, 9.0) * unit for d, grade in qrels.items()}, run) for qrels, run in queries)
        for unit in units
    ]
    for spec in UNIT_FREE:
        expected, *others = (spec.metric(table, **spec.params).tobytes() for table in tables)
        assert others == [expected] * 2, spec


@each("unit", [5e-324, 2.0**-1000, 2.0**-500, 2.0**500, 2.0**1021])
def test_pearson_of_scores_of_any_size(unit):
    scores = [4.0, 7.0, 3.0, 1.0, -2.0]
    expected = value("pearson", scored([1, 2, 4, 0, 1], scores))
    assert value("pearson", scored([1, 2, 4, 0, 1], [one * unit for one in scores])) == expected
    far = scored([2, 1, 0], [BIGGEST, 0.0, -BIGGEST])
    assert value("pearson", far) == pytest.approx(1, abs=1e-15)


@each("grade", [1e-150, 1e-30, 1e-16, 1e-12, 1e-10])
@each("name", ["nDCG(gain=exp)", "nERR", "Q(gain=exp)", "nERR(max_grade=900)"])
def test_exponential_gains_of_small_grades_are_not_lost(name, grade):
    """2^grade - 1 is grade * ln 2 there, so that the ratios are those of linear gains."""
    query = ranked([None, grade, 3 * grade, None, 2 * grade], missed=[grade])
    linear = {"nERR": "nDCG(discount=zipf)", "nDCG": "nDCG", "Q": "Q"}[name.partition("(")[0]]
    assert value(name, query) == pytest.approx(value(linear, query), rel=1e-6)


def exact_nerr(grades: list[int], judged: list[int], largest: int) -> float:
    def err(ranking: list[int]) -> Fraction:
        left, total = Fraction(1), Fraction(0)
        for rank, grade in enumerate(ranking, 1):
            chance = Fraction(2 ** max(grade, 0) - 1, 2**largest)
            left, total = left * (1 - chance), total + left * chance / rank
        return total

    return float(err(grades) / err(sorted(judged, reverse=True)))


@each("largest", [4, 150, 300, 900, 1100, 13146])
def test_nerr_beside_a_query_of_larger_grades(largest):
    """The chances of a query of low grades can be too small for a float; their ratio is not."""
    grades, missed = [0, 1, 4, 2], [3]
    found = values("nERR", ranked([largest]), ranked(grades, missed))
    assert found == pytest.approx([1.0, exact_nerr(grades, grades + missed, largest)], rel=1e-14)
    far = values("nERR", ranked([1e150]), ranked([None, 1e100]), ranked([2, 1]))
    assert far == pytest.approx([1.0, 0.5, exact_nerr([2, 1], [2, 1], 900)], rel=1e-14)


def test_gains_that_are_no_float_are_an_error():
    exp = r"nDCG\(gain=exp\): gain=exp: the gain 2\^1e\+150 is too large: NDCNG and nDCGphi accept"
    beta = "a value is too large for a floating-point number"
    for name, grade, what in (("nDCG(gain=exp)", 1e150, exp), ("Q(beta=1e150,gain=exp)", 1000.0, beta)):
        qrels = {"1": {"a": grade}, "2": {"a": 1.0}}
        raises(MetricError, what, gradeval.evaluate, qrels, {"1": {"a": 1.0}}, name)


@each("name", ["AP(rel={})", "nDCG(ideal=max,max_grade={})@3", "nDCG(gain=1:{})", "ERR(max_grade={})"])
@each("number", ["1e151", "1e-151", "5e-324", "1e308"])
def test_parameters_have_the_range_of_grades(name, number):
    what = "must be 0 or between 1e-150 and 1e150 in absolute value, not"
    raises(MetricError, what, parse, name.format(number))
    assert parse(name.format("1e150"))
