"""What changed between rankings: worked values, runs in every form, and what is said of them."""

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.command import fails, gradeval
from helpers import each, raises

import gradeval as package
from gradeval import InputError, OptionError
from gradeval.arrays.strings import Ids
from gradeval.commands.diff.rankings import CHANGES, COUNTS, _RankedTotal
from gradeval.tables.load import NOTHING_JUDGED
from gradeval.tables.ranking import EACH

SEARCH = Path(package.__file__).parents[1] / "sample_data/search"
OLD, NEW = "a b c d e f g h", "b a c x e h y d"


def run_of(text: str, query: str = "1") -> dict[str, dict[str, float]]:
    return {query: {document: -float(rank) for rank, document in enumerate(text.split())}}


def test_the_worked_values() -> None:
    """metrics.md, 'Rankings compared without judgments'."""
    made = package.diff(run_of(OLD), run_of(NEW), k=[1, 2, 3, 5, 8])
    expected = {
        "RBO": 0.706620,
        **dict(zip([f"overlap@{k}" for k in (1, 2, 3, 5, 8)], [0, 1, 1, 0.8, 0.75], strict=True)),
        **dict(zip([f"AO@{k}" for k in (1, 2, 3, 5, 8)], [0, 0.5, 0.666667, 0.71, 0.692262], strict=True)),
        "same@1": 0,
        "same_set@3": 1,
        "new@8": 2,
        "lost@8": 2,
        "up@8": 2,
        "down@8": 2,
    }
    assert {name: round(made.value(name), 6) for name in expected} == expected
    assert round(package.diff(run_of(OLD), run_of(NEW), p=0.8).value("RBO"), 6) == 0.661272
    # the sample data
    found = {
        ties: package.diff(SEARCH / "bm25.run", SEARCH / "hybrid.run", rbo_ties=ties, worst=3) for ties in "bwa"
    }
    assert [round(found[ties].value("RBO"), 6) for ties in "awb"] == [0.324127, 0.324491, 0.324322]
    sample = {"overlap@10": 0.384, "jaccard@10": 0.245292, "AO@10": 0.274045, "same@1": 0.12}
    sample |= {"tau": 0.143820, "tau_ap": 0.123019}
    assert {name: round(found["b"].value(name), 6) for name in sample} == sample
    [of_run] = found["b"].runs
    assert [query.query for query in of_run.worst] == ["433", "417", "419"]
    assert round(of_run.worst[0].rbo, 6) == 0.105336 and len(of_run.queries) == 50


def test_a_run_with_itself_is_one_everywhere() -> None:
    made = package.diff(SEARCH / "bm25.run", SEARCH / "bm25.run", k="1,10,1000")
    means = {row["metric"]: row["value"] for row in made.rows()}
    moved = {name for name in means if name.partition("@")[0] in COUNTS}
    assert {means[name] for name in moved} == {0.0}
    assert {value for name, value in means.items() if name not in moved | {"RBO_min"}} == {1.0}
    assert 0.9 < means["RBO_min"] < 1
    unsure = package.diff(SEARCH / "bm25.run", SEARCH / "bm25.run", rbo_ties="a")
    assert round(unsure.value("RBO"), 6) == 0.998930


def random_run(draw: random.Random, queries: int) -> dict[str, dict[str, float]]:
    names = [f"d{n}" for n in range(30)] + ["a-long-document-id-1", "a-long-document-id-2"]
    chosen = draw.sample([f"q{n}" for n in range(queries + 2)], queries)
    return {q: {d: float(draw.randrange(8)) for d in draw.sample(names, draw.randint(1, 20))} for q in chosen}


