"""The curves of the study of swaps, with an interval of each mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gradeval.arrays import Floats, cached_property
from gradeval.commands.plot.picture import Axis, Line, Panel, Picture, checked_confidence
from gradeval.commands.study.swaps import METRICS, USES, Swaps
from gradeval.commands.study.swaps import swaps as study_swaps
from gradeval.commands.study.tabled import Row, Table
from gradeval.statistics.intervals import t_intervals


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SwapCurves(Picture):
    """study: the study. low, high: the intervals of its means, (2, L, M, K + 1)."""

    name: ClassVar[str] = "swaps"
    study: Swaps
    low: Floats
    high: Floats

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        study = self.study
        x = np.arange(study.mean.shape[-1], dtype=np.float64)
        return tuple(
            Panel(
                f"{use.capitalize()} levels",
                Axis("Swaps of two ranks", whole=True),
                Axis(f"Mean {spec.display}", *spec.metric.range),
                tuple(
                    Line(f"{level} levels", x, study.mean[u, i, m], self.low[u, i, m], self.high[u, i, m])
                    for i, level in enumerate(study.levels)
                ),
            )
            for m, spec in enumerate(study.specs)
            for u, use in enumerate(USES)
        )

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Those of the study, with the intervals of the curves; the curves first."""
        curves, seed = self.study.table("curves"), self.study.options["seed"]
        bounds = zip(self._flat(self.low), self._flat(self.high), strict=True)
        rows: list[Row] = [(*row[:-1], *ends, seed) for row, ends in zip(curves.rows, bounds, strict=True)]
        columns = (*curves.columns[:-1], "low", "high", "seed")
        distances = (table for table in self.study.tables if table.data and table.name == "distances")
        return (Table("curves", curves.title, columns, rows), *distances)

    def _flat(self, values: Floats) -> list[float]:
        """In the order of the rows of the study's curves: by use, metric, level, swaps."""
        found: list[float] = values.swapaxes(1, 2).reshape(-1).tolist()
        return found


def swaps(metrics: str | Iterable[str] = METRICS, *, confidence: float = 95.0, **options: Any) -> SwapCurves:
    """How metrics fall as pairs of documents of an ideal ranking are swapped: the curves of study.swaps().

    options: its options. confidence: of the intervals of the means over the repeats, in percent.
    Raises GradevalError.
    """
    confidence = checked_confidence(confidence)
    study = study_swaps(metrics, **options)
    repeats = study.options["repeats"]
    low, high = t_intervals(study.mean, study.sd, study.count, 1 - confidence / 100)
    return SwapCurves(
        options={**study.options, "confidence": confidence},
        note="" if repeats == 1 else f"{confidence:g} % t interval of the mean over {repeats} repeats",
        across=len(USES),
        same_y=all(spec.metric.range[1] == 1 for spec in study.specs),
        study=study,
        low=low,
        high=high,
    )
