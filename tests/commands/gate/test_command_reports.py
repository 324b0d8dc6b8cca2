"""Reports of gradeval gate: formats, JUnit, GitHub, the worst queries, warnings."""

import json
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli.command import Done, gradeval
from helpers import each

from .conftest import gate

pytestmark = pytest.mark.usefixtures("gate_files")


def test_junit(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "qrels good.run --require 'AP > 1' --require 'AP > 0' --junit gate.xml"
    assert gate(line).code == 1
    suites = ElementTree.parse("gate.xml").getroot()
    assert suites.attrib == {"tests": "2", "failures": "1", "errors": "0"}
    assert gate("qrels none --baseline nor --no-worse AP --junit gate.xml").code == 2
    [error] = ElementTree.parse("gate.xml").getroot().iter("error")
    assert (error.text or "").splitlines() == [
        "none: no such file. Check the path", "nor: no such file. Check the path"
    ]  # fmt: skip
    assert gate("qrels part.run --require 'AP > 0' --junit gate.xml").code == 2
    assert ElementTree.parse("gate.xml").getroot().attrib["errors"] == "1"
    assert gate("qrels good.run --require 'AP > 0' --junit qrels").lines[0] == (
        "gradeval: --junit qrels: it is one of the input files"
    )
    # the summary of a step is a file of its own
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "./x")
    for option in ("--junit", "--output"):
        done = gradeval("gate", *shlex.split(f"qrels good.run --require 'AP > 0' --github {option} x"))
        assert (done.code, done.out, Path("x").exists()) == (2, "", False)
        assert f"{option} and GITHUB_STEP_SUMMARY name the same file." in done.err


PLAIN = "plain plain --feature 1 --require 'AP > 0' --quiet"
READ = {
    f"{PLAIN} --groups sizes -o sizes": "--output",
    f"{PLAIN} --groups sizes --junit sizes": "--junit",
    f"{PLAIN} --junit plain.query": "--junit",
    f"{PLAIN} --github plain.query": "GITHUB_STEP_SUMMARY",
    f"{PLAIN} --config ci/groups.toml --junit ci/sizes": "--junit",
    f"{PLAIN} --config ci/groups.toml --github ci/sizes": "GITHUB_STEP_SUMMARY",
    "qrels good.run --config ci/baseline.toml -f tsv -o ci/old": "--output",
    "qrels good.run --config ci/wrong.toml --junit ci/old": "--junit",
    "qrels good.run --baseline A=ci/old --max-drop 'AP 0.9' --junit ci/old": "--junit",
    "qrels good.run --config ci/ids.toml --junit ci/q.ids": "--junit",
    "qrels good.run --config ci/ids.toml --github ci/q.ids": "GITHUB_STEP_SUMMARY",
    "qrels good.run --junit pyproject.toml": "--junit",
    "qrels good.run --github qrels": "GITHUB_STEP_SUMMARY",
}