@each("seed", range(3))
def test_files_are_compared_as_data_are(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of a query together, cut by blocks, or shuffled; of two runs in one call; frames."""
    draw = random.Random(seed)
    old, new = (random_run(draw, 12) for _ in range(2))
    expected = package.diff(old, new, k=3, diff_depth=7).rows(per_query=True)
    assert any(math.isnan(row["value"]) for row in expected) or seed
    paths = []
    for name, run in (("old", old), ("new", new)):
        lines = [f"{q} Q0 {d} 1 {score} t\n" for q, scores in run.items() for d, score in scores.items()]
        for form in ("whole", "shuffled"):
            draw.shuffle(lines) if form == "shuffled" else None
            paths.append(tmp_path / f"{name}.{form}.run")
            paths[-1].write_text("".join(lines))
    monkeypatch.setattr("gradeval.formats.sources.BLOCK", 200)
    for first, second in ((paths[0], paths[2]), (paths[1], paths[3])):
        found = package.diff(first, [second, paths[2]], k=3, diff_depth=7)
        by_run = {run.name: {} for run in found.runs}
        for row in found.rows(per_query=True):
            by_run[row["run"]][row["query"], row["metric"]] = row["value"]
        for values in by_run.values():
            assert values == pytest.approx(
                {(r["query"], r["metric"]): r["value"] for r in expected}, nan_ok=True
            )
    frame = pytest.importorskip("pandas").DataFrame(
        [(q, d, s) for q, of in new.items() for d, s in of.items()], columns=["query_id", "doc_id", "score"]
    )
    again = package.diff(old, frame, k=3, diff_depth=7).to_pandas()
    assert np.allclose(again["value"], package.diff(old, new, k=3, diff_depth=7).to_pandas()["value"])


def test_the_first_ranks_are_those_of_the_evaluation() -> None:
    """The options that say which lines are documents, and the order of ties."""
    rows = [("1", "a#1", 9.0), ("1", "a#2", 8.0), ("1", "b#1", 7.0)]
    assert package.diff(rows, run_of("a b"), max_passage="#").value("RBO") == 1
    tied = {"1": {"a": 1.0, "b": 1.0, "c": 0.0}}
    assert package.diff(tied, run_of("b a c")).value("same@1") == 1
    assert package.diff(tied, run_of("a b c"), ties="input").value("same@1") == 1
    raises(OptionError, "^ties=best needs judgments", package.diff, tied, tied, ties="best")
    raises(InputError, "duplicate document", package.diff, [*rows, rows[0]], rows)


def test_what_moved_by_grade_and_differences_of_metrics() -> None:
    qrels = {"1": {"a": 2, "b": 1, "x": 0}, "9": {"a": 1}}
    made = package.diff(run_of(OLD), run_of(NEW), "P@1 AP", qrels=qrels, k=5, worst=1)
    counts = {name: made.value(name) for name in made.measures if "(" in name and made.value(name)}
    assert counts == {
        "new(grade=0)@5": 1,
        "lost(unjudged)@5": 1,
        "up(grade=1)@5": 1,
        "down(grade=2)@5": 1,
    }
    assert made.value("new@5") == 1 and made.value("P@1") == 0
    evaluated = [package.evaluate(qrels, run, "AP").means[0, 0] for run in (run_of(OLD), run_of(NEW))]
    assert made.value("AP") == pytest.approx(evaluated[1] - evaluated[0])
    [changed] = made.runs[0].worst
    assert changed.new[3] == ("x", None, 0.0) and changed.old[0] == ("a", 2, 2.0)
    both = package.diff(run_of(OLD), {"a": run_of(NEW), "b": run_of(OLD)}).render("table")
    assert "Means over 1 (a), 1 (b) queries in both" in both, both
    many = {"1": {f"d{n}": n for n in range(30)}}
    raises(InputError, "30 different grades", package.diff, run_of(OLD), run_of(NEW), qrels=many)
    raises(OptionError, "^metrics need qrels$", package.diff, run_of(OLD), run_of(NEW), "AP")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, runs in {
        "old": [(OLD, "1"), ("a b", "2")],
        "new": [(NEW, "1"), ("c", "3")],
        "same": [(OLD, "1"), ("a b", "2")],
        "other": [("a", "9")],
    }.items():
        lines = (f"{q} Q0 {d} 1 {-n} t\n" for text, q in runs for n, d in enumerate(text.split()))
        Path(f"{name}.run").write_text("".join(lines))
    Path("broken.run").write_text("1 Q0 a 1 x t\n")
    Path("titles").write_text("a\tThe first\n")
    Path("none").write_text("zz\tNone\n")
    Path("qrels").write_text("1 0 a 1\n2 0 b 1\n")


def test_what_the_command_says(files: None) -> None:
    done = gradeval("diff", "old.run", "new.run", "-f", "tsv", "-q", "--digits", "3")
    assert done.code == 0
    head, *rows = (line.split("\t") for line in done.out.splitlines())
    assert head == ["run", "query", "metric", "value"]
    assert rows[0] == ["new", "1", "RBO", "0.707"] and rows[-1] == ["new", "all", "down@10", "2.000"]
    assert ["new", "1", "up@10", "2"] in rows and len({row[1] for row in rows}) == 2
    assert done.lines == [
        "warning: new: 1 query of old is not in the run ('2'), excluded [only_old]",
        "warning: new: 1 query is not in old ('3'), excluded [only_new]",
    ]
    assert gradeval("diff", "old.run", "new.run", "--strict").out == ""
    cut = gradeval("diff", "old.run", "same.run", "--depth", "3", "-k", "3", "-f", "tsv")
    said = "have queries with more than 3 documents, up to 1 (old); those below are ignored (--depth) [cut]"
    assert cut.lines == [f"note: 2 of 2 runs {said}"]
    chosen = gradeval("diff", "old.run", "same.run", "--query-ids", "2", "-q", "-f", "csv")
    assert {line.split(",")[1] for line in chosen.out.splitlines()[1:]} == {"2", "all"}
    assert "--query-ids: query '7' is not in old.run" in fails(
        "diff", "old.run", "same.run", "--query-ids", "7"
    )


def test_a_broken_run_leaves_the_others(files: None) -> None:
    error = "broken.run:1: the score 'x' is not a number"
    done = gradeval("diff", "old.run", "broken.run", "same.run", "-f", "json")
    content = json.loads(done.out)
    assert (done.code, done.lines[0]) == (2, error)
    assert [run["name"] for run in content["runs"]] == ["same"]
    assert content["failed"] == [{"path": "broken.run", "errors": [error]}]
    for command in ("broken.run same.run", "old.run broken.run", "old.run broken.run same.run --strict"):
        done = gradeval("diff", *command.split())
        assert (done.code, done.out, done.lines[0]) == (2, "", error)
    Path("q").write_text("1 0 d1 1\n1 0 d2 0\n")
    said = ". This looks like qrels; --qrels FILE takes the qrels"
    for line in "diff q old.run", "diff old.run q", "fuse q old.run -o f", "pool --qrels q q old.run":
        assert fails(*line.split()).endswith(said)
    assert fails("diff", "old.run", "old.run", "--qrels", "old.run").endswith(said.replace("qrels", "a run", 1))
    assert fails("diff", "old.run", "other.run").startswith("other.run: it has no query in common with old.run")
    saved = gradeval("qrels", "old.run", "-q", "-f", "json", "--quiet").out
    Path("saved.json").write_text(saved)
    assert fails("diff", "saved.json", "new.run") == (
        "gradeval: saved.json is a saved result, which has no rankings. Give the run itself"
    )
    raises(InputError, "broken.run:1", package.diff, "old.run", ["same.run", "broken.run"])
    kept = package.diff("old.run", ["same.run", "broken.run"], errors="keep")
    assert [run.path for run in kept.failed] == ["broken.run"] and kept.value("RBO") == 1


def test_side_by_side(files: None) -> None:
    args = (
        "diff",
        "old.run",
        "new.run",
        "--worst",
        "1",
        "--text",
        "titles",
        "-k",
        "3",
        "--quiet",
        "-f",
        "table",
    )
    out = gradeval(*args).out
    assert "Query 1: RBO 0.7066" in out
    row = next(line.split() for line in out.splitlines() if line.startswith("1  "))
    assert row == ["1", "a", "The", "first", "2", "b", "2"]
    without_titles = gradeval(*args[:4], "1", "--text", "none", "-f", "table")
    assert "no document of the queries has a title" in without_titles.err


@each("options, said", [
    ("-k 2000", "gradeval: -k: 2,000 ranks are more than the depth, 1,000"),
    ("--depth 5", "gradeval: -k: 10 ranks are more than the depth, 5. Add -k 5"),
    ("--ties best", "gradeval: --ties best needs judgments; rankings are compared with trec or input"),
    ("--worst 1 -f tsv", "gradeval: --worst requires -f table or -f json or -f md or -f latex"),
    ("--text titles", "gradeval: --text requires --worst"),
    ("-k 0", "k must be positive integers, separated by commas, not '0'"),
    ("-p 1", "'1' is not a number between 0 and 1"),
    ("-m AP", "-m requires --qrels"),
    ("--qrels missing -m AP", "missing: no such file"),
    ("--feature 1,2", "old.run: this is not a LETOR file"),
])  # fmt: skip
def test_usage(files: None, options: str, said: str) -> None:
    assert said in fails("diff", "old.run", "new.run", *options.split())


def test_features_are_runs() -> None:
    letor = str(SEARCH.parent / "letor/test.letor")
    assert package.diff(letor, letor, features=[1]).value("RBO") == 1
    raises(
        OptionError,
        "^old must be one run, not 2 features",
        package.diff,
        letor,
        letor,
        features=[1, 2],
    )


def test_measures_have_all_names() -> None:
    made: Any = package.diff(run_of(OLD), run_of(NEW), k=[5, 10])
    assert made.measures[:5] == ("RBO", "RBO_min", "RBO_max", "tau", "tau_ap")
    assert [name for name in made.measures if name.startswith("same_set")] == ["same_set@5", "same_set@10"]
    assert {name.partition("@")[0] for name in made.measures} >= {*CHANGES, "overlap", "jaccard", "AO"}
    raises(package.GradevalError, "^unknown measure RBO@5: these are RBO, ", made.value, "RBO@5")


def test_queries_with_one_key_are_an_error() -> None:
    total = _RankedTotal("old.run", NOTHING_JUDGED.qrels, "trec", EACH, 10)
    total.see(np.array([7]), Ids.of([b"a"]))
    total.see(np.array([7]), Ids.of([b"a"]))
    said = "^old.run: the queries 'a' and 'b' cannot be told apart"
    raises(InputError, said, total.see, np.array([7]), Ids.of([b"b"]))
