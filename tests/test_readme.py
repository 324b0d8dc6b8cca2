"""The README describes the program correctly: its commands are run, its lists and examples compared.

`python tests/test_readme.py` updates the output of its commands, and the table of formats.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.command import gradeval
from helpers import examples, own_metrics_only
from registry import test_invariants, test_metric

from gradeval.commands.batch.command import batch_command
from gradeval.commands.compare.command import compare_command
from gradeval.commands.eval import eval_command
from gradeval.commands.gate.command import gate_command
from gradeval.options import DEFAULT_METRICS
from gradeval.registry.dialects import BENCHMARKS, TREC_EVAL
from gradeval.registry.metric import REGISTRY, load
from gradeval.registry.pages import page
from gradeval.render import WRITERS

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "gradeval" / "guide").glob("*.md")))
TEXT = "\n".join(page.read_text("utf-8") for page in PAGES)
COLUMNS = 100
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="its commands are for a POSIX shell")


def blocks(kind: str) -> list[str]:
    return [text for found, text in BLOCK.findall(TEXT) if found == kind]


def commands(block: str) -> Iterator[tuple[str, str]]:
    """(command, output shown) of each '$ ' line of a block."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


COMMANDS = [one for block in blocks("console") for one in commands(block)]


ENVIRONMENT = {"COLUMNS": str(COLUMNS), "NO_COLOR": "1", "TERM": "xterm", "LC_ALL": "C.UTF-8"}


