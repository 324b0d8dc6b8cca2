"""Buckets, evaluated and merged without Spark, are what the evaluation of the whole is."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from helpers import error_of, raises
from hypothesis import given
from hypothesis import strategies as st
from metrics.test_every_option import QRELS, RUN
from scipy import stats

import gradeval
from gradeval.compare_options import CompareOptions
from gradeval.errors import GradevalError, OptionError
from gradeval.formats.diagnostics import COLLAPSES
from gradeval.notices import NoticeKind
from gradeval.options import Options
from gradeval.spark.kernel import SparkJob, Statistics, comparison, evaluate_bucket, merged
from gradeval.spark.results import Request, SparkResults, bucket_count

from .tables import evaluated, every_metric, job_of, same, table

RUNS = {
    "first": RUN,
    "second": {q: {d: -s for d, s in of.items()} for q, of in RUN.items() if q != "q3"} | {"zz": {"a": 1.0}},
}
# buckets, and options: each option once
CASES: list[tuple[int, dict[str, Any]]] = [
    (2, {}),
    (1, {"rel": 2.0, "ties": "worst"}),
    (2, {"judged_only": True, "no_relevant": "skip"}),
    (3, {"query_ids": ("q1", "q2", "q6"), "zero_grade": 1.0, "ties": "best"}),
    (5, {"tie_range": True}),
    (3, {"depth": 4, "judged_only": True, "rel": 3.0, "queries": "both"}),
]


def told(results: gradeval.Results) -> list[Any]:
    """The sentences; of an order that is 'at least' a range, others can be tried in a bucket. The first queries
    of a bucket are the first by id.
    """
    notices = [one.replace(queries=tuple(sorted(one.queries))) for one in results.notices]
    return [
        (one.kind, one.metric, one.subject) if one.kind is NoticeKind.TIES and not one.at_most else str(one)
        for one in notices
    ]


@pytest.mark.parametrize("count, options", CASES, ids=str)
def test_buckets_are_the_whole(count: int, options: dict[str, Any]) -> None:
    position = CASES.index((count, options))
    metrics = every_metric()[position % 6 :: 6]
    job = job_of(QRELS, RUNS, metrics, **options)
    buckets, values = evaluated(QRELS, RUNS, job, count, seed=count)
    results, expected = merged(buckets, job), gradeval.evaluate(QRELS, RUNS, metrics, **options)
    specs = range(len(job.specs))
    for r in range(len(RUNS)):
        columns = [(queries.tolist(), of.T) for run, queries, of in values if run == r]
        found = {q.decode(): column for queries, of in columns for q, column in zip(queries, of, strict=True)}
        for m, spec in enumerate(job.specs):
            own = expected.per_query(r, m)
            assert found.keys() == own.keys()
            assert [q for q, value in own.items() if not same(found[q][m], value)] == [], str(spec)
        assert [results.undefined(r, m) for m in specs] == [expected.undefined(r, m) for m in specs]
    assert results.means == pytest.approx(expected.means, rel=1e-12, abs=1e-12, nan_ok=True)
    assert [run.queries for run in results.runs] == [run.queries for run in expected.runs]
    found_notices, expected_notices = told(results), told(expected)
    certain = [one for one in expected_notices if isinstance(one, str)]
    assert [one for one in found_notices if isinstance(one, str)] == certain
    assert [one for one in found_notices if one in expected_notices] == found_notices or count > 1


def test_the_order_of_rows_does_not_matter() -> None:
    """To the last bit of everything that is kept, also of the ranges over orders of ties."""
    job = job_of(QRELS, RUNS, every_metric()[::16], tie_range=True)

    def kept(seed: int) -> bytes:
        results = merged(evaluated(QRELS, RUNS, job, 2, seed)[0], job)
        numbers = [results.means, [*results.statistics.items()], *results.tie_ranges]
        return pickle.dumps((numbers, [one.to_dict() for one in results.notices]))

    assert kept(1) == kept(2)


def test_bounds() -> None:
    metrics = ["AP nDCG@3 P@3 muAP bpref"]
    job = job_of(QRELS, RUNS, metrics, bounds=True, top_grade=3)
    results = merged(evaluated(QRELS, RUNS, job, 4)[0], job)
    expected = gradeval.evaluate(QRELS, RUNS, metrics[0], bounds=True, top_grade=3)
    for r, m in np.ndindex(2, 5):
        assert results.bounds(r, m) == pytest.approx(expected.bounds(r, m), rel=1e-12, nan_ok=True)
    assert results.render("tsv") == expected.render("tsv")
    assert told(results) == told(expected)


def test_intervals_of_means_and_ranges_over_ties() -> None:
    metrics = "AP num_ret gm_map nDCG@3 P@3 muAP num_rel_ret"
    job = job_of(QRELS, RUNS, [metrics], tie_range=True)
    results = merged(evaluated(QRELS, RUNS, job, 4)[0], job)
    expected = gradeval.evaluate(QRELS, RUNS, metrics, tie_range=True)
    assert results.tie_ranges == pytest.approx(expected.tie_ranges, rel=1e-12, nan_ok=True)
    assert results.range("first", "AP") == pytest.approx(expected.range("first", "AP"), rel=1e-12)
    values = expected.values(0, "AP")
    error = values.std(ddof=1) / math.sqrt(len(values))
    assert results.standard_error(0, "AP") == pytest.approx(error, rel=1e-12)
    interval = stats.t.interval(0.9, len(values) - 1, values.mean(), error)
    assert results.interval(0, "AP", 90.0) == pytest.approx(interval, rel=1e-9)
    assert all(math.isnan(end) for m in ("num_ret", "gm_map") for end in results.interval(0, m))
    job = job_of(QRELS, RUNS, ["AP nDCG@3 RR ERR@2 num_q"], ties="expected")  # the mean over all orders of ties
    results = merged(evaluated(QRELS, RUNS, job, 4)[0], job)
    expected = gradeval.evaluate(QRELS, RUNS, "AP nDCG@3 RR ERR@2 num_q", ties="expected")
    assert results.means == pytest.approx(expected.means, rel=1e-12)
    for wrong in ("x", 0.0, 100.0):
        raises(OptionError, "confidence must be a percentage from", results.interval, 0, "AP", wrong)


NUMBERS = "mean baseline_mean difference sd low high p p_corrected effect_size".split()
OTHERS = "run baseline metric n won tied lost verdict method reason".split()


@pytest.mark.parametrize("options", [{"correction": "bonferroni", "confidence": 99.0}, {"all_pairs": True}])
def test_comparison(options: dict[str, Any]) -> None:
    runs = RUNS | {"third": {q: of for q, of in RUN.items() if q > "q2"}, "same": RUN}
    metrics = "AP nDCG@3 num_ret rankDCG"
    job = job_of(QRELS, runs, [metrics], queries="both")
    found = comparison(
        job, None, CompareOptions(**options), lambda job: merged(evaluated(QRELS, runs, job, 5)[0], job)
    )
    expected = gradeval.evaluate(QRELS, runs, metrics, queries="both").compare(**options)
    for one, other in zip(found.comparisons, expected.comparisons, strict=True):
        assert [getattr(one, name) for name in OTHERS] == [getattr(other, name) for name in OTHERS]
        own, theirs = ([getattr(of, name) for name in NUMBERS] for of in (one, other))
        assert own == pytest.approx(theirs, rel=1e-9, abs=1e-12, nan_ok=True)
    assert found.render("tsv") == expected.render("tsv")


def test_comparison_of_what_it_cannot() -> None:
    for options, message in (
        ({"test": "wilcoxon"}, "unknown option test: the options are baseline, all_pairs, correction"),
        (
            {"basline": 1},
            r"unknown option basline: did you mean baseline\? The options are baseline, all_pairs",
        ),
    ):
        raises(GradevalError, message, SparkResults.compare, None, **options)
    message = "the maxT correction requires the values of all queries"
    raises(GradevalError, message, SparkResults.compare, None, correction="maxt")
    weights = {"query_weights": {"q1": 1.0}}
    raises(GradevalError, "on Spark, means are not weighted by query_weights", Request.of, "AP", weights)
    job, alone = job_of(QRELS, RUNS, ["AP"]), job_of(QRELS, {"first": RUN}, ["AP"])
    for of, metrics, message in ((job, "nDCG@5", "nDCG@5 was not evaluated"), (alone, None, "there is 1 run")):
        raises(GradevalError, message, comparison, of, metrics, CompareOptions(), lambda job: merged([], job))


def one_bucket(judged: list[Any], retrieved: list[Any], **job: Any) -> Any:
    """What is kept of a bucket with these rows: (query, document, grade) and (run, query, document, score)."""
    made = job_of({"q": {"d": 1.0}}, {"a": {}, "b": {}}, ["AP"])._replace(**job)
    names = ("query", "document", "number")
    runs = [table([row for run, *row in retrieved if run == r], *names) for r in range(2)]
    return evaluate_bucket(table(judged, *names), runs, made)[0]


QREL = [("q", "d", 1.0), ("q", "e", 0.0)]


def test_bad_rows_are_named() -> None:
    rows = [(0, "q", "d", math.nan), (0, "q", "e", 1.0), (1, "q", "d", 2.0), (0, "q", None, 1.0)]
    bucket = one_bucket(QREL, rows)
    assert str(bucket.runs[0]).splitlines() == [
        "a: query 'q', document 'd': the score nan is not a finite number",
        "a: query 'q': the document id is missing",
    ]
    assert bucket.runs[1].counted == 1, "the other run is evaluated"
    twice = "duplicate document for its query"
    of_a = [(0, "q", "d", 2.0), (0, "q", "e", 2.0)]
    for rows, expected in (
        ([(0, "q", "d", None), of_a[1]], "'q', document 'd': the score is missing"),
        ([(0, "q", None, math.nan), of_a[1]], "'q': the document id is missing"),
        ([*of_a, of_a[0]], f"'q', document 'd': {twice}. {COLLAPSES}"),
        ([(0, "other", "d", 1.0)] * 2, f"'other', document 'd': {twice}. {COLLAPSES}"),
    ):
        assert str(one_bucket(QREL, rows).runs[0]).splitlines() == [f"a: query {expected}"]
    judged = [*QREL, ("q", "d", 2.0), ("q", "e", 0.0), ("q", "g", 1e200), ("r", "g", None)]
    assert str(one_bucket(judged, [])).splitlines() == ["qrels: query 'r', document 'g': the grade is missing"]
    assert str(one_bucket(judged[:-1], [])).splitlines() == [
        "qrels: query 'q', document 'd': it has two grades, 1 and 2",
        "qrels: query 'q', document 'g': the grade 1e+200 is out of range. Grades are 0 or between 1e-150 and "
        "1e150 in absolute value; rescale them",
    ]
    notices = one_bucket(judged[:1] * 3, []).notices
    assert [notice.count for notice in notices if notice.kind is NoticeKind.DUPLICATES] == [2]
    line = one_bucket([("\0" + "1 field\0x", None, None)], [], qrels="qrels.txt")
    assert str(line).splitlines() == ["qrels.txt: line 'x': 1 field"]
    [error] = str(one_bucket(QREL, [], version="0")).splitlines()
    assert error.endswith("the driver 0: install one version on both")


def test_assumed_grades_and_excluded_documents() -> None:
    query, of_run = next(iter(RUN.items()))
    excluded = {query: [*list(of_run)[:2], *list(QRELS[query])[:1]], "nowhere": ["x"]}
    options: dict[str, Any] = {"unjudged_grade": 2, "zero_grade": 1, "exclude": excluded}
    metrics = "AP nDCG@3 muAP ERR num_ret rankDCG"
    job = job_of(QRELS, RUNS, [metrics], **options)
    expected = gradeval.evaluate(QRELS, RUNS, metrics, **options)
    results = merged(evaluated(QRELS, RUNS, job, 4, seed=1)[0], job)
    assert results.means == pytest.approx(expected.means, rel=1e-12)
    kinds = (NoticeKind.EXCLUDED, NoticeKind.EXCLUDED_JUDGMENTS, NoticeKind.EXCLUDED_RELEVANT)
    found, other = ([(n.kind, n.count) for n in of.notices.only(*kinds)] for of in (results, expected))
    assert found == other != []


def test_the_best_passage_counts() -> None:
    passages = {q: {f"{d}#{n}": s - n for d, s in of.items() for n in range(3)} for q, of in RUN.items()}
    options = {"max_passage": "#", "duplicates": "best"}
    job = job_of(QRELS, {"first": passages}, ["AP", "num_ret"], **options)
    buckets, _ = evaluated(QRELS, {"first": passages}, job, 3, seed=1)
    results = merged(buckets, job)
    expected = gradeval.evaluate(QRELS, {"first": passages}, "AP num_ret", **options)
    assert results.means == pytest.approx(expected.means)
    assert results.means == pytest.approx(gradeval.evaluate(QRELS, RUN, "AP num_ret").means)
    notes = [[str(one) for one in of.notices if one.kind is NoticeKind.COLLAPSED] for of in (results, expected)]
    assert notes[0] == notes[1] != []
    twice = [(0, "q", "d", 2.0), (0, "q", "e", 3.0), (0, "q", "d", 4.0)]
    best = one_bucket(QREL, twice, options=Options(duplicates="best")).runs[0]
    assert best.values.total.tolist() == [[1.0]]


def test_many_errors_are_counted() -> None:
    rows = [(0, "q", f"d{n:03}", math.inf) for n in range(100)]
    parts = [one_bucket(QREL, of) for of in (rows[60:], rows[30:], rows)]  # the first come by their text
    job = job_of({"q": {"d": 1.0}}, {"a": {}, "b": {}}, ["AP"])
    failed = merged(parts, job).failed
    assert [one.path for one in failed] == ["a", "b"]
    lines = str(failed[0].error).split("\n")
    assert len(lines) == 21
    assert lines[0] == "a: query 'q', document 'd000': the score inf is not a finite number"
    assert lines[-1] == "a: 190 more errors"
    assert str(failed[1].error) == "b: no data: it has no rows"
    buckets, _ = evaluated(QRELS, {"a": {}, "b": {"zz": {"d": 1.0}}}, job_of(QRELS, RUNS, ["AP"]), 3)
    assert [str(run.error) for run in merged(buckets, job).failed] == [
        "a: no data: it has no rows",
        "b: it has no query in common with qrels. "
        "Check the query ids: 'zz' here, 'q0', 'q1', 'q10', … in qrels",
    ]


def test_a_summary_has_means_only() -> None:
    job = job_of(QRELS, RUNS, ["num_q", "AP", "gm_map"])
    results = merged(evaluated(QRELS, RUNS, job, 3)[0], job)
    for ask in (
        lambda: results.values("first", "AP"),
        lambda: results.per_query("first", "AP"),
        lambda: len(results.queries),
        lambda: results.queries[0],
        lambda: "q1" in results.queries,
        lambda: results.render("tsv", per_query=True),
        lambda: results.to_dict(per_query=True),
    ):
        raises(GradevalError, r"stay on the cluster: SparkResults\.per_query\(\) has them", ask)
    raises(GradevalError, r"SparkResults\.compare\(\) compares there", results.compare)
    assert results.sorted_by("AP").runs
    assert repr(results) == "SparkSummary(qrels='qrels', runs=2, metrics=3)"
    frame = results.to_polars()
    assert frame.columns == ["run", "metric", "value"]
    expected = gradeval.evaluate(QRELS, RUNS, ["num_q", "AP", "gm_map"])
    names = [(run, metric) for run in ("first", "second") for metric in ("num_q", "AP", "gm_map")]
    assert frame.select("run", "metric").rows() == names
    assert frame["value"].to_list() == pytest.approx(expected.means.ravel().tolist())


def test_what_only_all_buckets_know() -> None:
    """Unknown queries; and the grades of all, on which metrics depend, which may be too large for one."""
    job = job_of(QRELS, RUNS, ["AP"], query_ids=("q1", "nowhere"))
    raises(OptionError, "query 'nowhere' is not in qrels", merged, evaluated(QRELS, RUNS, job, 3)[0], job)
    graded = {f"q{n}": {"a": n + 1.0, "b": 0.0} for n in range(8)}
    runs = {"a": {query: {"b": 2.0, "a": 1.0} for query in graded}}
    job = job_of(graded, runs, ["ERR"])
    means = merged(evaluated(graded, runs, job, 4)[0], job).means
    assert means == pytest.approx(gradeval.evaluate(graded, runs, "ERR").means, rel=1e-12)
    short = {"a": {query: {"a": 1.0} for query in graded}}
    job = job_of(graded, short, ["P@5"])
    notices = merged(evaluated(graded, short, job, 4)[0], job).notices
    assert [(one.count, one.total) for one in notices if one.kind is NoticeKind.FEW_DOCUMENTS] == [(8, 8)]
    large = {q: dict.fromkeys(of, 2000.0) for q, of in QRELS.items()}
    job = job_of(large, RUNS, ["nDCG(gain=exp)"])
    failed = merged(evaluated(large, RUNS, job, 3)[0], job).failed
    error = error_of(gradeval.MetricError, gradeval.evaluate, large, RUN, "nDCG(gain=exp)")
    assert [str(one.error) for one in failed] == [error] * 2


def test_places_are_the_order_of_ties() -> None:
    """Also those of many digits; equal places are in the order of ids from the last to the first."""
    job: SparkJob = job_of({"q": {"d": 1.0}}, {"a": {}}, ["RR"], ties="input")
    qrels = table(QREL, "query", "document", "number")
    for places, value in (((1, 2), 1.0), ((2, 1), 0.5), ((2**60, 2**60 + 1), 1.0), ((2**60 + 1, 2**60), 0.5)):
        rows = [("q", "d", 1.0, places[0]), ("q", "e", 1.0, places[1])]
        equal = [(*row[:3], 5) for row in rows]
        for shuffled, expected in ((rows, value), (rows[::-1], value), (equal, 0.5), (equal[::-1], 0.5)):
            runs = table(shuffled, "query", "document", "number", "place")
            _, [(_, _, values)] = evaluate_bucket(qrels, [runs], job)
            assert values.tolist() == [[expected]]


numbers = st.floats(-1e6, 1e6) | st.just(math.nan)


@given(st.lists(numbers, max_size=30), st.lists(st.integers(0, 30), max_size=6))
def test_moments_of_parts_are_those_of_the_whole(values: list[float], cuts: list[int]) -> None:
    column = np.array([values, values[::-1]])
    parts = np.split(column, sorted(min(cut, len(values)) for cut in cuts), axis=1)
    whole, joined = Statistics.of(column), Statistics.joined([Statistics.of(part) for part in parts])
    assert joined.size.tolist() == whole.size.tolist()
    assert joined.total == pytest.approx(whole.total, rel=1e-12, abs=1e-6)
    assert joined.squares == pytest.approx(whole.squares, rel=1e-9, abs=1e-3)


def test_moments_empty_tables_and_how_many_buckets() -> None:
    """Each core has as many buckets, of a million rows at most; each has some rows."""
    bucket = one_bucket([], [(0, "q", "d", 1.0), (0, "r", "d", 1.0)])
    assert [run.counted for run in (*bucket.runs, *one_bucket([], []).runs)] == [0] * 4
    assert [notice.count for notice in bucket.runs[0].facts.notices if notice.kind is NoticeKind.UNJUDGED] == [
        2
    ]
    assert [run.values.total.tolist() for run in one_bucket(QREL, []).runs] == [[[0.0]], [[0.0]]]
    rows = (0, 4), (100_000, 256), (10**6, 2), (5 * 10**6, 2), (10**7, 256), (10**9, 64), (10**14, 64)
    assert [bucket_count(*case) for case in rows] == [1, 1, 2, 6, 152, 960, 100_000]
    moments = Statistics.of(np.array([[1.0, 2.0, math.nan, 6.0]]))
    assert (moments.size, moments.total, moments.squares) == ([3], [9], [14])
    assert (moments.mean, moments.sd) == ([3], [math.sqrt(7)])
    values = 1e9 + np.array([[0.0, 1.0, 2.0, 3.0]])  # where sums of squares would cancel
    parts = [Statistics.of(values[:, :1]), Statistics.of(values[:, 1:])]
    assert Statistics.joined(parts).squares == pytest.approx([5.0], rel=1e-9)
    nothing, single = Statistics.of(np.empty((2, 0))), Statistics.of(np.array([[1.0], [2.0]]))
    assert nothing.size.tolist() == [0, 0]
    assert np.isnan([nothing.mean, nothing.sd, single.sd]).all()
    assert Statistics.joined([nothing, single, nothing]).total.tolist() == [1, 2]


def test_the_note_of_another_tool() -> None:
    job = job_of(QRELS, RUNS, ["rbp.95"])
    kinds = [one for one in merged(evaluated(QRELS, RUNS, job, 3)[0], job).notices if "ranx" in str(one)]
    assert kinds == [one for one in gradeval.evaluate(QRELS, RUNS, "rbp.95").notices if "ranx" in str(one)]
    assert len(kinds) == 1


def test_ties_that_change_too_little() -> None:
    """The mean of all buckets decides: AP changes by .0004 in one query of two, and of eleven."""
    grades = {"a": 1.0, "b": 1.0}
    tied = {"a": 99.0, **{f"d{d}": 90.0 - d for d in range(48)}, "b": 43.0}
    for count, is_said in ((1, True), (10, False)):
        others = {f"q{n}": {"a": 1.0} for n in range(count)}
        qrels, runs = {"q": grades, **others}, {"r": {"q": tied, **{query: {"a": 2.0} for query in others}}}
        job = job_of(qrels, runs, ["AP"])
        results, expected = merged(evaluated(qrels, runs, job, 5)[0], job), gradeval.evaluate(qrels, runs, "AP")
        assert [one.kind for one in expected.notices if one.kind is NoticeKind.TIES] == [
            NoticeKind.TIES
        ] * is_said
        assert told(results) == told(expected)
