"""The document of estimates: the means, the differences from the first run, and what they assume."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gradeval.commands.estimate.estimate import Estimate, Estimates
from gradeval.errors import visible
from gradeval.notices import many
from gradeval.render import Digits
from gradeval.render import document as doc
from gradeval.render.document import ABSENT, NAME, NUMBER, SIGNED, WORD, Column, number


def document(estimates: Estimates, options: doc.RenderOptions) -> doc.OutputDocument:
    digits = options.digits
    rows = [_row(estimate, estimates) for estimate in estimates.estimates]

    def blocks() -> Iterator[doc.Block]:
        means = [row for row in rows if not row["against"]]
        yield doc.grid_of("Means", _columns(estimates, False), means, digits, labels=2)
        if differences := [row for row in rows if row["against"]]:
            title = f"Differences from {visible(estimates.runs[0])}"
            yield doc.grid_of(title, _columns(estimates, True), differences, digits, labels=2)
        yield doc.Sentences(_legend(estimates))

    columns = _columns(estimates, False)
    return doc.OutputDocument(
        blocks=blocks, rows=lambda: [doc.rows_of(columns, rows, digits)], content=estimates.to_dict
    )


def _row(estimate: Estimate, estimates: Estimates) -> dict[str, Any]:
    displays = {metric.name: metric.display for metric in estimates.metrics}
    return {
        **estimate.to_dict(),
        "display": displays[estimate.metric],
        "interval": (estimate.low, estimate.high),
        "human_interval": (estimate.human_low, estimate.human_high),
        "bias_interval": (estimate.bias_low, estimate.bias_high),
    }


def _ends(interval: tuple[float, float], digits: Digits) -> str:
    low, high = interval
    return ABSENT if math.isnan(low) else f"[{number(low, digits)}, {number(high, digits)}]"


_INTERVAL = doc.ColumnKind(lambda interval, digits: "", _ends)


def _columns(estimates: Estimates, of_differences: bool) -> list[Column]:
    value = SIGNED if of_differences else NUMBER
    interval = f"{estimates.options.confidence:g} % interval"
    return [
        Column("run", "run", NAME),
        Column("against", "", NAME),
        Column("metric", "", NAME),
        Column("", "metric", NAME, "display"),
        Column("estimate", "estimate", value),
        Column("low", "", NUMBER),
        Column("high", "", NUMBER),
        Column("", interval, _INTERVAL, "interval"),
        Column("lambda", "λ", NUMBER),
        Column("n", "n", WORD),
        Column("N", "N", WORD),
        Column("human", "people", value),
        Column("human_low", "", NUMBER),
        Column("human_high", "", NUMBER),
        Column("", interval, _INTERVAL, "human_interval"),
        Column("model", "model", value),
        Column("bias", "bias", SIGNED),
        Column("bias_low", "", NUMBER),
        Column("bias_high", "", NUMBER),
        Column("", interval, _INTERVAL, "bias_interval"),
    ]


def _legend(estimates: Estimates) -> list[str]:
    queries = many(estimates.queries, "query", "queries")
    counts = {estimate.judged + estimate.others for estimate in estimates.estimates}
    population = f"The mean over {queries}"
    if counts != {estimates.queries}:
        population = f"The mean over the n + N queries with a value, of {queries}"
    columns = (
        f"{population}, of which people judged {estimates.judged_queries:,} and the model all. "
        "estimate: by both; people and model: by each alone; bias: the model's value less that of people, over "
        "the n queries that both judged; λ: how much the model's judgments of the N others count."
    )
    assumed = (
        "The queries that people judged are taken for a random sample of all, which 'gradeval pool --order "
        "sample' draws."
    )
    if any(estimate.others for estimate in estimates.estimates):
        return [columns, assumed]
    return [
        columns,
        "N is 0: no query has a value by the model alone, so its judgments add nothing to people's.",
    ]
