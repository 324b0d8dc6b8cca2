"""Weighted means, their intervals and tests: of files and dicts, in saved results, gates and batches."""

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from cli.command import gradeval as command
from helpers import each, each_row, error_of, raises
from scipy import stats

import gradeval
from gradeval.compare_options import WEIGHTED_TESTS
from gradeval.errors import GradevalError, InputError, InputErrors, OptionError
from gradeval.statistics.intervals import queries_needed, smallest_effect_size
from gradeval.statistics.sampling import Sampling
from gradeval.statistics.tests import paired_tests
from gradeval.statistics.weighted import Sample

QRELS = {"1": {"a": 1, "b": 0}, "2": {"a": 0, "b": 1}, "3": {"a": 0}}
RUN = {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 2.0, "b": 1.0}, "3": {"a": 1.0}}
WEIGHTS = {"1": 1, "2": 3, "3": 0, "9": 5}


def test_means_are_weighted_and_sums_are_not() -> None:
    results = gradeval.evaluate(QRELS, RUN, "RR num_rel num_q gm_map", query_weights=WEIGHTS)
    assert results.mean(0, "RR") == (1 * 1 + 3 * 0.5) / 4
    assert (results.mean(0, "num_rel"), results.mean(0, "num_q")) == (2, 3)
    assert results.mean(0, "gm_map") == pytest.approx(0.5 ** (3 / 4))
    assert results.values(0, "RR").tolist() == [1, 0.5, 0]
    assert "means are weighted by query_weights" in results.warnings
    assert results.by_id().mean(0, "RR") == results.mean(0, "RR")
    skipped = gradeval.evaluate(QRELS, RUN, "AP", no_relevant="skip", query_weights={"1": 1, "2": 1, "3": 9})
    assert skipped.mean(0, "AP") == 0.75
    chosen = gradeval.evaluate(QRELS, RUN, "RR", query_ids="1,2", query_weights={"1": 1, "2": 0})
    assert chosen.mean(0, "RR") == 1
    weights = pytest.importorskip("pandas").Series({1: 1, 2: 3, 3: 0})
    assert gradeval.evaluate(QRELS, RUN, "RR", query_weights=weights).mean(0, "RR") == 2.5 / 4
    tied = {"1": {"a": 1.0, "b": 1.0}, "2": {"a": 1.0, "b": 1.0}, "3": {"a": 1.0}}
    results = gradeval.evaluate(QRELS, tied, "RR", query_weights=WEIGHTS, no_relevant=0)
    [notice] = [notice for notice in results.notices if notice.kind == "ties"]
    assert (notice.value, notice.low, notice.high) == (results.mean(0, 0), 0.5, 1.0)
    ranged = gradeval.evaluate(QRELS, tied, "RR", query_weights=WEIGHTS, tie_range=True)
    assert ranged.range(0, 0) == (0.5, 1.0)


@each_row(
    ({"1": 1}, "query_weights: 2 queries have no weight: '2', '3'"),
    ({"1": -1}, "the weight of query '1' must be a number from 0 to 1e+150, not -1.0"),
    ({"1": "x"}, "the weight of query '1' must be a number from 0 to 1e+150, not 'x'"),
    ({"1": 1e-322}, "weight of query '1', 1e-322, is too close to 0: the smallest above 0 is 1e-150"),
    ({1: 1, "1": 2}, "query_weights: a query has two weights"),
    ({"1": 0}, "no query has a weight above 0"),
    ([1, 2], "query_weights must be {query: weight} or a path, not [1, 2]"),
)
def test_wrong_weights(weights: object, what: str) -> None:
    assert what in error_of(GradevalError, gradeval.evaluate, QRELS, RUN, "RR", query_weights=weights)


IDS = [f"q{number}" for number in range(20)]
OF_IDS = {query: 1 + number % 4 for number, query in enumerate(IDS)}


