"""The benchmark's arithmetic; never a time."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from . import __main__ as bench
from . import measure, suite

pytestmark = pytest.mark.slow

TSV = (
    "run\tquery\tmetric\tvalue\nbm25\t7\tAP\t0.5000\nbm25\tall\tAP\t0.2500\n"
    "bm25\tall\tnDCG@10\t0.5000\nbm25\tall\tmuAP\t0.1\n"
)
VALUES = {("bm25", "AP"): "0.2500", ("bm25", "nDCG@10"): "0.5000"}


def test_a_process_is_measured(tmp_path: Path) -> None:
    large = measure.Result()
    large.measure([sys.executable, "-c", "print(len(bytearray(300 << 20)))"])
    [sample] = large.samples
    assert large.outputs == [f"{300 << 20}\n"] and sample.peak > 300 << 20
    assert sample.wall > 0 and sample.cpu == sample.user + sample.system
    # commands take turns
    log, repeats = tmp_path / "log", {"first": 3, "bad": 3, "once": 1, "last": 3}
    script = 'echo $1 >> "$0"; echo out; test $1 != bad'
    commands = {name: ["sh", "-c", script, str(log), name] for name in repeats}
    results = measure.in_turn(commands, repeats)
    assert log.read_text().split() == ["first", "bad", "once", "last", "last", "first", "first", "last"]
    assert [len(result.samples) for result in results.values()] == [3, 0, 1, 3]
    assert results["first"].outputs == ["out\n"] * 3
    assert results["bad"].failure == "exit code 1: no message"


def result(*walls: float, output: str = "", peak: int = 0) -> measure.Result:
    samples = [measure.Sample(wall, wall / 2, wall / 4, peak) for wall in walls]
    return measure.Result(samples, [output] * len(samples))


def test_tools_say_the_same_in_their_own_ways() -> None:
    plain = suite.other_values("bm25")
    assert suite.gradeval_values(TSV) == VALUES
    trec = "runid \tall\tbm25\nmap   \tall\t0.2500\nndcg_cut_10\tall\t0.5000\n"
    assert suite.other_values("")(trec) == VALUES
    assert plain("AP\t0.2500\nnDCG@10\t0.5000\n") == plain("map 0.2500\nndcg_cut_10 0.5000\n") == VALUES
    # differences are told
    tool, unsteady = suite.Tool("peer", [], plain), result(1, 2)
    unsteady.outputs = ["map 0.2500", "map 0.2501"]
    for of_tool, ours, said in (
        (result(1, output="map 0.2500"), VALUES, "same"),
        (result(1, output="map 0.2501"), VALUES, "DIFFERS: bm25 AP 0.2501, gradeval 0.2500"),
        (unsteady, VALUES, "DIFFERS: bm25 AP 0.2501, gradeval 0.2500"),
        (result(1, output="P_5 0.2"), VALUES, "DIFFERS: bm25 P_5 0.2, gradeval none"),
        (result(1, output=""), VALUES, "DIFFERS: no values"),
        (measure.Result(failure="exit code 1: why"), VALUES, "FAILED: exit code 1: why"),
        (result(1), {}, "not compared: gradeval has no values"),
    ):
        assert bench.verdict(tool, of_tool, ours) == said
    assert bench.verdict(suite.Tool("reader", []), result(1), VALUES) == ""


def test_ratios_and_targets() -> None:
    results = {
        suite.OURS: result(1, 2, 3, output=TSV, peak=100 * suite.MIB),
        suite.DEFAULTS: result(6, output=TSV, peak=150 * suite.MIB),
        "peer": result(8, output=TSV, peak=400 * suite.MIB),
    }
    limits = {"peer": 0.2, "absent": 1}
    targets = [suite.Target(name, limit, suite.wall(suite.OURS, name)) for name, limit in limits.items()]
    tools = [suite.Tool(name, [], suite.gradeval_values) for name in results]
    tools.append(suite.Tool("absent", [], missing="absent is not on PATH"))
    targets.append(suite.Target("added", 4, suite.added))
    made = bench.report("x", suite.Benchmark("a test", tools, targets), 10**6, 0, results)
    assert made["tools"][2]["ratio"] == {"wall": 0.25, "cpu": 0.25, "peak": 0.25, "wall, defaults": 0.75}
    assert made["tools"][0]["ratio"]["wall"] is None
    assert [target["met"] for target in made["targets"]] == [False, None, True]
    printed = bench.printed(made)
    assert "peer: 0.250, target ≤ 0.2: NOT MET" in printed and "left out: absent is not on PATH" in printed
    assert not bench.wrong([row["values"] for row in made["tools"]])
    assert bench.wrong(["same", "FAILED: no"]) and bench.wrong(["DIFFERS"])


def test_the_whole_of_it(tmp_path, monkeypatch, capsys) -> None:
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


def test_against_a_commit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--only c --scale 0.02 --repeat 1 --against".split()
    assert bench.main([*options, "HEAD", "--keep", str(tmp_path)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[3:]]
    assert [row[0] for row in rows] == ["work", "gradeval", "gradeval,"]
    assert [row[-1] for row in rows[1:]] == ["same", "same"]
    assert bench.main([*options, "no-such-commit"]) == 2
    assert "no-such-commit" in capsys.readouterr().err
