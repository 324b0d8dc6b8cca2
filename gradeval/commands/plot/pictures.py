"""The pictures: as data (panels, and tables of the numbers behind them), and what is printed of them."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from gradeval.arrays import Floats, Ints, cached_property
from gradeval.arrays.segments import Segments, distinct
from gradeval.commands.compare import compare
from gradeval.commands.compare.compare import PairComparison, QueryValues
from gradeval.commands.explain.explain import Phi as PhiOfQuery
from gradeval.commands.explain.explain import phi_of
from gradeval.commands.history.history import read_history
from gradeval.commands.plot import histories
from gradeval.commands.plot.charts import Axis, Bars, Charts, Line, Means, Panel
from gradeval.commands.study import experiments, tables
from gradeval.commands.study.options import SWAPS_METRICS, SwapsOptions
from gradeval.commands.study.tables import Row, Study, StudyTable, spaced
from gradeval.compare_options import CompareOptions
from gradeval.errors import GradevalError, InputError, MetricError, OptionError, named, visible
from gradeval.evaluation.evaluation import OnErrors, accepted, check_errors, evaluate_all
from gradeval.evaluation.loaded import results_of
from gradeval.evaluation.plan import Plan
from gradeval.evaluation.results import Results, notices_warned
from gradeval.evaluation.runs import separate_runs, with_saved
from gradeval.notices import Notice, NoticeKind
from gradeval.options import OF_GRADES, OF_QRELS, OF_RUNS, RUNS, Options, iterable, takes, whole
from gradeval.records import grouped
from gradeval.registry.spec import Metrics, Spec, dotted, group_of, metric_of, parse, parse_one, single_names
from gradeval.render import Digits
from gradeval.render.document import (
    ABSENT,
    Block,
    Grid,
    Lines,
    OutputDocument,
    RenderOptions,
    Sentences,
    StyledLine,
    number,
    probability,
    signed,
)
from gradeval.render.printable import warned
from gradeval.render.table import GAP, text_width
from gradeval.statistics.intervals import t_intervals
from gradeval.statistics.tests import interval_of_mean
from gradeval.tables.judgments import Judgments
from gradeval.tables.load import check_inputs, open_qrels, source_of
from gradeval.tables.terms import RelevanceFunction

if TYPE_CHECKING:
    from gradeval.keywords import PhiKeywords, Runs, SwapsKeywords, Unpack

PHI = "nDCGphi"
POOLED = "all judgments as one query"
MEDIAN = "median of queries that reach it"
AT = "1-20"
WIDTH = 80  # of a drawing in characters
_PAIR = ("baseline_mean", "mean", "difference", "low", "high", "p", "p_corrected", "won", "tied", "lost")
# of the parameter after '@': its symbol, the label of its axis, and the values by default
_AXES = {
    "cutoff": ("k", "Cutoff k (ranks)", AT),
    "recall": ("r", "Recall", "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"),
    "multiple": ("m", "Cutoff (multiples of R)", "0.2,0.4,0.6,0.8,1,1.2,1.4,1.6,1.8,2"),
}
_MOST = 1000  # points of a curve
_SAMPLES = 201  # of a curve of φ
_SHOWN = 20  # grades that people see
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_BELOW = " (below 0)"
_MOST_ENDS = 5  # queries that are named at either end
_MOST_VALUES = 6  # columns of the values of curves
_LEAST_WIDTH = 10  # of a drawing beside names and numbers
_WITH_DRAWING = frozenset((0, 1))  # columns of names and of drawings
_GAP = "|"  # between entries with other signatures

Curves = dict[Spec, dict[float, Spec]]  # metric without '@value' -> value, ascending -> metric with it


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Picture(Charts, Study):
    """A study that is drawn."""

    layout = "gradeval.commands.plot.pictures"
    _for_layouts = ("across", "panels", "same_y")

    kind: ClassVar[str] = "plot"

    _repr_html_ = None  # type: ignore[assignment]  # notebooks prefer it, and would not show the picture

    def _repr_svg_(self) -> str:
        return self.image("svg")[0].decode()

    def _repr_png_(self) -> bytes:
        return self.image("png")[0]

    @cached_property
    def figure(self) -> Any:
        """The figure of matplotlib, which save() and notebooks show with what is changed in it. Requires
        matplotlib. Raises GradevalError.
        """
        return drawing().drawn(self)

    @property
    def axes(self) -> list[Any]:
        """The Axes of the charts in the figure, row by row, for labels and lines of your own."""
        return list(self.figure.axes)

    def image(self, format: str, size: tuple[float, float] | None = None) -> tuple[bytes, list[Notice]]:
        """The file, and a notice about characters that the font lacks. Raises GradevalError."""
        data, missing = drawing().image(self, format, size, self.__dict__.get("figure"))
        shown = missing[:10] + "…" * (len(missing) > 10)
        return data, [Notice(NoticeKind.NO_GLYPHS, "", 0, rule=shown)] if missing else []

    def save(self, path: str | os.PathLike[str], *, size: tuple[float, float] | None = None) -> None:
        """Save it as an SVG, PNG or PDF file, by the ending of the path. size: width and height in inches.
        Requires matplotlib: pip install 'gradeval[plot]'. Raises GradevalError.
        """
        from gradeval.formats.output import OutputFile

        path = os.fspath(path)
        format = format_of(path)
        file = OutputFile(path, (), "save")
        data, notices = self.image(format, size)
        for notice in notices:
            warnings.warn(str(notice), stacklevel=2)
        file.write(data)


def format_of(path: str, option: str = "save") -> str:
    """'svg', 'png' or 'pdf', by the ending of the path. Raises OptionError."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in (".svg", ".png", ".pdf"):
        reason = f"unknown ending '{ending}'" if ending else "no ending"
        raise OptionError(f"{option} {path}: {reason}. The endings are .svg, .png and .pdf")
    return ending[1:]


