"""sample_data is what the script makes, and the program prints what stands beside it."""

import shlex

from cli.command import gradeval
from helpers import each

from .make import FOLDER, ROOT, cases, data

CASES = cases()
SAMPLES = ROOT / FOLDER


def test_the_script_makes_the_same_bytes():
    for path, text in data().items():
        assert (SAMPLES / path).read_bytes() == text.encode(), path
    # every file is accounted for
    found = {path.relative_to(SAMPLES).as_posix() for path in SAMPLES.rglob("*") if path.is_file()}
    assert found == {"README.md", *data(), *(case.expected for case in CASES)}


@each("case", CASES, ids=[case.expected for case in CASES])
def test_the_program_prints_what_is_expected(case, monkeypatch):
    monkeypatch.chdir(ROOT)
    done = gradeval(*shlex.split(case.command)[1:])
    assert done.code == 0, done.err
    assert done.out == (SAMPLES / case.expected).read_text("utf-8")
