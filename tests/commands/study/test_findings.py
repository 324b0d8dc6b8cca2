"""The sentence that each study ends in, against its own tables."""

from helpers import each

import gradeval
from gradeval.commands.study.agreement import _finding as of_agreement
from gradeval.commands.study.levels import _finding as of_levels
from gradeval.commands.study.swaps import _finding as of_swaps
from gradeval.commands.study.tables import Table


@each("rows, sentence", [
    (
        [("even", "A", 0.1, 0.2), ("uneven", "A", 0.3, 0.2), ("even", "B", 0.1, 0.2)],
        "The distance is above the noise, so the number of levels matters, for A; it is within the noise "
        "for B.",
    ),
    ([("even", "A", 0.2, 0.2)], "The distance is within the noise for A."),
    ([("even", "A", 0.3, 0.2)], "The distance is above the noise, so the number of levels matters, for A."),
])  # fmt: skip
def test_swaps(rows, sentence):
    assert of_swaps(rows) == sentence


def test_levels():
    assert of_levels({"A": "x > y", "B": "x > y"}) == "The order of the runs is the same by A, B."
    assert of_levels({"A": "x > y", "B": "y > x", "C": "x > y"}) == (
        "The metrics order the runs in 2 ways: A, C; B."
    )


TAUS = ("tau", "tau_ap")
AGREEMENT = {
    "The orders of systems agree least by A, C: tau -0.50.": Table(
        "correlations",
        "",
        ("metric", "other", *TAUS),
        [("A", "B", 0.5, 0.5), ("A", "C", -0.5, 0), ("B", "C", None, 0)],
    ),
    "The orders of systems by two sets of judgments (A) agree with a tau of 0.50.": Table(
        "judgments", "", ("metric", *TAUS), [("A", 0.5, 0.5), ("B", float("nan"), 0)]
    ),
    "The orders of systems by two halves of the queries (A) agree with a tau of 1.00.": Table(
        "halves", "", ("metric", "tau", "low", "high"), [("A", 1.0, 0.5, 1.0)]
    ),
    "The sets give the same grade to 81 % of the documents that both have.": Table(
        "labels",
        "",
        ("statistic", "value", "low", "high"),
        [("agreement", 0.807, 0.7, 0.9), ("kappa", 0.6, 0, 1)],
    ),
    "": Table("correlations", "", ("metric", "other", *TAUS), [("A", "B", None, None)]),
}


@each("sentence", AGREEMENT)
def test_agreement(sentence):
    table = AGREEMENT[sentence]
    assert of_agreement({table.name: table}) == sentence


def test_criteria():
    assert gradeval.study.criteria("tau rankDCG").finding == "All 4 criteria are met by rankDCG."
    assert gradeval.study.criteria("tau").finding == "No metric meets all 4 criteria."
