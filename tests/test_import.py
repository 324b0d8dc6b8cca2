"""What is imported when: nothing heavy by `import gradeval`, neither rich nor scipy for a TSV."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import gradeval

HEAVY = ("numpy", "scipy", "click", "rich", "jinja2", "pandas", "polars", "asyncio", "importlib.metadata")


def python(code: str, *args: object) -> str:
    """What the code prints in a process of its own, where warnings are errors."""
    command = [sys.executable, "-W", "error", "-c", code, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported_by(steps: Sequence[str], *args: object) -> list[set[str]]:
    """Which of HEAVY are imported after each step, of one process after the other steps."""
    tell = f"\nprint('heavy', *(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)\n"
    command = [sys.executable, "-c", "import sys\n" + "".join(step + tell for step in steps), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return [set(line.split()[1:]) for line in done.stderr.splitlines() if line.split()[:1] == ["heavy"]]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "q").write_text("q 0 a 1\nq 0 b 2\nq 0 c 0\n")
    (tmp_path / "r").write_text("q Q0 a 1 2 t\nq Q0 b 2 1 t\n")
    return tmp_path / "q", tmp_path / "r"


def test_import_gradeval_is_light(files: tuple[Path, Path]) -> None:
    steps = [
        "import gradeval\nassert [m for m in sys.modules if m.startswith('gradeval')] == ['gradeval']",
        "dir(gradeval)\ngradeval.__version__\ngradeval.GradevalError",
        "gradeval.evaluate(*sys.argv[1:]).to_dict()",
    ]
    assert imported_by(steps, *files) == [set(), set(), {"numpy"}]


def test_the_command_imports_what_it_needs(files: tuple[Path, Path]) -> None:
    """No numpy for help, neither rich nor scipy for a TSV."""
    helps = (
        ["--help"],
        ["--version"],
        ["eval", "--help"],
        ["compare", "--help"],
        ["gate", "--help"],
        ["plot", "curve", "--help"],
        ["report", "--help"],
    )
    steps = [f"assert run({args}) == 0" for args in helps]
    steps.append("assert run([*sys.argv[1:], '-q']) == 0")
    forms = ("csv", "json", "jsonl", "md", "latex", "trec", "table")
    steps += [f"assert run([*sys.argv[1:], '-q', '-m', 'AP', '-f', {form!r}]) == 0" for form in forms]
    first, *imported = imported_by(["from gradeval.cli import run", *steps], *files)
    assert first == {"click"}
    assert imported[: len(helps)] == [{"click"}] * len(helps)
    assert imported[len(helps) : -1] == [{"numpy", "click"}] * len(forms)
    assert "rich" in imported[-1]


def test_numpy_starts_no_threads_for_the_command() -> None:
    """They would spin for 60 ms, on a processor that a thread of ours could have."""
    tell = "import numpy, os\nprint(len(os.listdir('/proc/self/task')))"
    stopped = "import os\nos.environ.pop('OPENBLAS_NUM_THREADS', None)\n"
    stopped += "from gradeval import __main__, cli\ncli.main = lambda: None\n__main__.main()\n"
    if not Path("/proc/self/task").is_dir():
        pytest.skip("only Linux tells the threads of a process")
    assert python(stopped + tell) == "1\n"


def test_public_names_stand_once() -> None:
    """The imports for type checkers are those of the table, and dir() shows nothing else."""
    import ast

    source = ast.parse(Path(gradeval.__file__).read_text("utf-8"))
    checked = {
        name.asname: node.module if name.asname == name.name else f"{node.module}.{name.name}"
        for block in source.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for name in node.names
    }
    homes = {name: ".".join(filter(None, ["gradeval", home])) for name, home in gradeval._HOME.items()}
    parts = {
        name: home.removesuffix(f".{name}") if name in gradeval._MODULES else home
        for name, home in homes.items()
    }
    assert checked == parts
    assert dir(gradeval) == sorted(gradeval.__all__) == sorted(homes)
    assert all(getattr(gradeval, name) is not None for name in gradeval.__all__)
    with pytest.raises(AttributeError, match="module 'gradeval' has no attribute 'nothing'"):
        gradeval.nothing