def drawing() -> Any:
    """The module that draws with matplotlib. Raises GradevalError where that is not installed."""
    try:
        with warnings.catch_warnings():
            # those of matplotlib's modules, which --strict would make errors, are not about results
            warnings.simplefilter("ignore")
            return import_module("gradeval.commands.plot.figure")
    except ImportError:
        reason = "matplotlib, which saves pictures, is not installed"
        raise GradevalError(f"{reason}. Install it with pip install 'gradeval[plot]'") from None


# --- means


@takes(OF_RUNS)
def means(
    qrels: Any,
    runs: Any = None,
    metrics: Metrics | None = None,
    *,
    confidence: float = 95.0,
    errors: OnErrors = "raise",
    **options: Unpack[Runs],
) -> Picture:
    """The mean of each run with its interval, by each metric.

        >>> gradeval.plot.means("qrels.txt", ["bm25.run", "dense.run"], "nDCG@10 AP").save("means.pdf")

    qrels, runs: as compare() takes them, or results alone. metrics: by default nDCG@10 and AP, of results alone
    all. confidence: of the t intervals, in %. errors, options: as of evaluate(). Raises GradevalError.
    """
    check_errors(errors)
    confidence = CompareOptions(confidence=confidence).confidence
    separate = None if runs is None else separate_runs(runs)
    results, specs = compare.evaluate_to_compare(qrels, separate, metrics, Options(**options))
    accepted(results, errors if separate else "keep")
    names = tuple(run.name for run in results.runs)
    panels, rows = [], []
    for spec in specs:
        of_runs = [_mean_of(results, r, spec, confidence) for r in range(len(results.runs))]
        mean, low, high, _ = np.array(of_runs, np.float64).T
        panels.append(Panel("", Axis(f"Mean {spec.display}"), Axis(""), means=Means(names, mean, low, high)))
        rows += [(name, str(spec), *row) for name, row in zip(names, of_runs, strict=True)]
    columns = ("run", "metric", "mean", "low", "high", "queries")
    notices = results.notices.of_metrics(set(map(str, specs)))
    picture = Picture(
        **tables.fields_of("means", results, specs, notices, runs=[*names], confidence=confidence),
        note=f"{confidence:g} % t interval of the mean",
        across=min(len(panels), 3),
        panels=tuple(panels),
        tables=(StudyTable("means", "Mean over the queries", columns, rows),),
    )
    return warned(picture, notices_warned(qrels, runs))


class _Mean(NamedTuple):
    """The mean of a run with its interval, and how many queries have a value."""

    mean: float
    low: float
    high: float
    queries: int


def _mean_of(results: Results, r: int, spec: Spec, confidence: float) -> _Mean:
    values = results.values(r, spec)
    mean = float(results.mean(r, spec))
    limits = interval_of_mean(values, mean, "t", confidence, bounds=spec.metric.limits, weights=results.weights)
    return _Mean(mean, *limits, int(np.count_nonzero(~np.isnan(values))))


# --- queries


