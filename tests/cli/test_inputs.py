"""Options of reading: formats, features, group sizes, columns, splits, identical ids, patterns of runs."""

import json
from pathlib import Path

import pytest

from .command import dcg, fails, gradeval, values

pytestmark = pytest.mark.usefixtures("folder")


def test_columns() -> None:
    Path("ratings").write_text("who,what,stars\nq1,a,3\nq1,b,0\n")
    Path("predictions").write_text("who,what,guess\nq1,b,2\nq1,a,1\n")
    Path("renamed").write_text("query_id,doc_id,score\nq1,b,2\nq1,a,1\n")
    columns = "query=who,document=what,grade=stars"
    for run, more in (("predictions", ",score=guess"), ("renamed", "")):
        found = values("ratings", run, "--columns", columns + more, "-m", "AP", run=run)
        assert found == {("all", "AP"): 0.5}
    said = fails("ratings", "predictions", "-m", "AP", "--columns", "user=who")
    assert said.startswith("gradeval: columns must be some of query=NAME, document=NAME")
    Path("typo").write_text("query_id,doc_id,stars\n")
    assert "Name it with --columns grade=NAME" in fails("typo", "r")
    # columns that no file has
    Path("usual").write_text("query_id,doc_id,grade\nq1,a,3\nq1,b,0\n")
    Path("renamed").write_text("user,item,prediction\nq1,b,2\nq1,a,1\n")
    for command in (
        "eval q renamed",
        "eval usual renamed",
        "compare usual renamed renamed",
        "validate usual renamed",
        "validate renamed",
        "convert renamed - --to trec",
        "explain usual renamed --query q1 -m AP",
        "study levels usual renamed",
    ):
        has = "'query_id', 'doc_id', 'grade'" if "usual" in command else "'user', 'item', 'prediction'"
        said = fails(*command.split(), "--columns", "query=user,document=itme")
        assert said.startswith("gradeval: columns: document=itme is no column of any table; ")
        assert said.rstrip().endswith(f" has {has}"), command
    assert gradeval("q", "renamed", "--columns", "query=user,document=item", "-m", "AP").code == 0
    said = fails("q", "-", "--columns", "document=itme", "-m", "AP", stdin="renamed")
    assert "document=itme is no column of any table; <stdin> has 'user'" in said


def test_split_and_identical_ids() -> None:
    subsets = {"en": {"test": {"q1": {"a": 1, "b": 2}}}, "de": {"test": {"q1": {"a": 2}}}}
    Path("mteb").write_text(json.dumps({"mteb_model_meta": {}, **subsets}))
    Path("self").write_text('{"q1": {"q1": 9, "a": 1}}')
    for run, options, count in (
        ("mteb", "--split de", 1),
        ("self", "", 2),
        ("self", "--ignore-identical-ids", 1),
    ):
        found = values("q", run, *options.split(), "-m", "num_ret", run=run)
        assert found == {("all", "num_ret"): count}
    assert "the file has 'en/test', 'de/test'. Choose one with --split SUBSET/SPLIT" in fails("q", "mteb")


def test_directories_and_patterns() -> None:
    Path("runs").mkdir()
    for name in ("b.run", "a.txt", "c.json", ".hidden"):
        Path("runs", name).write_text("q1 Q0 a 1 1 t\nq2 Q0 f 1 1 t\n")
    for runs, command in (("runs", "eval"), ("runs/", "compare"), ("runs/*", "eval"), ("runs/*", "compare")):
        done = gradeval(command, "q", runs, "-m", "AP", "-f", "tsv", "--quiet")
        assert done.code == 0, done.err
        head, *rows = (line.split("\t") for line in done.out.splitlines())
        assert [row[head.index("run")] for row in rows] == ["a", "b", "c"][command == "compare" :]
        assert "runs/b.run" in fails("q", runs, "-o", "runs/b.run")
    assert fails("q", "runs/x*") == "runs/x*: no such file. Check the path"


def test_query_ids_from_standard_input() -> None:
    Path("ids").write_text("q1\n")
    for line in ("q r -m AP", "compare q r r -m AP", "gate q r --require AP>=0 -f tsv"):
        args = line.split()
        found = gradeval(*args, "--query-ids", "-", stdin="ids")
        assert "--query-ids" not in found.err
        assert found.out == gradeval(*args, "--query-ids", "q1").out
        said = fails(*("-" if word == "r" else word for word in args), "--query-ids", "-")
        assert said.startswith("gradeval: '-' can be given once only")


def test_features_and_groups() -> None:
    """Of the qrels themselves, or of another LETOR file."""
    for files in (["l"], ["l", "l"]):
        for feature in ("1", "2"):
            found = values(*files, "--feature", feature, "-m", "AP", run=f"feature{feature}")
            assert found == {("all", "AP"): 0.75}
        both = gradeval(*files, "--feature", "2,1-2", "-m", "AP", "-qn").out
        rows = [" ".join(line.split("\t")[::3]) for line in both.splitlines()[1:]]
        assert rows == ["feature2 0.5000", "feature2 1.0000", "feature1 1.0000", "feature1 0.5000"]
        assert gradeval(*files, "--feature", "2", "--feature", "1-2", "-m", "AP", "-qn").out == both
    # feature 2 as the grades: 1, 5 / 2, 0; feature 1 ranks a b / d c
    found = values("l", "--feature", "1", "--qrels-feature", "2", "-m", "nDCG", "-q", "-n", run="feature1")
    assert found == pytest.approx({("1", "nDCG"): dcg(1, 5) / dcg(5, 1), ("2", "nDCG"): dcg(0, 2) / 2})
    assert fails("q", "r", "--qrels-feature", "1").startswith("gradeval: --qrels-feature requires a LETOR file")
    # sizes of groups
    Path("plain").write_text("2 1:3\n0 1:2\n1 1:1\n0 1:4\n")
    Path("sizes").write_text("1\n3\n")
    args = ("plain", "--feature", "1", "-m", "AP", "-qn")
    assert "--groups" in fails(*args)
    found = values(*args, "--groups", "sizes", run="feature1")
    assert found == {("1", "AP"): 1.0, ("2", "AP"): 1 / 3}
