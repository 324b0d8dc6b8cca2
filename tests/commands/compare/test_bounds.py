"""Bounds of differences: those of all judgments of small collections, by enumeration; and what is printed."""

import itertools
import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from cli.command import fails, gradeval
from helpers import each, examples, raises
from hypothesis import assume, given
from hypothesis import strategies as st

import gradeval as package
from gradeval import MetricError, OptionError, compare, evaluate

EXACT = "nDCG nDCG@2 nDCG(gain=exp)@3 R@2 P@2 DCG@3 CG gP@2 rbp(gain=binary) SDCG(max_rel=2)@2"
OUTER = "AP AP@2 AP(norm=min)@3 F@2 Rprec RR ERR@3 Success@2 Success(need=all)@3 relative_P@2"
CONTAINED = "muAP"
METRICS = f"{EXACT} {OUTER} {CONTAINED}"


class Case:
    """Two runs that retrieve up to four documents that are not judged, for two queries."""

    def __init__(self, seed: int) -> None:
        draw = self.draw = Random(seed)
        self.options = {
            "ties": draw.choice([None, "trec", "input"]),
            "depth": draw.choice([None, None, 2, 3]),
            "rel": draw.choice([None, None, 2]),
            "zero_grade": draw.choice([0.0, 0.0, 1.0]),
            "no_relevant": draw.choice([None, "1"]),
            "top_grade": draw.choice([None, 2.0, 3.0]),
        }
        self.qrels = {
            q: {d: draw.choice([0, 0, 1, 2, 3, -1]) for d in "ab"[: draw.randint(1, 2)]} for q in "xy"
        }
        self.runs = [{q: self._ranking() for q in "xy"} for _ in range(2)]
        self.passages = draw.random() < 0.3
        self.weights = {q: draw.choice([1.0, 0.5, 3.0]) for q in "xy"} if draw.random() < 0.5 else None

    def _ranking(self) -> dict[str, float]:
        documents = self.draw.sample(["a", "b", "missed", "u", "v", "w"], self.draw.randint(1, 5))
        return {document: self.draw.choice([1.0, 2.0, 3.0]) for document in documents}

    def given(self) -> list[dict]:
        """The runs as they are given: of passages, of which the second of each document does not count."""
        if not self.passages:
            return self.runs
        return [
            {
                query: {f"{d}#{n}": score - n for n in (0, 1) for d, score in scores.items()}
                for query, scores in run.items()
            }
            for run in self.runs
        ]

    @property
    def top(self) -> float:
        largest = max(grade for grades in self.qrels.values() for grade in grades.values())
        return largest if self.options["top_grade"] is None else self.options["top_grade"]

    def unjudged(self, query: str) -> list[str]:
        found = set()
        for run in self.runs:
            documents = list(run[query])
            if self.options["ties"] != "input":
                documents.sort(reverse=True)
            documents.sort(key=lambda document: -run[query][document])
            found |= set(documents[: self.options["depth"]]) - set(self.qrels[query])
        return sorted(found)

    def worlds(self) -> tuple[dict, list[dict]]:
        """Qrels in which each world is a query, and both runs for these."""
        qrels, runs = {}, [{}, {}]
        for query, judged in self.qrels.items():
            unjudged = self.unjudged(query)
            low = self.options["zero_grade"]
            grades = {low, max(self.top, low), *(g for g in judged.values() if low < g < self.top)}
            for number, world in enumerate(itertools.product(sorted(grades), repeat=len(unjudged))):
                name = f"{query}{number}"
                qrels[name] = judged | dict(zip(unjudged, world, strict=True))
                for run, of in zip(runs, self.runs, strict=True):
                    run[name] = of[query]
        return qrels, runs


