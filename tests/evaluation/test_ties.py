"""The notice of tied scores and --ties expected, against values under other orders of them."""

import random
from collections.abc import Iterator, Sequence
from itertools import cycle, groupby, pairwise, permutations, product

import numpy as np
import pytest
from helpers import each, error_of, examples, raises
from hypothesis import given
from hypothesis import strategies as st

import gradeval
from gradeval import evaluate, report
from gradeval.arrays.segments import Segments
from gradeval.errors import MetricError, NoExpectedValueError
from gradeval.evaluation.evaluation import Evaluation
from gradeval.evaluation.plan import Plan
from gradeval.evaluation.results import Results
from gradeval.evaluation.score import has_expected, score
from gradeval.evaluation.ties import rises
from gradeval.notices import Notice, NoticeKind, lines
from gradeval.options import Options
from gradeval.registry.metric import REGISTRY, load
from gradeval.registry.spec import parse
from gradeval.tables.judgments import Judgments

Grades = dict[str, float]
Ranking = list[tuple[str, float]]
Case = tuple[Grades, Ranking]

# those that any order of unlike documents changes, and so the notice can be exact
EXACT = (
    "AP AP(rel=2) P@1,2,3 P(rel=2,judged_only=true)@2 R@2 CG@1,3 DCG DCG@2 DCG(judged_only=true)@2 "
    "num_rel_ret@2 num_ret num_rel RR RR(rel=2) RR@2 Success@1 Rprec Rprec(rel=2) utility"
)


def collection(draw: random.Random) -> Case:
    grades = {f"d{i}": draw.choice([-1, 0, 0, 1, 2, 2]) for i in range(draw.randint(1, 5))}
    names = draw.sample([*grades, "x", "y", "z"], draw.randint(1, min(4, len(grades) + 3)))
    return {"a": 1, **grades}, [(name, draw.randint(0, 1)) for name in names]


def orders(ranking: Ranking) -> Iterator[dict[str, float]]:
    by_score = sorted(ranking, key=lambda line: -line[1])
    groups = groupby(by_score, key=lambda line: line[1])
    for parts in product(*(permutations(group) for _, group in groups)):
        yield {name: score for part in parts for name, score in part}


def evaluated(cases: Sequence[Case], names: Sequence[str], **options: object) -> Results:
    """Whose notices, also of single queries, are only found where they are looked at. The queries are the cases
    by number.
    """
    qrels = {str(number): grades for number, (grades, _) in enumerate(cases)}
    run = {str(number): dict(ranking) for number, (_, ranking) in enumerate(cases)}
    plan = Plan(parse(names), Options(jobs=1, **options), shows_queries=True)
    return Evaluation(plan, qrels).kept([("run", run)])[0]


def tried(cases: Sequence[Case], names: Sequence[str], **options: object) -> dict[str, list[np.ndarray]]:
    """metric -> for each case, the values under all orders of its tied scores."""
    tries = [
        (n, (grades, [*run.items()])) for n, (grades, ranking) in enumerate(cases) for run in orders(ranking)
    ]
    results = evaluated([case for _, case in tries], names, **{**options, "ties": "input"})
    ends = np.flatnonzero(np.diff([n for n, _ in tries])) + 1
    return {name: np.split(results.values(0, name), ends) for name in names}


