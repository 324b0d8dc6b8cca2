"""The documents to judge next: worked orders, a slow reference, files for annotators and back."""

import itertools
import json
import random
from pathlib import Path

import pytest
from cli.command import fails, gradeval
from helpers import each, each_row, raises, ranking, some

import gradeval as package
from gradeval import InputError, MetricError, OptionError


def run_of(text: str) -> dict[str, dict[str, float]]:
    return {"1": {document: -float(rank) for rank, document in enumerate(text.split())}}


WORKED = {
    "A": run_of("d1 d2 d3 d4 d5"),
    "B": run_of("d3 d6 d1 d7 d2"),
    "C": run_of("d6 d8 d3 d9 d1"),
}


def ids(pool: package.Pool) -> str:
    return " ".join(row.document for row in pool.documents)


@each("options, expected", [
    ({"order": "depth"}, "d1 d3 d6 d2 d8 d4 d7 d9 d5"),
    ({"order": "rrf"}, "d3 d1 d6 d2 d8 d4 d7 d9 d5"),
    ({"order": "depth", "pool_depth": 2}, "d1 d3 d6 d2 d8"),
    ({"order": "depth", "depth": 2}, "d1 d3 d6 d2 d8"),
    ({"order": "depth", "top": 2}, "d1 d3"),
    ({"order": "rrf", "per_query": 2, "top": 5}, "d3 d1"),
])  # fmt: skip
def test_the_worked_orders(options: dict, expected: str) -> None:
    """metrics.md, 'What to judge next'."""
    found = package.pool(None, WORKED, **options)
    assert ids(found) == expected
    assert [row.best_rank for row in found.documents[:2]] == ([1, 1])
    judged = package.pool({"1": {"d3": 0, "d6": 1}}, WORKED, **{**options, "top": None, "per_query": None})
    whole = package.pool(None, WORKED, **{**options, "top": None, "per_query": None})
    assert ids(judged).split() == [name for name in ids(whole).split() if name not in ("d3", "d6")]


def slow_depth(qrels: dict, runs: list[dict], depth: int) -> list[tuple]:
    ranks: dict[tuple[str, str], list[int]] = {}
    for run in runs:
        for query, scores in run.items():
            ranking = sorted(sorted(scores, reverse=True), key=lambda d, of=scores: -of[d])
            for rank, document in enumerate(ranking[:depth], 1):
                if document not in qrels.get(query, {}):
                    ranks.setdefault((query, document), []).append(rank)
    queries = [*dict.fromkeys([*qrels, *(query for run in runs for query in run)])]

    def place(pair: tuple[str, str]) -> tuple:
        best = min(ranks[pair])
        return queries.index(pair[0]), best, -ranks[pair].count(best), pair[1]

    return [(*pair, min(ranks[pair]), len(ranks[pair])) for pair in sorted(ranks, key=place)]


@each("seed", some(range(20), 3))
def test_random_pools_are_those_of_a_slow_reference(seed: int, tmp_path: Path) -> None:
    """Tied scores, queries that only some files have, and lines of a query that are not together."""
    draw = random.Random(seed)

    def table(most: int) -> dict[str, dict[str, float]]:
        queries = draw.sample(["q1", "q2", "query-three", "q4"], 3)
        names = [f"d{n}" for n in range(12)] + ["a-long-document-id-1", "a-long-document-id-2"]
        chosen = {query: draw.sample(names, draw.randint(1, most)) for query in queries}
        return {query: {d: draw.randrange(3) for d in of_query} for query, of_query in chosen.items()}

    qrels, runs = table(5), [table(12) for _ in range(3)]
    depth = draw.randint(1, 6)
    expected = slow_depth(qrels, runs, depth)
    found = package.pool(qrels, runs, order="depth", pool_depth=depth)
    assert [row[:4] for row in found.documents] == expected
    paths = []
    for number, run in enumerate(runs):
        lines = [f"{q} Q0 {d} 1 {score} t\n" for q, scores in run.items() for d, score in scores.items()]
        draw.shuffle(lines)
        paths.append(tmp_path / f"{number}.run")
        paths[-1].write_text("".join(lines))
    assert [row[:4] for row in package.pool(qrels, paths, pool_depth=depth).documents] == expected


