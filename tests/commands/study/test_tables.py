"""Criteria against Katerenchuk and Rosenberg, table 1; the sentence that ends a study; studies as text."""

import math

import pytest
from helpers import raises

from gradeval.commands.study.agreement import _finding as of_agreement
from gradeval.commands.study.criteria import criteria
from gradeval.commands.study.levels import _finding as of_levels
from gradeval.commands.study.swaps import _finding as of_swaps
from gradeval.commands.study.tables import Study, Table
from gradeval.errors import MetricError

PRINTED = {  # table 1: numbers are cut off after three digits, not rounded
    "tau": [1.0, 0.8, 0.742, 0.285, 0.285, -0.8],
    "nDCG": [1.0, 0.998, 0.825, 0.688, 0.667, 0.571],
    "rankDCG": [1.0, 0.975, 0.65, 0.325, 0.325, 0.0],
}


def held(study):
    found = {}
    for metric, criterion, holds, _ in study.table("verdicts").rows:
        found.setdefault(metric, {})[criterion] = holds
    return found


def test_table_1_and_computed_verdicts():
    rows = criteria("tau nDCG rankDCG").table("values").rows
    for metric, expected in PRINTED.items():
        of_metric = [row[-1] for row in rows if row[2] == metric]
        assert [math.trunc(x * 1000 + math.copysign(1e-6, x)) / 1000 for x in of_metric] == expected
    found = held(criteria("tau AP AP(rel=2) nDCG rankDCG P@3 rho"))
    for metric, met in (
        ("rankDCG", "ties skew emphasis range"),
        ("nDCG", "skew emphasis"),
        ("tau", "ties skew"),
    ):
        assert {name for name, holds in found[metric].items() if holds} == set(met.split())
    assert found["rho"]["range"] is False
    for blind in ("AP", "P@3"):  # all documents are relevant to them: a metric that sees no error meets nothing
        assert not any(found[blind].values())


def test_undefined_values_have_no_verdict():
    """All documents are relevant to AUC, so it has no value, and so no verdict."""
    study = criteria("AUC AP(rel=2) P@3")
    assert all(math.isnan(row[-1]) for row in study.table("values").rows if row[2] == "AUC")
    assert set(held(study)["AUC"].values()) == {None}
    emphasis = {row[0]: row[2:] for row in study.table("verdicts").rows if row[1] == "emphasis"}
    # the highest misplaced costs nothing: the ratio is 0
    assert emphasis["AP(rel=2)"] == (False, pytest.approx(0))
    assert emphasis["P@3"][0] is None  # neither costs anything
    assert study.tables[-1].rows[0] == ("AUC", *["undefined"] * 4)
    content = study.to_dict()["tables"]
    assert content.keys() == {"verdicts", "values"}
    assert content["verdicts"][0] == {"metric": "AUC", "criterion": "ties", "holds": None, "evidence": None}
    assert len(content["values"]) == 18
    raises(MetricError, "orders no systems", criteria, "Judged@5")


def test_findings():
    above, matters = "The distance is above the noise", "so the number of levels matters"
    for rows, sentence in (
        ([("even", "A", 0.1, 0.2), ("uneven", "A", 0.3, 0.2), ("even", "B", 0.1, 0.2)],
         f"{above}, {matters}, for A; it is within the noise for B."),
        ([("even", "A", 0.2, 0.2)], "The distance is within the noise for A."),
        ([("even", "A", 0.3, 0.2)], f"{above}, {matters}, for A."),
    ):  # fmt: skip
        assert of_swaps(rows) == sentence
    assert of_levels({"A": "x > y", "B": "x > y"}) == "The order of the runs is the same by A, B."
    by_two = of_levels({"A": "x > y", "B": "y > x", "C": "x > y"})
    assert by_two == "The metrics order the runs in 2 ways: A, C; B."
    assert criteria("tau rankDCG").finding == "All 4 criteria are met by rankDCG."
    assert criteria("tau").finding == "No metric meets all 4 criteria."
    taus, ends = ("tau", "tau_ap"), ("low", "high")
    for sentence, name, columns, rows in (
        ("The orders of systems agree least by A, C: tau -0.50.", "correlations", ("metric", "other", *taus),
         [("A", "B", 0.5, 0.5), ("A", "C", -0.5, 0), ("B", "C", None, 0)]),
        ("The orders of systems by two sets of judgments (A) agree with a tau of 0.50.", "judgments",
         ("metric", *taus), [("A", 0.5, 0.5), ("B", float("nan"), 0)]),
        ("The orders of systems by two halves of the queries (A) agree with a tau of 1.00.", "halves",
         ("metric", "tau", *ends), [("A", 1.0, 0.5, 1.0)]),
        ("The sets give the same grade to 81 % of the documents that both have.", "labels",
         ("statistic", "value", *ends), [("agreement", 0.807, 0.7, 0.9), ("kappa", 0.6, 0, 1)]),
        ("", "correlations", ("metric", "other", *taus), [("A", "B", None, None)]),
    ):  # fmt: skip
        assert of_agreement({name: Table(name, "", columns, rows)}) == sentence


# layout

ROWS = [("a\tb", 1, 0.12345, True, 2.0, 7), ('c",\x1b[2J', 20, float("nan"), False, None, 7)]
STUDY = Study(
    name="example",
    options={"metrics": ["AP", "nDCG"], "alpha": 0.05, "seed": 7, "evaluation": {"rel": None}},
    tables=(
        Table("hidden", "Not shown", ("run", "value"), [("r", -0.0)], shown=False),
        Table("first", "What it is", ("run", "count", "value", "holds", "threshold", "seed"), ROWS),
        Table("wide", "Shown only", ("run", *map(str, range(12))), [("r", *[0.5] * 12)], data=False),
    ),
)


def test_table():
    text = STUDY.render("table", width=60)
    assert text == (
        "What it is\n"
        "run         count   value  holds  threshold\n"
        "───────────────────────────────────────────\n"
        "a\\tb            1  0.1235    yes          2\n"
        'c",\\x1b[2J     20     nan     no\n'
        "\nShown only\n"
        "run       0       1       2       3       4       5       6\n"
        "───────────────────────────────────────────────────────────\n"
        "r    0.5000  0.5000  0.5000  0.5000  0.5000  0.5000  0.5000\n"
        "\n"
        "run       7       8       9      10      11\n"
        "───────────────────────────────────────────\n"
        "r    0.5000  0.5000  0.5000  0.5000  0.5000\n"
        "\nexample: metrics AP, nDCG; alpha 0.05; seed 7\n"
    )