@each("command", READ)
def test_no_file_that_is_read_is_written(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that a configuration names too, even one with errors."""
    files = {
        "plain": "".join(f"{d % 2} 1:{d}\n" for d in range(8)),
        "plain.query": "4\n4\n",
        "sizes": "4\n4\n",
        "ci/sizes": "4\n4\n",
        "ci/old": Path("good.run").read_text(),
        "ci/groups.toml": "[options]\ngroups = 'sizes'\n",
        "ci/baseline.toml": "max-drop = 'AP 0.9'\nbaseline = 'old'\n",
        "ci/wrong.toml": "max-fall = 'AP 1'\nbaseline = 'old'\n",
        "ci/ids.toml": "require = 'AP > 0'\noptions.query_ids = 'q.ids'\n",
        "ci/q.ids": "q1\nq2\n",
        "pyproject.toml": "[tool.gradeval.gate]\nrequire = 'AP > 0'\n",
    }
    Path("ci").mkdir(exist_ok=True)
    for path, text in files.items():
        Path(path).write_text(text)
    option, name = READ[command], command.split()[-1]
    if option == "GITHUB_STEP_SUMMARY":
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", name)
        command = command.removesuffix(f" {name}")
    before = Path(name).read_text()
    done = gate(command)
    assert (done.code, done.out) == (2, "")
    assert done.lines[0] == f"gradeval: {option} {name}: it is one of the input files"
    assert Path(name).read_text() == before


def annotations(done: Done) -> list[str]:
    return [line for line in done.lines if line.startswith("::")]


def test_github(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "qrels good.run --require 'AP > 99%' --require 'AP > 0' --github"
    done = gate(line)
    assert [one.partition("gate::")[2][:16] for one in annotations(done)] == [
        "gate failed: 1 o",
        "AP > 0.99: faile",
    ]
    assert annotations(done)[0].endswith("(run good.run, qrels qrels)")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("summary.md").write_text("before\n")
    gate(line)
    gate("qrels none --require 'AP > 0' --github")
    text = Path("summary.md").read_text()
    assert text.startswith("before\n## gradeval gate\n\n**Checks**\n") and text.count("## gradeval gate") == 2
    assert "| none: no such file. Check the path |" in text
    undecided = gate("qrels part.run --baseline poor.run --max-drop 'AP 1%' --require 'AP > 0' --github")
    assert [text.partition("gate::")[2][:14] for text in annotations(undecided)] == [
        "the gate could",
        "2 checks: part",
    ]
    held = gate("qrels good.run --require 'AP > 0' --github")
    line = "gate held: 1 of 1 check held (run good.run, qrels qrels)"
    assert annotations(held) == [f"::notice title=gradeval gate::{line}"]
    warned = gate("qrels good.run --require 'AP > 0' --github --query-ids q59")
    assert annotations(warned)[1].startswith("::warning title=gradeval gate::only 1 query")
    quiet = gate("qrels good.run --require 'AP > 0' --github --query-ids q59 --quiet")
    assert annotations(quiet)[0].endswith("(run good.run, qrels qrels, query_ids = q59)")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "none/summary.md")
    done = gate("qrels good.run --require 'AP > 0' --github")
    assert (done.code, done.out) == (2, "")
    assert "GITHUB_STEP_SUMMARY: none/summary.md cannot be written (No such file or directory)" in done.err


def test_names_in_the_log_are_no_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of files, of runs and of queries, which a saved result can hold in any form."""
    evil = ["::error::x", "\n::error::x", "##[error]x", " ::stop-commands::x", "%0A::error::x"]
    Path("q").write_text("".join(f"q{n} 0 a 1\n" for n in range(len(evil))))
    Path("r").write_text("".join(f"q{n} Q0 b 1 1 t\n" for n in range(len(evil))))
    gradeval("q", "r", "-m", "AP", "-q", "-f", "json", "-o", "saved")
    content = json.loads(Path("saved").read_text())
    content["runs"][0]["name"] = evil[0]
    for notice in content["notices"]:
        notice["subject"] = evil[0]
    for name in ("::error file=x::y", "x##[error]y"):
        Path(name).write_text(json.dumps(content))
        for args in (("q", name), ("q", "r"), (name, "r"), ("q", f"{name}.none")):
            for format in ("table", "json"):
                line = ("--require", "AP > 0", "-f", format, "--github", "--baseline", name, "--no-worse", "AP")
                done = gradeval("gate", *args, *line)
                ours = [one for one in annotations(done) if " title=gradeval gate::" in one]
                assert ours
                for text in (*done.out.splitlines(), *done.lines):
                    assert text in ours or not (text.lstrip().startswith("::") or "##[" in text)


def test_warnings_advice_and_worst_queries() -> None:
    done = gate("qrels good.run --require 'AP > 0' --query-ids q01,q02,q03")
    assert done.code == 0
    [line] = done.lines
    assert line.startswith("warning: only 3 queries")
    assert gate("qrels good.run --require 'AP > 0' --query-ids q01,q02 --quiet").err == ""
    strict = gate("qrels good.run --require 'AP > 0' --query-ids q01,q02 --strict --junit gate.xml")
    assert (strict.code, strict.out) == (2, "")
    assert strict.lines[-2:] == [
        "gradeval: warnings are treated as errors (--strict); --allow few_queries accepts this kind",
        "the gate could not decide: see the errors",
    ]  # fmt: skip
    assert ElementTree.parse("gate.xml").getroot().attrib["errors"] == "1"
    assert gate("qrels good.run --require 'AP > 0' --query-ids q01 --strict --allow few_queries").code == 0
    # a run that beats its baseline
    line = "qrels good.run --baseline poor.run --github --max-drop"
    advice = "raise the baseline (--update-baseline)?"
    note = f"The run beats its baseline by more than the tolerance in AP, RR: {advice}"
    done = gate(f"{line} 'AP RR 5%' --non-inferior 'AP 0.01'")
    assert note in " ".join(done.out.split())
    assert annotations(done)[-1] == f"::notice title=gradeval gate::{note}"
    assert "raise the baseline" not in gate(f"{line} 'AP 0.9'").out
    assert "raise the baseline" not in gate("qrels good.run --baseline good.run --max-drop 'AP 0'").out
    # those of a check against the baseline, where it has one
    line = "qrels poor.run --baseline good.run --require 'AP > 0.9' --max-drop 'AP 0' --no-worse 'AP RR'"
    done = gate(f"{line} --worst 2 --github -f tsv")
    rows = [row.split("\t")[:2] for row in done.out.split("\n\n")[1].splitlines()[1:]]
    assert [metric for metric, _ in rows] == ["AP", "AP", "RR", "RR"]
    [worst] = [one for one in annotations(done) if "AP" in one and "worst queries" in one]
    assert worst.endswith(f"max-drop AP 0: {worst.partition('AP 0: ')[2]}")
    assert f"worst queries: {rows[0][1]}, {rows[1][1]}" in worst
    falls = [gate(f"{line} --worst 0 -f json")]
    assert all(check["worst"] == [] for check in json.loads(falls[0].out)["checks"])


def test_a_name_and_what_is_not_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("gates.toml").write_text("name = 'web, 5%: night'\nrequire = 'AP > 0'\n[options]\nrel = 2\n")
    done = gate("qrels good.run --config gates.toml --depth 50 --github --junit gate.xml")
    subject = "run good.run, qrels qrels, rel = 2, depth = 50"
    title = "title=gradeval gate web%2C 5%25%3A night"
    assert done.out.startswith("Checks: web, 5%: night\n") and f"\nR{subject[1:]}.\n" in done.out
    assert annotations(done) == [f"::notice {title}::gate held: 1 of 1 check held ({subject})"]
    [suite] = ElementTree.parse("gate.xml").getroot()
    assert suite.attrib["name"] == "gradeval gate web, 5%: night"
    assert {one.attrib["name"]: one.attrib["value"] for one in suite.iter("property")} == {
        "run": "good.run", "qrels": "qrels", "options": "rel = 2, depth = 50"
    }  # fmt: skip
    assert Path("summary.md").read_text().startswith("## gradeval gate web, 5%: night\n")
    named = gate("qrels good.run --config gates.toml --name mine -f json")
    assert json.loads(named.out)["name"] == "mine"
    absent = gate("qrels none.run --config gates.toml --github --columns query=q")
    assert annotations(absent)[0].endswith("(run none.run, qrels qrels, rel = 2, columns = query=q)")
