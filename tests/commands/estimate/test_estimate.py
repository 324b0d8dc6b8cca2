"""Estimates from two judges: against evaluations of each, scipy, and what the command prints and refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli.command import fails, gradeval, query_ids, write_graded
from helpers import each, raises
from scipy import stats

import gradeval as package
from gradeval import InputError, OptionError
from gradeval.commands.estimate.estimate import LEAST_QUERIES, Estimates, _Sample
from gradeval.notices import NoticeKind
from gradeval.statistics.predicted import predicted_mean

METRICS = "nDCG@5 AP"
HEAD = (
    "run against metric estimate low high lambda n N human human_low human_high model bias bias_low bias_high"
)


def made(seed: int = 1, queries: int = 40, favoured: float = 0.0) -> tuple[dict, dict, dict]:
    """People's judgments of all queries, a model's, and three runs. favoured: how often the model raises a
    document that the last run has first.
    """
    random = np.random.default_rng(seed)
    people, model, runs = {}, {}, {"a": {}, "b": {}, "c": {}}
    for q in range(queries):
        grades = random.integers(0, 4, 10) * (random.random(10) < 0.5)
        grades[0] = 3
        for noise, run in enumerate(runs.values(), 1):
            run[f"q{q}"] = {f"d{d}": float(g + random.normal(0, 1 + noise)) for d, g in enumerate(grades)}
        people[f"q{q}"] = {f"d{d}": int(g) for d, g in enumerate(grades)}
        model[f"q{q}"] = {d: max(0, g + int(random.integers(-1, 2))) for d, g in people[f"q{q}"].items()}
        last = runs["c"][f"q{q}"]
        for document in sorted(last, key=last.__getitem__)[-3:]:
            model[f"q{q}"][document] += 4 * (random.random() < favoured)
    return people, model, runs


PEOPLE, MODEL, RUNS = made(seed=2)
FEW = {query: PEOPLE[query] for query in list(PEOPLE)[1::2]}
UNKNOWN = [query for query in MODEL if query not in FEW][:2]  # which people have not judged
WITHOUT_RELEVANT = {**MODEL, UNKNOWN[0]: dict.fromkeys(MODEL[UNKNOWN[0]], 0)}


def estimated(people=FEW, model=MODEL, runs=RUNS, metrics=METRICS, **options) -> Estimates:
    return package.estimate(people, runs, metrics, model_qrels=model, **options)


def kinds(estimates: Estimates) -> list[str]:
    return [notice.kind.value for notice in estimates.notices if notice.kind.value != "ties"]


def test_numbers_are_those_of_the_values_of_each_judge() -> None:
    found = estimated()
    by_people = package.evaluate(FEW, RUNS, METRICS)
    by_model = package.evaluate(MODEL, RUNS, METRICS)
    both = [query in FEW for query in MODEL]
    names = [(r, m, against) for against in (False, True) for r in range(against, 3) for m in range(2)]
    for one, (r, m, against) in zip(found.estimates, names, strict=True):
        assert (one.run, one.against) == ("abc"[r], "a" * against)
        y, f = (of.values(r, m) - against * of.values(0, m) for of in (by_people, by_model))
        judged, others = f[both], f[~np.array(both)]
        expected = predicted_mean(y, judged, others, 0.05)
        assert (one.estimate, one.weight) == (expected.estimate, expected.weight)
        assert (one.low, one.high) == (expected.low, expected.high if against else min(1, expected.high))
        assert (one.judged, one.others) == (20, 20)
        assert (one.human, one.model) == pytest.approx((y.mean(), f.mean()))
        intervals = (y, one.human_low, one.human_high), (judged - y, one.bias_low, one.bias_high)
        for values, *ends in intervals:
            low, high = stats.t.interval(0.95, 19, values.mean(), stats.sem(values))
            assert ends == pytest.approx([low, high if against or values is not y else min(1, high)])
        assert one.bias == pytest.approx((judged - y).mean())
        assert one.sample_p == pytest.approx(stats.ttest_ind(judged, others, equal_var=False).pvalue)
    difference = found.find("b", "ndcg_cut.5", against="a")
    assert difference is found.estimates[6]
    raises(package.GradevalError, "no such estimate of z", found.find, "z", "AP")
    assert repr(found).startswith("Estimates(runs=3, metrics=2, queries=40, judged_queries=20, notices=")


def test_options() -> None:
    plain = estimated(lambda_=1, confidence=90).estimates[0]
    assert plain.weight == 1
    usual = estimated(lambda_=1).estimates[0]
    ratio = stats.t.ppf(0.95, 19) / stats.t.ppf(0.975, 19)
    assert plain.high - plain.low == pytest.approx(ratio * (usual.high - usual.low))
    alone = estimated(lambda_=0).estimates[0]
    assert [alone.estimate, alone.low, alone.high] == pytest.approx(
        [alone.human, alone.human_low, alone.human_high]
    )
    # some of the model's queries: as if it had judged no others
    ids = [f"q{q}" for q in range(10, 35)]
    some = estimated(query_ids=ids)
    assert some.rows() == estimated({q: FEW[q] for q in ids if q in FEW}, {q: MODEL[q] for q in ids}).rows()
    # a run without a query: 0 by both judges, or in neither mean
    lacking = {"a": RUNS["a"], "b": {query: RUNS["b"][query] for query in list(MODEL)[1:20]}}
    counts = [
        (one.judged, one.others) for one in estimated(runs=lacking, queries="both", metrics="RR").estimates
    ]
    assert counts == [(20, 20), (10, 9), (10, 9)]
    # all are judged by people
    [whole] = estimated(PEOPLE, runs=RUNS["a"], metrics="RR").estimates
    assert (whole.others, whole.weight, whole.estimate) == (0, 0, whole.human)
    # an interval ends at the metric's range, as of evaluations
    perfect = {"a": {query: {d: float(g) for d, g in own.items()} for query, own in FEW.items()}}
    assert max(one.high for one in estimated(runs=perfect).estimates) <= 1


def test_a_query_without_a_value_by_people_is_not_one_that_they_have_not_judged() -> None:
    values = np.array([0.5, np.nan, np.nan]), np.array([0.25, 0.75, 1.0])
    people, model, others = _Sample.of(*values, is_judged=np.array([True, True, False]))
    assert [people.tolist(), model.tolist(), others.tolist()] == [[0.5], [0.25], [1.0]]


def test_warnings() -> None:
    assert kinds(estimated(model=PEOPLE)) == []
    for count, expected in ((LEAST_QUERIES, ["few_queries"]), (14, ["few_queries"]), (15, [])):
        some = {query: PEOPLE[query] for query in [*PEOPLE][:count]}
        assert kinds(estimated(some, model=PEOPLE, metrics="AP")) == expected, count
    people, model, runs = made(favoured=0.8)
    few = {query: people[query] for query in list(people)[:14]}
    found = estimated(few, model, runs, "nDCG@5")
    assert kinds(found) == ["few_queries", "bias_differs"]
    [about] = [notice for notice in found.notices if notice.kind is NoticeKind.BIAS_DIFFERS]
    bias = {one.run: one.bias for one in found.estimates if not one.against}
    assert (about.low, about.high) == (min(bias.values()), bias["c"])
    # of two runs, repeated measures are the paired t-test of the biases
    two = {name: runs[name] for name in "ac"}
    found = estimated(few, model, two, "nDCG@5")
    values = [[package.evaluate(q, two, "nDCG@5").values(r, 0)[:14] for q in (few, model)] for r in range(2)]
    a, c = (of_model - of_people for of_people, of_model in values)
    assert found.bias_p["nDCG@5"] == pytest.approx(stats.ttest_rel(a, c).pvalue)
    assert "(c), p = " in str(about) and str(about).endswith("rankings by its judgments mislead")
    # queries on which the runs are good are no random sample
    best = package.evaluate(MODEL, RUNS["a"], "AP").per_query(0, 0)
    chosen = {query: PEOPLE[query] for query in sorted(best, key=best.__getitem__)[20:]}
    [about] = [n for n in estimated(chosen, metrics="AP").notices if n.kind is NoticeKind.NO_RANDOM_SAMPLE]
    assert "AP of a, p = " in str(about) and "need a random sample" in str(about)
    with pytest.warns(package.EvaluationWarning, match="need a random sample"):
        estimated(chosen)


def test_notices_of_each_judge() -> None:
    """What the sets share is said once; that people judged few queries is no news."""
    run = {**RUNS["a"], "new": {"d1": 1.0}}
    del run["q5"], run["q30"]
    found = estimated(runs={"a": run}, metrics="RR")
    assert [(n.kind.value, n.count, n.judgments) for n in found.notices] == [
        ("missing", 2, "model_qrels"),
        ("unjudged", 1, "model_qrels"),
    ]


def test_notices_name_the_judgments_in_memory() -> None:
    run = {query: RUNS["a"][query] for query in MODEL if query not in UNKNOWN}
    found = estimated(model=WITHOUT_RELEVANT, runs={"a": run}, metrics="AP")
    about = {(notice.kind.value, notice.subject, notice.judgments) for notice in found.notices}
    assert about >= {("missing", "a", "model_qrels"), ("no_relevant", "model_qrels", "")}


def test_the_legend_counts_what_the_table_counts() -> None:
    assert "The mean over 40 queries, of which people judged 20" in str(estimated())
    found = estimated(model=WITHOUT_RELEVANT, metrics="AP", no_relevant="skip")
    assert {one.judged + one.others for one in found.estimates} == {39}
    assert "The mean over the n + N queries with a value, of 40 queries" in str(found)
    assert "N is 0" not in str(found)
    of_people_alone = " ".join(str(estimated(model=FEW)).split())
    assert "N is 0: no query has a value by the model alone, so its judgments add nothing" in of_people_alone


@each(("people", "model", "options", "error", "what"), [
    ({"x": {"d1": 1}}, MODEL, {}, InputError, "it has no query in common with qrels. Check the query ids"),
    ({**FEW, "x": {"d1": 1}}, MODEL, {}, InputError, "^model_qrels: it lacks 1 query that people judged"),
    ({q: FEW[q] for q in list(FEW)[:4]}, MODEL, {}, InputError, "for 4 queries, and an estimate needs 5"),
    (FEW, MODEL, {"ties": "best"}, OptionError, "ties=best orders by one set of judgments"),
    (FEW, MODEL, {"lambda_": 2}, OptionError, "lambda_ must be a number from 0 to 1, not 2"),
    (FEW, MODEL, {"metrics": "num_q"}, package.MetricError, "num_q has no value for each query"),
    (FEW, MODEL, {"columns": "document=x"}, OptionError, "document=x is no column of any table"),
    (FEW, "nowhere", {}, InputError, "nowhere: no such file"),
])  # fmt: skip
def test_errors(people, model, options, error, what) -> None:
    raises(error, what, estimated, people, model, **options)


def test_runs_that_cannot_be_evaluated() -> None:
    """One judge is enough: a run has no query that people judged."""
    unjudged = {query: RUNS["b"][query] for query in RUNS["b"] if query not in FEW}
    runs = {"a": RUNS["a"], "b": unjudged, "c": RUNS["c"]}
    raises(InputError, "b: it has no query in common with qrels", estimated, runs=runs)
    found = estimated(runs=runs, errors="keep")
    assert found.runs == ("a", "c") and [run.path for run in found.failed] == ["b"]
    assert found.rows() == estimated(runs={"a": RUNS["a"], "c": RUNS["c"]}).rows()
    first = {"b": unjudged, "a": RUNS["a"]}
    raises(InputError, "b: it has no query in common", estimated, runs=first, errors="keep")
    raises(InputError, "b: it has no query in common", estimated, runs={"b": unjudged}, errors="keep")


@pytest.fixture
def files(folder: Path) -> None:
    """All judged by the model, twelve by people, and runs."""
    ids = query_ids(30)
    write_graded(ids, {"a": 2, "b": 4})
    Path("qrels").rename("llm")
    lines = Path("llm").read_text().splitlines(keepends=True)
    Path("people").write_text("".join(line for line in lines if line[:3] in ids[::3] or line[:3] in ids[1:3]))


def test_the_command(files: None) -> None:
    done = gradeval(
        "estimate", "people", "a.run", "B=b.run", "--model-qrels", "llm", "-m", "AP RR", "-f", "tsv"
    )
    head, *rows = (line.split("\t") for line in done.out.splitlines())
    assert head == HEAD.split()
    assert [row[:3] for row in rows[:2]] == [["a", "", "AP"], ["a", "", "RR"]]
    assert [row[:3] for row in rows[4:]] == [["B", "a", "AP"], ["B", "a", "RR"]]
    assert "only 12 queries judged by people; with fewer than 15" in done.err
    table = gradeval("estimate", "people", "a.run", "b.run", "--model-qrels", "llm", terminal=True).out
    assert "Differences from a" in table and "taken for a random sample of all" in table
    # standard input is read once
    piped = gradeval("estimate", "people", "-", "--model-qrels", "llm", "-f", "json", stdin="a.run")
    named = gradeval("estimate", "people", "a.run", "--model-qrels", "llm", "-f", "json")
    document, expected = (json.loads(one.out) for one in (piped, named))
    assert [row | {"run": "a"} for row in document["estimates"]] == expected["estimates"]
    assert expected["settings"] == {"confidence": 95.0, "lambda": None}
    assert len(expected["model_qrels"]["sha256"]) == 64
    call = "estimate", "people", "a.run", "--model-qrels", "llm"
    assert gradeval(*call, "--fail-on-warning").code == 3
    assert gradeval(*call, "--strict", "--allow", "few_queries").code == 0


@each("line, what", [
    ("people a.run", "gradeval: Missing option '--model-qrels'."),
    ("people --model-qrels llm", "gradeval: Missing argument 'RUN...'"),
    ("people a.run --model-qrels llm --lambda 1.5", "'--lambda': '1.5' is not a number from 0 to 1."),
    ("llm a.run --model-qrels people", "people: it lacks 18 queries that people judged in llm: 'q04', 'q05'"),
    ("people nowhere a.run --model-qrels llm", "nowhere: no such file. Check the path"),
])  # fmt: skip
def test_what_the_command_refuses(files: None, line: str, what: str) -> None:
    assert what in fails("estimate", *line.split())
