"""Agreement of metrics and of judgments, against scipy, slow recomputation and numbers worked by hand."""

import math
from itertools import combinations

import numpy as np
import pytest
from helpers import each, error_of, raises
from scipy.stats import kendalltau, ttest_rel

import gradeval
from gradeval.commands.study.agreement import agreement
from gradeval.errors import InputError, MetricError, OptionError
from gradeval.notices import NoticeKind
from gradeval.statistics.agreement import ALPHAS

METRICS = "nDCG@5 nDCG(gain=exp) AP rankDCG muAP"


def made(seed=1, queries=24, documents=12, systems=5):
    """Judgments, and systems whose scores follow the grades less and less."""
    random = np.random.default_rng(seed)
    grades = random.integers(0, 4, (queries, documents))
    qrels = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(own)} for q, own in enumerate(grades)}
    runs = {}
    for system in range(systems):
        scores = grades + random.normal(0, 0.5 + system * 0.8, grades.shape)
        runs[f"s{system}"] = {
            f"q{q}": {f"d{d}": float(score) for d, score in enumerate(own)} for q, own in enumerate(scores)
        }
    return qrels, runs


QRELS, RUNS = made()


@pytest.fixture(scope="module")
def study():
    return agreement(QRELS, RUNS, METRICS)


@pytest.fixture(scope="module")
def results():
    return gradeval.evaluate(QRELS, RUNS, METRICS)


def means_of(study, systems=5):
    """For each set of judgments, (M, R)."""
    names = len(study.options["metrics"]), systems
    return np.array([row[-1] for row in study.table("systems").rows]).reshape(-1, *names)


def column(study, table, name):
    return [row[study.table(table).columns.index(name)] for row in study.table(table).rows]


def test_means_correlations_and_power(study, results):
    np.testing.assert_array_equal(means_of(study)[0], results.means.T)
    assert column(study, "systems", "system")[:5] == list(RUNS)
    # correlations are kendalls
    rows = study.table("correlations").to_dicts()
    for row, (a, b) in zip(rows, combinations(range(5), 2), strict=True):
        assert row["tau"] == pytest.approx(kendalltau(results.means[:, a], results.means[:, b]).statistic)
        assert row["tau_ap"] == (row["tau_ap_truth_first"] + row["tau_ap_truth_second"]) / 2
    # holm by hand: the i-th smallest p is compared with alpha / (m - i + 1), and the first failure ends
    # it
    for m, row in enumerate(study.table("power").rows):
        values = [results.values(r, m) for r in range(5)]
        ordered = sorted(float(ttest_rel(a, b).pvalue) for a, b in combinations(values, 2))
        separated = 0
        while separated < 10 and ordered[separated] < 0.05 / (10 - separated):
            separated += 1
        assert row[1:] == (10, separated, separated / 10)
    assert set(column(study, "power", "separated")) != {0}
    # threads and order of queries change no digit
    shuffled = {query: QRELS[query] for query in sorted(QRELS, reverse=True)}
    other = agreement(shuffled, RUNS, METRICS, jobs=3)
    for name in ("correlations", "power", "halves"):
        assert other.table(name).rows == study.table(name).rows
    assert agreement(QRELS, RUNS, METRICS, seed=2).table("halves").rows != study.table("halves").rows


@each("options", [{"correction": "maxt"}, {"test": "tukey"}, {"test": "randomization"}, {"test": "wilcoxon"}])
def test_every_test_separates_the_best_from_the_worst(options):
    qrels, runs = made(systems=3)
    [row] = agreement(qrels, runs, "nDCG@5", **options, samples=200, splits=2).table("power").to_dicts()
    assert row["pairs"] == 3
    assert row["separated"] >= 1


def test_query_ids_are_as_other_queries_had_no_judgments():
    ids = ("q3", "q0", "q7", "q20", "q11")
    fewer = {query: QRELS[query] for query in QRELS if query in ids}
    other = {query: {document: 3 - grade for document, grade in of.items()} for query, of in QRELS.items()}
    for qrels2, of_fewer in ((None, None), (other, {query: other[query] for query in fewer})):
        some = agreement(QRELS, RUNS, "AP rankDCG", qrels2=qrels2, query_ids=ids, splits=9)
        expected = agreement(fewer, RUNS, "AP rankDCG", qrels2=of_fewer, splits=9)
        assert [table.rows for table in some.tables] == [table.rows for table in expected.tables]
        assert some.options["evaluation"]["query_ids"] == ids


