"""Shapes that people have: records, columns, rankings in order, sets of relevant documents."""

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from helpers import raises

import gradeval

QRELS = {"q1": {"a": 1, "b": 0, "c": 1}, "q2": {"a": 1}}
RUN = {"q1": {"b": 3.0, "a": 2.0, "d": 1.0}, "q2": {"a": 1.0}}
METRICS = "AP nDCG@2 RR num_ret"


def records(nested: dict[str, dict[str, float]], number: str) -> list[dict[str, Any]]:
    return [
        {"query_id": query, "doc_id": document, number: value, "more": "x"}
        for query, documents in nested.items()
        for document, value in documents.items()
    ]


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def rankings() -> dict[str, list[str]]:
    return {query: sorted(scores, key=lambda document: -scores[document]) for query, scores in RUN.items()}


def test_all_shapes_are_read_alike() -> None:
    expected = gradeval.evaluate(QRELS, {"r": RUN}, METRICS).means
    judged: list[Any] = [records(QRELS, "relevance"), columns(records(QRELS, "label"))]
    for qrels in judged:
        np.testing.assert_array_equal(gradeval.evaluate(qrels, RUN, METRICS).means, expected)
    runs: list[Any] = [records(RUN, "score"), columns(records(RUN, "score")), rankings()]
    runs += [{query: np.array(ids, kind) for query, ids in rankings().items()} for kind in (str, bytes, object)]
    runs.append([{**row, "more": {"x": [1]}, "embedding": [0.5]} for row in runs[0]])
    runs.append({query: [*scores.items()] for query, scores in RUN.items()})
    runs.append({name: np.array(column) for name, column in runs[1].items() if name != "more"})
    for run in runs:
        for given in (run, {"r": run}, [run]):
            results = gradeval.evaluate(QRELS, given, METRICS)
            np.testing.assert_array_equal(results.means, expected)
    relevant = {query: {d for d, grade in own.items() if grade} for query, own in QRELS.items()}
    only = {query: dict.fromkeys(own, 1) for query, own in relevant.items()}
    by_sets = gradeval.evaluate(relevant, RUN, METRICS)
    np.testing.assert_array_equal(by_sets.means, gradeval.evaluate(only, RUN, METRICS).means)
    several = gradeval.evaluate(QRELS, {"x": rankings(), "y": records(RUN, "score")}, METRICS)
    assert [run.name for run in several.runs] == ["x", "y"]
    by_rank = [
        {"query": q, "document": d, "rank": n} for q, own in rankings().items() for n, d in enumerate(own, 1)
    ]
    np.testing.assert_array_equal(gradeval.evaluate(QRELS, by_rank, METRICS).means, expected)


def test_a_column_run_names_the_runs() -> None:
    first = [{"run": "x", **row} for row in records(RUN, "score")]
    rows = [*first, *({**row, "run": "y"} for row in first[::2])]
    fields = namedtuple("fields", rows[0])  # type: ignore[misc]
    several: list[Any] = [rows, columns(rows), [fields(**row) for row in rows]]
    expected = gradeval.evaluate(QRELS, {"x": RUN, "y": {"q1": {"b": 3.0, "d": 1.0}}}, METRICS)
    second = "the column run names a second run .'y'., after 'x'. Give evaluate"
    for runs in several:
        results = gradeval.evaluate(QRELS, runs, METRICS)
        assert [run.name for run in results.runs] == ["x", "y"]
        np.testing.assert_array_equal(results.means, expected.means)
        raises(gradeval.InputError, f"run:5: {second}", gradeval.read_run, runs)
        raises(gradeval.InputError, f"z:5: {second}", gradeval.evaluate, QRELS, {"z": runs}, "AP")
    for runs in (first, columns(first)):
        [run] = gradeval.evaluate(QRELS, runs, "AP").runs
        assert run.name == "x"
    rows[2]["run"] = None
    raises(gradeval.InputError, "runs:3: the run .column run. is missing", gradeval.evaluate, QRELS, rows, "AP")


