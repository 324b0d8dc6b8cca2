"""Parts of a collection score as the whole, and metrics share computations; rank-biased precision; words."""

import tracemalloc

import numpy as np
import pytest
from helpers import check_each, each, examples, judgments_of, raises, ranked, values
from hypothesis import given
from hypothesis import strategies as st

from gradeval.errors import MetricError
from gradeval.evaluation.score import scored
from gradeval.metrics import user_models
from gradeval.registry.metric import REGISTRY, Metric
from gradeval.registry.spec import Spec, parse
from gradeval.tables import qrels

from . import strategies

QUERIES = 12


@examples(times=0.2)
@given(strategies.crowds(QUERIES), strategies.parameters, st.integers(0, QUERIES), st.integers(0, QUERIES))
def test_a_part_scores_as_in_the_whole(queries, parameters, first, last):
    """Bit for bit, for every metric, where the part has the scale of the whole."""
    first, last = sorted((first, last))
    whole = judgments_of(queries)
    rows = slice(*whole.segments.offsets[[first, last]])
    part = judgments_of(queries[first:last]).replace(document=whole.document[rows], scale=whole.scale)

    def check(metric: Metric) -> None:
        spec = Spec(metric, tuple(strategies.params_of(metric, parameters).items()))
        expected, found = scored(whole, [spec]), scored(part, [spec])
        assert found.values.tobytes() == expected.values[:, first:last].tobytes(), str(spec)
        assert found.texts == {m: texts[first:last] for m, texts in expected.texts.items()}

    check_each(REGISTRY.values(), check)


@each("more", ["", "gain=exp", "gain=1:2/3:9", "variant=released", "judged_only=true", "p=0.7"])
def test_cutoffs_share_what_is_computed(more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept is found again by what it means: no cutoff, nor a new spec of the same text, adds to it, but
    for a total of each query's ideal ranking.
    """
    monkeypatch.setattr(qrels, "RECALLED", 1 << 20)
    kept, param = judgments_of(strategies.crowd(1, "graded", 14, QUERIES)), more.partition("=")[0]

    def check(metric: Metric) -> None:
        if param and param not in metric.by_name:
            return
        needed = [one for one in metric.params if one.required and one.name not in ("cutoff", param)]
        inside = ",".join([*(f"{one.name}={one.example}" for one in needed), *filter(None, [more])])
        scored(kept, parse(f"{metric.name}({inside})@5"))
        before = {*kept._made, *kept.best._made}
        scored(kept, parse(f"{metric.name}({inside})@5,10,100"))
        made = {*kept._made, *kept.best._made} - before
        assert all(key[0] == "ideal total" for key in made)

    check_each([metric for metric in REGISTRY.values() if metric.at and metric.at.name == "cutoff"], check)


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
    monkeypatch.setattr(user_models, "_AT_ONCE", 100)
    assert values("rbp_resid(p=0.5)", *queries) == expected
    ranks = np.array([1.0, 1000.0, 70_000.0])
    np.testing.assert_allclose(user_models.reach_probability(ranks, 0.9999), 0.9999 ** (ranks - 1))
    assert user_models.reach_probability(ranks[:0], 0.5).tolist() == []


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
