"""The commands themselves: which is meant, help, the pages of metrics."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

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


@each(
    "line",
    [
        "q r -m AP",
        "-m AP q r",
        "q -m AP r",
        "eval q r -m AP",
        "eval -m AP q r",
        "--metric=AP q r",
        "-mAP -- q r",
        "-- q r -m AP",
        "./q ./r -m AP",
    ],
)
def test_eval_is_the_default(line: str) -> None:
    done = gradeval(*line.split())
    if line.startswith("-- "):
        assert done.code == 2  # then -m is a file
    else:
        assert (done.code, done.out) == (0, TSV)


def test_a_file_named_almost_like_a_command() -> None:
    assert fails("metric").startswith(
        "gradeval: 'metric' is neither a file nor a command. Did you mean 'metrics'?"
    )
    assert fails("eva", "q", "r").startswith(
        "gradeval: 'eva' is neither a file nor a command. Did you mean 'eval'?"
    )
    Path("metric").write_bytes(Path("q").read_bytes())
    assert gradeval("metric", "r", "-m", "AP").out == TSV


@each(
    ("line", "what"),
    [
        ("q", "Missing argument 'RUN...' (or --feature, for LETOR files)."),
        ("-q", "Missing argument 'QRELS'."),
        ("q r --verson", "No such option '--verson'"),
        ("q r --features 1", "No such option '--features'"),
        ("q r -m", "Option '-m' requires an argument."),
        ("- -", "'-' can be given once only: there is one standard input."),
        ("- s --groups -", "'-' can be given once only: there is one standard input."),
        ("metrics --all", "No such option '--all'"),
    ],
)
def test_usage_errors_are_one_line(line: str, what: str) -> None:
    said = fails(*line.split())
    assert said.startswith("gradeval: ")
    assert what.rstrip(".") in said
    assert said.endswith(" 'gradeval --help'.")
    assert "\n" not in said


@pytest.mark.parametrize(
    ("option", "meant"), [("--metrics", "--metric"), ("--querys", "--queries"), ("--jbos", "--jobs")]
)
def test_a_misspelled_option_gets_one_suggestion(option: str, meant: str) -> None:
    assert fails(option, "q", "r") == (
        f"gradeval: No such option '{option}'. Did you mean '{meant}'? Try 'gradeval --help'."
    )


# Help


@pytest.fixture(name="wide")
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


@each("line", ["--help", "eval -h", "q r --help"])
@pytest.mark.usefixtures("wide")
def test_help_has_every_option(line: str) -> None:
    done = gradeval(*line.split())
    assert (done.code, done.err) == (0, "")
    for param in eval_command.params:
        assert isinstance(param, click.Option) == (f"{param.opts[0]}" not in ("qrels", "runs"))
        for option in param.opts if isinstance(param, click.Option) else ():
            assert f" {option}" in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    for section in ("Metrics:", "Queries:", "Output:", "Input", "Other:"):
        assert done.out.count(f"\n{section}") == 1
    assert "  -h, --help " in done.out


def test_headings_of_every_help_are_texts() -> None:
    helps = {name: gradeval(name, "--help").out for name in cli.COMMANDS}
    assert [name for name, text in helps.items() if not text or "<function" in text] == []


def test_nothing_is_a_call_for_help() -> None:
    done = gradeval()
    assert (done.code, done.out) == (2, "")
    assert done.err == gradeval("--help").out


@each("line", [line.strip() for line in cli.EPILOG.splitlines() if line.startswith("  gradeval")])
def test_the_examples_of_the_help_are_right(line: str) -> None:

    words = shlex.split(line.split("   ")[0])[1:]
    files = {"qrels.txt": "q", "bm25.run": "r", "dense.run": "r", "q.txt": "q", "r.run": "r",
             "test.letor": "l", "model.scores": "s", "1-5,9": "1-2", "batch.toml": "m"}  # fmt: skip
    Path("m").write_text('runs = "{system}"\nsystems = ["r"]\n[collections.c]\nqrels = "q"\n')
    more = ["--min-coverage", "0"] if words[0] == "gate" else []
    if words[0] == "report":
        pytest.importorskip("jinja2", reason="jinja2 is not installed (gradeval[report])")
    done = gradeval(*(files.get(word, word) for word in words), *more)
    assert done.code == 0
    assert done.out or Path(words[words.index("-o") + 1]).read_text()


# Metrics


def test_the_list_and_the_pages_are_those_of_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gradeval("metrics") == (0, pages.table("", "", False) + "\n", "")
    both = pages.page("nDCG") + "\n\n" + pages.page("AP") + "\n"
    assert gradeval("metrics", "nDCG", "AP") == (0, both, "")
    monkeypatch.setenv("COLUMNS", "70")
    assert gradeval("metrics", "AP", terminal=True) == (0, pages.page("AP", 70) + "\n", "")


def test_metrics_by_their_names_and_parts() -> None:
    page = gradeval("metrics", "nDCG").out
    for name in ("ndcg", "NDCG", "nDCG@10", "nDCG(gain=exp)@5", "ndcg_cut.5", "ndcg_cut_5"):
        assert gradeval("metrics", name).out == page
    assert gradeval("metrics", "µAP").out == gradeval("metrics", "muAP").out
    # The others are in tests/registry.
    assert gradeval("metrics", "--family", "nDCG").out == pages.table("nDCG") + "\n"
    assert gradeval("metrics", "--graded").out == pages.table(graded=True) + "\n"
    assert gradeval("metrics", "--search", "kendall").out == pages.table(word="kendall") + "\n"
    assert fails("metrics", "--family", "zz").startswith(
        "gradeval: unknown family 'zz': the families are average"
    )
    assert "mutually exclusive" in fails("metrics", "AP", "--graded")
    assert fails("metrics", "nDCG", "nDGC") == "gradeval: nDGC: did you mean nDCG?"


def test_main_ends_with_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "end", sys.exit)
    for args, code in ((["--version"], 0), (["none", "r"], 2)):
        with pytest.raises(SystemExit) as ended:
            cli.main(args)
        assert ended.value.code == code


def test_what_is_registered_for_the_end_runs() -> None:
    """The process ends at once, but not before what a plugin, or coverage, has registered."""
    code = "import atexit; atexit.register(print, 'the end'); from gradeval import cli; cli.main(['--version'])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[1:] == ["the end"]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupted_command_ends_by_the_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "main", interrupt)
    monkeypatch.setattr(cli.os, "kill", lambda *args: sent.append(args))
    monkeypatch.setattr(cli, "end", sys.exit)
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        cli.main(["q", "r"])
    assert ended.value.code == 130
    assert sent == [(os.getpid(), cli.signal.SIGINT)]
