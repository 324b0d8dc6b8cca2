"""What is given as qrels and runs: data, LETOR features, scores; the options of reading; order of ties."""

import math
from pathlib import Path

import pytest
from helpers import each, each_row, error_of, raises

import gradeval
from gradeval import evaluate
from gradeval.errors import GradevalError, InputError, OptionError
from gradeval.file_formats import QRELS_FORMATS, RUN_FORMATS
from gradeval.notices import NoticeKind
from gradeval.options import Options, parse_features
from gradeval.tables.load import open_qrels, open_runs
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


ROW = "each row must be (query, document, number)"
LISTS = "All queries of a run may have lists of documents, the best first; all of qrels sets"
NEEDED = "Give a path, a data frame, {query: {document: grade}} or (query, document, grade) rows"


@each_row(
    (5, f"qrels: 5 are not qrels. {NEEDED}"),
    (None, f"qrels: None are not qrels. {NEEDED}"),
    ({"p": {"d": 1}, "q": 3}, "qrels: query 'q': 3 is not a dict {document: grade}"),
    ({"q": ["d"]}, f"qrels: query 'q': ['d'] is not a dict {{document: grade}}. {LISTS}"),
    ([("q", "d", 1), ("q", "d")], f"qrels:2: {ROW}: ('q', 'd') has 2 items"),
    ([("q", "d", "x")], "qrels:1: the grade 'x' is not a number"),
    ([("q", "d", 10**400)], "qrels:1: the grade is too large for a floating-point number"),
    ([("q\ud800", "d", 1)], r"qrels:1: the query id 'q\ud800' cannot be encoded (surrogates not allowed)"),
    ([("q", "d\0", 1)], r"qrels:1: the document id 'd\x00' contains a NUL byte"),
    ([("q", None, 1)], "qrels:1: the document id is missing"),
    ([(math.nan, "d", 1)], "qrels:1: the query id is missing"),
    ([("q", "d", -math.inf)], "qrels:1: the grade -inf is not a finite number"),
    ([("q", [1], 1)], "qrels:1: the document id cannot be [1]"),
    ({"p": {"d": 1}, "q": {"d": "x"}}, "qrels:2: query 'q', document 'd': the grade 'x' is not a number"),
    ({"p": {"d": 1}, 7: {None: 1}}, "qrels:2: query 7, document None: the document id is missing"),
    ({"p": {"d": 1}, None: {"d": 1}}, "qrels:2: the query id is missing"),
)
def test_data_that_is_no_table(data, what):
    assert error_of(InputError, qrels_of, data) == what


@each_row(
    (None, "runs: None is not a run. Give a path"),
    ([5], "run1: 5 is not a run. Give a path"),
    ({"x": 5}, "x: 5 is not a run. Give a path"),
    ({"x": {"q1": {"d": 1}}, "y": 5}, "y: 5 is not a run. Give a path"),
    ({"q1": {"d1": 1}, "q2": 5}, "run1: query 'q2': 5 is not a dict {document: score}"),
    ({"q1": ["d", None]}, "run1:2: query 'q1', document None: the document id is missing"),
    ({"q1": ["d", 0.5]}, f"q1:1: {ROW}: 'd' is a string; files are given by their paths, and rankings as"),
    ("", "'': no such file. Check the path"),
)  # fmt: skip
def test_what_is_no_run(run, what):
    assert error_of(InputError, gradeval.evaluate, {"q1": {"d1": 1}}, run).startswith(what)


def test_empty_data():
    for data in ({}, [], {"q": {}}):
        raises(InputError, r"^qrels: no judgments given$", qrels_of, data)
        assert ranks_of(data) == [("run1", {})]


