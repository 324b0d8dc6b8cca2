"""What is imported when, what the process is told, and what the wheel that is built from this tree holds."""

import ctypes
import gc
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import SimpleNamespace
from unittest import mock

import pytest

import gradeval
from gradeval import process, statistics
from gradeval.registry import pages

HEAVY = ("numpy", "scipy", "click", "rich", "jinja2", "pandas", "polars", "asyncio", "importlib.metadata")


STATISTICS = [f"gradeval.statistics.{module.name}" for module in iter_modules(statistics.__path__)]
HELPS = [f"{name} --help" for name in ("", "eval", "compare", "gate", "plot curve", "report")] + ["--version"]
FORMS = ("csv", "json", "jsonl", "md", "latex", "trec")
# code, and which of HEAVY are imported after it, in a process of its own with qrels and a run as arguments
STEPS: list[tuple[str, set[str]]] = [
    ("import gradeval\nassert [m for m in sys.modules if m.startswith('gradeval')] == ['gradeval']", set()),
    ("dir(gradeval)\ngradeval.__version__\ngradeval.GradevalError", set()),
    ("from gradeval import __main__, cli\nfrom gradeval.cli import run", {"click"}),
    *((f"assert run({args.split()}) == 0", {"click"}) for args in HELPS),
    # no threads of numpy: they would spin for 60 ms, on a processor that a thread of ours could have
    ("cli.main = lambda: None\n__main__.main()\nimport numpy\nassert threads() == 1", {"click", "numpy"}),
    (f"import {', '.join(STATISTICS)}\ngradeval.study.criteria('rankDCG')", {"click", "numpy"}),
    ("gradeval.evaluate(*sys.argv[1:]).to_dict()", {"click", "numpy"}),
    ("assert run([*sys.argv[1:], '-q']) == 0", {"click", "numpy"}),
    *(
        (f"assert run([*sys.argv[1:], '-q', '-m', 'AP', '-f', {form!r}]) == 0", {"click", "numpy"})
        for form in FORMS
    ),
]


def test_what_is_imported_when(tmp_path: Path) -> None:
    """No numpy for help, neither rich nor scipy for a TSV, nor scipy until a test or a statistic needs it."""
    (tmp_path / "q").write_text("q 0 a 1\nq 0 b 2\nq 0 c 0\n")
    (tmp_path / "r").write_text("q Q0 a 1 2 t\nq Q0 b 2 1 t\n")
    tell = f"\nprint('heavy', *(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)\n"
    start = "import os, sys\nos.environ.pop('OPENBLAS_NUM_THREADS', None)\nfolder = '/proc/self/task'\n"
    start += "def threads():\n    return len(os.listdir(folder)) if os.path.isdir(folder) else 1\n"
    command = [sys.executable, "-c", start + "".join(code + tell for code, _ in STEPS)]
    files = [str(tmp_path / name) for name in "qr"]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    heavy = [{*line.split()[1:]} for line in done.stderr.splitlines() if line.startswith("heavy")]
    assert list(zip(STEPS, heavy, strict=True)) == [(step, step[1]) for step in STEPS]


def test_lists_of_metrics_and_their_sources_need_no_numpy() -> None:
    """A page does, which computes the value of its example."""
    lists = [], ["--family", "user"], ["--bibtex"], ["--bibtex", "AP", "MRR"]
    code = "import sys\nfrom gradeval.cli import run\nassert run(['metrics', *{}]) == 0\n"
    code = "".join(map(code.format, lists)) + "assert 'numpy' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{pages.table()}\n")


def test_public_names_stand_once() -> None:
    assert dir(gradeval) == sorted(gradeval.__all__) == sorted(gradeval._HOME)
    assert all(getattr(gradeval, name) is not None for name in gradeval.__all__)
    for module in gradeval._MODULES:
        assert sorted(dir(getattr(gradeval, module))) == sorted(getattr(gradeval, module).__all__)
    with pytest.raises(AttributeError, match="module 'gradeval' has no attribute 'nothing'"):
        gradeval.nothing


