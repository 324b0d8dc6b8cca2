"""gradeval gate: exit codes and the verdict, saved results, options, what it refuses."""

import json
import shlex
from pathlib import Path

import pytest
from cli.command import fails, gradeval
from helpers import each

from gradeval.commands.gate.command import EPILOG

from .conftest import QUERIES, gate, save

pytestmark = pytest.mark.usefixtures("gate_files")


@each("line, code", [
    # the run by itself
    ("qrels good.run --require 'nDCG@10 >= 0.5'", 0),
    ("qrels good.run --require 'nDCG@10 >= 0.5' --require 'AP > 1'", 1),
    ("qrels good.run --require 'num_q >= 60' --require 'coverage >= 100%' --require 'Judged@9 >= 1'", 0),
    ("qrels good.run --require 'gm_map >= 0.1' --require 'num_rel_ret > 100'", 0),
    # against a baseline
    ("qrels good.run --baseline poor.run --max-drop 'nDCG@10 0' --no-worse 'nDCG@10 AP'", 0),
    ("qrels poor.run --baseline good.run --max-drop 'nDCG@10 0.01'", 1),
    ("qrels poor.run --baseline good.run --non-inferior 'nDCG@10 0.001'", 1),
    ("qrels poor.run --baseline good.run --non-inferior 'nDCG@10 0.9'", 0),
    ("qrels poor.run --baseline good.run --max-query-drop 'AP 0.1 in 5%'", 1),
    ("qrels poor.run --baseline good.run --max-query-drop 'AP 0.1 in 100%'", 0),
    # could not be judged
    ("qrels part.run --require 'nDCG@10 >= 0' --queries both", 2),
    ("qrels part.run --require 'nDCG@10 >= 0' --min-coverage 91", 2),
    ("qrels part.run --require 'nDCG@10 >= 0' --min-coverage 90", 0),
    ("qrels good.run --baseline part.run --max-drop 'AP 0.5'", 2),
    ("qrels good.run --query-ids q59 --baseline poor.run --no-worse AP", 2),
    ("qrels good.run --require 'tau <= 1' -l 2", 0),
    ("none good.run --require 'AP >= 0'", 2),
    ("qrels good.run", 2),
    ("qrels good.run --max-drop 'AP 0.1'", 2),
    ("qrels good.run --require 'AP >= 0' -o none/x", 2),
    ("qrels good.run --require 'AP >= 0' --query-ids none", 2),
    ("qrels r --require 'AP >= 0' --min-coverage 0", 2),
    ("l l --feature 1 --require 'AP >= 0' --ties trec", 0),
])  # fmt: skip
def test_exit_codes(line: str, code: int) -> None:
    done = gate(line)
    assert done.code == code, done
    assert code == 2 or done.out


# saved results


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
    said = "two.json: it has 2 runs, and a gate judges one. Save the results of one run"
    assert gate("qrels two.json --require 'AP > 0'").lines[0] == said
    assert gate("qrels good.run --baseline two.json --no-worse AP").code == 2


# options


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
    assert gate("l --feature 1 --require 'nDCG@5 >= 1'").code == 0
    assert gate("l --feature 2 --require 'nDCG@5 >= 1'").code == 1
    assert gate("l --feature 2 --baseline l --require 'nDCG@5 < 1' --max-drop 'nDCG@5 0'").code == 0
    done = gate("l --feature 1,2 --require 'nDCG@5 >= 1'")
    assert done.lines[0] == "gradeval: there are 2 features, and a gate judges one run. Choose one"
    assert "Missing argument 'RUN'" in fails("gate", "l", "--require", "AP > 0")
    done = gradeval("gate", "l", "--feature", 1, "--init", "-m", "nDCG@5")
    assert done.code == 0 and '"nDCG@5 >= 1"' in done.out


@each("line, message", [
    ("", "Missing argument 'QRELS'."),
    ("qrels", "Missing argument 'RUN'."),
    ("qrels good.run poor.run --require 'AP > 0'", "Got unexpected extra argument (poor.run)"),
    ("qrels good.run -m AP --require 'AP > 0'", "-m requires --init: the checks name their metrics."),
    ("qrels good.run --init --require 'AP > 0'", "--init writes a file of checks, and goes with none"),
    ("qrels good.run --init --junit x", "--init writes a file of checks, and goes with none"),
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
    assert len(examples) == 9
    for example in examples:
        words = [names.get(word, word) for word in shlex.split(example)[1:]]
        assert gradeval(*words).code in (0, 1), example


# --update-baseline

UPDATE = "--config ci/gates.toml --update-baseline"


@pytest.fixture
def updated_gate(gate_files: Path) -> None:
    (gate_files / "ci").mkdir(exist_ok=True)
    checks = "max-drop = ['nDCG@10 0.05', 'AP 0.05']\nrequire = 'num_q >= 60'"
    (gate_files / "ci/gates.toml").write_text(f"baseline = 'b.json'\n{checks}\n[options]\nrel = 2")


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
            f"{option}: there is no baseline. Add --baseline FILE, or baseline = to the configuration",
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
