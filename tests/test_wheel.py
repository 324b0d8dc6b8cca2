"""The wheel that is built from this tree."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import gradeval

ROOT = Path(__file__).resolve().parents[1]


def can_build() -> bool:
    try:
        return int(version("setuptools").split(".")[0]) >= 77
    except PackageNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not can_build(), reason="setuptools 77 or later is not installed")
def test_wheel(tmp_path: Path) -> None:
    """It has every module, the marker of types and the command; no tests; and the command works."""
    tree, out, home = tmp_path / "tree", tmp_path / "out", tmp_path / "home"
    tree.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for name in ("gradeval", "tests", "sample_data"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    # without isolation nothing is fetched
    args = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *args, "-w", out, tree], check=True)

    [wheel] = out.iterdir()
    assert wheel.name == f"gradeval-{gradeval.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as file:
        file.extractall(home)
        names = {name for name in file.namelist() if ".dist-info/" not in name}
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "gradeval").rglob("*.py")}
    folders = (ROOT / "gradeval/commands/report/page", ROOT / "gradeval/guide")
    pages = {path.relative_to(ROOT).as_posix() for folder in folders for path in folder.iterdir()}
    assert names == {*modules, *pages, "gradeval/py.typed"}
    [license] = home.glob("*.dist-info/licenses/LICENSE")
    assert license.read_bytes() == (ROOT / "LICENSE").read_bytes()
    [entry_points] = home.glob("*.dist-info/entry_points.txt")
    assert entry_points.read_text().split("\n")[:2] == [
        "[console_scripts]",
        "gradeval = gradeval.__main__:main",
    ]

    command = [sys.executable, "-m", "gradeval", "q", "r", "-m", "AP"]
    (home / "q").write_text("1 0 a 1\n")
    (home / "r").write_text("1 Q0 a 1 1 tag\n")
    environment = os.environ | {"PYTHONPATH": str(home)}
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "run\tquery\tmetric\tvalue\nr\tall\tAP\t1.0000\n"