def test_what_the_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[int, int] = {}
    monkeypatch.setattr(process, "ON_LINUX", True)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(mallopt=told.__setitem__))
    monkeypatch.setattr(process.os, "cpu_count", lambda: 3)
    environment: dict[str, str] = {}
    monkeypatch.setattr(process.os, "environ", environment)
    process.keep_freed()
    assert told == {-3: 32 << 20, -1: 512 << 20, -8: 3}  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_ARENA_MAX
    assert environment == {"ARROW_DEFAULT_MEMORY_POOL": "system"}
    environment["ARROW_DEFAULT_MEMORY_POOL"] = "mimalloc"  # what a user has set
    process.keep_freed()
    assert environment == {"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}
    for library in (
        mock.Mock(side_effect=OSError),
        mock.Mock(side_effect=TypeError),
        lambda _: SimpleNamespace(),
    ):
        monkeypatch.setattr(ctypes, "CDLL", library)  # other libraries
        process.keep_freed()


def test_garbage_is_searched_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    for name in ("freeze", "enable"):
        monkeypatch.setattr(gc, name, lambda name=name: done.append(name))
    process.resume_garbage_collection()
    assert done == []  # nobody has stopped the search
    monkeypatch.setattr(gc, "isenabled", lambda: False)
    process.resume_garbage_collection()
    assert done == ["freeze", "enable"]


ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed")
def test_wheel(tmp_path: Path) -> None:
    """It has every module, the marker of types, the completions and the command; no tests; the command works.
    Built again it has the same bytes, and so has the sdist.
    """
    tree, home = tmp_path / "tree", tmp_path / "home"
    tree.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "Makefile"):
        shutil.copy(ROOT / name, tree)
    for name in ("gradeval", "tests", "sample_data"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    built = []
    for out in (tmp_path / "first", tmp_path / "second"):
        build = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
        subprocess.run(build, cwd=tree, capture_output=True, check=True)
        built.append({path.name: path.read_bytes() for path in out.iterdir()})
        (tree / "README.md").touch()
    assert built[0] == built[1]
    assert len(built[0]) == 2
    out = tmp_path / "first"

    [wheel] = out.glob("*.whl")
    assert wheel.name == f"gradeval-{gradeval.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as file:
        file.extractall(home)
        names = {name for name in file.namelist() if name.startswith("gradeval/")}
    paths = (path for ending in ("py", "pyi") for path in (ROOT / "gradeval").rglob(f"*.{ending}"))
    modules = {path.relative_to(ROOT).as_posix() for path in paths}
    folders = (
        ROOT / "gradeval/commands/report/page",
        ROOT / "gradeval/cli/completions",
        ROOT / "gradeval/guide",
    )
    pages = {path.relative_to(ROOT).as_posix() for folder in folders for path in folder.rglob("*.*")}
    assert names == {
        *modules,
        *pages,
        "gradeval/py.typed",
        "gradeval/registry/vectors.json",
        "gradeval/registry/sources.bib",
    }
    completions = {path.name for path in home.glob("*.data/data/share/*/*/*")}
    assert completions == {"gradeval", "_gradeval", "gradeval.fish"}
    [license] = home.glob("*.dist-info/licenses/LICENSE")
    assert license.read_bytes() == (ROOT / "LICENSE").read_bytes()
    [entry_points] = home.glob("*.dist-info/entry_points.txt")
    assert entry_points.read_text().split() == "[console_scripts] gradeval = gradeval.__main__:main".split()

    command = [sys.executable, "-m", "gradeval", "q", "r", "-m", "AP"]
    (home / "q").write_text("1 0 a 1\n")
    (home / "r").write_text("1 Q0 a 1 1 tag\n")
    environment = os.environ | {"PYTHONPATH": str(home)}
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "run\tquery\tmetric\tvalue\nr\tall\tAP\t1.0000\n"