def bash(script: str, given: bytes = b"") -> bytes:
    """What a script writes to standard output; gradeval is a process of its own there."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    more = {"env": os.environ | ENVIRONMENT | {"PATH": path}, "stdout": subprocess.PIPE, "timeout": 60}
    return subprocess.run(["bash", "-c", script], cwd=ROOT, input=given, check=False, **more).stdout


def run(command: str) -> str:
    """What a command shows on a terminal without colours: standard error, then standard output.

    gradeval runs in this process, and bash does the rest: what it makes of the words, and other programs.
    """
    if "<(" in command or "2>&1" in command:
        return bash(command).decode()
    pipeline, *then = re.split("(?=; echo | && echo )", command)
    stages = re.split(r" \| ", pipeline)
    said, shown, code = "", b"", 0
    for place, stage in enumerate(stages, 1):
        program, _, words = stage.partition(" ")
        if program != "gradeval":
            shown = bash(stage, shown)
            continue
        args = bash(f"printf '%s\\0' {words}").decode().split("\0")[:-1]
        with pytest.MonkeyPatch.context() as patch, tempfile.NamedTemporaryFile() as file:
            patch.chdir(ROOT)
            for name, value in ENVIRONMENT.items():
                patch.setenv(name, value)
            file.write(shown)
            file.flush()
            code, out, err = gradeval(*args, stdin=file.name, terminal=place == len(stages))
        said, shown = said + err, out.encode()
    return said + (shown + b"".join(bash(f"(exit {code}){more}") for more in then)).decode()


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def under(head: str) -> str:
    """The rows of the table with this head line."""
    start = TEXT.index(head) + len(head)
    return TEXT[start : TEXT.index("\n\n", start) + 1]


def head(*cells: str) -> str:
    return row(*cells) + row(*["---"] * len(cells))


FORMAT_TABLE = head("format", "description", "ending of `-o`")


def test_formats_are_those_of_the_code():
    rows = [re.split(r" *\| *", line) for line in under(FORMAT_TABLE).splitlines()]
    endings = {name: f"`{writer.ending}`" if writer.ending else "" for name, writer in WRITERS.items()}
    assert {cells[1].strip("`"): cells[3] for cells in rows} == endings


def test_metrics_that_are_named_exist():
    load()
    lists = re.findall(r"^- [a-z ]+: (`.*`)$", TEXT, re.MULTILINE)
    names = [name for one in lists for name in re.findall(r"`(\w+)`", one)]
    assert len(lists) == 5
    assert len(set(names)) == len(names)
    assert set(names) <= set(REGISTRY)
    assert {one.split("@")[0] for one in DEFAULT_METRICS.split()} - {"num_q"} <= set(names)


def test_groups_that_are_named_are_those_of_the_code():
    [named] = re.findall(r"The groups (.*) are trec_eval's", TEXT)
    assert set(re.findall(r"`(\w+)`", named)) == set(TREC_EVAL)
    [named] = re.findall(r"The groups (.*) are\nwhat", TEXT)
    assert set(re.findall(r"`([\w-]+)`", named)) == set(BENCHMARKS)


def test_default_metrics_are_named():
    assert f"`{DEFAULT_METRICS}`" in TEXT


def test_there_are_commands():
    assert len(COMMANDS) > 10


def cases() -> list[Any]:
    """The commands with their outputs; a study of swaps takes seconds: tests/commands/study has a small one."""
    marks = {command: [pytest.mark.slow] * ("study swaps" in command) for command, _ in COMMANDS}
    return [pytest.param(*one, marks=marks[one[0]], id=one[0][:60]) for one in COMMANDS]


@pytest.mark.parametrize("command, output", cases())
def test_command_shows_this(command, output):
    assert run(command) == output


[GATE] = [command for command, _ in COMMANDS if "good enough" in command]


@pytest.mark.parametrize(
    ("change", "passes"),
    [
        ({}, True),
        ({"hybrid": "bm25"}, False),  # it is below
        ({"hybrid": "dense"}, False),  # it lacks two queries
        ({"hybrid": "nowhere"}, False),
        ({"hybrid.run": "{hybrid,dense}.run"}, False),
        ({"qrels.txt": "nowhere.txt"}, False),
        ({"0.65": "0.7"}, False),
        (
            {  # undefined: all grades are equal
                "nDCG@10": "rankDCG",
                "sample_data/search/qrels.txt": "<(printf '401 0 a 1\\n')",
                "sample_data/search/hybrid.run": "<(printf '401 Q0 a 1 2 t\\n')",
            },
            False,
        ),
    ],
)
def test_the_recipe_for_ci(change, passes):
    """It passes only if the run has a value that is high enough, for all queries."""
    command = GATE
    for old, new in change.items():
        assert old in command
        command = command.replace(old, new)
    assert run(command).endswith("good enough\n") == passes


def test_every_command_of_ours_is_run():
    for block in blocks("sh"):
        assert not re.search(r"^gradeval ", block, re.MULTILINE)


def test_every_option_is_named():
    missing = [
        option
        for command in (eval_command, compare_command, gate_command, batch_command)
        for param in command.params
        if param.param_type_name == "option"
        for option in param.opts
        if f"`{option}`" not in TEXT and f"`{option} " not in TEXT
    ]
    assert missing == []


def test_options_that_are_named_exist():
    there_are = {option for param in eval_command.params for option in param.opts}
    named = set(re.findall(r"`(--?[a-zA-Z-]+)", under(row("group", "option", "description"))))
    assert named - {"-h", "--help", "--version"} == there_are - {"qrels", "runs"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    """tests/cli/test_completion.py has the scripts."""
    assert any(f"_GRADEVAL_COMPLETE={shell}_source gradeval" in block for block in blocks("sh"))


def test_python_examples(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = "\n".join(blocks("pycon"))
    example = doctest.DocTestParser().get_doctest(text, {}, "README", "README.md", 0)
    assert len(example.examples) > 5
    report: list[str] = []
    result = doctest.DocTestRunner().run(example, out=report.append)
    assert result.failed == 0, "".join(report)


def test_the_metric_that_is_added():
    """It passes its own test and those that find it by themselves."""
    function, test = blocks("python")
    added: dict[str, Any] = {"__name__": "readme"}
    with own_metrics_only():
        exec(function, added)
        exec(test, added)
        added["test_graded_reciprocal_rank"]()
        each, metric = test_metric.TestEach(), REGISTRY["GRR"]
        for one in (each.test_page, each.test_example, each.test_parameters):
            one(metric)
        assert len(metric.invariants) == 3
        for invariant in metric.invariants:
            test_invariants.try_out(invariant, [metric], examples(times=0.2))
        assert page("grr").startswith("GRR\n\nGraded reciprocal rank.\n\nUse when the user wants one result")


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_make_has_the_commands_that_are_named():
    help_text = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    named = set(re.findall(r"\bmake (demo|test|thorough|lint|bench|clean|help)\b", TEXT))
    assert {"demo", "test", "thorough", "lint", "bench"} <= named
    assert named <= set(re.findall(r"make (\w+)", help_text))


def write() -> None:
    """The pages with what the program shows now."""

    def shown(match: re.Match[str]) -> str:
        if match[1] != "console":
            return match[0]
        return "```console\n" + "".join(f"$ {one}\n{run(one)}" for one, _ in commands(match[2])) + "```"

    for path in PAGES:
        path.write_text(BLOCK.sub(shown, path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    write()
