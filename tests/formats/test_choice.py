"""Which columns are read: the same choice in every format, and what is said of it."""

import csv
import itertools
import json
import re
from collections import namedtuple

import numpy as np
import pytest
from helpers import each, each_row, error_of, some

from gradeval import GradevalError, InputError, OptionError, evaluate, read_qrels

JUDGED = {"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 0}}
RANKED = {"1": {"b": 3, "a": 2, "x": 1}, "2": {"a": 1}}
FORMS = ("csv", "jsonl", "lists", "parquet", "pandas", "polars", "records", "named tuples")


@pytest.fixture
def written(tmp_path):
    """Writes rows in one of the forms, of which each begins with the query, and gives the path or the frame."""

    def write(form, names, rows):
        path = tmp_path / f"data.{form}"
        objects = [dict(zip(names.split(), row, strict=True)) for row in rows]
        if form == "csv":
            with path.open("w", newline="") as file:
                csv.writer(file).writerows([names.split(), *rows])
        elif form == "jsonl":
            path.write_text("".join(json.dumps(members) + "\n" for members in objects))
        elif form == "lists":
            lists = {}
            for place, members in enumerate(objects):  # in which the order of members differs
                query, *others = members.items()
                lists.setdefault(query[1], []).append(dict(others[:: 1 - place % 2 * 2]))
            path.write_text(json.dumps(lists))
        elif form == "records":
            return np.array(rows, [(name, object) for name in names.split()])
        elif form == "named tuples":
            return [*itertools.starmap(namedtuple("Row", names), rows)]
        else:
            library = pytest.importorskip("polars" if form == "polars" else "pandas")
            frame = library.DataFrame(objects)
            if form != "parquet":
                return frame
            pytest.importorskip("pyarrow")
            frame.to_parquet(path)
        return path

    return write


def said(qrels, run, metric="RR", **columns):
    """The values by query and the kinds of notices, or the error without its path."""
    try:
        results = evaluate(qrels, run, metric, columns=columns)
    except (InputError, OptionError) as error:
        text = str(error) if isinstance(error, OptionError) else error.what + f". {error.hint}"
        return re.sub(r"columns=\{'(\w+)': '?(\w+)'?\}", r"--columns \1=\2", text)
    kinds = {notice.kind.value for notice in results.notices} & {"ranks", "by_rank", "no_subtopics"}
    return results.runs[0].values[0].tolist(), kinds


TWO_SCORES = [("1", "a", 1, 10, 1), ("1", "b", 2, 5, 2), ("2", "b", 3, 1, 2), ("2", "a", 1, 1, 1)]
CHOOSE = "the {} column may be '{}' or '{}'. Choose with --columns {}=NAME"
LOWEST = "the column '{0}' is a {1}, of which the lowest comes first. --columns {1}={0} reads score = -{1}"
NO_SCORE = (
    "no score column (score, scores, sim, similarity, prediction, rank, position); the columns are {0}. "
    "Name it with --columns score={1}, or, where the lowest comes first, with --columns distance={1} or "
    "--columns rank={1}; where the "
)
IN_ORDER = "rows are in order, write a column rank: 1, 2, 3, … for each query"
IN_ORDER_IN_LISTS = 'documents are in order, list their ids alone: ["DOCUMENT1", "DOCUMENT2"]'
# the names of the columns, what the user calls them, and what is said of TWO_SCORES
RUNS = [
    ("qid docno score prediction tag", {}, CHOOSE.format("score", "score", "prediction", "score")),
    ("qid docno score prediction tag", {"score": "score"}, ([0.5, 0.5], set())),
    ("qid docno score prediction tag", {"score": "prediction"}, ([1.0, 0.5], set())),
    ("qid docno score other tag", {}, ([0.5, 0.5], set())),
    ("qid docno score rank tag", {}, ([0.5, 0.5], set())),
    ("qid docno other rank tag", {}, ([0.5, 0.5], {"by_rank"})),
    ("qid docno other tag Position", {}, ([1.0, 1.0], {"by_rank"})),
    ("qid docno other tag Position", {"rank": "other"}, ([1.0, 1.0], set())),
    ("qid docno score tag rank", {}, ([0.5, 0.5], {"ranks"})),
    ("qid docno score tag position", {}, ([0.5, 0.5], {"ranks"})),
    ("qid docno score rank position", {}, ([0.5, 0.5], set())),  # the column rank is meant
    ("qid docno score tag position", {"rank": "position"}, ([1.0, 1.0], set())),
    ("qid docno other tag rank", {"distance": "other"}, ([1.0, 1.0], set())),
    ("qid docno tag other Distance", {"distance": "Distance"}, ([1.0, 1.0], set())),
    ("qid docno other tag distance", {}, LOWEST.format("distance", "distance")),
    ("qid docno other tag distance", {"score": "distance"}, LOWEST.format("distance", "distance")),
    ("qid docno L2_Distance tag other", {}, LOWEST.format("L2_Distance", "distance")),
    ("qid docno score tag l2_distance", {}, ([0.5, 0.5], set())),
    ("qid docno score tag Rank", {"score": "Rank"}, LOWEST.format("Rank", "rank")),
    ("qid docno score tag position", {"score": "position"}, LOWEST.format("position", "rank")),
    ("qid docno other some tag", {"score": "some"}, ([1.0, 0.5], set())),
]


@each("form", FORMS)
def test_scores(form, written):
    """Of frames, whose columns are chosen as those of csv, some cases in the quick profile."""
    cases = RUNS if form in ("csv", "lists") else some(RUNS, 3)
    for names, columns, expected in cases:
        assert said(JUDGED, written(form, names, TWO_SCORES), **columns) == expected, names


@each("form", FORMS)
def test_no_score(form, written):
    run = written(form, "qid docno title", [("1", "a", "x")])
    names = "'docno', 'title'" if form == "lists" else "'qid', 'docno', 'title'"
    in_order = IN_ORDER_IN_LISTS if form == "lists" else IN_ORDER
    assert said(JUDGED, run) == NO_SCORE.format(names, "title") + in_order
    names = names.replace("'qid', ", "") if form == "lists" else names
    assert said(JUDGED, run, score="x") == f"no column named 'x'; the columns are {names}. "


@each("form", FORMS)
def test_ids_alone(form, written):
    in_order = IN_ORDER_IN_LISTS if form == "lists" else IN_ORDER
    run = written(form, "qid docno", [("1", "a")])
    assert said(JUDGED, run) == f"no scores or ranks beside the ids. Where the {in_order}"


GRADES = [("1", "a", 0, 3, "s"), ("1", "b", 2, 0, "s"), ("2", "a", 1, 1, "s")]
QRELS = [
    ("qid docno relevance rating tag", {}, CHOOSE.format("grade", "relevance", "rating", "grade")),
    ("qid docno relevance rating tag", {"grade": "relevance"}, ([1.0, 1.0], set())),
    ("qid docno relevance rating tag", {"grade": "rating"}, ([0.5, 1.0], set())),
    ("qid doc_id label item_id tag", {}, CHOOSE.format("document", "doc_id", "item_id", "document")),
    ("qid docno label doc_id tag", {}, ([1.0, 1.0], set())),  # the earlier group is meant
    ("qid docno label doc_id tag", {"document": "docno"}, ([1.0, 1.0], set())),
    ("qid docno label id tag", {}, ([1.0, 1.0], set())),
]


@each("form", FORMS)
@each(("names", "columns", "expected"), QRELS)
def test_grades_and_documents(form, names, columns, expected, written):
    assert said(written(form, names, GRADES), RANKED, **columns) == expected


@each("form", FORMS)
@each(("name", "columns"), [("subtopic", {}), ("facet", {"subtopic": "facet"})])
def test_subtopics(form, name, columns, written):
    rows = [("1", "b", 1, "s1"), ("1", "a", 1, "s1"), ("1", "x", 1, "s2"), ("2", "a", 1, "s1")]
    qrels = written(form, f"qid docno rel {name}", rows)
    assert said(qrels, RANKED, "StRecall@2", **columns) == ([0.5, 1.0], set())
    other = written(form, "qid docno rel facet", rows)
    assert said(other, RANKED, "StRecall@2") == ([1.0, 1.0], {"no_subtopics"})


@each("form", (*FORMS[:4], "lists"))
def test_runs_of_several_names(form, written):
    run = written(form, "qid docno score run", [("1", "a", 1, "x"), ("1", "b", 2, "y")])
    what = "the column run names a second run ('y'), after 'x'. Split it into a file for each run"
    assert said(JUDGED, run) == what
    run = written(form, "qid docno score run", [("1", "a", 5, "x"), ("1", "b", 7, "x")])
    assert said(JUDGED, run) == ([0.5, 0.0], set())


@each("form", FORMS)
@each_row(
    (("1", "2", "3"), {"ranks"}),
    (("1", "2", "two"), {"ranks"}),  # of the other rows
    ((None, 2, 3), {"ranks"}),
    (([1], [2], [3]), set()),  # of no type that a number has
)
def test_ranks_that_are_no_numbers(ranks, kinds, form, written):
    """They decide nothing, so they are no errors."""
    rows = [("1", name, score, rank) for name, score, rank in zip("bxa", (5, 7, 9), ranks, strict=True)]
    assert said({"1": {"b": 1}}, written(form, "qid docno score rank", rows)) == ([1 / 3], kinds)


def test_records_without_known_names():
    """They are read by position, which decides nothing where there are more fields."""
    triples = [("1", "b", 9.0), ("1", "a", 8.0)]
    assert said(JUDGED, np.array(triples, "U1,U1,f8")) == said(JUDGED, triples) == ([0.5, 0.0], set())
    longer = "has 4 items; give longer rows as a data frame, by column name"
    for rows in (np.array([("1", "b", 1, 9.0)], "U1,U1,i8,f8"), [("1", "b", 1, 9.0)]):
        assert longer in said(JUDGED, rows)
    rows = np.array([("1", "s", "a", 1), ("1", "t", "x", 1)], "U1,U1,U1,i8")
    assert said(rows, RANKED, "StRecall@2") == ([0.5], set())
    assert said(JUDGED, {"r": [{"query_id": "1", "doc_id": "b", "score": 9.0}]}) == ([0.0, 0.0], set())


def lists(tmp_path, content):
    path = tmp_path / "lists"
    path.write_text(json.dumps(content))
    return path


@each_row(
    ({"1": [{"doc_id": "a", "score": 1}, {"doc_id": "b"}, 7]}, [
        "$['1'][1]: the object has no 'score'", "$['1'][2]: 7 is not a JSON object"]),
    ({"1": ["a"], "2": [{"doc_id": "a", "score": "x"}, "b", {"doc_id": None, "score": 1}]}, [
        "$['2'][0]: the score 'x' is not a number", "$['2'][1]: 'b' is not a JSON object",
        "$['2'][2]: the document id is missing"]),
    ({"1": [{}]}, ["$['1'][0]: the object has no 'id'"]),
    ({"1": 5}, ["$['1']: 5 is not a list of documents"]),
    ({"1": []}, ["no data: there are no documents"]),
    (5, ["5 is not an object or a list"]),
)  # fmt: skip
def test_errors_of_lists(content, errors, tmp_path):
    path = lists(tmp_path, content)
    found = error_of(GradevalError, evaluate, JUDGED, path, "RR", run_format="lists")
    assert found.splitlines() == [f"{path}: {error}" for error in errors]


def test_ids_of_queries_of_search_engines(tmp_path):
    """One member of all requests: id, or else query, or the one that the user names."""
    ratings = [{"_id": "a", "rating": 1}, {"_id": "b", "rating": 0}]
    requests = [{"query": "x", "id": "1", "qid": "2", "ratings": ratings}]
    for columns, expected in (({}, ["1"]), ({"query": "query"}, ["x"]), ({"query": "qid"}, ["2"])):
        for content in (requests, {"requests": requests}):
            assert read_qrels(lists(tmp_path, content), columns=columns).qrels.queries.tolist() == [
                query.encode() for query in expected
            ]
    path = lists(tmp_path, [*requests, {"query": "y", "ratings": ratings}])
    what = (
        "$[1]: {'query': 'y', 'ratings': [{'_id': 'a', 'rating': 1}, {'_id'… has no id or query, or no ratings"
    )
    assert error_of(InputError, read_qrels, path) == f"{path}: {what}"