def noticed(cases: Sequence[Case], names: Sequence[str], **options: object) -> dict[str, set[int]]:
    """metric -> the cases that its notice names; every order is tried on each, and every case is named."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradeval.evaluation.caveats.TRIALS", None)
        patch.setattr("gradeval.evaluation.caveats.MAX_QUERIES", len(cases))
        notices = [one for one in evaluated(cases, names, **options).notices if one.kind is NoticeKind.TIES]
    found = {one.metric: set(map(int, one.queries)) for one in notices}
    assert [one.count for one in notices] == [len(of) for of in found.values()]
    return {name: set() for name in names} | found


def test_the_notice() -> None:
    """No metric, whatever is set, changes without the notice; that of EXACT metrics comes nowhere else."""
    load()
    draw = random.Random(7)
    usual = [metric.usage for metric in REGISTRY.values() if not metric.text]
    more = "nDCG(gain=0:1/1:0)@2 RR(judged_only=true)@2 nDCG(top=1/2)@2 rbp(rel=2)@2 BPM(max_rel=2)@2"
    exact, changed, both_ways = [str(spec) for spec in parse(EXACT)], set(), 0
    for turn, (depth, judged_only) in enumerate(zip([None, 1, 2, 3, None], cycle([False, True]))):
        options = {"depth": depth, "judged_only": judged_only, "rel": [None, 0, 2][turn % 3]}
        cases = [collection(draw) for _ in range(8)]
        names = [str(spec) for spec in parse([*usual, more, EXACT])]
        found = noticed(cases, names, **options)
        changes = {  # sums in another order may end in another last digit
            name: {case for case, of in enumerate(values) if len({f"{value:.9f}" for value in of}) > 1}
            for name, values in tried(cases, names, **options).items()
        }
        missing = {name: cases[min(of - found[name])] for name, of in changes.items() if of - found[name]}
        assert missing == {}, options
        for name in exact:
            if depth is None or "judged_only" not in name:
                assert found[name] == changes[name], (name, options)
        both_ways += sum(0 < len(changes[name]) < len(cases) for name in exact)
        changed |= {name for name, of in changes.items() if of}
    assert len(changed) > 60 and both_ways > 20


@each(
    "options",
    [
        {}, {"judged_only": True}, {"judged_only": True, "rel": 0}, {"depth": 2, "ties": "best"},
        {"depth": 2, "judged_only": True}, {"ties": "input"},
    ],
)  # fmt: skip
def test_the_range_is_that_of_all_orders(options: dict[str, object]) -> None:
    """Exactly for metrics that a promotion never harms, and never beyond it for others."""
    draw = random.Random(str(options))
    specs = parse(EXACT + " bpref nDCG@2 nDCG(gain=0:1/1:0)@2 Judged@2 rankDCG AUC ERR muAP")
    if "depth" in options:
        specs = [spec for spec in specs if "judged_only" not in spec.params]
    cases, names = [collection(draw) for _ in range(40)], list(map(str, specs))
    of_orders = tried(cases, names, **options)
    [run] = evaluated(cases, names, tie_range=True, **options).runs
    for m, spec in enumerate(specs):
        values, (low, high, _), of_tries = run.values[m], run.tie_range[:, m], of_orders[names[m]]
        least, most = (np.array([end.reduce(of) for of in of_tries]) for end in (np.fmin, np.fmax))
        assert not ((low > values) | (values > high)).any(), str(spec)
        assert not ((least > low + 1e-9) | (high > most + 1e-9)).any(), str(spec)
        assert not ((low < high) & (high - low < 1e-9)).any(), str(spec)
        if rises(spec, np.array([-1.0, 0.0, 1.0, 2.0]), options.get("depth")):
            np.testing.assert_allclose([low, high], [least, most], atol=1e-9, err_msg=str(spec))


def test_ranges_with_subtopics() -> None:
    """They are within those of all orders, query by query."""
    draw, names = random.Random(4), ["StRecall@3", "StRecall", "ERR_IA@3", "alpha_nDCG@4", "AP", "nDCG@2"]
    rankings = {f"{q}": collection(draw)[1] for q in range(30)}
    judged = [
        (q, f"{t}", d, draw.choice([0, 1, 2])) for q in rankings for t in range(3) for d in ("d0", "d1", "x")
    ]
    qrels = [row for row in judged if draw.random() < 0.7]
    run = {q: dict(ranking) for q, ranking in rankings.items()}
    results = evaluate(qrels, run, names, tie_range=True, ties="input")
    assert (results.values(0, "StRecall@3") > 0).any()
    for place, query in enumerate(results.queries):
        own = [row for row in qrels if row[0] == query]
        tries = [evaluate(own, {query: order}, names, ties="input") for order in orders(rankings[query])]
        for m, name in enumerate(names):
            values = [of_order.values(0, m)[0] for of_order in tries]
            low, high = results.runs[0].tie_range[:2, m, place]
            assert min(values) - 1e-12 <= low <= results.values(0, m)[place] <= high <= max(values) + 1e-12, (
                name
            )


def test_a_small_change_of_a_large_value_counts() -> None:
    """Only the last digits of sums in another order do not: 1 of 10 million is more."""
    results = evaluated([({"a": 1e7, "b": 1, "c": 0}, [("a", 2), ("b", 1), ("c", 1)])], ["DCG"], tie_range=True)
    assert results.range(0, "DCG") == (1e7 + 1 / 2, 1e7 + 1 / np.log2(3))


@each("options", [{}, {"depth": 2, "judged_only": True}])
def test_a_sample_of_many_queries_shows_as_much(options, monkeypatch: pytest.MonkeyPatch) -> None:
    load()
    draw = random.Random(str(options))
    cases = [collection(draw) for _ in range(80)]
    names = [metric.usage for metric in REGISTRY.values()]
    noticed = []
    for trials in (None, 20):
        monkeypatch.setattr("gradeval.evaluation.caveats.TRIALS", trials)
        notices = evaluated(cases, names, **options).notices
        noticed.append({notice.metric for notice in notices if notice.kind is NoticeKind.TIES})
    assert noticed[0] == noticed[1] and len(noticed[0]) > 30


def tie_notes(qrels: dict[str, Grades], runs: object, metrics: str, depth: int) -> tuple[Notice, str]:
    notices = gradeval.evaluate(qrels, runs, metrics, depth=depth).notices
    found = [one for one in notices if one.kind is NoticeKind.TIES]
    return found[0], next(lines(found, 2))


def test_undefined_values_are_said_as_such() -> None:
    qrels = {"q": {"y": 1.0, "x": 0.0}}
    tied = {"q": {"y": 1, "x": 1, "A": 1}}
    one, text = tie_notes(qrels, {"r": tied}, "Accuracy", 2)
    assert (one.value, one.low, one.high, one.undefined) == (1.0, 0.0, 1.0, 1)
    assert text.endswith("by at least 1.0000 (0.0000 to 1.0000); it becomes undefined for 1 of them")
    one, text = tie_notes(qrels, {"r": {"q": {"y": 2, "x": 1, "A": 1}}}, "tau", 2)
    assert (one.value, one.low, one.high, one.undefined) == (1.0, 1.0, 1.0, 1)
    assert text == "r: ties in 1 query could change tau, which becomes undefined"
    unlike = {"q": {"zz": 1, "z": 1, "y": 1, "x": 1}}
    one, text = tie_notes(qrels, {"r": unlike}, "Accuracy", 2)
    assert (one.value, one.low, one.high, one.undefined) == (None, 0.0, 1.0, 0)
    assert text == "r: Accuracy is undefined, and other orders of ties in 1 query make it 0.0000 to 1.0000"
    assert "nan" not in str(one.to_dict()).lower()
    cut = {"q": {"y": 2, "x": 1, "A": 1}}
    _, text = tie_notes(qrels, {"r": cut, "s": cut}, "tau", 2)
    assert "could change values; tau of r becomes undefined; " in text


def test_texts_are_compared_with_both_first_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """In every query, also in those that no further order is tried of. The run has the first order."""
    monkeypatch.setattr("gradeval.evaluation.caveats.TRIALS", 1)
    queries = ("q1", "q2", "q3")
    tied = {query: {"y": 1, "x": 1} for query in queries}
    one, text = tie_notes({query: {"y": 1.0, "x": 0.0} for query in queries}, {"r": tied}, "relstring", 2)
    assert text == "r: ties could change relstring in 3 queries; they are ordered by --ties trec"
    assert one.queries == queries


load()
EXAMPLES = [parse(metric.usage)[0] for metric in REGISTRY.values() if metric.is_ours and not metric.order_free]
# each metric that has an expected value, also a new one, and variants
VARIANTS = """CG@3 nDCG@3 nDCG(gain=exp)@2 nDCG(discount=letor) NDCNG@3 JKnDCG@3 gP@3 gR@2 P@2 R@3 relative_P@2
    F@3 Judged@2 unj@3 SDCG(max_rel=3)@3 rbp(rel=1)@2 AP@2 AP(rel=2)@3 RR@2 Success@3 ERR@2 ERR(gain=linear)@3
    nERR@3 iRBU@2 Q@2 Q(beta=3,gain=exp)@3 AP(norm=min)@2 Success(need=all)@2 Success(need=all)@4 set_P@3
    set_recall@2 set_F@3 nDCG(judged_only=True)@2 AP(judged_only=True)@2"""
SPECS = [*filter(has_expected, EXAMPLES), *parse(VARIANTS)]


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


@examples(times=0.5)
@given(rankings())
def test_the_mean_over_all_orders(ranking):
    groups, missed = ranking
    of_groups = (permutations(range(a, b)) for a, b in pairwise(np.cumsum([0, *map(len, groups)])))
    tried = [[i for part in parts for i in part] for parts in product(*of_groups)]  # the first: that of groups
    expected = score(table(groups, missed, tried[:1])[1], SPECS)[:, 0]
    every = score(table(groups, missed, tried)[0], SPECS)
    for spec, value, values in zip(SPECS, expected, every, strict=True):
        np.testing.assert_allclose(value, values.mean(), rtol=0, atol=1e-12, err_msg=str(spec))


@each(("size", "relevant", "largest"), [(1000, 450, 4), (700, 700, 30), (1500, 30, 12)])
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
    qrels, run = {"q": {"a": 1, "b": 0, "c": 2}}, {"q": dict.fromkeys("abc", 1.0)}
    found = evaluate(qrels, run, "num_q num_rel nDCG@2 AP", ties="expected", depth=2)
    assert found.mean(0, "num_q") == 1 and found.mean(0, "num_rel") == 2 and found.mean(0, "AP") > 0
    for name in ("rankDCG", "utility", "scaled_utility", "set_map", "num_rel_ret", "AUC"):
        what = f"{name}: no expected value where --depth divides documents"
        raises(MetricError, what, evaluate, qrels, run, f"num_q {name}", ties="expected", depth=2)
    for name in ("bpref", "infAP", "iprec_at_recall@0.5", "G"):
        error_of(NoExpectedValueError, score, table([[1.0, 0.0]], [], [range(2)])[1], parse(name))
    ranges = evaluate(qrels, run, "AP rankDCG", tie_range=True, depth=2).tie_ranges[2, 0]
    assert ranges[0] == found.mean(0, "AP") and np.isnan(ranges[1])
    assert not report(qrels, run, "AP", ties="expected").explained


def test_a_sum_has_no_expected_value_where_a_query_has_none():
    """As where the depth divides tied scores of one query, and not those of another."""
    qrels, run = {"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 2.0, "b": 2.0}, "2": {"a": 2.0, "b": 1.0}}
    results = evaluate(qrels, run, "num_rel_ret AP", tie_range=True, depth=1)
    np.testing.assert_equal(results.tie_ranges[:, 0], [[1, 0.5], [2, 1.0], [np.nan, 0.75]])
    [notice] = [of for of in evaluate(qrels, run, "num_rel_ret", depth=1).notices if of.kind is NoticeKind.TIES]
    assert (notice.low, notice.high, notice.expected) == (1, 2, None)
