"""Rank-biased precision and its residual, worked by hand."""

import numpy as np
import pytest
from helpers import error_of, raises, ranked, value, values

from gradeval.errors import MetricError
from gradeval.metrics import rbp as rank_biased
from gradeval.registry.spec import parse

QUERY = ranked([1, None, 0, 1, -1])


def test_as_ranx_spells_it():
    """The digits are those after the point; 0.095125 is what ranx 0.3.21 says of this query."""
    assert value("rbp.95", ranked([1, None, 1, 0], missed=[1])) == pytest.approx(0.095125, abs=1e-15)
    assert parse("rbp.95 rbp.5 rbp.050") == parse("rbp(p=0.95) rbp(p=0.5) rbp(p=0.05)")
    for name in ("rbp.0", "rbp.٣", "rbp.9x", "rbp.9,8", "rbp_95", "rbp_resid.95"):
        error_of(MetricError, parse, name)


def test_binary_gain_has_a_level():
    query = ranked([1, 2, None, 3])
    assert value("rbp(p=0.5,gain=binary)", query) == pytest.approx(0.5 * (1 + 1 / 2 + 1 / 8))
    assert value("rbp(p=0.5,gain=Binary)", query, level=2) == pytest.approx(0.5 * (1 / 2 + 1 / 8))
    assert value("rbp(p=0.5,rel=3)", query, level=2) == pytest.approx(0.5 / 8)
    assert value("rbp(p=0.5)", query, level=2) == value("rbp(p=0.5)", query)
    with pytest.raises(MetricError, match=r"gain must be binary, linear, exp, or grade:gain.*, not 'square'"):
        parse("rbp(gain=square)")
    raises(MetricError, "rel and gain are mutually exclusive", parse, "rbp(gain=binary,rel=2)")


def test_residual_of_many_queries(monkeypatch):
    """The same however many queries are looked at together, and for documents far below the first unjudged."""
    queries = [ranked([None if (n * m) % 7 == 3 else 1 for n in range(60 * m)]) for m in range(1, 8)]
    expected = []
    for grades, run in queries:
        unknown = [place for place, name in enumerate(run) if name not in grades]
        total = 0.0
        for place in unknown:
            total += 0.5**place
        expected.append(0.5 ** len(run) + 0.5 * total if unknown else 0.0)
    together = values("rbp_resid(p=0.5)", *queries)
    assert together == expected
    monkeypatch.setattr(rank_biased, "_AT_ONCE", 100)
    assert values("rbp_resid(p=0.5)", *queries) == expected


def test_far_down():
    reaching = rank_biased.reach_probability
    ranks = np.array([1.0, 1000.0, 70_000.0])
    assert reaching(ranks, 0.9999).tolist() == pytest.approx([0.9999 ** (r - 1) for r in ranks])
    assert reaching(ranks[:2], 0.5).tolist() == pytest.approx([1, 0.5**999])
    assert reaching(ranks[:0], 0.5).tolist() == []
