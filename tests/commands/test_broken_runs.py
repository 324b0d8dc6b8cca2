"""Where a run cannot be read, the others are compared, drawn, studied and reported; the exit code is 2."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from cli.command import fails, gradeval, write_graded
from helpers import raises

import gradeval as package

BAD = "bad.run:1: 1 field where a run has 6 (query Q0 document rank score tag)"
COMMANDS = ["compare", "plot queries", "plot curve", "plot means", "study agreement", "study levels"]
COMMANDS.append("estimate --model-qrels qrels")


@pytest.fixture(autouse=True)
def runs(folder: Path) -> None:
    write_graded([f"q{n}" for n in range(30)], {"a": 3, "b": 5}, 4)
    Path("bad.run").write_text("x\n")


def words(command: str, *runs: str) -> list[str]:
    return [*command.split(), "qrels", *runs]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_others_go_on(command: str) -> None:
    done = gradeval(*words(command, "a.run", "bad.run", "b.run"), "-f", "json")
    whole = gradeval(*words(command, "a.run", "b.run"), "-f", "json")
    assert (done.code, whole.code) == (2, 0) and done.lines[0] == BAD
    content = json.loads(done.out)
    assert content.pop("failed") == [{"path": "bad.run", "errors": [BAD]}]
    assert content == json.loads(whole.out)
    strict = gradeval(*words(command, "a.run", "bad.run", "b.run"), "--strict", "--allow", "few_queries")
    assert (strict.code, strict.out) == (2, "") and BAD in strict.err
    assert gradeval(*words(command, "bad.run", "none")).out == ""


def test_the_baseline() -> None:
    said = "bad.run: the baseline could not be evaluated, so nothing is compared with it"
    for line in (
        "bad.run a.run b.run",
        "a.run bad.run b.run --baseline bad.run",
        "X=bad.run a.run --baseline X",
        "a.run bad.run b.run --baseline bad",
    ):
        done = gradeval("compare", "qrels", *line.split())
        assert (done.code, done.out, done.lines) == (2, "", [BAD, said]), line
    assert gradeval("compare", "qrels", "bad.run", "a.run", "b.run", "--baseline", "b.run").out
    assert gradeval("compare", "qrels", "bad.run", "a.run", "b.run", "--all-pairs").out
    for line in "bad.run a.run b.run", "a.run b.run bad.run --baseline bad":
        done = gradeval("plot", "queries", "qrels", *line.split())
        assert (done.code, done.out, done.lines) == (2, "", [BAD, said])


def test_a_run_that_is_left_alone() -> None:
    for more in [], ["--all-pairs"]:
        done = gradeval("compare", "qrels", "a.run", "bad.run", *more)
        alone = "gradeval: a is the only run that could be evaluated: there is none to compare it with"
        assert (done.code, done.out, done.lines) == (2, "", [BAD, alone])
    for study in "agreement", "reuse":
        done = gradeval("study", study, "qrels", "a.run", "bad.run")
        alone = "qrels: an order needs two systems. The others could not be evaluated"
        assert (done.code, done.out, done.lines) == (2, "", [BAD, alone])


@pytest.mark.skipif(find_spec("jinja2") is None, reason="jinja2 is not installed")
def test_the_page_lists_them() -> None:
    done = gradeval("report", "qrels", "a.run", "bad.run", "b.run", "-o", "page.html", "--sort", "AP")
    assert done.code == 2 and done.lines[0] == BAD
    assert done.lines[-1].startswith("page.html: 2 runs, ") or "page.html: 2 runs, " in done.err
    page = Path("page.html").read_text("utf-8")
    assert "Not evaluated: bad.run:1: 1 field" in page
    for line in "bad.run a.run b.run", "a.run b.run bad.run --baseline bad":
        done = gradeval("report", "qrels", *line.split())
        assert done.out == "" and done.lines[0] == BAD and "the baseline could not" in done.lines[1]


def test_in_python() -> None:
    runs = ["a.run", "bad.run", "b.run"]
    study, plot = package.study, package.plot
    for function in (package.compare, study.agreement, study.levels, plot.queries):
        raises(package.GradevalError, "bad.run:1", function, "qrels", runs)
    kept = package.study.levels("qrels", runs, errors="keep")
    compared = package.compare("qrels", runs, errors="keep")
    assert [run.path for run in (*kept.failed, *compared.failed)] == ["bad.run", "bad.run"]
    for few, reason in (runs[:2], "bad.run:1"), (runs[1:], "the baseline could not"):
        raises(package.GradevalError, reason, package.compare, "qrels", few, errors="keep")
    raises(
        package.OptionError, "errors must be raise or keep", package.plot.curve, "qrels", runs, errors="drop"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_lists_of_runs(command: str) -> None:
    Path("lists").mkdir()
    Path("lists/all").write_text("# comment\n../a.run\nB=../b.run\n")
    done = gradeval(*words(command), "--runs-from", "lists/all", "-f", "json")
    assert done.code == 0 and '"B"' in done.out
    assert fails(*words(command), "--runs-from", "none") == "none: no such file. Check the path"


def test_names_of_tags() -> None:
    Path("b.run").write_text(Path("b.run").read_text().replace(" t\n", " other\n"))
    tags = [Path(name).read_text().split()[5] for name in ("a.run", "b.run")]
    rows = gradeval("qrels", "a.run", "b.run", "-m", "AP", "--name-by", "tag").out.splitlines()[1:]
    if tags[0] != tags[1]:
        assert [row.split("\t")[0] for row in rows] == tags
    named = gradeval("qrels", "A=a.run", "-m", "AP", "--name-by", "tag").out
    assert named.splitlines()[1].startswith("A\t")
