"""The attacks themselves: a few cases of each pass, a planted fault is found, what fails can be run again."""

import hashlib
import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import THOROUGH

from gradeval import Evaluator, cli
from gradeval.arrays.strings import Ids
from gradeval.evaluation import bounds, saved
from gradeval.formats import arrow, diagnostics, json, memory, output, scan, sources, trec
from gradeval.tables import judgments

from . import __main__ as command
from . import keys, numbers, resources, streams
from .attack import attack_of, attempt, kind_of, rng_of

SEED = 6
CASES = {
    "numbers": 3, "template": 12, "options": 30, "commands": 40, "damage": 25, "saved": 35, "arrow": 40,
    "lists": 30, "borders": 3, "marks": 20, "growing": 20, "keys": 20, "arguments": 25, "outputs": 25,
    "streams": 1,
    "racing": 2, "resources": 1, "fork": 2,
}  # fmt: skip


def failures(name: str, folder: Path, count: int) -> list[str]:
    found = []
    for number in range(count):
        (folder / str(number)).mkdir(parents=True)
        found.append(attempt(name, SEED, number, folder / str(number)).failure)
    return list(filter(None, found))


def fails(*_: object) -> object:
    return 1 / 0


def fails_in_children(*args: Any, parent: int = os.getpid(), plain: Any = Evaluator.evaluate) -> Any:
    return plain(*args) if os.getpid() == parent else fails()


def loses_a_byte(readinto: Any, size: int, plain: Any = sources._cut) -> Any:
    for block in plain(readinto, size):
        yield block
        readinto(bytearray(1))


def hash_of_now(source: sources.Source) -> str:
    return hashlib.sha256(Path(source.path).read_bytes()).hexdigest()


BROKEN = [sys.executable, "-S", "-c", "print('run'); 1 / 0"]
FAULTS: dict[str, list[tuple[Any, str, Any]]] = {
    # double rounding
    "numbers": [
        (scan, "_long_division", lambda mantissa, scale: (mantissa / scale, np.zeros(len(scale), bool)))
    ],
    "template": [(trec, "TO_HIGH", np.uint64(0))],  # letters are digits
    "options": [(judgments.Judgments, "cut", lambda table, depth: table)],
    "commands": [(bounds, "_limits", lambda judgments, spec, top, values: np.array([values + 1, values + 2]))],
    "damage": [(diagnostics.Problems, "check", lambda kept: None)],
    "saved": [(saved, "_SAME", float("inf"))],
    "arrow": [(memory, "missing_rows", fails), (arrow, "printable", fails)],
    "lists": [(json, "_objects_of", lambda documents, chosen: documents[:1])],
    "borders": [(sources, "_cut", loses_a_byte)],
    "marks": [(trec, "_MARK", np.uint64(0)), (scan, "marked_lines", lambda block: np.empty(0, np.int64))],
    "growing": [(sources.Source, "sha256", hash_of_now), (sources.Source, "check", lambda source, file: None)],
    "keys": [(Ids, "same", lambda ids, rows, other, other_rows: np.ones(len(rows), bool))],
    "arguments": [(cli, "echo_error", lambda line: None)],
    "outputs": [(output, "_as_input", lambda path, about, inputs: "")],
    "streams": [(streams, "COMMAND", BROKEN)],
    "racing": [(streams, "COMMAND", BROKEN)],
    "resources": [(streams, "COMMAND", BROKEN)],
    "fork": [(Evaluator, "evaluate", fails_in_children)],
}


def plant(name: str, patch: pytest.MonkeyPatch) -> None:
    for place, what, wrong in FAULTS[name]:
        patch.setattr(place, what, wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_planted_fault_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And without it nothing."""
    assert failures(name, tmp_path / "sound", CASES[name] // 2 or 1) == []
    plant(name, monkeypatch)
    assert failures(name, tmp_path / "planted", CASES[name])


def test_cases_follow_from_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done with them the slow tests and `make fuzz` try."""
    monkeypatch.setattr(numbers, "AT_ONCE", 100)
    assert CASES.keys() == command.ATTACKS.keys()
    for name in CASES if THOROUGH else CASES.keys() - {"racing"}:  # whose files are large
        first, again, other = (attack_of(name).make(rng_of(name, seed, 7)) for seed in (1, 1, 2))
        assert first == again != other, name
    # crafted ids collide
    rng = random.Random(1)
    names = [keys.with_key(rng, 12345, size) for size in (8, 16, 16, 24, 64)]
    assert len(set(names)) == len(names)
    assert set(Ids.of(names).keys().tolist()) == {12345}
    # kinds of failures
    first, alike, other = "AP of query 'a': 0.5\nmore", "AP of query 'b c': 0.25", "RR of query 'a': 1"
    assert kind_of(first) == kind_of(alike) != kind_of(other)
    trace = 'Traceback (most recent call last):\n  File "/a/{}.py", line {}, in f\n    x\nValueError: {}\n'
    first, alike, other = (trace.format(*where) for where in (("b", 1, "x"), ("b", 2, "y"), ("c", 1, "x")))
    assert kind_of(first) == kind_of(alike) != kind_of(other)


@pytest.mark.slow
def test_memory_can_be_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q").write_text("q 0 d 1\n")
    Path("r").write_text("q Q0 d 1 1 t\n")
    assert resources._run(["q", "r", "-j1"], 2 * resources.least())[0] == 0
    code, out, err = resources._run(["q", "r", "-j1"], resources.least() // 2)
    assert code
    assert err and not out


@pytest.mark.slow
def test_a_case_alone(tmp_path, monkeypatch, capsys) -> None:
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


@pytest.mark.slow
def test_attacks_in_processes(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert command.main("--minutes 0.01 --seed 6 --jobs 1 --only arguments,keys".split()) == 0
    first, *attacks, last = capsys.readouterr().out.splitlines()
    assert first == "0.01 minutes of seed 6 in 1 processes"
    assert [line.split()[0] for line in attacks] == ["arguments", "keys"]
    assert last.endswith(" passed, 0 failed") and not Path(".fuzz").exists()