def test_passages_and_duplicates_are_collapsed_first() -> None:
    rows = [("1", "a#1", 9.0), ("1", "a#2", 8.0), ("1", "b#1", 7.0), ("1", "c#1", 6.0)]
    assert ids(package.pool(None, rows, pool_depth=2, max_passage="#")) == "a b"
    rows = [("1", "a", 9.0), ("1", "a", 8.0), ("1", "b", 7.0)]
    assert ids(package.pool(None, rows, pool_depth=2, duplicates="best")) == "a b"
    raises(InputError, "duplicate document 'a'", package.pool, None, rows)


def test_a_sample_of_queries_depends_on_the_seed_alone() -> None:
    runs = [{f"q{n}": {f"d{m}{n}": -m for m in range(3)} for n in range(20)} for m in range(2)]
    options = {"order": "sample", "size": 5}
    found = package.pool({"q1": {"d00": 1}}, runs, **options)
    queries = {row.query for row in found.documents}
    assert len(queries) == 5 and found.documents == package.pool({"q1": {"d00": 1}}, runs, **options).documents
    turned = package.pool(None, runs[::-1], **options)
    assert {row.query for row in turned.documents} == queries
    assert queries != {row.query for row in package.pool(None, runs, **options, seed=2).documents}
    assert len({row.query for row in package.pool(None, runs, **{**options, "size": 20}).documents}) == 20
    few = "^size: there are 20 queries, fewer than 21$"
    raises(OptionError, few, package.pool, None, runs, order="sample", size=21)
    raises(OptionError, "order=sample and size require each other", package.pool, None, runs, order="sample")
    raises(OptionError, "judged_only leaves no", package.pool, None, runs, judged_only=True)


def test_the_worked_effects() -> None:
    """metrics.md: nDCG@5 of A against B, grades to 3."""
    runs = {name: WORKED[name] for name in "BA"}
    found = package.pool({"1": {"d3": 3, "d6": 0, "d1": 1}}, runs, "nDCG@5", order="effect")
    assert [(row.document, round(row.effect or 0, 6)) for row in found.documents] == [
        ("d4", 0.329563),
        ("d5", 0.305184),
        ("d2", 0.225758),
        ("d7", 0.149606),
    ]


def differences(worlds: list[dict], runs: list[dict], metric: str, **options: object) -> list[float]:
    """Of the means of two runs, in each world of judgments: evaluated together, as queries of their own."""
    qrels = {f"{n} {query}": judged for n, world in enumerate(worlds) for query, judged in world.items()}
    rankings = [{f"{n} {q}": run[q] for n, world in enumerate(worlds) for q in world} for run in runs]
    first, second = package.evaluate(qrels, rankings, metric, **options).runs
    return (second.values[0] - first.values[0]).reshape(len(worlds), -1).mean(axis=1).tolist()


def slow_decision(worlds: dict[tuple, float], count: int) -> tuple[int | None, list[tuple[int, float]]]:
    """How many judgments of 0 make the lowest difference positive, and the documents with their gains, in
    order: each time the one with the largest gain, until they do; then the others by their gains there.
    """

    def lowest(judged: list[int]) -> float:
        return min(value for grades, value in worlds.items() if not any(grades[n] for n in judged))

    judged: list[int] = []
    rows: list[tuple[int, float]] = []
    while True:
        gains = {n: lowest([*judged, n]) - lowest(judged) for n in range(count) if n not in judged}
        by_gain = sorted(gains, key=lambda n: (-round(gains[n], 10), n))
        if lowest(judged) > 1e-12 or not gains:
            forecast = len(judged) if lowest(judged) > 1e-12 else None
            return forecast, [*rows, *((n, gains[n]) for n in by_gain)]
        judged.append(by_gain[0])
        rows.append((by_gain[0], gains[by_gain[0]]))


