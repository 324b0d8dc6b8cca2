"""gradeval spark without PySpark, without Java, and with wrong arguments."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from cli.command import gradeval

NEEDED = (
    "gradeval: gradeval spark requires PySpark and Java: pip install 'gradeval[spark]', and on Debian "
    "apt install default-jre-headless"
)


def test_without_pyspark_or_java(tmp_path: Path) -> None:
    """One line that names the extra and the package."""
    code = (
        "import sys; sys.modules['pyspark'] = None; from gradeval.cli import run; sys.exit(run(sys.argv[1:]))"
    )
    environment = os.environ | {"PATH": "", "JAVA_HOME": ""}
    (tmp_path / "q.txt").write_text("q 0 d 1\n")
    command = [sys.executable, "-c", code, "spark", str(tmp_path / "q.txt"), str(tmp_path / "q.txt")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith(NEEDED)
    assert "java" in line


def test_help_needs_neither() -> None:
    done = gradeval("spark", "--help")
    assert done.code == 0
    assert "--master" in done.out


def test_wrong_usage() -> None:
    assert (
        gradeval("spark", "q.txt").err == "gradeval: Missing argument 'RUN...'. Try 'gradeval spark --help'.\n"
    )
    assert "'x' is not NAME=VALUE" in gradeval("spark", "q.txt", "r.txt", "--conf", "x").err