@examples(times=0.6)
@given(st.integers(0, 10**9))
def test_bounds_are_the_ends_over_all_judgments(seed):
    case = Case(seed)
    assume(case.top > case.options.get("zero_grade", 0))  # else no judgment could change a value: an error
    qrels, runs = case.worlds()
    scale = {"top_grade": case.top}  # what a metric takes from the file is that of the file with the top in it
    results = evaluate(qrels, runs, METRICS, **{**case.options, **scale})
    more = {"max_passage": "#"} if case.passages else {}
    options = {**case.options, **more, "query_weights": case.weights, "bounds": True, "min_coverage": 0}
    found = compare(case.qrels, case.given(), METRICS, **options)
    of_query = {q: [w for w, name in enumerate(qrels) if name[0] == q] for q in case.qrels}
    weights = [1.0, 1.0] if case.weights is None else list(case.weights.values())
    for pair, spec in zip(found.comparisons, results.specs, strict=True):
        values = np.array([results.values(r, spec) for r in range(2)])
        low, high = [], []
        for worlds in of_query.values():
            first, second = values[:, worlds]
            exact = pair.metric in EXACT.split()
            low.append((second - first).min() if exact else second.min() - first.max())
            high.append((second - first).max() if exact else second.max() - first.min())
        low, high = (np.average(ends, weights=weights) for ends in (low, high))
        missing = pair.missing
        if pair.metric == CONTAINED:
            assert missing.lower_bound <= low + 1e-9 and missing.upper_bound >= high - 1e-9
        else:
            assert (missing.lower_bound, missing.upper_bound) == pytest.approx((low, high), abs=1e-9), (
                pair.metric
            )
        assert missing.bounds == ("exact" if exact else "outer")
        assert missing.unjudged <= sum(len(case.unjudged(query)) for query in case.qrels)


SEARCH = Path(package.__file__).parents[1] / "sample_data" / "search"
QRELS, BM25, HYBRID = (str(SEARCH / name) for name in ("qrels.txt", "bm25.run", "hybrid.run"))


def test_the_sample_pair() -> None:
    """Those of metrics.md. For AP all ids are read; for nDCG@10 those to the cutoff, and 20 below."""
    for metrics in ("nDCG@10 P@10 tau", "nDCG@10 AP"):
        found = compare(QRELS, [BM25, HYBRID], metrics, bounds=True)
        first = found.find("hybrid", "nDCG@10")
        row = found.rows()[0]
        assert [round(row[name], 6) for name in ("difference", "lower_bound", "upper_bound")] == [
            *(0.096212, -0.162814, 0.321991),
        ]
        missing = first.missing
        counts = missing.unjudged, missing.unjudged_first, missing.first_ranks, missing.settled
        assert (*counts, missing.unjudged_more, missing.bounds) == (849, 230, 10, 16, False, "exact")
    results = evaluate(QRELS, [BM25, HYBRID], "nDCG@10 P@10 tau", bounds=True)
    of_results = results.compare(bounds=True)
    assert of_results.rows()[0] == compare(QRELS, [BM25, HYBRID], "nDCG@10 P@10 tau", bounds=True).rows()[0]
    assert [pair.missing.bounds for pair in of_results.comparisons] == ["exact", "exact", None]
    assert of_results.comparisons[1].missing.unjudged == 230  # P@10 takes none below the first 10
    raises(OptionError, "Evaluate with bounds=True", evaluate(QRELS, [BM25, HYBRID]).compare, bounds=True)


def test_where_a_run_has_more_than_is_read() -> None:
    """Of those below the first rank no more than one counts; of those in it all are read."""
    qrels = {"q": {"a": 1}}
    runs = [{"q": {f"{name}{n}": -n for n in range(9)}} for name in "uv"]
    [pair] = compare(qrels, runs, "nDCG@1", bounds=True).comparisons
    assert (pair.missing.unjudged, pair.missing.unjudged_first, pair.missing.unjudged_more) == (6, 2, True)
    assert (pair.missing.lower_bound, pair.missing.upper_bound) == (-1, 1)
    text = compare(qrels, runs, "nDCG@1", bounds=True).render("table")
    assert "judgments of more than 6 documents (2 in a first 1)" in text.replace("\n", " ")


def test_a_world_of_the_pair() -> None:
    """metrics.md: u, which only the other run retrieves, is relevant for both, so that AP is .5 in both."""
    qrels, runs = {"1": {"a": 1}}, [{"1": {"a": 1.0}}, {"1": {"u": 1.0}}]
    [pair] = compare(qrels, runs, "AP", bounds=True).comparisons
    assert (pair.difference, pair.missing.lower_bound, pair.missing.upper_bound) == (-1, -1, 0)


