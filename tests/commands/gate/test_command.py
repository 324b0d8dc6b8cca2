"""gradeval gate: exit codes and verdicts, saved results, options, refusals; reports; files of checks."""

import json
import os
import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from cli.command import Done, fails, gradeval, query_ids, write_graded
from helpers import each, error_of

import gradeval as gradeval_package
from gradeval.commands.gate.checks import KINDS
from gradeval.commands.gate.command import EPILOG
from gradeval.commands.gate.configuration import GateConfig, _bound, open_config, read_config
from gradeval.errors import InputError, OptionError

from .test_gate import AP, LOWER

QUERIES = query_ids(60)
CODES = {"gate held": 0, "gate failed": 1, "the gate could not decide": 2}


@pytest.fixture(autouse=True)
def gate_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """qrels of 60 queries; the runs good, fair and poor of them, and part, which lacks 6 queries."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    write_graded(QUERIES, {"good": 3, "fair": 5, "poor": 40}, divisor=3)
    Path("part.run").write_text("".join(Path("good.run").read_text().splitlines(keepends=True)[54:]))


def save(run: str, *args: str, metrics: str = "nDCG@10 AP RR num_q tau") -> None:
    done = gradeval("qrels", f"{run}.run", "-m", metrics, "-q", "-f", "json", "-o", f"{run}.json", *args)
    assert done.code == 0, done.err


def gate(line: str) -> Done:
    """A gate whose last line is the verdict, with the exit code of the verdict."""
    done = gradeval("gate", *shlex.split(line))
    last_lines = [text.splitlines()[-1] for text in (done.out, done.err) if text]
    [last, *_] = [line for line in last_lines if line.partition(":")[0] in CODES]
    assert CODES[last.partition(":")[0]] == done.code, done
    assert not (done.code == 2 and "held" in last)
    return done


SEARCH = Path(gradeval_package.__file__).parents[1] / "sample_data" / "search"


def test_a_check_that_missing_judgments_could_turn_is_inconclusive() -> None:
    """The margin moves as the mean difference does, from +0.0962 to -0.1628 and +0.3220."""
    qrels, bm25, hybrid = (SEARCH / name for name in ("qrels.txt", "bm25.run", "hybrid.run"))
    checks = {
        "--max-drop 'nDCG@10 2%'": ("inconclusive", 0.1080),
        "--max-drop 'nDCG@10 0.3'": ("held", 0.3962),
        "--max-drop 'bpref 0.3'": ("held", None),
        "--no-worse nDCG@10": ("inconclusive", 0.1576),
        "--non-inferior 'nDCG@10 0.01'": ("inconclusive", 0.0448),
        "--max-query-drop 'nDCG@10 0.5 in 5%'": ("held", None),
        "--require 'AP >= 0.5'": ("held", None),
    }
    sample = f"{qrels} {hybrid} --baseline {bm25} --bounds --quiet"
    done = gate(f"{sample} {' '.join(checks)} -f json")
    assert done.code == 1
    outcomes = {outcome["check"]: outcome for outcome in json.loads(done.out)["checks"]}
    for check, (verdict, margin) in checks.items():
        text = " ".join(shlex.split(check.removeprefix("--").removeprefix("require ")))
        outcome = outcomes[text]
        assert outcome["verdict"] == verdict
        if margin is not None:
            bounds = outcome["lower_bound"], outcome["upper_bound"]
            assert bounds == pytest.approx((margin - 0.0962 - 0.1628, margin - 0.0962 + 0.3220), abs=2e-4)
    shares = outcomes["max-query-drop nDCG@10 0.5 in 5%"]
    assert (shares["lower_bound"], shares["upper_bound"]) == pytest.approx((0.01, 0.05))
    assert "lower_bound" not in outcomes["AP >= 0.5"] and "lower_bound" not in outcomes["max-drop bpref 0.3"]
    reasons = {text: outcome["reason"] for text, outcome in outcomes.items() if outcome["reason"]}
    assert reasons == {"max-drop bpref 0.3": "no bounds over missing judgments are known of bpref"}
    fails_without = f"{qrels} {hybrid} --baseline {bm25} --bounds --quiet --max-drop 'bpref 0'"
    done = gate(f"{fails_without} --no-worse AP --github")
    assert "max-drop bpref 0: no bounds over missing judgments are known of bpref." in done.out
    assert "max-drop bpref 0: failed: value" in done.err  # and not the reason in place of the numbers
    Path("groups").write_text("".join(f"{query}\tlate\n" for query in range(430, 451)))
    turned = gate(f"{qrels} {bm25} --baseline {hybrid} --max-drop 'nDCG@10[late] 0.05' --by groups --bounds")
    assert "inconclusive" in turned.out and "bounds of margin" in turned.out  # and failed without bounds
    plain = gate(f"{qrels} {bm25} --baseline {hybrid} --max-drop 'nDCG@10[late] 0.05' --by groups --quiet")
    assert "1 failed" in plain.out
    Path("gates.toml").write_text("max-drop = 'nDCG@10 2%'\nbounds = true\n")
    assert "1 inconclusive" in gate(f"{qrels} {hybrid} --baseline {bm25} --config gates.toml --quiet").out
    rows = gate(f"{sample} --max-drop 'nDCG@10 2%' --require 'AP > 0' -f tsv").out.splitlines()
    assert [row.split("\t")[10:12] for row in rows] == [
        ["lower_bound", "upper_bound"],
        ["", ""],
        ["-0.1510", "0.3338"],
    ]


def test_a_baseline_without_a_check() -> None:
    said = "note: no check compares the run with its baseline fair (--max-drop, --no-worse and others do)"
    assert said in gate("qrels good.run --baseline fair.run --require 'AP > 0'").err
    assert said not in gate("qrels good.run --baseline fair.run --require 'AP > 0' --max-drop 'AP 1%'").err
    save("fair")  # which RUN replaces
    assert said not in gate("qrels good.run --baseline fair.json --require 'AP > 0' --update-baseline").err


def test_what_leaves_a_gate_no_bounds() -> None:
    save("good")
    says = "good.json: results have no ids of unjudged documents"
    assert says in gate("qrels fair.run --baseline good.json --max-drop 'nDCG@10 1%' --bounds").err
    says = "gradeval: --bounds need checks of metrics against a baseline"
    assert says in gate("qrels fair.run --require 'AP > 0' --bounds").err
    says = "no bounds over missing judgments: tau"
    assert says in gate("qrels fair.run --baseline good.run --no-worse tau --bounds").err
    Path("gates.toml").write_text("require = 'AP > 0'\nbounds = 1\n")
    assert "bounds must be true or false, not 1" in gate("qrels fair.run --config gates.toml").err


@each("line, code", [
    ("qrels good.run --require 'nDCG@10 >= 0.5'", 0),
    ("qrels good.run --require 'nDCG@10 >= 0.5' --require 'AP >= 1'", 1),
    ("qrels good.run --require 'num_q >= 60' --require 'coverage >= 100%' --require 'Judged@9 >= 1'", 0),
    ("qrels good.run --baseline poor.run --max-drop 'nDCG@10 0' --no-worse 'nDCG@10 AP'", 0),
    ("qrels poor.run --baseline good.run --max-drop 'nDCG@10 0.01'", 1),
    ("qrels poor.run --baseline good.run --non-inferior 'nDCG@10 0.001'", 1),
    ("qrels poor.run --baseline good.run --max-query-drop 'AP 0.1 in 5%'", 1),
    ("qrels part.run --require 'nDCG@10 >= 0' --queries both", 2),
    ("qrels part.run --require 'nDCG@10 >= 0' --min-coverage 91", 2),
    ("qrels good.run --baseline part.run --max-drop 'AP 0.5'", 2),
    ("qrels good.run --query-ids q59 --baseline poor.run --no-worse AP", 2),
    ("qrels good.run --max-drop 'AP 0.1'", 2),
    ("qrels r --require 'AP >= 0' --min-coverage 0", 2),
    ("l l --feature 1 --require 'AP >= 0' --ties trec", 0),
])  # fmt: skip
def test_exit_codes(line: str, code: int) -> None:
    done = gate(line)
    assert done.code == code, done
    assert code == 2 or done.out


def test_saved_results_are_as_good_as_their_runs() -> None:
    save("good")
    save("poor")
    checks = "--max-drop 'AP 1%' --no-worse nDCG@10 --max-query-drop 'RR 0.2 in 5%'"
    expected = gate(f"qrels poor.run --baseline good.run {checks}")
    assert expected.code == 1
    of_runs = "Run poor.run, baseline good.run, qrels qrels."
    for run, baseline, options, named in (
        ("poor.json", "good.run", "", "qrels qrels."),
        ("poor.json", "good.json", "", "qrels qrels."),
        ("poor.run", "good.json", "--ties trec", "qrels qrels, ties = trec."),
    ):
        done = gate(f"qrels {run} --baseline {baseline} {options} {checks}")
        assert done.out.replace(f"Run {run}, baseline {baseline}, {named}", of_runs) == expected.out
    # what only the run must have, its baseline may lack
    save("good", metrics="AP num_q gm_map")
    assert gate("qrels good.run --baseline good.json --no-worse AP --require 'nDCG@10 > 0'").code == 0
    assert gate("qrels good.run --baseline good.json --no-worse nDCG@10").code == 2
    gradeval("qrels", "good.run", "poor.run", "-m", "AP", "-q", "-f", "json", "-o", "two.json")
    said = "two.json: it has 2 runs, and a gate judges one. Save the results of one run; in Python "
    said += "results.only(NAME) has one"
    assert gate("qrels two.json --require 'AP > 0'").lines[0] == said
    assert gate("qrels good.run --baseline two.json --no-worse AP").code == 2


def test_runs_that_differ_in_what_is_judged_are_noted() -> None:
    other = "".join(f"{query} Q0 new{k} 1 {99 - k} t\n" for query in QUERIES for k in range(3))
    Path("new.run").write_text(other + Path("good.run").read_text())  # with other documents in the first ranks
    line = "qrels new.run --baseline good.run --max-drop 'nDCG@5 0.9'"
    message = "warning: Judged@5 of the runs differs, from 40.0 % to 100.0 %: unjudged documents"
    assert message in gate(line).err
    assert "Judged" not in gate(f"{line} -J").err
    assert gate(f"{line} --strict").code == 2
    assert gate(f"{line} --strict --allow judged_differs").code == 0
    # without a check against the baseline it does not matter
    alone = "qrels new.run --baseline good.run --require 'AP > 0' --allow judged_share --quiet"
    assert "Judged" not in gate(alone).err
    assert "differs" not in gate("qrels fair.run --baseline good.run --max-drop 'AP 0.9'").err
    # a feature of the judgments is the run
    lines = (f"{d % 3} qid:{q} 1:{d % 3} 2:{-d}\n" for q in range(60) for d in range(9))
    Path("l").write_text("".join(lines))
    assert gate("l --feature 2 --baseline l --require 'nDCG@5 < 1' --max-drop 'nDCG@5 0'").code == 0
    done = gate("l --feature 1,2 --require 'nDCG@5 >= 1'")
    assert done.lines[0] == "gradeval: there are 2 features, and a gate judges one run. Choose one"
    assert "Missing argument 'QRELS' or 'RUN'" in fails("gate", "l", "--require", "AP > 0")
    done = gradeval("gate", "l", "--feature", 1, "--init", "-m", "nDCG@5")
    assert done.code == 0 and '"nDCG@5 >= 1"' in done.out


@each("line, message", [
    ("", "Missing argument 'QRELS'."),
    ("qrels", "Missing argument 'RUN'."),
    ("good.run --baseline poor.run --init", "Missing argument 'QRELS' or 'RUN'. --init writes checks"),
    ("qrels good.run poor.run --require 'AP > 0'", "Got unexpected extra argument (poor.run)"),
    ("qrels good.run -m AP --require 'AP > 0'", "-m requires --init: the checks name their metrics."),
    ("qrels good.run --init --require 'AP > 0'", "--require and --init, which writes checks, are mutually"),
    ("qrels good.run --init --junit x", "--junit and --init, which writes checks, are mutually exclusive"),
    ("qrels good.run --init --by qrels", "--by and --init, which writes checks, are mutually exclusive"),
    ("qrels good.run --require AP '>=' 0.4", "A check is one argument, in quotes: --require 'AP >= 0.4'"),
    ("qrels good.run --require AP 40%", "A check is one argument, in quotes: --require 'AP >= 40%'"),
    ("qrels good.run --max-drop AP 2%", "A check is one argument, in quotes: --max-drop 'AP 2%'"),
    ("qrels good.run --max-drop 'AP 2' 3", "Got unexpected extra argument (3)"),
    ("qrels good.run --require 'AP > 0' --junit x -o x", "--junit and --output name the same file."),
    ("qrels good.run --require 'AP > 0' --min-coverage 101", "'101' is not a percentage from 0 to 100."),
    ("qrels - --baseline - --no-worse AP", "'-' can be given once only"),
])  # fmt: skip
def test_usage(line: str, message: str) -> None:
    said = fails("gate", *shlex.split(line))
    assert said.startswith("gradeval: ") and message in said


def test_help_has_examples_that_parse() -> None:
    done = gradeval("gate", "--help")
    assert done.code == 0 and "Exit codes: 0 all checks held" in done.out
    save("fair")
    names = {"qrels.txt": "qrels", "new.run": "good.run", "old.run": "fair.run", "old.json": "fair.json"}
    examples = [line.strip() for line in EPILOG.splitlines() if line.startswith("  gradeval")]
    assert len(examples) == 10
    for example in examples:
        words = [names.get(word, word) for word in shlex.split(example)[1:]]
        assert gradeval(*words).code in (0, 1), example


UPDATE = "--config ci/gates.toml --update-baseline"


@pytest.fixture
def updated_gate(gate_files: None) -> None:
    Path("ci").mkdir(exist_ok=True)
    checks = "max-drop = ['nDCG@10 0.05', 'AP 0.05']\nrequire = 'num_q >= 60'"
    Path("ci/gates.toml").write_text(f"baseline = 'b.json'\n{checks}\n[options]\nrel = 2")


@pytest.mark.usefixtures("updated_gate")
def test_the_baseline_is_updated_where_all_checks_held() -> None:
    missing = gate(f"qrels fair.run {UPDATE}")
    assert missing.lines[0] == (
        "gradeval: --update-baseline ci/b.json: no such file. Add --force to write a first one"
    )
    first = gradeval("gate", "qrels", "fair.run", *UPDATE.split(), "--force")
    assert (first.code, first.out, first.lines[-1]) == (0, "", "ci/b.json: written from fair.run")
    held = gate(f"qrels good.run {UPDATE}")
    assert (held.code, held.lines[-1]) == (0, "ci/b.json: written from good.run")
    assert "and becomes the baseline." in held.out and "raise the baseline" not in held.out
    text = Path("ci/b.json").read_text()
    expected = json.loads(
        gradeval("qrels", "good.run", "-m", "num_q nDCG@10 AP Judged@10", "-l", "2", "-q", "-f", "json").out
    )
    content = json.loads(text)
    assert content["options"] == expected["options"] and content["qrels"] == expected["qrels"]
    assert sorted(content["metrics"]) == sorted(expected["metrics"])
    [run], [same] = content["runs"], expected["runs"]
    assert {**run, "queries": None, "summary": None} == {**same, "queries": None, "summary": None}
    assert gate("qrels good.run --config ci/gates.toml --quiet").code == 0
    failed = gate(f"qrels poor.run {UPDATE}")
    assert failed.code == 1 and Path("ci/b.json").read_text() == text
    assert gate(f"qrels part.run {UPDATE}").code == 2 and Path("ci/b.json").read_text() == text
    covered = gate("qrels part.run --require 'coverage > 0' --baseline ci/b.json -l 2 --update-baseline")
    assert (covered.code, Path("ci/b.json").read_text()) == (2, text)
    assert "\ngradeval: --update-baseline ci/b.json: part has " in covered.err
    assert gradeval("gate", "qrels", "poor.run", *UPDATE.split(), "--force").code == 0
    assert gate("qrels poor.run --config ci/gates.toml --quiet").code == 0
    # a saved result is a run too, and a path may have a label
    save("good", "-l", "2", metrics="nDCG@10 AP num_q Judged@10")
    again = gate("qrels good.json --config ci/gates.toml --update-baseline --baseline B=ci/b.json")
    assert again.lines[-1] == "ci/b.json: written from good.json"
    assert json.loads(Path("ci/b.json").read_text())["runs"][0]["sha256"] == run["sha256"]


@pytest.mark.usefixtures("updated_gate")
def test_baselines_that_are_not_written() -> None:
    option = "gradeval: --update-baseline"
    save("good", "-l", "2", metrics="nDCG@10 AP num_q Judged@10")
    before = {path.name: path.read_bytes() for path in Path().glob("*.*")}
    for line, message in {
        "good.run --require 'AP > 0' --update-baseline":
            f"{option}: there is no baseline. Add --baseline FILE",
        "good.run --max-drop 'AP 0' --baseline fair.run --update-baseline":
            f"{option} fair.run: it is not a saved result, and is not replaced",
        f"good.json {UPDATE} --baseline good.json": f"{option} good.json: it is one of the input files",
        "good.run --max-drop 'AP 0' --baseline - --update-baseline --force":
            f"{option}: the baseline is standard input",
        f"none.run {UPDATE} --force": "none.run: no such file. Check the path",
        f"part.run {UPDATE} --force --strict --min-coverage 1": "warning: ",
        f"part.run {UPDATE} --force": f"{option} ci/b.json: part has ",
        **{f"good.run {options}": "gradeval: " for options in (
            "--force", f"{UPDATE} --force --junit x", f"{UPDATE} --force -o x", "--init --update-baseline")},
    }.items():  # fmt: skip
        done = gradeval("gate", "qrels", *shlex.split(line))
        assert done.code == 2 and done.lines[0].startswith(message), line
        assert ("Try 'gradeval gate --help'" in done.err) == (message == "gradeval: "), line
    assert not Path("ci/b.json").exists()
    assert {path.name: path.read_bytes() for path in Path().glob("*.*")} == before


def test_junit(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "qrels good.run --require 'AP >= 1' --require 'AP > 0' --junit gate.xml"
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
    f"{PLAIN} --junit plain.query": "--junit",
    "qrels good.run --config ci/baseline.toml -f tsv -o ci/old": "--output",
    "qrels good.run --config ci/wrong.toml --junit ci/old": "--junit",
    "qrels good.run --config ci/ids.toml --github ci/q.ids": "GITHUB_STEP_SUMMARY",
    "qrels good.run --junit pyproject.toml": "--junit",
}


@each("command", READ)
def test_no_file_that_is_read_is_written(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that a configuration names too, even one with errors."""
    files = {
        "plain": "".join(f"{d % 2} 1:{d}\n" for d in range(8)),
        "plain.query": "4\n4\n",
        "sizes": "4\n4\n",
        "ci/old": Path("good.run").read_text(),
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


def config(text: str, name: str = "gates.toml") -> GateConfig:
    Path(name).write_text(text)
    return read_config(open_config(name), {}, None, None)


BODY = """
require = ["AP >= 0.4", "num_q >= 50"]
max-drop = 'nDCG@10 2%'
baseline = "old/run.json"
min-coverage = 95
"""


def test_files() -> None:
    found = config(BODY)
    assert list(map(str, found.checks)) == ["AP >= 0.4", "num_q >= 50", "max-drop nDCG@10 2%"]
    assert (found.baseline, found.min_coverage) == ("old/run.json", 95.0)
    assert config(f"[tool.ruff]\nx = 1\n[tool.gradeval.gate]\n{BODY}", "pyproject.toml") == found
    Path("ci").mkdir()
    assert config(BODY, "ci/gates.toml").baseline == "ci/old/run.json"
    assert config('baseline = "/old"\nno-worse = "AP"', "ci/gates.toml").baseline == "/old"
    # the command line comes first
    more = {"require": ["AP >= 0.4"], "no-worse": ["AP"]}
    both = read_config(open_config("gates.toml"), more, "new", 50.0)
    assert [*map(str, both.checks)] == ["AP >= 0.4", "num_q >= 50", "max-drop nDCG@10 2%", "no-worse AP"]
    assert (both.baseline, both.min_coverage) == ("new", 50.0)
    Path("pyproject.toml").write_text("[tool.ruff]\nline-length = 99\n")  # that of others
    alone = read_config(open_config(None), {"require": ["AP > 0"]}, None, None)
    assert (list(map(str, alone.checks)), alone.baseline, alone.min_coverage) == (["AP > 0"], None, None)
    assert error_of(OptionError, config, "").startswith("no checks given. Add --require")
    wrong = error_of(OptionError, config, "no-worse = 'AP'")
    assert wrong == "'no-worse AP' compares with a baseline. Add --baseline RUN"


@each("text, message", [
    ("checks = 1", "gates.toml:1: unknown key 'checks'. The keys are require, max-drop, no-worse, "
     "non-inferior, max-query-drop, baseline, min-coverage"),
    ("require = 5", "gates.toml:1: require must be a string or a list of strings such as "
     "'nDCG@10 >= 0.45', not 5"),
    ("require = [5]", "gates.toml:1: require must be a string or a list of strings"),
    ("require = [\n'AP > 0',\n'AP 0']", "gates.toml:3: require 'AP 0' is not of the form"),
    ("no-worse = 'nDGC@5'", "gates.toml:1: nDGC@5: did you mean nDCG@5?"),
    ("baseline = 5", "gates.toml:1: baseline must be the path of a file, not 5"),
    ("baseline = '-'", "gates.toml:1: baseline must be the path of a file, not '-'"),
    ("min-coverage = true", "gates.toml:1: min-coverage must be a percentage from 0 to 100, not true"),
    ("[tool.gradeval.gate]\nrequire = 'AP > 0'", "gates.toml:1: unknown key 'tool'"),
    ("[options]\nrell = 2\n", "gates.toml:2: unknown key 'rell' in [options]. Did you mean 'rel'?"),
    ("[options]\nrel = -1\n", "gates.toml:2: rel must be at least 0, not -1: grades below 0"),
    ("require = 'AP(rel=-1) > 0'\n", "gates.toml:1: AP(rel=-1): rel must be a number >= 0, not '-1'"),
    ("options = 3\n", "gates.toml:1: options must be a table, not 3"),
])  # fmt: skip
def test_refused_files(text: str, message: str) -> None:
    assert error_of(InputError, config, text).startswith(message)


@each("text, message", [
    ("[tool.gradeval.gates]\nx = 1", "pyproject.toml:1: unknown key 'gates' in [tool.gradeval]. Did you mean"),
    ("[tool.gradeval.other]\nx = 1", "pyproject.toml:1: unknown key 'other' in [tool.gradeval]. The keys are"),
    ("[tool.gradeval]\ngate = 5", "pyproject.toml: it has no table [tool.gradeval.gate]"),
    ("[tool.x]\nmaxdrop = 1\n[tool.gradeval.gate]\nmaxdrop = 1", "pyproject.toml:4: unknown key 'maxdrop'"),
])  # fmt: skip
def test_refused_pyprojects(text: str, message: str) -> None:
    assert error_of(InputError, config, text, "pyproject.toml").startswith(message)


def test_checks_in_a_file() -> None:
    save("poor")
    Path("ci").mkdir()
    Path("ci/gates.toml").write_text('require = "AP > 0.1"\nno-worse = ["AP"]\nbaseline = "../poor.json"\n')
    done = gate("qrels good.run --config ci/gates.toml")
    assert done.out.endswith("gate held: 2 of 2 checks held\n")
    done = gate("qrels poor.run --config ci/gates.toml --baseline good.run --require 'num_q > 1'")
    assert done.out.endswith("gate failed: 1 of 3 checks did not hold (1 failed)\n")
    Path("ci/gates.toml").write_text("min-coverage = 90\nrequire = 'AP > 0.1'\n")
    assert gate("qrels part.run --config ci/gates.toml").code == 0
    assert gate("qrels part.run --config ci/gates.toml --min-coverage 99").code == 2


def test_init() -> None:
    def init(line: str) -> str:
        done = gradeval("gate", "qrels", *line.split(), "--init", "--quiet")
        assert (done.code, done.err) == (0, ""), line
        return done.out

    assert "nDCG@10 >= 0." in init("good.run -o own.toml") + Path("own.toml").read_text()
    assert gate("qrels poor.run --config own.toml").code == 1
    Path("ci").mkdir()
    assert init("good.run --baseline poor.run -m AP(rel=2),Judged@5,num_rel_ret -o ci/gates.toml") == ""
    text = Path("ci/gates.toml").read_text()
    assert '\nbaseline = "../poor.run"\n' in text and '\n  "Judged@5 >= 1",  # 1.0000\n' in text
    # everything that is commented out can be used too
    full = "".join(f"{line}\n".removeprefix("# ") if "= [" in line or "min-" in line else f"{line}\n"
                   for line in text.splitlines())  # fmt: skip
    assert full.count("\n# ") < text.count("\n# ")
    Path("ci/gates.toml").write_text(full)
    done = gate("qrels good.run --config ci/gates.toml")
    assert done.code == 0 and "max-query-drop num_rel_ret 0.5 in 5%" in done.out
    assert all(kind in full for kind in KINDS)
    # saved results
    save("part")
    save("poor")
    init("part.json -o part.toml")
    for line in ('\n  "num_q >= 60",\n', '"RR >= ', "\nmin-coverage = 90.0\n"):
        assert line in Path("part.toml").read_text()
    assert gate("qrels part.run --config part.toml").code == 0
    # gm_map has no value for each query
    assert '\nno-worse = ["AP"]\n' in init("good.run --baseline poor.json -m AP,gm_map")
    # bounds are rounded to what holds
    assert (_bound(AP, 0.6865), _bound(LOWER, 0.6865)) == (">= 0.68", "<= 0.69")
    # what has no bound
    text = init("good.run -m num_q,Judged@5,unj@5,num_rel_ret")
    assert text.count("num_q >=") == 1 and '\n  "Judged@5 >= 1",' in text and '\n  # "unj@5 >= 0",' in text
    said = fails("gate", "qrels", "good.run", "--init", "-m", "relstring")
    assert said == "gradeval: relstring is text and cannot be checked"


def test_options_in_a_file() -> None:
    """As in a manifest; those of the command line replace them."""

    def found(line: str) -> tuple[list[Any], list[Any]]:
        content = json.loads(gate(f"qrels good.run -f json {line}").out)
        return content["checks"], [content["options"][name] for name in ("rel", "queries", "depth")]

    Path("gates.toml").write_text("require = 'AP > 0'\n[options]\nrel = 3\nqueries = 'both'\ndepth = 5\n")
    expected = found("--require 'AP > 0' -l 3 --queries both --depth 5 --min-coverage 0")
    assert found("--config gates.toml --min-coverage 0") == expected and expected[1] == [3, "both", 5]
    assert found("--config gates.toml -c -l 2 -M 4")[1] == [2, "judged", 4]
    ids = "[tool.gradeval.gate.options]\nquery_ids = ['q01', 'q02']\n"
    Path("pyproject.toml").write_text(f"[tool.gradeval.gate]\nrequire = 'AP > 0'\n{ids}")
    assert found("")[0][0]["n"] == 2 and found("--query-ids q03")[0][0]["n"] == 1
    Path("ci").mkdir()
    Path("ci/gates.toml").write_text("require = 'AP > 0'\noptions = { groups = 'sizes' }\n")
    Path("ci/sizes").write_text("9\n" * 60)
    Path("l").write_text("".join(f"{d % 3} 1:{d % 3}\n" for _ in range(60) for d in range(9)))
    assert gate("l --feature 1 --config ci/gates.toml").code == 0
    Path("q.ids").write_text("q1\n")
    groups = "requires a LETOR file as qrels, but qrels is not one"
    for options, more, said in (
        ("query_ids = 'q.ids'", "", "x.toml:3: query 'q.ids' is not in qrels. In a configuration query_ids is "
         "a list of ids, not the name of a file"),
        ("query_weights = { q01 = 1 }", "", "x.toml:3: query_weights: "),
        ("groups = 'sizes'", "", f"x.toml:3: groups {groups}"),
        ("groups = 'sizes'", "--groups ci/sizes", f"gradeval: --groups {groups}"),
        ("split = 'test'", "", "x.toml:3: split: no run is a predictions file of MTEB"),
        ("", "--baseline good.run --columns document=x", "gradeval: columns: document=x is no column of any "
         "table; qrels has no named columns"),
    ):  # fmt: skip
        Path("x.toml").write_text(f"require = 'AP > 0'\n[options]\n{options}\n")
        assert gate(f"qrels good.run --config x.toml {more}").lines[0].startswith(said)


def test_init_writes_the_options() -> None:
    """The file alone is as good as the command line that it was made with."""
    options = "-l 2 --queries both --zero-grade 1 -J --query-ids q01,q02,q03 --ties best --columns score=s"
    rows = (line.split() for line in Path("good.run").read_text().splitlines())
    Path("good.csv").write_text("qid,docno,s\n" + "".join(f"{row[0]},{row[2]},{row[4]}\n" for row in rows))
    args = ("gate", "qrels", "good.csv", "--init", *options.split(), "-m", "AP", "--quiet", "-o", "own.toml")
    assert gradeval(*args).code == 0
    written = Path("own.toml").read_text().partition("[options]\n")[2].splitlines()
    assert sorted(written) == [
        *('columns = { score = "s" }', "judged_only = true", 'queries = "both"'),
        *('query_ids = ["q01", "q02", "q03"]', "rel = 2", 'ties = "best"', "zero_grade = 1"),
    ]
    found = json.loads(gate("qrels good.csv --config own.toml -f json").out)
    assert found["exit_code"] == 0 and found["checks"][0]["value"] == 3
    name = os.fsdecode(b"\xff.run")
    Path(name).write_text(Path("good.run").read_text())
    message = fails("gate", "qrels", name, "--baseline", name, "--init", "--quiet")
    assert message == r"gradeval: \udcff.run is not UTF-8 and cannot be written to TOML"
    again = gradeval(*args)
    assert again.code == 2 and "own.toml: the file exists; --init does not overwrite." in again.err
