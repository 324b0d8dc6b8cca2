"""Average precision at every threshold, beside what combines the thresholds (Scheel et al. 2011, fig. 6-8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gradeval.arrays import Floats
from gradeval.commands.study.tabled import Row, Table
from gradeval.commands.study.tables import Study, competing_metrics, levels_of
from gradeval.evaluation import evaluate_all
from gradeval.evaluation.evaluator import complete
from gradeval.evaluation.runs import separate_runs
from gradeval.formats.sources import Source
from gradeval.notices import Kind
from gradeval.options import Options
from gradeval.registry.spec import Spec

METRICS = "muAP nDCG(gain=exp) NDCNG"
_SHOWN = 5  # thresholds that the overview has


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Levels(Study):
    """The values.

    runs: the names of R strategies. thresholds: the T grades above 0 of the judgments, ascending.
    average_precision: (R, T), the mean over queries of AP with grades from each threshold up relevant. specs: M
    metrics. means: (R, M). reference: the run that is the virtual assessor too, None where there is none.
    """

    name: ClassVar[str] = "levels"
    runs: tuple[str, ...]
    thresholds: tuple[float, ...]
    average_precision: Floats
    specs: tuple[Spec, ...]
    means: Floats
    reference: str | None = None

    def order(self, metric: int) -> list[list[str]]:
        """The runs from the best to the worst by the metric of this index; those with equal means together."""
        better = self.means[:, metric] * (1 if self.specs[metric].metric.higher_is_better else -1)
        place = levels_of(better)
        return [
            [run for run, own in zip(self.runs, place.tolist(), strict=True) if own == one]
            for one in range(int(place.max()), -1, -1)
        ]

    @property
    def tables(self) -> tuple[Table, ...]:
        count = len(self.thresholds)
        shown = np.unique(np.linspace(0, count - 1, min(_SHOWN, count)).round().astype(int)).tolist()
        chosen = [self.thresholds[t] for t in shown]
        overview: list[Row] = [
            (run, *(float(at[t]) for t in shown), *means.tolist())
            for run, at, means in zip(self.runs, self.average_precision, self.means, strict=True)
        ]
        values: list[Row] = []
        for run, at, means in zip(self.runs, self.average_precision, self.means, strict=True):
            values += [(run, "AP", t, one) for t, one in zip(self.thresholds, at.tolist(), strict=True)]
            values += [
                (run, str(spec), None, one) for spec, one in zip(self.specs, means.tolist(), strict=True)
            ]
        some = f", {len(shown)} of {count} thresholds" if len(shown) < count else ""
        return (
            Table(
                "values",
                "Mean of each run and metric",
                ("run", "metric", "threshold", "mean"),
                values,
                shown=False,
            ),
            Table(
                "overview",
                f"AP with grades from the threshold up relevant, and metrics for grades{some}",
                ("run", *(f"AP>={t:g}" for t in chosen), *map(str, self.specs)),
                overview,
                data=False,
            ),
            Table(
                "orders",
                "Runs from the best to the worst",
                ("metric", "order"),
                [
                    (str(spec), " > ".join(" = ".join(equal) for equal in self.order(m)))
                    for m, spec in enumerate(self.specs)
                ],
            ),
        )


def levels(
    qrels: Any,
    runs: Any = None,
    metrics: str | Iterable[str] = METRICS,
    *,
    watch: Callable[[Source], None] | None = None,
    **options: Any,
) -> Levels:
    """Average precision at every threshold, and metrics that combine the thresholds, of several runs.

    qrels, runs, options: as evaluate() takes them. The features of a LETOR file are runs with features=…, its
    own where no runs are given, and the virtual assessor with qrels_feature=…, which scores 1 as a run; but AP
    at a threshold is 0 for a query without such a grade, unless no_relevant says otherwise.

    Raises InputError, MetricError, OptionError.
    Source: Scheel, Lommatzsch, Albayrak, "Performance Measures for Multi-Graded Relevance", 2011, figures 6-8.
    """
    specs = competing_metrics(metrics)
    chosen = Options.of(**{**options, "by_level": True})
    given = separate_runs(qrels if runs is None else runs)
    results = complete(evaluate_all(qrels, given, specs, chosen, watch=watch))
    by_level = [
        m for m, spec in enumerate(results.specs) if spec.metric.name == "AP" and [*spec.params] == ["rel"]
    ]
    own = [results.specs.index(spec) for spec in specs]
    names = tuple(run.name for run in results.runs)
    reference = f"feature{chosen.qrels_feature}" if f"feature{chosen.qrels_feature}" in names else None
    asked = Kind.QRELS_AS_RUN, reference  # that the virtual assessor, as a run, is the judgments
    return Levels(
        options={
            "metrics": [str(spec) for spec in specs],
            **({"reference": reference} if reference else {}),
            "evaluation": dict(results.options),
        },
        noticed=(tuple(one for one in results.notices if (one.kind, one.subject) != asked),),
        runs_read=len(results.runs),
        runs=names,
        thresholds=tuple(results.specs[m].params["rel"] for m in by_level),
        average_precision=results.means[:, by_level],
        specs=tuple(specs),
        means=results.means[:, own],
        reference=reference,
    )
