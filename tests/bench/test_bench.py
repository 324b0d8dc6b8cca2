"""The benchmark's files and arithmetic; never a time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise, starmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import __main__ as bench
from . import measure, suite, workloads

pytestmark = pytest.mark.slow

SCALE = 0.002  # 14 queries of (a), 200 of (b), 1 of (c), 200 lines of (e)


def make(folder: Path, key: str, scale: float = SCALE) -> Path:
    workloads.main(str(folder / key), key, str(scale))
    return folder / key


def rows(path: Path) -> list[list[str]]:
    return [line.split(" ") for line in path.read_text().splitlines()]


def test_every_workload_has_a_benchmark() -> None:
    assert list(workloads.WORKLOADS) == list(suite.SUITE)


@pytest.mark.parametrize("key", workloads.WORKLOADS)
def test_files_depend_on_the_seed_alone(tmp_path: Path, key: str) -> None:
    first, second = ({p.name: p.read_bytes() for p in make(tmp_path / n, key).iterdir()} for n in "12")
    assert first == second


@pytest.mark.parametrize(
    ("key", "queries", "depth", "judgments"), [("a", 14, 1000, 75), ("b", 200, 10, 5), ("c", 1, 1000, 75)]
)
def test_a_collection_has_the_promised_shape(
    tmp_path: Path, key: str, queries: int, depth: int, judgments: int
) -> None:
    folder = make(tmp_path, key)
    run, qrels = rows(folder / "bm25.txt"), rows(folder / "qrels.txt")
    assert list(Counter(row[0] for row in run).values()) == [depth] * queries
    assert list(Counter(row[0] for row in qrels).values()) == [judgments] * queries
    assert {row[3] for row in qrels} <= set("01234")
    retrieved, judged = ({(row[0], row[2]) for row in table} for table in (run, qrels))
    assert (len(retrieved), len(judged)) == (len(run), len(qrels))
    assert 0 < len(retrieved & judged) < len(judged)
    assert [int(row[3]) for row in run] == list(range(1, depth + 1)) * queries
    scores = [(row[0], float(row[4])) for row in run]
    steps = [round(1e6 * (x - y)) for (q, x), (of, y) in pairwise(scores) if q == of]
    assert all(step == 0 or step >= 10 for step in steps)


def test_other_workloads_are_made_from_a(tmp_path: Path) -> None:
    """(d) is four times as deep, (g) shuffled; 1 % of scores tie; (f) has twenty runs that differ."""
    flat, deep, shuffled, many = (make(tmp_path, key) for key in "adgf")
    run = rows(flat / "bm25.txt")
    assert 0.005 < sum(row[4] == after[4] for row, after in pairwise(run)) / len(run) < 0.02
    assert (flat / "qrels.txt").read_bytes() == (deep / "qrels.txt").read_bytes()
    assert len(rows(deep / "deep.txt")) == 4 * len(run)
    assert run != rows(shuffled / "bm25.txt") and sorted(run) == sorted(rows(shuffled / "bm25.txt"))
    runs = [rows(path) for path in sorted(many.glob("run*.txt"))]
    assert len({tuple(row[2] for row in run) for run in runs}) == 20


def test_letor_lines_have_all_features_and_an_untied_first(tmp_path: Path) -> None:
    data = rows(make(tmp_path, "e") / "letor.txt")
    assert len({row[2] for row in data}) == len(data) == 200
    assert all([field.split(":")[0] for field in row[2:]] == list(map(str, range(1, 137))) for row in data)


def test_numbers_are_written_as_python_writes_them() -> None:
    values = np.array([0, 7, 10, 999_999, 1_000_000, 12_345_678])
    text = workloads.lines(workloads.digits(values), b" ", workloads.digits(values, 6), b"\n")
    assert text.decode().splitlines() == [f"{value} {value / 1e6:.6f}" for value in values.tolist()]


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


def test_a_failure_says_why() -> None:
    with pytest.raises(measure.CommandFailedError, match=r"^exit code 1: ValueError: why$"):
        measure.measure(python("raise ValueError('why')"))


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


@pytest.mark.parametrize("wrong", [["--only", "z"], ["--repeat", "0"], ["--scale", "-1"]])
def test_wrong_options(wrong: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(wrong)


@pytest.mark.parametrize("there", [True, False])
def test_trec_eval_is_used_where_it_is_on_path(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    monkeypatch.setattr("shutil.which", lambda name: "/bin/trec_eval" if there else None)
    tools = list(starmap(suite.trec_eval, [(Path("q"), Path("r")), (Path("q"), Path("r"), Path("s"))]))
    assert [tool.missing for tool in tools] == ["" if there else "trec_eval is not on PATH"] * 2
    assert [tool.command[0] for tool in tools] == ["trec_eval", "sh"]
    assert tools[1].command[-2:] == ["r", "s"]
