"""The commands themselves: which is meant, help, the pages of metrics."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from unittest import mock

import click
import pytest
from helpers import each

from gradeval import cli
from gradeval.cli import app
from gradeval.commands.eval import eval_command
from gradeval.registry import pages
from gradeval.registry.metric import load

from .command import fails, gradeval

pytestmark = pytest.mark.usefixtures("folder")

load()
TSV = "run\tquery\tmetric\tvalue\nr\tall\tAP\t0.2593\n"


def test_eval_is_the_default() -> None:
    for line in ("q r -m AP", "-m AP q r", "q -m AP r", "eval q r -m AP", "-mAP -- q r", "./q ./r --metric=AP"):
        assert gradeval(*line.split())[:2] == (0, TSV), line
    assert gradeval("--", "q", "r", "-m", "AP").code == 2  # then -m is a file
    # a file named almost like a command
    for word, near in (("metric", "metrics"), ("eva", "eval"), ("evaluate", "eval"), ("compair", "compare")):
        hint = f"no such command or file. Did you mean '{near}'?"
        assert fails(word, "q", "r") == f"gradeval: {word}: {hint} Try 'gradeval --help'."
    assert fails("nothing") == "gradeval: nothing: no such command or file. Try 'gradeval --help'."
    Path("metric").write_bytes(Path("q").read_bytes())
    assert gradeval("metric", "r", "-m", "AP").out == TSV


def test_metrics_are_no_files() -> None:
    for line, metrics in (
        ("q r -m nDCG@10 AP", '"nDCG@10 AP"'),
        ("q r nDCG@10", "nDCG@10"),
        ("compare q r r P(rel=2)@5", '"P(rel=2)@5"'),
        ("compare q r r -m AP RR P@5", '"AP RR P@5"'),
    ):
        said = fails(*line.split())
        assert "metric" in said and said.partition("Try")[0].endswith(f": -m {metrics}. "), line
    Path("AP").write_bytes(Path("r").read_bytes())
    assert gradeval("q", "AP", "-m", "RR").out.count("AP") == 1  # a file of this name is a run
    assert fails("q", "none") == "none: no such file. Check the path"


@each("line", ["", "-h", "metrics", "metrics --search precision", "guide", "guide --search bootstrap"])
def test_a_terminal_of_80_columns(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = gradeval(*line.split(), terminal=True)
    lines = (done.out or done.err).splitlines()
    assert lines and max(map(len, lines)) <= 80
    if line not in ("", "-h"):
        assert len(gradeval(*line.split()).out.splitlines()) < len(lines)  # in a pipe they are whole


@each("line, said", [
    ("q r ndgc@10", "ndgc@10: no such file. Did you mean nDCG@10? It is written -m nDCG@10."),
    ("q r mapp", "-m "),
    ("AP q r", "AP is a metric, not a file or command: gradeval QRELS RUN -m AP,"),
    ("map", "map is a metric,"),
    ("P@5 q r", "P@5 is a metric,"),
    ("fuse r r AP", "AP is a metric, not a file: --tune 'AP'"),
    ("validate q AP", "AP is a metric, not a file: gradeval validate takes files only"),
    ("explain q r AP", "AP is a metric, not a file: -m AP."),
    ("gate q r AP>=0.2", "AP>=0.2 is a check, not a file: --require 'AP>=0.2'."),
    ("gate q AP>=0.2", "AP>=0.2 is a check, not a file: --require 'AP>=0.2'."),
    ("gate q r AP", "AP is a metric, not a file: --require 'AP >= X'."),
    ("help evaluate", "evaluate: no such command. Did you mean 'eval'?"),
    ("help nosuch", "nosuch: no such command. Choose from batch, compare,"),
    ("study rank", "rank: no such command. Choose from"),
    ("plot curves", "curves: no such command. Did you mean 'curve'?"),
    ("guide ties", "the guide has no page 'ties'. Did you mean 'ties-and-holes'?"),
    ("guide promis", "the guide has no page 'promis'. Did you mean 'promise'?"),
    ("guide holes", "Did you mean 'ties-and-holes'?"),
])  # fmt: skip
def test_words_in_the_wrong_place(line: str, said: str) -> None:
    """What they are, or what is near, and what to type."""
    assert said in fails(*line.split())


def test_what_other_programs_have() -> None:
    assert gradeval("version") == gradeval("--version")
    assert gradeval("help") == gradeval("--help")
    assert gradeval("help", "compare") == gradeval("compare", "--help")
    assert "\n  help " not in gradeval("--help").out
    Path("help").write_bytes(Path("q").read_bytes())
    assert gradeval("help", "r", "-m", "AP").out == TSV


@each("line, what", [
    ("q", "Missing argument 'RUN...' (or --feature, for LETOR files)"),
    ("-q", "Missing argument 'QRELS'"),
    ("q r --verson", "No such option '--verson'"),
    ("q r --features 1", "No such option '--features'"),
    ("q r -m", "Option '-m' requires an argument"),
    ("- -", "'-' can be given once only: there is one standard input."),
    ("- s --groups -", "'-' can be given once only: there is one standard input."),
    ("--metrics q r", "gradeval: No such option '--metrics'. Did you mean '--metric'? Try"),

])  # fmt: skip
def test_usage_errors_are_one_line(line: str, what: str) -> None:
    said = fails(*line.split())
    assert said.startswith("gradeval: ") and what in said
    assert said.endswith(" 'gradeval --help'.") and "\n" not in said


def test_help_has_every_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    options = [param for param in eval_command.params if isinstance(param, click.Option)]
    assert {param.name for param in eval_command.params} - {param.name for param in options} == {
        "qrels",
        "runs",
    }
    for line in ("--help", "eval --help", "q r --help"):
        done = gradeval(*line.split())
        assert (done.code, done.err) == (0, "")
        assert all(f" {name}" in done.out for param in options for name in param.opts)
        assert max(map(len, done.out.splitlines())) <= 100
        for section in ("Metrics:", "Queries:", "Output:", "Input", "Other:"):
            assert done.out.count(f"\n{section}") == 1
        assert "  -h  " in done.out and "  --help  " in done.out
    # nothing is a call for help
    assert gradeval() == (2, "", cli.INTRODUCTION)
    # headings are texts
    helps = {name: gradeval(name, "--help").out for name in cli.COMMANDS}
    assert [name for name, text in helps.items() if not text or "<function" in text] == []


def test_brief_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """The options of a command's own, a line each, and the names of those that other commands have too."""
    monkeypatch.setenv("COLUMNS", "80")
    for words in ("", *cli.COMMANDS, "study agreement", "study reuse", "plot queries", "plot swaps"):
        done = gradeval(*words.split(), "-h")
        assert (done.code, done.err) == (0, "") and len(done.out.splitlines()) <= 50, words
        text = done.out + gradeval(*words.split(), "--help").out
        assert max(map(len, text.splitlines())) <= 80, words
    assert "\n  --method rrf|sum|wsum " in gradeval("fuse", "-h").out
    # what is copied from examples is a command: a line ends within no quotes, and before no value
    gate = gradeval("gate", "--help").out
    assert "--require 'nDCG@10 >= 0.45' \\\n        --require 'Judged@10 >= 0.8'\n" in gate
    own, shared = gradeval("compare", "-h").out.split("\nAlso: ")
    assert "  --baseline RUN              The run to compare with, a file or a name" in own
    assert "--rel, " in shared and "\n  --rel " not in own
    assert shared.endswith("'gradeval compare --help' describes all of them, with examples.\n")
    assert gradeval("metrics", "-h") == gradeval("metrics", "--help")
    assert len(cli.INTRODUCTION.splitlines()) <= 40


