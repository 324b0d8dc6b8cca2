"""The tables that a report has without JavaScript: means, differences, coverage, queries, how it was made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gradeval.commands.compare.layout import BETTER, WORSE, means_and_differences
from gradeval.commands.compare.layout import legend as legend_of
from gradeval.commands.compare.result import Comparison
from gradeval.commands.compare.values import judged_mean
from gradeval.commands.report.result import Report
from gradeval.errors import visible
from gradeval.notices import many
from gradeval.options import Options
from gradeval.render import Digits
from gradeval.render.document import Grid
from gradeval.render.numbers import ABSENT, number

PLOT_WIDTH, PLOT_MARGIN = 130, 4


COVERAGE = (
    "Queries: those of the judgments for which the run has documents. Relevant: with a grade above 0, or at "
    "least that of --rel. Judged@k: the share of the first k documents that is judged, over the queries that "
    "the run has; metrics take the others as not relevant."
)


class Plot(NamedTuple):
    """An interval with its estimate, and where 0 is: positions in a drawing of PLOT_WIDTH."""

    zero: float
    low: float
    high: float
    estimate: float
    is_significant: bool


class Table(NamedTuple):
    """A grid, with a plot for each row or none. letters: whether its marks are letters of runs."""

    grid: Grid
    plots: Sequence[Plot | None] = ()
    letters: bool = False


def subtitle(report: Report) -> str:
    """What was evaluated."""
    values = report.values
    counts = ((len(values.runs), "run", "runs"), (len(values.queries), "query", "queries"))
    parts = [many(*count) for count in counts]
    metrics = ", ".join(visible(column.display) for column in values.metrics)
    return f"{', '.join(parts)} of {visible(report.results.qrels)}; {metrics}"


def summary(report: Report, digits: Digits) -> list[Table]:
    """The means, and the differences with their intervals; of one run, the means with theirs."""
    if report.comparison is None:
        return [Table(_means(report, digits))]
    means, differences = means_and_differences(report.comparison, digits)
    letters = report.comparison.options.all_pairs
    return [Table(means, letters=letters), Table(differences, _plots(report.comparison))]


def legend(report: Report, digits: Digits) -> list[str]:
    """What the marks and intervals are, a sentence each."""
    if report.comparison is None:
        return [
            f"Intervals: {report.options.confidence:g} % confidence, of the mean over queries (Student's t)."
        ]
    sentences = legend_of(report.comparison, report.comparison.options.all_pairs)
    if len(report.values.metrics) > 1:
        scale = "one scale for all metrics" if _has_one_scale(report.comparison) else "a scale for each metric"
        sentences.append(f"Drawn intervals: {scale}.")
    return sentences


def marked(report: Report, mark: str) -> str:
    """What a mark of significance says, for those who do not see it."""
    if report.comparison is None or mark not in (BETTER, WORSE):
        return f"significantly better than {', '.join(mark.split(',') if ',' in mark else mark)}"
    word = "better" if mark == BETTER else "worse"
    return f"significantly {word} than {visible(report.comparison.comparisons[0].baseline)}"


def _means(report: Report, digits: Digits) -> Grid:
    rows = []
    for m, column in enumerate(report.values.metrics):
        low, high = report.interval(0, m)
        ends = ABSENT if math.isnan(low) else f"[{number(low, digits)}, {number(high, digits)}]"
        mean = number(float(report.values.means[0, m]), digits)
        rows.append((visible(column.display), mean, ends))
    head = ("metric", "mean", f"{report.options.confidence:g} % interval")
    return Grid(f"Means of {visible(report.values.runs[0])}", head, rows)


def _plots(comparison: Comparison) -> list[Plot | None]:
    """The intervals of the differences."""
    has_one_scale = _has_one_scale(comparison)
    plots: list[Plot | None] = []
    for one in comparison.comparisons:
        first, last = _ends(comparison, None if has_one_scale else one.metric)
        if math.isnan(one.low) or math.isnan(one.estimate) or first == last:
            plots.append(None)
            continue
        shares = ((value - first) / (last - first) for value in (0.0, one.low, one.high, one.estimate))
        places = [PLOT_MARGIN + (PLOT_WIDTH - 2 * PLOT_MARGIN) * max(0.0, min(1.0, share)) for share in shares]
        zero, low, high, estimate = (round(place, 1) for place in places)
        plots.append(Plot(zero, low, high, estimate, bool(one.verdict)))
    return plots


def _has_one_scale(comparison: Comparison) -> bool:
    """Whether the intervals of all metrics are drawn to one scale: where they are shares."""
    return max(map(abs, _ends(comparison, None))) <= 1


def _ends(comparison: Comparison, metric: str | None) -> tuple[float, float]:
    """The lowest and the highest of what is drawn of a metric, None for all, and 0."""
    chosen = [one for one in comparison.comparisons if metric in (None, one.metric)]
    ends = [end for one in chosen for end in (one.low, one.high, one.estimate) if math.isfinite(end)]
    return min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)


def coverage(report: Report, digits: Digits) -> Grid:
    """How much of the judgments each run covers, and how much of it is judged."""
    results = report.results
    judged = [spec for spec in results.specs if spec.metric.name == "Judged"]
    judged.sort(key=lambda spec: spec.params.get("cutoff", math.inf))
    head = ("run", "queries", "retrieved", "relevant retrieved", *(spec.display for spec in judged))
    rows = []
    for r, run in enumerate(results.runs):
        retrieved, relevant, found = (results.mean(r, name) for name in ("num_ret", "num_rel", "num_rel_ret"))
        answered = (results.values(r, "num_ret") > 0).sum()
        cells = [visible(run.name), _of(answered, run.queries), _of(retrieved), _of(found, relevant)]
        cells += [number(judged_mean(results, r, spec), digits) for spec in judged]
        rows.append(tuple(cells))
    return Grid("Coverage", head, rows)


def _of(count: float, total: float | None = None) -> str:
    if math.isnan(count):
        return ABSENT
    return f"{count:,.0f}" if total is None else f"{count:,.0f} of {total:,.0f}"


def queries(report: Report, digits: Digits) -> list[Grid]:
    """For each metric, the values of the queries."""
    values = report.values
    head = ("query", *map(visible, values.runs))
    names = [visible(query) for query in values.queries]
    return [
        Grid(
            visible(column.display),
            head,
            [
                (name, *(number(value, digits) for value in of_query))
                for name, of_query in zip(names, values.values[:, m].T.tolist(), strict=True)
            ],
        )
        for m, column in enumerate(values.metrics)
    ]


def inputs(report: Report) -> Grid:
    """The files, with their hashes."""
    results = report.results
    rows = [("qrels", results.qrels, results.qrels_sha256)]
    rows += [(run.name, run.path, run.sha256) for run in results.runs]
    texts = ((visible(name), visible(path), sha256 or ABSENT) for name, path, sha256 in rows)
    return Grid("Input", ("input", "file", "SHA-256"), [tuple(row) for row in texts], 3)


def made(report: Report) -> list[tuple[str, str]]:
    """How it was made: (what, how) of each."""
    found = [("command", visible(report.command))] if report.command else []
    found.append(("versions", ", ".join(f"{name} {number}" for name, number in report.versions().items())))
    found.append(("metrics", " ".join(column.name for column in report.values.metrics)))
    found.append(("options", ", ".join(_given(report)) or "defaults"))
    found.append(("ties", ", ".join(dict.fromkeys(run.ties for run in report.results.runs))))
    return found


def _given(report: Report) -> Iterator[str]:
    """The options of the evaluation that have no default value."""
    defaults = Options().to_dict()
    for name, value in report.results.options.items():
        if value != defaults.get(name):
            text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            yield f"{name.replace('_', ' ')} {visible(text)}"
