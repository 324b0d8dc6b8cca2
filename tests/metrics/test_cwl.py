"""The families cascade, user_model, ntcir, overlap and diagnosis, worked by hand."""

import pytest
from helpers import each, judgments_of, raises, ranked, value, values

from gradeval.errors import MetricError
from gradeval.registry.metric import REGISTRY


def test_the_largest_grade_is_that_of_the_qrels_where_it_is_above_4():
    assert values("ERR@1", ranked([1]), ranked([6])) == [1 / 64, 63 / 64]
    raises(MetricError, "max_grade=2 is below the largest grade, 3", value, "ERR(max_grade=2)", ranked([3]))


def test_grades_of_any_size():
    assert value("ERR", ranked([5000])) == pytest.approx(1, abs=1e-15)
    assert value("nERR", ranked([5000, 4999])) == 1


def test_full_gain_ends_the_search_for_good():
    """A chance of 0 to go on stays 0, whatever comes after."""
    late = ranked([2, *[None] * 50, 2, 1])
    assert value("NERR8(max_rel=2)@60", late) == 1
    assert value("INST(T=0.5,max_rel=2)", late) == pytest.approx(1, abs=1e-15)


@each("name", ["INST", "INSQ", "NERR10", "NERR11"])
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