def test_series_are_read_as_what_they_stand_for() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = gradeval.evaluate(QRELS, {"r": RUN}, METRICS).means

    def shapes_of(rows: list[dict[str, Any]], number: str) -> list[Any]:
        frame = pandas.DataFrame(rows)
        by_both = frame.set_index(["query_id", "doc_id"])[number]
        shapes: list[Any] = [dict(frame), frame.to_dict("series"), polars.DataFrame(rows).to_dict()]
        shapes += [{**columns(rows), number: frame[number]}, by_both, by_both.to_dict()]
        own = frame.set_index("doc_id").groupby("query_id")[number]
        return [*shapes, dict([*own])]

    for qrels in shapes_of(records(QRELS, "grade"), "grade"):
        np.testing.assert_array_equal(gradeval.evaluate(qrels, RUN, METRICS).means, expected)
    in_order = pandas.DataFrame([(q, d) for q, ids in rankings().items() for d in ids], columns=["q", "d"])
    runs = shapes_of(records(RUN, "score"), "score")
    runs += [in_order.groupby("q")["d"].apply(list), dict([*in_order.groupby("q")["d"]])]
    runs.append({query: polars.Series(ids) for query, ids in rankings().items()})
    for run in runs:
        for given in (run, {"r": run}, [run]):
            np.testing.assert_array_equal(gradeval.evaluate(QRELS, given, METRICS).means, expected)


def test_iterators_are_read_as_lists() -> None:
    expected = gradeval.evaluate(QRELS, {"r": RUN}, METRICS).means
    results = gradeval.evaluate(iter(records(QRELS, "grade")), iter(records(RUN, "score")), METRICS)
    np.testing.assert_array_equal(results.means, expected)
    named = gradeval.evaluate(QRELS, {"r": iter(records(RUN, "score"))}, METRICS)
    np.testing.assert_array_equal(named.means, expected)
    judged, run = ({f"q{n}": {"a": n % 2, "b": 1} for n in range(count)} for count in (6, 8))
    rows = records({query: {"a": 1.0} for query in run}, "score")
    twice = gradeval.estimate(judged, {"r": iter(rows)}, "AP", model_qrels=run)
    [found] = twice.estimates
    assert (found.judged, found.others) == (6, 2)


def test_what_is_wrong_with_series_and_columns() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(records(RUN, "score"))
    integers = {1: pandas.Series([20, 10])}
    unequal = {"query_id": ["q1"], "doc_id": ["a", "b"], "score": [1.0, 2.0]}
    cases: list[tuple[Any, str]] = [
        (frame.to_dict(), "these are columns by index.* df.to_dict.orient='list'"),
        (frame["score"], "a Series of numbers or ids has no queries. Give the data frame"),
        (integers, "query 1: integers by integers may be documents or scores. Give .to_list"),
        (pandas.DataFrame(), "the table is empty: it has no columns$"),
        (unequal, "the columns are not of one length: {'query_id': 1, 'doc_id': 2, 'score': 2}"),
        ({1: [20, None]}, "query 1, document None: the document id is missing"),
        ({1: [20, 20, 10]}, "query 1 has document 20 twice"),
        ({1: [(20, 2.0), (20, 1.0)]}, "query 1 has document 20 twice"),
        ({"root": {"children": [{"id": "a", "relevance": 1}]}}, "this is a response of Vespa, which"),
    ]
    for data, message in cases:
        raises(gradeval.InputError, f"^(runs|run1)(:2)?: {message}", gradeval.evaluate, QRELS, data, "AP")
        raises(gradeval.InputError, message, gradeval.evaluate, QRELS, [data], "AP")
        with pytest.raises(gradeval.InputError) as caught:
            gradeval.evaluate(QRELS, data, "AP")
        assert "each row" not in str(caught.value)


