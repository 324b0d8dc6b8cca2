"""Comparisons as text: every format against its whole output, and the parts that vary."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from helpers import each, golden

import gradeval
from gradeval.commands.compare.command import FORMATS
from gradeval.commands.compare.compare import ComparedMetric, Comparison, Judged, QueryValues, compare_values
from gradeval.commands.compare.layout import interval, letters
from gradeval.compare_options import CompareOptions
from gradeval.notices import Kind, Notice

GOLDEN = Path(__file__).parent / "golden"
NAN = math.nan
QUERIES = ("q1", "q2", "a|b_%\udcff", "=4", "q5")


def values() -> QueryValues:
    """Odd names and ids, an undefined value, and a metric where lower values are better."""
    ndcg = [[0.5, 0.25, 0.125, 0.5, 0.75], [0.625, 0.5, 0.25, 0.75, 0.875], [0.25, 0.5, 0.125, 0.625, NAN]]
    seconds = [[3, 2, 4, 1, 2], [1, 1, 2, 0, 1], [3, 2, 4, 1, 2]]
    return QueryValues(
        QUERIES,
        ("bm25_k1", 'neural,"2"', "=\x1b"),
        ("bm25_k1.run", "-", "=\x1b.txt"),
        (ComparedMetric("nDCGphi@10", "nDCGφ@10"), ComparedMetric("seconds", "seconds", False)),
        np.array([ndcg, seconds]).transpose(1, 0, 2).astype(float),
    )


def compared(**options: Any) -> Comparison:
    judged = Judged("Judged@10", np.array([1.0, 0.75, NAN]))
    notices = [Notice(Kind.MISSING, "bm25_k1", 1, rule="judged")]
    return compare_values(values(), CompareOptions(**options), notices, judged=judged, inputs={"qrels": None})


@each("format", FORMATS)
def test_whole_output(format: str) -> None:
    comparison = compared(worst=1, best=1, power=True)
    text = comparison.render(format, per_query=True, relative=True)
    text = text.replace(f'"{gradeval.__version__}"', '"VERSION"')
    assert text.encode(errors="surrogateescape") == golden(GOLDEN / f"{format}.txt")


def test_groups_and_analysis_of_variance() -> None:
    comparison = compared(anova=True, by={"q1": "long\x1b", "q2": "long\x1b", "=4": "long\x1b"})
    lines = comparison.render().splitlines()
    titles = [line for line, rule in zip(lines, lines[2:], strict=False) if rule.startswith("──")]
    whole = ["Means", "Differences from bm25_k1", "Analysis of variance"]
    whole.append("Effect sizes by the residual standard deviation")
    assert titles == [*whole, *(f"long\\x1b: {title}, 3 queries" for title in whole)]
    anova = comparison.sections[1].anova[1]
    row = next(line for line in lines[lines.index(titles[6]) :] if line.startswith("seconds   residual"))
    assert row.split()[2:] == [
        f"{anova.residual.squares:.4f}",
        "4",
        f"{anova.residual.mean_square:.4f}",
        "-",
        "-",
    ]
    tables = [table.splitlines() for table in comparison.render("tsv").split("\n\n")]
    assert tables[1][0].split("\t") == ["group", "metric", "source", "squares", "df", "mean_square", "f", "p"]
    assert [line.split("\t")[0] for line in tables[0][1:]] == ["all"] * 4 + ["long\x1b"] * 4
    content = json.loads(comparison.render("json"))
    assert content["groups"][0]["anova"]["seconds"]["residual"]["squares"] == anova.residual.squares
    assert content["groups"][0]["group"] == "long\x1b"
    # all pairs have letters
    table = compared(all_pairs=True, correction="none").render()
    assert table.splitlines()[:5] == [
        "Means",
        "run             nDCGφ@10   seconds    Judged@10",
        "───────────────────────────────────────────────",
        "bm25_k1 (a)       0.4250    2.4000       1.0000",
        'neural,"2" (b)    0.6000a   1.0000ac     0.7500',
    ]
    latex = compared(all_pairs=True, correction="none").render("latex")
    assert r'neural,"2" (b) & \textbf{0.6000}$^{a}$ & \textbf{1.0000}$^{ac}$ & 0.7500 \\' in latex
    assert letters(28)[25:] == ["z", "aa", "ab"] and len(set(letters(800))) == 800
    assert repr(compared()) == "Comparison(runs=3, metrics=2, queries=5, test='t', notices=5)"
    markdown = compared(all_pairs=True, correction="none").render("md")
    assert "**1.0000**<sup>ac</sup>" in markdown


@each(("won", "lost", "verdict"), [(28, 12, "better"), (12, 28, "worse")])
def test_an_end_of_0_that_is_excluded(won: int, lost: int, verdict: str) -> None:
    changes = np.repeat([1.0, 0.0, -1.0], [won, 20, lost])
    numbers = np.array([[np.zeros(60)], [changes]])
    queries = tuple(map(str, range(60)))
    of_runs = QueryValues(queries, ("a", "b"), ("a", "b"), (ComparedMetric("RR", "RR"),), numbers)
    comparison = compare_values(of_runs, CompareOptions(test="wilcoxon"))
    assert comparison.comparisons[0].verdict == verdict
    text = "(0.0000, 1.0000]" if won > lost else "[-1.0000, 0.0000)"
    assert text in comparison.render()
    head, row = (line.split("\t") for line in comparison.render("tsv").splitlines())
    low, high = (float(row[head.index(end)]) for end in ("low", "high"))
    assert (low > 0 or high < 0) and row[head.index("verdict")] == verdict


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
    text = " ".join(compared(**options).render().split())
    for part in parts:
        assert part in text


@each("low, high, text", [
    (0.12344, 0.5, "[0.1234, 0.5000]"),
    (math.ulp(0.0), 0.5, "(0.0000, 0.5000]"),
    (-0.5, -math.ulp(0.0), "[-0.5000, 0.0000)"),
    (-math.inf, math.inf, "(-inf, inf)"),
    (NAN, NAN, "-"),
])  # fmt: skip
def test_ends_of_intervals(low: float, high: float, text: str) -> None:
    from dataclasses import replace

    assert interval(replace(compared().comparisons[0], low=low, high=high), 4) == text
