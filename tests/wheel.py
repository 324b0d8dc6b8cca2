"""make test-wheel: the wheel of dist/ in bare environments, one for each Python that is found here.

Each has what the wheel requires and nothing else, and runs --version, eval, gate and report on the sample data;
Python 3.10 does so again with the lowest versions that pyproject.toml allows. Packages come from PyPI.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from glob import glob
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
SEARCH = ROOT / "sample_data" / "search"
FIRST = (3, 10)


def pythons() -> dict[tuple[int, int], str]:
    """(3, minor) -> the path of that Python: those on PATH, and those of pyenv."""
    roots = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    folders = [*glob(f"{roots}/versions/*/bin"), *os.get_exec_path()]
    found: dict[tuple[int, int], str] = {}
    for folder in folders:
        for path in sorted(glob(f"{folder}/python3.*")):
            if not re.fullmatch(r"python3\.\d+", os.path.basename(path)):
                continue
            minor = int(path.rpartition(".")[2])
            runs = subprocess.run([path, "-c", "import venv, ensurepip"], capture_output=True, check=False)
            if runs.returncode == 0 and (3, minor) >= FIRST:
                found.setdefault((3, minor), path)
    return dict(sorted(found.items()))


def lowest() -> Iterator[str]:
    """What pyproject.toml requires to run and to report, as name==lowest version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for requirement in (*project["dependencies"], *project["optional-dependencies"]["report"]):
        yield requirement.replace(">=", "==")


def try_wheel(python: str, wheel: Path, folder: Path, constraints: list[str]) -> None:
    """Raises CalledProcessError or AssertionError."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    own = folder / "bin" / "python"
    install = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[report]"]
    subprocess.run([*install, *constraints], check=True)

    def gradeval(*args: object) -> str:
        done = subprocess.run(
            [folder / "bin" / "gradeval", *map(str, args)],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "PYTHONWARNINGS": "error"},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout

    qrels, run = SEARCH / "qrels.txt", SEARCH / "hybrid.run"
    print(f"  {gradeval('--version').strip()} with numpy {version_of(own, 'numpy')}", flush=True)
    assert gradeval(qrels, run, "-m", "nDCG@10", "--quiet").splitlines()[1] == "hybrid\tall\tnDCG@10\t0.6865"
    assert "gate held" in gradeval("gate", qrels, run, "--require", "nDCG@10 >= 0.65", "--quiet")
    gradeval("report", qrels, run, SEARCH / "bm25.run", "-m", "nDCG@10", "-o", "page.html", "--quiet")
    assert "0.6865" in (folder / "page.html").read_text("utf-8")
    assert (folder / "share/bash-completion/completions/gradeval").exists()


def version_of(python: Path, name: str) -> str:
    script = f"import {name}; print({name}.__version__)"
    return subprocess.run([python, "-c", script], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make test-wheel", description=__doc__)
    parser.add_argument("--lowest", action="store_true", help="try Python 3.10 with the lowest versions only")
    only_lowest = parser.parse_args().lowest
    [wheel] = (ROOT / "dist").glob("*.whl")
    available = pythons()
    cases = [] if only_lowest else [(version, path, list[str]()) for version, path in available.items()]
    first = min(available)
    if first == FIRST:
        cases.append((first, available[first], [*lowest()]))
    for version, path, constraints in cases:
        print(f"Python {version[0]}.{version[1]}{', the lowest versions' if constraints else ''}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try_wheel(path, wheel, Path(folder), constraints)
    if first != FIRST:
        print("Python 3.10 is not here: the lowest versions were not tried")
    return 0


if __name__ == "__main__":
    sys.exit(main())
