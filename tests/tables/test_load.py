"""What is given as qrels and runs: Python data, LETOR features, scores; and the options of reading."""

import math
from pathlib import Path

import numpy as np
import pytest
from helpers import each, error_of, raises

import gradeval
from gradeval.errors import InputError, OptionError
from gradeval.file_formats import QRELS_FORMATS, RUN_FORMATS
from gradeval.options import ROLES, Options, parse_features
from tables.opened import qrels_of, ranks_of


def test_frame_columns_of_several_names():
    """The more telling name is taken; two that mean the same are ambiguous."""
    pandas = pytest.importorskip("pandas")
    rows = [("x", "1", "a", 1.0), ("x", "2", "b", 0.0)]
    frame = pandas.DataFrame(rows, columns=["query", "query_id", "doc_id", "relevance"])
    assert qrels_of(frame) == {"1": {"a": 1.0}, "2": {"b": 0.0}}
    frame = pandas.DataFrame([("1", "a", 1.0, 2.0)], columns=["qid", "docno", "Rel", "rel"])
    raises(InputError, "the grade column may be 'Rel' or 'rel'", qrels_of, frame)
    assert qrels_of(frame, columns={"grade": "rel"}) == {"1": {"a": 2.0}}


NEEDED = "Give a path, a data frame, {query: {document: grade}} or (query, document, grade) rows"


@each(
    ("data", "what"),
    [
        (5, f"qrels: 5 are not qrels. {NEEDED}"),
        (None, f"qrels: None are not qrels. {NEEDED}"),
        ({"p": {"d": 1}, "q": 3}, "qrels: query 'q': 3 is not a dict {document: grade}"),
        (
            {"q": ["d"]},
            "qrels: query 'q': ['d'] is not a dict {document: grade}. "
            "Lists {query: [document, …]} are read from JSON files only",
        ),
        (
            [("q", "d", 1), ("q", "d")],
            "qrels:2: each row must be (query, document, number): ('q', 'd') has 2 items",
        ),
        ([("q", "d", "x")], "qrels:1: the grade 'x' is not a number"),
        ([("q", "d", 10**400)], "qrels:1: the grade is too large for a floating-point number"),
        ([("q\ud800", "d", 1)], r"qrels:1: the query id 'q\ud800' cannot be encoded (surrogates not allowed)"),
        ([("q", "d\0", 1)], r"qrels:1: the document id 'd\x00' contains a NUL byte"),
        ([("q", None, 1)], "qrels:1: the document id is missing"),
        ([(math.nan, "d", 1)], "qrels:1: the query id is missing"),
        ([("q", "d", -math.inf)], "qrels:1: the grade -inf is not a finite number"),
        ([("q", [1], 1)], "qrels:1: the document id cannot be [1]"),
        (
            {"p": {"d": 1}, "q": {"c": 1, "d": "x"}},
            "qrels:3: query 'q', document 'd': the grade 'x' is not a number",
        ),
        ({"p": {"d": 1}, 7: {None: 1}}, "qrels:2: query 7: the document id is missing"),
        (
            {"p": {}, "q": {"c": np.array([1.0, 2.0])}},
            "qrels:1: query 'q', document 'c': the grade array([1., 2.]) is not a number",
        ),
        ({"p": {"d": 1}, None: {"d": 1}}, "qrels:2: the query id is missing"),
    ],
)
def test_data_that_is_no_table(data, what):
    assert error_of(InputError, qrels_of, data) == what


@each(
    ("run", "what"),
    [
        (None, "runs: None is not a run. Give a path"),
        ([5], "run1: 5 is not a run. Give a path"),
        ({"x": 5}, "x: 5 is not a run. Give a path"),
        ({"x": {"q1": {"d": 1}}, "y": 5}, "y: 5 is not a run. Give a path"),
        ({"q1": {"d1": 1}, "q2": 5}, "run1: query 'q2': 5 is not a dict {document: score}"),
        ({"q1": ["d"]}, "q1:1: each row must be (query, document, number): 'd' is a string; files are given by "
         "their paths, and lists {query: [document, …]} in JSON files"),
        ("", "'': no such file. Check the path"),
    ],
)  # fmt: skip
def test_what_is_no_run(run, what):
    assert error_of(InputError, gradeval.evaluate, {"q1": {"d1": 1}}, run).startswith(what)


