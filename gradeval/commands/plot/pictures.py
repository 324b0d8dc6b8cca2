"""The pictures: the value of each query, curves by cutoff, φ by grade, and the curves of the study of swaps.

queries   the value of each query, the highest first; of several runs, differences from a baseline
curve     a metric by its cutoff, or precision by recall, with an interval of each mean
phi       φ of nDCGφ over the grades of a collection, or of queries, with its control points
swaps     how metrics fall as pairs of an ideal ranking are swapped, with an interval of each mean
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, distinct
from gradeval.commands.compare.compare import (
    PairComparison,
    QueryValues,
    compare_results,
    evaluate_to_compare,
    notices_of,
)
from gradeval.commands.explain.explain import phi_of
from gradeval.commands.plot.picture import Axis, Bars, Line, Panel, Picture
from gradeval.commands.study.options import SWAPS_METRICS, SwapsOptions
from gradeval.commands.study.swaps import USES
from gradeval.commands.study.swaps import swaps as study_swaps
from gradeval.commands.study.tables import Row, Table, spaced
from gradeval.compare_options import CompareOptions
from gradeval.errors import MetricError, OptionError, named
from gradeval.evaluation.evaluator import complete, evaluate_all, separate_runs
from gradeval.metrics.ndcg_phi import fitted_phi
from gradeval.notices import Notice
from gradeval.options import OF_GRADES, OF_QRELS, OF_RUNS, RUNS, Options, iterable, takes
from gradeval.registry.metric import Kind
from gradeval.registry.spec import Metrics, Spec, dotted, group_of, metric_of, parse, parse_one, single_names
from gradeval.render.document import warned
from gradeval.statistics.intervals import t_intervals
from gradeval.statistics.tests import interval_of_mean
from gradeval.tables.judgments import Judgments
from gradeval.tables.load import open_qrels
from gradeval.tables.qrels import Qrels

if TYPE_CHECKING:
    from gradeval.evaluation.results import Results
    from gradeval.keywords import Phi as PhiOptions
    from gradeval.keywords import Runs, SwapsKeywords, Unpack

__all__ = ["curve", "phi", "queries", "swaps"]

QUERIES_METRIC = "nDCG@10"
CURVE_METRIC = "nDCG"
PHI_METRIC = "nDCGphi"
POOLED = "all judgments as one query"
MEDIAN = "median of queries that reach it"
AT = "1-20"
_PAIR = ("baseline_mean", "mean", "difference", "low", "high", "p", "p_corrected", "won", "tied", "lost")
# of the parameter after '@': its symbol, the label of its axis, and the values by default
_AXES = {
    "cutoff": ("k", "Cutoff k (ranks)", AT),
    "recall": ("r", "Recall", "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"),
    "multiple": ("m", "Cutoff (multiples of R)", "0.2,0.4,0.6,0.8,1,1.2,1.4,1.6,1.8,2"),
}
_MOST = 1000  # points of a curve
_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_SAMPLES = 201  # of a curve of φ
_SHOWN = 20  # grades that people see

Curves = dict[Spec, dict[float, Spec]]
"""Metrics without the value after '@' -> the values, ascending -> the metrics with them."""


def _of_results(
    name: str, results: Results, metrics: Iterable[Spec], notices: Iterable[Notice], **options: Any
) -> dict[str, Any]:
    """The fields of a picture of runs. options: besides those of the evaluation."""
    runs = [run.name for run in results.runs]
    about = {"metrics": list(map(str, metrics)), "runs": runs, **options, "evaluation": dict(results.options)}
    return {"name": name, "options": about, "noticed": (tuple(notices),), "runs_read": len(runs)}


# --- queries


@takes(OF_RUNS)
def queries(
    qrels: Any,
    runs: Any,
    metrics: Metrics = QUERIES_METRIC,
    *,
    baseline: str | int | None = None,
    confidence: float = 95.0,
    **options: Unpack[Runs],
) -> Picture:
    """The value of each query, the highest first; of several runs, differences from a baseline.

    qrels, runs, options: as evaluate() takes them; a run may be a file of saved results (gradeval -f json -q).
    baseline: a run by name or position, by default the first. confidence: of the intervals, in percent.
    Raises GradevalError.
    """
    confidence = CompareOptions(confidence=confidence).confidence
    results, compared = evaluate_to_compare(qrels, separate_runs(runs), metrics, Options(**options))
    results.check_unweighted("the intervals of pictures")
    complete(results)
    of_results = QueryValues.of(results, compared)
    values = of_results.in_order_of_ids()
    note = f"{confidence:g} % t interval of the mean"
    if len(results.runs) > 1:
        chosen = CompareOptions(baseline=baseline, confidence=confidence, jobs=options.get("jobs", 0))
        comparison = compare_results(results, compared, chosen)
        pairs, notices = comparison.comparisons, list(comparison.notices)
        baseline = pairs[0].baseline
        corrected = f", corrected for {len(pairs)} comparisons (Holm)" if len(pairs) > 1 else ""
        note += f" difference; p of the paired t-test{corrected}"
        panels, tables = of_pairs(values, pairs)
    else:
        values.run(baseline)  # raises where there is no such run
        notices, baseline = notices_of(results, values), None
        panels, tables = _of_run(values, of_results.means[0].tolist(), confidence)
    fields = _of_results("queries", results, compared, notices, baseline=baseline, confidence=confidence)
    return warned(Picture(**fields, note=note, panels=tuple(panels), tables=tuple(tables)))


def _of_run(values: QueryValues, means: list[float], confidence: float) -> tuple[list[Panel], list[Table]]:
    panels, rows, summary = list[Panel](), list[Row](), list[Row]()
    for metric, y, mean in zip(values.metrics, values.values[0], means, strict=True):
        label = values.runs[0], metric.name
        interval = (mean, *interval_of_mean(y, mean, "t", confidence))
        bars, of_queries = _bars(values, [y], interval)
        x, y_axis = Axis(f"Queries by value ({len(bars.y)})"), Axis(metric.display, 0.0, 1.0)
        panels.append(Panel(label[0], x, y_axis, bars=bars))
        rows += [(*label, *row) for row in of_queries]
        summary.append((*label, len(bars.y), *interval))
    return panels, [
        Table("queries", "Value of each query", ("run", "metric", "position", "query", "value"), rows),
        Table("summary", "Mean over the queries", ("run", "metric", "queries", "mean", "low", "high"), summary),
    ]


def of_pairs(values: QueryValues, pairs: Sequence[PairComparison]) -> tuple[list[Panel], list[Table]]:
    """The differences of runs from a baseline. values: of the runs and metrics, queries in the order of ids."""
    panels, rows, summary = list[Panel](), list[Row](), list[Row]()
    for pair in pairs:
        label = pair.run, pair.baseline, pair.metric
        m, runs = values.metric(pair.metric), (values.run(pair.baseline), values.run(pair.run))
        sign, name = values.metrics[m].sign, values.metrics[m].display
        columns = [*(values.values[run, m] for run in runs), values.differences(*runs)[m]]
        bars, of_queries = _bars(values, columns, (pair.difference, pair.low, pair.high), sign, pair)
        title = f"{pair.run} − {pair.baseline}" + (f", {name}" if len(values.metrics) > 1 else "")
        x, y_axis = Axis(f"Queries by difference ({len(bars.y)})"), Axis(f"Difference in {name}")
        panels.append(Panel(title, x, y_axis, bars=bars))
        rows += [(*label, *row) for row in of_queries]
        summary.append((*label, pair.n, *(getattr(pair, name) for name in _PAIR)))
    labels = ("run", "baseline", "metric")
    names = (*labels, "position", "query", "baseline_value", "value", "difference")
    return panels, [
        Table("queries", "Difference of each query", names, rows),
        Table("summary", "Mean difference, paired t-test", (*labels, "queries", *_PAIR), summary),
    ]


def _bars(
    values: QueryValues,
    columns: Sequence[Floats],
    mean: tuple[float, float, float],
    sign: int = 1,
    pair: PairComparison | None = None,
) -> tuple[Bars, Iterable[Row]]:
    """The bars of the last column, and rows of position, query and all columns: the queries with a value from
    the best to the worst, equal ones by id. mean: with the ends of its interval.
    """
    y = columns[-1]
    # rounding must not decide which of two equal differences is the larger one
    worth = np.round(sign * y / (np.nanmax(np.abs(y), initial=0.0) or 1.0), 12)
    order = np.argsort(-worth, kind="stable")
    order = order[~np.isnan(y[order])]
    ids = tuple(values.queries[q] for q in order.tolist())
    numbers = (column[order].tolist() for column in columns)
    rows = zip(range(1, len(ids) + 1), ids, *numbers, strict=True)
    return Bars(ids, y[order], *mean, sign, pair), rows


# --- curves


@takes(OF_RUNS)
def curve(
    qrels: Any,
    runs: Any,
    metrics: Metrics = CURVE_METRIC,
    *,
    at: str | Iterable[float] | None = None,
    log: bool = False,
    confidence: float = 95.0,
    **options: Unpack[Runs],
) -> Picture:
    """The mean of a metric at each cutoff, or interpolated precision by recall (iprec_at_recall).

    qrels, runs, options: as evaluate() takes them. at: the values after '@', a list or as '1-20,50,100'; by
    default the cutoffs 1-20, or the recall levels 0, 0.1 … 1. Or the metrics have them: 'nDCG@5,10'. log: a
    logarithmic axis of cutoffs. confidence: of the intervals of the means, in percent.
    Raises GradevalError.
    """
    if at is not None and not isinstance(at, str):
        at = ",".join(map(str, iterable("at", at)))
    curves = curves_of(metrics, at)
    confidence = CompareOptions(confidence=confidence).confidence
    params = [metric.metric.at.name if metric.metric.at else "" for metric in curves]
    if log and "cutoff" not in params:
        raise OptionError("--log is for cutoffs in ranks, which no metric here has")
    specs = [spec for of_metric in curves.values() for spec in of_metric.values()]
    results = complete(evaluate_all(qrels, separate_runs(runs), specs, Options(**options)))
    results.check_unweighted("the intervals of pictures")
    panels: list[Panel] = []
    rows: list[Row] = []
    for param, (metric, of_metric) in zip(params, curves.items(), strict=True):
        x = [int(value) if float(value).is_integer() else value for value in of_metric]
        lines = []
        for r, run in enumerate(results.runs):
            ends = []
            for place, spec in zip(x, of_metric.values(), strict=True):
                values, mean = results.values(r, spec), float(results.mean(r, spec))
                ends.append((mean, *interval_of_mean(values, mean, "t", confidence)))
                rows.append((run.name, str(metric), place, *ends[-1], int(np.count_nonzero(~np.isnan(values)))))
            y, low, high = np.array(ends).T
            lines.append(Line(run.name, np.array(x, np.float64), y, low, high, marked=True))
        symbol, axis, _ = _AXES.get(param, (param, param, AT))
        is_precision = metric.metric.name == "iprec_at_recall"
        label = "Mean interpolated precision" if is_precision else f"Mean {metric.display}@{symbol}"
        x_axis = Axis(axis, log=log and x[0] > 0, whole=all(isinstance(place, int) for place in x))
        title = results.runs[0].name if len(results.runs) == 1 else ""
        panels.append(Panel(title, x_axis, Axis(label, *metric.metric.range), tuple(lines)))
    columns = ("run", "metric", "at", "mean", "low", "high", "queries")
    picture = Picture(
        **_of_results("curve", results, curves, results.notices, confidence=confidence),
        note=f"{confidence:g} % t interval of the mean",
        across=len(curves),
        panels=tuple(panels),
        tables=(Table("curve", "Mean over the queries at each cutoff", columns, rows),),
    )
    return warned(picture)


def curves_of(metrics: Metrics, at: str | None = None) -> Curves:
    """The curves that metrics stand for. Raises MetricError, OptionError."""
    specs: dict[Spec, None] = {}
    for name in single_names(metrics):
        if "@" in name or group_of(name) is not None or dotted(name) is not None:
            if at is not None:
                raise OptionError(f"{name} has its own cutoffs, so --at is not for it")
            specs |= dict.fromkeys(parse_one(name))
            continue
        metric = metric_of(name)
        if metric.at is None:
            hint = "for example nDCG, P, R or iprec_at_recall"
            raise MetricError(f"{name}: {metric.name} takes no cutoff, so it has no curve", hint=hint)
        *_, values = _AXES.get(metric.at.name, (AT,))
        specs |= dict.fromkeys(parse_one(f"{name}@{','.join(expanded(at or values))}"))
    curves: Curves = {}
    for spec in specs:
        param = spec.metric.at
        value = None if param is None else spec.params.get(param.name)
        if spec.metric.kind is not Kind.MEAN or not spec.metric.per_query or param is None or value is None:
            raise MetricError(f"{spec}: a curve needs a metric with a cutoff, whose mean over queries is taken")
        without = Spec(spec.metric, tuple(pair for pair in spec.given if pair[0] != param.name))
        curves.setdefault(without, {})[value] = spec
    if not curves:
        raise MetricError("no metrics given", hint="for example nDCG")
    for without, by_value in curves.items():
        if len(by_value) < 2:
            [spec] = by_value.values()
            hint = f"for example {without}@5,10,20"
            raise MetricError(f"{spec}: a curve needs two cutoffs or more", hint=hint)
        curves[without] = dict(sorted(by_value.items()))
    return curves


def expanded(text: str) -> list[str]:
    """'1-3,10,20' -> 1, 2, 3, 10, 20. Raises OptionError."""
    values: list[str] = []
    for part in map(str.strip, text.split(",")):
        ends = _RANGE.fullmatch(part)
        places = range(int(ends[1]), int(ends[2]) + 1) if ends else [part]
        if not places:
            raise OptionError(f"--at {named(part)}: a range must increase")
        values += map(str, places[: _MOST + 1])
        if len(values) > _MOST:
            raise OptionError(f"--at {named(text)}: a curve has at most {_MOST} points")
    return values


# --- φ


@takes({**Options.rows(within=OF_GRADES), **Options.rows(within=OF_QRELS, without=(RUNS,))})
def phi(
    qrels: Any,
    metric: str | Iterable[str] = PHI_METRIC,
    query: str | Sequence[str] = (),
    **options: Unpack[PhiOptions],
) -> Picture:
    """φ of nDCGφ by grade, with its control points.

    qrels, options: as evaluate() takes them. metric: nDCGphi with its parameters. query: an id, or several,
    whose φ are drawn; by default φ of all judgments as one query, and the median and the quartiles of φ over
    the queries that have the grade or a higher one. Raises GradevalError.
    """
    specs = parse(metric)
    if len(specs) != 1 or specs[0].metric.name != PHI_METRIC:
        raise MetricError(f"φ is drawn of {PHI_METRIC} alone, not of {', '.join(map(str, specs))}")
    chosen = Options(**options)
    judged = open_qrels(qrels, chosen).qrels
    params = {name: value for name, value in specs[0].given if name in ("variant", "points")}
    grades = {"all queries" if "points" in params else POOLED: judged.grade}
    if names := [query] if isinstance(query, str) else list(dict.fromkeys(map(str, query))):
        positions = judged.positions(names).tolist()
        by_query = [judged.grade[judged.offsets[q] : judged.offsets[q + 1]] for q in positions]
        grades = {f"query {name}": grade for name, grade in zip(names, by_query, strict=True)}
    lines, rows, some, points = list[Line](), list[Row](), list[Row](), list[Row]()
    for name, grade in grades.items():
        drawn = phi_of(_table(grade), params, _SAMPLES)
        x, y = np.array(drawn.curve).T
        lines.append(Line(name, x, y, points=drawn.points))
        rows += [(name, *row) for row in drawn.values[::-1]]
        some += [(name, *drawn.values[::-1][place]) for place in spaced(len(drawn.values), _SHOWN)]
        points += [(name, *point, True) for point in drawn.points]
        if drawn.whisker is not None and all(point[0] != "whisker" for point in drawn.points):
            points.append((name, "whisker", drawn.whisker, None, False))
    columns, what = ("curve", "grade", "judged", "phi", "gain"), "φ and gain 2^φ - 1 of each grade"
    longest = max(len(np.unique(grade)) for grade in grades.values())
    about = what if longest <= _SHOWN else f"{what}, {_SHOWN} of up to {longest} grades"
    tables = [
        Table("phi", what, columns, rows, shown=False),
        Table("overview", about, columns, some, data=False),
        Table("points", "Control points of φ", ("curve", "point", "grade", "phi", "control"), points),
    ]
    note = ""
    if not names and "points" not in params:
        line, table, note = _quartiles(judged, params.get("variant", "paper"))
        lines.append(line)
        tables.append(table)
    is_whole = all((grade == np.rint(grade)).all() for grade in grades.values())
    title = "" if len(lines) > 1 else lines[0].name
    picture = Picture(
        name="phi",
        options={"metrics": [str(specs[0])], "qrels": judged.path, "evaluation": chosen.to_dict()},
        noticed=(judged.notices,),
        note=note,
        tables=tuple(tables),
        panels=(Panel(title, Axis("Grade", whole=is_whole), Axis("φ", 0.0, 1.0), tuple(lines)),),
    )
    return warned(picture)


def _table(grade: Floats, offsets: Ints | None = None) -> Judgments:
    """Judgments of which nothing is retrieved; without offsets, of one query."""
    count = len(grade)
    segments = Segments(np.array([0, count]) if offsets is None else offsets)
    nowhere, nothing = np.full(count, np.inf), np.zeros(segments.count, np.int64)
    return Judgments(segments, grade, nowhere, -nowhere, np.arange(count), nothing)


def _quartiles(judged: Qrels, variant: str) -> tuple[Line, Table, str]:
    """The median and the quartiles of φ at each grade over the queries that have it or a higher one: a line, a
    table and the note. Queries without a grade above 0 are left out: their φ would be 1 for no document.
    """
    judgments = _table(judged.grade, judged.offsets)
    fitted, queries = fitted_phi(judgments, variant), np.flatnonzero(judgments.highest > 0)
    grade = distinct(np.maximum(judgments.grade, 0.0))
    if len(grade) > _SAMPLES:
        grade = np.linspace(grade[0], grade[-1], _SAMPLES)
    highest = judgments.highest[queries]
    quartiles, reach = np.full((3, len(grade)), np.nan), np.zeros(len(grade), np.int64)
    for g, value in enumerate(grade.tolist() if len(queries) else ()):
        reaching = queries[highest >= value]
        reach[g] = len(reaching)
        phis = fitted(np.full(len(reaching), value), reaching)
        quartiles[:, g] = np.quantile(phis, (0.25, 0.5, 0.75))
    q1, median, q3 = quartiles
    count = int(reach.max(initial=0))
    title = f"φ of {count} queries, of each grade over those that have it or a higher one"
    rows = list(zip(*(column.tolist() for column in (grade, *quartiles, reach)), strict=True))
    columns = ("grade", "q1", "median", "q3", "queries")
    table = Table("quartiles", title, columns, rows, shown=len(grade) <= _SHOWN)
    note = f"quartiles over the queries that reach the grade, of {count}"
    return Line(MEDIAN, grade, median, q1, q3), table, note


# --- swaps


@takes(SwapsOptions.table)
def swaps(
    metrics: Metrics = SWAPS_METRICS,
    *,
    confidence: float = 95.0,
    progress: Callable[[int, int], None] | None = None,
    **options: Unpack[SwapsKeywords],
) -> Picture:
    """How metrics fall as pairs of documents of an ideal ranking are swapped: the curves of study.swaps().

    options, progress: as it has them. confidence: of the intervals of the means over the repeats, in percent.
    Raises GradevalError.
    """
    confidence = CompareOptions(confidence=confidence).confidence
    done = study_swaps(metrics, progress=progress, **options)
    low, high = t_intervals(done.mean, done.sd, done.count, 1 - confidence / 100)
    x = np.arange(done.mean.shape[-1], dtype=np.float64)
    panels = [
        Panel(
            f"{use.capitalize()} levels",
            Axis("Swaps of two ranks", whole=True),
            Axis(f"Mean {spec.display}", *spec.metric.range),
            tuple(
                Line(f"{level} levels", x, done.mean[u, i, m], low[u, i, m], high[u, i, m])
                for i, level in enumerate(done.levels)
            ),
        )
        for m, spec in enumerate(done.specs)
        for u, use in enumerate(USES)
    ]
    curves = done.table("curves")
    # in the order of the rows: by use, metric, levels, swaps
    ends = zip(*(of.swapaxes(1, 2).reshape(-1).tolist() for of in (low, high)), strict=True)
    with_ends = replace(
        curves,
        columns=(*curves.columns[:-1], "low", "high", "seed"),
        rows=[(*row[:-1], *interval, row[-1]) for row, interval in zip(curves.rows, ends, strict=True)],
    )
    return Picture(
        name="swaps",
        options={**done.options, "confidence": confidence},
        tables=(with_ends, *(table for table in done.tables if table is not curves)),
        panels=tuple(panels),
        note=""
        if done.options["repeats"] == 1
        else f"{confidence:g} % t interval of the mean over {done.options['repeats']} repeats",
        across=len(USES),
        same_y=all(spec.metric.range[1] == 1 for spec in done.specs),
    )
