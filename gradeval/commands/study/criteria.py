"""Which of four criteria a metric of orderings meets (Katerenchuk and Rosenberg 2016, table 1)."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gradeval.commands.study.options import CRITERIA_METRICS
from gradeval.commands.study.tables import Row, Study, Table, averaged_metrics, full_rankings
from gradeval.evaluation.score import score
from gradeval.options import takes
from gradeval.registry.spec import Metrics, parse

LISTS: Final = (
    (9, 4, 4, 2, 2, 2, 1, 1, 1, 1),
    (9, 4, 4, 2, 2, 1, 2, 1, 1, 1),
    (4, 4, 2, 9, 2, 2, 1, 1, 1, 1),
    (1, 4, 4, 2, 2, 2, 9, 1, 1, 1),
    (1, 4, 4, 2, 2, 2, 1, 1, 1, 9),
    (1, 1, 1, 1, 2, 2, 2, 4, 4, 9),
)
"""The paper's hypothesis lists: the score that a system predicts for each document, in descending order of the
documents' grades. The first is the reference: these are the grades; the last is its reverse."""
REFERENCE: Final = LISTS[0]
RANKINGS: Final = (
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    (1, 2, 3, 4, 5, 7, 6, 8, 9, 10),
    (4, 1, 2, 3, 5, 6, 7, 8, 9, 10),
    (7, 2, 3, 4, 5, 6, 1, 8, 9, 10),
    (10, 2, 3, 4, 5, 6, 7, 8, 9, 1),
    (10, 9, 8, 7, 6, 5, 4, 3, 2, 1),
)
"""The documents by rank, from 1 for the first of the reference. The lists leave the order of tied documents
open; these are the orders by which the paper's nDCG was computed."""
EQUAL = 1e-9  # values that differ by no more are equal: rounding meets and misses no criterion


@takes({})
def criteria(metrics: Metrics = CRITERIA_METRICS) -> Study:
    """Which of Katerenchuk and Rosenberg's four criteria metrics meet, by their six lists.

    A list has the scores that a system predicts for ten documents with the grades REFERENCE. The criteria:
    ties: lists 4 and 5, which exchange the highest grade with different documents of the lowest, have the same
    value, below that of list 1; evidence: the difference between 4 and 5, expected 0. skew: the values fall
    with the error: list 1, 2, 3, then 4 and 5, then 6; evidence: the smallest fall, expected > 0. emphasis:
    misplacing the highest grade (list 3) costs more, relative to misplacing a low one (list 2), than by
    Kendall's tau, which counts pairs; evidence: the ratio of the two ratios, expected > 1. range: the reference
    has the best value of the metric's range, its reverse the worst; evidence: how far the value of the reverse
    is from the worst, expected 0.

    The AveP of the paper is no metric of relevance: it is the mean over the places of the share right so far,
    where a place is right with its own grade. So AP(rel=2), which stands for it here, has other values; the
    values of tau, nDCG and rankDCG are the paper's.

    Raises MetricError.
    Source: Katerenchuk and Rosenberg, "RankDCG: Rank-ordering evaluation measure", LREC 2016, table 1.
    """
    specs = averaged_metrics(metrics, orders_systems=True)
    order = np.array(RANKINGS) - 1
    scores = np.take_along_axis(np.array(LISTS, np.float64), order, axis=1)
    table = full_rankings(np.array(REFERENCE, np.float64)[order], score=scores)
    *values, tau = score(table, [*specs, *parse("tau")])
    # the costs of misplacing the highest grade (list 3), relative to misplacing a low one (list 2)
    pair_ratio = float((tau[0] - tau[2]) / (tau[0] - tau[1]))
    verdicts: list[Row] = []
    by_metric: list[Row] = []
    best: list[str] = []
    for spec, of_lists in zip(specs, values, strict=True):
        sign = 1 if spec.metric.higher_is_better else -1
        low, high = spec.metric.range
        ends = sign * (-math.inf if low is None else low), sign * (math.inf if high is None else high)
        first, second, third, fourth, fifth, sixth = (sign * of_lists).tolist()
        falls = first - second, second - third, third - max(fourth, fifth), min(fourth, fifth) - sixth
        low_cost, high_cost = (0.0 if abs(cost) <= EQUAL else cost for cost in (first - second, first - third))
        free = math.nan if high_cost == 0 else math.copysign(math.inf, high_cost)
        emphasis = (high_cost / low_cost if low_cost > 0 else free) / pair_ratio
        from_worst = abs(sixth - min(ends))
        evidence = {
            "ties": (abs(fourth - fifth) <= EQUAL and first - fourth > EQUAL, abs(fourth - fifth)),
            "skew": (min(falls) > EQUAL, min(falls)),
            "emphasis": (emphasis > 1 + EQUAL, emphasis),
            "range": (from_worst <= EQUAL and abs(first - max(ends)) <= EQUAL, from_worst),
        }
        all_met: list[bool | None] = []
        for criterion, (holds, number) in evidence.items():
            # undefined where values are, or the evidence is 0 / 0
            is_defined = not (np.isnan(of_lists).any() or math.isnan(number))
            all_met.append(holds if is_defined else None)
            verdicts.append((str(spec), criterion, all_met[-1], number if is_defined else math.nan))
        by_metric.append((str(spec), *("undefined" if met is None else met for met in all_met)))
        if all(all_met):
            best.append(str(spec))
    names = [str(spec) for spec in specs]
    values_of = zip(*(of_lists.tolist() for of_lists in values), strict=True)
    lists = [(n, " ".join(map(str, LISTS[n - 1])), *row) for n, row in enumerate(values_of, 1)]
    each = [(n, text, *pair) for n, text, *row in lists for pair in zip(names, row, strict=True)]
    decided, title = ("metric", "criterion", "holds", "evidence"), "Value of each list of predicted scores"
    what = "Whether the metric meets the criterion, and the number that decides"
    return Study(
        name="criteria",
        finding=f"All 4 criteria are met by {', '.join(best)}." if best else "No metric meets all 4 criteria.",
        options={"metrics": names},
        tables=(
            Table("verdicts", what, decided, verdicts, shown=False),
            Table("values", title, ("list", "scores", "metric", "value"), each, shown=False),
            Table("lists", title, ("list", "scores", *names), lists, data=False),
            Table("criteria", "Which criteria each metric meets", ("metric", *evidence), by_metric, data=False),
        ),
    )
