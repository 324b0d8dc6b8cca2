"""study reuse: the worked example, and a slow reference that removes judgments from dicts."""

import json
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cli.command import fails, gradeval
from helpers import each, raises, some

import gradeval as package
from gradeval import InputError
from gradeval.commands.study.reuse import _Orders

RUNS = {
    name: {"1": {document: -rank for rank, document in enumerate(text.split())}}
    for name, text in (("A", "d1 d2 d3 d4 d5"), ("B", "d3 d6 d1 d7 d2"), ("C", "d6 d8 d3 d9 d1"))
}
QRELS = {"1": {"d1": 1, "d3": 1, "d8": 1, "d2": 0, "d6": 0}}


def rows(*args: object, **options: object) -> list[dict]:
    return package.study.reuse(*args, **options).table("runs").to_dicts()


def test_the_worked_example() -> None:
    """metrics.md, 'What to judge next'."""
    found = rows(QRELS, RUNS, "AP", pool_depth=2)
    values = [(row["run"], round(row["mean"], 6), round(row["without"], 6), row["own"]) for row in found]
    assert values == [("A", 0.555556, 0.166667, 2), ("B", 0.555556, 0.166667, 1), ("C", 0.588889, 0.366667, 1)]
    assert [(row["rank"], row["own_relevant"]) for row in found] == [(2, 1), (2, 1), (1, 1)]
    assert [row["difference"] for row in found] == [row["without"] - row["mean"] for row in found]
    team = rows(QRELS, RUNS, "AP", pool_depth=2, teams={"A": "x", "B": "x"})
    assert [(row["team"], row["own"]) for row in team] == [("x", 3), ("x", 3), ("C", 1)]


@each("seed", some(range(8), 3))
def test_random_cases_are_those_of_removed_judgments(seed: int) -> None:
    draw = random.Random(seed)
    names = [f"d{n}" for n in range(9)]
    runs = {
        run: {q: {d: draw.random() for d in draw.sample(names, 6)} for q in ("q1", "q2", "q3")} for run in "abc"
    }
    qrels = {q: {d: draw.randrange(3) for d in draw.sample(names, 6)} for q in ("q1", "q2", "q3", "q4")}
    depth = draw.randint(1, 6)
    first = {
        run: {(q, d) for q, of in queries.items() for d in sorted(of, key=of.get, reverse=True)[:depth]}
        for run, queries in runs.items()
    }
    metrics, options = "nDCG@3 AP", {"unjudged_grade": 1} if seed % 2 else {}
    for row in rows(qrels, runs, metrics, pool_depth=depth, **options):
        run = row["run"]
        others = set().union(*(pairs for other, pairs in first.items() if other != run))
        left = {
            q: {d: g for d, g in of.items() if (q, d) not in first[run] - others} for q, of in qrels.items()
        }
        lost = sum(map(len, qrels.values())) - sum(map(len, left.values()))
        assert row["own"] == lost
        for judged, mean, rank in ((qrels, "mean", "rank"), (left, "without", "rank_without")):
            filled = {q: of or {"none": 0} for q, of in judged.items()}
            found = package.evaluate(filled, runs, metrics, **options)
            means = {name: found.mean(n, row["metric"]) for n, name in enumerate(runs)}
            assert row[mean] == pytest.approx(means[run], abs=1e-12)
            assert row[rank] == 1 + sum(means[other] > means[run] + 1e-12 for other in runs)


def test_a_last_query_without_its_judgments() -> None:
    """Its document is as the others that nobody has judged."""
    runs = {"A": {"1": {"d2": 1}, "2": {"d1": 1}}, "B": {"1": {"d2": 1}, "2": {"d3": 1}}}
    first, _ = rows({"1": {"d2": 1}, "2": {"d1": 1}}, runs, "AP", pool_depth=1, unjudged_grade=1)
    assert (first["own"], first["mean"], first["without"]) == (1, 1, 1)


def test_the_first_rank_is_that_of_the_lowest_mean_where_lower_is_better() -> None:
    for higher_is_better, ranks in ((True, (1, 2)), (False, (3, 2))):
        spec = SimpleNamespace(metric=SimpleNamespace(higher_is_better=higher_is_better))
        orders = _Orders(spec, np.array([0.5, 0.25, 0.125]), np.array([0.25, 0.5, 0.125]))
        assert orders.of(0)[3:5] == ranks


def test_the_command(folder: Path) -> None:
    Path("qrels").write_text("".join(f"1 0 {d} {g}\n" for d, g in QRELS["1"].items()))
    for name, run in RUNS.items():
        Path(f"{name}.run").write_text("".join(f"1 Q0 {d} 1 {s} t\n" for d, s in run["1"].items()))
    Path("teams").write_text("A\tx\nB\tx\n")
    line = ["study", "reuse", "qrels", "A.run", "B.run", "C.run", "--depth", "2", "-m", "AP", "--quiet"]
    content = json.loads(gradeval(*line, "-f", "json").out)
    assert content["tables"]["runs"] == rows(QRELS, RUNS, "AP", pool_depth=2)
    assert content["options"]["depth"] == 2
    assert (
        "AP changes by up to -0.3889 (A), and 3 of 3 runs have another rank."
        in gradeval(*line, "-f", "table").out
    )
    tsv = gradeval(*line, "--teams", "teams", "-f", "tsv").out.splitlines()
    assert tsv[1].startswith("A\tx\tAP\t") and len(tsv) == 4
    Path("teams").write_text("A\tx\nA\ty\n")
    assert fails(*line, "--teams", "teams") == "teams:2: run 'A' has a team already"
    Path("teams").write_text("run\tteam\nA\tx\nB\n")
    assert fails(*line, "--teams", "teams") == "teams:3: a line has a run and its team, with a tab between"
    Path("teams").write_text("Z\tx\n")
    assert fails(*line, "--teams", "teams") == "teams: there is no run 'Z'. The runs are 'A', 'B', 'C'"
    assert "two runs or more" in fails("study", "reuse", "qrels", "A.run")
    raises(InputError, "^teams: there is no run 'Z'", rows, QRELS, RUNS, teams={"Z": "x"})
    raises(InputError, "two runs or more", rows, QRELS, RUNS["A"])