def judged() -> tuple[dict[str, Any], dict[str, Any]]:
    random = Random(3)
    qrels = {query: {f"d{d}": random.randrange(3) for d in range(8)} | {"top": 1} for query in IDS}
    runs = {name: {query: {f"d{d}": random.random() for d in range(8)} for query in IDS} for name in "abc"}
    return qrels, runs


def test_intervals_are_those_of_weighted_means() -> None:
    qrels, runs = judged()
    results = gradeval.evaluate(qrels, runs, "AP num_ret", query_weights=OF_IDS, interval="t")
    values, weights = results.values("a", "AP"), np.array([*OF_IDS.values()], float)
    mean, total = np.average(values, weights=weights), weights.sum()
    error = math.sqrt(20 / 19 * (weights**2 * (values - mean) ** 2).sum()) / total
    half = stats.t.ppf(0.975, total**2 / (weights**2).sum() - 1) * error
    assert results.mean("a", "AP") == pytest.approx(mean, rel=1e-14)
    assert results.interval("a", "AP") == pytest.approx((mean - half, mean + half), rel=1e-9)
    low, high = results.interval("a", "AP", method="bootstrap")
    assert mean - 1.3 * half < low < high < mean + 1.3 * half
    assert np.isnan(results.interval("a", "num_ret")).all()
    # equal weights are none, also where some are 0
    for method in ("t", "bootstrap"):
        equal = gradeval.evaluate(qrels, runs, "AP", query_weights=dict.fromkeys(IDS, 0.3), interval=method)
        plain = gradeval.evaluate(qrels, runs, "AP", interval=method)
        assert equal.render("csv", digits="full") == plain.render("csv", digits="full")
    some = dict.fromkeys(IDS, 0.0) | dict.fromkeys(IDS[5:], 7.0)
    weighted = gradeval.evaluate(qrels, runs, "AP", query_weights=some, interval="t")
    chosen = gradeval.evaluate(qrels, runs, "AP", query_ids=IDS[5:], interval="t")
    assert weighted.render("csv", digits="full") == chosen.render("csv", digits="full")


@each("options", [
    *({"test": test} for test in WEIGHTED_TESTS),
    {"correction": "maxt", "all_pairs": True},
    {"by": {query: "odd" if number % 2 else "even" for number, query in enumerate(IDS)}},
    {"power": True, "worst": 3, "sort": "AP"},
])  # fmt: skip
def test_comparisons_with_equal_weights_are_those_without(options: dict[str, Any]) -> None:
    qrels, runs = judged()
    how = {"samples": 200, **options}
    plain = gradeval.compare(qrels, runs, "AP nDCG@3", **how)
    equal = gradeval.compare(qrels, runs, "AP nDCG@3", query_weights=dict.fromkeys(IDS, 0.3), **how)
    assert equal.render("csv", digits="full") == plain.render("csv", digits="full")
    some = dict.fromkeys(IDS, 0) | dict.fromkeys(IDS[4:], 1e150)
    weighted = gradeval.compare(qrels, runs, "AP nDCG@3", query_weights=some, **how)
    chosen = gradeval.compare(qrels, runs, "AP nDCG@3", query_ids=IDS[4:], **how)
    assert weighted.render("csv", digits="full") == chosen.render("csv", digits="full")
    assert weighted.values.queries == tuple(IDS[4:])  # a query of weight 0 counts in nothing


def test_weighted_comparisons() -> None:
    qrels, runs = judged()
    compared = gradeval.compare(qrels, runs, "AP", query_weights=OF_IDS, power=True)
    results = gradeval.evaluate(qrels, runs, "AP", query_weights=OF_IDS)
    assert repr(results.compare(power=True).comparisons) == repr(compared.comparisons)
    weights = np.array([OF_IDS[query] for query in results.queries], float)
    for pair in compared.comparisons:
        differences = results.values(pair.run, "AP") - results.values("a", "AP")
        sample = Sample.of(differences, weights)
        [outcome] = paired_tests("t", differences[:, None], 0.05, Sampling(), weights)
        assert (pair.p, pair.low, pair.high) == pytest.approx((outcome.p, outcome.low, outcome.high), rel=1e-12)
        assert (pair.difference, pair.mean) == pytest.approx((sample.mean, results.mean(pair.run, "AP")))
        assert pair.effect_size * math.sqrt(sample.effective_n) == pytest.approx(
            sample.mean / sample.standard_error
        )
        assert pair.won == (differences > 0).sum()
        assert pair.power is not None
        assert pair.power.smallest == pytest.approx(smallest_effect_size(sample.effective_n, 0.05) * pair.sd)
        needed = queries_needed(pair.effect_size, 0.05)
        assert pair.power.needed == math.ceil(needed * (20 / sample.effective_n))
    text = " ".join(compared.render("table").split())
    assert "Effective number of queries: 16.7." in text and "with weights as unequal as these." in text
    assert compared.sections[0].means[1, 0] == results.mean("b", "AP")


