"""LETOR data as qrels and as runs: features, group sizes and scores."""

import pytest
from helpers import error_of, raises

from gradeval.errors import GradevalError, InputError, OptionError
from gradeval.options import Options
from gradeval.tables.load import open_qrels, open_runs
from tables.opened import qrels_of, ranks_of

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
    assert ranks_of(letor, letor, features=[3, 1], ties="trec") == [
        (name, expected[name]) for name in ("feature3", "feature1")
    ]
    assert dict(ranks_of(letor, {"1": {"a": 1, "b": 0}, "2": {"1": 1}}, features=2)) == {
        "feature2": expected["feature2"]
    }
    chosen = Options(features="1,4,2,5")
    *runs, error = open_runs(None, letor, open_qrels(letor, chosen), chosen)
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
    error = error_of(InputError, ranks_of, scores, letor)
    assert error == f"{scores}: there are 2 scores, but {letor} has 3 lines of data"
    scores.write_bytes(b"2\n1\n")
    with pytest.raises(
        InputError, match=r"3 lines of data\. It looks like the group sizes: .*\.query or .*--groups"
    ):
        ranks_of(scores, letor)
    with pytest.raises(
        InputError, match=r"scores, one per line, need a LETOR file as qrels, but qrels is not one"
    ):
        ranks_of(scores)


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
    with pytest.raises(GradevalError, match=r"none of the 3 lines is right\. This looks like format letor"):
        ranks_of(letor, letor, run_format="trec")
    raises(GradevalError, "where one score per line is expected", ranks_of, letor, letor, run_format="scores")


def test_options_that_need_letor(letor, tmp_path):
    trec = tmp_path / "trec"
    trec.write_bytes(b"1 0 a 1\n")
    for options in ({"qrels_feature": 1}, {"groups": "sizes"}):
        raises(OptionError, f"requires a LETOR file as qrels, but {trec} is not one", qrels_of, trec, **options)
    with pytest.raises(
        InputError, match=r"this is a LETOR file\. Choose what ranks its documents with --feature"
    ):
        ranks_of(letor)
    raises(InputError, r"this is not a LETOR file\. --feature requires LETOR files", ranks_of, trec, features=1)
