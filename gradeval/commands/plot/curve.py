"""A metric by its cutoff or its recall level, with an interval of each mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gradeval.arrays import Floats, Ints, cached_property
from gradeval.commands.plot.picture import Axis, Line, Panel, Picture, checked_confidence, interval_of_mean
from gradeval.commands.study.tabled import Row, Table
from gradeval.errors import MetricError, OptionError, named
from gradeval.evaluation import evaluate_all
from gradeval.evaluation.evaluator import complete
from gradeval.evaluation.results import Results
from gradeval.evaluation.runs import separate_runs
from gradeval.options import Options
from gradeval.registry.metric import Kind
from gradeval.registry.spec import Spec, dotted, group_of, metric_of, parse_one, split

METRIC = "nDCG"
AT = "1-20"
_RECALLS = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"
_MULTIPLES = "0.2,0.4,0.6,0.8,1,1.2,1.4,1.6,1.8,2"
_DEFAULTS = {"cutoff": AT, "recall": _RECALLS, "multiple": _MULTIPLES}
_LABELS = {"cutoff": "Cutoff k (ranks)", "recall": "Recall", "multiple": "Cutoff (multiples of R)"}
_SYMBOLS = {"cutoff": "k", "recall": "r", "multiple": "m"}
_MOST = 1000  # points of a curve
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})")


@dataclass(frozen=True)
class Curve:
    """A metric at several cutoffs.

    specs: ascending by the value after '@', which is `at`. name, display: the metric's without it.
    """

    name: str
    display: str
    param: str
    at: tuple[float, ...]
    specs: tuple[Spec, ...]

    @property
    def is_whole(self) -> bool:
        return all(float(one).is_integer() for one in self.at)

    @property
    def label(self) -> str:
        """What its values are."""
        if self.specs[0].metric.name == "iprec_at_recall":
            return "Mean interpolated precision"
        return f"Mean {self.display}@{_SYMBOLS.get(self.param, self.param)}"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Curves(Picture):
    """The means of R runs.

    curves: C metrics. mean, low, high: for each curve (R, K), with K its cutoffs. count: queries with a value.
    """

    name: ClassVar[str] = "curve"
    runs: tuple[str, ...]
    curves: tuple[Curve, ...]
    mean: tuple[Floats, ...]
    low: tuple[Floats, ...]
    high: tuple[Floats, ...]
    count: tuple[Ints, ...]
    log: bool = False

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        return tuple(
            Panel(
                self.runs[0] if len(self.runs) == 1 else "",
                Axis(
                    _LABELS.get(curve.param, curve.param),
                    log=self.log and curve.at[0] > 0,
                    whole=curve.is_whole,
                ),
                Axis(curve.label, *curve.specs[0].metric.range),
                tuple(
                    Line(run, np.array(curve.at), *of_run, marked=True)
                    for run, of_run in zip(
                        self.runs, zip(self.mean[c], self.low[c], self.high[c], strict=True), strict=True
                    )
                ),
            )
            for c, curve in enumerate(self.curves)
        )

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        rows: list[Row] = []
        for c, curve in enumerate(self.curves):
            for r, run in enumerate(self.runs):
                columns = (of[c][r].tolist() for of in (self.mean, self.low, self.high, self.count))
                rows += [(run, curve.name, *row) for row in zip(map(_plain, curve.at), *columns, strict=True)]
        names = ("run", "metric", "at", "mean", "low", "high", "queries")
        return (Table("curve", "Mean over the queries at each cutoff", names, rows),)


def _plain(at: float) -> float:
    """A cutoff as an integer."""
    return int(at) if float(at).is_integer() else at


def curve(
    qrels: Any,
    runs: Any,
    metrics: str | Iterable[str] = METRIC,
    *,
    at: str | None = None,
    log: bool = False,
    confidence: float = 95.0,
    **options: Any,
) -> Curves:
    """The mean of a metric at each cutoff, or interpolated precision by recall (iprec_at_recall).

    qrels, runs, options: as evaluate() takes them. at: the values after '@', such as '1-20,50,100'; by default
    the cutoffs 1-20, or the recall levels 0, 0.1 … 1. Or the metrics have them: 'nDCG@5,10,20'. log: a
    logarithmic axis of cutoffs. confidence: of the intervals of the means, in percent.
    Raises GradevalError.
    """
    return draw_curve(
        qrels,
        separate_runs(runs),
        curves_of(metrics, at),
        Options.of(**options),
        log=log,
        confidence=confidence,
    )


def draw_curve(
    qrels: Any,
    runs: Sequence[tuple[str | None, Any]],
    curves: Sequence[Curve],
    options: Options,
    *,
    log: bool = False,
    confidence: float = 95.0,
    **how: Any,
) -> Curves:
    """The same with parsed arguments. how: watch and query_ids of evaluate_all()."""
    confidence = checked_confidence(confidence)
    if log and not any(curve.param == "cutoff" for curve in curves):
        raise OptionError("--log is for cutoffs in ranks, which no metric here has")
    specs = [spec for curve in curves for spec in curve.specs]
    results = complete(evaluate_all(qrels, runs, specs, options, **how))
    found = [_of_curve(results, curve, confidence) for curve in curves]
    mean, low, high, count = zip(*found, strict=True)
    return Curves(
        options={
            "metrics": [curve.name for curve in curves],
            "runs": [run.name for run in results.runs],
            "confidence": confidence,
            "evaluation": dict(results.options),
        },
        noticed=(results.notices,),
        runs_read=len(results.runs),
        note=f"{confidence:g} % t interval of the mean",
        across=len(curves),
        runs=tuple(run.name for run in results.runs),
        curves=tuple(curves),
        mean=mean,
        low=low,
        high=high,
        count=count,
        log=log,
    )


def _of_curve(results: Results, curve: Curve, confidence: float) -> tuple[Floats, Floats, Floats, Ints]:
    """Mean, low, high and count, (R, K)."""
    shape = len(results.runs), len(curve.specs)
    mean, low, high, count = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape, np.int64)
    for r in range(len(results.runs)):
        for k, spec in enumerate(curve.specs):
            values = results.values(r, spec)
            mean[r, k] = results.mean(r, spec)
            low[r, k], high[r, k] = interval_of_mean(values, float(mean[r, k]), confidence)
            count[r, k] = np.count_nonzero(~np.isnan(values))
    return mean, low, high, count


def curves_of(metrics: str | Iterable[str], at: str | None = None) -> list[Curve]:
    """The curves that metrics stand for. Raises MetricError, OptionError."""
    texts = [metrics] if isinstance(metrics, str) else list(metrics)
    specs: dict[Spec, None] = {}
    for name in (name for text in texts for name in split(text)):
        specs.update(dict.fromkeys(_specs(name, at)))
    if not specs:
        raise MetricError("no metrics given", hint="for example nDCG")
    grouped: dict[Spec, dict[float, Spec]] = {}
    for spec in specs:
        param = spec.metric.at
        value = None if param is None else spec.params.get(param.name)
        if spec.metric.kind is not Kind.MEAN or not spec.metric.per_query or param is None:
            raise MetricError(f"{spec}: a curve needs a metric with a cutoff, whose mean over queries is taken")
        if value is None:
            raise MetricError(f"{spec}: it has no cutoff, so it is a point, and no curve")
        without = Spec(spec.metric, tuple(pair for pair in spec.given if pair[0] != param.name))
        grouped.setdefault(without, {})[value] = spec
    return [_curve(without, by_value) for without, by_value in grouped.items()]


def _curve(without: Spec, by_value: dict[float, Spec]) -> Curve:
    if len(by_value) < 2:
        [spec] = by_value.values()
        raise MetricError(f"{spec}: a curve needs two cutoffs or more", hint=f"for example {without}@5,10,20")
    param = without.metric.at
    assert param is not None
    values = sorted(by_value)
    specs = tuple(by_value[value] for value in values)
    return Curve(str(without), without.display, param.name, tuple(values), specs)


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
    found: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        both = _RANGE.fullmatch(part) if part.isascii() else None
        if both is None:
            found.append(part)
            continue
        first, last = map(int, both.groups())
        if last < first:
            raise OptionError(f"--at {named(part)}: a range must increase")
        if last - first >= _MOST:
            break
        found += map(str, range(first, last + 1))
    else:
        if len(found) <= _MOST:
            return found
    raise OptionError(f"--at {named(text)}: a curve has at most {_MOST} points")
