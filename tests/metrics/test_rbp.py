"""Rank-biased precision: its names and its residual; and the metrics that are words."""

import tracemalloc

import numpy as np
from helpers import judgments_of, raises, ranked, values

from gradeval.errors import MetricError
from gradeval.metrics import rbp
from gradeval.registry.spec import parse


def test_names_and_parameters():
    """As ranx spells it, the digits are those after the point."""
    assert parse("rbp.95 rbp.5 rbp.050") == parse("rbp(p=0.95) rbp(p=0.5) rbp(p=0.05)")
    for name in ("rbp.0", "rbp.٣", "rbp.9x", "rbp.9,8", "rbp_95", "rbp_resid.95"):
        raises(MetricError, "", parse, name)
    what = r"gain must be binary, linear, exp, or grade:gain.*, not 'square'"
    raises(MetricError, what, parse, "rbp(gain=square)")
    raises(MetricError, "rel and gain are mutually exclusive", parse, "rbp(gain=binary,rel=2)")


def test_residual_of_many_queries(monkeypatch):
    """The same however many queries are looked at together, and for documents far below the first unjudged."""
    queries = [ranked([None if (n * m) % 7 == 3 else 1 for n in range(60 * m)]) for m in range(1, 8)]
    expected = []
    for grades, run in queries:
        unknown = [0.5**place for place, name in enumerate(run) if name not in grades]
        expected.append(0.5 ** len(run) + 0.5 * sum(unknown) if unknown else 0.0)
    together = values("rbp_resid(p=0.5)", *queries)
    assert together == expected
    monkeypatch.setattr(rbp, "_AT_ONCE", 100)
    assert values("rbp_resid(p=0.5)", *queries) == expected
    ranks = np.array([1.0, 1000.0, 70_000.0])
    np.testing.assert_allclose(rbp.reach_probability(ranks, 0.9999), 0.9999 ** (ranks - 1))
    assert rbp.reach_probability(ranks[:0], 0.5).tolist() == []


def test_words():
    """One long ranking does not make all the others long, nor a long tag each text."""
    queries = [ranked([1, -1, None, 0, 9.5, 10, 2.75]), ({}, {}), ranked([None] * 4999 + [2])]
    queries += [ranked([0])] * 1000
    table = judgments_of(queries).replace(tag="µ" * 10_000)
    for name, expected in (("relstring", "1.-09>2"), ("relstring@3", "1.-"), ("relstring@1", "1")):
        [spec] = parse(name)
        assert np.isnan(spec.metric(table, **spec.params)).all()
        assert spec.metric.texts(table, **spec.params)[:2] == [expected, ""]
    row, condensed, tag = parse("relstring@10000 relstring(judged_only=true)@4 runid")
    assert condensed.metric.texts(table, **condensed.params)[0] == "109>"
    tracemalloc.start()
    try:
        found, tags = row.metric.texts(table, **row.params), tag.metric.texts(table)
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()
    assert found[2:] == ["-" * 4999 + "2", *["0"] * 1000]
    assert tags == [table.tag] * 1003
