"""Results in the place of runs, alone, saved and read back; frames of values."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import raises

import gradeval

METRICS = "nDCG@1,2 AP"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    judged, ranked = ["{0} 0 a 2", "{0} 0 b {1}", "{0} 0 c 0"], {"x": "a b c", "y": "c b a", "z": "b a c"}
    queries = [(q, q % 2) for q in range(1, 7)]
    Path("qrels").write_text("".join(f"{line.format(*query)}\n" for query in queries for line in judged))
    for name, order in ranked.items():
        rows = [f"{q} Q0 {d} 1 {9 - r} t\n" for q, _ in queries for r, d in enumerate(order.split()[q % 2 :])]
        Path(f"{name}.run").write_text("".join(rows))
    return tmp_path


def test_results_in_the_place_of_runs_and_alone(files: Path) -> None:
    results = gradeval.evaluate("qrels", ["x.run", "y.run"], METRICS)
    results.save("saved.json")
    wanted = gradeval.compare("qrels", ["x.run", "y.run"], METRICS).comparisons
    for given in (results, "saved.json", Path("saved.json")):
        assert gradeval.compare(given, metrics=METRICS).comparisons == wanted
        assert gradeval.compare("qrels", given, METRICS).comparisons == wanted
        assert gradeval.plot.queries(given, metrics="AP").table("summary").rows[0][3:7] == tuple(
            getattr(wanted[2], name) for name in ("n", "baseline_mean", "mean", "difference")
        )
        assert [row[2] for row in gradeval.plot.curve(given).table("curve").rows] == [1, 2] * 2
        assert gradeval.evaluate("qrels", given, "AP")["AP"] == results["AP"]
    other = gradeval.evaluate("qrels", "z.run", f"{METRICS} RR")
    for several in ([results, other], ["saved.json", other]):
        together = gradeval.compare(several)
        assert together.values.runs == ("x", "y", "z") and len(together.values.metrics) == 3
        of_runs = gradeval.compare("qrels", ["x.run", "y.run", "z.run"], METRICS)
        assert together.comparisons == of_runs.comparisons
    named = gradeval.compare("qrels", {"old": other, "new": "x.run"}, "AP")
    assert named.values.runs == ("old", "new")


def test_a_report_of_results(files: Path) -> None:
    pytest.importorskip("jinja2")
    results = gradeval.evaluate("qrels", ["x.run", "y.run"], METRICS)
    report = gradeval.report(results)
    assert report.comparison is not None and not report.explained and report.saved
    assert report.comparison.comparisons == results.compare().comparisons
    assert report.render().startswith("<!doctype html>")
    assert gradeval.report("qrels", [results, "z.run"], "AP").values.runs == ("x", "y", "z")


def test_what_is_no_results(files: Path) -> None:
    results = gradeval.evaluate("qrels", ["x.run", "y.run"], "AP")
    of_memory = gradeval.evaluate({"1": {"a": 1}}, {"m": {"1": {"a": 1.0}}}, "AP")
    means = gradeval.load(results.to_dict())
    raises(gradeval.OptionError, "rel: results are evaluated already", gradeval.compare, results, rel=2)
    raises(gradeval.InputError, "no runs given, and this is no saved result", gradeval.compare, "qrels")
    raises(gradeval.InputError, "no runs given, and {.*} has no results", gradeval.compare, {"q": {"d": 1}})
    raises(gradeval.InputError, "results given as the qrels", gradeval.compare, results, "AP")
    raises(gradeval.InputError, "no SHA-256 of its qrels", gradeval.evaluate, "qrels", of_memory, "AP")
    raises(gradeval.InputError, "made from other qrels", gradeval.compare, [of_memory, results])
    raises(gradeval.InputError, "run 'x' has no values of queries", means.compare)
    raises(gradeval.InputError, "run 'x' has no values of queries", gradeval.plot.queries, means)
    raises(gradeval.MetricError, "no metric of the results has two cutoffs", gradeval.plot.curve, results)
    raises(gradeval.MetricError, r"P@1 was not evaluated", gradeval.plot.curve, results, metrics="P@1,2")
    raises(
        gradeval.GradevalError,
        "run1: results have no documents. Give the run that they were made from",
        gradeval.pool,
        "qrels",
        results,
    )


def test_what_is_rendered_is_read_back(files: Path) -> None:
    results = gradeval.evaluate("qrels", ["x.run", "y.run"], f"num_q gm_map runid {METRICS}")
    numbers = [metric for metric in map(str, results.specs) if metric != "runid"]
    path = files / "means.json"
    for per_query in (False, True):
        path.write_text(results.render("json", per_query=per_query))
        loaded = gradeval.load(path)
        assert loaded.judged_by == results.judged_by
        assert [*loaded.run("x")] == numbers
        assert all(loaded.run(run)[metric] == results.run(run)[metric] for run in "xy" for metric in numbers)
        again = gradeval.load(json.loads(loaded.render("json", per_query=per_query)))
        np.testing.assert_array_equal(again.means, loaded.means)


def test_frames_of_values(files: Path) -> None:
    pandas = pytest.importorskip("pandas")
    results = gradeval.evaluate("qrels", ["x.run", "y.run"], f"num_q runid {METRICS}")
    results.save("saved.json")
    wanted = results.compare("AP").comparisons
    frames: list[Any] = [results, "saved.json", [results], results.to_pandas(), results.per_query_frame()]
    for library, name in (("polars", "polars"), ("pyarrow", "arrow")):
        pytest.importorskip(library)
        frames.append(getattr(results, f"to_{name}")())
    frames.append(results.per_query_frame("polars"))
    by_run = {run: pandas.DataFrame({"AP": results.per_query(run, "AP")}) for run in "xy"}
    frames += [by_run, {run: frame.rename_axis("qid").reset_index() for run, frame in by_run.items()}]
    for frame in frames:
        assert gradeval.compare_tables(frame, "AP").comparisons == wanted
    assert gradeval.compare_tables([*by_run.values()]).values.runs == ("table1", "table2")
    raises(
        gradeval.InputError,
        "table1: .*query",
        gradeval.compare_tables,
        [pandas.DataFrame({"a": [1], "b": [2]})],
    )
    twice = pandas.DataFrame({"query": ["1", "1"], "AP": [0.5, 0.25]})
    raises(
        gradeval.InputError,
        "x:2: AP of query '1' appears twice",
        gradeval.compare_tables,
        {"x": twice, "y": twice},
    )
