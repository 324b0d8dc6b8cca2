"""gradeval compare: its options, what it takes as runs, what it refuses."""

from pathlib import Path

import pytest
from cli.command import fails, gradeval
from cli.graded import query_ids
from helpers import each
from scipy import stats

from .calls import compare, per_query, rows

pytestmark = pytest.mark.usefixtures("compare_files")

QUERIES = query_ids(30)


def test_rows_have_the_values_and_say_how_they_were_made() -> None:
    about = ("run", "baseline", "metric", "n", "group", "test", "correction", "alpha", "seed")
    found = rows("qrels", "poor.run", "good.run", "-m", "nDCG@5 AP", "--digits", "full")
    assert [[row[name] for name in about] for row in found] == [
        ["good", "poor", metric, "30", "all", "t", "holm", "0.05", ""] for metric in ("nDCG@5", "AP")
    ]
    for row in found:
        old, new = (list(per_query(run, row["metric"]).values()) for run in ("poor.run", "good.run"))
        assert float(row["p"]) == pytest.approx(stats.ttest_rel(new, old).pvalue)
        assert "Judged@10" not in row
    args = ("qrels", "poor.run", "good.run", "-m", "AP", "--test", "randomization", "--confidence", 99)
    assert [rows(*args)[0][name] for name in about[5:]] == ["randomization", "holm", "0.01", "1"]
    Path("new.run").write_text(Path("good.run").read_text().replace(" d1 ", " new1 "))
    [row] = rows("qrels", "poor.run", "new.run", "-m", "AP")
    assert (row["baseline_Judged@10"], row["Judged@10"]) == ("1.0000", "0.8889")


@each("baseline", ["fair.run", "fair"])
def test_baseline_is_a_file_or_a_name(baseline: str) -> None:
    Path("fair").write_text("a file with the name of a run\n")
    found = rows("qrels", "good.run", "fair.run", "poor.run", "-m", "AP", "--baseline", baseline)
    assert [(row["baseline"], row["run"]) for row in found] == [("fair", "good"), ("fair", "poor")]


def test_the_baseline_is_a_file_or_a_name() -> None:
    found = rows("qrels", "good.run", "--baseline", "fair.run", "-m", "AP")
    assert [(row["baseline"], row["run"]) for row in found] == [("fair", "good")]
    said = fails("compare", "qrels", "good.run", "poor.run", "-m", "AP", "--baseline", "none")
    assert said.endswith("gradeval: no run is named 'none': there are good, poor")
    # labels name runs
    found = rows("qrels", "A=poor.run", "B=good.run", "fair.run", "-m", "AP")
    assert [(row["run"], row["baseline"]) for row in found] == [("B", "A"), ("fair", "A")]
    for baseline in ("B", "good.run"):
        found = rows("qrels", "A=poor.run", "B=good.run", "-m", "AP", "--baseline", baseline)
        assert [(row["run"], row["baseline"]) for row in found] == [("A", "B")]
    found = rows("qrels", "A=poor.run", "fair.run", "-m", "AP", "--baseline", "good.run")
    assert [(row["run"], row["baseline"]) for row in found] == [("A", "good"), ("fair", "good")]
    assert "two runs have the label 'A'" in fails("compare", "qrels", "A=poor.run", "A=good.run")
    assert "'-' can be given once only" in fails("compare", "qrels", "A=-", "B=-")


def test_the_answer_does_not_depend_on_threads_or_the_order_of_files() -> None:
    args = ("compare", "qrels", "good.run", "poor.run", "-m", "AP RR", "--test", "randomization")
    args = (*args, "--samples", 999, "--correction", "maxt")
    expected = gradeval(*args, "-j", 1)
    assert gradeval(*args, "-j", 3) == expected
    lines = Path("qrels").read_text().splitlines(keepends=True)
    Path("qrels").write_text("".join(reversed(lines)))
    assert gradeval(*args).out == expected.out
    assert gradeval(*args, "--seed", 2).out != expected.out