@each("seed", some([5, 0, 2, 1], 2))
@each("metric, options", [
    ("nDCG@3", {}), ("P(rel=2)@2", {}), ("R@3", {"rel": 2}), ("DCG@2", {"query_ids": ("q1",)}), ("AP", {}),
    ("nDCG", {"depth": 2}), ("AP", {"rel": 2, "depth": 3}), ("P@3", {"query_ids": ("q2",), "rel": 2}),
    ("nDCG(gain=exp)@2", {}), ("R(rel=3)@2", {}), ("gP@3", {"top_grade": 2}),
])  # fmt: skip
def test_effects_and_decisions_are_those_of_all_judgments(seed: int, metric: str, options: dict) -> None:
    """All grades of all unjudged documents of two queries, tried one by one. A third is in the runs only."""
    draw = random.Random(seed)
    names = [f"d{n}" for n in range(5)]
    runs = [{f"q{n}": {d: draw.random() for d in draw.sample(names, 4)} for n in (1, 2, 3)} for _ in range(2)]
    whole = {q: {d: draw.choice([0, 0, 1, 2]) for d in draw.sample(names, 3)} | {"x": 2} for q in ("q1", "q2")}
    of_values = {name: value for name, value in options.items() if name != "query_ids"}
    qrels = {query: whole[query] for query in options.get("query_ids", whole)}
    unjudged = {
        (q, d)
        for run in runs
        for q in qrels
        for d in ranking(run[q])[: options.get("depth")]
        if d not in qrels[q]
    }
    judged = {}
    for grades in itertools.product((0, 1, 2), repeat=len(unjudged)):
        world = dict(zip(sorted(unjudged), grades, strict=True))
        judged[grades] = {q: qrels[q] | {d: g for (of, d), g in world.items() if of == q} for q in qrels}
    now, *values = differences([qrels, *judged.values()], runs, metric, **of_values)
    worlds = dict(zip(judged, values, strict=True))
    sign = -1 if now < 0 else 1

    def change(n: int) -> float:
        return max(
            abs(value - now) for grades, value in worlds.items() if not any(grades[:n] + grades[n + 1 :])
        )

    found = package.pool(whole, runs, metric, order="effect", **options)
    expected = {pair: change(n) for n, pair in enumerate(sorted(unjudged))}
    assert {row[:2]: row.effect for row in found.documents} == pytest.approx(expected, abs=1e-11)
    assert [row.effect for row in found.documents] == sorted(expected.values(), reverse=True) or unjudged
    if metric == "AP":
        raises(MetricError, "order decide takes metrics whose differences", package.pool, whole, runs, metric)
        return
    decided = package.pool(whole, runs, metric, **options)
    forecast, rows = slow_decision({grades: sign * value for grades, value in worlds.items()}, len(unjudged))
    assert decided.forecast == forecast
    pairs = sorted(unjudged)
    assert [row[:2] for row in decided.documents] == [pairs[n] for n, _ in rows]
    assert [row.effect for row in decided.documents] == pytest.approx([effect for _, effect in rows], abs=1e-11)
    assert decided.difference == pytest.approx(now, abs=1e-12)


def test_a_judgment_of_0_has_an_effect() -> None:
    """By a metric that uses the documents judged not relevant."""
    runs = [run_of("d4 d3"), run_of("d4 d7 d8 d6 d2 d1")]
    qrels = {"1": {"d8": 2, "d3": 0, "d2": 3, "d5": 2, "d6": 3}}
    pool = package.pool(qrels, runs, "bpref", order="effect", top_grade=4)
    effects = {row.document: row.effect for row in pool.documents}
    assert (effects["d4"], effects["d7"]) == (0.375, 0.375)


