"""Results by what was asked for, saved and loaded; the catalogue of metrics as rows."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers import raises

import gradeval
from gradeval.registry.metric import REGISTRY

QRELS = {"q1": {"a": 3, "b": 0, "c": 1}, "q2": {"a": 1}, "q3": {"d": 2}}
RUNS = {"x": {"q1": {"a": 0.2, "b": 0.9}, "q2": {"a": 1.0}}, "y": {"q1": {"c": 2.0, "a": 1.0}}}


def test_a_run_by_any_name_of_a_metric() -> None:
    results = gradeval.evaluate(QRELS, RUNS, "MRR@10 map nDCG@5,10 runid")
    means = results.run("x")
    assert [*means] == ["RR@10", "AP", "nDCG@5", "nDCG@10"]
    assert means["MRR@10"] == means["RR@10"] == means["recip_rank@10"] == results.mean("x", "RR@10")
    assert results.run(1)["ndcg_cut_10"] == results.mean("y", "nDCG@10")
    assert "MRR@10" in means and means.get("map") == means["AP"] and means.get("P@5", 2) == 2
    assert "P@5" not in means and "runid" not in means and 1.5 not in means
    raises(gradeval.MetricError, "P@5 was not evaluated", means.__getitem__, "P@5")
    raises(gradeval.GradevalError, "unknown run", results.run, "z")


def test_measures_of_ir_measures() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    measure, reciprocal = ir_measures.nDCG @ 10, ir_measures.RR @ 10
    results = gradeval.evaluate(QRELS, RUNS, iter([measure, "MRR@10"]))
    assert results[measure] == results["nDCG@10"] and results.run("x")[reciprocal] == results.run("x")["MRR@10"]
    assert results.compare(measure).find("y", measure).metric == "nDCG@10"
    scores = gradeval.score_arrays([measure], grade=[1, 0], score=[0.5, 0.75])
    assert scores[measure] == scores["nDCG@10"] == scores.per_query(measure)[0]
    assert results.means_frame("polars").columns == ["run", "nDCG@10", "MRR@10"]
    with pytest.raises(KeyError):
        scores[reciprocal]
    several = [measure, ir_measures.nDCG(dcg="exp-log2") @ 10, ir_measures.AP(rel=2)]
    results = gradeval.evaluate(QRELS, RUNS, several)
    for frame in (results.means_frame("polars"), results.per_query_frame("polars")):
        assert {*map(str, several)} < {*frame.columns}


def test_names_that_results_show() -> None:
    results = gradeval.evaluate(QRELS, RUNS)
    assert {"mean", "run", "save", "compare"} < {*dir(results)} and not {"later", "layout"} & {*dir(results)}
    assert {*dir(results)} <= {*object.__dir__(results)} and not any(name[0] == "_" for name in dir(results))
    report = gradeval.gate(QRELS, RUNS["x"], require="AP > 0")
    assert {"held", "outcomes", "render"} < {*dir(report)}
    assert {*dir(report)}.isdisjoint(("default_format", "layout", "has_bounds", "updates"))
    picture = gradeval.plot.curve(QRELS, RUNS, "P@1,2")
    assert {"table", "save", "render"} < {*dir(picture)}
    assert {*dir(picture)}.isdisjoint(("default_format", "layout", "across", "panels", "same_y", "runs_read"))


def test_columns_as_they_were_asked_for() -> None:
    pytest.importorskip("pandas")
    results = gradeval.evaluate(QRELS, RUNS, ["MRR@10", "map", "nDCG@5,10"])
    names = ["MRR@10", "map", "nDCG@5", "nDCG@10"]
    assert [*results.means_frame().columns] == names == [*results.per_query_frame().columns]
    assert results.means_frame()["MRR@10"]["x"] == results.mean("x", "RR@10")
    assert "MRR" not in results.render("tsv")


def test_saved_and_loaded(tmp_path: Path) -> None:
    for options in ({}, {"queries": "both"}, {"query_weights": {"q1": 1.0, "q2": 3.0, "q3": 0.5}}):
        results = gradeval.evaluate(QRELS, RUNS, "num_q nDCG@10 AP", **options)  # type: ignore[arg-type]
        results.save(tmp_path / "saved.json")
        loaded = gradeval.load(tmp_path / "saved.json")
        assert [run.name for run in loaded.runs] == ["x", "y"]
        np.testing.assert_array_equal(loaded.means, results.means)
        for run in "xy":
            assert loaded.per_query(run, "AP") == results.per_query(run, "AP")
        assert [str(one) for one in loaded.notices] == [str(one) for one in results.notices]
        assert loaded.compare("AP", min_coverage=0).comparisons[0].difference == pytest.approx(
            results.compare("AP", min_coverage=0).comparisons[0].difference, nan_ok=True
        )
    Path(tmp_path / "other").write_text("{}")
    raises(gradeval.InputError, "this JSON is not a saved result", gradeval.load, tmp_path / "other")
    raises(gradeval.InputError, "no such file", gradeval.load, tmp_path / "none")


def test_what_loaded_results_keep(tmp_path: Path) -> None:
    runs = {**RUNS, "broken": str(tmp_path / "none.run")}
    results = gradeval.evaluate(QRELS, runs, "MRR@10 gm_map gm_bpref num_q", interval="t", errors="keep")
    results.save(tmp_path / "saved.json")
    loaded = gradeval.load(tmp_path / "saved.json")
    means = gradeval.load(results.render("json"))
    means.save(tmp_path / "means.json")
    for other in (loaded, means, gradeval.load(tmp_path / "means.json")):
        assert other.render("tsv") == results.render("tsv") and other.asked == results.asked
        assert [str(one.error) for one in other.failed] == [str(one.error) for one in results.failed] != []
    raises(gradeval.InputError, "^results:1: ", gradeval.load, '{"gradeval": ')


def test_saved_texts_and_ranges_over_ties(tmp_path: Path) -> None:
    tied = {"q1": {"a": 1.0, "b": 1.0}, "q2": {"a": 1.0, "b": 1.0}, "q3": {"c": 1.0}}
    metrics = "AP relstring runid num_q gm_map RBP"
    results = gradeval.evaluate(QRELS, {"x": tied, "y": RUNS["x"]}, metrics, tie_range=True)
    for name, magic in (("saved.json", b"{"), ("saved.json.gz", b"\x1f\x8b"), ("saved.JSON.xz", b"\xfd7zXZ")):
        results.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(magic)
        loaded = gradeval.load(tmp_path / name)
        assert loaded.render("csv", per_query=True) == results.render("csv", per_query=True)
        assert loaded.range("x", "AP") == results.range("x", "AP")
        assert loaded.texts("x", "relstring") == results.texts("x", "relstring")
    assert results.range("x", "AP")[0] < results.range("x", "AP")[1]
    assert loaded.compare("AP").render() == results.compare("AP").render()
    for name in ("saved.csv", "saved.TXT.gz"):
        raises(gradeval.OptionError, "results are saved as JSON. Name it .json", results.save, tmp_path / name)
    for key, value, message in (
        ("per_query_high", None, "'per_query_high' of run 'x' is not valid"),
        ("per_query_expected", [], "'per_query_expected' of run 'x' is not valid"),
        ("low", {"AP": 0.5}, "the summary of AP of run 'x' is not that of its values"),
    ):
        damaged = results.to_dict(per_query=True)
        damaged["runs"][0][key] = value
        raises(gradeval.InputError, message, gradeval.load, damaged)


def test_a_result_as_a_dict_is_no_run() -> None:
    results = gradeval.evaluate(QRELS, RUNS, "AP")
    made = results.to_dict(per_query=True)
    what = r": this is a result as a dict \(gradeval/results/1\), .*gradeval.load\(dict\) reads it"
    for call in (
        lambda: gradeval.compare(made),
        lambda: gradeval.compare(QRELS, [made, RUNS["x"]]),
        lambda: gradeval.evaluate(QRELS, {"a": made}),
        lambda: gradeval.evaluate(made, RUNS),
        lambda: gradeval.read_run(made),
        lambda: gradeval.gate(QRELS, RUNS["x"], baseline=made, no_worse="AP"),
    ):
        raises(gradeval.InputError, what, call)
    of_comparison = json.loads(gradeval.compare(results, min_coverage=0).render("json"))
    raises(gradeval.InputError, "a dict .*, neither qrels nor a run$", gradeval.evaluate, QRELS, of_comparison)


def test_one_run_of_several() -> None:
    results = gradeval.evaluate(QRELS, RUNS, "AP")
    raises(
        gradeval.InputError,
        "it has 2 runs.*in Python results.only",
        gradeval.gate,
        QRELS,
        results,
        require="AP > 0",
    )
    for run in "xy":
        alone, expected = results.only(run), gradeval.evaluate(QRELS, {run: RUNS[run]}, "AP")
        assert str(alone) == str(expected)
        report = gradeval.gate(QRELS, alone, require=f"AP > {results['AP'][run]}")
        assert not report.held
    assert [run.name for run in results.only("y", 0).runs] == ["y", "x"]
    raises(gradeval.GradevalError, "unknown run 'z': the runs are x, y", results.only, "z")


def test_short_reprs() -> None:
    results = gradeval.evaluate({**QRELS, "q4": {"a": 1}}, {"x": RUNS["x"]}, "AP")
    assert repr(results.queries) == "Texts(4: 'q1', 'q2', 'q3', …)"
    assert repr(gradeval.evaluate({"q": {"a": 1}}, {"q": {"a": 1}}).queries) == "Texts(1: 'q')"
    assert repr(results.runs) == "(RunResult(name='x', path='x', queries=4),)"


def test_warned_once() -> None:
    with pytest.warns(gradeval.EvaluationWarning, match="not in the run"):
        results = gradeval.evaluate(QRELS, {"x": RUNS["x"]}, "nDCG@2,3 AP")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = gradeval.load(results.to_dict(per_query=True))
        gradeval.plot.means(results)
        for call in (gradeval.plot.means, gradeval.plot.curve, gradeval.report):
            call(loaded)
        warnings.filterwarnings("ignore", "only 3 queries")  # which gate alone warns of
        gradeval.gate(QRELS, results, require="AP > 0")
        gradeval.gate(loaded, require="AP > 0")
        curve = gradeval.plot.curve(results, metrics="ndcg")
        for runs in ([results, results], {"a": results, "b": results}, {"a": results}):
            gradeval.evaluate(QRELS, runs, "AP")
            gradeval.plot.means(QRELS, runs, "AP")
    assert [row[2] for row in curve.tables[0].rows] == [2, 3]
    with pytest.warns(gradeval.EvaluationWarning, match="2 of 2 runs lack"):  # one of which is new
        gradeval.evaluate(QRELS, {"a": results, "b": RUNS["x"]}, "AP")


def test_the_catalogue() -> None:
    rows = {row["name"]: row for row in gradeval.list_metrics()}
    assert rows.keys() == REGISTRY.keys()
    assert rows["nDCG"]["range"] == (0, 1) and rows["nDCG"]["cutoff"] and rows["nDCG"]["graded"]
    assert rows["AP"]["expected_ties"] and not rows["AP"]["graded"]
    assert rows["muAP"]["source"].startswith("Scheel, Lommatzsch, Albayrak")
    assert all(row["source"] and row["summary"] and row["family"] for row in rows.values())
    assert not any(isinstance(end, float) and math.isnan(end) for row in rows.values() for end in row["range"])
