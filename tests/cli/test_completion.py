"""Completion of commands, files, options, values and metrics in a shell."""

import pytest
from click.shell_completion import CompletionItem, ShellComplete
from click.testing import CliRunner
from helpers import each

from gradeval.cli import app
from gradeval.file_formats import RUN_FORMATS
from gradeval.registry.metric import load

pytestmark = pytest.mark.usefixtures("folder")

load()


def completed(line: str) -> list[CompletionItem]:
    """What the shell is offered behind the line, whose last word is incomplete."""
    *args, incomplete = line.split(" ")
    return ShellComplete(app, {}, "gradeval", "_GRADEVAL_COMPLETE").get_completions(args, incomplete)


def words(line: str) -> list[str]:
    return [item.value for item in completed(line) if item.type == "plain"]


def files(line: str) -> bool:
    return any(item.type == "file" for item in completed(line))


@each(
    "line",
    [
        "",
        "q",
        "q ",
        "q r",
        "-m AP ",
        "q r -m AP ",
        "eval ",
        "-o ",
        "q r --output x",
        "--query-ids ",
        "--groups ",
    ],
)
def test_files_are_completed(line: str) -> None:
    assert files(line)
    assert words(line) == []


@each(
    ("line", "found"),
    [
        ("--qu", ["--query-weights", "--queries", "--query-ids", "--quiet"]),
        ("q r --ju", ["--judged-only"]),
        ("-f j", ["json", "jsonl"]),
        ("q r --ties ", ["trec", "input", "best", "worst", "expected"]),
        ("--queries b", ["both"]),
        ("q r --run-format ", [*RUN_FORMATS]),
        ("q r -m zzz", []),
        ("q r --allow ti", ["ties"]),
        ("q r --allow ties,no_r", ["ties,no_relevant"]),
        ("q r --allow ties,ti", []),
        ("q r --sort rankD", ["rankDCG"]),
        ("compare q r --allow ti", ["ties"]),
        ("metrics --family n", ["nDCG", "novelty", "NTCIR"]),
        ("metrics --family pre", ["precision"]),
    ],
)
def test_values_are_completed(line: str, found: list[str]) -> None:
    assert words(line) == found


@each(
    ("line", "found"),
    [
        ("-m nD", {"nDCG", "NDCNG", "nDCGphi", "ndcg_cut"}),
        ("q r --metric mu", {"muAP", "muMAP"}),
        ("q r -m µA", {"muAP"}),
        ("metrics rank", {"rankDCG"}),
        ("metrics nDCG Suc", {"Success"}),
        ("-m o", {"official"}),
        ("-m AP -m ALL", {"all_trec"}),
        ("metrics set", {"set", "set_P", "set_F"}),
        ("-m trec", {"trec-dl"}),
        ("gate q r --require nD", {"nDCG", "NDCNG"}),
        ("trec_eval -m nd", {"ndcg", "ndcg_cut", "ndcg_rel", "nDCGphi"}),
        ("trec_eval q r -m map -m P", {"P"}),
        ("trec_eval -m off", {"official"}),
        ("ir_measures q r nD", {"nDCG", "nDCGphi"}),
        ("ir_measures q r AP Set", {"SetP", "SetF", "SetAP"}),
    ],
)
def test_names_of_metrics_are_completed(line: str, found: set[str]) -> None:
    """Whatever their case, by any of their names, and with what they mean."""
    offered = completed(line)
    assert found <= {item.value for item in offered}
    start = line.split()[-1].lower().replace("µ", "mu")
    assert all(item.value.lower().startswith(start) and item.help for item in offered)


@each(
    ("incomplete", "found"),
    [
        ("cov", ["coverage"]),
        ("AP muA", ["AP muAP"]),
        ("AP(rel=2)@5 ", ["AP(rel=2)@5 >=", "AP(rel=2)@5 <=", "AP(rel=2)@5 >", "AP(rel=2)@5 <"]),
        ("AP >= ", []),
        ("AP >= 0.4 ", []),
    ],
)
def test_checks_of_a_gate_are_completed(incomplete: str, found: list[str]) -> None:
    complete = ShellComplete(app, {}, "gradeval", "_GRADEVAL_COMPLETE")
    args = ["gate", "q", "r", "--require"]
    assert [item.value for item in complete.get_completions(args, incomplete)] == found
    assert complete.get_completions(["gate", "q", "r", "--max-drop"], "AP 2% ") == []


@pytest.mark.parametrize("before", ["AP,", "AP ", "nDCG(gain=exp)@5,10,", "AP, P(rel=2)@5 "])
def test_the_last_of_several_metrics_is_completed(before: str) -> None:
    def found(incomplete: str) -> list[str]:
        complete = ShellComplete(app, {}, "gradeval", "_GRADEVAL_COMPLETE")
        return [item.value for item in complete.get_completions(["q", "r", "-m"], incomplete)]

    assert found(before + "rank") == [f"{before}rankDCG"]
    assert len(found(before)) > 80
    assert found(f"{before}nDCG(gain=exp,r") == found(f"{before}P@5,1") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if shell == "bash":  # click asks bash for its version
        monkeypatch.setattr("click.shell_completion.BashComplete._check_version", lambda *_: None)
    result = CliRunner().invoke(app, [], prog_name="gradeval", env={"_GRADEVAL_COMPLETE": f"{shell}_source"})
    assert result.exit_code == 0
    assert f"_GRADEVAL_COMPLETE={shell}_complete" in result.output