@each("options, what", [
    ({"test": "sign"}, r"^the test sign has no weights of queries\. Choose --test t, randomization or boot"),
    ({"test": "wilcoxon"}, "^the test wilcoxon has no weights"),
    ({"test": "tukey", "all_pairs": True}, "^the test tukey has no weights"),
    ({"anova": True}, r"^the analysis of variance has no weights of queries\. Leave out --anova"),
])  # fmt: skip
def test_what_has_no_weights(options: dict[str, Any], what: str) -> None:
    qrels, runs = judged()
    results = gradeval.evaluate(qrels, runs, "AP", query_weights=OF_IDS)
    raises(OptionError, what, results.compare, **options)
    raises(OptionError, what, gradeval.compare, "not", "read", query_weights=OF_IDS, **options)


def test_tables_of_values_and_pages(tmp_path: Path) -> None:
    qrels, runs = judged()
    compared = gradeval.compare(qrels, runs, "AP", query_weights=OF_IDS)
    tables = {}
    for run in runs:
        values = gradeval.evaluate(qrels, runs[run], "AP").per_query(0, "AP")
        tables[run] = tmp_path / f"{run}.csv"
        tables[run].write_text(
            "query,AP\n" + "".join(f"{query},{value!r}\n" for query, value in values.items())
        )
    weights = tmp_path / "weights"
    weights.write_text("".join(f"{query}\t{weight}\n" for query, weight in OF_IDS.items()))
    of_tables = gradeval.compare_tables(tables, query_weights=weights)
    assert repr(of_tables.comparisons) == repr(compared.comparisons)
    assert f"means are weighted by {weights}" in of_tables.warnings
    raises(
        OptionError,
        "^the test sign has no",
        gradeval.compare_tables,
        tables,
        query_weights=weights,
        test="sign",
    )
    weights.write_text("q1\t1\n")
    raises(
        (InputErrors, InputError),
        "weights: 19 queries have no weight",
        gradeval.compare_tables,
        tables,
        query_weights=weights,
    )
    pytest.importorskip("jinja2")
    page = gradeval.report(qrels, runs, "AP", query_weights=OF_IDS, explain=0, interval="t").render()
    assert "Effective number of queries: 16.7." in page and "of the weighted mean over queries" in page
    assert '"weights":[1.0,2.0,3.0,4.0,1.0' in page and "query weights of 20 queries" in page
    low, high = gradeval.evaluate(qrels, runs, "AP", query_weights=OF_IDS).interval("b", "AP")
    assert f"[{low:.4f}, {high:.4f}]" in page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = "".join(f"{q} Q0 {d} 0 {s} t\n" for q, of in RUN.items() for d, s in of.items())
    qrels = "".join(f"{q} 0 {d} {g}\n" for q, of in QRELS.items() for d, g in of.items())
    texts = {"qrels": qrels, "a.run": run, "b.run": run, "weights": "1\t1\n2\t3\n3\t0\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_files(folder: Path) -> None:
    qrels, run, weights = (folder / name for name in ("qrels", "a.run", "weights"))
    weights.write_text("query\tweight\n# traffic\n\n1\t1\r\n2\t3\n3\t0\n")
    args = (str(qrels), str(run), "-m", "RR", "--query-weights", str(weights), "--quiet")
    assert command(*args).out.splitlines()[1].endswith("RR\t0.6250")
    strict = command(*args[:-1], "--strict", "-m", "RR", "--no-relevant", "0")
    assert (strict.code, f"note: means are weighted by {weights} [weighted]\n" in strict.err) == (0, True)
    saved = folder / "saved.json"
    assert command(*args, "-q", "-f", "json", "-o", str(saved)).code == 0
    assert json.loads(saved.read_text())["options"]["query_weights"] == {"1": 1.0, "2": 3.0, "3": 0.0}
    again = command(str(qrels), str(saved), "-m", "RR", "--query-weights", str(weights), "--quiet")
    assert again.out.splitlines()[1].endswith("RR\t0.6250")
    for args in ((str(qrels),), ("compare", str(qrels), str(run)), ("gate", str(qrels), "--require", "RR > 0")):
        done = command(*args, str(saved), "--quiet")
        what = f"{saved}: its means were made with --query-weights, and here are none. Give the same"
        assert (done.code, done.out, what in done.err) == (2, "", True)


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "weights.csv"
    path.write_text("weight,query\n" + "".join(f"{weight},{query}\n" for query, weight in WEIGHTS.items()))
    results = [gradeval.evaluate(QRELS, RUN, "RR", query_weights=weights) for weights in (path, WEIGHTS)]
    assert results[0].runs[0].summary == results[1].runs[0].summary


def test_wrong_files(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_text("1 2\n2\t-1\n3\tx\n2\t1\n4\t1e308\n5\t1e-322\n6\t1e-150\n7\t0\n")
    assert error_of(InputErrors, gradeval.evaluate, QRELS, RUN, "RR", query_weights=path).splitlines() == [
        f"{path}:1: a line has a query and its weight, with a tab between",
        f"{path}:2: the weight '-1' is not a number from 0",
        f"{path}:3: the weight 'x' is not a number from 0",
        f"{path}:4: query '2' has a weight already",
        f"{path}:5: the weight '1e308' is too large: the largest is 1e150",
        f"{path}:6: the weight '1e-322' is too close to 0: the smallest above 0 is 1e-150",
    ]
    path.write_text("# traffic\ntopic,importance\n1,2\n2,x\n")
    header = (
        "A header has a column of queries (queryid, qid, topicid, userid, uid, query, topic, user, querytext)"
    )
    assert error_of(InputErrors, gradeval.evaluate, QRELS, RUN, "RR", query_weights=path).splitlines() == [
        f"{path}:2: the weight 'importance' is not a number from 0. {header} and one named weight",
        f"{path}:4: the weight 'x' is not a number from 0",
    ]
    path.write_text("# traffic\n1 2\n2 3\n")
    what = r"weights: no line has a tab. Write 'query TAB weight' lines, or CSV"
    raises(GradevalError, what, gradeval.evaluate, QRELS, RUN, "RR", query_weights=path)
    path.write_text("")
    raises(GradevalError, "empty", gradeval.evaluate, QRELS, RUN, "RR", query_weights=path)


def test_batch(folder: Path) -> None:
    manifest, out, weights = folder / "m.toml", folder / "out.json", folder / "weights"
    manifest.write_text(
        'metrics = "RR"\nqrels = "qrels"\nruns = "{system}.run"\nsystems = ["a", "b"]\n[options]\n'
        'query_weights = "weights"\n[collections.file]\n[collections.table.options]\n'
        "query_weights = { 1 = 1, 2 = 1, 3 = 2 }\n"
    )
    args = ("batch", str(manifest), "-o", str(out), "--quiet")

    def values(*more: str) -> list[float]:
        done = command(*args, *more)
        assert done.code == 0, done.err
        return [cell["values"]["RR"]["mean"] for cell in json.loads(out.read_text())["cells"]]

    assert values() == [0.625, 0.625, 0.375, 0.375]
    weights.write_text("1\t1\n2\t1\n3\t0\n")  # other weights: these cells are evaluated again
    assert values("--resume") == [0.75, 0.75, 0.375, 0.375]
    done = command(*args, "--pool")
    assert (done.code, "file: averages over all queries together (pool) are of unw" in done.err) == (2, True)
    Path(folder / "b.run").write_text("1 Q0 a 0 2 t\n2 Q0 b 0 1 t\n3 Q0 a 0 1 t\n")
    weights.write_text("1\t1\n2\t3\n3\t0\n")
    assert values("--baseline", "a") == [0.625, 1.0, 0.375, 0.5]
    pair = json.loads(out.read_text())["cells"][1]["comparisons"]["RR"]
    paths = (str(folder / name) for name in ("qrels", "a.run", "b.run"))
    compared = command("compare", *paths, "-m", "RR", "--query-weights", str(weights), "-f", "json", "--quiet")
    [expected] = json.loads(compared.out)["comparisons"]
    assert [pair[name] for name in ("n", "p", "low", "mean")] == [
        expected[name] for name in ("n", "p", "low", "mean")
    ]
    weights.write_text("1\t1\n")
    done = command(*args)
    assert done.code == 2 and "file: query_weights: 2 queries have no weight: '2', '3'" in done.err


def test_no_collection_of_a_pooled_batch_has_weights(folder: Path) -> None:
    manifest = {
        "qrels": str(folder / "qrels"),
        "runs": str(folder / "{system}.run"),
        "systems": ["a", "b"],
        "metrics": "RR",
        "collections": {"first": {}, "second": {"options": {"query_weights": {"1": 1, "2": 1, "3": 2}}}},
    }
    what = "second: averages over all queries together .* are of unweighted means"
    raises(GradevalError, what, gradeval.batch, manifest, pool=True)


def test_gate(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path("worse.run").write_text("1 Q0 a 0 2 t\n2 Q0 x 0 2 t\n2 Q0 a 0 1 t\n2 Q0 b 0 0 t\n3 Q0 a 0 1 t\n")
    Path("ci").mkdir()
    Path("ci/gate.toml").write_text(
        'require = "RR > 0.62"\nmax-drop = "RR 0.12"\nbaseline = "../a.json"\n'
        '[options]\nquery_weights = "../weights"\n'
    )
    save = ("qrels", "a.run", "-m", "RR Judged@10", "-q", "-f", "json", "-o", "a.json", "--quiet")
    assert command(*save).code == 0  # without weights: those of the gate count
    gated = ("gate", "qrels", "b.run", "--config", "ci/gate.toml", "--quiet")
    assert command(*gated, "--update-baseline").code == 0
    [saved] = json.loads((folder / "a.json").read_text())["runs"]
    assert saved["summary"]["RR"] == 0.625
    assert command(*gated).code == 0
    worse = command("gate", "qrels", "worse.run", "--config", "ci/gate.toml", "--quiet", "-f", "json")
    outcomes = {check["kind"]: check for check in json.loads(worse.out)["checks"]}
    assert outcomes["require"]["value"] == 0.5
    drop = outcomes["max-drop"]
    assert (drop["value"], drop["baseline_mean"], drop["verdict"]) == (0.5, 0.625, "failed")
    tested = command("gate", "qrels", "worse.run", "--config", "ci/gate.toml", "--no-worse", "RR", "-f", "json")
    outcome = {check["kind"]: check for check in json.loads(tested.out)["checks"]}["no-worse"]
    compared = command(
        "compare", "qrels", "a.json", "worse.run", "--query-weights", "weights", "-m", "RR", "-f", "json"
    )
    [pair] = json.loads(compared.out)["comparisons"]
    assert (outcome["n"], outcome["low"], outcome["high"]) == (2, pair["low"], pair["high"])
    assert (outcome["value"], outcome["mean"]) == (pair["difference"], pair["mean"])
    first = command("gate", "qrels", "b.run", "--baseline", "a.run", "--query-weights", "weights", "--init")
    assert '\nquery_weights = "weights"\n' in first.out and "\nno-worse" in first.out