def test_groups() -> None:
    Path("groups").write_text(
        "query\tgroup\n" + "".join(f"{x}\t{'ab'[q % 2]}\n" for q, x in enumerate(QUERIES))
    )
    done = compare("qrels", "good.run", "poor.run", "-m", "AP", "--by", "groups")
    assert [line.split("\t")[0] for line in done.out.splitlines()[1:]] == ["all", "a", "b"]
    assert done.lines == ["warning: 2 groups have fewer than 25 queries: a, b [small_groups]"]


def test_what_else_is_printed() -> None:
    args = ("qrels", "good.run", "poor.run", "-m", "AP", "--worst", 2, "--best", 1)
    args = (*args, "--power", "--anova", "--relative")
    tables = compare(*args, "-q").out.split("\n\n")
    assert [table.split("\t")[0] for table in tables] == ["group", "group", "group", "group", "query"]
    assert {"relative_percent", "smallest", "needed"} < set(tables[0].splitlines()[0].split("\t"))
    assert tables[2].splitlines()[0].split("\t")[-2:] == ["metric", "residual_effect_size"]
    assert [line.split("\t")[:3] for line in tables[3].splitlines()[1:]] == [
        ["all", "worst", "1"], ["all", "worst", "2"], ["all", "best", "1"]
    ]  # fmt: skip
    assert len(tables[4].splitlines()) == 31
    alone = compare(*args, "-q", "-n").out
    assert alone == tables[4]
    assert alone.splitlines()[0] == "query\tmetric\tgood\tpoor\tpoor - good"


# saved results and LETOR


def test_saved_results() -> None:
    gradeval("qrels", "good.run", "-m", "AP nDCG@5 num_q", "-q", "-f", "json", "-o", "good.json")
    expected = compare("qrels", "good.run", "poor.run", "-m", "AP nDCG@5")
    found = compare("qrels", "good.json", "poor.run")
    assert found.out == expected.out
    assert found.lines == [
        *expected.lines,
        "note: Judged@5 of good is unknown, so whether the runs differ in it was not checked; save results "
        "with Judged@5 among the metrics [judged_unknown]",
    ]
    assert compare("qrels", "-", "poor.run", stdin="good.json") == found
    gradeval("qrels", "good.run", "-m", "AP", "-f", "json", "-o", "summary.json")
    said = "summary.json: run 'good' has no values per query, since it was made without -q. Save results with "
    assert fails("compare", "qrels", "summary.json", "poor.run").startswith(said)


def test_missing_queries_are_counted() -> None:
    Path("half.run").write_text("".join(Path("good.run").read_text().splitlines(keepends=True)[:135]))
    args = ("compare", "qrels", "good.run", "half.run", "-m", "AP")
    done = gradeval(*args)
    assert done.lines[0] == "warning: half: 15 judged queries are not in the run, counted as 0 [missing]"
    assert done.out.splitlines()[1].split("\t")[4] == "30"
    done = gradeval(*args, "--queries", "both")
    assert done.lines == [
        "warning: half: 15 judged queries are not in the run, excluded [missing]",
        "warning: only 15 queries; with fewer than 25, only large differences are found and "
        "intervals are rough [few_queries]",
        "warning: no p-value for 1 comparison (all differences are equal) [no_p]",
    ]
    assert done.out.splitlines()[1].split("\t")[4] == "15"
    assert "warnings are treated as errors (--strict)" in fails(*args, "--strict", "--quiet")


RUNS = ("compare", "qrels", "good.run", "poor.run")


