"""The curves of the study of swaps, with an interval of each mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from gradeval.commands.compare.options import CompareOptions
from gradeval.commands.plot.picture import Axis, Line, Panel, Picture
from gradeval.commands.study.swaps import LEVELS, METRICS, USES
from gradeval.commands.study.swaps import swaps as study_swaps
from gradeval.statistics.intervals import t_intervals


def swaps(
    metrics: str | Iterable[str] = METRICS,
    *,
    confidence: float = 95.0,
    levels: Sequence[int] = LEVELS,
    items: int = 100,
    repeats: int = 100,
    swaps: int = 99,
    seed: int = 1,
    jobs: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Picture:
    """How metrics fall as pairs of documents of an ideal ranking are swapped: the curves of study.swaps().

    levels, items, repeats, swaps, seed, jobs, progress: as it has them. confidence: of the intervals of the
    means over the repeats, in percent.
    Raises GradevalError.
    """
    confidence = CompareOptions.of(confidence=confidence).confidence
    study = study_swaps(
        metrics,
        levels=levels,
        items=items,
        repeats=repeats,
        swaps=swaps,
        seed=seed,
        jobs=jobs,
        progress=progress,
    )
    repeats = study.options["repeats"]
    low, high = t_intervals(study.mean, study.sd, study.count, 1 - confidence / 100)
    x = np.arange(study.mean.shape[-1], dtype=np.float64)
    panels = [
        Panel(
            f"{use.capitalize()} levels",
            Axis("Swaps of two ranks", whole=True),
            Axis(f"Mean {spec.display}", *spec.metric.range),
            tuple(
                Line(f"{level} levels", x, study.mean[u, i, m], low[u, i, m], high[u, i, m])
                for i, level in enumerate(study.levels)
            ),
        )
        for m, spec in enumerate(study.specs)
        for u, use in enumerate(USES)
    ]
    curves = study.table("curves")
    # in the order of the rows: by use, metric, levels, swaps
    ends = zip(*(of.swapaxes(1, 2).reshape(-1).tolist() for of in (low, high)), strict=True)
    seed = study.options["seed"]
    with_ends = replace(
        curves,
        columns=(*curves.columns[:-1], "low", "high", "seed"),
        rows=[(*row[:-1], *own, seed) for row, own in zip(curves.rows, ends, strict=True)],
    )
    return Picture(
        name="swaps",
        options={**study.options, "confidence": confidence},
        tables=(with_ends, *(table for table in study.tables if table is not curves)),
        panels=tuple(panels),
        note="" if repeats == 1 else f"{confidence:g} % t interval of the mean over {repeats} repeats",
        across=len(USES),
        same_y=all(spec.metric.range[1] == 1 for spec in study.specs),
    )
