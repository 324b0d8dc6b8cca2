"""Comparisons from Python: gradeval.compare, Results.compare, their options and JSON."""

import numpy as np
import pytest
from helpers import each
from scipy import stats

import gradeval
from gradeval.compare_options import CompareOptions, split_options
from gradeval.errors import OptionError

from .comparisons import NAN


def judged(queries: int = 30) -> tuple[dict, dict]:
    rng = np.random.default_rng(3)
    qrels, runs = {}, {"A": {}, "B": {}}
    for q in range(queries):
        qrels[f"q{q}"] = {f"d{d}": int(rng.integers(0, 3)) for d in range(8)} | {"top": 1}
        for run in runs.values():
            run[f"q{q}"] = {f"d{d}": float(rng.random()) for d in range(8)}
    return qrels, runs


def test_compare_and_results_compare_are_the_same() -> None:
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


@each("options, message", [
    ({"test": "u"}, "test must be one of t, randomization"),
    ({"correction": 5}, "correction must be one of holm"),
    ({"confidence": 5}, "confidence must be a percentage from 50 to 99.9999, not 5.0"),
    ({"confidence": "95"}, "confidence must be a percentage"),
    ({"confidence": NAN}, "confidence must be a percentage"),
    ({"samples": 0}, "samples must be an integer from 100"),
    ({"seed": -1}, "seed must be an integer from 0"),
    ({"seed": True}, "seed must be an integer from 0"),
    ({"worst": 1.5}, "worst must be an integer"),
    ({"power": 1}, "power must be true or false"),
    ({"baseline": True}, "baseline must be the name or position"),
    ({"baseline": "A", "all_pairs": True}, "baseline and all_pairs are mutually exclusive"),
    ({"test": "tukey"}, "Add --all-pairs"),
    ({"test": "tukey", "all_pairs": True, "correction": "holm"}, "already corrected"),
    ({"test": "bootstrap", "correction": "bh"}, "no p-values"),
    ({"test": "wilcoxon", "correction": "maxt"}, "requires --test t or randomization"),
    ({"by": 5}, "by must be"),
    ({"by": {"q1": "all"}}, "a group of queries is named 'all', which stands for all queries. Rename it"),
    ({"by": [1]}, "by must be"),
    (
        {"bye": 5},
        r"unknown option bye: did you mean by\? The options are baseline, all_pairs, test, correction",
    ),
])  # fmt: skip
def test_wrong_options(options: dict, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        CompareOptions.of(**options)


def test_an_unknown_option_is_said_with_those_of_the_comparison_and_of_the_evaluation() -> None:
    for name in ("tie_range", "by_level"):  # compare() does not show what they find
        with pytest.raises(OptionError, match=f"unknown option {name}: the options are baseline, "):
            gradeval.compare(*judged(), "AP", **{name: True})
    with pytest.raises(OptionError, match=r"^tests are of unweighted means\. Evaluate without query_weights"):
        gradeval.compare(*judged(), "AP", query_weights={"1": 1})
    given = {"tests": "t", "rel": 2}
    message = r"unknown option tests: did you mean test\? The options are baseline, .*, jobs, rel, depth, "
    with pytest.raises(OptionError, match=message):
        split_options(given)