def test_what_is_wrong_with_them() -> None:
    broken = records(RUN, "score")
    del broken[1]["doc_id"]
    raises(gradeval.InputError, ":2: the record has no 'doc_id'", gradeval.evaluate, QRELS, broken, "AP")
    raises(gradeval.InputError, "no query column", gradeval.evaluate, QRELS, [{"a": 1, "b": 2}], "AP")
    results = gradeval.evaluate(QRELS, RUN, "AP")
    not_one = "each row must be .*: .* is not one; files are given by their paths, and rankings"
    cases: list[tuple[Any, str]] = [
        ({"a", "b"}, "runs: {.*} is a set, which has no order. Give runs as a list"),
        ([{"a"}, {"b"}], "run1: {'a'} is a set without a query. Give {query: .document"),
        ([1.0, 2.0], "run1: 1.0 is not a run"),
        (np.array([1.0, 2.0]), "run1: .*1.0.* is not a run"),
        ([("q1", "a", 1.0), {"q1", "b", "c"}], f"run1:2: {not_one}"),
        ([("q1", "a", 1.0), {"q": 1, "d": 2, "s": 3}], f"run1:2: {not_one}"),
        ({"x": {"q1": {"a"}}}, "x: query 'q1': {'a'} is not a dict"),
        ([{"q1": {"a"}}], "run1: query 'q1': {'a'} is not a dict"),
    ]
    for data, message in cases:
        raises(gradeval.InputError, message, gradeval.evaluate, QRELS, data, "AP")
    for data, message in (
        ({"a"}, "qrels: {'a'} is a set without a query"),
        ([{"a"}], f"qrels:1: {not_one}"),
        (np.array([1, 2]), f"qrels:1: {not_one}"),
        (results, "qrels: results have no documents. Give the qrels that they were made from"),
    ):
        raises(gradeval.InputError, message, gradeval.read_qrels, data)
    raises(gradeval.InputError, "qrels: results have no documents", gradeval.Evaluator, results)
    raises(gradeval.InputError, "run: results have no documents", gradeval.read_run, results)
    for unscored in ({"a", "b"}, np.array([1.0, 2.0])):
        raises(
            gradeval.InputError,
            "query 'q1': .* is not a dict",
            gradeval.evaluate,
            QRELS,
            {"q1": unscored},
            "AP",
        )
    pairs = {"q1": [("a", 1.0), ("a", 2.0)]}
    raises(gradeval.InputError, "query 'q1' has document 'a' twice", gradeval.evaluate, QRELS, pairs, "AP")
    twice = {"q1": ["a", "b", "a"]}
    with pytest.raises(gradeval.InputError, match="document 'a' twice"):
        gradeval.evaluate(QRELS, twice, "AP")
    one_set: Any = {"q1": {"a"}, "q2": {"a": 1}}
    raises(
        gradeval.InputError, "of a run may have lists .*; all of qrels sets", gradeval.evaluate, one_set, RUN
    )


def test_groups_in_a_series() -> None:
    pandas = pytest.importorskip("pandas")
    results = gradeval.evaluate(QRELS, {"x": RUN, "y": rankings()}, "AP")
    groups = {"q1": "head", "q2": "tail"}
    by_dict = results.compare(by=groups).sections
    of_series = results.compare(by=pandas.Series(groups)).sections
    assert [part.group for part in of_series] == [None, "head", "tail"]
    assert [part.comparisons[0].n for part in of_series] == [part.comparisons[0].n for part in by_dict]
    some = results.compare(by=pandas.Series({"q1": "head", "q2": None})).sections
    assert [part.group for part in some] == [None, "head"]
    systems = gradeval.compare(
        QRELS, {"a": RUN, "b": RUN, "c": RUN}, "AP", replicates=pandas.Series({"a": "s", "b": "s"})
    )
    assert systems.values.runs == ("s", "c")


def test_errors_of_arrays_are_one_line() -> None:
    nan = np.full((2, 3), np.nan)
    grade = np.ones((2, 3))
    mask = grade > 0
    cases: list[tuple[dict[str, Any], str]] = [
        ({"grade": grade, "score": nan}, "score:1: .*first of 6 errors. Where this .* mask=np.isfinite.score"),
        (
            {"grade": nan, "score": grade, "mask": mask},
            "grade:1: .*first of 6 errors.*mask=mask & np.isfinite.gra",
        ),
        ({"grade": grade[0], "score": nan[0]}, r"score:1: .*3 errors. Leave these .* grade\[np.isfinite.score"),
        (
            {"grade": [1, 1e200, 1e200], "score": [1, 2, 3]},
            "grade:2: the grade 1e.200 is out of .*, the first of 2",
        ),
    ]
    for arrays, message in cases:
        raises(gradeval.InputError, message, gradeval.score_arrays, "AP", **arrays)
    evaluator = gradeval.Evaluator({"1": {"2": 1}}, "AP")
    arrays = {"query": ["1"], "document": [[2, 3, 4]], "score": [[np.nan, np.nan, 1]]}
    raises(
        gradeval.InputError,
        "score:1: .*2 errors. Where there is no document",
        evaluator.evaluate_arrays,
        **arrays,
    )
    arrays = {"query": ["1"], "document": [[2, 2, 3, 3]], "score": [[4, 3, 2, 1]]}
    raises(
        gradeval.InputError,
        "arrays:1: dupl.* '2'.*, the first of 2 errors",
        evaluator.evaluate_arrays,
        **arrays,
    )
