"""The attacks themselves: a few cases of each pass, a planted fault is found, what fails can be run again."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest

from gradeval import Evaluator, cli
from gradeval.arrays.strings import Ids
from gradeval.evaluation import saved
from gradeval.formats import arrow, output, scan, sources, template
from gradeval.formats import diagnostics as problems
from gradeval.tables import judgments

from . import __main__ as command
from . import attack, keys, processes, resources
from .attack import Done, Tally, attack_of, attempt, kind_of, rng_of

SEED = 6
# how many cases take a fraction of a second
CASES = {
    "numbers": 3,
    "template": 12,
    "options": 30,
    "library": 15,
    "damage": 25,
    "saved": 35,
    "arrow": 40,
    "borders": 3,
    "keys": 20,
    "arguments": 25,
    "outputs": 25,
    "streams": 1,
    "resources": 1,
    "fork": 2,
}


def failures(name: str, folder: Path, count: int) -> list[str]:
    """What is wrong in the first cases of an attack."""
    found = []
    for number in range(count):
        (folder / str(number)).mkdir(parents=True)
        found.append(attempt(name, SEED, number, folder / str(number)).failure)
    return list(filter(None, found))


def test_every_attack_is_tried() -> None:
    assert CASES.keys() == command.ATTACKS.keys()


# those that start processes are for make thorough; tests/cli/test_streams.py tries what they do
SLOW = ("streams", "resources", "fork")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CASES]
)
def test_nothing_is_wrong(name: str, tmp_path: Path) -> None:
    assert failures(name, tmp_path, CASES[name] // 2 or 1) == []


def plant(name: str, patch: pytest.MonkeyPatch) -> None:
    """Make gradeval wrong in the way that an attack is there to find."""

    def double_rounding(mantissa, scale):
        return mantissa / scale, np.zeros(len(scale), bool)

    if name == "numbers":
        patch.setattr(scan, "_long_division", double_rounding)
    elif name == "template":
        patch.setattr(template, "_TO_HIGH", np.uint64(0))  # letters are digits
    elif name in ("options", "library"):
        patch.setattr(judgments.Judgments, "cut", lambda table, depth: table)
    elif name == "damage":
        patch.setattr(problems.Problems, "check", lambda kept: None)
    elif name == "saved":
        patch.setattr(saved, "_contradiction", lambda *_: "")
    elif name == "arrow":
        patch.setattr(arrow, "missing_rows", lambda *_: 1 / 0)
        patch.setattr(arrow, "printable", lambda text: 1 / 0)
    elif name == "fork":
        parent, plain = os.getpid(), Evaluator.evaluate
        patch.setattr(Evaluator, "evaluate", lambda *args: plain(*args) if os.getpid() == parent else 1 / 0)
    elif name == "borders":
        patch.setattr(sources, "_after_last_line", lambda buffer, filled: filled)
    elif name == "keys":
        patch.setattr(Ids, "same", lambda ids, rows, other, other_rows: np.ones(len(rows), bool))
    elif name == "outputs":
        patch.setattr(output, "_as_input", lambda path, about, inputs: "")
    elif name == "arguments":
        patch.setattr(cli, "_failed", lambda text: 2)
    else:
        patch.setattr(processes, "COMMAND", [sys.executable, "-S", "-c", "print('run'); 1 / 0"])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_planted_fault_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(name, monkeypatch)
    assert failures(name, tmp_path, CASES[name])


@pytest.mark.slow
def test_cases_follow_from_the_seed() -> None:
    for name in CASES:
        first, again, other = (attack_of(name).make(rng_of(name, seed, 7)) for seed in (1, 1, 2))
        assert first == again != other, name


def test_crafted_ids_collide() -> None:
    rng = random.Random(1)
    names = [keys.with_key(rng, 12345, size) for size in (8, 16, 16, 24, 64)]
    assert len(set(names)) == len(names)
    assert set(Ids.of(names).keys().tolist()) == {12345}


@pytest.mark.slow
def test_memory_can_be_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q").write_text("q 0 d 1\n")
    Path("r").write_text("q Q0 d 1 1 t\n")
    assert resources._run(["q", "r", "-j1"], 2 * resources.least())[0] == 0
    code, out, err = resources._run(["q", "r", "-j1"], resources.least() // 2)
    assert code
    assert err and not out


def test_kinds_of_failures() -> None:
    assert (
        kind_of("AP of query 'a': 0.5\nmore")
        == kind_of("AP of query 'b c': 0.25")
        != kind_of("RR of query 'a': 1")
    )
    trace = 'Traceback (most recent call last):\n  File "/a/{}.py", line {}, in f\n    x\nValueError: {}\n'
    assert (
        kind_of(trace.format("b", 1, "x"))
        == kind_of(trace.format("b", 2, "y"))
        != kind_of(trace.format("c", 1, "x"))
    )


@pytest.mark.slow
def test_a_case_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    args = ["--only", "borders", "--seed", "1", "--case", "2"]
    assert command.main(args) == 0
    assert capsys.readouterr().out == "1 passed, 0 failed\n"
    plant("borders", monkeypatch)
    assert command.main(args) == 1
    out = capsys.readouterr().out
    assert out.startswith("FAILED: borders, case 2 of seed 1\n")
    assert "again: python -m tests.fuzz --only borders --seed 1 --case 2\n" in out
    assert out.endswith(f"files: {Path('.fuzz/borders-1-2')}\n0 passed, 1 failed\n")
    assert {"q", "r", "failure.txt"} <= {path.name for path in Path(".fuzz/borders-1-2").iterdir()}


def test_all_attacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(name, seed, jobs, seconds, base, watch):
        tally = Tally()
        assert (seed, jobs, seconds) == (8, 3, 15)
        for number in range(4):
            (base / str(number)).mkdir()
            tally.add(Done(number, 10, f"it is wrong by {number}" if name == "keys" and number else ""), base)
            watch(tally)
        return tally

    monkeypatch.setattr(command, "run", run)
    minutes = str(len(CASES) / 4)
    assert command.main(["--minutes", minutes, "--seed", "8", "--jobs", "3"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"{minutes} minutes of seed 8 in 3 processes"
    assert out[1] == "numbers    4 cases, 40 numbers in 0 s"
    assert "keys       4 cases, 40 values in 0 s; 3 FAILED" in out
    assert [line for line in out if line.startswith("FAILED")] == ["FAILED: keys, case 1 of seed 8"]
    assert out[-1] == f"{4 * len(CASES) - 3} passed, 3 failed"


@pytest.mark.slow
def test_processes(tmp_path: Path) -> None:
    tally = attack.run("arguments", SEED, 1, 0.01, tmp_path)
    assert tally.cases >= 1
    assert (tally.failed, list(tmp_path.iterdir())) == (0, [])