@takes(OF_RUNS)
def queries(
    qrels: Any,
    runs: Any = None,
    metrics: Metrics | None = None,
    *,
    baseline: str | int | None = None,
    confidence: float = 95.0,
    errors: OnErrors = "raise",
    **options: Unpack[Runs],
) -> Picture:
    """The value of each query, the highest first; of several runs, differences from a baseline.

        >>> gradeval.plot.queries("qrels.txt", ["bm25.run", "dense.run"]).table("summary").to_pandas()

    qrels, runs: as compare() takes them, or results alone. metrics: by default nDCG@10, of results alone all.
    baseline: a run by name or position; None: the first. confidence: of intervals, in %. errors, options: as of
    evaluate(). Raises GradevalError.
    """
    check_errors(errors)
    confidence = CompareOptions(confidence=confidence).confidence
    separate = None if runs is None else separate_runs(runs)
    metrics = "nDCG@10" if metrics is None and separate else metrics
    results, specs = compare.evaluate_to_compare(qrels, separate, metrics, Options(**options))
    if separate and errors == "keep":
        compare.check_baseline(results, separate, CompareOptions(baseline=baseline))
    accepted(results, errors if separate else "keep")
    of_results = QueryValues.of(results, specs)
    values = of_results.in_order_of_ids()
    note = f"{confidence:g} % t interval of the mean"
    if len(results.runs) > 1:
        chosen = CompareOptions(
            baseline=baseline, confidence=confidence, min_coverage=0.0, jobs=options.get("jobs", 0)
        )
        comparison = compare.compare_results(results, specs, chosen)
        pairs = comparison.comparisons
        notices = list(comparison.notices)
        baseline = pairs[0].baseline
        corrected = f", corrected for {len(pairs)} comparisons (Holm)" if len(pairs) > 1 else ""
        note += f" difference; p of the paired t-test{corrected}"
        panels, numbers = of_pairs(values, pairs)
    else:
        values.run(baseline)  # raises where there is no such run
        notices = [*compare.notices_of(results, values)]
        baseline = None
        empty = [compare.without_relevant(results, spec) for spec in specs]
        panels, numbers = _of_run(values, of_results.means[0].tolist(), confidence, empty)
    fields = tables.fields_of(
        "queries", results, specs, notices, runs=[*values.runs], baseline=baseline, confidence=confidence
    )
    return warned(
        Picture(**fields, note=note, panels=tuple(panels), tables=tuple(numbers)), notices_warned(qrels, runs)
    )


def _of_run(
    values: QueryValues, means: list[float], confidence: float, empty: Sequence[Collection[str]]
) -> tuple[list[Panel], list[StudyTable]]:
    """empty: the queries without a document that is relevant to each metric."""
    panels, rows, summary = [], [], []
    run = values.runs[0]
    for metric, y, mean, without in zip(values.metrics, values.values[0], means, empty, strict=True):
        interval = (mean, *interval_of_mean(y, mean, "t", confidence, bounds=metric.bounds))
        ids, heights, of_queries = _best_first(values, [y])
        axes = Axis(f"Queries by value ({len(ids)})"), Axis(metric.display, 0.0, 1.0)
        panels.append(Panel(run, *axes, bars=Bars(ids, heights, *interval, without_relevant=without)))
        summary.append((run, metric.name, len(ids), *interval))
        rows += [(run, metric.name, *row) for row in of_queries]
    return panels, [
        StudyTable("queries", "Value of each query", ("run", "metric", "position", "query", "value"), rows),
        StudyTable(
            "summary", "Mean over the queries", ("run", "metric", "queries", "mean", "low", "high"), summary
        ),
    ]


def of_pairs(values: QueryValues, pairs: Sequence[PairComparison]) -> tuple[list[Panel], list[StudyTable]]:
    """The differences of runs from a baseline. values: of the runs and metrics, queries in the order of ids."""
    panels, rows, summary = [], [], []
    for pair in pairs:
        label = pair.run, pair.baseline, pair.metric
        m = values.metric(pair.metric)
        runs = (values.run(pair.baseline), values.run(pair.run))
        metric = values.metrics[m]
        columns = [*(values.values[run, m] for run in runs), values.differences(*runs)[m]]
        ids, heights, of_queries = _best_first(values, columns, metric.sign)
        bars = Bars(ids, heights, pair.difference, pair.low, pair.high, sign=metric.sign, pair=pair)
        axes = Axis(f"Queries by difference ({len(ids)})"), Axis(f"Difference in {metric.display}")
        title = f"{pair.run} − {pair.baseline}" + (f", {metric.display}" if len(values.metrics) > 1 else "")
        panels.append(Panel(title, *axes, bars=bars))
        rows += [(*label, *row) for row in of_queries]
        summary.append((*label, pair.n, *(getattr(pair, name) for name in _PAIR)))
    labels = ("run", "baseline", "metric")
    names = (*labels, "position", "query", "baseline_value", "value", "difference")
    return panels, [
        StudyTable("queries", "Difference of each query", names, rows),
        StudyTable("summary", "Mean difference, paired t-test", (*labels, "queries", *_PAIR), summary),
    ]


def _best_first(
    values: QueryValues, columns: Sequence[Floats], sign: int = 1
) -> tuple[tuple[str, ...], Floats, Iterable[Row]]:
    """The queries with a value in the last column, equal ones by id; these values; rows with all columns."""
    order = compare.lowest(-sign * columns[-1], len(columns[-1]))
    ids = tuple(values.queries[q] for q in order)
    rows = zip(range(1, len(ids) + 1), ids, *(column[order].tolist() for column in columns), strict=True)
    return ids, columns[-1][order], rows


# --- curves