def test_rescaled_means_are_those_of_rescaled_grades(study, results):
    """Scale-free metrics do not change."""
    rows = study.table("rescaled").to_dicts()
    for row in rows:
        is_scale_free = row["metric"] != "nDCG(gain=exp)"
        assert row["change"] == pytest.approx(0, abs=1e-12) if is_scale_free else row["change"] > 0.005
    doubled = {query: {d: 2 * g for d, g in own.items()} for query, own in QRELS.items()}
    other = gradeval.evaluate(doubled, RUNS, METRICS)
    for m, row in enumerate(rows[1::2]):
        before, after = results.means[:, m], other.means[:, m]
        assert (row["factor"], row["change"]) == (2, np.abs(after - before).max())
        assert row["tau"] == pytest.approx(kendalltau(before, after).statistic)


def second_judgments():
    """The same with some grades changed, some documents not judged, one query less and another more."""
    random = np.random.default_rng(5)
    qrels = {}
    for query, own in QRELS.items():
        if query != "q3":
            noise = random.integers(-1, 2, len(own)).tolist()
            pairs = zip(own.items(), noise, strict=True)
            qrels[query] = {d: max(0, g + by) for (d, g), by in pairs if random.random() < 0.9}
    return qrels | {"new": {"d1": 1}}


def test_two_sets_of_judgments():
    other = second_judgments()
    study = agreement(QRELS, RUNS, "nDCG@5 AP", qrels2=other, splits=5)
    common = [query for query in QRELS if query in other]
    for qrels, means in zip((QRELS, other), means_of(study), strict=True):
        expected = gradeval.evaluate({query: qrels[query] for query in common}, RUNS, "nDCG@5 AP")
        np.testing.assert_allclose(means, expected.means.T, rtol=1e-14)
    for m, row in enumerate(study.table("judgments").to_dicts()):
        one, two = means_of(study)[:, m]
        assert row["tau"] == pytest.approx(kendalltau(one, two).statistic)
    assert [(n.kind, n.count, n.queries) for n in study.notices if n.kind is NoticeKind.NOT_IN_BOTH] == [
        (NoticeKind.NOT_IN_BOTH, 1, ("q3",)),
        (NoticeKind.NOT_IN_BOTH, 1, ("new",)),
    ]
    counted = {}
    for query in common:
        for document, grade in other[query].items():
            pair = (float(QRELS[query][document]), float(grade))
            counted[pair] = counted.get(pair, 0) + 1
    rows = study.table("confusion").to_dicts()
    assert {(row["grade"], row["grade2"]): row["documents"] for row in rows if row["documents"]} == counted
    [row] = study.table("documents").to_dicts()
    assert row["both"] == sum(len(other[query]) for query in common)
    assert row["only_first"] == sum(len(QRELS[query]) for query in common) - row["both"]
    assert row["only_second"] == 0
    assert study.table("power").columns[0] == "judgments"
    # A tie that changes a value by the first set only; a query that a run lacks by both
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}, "q3": {"a": 1}}
    other = {"q1": {"a": 1, "b": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    tied, whole = {"q1": {"a": 1.0, "b": 1.0}, "q2": {"a": 1.0}}, {query: {"a": 1.0} for query in qrels}
    study = agreement(qrels, {"x": tied, "y": whole}, "AP", qrels2=other, splits=2)
    by_kind = {(notice.kind, bool(notice.judgments)) for notice in study.notices}
    assert {(NoticeKind.TIES, True), (NoticeKind.MISSING, False)} <= by_kind
    assert not {(NoticeKind.TIES, False), (NoticeKind.MISSING, True)} & by_kind


def label_rows(study):
    """Statistic -> value, for each two sets of judgments."""
    values = {}
    for *sets, name, value, low, high in study.table("labels").rows:
        values.setdefault(tuple(sets), {})[name] = value
        assert math.isnan(low) or low <= value <= high
    return values


def test_three_sets_of_judgments():
    second = second_judgments()
    third = {q: {d: min(g, 1) for d, g in own.items()} for q, own in QRELS.items() if q != "q5"}
    study = agreement(QRELS, RUNS, "AP nDCG@5", qrels2=[second, third], splits=2)
    sets = ["qrels", "qrels#2", "qrels#3"]
    values = label_rows(study)
    assert list(values) == [*combinations(sets, 2), ("all", "all")]
    assert list(values["all", "all"]) == list(ALPHAS)
    pairs = combinations([QRELS, second, third], 2)
    for (first, other), pair in zip(combinations(sets, 2), pairs, strict=True):
        [alone] = label_rows(agreement(pair[0], qrels2=pair[1])).values()
        assert values[first, other] == pytest.approx(alone)
    for name in ("correlations", "power", "systems"):
        assert list(dict.fromkeys(column(study, name, "judgments"))) == sets
    for row in study.table("judgments").to_dicts():
        m = study.options["metrics"].index(row["metric"])
        means = [means_of(study)[sets.index(row[key]), m] for key in ("judgments", "other")]
        assert row["tau"] == pytest.approx(kendalltau(*means).statistic)
    common = {q: third[q] for q in QRELS if q in second and q in third}
    np.testing.assert_allclose(
        means_of(study)[2], gradeval.evaluate(common, RUNS, "AP nDCG@5").means.T, rtol=1e-14
    )


def test_influences_that_are_rounding_noise():
    """Each query alone has what both together have, or nothing that is defined."""
    first = {"q0": {"d0": 2, "d1": 3}, "q1": {"d0": 1, "d1": 1}}
    second = {"q0": {"d0": 2, "d1": 3}, "q1": {"d0": 1, "d1": 2}}
    third = {"q0": {"d0": 2, "d1": 2}, "q1": {"d0": 1, "d1": 2}}
    values = label_rows(agreement(first, qrels2=[second, third]))
    assert values["all", "all"]["alpha_interval"] == pytest.approx(23 / 34)
    equal = {"q0": {"d0": 2, "d1": 2}, "q1": {"d0": 1, "d1": 1}}
    assert label_rows(agreement(equal, qrels2=equal))[()]["alpha_interval"] == 1


def test_three_sets_without_runs_need_two_of_them_for_a_query():
    first, *others = ({query: {"a": 1, "b": 0} for query in names} for names in ("pqx", "qr", "rp"))
    study = agreement(first, qrels2=others)
    assert [row["both"] for row in study.table("documents").to_dicts()] == [2, 2, 2]
    assert [(notice.count, notice.queries) for notice in study.notices] == [(1, ("x",))]


def test_many_different_grades():
    """The confusion table then has the cells with documents only, and people see no matrix."""
    random = np.random.default_rng(1)
    qrels, other = (
        {f"q{q}": {f"d{d}": float(random.random()) for d in range(30)} for q in range(4)} for _ in range(2)
    )
    study = agreement(qrels, qrels2=other)
    assert len(study.table("confusion").rows) == 120
    assert "matrix" not in [table.name for table in study.tables]
    assert "rows by" in str(agreement(QRELS, qrels2=QRELS))
    with pytest.raises(InputError, match=r"no document is judged by two of these: qrels, qrels#2\. Check"):
        agreement({"q": {"a": 1}}, qrels2={"q": {"b": 1}})
    rows = random.random((5, 300))  # more than a scale has
    qrels = {f"q{q}": {f"d{d}": grade for d, grade in enumerate(of)} for q, of in enumerate(rows.tolist())}
    with pytest.raises(InputError, match=r"1,500 different grades, and a scale of grades .* Round them first"):
        agreement(qrels, qrels2=qrels)
    study = agreement(qrels, dict.fromkeys("ab", qrels), "AP", qrels2=qrels, splits=1)
    assert [notice.count for notice in study.notices if notice.kind is NoticeKind.MANY_GRADES] == [1500]
    assert study.table("judgments").rows and "labels" not in [table.name for table in study.tables]


def test_wrong_arguments():
    values = {
        "test": ("bootstrap", ["t"]),
        "correction": ("sidak",),
        "alpha": (1, "x"),
        "samples": (0, "x"),
        "seed": (None,),
        "splits": (0,),
        "rescale": ((0,), "a", (1e150,)),
        "by_level": (True,),
        "per_query": (True,),
        "query_ids": ("nowhere",),
    }
    cases = [({name: value}, OptionError) for name, wrong in values.items() for value in wrong]
    cases += [({"qrels2": QRELS, "ties": "best"}, OptionError), ({"metrics": "num_q"}, MetricError)]
    cases += [({"qrels2": {"other": {"d1": 1}}}, InputError), ({"qrels2": "/nowhere"}, InputError)]
    for options, error in cases:
        error_of(error, agreement, QRELS, RUNS, **{"splits": 1} | options)
    raises(OptionError, "runs or qrels2 is missing: .* to compare with$", agreement, QRELS)
    one = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "grade": [1, 0], "judge": ["x", "x"]}
    frame = pytest.importorskip("polars").DataFrame(one)
    raises(OptionError, "is missing: .*; the column judge names one judge", agreement, frame)
    raises(InputError, "no column named 'x'; the columns are 'query_id',", agreement, frame, columns="judge=x")
    raises(InputError, "two systems", agreement, QRELS, {"one": RUNS["s0"]})
    qrels = {"q": {"a": 600, "b": 0}}
    runs = {"one": {"q": {"a": 2, "b": 1}}, "two": {"q": {"a": 1, "b": 2}}}
    raises(MetricError, "multiplied by 2", agreement, qrels, runs, "nDCG(gain=exp)")  # too large a gain
