"""Comparisons: every number against a plain computation, scipy, or a published example; and as text."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import each, golden, raises
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statistics_reference import SAKAI

import gradeval
from gradeval.commands.compare.command import FORMATS
from gradeval.commands.compare.compare import (
    ComparedMetric,
    ComparedSystem,
    Comparison,
    Judged,
    QueryValues,
    compare_values,
)
from gradeval.commands.compare.layout import interval, letters
from gradeval.compare_options import CORRECTIONS, TESTS, CompareOptions, split_options
from gradeval.errors import GradevalError, InputError, MetricError, OptionError
from gradeval.evaluation.evaluation import evaluate_all
from gradeval.evaluation.plan import Plan
from gradeval.notices import Notice, NoticeKind
from gradeval.options import Options
from gradeval.registry.spec import parse
from gradeval.statistics import multiple, tests
from gradeval.statistics.intervals import queries_needed, smallest_effect_size
from gradeval.statistics.multiple import randomized_tukey_hsd, two_way_anova
from gradeval.statistics.sampling import Sampling

NAN = math.nan
QUERIES = 9  # so that all sign flips are tried
EXACT = {"rel": 1e-9, "abs": 1e-12}


def table(runs: dict[str, dict[str, list[float]]], queries=None, lower=()) -> QueryValues:
    metrics = list(next(iter(runs.values())))
    values = np.array([[of[metric] for metric in metrics] for of in runs.values()], np.float64)
    queries = queries or [f"q{i:02}" for i in range(values.shape[2])]
    columns = tuple(ComparedMetric(metric, metric, metric not in lower) for metric in metrics)
    compared = tuple(ComparedSystem(run, f"{run}.run") for run in runs)
    return QueryValues(tuple(queries), compared, columns, values)


def random_runs(seed: int, runs: int = 3, metrics: int = 2, queries: int = QUERIES) -> QueryValues:
    values = np.random.default_rng(seed).beta(2, 3, (runs, metrics, queries)).round(4)
    names = ["A", "B", "C", "D"][:runs]
    of_runs = {
        name: {f"m{m}": row.tolist() for m, row in enumerate(of)}
        for name, of in zip(names, values, strict=True)
    }
    return table(of_runs)


def compared(values: QueryValues, **options) -> Comparison:
    return compare_values(values, CompareOptions(**options))


def pairs_of(values: QueryValues, baseline: str, run: str, metric: str) -> tuple[list[float], list[float]]:
    m = [column.name for column in values.metrics].index(metric)
    both = [values.values[values.runs.index(name), m].tolist() for name in (baseline, run)]
    pairs = [pair for pair in zip(*both, strict=True) if not any(map(math.isnan, pair))]
    return [one for one, _ in pairs], [two for _, two in pairs]


def test_the_numbers_of_a_comparison() -> None:
    """By the t-test; undefined values leave the pair out."""
    values = random_runs(13)
    values.values[0, 0, 2] = values.values[1, 0, 5] = NAN
    found = compared(values)
    assert [one.n for one in found.comparisons] == [QUERIES - 2, QUERIES, QUERIES - 1, QUERIES]
    for one in found.comparisons:
        old, new = pairs_of(values, one.baseline, one.run, one.metric)
        differences = [b - a for a, b in zip(old, new, strict=True)]
        test = stats.ttest_rel(new, old)
        interval = test.confidence_interval(0.95)
        assert (one.p, one.low, one.high) == pytest.approx((test.pvalue, interval.low, interval.high), **EXACT)
        assert (one.mean, one.baseline_mean) == pytest.approx((np.mean(new), np.mean(old)), **EXACT)
        assert one.difference == one.estimate == pytest.approx(np.mean(differences), **EXACT)
        assert one.sd == pytest.approx(np.std(differences, ddof=1), **EXACT)
        assert one.effect_size == pytest.approx(one.difference / one.sd, **EXACT)
        assert one.relative == pytest.approx(100 * (sum(new) / sum(old) - 1), rel=1e-9)
        signs = np.sign(differences).tolist()
        assert (one.won, one.tied, one.lost) == (signs.count(1), signs.count(0), signs.count(-1))
        better = "better" if one.difference > 0 else "worse"
        assert (one.verdict, one.reason) == (better if one.p_corrected < 0.05 else "", "")
    assert found.find("B", "m0") == found.comparisons[0]
    assert found.sections[0].means[0, 0] == pytest.approx(np.nanmean(values.values[0, 0]))


def test_each_test_and_correction_is_that_of_the_statistics() -> None:
    """Of the values in order of the query ids, for all runs and metrics together."""
    values = random_runs(5, queries=20)
    again = values.select(np.random.default_rng(5).permutation(20))
    differences = np.concatenate([values.differences(0, run) for run in (1, 2)]).T
    sampling = Sampling(300, 2)
    for test in tests.TESTS:
        expected = tests.paired_tests(test, differences, 0.1, sampling)
        options = {"test": test, "confidence": 90, "samples": 300, "seed": 2}
        found = compared(values, **options)
        for one, by in zip(found.comparisons, expected, strict=True):
            assert repr({name: getattr(one, name) for name in vars(by)}) == repr(vars(by))
        for values_of, jobs in ((again, 1), (values, 3)):
            assert repr(compared(values_of, jobs=jobs, **options).comparisons) == repr(found.comparisons)
        assert found.settings()["estimand"] == tests.TESTS[test].estimand
    p = np.array([one.p for one in compared(values).comparisons])
    for correction in CORRECTIONS:
        found = compared(values, correction=correction, samples=300, seed=2)
        maxt = correction == "maxt"
        expected = multiple.maxt(differences, sampling) if maxt else multiple.CORRECTIONS[correction](p)
        assert [one.p_corrected for one in found.comparisons] == pytest.approx(expected.tolist(), **EXACT)
    # the options name the tests and corrections that there are
    assert list(TESTS) == [*tests.TESTS, "tukey"]
    assert set(CORRECTIONS) == {*multiple.CORRECTIONS, "maxt"}


def test_tukeys_test_of_all_pairs() -> None:
    values = table({name: {"m": SAKAI[:, r].tolist()} for r, name in enumerate("ABC")})
    found = compared(values, test="tukey", all_pairs=True, samples=200, power=True)
    hsd = randomized_tukey_hsd(SAKAI, 0.05, Sampling(200))
    assert found.settings()["estimand"] == "mean difference"
    for one, (i, j) in zip(found.comparisons, ((0, 1), (0, 2), (1, 2)), strict=True):
        assert (one.baseline, one.run) == ("ABC"[i], "ABC"[j])
        assert math.isnan(one.p) and one.p_corrected == hsd.p[j, i]
        assert one.difference == pytest.approx(hsd.differences[j, i], **EXACT)
        assert (one.low, one.high) == pytest.approx(
            (one.difference - hsd.margin, one.difference + hsd.margin), **EXACT
        )
    # analysis of variance and power are those of the statistics
    values = random_runs(12)
    found = compared(values, anova=True, power=True)
    for anova, of_metric in zip(found.sections[0].anova, values.values.transpose(1, 2, 0), strict=True):
        assert repr(anova) == repr(two_way_anova(of_metric))
    for one in found.comparisons:
        assert one.power is not None
        assert one.power.smallest == smallest_effect_size(one.n, 0.05) * one.sd
        assert one.power.needed == queries_needed(one.effect_size, 0.05)
    assert compared(values).comparisons[0].power is None and compared(values).sections[0].anova == ()


def test_another_baseline_and_what_cannot_be_compared() -> None:
    values = random_runs(10)
    found = compared(values, baseline="B")
    assert [(one.baseline, one.run) for one in found.comparisons[::2]] == [("B", "A"), ("B", "C")]
    for same in (1, "B.run", -2):
        assert compared(values, baseline=same).comparisons == found.comparisons
    swapped = compared(values).find("B", "m0")
    one = found.find("A", "m0")
    assert (one.difference, one.low, one.high) == pytest.approx(
        (-swapped.difference, -swapped.high, -swapped.low), **EXACT
    )
    assert (one.won, one.lost) == (swapped.lost, swapped.won)
    for baseline, what in (
        ("X", "no run is named 'X': there are A, B, C"),
        (3, "there is no run 3: there are 3"),
    ):
        raises(GradevalError, what, compared, values, baseline=baseline)
    # what cannot be compared
    raises(OptionError, r"there is 1 run\. Give two runs or more", compared, random_runs(1, runs=1))
    # values too large to add squares of
    with pytest.raises(MetricError, match="m of B has values beyond 1e\\+150"):
        table({"A": {"m": [1.0, 2.0]}, "B": {"m": [1.0, math.inf]}})


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(0, 5), st.booleans())
def test_worst_and_best(seed: int, worst: int, best: int, coarse: bool) -> None:
    values = random_runs(seed, runs=2, metrics=1, queries=9)
    if coarse:
        values.values[:] = values.values.round(1)
    found = compared(values, worst=worst, best=best)
    old, new = (dict(zip(values.queries, row, strict=True)) for row in values.values[:, 0].tolist())
    moved = sorted(values.queries, key=lambda query: (round(new[query] - old[query], 12), query))
    worse = [query for query in moved if round(new[query] - old[query], 12) < 0][:worst]
    moved.sort(key=lambda query: (-round(new[query] - old[query], 12), query))
    better = [query for query in moved if round(new[query] - old[query], 12) > 0][:best]
    assert [change["query"] for change in found.changes if change["kind"] == "worst"] == worse
    assert [change["query"] for change in found.changes if change["kind"] == "best"] == better
    for change in found.changes:
        assert (change["baseline_value"], change["value"]) == (old[change["query"]], new[change["query"]])
        assert change["difference"] == pytest.approx(change["value"] - change["baseline_value"])


def test_equal_differences_have_no_p() -> None:
    values = [0.1, 0.2, 0.3, 0.7]
    shifted = [0.2, 0.3, 0.4, 0.8]
    values = table({"A": {"m": values}, "B": {"m": shifted}, "C": {"m": values}})
    for test in tests.TESTS:
        shifted, same = compared(values, test=test).comparisons
        for one, by in ((shifted, 0.1), (same, 0.0)):
            assert math.isnan(one.p) and math.isnan(one.p_corrected) and math.isnan(one.effect_size)
            assert one.reason == "all differences are equal"
            assert (one.low, one.high) == pytest.approx((by, by))
            assert one.verdict == ""
        assert (shifted.won, same.tied) == (4, 4)
        notices = compared(values, test=test).notices
        assert [notice.count for notice in notices if notice.kind is NoticeKind.NO_P] == [2]
    assert "no p-value for 2 comparisons (all differences are equal)" in compared(values).warnings
    [power] = [one.power for one in compared(values.select(np.arange(4)), power=True).comparisons][:1]
    assert power is not None and math.isnan(power.needed)


@each("queries", [0, 1])
@each("test", TESTS)
def test_fewer_than_two_pairs(queries: int, test: str) -> None:
    values = random_runs(15, runs=2, queries=2)
    values.values[0, :, queries:] = NAN
    found = compared(values, test=test, all_pairs=True, power=True, worst=1, anova=True)
    for one in found.comparisons:
        assert one.n == queries
        assert math.isnan(one.p_corrected) and math.isnan(one.low) and math.isnan(one.high)
        assert one.reason.startswith("fewer than 2")
        assert one.verdict == ""
    assert found.warnings[0].startswith(f"only {queries} quer")
    found.to_dict(per_query=True)


def test_groups_repeat_everything() -> None:
    values = random_runs(17, queries=60)
    groups = {"even": values.queries[::2], "all of them": values.queries, "first": values.queries[:30]}
    found = compared(values, by=groups.items(), anova=True, power=True)
    assert [section.group for section in found.sections] == [None, *groups]
    for section, queries in zip(found.sections[1:], groups.values(), strict=True):
        part = values.select(np.isin(values.queries, queries))
        alone = compared(part, anova=True, power=True).sections[0]
        assert section.comparisons == alone.comparisons
        np.testing.assert_array_equal(section.means, alone.means)
        assert section.queries == len(queries)
    assert found.sections[2].comparisons == found.comparisons
    assert found.warnings == ()
    assert found.find("B", "m0", group="even") == found.sections[1].comparisons[0]
    # notices of groups
    values = random_runs(18, queries=60)
    by = {query: ["big", "both"] if q < 30 else "small" for q, query in enumerate(values.queries[:40])}
    found = compared(values, by=by | {"elsewhere": "big"})
    assert [(notice.kind, notice.count) for notice in found.notices] == [
        (NoticeKind.SMALL_GROUPS, 1),
        (NoticeKind.UNGROUPED, 20),
        (NoticeKind.UNKNOWN_GROUPED, 1),
    ]
    assert found.warnings[0] == "1 group has fewer than 25 queries: small"
    raises(
        InputError,
        "none of their queries is among those that are evaluated",
        compared,
        values,
        by={"elsewhere": "x"},
    )


# from Python: gradeval.compare, Results.compare, their options


def judged(queries: int = 30) -> tuple[dict, dict]:
    rng = np.random.default_rng(3)
    qrels, runs = {}, {"A": {}, "B": {}}
    for q in range(queries):
        qrels[f"q{q}"] = {f"d{d}": int(rng.integers(0, 3)) for d in range(8)} | {"top": 1}
        for run in runs.values():
            run[f"q{q}"] = {f"d{d}": float(rng.random()) for d in range(8)}
    return qrels, runs


def test_from_python() -> None:
    qrels, runs = judged()
    found = gradeval.compare(qrels, runs, "nDCG@5 AP", power=True, rel=2)
    same = gradeval.evaluate(qrels, runs, "num_q nDCG@5 AP", rel=2).compare(power=True)
    assert found.comparisons == same.comparisons
    assert isinstance(found, gradeval.Comparison)
    results = gradeval.evaluate(qrels, runs, "nDCG@5", rel=2)
    np.testing.assert_array_equal(found.sections[0].means[:, 0], results.means[:, 0])
    expected = stats.ttest_rel(results.values("B", 0), results.values("A", 0)).pvalue
    assert found.find("B", "ndcg_cut_5").p == pytest.approx(expected)
    assert gradeval.evaluate(qrels, runs, "nDCG@5 AP").compare("AP").values.metrics[0].name == "AP"
    # an unknown option is said with those of the comparison and of the evaluation
    for name in ("tie_range", "by_level"):  # compare() does not show what they find
        with pytest.raises(OptionError, match=f"unknown option {name}: the options are errors, baseline, "):
            gradeval.compare(*judged(), "AP", **{name: True})
    given = {"tests": "t", "rel": 2}
    message = r"unknown option tests: did you mean test\? The options are baseline, .*, jobs, rel, depth, "
    raises(OptionError, message, split_options, given)


@each("options, message", [
    ({"test": "u"}, "test must be one of t, randomization"),
    ({"correction": 5}, "correction must be one of holm"),
    ({"confidence": 5}, "confidence must be a percentage from 50 to 99.9999, not 5.0"),
    ({"seed": True}, "seed must be an integer from 0"),
    ({"power": 1}, "power must be true or false"),
    ({"baseline": True}, "baseline must be the name or position"),
    ({"baseline": "A", "all_pairs": True}, "baseline and all_pairs are mutually exclusive"),
    ({"test": "tukey"}, "Add --all-pairs"),
    ({"test": "tukey", "all_pairs": True, "correction": "holm"}, "already corrected"),
    ({"test": "bootstrap", "correction": "bh"}, "no p-values"),
    ({"test": "wilcoxon", "correction": "maxt"}, "requires --test t or randomization"),
    ({"by": 5}, "by must be"),
    ({"by": {"q1": "all"}}, "a group of queries is named 'all', which stands for all queries. Rename it"),
    (
        {"bye": 5},
        r"unknown option bye: did you mean by\? The options are baseline, all_pairs, test, correction",
    ),
])  # fmt: skip
def test_wrong_options(options: dict, message: str) -> None:
    raises(OptionError, message, CompareOptions, **options)


# as text: whole outputs, and the parts that vary


GOLDEN = Path(__file__).parent / "golden"
ODD_IDS = ("q1", "q2", "a|b_%\udcff", "=4", "q5")


def odd_comparison(**options: Any) -> Comparison:
    """Odd names and ids, an undefined value, and a metric where lower values are better."""
    ndcg = [[0.5, 0.25, 0.125, 0.5, 0.75], [0.625, 0.5, 0.25, 0.75, 0.875], [0.25, 0.5, 0.125, 0.625, NAN]]
    seconds = [[3, 2, 4, 1, 2], [1, 1, 2, 0, 1], [3, 2, 4, 1, 2]]
    values = QueryValues(
        ODD_IDS,
        (
            ComparedSystem("bm25_k1", "bm25_k1.run"),
            ComparedSystem('neural,"2"', "-"),
            ComparedSystem("=\x1b", "=\x1b.txt"),
        ),
        (ComparedMetric("nDCGphi@10", "nDCGφ@10"), ComparedMetric("seconds", "seconds", False)),
        np.array([ndcg, seconds]).transpose(1, 0, 2).astype(float),
    )
    judged = Judged("Judged@10", np.array([1.0, 0.75, NAN]))
    notices = [Notice(NoticeKind.MISSING, "bm25_k1", 1, rule="judged")]
    return compare_values(values, CompareOptions(**options), notices, judged=judged, inputs={"qrels": None})


@each("format", FORMATS)
def test_whole_output(format: str) -> None:
    comparison = odd_comparison(worst=1, best=1, power=True)
    text = comparison.render(format, per_query=True, relative=True)
    text = text.replace(f'"{gradeval.__version__}"', '"VERSION"')
    assert text.encode(errors="surrogateescape") == golden(GOLDEN / f"{format}.txt")


def test_groups_and_analysis_of_variance() -> None:
    comparison = odd_comparison(anova=True, by={"q1": "long\x1b", "q2": "long\x1b", "=4": "long\x1b"})
    lines = comparison.render().splitlines()
    titles = [line for line, rule in zip(lines, lines[2:], strict=False) if rule.startswith("──")]
    whole = ["Means", "Differences from bm25_k1", "Analysis of variance"]
    whole.append("Effect sizes by the residual standard deviation")
    assert titles == [*whole, *(f"long\\x1b: {title}, 3 queries" for title in whole)]
    anova = comparison.sections[1].anova[1]
    row = next(line for line in lines[lines.index(titles[6]) :] if line.startswith("seconds   residual"))
    squares, mean_square = anova.residual.squares, anova.residual.mean_square
    assert row.split()[2:] == [f"{squares:.4f}", "4", f"{mean_square:.4f}", "-", "-"]
    tables = [table.splitlines() for table in comparison.render("tsv").split("\n\n")]
    assert tables[1][0].split("\t") == ["group", "metric", "source", "squares", "df", "mean_square", "f", "p"]
    assert [line.split("\t")[0] for line in tables[0][1:]] == ["all"] * 4 + ["long\x1b"] * 4
    content = json.loads(comparison.render("json"))
    assert content["groups"][0]["anova"]["seconds"]["residual"]["squares"] == anova.residual.squares
    assert content["groups"][0]["group"] == "long\x1b"
    # all pairs have letters
    pairs = odd_comparison(all_pairs=True, correction="none")
    assert 'neural,"2" (b)    0.6000a   1.0000ac     0.7500' in pairs.render().splitlines()
    assert r'neural,"2" (b) & \textbf{0.6000}$^{a}$ & \textbf{1.0000}$^{ac}$ & 0.7500 \\' in pairs.render(
        "latex"
    )
    assert "**1.0000**<sup>ac</sup>" in pairs.render("md")
    assert letters(28)[25:] == ["z", "aa", "ab"] and len(set(letters(800))) == 800
    assert repr(odd_comparison()) == "Comparison(runs=3, metrics=2, queries=5, test='t', notices=5)"


@each(("won", "lost", "verdict"), [(28, 12, "better"), (12, 28, "worse")])
def test_an_end_of_0_that_is_excluded(won: int, lost: int, verdict: str) -> None:
    changes = np.repeat([1.0, 0.0, -1.0], [won, 20, lost])
    numbers = np.array([[np.zeros(60)], [changes]])
    queries = tuple(map(str, range(60)))
    of_runs = QueryValues(
        queries, (ComparedSystem("a", "a"), ComparedSystem("b", "b")), (ComparedMetric("RR", "RR"),), numbers
    )
    comparison = compare_values(of_runs, CompareOptions(test="wilcoxon"))
    assert comparison.comparisons[0].verdict == verdict
    text = "(0.0000, 1.0000]" if won > lost else "[-1.0000, 0.0000)"
    assert text in comparison.render()
    head, row = (line.split("\t") for line in comparison.render("tsv").splitlines())
    low, high = (float(row[head.index(end)]) for end in ("low", "high"))
    assert (low > 0 or high < 0) and row[head.index("verdict")] == verdict
    endless = replace(comparison.comparisons[0], low=-math.inf, high=math.inf)
    assert interval(endless, 4) == "(-inf, inf)"


@each("options, parts", [
    ({}, ["significantly better, worse than bm25_k1 (paired t-test, two-sided; Holm correction for 3 "
          "comparisons; alpha = 0.05; n = 4 to 5).",
          "95 % confidence, of the mean difference, uncorrected"]),
    ({"correction": "none", "confidence": 99}, ["two-sided; uncorrected; alpha = 0.01;"]),
    ({"test": "randomization"}, ["randomization test by sign flips", "all 32 sign flips"]),
    ({"test": "bootstrap", "samples": 1000, "seed": 7},
     ["bootstrap BCa interval excludes 0; uncorrected", "Samples: 1,000 bootstrap resamples; seed 7."]),
    ({"test": "wilcoxon"}, ["of the estimate: the Hodges-Lehmann estimate of the nonzero differences"]),
    ({"test": "sign", "correction": "bh"},
     ["of the estimate: the median of the nonzero differences", "Benjamini-Hochberg"]),
    ({"test": "tukey", "all_pairs": True, "samples": 1000},
     ["randomized Tukey HSD test; for all pairs of runs, metric by metric",
      "Samples: all 1,296 permutations within queries, all 7,776 permutations within queries.",
      "Simultaneous intervals: 95 %"]),
    ({"by": {"q1": "x", "q2": "x"}}, ["Holm correction for 3 comparisons, and within each group"]),
])  # fmt: skip
def test_the_legend_says_how(options: dict[str, Any], parts: list[str]) -> None:
    text = " ".join(odd_comparison(**options).render().split())
    for part in parts:
        assert part in text


UNKNOWN = "is unknown, so whether the runs differ in it was not checked; save results with"


@pytest.fixture
def judged_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """new retrieves 2 judged documents of 4 for each of 4 queries, old 4; part is old without 3 queries."""
    monkeypatch.chdir(tmp_path)
    Path("q").write_text("".join(f"q{q} 0 d{d} {d % 2}\n" for q in range(4) for d in range(4)))
    for name, ids, first in (("old", "d0 d1 d2 d3", 0), ("new", "d0 x1 d2 x3", 0), ("part", "d0 d1 d2 d3", 3)):
        rows = (f"q{q} Q0 {d} 1 {-rank} t\n" for q in range(first, 4) for rank, d in enumerate(ids.split()))
        Path(f"{name}.run").write_text("".join(rows))


def save_judged(name: str, metrics: str) -> None:
    results = evaluate_all(Plan(parse(metrics), Options(), hashes=True), "q", [(None, f"{name}.run")])
    Path(f"{name}.json").write_text(results.render("json", per_query=True))


def shares(*runs: str, metrics: str = "nDCG@3", **options: object) -> tuple[str, list[float]] | None:
    found = gradeval.compare("q", list(runs), metrics, **options)
    return None if found.judged is None else (found.judged.name, found.judged.means.round(4).tolist())


@pytest.mark.usefixtures("judged_files")
def test_judged_is_shown_where_it_differs() -> None:
    values = random_runs(19, queries=30)
    options = CompareOptions()
    for of_runs, shown in (([0.9, 0.86, 0.88], False), ([0.9, 0.84, NAN], True), ([NAN, NAN, 0.1], False)):
        found = compare_values(values, options, judged=Judged("Judged@10", np.array(of_runs)))
        assert (found.judged is not None) == shown
        kinds = [notice.kind for notice in found.notices]
        assert kinds == [NoticeKind.JUDGED_DIFFERS] * shown + [NoticeKind.JUDGED_UNKNOWN] * of_runs.count(NAN)
    found = compare_values(values, options, judged=Judged("Judged@10", np.array([0.9, 0.84, NAN])))
    assert found.warnings[0].startswith("Judged@10 of the runs differs, from 84.0 % to 90.0 %")
    assert found.warnings[1] == f"Judged@10 of C {UNKNOWN} Judged@10 among the metrics"
    assert [run.get("Judged@10") for run in found.to_dict()["runs"]] == [0.9, 0.84, None]
    # it stays that of its run where runs are sorted
    by_mean = sorted(range(3), key=lambda run: -values.means[run, 0])
    judged = Judged("Judged@10", np.array([0.9, 0.84, 0.7]))
    found = compare_values(values, CompareOptions(sort="m0"), judged=judged)
    assert by_mean != [0, 1, 2]
    assert [run["Judged@10"] for run in found.to_dict()["runs"]] == judged.means[by_mean].tolist()
    # where it is compared itself
    for name in ("old", "new"):
        save_judged(name, "nDCG@3 Judged@3")
    found = gradeval.compare("q", ["old.json", "new.json"])
    assert [one.metric for one in found.comparisons] == ["nDCG@3"]
    assert found.judged is not None and NoticeKind.EXCLUDED_METRICS not in {one.kind for one in found.notices}
    results = gradeval.evaluate("q", ["old.run", "new.run"], "nDCG@3 Judged@3")
    assert [one.metric for one in results.compare().comparisons] == ["nDCG@3"]
    # it stands once in the means where it is compared
    found = gradeval.compare("q", ["old.run", "new.run"], "nDCG@3 Judged@3")
    assert [one.metric for one in found.comparisons] == ["nDCG@3", "Judged@3"]
    assert found.judged is None and NoticeKind.JUDGED_DIFFERS in {one.kind for one in found.notices}


@pytest.mark.usefixtures("judged_files")
@each("options", [{}, {"queries": "both"}, {"no_relevant": "1"}])
def test_missing_queries_are_not_unjudged_documents(options: dict[str, str]) -> None:
    assert shares("old.run", "part.run", **options) is None
    assert shares("new.run", "part.run", **options) == ("Judged@3", [0.6667, 1.0])


@pytest.mark.usefixtures("judged_files")
@each("kept, expected", [("Judged@3", 0.6667), ("Judged@2 Judged@4", 0.5), ("Judged", 0.5)])
def test_the_judged_share_of_saved_results(kept: str, expected: float) -> None:
    for name in ("old", "new", "part"):
        save_judged(name, f"nDCG@3 {kept}")
    for old in ("old.json", "old.run"):
        assert shares(old, "new.json") == (kept.split()[-1], [1.0, expected])
    assert shares("old.json", "part.json") is None