@takes(OF_RUNS)
def curve(
    qrels: Any,
    runs: Any = None,
    metrics: Metrics | None = None,
    *,
    at: str | Iterable[float] | None = None,
    log: bool = False,
    confidence: float = 95.0,
    errors: OnErrors = "raise",
    **options: Unpack[Runs],
) -> Picture:
    """The mean of a metric at each cutoff, or interpolated precision by recall (iprec_at_recall).

        >>> gradeval.plot.curve("qrels.txt", ["bm25.run", "dense.run"], "nDCG", at="1-20").save("curve.svg")

    qrels, runs: as compare() takes them, or results alone. metrics: by default nDCG, of results alone those
    that have two cutoffs or more. at: the values after '@', a list or as '1-20,50,100'; by default the cutoffs
    1-20, or the recall levels 0, 0.1 … 1. Or the metrics have them: 'nDCG@5,10'. log: a logarithmic axis of
    cutoffs. confidence: of the intervals of the means, in percent. errors, options: as of
    evaluate(). Raises GradevalError.
    """
    check_errors(errors)
    at = at if at is None or isinstance(at, str) else ",".join(map(str, iterable("at", at)))
    chosen = Options(**options)
    evaluated = results_of(qrels, chosen) if runs is None else None
    names = _metrics_of_curves(evaluated) if metrics is None else metrics
    curves = curves_of(names if evaluated is None or at is not None else _evaluated_at(names, evaluated), at)
    confidence = CompareOptions(confidence=confidence).confidence
    params = [metric.metric.at.name if metric.metric.at else "" for metric in curves]
    if log and "cutoff" not in params:
        raise OptionError("--log is for cutoffs in ranks, which no metric here has")
    specs = [spec for of_metric in curves.values() for spec in of_metric.values()]
    results = evaluated or accepted(
        evaluate_all(Plan(specs, chosen), *with_saved(qrels, separate_runs(runs))), errors
    )
    panels = []
    rows = list[Row]()
    for metric, of_metric in curves.items():
        of_runs = [_means_at(results, r, of_metric, confidence) for r in range(len(results.runs))]
        panels.append(_curve_panel(metric, results, of_runs, log))
        for run, means in zip(results.runs, of_runs, strict=True):
            rows += [(run.name, str(metric), *row) for row in means]
    columns = ("run", "metric", "at", "mean", "low", "high", "queries")
    picture = Picture(
        **tables.fields_of(
            "curve",
            results,
            curves,
            results.notices,
            runs=[run.name for run in results.runs],
            confidence=confidence,
        ),
        note=f"{confidence:g} % t interval of the mean",
        across=len(curves),
        panels=tuple(panels),
        tables=(StudyTable("curve", "Mean over the queries at each cutoff", columns, rows),),
    )
    return warned(picture, notices_warned(qrels, runs))


def _means_at(
    results: Results, r: int, by_cutoff: Mapping[float, Spec], confidence: float
) -> list[tuple[float, ...]]:
    """The cutoffs, each with the mean of a run."""
    return [
        (int(value) if float(value).is_integer() else value, *_mean_of(results, r, spec, confidence))
        for value, spec in by_cutoff.items()
    ]


def _curve_panel(
    metric: Spec, results: Results, of_runs: Sequence[list[tuple[float, ...]]], log: bool
) -> Panel:
    """metric: without its cutoff. of_runs: the means of each run."""
    lines = []
    for run, means in zip(results.runs, of_runs, strict=True):
        x, y, low, high, _ = np.array(means, np.float64).T
        lines.append(Line(run.name, x, y, low, high, marked=True))
    param = metric.metric.at.name if metric.metric.at else ""
    symbol, axis, _ = _AXES.get(param, (param, param, AT))
    is_precision = metric.metric.name == "iprec_at_recall"
    label = "Mean interpolated precision" if is_precision else f"Mean {metric.display}@{symbol}"
    cutoffs = [cutoff for cutoff, *_ in of_runs[0]]
    x_axis = Axis(axis, log=log and cutoffs[0] > 0, whole=all(isinstance(cutoff, int) for cutoff in cutoffs))
    title = results.runs[0].name if len(results.runs) == 1 else ""
    return Panel(title, x_axis, Axis(label, *metric.metric.range), tuple(lines))


def _metrics_of_curves(results: Results | None) -> Metrics:
    """The metrics by default: nDCG, or of results those that have two cutoffs or more."""
    if results is None:
        return "nDCG"
    at_cutoffs = (spec for spec in results.specs if tables.is_averaged(spec) and _cutoff(spec) is not None)
    by_metric = grouped((_without_cutoff(spec), str(spec)) for spec in at_cutoffs)
    names = [name for of_metric in by_metric.values() if len(of_metric) > 1 for name in of_metric]
    if not names:
        raise MetricError("no metric of the results has two cutoffs or more", hint="for example nDCG@5,10,20")
    return names


def _cutoff(spec: Spec) -> float | None:
    """The value after '@', None without one."""
    return None if spec.metric.at is None else spec.params.get(spec.metric.at.name)


def _without_cutoff(spec: Spec) -> Spec:
    param = spec.metric.at
    return Spec(spec.metric, tuple(pair for pair in spec.given if param is None or pair[0] != param.name))


def _evaluated_at(metrics: Metrics, results: Results) -> list[str]:
    """The metrics, a name without a cutoff as those of it that the results have with two cutoffs or more."""
    names = []
    for name in single_names(metrics):
        evaluated = [str(spec) for spec in results.specs if str(spec).lower().startswith(f"{name.lower()}@")]
        names += evaluated if len(evaluated) > 1 else [name]
    return names


