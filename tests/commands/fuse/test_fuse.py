"""One run from several: the worked values, a slow reference, weights by cross-validation, files and Python."""

import json
import math
import random
from itertools import product
from pathlib import Path
from statistics import fmean, pstdev

import pytest
from cli.command import fails, gradeval
from helpers import each, each_row, raises, ranking

import gradeval as package
from gradeval import InputError, MetricError, OptionError

A = {"q": {"d1": 9, "d2": 7, "d3": 4, "d4": 1}}
B = {"q": {"d3": 0.9, "d1": 0.6, "d5": 0.5, "d6": 0.3}}
SEARCH = Path(package.__file__).parents[1] / "sample_data/search"
Run = dict[str, dict[str, float]]


def fused(*runs: object, **options: object) -> Run:
    """{query: {document: score}} in the order of the ranks."""
    of_queries: Run = {}
    for row in package.fuse([*runs], **options).rows():
        of_query = of_queries.setdefault(row["query_id"], {})
        of_query[row["doc_id"]] = row["score"]
        assert row["rank"] == len(of_query)
    return of_queries


@each_row(
    ({}, "d1 .032522 d3 .032266 d2 .016129 d5 .015873 d6 .015625 d4 .015625"),
    ({"method": "sum"}, "d1 1.5 d3 1.375 d2 .75 d5 .333333 d6 0 d4 0"),
    ({"method": "wsum", "weights": "0.7,0.3"}, "d1 .85 d3 .5625 d2 .525 d5 .1 d6 0 d4 0"),
    ({"method": "wsum", "weights": (0.7, 0.3), "norm": "zmuv"}, "d1 .900666 d2 .404145 d3 .161658 d5 -.103923"),
    ({"method": "sum", "norm": "none", "top": 2}, "d1 9.6 d2 7"),
    ({"k": 1, "depth": 1, "weights": "2,1"}, "d1 1 d3 .5"),
)  # fmt: skip
def test_the_worked_values(options, expected):
    """metrics.md, 'Fusion of runs'; equal scores by id, the last first."""
    words = expected.split()
    scores = fused(A, B, **options)["q"]
    shown = dict(list(scores.items())[: len(words) // 2])
    assert list(shown) == words[::2]
    assert list(shown.values()) == pytest.approx(list(map(float, words[1::2])), abs=5e-7)


def normalized(scores: dict[str, float], norm: str) -> dict[str, float]:
    low, high, mean, spread = (
        min(scores.values()),
        max(scores.values()),
        fmean(scores.values()),
        pstdev(scores.values()),
    )
    if norm == "minmax":
        return {d: (x - low) / (high - low) if high > low else 1.0 for d, x in scores.items()}
    if norm == "zmuv":
        return {d: (x - mean) / spread if high > low else 0.0 for d, x in scores.items()}
    return scores


def slow(runs: list[Run], method: str, norm: str, weights: list[float], depth: int | None) -> Run:
    result: Run = {}
    for query in dict.fromkeys(query for run in runs for query in run):
        terms: dict[str, list[float]] = {}
        for run, weight in zip(runs, weights, strict=True):
            first = ranking(run.get(query, {}))[:depth]
            scores = normalized({d: run[query][d] for d in first}, norm) if first else {}
            for rank, d in enumerate(first, 1):
                terms.setdefault(d, []).append(weight * (1 / (60 + rank) if method == "rrf" else scores[d]))
        sums = {d: round(math.fsum(of_document), 9) + 0.0 for d, of_document in terms.items()}
        result[query] = {d: sums[d] for d in ranking(sums)}
    return result


@each("seed", range(6))
def test_random_runs_are_fused_as_by_a_slow_reference(seed: int, tmp_path: Path) -> None:
    """Tied scores, queries that only some runs have, lines of a query that are not together, long ids."""
    draw = random.Random(seed)
    names = [f"d{n}" for n in range(9)] + ["a-long-document-id-1", "a-long-document-id-2"]
    runs: list[Run] = []
    for r in range(3):
        queries = draw.sample(["q1", "q2", "query-three", "q4"], 3)
        runs.append(
            {q: {d: draw.randint(-2, 5) / 2 for d in draw.sample(names, draw.randint(1, 9))} for q in queries}
        )
        lines = [f"{q} Q0 {d} 0 {x} t\n" for q, of_query in runs[-1].items() for d, x in of_query.items()]
        draw.shuffle(lines)
        (tmp_path / f"{r}.run").write_text("".join(lines))
    depth = draw.choice([None, 2, 4])
    for method, norm in (("rrf", "minmax"), ("sum", "zmuv"), ("wsum", "minmax"), ("wsum", "none")):
        weights = [1.0, 1.0, 1.0] if method == "sum" else [draw.randint(0, 3) / 2 for _ in runs]
        weights[0] += 0.25 * (method != "sum")
        options = {
            "method": method,
            "norm": None if method == "rrf" else norm,
            "depth": depth,
            "weights": None if method == "sum" else weights,
        }
        expected = slow(runs, method, norm, weights, depth)
        for given in (runs, [str(tmp_path / f"{r}.run") for r in range(3)]):
            found = fused(*given, **options)
            assert found.keys() == expected.keys()
            for query, of_query in found.items():
                assert list(of_query) == list(expected[query])
                assert list(of_query.values()) == pytest.approx(list(expected[query].values()), abs=2e-9)


def test_equal_sums_are_tied_whatever_their_order() -> None:
    """Ranks 1, 2, 3 and 3, 2, 1 in three runs: the sums may differ in their last digit."""
    orders = ["abc", "bca", "cab"]
    runs = [{"q": {d: -float(n) for n, d in enumerate(order)}} for order in orders]
    scores = fused(*runs)["q"]
    assert (list(scores), len(set(scores.values()))) == (["c", "b", "a"], 1)
    tiny = [{"q": {d: x * 1e-200 for d, x in run["q"].items()}} for run in (A, B)]
    assert list(fused(*tiny, method="sum", norm="none")["q"]) == ["d1", "d2", "d3", "d4", "d5", "d6"]


def test_the_tuned_weights_of_sample_data(tmp_path: Path) -> None:
    """metrics.md, 'Weights chosen from data'; the value is that of the written file."""
    files = [str(SEARCH / f"{name}.run") for name in ("bm25", "dense")]
    out = tmp_path / "fused.run"
    tune = ["--method", "wsum", "--tune", "nDCG@10", "--qrels", str(SEARCH / "qrels.txt")]
    done = gradeval("fuse", *files, *tune, "-o", str(out), "-f", "json", "--quiet")
    content = json.loads(done.out)["tuning"]
    assert [fold["weights"] for fold in content["folds"]] == [
        [0.5, 0.5],
        [0.5, 0.5],
        [0.4, 0.6],
        [0.4, 0.6],
        [0.5, 0.5],
    ]
    assert round(content["all"]["value"], 6) == 0.739969
    assert round(content["all"]["optimistic"], 6) == 0.748187
    assert {pair["run"] for pair in content["comparisons"]} == {"equal weights", "dense"}
    rrf = package.fuse(files)
    with pytest.warns(package.EvaluationWarning):
        results = package.evaluate(SEARCH / "qrels.txt", {"tuned": out, "rrf": rrf}, "nDCG@10")
    assert [round(value, 6) for value in results.means[:, 0].tolist()] == [0.739969, 0.723910]
    shown = gradeval("fuse", *files, *tune, "-f", "table", "--quiet").out
    assert "optimistic" in shown
    assert "Differences from tuned" in shown


def test_tuning_of_any_number_of_runs() -> None:
    """Three runs, whose best weights are found by trying all; of equal ones, the runs named first have more."""
    qrels = {f"q{n}": {"a": 1} for n in range(6)}
    good = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    bad = {query: {"b": 2.0, "a": 1.0} for query in qrels}
    fusion = package.fuse(
        {"bad": bad, "good": good, "same": good}, qrels, method="wsum", tune="RR", folds=3, step=0.25
    )
    assert fusion.tuning is not None
    tried = [w for w in product(range(5), repeat=3) if sum(w) == 4]
    best = max(w for w in tried if w[0] < w[1] + w[2])
    assert {fold.weights for fold in fusion.tuning.folds} == {tuple(w / 4 for w in best)}
    assert [(fold.queries, fold.value) for fold in fusion.tuning.folds] == [(2, 1.0)] * 3
    # a query without judgments has the weights of all queries
    more = {**good, "unjudged": {"a": 2.0, "b": 1.0}}
    other = package.fuse({"bad": bad, "good": more}, qrels, method="wsum", tune="RR", folds=2)
    assert next(row for row in other.rows() if row["query_id"] == "unjudged")["score"] == 0.6


@each_row(
    (OptionError, "needs two or more runs, not 1", [A], {}),
    (OptionError, "no weights", [A, B], {"method": "sum", "weights": "1,2"}),
    (OptionError, "norm applies to the methods sum and wsum only", [A, B], {"norm": "minmax"}),
    (OptionError, "k applies to the method rrf only", [A, B], {"method": "wsum", "k": 60}),
    (OptionError, "there are 3 for 2 runs", [A, B], {"weights": "1,2,3"}),
    (OptionError, "at least 0", [A, B], {"weights": "1,-2"}),
    (OptionError, "at least 0", [A, B], {"weights": [0, 0]}),
    (OptionError, "must be numbers", [A, B], {"weights": "1;2"}),
    (OptionError, "mutually exclusive", [A, B], {"weights": "1,2", "tune": "AP"}),
    (OptionError, "needs the judgments: qrels=FILE", [A, B], {"tune": "AP"}),
    (OptionError, "step must be", [A, B], {"step": 0.3}),
    (OptionError, "are of tune", [A, B], {"step": 0.1}),
    (OptionError, "are of tune", [A, B], {"folds": 5, "qrels": {"q": {"d1": 1}}}),
    (OptionError, "too large to be added", [{"q": {"a": 1e308}}] * 2, {"method": "sum", "norm": "none"}),
    (OptionError, "folds", [A, B], {"tune": "AP", "qrels": {"q": {"d1": 1}}}),
    (OptionError, "Choose a larger one", [A] * 9, {"tune": "AP", "qrels": {"q": {"d1": 1}}}),
    (MetricError, "one metric", [A, B], {"tune": "AP RR", "qrels": {"q": {"d1": 1}}}),
    (InputError, "run2: no data: the run is empty", [A, {}], {}),
    (InputError, "run2: no data: the run is empty", [A, {"q": {}}], {}),
    (InputError, "no query in common", [A, B], {"tune": "AP", "qrels": {"z": {"d1": 1}}}),
)  # fmt: skip
def test_errors(kind, pattern, runs, options):
    raises(kind, pattern, package.fuse, runs, **options)


def test_files(folder: Path) -> None:
    """Formats by the ending, standard output, duplicates with their line, and ids that a format cannot hold."""
    for name, run in (("a", A), ("b", B)):
        text = "".join(f"{q} Q0 {d} 1 {x} t\n" for q, of_query in run.items() for d, x in of_query.items())
        Path(f"{name}.run").write_text(text)
    done = gradeval("fuse", "a.run", "b.run", "--top", "1")
    assert done == (0, "q Q0 d1 1 0.03252247488102 gradeval\n", "")
    plain = gradeval("fuse", "a.run", "b.run").out
    done = gradeval("fuse", "A=a.run", "b.run", "-o", "out.csv.gz")
    assert done.out.splitlines() == ["run\tweight\tqueries\tdocuments", "A\t1\t1\t4", "b\t1\t1\t4"]
    assert gradeval("convert", "out.csv.gz", "-", "--to", "trec").out == plain
    package.fuse(["a.run", "b.run"]).save("saved")
    assert Path("saved").read_text() == plain
    assert len(package.fuse(["a.run", "b.run"]).to_pandas()) == 6
    Path("twice.run").write_text(Path("b.run").read_text() + "\nq Q0 d1 1 9 t\n")
    expected = "twice.run:6: duplicate document 'd1' for its query. The first is in line 2"
    assert fails("fuse", "a.run", "twice.run", "-o", "new.run").startswith(expected)
    assert gradeval("fuse", "a.run", "twice.run", "--duplicates", "best", "-o", "new.csv").code == 0
    Path("odd.csv").write_text("query_id,doc_id,score\nq,a b,1\n")
    assert fails("fuse", "odd.csv", "a.run", "-o", "o.run").startswith(
        "o.run:2: the document id 'a b' cannot be"
    )
    assert not Path("o.run").exists()
    assert "is of what is printed beside a file" in fails("fuse", "a.run", "b.run", "-f", "json")
    assert "norm applies to the methods sum and wsum only" in fails(
        "fuse", "a.run", "b.run", "--norm", "minmax"
    )
    assert "two runs have the label 'x'" in fails("fuse", "x=a.run", "x=b.run")
    assert "one of the input files" in fails("fuse", "a.run", "b.run", "-o", "a.run")


def test_a_terminal_needs_the_name_of_the_fused_run() -> None:
    runs = ("fuse", SEARCH / "bm25.run", SEARCH / "dense.run", "--top", "1", "--quiet")
    on_terminal = gradeval(*runs, terminal=True)
    assert (on_terminal.code, on_terminal.out) == (2, "")
    assert on_terminal.err.startswith(
        "gradeval: Missing option '-o': -o OUT names the fused run, and -o - prints"
    )
    printed = gradeval(*runs, "-o", "-", terminal=True)
    assert printed.out == gradeval(*runs).out != ""