@each("args, message", [
    (("compare",), "Missing argument 'QRELS RUN RUN...': the qrels, then two runs or more."),
    (("compare", "qrels"), "Missing argument 'QRELS RUN RUN...': tables without qrels go with --values."),
    (("compare", "--values"), "Missing argument: the tables of values to compare."),
    (("compare", "--values", "a.csv", "b.csv", "-l", "2"), "--rel and --values are mutually exclusive"),
    (("compare", "--values", "a.csv", "b.csv", "-J"), "--judged-only and --values are mutually exclusive"),
    (("compare", "qrels", "r", "r", "--lower-is-better", "AP"), "--lower-is-better requires --values"),
    (("compare", "--values", "a.csv", "b.csv", "-m", "x"), "x is in no table: there are AP, y, z"),
    (("compare", "--values", "a.csv", "b.csv", "-m", "y"), "b.csv: it has no values of y, only of AP, z"),
    (("compare", "--values", "a.csv", "d.csv"), "no metric is in every table (a.csv: AP, y; d.csv: w)"),
    (("compare", "--values", "a.csv", "e.csv", "--queries", "both"),
     "e.csv: it has no query in common with the other tables"),
    (("compare", "--values", "a.csv", "b.csv", "--lower-is-better", "x"), "x is in no table"),
    (("compare", "--values", "a.csv", "b.csv", "--query-ids", "9"), "query '9' is not in the tables"),
    (("compare", "--values", "a.csv", "none"), "none: no such file. Check the path"),
    ((*RUNS, "-m", "num_q"), "num_q has no value for each query"),
    (("compare", "qrels", "-", "-"), "'-' can be given once only"),
    ((*RUNS, "-n"), "-n requires -q: nothing would be printed."),
    ((*RUNS, "-n", "-q", "-f", "json"), "-n and -f json are mutually exclusive"),
    ((*RUNS, "--confidence", "x"), "'x' is not a percentage from 50 to"),
    ((*RUNS, "--confidence", "100"), "'100' is not a percentage"),
    ((*RUNS, "--samples", "5"), "'5' is not an integer from 100"),
    ((*RUNS, "--test", "tukey"), "Add --all-pairs"),
])  # fmt: skip
def test_refused(args: tuple[str, ...], message: str) -> None:
    Path("a.csv").write_text("id,AP,y\n1,1,1\n2,2,1\n")
    Path("b.csv").write_text("id,AP,z\n1,1,1\n2,2,1\n")
    Path("d.csv").write_text("id,w\n1,1\n2,2\n")
    Path("e.csv").write_text("id,AP\n8,1\n9,2\n")
    assert message in fails(*args)


@each("test", ["t", "randomization"])
def test_sorted_runs(test: str) -> None:
    """The numbers are the same, and the baseline stays; for tables of values too."""
    args = ("qrels", "fair.run", "poor.run", "good.run", "-m", "AP nDCG@5", "--test", test)
    given = rows(*args)
    for sort, order in {"AP": ["good", "poor"], "-ndcg_cut_5": ["poor", "good"]}.items():
        found = rows(*args, f"--sort={sort}")
        assert [row["run"] for row in found[::2]] == order
        assert {row["baseline"] for row in found} == {"fair"}
        assert sorted(map(str, found)) == sorted(map(str, given))
    done = compare(*args, "--sort", "AP", "-f", "md", "--quiet").out
    assert [line.split()[1] for line in done.splitlines()[4:7]] == ["good", "fair", "poor"]
    pairs = [(row["run"], row["baseline"]) for row in rows(*args, "--sort", "AP", "--all-pairs")[::2]]
    assert pairs == [("fair", "good"), ("poor", "good"), ("poor", "fair")]
    Path("a.csv").write_text("query,cost\nq1,3\nq2,4\n")
    Path("b.csv").write_text("query,cost\nq1,2\nq2,1\n")
    Path("c.csv").write_text("query,cost\nq1,1\nq2,1\n")
    tables = ("--values", "a.csv", "b.csv", "c.csv", "--sort", "cost")
    assert [row["run"] for row in rows(*tables)] == ["b", "c"]
    assert [row["run"] for row in rows(*tables, "--lower-is-better", "cost")] == ["c", "b"]
    assert "RR was not compared: there are AP, nDCG@5" in fails("compare", *args, "--sort", "RR")