@each_row(
    ({"depht": 3}, "unknown option depht: did you mean depth? The options are rel, depth, "),
    ({"depth": 0}, "depth must be an integer from 1 to 1000000000, not 0"),
    ({"depth": 2.0}, "depth must be an integer from 1 to 1000000000, not 2.0"),
    ({"jobs": -1}, "jobs must be an integer from 0 to 1000, not -1"),
    ({"rel": math.nan}, "rel must be a finite number, not nan"),
    ({"rel": "2"}, "rel must be a finite number, not '2'"),
    *(
        ({"rel": -0.5, "zero_grade": zero}, "rel must be at least 0, not -0.5: grades below")
        for zero in (0, -1)
    ),
    ({"ties": "random"}, "ties must be trec or input or best or worst or expected, not 'random'"),
    ({"columns": "query=a, foo"}, "columns must be some of query=NAME, document=NAME, grade=NAME, "),
    ({"qrels_format": "xml"}, f"qrels_format must be {' or '.join(QRELS_FORMATS)}, not 'xml'"),
    ({"run_format": "xml"}, f"run_format must be {' or '.join(RUN_FORMATS)}, not 'xml'"),
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
        what = "features must be numbers and ranges|must increase, up to 9999999"
        raises(OptionError, what, parse_features, [text])
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


LETOR = b"2 qid:1 1:0.5 3:7 # a\n0 qid:1 1:0.25 2:1 3:7 # b\n1 qid:2 1:1\n"


@pytest.fixture
def letor(tmp_path):
    path = tmp_path / "data.letor"
    path.write_bytes(LETOR)
    return path


def test_letor_qrels(letor):
    assert qrels_of(letor) == {"1": {"a": 2.0, "b": 0.0}, "2": {"1": 1.0}}
    assert qrels_of(letor, qrels_feature=3) == {"1": {"a": 7.0, "b": 7.0}, "2": {"1": 0.0}}
    assert qrels_of(str(letor), qrels_format="letor") == qrels_of(letor)
    raises(InputError, "no line has feature 9", qrels_of, letor, qrels_feature=9)


def test_letor_features_are_runs(letor):
    expected = {
        "feature1": {("1", "a"): (1, 0.5), ("1", "b"): (2, 0.25), ("2", "1"): (1, 1.0)},
        "feature2": {("1", "b"): (1, 1.0), ("1", "a"): (2, 0.0), ("2", "1"): (1, 0.0)},
        "feature3": {("1", "b"): (1, 7.0), ("1", "a"): (2, 7.0), ("2", "1"): (1, 0.0)},
    }
    assert dict(ranks_of(letor, letor, features="1-3", ties="trec")) == expected
    two = [(name, expected[name]) for name in ("feature3", "feature1")]
    assert ranks_of(letor, letor, features=[3, 1], ties="trec") == two
    [(_, found)] = ranks_of(letor, {"1": {"a": 1, "b": 0}, "2": {"1": 1}}, features=2)
    assert found == expected["feature2"]
    chosen = Options(features="1,4,2,5")
    *runs, error = open_runs(None, letor, open_qrels(letor, chosen), chosen)
    assert [run.path for run in runs] == [f"{letor}:feature1", f"{letor}:feature2"]
    assert str(error) == f"{letor}: no line has features 4, 5"


def test_letor_with_groups(tmp_path):
    path, groups = tmp_path / "svm", tmp_path / "sizes"
    path.write_bytes(b"2 1:5\n0 1:6\n1 1:7\n")
    groups.write_bytes(b"2\n1\n")
    options = {"groups": str(groups)}
    assert qrels_of(path, **options) == {"1": {"1": 2.0, "2": 0.0}, "2": {"1": 1.0}}
    expected = {("1", "2"): (1, 6.0), ("1", "1"): (2, 5.0), ("2", "1"): (1, 7.0)}
    assert ranks_of(path, path, features=1, **options)[0][1] == expected


def test_scores(letor, tmp_path):
    scores = tmp_path / "scores"
    scores.write_bytes(b"0.5\n# between\n2\n\n-1\n")
    expected = {("1", "b"): (1, 2.0), ("1", "a"): (2, 0.5), ("2", "1"): (1, -1.0)}
    assert ranks_of(scores, letor) == [(None, expected)]
    assert ranks_of(scores, letor, run_format="scores") == [(None, expected)]
    scores.write_bytes(b"0.5\n2\n")
    error = error_of(InputError, ranks_of, scores, letor)
    assert error == f"{scores}: there are 2 scores, but {letor} has 3 lines of data"
    scores.write_bytes(b"2\n1\n")
    what = r"3 lines of data"
    raises(InputError, what, ranks_of, scores, letor)
    what = "scores, one per line, need the LETOR file whose lines they are of. Give it as qrels"
    raises(InputError, what, ranks_of, scores)


def test_grades_of_letor_files_have_their_range_too(tmp_path):
    """As labels, and where a feature is the grade; as scores they have none."""
    path = tmp_path / "letor"
    path.write_bytes(b"# 1\n1 qid:1 1:1e200 2:1\n2e150 qid:1 1:5 2:2\n")
    what = r"is out of range\. Grades are 0 or between 1e-150 and 1e150 in absolute value; rescale them$"
    raises(InputError, rf"^{path}:3: the grade 2e\+150 {what}", qrels_of, path)
    raises(InputError, rf"^{path}:2: the grade 1e\+200 {what}", qrels_of, path, qrels_feature=1)
    assert qrels_of(path, qrels_feature=2) == {"1": {"1": 1.0, "2": 2.0}}
    trec = tmp_path / "qrels"
    trec.write_bytes(b"1 0 1 1\n1 0 2 1\n")
    assert ranks_of(path, trec, features=1)[0][1][("1", "1")] == (1, 1e200)


def test_forced_formats(letor, tmp_path):
    odd = tmp_path / "odd"
    odd.write_bytes(b"1 1:1 2:2 3\n")  # looks like TREC, and is
    assert qrels_of(odd, qrels_format="trec") == {"1": {"2:2": 3.0}}
    raises(GradevalError, "'3' is not feature:value", qrels_of, odd, qrels_format="letor")
    what = r"none of the 3 lines is right\. This looks like format letor"
    raises(GradevalError, what, ranks_of, letor, letor, run_format="trec")
    raises(GradevalError, "where one score per line is expected", ranks_of, letor, letor, run_format="scores")


def test_options_that_need_letor(letor, tmp_path):
    trec = tmp_path / "trec"
    trec.write_bytes(b"1 0 a 1\n")
    for options in ({"qrels_feature": 1}, {"groups": "sizes"}):
        raises(OptionError, f"requires a LETOR file as qrels, but {trec} is not one", qrels_of, trec, **options)
    what = r"this is a LETOR file\. Choose what ranks its documents, such as --feature"
    raises(InputError, what, ranks_of, letor)
    raises(InputError, r"this is not a LETOR file\. --feature requires LETOR files", ranks_of, trec, features=1)


@each("kind", ["features", "scores"])
def test_ties_of_letor(kind, tmp_path):
    """In the order of the file by default; documents without ids have numbers, whose order is trec's."""
    letor, scores = tmp_path / "letor", tmp_path / "scores"
    letor.write_text("1 qid:1 1:5\n" * 12)
    scores.write_text("1\n" * 12)
    run, more = (letor, {"features": 1}) if kind == "features" else (scores, {})

    def order(run, **options):
        [(_, ranks)] = ranks_of(run, letor, **options)
        return [int(document) for _, document in sorted(ranks, key=ranks.get)]

    assert order(run, ties="input", **more) == order(run, **more) == [*range(1, 13)]
    assert order(run, ties="trec", **more) == [*range(12, 0, -1)]
    results = evaluate(letor, run, "DCG", **more)
    assert results.runs[0].ties == "input"
    letor.write_text("".join(f"{n % 2} qid:1 1:5 # {n}\n" for n in range(1, 13)))
    by_bytes = sorted(range(1, 13), key=str, reverse=True)
    assert order(run, ties="trec", **more) == by_bytes
    trec = tmp_path / "run"
    trec.write_text("".join(f"1 Q0 {n} 1 5 t\n" for n in range(1, 13)))
    assert order(trec) == by_bytes
    results = evaluate(letor, run, "DCG", **more)
    assert [notice.rule for notice in results.notices if notice.kind is NoticeKind.TIES] == ["input"]
    assert evaluate(letor, trec, "DCG").runs[0].ties == "trec"