def test_groups_pairs_and_order_have_their_own_bounds() -> None:
    groups = {str(query): "odd" if query % 2 else "even" for query in range(401, 451)}
    options = {"bounds": True, "by": groups}
    runs = {name: str(SEARCH / f"{name}.run") for name in ("bm25", "dense", "hybrid")}
    found = compare(QRELS, runs, "nDCG@10", all_pairs=True, sort="-nDCG@10", **options)
    for baseline, run in (("dense", "bm25"), ("hybrid", "bm25")):
        alone = compare(QRELS, {name: runs[name] for name in (baseline, run)}, "nDCG@10", **options)
        [pair] = alone.sections[1].comparisons
        [other] = (p for p in found.sections[1].comparisons if {p.run, p.baseline} == {run, baseline})
        assert other.missing in (pair.missing, pair.missing.reverse)
    chosen = [query for query in groups if groups[query] == "odd"]
    odd = compare(QRELS, [BM25, HYBRID], "nDCG@10", bounds=True, query_ids=chosen)
    [whole] = (p for p in found.sections[1].comparisons if {p.run, p.baseline} == {"bm25", "hybrid"})
    limits = odd.comparisons[0].missing.lower_bound, -odd.comparisons[0].missing.upper_bound
    assert whole.missing.lower_bound == pytest.approx(limits[whole.baseline == "hybrid"])


def test_what_the_command_prints(folder: Path) -> None:
    options = ("compare", QRELS, BM25, HYBRID, "-m", "nDCG@10 AP tau", "--bounds", "--quiet")
    table = gradeval(*options, "-f", "table").out
    assert "-0.1628 to +0.3220 " in table and "-0.4191 to +0.4187 *" in table
    text = " ".join(table.split())
    assert (
        "nDCG@10 of hybrid − bm25 is +0.0962: judgments of 849 documents (230 in a first 10) could make it "
        "-0.1628 to +0.3220; in 16 of 50 queries none can change the sign. AP of hybrid − bm25 is -0.0012: "
        "judgments of 849 documents leave it within -0.4191 to +0.4187."
    ) in text
    assert "*: outer bounds, which no judgments need reach." in text
    rows = [line.split("\t") for line in gradeval(*options, "-f", "tsv").out.splitlines()]
    columns = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    assert [(row["lower_bound"], row["upper_bound"]) for row in columns] == [
        ("-0.1628", "0.3220"),
        ("-0.4191", "0.4187"),
        ("", ""),
    ]
    content = json.loads(gradeval(*options, "-f", "json").out)
    assert [pair["bounds"] for pair in content["comparisons"]] == ["exact", "outer", None]
    assert content["comparisons"][2]["lower_bound"] is None
    runs = (f"a={BM25}", f"b={HYBRID}", f"c={BM25}", f"d={HYBRID}")
    many = gradeval("compare", QRELS, *runs, "--all-pairs", "--bounds", "--quiet", "-f", "table").out
    assert "leave the sign of 10 of 12 differences open." in " ".join(many.split())
    assert "could make it" not in many


def test_a_saved_result_has_no_ids(folder: Path) -> None:
    saved = gradeval(QRELS, BM25, "-m", "nDCG@10", "-q", "-f", "json", "--quiet")
    Path("old.json").write_text(saved.out)
    done = gradeval("compare", QRELS, BM25, "old.json", HYBRID, "--bounds", "-f", "tsv")
    assert (
        "note: no bounds of differences with old.json: saved results have no ids of unjudged documents"
        in done.err
    )
    bounds = [line.split("\t")[11] for line in done.out.splitlines()]
    assert bounds == ["lower_bound", "", "-0.1628"]
    said = fails("compare", QRELS, "old.json", HYBRID, "--bounds")
    assert "old.json: results have no ids of unjudged documents" in said and "Give the runs themselves" in said


@each("kind, says, metrics, options", [
    (OptionError, "bounds require ties=trec or input, not best", "AP", {"ties": "best"}),
    (OptionError, "bounds and judged_only are mutually exclusive", "AP", {"judged_only": True}),
    (OptionError, "no_relevant=0 or 1", "AP", {"no_relevant": "skip"}),
    (MetricError, "no bounds over missing judgments: tau", "tau", {}),
    (OptionError, "bounds and replicates are mutually exclusive", "AP", {"replicates": {"bm25": "s"}}),
])  # fmt: skip
def test_what_leaves_no_bounds(kind: type, says: str, metrics: str, options: dict) -> None:
    raises(kind, says, compare, QRELS, [BM25, HYBRID], metrics, bounds=True, **options)


def test_tables_of_values_have_no_bounds(folder: Path) -> None:
    Path("a.csv").write_text("query,AP\n1,0.5\n")
    raises(
        OptionError,
        "tables of values have no unjudged documents",
        package.compare_tables,
        ["a.csv"],
        bounds=True,
    )


def test_counts_are_null_without_bounds() -> None:
    runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}]
    found = package.compare({"q": {"a": 1}}, runs, "P@1 bpref", bounds=True)
    assert [one.missing and one.missing.settled for one in found.comparisons] == [0, None]