def test_empty_data():
    for data in ({}, [], {"q": {}}):
        raises(InputError, r"^qrels: no judgments given$", qrels_of, data)
        assert ranks_of(data) == [("run1", {})]


# Options


@each(
    ("options", "what"),
    [
        ({"depht": 3}, "unknown option depht: did you mean depth? The options are rel, depth, "),
        ({"depth": 0}, "depth must be an integer from 1 to 1000000000, not 0"),
        ({"depth": 2.0}, "depth must be an integer from 1 to 1000000000, not 2.0"),
        ({"jobs": -1}, "jobs must be an integer from 0 to 1000, not -1"),
        ({"rel": math.nan}, "rel must be a finite number, not nan"),
        ({"rel": "2"}, "rel must be a finite number, not '2'"),
        ({"ties": "random"}, "ties must be trec or input or best or worst or expected, not 'random'"),
        (
            {"columns": "query=a, foo"},
            f"columns must be some of {', '.join(f'{role}=NAME' for role in ROLES)}, each once, "
            "not 'query=a, foo'",
        ),
        ({"qrels_format": "xml"}, f"qrels_format must be {' or '.join(QRELS_FORMATS)}, not 'xml'"),
        ({"run_format": "xml"}, f"run_format must be {' or '.join(RUN_FORMATS)}, not 'xml'"),
    ],
)
def test_wrong_options(options, what):
    assert error_of(OptionError, Options, **options).startswith(what)


def test_options():
    assert Options() == Options()
    options = Options(query_ids=[1, "b"], features=["1", 7, "3-4"], rel=2, depth=None, jobs=4)
    assert options == Options(query_ids=("1", "b"), features=(1, 7, 3, 4), rel=2, jobs=4)
    assert Options(query_ids="1,b  c,").query_ids == ("1", "b", "c")
    assert Options(query_ids=["1,b"]).query_ids == ("1,b",)  # an id with a comma
    for none in ("", " ,", [], ()):
        raises(OptionError, "no query ids given", Options, query_ids=none)
    assert Options(features="2,1").features == (2, 1)
    assert Options(features=5).features == (5,)
    told = options.to_dict()
    assert "jobs" not in told
    assert told["features"] == (1, 7, 3, 4)
    assert told["ties"] is None


@each(
    ("texts", "features"),
    [([], ()), (["1,5,9-12"], (1, 5, 9, 10, 11, 12)), ([" 3 , 1", "2-2", "1-4"], (3, 1, 2, 4)),
     (["0", 9999999], (0, 9999999))],
)  # fmt: skip
def test_features(texts, features):
    assert parse_features(texts) == features
    for text in ("", "1,", "-1", "1-", "1-2-3", "a", "1.5", "+1", "1 2", "٣", "3-1", "10000000", "1" * 30):
        with pytest.raises(
            OptionError, match=r"features must be numbers and ranges|must increase, up to 9999999"
        ):
            parse_features([text])


def test_so_many_features_no_file_has():
    assert len(parse_features(["1-100000", "1-100000"])) == 100_000
    for text in ("1-9999999", "0-100000", "1-60000,100000-160000"):
        raises(OptionError, "more than 100,000 features given: choose those", parse_features, [text])


@each("given", ["file", "dict", "table"])
def test_a_run_that_is_emptied_is_not_called_empty(given: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("1 Q0 1 1 2 t\n")
    run = {"file": path, "dict": {"1": {"1": 2.0}}, "table": gradeval.read_run(path)}[given]
    error = error_of(InputError, gradeval.evaluate, {"1": {"a": 1}}, run, "AP", ignore_identical_ids=True)
    assert "no document is left: the id of each is that of its query" in error
