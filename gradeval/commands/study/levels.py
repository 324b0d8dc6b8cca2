"""Average precision at every threshold, beside what combines the thresholds (Scheel et al. 2011, fig. 6-8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gradeval.arrays import Floats
from gradeval.commands.study.options import LEVELS_METRICS
from gradeval.commands.study.tables import Row, Study, Table, averaged_metrics, spaced
from gradeval.evaluation.evaluator import complete, evaluate_all, separate_runs
from gradeval.notices import Kind
from gradeval.options import OF_RUNS, Options, takes
from gradeval.registry.spec import Metrics, Spec
from gradeval.render.document import warned
from gradeval.statistics.agreement import levels_of

if TYPE_CHECKING:
    from gradeval.keywords import Runs, Unpack

_SHOWN = 5  # thresholds that the overview has


@takes(OF_RUNS)
def levels(qrels: Any, runs: Any = None, metrics: Metrics = LEVELS_METRICS, **options: Unpack[Runs]) -> Study:
    """Average precision at every threshold, and metrics that combine the thresholds, of several runs.

    qrels, runs, options: as evaluate() takes them. The features of a LETOR file are runs with features=…, its
    own where no runs are given, and the virtual assessor with qrels_feature=…, which scores 1 as a run; but AP
    at a threshold is 0 for a query without such a grade, unless no_relevant says otherwise.

    Raises InputError, MetricError, OptionError.
    Source: Scheel, Lommatzsch, Albayrak, "Performance Measures for Multi-Graded Relevance", 2011, figures 6-8.
    """
    specs = averaged_metrics(metrics, orders_systems=True)
    chosen = Options(**{**options, "by_level": True})
    named_runs = separate_runs(qrels if runs is None else runs)
    results = complete(evaluate_all(qrels, named_runs, specs, chosen))
    by_level = [
        m for m, spec in enumerate(results.specs) if spec.metric.name == "AP" and [*spec.params] == ["rel"]
    ]
    thresholds = [results.specs[m].params["rel"] for m in by_level]
    names = [run.name for run in results.runs]
    at_threshold = results.means[:, by_level].tolist()
    combined = results.means[:, [results.specs.index(spec) for spec in specs]]
    feature = f"feature{chosen.qrels_feature}"
    reference = {"reference": feature} if feature in names else {}
    # the virtual assessor, as a run, is the judgments: that was asked for
    expected = Kind.QRELS_AS_RUN, reference.get("reference")

    values: list[Row] = []
    overview: list[Row] = []
    count, shown = len(thresholds), spaced(len(thresholds), _SHOWN)
    for run, precisions, means in zip(names, at_threshold, combined.tolist(), strict=True):
        values += [(run, "AP", *pair) for pair in zip(thresholds, precisions, strict=True)]
        values += [(run, str(spec), None, mean) for spec, mean in zip(specs, means, strict=True)]
        overview.append((run, *(precisions[t] for t in shown), *means))
    some = f", {len(shown)} of {count} thresholds" if len(shown) < count else ""
    each = "Mean of each run and metric"
    title = f"AP with grades from the threshold up relevant, and metrics for grades{some}"
    columns = ("run", *(f"AP>={thresholds[t]:g}" for t in shown), *map(str, specs))
    orders = {str(spec): _order(spec, combined[:, m], names) for m, spec in enumerate(specs)}
    study = Study(
        name="levels",
        finding=_finding(orders) if len(names) > 1 else "",
        options={"metrics": [str(spec) for spec in specs], **reference, "evaluation": dict(results.options)},
        noticed=(tuple(notice for notice in results.notices if (notice.kind, notice.subject) != expected),),
        runs_read=len(results.runs),
        tables=(
            Table("values", each, ("run", "metric", "threshold", "mean"), values, shown=False),
            Table("overview", title, columns, overview, data=False),
            Table("orders", "Runs from the best to the worst", ("metric", "order"), list(orders.items())),
        ),
    )
    return warned(study)


def _finding(orders: Mapping[str, str]) -> str:
    alike: dict[str, list[str]] = {}
    for metric, order in orders.items():
        alike.setdefault(order, []).append(metric)
    if len(alike) == 1:
        return f"The order of the runs is the same by {', '.join(orders)}."
    groups = "; ".join(", ".join(metrics) for metrics in alike.values())
    return f"The metrics order the runs in {len(alike)} ways: {groups}."


def _order(spec: Spec, means: Floats, runs: Sequence[str]) -> str:
    """The runs from the best to the worst; those with equal means together."""
    place = levels_of(means * (1 if spec.metric.higher_is_better else -1))
    equal = [
        [run for run, level in zip(runs, place.tolist(), strict=True) if level == wanted]
        for wanted in range(int(place.max()), -1, -1)
    ]
    return " > ".join(" = ".join(names) for names in equal)