def curves_of(metrics: Metrics, at: str | None = None) -> Curves:
    """The curves that metrics stand for. Raises MetricError, OptionError."""
    curves: Curves = {}
    for spec in _curve_specs(metrics, at):
        cutoff = _cutoff(spec)
        if not tables.is_averaged(spec) or cutoff is None:
            raise MetricError(f"{spec}: a curve needs a metric with a cutoff, whose mean over queries is taken")
        curves.setdefault(_without_cutoff(spec), {})[cutoff] = spec
    if not curves:
        raise MetricError("no metrics given", hint="for example nDCG")
    for metric, by_cutoff in curves.items():
        if len(by_cutoff) < 2:
            [spec] = by_cutoff.values()
            hint = f"for example {metric}@5,10,20"
            raise MetricError(f"{spec}: a curve needs two cutoffs or more", hint=hint)
        curves[metric] = dict(sorted(by_cutoff.items()))
    return curves


def _curve_specs(metrics: Metrics, at: str | None) -> list[Spec]:
    """The metrics with their cutoffs, or with those of `at`. Raises MetricError, OptionError."""
    specs = []
    for name in single_names(metrics):
        if "@" in name or group_of(name) is not None or dotted(name) is not None:
            if at is not None:
                raise OptionError(f"{name} has its own cutoffs, so --at is not for it")
            specs += parse_one(name)
            continue
        metric = metric_of(name)
        if metric.at is None:
            hint = "for example nDCG, P, R or iprec_at_recall"
            raise MetricError(f"{name}: {metric.name} takes no cutoff, so it has no curve", hint=hint)
        *_, values = _AXES.get(metric.at.name, (AT,))
        specs += parse_one(f"{name}@{','.join(expanded(at or values))}")
    return specs


def expanded(text: str) -> list[str]:
    """'1-3,10,20' -> 1, 2, 3, 10, 20. Raises OptionError."""
    values: list[str] = []
    for part in map(str.strip, text.split(",")):
        bounds = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", part)
        places = range(int(bounds[1]), int(bounds[2]) + 1) if bounds else [part]
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
    metric: str | Iterable[str] = PHI,
    query: str | Sequence[str] = (),
    **options: Unpack[PhiKeywords],
) -> Picture:
    """φ of nDCGφ by grade, with its control points.

        >>> gradeval.plot.phi("qrels.txt", query="401").save("phi.pdf")

    qrels, options: as evaluate() takes them. metric: nDCGphi, or another with φ, and its parameters. query: an
    id, or several, whose φ are drawn; by default φ of all judgments as one query, and the median and the
    quartiles of φ over the queries that have the grade or a higher one. Raises GradevalError.
    """
    specs = parse(metric)
    chosen = Options(**options)
    check_inputs([("qrels", qrels)], chosen)
    judged = open_qrels(qrels, chosen).qrels
    whole = _table(judged.grade, judged.offsets)
    of_queries = _relevance_function(specs, whole)
    names = [query] if isinstance(query, str) else list(dict.fromkeys(map(str, query)))
    grades = {"all queries" if of_queries.whisker is None else POOLED: judged.grade}
    if names:
        grades = {
            f"query {name}": judged.grade[judged.offsets[q] : judged.offsets[q + 1]]
            for name, q in zip(names, judged.positions(names).tolist(), strict=True)
        }
    drawn = {}
    for name, grade in grades.items():
        table = _table(grade, np.array([0, len(grade)]))
        drawn[name] = phi_of(_relevance_function(specs, table), table, _SAMPLES)
    lines = []
    for name, phi_of_query in drawn.items():
        x, y = np.array(phi_of_query.curve).T
        lines.append(Line(name, x, y, points=phi_of_query.points))
    numbers = _phi_tables(drawn, longest=max(len(np.unique(grade)) for grade in grades.values()))
    note = ""
    if not names and of_queries.whisker is not None:
        line, quartiles, note = _quartiles(of_queries, whole)
        lines.append(line)
        numbers.append(quartiles)
    is_whole = all((grade == np.rint(grade)).all() for grade in grades.values())
    title = "" if len(lines) > 1 else lines[0].name
    picture = Picture(
        name="phi",
        options={"metrics": [str(specs[0])], "qrels": judged.path, "evaluation": chosen.to_dict()},
        noticed=(judged.notices,),
        note=note,
        tables=tuple(numbers),
        panels=(Panel(title, Axis("Grade", whole=is_whole), Axis("φ", 0.0, 1.0), tuple(lines)),),
    )
    return warned(picture)


