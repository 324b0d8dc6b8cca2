"""Geometric means and log odds. A query's value of the former is tested here, the mean with Results."""

from __future__ import annotations

from math import log

import pytest
from helpers import ranked, value, values

QUERY = ranked([1, 0, None, 1], missed=[1])  # P is 1 and 1/2, R = 3


def test_a_query_has_the_plain_value():
    assert value("gm_map", QUERY) == value("AP", QUERY) == pytest.approx(1.5 / 3)
    assert value("GMAP(rel=2)", QUERY) == 0
    assert value("gm_bpref", QUERY) == value("bpref", QUERY)


def test_log_odds():
    assert value("yaap", QUERY) == pytest.approx(log((1 + 1.5) / (1 + 3 - 1.5)), abs=1e-15)
    assert value("yaap", ranked([1, 1])) == pytest.approx(log(3))
    assert values("yaap", ({}, {}), ranked([0], missed=[1])) == [0, pytest.approx(log(1 / 2))]
