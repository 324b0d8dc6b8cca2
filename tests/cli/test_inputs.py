"""Options of reading: columns, splits, identical ids, directories and patterns of runs."""

import json
from pathlib import Path

import pytest
from helpers import each

from .command import fails, gradeval, values

pytestmark = pytest.mark.usefixtures("folder")


def test_columns() -> None:
    Path("ratings").write_text("who,what,stars\nq1,a,3\nq1,b,0\n")
    Path("predictions").write_text("who,what,guess\nq1,b,2\nq1,a,1\n")
    columns = "query=who,document=what,grade=stars,score=guess"
    found = values("ratings", "predictions", "--columns", columns, "-m", "AP", run="predictions")
    assert found == {("all", "AP"): 0.5}
    said = fails("ratings", "predictions", "-m", "AP", "--columns", "user=who")
    assert said.startswith("gradeval: columns must be some of query=NAME, document=NAME")
    Path("renamed").write_text("query_id,doc_id,score\nq1,b,2\nq1,a,1\n")
    found = values("ratings", "renamed", "--columns", columns.partition(",score")[0], "-m", "AP", run="renamed")
    assert found == {("all", "AP"): 0.5}
    Path("typo").write_text("query_id,doc_id,stars\n")
    assert "Name it with --columns grade=NAME" in fails("typo", "r")


@each(
    "command",
    [
        "eval q renamed",
        "eval usual renamed",
        "compare usual renamed renamed",
        "validate usual renamed",
        "validate renamed",
        "convert renamed - --to trec",
        "explain usual renamed --query q1 -m AP",
        "study levels usual renamed",
    ],
)
def test_columns_that_no_file_has(command: str) -> None:
    Path("usual").write_text("query_id,doc_id,grade\nq1,a,3\nq1,b,0\n")
    Path("renamed").write_text("user,item,prediction\nq1,b,2\nq1,a,1\n")
    has = "'query_id', 'doc_id', 'grade'" if "usual" in command else "'user', 'item', 'prediction'"
    said = fails(*command.split(), "--columns", "query=user,document=itme")
    assert said.startswith("gradeval: columns: document=itme is no column of any table; ")
    assert said.rstrip().endswith(f" has {has}")
    Path("trec").write_text("q1 0 a 1\n")
    assert gradeval("trec", "renamed", "--columns", "query=user,document=item", "-m", "AP").code == 0
    done = gradeval("q", "-", "--columns", "document=itme", "-m", "AP", stdin="renamed")
    assert "document=itme is no column of any table; <stdin> has 'user'" in done.err


def test_split() -> None:
    subsets = {"en": {"test": {"q1": {"a": 1, "b": 2}}}, "de": {"test": {"q1": {"a": 2}}}}
    Path("mteb").write_text(json.dumps({"mteb_model_meta": {}, **subsets}))
    assert values("q", "mteb", "--split", "de", "-m", "num_ret", run="mteb") == {("all", "num_ret"): 1}
    assert "the file has 'en/test', 'de/test'. Choose one with --split SUBSET/SPLIT" in fails("q", "mteb")


def test_ignore_identical_ids() -> None:
    Path("self").write_text('{"q1": {"q1": 9, "a": 1}}')
    for options, count in (((), 2), (("--ignore-identical-ids",), 1)):
        assert values("q", "self", *options, "-m", "num_ret", run="self") == {("all", "num_ret"): count}


@pytest.mark.parametrize("given", ["runs", "runs/", "runs/*"])
@pytest.mark.parametrize("command", ["eval", "compare"])
def test_directories_and_patterns(given: str, command: str) -> None:
    Path("runs").mkdir()
    for name in ("b.run", "a.txt", "c.json", ".hidden"):
        Path("runs", name).write_text("q1 Q0 a 1 1 t\nq2 Q0 f 1 1 t\n")
    done = gradeval(command, "q", given, "-m", "AP", "-f", "tsv", "--quiet")
    assert done.code == 0, done.err
    head, *rows = (line.split("\t") for line in done.out.splitlines())
    assert [row[head.index("run")] for row in rows] == ["a", "b", "c"][command == "compare" :]
    assert "runs/b.run" in fails("q", given, "-o", "runs/b.run")
    assert fails("q", "runs/x*") == "runs/x*: no such file. Check the path"


@pytest.mark.parametrize(
    "args",
    [("q", "r"), ("compare", "q", "r", "r"), ("gate", "q", "r", "--require", "AP >= 0", "-f", "tsv")],
    ids=str,
)
def test_query_ids_from_standard_input(args: tuple[str, ...], folder: Path) -> None:
    chosen = ("--query-ids", "-", "-m", "AP") if args[0] != "gate" else ("--query-ids", "-")
    Path("ids").write_text("q1\n")
    given = gradeval(*args, *chosen, stdin="ids")
    assert given.err.count("--query-ids") == 0
    assert given.out == gradeval(*args, "--query-ids", "q1", *chosen[2:]).out
    assert fails(*("-" if one == "r" else one for one in args), *chosen).startswith(
        "gradeval: '-' can be given once only"
    )
