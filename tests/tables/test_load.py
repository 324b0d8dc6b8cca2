"""What is given as qrels and runs: Python data, LETOR features, scores; and the options of reading."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import gradeval
from gradeval.arrays.strings import Texts
from gradeval.errors import GradevalError, InputError, InputErrors, OptionError
from gradeval.notices import Kind, Notice
from gradeval.options import QRELS_FORMATS, RUN_FORMATS, Options, parse_features
from gradeval.tables.load import is_path, open_qrels, open_runs

QRELS = {"1": {"a": 2.0, "b": 0.0}, "2": {"a": 1.0, "é": 1.5}}
RUN = {"2": {"é": 1.0, "x": 2.0}, "1": {"b": 0.5, "a": 0.5}, "3": {"a": 1.0}}


def qrels_of(data, **options):
    """{query: {document: grade}}, in order."""
    table = open_qrels(data, Options.of(**options)).qrels
    queries, documents, grade = Texts(table.queries), Texts(table.documents), table.grade.tolist()
    bounds = table.offsets.tolist()
    return {
        query: dict(zip(documents[a:b], grade[a:b], strict=True))
        for query, a, b in zip(queries, bounds[:-1], bounds[1:], strict=True)
    }


def ranks_of(run, qrels=QRELS, ties="trec", **options):
    """For each run: its name and {(query, document): (rank, score)} of the judged documents."""
    chosen = Options.of(**options)
    judged = open_qrels(qrels, chosen, with_features=qrels is run)
    table = judged.qrels
    queries, documents = Texts(table.queries), Texts(table.documents)
    result = []
    for one in open_runs(None, run, judged, chosen):
        reduced = one.reduce(table, ties, 1)
        places = enumerate(zip(reduced.rank.tolist(), reduced.score.tolist(), strict=True))
        query_of = [
            queries[q]
            for q, n in enumerate((table.offsets[1:] - table.offsets[:-1]).tolist())
            for _ in range(n)
        ]
        found = {(query_of[row], documents[row]): at for row, at in places if at[0] != np.inf}
        result.append((one.name or one.short_name, found))
    return result


def triples(table):
    return [(query, document, number) for query, of in table.items() for document, number in of.items()]


def pandas_frame(rows, names, **types):
    return pytest.importorskip("pandas").DataFrame(rows, columns=names).astype(types)


def polars_frame(rows, names):
    return pytest.importorskip("polars").DataFrame(rows, schema=list(names), orient="row")


FORMS = {
    "dict": lambda table: table,
    "tuples": triples,
    "lists": lambda table: [list(row) for row in triples(table)],
    "generator": lambda table: iter(triples(table)),
    "longer tuples": lambda table: [(*row, "more") for row in triples(table)],
    "text": lambda table: [(query, document, str(number)) for query, document, number in triples(table)],
    "bytes": lambda table: [
        (query.encode(), document.encode(), number) for query, document, number in triples(table)
    ],
}
IDS = {
    "int": lambda table: {int(query): of for query, of in table.items()},
    "tuples of int": lambda table: [
        (int(query), document, number) for query, document, number in triples(table)
    ],
}


@pytest.mark.parametrize("form", [*FORMS.values(), *IDS.values()], ids=[*FORMS, *IDS])
def test_python_data(form):
    assert qrels_of(form(QRELS)) == QRELS
    assert ranks_of(form(RUN)) == [("run1", {("2", "é"): (2, 1.0), ("1", "b"): (1, 0.5), ("1", "a"): (2, 0.5)})]
    assert ranks_of(form(RUN), ties="best")[0][1]["1", "a"] == (1, 0.5)


@pytest.mark.parametrize("frame", [pandas_frame, polars_frame])
@pytest.mark.parametrize(
    "names",
    [
        ("query_id", "doc_id", "relevance", "score"),
        ("qid", "docno", "label", "score"),
        ("Query", "DocID", "Grade", "Sim"),
        ("topic", "iid", "rel", "scores"),
    ],
)
def test_frames(frame, names):
    query, document, grade, score = names
    qrels = frame([(1, q, d, g) for q, d, g in triples(QRELS)], ("iteration", query, document, grade))
    run = frame([(7, d, s, q, "tag") for q, d, s in triples(RUN)], ("rank", document, score, query, "tag"))
    assert qrels_of(qrels) == QRELS
    assert ranks_of(run) == ranks_of(RUN)


@pytest.mark.parametrize("frame", [pandas_frame, polars_frame])
def test_frames_with_whole_numbers(frame):
    rows = [(1, 10, 3), (1, 20, 0), (2, 10, 1)]
    assert qrels_of(frame(rows, ("qid", "docid", "label"))) == {"1": {"10": 3.0, "20": 0.0}, "2": {"10": 1.0}}


def test_frame_columns_of_several_names():
    """The more telling name is taken; two that mean the same are ambiguous."""
    rows = [("x", "1", "a", 1.0), ("x", "2", "b", 0.0)]
    frame = pandas_frame(rows, ("query", "query_id", "doc_id", "relevance"))
    assert qrels_of(frame) == {"1": {"a": 1.0}, "2": {"b": 0.0}}
    frame = pandas_frame([("1", "a", 1.0, 2.0)], ("qid", "docno", "Rel", "rel"))
    with pytest.raises(InputError, match="the grade column may be 'Rel' or 'rel'"):
        qrels_of(frame)
    assert qrels_of(frame, columns={"grade": "rel"}) == {"1": {"a": 2.0}}


@pytest.mark.parametrize("frame", [pandas_frame, polars_frame])
def test_frame_without_a_column(frame):
    with pytest.raises(InputError) as caught:
        qrels_of(frame([("1", "a", 1.0)], ("qid", "docno", "score")))
    assert str(caught.value) == (
        "qrels: no grade column (relevance, rel, grade, label, rating, qrel); the columns are 'qid', 'docno', "
        "'score'. Name it with columns={'grade': NAME}"
    )


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (5, "qrels: each row must be (query, document, number): 'int' object is not iterable"),
        (None, "qrels: each row must be (query, document, number): 'NoneType' object is not iterable"),
        ({"q": 3}, "qrels: each row must be (query, document, number): 'int' object has no attribute 'items'"),
        ([1.0], "qrels:1: each row must be (query, document, number): 'float' object is not iterable"),
        (
            [("q", "d", 1), ("q", "d")],
            "qrels:2: each row must be (query, document, number): ('q', 'd') has 2 items",
        ),
        ([("q", "d", "x")], "qrels:1: the grade 'x' is not a number"),
        ([("q", "c", 1), ("q", "d", None)], "qrels:2: the grade is missing"),
        ([("q", "d", 10**400)], "qrels:1: the grade is too large for a floating-point number"),
        ([("q\ud800", "d", 1)], r"qrels:1: the query id 'q\ud800' cannot be encoded (surrogates not allowed)"),
        ([("q", "d\0", 1)], r"qrels:1: the document id 'd\x00' contains a NUL byte"),
        ([("q", None, 1)], "qrels:1: the document id is missing"),
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
        ([("p", "d", np.array([1, 2]))], "qrels:1: the grade array([1, 2]) is not a number"),
        ({"p": {"d": 1}, None: {"d": 1}}, "qrels:2: the query id is missing"),
    ],
)
def test_data_that_is_no_table(data, what):
    with pytest.raises(InputError) as caught:
        qrels_of(data)
    assert str(caught.value) == what


def test_empty_data():
    for data in ({}, [], {"q": {}}):
        with pytest.raises(InputError, match=r"^qrels: no judgments given$"):
            qrels_of(data)
        assert ranks_of(data) == [("run1", {})]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite(number):
    data = [("1", "a", 1.0), ("1", "b", number)]
    with pytest.raises(InputError, match=f"^qrels:2: the grade {number} is not a finite number$"):
        qrels_of(data)
    with pytest.raises(InputError, match=f"^run1:2: the score {number} is not a finite number$"):
        ranks_of(data)


def test_documents_that_come_twice():
    data = [("1", "a", 1.0), ("2", "a", 1.0), ("1", "b", 0.5), ("1", "a", 2.0), ("1", "a", 1.0)]
    with pytest.raises(InputErrors) as caught:
        ranks_of(data)
    again = "duplicate document 'a' for its query. The first is in line 1"
    assert str(caught.value).splitlines() == [f"run1:4: {again}", f"run1:5: {again}"]
    with pytest.raises(InputError, match=r"^qrels:4: document 'a' has grade 2 here and 1 before in line 1$"):
        qrels_of(data)
    assert open_qrels([data[0]] * 2, Options()).qrels.notices == (Notice(Kind.DUPLICATES, "qrels", 1),)


def test_ids_that_are_no_text():
    """Bytes that are not UTF-8, as bytes or as what a file system makes of them, are the same id."""
    assert ranks_of([(b"\xff", "\udcfe", 1.0)], {"\udcff": {b"\xfe": 1}}) == [
        ("run1", {("\udcff", "\udcfe"): (1, 1.0)})
    ]


def test_is_path(tmp_path):
    assert is_path("a") and is_path(b"a") and is_path(tmp_path)
    assert not any(map(is_path, ({}, [], None, 3)))


# LETOR

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
    with pytest.raises(InputError, match="no line has feature 9"):
        qrels_of(letor, qrels_feature=9)


def test_letor_features_are_runs(letor):
    expected = {
        "feature1": {("1", "a"): (1, 0.5), ("1", "b"): (2, 0.25), ("2", "1"): (1, 1.0)},
        "feature2": {("1", "b"): (1, 1.0), ("1", "a"): (2, 0.0), ("2", "1"): (1, 0.0)},
        "feature3": {("1", "b"): (1, 7.0), ("1", "a"): (2, 7.0), ("2", "1"): (1, 0.0)},
    }
    assert dict(ranks_of(letor, letor, features="1-3")) == expected
    assert ranks_of(letor, letor, features=[3, 1]) == [
        (name, expected[name]) for name in ("feature3", "feature1")
    ]
    assert dict(ranks_of(letor, {"1": {"a": 1, "b": 0}, "2": {"1": 1}}, features=2)) == {
        "feature2": expected["feature2"]
    }
    chosen = Options.of(features="1,4,2,5")
    *runs, error = open_runs(None, letor, open_qrels(letor, chosen, with_features=True), chosen)
    assert [run.path for run in runs] == [f"{letor}:feature1", f"{letor}:feature2"]
    assert str(error) == f"{letor}: no line has features 4-5"


def test_letor_with_groups(tmp_path):
    path, groups = tmp_path / "svm", tmp_path / "sizes"
    path.write_bytes(b"2 1:5\n0 1:6\n1 1:7\n")
    groups.write_bytes(b"2\n1\n")
    options = {"groups": str(groups)}
    assert qrels_of(path, **options) == {"1": {"1": 2.0, "2": 0.0}, "2": {"1": 1.0}}
    assert ranks_of(path, path, features=1, **options)[0][1] == {
        ("1", "2"): (1, 6.0),
        ("1", "1"): (2, 5.0),
        ("2", "1"): (1, 7.0),
    }


def test_scores(letor, tmp_path):
    scores = tmp_path / "scores"
    scores.write_bytes(b"0.5\n# between\n2\n\n-1\n")
    expected = {("1", "b"): (1, 2.0), ("1", "a"): (2, 0.5), ("2", "1"): (1, -1.0)}
    assert ranks_of(scores, letor) == [(None, expected)]
    assert ranks_of(scores, letor, run_format="scores") == [(None, expected)]
    scores.write_bytes(b"0.5\n2\n")
    with pytest.raises(InputError) as caught:
        ranks_of(scores, letor)
    assert str(caught.value) == f"{scores}: there are 2 scores, but {letor} has 3 lines of data"
    with pytest.raises(
        InputError, match=r"scores, one per line, need a LETOR file as qrels, but qrels is not one"
    ):
        ranks_of(scores)


def test_errors_of_scores_name_their_own_lines(tmp_path):
    """Blank lines and comments count in the file of scores as they do in the LETOR file."""
    letor, scores = tmp_path / "letor", tmp_path / "scores"
    letor.write_bytes(b"1 qid:1 # a\n# between\n1 qid:1 # a\n1 qid:1 # b\n")
    scores.write_bytes(b"# model\n0.5\n\n2\n3\n")
    with pytest.raises(InputError) as caught:
        ranks_of(scores, letor)
    again = "duplicate document 'a' for its query. The first is in line 2"
    assert str(caught.value) == f"{scores}:4: {again}"


def test_grades_of_letor_files_have_their_range_too(tmp_path):
    """As labels, and where a feature is the grade; as scores they have none."""
    path = tmp_path / "letor"
    path.write_bytes(b"# 1\n1 qid:1 1:1e200 2:1\n2e150 qid:1 1:5 2:2\n")
    what = r"is out of range\. Grades are 0 or between 1e-150 and 1e150 in absolute value; rescale them$"
    with pytest.raises(InputError, match=rf"^{path}:3: the grade 2e\+150 {what}"):
        qrels_of(path)
    with pytest.raises(InputError, match=rf"^{path}:2: the grade 1e\+200 {what}"):
        qrels_of(path, qrels_feature=1)
    assert qrels_of(path, qrels_feature=2) == {"1": {"1": 1.0, "2": 2.0}}
    trec = tmp_path / "qrels"
    trec.write_bytes(b"1 0 1 1\n1 0 2 1\n")
    assert ranks_of(path, trec, features=1)[0][1][("1", "1")] == (1, 1e200)


def test_trec_run_over_letor_qrels(letor, tmp_path):
    run = tmp_path / "run"
    run.write_bytes(b"1 Q0 b 1 2 x\n1 Q0 c 2 1 x\n2 Q0 1 1 3 x\n")
    assert ranks_of(run, letor) == [(None, {("1", "b"): (1, 2.0), ("2", "1"): (1, 3.0)})]


def test_forced_formats(letor, tmp_path):
    odd = tmp_path / "odd"
    odd.write_bytes(b"1 1:1 2:2 3\n")  # looks like TREC, and is
    assert qrels_of(odd, qrels_format="trec") == {"1": {"2:2": 3.0}}
    with pytest.raises(GradevalError, match="'3' is not feature:value"):
        qrels_of(odd, qrels_format="letor")
    with pytest.raises(GradevalError, match=r"none of the 3 lines is right\. This looks like a LETOR file"):
        ranks_of(letor, letor, run_format="trec")
    with pytest.raises(GradevalError, match="where one score per line is expected"):
        ranks_of(letor, letor, run_format="scores")


def test_options_that_need_letor(letor, tmp_path):
    trec = tmp_path / "trec"
    trec.write_bytes(b"1 0 a 1\n")
    for options in ({"qrels_feature": 1}, {"groups": "sizes"}):
        with pytest.raises(OptionError, match=f"requires a LETOR file as qrels, but {trec} is not one"):
            qrels_of(trec, **options)
    with pytest.raises(
        InputError, match=r"this is a LETOR file\. Choose what ranks its documents with --feature"
    ):
        ranks_of(letor)
    with pytest.raises(InputError, match=r"this is not a LETOR file\. --feature requires LETOR files"):
        ranks_of(trec, features=1)


# Options


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"depht": 3}, "unknown option depht: the options are rel, depth, "),
        ({"depth": 0}, "depth must be an integer from 1 to 1000000000, not 0"),
        ({"depth": 2.0}, "depth must be an integer from 1 to 1000000000, not 2.0"),
        ({"depth": "3"}, "depth must be an integer from 1 to 1000000000, not '3'"),
        ({"jobs": -1}, "jobs must be an integer from 0 to 1000, not -1"),
        ({"qrels_feature": -1}, "qrels_feature must be an integer from 0 to 9999999, not -1"),
        ({"rel": math.nan}, "rel must be a finite number, not nan"),
        ({"rel": "2"}, "rel must be a finite number, not '2'"),
        ({"zero_grade": math.inf}, "zero_grade must be a finite number, not inf"),
        ({"queries": "all"}, "queries must be judged or both, not 'all'"),
        ({"ties": "random"}, "ties must be trec or input or best or worst, not 'random'"),
        ({"qrels_format": "xml"}, f"qrels_format must be {' or '.join(QRELS_FORMATS)}, not 'xml'"),
        ({"run_format": "xml"}, f"run_format must be {' or '.join(RUN_FORMATS)}, not 'xml'"),
        ({"features": "x"}, "features must be numbers and ranges such as 1,5,9-12, not 'x'"),
    ],
)
def test_wrong_options(options, what):
    with pytest.raises(OptionError) as caught:
        Options.of(**options)
    assert str(caught.value).startswith(what)


def test_options():
    assert Options.of() == Options()
    options = Options.of(query_ids=[1, "b"], features=["1", 7, "3-4"], rel=2, depth=None, jobs=4)
    assert options == Options(query_ids=("1", "b"), features=(1, 7, 3, 4), rel=2, jobs=4)
    assert Options.of(query_ids="1,b  c,").query_ids == ("1", "b", "c")
    assert Options.of(query_ids=["1,b"]).query_ids == ("1,b",)  # an id with a comma
    for none in ("", " ,", [], ()):
        with pytest.raises(OptionError, match="no query ids given"):
            Options.of(query_ids=none)
    assert Options.of(features="2,1").features == (2, 1)
    assert Options.of(features=5).features == (5,)
    told = options.to_dict()
    assert "jobs" not in told
    assert told["features"] == (1, 7, 3, 4)
    assert told["ties"] is None


@pytest.mark.parametrize(
    ("texts", "features"),
    [
        ([], ()),
        (["1"], (1,)),
        (["1,5,9-12"], (1, 5, 9, 10, 11, 12)),
        ([" 3 , 1", "2-2", "1-4"], (3, 1, 2, 4)),
        (["0", 9999999], (0, 9999999)),
    ],
)
def test_parse_features(texts, features):
    assert parse_features(texts) == features


@pytest.mark.parametrize(
    "text", ["", "1,", "-1", "1-", "1-2-3", "a", "1.5", "+1", "1 2", "٣", "3-1", "10000000", "1" * 30]
)
def test_wrong_features(text):
    with pytest.raises(OptionError, match=r"features must be numbers and ranges|must increase, up to 9999999"):
        parse_features([text])


@pytest.mark.parametrize("given", ["file", "dict", "table"])
def test_a_run_that_is_emptied_is_not_called_empty(given: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("1 Q0 1 1 2 t\n")
    run = {"file": path, "dict": {"1": {"1": 2.0}}, "table": gradeval.read_run(path)}[given]
    with pytest.raises(InputError) as caught:
        gradeval.evaluate({"1": {"a": 1}}, run, "AP", ignore_identical_ids=True)
    assert "no document is left: the id of each is that of its query" in str(caught.value)
