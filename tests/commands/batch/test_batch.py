"""Manifests; gradeval.batch: means, averages and significance against slow references; earlier outputs."""

import math
import os
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from helpers import each, error_of, raises
from scipy import stats

import gradeval
from gradeval.commands.batch import batch as module
from gradeval.commands.batch.batch import read_earlier
from gradeval.commands.batch.manifest import read_manifest
from gradeval.errors import GradevalError, InputError
from gradeval.evaluation.plan import Plan
from gradeval.formats.sources import Source

SYSTEMS = ("one", "two", "three")
SIZES = {"north": 40, "south": 30, "west": 35}
METRICS = "nDCG@5 AP"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Collections of several sizes, and systems that differ in how much noise their scores have."""
    monkeypatch.chdir(tmp_path)
    draw = Random(5)
    for name, size in SIZES.items():
        os.mkdir(name)
        grades = {(q, d): draw.choice([0, 0, 1, 2]) for q in range(size) for d in range(12)}
        text = "".join(f"q{q} 0 d{d} {grade}\n" for (q, d), grade in grades.items())
        Path(f"{name}/qrels").write_text(text)
        for noise, system in zip((0.9, 1.0, 4.0), SYSTEMS, strict=True):
            scores = {pair: grade + draw.gauss(0, noise) for pair, grade in grades.items()}
            rows = (f"q{q} Q0 d{d} 1 {score:.6f} t\n" for (q, d), score in scores.items())
            Path(f"{name}/{system}.run").write_text("".join(rows))
    return tmp_path


def batched(resume: str | None = None, baseline: str | None = None, pool: bool = False, **more: Any) -> Any:
    content = {"qrels": "{collection}/qrels", "runs": "{collection}/{system}.run", "metrics": METRICS}
    content |= {"systems": list(SYSTEMS), "collections": list(SIZES), **more}
    return gradeval.batch(content, resume=resume, baseline=baseline, pool=pool)


def slow(collection: str, system: str, metric: str) -> list[float]:
    results = gradeval.evaluate(f"{collection}/qrels", f"{collection}/{system}.run", metric)
    return [value for value in results.per_query(0, metric).values() if not math.isnan(value)]


def test_means_and_averages() -> None:
    macro, pooled = batched(), batched(pool=True)
    for system, metric in product(SYSTEMS, ("nDCG@5", "AP")):
        values = {name: slow(name, system, metric) for name in SIZES}
        means = {name: sum(of) / len(of) for name, of in values.items()}
        for name, mean in means.items():
            assert macro.value(name, system, metric) == pooled.value(name, system, metric)
            assert macro.value(name, system, metric) == pytest.approx(mean, rel=1e-12)
        of_all = [value for of in values.values() for value in of]
        assert macro.average(system, metric) == pytest.approx(sum(means.values()) / 3, rel=1e-12)
        assert pooled.average(system, metric) == pytest.approx(sum(of_all) / len(of_all), rel=1e-12)


def test_pooled_counts_and_undefined_values() -> None:
    """The sum of counts; queries without a value are not counted; a geometric mean stays one."""
    grades = (f"q{q} 0 d{d} {d * (q > 9)}\n" for q in range(30) for d in range(12))
    Path("south/qrels").write_text("".join(grades))
    found = batched(metrics="num_q num_ret rankDCG gm_map", pool=True)
    rank = [value for name in SIZES for value in slow(name, "two", "rankDCG")]
    assert len(rank) == 95
    assert found.average("two", "rankDCG") == pytest.approx(sum(rank) / 95, rel=1e-12)
    assert (found.average("two", "num_q"), found.average("two", "num_ret")) == (105, 105 * 12)
    logs = [math.log(max(value, 1e-5)) for name in SIZES for value in slow(name, "two", "AP")]
    assert found.average("two", "gm_map") == pytest.approx(math.exp(sum(logs) / 105), rel=1e-12)
    assert batched(metrics="num_q").average("two", "num_q") == 35


def test_features_as_systems() -> None:
    lines = [f"{d % 3} qid:{q} 1:{d * q % 5} 2:{d} # d{d}\n" for q in range(1, 30) for d in range(6)]
    Path("letor").write_text("".join(lines))
    rows = [f"{q} Q0 d{d} 1 {d * q % 5} t\n" for q in range(1, 30) for d in range(6)]
    Path("x.run").write_text("".join(rows))
    content = {"collections": {"l": {"qrels": "letor", "runs": "x.run"}}, "systems": ["x"], "features": "1,2,9"}
    found = gradeval.batch({**content, "metrics": "AP", "options": {"ties": "trec"}}, baseline="feature2")
    results = gradeval.evaluate("letor", "letor", "AP", features="1,2", ties="trec")
    assert found.systems == ("x", "feature1", "feature2", "feature9")
    assert [found.value("l", f"feature{k}", "AP") for k in (1, 2)] == results.means[:, 0].tolist()
    assert found.value("l", "x", "AP") == found.value("l", "feature1", "AP")
    assert found.cells["l", "feature9"].errors == ("letor: no line has feature 9",)
    assert set(found.comparisons) == {("l", "x", "AP"), ("l", "feature1", "AP")}


def test_significance() -> None:
    values = {cell: slow(*cell) for cell in product(SIZES, SYSTEMS, METRICS.split())}
    verdicts = {"one": {"", "worse"}, "three": {"better"}}
    for baseline in verdicts:
        found = batched(baseline=baseline).comparisons
        expected = {
            (name, system, metric): stats.ttest_rel(of, values[name, baseline, metric]).pvalue
            for (name, system, metric), of in values.items()
            if system != baseline
        }
        assert set(found) == set(expected)
        least = 0.0
        for rank, key in enumerate(sorted(expected, key=expected.__getitem__)):
            least = max(least, min(1.0, (len(expected) - rank) * expected[key]))
            cell = found[key]
            assert (cell.p, cell.p_corrected) == (pytest.approx(expected[key]), pytest.approx(least))
            significant = "better" if cell.difference > 0 else "worse"
            assert cell.verdict == (significant if least < 0.05 else "")
        assert {cell.verdict for cell in found.values()} == verdicts[baseline]


def test_features_and_runs_have_the_same_qrels(monkeypatch: pytest.MonkeyPatch) -> None:
    """These are read for both, and what has changed cannot be compared."""
    text, evaluate = "1 qid:1 1:2 # a\n0 qid:1 1:1 # b\n1 qid:2 1:1 # c\n", module.evaluate_all
    Path("letor").write_text(text)
    Path("x.run").write_text("1 Q0 a 1 1 t\n")

    def changes_them(*args: Any, **more: Any) -> Any:
        results = evaluate(*args, **more)
        Path("letor").write_text(text + "1 qid:2 1:2 # d\n")
        return results

    monkeypatch.setattr(module, "evaluate_all", changes_them)
    content = {"collections": {"l": {"qrels": "letor", "runs": "x.run"}}, "systems": ["x"], "features": "1"}
    found = gradeval.batch({**content, "metrics": "AP"}, baseline="feature1")
    assert [cell.errors for cell in found.cells.values()] == [
        ("letor: the file changed while it was read. Run this again when it is complete",),
        (),
    ]


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    seen: list[tuple[str, str]] = []
    evaluate = module.evaluate_all

    def watched(plan: Plan, qrels: Source, runs: list[tuple[str, Any]], *args: Any) -> Any:
        seen.extend((os.path.dirname(qrels.name), name) for name, _ in runs)
        return evaluate(plan, qrels, runs, *args)

    monkeypatch.setattr(module, "evaluate_all", watched)
    return seen


@each("format, baseline", [("json", "one"), ("jsonl", None)])
def test_what_is_unchanged_is_kept(format: str, baseline: str | None, evaluated: list[Any]) -> None:
    Path("north/three.run").unlink(missing_ok=True)
    with open("west/two.run", "a") as run:  # a query that is not judged, which is a notice
        run.write("other Q0 d1 1 1 t\n" if format == "json" else "")
    first = batched(baseline=baseline)
    Path("out").write_text(first.render(format))
    evaluated.clear()
    again = batched(baseline=baseline, resume="out")
    assert evaluated == []
    assert (again.render("json"), again.notices) == (first.render("json"), first.notices)


def test_what_depends_on_a_change(evaluated: list[tuple[str, str]]) -> None:
    for changed, expected in (
        ("west/qrels", {("west", system) for system in SYSTEMS}),
        ("west/three.run", {("west", "one"), ("west", "three")}),  # the values of the baseline are needed
    ):
        Path("out.json").write_text(batched(baseline="one").render("json"))
        with open(changed, "a") as file:
            file.write("q0 0 other 1\n" if changed.endswith("qrels") else "q0 Q0 other 1 99 t\n")
        evaluated.clear()
        again = batched(baseline="one", resume="out.json")
        assert set(evaluated) == expected
        assert again.render("json") == batched(baseline="one").render("json")
    assert repr(again) == "Batch(path='manifest', systems=3, collections=3, notices=0)"
    rows = again.rows()
    assert len(rows) == 18 and rows[2]["system"] == "two"
    assert rows[2]["difference"] == again.comparisons["north", "two", rows[2]["metric"]].difference
    for what, args in (("no cell of x on north", ("north", "x")), ("no system x: the systems are one", ("x",))):
        raises(GradevalError, what, again.value if len(args) > 1 else again.average, *args, "AP")
    # other settings keep nothing
    Path("out.json").write_text(again.render("json"))
    for more in ({"metrics": "AP"}, {"options": {"rel": 2}}, {"baseline": "two"}):
        evaluated.clear()
        again = batched(**{"baseline": "one", **more}, resume="out.json")
        assert len(set(evaluated)) == 9
        assert again.render("json") == batched(**{"baseline": "one", **more}).render("json")


def test_other_files_are_no_earlier_output() -> None:
    other = '{"gradeval": "0.1.0", "runs": []}'
    for text in (
        "run\tquery\n",
        "[1]",
        "{}",
        other,
        '{"cells": [1]}',
        '{"cells": 3}',
        '{"a": 1}\n{"b": 2}\n',
        "\xff",
    ):
        Path("old").write_bytes(text.encode("latin-1"))
        with pytest.raises(InputError, match=r"^old: this is not an output of gradeval batch\. Save one with"):
            read_earlier(Source("old"))
    Path("old").write_text("")  # as an interrupted command may leave it
    assert read_earlier(Source("old")) == {}


WHOLE = """\
metrics = ["nDCG@10", "AP"]
qrels = "qrels/{collection}.txt"
runs = "runs/{system}/{collection}.run"
features = "1,3-4"

