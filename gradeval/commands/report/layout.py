"""A report as one page of HTML, which needs nothing else: what its template (in page/) is given.

Its tables are there without JavaScript: means, differences, coverage, queries, how the page was made. From the
data (see data.py), the script draws explanations and charts.
"""

from __future__ import annotations

import math
import platform
from base64 import b64encode
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from gradeval.commands.compare.layout import BETTER, WORSE, means_and_differences
from gradeval.commands.compare.layout import legend as legend_of
from gradeval.commands.compare.result import Comparison
from gradeval.commands.compare.values import judged_mean
from gradeval.commands.report.data import compressed, plain
from gradeval.commands.report.result import Report
from gradeval.errors import GradevalError, visible
from gradeval.notices import lines, many
from gradeval.options import Options
from gradeval.render import Digits, checked_digits
from gradeval.render.document import Grid
from gradeval.render.numbers import ABSENT, number
from gradeval.version import __version__

_ROOM = "gradeval.commands.report"
TITLE = "Ranking evaluation"
# parts of one script, in order
SCRIPTS = ("numbers.js", "queries.js", "chart.js", "explanations.js", "start.js")
PLOT_WIDTH, PLOT_MARGIN = 130, 4
COVERAGE = (
    "Queries: those of the judgments for which the run has documents. Relevant: with a grade above 0, or at "
    "least that of --rel. Judged@k: the share of the first k documents that is judged, over the queries that "
    "the run has; metrics take the others as not relevant."
)


