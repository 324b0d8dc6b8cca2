"""--ties expected: the mean over all orders of tied scores, against an enumeration of them."""

from itertools import permutations, product

import numpy as np
import pytest
from helpers import each, error_of, examples
from hypothesis import given
from hypothesis import strategies as st

from gradeval import evaluate, report
from gradeval.arrays.segments import Segments
from gradeval.errors import MetricError, NoExpectedValueError
from gradeval.evaluation.score import score
from gradeval.evaluation.ties import has_expected
from gradeval.registry.metric import REGISTRY, load
from gradeval.registry.spec import parse
from gradeval.tables.judgments import Judgments

LINEAR = "CG@3 DCG nDCG@3 nDCG(gain=exp)@2 nDCG(discount=letor) NDCNG@3 nDCGphi JKnDCG@3 ndcg_p gP@3 gR@2 rbp"
COUNTED = "P@2 R@3 relative_P@2 F@3 Rprec Rprec_mult@0.5 Judged@2 unj@3 num_rel set_P set_F num_rel_ret"
SETS = "set_relative_P num_nonrel_judged_ret"
OTHERS = "SDCG(max_rel=3)@3 INSQ(max_rel=3) rbp(rel=1)@2 AP AP@2 AP(rel=2)@3 muAP RR RR@2 Success@1 Success@3"
VARIANTS = "AP(norm=min)@2 Success(need=all)@2 Success(need=all)@4 set_P@3 set_recall@2 set_F@3"
CASCADES = "ERR ERR@2 ERR(gain=linear)@3 nERR@3 iRBU@2 Q Q@2 Q(beta=3,gain=exp)@3 rankDCG tau AUC"
LISTED = parse(
    f"{LINEAR} {COUNTED} {SETS} {OTHERS} {CASCADES} {VARIANTS} nDCG(judged_only=True)@2 AP(judged_only=True)@2"
)
load()
EXAMPLES = [parse(metric.usage)[0] for metric in REGISTRY.values() if metric.is_ours and not metric.order_free]
SPECS = [*LISTED, *filter(has_expected, EXAMPLES)]  # each metric that has an expected value, also a new one


@st.composite
def rankings(draw):
    """Groups of tied documents, each a grade or None where it is not judged, and documents not retrieved."""
    grades = st.sampled_from([None, -1.0, 0.0, 1.0, 2.0, 3.0])
    sizes = draw(st.sampled_from([[], [1], [3], [4, 1, 1], [2, 3, 2], [4, 3], [1, 4, 2], [3, 1, 3]]))
    groups = [draw(st.lists(grades, min_size=size, max_size=size)) for size in sizes]
    return groups, draw(st.lists(st.sampled_from([0.0, 1.0, 3.0]), max_size=2))


def table(groups, missed, tried):
    """The judgments of a ranking of groups, a query for each of the orders that are tried, with the ties."""
    listed = [grade for group in groups for grade in group]
    ends = np.cumsum([0, *map(len, groups)])
    group_of = np.repeat(np.arange(len(groups)), np.diff(ends)).tolist()
    rows, sizes = [], []
    for order in tried:
        before = len(rows)
        for rank, position in enumerate(order, 1):
            group = group_of[position]
            if listed[position] is not None:
                rows.append((listed[position], rank, -group, position, ends[group] + 1, ends[group + 1]))
        rows += [(grade, np.inf, -np.inf, 100 + i, np.inf, np.inf) for i, grade in enumerate(missed)]
        sizes.append(len(rows) - before)
    grade, rank, scores, document, first, last = np.array(rows, float).reshape(-1, 6).T
    segments, retrieved = Segments(np.cumsum([0, *sizes])), np.full(len(sizes), len(listed))
    made = Judgments(segments, grade, rank, scores, document.astype(int), retrieved)
    return made, made.replace(first=first, last=last)


def orders(groups):
    """All orders of the documents, tied ones in any order; the first is that of the groups."""
    start = np.cumsum([0, *map(len, groups)])
    each = [permutations(range(start[g], start[g + 1])) for g in range(len(groups))]
    return [[i for part in parts for i in part] for parts in product(*map(list, each))]


@examples(times=0.5)
@given(rankings())
def test_the_mean_over_all_orders(ranking):
    groups, missed = ranking
    tried = orders(groups)
    expected = score(table(groups, missed, tried[:1])[1], SPECS)[:, 0]
    every = score(table(groups, missed, tried)[0], SPECS)
    for spec, value, values in zip(SPECS, expected, every, strict=True):
        np.testing.assert_allclose(value, values.mean(), rtol=0, atol=1e-12, err_msg=str(spec))


@each(("size", "relevant", "largest"), [(2000, 900, 4), (1500, 1500, 30), (3000, 30, 12)])
def test_large_groups(size, relevant, largest):
    """Against one document after the other, each of which may have any place among those before it."""
    grades = [1 + d % 3 for d in range(relevant)]
    i = np.arange(size + 1)  # the documents above, among those so far
    passed, stopped = np.where(i == 0, 1.0, 0.0), np.zeros(size + 1)
    for t, grade in enumerate([*grades, *[0] * (size - relevant)]):
        stop = (2**grade - 1) / 2**largest
        stopped = ((t - i) * stopped + i * (1 - stop) * np.roll(stopped, 1) + stop * passed) / (t + 1)
        passed = ((t + 1 - i) * passed + i * (1 - stop) * np.roll(passed, 1)) / (t + 1)
    qrels = {"q": {f"d{d}": grade for d, grade in enumerate(grades)}}
    run = {"q": {f"d{d}": 1.0 for d in range(size)}}
    value = evaluate(qrels, run, f"ERR(max_grade={largest})", ties="expected").mean(0, 0)
    np.testing.assert_allclose(value, (stopped[:size] / np.arange(1, size + 1)).sum(), rtol=1e-13)


def test_the_depth_divides_tied_documents():
    """Only metrics whose values depend on the documents that are left have none then."""
    qrels, run = {"q": {"a": 1, "b": 0, "c": 2}}, {"q": dict.fromkeys("abc", 1.0)}
    found = evaluate(qrels, run, "num_q num_rel nDCG@2 AP", ties="expected", depth=2)
    assert found.mean(0, "num_q") == 1 and found.mean(0, "num_rel") == 2 and found.mean(0, "AP") > 0
    for name in ("rankDCG", "utility", "scaled_utility", "set_map", "num_rel_ret", "AUC"):
        with pytest.raises(MetricError, match=f"{name}: no expected value where --depth divides documents"):
            evaluate(qrels, run, f"num_q {name}", ties="expected", depth=2)
    for name in ("bpref", "infAP", "iprec_at_recall@0.5", "G"):
        error_of(NoExpectedValueError, score, table([[1.0, 0.0]], [], [range(2)])[1], parse(name))
    ranges = evaluate(qrels, run, "AP rankDCG", tie_range=True, depth=2).tie_ranges[2, 0]
    assert ranges[0] == found.mean(0, "AP") and np.isnan(ranges[1])
    assert not report(qrels, run, "AP", ties="expected").explained