[options]
rel = 2
query_ids = "q1,q2"

[systems]
bm25 = "runs/bm25.{collection}"
"my dense" = "d/{collection}/{system}"

[collections.covid]

[collections."a b"]
qrels = "other.txt"
metrics = "RR"
runs = { bm25 = "x.run" }
options = { rel = 1, groups = "sizes" }
"""


def read(text: str, path: str = "m.toml") -> Any:
    Path(path).write_text(text)
    return read_manifest(path)


def test_everything() -> None:
    os.mkdir("sub")
    found = read(WHOLE, "sub/m.toml")
    assert found.systems == ("bm25", "my dense", "feature1", "feature3", "feature4")
    assert found.features == {"feature1": 1, "feature3": 3, "feature4": 4}
    covid, other = found.collections
    assert (covid.name, covid.qrels, [*map(str, covid.specs)]) == (
        "covid",
        "sub/qrels/covid.txt",
        ["nDCG@10", "AP"],
    )
    assert covid.runs == {"bm25": "sub/runs/bm25.covid", "my dense": "sub/d/covid/my dense"}
    assert (covid.options.rel, covid.options.query_ids) == (2, ("q1", "q2"))
    assert (other.name, other.qrels, [*map(str, other.specs)]) == ("a b", "sub/other.txt", ["RR"])
    assert other.runs == {"bm25": "sub/x.run", "my dense": "sub/d/a b/my dense"}
    assert (other.options.rel, other.options.groups) == (1, "sub/sizes")


GOOD = {
    "qrels": "q/{collection}",
    "runs": "r/{collection}/{system}",
    "systems": ["x", "y"],
    "collections": ["a"],
}


@each("more, what", [
    ({"metric": "AP"}, "unknown key 'metric'. Did you mean 'metrics'?"),
    ({"zzz": 1}, "unknown key 'zzz'. The keys are qrels, runs, metrics, systems, features, collections"),
    ({"collections": {"a": {"qrel": "x"}}}, "unknown key 'qrel' in [collections.a]. Did you mean 'qrels'?"),
    ({"options": {"dept": 3}}, "unknown key 'dept' in [options]. Did you mean 'depth'?"),
    ({"options": {"features": "1"}}, "unknown key 'features' in [options]. The keys are rel"),
    ({"options": {"columns": "foo"}}, "columns must be some of query=NAME, document=NAME, grade=NAME, "
     "score=NAME, distance=NAME, rank=NAME, subtopic=NAME, judge=NAME, each once, not 'foo'"),
    ({"options": {"rel": "high"}}, "rel must be a finite number, not 'high'"),
    ({"options": {"rel": -1}}, "rel must be at least 0, not -1: grades below 0"),
    ({"collections": []}, "no collections given"),
    ({"collections": ["a", "a"]}, "collections has a name twice"),
    ({"collections": ["average"]}, "'average' cannot be a name of collections"),
    ({"systems": None}, "no systems given"),
    ({"systems": ["x", "feature3"], "features": 3}, "system 'feature3' is a feature too"),
    ({"qrels": None}, "collection 'a' has no qrels. Add qrels = \"PATH\" to it"),
    ({"runs": None}, "no path of the runs of 'x' on 'a'. Add runs = \"runs/{collection}/{system}.run\""),
    ({"runs": "r/{collection}"}, "runs has no {system}: all systems have the same file"),
    ({"runs": "{colection}/{system}"}, "unknown placeholder {colection} in runs. runs may have {collection}"),
    ({"qrels": "{system}"}, "unknown placeholder {system} in qrels. qrels may have {collection}"),
    ({"collections": {"a": {"runs": {"z": "p"}}}}, "'z' in runs of [collections.a] is not one of"),
])  # fmt: skip
def test_what_is_wrong(more: dict[str, Any], what: str) -> None:
    content = {key: value for key, value in {**GOOD, **more}.items() if value is not None}
    assert error_of(InputError, read_manifest, content).startswith(f"manifest: {what}")


def test_the_line_of_what_is_wrong() -> None:
    for text, message in (
        (WHOLE.replace("metrics = \"RR\"", "metric = \"RR\""), "m.toml:18: unknown key 'metric' in"),
        (WHOLE.replace("rel = 2", "relevance = 2"), "m.toml:7: unknown key 'relevance' in [options]"),
        ("# relative\n" + WHOLE.replace("rel = 2", "rel = 'x'"), "m.toml:8: rel must be"),
        (WHOLE.replace("rel = 2", "rel = "), "m.toml:7: this is not TOML"),
    ):  # fmt: skip
        assert error_of(InputError, read, text).startswith(message)


def test_options_that_no_file_can_use() -> None:
    """Those of one collection are enough, and those that are missing say nothing."""
    trec, table = "q1 Q0 a 1 1 t\n", "qid,docno,score\nq1,a,1\n"
    Path("q.txt").write_text("q1 0 a 1\n")
    for name, text in (("a.trec", trec), ("a.csv", trec), ("b.trec", trec), ("b.csv", table)):
        Path(name).write_text(text)
    head = 'qrels = "q.txt"\nruns = "{collection}.{system}"\nmetrics = "AP"\nsystems = ["trec", "csv"]\n'
    options = '[options]\ncolumns = { document = "docno" }\n'
    for collections, error in ((["a"], "q.txt has no named columns"), (["a", "b"], ""), (["none"], "")):
        Path("m.toml").write_text(f"{head}collections = {collections}\n{options}")
        if error:
            what = f"m.toml:7: columns: document=docno is no column of any table; {error}"
            assert error_of(InputError, gradeval.batch, "m.toml") == what
        else:
            assert len(gradeval.batch("m.toml").cells) == 2 * len(collections)


def files_of_runs(*paths: str) -> None:
    for path in paths:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).touch()


PATTERN = """\
qrels = "{collection}/qrels*"
runs = "{collection}/{system}-*.run"
systems = ["x", "y"]
collections = ["a", "b[1]"]
"""


def test_patterns() -> None:
    """Names are no patterns; where nothing matches, the path is that of a missing file."""
    files_of_runs("sub/a/qrels.txt", "sub/a/x-1.run", "sub/b[1]/qrels.gz", "sub/b[1]/y-2.run", "sub/b1/x-1.run")
    a, b = read(PATTERN, "sub/m.toml").collections
    assert (a.qrels, b.qrels) == ("sub/a/qrels.txt", "sub/b[1]/qrels.gz")
    assert a.runs == {"x": "sub/a/x-1.run", "y": "sub/a/y-*.run"}
    assert b.runs == {"x": "sub/b[1]/x-*.run", "y": "sub/b[1]/y-2.run"}
    # a file with the name of the pattern
    files_of_runs("a/qrels", "a/x-*.run", "a/x-1.run")
    assert read(PATTERN).collections[0].runs["x"] == "a/x-*.run"
    # a pattern that matches several files
    os.remove("a/x-*.run")
    files_of_runs(*(f"a/x-{k}.run" for k in range(7)))
    assert error_of(InputError, read, PATTERN) == (
        "m.toml:2: runs: a/x-*.run matches 7 files: a/x-0.run, a/x-1.run, a/x-2.run, a/x-3.run, a/x-4.run, …. "
        "A pattern must match one file for each collection and system"
    )