@each_row(
    ("d1 d2 d3", "d1 d3 d2", "P@2", "is +0.0000: judgments of 0 do not decide its sign"),
    ("d1 d2 d3", "d1 d2 d3", "nDCG", "is 0, whatever the judgments: the metric sees no diff"),
    ("d1 d2 d3", "d2 d1 d4", "P@2", "is 0, whatever the judgments"),
    ("d1 d2", "d2 d1", "P@1", "is -1.0000: its sign is decided, whatever the judgments"),
)
def test_forecasts(first: str, second: str, metric: str, expected: str) -> None:
    pool = package.pool({"1": {"d1": 1, "d2": 0}}, [run_of(first), run_of(second)], metric)
    assert expected in str(pool.notices[-1])


def test_documents_below_the_pool_count_as_not_relevant() -> None:
    """They could change the sign, where the metric reads their ranks."""
    runs = [run_of("d1 d2 d3"), run_of("d2 d1 d4")]
    said = [
        "below rank 2 count as not relevant"
        in str(package.pool({"1": {"d1": 1}}, runs, metric, pool_depth=2).notices)
        for metric in ("P@2", "P@3")
    ]
    assert said == [False, True]


def sample_pair() -> tuple[dict[str, dict[str, float]], list[Path]]:
    folder = Path(package.__file__).parents[1] / "sample_data" / "search"
    runs = [folder / "bm25.run", folder / "hybrid.run"]
    qrels: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels.txt").read_text().splitlines():
        query, _, document, grade = line.split()
        qrels.setdefault(query, {})[document] = int(grade)
    return qrels, runs


def test_the_sample_pair() -> None:
    """The first values of metrics.md."""
    found = package.pool(*sample_pair())
    assert (len(found.documents), found.forecast, round(found.difference or 0, 6)) == (849, 75, 0.096212)
    first = [("417", "FT944-2123", 0.00815), ("419", "FT944-5363", 0.005421), ("420", "FT922-7487", 0.004685)]
    assert [(*row[:2], round(row.effect or 0, 6)) for row in found.documents[:3]] == first


def test_gains_do_not_depend_on_how_many_are_found_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = package.pool(*sample_pair(), "nDCG", pool_depth=1000)
    monkeypatch.setattr("gradeval.commands.pool.effects._AHEAD", 2)
    assert package.pool(*sample_pair(), "nDCG", pool_depth=1000).documents == whole.documents


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_decide_settles_the_sample_pair(seed: int) -> None:
    """In at most 100 judgments in batches of ten, with the judge of metrics.md."""
    qrels, runs = sample_pair()
    found = package.pool(qrels, runs)
    draw = random.Random(seed)
    order = list(qrels)
    unjudged = sorted((order.index(row.query), row.document) for row in found.documents)
    grades = {(order[q], d): draw.choices(range(5), [80, 10, 5, 3, 2])[0] for q, d in unjudged}
    judgments = 0
    while found.forecast:
        for row in found.documents[:10]:
            qrels[row.query][row.document] = grades[row[:2]]
            judgments += 1
        found = package.pool(qrels, runs, top=10)
    assert judgments <= 100


def files() -> None:
    Path("a.run").write_text("".join(f"q1 Q0 d{n} {n} {9 - n} t\n" for n in range(5)))
    Path("b.run").write_text("".join(f"q{q} Q0 d{9 - n} {n} {9 - n} t\n" for q in (1, 2) for n in range(5)))
    Path("qrels").write_text("q1 0 d0 1\nq1 0 d1 0\n")
    Path("texts").write_text("d2\tThe second\n")


