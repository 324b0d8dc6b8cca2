"""A metric of another package, which is really installed: found by the entry point group gradeval.metrics."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import gradeval

MODULE = '''\
from __future__ import annotations

from gradeval.registry.params import Cutoff
from gradeval.registry.metric import metric


@metric("ToyGain", aliases=["plaything"], range=(0, None), example="ToyGain@2")
def toy_gain(judgments, *, cutoff: Cutoff):
    """What the first ranks add up to.

    ToyGain@k = sum of the grades in the first k ranks.

    Returns float64 (Q,), from 0 up; 0 where nothing was retrieved. Unit: grades.
    Source: this test.
    """
    import numpy as np

    return judgments.segments.sum(np.where(judgments.top(cutoff), judgments.grade, 0.0))
'''
NAME, VERSION = "gradeval_toy", "1.0"
INFO = f"{NAME}-{VERSION}.dist-info"
FILES = {
    f"{NAME}/__init__.py": "",
    f"{NAME}/metrics.py": MODULE,
    f"{INFO}/METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{INFO}/entry_points.txt": f"[gradeval.metrics]\ntoy = {NAME}.metrics\n",
}
BAD = '''\
import sys, time
from gradeval.registry.metric import metric


@metric("BadExit", aliases=["map", "bad"])
def bad_exit(judgments):
    """Ends the program."""
    sys.exit(0)


@metric("AP")
def another_ap(judgments):
    """Another AP."""
    return judgments.retrieved


@metric("BadWait")
def bad_wait(judgments):
    """Waits for Ctrl-C, and catches it."""
    print("waiting", file=sys.stderr, flush=True)
    try:
        time.sleep(60)
    except BaseException:
        pass
    return judgments.retrieved
'''
BROKEN = {
    f"{NAME}/bad.py": BAD,
    f"{NAME}/exit.py": "import sys\nsys.exit(0)\n",
    f"{NAME}/old.py": "raise RuntimeError('made for\\nanother gradeval')\n",
    f"{INFO}/entry_points.txt": "[gradeval.metrics]\n"
    f"a_gone = {NAME}.gone\nbad = {NAME}.bad\nexit = {NAME}.exit\nold = {NAME}.old\ntoy = {NAME}.metrics\n"
    f"z_gone = {NAME}_gone\n",
}

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("pip") is None, reason="there is no pip")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("toy"), FILES)


@pytest.fixture(scope="module")
def broken_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with entry points that cannot be loaded, too, before the one that can and after it."""
    return installed(tmp_path_factory.mktemp("broken"), FILES | BROKEN)


def installed(folder: Path, files: dict[str, str]) -> Path:
    """A folder with the package in it, put there by pip from a wheel."""
    wheel = folder / f"{NAME}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{INFO}/RECORD", "".join(f"{name},,\n" for name in [*files, f"{INFO}/RECORD"]))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    target = folder / "site"
    subprocess.run([*pip, "--no-index", "--no-deps", "--target", str(target), str(wheel)], check=True)
    return target


def started(site: Path, *args: str) -> subprocess.Popen[str]:
    home = str(Path(gradeval.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), home]), "LC_ALL": "C.UTF-8"}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-m", "gradeval", *args], env=environment, stdout=pipe, stderr=pipe, text=True
    )


def command(site: Path, *args: str) -> subprocess.CompletedProcess[str]:
    with started(site, *args) as process:
        out, err = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def files(folder: Path) -> list[str]:
    (folder / "q").write_text("1 0 a 3\n1 0 b 1\n1 0 c 1\n")
    (folder / "r").write_text("1 Q0 a 1 3 t\n1 Q0 x 2 2 t\n1 Q0 b 3 1 t\n")
    return [str(folder / "q"), str(folder / "r")]


def test_it_is_listed_under_its_family_and_has_a_page(site):
    listed = command(site, "metrics").stdout
    assert "\nmetrics\n  ToyGain " in listed
    page = command(site, "metrics", "plaything")
    assert page.returncode == 0, page.stderr
    assert page.stdout.startswith("ToyGain\n\nWhat the first ranks add up to.\n")
    assert "Aliases: plaything" in page.stdout
    assert "  1.0000 for the example ranking" in page.stdout


