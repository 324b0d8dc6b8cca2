"""A history of means as lines: panels by metric, tables, and curves in characters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from gradeval.arrays import Floats
from gradeval.commands.history.history import Mean
from gradeval.commands.plot.charts import Axis, Line, Panel
from gradeval.commands.study.tables import StudyTable
from gradeval.errors import MetricError
from gradeval.records import grouped
from gradeval.registry.spec import Metrics, parse, single_names

Series = dict[tuple[str, str], list[Mean]]
"""The means of each metric and run, in order."""

_COLUMNS = (
    "run",
    "metric",
    "entry",
    "time",
    "value",
    "low",
    "high",
    "n",
    "judged",
    "bound",
    "verdict",
    "segment",
)


def series_of(means: Sequence[Mean]) -> Series:
    """The means by metric and run, those of each in order of entry."""
    in_order = sorted(means, key=lambda mean: mean.entry)
    return grouped(((mean.metric, mean.run), mean) for mean in in_order)


def names_in(means: Sequence[Mean], path: str, metrics: Metrics) -> list[str]:
    """The names of the chosen metrics in a history; its own names need be no metric's: measures of rankings.
    Raises MetricError.
    """
    recorded = {mean.metric.lower(): mean.metric for mean in means}
    asked = single_names(metrics)
    names = [recorded[name.lower()] for name in asked if name.lower() in recorded]
    if unknown := [name for name in asked if name.lower() not in recorded]:
        names += map(str, parse(unknown))
    if missing := [name for name in names if name not in recorded.values()]:
        raise MetricError(f"{missing[0]} is not in {path}", hint="there are " + ", ".join(recorded.values()))
    return names or list(map(str, parse(metrics)))  # which is the error of no metrics


def signatures_before(means: Sequence[Mean]) -> Iterator[str]:
    """For each mean the signature before it where its own is another, which begins a new segment; else ''."""
    last = ""
    for mean in means:
        yield last if mean.signature not in ("", last) else ""
        last = mean.signature or last


def changed(before: str, after: str) -> str:
    """The parts of a signature that differ: 'rel:2 was rel:>0'."""
    old, new = ({part.partition(":")[0]: part for part in text.split("|")} for text in (before, after))
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return ", ".join(f"{new.get(name, f'no {name}')} was {old.get(name, f'no {name}')}" for name in names)


def tables_of(series: Series) -> list[StudyTable]:
    """The table of means, and that of entries whose signature differs from the one before."""
    rows, changes = [], []
    for (metric, run), means in series.items():
        segment = 1
        for mean, before in zip(means, signatures_before(means), strict=True):
            label = (run, metric, mean.entry + 1, mean.time)
            if before:
                segment += 1
                changes.append((*label, changed(before, mean.signature)))
            details = mean.low, mean.high, mean.n, mean.judged, mean.bound
            numbers = (None if number is None or math.isnan(number) else number for number in details)
            rows.append((*label, mean.value, *numbers, mean.verdict, segment))
    title = "Where the signatures differ"
    return [
        StudyTable("history", "Means of each entry", _COLUMNS, rows, shown=False),
        StudyTable(
            "changes", title, ("run", "metric", "entry", "time", "changed"), changes, shown=bool(changes)
        ),
    ]


def panels_of(series: Series) -> Iterator[Panel]:
    """The lines of each metric."""
    every = [mean for means in series.values() for mean in means]
    times = [mean.time.partition("T")[0] for mean in sorted(every, key=lambda mean: mean.entry) if mean.time]
    label = f"Entry ({times[0]} to {times[-1]})" if times else "Entry"
    metrics, runs = (list(dict.fromkeys(names)) for names in zip(*series, strict=True))
    for metric in metrics:  # each has all runs, which have one legend
        lines = tuple(_line(run, series.get((metric, run), [])) for run in runs)
        yield Panel(metric if len(metrics) > 1 else "", Axis(label, whole=True), _axis(metric), lines)


def _axis(metric: str) -> Axis:
    """The axis of the values of a metric; by its name alone where gradeval does not know it."""
    try:
        [spec] = parse(metric)
    except (MetricError, ValueError):
        return Axis(metric)
    return Axis(f"Mean {spec.display}" if spec.metric.per_query else spec.display, *spec.metric.range)


def _line(run: str, means: Sequence[Mean]) -> Line:
    """The means of a run as a line, with a gap between segments."""
    rows = []
    for mean, before in zip(means, signatures_before(means), strict=True):
        if before:
            rows.append((mean.entry + 0.5, *[math.nan] * 4))
        rows.append((mean.entry + 1.0, mean.value, mean.low, mean.high, mean.bound))
    x, y, low, high, bound = np.array(rows).reshape(-1, 5).T
    return Line(run, x, y, _known(low), _known(high), marked=True, bound=_known(bound))


def _known(values: Floats) -> Floats | None:
    return None if np.isnan(values).all() else values