@each("form", ["csv", "jsonl"])
def test_a_file_for_annotators_is_read_back(folder: Path, form: str) -> None:
    """The state is the qrels: what is judged is not in the next pool."""
    files()
    line = ["pool", "qrels", "a.run", "b.run", "--order", "depth", "--text", "texts", "-o", f"pool.{form}"]
    closing = "13 unjudged documents of 2 queries, in the first 100 ranks of 2 runs, in the order depth."
    assert f"pool.{form}: {closing}" in gradeval(*line).lines
    assert gradeval(*line, "--quiet").lines == []
    text = Path(f"pool.{form}").read_text()
    first = text.splitlines()[form == "csv"]
    assert first.startswith("q1,d9,1,1,,," if form == "csv" else '{"query": "q1", "document": "d9", ')
    assert fails(f"pool.{form}", "a.run").startswith(f"pool.{form}:")  # no label yet
    judged = text.replace(",,,\n", ",,,1\n").replace("null}", "1}").replace(",The second,\n", ",The second,2\n")
    Path(f"judged.{form}").write_text(judged)
    done = gradeval(f"judged.{form}", "a.run", "-m", "num_rel_ret", "-f", "tsv", "--quiet")
    assert (done.code, done.out) == (0, "run\tquery\tmetric\tvalue\na\tall\tnum_rel_ret\t3\n")
    joins = ("convert", "qrels", "judged.csv", "more.qrels", "--merge", "first", "--unlabelled", "unjudged")
    if form == "csv":  # in pool's help
        Path("judged.csv").write_text(judged.replace("q2,d9,1,1,,,1", "q2,d9,1,1,,,"))
        assert gradeval(*joins).code == 0
        assert len(Path("more.qrels").read_text().splitlines()) == 2 + 12
        looks = "This looks like qrels. The qrels come first, then the runs."
        assert looks in gradeval("compare", "qrels", "judged.csv", "a.run").err
    Path(f"judged.{form}").write_text(judged)
    assert gradeval("pool", f"judged.{form}", "b.run", "-f", "tsv", "--no-header", "--quiet").out == ""


def test_what_the_command_prints(folder: Path) -> None:
    files()
    table = gradeval("pool", "qrels", "a.run", "b.run", "--order", "depth", "--top", "2", "-f", "table")
    assert (table.code, table.err) == (0, "")
    assert table.out.splitlines()[0].split() == ["query", "document", "best", "rank", "runs"]
    legend = "2 of 13 unjudged documents of 2 queries, in the first 100 ranks of 2 runs"
    assert legend in " ".join(table.out.split())
    rows = gradeval("pool", "a.run", "b.run", "--query-ids", "q2", "--top", "1", "-f", "jsonl").out
    row = {"query": "q2", "document": "d9", "best_rank": 1, "runs": 1, "effect": None, "grade": None}
    assert json.loads(rows) == row
    named = gradeval("pool", "a.run", "b.run", "--qrels", "qrels", "-f", "tsv").out
    assert named == gradeval("pool", "qrels", "a.run", "b.run", "-f", "tsv").out


@each("line, error", [
    ("pool both.json a.run", "both.json: this may be qrels or a run. Give it as --qrels FILE if"),
    ("pool qrels", "gradeval: no runs given"),
    ("pool a.run none.run", "none.run: no such file"),
    ("pool a.run --query-ids zz", "gradeval: --query-ids: query 'zz' is not in the files"),
    ("pool qrels a.run --columns document=x", "gradeval: columns: document=x is no column of any table"),
    ("pool qrels a.run --order decide", "gradeval: --order decide (order='decide') needs two runs, not 1"),
    ("pool a.run b.run --order effect", "gradeval: --order effect (order='effect') needs qrels"),
    ("pool qrels a.run b.run --ties best", "gradeval: --order decide (order='decide') needs --ties trec or"),
    ("pool qrels a.run b.run --no-relevant skip", "gradeval: --order decide (order='decide') needs a value"),
    ("pool qrels a.run b.run -m nDCG@5,10", "gradeval: a pool takes one metric"),
    ("pool qrels a.run b.run -m num_ret", "gradeval: num_ret: a pool needs a metric of rankings"),
    ("pool a.run --size 3", "gradeval: --order sample and --size require each other"),
])  # fmt: skip
def test_errors(folder: Path, line: str, error: str) -> None:
    files()
    Path("both.json").write_text('{"q1": {"d1": 1}}')
    assert fails(*line.split()).startswith(error)