def check_installed() -> None:
    """Raise GradevalError where the library for templates is missing."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        hint = "Install it with pip install 'gradeval[report]'"
        raise GradevalError(f"jinja2 is not installed, and reports require it. {hint}") from None


def page(report: Report, *, digits: Digits = 4) -> str:
    """The page. digits: decimals, or 'full' for the shortest representation that round-trips."""
    check_installed()
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    digits = checked_digits(digits)
    style, script = _file("page.css"), "\n".join(map(_file, SCRIPTS))
    environment = Environment(
        loader=PackageLoader(_ROOM, "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )
    values = report.values
    text: str = environment.get_template("page.html").render(
        title=visible(report.title) or TITLE,
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        report=report,
        subtitle=_subtitle(report),
        marked=partial(_marked, report),
        plot_width=PLOT_WIDTH,
        coverage_legend=COVERAGE,
        runs=[visible(run) for run in values.runs],
        metrics=[visible(column.display) for column in values.metrics],
        summary=_summary(report, digits),
        legend=_legend(report, digits),
        coverage=_coverage(report, digits),
        queries=_queries(report, digits),
        notices=list(lines(report.notices, len(values.runs))),
        made=_made(report),
        inputs=_inputs(report),
        data=Markup(plain(report, digits)),
        explanations=compressed(report, digits),
    )
    return text


def _file(name: str) -> str:
    return resources.files(_ROOM).joinpath("page").joinpath(name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """The policy of the page for the browser: run this script and use this style, and load nothing."""
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (script, style)]
    rules = (
        "default-src 'none'",
        f"script-src 'sha256-{hashes[0]}'",
        f"style-src 'sha256-{hashes[1]}'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return "; ".join(rules)


def _shown(value: Any) -> Any:
    """Text with escapes for bytes that were no UTF-8, since a page is UTF-8."""
    if isinstance(value, str) and not value.isprintable():
        return type(value)(value.encode("utf-8", "backslashreplace").decode())
    return value


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


def _subtitle(report: Report) -> str:
    values = report.values
    runs, queries = many(len(values.runs), "run", "runs"), many(len(values.queries), "query", "queries")
    metrics = ", ".join(visible(column.display) for column in values.metrics)
    return f"{runs}, {queries} of {visible(report.results.qrels)}; {metrics}"


def _summary(report: Report, digits: Digits) -> list[Table]:
    """The means, and the differences with their intervals; of one run, the means with theirs."""
    if report.comparison is None:
        return [Table(_means(report, digits))]
    means, differences = means_and_differences(report.comparison, digits)
    letters = report.comparison.options.all_pairs
    return [Table(means, letters=letters), Table(differences, _plots(report.comparison))]


def _legend(report: Report, digits: Digits) -> list[str]:
    """The marks and intervals explained, a sentence each."""
    if report.comparison is None:
        return [
            f"Intervals: {report.options.confidence:g} % confidence, of the mean over queries (Student's t)."
        ]
    sentences = legend_of(report.comparison, report.comparison.options.all_pairs)
    if len(report.values.metrics) > 1:
        scale = "one scale for all metrics" if _has_one_scale(report.comparison) else "a scale for each metric"
        sentences.append(f"Drawn intervals: {scale}.")
    return sentences


def _marked(report: Report, mark: str) -> str:
    """A mark of significance in words, for those who do not see it."""
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
    for pair in comparison.comparisons:
        first, last = _ends(comparison, None if has_one_scale else pair.metric)
        if math.isnan(pair.low) or math.isnan(pair.estimate) or first == last:
            plots.append(None)
            continue
        shares = ((value - first) / (last - first) for value in (0.0, pair.low, pair.high, pair.estimate))
        places = [PLOT_MARGIN + (PLOT_WIDTH - 2 * PLOT_MARGIN) * max(0.0, min(1.0, share)) for share in shares]
        zero, low, high, estimate = (round(place, 1) for place in places)
        plots.append(Plot(zero, low, high, estimate, bool(pair.verdict)))
    return plots


def _has_one_scale(comparison: Comparison) -> bool:
    """Whether the intervals of all metrics are drawn to one scale: where they are shares."""
    return max(map(abs, _ends(comparison, None))) <= 1


def _ends(comparison: Comparison, metric: str | None) -> tuple[float, float]:
    """The lowest and the highest of what is drawn of a metric, None for all, and 0."""
    chosen = [pair for pair in comparison.comparisons if metric in (None, pair.metric)]
    ends = [end for pair in chosen for end in (pair.low, pair.high, pair.estimate) if math.isfinite(end)]
    return min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)


def _coverage(report: Report, digits: Digits) -> Grid:
    """How much of the judgments each run covers, and how much of it is judged."""
    results = report.results
    judged = [spec for spec in results.specs if spec.metric.name == "Judged"]
    judged.sort(key=lambda spec: spec.params.get("cutoff", math.inf))
    head = ("run", "queries", "retrieved", "relevant retrieved", *(spec.display for spec in judged))
    rows: list[list[str]] = []
    for r, run in enumerate(results.runs):
        retrieved, relevant, both = (results.mean(r, name) for name in ("num_ret", "num_rel", "num_rel_ret"))
        answered = (results.values(r, "num_ret") > 0).sum()
        cells = [visible(run.name), _of(answered, run.queries), _of(retrieved), _of(both, relevant)]
        rows.append([*cells, *(number(judged_mean(results, r, spec), digits) for spec in judged)])
    return Grid("Coverage", head, rows)


def _of(count: float, total: float | None = None) -> str:
    if math.isnan(count):
        return ABSENT
    return f"{count:,.0f}" if total is None else f"{count:,.0f} of {total:,.0f}"


def _queries(report: Report, digits: Digits) -> list[Grid]:
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


def _inputs(report: Report) -> Grid:
    """The files, with their hashes."""
    results = report.results
    files = [("qrels", results.qrels, results.qrels_sha256)]
    files += [(run.name, run.path, run.sha256) for run in results.runs]
    rows = [(visible(name), visible(path), sha256 or ABSENT) for name, path, sha256 in files]
    return Grid("Input", ("input", "file", "SHA-256"), rows, 3)


def _made(report: Report) -> list[tuple[str, str]]:
    """How it was made: (what, how) of each."""
    import scipy

    versions = {"gradeval": __version__, "Python": platform.python_version()}
    versions |= {"numpy": np.__version__, "scipy": scipy.__version__}
    defaults = Options().to_dict()
    options = []
    for name, value in report.results.options.items():
        if value != defaults.get(name):
            text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            options.append(f"{name.replace('_', ' ')} {visible(text)}")
    return [
        *([("command", visible(report.command))] if report.command else []),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("metrics", " ".join(column.name for column in report.values.metrics)),
        ("options", ", ".join(options) or "defaults"),
        ("ties", ", ".join(dict.fromkeys(run.ties for run in report.results.runs))),
    ]
