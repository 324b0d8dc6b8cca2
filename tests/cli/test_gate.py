"""gradeval gate: exit codes and the verdict, files of checks, reports for CI, what it refuses."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gradeval.cli.gate import EPILOG

from .command import Done, fails, gradeval

QUERIES = [f"q{q:02}" for q in range(60)]
CODES = {"held": 0, "failed": 1, "not judged": 2}


def grade(q: int, d: int) -> int:
    return (q * 7 + d * 3) % 4


@pytest.fixture(autouse=True)
def files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """qrels of 60 queries; the runs good, fair and poor of them, and part, which lacks 6 queries."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    Path("qrels").write_text(
        "".join(f"{x} 0 d{d} {grade(q, d)}\n" for q, x in enumerate(QUERIES) for d in range(9))
    )
    for name, noise in (("good", 3), ("fair", 5), ("poor", 40)):
        rows = [
            f"{x} Q0 d{d} 1 {grade(q, d) + (q * d * noise) % (2 * noise + 1) / 3 + d / 10} t\n"
            for q, x in enumerate(QUERIES)
            for d in range(9)
        ]
        Path(f"{name}.run").write_text("".join(rows))
    Path("part.run").write_text("".join(Path("good.run").read_text().splitlines(keepends=True)[54:]))
    return folder


def save(run: str, *args: str, metrics: str = "nDCG@10 AP RR num_q tau") -> None:
    done = gradeval("qrels", f"{run}.run", "-m", metrics, "-q", "-f", "json", "-o", f"{run}.json", *args)
    assert done.code == 0, done.err


def gate(line: str) -> Done:
    """A gate as a shell calls it, whose last line is the verdict, with the exit code of the verdict."""
    done = gradeval("gate", *shlex.split(line))
    last = (done.out if done.out.startswith("Checks") else done.err).splitlines()[-1]
    verdict = last.removeprefix("gate ").partition(":")[0]
    assert last.startswith("gate ") and CODES[verdict] == done.code, done
    assert not (done.code == 2 and "held" in last)
    return done


@pytest.mark.parametrize(
    ("line", "code"),
    [
        # the run by itself
        ("qrels good.run --require 'nDCG@10 >= 0.5'", 0),
        ("qrels good.run --require 'nDCG@10 >= 0.999'", 1),
        ("qrels good.run --require 'nDCG@10 >= 0.5' --require 'AP > 1'", 1),
        ("qrels good.run --require 'num_q >= 60' --require 'coverage >= 100%' --require 'Judged@9 >= 1'", 0),
        ("qrels good.run --require 'num_q > 60'", 1),
        ("qrels good.run --require 'gm_map >= 0.1' --require 'num_rel_ret > 100'", 0),
        ("qrels good.run --require 'AP < 0.5'", 1),
        # against a baseline
        ("qrels good.run --baseline poor.run --max-drop 'nDCG@10 0' --no-worse 'nDCG@10 AP'", 0),
        ("qrels good.run --baseline poor.run --non-inferior 'AP 0' --max-query-drop 'AP 1'", 0),
        ("qrels poor.run --baseline good.run --max-drop 'nDCG@10 0.01'", 1),
        ("qrels poor.run --baseline good.run --max-drop 'nDCG@10 90%'", 0),
        ("qrels poor.run --baseline good.run --no-worse nDCG@10", 1),
        ("qrels poor.run --baseline good.run --non-inferior 'nDCG@10 0.001'", 1),
        ("qrels poor.run --baseline good.run --non-inferior 'nDCG@10 0.9'", 0),
        ("qrels poor.run --baseline good.run --max-query-drop 'AP 0.1 in 5%'", 1),
        ("qrels poor.run --baseline good.run --max-query-drop 'AP 0.1 in 100%'", 0),
        ("qrels good.run --baseline good.run --max-drop 'AP 0' --no-worse AP --non-inferior 'AP 0'", 0),
        # could not be judged
        ("qrels part.run --require 'nDCG@10 >= 0'", 2),
        ("qrels part.run --require 'nDCG@10 >= 0' --queries both", 2),
        ("qrels part.run --require 'nDCG@10 >= 0' --min-coverage 91", 2),
        ("qrels part.run --require 'nDCG@10 >= 0' --min-coverage 90", 0),
        ("qrels part.run --require 'coverage >= 95%' --min-coverage 0", 1),
        ("qrels good.run --baseline part.run --max-drop 'AP 0.5'", 2),
        ("qrels good.run --query-ids q59 --require 'AP > 0'", 0),
        ("qrels good.run --query-ids q59 --baseline poor.run --no-worse AP", 2),
        ("qrels good.run --require 'tau <= 1' -l 2", 0),
        ("qrels good.run --query-ids q00 --require 'tau <= 1' --depth 1", 2),
        ("qrels none.run --require 'AP >= 0'", 2),
        ("none good.run --require 'AP >= 0'", 2),
        ("qrels good.run --require 'AP >= 0' --baseline none.run", 2),
        ("qrels good.run", 2),
        ("qrels good.run --baseline poor.run", 2),
        ("qrels good.run --max-drop 'AP 0.1'", 2),
        ("qrels good.run --require 'AP >= x'", 2),
        ("qrels good.run --require 'nDGC@10 >= 0'", 2),
        ("qrels good.run --require 'AP >= 0' --config none.toml", 2),
        ("qrels good.run --require 'AP >= 0' -o none/x", 2),
        ("qrels good.run --require 'AP >= 0' --junit none/x", 2),
        ("qrels good.run --require 'AP >= 0' --query-ids none", 2),
        ("qrels r --require 'AP >= 0' --min-coverage 0", 2),
        ("l l --feature 1,2 --require 'AP >= 0'", 2),
        ("l l --feature 1 --require 'AP >= 0' --ties trec", 0),
        ("l s --require 'AP >= 0'", 0),
    ],
)
def test_exit_codes(line: str, code: int) -> None:
    done = gate(line)
    assert done.code == code, done
    assert code == 2 or done.out


