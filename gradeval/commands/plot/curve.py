"""A metric by its cutoff or its recall level, with an interval of each mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.commands.compare.options import CompareOptions
from gradeval.commands.plot.picture import Axis, Line, Panel, Picture
from gradeval.commands.study.tables import Row, Table
from gradeval.errors import MetricError, OptionError, named
from gradeval.evaluation import evaluate_all
from gradeval.evaluation.evaluator import complete
from gradeval.evaluation.runs import separate_runs
from gradeval.options import OF_RUNS, Options, takes
from gradeval.registry.metric import Kind
from gradeval.registry.spec import Spec, dotted, group_of, metric_of, parse_one, split
from gradeval.render.document import warned
from gradeval.statistics.tests import interval_of_mean

if TYPE_CHECKING:
    from gradeval.keywords import Runs, Unpack

METRIC = "nDCG"
AT = "1-20"
_RECALLS = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"
_MULTIPLES = "0.2,0.4,0.6,0.8,1,1.2,1.4,1.6,1.8,2"
_DEFAULTS = {"cutoff": AT, "recall": _RECALLS, "multiple": _MULTIPLES}
_LABELS = {"cutoff": "Cutoff k (ranks)", "recall": "Recall", "multiple": "Cutoff (multiples of R)"}
_SYMBOLS = {"cutoff": "k", "recall": "r", "multiple": "m"}
_MOST = 1000  # points of a curve
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})")


Curves = dict[Spec, dict[float, Spec]]
"""Metrics without the value after '@' -> the values, ascending -> the metrics with them."""


@takes(OF_RUNS)
def curve(
    qrels: Any,
    runs: Any,
    metrics: str | Iterable[str] = METRIC,
    *,
    at: str | None = None,
    log: bool = False,
    confidence: float = 95.0,
    **options: Unpack[Runs],
) -> Picture:
    """The mean of a metric at each cutoff, or interpolated precision by recall (iprec_at_recall).

    qrels, runs, options: as evaluate() takes them. at: the values after '@', such as '1-20,50,100'; by default
    the cutoffs 1-20, or the recall levels 0, 0.1 … 1. Or the metrics have them: 'nDCG@5,10,20'. log: a
    logarithmic axis of cutoffs. confidence: of the intervals of the means, in percent.
    Raises GradevalError.
    """
    picture = draw_curve(
        qrels,
        separate_runs(runs),
        curves_of(metrics, at),
        Options.of(**options),
        log=log,
        confidence=confidence,
    )
    return warned(picture)


def draw_curve(
    qrels: Any,
    runs: Sequence[tuple[str | None, Any]],
    curves: Curves,
    options: Options,
    *,
    log: bool = False,
    confidence: float = 95.0,
    **how: Any,
) -> Picture:
    """The same with parsed arguments. how: watch and query_ids of evaluate_all()."""
    confidence = CompareOptions.of(confidence=confidence).confidence
    params = [metric.metric.at.name if metric.metric.at else "" for metric in curves]
    if log and "cutoff" not in params:
        raise OptionError("--log is for cutoffs in ranks, which no metric here has")
    specs = [spec for of_metric in curves.values() for spec in of_metric.values()]
    results = complete(evaluate_all(qrels, runs, specs, options, **how))
    results.check_unweighted("the intervals of pictures")
    panels: list[Panel] = []
    rows: list[Row] = []
    for param, (metric, of_metric) in zip(params, curves.items(), strict=True):
        x = [_plain(at) for at in of_metric]
        lines = []
        for r, run in enumerate(results.runs):
            means, ends = [], []
            for at, spec in zip(x, of_metric.values(), strict=True):
                values, mean = results.values(r, spec), float(results.mean(r, spec))
                interval = interval_of_mean(values, mean, "t", confidence)
                means.append(mean)
                ends.append(interval)
                count = int(np.count_nonzero(~np.isnan(values)))
                rows.append((run.name, str(metric), at, mean, *interval, count))
            low, high = np.array(ends).T
            lines.append(Line(run.name, np.array(x, np.float64), np.array(means), low, high, marked=True))
        label = f"Mean {metric.display}@{_SYMBOLS.get(param, param)}"
        if metric.metric.name == "iprec_at_recall":
            label = "Mean interpolated precision"
        is_whole = all(isinstance(at, int) for at in x)
        axis = Axis(_LABELS.get(param, param), log=log and x[0] > 0, whole=is_whole)
        title = results.runs[0].name if len(results.runs) == 1 else ""
        panels.append(Panel(title, axis, Axis(label, *metric.metric.range), tuple(lines)))
    return Picture(
        name="curve",
        options={
            "metrics": list(map(str, curves)),
            "runs": [run.name for run in results.runs],
            "confidence": confidence,
            "evaluation": dict(results.options),
        },
        noticed=(results.notices,),
        runs_read=len(results.runs),
        note=f"{confidence:g} % t interval of the mean",
        across=len(curves),
        panels=tuple(panels),
        tables=(
            Table(
                "curve",
                "Mean over the queries at each cutoff",
                ("run", "metric", "at", "mean", "low", "high", "queries"),
                rows,
            ),
        ),
    )


def _plain(at: float) -> float:
    """A cutoff as an integer."""
    return int(at) if float(at).is_integer() else at


def curves_of(metrics: str | Iterable[str], at: str | None = None) -> Curves:
    """The curves that metrics stand for. Raises MetricError, OptionError."""
    texts = [metrics] if isinstance(metrics, str) else list(metrics)
    specs: dict[Spec, None] = {}
    for name in (name for text in texts for name in split(text)):
        specs.update(dict.fromkeys(_specs(name, at)))
    if not specs:
        raise MetricError("no metrics given", hint="for example nDCG")
    curves: Curves = {}
    for spec in specs:
        param = spec.metric.at
        value = None if param is None else spec.params.get(param.name)
        if spec.metric.kind is not Kind.MEAN or not spec.metric.per_query or param is None:
            raise MetricError(f"{spec}: a curve needs a metric with a cutoff, whose mean over queries is taken")
        if value is None:
            raise MetricError(f"{spec}: it has no cutoff, so it is a point, and no curve")
        without = Spec(spec.metric, tuple(pair for pair in spec.given if pair[0] != param.name))
        curves.setdefault(without, {})[value] = spec
    for without, by_value in curves.items():
        if len(by_value) < 2:
            [spec] = by_value.values()
            hint = f"for example {without}@5,10,20"
            raise MetricError(f"{spec}: a curve needs two cutoffs or more", hint=hint)
        curves[without] = dict(sorted(by_value.items()))
    return curves


def _specs(name: str, at: str | None) -> list[Spec]:
    """The Specs of a name, with the given values after '@', or the default ones, where it has none."""
    if "@" in name or group_of(name) is not None or dotted(name) is not None:
        if at is not None:
            raise OptionError(f"{name} has its own cutoffs, so --at is not for it")
        return parse_one(name)
    metric = metric_of(name)
    if metric.at is None:
        hint = "for example nDCG, P, R or iprec_at_recall"
        raise MetricError(f"{name}: {metric.name} takes no cutoff, so it has no curve", hint=hint)
    values = expanded(at or _DEFAULTS.get(metric.at.name, AT))
    return parse_one(f"{name}@{','.join(values)}")


def expanded(text: str) -> list[str]:
    """'1-3,10,20' -> 1, 2, 3, 10, 20. Raises OptionError."""
    values: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        both = _RANGE.fullmatch(part) if part.isascii() else None
        if both is None:
            values.append(part)
            continue
        first, last = map(int, both.groups())
        if last < first:
            raise OptionError(f"--at {named(part)}: a range must increase")
        if last - first >= _MOST:
            break
        values += map(str, range(first, last + 1))
    else:
        if len(values) <= _MOST:
            return values
    raise OptionError(f"--at {named(text)}: a curve has at most {_MOST} points")
