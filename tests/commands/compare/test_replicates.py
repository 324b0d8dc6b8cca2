"""Replicates: systems with several runs are compared by the mean of their runs for each query."""

import json
from itertools import product
from pathlib import Path
from statistics import stdev

import numpy as np
import pytest
from cli.command import fails, gradeval, write_graded
from helpers import raises
from scipy import stats

import gradeval as package
from gradeval.errors import OptionError
from gradeval.statistics.multiple import NO_RESIDUAL, replicated_anova

QUERIES = [f"q{n:02}" for n in range(20)]
SYSTEMS = {"a1": "A", "a2": "A", "a3": "A", "b1": "B", "b2": "B", "b3": "B"}


@pytest.fixture(autouse=True)
def runs(folder: Path) -> None:
    write_graded(QUERIES, {name: 3 + 2 * n for n, name in enumerate([*SYSTEMS, "c"])}, 4)
    Path("systems").write_text("run\tsystem\n" + "".join(f"{run}\t{name}\n" for run, name in SYSTEMS.items()))


def values_of() -> dict[str, np.ndarray]:
    results = package.evaluate("qrels", [f"{run}.run" for run in [*SYSTEMS, "c"]], "AP")
    return {run: results.values(run, "AP") for run in [*SYSTEMS, "c"]}


def test_means_of_runs() -> None:
    """By the paired test of the means over runs, and the deviation of the runs' means beside it."""
    paths = [f"{run}.run" for run in [*SYSTEMS, "c"]]
    values = values_of()
    of_system = {name: np.mean([values[f"{name.lower()}{n}"] for n in (1, 2, 3)], axis=0) for name in "AB"}
    of_system["c"] = values["c"]
    for options, pairs in (({}, [("A", "B"), ("A", "c")]), ({"all_pairs": True}, None)):
        comparison = package.compare("qrels", paths, "AP", replicates="systems", **options)  # type: ignore[arg-type]
        assert comparison.values.runs == ("A", "B", "c")
        found = [(one.baseline, one.run) for one in comparison.comparisons]
        assert found == (pairs or [("A", "B"), ("A", "c"), ("B", "c")])
        for one in comparison.comparisons:
            expected = stats.ttest_rel(of_system[one.run], of_system[one.baseline])
            assert one.p == pytest.approx(expected.pvalue) and one.n == len(QUERIES)
    content = json.loads(
        gradeval("compare", "qrels", *paths, "-m", "AP", "--replicates", "systems", "-f", "json").out
    )
    spreads = {run["name"]: run["spread"]["AP"] for run in content["runs"]}
    means = {run: float(np.mean(column)) for run, column in values.items()}
    assert spreads["A"] == pytest.approx(stdev(means[f"a{n}"] for n in (1, 2, 3))) and spreads["c"] is None
    assert content["runs"][1]["replicates"] == ["b1", "b2", "b3"]
    tsv = gradeval("compare", "qrels", *paths, "-m", "AP", "--replicates", "systems", "-f", "tsv").out
    assert "system\truns\tspread_AP\nA\t3\t" in tsv
    assert "Replicates" in gradeval("compare", "qrels", *paths, "--replicates", "systems", "-f", "table").out
    of_dict = package.compare("qrels", paths, "AP", replicates=SYSTEMS, baseline="B")
    fewer = "needs equally many runs of each system"
    raises(OptionError, fewer, package.compare, "qrels", paths, "AP", replicates=SYSTEMS, anova=True)
    assert of_dict.comparisons[0].baseline == "B"


def test_tables_of_values() -> None:
    for name, numbers in {"x1": (1, 2, 3), "x2": (3, 2, 1), "y": (5, 6, 9)}.items():
        rows = "".join(f"q{n},{value}\n" for n, value in enumerate(numbers))
        Path(f"{name}.csv").write_text(f"query,AP\n{rows}")
    files = ["x1.csv", "x2.csv", "y.csv"]
    comparison = package.compare_tables(files, replicates={"x1": "x", "x2": "x"})
    assert comparison.comparisons[0].difference == pytest.approx(20 / 3 - 2)


def test_errors() -> None:
    Path("wrong").write_text("a1\tA\na1\tB\nb1\n")
    said = fails("compare", "qrels", "a1.run", "b1.run", "--replicates", "wrong")
    assert said.splitlines() == [
        "wrong:2: run 'a1' has a system already",
        "wrong:3: a line has a run and its system, with a tab between",
    ]
    Path("wrong").write_text("z\tA\n")
    assert "no run is named 'z'" in fails("compare", "qrels", "a1.run", "b1.run", "--replicates", "wrong")
    raises(package.OptionError, "must be a path", package.compare, "qrels", ["a1.run", "b1.run"], replicates=3)
    one = {"a1": "A", "b1": "A"}
    raises(
        package.GradevalError,
        "the replicates are all of one system",
        package.compare,
        "qrels",
        ["a1.run", "b1.run"],
        replicates=one,
    )


def test_the_analysis_of_variance() -> None:
    """Against sums of squares by their definition."""
    random = np.random.default_rng(1)
    values = random.normal(size=(3, 4, 7)) + np.arange(3)[:, None, None]  # systems, runs, queries
    anova = replicated_anova(list(values))
    systems, runs, queries = values.shape
    overall = values.mean()
    by_system, by_query, by_cell = values.mean(axis=(1, 2)), values.mean(axis=(0, 1)), values.mean(axis=1)
    cells = product(range(systems), range(queries))
    squares = {
        "system": queries * runs * sum((by_system - overall) ** 2),
        "query": systems * runs * sum((by_query - overall) ** 2),
        "interaction": runs
        * sum((by_cell[s, q] - by_system[s] - by_query[q] + overall) ** 2 for s, q in cells),
        "residual": ((values - by_cell[:, None]) ** 2).sum(),
        "total": ((values - overall) ** 2).sum(),
    }
    freedom = {"system": 2, "query": 6, "interaction": 12, "residual": 63, "total": 83}
    assert sum(squares[name] for name in squares if name != "total") == pytest.approx(squares["total"])
    for name, expected in squares.items():
        source = getattr(anova, name)
        assert (source.squares, source.df) == (pytest.approx(expected), freedom[name])
        if name in ("system", "query", "interaction"):
            f = expected / freedom[name] / (squares["residual"] / 63)
            assert source.f == pytest.approx(f) and source.p == pytest.approx(stats.f.sf(f, freedom[name], 63))
    assert replicated_anova([values[0], values[1][:2]]).reason == "systems have different numbers of runs"
    assert (
        replicated_anova([values[0][:1].repeat(2, axis=0), values[1][:1].repeat(2, axis=0)]).reason
        == NO_RESIDUAL
    )
    paths = [f"{run}.run" for run in SYSTEMS]
    table = gradeval("compare", "qrels", *paths, "--replicates", "systems", "--anova", "-f", "table").out
    assert "interaction" in table
    plain = gradeval("compare", "qrels", *paths, "--anova", "-f", "table").out
    assert "interaction" not in plain
