"""The README's examples for CI: their files are read as CI reads them, and their commands are run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = Path(__file__).resolve().parents[1] / "gradeval" / "guide" / "ci.md"
SEARCH = ROOT / "sample_data" / "search"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the commands are for a POSIX shell")


def example(name: str) -> str:
    """The block of the README for the file of this name."""
    blocks = re.findall(r"^```\w+\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    [text] = [text for text in blocks if text.startswith(f"# {name}\n")]
    return text


def parsed(name: str) -> Any:
    return pytest.importorskip("yaml").safe_load(example(name))


def without_install(commands: Sequence[str]) -> str:
    """A script of the commands; that which installs gradeval is there, and not run."""
    assert sum(command == "pip install ./third_party/gradeval" for command in commands) == 1
    return "\n".join(command for command in commands if not command.startswith("pip "))


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the README says that the examples have."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(SEARCH / "qrels.txt", tmp_path)
    ranks("hybrid")
    Path("gates.toml").write_text(example("gates.toml"))
    Path("Makefile").write_text(example("Makefile"))
    done = run("make -s baseline")
    assert (done.returncode, done.stdout) == (0, "")
    Path("new.run").unlink()


def ranks(system: str) -> None:
    """Make rank.sh print the run of a system."""
    Path("rank.sh").write_text(f"#!/bin/sh\ncat '{SEARCH}/{system}.run'\n")
    Path("rank.sh").chmod(0o755)
    os.utime("rank.sh", (2**31, 2**31))  # newer than any run


def run(script: str, shell: Sequence[str] = ("sh", "-ec"), **more: str) -> subprocess.CompletedProcess[str]:
    Path("bin").mkdir(exist_ok=True)
    Path("bin/gradeval").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradeval "$@"\n')
    Path("bin/gradeval").chmod(0o755)
    paths = {name: os.environ.get(name, "") for name in ("PATH", "PYTHONPATH")}
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path("bin").absolute()), paths["PATH"]]),
        "PYTHONPATH": os.pathsep.join([paths["PYTHONPATH"], str(ROOT)]).strip(os.pathsep),
        **more,
    }
    return subprocess.run(
        [*shell, script], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_make() -> None:
    ranks("bm25")  # test_github_actions has one that holds
    done = run("make -s gate")
    assert done.returncode == 2  # make's, for any error
    assert "gate failed: 3 of 6 checks did not hold (3 failed)" in done.stdout
    ranks("none")
    done = run("make -s gate")
    assert done.returncode == 2 and not Path("new.run").exists()


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_github_actions() -> None:
    workflow = parsed(".github/workflows/ranking.yml")
    assert {*workflow} == {"name", True, "permissions", "jobs"}  # to YAML 1.1 'on' is true
    assert workflow[True] == "pull_request"
    [job] = workflow["jobs"].values()
    assert {*job} == {"runs-on", "steps"}
    assert all(("run" in step) != ("uses" in step) for step in job["steps"])
    script = without_install([step["run"] for step in job["steps"] if "run" in step])
    done = run(script, ["bash", "-e", "-c"], GITHUB_STEP_SUMMARY="summary.md")
    assert done.returncode == 0, done.stderr
    assert "::notice title=gradeval gate::gate held: 6 of 6 checks held" in done.stderr
    assert "**gate held: 6 of 6 checks held**" in Path("summary.md").read_text()
    [upload] = [step for step in job["steps"] if "upload" in step.get("uses", "")]
    assert Path(upload["with"]["path"]).is_file() and upload["if"] == "always()"


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_gitlab_ci() -> None:
    [job] = parsed(".gitlab-ci.yml").values()
    assert {*job} == {"image", "variables", "script", "artifacts"}
    ranks("dense")  # which lacks two queries
    done = run(without_install(job["script"]))
    assert done.returncode == 2
    assert done.stdout.splitlines()[-1] == "the gate could not decide: 6 of 6 checks could not be judged"
    report = job["artifacts"]["reports"]["junit"]
    assert job["artifacts"]["when"] == "always"
    assert ElementTree.parse(report).getroot().attrib["errors"] == "6"
