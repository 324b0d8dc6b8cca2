"""The benchmark's arithmetic; never a time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import __main__ as bench
from . import measure, suite

pytestmark = pytest.mark.slow


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


MEASURES = """
import dataclasses, json, sys
from tests.bench import measure
sample, output = measure.measure([sys.executable, "-c", "block = bytearray(300 << 20); print(len(block))"])
print(json.dumps([dataclasses.asdict(sample), sample.cpu, output, measure.floor()]))
"""


def test_a_process_is_measured() -> None:
    """By a small process, as the benchmark's runner is: a child starts with its parent's peak."""
    done = subprocess.run(python(MEASURES), cwd=measure.ROOT, capture_output=True, text=True, check=True)
    sample, cpu, output, floor = json.loads(done.stdout)
    assert output == f"{300 << 20}\n"
    assert sample["peak"] > 300 << 20
    assert sample["wall"] > 0
    assert cpu == sample["user"] + sample["system"]
    assert 0 < floor < 100 << 20


def test_commands_take_turns(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def write(text: str, code: int = 0) -> list[str]:
        return ["sh", "-c", f'echo {text} >> "$0"; echo out; exit {code}', str(log)]

    commands = {"first": write("first"), "bad": write("bad", 3), "once": write("once"), "last": write("last")}
    results = measure.in_turn(commands, {"first": 3, "bad": 3, "once": 1, "last": 3})
    assert log.read_text().split() == ["first", "bad", "once", "last", "last", "first", "first", "last"]
    assert {name: len(result.samples) for name, result in results.items()} == {
        "first": 3,
        "bad": 0,
        "once": 1,
        "last": 3,
    }
    assert results["first"].outputs == ["out\n"] * 3
    assert results["bad"].failure == "exit code 3: no message"


def result(*walls: float, output: str = "", peak: int = 0) -> measure.Result:
    samples = [measure.Sample(wall, wall / 2, wall / 4, peak) for wall in walls]
    return measure.Result(samples, [output] * len(samples))


def test_medians() -> None:
    assert result(3, 1, 9).median("wall") == 3
    assert result(3, 1, 9).median("cpu") == 2.25
    assert result(1, 2).median("wall") == 1.5


TSV = (
    "run\tquery\tmetric\tvalue\nbm25\t7\tAP\t0.5000\nbm25\tall\tAP\t0.2500\n"
    "bm25\tall\tnDCG@10\t0.5000\nbm25\tall\tmuAP\t0.1\n"
)
VALUES = {("bm25", "AP"): "0.2500", ("bm25", "nDCG@10"): "0.5000"}


def test_tools_say_the_same_in_their_own_ways() -> None:
    trec = "runid \tall\tbm25\nmap   \tall\t0.2500\nndcg_cut_10\tall\t0.5000\n"
    assert suite.gradeval_values(TSV) == VALUES
    assert suite.feature_1(TSV + TSV.replace("bm25", "feature1")) == {
        ("feature1", "AP"): "0.2500",
        ("feature1", "nDCG@10"): "0.5000",
    }
    assert suite.trec_eval_values(trec) == VALUES
    assert suite.plain_values("bm25")("AP\t0.2500\nnDCG@10\t0.5000\n") == VALUES
    assert suite.plain_values("bm25")("map 0.2500\nndcg_cut_10 0.5000\n") == VALUES


def test_differences_are_told() -> None:
    tool = suite.Tool("peer", [], suite.plain_values("bm25"))
    assert bench.verdict(tool, result(1, output="map 0.2500"), VALUES) == "same"
    assert bench.verdict(tool, result(1, output="map 0.2501"), VALUES).startswith(
        "DIFFERS: bm25 AP 0.2501, gradeval 0.2500"
    )
    assert bench.verdict(tool, result(1, output="P_5 0.2"), VALUES).startswith("DIFFERS: bm25 P_5 0.2")
    assert bench.verdict(tool, result(1, output=""), VALUES) == "DIFFERS: no values"
    assert bench.verdict(tool, measure.Result(failure="exit code 1: why"), VALUES) == "FAILED: exit code 1: why"
    assert bench.verdict(tool, result(1), {}).startswith("not compared")
    assert bench.verdict(suite.Tool("reader", []), result(1), VALUES) == ""
    unsteady = result(1, 2)
    unsteady.outputs = ["map 0.2500", "map 0.2501"]
    assert bench.verdict(tool, unsteady, VALUES).startswith("DIFFERS")


def fake(results: dict[str, measure.Result], *targets: suite.Target, least: int = 0) -> dict[str, Any]:
    tools = [suite.Tool(name, [], suite.gradeval_values) for name in (suite.OURS, suite.DEFAULTS, "peer")]
    tools.append(suite.Tool("absent", [], missing="absent is not on PATH"))
    return bench.report("x", suite.Benchmark("a test", tools, targets), 10**6, least, results)


def test_ratios_and_targets() -> None:
    results = {
        suite.OURS: result(1, 2, 3, output=TSV, peak=100 * suite.MIB),
        suite.DEFAULTS: result(6, output=TSV, peak=150 * suite.MIB),
        "peer": result(8, output=TSV, peak=400 * suite.MIB),
    }
    targets = [
        suite.Target("time", 0.2, suite.wall(suite.OURS, "peer")),
        suite.Target("added", 4, suite.added),
        suite.Target("absent", 1, suite.wall(suite.OURS, "absent")),
    ]
    made = fake(results, *targets)
    assert made["tools"][2]["ratio"] == {"wall": 0.25, "cpu": 0.25, "peak": 0.25, "wall, defaults": 0.75}
    assert made["tools"][0]["ratio"]["wall"] is None
    assert [target["met"] for target in made["targets"]] == [False, True, None]
    assert list(map(bench.outcome, made["targets"])) == [
        "time: 0.250, target ≤ 0.2: NOT MET",
        "added: 4.000, target ≤ 4: met",
        "absent: not measured, target ≤ 1",
    ]
    assert bench.outcome({**made["targets"][0], "met": None}) == "time: 0.250, target ≤ 0.2 at scale 1"
    assert "left out: absent is not on PATH" in bench.printed(made)
    assert not bench.wrong(made)


def test_without_gradeval_nothing_is_compared() -> None:
    results = {name: measure.Result(failure="no") for name in (suite.OURS, suite.DEFAULTS)}
    made = fake({**results, "peer": result(1, output=TSV)}, suite.Target("added", 1, suite.added))
    assert made["tools"][2]["values"].startswith("not compared")
    assert made["targets"][0]["met"] is None
    assert bench.wrong(made)


def test_the_whole_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def benchmark(folder: Path) -> suite.Benchmark:
        tools = [suite.Tool(name, ["echo", TSV], suite.gradeval_values) for name in (suite.OURS, "peer")]
        return suite.Benchmark("small", [*tools, suite.Tool(suite.DEFAULTS, ["false"], suite.gradeval_values)])

    monkeypatch.setitem(suite.SUITE, "c", benchmark)
    file = tmp_path / "all.json"
    options = "--only c --scale 0.02 --repeat 2".split()
    assert bench.main([*options, "--json", str(file), "--keep", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "(c) small; 0." in printed
    assert "FAILED: exit code 1: no message" in printed
    written = json.loads(file.read_text())
    assert written["machine"]["numpy"] == np.__version__
    assert [len(tool["samples"]) for tool in written["workloads"][0]["tools"]] == [2, 2, 0]
    assert (tmp_path / "c" / "bm25.txt").exists()