def test_a_script_ends_where_a_gate_does_not_hold() -> None:
    """In a real shell, also where nobody reads the report."""
    script = """
    set -euo pipefail
    gradeval() { "$PYTHON" -m gradeval "$@"; }
    gradeval gate qrels good.run --require 'AP >= 0.1' --quiet | tail -n 1
    gradeval gate qrels good.run --require 'AP >= 0.1' -f json > report.json
    gradeval gate qrels good.run --require 'AP >= 0.999' | true || echo "still $?"
    gradeval gate qrels none --require 'AP >= 0' || echo "code $?"
    gradeval gate qrels good.run --require 'AP > 1' > /dev/null
    echo "not reached"
    """
    root = Path(__file__).parents[2]
    done = subprocess.run(
        ["bash", "-c", script],
        env=os.environ | {"PYTHON": sys.executable, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stdout == "gate held: 1 of 1 check held\nstill 1\ncode 2\n"
    assert json.loads(Path("report.json").read_text())["verdict"] == "held"


# saved results


def test_saved_results_are_as_good_as_their_runs() -> None:
    save("good")
    save("poor")
    checks = "--max-drop 'AP 1%' --no-worse nDCG@10 --max-query-drop 'RR 0.2 in 5%'"
    expected = gate(f"qrels poor.run --baseline good.run {checks}")
    assert expected.code == 1
    for run in ("poor.run", "poor.json"):
        for baseline in ("good.run", "good.json"):
            done = gate(f"qrels {run} --baseline {baseline} {checks}")
            assert (done.code, done.out) == (1, expected.out)
    assert gate("qrels good.json --require 'num_q >= 60' --require 'AP > 0.1'").code == 0
    assert gate("qrels good.json --require 'num_q > 60'").code == 1
    assert gate(f"qrels poor.run --baseline good.json --ties trec {checks}").out == expected.out


def test_saved_results_that_say_too_little() -> None:
    save("good", metrics="AP num_q gm_map")
    done = gate("qrels good.json --require 'AP > 0' --require 'nDCG@10 > 0'")
    assert done.lines[0] == (
        "good.json: it has no values of nDCG@10, only of AP, num_q, gm_map. Choose other metrics, or evaluate "
        "the run again"
    )
    done = gate("qrels good.json --require 'gm_map > 0'")
    assert done.lines[0].startswith("good.json: gm_map cannot be taken from a saved result")
    # what only the run must have, its baseline may lack
    assert gate("qrels good.run --baseline good.json --no-worse AP --require 'nDCG@10 > 0'").code == 0
    assert gate("qrels good.run --baseline good.json --no-worse nDCG@10").code == 2
    gradeval("qrels", "good.run", "poor.run", "-m", "AP", "-q", "-f", "json", "-o", "two.json")
    assert gate("qrels two.json --require 'AP > 0'").lines[0] == (
        "two.json: it has 2 runs, and a gate judges one. Save the results of one run"
    )
    assert gate("qrels good.run --baseline two.json --no-worse AP").code == 2
    Path("qrels").write_text(Path("qrels").read_text() + "q99 0 d 1\n")
    assert "it was made from other qrels" in gate("qrels good.json --require 'AP > 0'").err


def test_missing_queries_of_a_saved_result_are_known() -> None:
    save("part")
    done = gate("qrels part.json --require 'AP >= 0'")
    assert done.code == 2
    assert "part has 54 of 60 judged queries (90 %), fewer than --min-coverage 100 %" in done.out
    save("part", "--queries", "both")
    assert gate("qrels part.json --require 'AP >= 0' --queries both").code == 2
    assert gate("qrels part.json --require 'AP >= 0' --queries both --min-coverage 90").code == 0


def test_labels() -> None:
    save("good")
    line = "qrels new=part.run --baseline old={} --no-worse AP --require 'nDCG@10 > 0' -f json --quiet"
    for baseline in ("good.run", "good.json"):
        done = gate(line.format(baseline))
        assert [run["name"] for run in json.loads(done.out)["runs"]] == ["new", "old"]
    Path("a=b.run").write_text(Path("good.run").read_text())
    assert gate("qrels a=b.run --require 'AP > 0'").code == 0
    assert fails("gate", "qrels", "a=-", "--baseline", "-", "--no-worse", "AP").startswith(
        "gradeval: '-' can be"
    )


# options


def unjudged(name: str, count: int) -> None:
    """The run good with other documents in the first ranks."""
    rows = "".join(f"{x} Q0 new{k} 1 {99 - k} t\n" for x in QUERIES for k in range(count))
    Path(f"{name}.run").write_text(rows + Path("good.run").read_text())


def test_runs_that_differ_in_what_is_judged_are_noted() -> None:
    unjudged("new", 3)
    line = "qrels new.run --baseline good.run --max-drop 'nDCG@5 1'"
    message = "warning: Judged@5 of the runs differs, from 40.0 % to 100.0 %: unjudged documents"
    assert message in gate(line).err
    assert "Judged" not in gate(f"{line} -J --quiet").err
    assert gate(f"{line} --strict").code == 2
    assert gate(f"{line} --strict --allow judged_differs").code == 0
    # without a check against the baseline it does not matter
    assert (
        "Judged"
        not in gate("qrels new.run --baseline good.run --require 'AP > 0' --allow judged_share --quiet").err
    )
    unjudged("same", 0)
    assert "differs" not in gate("qrels same.run --baseline good.run --max-drop 'AP 1'").err


def test_options_of_the_input() -> None:
    """They apply to the run and the baseline, and a saved result must have been made with them."""
    lines = [line.split() for line in Path("qrels").read_text().splitlines()]
    Path("qrels.csv").write_text(
        "user,item,stars,clicks\n" + "".join(f"{q},{d},{g},0\n" for q, _, d, g in lines)
    )
    for name in ("good", "poor"):
        rows = [line.split() for line in Path(f"{name}.run").read_text().splitlines()]
        Path(f"{name}.csv").write_text("user,item,s\n" + "".join(f"{r[0]},{r[2]},{r[4]}\n" for r in rows))
    columns = "--columns query=user,document=item,grade=stars,score=s"
    expected = gate("qrels good.run --baseline poor.run --no-worse AP --require 'AP > 0.2' -f json")
    done = gate(
        f"qrels.csv good.csv --baseline poor.csv {columns} --qrels-format csv --run-format csv "
        "--no-worse AP --require 'AP > 0.2' -f json"
    )
    assert json.loads(done.out)["checks"] == json.loads(expected.out)["checks"]
    gradeval("qrels.csv", "poor.csv", *columns.split(), "-m", "AP", "-q", "-f", "json", "-o", "poor.json")
    checks = f"qrels.csv good.csv --baseline poor.json {columns}"
    assert gate(f"{checks} --no-worse AP").code == 0
    other = gate(f"{checks.replace('stars', 'clicks')} --no-worse AP")
    assert other.lines[0].startswith(
        "poor.json: it was made with --columns 'document=item,grade=stars,query=user', and this command has "
        "'document=item,grade=clicks,query=user'. Give the same options"
    )
    other = gate(f"{checks} --no-worse AP --ignore-identical-ids")
    assert "made with --ignore-identical-ids off, and this command has on" in other.err
    assert gate(f"qrels.csv good.csv {columns} --qrels-format trec --require 'AP > 0'").code == 2


def test_a_feature_of_the_judgments_is_the_run() -> None:
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


def test_documents_with_the_id_of_their_query_are_ignored() -> None:
    rows = "".join(f"{x} Q0 {x} 1 99 t\n" for x in QUERIES)
    Path("own.run").write_text(rows + Path("good.run").read_text())
    line = "qrels own.run --baseline good.run --max-drop 'AP 0'"
    assert gate(line).code == 1
    assert gate(f"{line} --ignore-identical-ids").code == 0


# reports


def test_formats() -> None:
    checks = "qrels poor.run --baseline good.run --max-drop 'AP 0' --quiet"
    table = gate(checks)
    assert table.err == ""
    json_ = gate(f"{checks} -f json")
    content = json.loads(json_.out)
    assert json_.lines == ["gate failed: 1 of 1 check did not hold (1 failed)"]
    assert (content["verdict"], content["exit_code"]) == ("failed", 1)
    assert [run["path"] for run in content["runs"]] == ["poor.run", "good.run"]
    assert len(content["qrels"]["sha256"]) == 64
    [check] = content["checks"]
    assert (check["check"], check["verdict"], check["n"]) == ("max-drop AP 0", "failed", 60)
    assert check["margin"] == pytest.approx(check["mean"] - check["baseline_mean"])
    tsv = gate(f"{checks} -f tsv --worst 2")
    assert [line.split("\t")[0] for line in tsv.out.splitlines()] == [
        "check", "max-drop AP 0", "", "check", "max-drop AP 0", "max-drop AP 0"
    ]  # fmt: skip
    md = gradeval("gate", *shlex.split(checks), "-f", "md")
    assert md.out.splitlines()[-1] == "**gate failed: 1 of 1 check did not hold (1 failed)**"
    done = gate(f"{checks} -o out")
    assert done.out == "" and Path("out").read_text() == table.out
    gate(f"{checks} -o out.json")
    assert json.loads(Path("out.json").read_text()) == content
    assert gate(f"{checks} -o out.csv").lines[0].startswith("gradeval: out.csv: no format has the ending .csv")


def test_formats_for_programs_say_why_nothing_could_be_judged() -> None:
    line = "qrels none.run --require 'AP > 0'"
    content = json.loads(gate(f"{line} -f json").out)
    assert (content["exit_code"], content["checks"]) == (2, [])
    assert content["problems"] == ["none.run: no such file. Check the path"]
    done = gradeval("gate", *shlex.split(f"{line} -f md"))
    assert done.code == 2 and "no such file" in done.out
    assert done.out.endswith("**gate not judged: see the errors**\n")
    for format in ("table", "tsv"):
        assert gate(f"{line} -f {format}").out == ""


def test_the_worst_queries() -> None:
    values = [
        {
            query: float(value)
            for _, query, _, value in (
                line.split("\t")
                for line in gradeval("qrels", run, "-m", "AP", "-q", "-n", "--digits", "full").out.splitlines()[
                    1:
                ]
            )
        }
        for run in ("good.run", "poor.run")
    ]
    losses = sorted(QUERIES, key=lambda query: (round(values[1][query] - values[0][query], 9), query))
    args = "qrels poor.run --baseline good.run --max-drop 'AP 0' --worst 3 -f json --quiet"
    worst = json.loads(gate(args).out)["checks"][0]["worst"]
    assert [one["query"] for one in worst] == losses[:3]
    assert worst[0]["difference"] == pytest.approx(values[1][losses[0]] - values[0][losses[0]])


def test_a_terminal() -> None:
    done = gradeval("gate", "qrels", "good.run", "--require", "AP > 1", "--quiet", terminal=True)
    assert "\x1b[1mfailed\x1b[0m" in done.out
    assert done.out.splitlines()[-1] == "\x1b[1mgate failed: 1 of 1 check did not hold (1 failed)\x1b[0m"


def test_junit() -> None:
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


def annotations(done: Done) -> list[str]:
    return [line for line in done.lines if line.startswith("::")]


def test_github(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "qrels good.run --require 'AP > 99%' --require 'AP > 0' --github"
    done = gate(line)
    assert [one.partition("gate::")[2][:16] for one in annotations(done)] == [
        "AP > 0.99: faile",
        "gate failed: 1 o",
    ]
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("summary.md").write_text("before\n")
    gate(line)
    gate("qrels none --require 'AP > 0' --github")
    text = Path("summary.md").read_text()
    assert text.startswith("before\n## gradeval gate\n\n**Checks**\n") and text.count("## gradeval gate") == 2
    assert "| none: no such file. Check the path |" in text
    held = gate("qrels good.run --require 'AP > 0' --github")
    assert annotations(held) == ["::notice title=gradeval gate::gate held: 1 of 1 check held"]
    warned = gate("qrels good.run --require 'AP > 0' --github --query-ids q59")
    assert annotations(warned)[0].startswith("::warning title=gradeval gate::only 1 query to judge by")
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
            for format in ("table", "tsv", "json", "md"):
                line = ("--require", "AP > 0", "-f", format, "--github", "--baseline", name, "--no-worse", "AP")
                done = gradeval("gate", *args, *line)
                ours = [one for one in annotations(done) if " title=gradeval gate::" in one]
                assert ours
                for text in (*done.out.splitlines(), *done.lines):
                    assert text in ours or not (text.lstrip().startswith("::") or "##[" in text)


def test_warnings() -> None:
    done = gate("qrels good.run --require 'AP > 0' --query-ids q01,q02,q03")
    assert done.code == 0
    assert done.lines == [
        "warning: only 3 queries to judge by; with fewer than 50, means depend on few queries and intervals "
        "are wide"
    ]
    assert gate("qrels good.run --require 'AP > 0' --query-ids q01,q02 --quiet").err == ""
    strict = gate("qrels good.run --require 'AP > 0' --query-ids q01,q02 --strict --junit gate.xml")
    assert (strict.code, strict.out) == (2, "")
    assert strict.lines[-2:] == [
        "gradeval: warnings are treated as errors (--strict)", "gate not judged: see the errors"
    ]  # fmt: skip
    assert ElementTree.parse("gate.xml").getroot().attrib["errors"] == "1"
    assert gate("qrels good.run --require 'AP > 0' --query-ids q01 --strict --allow few_queries").code == 0


def test_the_level_of_no_worse_is_said() -> None:
    done = gate("qrels good.run --baseline fair.run --no-worse 'AP RR'")
    assert (
        "Intervals: 95 % confidence, two-sided, paired t-test, uncorrected for the number of checks.\n"
        "Where nothing changed, 2.5 % of the no-worse checks fail by chance.\n"
    ) in done.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "Missing argument 'QRELS'."),
        ("qrels", "Missing argument 'RUN'."),
        ("qrels good.run poor.run --require 'AP > 0'", "Got unexpected extra argument (poor.run)"),
        ("qrels good.run -m AP --require 'AP > 0'", "-m requires --init: the checks name their metrics."),
        ("qrels good.run --init --require 'AP > 0'", "--init writes a file of checks, and goes with none"),
        ("qrels good.run --init --junit x", "--init writes a file of checks, and goes with none"),
        ("qrels good.run --require 'AP > 0' --junit x -o x", "--junit and --output name the same file."),
        ("qrels good.run --require 'AP > 0' --min-coverage 101", "'101' is not a percentage from 0 to 100."),
        ("qrels - --baseline - --no-worse AP", "'-' can be given once only"),
    ],
)
def test_usage(line: str, message: str) -> None:
    said = fails("gate", *shlex.split(line))
    assert said.startswith("gradeval: ") and message in said


def test_help_has_examples_that_parse() -> None:
    done = gradeval("gate", "--help")
    assert done.code == 0 and "Exit codes: 0 all checks held" in done.out
    save("fair")
    names = {"qrels.txt": "qrels", "new.run": "good.run", "old.run": "fair.run", "old.json": "fair.json"}
    examples = [one.strip() for one in EPILOG.splitlines() if one.startswith("  gradeval")]
    assert len(examples) == 8
    for example in examples:
        words = [names.get(word, word) for word in shlex.split(example)[1:]]
        assert gradeval(*words).code in (0, 1), example
