"""The workflow and the action in .github: they name what exists, and the action gates."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
ACTION = ROOT / ".github" / "actions" / "gate" / "action.yml"
SEARCH = ROOT / "sample_data" / "search"


def test_the_workflow_runs_what_exists() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    commands = [step["run"].split() for step in steps if "run" in step]
    assert {command[1] for command in commands if command[0] == "make"} <= {*targets}
    assert {command[0] for command in commands} <= {"make", ".ci/run"}
    [used] = [step for step in steps if step.get("uses", "").startswith("./")]
    assert (ROOT / used["uses"] / "action.yml") == ACTION
    assert {*used["with"]} <= {*yaml.safe_load(ACTION.read_text("utf-8"))["inputs"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code"),
    [('--require "nDCG@10 >= 0.65"', 0), ("--require 'nDCG@10 >= 0.9'", 1), ("", 2)],
)
def test_the_action_gates(arguments: str, code: int, tmp_path: Path) -> None:
    action = yaml.safe_load(ACTION.read_text("utf-8"))
    [gate] = [step for step in action["runs"]["steps"] if step.get("id") == "gate"]
    binaries = tmp_path / "gradeval" / "bin"
    binaries.mkdir(parents=True)
    (binaries / "gradeval").symlink_to(Path(sys.executable).parent / "gradeval")
    values = {
        "QRELS": SEARCH / "qrels.txt",
        "RUN": SEARCH / "hybrid.run",
        "ARGUMENTS": arguments,
        "JUNIT": "gate.xml",
    }
    of_github = {"RUNNER_TEMP": tmp_path, "GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary"}
    assert {*gate["env"]} == {*values}
    environment = os.environ | {name: str(value) for name, value in (values | of_github).items()}
    script = ["bash", "-e", "-o", "pipefail", "-c", gate["run"]]  # as GitHub's runner starts it
    done = subprocess.run(script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert (tmp_path / "output").read_text() == f"exit-code={code}\n"
    assert ("::error title=" in done.stderr) == (code != 0)
    assert "gradeval gate" in (tmp_path / "summary").read_text()
