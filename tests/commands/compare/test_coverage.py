"""Runs with too few of the judged queries are not tested, and the others as if they were alone."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from cli.command import gradeval as command
from cli.command import query_ids, write_graded
from helpers import each, raises

import gradeval
from gradeval.commands.compare.compare import Comparison
from gradeval.errors import OptionError
from gradeval.statistics.tests import ALL_EQUAL, FEW_EFFECTIVE

SHORT = "few has 2 of 30 judged queries (6.667 %), fewer than --min-coverage 50 %"
RUNS = ["good.run", "fair.run", "few.run"]


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    """30 queries; of few the run has 2, of half 15."""
    write_graded(query_ids(30), {"good": 3, "fair": 5})
    lines = Path("good.run").read_text().splitlines(keepends=True)
    for name, queries in {"few": query_ids(2), "half": query_ids(15)}.items():
        Path(f"{name}.run").write_text("".join(line for line in lines if line.split()[0] in queries))


def compared(*runs: str, metrics: str = "AP nDCG@5", **options: Any) -> Comparison:
    return gradeval.compare("qrels", list(runs), metrics, **{"samples": 200, **options})


@each("options", [
    *({"test": test} for test in ("t", "randomization", "bootstrap", "wilcoxon", "sign")),
    {"correction": "maxt"},
    {"correction": "bh", "all_pairs": True},
    {"test": "tukey", "all_pairs": True},
    {"queries": "both"},
    {"test": "tukey", "all_pairs": True, "queries": "both"},
    {"power": True, "anova": True, "by": dict.fromkeys(query_ids(30), "all of them")},
])  # fmt: skip
def test_the_others_are_tested_as_if_they_were_alone(options: dict[str, Any]) -> None:
    found, alone = compared(*RUNS, **options), compared(*RUNS[:2], **options)
    for section, expected in zip(found.sections, alone.sections, strict=True):
        tested = [pair for pair in section.comparisons if "few" not in (pair.run, pair.baseline)]
        assert repr(tested) == repr(list(expected.comparisons))  # NaN too
        for pair in section.comparisons:
            if pair in tested:
                continue
            of_group = SHORT.replace("queries (", f"queries of {section.group} (") if section.group else SHORT
            assert (pair.reason, pair.verdict, pair.method) == (of_group, "", "")
            assert math.isnan(pair.effect_size)
            numbers = [pair.p, pair.p_corrected, pair.low, pair.high]
            numbers += [] if pair.power is None else vars(pair.power).values()
            assert all(map(math.isnan, numbers))
            assert not math.isnan(pair.difference + pair.sd)
        for anova, other in zip(section.anova, expected.anova, strict=True):
            assert (anova.system, anova.residual) == (other.system, other.residual)
            assert anova.effect_sizes[1, 0] == other.effect_sizes[1, 0]
            assert math.isnan(anova.effect_sizes[2, 0]) and math.isnan(anova.means[2])
    assert found.settings()["family"] == alone.settings()["family"]
    assert f"Not tested{', nor in the analysis of variance' * found.options.anova}: {SHORT}" in " ".join(
        found.render("table").split()
    )
    assert "(a run has fewer queries than --min-coverage 50 %)" in " ".join(found.warnings)


def test_a_baseline_without_enough_queries_tests_nothing() -> None:
    found = compared("few.run", "good.run", "fair.run", anova=True)
    assert {pair.reason for pair in found.comparisons} == {SHORT}
    assert found.settings()["family"] == 0
    # the analysis of variance has the runs that remain, if there are two
    expected = compared("good.run", "fair.run", anova=True).sections[0].anova[0]
    assert found.sections[0].anova[0].system == expected.system
    alone = compared("few.run", "good.run", anova=True).sections[0].anova[0]
    assert alone.reason == SHORT and math.isnan(alone.system.f)
    tukey = compared("few.run", "good.run", test="tukey", all_pairs=True)
    assert tukey.comparisons[0].reason == SHORT


def test_the_minimum_itself_is_enough_and_0_tests_all() -> None:
    half = compared("good.run", "half.run")
    assert half.find("half", "AP").verdict == "worse"
    assert compared("good.run", "half.run", min_coverage=50.01).find("half", "AP").verdict == ""
    everything = compared(*RUNS, min_coverage=0)
    assert everything.find("few", "AP").verdict == "worse" and "Not tested" not in everything.render()
    assert compared(*RUNS, sort="AP", baseline="fair").find("few", "AP").reason == SHORT
    for wrong in (-1, 101, True):
        raises(
            OptionError, "min_coverage must be a percentage from 0 to 100", compared, *RUNS, min_coverage=wrong
        )


def test_formats() -> None:
    args = ("compare", "qrels", *RUNS, "-m", "AP", "--quiet")
    lines = command(*args, "-f", "table").out.splitlines()
    assert lines[5].split() == ["few", "0.0667"]  # without a mark
    assert lines[11].split()[3:6] == ["-"] * 3
    head, _, row = (line.split("\t") for line in command(*args, "-f", "tsv").out.splitlines())
    cells = dict(zip(head, row, strict=True))
    assert (cells["p"], cells["p_corrected"], cells["verdict"], cells["reason"]) == ("nan", "nan", "", SHORT)
    content = json.loads(command(*args, "-f", "json").out)
    assert content["settings"]["min_coverage"] == 50 and content["settings"]["family"] == 1
    pair = content["comparisons"][1]
    assert [pair[name] for name in ("p", "p_corrected", "low", "reason")] == [None, None, None, SHORT]
    marked = command(*args, "-f", "md", "--min-coverage", "0").out
    assert "0.0667▼" in marked and "▼" not in command(*args, "-f", "md").out.split("\n\n")[1]


@each("queries", ["judged", "both"])
def test_saved_results_know_what_their_runs_lack(queries: str) -> None:
    save = ("-m", "AP nDCG@5", "--queries", queries, "-q", "-f", "json", "--quiet")
    assert command("qrels", "few.run", *save, "-o", "few.json").code == 0
    found = compared("good.run", "few.json", queries=queries)
    assert {pair.reason for pair in found.comparisons} == {SHORT}


def test_groups_have_their_own_coverage() -> None:
    groups = {query: "first" if query in query_ids(15) else "last" for query in query_ids(30)}
    Path("half.csv").write_text(
        "query,AP\n" + "".join(f"{query},0.{n}\n" for n, query in enumerate(query_ids(15)))
    )
    Path("all.csv").write_text("query,AP\n" + "".join(f"{query},0.5\n" for query in query_ids(30)))
    for unit, found in {
        "judged queries": compared("fair.run", "half.run", metrics="AP", by=groups),
        "queries": gradeval.compare_tables(["all.csv", "half.csv"], by=groups),
    }.items():
        whole, first, last = (found.find(1, "AP", group=group) for group in (None, "first", "last"))
        assert whole.is_tested and first.is_tested  # half has all of the first group
        lacking = f"half has 0 of 15 {unit} of last (0 %), fewer than --min-coverage 50 %"
        assert (last.reason, last.verdict) == (lacking, "")
        assert math.isnan(last.p) and math.isnan(last.effect_size)
        assert f"Not tested: {lacking}." in " ".join(found.render("table").split())
        assert "for 1 comparison (a run has fewer queries than" in " ".join(found.warnings)
    assert (
        compared("fair.run", "half.run", metrics="AP", by=groups, min_coverage=0)
        .find(1, "AP", group="last")
        .is_tested
    )


def test_groups_of_saved_results() -> None:
    groups = {query: "first" if query in query_ids(15) else "last" for query in query_ids(30)}
    for run, of_last in {
        "half": " of last",
        "few": "",
    }.items():  # the notice of few does not name all of its 28
        save = ("-m", "AP nDCG@5", "-q", "-f", "json", "--quiet", "-o", f"{run}.json")
        assert command("qrels", f"{run}.run", *save).code == 0
        last = compared("good.run", f"{run}.json", by=groups).find(1, "AP", group="last")
        assert f" judged queries{of_last} (" in last.reason


@each("queries", ["judged", "both"])
def test_queries_of_weight_0_do_not_count(queries: str) -> None:
    weights = {query: float(query in query_ids(2)) for query in query_ids(30)}
    pair = compared("good.run", "few.run", query_weights=weights, queries=queries).find("few", "AP")
    assert pair.is_tested or pair.reason == ALL_EQUAL
    others = {query: 1 - weight for query, weight in weights.items()}
    pair = compared("good.run", "few.run", query_weights=others, queries="judged").find("few", "AP")
    lacking = "few has 0 of 28 judged queries with a weight above 0 (0 %), fewer than --min-coverage 50 %"
    assert (pair.reason, pair.verdict) == (lacking, "")


def test_few_effective_queries() -> None:
    weights = {query: 1e6 if query == query_ids(1)[0] else 1 for query in query_ids(30)}
    for test in ("t", "randomization", "bootstrap"):
        found = compared("good.run", "fair.run", query_weights=weights, test=test)
        pair = found.find("fair", "AP")
        assert (pair.reason, pair.verdict) == (FEW_EFFECTIVE, "") and math.isnan(pair.effect_size)
        assert "only 1 query (the effective number, by the weights)" in " ".join(found.warnings)
        assert "▲" not in found.render("table")
    equal = compared("good.run", "fair.run", query_weights=dict.fromkeys(query_ids(30), 3))
    assert not any(notice.kind == "few_queries" for notice in equal.notices)


@each("format, mark", {"md": "**", "latex": "\\textbf"}.items())
def test_a_run_that_is_not_tested_is_not_best(format: str, mark: str) -> None:
    def row(min_coverage: float) -> str:
        found = compared("fair.run", "few.run", metrics="AP", queries="both", min_coverage=min_coverage)
        [row, *_] = (line for line in found.render(format).splitlines() if line.lstrip("| ").startswith("few"))
        return row

    assert mark in row(0) and mark not in row(50)


def test_tables_of_values() -> None:
    Path("a.csv").write_text("query,AP\n" + "".join(f"{q},0.{q % 7}\n" for q in range(20)))
    Path("b.csv").write_text("query,AP\n1,0.5\n2,0.4\n3,0.9\n")
    for queries in ("judged", "both"):
        [pair] = gradeval.compare_tables(["a.csv", "b.csv"], queries=queries).comparisons
        assert pair.reason == "b has 3 of 20 queries (15 %), fewer than --min-coverage 50 %"
    [pair] = gradeval.compare_tables(["a.csv", "b.csv"], min_coverage=15).comparisons
    assert pair.p < 1
    [pair] = gradeval.compare_tables(["a.csv", "b.csv"], query_ids="1,2,3").comparisons
    assert pair.p < 1


def test_pages_of_reports() -> None:
    pytest.importorskip("jinja2")
    page = gradeval.report("qrels", RUNS, "AP", explain=0).render()
    assert f"Not tested: {SHORT}." in page and "▼" not in page.split("<tbody>")[1]
    assert "▼" in gradeval.report("qrels", RUNS, "AP", explain=0, min_coverage=0).render().split("<tbody>")[1]


def test_batches() -> None:
    content = {
        "qrels": "qrels",
        "runs": "{system}.run",
        "systems": ["good", "fair", "few"],
        "collections": ["c"],
    }

    def batched(**options: Any) -> gradeval.Batch:
        return gradeval.batch({**content, "metrics": "AP"}, **{"baseline": "good", **options})

    found = batched()
    assert found.comparisons["c", "few", "AP"].reason == SHORT
    warning = "no p-value for 1 comparison (a run has fewer queries than --min-coverage 50 %)"
    assert [str(notice) for notice in found.notices if notice.kind == "no_p"] == [warning]
    fair = found.comparisons["c", "fair", "AP"]
    assert fair.p_corrected == fair.p  # it is the whole family
    assert f"Not tested: c: {SHORT}." in " ".join(found.render("table").split())
    assert "Holm correction for 1 comparison;" in " ".join(found.render("table").split())
    rows = [line.split("\t") for line in found.render("tsv").splitlines()]
    assert rows[0][-1] == "reason" and [row[-1] for row in rows[1:]] == ["", "", SHORT]
    everything = batched(min_coverage=0)
    assert everything.comparisons["c", "few", "AP"].verdict == "worse"
    untested = batched(baseline="few")
    assert {pair.reason for pair in untested.comparisons.values()} == {SHORT}
    assert "▲" not in untested.render("table") and "Not tested" in untested.render("table")
    Path("m.json").write_text("")
    refused = command("batch", "m.json", "--min-coverage", "20")
    assert refused.code == 2 and "--min-coverage requires --baseline." in refused.err
    # a cell that was tested with another minimum is made again
    Path("out.json").write_text(everything.render("json"))
    assert batched(resume="out.json").render("json") == found.render("json")
