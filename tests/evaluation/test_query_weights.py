"""Weighted means: of files and dicts, in saved results, and refused beside intervals and tests."""

import json
from pathlib import Path

import pytest
from cli.command import gradeval as command
from helpers import each_row, error_of, raises

import gradeval
from gradeval.errors import GradevalError, InputErrors, OptionError

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


def test_tests_and_intervals_refuse_them() -> None:
    results = gradeval.evaluate(QRELS, {"a": RUN, "b": RUN}, "RR", query_weights=WEIGHTS)
    raises(OptionError, r"^tests and the means beside them are of unweighted", results.compare)
    raises(OptionError, r"^intervals are of unweighted means", results.interval, 0, 0)
    weighted = {"query_weights": WEIGHTS, "interval": "t"}
    what = "query_weights and interval are mutually exclusive"
    raises(OptionError, what, gradeval.evaluate, QRELS, RUN, "RR", **weighted)


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
    path.write_text("# traffic\n1 2\n2 3\n")
    what = r"weights: no line has a tab. Write 'query TAB weight' lines"
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
    for option, what in ((["--pool"], "over all queries together"), (["--baseline", "a"], "tests against")):
        done = command(*args, *option)
        assert (done.code, f"file: {'averages ' * ('--pool' in option)}{what}" in done.err) == (2, True)
    weights.write_text("1\t1\n")
    done = command(*args)
    assert done.code == 2 and "file: query_weights: 2 queries have no weight: '2', '3'" in done.err


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
    for kind, text in (("no-worse", "RR"), ("non-inferior", "RR 0.1")):
        done = command(*gated, f"--{kind}", text)
        assert done.code == 2 and ": tests are of unweighted means. Evaluate without query_weights" in done.err
    first = command("gate", "qrels", "b.run", "--baseline", "a.run", "--query-weights", "weights", "--init")
    assert '\nquery_weights = "weights"\n' in first.out and "\n# no-worse" in first.out