def test_it_is_evaluated(site, tmp_path):
    done = command(site, *files(tmp_path), "-m", "toygain@1,3 AP ToyGain(judged_only=true)@2", "-f", "tsv")
    assert done.returncode == 0, done.stderr
    assert [line.split("\t")[2:] for line in done.stdout.splitlines()[1:]] == [
        ["ToyGain@1", "3.0000"],
        ["ToyGain@3", "4.0000"],
        ["AP", "0.5556"],
        ["ToyGain(judged_only=true)@2", "4.0000"],
    ]


def test_a_typo_of_it_gets_a_suggestion(site, tmp_path):
    done = command(site, "metrics", "ToyGian")
    assert done.returncode == 2
    assert "did you mean ToyGain@2?" in done.stderr


FAILED = [
    f"plugin {NAME}.gone cannot be loaded: ModuleNotFoundError: No module named '{NAME}.gone'",
    f"plugin {NAME}.bad: alias 'map' of metric BadExit is ignored: it is already used for AP",
    f"plugin {NAME}.bad: metric 'AP' is ignored: the name is already used for AP",
    f"plugin {NAME}.exit cannot be loaded: SystemExit: 0",
    f"plugin {NAME}.old cannot be loaded: RuntimeError: made for another gradeval",
    f"plugin {NAME}_gone cannot be loaded: ModuleNotFoundError: No module named '{NAME}_gone'",
]


def test_the_list_has_what_works_and_says_what_does_not(site, broken_site):
    done = command(broken_site, "metrics")
    listed = [line for line in done.stdout.splitlines() if line not in ("bad", "") and "  Bad" not in line]
    assert done.returncode == 0
    assert listed == [line for line in command(site, "metrics").stdout.splitlines() if line]
    assert done.stderr.splitlines() == [f"warning: {line}" for line in FAILED]


@pytest.mark.parametrize("name", ["ToyGain", "nDCG"])
def test_a_metric_that_is_there_does_not_suffer_from_a_broken_plugin(name, site, broken_site):
    done = command(broken_site, "metrics", name)
    assert (done.returncode, done.stdout, done.stderr) == (0, command(site, "metrics", name).stdout, "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ToyGian", "ToyGian: did you mean ToyGain@2?"),
        ("nDGC@10", "nDGC@10: did you mean nDCG@10?"),
        ("xyzzy", "xyzzy: unknown metric: 'gradeval metrics' lists the metrics"),
    ],
)
def test_what_is_missing_may_be_of_a_broken_plugin(name, said, broken_site):
    done = command(broken_site, "metrics", name)
    assert (done.returncode, done.stdout) == (2, "")
    more = f"'gradeval metrics' reports {len(FAILED) - 1} more"
    assert done.stderr == f"gradeval: {said} ({FAILED[0]}; {more})\n"


def test_a_metric_that_ends_the_program_is_an_error(broken_site, tmp_path):
    done = command(broken_site, *files(tmp_path), "-m", "map bad", "-f", "tsv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gradeval: BadExit: plugin {NAME}.bad failed: SystemExit: 0\n"
    done = command(broken_site, *files(tmp_path), "-m", "map ToyGain@1", "-f", "tsv", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split("\t")[2:] for line in done.stdout.splitlines()[1:]] == [
        ["AP", "0.5556"],
        ["ToyGain@1", "3.0000"],
    ]


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_ctrl_c_ends_a_metric_that_catches_it(broken_site, tmp_path, jobs):
    """As it ends everything else: by the signal, whatever the plugin makes of it."""
    arguments = [*files(tmp_path), "-m", "AP BadWait", "-j", jobs]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what is ignored here would be there
    with started(broken_site, *arguments) as process:
        signal.signal(signal.SIGINT, before)
        try:
            assert process.stderr.readline() == "waiting\n"
            process.send_signal(signal.SIGINT)
            assert (process.wait(timeout=30), process.stdout.read()) == (-signal.SIGINT, "")
        finally:
            process.kill()


def test_without_the_package_there_is_no_such_metric(tmp_path):
    assert command(tmp_path, "metrics", "ToyGain").returncode == 2