def _phi_tables(drawn: Mapping[str, PhiOfQuery], longest: int) -> list[StudyTable]:
    """The numbers of the curves of φ, by name. longest: the most different grades of one."""
    rows, overview, points = list[Row](), list[Row](), list[Row]()
    for name, phi in drawn.items():
        of_grades = [(name, *row) for row in phi.values[::-1]]
        rows += of_grades
        overview += (of_grades[position] for position in spaced(len(of_grades), _SHOWN))
        points += [(name, *point, True) for point in phi.points]
        if phi.whisker is not None and all(point[0] != "whisker" for point in phi.points):
            points.append((name, "whisker", phi.whisker, None, False))
    columns = ("curve", "grade", "judged", "phi", "gain")
    caption = "φ and gain 2^φ - 1 of each grade"
    some = caption if longest <= _SHOWN else f"{caption}, {_SHOWN} of up to {longest} grades"
    return [
        StudyTable("phi", caption, columns, rows, shown=False),
        StudyTable("overview", some, columns, overview, data=False),
        StudyTable("points", "Control points of φ", ("curve", "point", "grade", "phi", "control"), points),
    ]


def _table(grade: Floats, offsets: Ints) -> Judgments:
    """Judgments of which nothing is retrieved."""
    count = len(grade)
    segments = Segments(offsets)
    nowhere = np.full(count, np.inf)
    nothing = np.zeros(segments.count, np.int64)
    return Judgments(segments, grade, nowhere, -nowhere, document=np.arange(count), retrieved=nothing)


def _relevance_function(specs: Sequence[Spec], judgments: Judgments) -> RelevanceFunction:
    """φ of the one metric. Raises MetricError."""
    terms = specs[0].metric.terms(judgments, **specs[0].params) if len(specs) == 1 else None
    function = None if terms is None else terms.details().phi
    if function is None:
        names = ", ".join(map(str, specs))
        raise MetricError(f"φ is drawn of one metric with gains made from it, such as {PHI}, not of {names}")
    return function