@each("line", [line.strip() for line in cli.EPILOG.splitlines() if line.startswith("  gradeval")])
def test_the_examples_of_the_help_are_right(line: str) -> None:
    words = shlex.split(line.split("   ")[0])[1:]
    files = {"qrels.txt": "q", "bm25.run": "r", "dense.run": "r", "q.txt": "q", "r.run": "r",
             "test.letor": "l", "model.scores": "s", "1-5,9": "1-2", "batch.toml": "m"}  # fmt: skip
    Path("m").write_text('runs = "{system}"\nsystems = ["r"]\n[collections.c]\nqrels = "q"\n')
    if words[0] == "report":
        pytest.importorskip("jinja2", reason="jinja2 is not installed (gradeval[report])")
    more = ["--min-coverage", "0"] if words[0] == "gate" else []
    done = gradeval(*(files.get(word, word) for word in words), *more)
    assert done.code == 0
    assert done.out or Path(words[words.index("-o") + 1]).read_text()


def test_the_list_and_the_pages_are_those_of_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """By any name; more of them are in tests/registry."""
    page = pages.page("nDCG")
    for args, text in (
        ("", pages.table("", "", False)),
        ("nDCG AP", f"{page}\n\n{pages.page('AP')}"),
        ("nDCG(gain=exp)@5", page),
        ("µAP", pages.page("muAP")),
        ("--family nDCG", pages.table("nDCG")),
        ("--search kendall", pages.table(word="kendall")),
    ):
        assert gradeval("metrics", *args.split()) == (0, text + "\n", "")
    monkeypatch.setenv("COLUMNS", "70")
    assert gradeval("metrics", "AP", terminal=True) == (0, pages.page("AP", 70) + "\n", "")
    unknown = "gradeval: unknown family 'zz': the families are average"
    assert fails("metrics", "--family", "zz").startswith(unknown)
    assert "mutually exclusive" in fails("metrics", "AP", "--graded")
    assert fails("metrics", "nDCG", "nDGC") == "gradeval: nDGC: did you mean nDCG?"


def test_main_ends_with_the_code_or_the_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(cli, "end", sys.exit)
    monkeypatch.setattr(cli.os, "kill", lambda *args: sent.append(args))
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
    for args, code in ((["--version"], 0), (["none", "r"], 2), (["q", "r"], 130)):
        if code == 130:
            monkeypatch.setattr(app, "main", mock.Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(SystemExit) as ended:
            cli.main(args)
        assert ended.value.code == code
        assert sent == [(os.getpid(), cli.signal.SIGINT)] * (code == 130)


def test_what_is_registered_for_the_end_runs() -> None:
    """The process ends at once, but not before what a plugin, or coverage, has registered."""
    code = "import atexit; atexit.register(print, 'the end'); from gradeval import cli; cli.main(['--version'])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[1:] == ["the end"]
