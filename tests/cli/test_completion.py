"""Completion of commands, files, options, values and metrics in a shell."""

import re

import pytest
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class, split_arg_string
from click.testing import CliRunner
from helpers import each

from gradeval.cli import app
from gradeval.cli.completion import use
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


def test_files_are_completed() -> None:
    for line in ("", "q", "q ", "q r -m AP ", "eval ", "q r --output x", "--query-ids ", "--groups "):
        assert any(item.type == "file" for item in completed(line)), line
        assert words(line) == []


@each("line, found", [
    ("--qu", ["--query-weights", "--queries", "--query-ids", "--quiet"]),
    ("q r --ju", ["--judged-only"]),
    ("q r --ties ", ["trec", "input", "best", "worst", "expected"]),
    ("q r --run-format ", [*RUN_FORMATS]),
    ("q r -m zzz", []),
    ("q r -m nDcg@1", ["nDcg@1", "nDcg@10", "nDcg@100", "nDcg@1000"]),
    ("q r --metric AP,zzz@1", []),
    ("guide schemas res", ["results"]),
    ("guide formats res", []),
    ("gate q r --require oVer", ["oVerlap@10"]),
    ("gate q r --no-worse over", []),
    ("q r --allow ties,mis", ["ties,missing", "ties,missing_values", "ties,missing_runs"]),
])  # fmt: skip
def test_values_are_completed(line: str, found: list[str]) -> None:
    assert words(line) == found


@each("line, found", [
    ("-m nD", {"nDCG", "nDCNG", "nDCGphi", "nDcg_cut"}),
    ("q r --metric mu", {"muAP", "muMAP"}),
    ("metrics rank", {"rankDCG"}),
    ("-m o", {"official"}),
    ("gate q r --require nD", {"nDCG", "nDCNG"}),
    ("-m BA", {"BAsic"}),
    ("trec_eval -m nd", {"ndcg", "ndcg_cut", "ndcg_rel", "ndCGphi"}),
    ("trec_eval -m off", {"official"}),
    ("ir_measures q r AP Set", {"SetP", "SetF", "SetAP"}),
])  # fmt: skip
def test_names_of_metrics_are_completed(line: str, found: set[str]) -> None:
    """Whatever their case, spelled as typed so far, by any of their names, and with what they mean."""
    offered = completed(line)
    assert found <= {item.value for item in offered}
    start = line.split()[-1].lower().replace("µ", "mu")
    assert all(item.value.lower().startswith(start) and item.help for item in offered)


@each("args, incomplete, found", [
    ("gate q r --require", "AP muA", ["AP muAP"]),
    *(
        ("q r -m", before + last, found)
        for before in ("AP,", "AP ", "nDCG(gain=exp)@5,10,", "AP, P(rel=2)@5 ")
        for last, found in (("rank", [f"{before}rankDCG"]), ("nDCG(gain=exp,r", []), ("P@5,1", []))
    ),
])  # fmt: skip
def test_the_last_word_of_a_value_is_completed(args: str, incomplete: str, found: list[str]) -> None:
    """In checks of a gate, and of several metrics."""
    complete = ShellComplete(app, {}, "gradeval", "_GRADEVAL_COMPLETE")
    assert [item.value for item in complete.get_completions(args.split(), incomplete)] == found
    if incomplete.endswith("rank"):
        assert len(complete.get_completions(args.split(), incomplete.removesuffix("rank"))) > 80


@each("typed, bash, other", [
    ('gradeval q r -m "AP rankd', ["plain,AP rankdCG"], ["plain AP rankdCG"]),
    ("gradeval q r --allow ties,same_", ["plain,ties,same_ranking"], ["plain ties,same_ranking"]),
    ("gradeval q r --metric=rankd", ["plain,rankdCG"], ["plain --metric=rankdCG"]),
    ("gradeval q r --ties=exp", ["plain,expected"], ["plain --ties=expected"]),
    ("gradeval q r --allow=ties,same_", ["plain,ties,same_ranking"], ["plain --allow=ties,same_ranking"]),
    ("gradeval q r --by=folder/gro", ["file,folder/gro"], ["file folder/gro"]),
    (r"gradeval q r -m AP\ rankD", [r"plain,AP\ rankDCG"], ["plain AP rankDCG"]),
    ("gradeval explain q r --query q1", ["plain,q1"], ["plain q1"]),
    ("gradeval q r --query-ids q3,q", ["file,q3,q", "plain,q3,q1", "plain,q3,q2"], [
        "file q3,q", "plain q3,q1", "plain q3,q2",
    ]),
    ("gradeval q r --metric=nDCG@2", ["plain,@20"], ["plain --metric=nDCG@20"]),
    ("gradeval q r -mrankd", ["plain,-mrankdCG"], ["plain -mrankdCG"]),
    ("gradeval q r --sort -rankd", ["plain,-rankdCG"], ["plain -rankdCG"]),
    ("gradeval q r --sort=-rankd", ["plain,-rankdCG"], ["plain --sort=-rankdCG"]),
    ("gradeval q r -qrankd", ["file,rankd"], ["file rankd"]),
    ("gradeval q r --query-ids x,q3", ["file,x,q3", "plain,x,q3"], ["file x,q3", "plain x,q3"]),
    ("gradeval help comp", ["plain,compare"], ["plain compare"]),
])  # fmt: skip
def test_answers(monkeypatch: pytest.MonkeyPatch, typed: str, bash: list[str], other: list[str]) -> None:
    """Bash is told what replaces the part behind the last break, as typed there; the others the whole word."""
    use()
    variables = {"COMP_LINE": typed, "COMP_POINT": str(len(typed)), "COMP_WORDBREAKS": " \t\n\"'@><=;|&(:"}
    [word] = re.findall(r"""("[^"]*|(?:\\.|\S)*)$""", typed)[:1]
    answers = {}
    for shell, place in (("bash", ""), ("zsh", str(len(split_arg_string(typed)) - 1)), ("fish", word)):
        for name, value in (variables | {"COMP_WORDS": typed, "COMP_CWORD": place}).items():
            monkeypatch.setenv(name, value)
        complete = get_completion_class(shell)(app, {}, "gradeval", "_GRADEVAL_COMPLETE")
        answers[shell] = complete.complete().splitlines()
    assert answers["bash"] == bash
    assert [" ".join(answers["zsh"][n : n + 2]) for n in range(0, len(answers["zsh"]), 3)] == other
    assert [line.partition("\t")[0].replace(",", " ", 1) for line in answers["fish"]] == other


def test_completion_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.shell_completion.BashComplete._check_version", lambda *_: None)  # asks bash
    for shell in ("bash", "zsh", "fish"):
        env = {"_GRADEVAL_COMPLETE": f"{shell}_source"}
        use()
        result = CliRunner().invoke(app, [], prog_name="gradeval", env=env)
        assert result.exit_code == 0
        assert f"_GRADEVAL_COMPLETE={shell}_complete" in result.output