def _quartiles(function: RelevanceFunction, judgments: Judgments) -> tuple[Line, StudyTable, str]:
    """The median and the quartiles of φ at each grade over the queries that have it or a higher one."""
    # without a grade above 0, φ would be 1 for no document
    queries = np.flatnonzero(judgments.highest > 0)
    grade = distinct(np.maximum(judgments.grade, 0.0))
    if len(grade) > _SAMPLES:
        grade = np.linspace(grade[0], grade[-1], _SAMPLES)
    quartiles = np.full((3, len(grade)), np.nan)
    reach = np.zeros(len(grade), np.int64)
    for g, value in enumerate(grade.tolist() if len(queries) else ()):
        reaching = queries[judgments.highest[queries] >= value]
        reach[g] = len(reaching)
        quartiles[:, g] = np.quantile(function.of(np.full(len(reaching), value), reaching), (0.25, 0.5, 0.75))
    q1, median, q3 = quartiles
    count = int(reach.max(initial=0))
    title = f"φ of {count} queries, of each grade over those that have it or a higher one"
    rows = list(zip(*(column.tolist() for column in (grade, *quartiles, reach)), strict=True))
    columns = ("grade", "q1", "median", "q3", "queries")
    table = StudyTable("quartiles", title, columns, rows, shown=len(grade) <= _SHOWN)
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

        >>> gradeval.plot.swaps("nDCG rankDCG", levels=[3, 5]).save("swaps.pdf")

    metrics, options, progress: as there. confidence: of the intervals of the means, in percent. Raises
    GradevalError.
    """
    confidence = CompareOptions(confidence=confidence).confidence
    done = experiments.swaps(metrics, progress=progress, **options)
    specs = parse(done.options["metrics"])
    repeats = done.options["repeats"]
    low, high = t_intervals(done.mean, done.sd, done.count, 1 - confidence / 100)
    lowest, highest = np.array([spec.metric.limits for spec in specs]).T[:, :, None]  # (M, 1) each
    low, high = np.maximum(low, lowest), np.minimum(high, highest)
    x = np.arange(done.mean.shape[-1], dtype=np.float64)
    panels = []
    for (m, spec), (u, use) in product(enumerate(specs), enumerate(experiments.USES)):
        lines = (
            Line(f"{level} levels", x, *(statistic[u, i, m] for statistic in (done.mean, low, high)))
            for i, level in enumerate(done.options["levels"])
        )
        axes = Axis("Swaps of two ranks", whole=True), Axis(f"Mean {spec.display}", *spec.metric.range)
        panels.append(Panel(f"{use.capitalize()} levels", *axes, tuple(lines)))
    curves = done.table("curves")
    # in the order of the rows: by use, metric, levels, swaps
    intervals = zip(*(statistic.swapaxes(1, 2).reshape(-1).tolist() for statistic in (low, high)), strict=True)
    rows = [(*row[:-1], *interval, row[-1]) for row, interval in zip(curves.rows, intervals, strict=True)]
    with_ends = replace(curves, columns=(*curves.columns[:-1], "low", "high", "seed"), rows=rows)
    return Picture(
        name="swaps",
        options={**done.options, "confidence": confidence},
        tables=(with_ends, *(table for table in done.tables if table is not curves)),
        panels=tuple(panels),
        note=f"{confidence:g} % t interval of the mean over {repeats} repeats" if repeats > 1 else "",
        across=len(experiments.USES),
        same_y=all(spec.metric.range[1] == 1 for spec in specs),
    )


# --- history


def history(file: Any, metrics: Metrics | None = None, *, last: int | None = None) -> Picture:
    """How means went over time: the lines of a history, with intervals, the bounds of gates, and a gap where
    the signature of a mean differs from that before.

        >>> gradeval.plot.history("history.jsonl", "nDCG@10", last=30).save("history.svg")

    file: what gradeval --history FILE appends to, or JSON Lines of -f jsonl. metrics: those that are drawn, by
    default all. last: so many entries only. Raises InputError(s), MetricError, OptionError.
    """
    means = read_history(source_of(file))
    path = source_of(file).name
    if not means:
        raise InputError(path, "no means in the file", hint="gradeval --history FILE appends some")
    if metrics is not None:
        names = histories.names_in(means, path, metrics)
        means = [mean for mean in means if mean.metric in names]
    if last is not None:
        first = means[-1].entry + 1 - whole("last", last, 1, 10**9)
        means = [mean for mean in means if mean.entry >= first]
    series = histories.series_of(means)
    panels = tuple(histories.panels_of(series))
    names, runs = (list(dict.fromkeys(part)) for part in zip(*series, strict=True))
    return Picture(
        name="history",
        options={"metrics": names, "runs": runs, "history": path, **({"last": last} if last else {})},
        tables=tuple(histories.tables_of(series)),
        panels=panels,
        note="intervals of the means; dotted: bounds of gates; a gap: another signature",
    )


# --- the document


def document(picture: Picture, options: RenderOptions, *, table: str | None = None) -> OutputDocument:
    """table: which one tsv and csv print, by default the first. Queries and curves are drawn in characters."""
    numbers = tables.document(picture, options, table=table)
    if picture.name in ("phi", "swaps"):
        return numbers

    def blocks() -> Iterator[Block]:
        if picture.name == "history":
            yield from _of_history(picture, options)
            yield from numbers.blocks() if numbers.blocks else ()
            return
        for panel in picture.panels:
            if panel.bars is None:
                draw = _curves if panel.means is None else _intervals
                yield draw(panel, options)
                continue
            yield StyledLine(f"{visible(panel.title)}: {visible(panel.y.label)}", "strong")
            if len(panel.bars.y):
                yield Lines(_bars(panel.bars, min(options.width or WIDTH, WIDTH) - len(_BELOW)))
            yield Sentences(list(_of_bars(panel.bars, options.digits)))
        yield StyledLine(f"Intervals: {picture.note}.", "dim")

    return numbers.replace(blocks=blocks)


def _bars(bars: Bars, width: int) -> list[str]:
    """A column for each query, or the mean of several; what is below 0 has a line of its own."""
    y = _sampled(bars.y, width)
    largest = float(np.abs(y).max())
    below = [_drawn(-y, 0.0, largest) + _BELOW] if (y < 0).any() else []
    return [line for line in (_drawn(y, 0.0, largest).rstrip(), *below) if line]


def _sampled(y: Floats, width: int) -> Floats:
    """The values, or the means of neighbours where there are more than the width."""
    edges = np.linspace(0, len(y), min(len(y), width) + 1).round().astype(int)
    means: Floats = np.add.reduceat(y, edges[:-1]) / np.diff(edges)
    return means


def _drawn(y: Floats, low: float, high: float) -> str:
    """A character for each value, as high as its share of the range; a blank for NaN, and below the range."""
    share = np.nan_to_num((y - low) / ((high - low) or 1.0), nan=-1.0).clip(-1.0, 1.0)
    eighths = np.where(share > 1e-9, np.maximum(np.rint(share * 8), 1), 0).astype(int)  # what is not 0 is seen
    return "".join(_EIGHTHS[eighth] for eighth in eighths.tolist())


def _of_bars(bars: Bars, digits: Digits) -> Iterator[str]:
    count = len(bars.y)
    pair = bars.pair
    if not count:
        yield "No query has a value."
        return
    write = number if pair is None else signed
    mean, low, high = (write(value, digits) for value in (bars.mean, bars.low, bars.high))
    interval = "" if math.isnan(bars.low) else f", interval {low} to {high}"
    if pair is None:
        yield f"Mean of {count} {'query' if count == 1 else 'queries'}: {mean}{interval}."
    else:
        p = "" if math.isnan(pair.p_corrected) else f", p {probability(pair.p_corrected, digits)}"
        means = " and ".join(number(mean, digits) for mean in (pair.baseline_mean, pair.mean))
        yield f"Won {pair.won}, tied {pair.tied}, lost {pair.lost}. Means {means}."
        yield f"Difference {mean}{interval}{p}."
    for group, extremes in _extremes(bars).items():
        if extremes:
            texts = (f"{visible(query)} {write(value, digits)}" for query, value in extremes)
            yield f"{group}: {', '.join(texts)}."


def _extremes(bars: Bars) -> dict[str, list[tuple[str, float]]]:
    """The first and the last queries with their values, or all where there are few."""
    queries = list(zip(bars.queries, bars.y.tolist(), strict=True))
    if len(queries) <= 2 * _MOST_ENDS:
        return {"Queries": queries}
    first = queries[:_MOST_ENDS]
    last = queries[: -_MOST_ENDS - 1 : -1]
    if bars.pair is None:
        ascending = queries[::-1]
        lowest = sorted(ascending, key=lambda pair: pair[0] in bars.without_relevant)
        return {"Highest": first, "Lowest": lowest[:_MOST_ENDS]}
    return {
        "Won most": [(query, value) for query, value in first if value * bars.sign > 0],
        "Lost most": [(query, value) for query, value in last if value * bars.sign < 0],
    }


def _intervals(panel: Panel, options: RenderOptions) -> Grid:
    """The mean of each run with its interval, on one scale for all."""
    means = panel.means
    assert means is not None
    columns = np.array([means.mean, means.low, means.high])
    texts = [[number(x, options.digits) for x in column] for column in columns.tolist()]
    names = list(map(visible, means.names))
    last = _drawing_width([names, *texts], options.width)
    low, high = _ends(columns)
    drawings = []
    for numbers in columns.T.tolist():
        defined = (
            x for x in numbers if not math.isnan(x)
        )  # the mean alone, or none, where there is no interval
        positions = [round(last * (x - low) / ((high - low) or 1.0)) for x in defined]
        drawings.append(_drawn_interval(*positions))
    head = ("run", "interval", "mean", "low", "high")
    rows = list(zip(names, drawings, *texts, strict=True))
    return Grid(visible(panel.x.label), head, rows, left_columns=_WITH_DRAWING)


def _drawing_width(columns: Sequence[Sequence[str]], width: int | None) -> int:
    """What names of runs, in the first of the columns, and numbers beside them leave to a drawing."""
    if width is None:
        return WIDTH // 2
    names, *numbers = (max(map(text_width, column)) + len(GAP) for column in columns)
    room = width - min(names, width // 2) - sum(numbers) - 1
    return max(min(room, WIDTH // 2), _LEAST_WIDTH)


def _drawn_interval(mean: int | None = None, *limits: int) -> str:
    """├──●──┤ with its characters at these positions: ● alone without limits, nothing without a mean."""
    if mean is None:
        return ""
    first, last = limits or (mean, mean)
    drawn = {**dict.fromkeys(range(first, last + 1), "─"), first: "├", last: "┤", mean: "●"}
    return "".join(drawn.get(column, " ") for column in range(last + 1))


def _ends(values: Floats) -> tuple[float, float]:
    """The smallest and the largest value that is not NaN, 0 where there is none."""
    defined = values[~np.isnan(values)]
    return (float(defined.min()), float(defined.max())) if len(defined) else (0.0, 0.0)


def _ends_of_lines(lines: Iterable[Line]) -> tuple[float, float]:
    """Those of one scale for all lines, from a little below the lowest value, so that it is seen."""
    low, high = _ends(np.concatenate([line.y for line in lines]))
    return low - (high - low or 1.0) / 8, high


def _curves(panel: Panel, options: RenderOptions) -> Grid:
    """The curve of each run, on one scale for all, and its values at some of the cutoffs."""
    lines = panel.lines
    digits = options.digits
    x = panel.lines[0].x
    places = spaced(len(x), _MOST_VALUES)
    low, high = _ends_of_lines(lines)
    width = _drawing_width([[visible(line.name) for line in lines]], options.width)
    rows = []
    for line in lines:
        last_interval = [number(float(end[-1]), digits) for end in (line.low, line.high) if end is not None]
        interval = ABSENT if ABSENT in last_interval else " to ".join(last_interval)
        values = (number(value, digits) for value in line.y[places].tolist())
        rows.append((visible(line.name), _drawn(_sampled(line.y, width), low, high), *values, interval))
    at = [f"{x[position]:.15g}" for position in places]
    head = ("run", "curve", *at, f"interval at {at[-1]}")
    return Grid(visible(panel.y.label), head, rows, left_columns=_WITH_DRAWING)


def _of_history(picture: Picture, options: RenderOptions) -> Iterator[Grid]:
    """The last entries of each run, on one scale for all, with a line between segments."""
    for panel in picture.panels:
        low, high = _ends_of_lines(panel.lines)
        lines = [line for line in panel.lines if len(line.x)]
        width = _drawing_width([["", *(visible(line.name) for line in lines)]], options.width)
        rows = []
        for line in lines:
            is_gap = line.x != np.floor(line.x)
            signs = [_GAP if gap else sign for gap, sign in zip(is_gap, _drawn(line.y, low, high), strict=True)]
            values = line.y[~is_gap]
            extremes = np.nanmin(values), np.nanmax(values), values[-1]
            bounds = [] if line.bound is None else line.bound[~np.isnan(line.bound)].tolist()
            bound = bounds[-1] if bounds else math.nan
            numbers = (number(float(value), options.digits) for value in (*extremes, bound))
            rows.append((visible(line.name), "".join(signs[-width:]), str(len(values)), *numbers))
        head = ("run", "history", "entries", "lowest", "highest", "last", "bound")
        yield Grid(visible(panel.y.label), head, rows, left_columns=_WITH_DRAWING)
