"""Queries as rows and runs side by side."""

import numpy as np
from helpers import raises

from gradeval.errors import OptionError
from gradeval.evaluation.results import Results
from gradeval.render import WRITERS

NAN = float("nan")


def both(format: str, results: Results, **options) -> str:
    return results.render(format, per_query=True, wide=True, digits=2, **options)


def test_tsv_and_csv(results: Results) -> None:
    """A cell is empty where the query is not counted for the run; num_q has a summary only."""
    assert both("tsv", results, summary=False).startswith(
        'query\tmetric\tbm25_k1\tneural,"2"\n'
        "q1\tmuAP\t0.50\t0.25\n"
        "q2\tmuAP\t0.25\t0.25\n"
        "a|b_%\udcff\tmuAP\t0.00\t\n"
        "q1\tnDCG@10\t1.00\t1.00\n"
    )
    lines = both("csv", results).splitlines()
    assert lines[:3] == ['query,metric,bm25_k1,"neural,""2"""', "all,num_q,3,2", "q1,muAP,0.50,0.25"]
    assert lines[5] == "all,muAP,0.25,0.25"
    assert len(lines) == 1 + 1 + 5 * 4


def test_tables(results: Results, make) -> None:
    raises(OptionError, "the format trec cannot be printed wide", both, "trec", results)
    for format in ("json", "jsonl"):  # which stay as they are
        assert both(format, results) == results.render(format, per_query=True, digits=2)
    for format in WRITERS.keys() - {"trec"}:
        both(format, make("AP num_q", {"a": np.empty((2, 0))}))
    runs = {"a": [[0.5, 1, 0], [2, NAN, 3]], "b": [[0.25, 1, 0.125], [1, NAN, NAN]]}
    results = make("AP rankDCG", runs)
    assert both("table", results) == (
        "AP\n"
        "query     a     b\n"
        "─────────────────\n"
        "q1     0.50  0.25\n"
        "q2     1.00  1.00\n"
        "q3     0.00  0.12\n"
        "all    0.50  0.46\n"
        "\n"
        "rankDCG\n"
        "query     a     b\n"
        "─────────────────\n"
        "q1     2.00  1.00\n"
        "q2      nan   nan\n"
        "q3     3.00   nan\n"
        "all    2.50  1.00\n"
    )
    one = make("AP", {name: rows[:1] for name, rows in runs.items()})
    assert both("md", one) == (
        "| query |        a |        b |\n"
        "| :---- | -------: | -------: |\n"
        "| q1    | **0.50** |     0.25 |\n"
        "| q2    | **1.00** | **1.00** |\n"
        "| q3    |     0.00 | **0.12** |\n"
        "| all   | **0.50** |     0.46 |\n"
    )
    latex = both("latex", one)
    assert r"q1 & \textbf{0.50} & 0.25 \\" in latex
    assert r"\begin{tabular}{lrr}" in latex
