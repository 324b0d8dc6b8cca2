"""Katerenchuk and Rosenberg's table 1, and the verdicts that follow from it."""

import math

import pytest

from gradeval.commands.study.criteria import criteria
from gradeval.errors import MetricError

# table 1 as printed: numbers are cut off after three digits, not rounded
TAU = [1.0, 0.8, 0.742, 0.285, 0.285, -0.8]
NDCG = [1.0, 0.998, 0.825, 0.688, 0.667, 0.571]
RANKDCG = [1.0, 0.975, 0.65, 0.325, 0.325, 0.0]


def cut_off(values):
    return [math.trunc(value * 1000 + math.copysign(1e-6, value)) / 1000 for value in values]


def held(study):
    found = {}
    for metric, criterion, holds, _ in study.table("verdicts").rows:
        found.setdefault(metric, {})[criterion] = holds
    return found


def test_table_1():
    rows = criteria("tau nDCG rankDCG").table("values").rows
    for metric, expected in (("tau", TAU), ("nDCG", NDCG), ("rankDCG", RANKDCG)):
        assert cut_off([row[-1] for row in rows if row[2] == metric]) == expected


def test_computed_verdicts():
    found = held(criteria("tau AP AP(rel=2) nDCG rankDCG P@3 rho"))
    assert found["rankDCG"] == {"ties": True, "skew": True, "emphasis": True, "range": True}
    assert found["nDCG"] == {"ties": False, "skew": True, "emphasis": True, "range": False}
    assert found["tau"] == {"ties": True, "skew": True, "emphasis": False, "range": False}
    assert found["rho"]["range"] is False
    for blind in ("AP", "P@3"):  # all documents are relevant to them: a metric that sees no error meets nothing
        assert not any(found[blind].values())


def test_undefined_values_have_no_verdict():
    """All documents are relevant to AUC, so it has no value, and so no verdict."""
    study = criteria("AUC AP(rel=2) P@3")
    assert all(math.isnan(row[-1]) for row in study.table("values").rows if row[2] == "AUC")
    assert set(held(study)["AUC"].values()) == {None}
    emphasis = {row[0]: row[2:] for row in study.table("verdicts").rows if row[1] == "emphasis"}
    # the highest misplaced costs nothing: the ratio is 0
    assert emphasis["AP(rel=2)"] == (False, pytest.approx(0))
    assert emphasis["P@3"][0] is None  # neither costs anything
    assert study.tables[-1].rows[0] == ("AUC", *["undefined"] * 4)
    content = study.to_dict()["tables"]
    assert content.keys() == {"verdicts", "values"}
    assert content["verdicts"][0] == {"metric": "AUC", "criterion": "ties", "holds": None, "evidence": None}
    assert len(content["values"]) == 18
    with pytest.raises(MetricError, match="orders no systems"):
        criteria("Judged@5")
