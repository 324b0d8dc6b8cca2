"""Saved results in the place of runs."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import each, each_row, error_of

import gradeval
from gradeval.errors import InputError
from gradeval.evaluation.evaluation import evaluate_all
from gradeval.evaluation.plan import Plan
from gradeval.evaluation.results import Results
from gradeval.evaluation.runs import with_saved
from gradeval.evaluation.saved import is_saved
from gradeval.formats.sources import Source
from gradeval.notices import NoticeKind
from gradeval.options import Options
from gradeval.registry.spec import parse

pytestmark = pytest.mark.usefixtures("folder")
QRELS = "".join(f"q{q} 0 d{d} {(q * d) % 3}\n" for q in range(4) for d in range(5)) + "\xff 0 d1 1\n"


def run_text(shift: int, queries: range = range(4)) -> str:
    rows = (f"q{q} Q0 d{d} 1 {(d * 7 + q + shift) % 5} t\n" for q in queries for d in range(5))
    return "".join(rows)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """q (qrels), a and b (runs), a.json (the saved results of a)."""
    monkeypatch.chdir(tmp_path)
    Path("q").write_text(QRELS, "latin-1")
    Path("a.run").write_text(run_text(0, range(3)))
    Path("b.run").write_text(run_text(2) + "\xff Q0 d1 1 1 t\n", "latin-1")
    save("a.json", "a.run")
    return tmp_path


def save(path: str, *runs: str, metrics: str = "AP nDCG@3 num_q relstring rankDCG", **options: Any) -> None:
    results = evaluate_all(
        Plan(parse(metrics), Options(**options), hashes=True), "q", [(None, run) for run in runs]
    )
    assert not results.failed
    Path(path).write_text(results.render("json", per_query=True))


def refused(*runs: str, metrics: str | None = "AP", **options: Any) -> str:
    return error_of(InputError, gradeval.compare, "q", list(runs), metrics, **options)


def test_a_saved_result_is_as_good_as_its_run() -> None:
    from_runs = gradeval.compare("q", ["a.run", "b.run"], "AP nDCG@3 rankDCG", worst=9)
    for a in ("a.json", Path("a.json"), b"a.json"):
        from_saved = gradeval.compare("q", [a, "b.run"], "AP nDCG@3 rankDCG", worst=9)
        assert repr(from_saved.comparisons) == repr(from_runs.comparisons)
        np.testing.assert_array_equal(from_saved.values.values, from_runs.values.values)
        assert from_saved.values.queries == from_runs.values.queries
    # runs keep their order, and metrics are those of the saved result
    save("both.json", "b.run", "a.run", metrics="nDCG@3 num_q relstring AP")
    found = gradeval.compare("q", ["a.run", "both.json"])
    assert [metric.name for metric in found.values.metrics] == ["nDCG@3", "AP"]
    assert found.values.paths == ("a.run", "both.json", "both.json")
    assert np.array_equal(found.values.values[0], found.values.values[2])


@each_row(
    ({"rel": 2}, {}, "--rel 2, and here it is default"),
    ({}, {"rel": 2}, "--rel default, and here it is 2"),
    ({"depth": 2}, {"depth": 3}, "--depth 2, and here it is 3"),
    ({"judged_only": True}, {}, "--judged-only true, and here it is false"),
    ({"queries": "both"}, {}, "--queries both, and here it is judged"),
    ({"ties": "best"}, {}, "--ties best, and here it is default"),
    ({"top_grade": 5}, {}, "--top-grade 5, and here it is default"),
    ({"zero_grade": 1}, {}, "--zero-grade 1, and here it is 0"),
    ({"query_ids": "q1,q2"}, {}, "--query-ids q1,q2, and here it is default"),
)
def test_made_with_other_options(saved: dict[str, Any], asked: dict[str, Any], message: str) -> None:
    save("other.json", "a.run", **saved)
    said = f"other.json: it was made with {message}. Give the same options, or evaluate the run again"
    assert refused("other.json", "b.run", **asked) == said
    gradeval.compare("q", ["other.json", "b.run"], "AP", **{**saved, "jobs": 3})


def test_the_same_order_of_ties_by_default_and_by_name() -> None:
    save("named.json", "a.run", ties="trec")
    for runs, ties in (
        (["a.json", "b.run"], "trec"),
        (["named.json", "b.run"], None),
        (["named.json", "a.json"], "trec"),
    ):
        gradeval.compare("q", runs, "AP", ties=ties)
    assert "--ties default, and here it is input" in refused("a.json", "b.run", ties="input")
    content = json.loads(Path("a.json").read_text())
    del content["runs"][0]["ties"]
    Path("a.json").write_text(json.dumps(content))
    assert "--ties default, and here it is trec" in refused("a.json", "b.run", ties="trec")


GONE = object()
CONTRADICTION = "the summary of AP of run 'a' is not that of its values ("
RUN, Q1, NOTICE = "runs.0", "runs.0.per_query.q1", "notices.2"  # the notice is of the run


@each_row(
    ("format", 2, "its format is 2; this gradeval reads format 1"),
    ("format", "1", "'format' is not valid"),
    *(
        (
            "schema",
            schema,
            f"its schema is {schema!r}; this gradeval reads saved results of 'gradeval/results/1'",
        )
        for schema in ("gradeval/results/2", "gradeval/gate/1", 5, None)
    ),
    ("qrels", GONE, "'qrels' is missing"),
    ("qrels.sha256", None, "it has no SHA-256 of its qrels, as results of"),
    ("qrels.sha256", 5, "'sha256' of the qrels is not valid"),
    ("runs", 5, "'runs' is not valid"),
    ("runs", [5], "runs[0] is not an object"),
    ("runs", [], "it has no runs"),
    (f"{RUN}.name", GONE, "'name' of runs[0] is missing"),
    (f"{RUN}.per_query", GONE, "run 'a' has no values per query, since it was made without -q"),
    (f"{RUN}.per_query", [], "'per_query' of run 'a' is not valid"),
    (f"{RUN}.queries", True, "'queries' of run 'a' is not valid"),
    (f"{RUN}.queries", 4, "'queries' of run 'a' is not valid"),
    (f"{RUN}.sha256", 1, "'sha256' of run 'a' is not valid"),
    (f"{RUN}.ties", "x", "'ties' of run 'a' is not valid"),
    (f"{RUN}.ties", "best", "'ties' of run 'a' is not valid"),
    ("options.ties", "worst", "'ties' of run 'a' is not valid"),
    (f"{RUN}.path", GONE, "'path' of run 'a' is missing"),
    (f"{RUN}.undefined", {"AP": "1"}, CONTRADICTION),
    (f"{RUN}.summary", None, "'summary' of run 'a' is not valid"),
    (f"{RUN}.summary.AP", None, CONTRADICTION),
    (f"{RUN}.summary.AP", GONE, CONTRADICTION),
    (f"{RUN}.depths", [2, 1, 3], "'depths' of run 'a' is not valid"),
    (f"{RUN}.depths", [1, 2], "'depths' of run 'a' is not valid"),
    (Q1, 5, "the values of query 'q1' of run 'a' are not an object"),
    *(
        (f"{Q1}.AP", bad, "AP of query 'q1' of run 'a' is not a finite number")
        for bad in ([], True, 10**400, "0.5", GONE)
    ),
    (f"{Q1}.AP", None, CONTRADICTION),
    (f"{Q1}.AP", 0.123, CONTRADICTION),
    ("metrics", ["AP", "AP"], "'metrics' is not valid"),
    ("metrics", ["AP", 5], "'metrics' is not valid"),
    ("metrics", ["AP", "nDCG@3"], "there are values of 'rankDCG' of run 'a', which is not among its metrics"),
    ("metrics", ["AP", "nDCG@3", "rankDCG", "RR"], "there are no numbers of RR of run 'a'"),
    ("options.columns", [5], "an option in it is not valid (columns"),
    ("options.depth", "x", "an option in it is not valid (depth must be an integer"),
    ("options.reel", 2, "an option in it is not known (reel)"),
    ("notices", 5, "'notices' is not valid"),
    ("notices", [5], "notices[0] is not valid"),
    (f"{NOTICE}.count", "x", "notices[2] is not valid"),
    (f"{NOTICE}.kind", "x", "notices[2] is not valid"),
    (f"{NOTICE}.kind", "judged_share", "notices[2] is not valid"),
)
def test_damaged(path: str, value: object, message: str) -> None:
    place = content = json.loads(Path("a.json").read_text())
    *keys, last = (int(key) if key.isdigit() else key for key in path.split("."))
    for key in keys:
        place = place[key]
    place[last] = value
    if value is GONE:
        del place[last]
    Path("damaged.json").write_text(json.dumps(content))
    assert refused("damaged.json", "b.run").startswith(f"damaged.json: {message}")


def test_options_of_other_versions() -> None:
    """A key that is missing has the value under which results were made before the option existed."""
    content = json.loads(Path("a.json").read_text())
    for name in list(content["options"]):
        older = {**content, "options": {key: of for key, of in content["options"].items() if key != name}}
        Path("older.json").write_text(json.dumps(older))
        assert gradeval.evaluate("q", "older.json", "AP").mean(0, "AP") == content["runs"][0]["summary"]["AP"]
    assert "older.json: it was made with --depth default, and here it is 2" in refused("older.json", depth=2)
    newer = {**content, "gradeval": "9.1.0", "options": {**content["options"], "min_score": 0.5}}
    Path("newer.json").write_text(json.dumps(newer))
    assert refused("newer.json", "b.run") == (
        f"newer.json: gradeval 9.1.0 saved it with an option that gradeval {gradeval.__version__} does not "
        "have (min_score). Use gradeval 9.1.0 or newer"
    )


@each_row(
    ('{"gradeval": 1,\n "x": }', "a.json:2: not valid JSON (Expecting value in column 7)"),
    ('{"gradeval": 1,\n "x": "\n', "a.json:2: not valid JSON (Invalid control character in column 8)"),
    ('{"gradeval": "1", "format": 1, "format": 1}', "a.json: the key 'format' is in the object twice"),
    ('{"gradeval": NaN}', "a.json: NaN is not JSON"),
    ('{"gradeval": ' + "[" * 200_000, "a.json: the JSON is nested too deeply"),
    ('{"gradeval": ' + "9" * 9999 + "}", "a.json: this JSON has an integer that is too long"),
    ('{"gradeval": "\xff"}', "a.json: not valid JSON: b'\\xff' is not UTF-8"),
)
def test_not_json(text: str, message: str) -> None:
    Path("a.json").write_text(text, "latin-1")
    assert refused("a.json", "b.run").startswith(message)


def test_refusals() -> None:
    assert refused("a.json", "b.run", metrics="AP P@5") == (
        "a.json: it has no values of P@5, only of AP, nDCG@3, num_q, relstring, rankDCG. "
        "Choose other metrics, or evaluate the run again"
    )
    Path("c.json").write_text(gradeval.compare("q", ["a.run", "b.run"], "AP").render("json"))
    assert refused("c.json", "b.run").startswith("c.json: this JSON is not a saved result of 'gradeval eval'")
    for name, q in (("first", 1), ("second", 2)):
        Path(f"{name}.run").write_text(run_text(0, range(q, q + 1)))
    assert refused("first.run", "second.run", queries="both") == (
        "second.run: it has no query in common with first. Check the query ids, or average over "
        "--queries judged: 'q2' here, 'q1' in first"
    )
    assert gradeval.compare("q", ["first.run", "second.run"], "AP").comparisons[0].n == 5
    content = json.loads(Path("a.json").read_text())
    [run] = content["runs"]
    Path("a.json").write_text(json.dumps({**content, "runs": [run, run]}))
    assert refused("a.json", "b.run").startswith("a.json: two runs have the name 'a'")
    del run["per_query"]["q0"]
    run["queries"] = 4
    Path("a.json").write_text(json.dumps(content))
    assert refused("a.json", "b.run").startswith(f"a.json: {CONTRADICTION}")
    del run["summary"], run["undefined"]
    Path("a.json").write_text(json.dumps(content))
    assert refused("a.json", "b.run").startswith("a.json: run 'a' has no values of query 'q0'")
    with open("q", "a") as file:
        file.write("nothing 0 d1 0\n")
    assert refused("a.json", "b.run").startswith("a.json: it was made from other qrels (SHA-256 ")
    Path("q.run").write_text(run_text(0))  # a run named as the qrels takes none of their notices
    save("q.json", "q.run", metrics="AP")
    [name] = with_saved("q", [(None, "q.json")])[1][0][1].runs
    assert name.name == "q"
    found = gradeval.evaluate("q", "q.json", "AP")
    assert [one.kind for one in found.notices].count(NoticeKind.NO_RELEVANT) == 1


def test_runs_are_not_taken_for_saved_results(tmp_path: Path) -> None:
    runs = ["q1 Q0 d 1 1 t\n", "{q} Q0 d 1 1 t\n", "", "\n\n", "{\n", '{"q1": {"d": 1}}', '{"query": "1"}\n']
    runs += [
        '{"q1": {"gradeval": 1}}',
        '{"gradeval": {"format": 1}}',
        '{"qid": "1", "docid": "format", "score": 1}',
    ]
    saved = ['\n {\n "gradeval": 1}', '{"format": 1, "failed": "", "gradeval": "1"']
    saved += ['{"failed": [], "format": 1, "gradeval": "1"}']
    for text in (*runs, *saved):
        (tmp_path / "r").write_text(text)
        assert is_saved(Source(tmp_path / "r")) == (text in saved), text


def test_only_a_name_that_two_runs_have_becomes_that_of_the_file() -> None:
    save("both.json", "a.run", "b.run")
    assert gradeval.compare("q", ["both.json", "a.run"]).values.runs == ("both.json:a", "b", "a.run")
    assert gradeval.compare("q", {"x": "both.json", "y": "a.json"}).values.runs == ("x:a", "x:b", "y")
    assert gradeval.compare("q", {"a": "b.run", "y": "both.json"}).values.runs == ("a", "y:a", "y:b")
    assert gradeval.compare("q", {"a": "b.run", "b": "a.json"}, "AP").values.runs == ("a", "b")


def test_a_saved_result_that_cannot_be_used_takes_no_name() -> None:
    save("other.json", "a.run", metrics="AP", rel=2)
    opened = with_saved("q", [(None, "other.json"), (None, "a.run"), (None, "b.run")])
    shown: list[str] = []

    def on_run(part: Results) -> None:
        shown.extend([run.name for run in part.runs] + [failed.path for failed in part.failed])

    results = evaluate_all(Plan(parse("AP"), Options()), *opened, on_run)
    assert [run.name for run in results.runs] == ["a", "b"]
    assert shown == ["other.json", "a", "b"]


def test_metrics_are_those_that_all_saved_results_have() -> None:
    save("few.json", "b.run", metrics="num_q nDCG@5 AP")
    for runs in (["few.json", "a.json"], ["a.json", "few.json", "a.run"]):
        found = gradeval.compare("q", runs)
        assert [metric.name for metric in found.values.metrics] == ["AP"]
        [notice] = [one for one in found.notices if one.kind is NoticeKind.EXCLUDED_METRICS]
        has = {"few.json has num_q, nDCG@5, AP", "a.json has AP, nDCG@3, num_q, rankDCG"}
        assert set(notice.rule.removesuffix(")").partition(" (")[2].split("; ")) == has
        assert "3 metrics are not in every table or saved result, excluded: " in str(notice)
    assert NoticeKind.EXCLUDED_METRICS not in {one.kind for one in gradeval.compare("q", runs, "AP").notices}
    # the third counts as the first two do
    save("two.json", "b.run", metrics="AP nDCG@3")
    save("third.json", "a.run", metrics="nDCG@3")
    found = gradeval.compare("q", ["a.json", "two.json", "third.json"])
    assert [metric.name for metric in found.values.metrics] == ["nDCG@3"]
    save("other.json", "b.run", metrics="P@1")
    assert refused("a.json", "other.json", metrics=None) == (
        "other.json: no metric is in every saved result (a.json has AP, nDCG@3, num_q, rankDCG; "
        "other.json has P@1). Evaluate the runs again, with the same metrics"
    )


@each(("asked", "queries"), [("AP rankDCG", "judged"), ("AP", "both"), ("nDCG@10", "judged")])
def test_notices_are_those_of_the_run(asked: str, queries: str) -> None:
    with open("q", "a") as file:
        file.write("q0 0 d1 0\nnothing 0 d1 0\n")
    for name in "ab":
        rows = (f"{q} Q0 d{d} 1 {d % 2} t\n" for q in ("q1", "q2", "nothing", name) for d in range(1, 9))
        Path(f"{name}.run").write_text("".join(rows))
    options = {"queries": queries}
    for name in "ab":
        save(f"{name}.json", f"{name}.run", metrics="AP nDCG@10 rankDCG tau", **options)
    for runs in (["a", "b"], ["b"]):
        own = gradeval.evaluate("q", [f"{name}.run" for name in runs], asked, **options).notices
        own = own.without(NoticeKind.SAME_RANKING)  # which a saved result does not know
        assert {NoticeKind.DUPLICATES, NoticeKind.NO_RELEVANT, NoticeKind.TIES} <= {one.kind for one in own}
        assert (NoticeKind.FEW_DOCUMENTS in {one.kind for one in own}) == ("@10" in asked)
        for ends in product((".run", ".json"), repeat=len(runs)):
            files = [f"{name}{end}" for name, end in zip(runs, ends, strict=True)]
            found = gradeval.evaluate("q", files, asked, **options)
            others = found.notices.without(NoticeKind.SAME_RANKING)
            said, expected = ([str(one) for one in notices] for notices in (others, own))
            if "@10" in asked:  # that of few documents comes before that of the values
                said, expected = sorted(said), sorted(expected)
            assert said == expected
