"""A report about runs: values, comparisons, coverage, and how each value comes about, as one page of HTML.

The page needs nothing else. Its tables are there without JavaScript: means, differences, coverage, queries,
how it was made. From the data, its script (in page/) draws explanations, the chart, intervals and values; it
orders texts, and computes differences and nothing else.
"""

from __future__ import annotations

import json
import math
import platform
import re
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from importlib import resources
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from gradeval.commands.compare import compare
from gradeval.commands.compare.bounds import NOT_KNOWN
from gradeval.commands.compare.layout import BETTER, WORSE, bounds, interval, legend, means_and_differences
from gradeval.commands.explain.explain import Document, Explanation, Selection, open_to_explain, titles_of
from gradeval.commands.explain.explain import explained as explained_by
from gradeval.commands.explain.layout import details, fraction, grade_of, no_sum, notes
from gradeval.compare_options import COMPARISON, EXPLAINED, CompareOptions, split_options
from gradeval.errors import InputError, InputErrors, OptionError, visible
from gradeval.evaluation.evaluation import OnErrors, check_errors, complete
from gradeval.evaluation.plan import with_files
from gradeval.evaluation.results import FailedRun, Results, Runs, SavedResult, notices_warned, position_of
from gradeval.evaluation.runs import path_of, separate_runs, with_saved
from gradeval.notices import Notice, lines, many
from gradeval.options import EXPECTED, OF_WEIGHTED_RUNS, OTHER, Options, takes, whole
from gradeval.registry.spec import Metrics, Spec, parse
from gradeval.render import Digits
from gradeval.render.document import (
    ABSENT,
    Block,
    Grid,
    OutputDocument,
    RenderOptions,
    number,
    probability,
    signed,
)
from gradeval.render.printable import WithNotices, library, warned
from gradeval.statistics.sampling import TOLERANCE
from gradeval.statistics.tests import interval_of_mean
from gradeval.tables.load import check_inputs, is_path, open_qrels, source_of
from gradeval.version import __version__

if TYPE_CHECKING:
    from gradeval.keywords import ReportKeywords, Unpack

DIFFERING = 10  # documents of a query that make the difference between runs
FURTHER = 5  # documents of an explanation below these ranks, and as many that were not retrieved
COVERAGE = "num_ret num_rel num_rel_ret"
JUDGED = "Judged@5,10,20,100"


class ExplainedValue(NamedTuple):
    """How one value comes about."""

    explanation: Explanation  # with those documents only that are shown of the query
    selection: Selection  # those that are shown of this explanation
    is_partial: bool = False  # whether further documents add to the value


class ExplainedQuery(NamedTuple):
    """How the values of one query come about."""

    documents: tuple[tuple[str, float | None], ...]  # (id, grade) of those shown of any run by any metric
    # for each run, by each metric; nothing for a run of which only values are known
    values: tuple[tuple[ExplainedValue, ...], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Report(WithNotices):
    """The contents of a report.

        >>> report = gradeval.report("qrels.txt", ["bm25.run", "dense.run"], "nDCG@10 AP")
        >>> html = report.render()

    render() makes the page: HTML that needs nothing else. It requires jinja2 (gradeval[report]).
    """

    layout = "gradeval.commands.report.report"
    default_format = "html"

    results: Results  # the values, with those of the coverage
    values: compare.QueryValues  # of the metrics to compare, for the queries that count for any run
    comparison: compare.Comparison | None  # None for one run
    options: CompareOptions
    explained: Mapping[str, ExplainedQuery]  # by query, for some of them
    titles: Mapping[str, str] = field(default_factory=dict)  # document -> text
    title: str = ""  # of the page
    command: str = ""  # that made it, '' if none did
    notices: tuple[Notice, ...] = ()
    saved: bool = False  # whether all runs are saved results, whose documents are not known
    query_texts: Mapping[str, str] = field(default_factory=dict)  # of the queries explained
    # the method of the intervals of the means, 't' or 'bootstrap'; None: only one run has them, by t
    interval: str | None = None
    specs: tuple[Spec, ...] = ()  # the metrics to compare

    @property
    def runs_read(self) -> int:
        return len(self.values.runs)

    def __repr__(self) -> str:
        counts = f"runs={len(self.values.runs)}, metrics={len(self.values.metrics)}"
        return f"Report({counts}, queries={len(self.values.queries)}, notices={len(self.warnings)})"

    __str__ = __repr__


_COMPARED = {name: row for name, row in CompareOptions.table.items() if row.section in (COMPARISON, OTHER)}
_COMPARED |= {name: CompareOptions.table[name] for name in ("sort", "by", "bounds")}


@takes({**_COMPARED, **OF_WEIGHTED_RUNS})
def report(
    qrels: Any,
    runs: Any = None,
    metrics: Metrics | None = None,
    *,
    text: Any = None,
    queries_text: Any = None,
    title: str = "",
    explain: int = EXPLAINED,
    interval: Literal["t", "bootstrap"] | None = None,
    progress: Callable[[int, int], None] | None = None,
    errors: OnErrors = "raise",
    **options: Unpack[ReportKeywords],
) -> Report:
    """Everything about runs on one page: Report.render() makes it.

        >>> html = gradeval.report("qrels.txt", ["bm25.run", "dense.run"], "nDCG@10 AP").render()

    qrels, runs, metrics: as compare() takes them; one run is enough. Results alone have no documents, so that
    no value is explained. text: {document: text}, or a file of these (TSV or JSON lines), whose texts stand
    beside the ids. queries_text: the same of queries. title: of the
    page. explain: how many queries have their values explained document by document: those on which the runs
    differ most. The page contains their judgments and rankings; with 0 it contains none. interval: show the
    confidence interval of each mean, by the t distribution ('t') or by BCa ('bootstrap'). progress: is called
    with the queries explained and their number. errors: as of evaluate(); 'keep' lists runs that cannot be
    evaluated on the page, and leaves them in Report.results.failed. options: those listed below. Raises
    GradevalError.
    """
    library("jinja2")  # before everything is computed
    if not isinstance(title, str):
        raise OptionError("title must be a string")
    check_errors(errors)
    explain = whole("explain", explain, 0, 10**9)
    compared_as, evaluation = split_options(options)
    Options(interval=interval)
    warned_before = notices_warned(qrels, runs)
    qrels, runs = _opened(qrels, runs, evaluation)
    more = parse(COVERAGE if evaluation.judged_only else f"{COVERAGE} {JUDGED}")
    results, specs = compare.evaluate_to_compare(
        qrels, runs, metrics, evaluation, more=more, hashes=True, bounds=compared_as.bounds
    )
    if runs is None:
        runs = [(None, SavedResult.of(results))]
    else:
        _check_failed(results, runs, compared_as, errors)
    if compared_as.all_pairs and len(results.runs) == 1:
        raise OptionError("there is 1 run, which has no pairs. Leave out --all-pairs (all_pairs=True)")
    if compared_as.bounds and len(results.runs) == 1:
        raise OptionError(
            "there is 1 run, and bounds are of differences. gradeval --bounds has those of values"
        )
    runs = _without_failed(runs, results)
    results, compared_as = _sorted(results, specs, compared_as)
    paths = [run.path for run in results.runs]
    counted = np.logical_or.reduce([run.counted for run in results.runs])
    values = compare.QueryValues.of(results, specs).select(counted).weighing()
    comparison = compare.compare_results(results, specs, compared_as) if len(results.runs) > 1 else None
    queries = _queries_to_explain(values, explain, _with_relevant(results))
    explained = _explained_queries(
        qrels, runs, paths, queries, specs=specs, options=evaluation, progress=progress
    )
    documents = {name for of_query in explained.values() for name, _ in of_query.documents}
    return warned(
        Report(
            results=results,
            values=values,
            comparison=comparison,
            options=compared_as,
            explained=explained,
            titles=titles_of(text, documents),
            title=title,
            notices=tuple(compare.notices_of(results, values)) if comparison is None else comparison.notices,
            saved=all(isinstance(run, SavedResult) for _, run in runs),
            query_texts=titles_of(queries_text, set(explained)),
            interval=interval,
            specs=tuple(specs),
        ),
        warned_before,
    )


def _opened(qrels: Any, runs: Any, options: Options) -> tuple[Any, Runs | None]:
    """The qrels, read once, and the runs, which are read twice; or results alone."""
    if runs is None:
        return qrels, None
    qrels = source_of(qrels) if is_path(qrels) else qrels
    qrels, opened = with_saved(qrels, separate_runs(runs), stay_open=True)
    if not any(isinstance(run, (SavedResult, FailedRun)) for _, run in opened):
        check_inputs([("qrels", qrels), *(("run", run) for _, run in opened)], options)
    return open_qrels(qrels, with_files(options), hashes=True), opened


def _without_failed(runs: Runs, results: Results) -> Runs:
    """The runs that could be evaluated."""
    failed = {of_run.path for of_run in results.failed}
    paths = (path_of(run, name or f"run{position}") for position, (name, run) in enumerate(runs, 1))
    return [pair for pair, path in zip(runs, paths, strict=True) if path not in failed]


def _check_failed(results: Results, runs: Runs, options: CompareOptions, on_errors: OnErrors) -> None:
    """Raise the errors of runs that could not be evaluated, where nothing can be shown without them."""
    if on_errors == "keep":
        compare.check_baseline(results, runs, options)
    if on_errors == "keep" and results.runs:
        return
    errors = [error for failed in results.failed for error in getattr(failed.error, "errors", [failed.error])]
    if len(results.failed) > 1 and all(isinstance(error, InputError) for error in errors):
        raise InputErrors(errors, sum(getattr(failed.error, "total", 1) for failed in results.failed))
    complete(results)


def _with_relevant(results: Results) -> set[str]:
    """The queries that have a relevant document."""
    has_relevant = np.nan_to_num(results.values(0, "num_rel")) > 0
    return {results.queries[q] for q in np.flatnonzero(has_relevant).tolist()}


def _queries_to_explain(values: compare.QueryValues, count: int, with_relevant: set[str]) -> list[str]:
    """Those on which the runs differ most by the first metric, or, of one run, the worst, those with a relevant
    document first; in their order.
    """
    first = values.values[:, 0]
    spread = np.fmin.reduce(first) - np.fmax.reduce(first)
    worth = spread if len(first) > 1 else values.metrics[0].sign * first[0]
    is_empty = [query not in with_relevant for query in values.queries]
    chosen = np.sort(np.lexsort((worth, is_empty) if len(first) == 1 else (worth,))[:count])
    return [values.queries[q] for q in chosen.tolist()]


def _sorted(results: Results, specs: Sequence[Spec], options: CompareOptions) -> tuple[Results, CompareOptions]:
    """The runs in the order that is asked for, by one of the metrics shown, with the baseline that they had."""
    if options.sort is None:
        return results, options
    first = results.runs[0].name
    metric = specs[position_of(options.sort.removeprefix("-"), specs)]
    results = results.sorted_by(metric, worst_first=options.sort.startswith("-"))
    baseline = first if options.baseline is None and not options.all_pairs else options.baseline
    return results, options.replace(baseline=baseline, sort=None)


def _explained_queries(
    qrels: Any,
    runs: Runs,
    paths: Sequence[str],
    queries: Sequence[str],
    *,
    specs: Sequence[Spec],
    options: Options,
    progress: Callable[[int, int], None] | None,
) -> dict[str, ExplainedQuery]:
    """How the values of each of these queries come about; nothing where no documents are known. paths: of the
    runs in the order in which they are shown.
    """
    with_documents = [(name, run) for name, run in runs if not isinstance(run, SavedResult)]
    # a mean over all orders of ties has no ranking to show
    if not queries or not with_documents or options.ties == EXPECTED:
        return {}
    judged, opened, _ = open_to_explain(qrels, with_documents, options)
    of_queries = explained_by(judged, opened, judged.positions(queries), specs, options)
    opened_paths = [run.path for run in opened]
    explained: dict[str, ExplainedQuery] = {}
    for query, of_runs in zip(queries, of_queries, strict=True):
        by_path = dict(zip(opened_paths, of_runs, strict=True))
        of_query = _explained([by_path.get(path, []) for path in paths])
        if progress is not None:
            progress(len(explained), len(queries))
        explained[query] = of_query
    return explained


def _explained(of_runs: Sequence[Sequence[Explanation]]) -> ExplainedQuery:
    """of_runs: the explanations by each metric; none of a run of which only values are known."""
    values = [[_explained_value(explanation) for explanation in of_run] for of_run in of_runs]
    shown = {document.id: document.grade for value in chain(*values) for document in value.selection.documents}
    # all explanations of a run have the same documents
    documents = [of_run[0].documents if of_run else () for of_run in of_runs]
    grades = {document.id: document.grade for document in chain(*documents)}
    for of_metric in zip(*filter(None, of_runs), strict=True):
        shown |= {name: grades[name] for name in _most_different(of_metric)}
    explained = []
    for of_run, of_documents in zip(values, documents, strict=True):
        stay = tuple(document for document in of_documents if document.id in shown)
        explained.append(tuple(_shortened(value, stay) for value in of_run))
    return ExplainedQuery(tuple(shown.items()), tuple(explained))


def _most_different(explanations: Sequence[Explanation]) -> list[str]:
    """The documents whose contributions differ most between runs; of two, those that make the difference."""
    added = [
        {document.id: adds for document, adds in explanation.contributions.items() if not math.isnan(adds)}
        for explanation in explanations
    ]
    spread = {}
    for name in dict.fromkeys(chain(*added)):
        adds = [of_run.get(name, 0.0) for of_run in added]
        spread[name] = max(adds) - min(adds)
    return sorted(filter(spread.get, spread), key=lambda name: -spread[name])[:DIFFERING]


def _explained_value(explanation: Explanation) -> ExplainedValue:
    return ExplainedValue(explanation, explanation.selected(explanation.first_ranks, FURTHER))


def _shortened(value: ExplainedValue, documents: tuple[Document, ...]) -> ExplainedValue:
    """With these documents only, and without what a page does not show."""
    explanation = value.explanation
    # a term without a document says that the ideal ranking is not one of the documents
    shown = {None, *documents}
    positions = explanation.positions
    terms, ideal = (
        None if ranked is None else tuple(term for term in ranked if term.document in shown)
        for ranked in (explanation.terms, explanation.ideal)
    )
    if positions is not None:
        positions = {document: positions[document] for document in documents if document in positions}
    changes = tuple(change for change in explanation.changes if change.document in shown)
    of_documents: dict[str, Any] = {"documents": documents, "positions": positions, "changes": changes}
    short = replace(explanation, **of_documents, terms=terms, ideal=ideal, by_rank=(), discounts=())
    is_partial = any(adds for document, adds in explanation.contributions.items() if document not in shown)
    return ExplainedValue(short, value.selection, is_partial)


# --- the page

_ROOM = "gradeval.commands.report"
TITLE = "Ranking evaluation"
COVERAGE_LEGEND = (
    "Queries: those of the judgments for which the run has documents. Relevant: with a grade above 0, or at "
    "least that of --rel. Judged@k: the share of the first k documents that is judged, over the queries that "
    "the run has; metrics take the others as not relevant."
)
_SEPARATOR = "\t"  # of the texts of a list; visible() leaves none in them
_SURROGATE = re.compile("[\ud800-\udfff]")  # a byte that was no UTF-8
_TITLE_WIDTH = 100


def document(report: Report, options: RenderOptions) -> OutputDocument:
    return OutputDocument(page=lambda: _page(report, options.digits))


def _page(report: Report, digits: Digits) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    page = resources.files(_ROOM).joinpath("page")
    style, script = (page.joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (script, style)]
    environment = Environment(
        loader=PackageLoader(_ROOM, "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    values = report.values
    results = report.results
    runs = [visible(run) for run in values.runs]
    metrics = [visible(column.display) for column in values.metrics]
    files = [("qrels", results.qrels, results.qrels_sha256)]
    files += [(run.name, run.path, run.sha256) for run in results.runs]
    inputs = [(visible(name), visible(path), sha256 or ABSENT) for name, path, sha256 in files]
    counts = f"{many(len(runs), 'run', 'runs')}, {many(len(values.queries), 'query', 'queries')}"
    text: str = environment.get_template("page.html").render(
        title=visible(report.title) or TITLE,
        style=Markup(style),
        script=Markup(script),
        # the browser runs this script and uses this style, and loads nothing
        policy=f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        report=report,
        subtitle=f"{counts} of {visible(results.qrels)}; {', '.join(metrics)}",
        marked=partial(_marked, report),
        coverage_legend=COVERAGE_LEGEND,
        runs=runs,
        metrics=metrics,
        summary=_summary(report, digits),
        legend=_legend(report),
        coverage=_coverage(report, digits),
        queries=_queries(report, digits),
        notices=[*_failures(results), *lines(report.notices, len(runs))],
        made=_made(report),
        inputs=Grid("Input", ("input", "file", "SHA-256"), inputs, 3),
        embedded=_embedded(report),
        data=Markup(_values(report, digits)),
        explanations=_explanations(report, digits),
    )
    return text.encode("utf-8", "backslashreplace").decode()  # bytes that were no UTF-8


def _failures(results: Results) -> list[str]:
    """What is wrong with the runs that could not be evaluated."""
    return [f"Not evaluated: {visible(line)}" for run in results.failed for line in str(run.error).split("\n")]


# --- what is there without JavaScript


def _summary(report: Report, digits: Digits) -> Iterator[tuple[Grid, bool]]:
    """The tables of means, differences and intervals, each with whether its marks are letters of runs."""
    names = [visible(column.display) for column in report.values.metrics]
    percent = f"{report.options.confidence:g} %"
    if report.comparison is None:
        [run] = report.values.runs
        [of_run] = report.values.means
        means = [number(mean, digits) for mean in of_run.tolist()]
        rows = list(zip(names, means, _ends_of_means(report, 0, digits), strict=True))
        yield Grid(f"Means of {visible(run)}", ("metric", "mean", f"{percent} interval"), rows), False
        yield from ((grid, False) for grid in _means_of_groups(report, digits))
        return
    several = report.comparison.options.all_pairs
    first, *of_groups = report.comparison.sections
    table, differences = means_and_differences(report.comparison, digits, first, several)
    yield table, several
    if report.interval:
        runs = enumerate(map(visible, report.values.runs))
        intervals = [(run, *_ends_of_means(report, r, digits)) for r, run in runs]
        yield Grid(f"{percent} intervals of the means", ("run", *names), intervals), False
    yield differences, False
    for section in of_groups:
        table, differences = means_and_differences(report.comparison, digits, section, several)
        yield table, several
        yield differences, False


def _means_of_groups(report: Report, digits: Digits) -> Iterator[Grid]:
    """The means of one run for each group of queries, if there are any."""
    parts = compare.parts_by_group(report.values, report.options.by)
    rows = [
        (visible(group), f"{len(part.queries):,}", *(number(mean, digits) for mean in part.means[0].tolist()))
        for group, part in parts.items()
        if group is not None
    ]
    if rows:
        metrics = (visible(column.display) for column in report.values.metrics)
        yield Grid("Means by group", ("group", "queries", *metrics), rows)


def _ends_of_means(report: Report, r: int, digits: Digits) -> Iterator[str]:
    values = report.values
    means = report.values.means[r].tolist()
    method = report.interval or "t", report.options.confidence
    for metric, of_queries, mean in zip(values.metrics, values.values[r], means, strict=True):
        low, high = interval_of_mean(of_queries, mean, *method, bounds=metric.bounds, weights=values.weights)
        yield ABSENT if math.isnan(low) else f"[{number(low, digits)}, {number(high, digits)}]"


def _legend(report: Report) -> Iterator[str]:
    by = "bootstrap, BCa" if report.interval == "bootstrap" else "Student's t"
    weighted = "" if report.values.weights is None else "weighted "
    of_means = f"{report.options.confidence:g} % confidence, of the {weighted}mean over queries ({by})."
    if report.comparison is None:
        yield f"Intervals: {of_means}"
        return
    yield from legend(report.comparison, report.comparison.options.all_pairs)
    if report.interval:
        yield f"Intervals of the means: {of_means}"


def _marked(report: Report, mark: str) -> str:
    """A mark of significance in words, for those who do not see it."""
    if report.comparison is None or mark not in (BETTER, WORSE):
        return f"significantly better than {', '.join(mark.split(',') if ',' in mark else mark)}"
    word = "better" if mark == BETTER else "worse"
    return f"significantly {word} than {visible(report.comparison.comparisons[0].baseline)}"


def _coverage(report: Report, digits: Digits) -> Grid:
    results = report.results
    judged = [spec for spec in results.specs if spec.metric.name == "Judged"]
    judged.sort(key=lambda spec: spec.params.get("cutoff", math.inf))
    head = ("run", "queries", "retrieved", "relevant retrieved", *(spec.display for spec in judged))
    rows = []
    for r, run in enumerate(results.runs):
        retrieved, relevant, both = (results.mean(r, name) for name in ("num_ret", "num_rel", "num_rel_ret"))
        answered = (results.values(r, "num_ret") > 0).sum()
        cells = [visible(run.name), _of(answered, run.queries), _of(retrieved), _of(both, relevant)]
        rows.append([*cells, *(number(compare.judged_mean(results, r, spec), digits) for spec in judged)])
    return Grid("Coverage", head, rows)


def _of(count: float, total: float | None = None) -> str:
    if math.isnan(count):
        return ABSENT
    return f"{count:,.0f}" if total is None else f"{count:,.0f} of {total:,.0f}"


def _queries(report: Report, digits: Digits) -> Iterator[Grid]:
    values = report.values
    head = ("query", *map(visible, values.runs))
    names = [visible(query) for query in values.queries]
    for column, of_metric in zip(values.metrics, values.values.transpose(1, 2, 0).tolist(), strict=True):
        of_queries = zip(names, of_metric, strict=True)
        rows = [(name, *(number(value, digits) for value in of_query)) for name, of_query in of_queries]
        yield Grid(visible(column.display), head, rows)


def _made(report: Report) -> list[tuple[str, str]]:
    import scipy

    versions = {"gradeval": __version__, "Python": platform.python_version()}
    versions |= {"numpy": np.__version__, "scipy": scipy.__version__}
    defaults = Options().to_dict()
    options = []
    for name, value in report.results.options.items():
        if value != defaults.get(name):
            text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            text = f"of {many(len(value), 'query', 'queries')}" if isinstance(value, dict) else text
            options.append(f"{name.replace('_', ' ')} {visible(text)}")
    return [
        *([("command", visible(report.command))] if report.command else []),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("metrics", " ".join(report.values.by_name)),
        ("options", ", ".join(options) or "defaults"),
        ("ties", ", ".join(dict.fromkeys(run.ties for run in report.results.runs))),
        *(("signature", visible(text)) for text in report.results.signatures(report.specs)),
    ]


def _embedded(report: Report) -> str:
    """Whether the page contains judgments and rankings, which not everybody may publish."""
    if not report.explained:
        return "This page contains no judgments and no rankings."
    count = many(len(report.explained), "query", "queries")
    content = f"the ids, grades, ranks and scores of documents of {count}"
    without = "gradeval report --explain 0 (explain=0 in Python) makes a page without them"
    return f"This page contains judgments and rankings: {content}. {without}."


# --- the data of the script


def _values(report: Report, digits: Digits) -> str:
    """The values as JSON without '<'. The script reads them at once: what prints the page may not wait."""
    values = report.values
    comparison = report.comparison
    intervals = []
    of_judgments = []
    compared = {}
    if comparison is not None:
        of_pairs = product(comparison.pairs, range(len(values.metrics)))
        for ((baseline, run), m), pair in zip(of_pairs, comparison.comparisons, strict=True):
            interval_points = pair.low, pair.estimate, pair.high
            finite = [end if math.isfinite(end) else None for end in interval_points]
            intervals.append([] if any(map(math.isnan, interval_points)) else [*finite, bool(pair.verdict)])
            missing = NOT_KNOWN if pair.missing is None else pair.missing
            of_judgments.append([missing.lower_bound, missing.upper_bound] if missing.bounds else [])
            reverse = replace(pair, low=-pair.high, high=-pair.low, missing=missing.reverse)
            compared[f"{baseline} {run} {m}"] = _compared(report, pair, digits)
            compared[f"{run} {baseline} {m}"] = _compared(report, reverse, digits)
    no_sums: dict[str, str] = {}
    for value in chain.from_iterable(chain(*(query.values for query in report.explained.values()))):
        if not value.explanation.is_sum:
            no_sums.setdefault(value.explanation.metric, no_sum(value.explanation, differences=True))
    content = {
        "digits": digits,
        "runs": _texts(values.runs),
        "metrics": [
            {"name": visible(column.display), "sign": column.sign, "note": no_sums.get(column.name, "")}
            for column in values.metrics
        ],
        "queries": _texts(values.queries),
        # by run, metric and query; exact, and shorter than their digits. 0.0: there is no -0
        "values": b64encode((values.values + 0.0).astype("<f8").tobytes()).decode(),
        "weights": None if values.weights is None else values.weights.tolist(),
        "tolerance": TOLERANCE,
        "saved": report.saved,
        "pair": [0, 0] if comparison is None else list(comparison.pairs[0]),
        # of each row of the differences: low end, estimate, high end, whether it is significant; null: infinite
        "intervals": intervals,
        # likewise its bounds over missing judgments, lower and upper, where these are shown and known
        "bounds": of_judgments,
        # by baseline, run and metric: what a sentence on the mean difference says further
        "compared": compared,
    }
    return _json(content).replace("<", "\\u003c")


def _compared(report: Report, pair: compare.PairComparison, digits: Digits) -> str:
    parts = [""]
    if not math.isnan(pair.low):
        parts.append(f"{report.options.confidence:g} % interval {interval(pair, digits)}")
    if not math.isnan(pair.p):
        parts.append(f"p {probability(pair.p, digits)}")
    if not math.isnan(pair.p_corrected) and report.options.used_correction != "none":
        parts.append(f"corrected p {probability(pair.p_corrected, digits)}")
    if pair.missing is not None and pair.missing.bounds:
        parts.append(f"with missing judgments {bounds(pair.missing, digits)}")
    return ", ".join(parts)


def _texts(texts: Iterable[str]) -> str:
    return _SEPARATOR.join(map(visible, texts))


def _json(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _SURROGATE.sub(lambda match: f"\\\\u{ord(match[0]):x}", text)


def _explanations(report: Report, digits: Digits) -> str:
    """The explanations in base64 of zlib's format, which a browser reads while the page is shown already: lists
    of a text for each query, for each query and run, or for each query, run and metric, with the last of these
    varying fastest; texts of a kind compress well.
    """
    queries = report.explained.values()
    runs = [(query, values) for query in queries for values in query.values]
    tables, blocks = _tables(report, digits)
    content = {
        "queries": [q for q, query in enumerate(report.values.queries) if query in report.explained],
        "documents": [_texts(name for name, _ in query.documents) for query in queries],
        "grades": [_texts(grade_of(grade) for _, grade in query.documents) for query in queries],
        "ranks": [_ranks(query, values) for query, values in runs],
        "scores": [_scores(query, values, digits) for query, values in runs],
        "tables": tables,
    }
    if report.titles:
        content["titles"] = _titles(report)
    if report.query_texts:
        content["texts"] = _texts(report.query_texts.get(query, "") for query in report.explained)
    return _compressed(_json({"explained": content, "blocks": blocks}))


def _tables(report: Report, digits: Digits) -> tuple[dict[str, list[Any]], list[Any]]:
    """The columns of the explanations, and what is below them: tables, and sentences among them, each once,
    since explanations share many.
    """
    blocks: dict[str, int] = {}
    tables = []
    for query in report.explained.values():
        for values in query.values:
            of_run = [_table(value, query, digits, blocks) for value in values]
            tables += of_run or [{} for _ in report.values.metrics]
    columns = {name: [table.get(name) for table in tables] for name in dict.fromkeys(chain(*tables))}
    return columns, [json.loads(block) for block in blocks]


def _titles(report: Report) -> list[str]:
    """The titles of the documents of each query, shortened."""
    titles = {name: visible(title) for name, title in report.titles.items()}
    for name, title in titles.items():
        titles[name] = title if len(title) <= _TITLE_WIDTH else f"{title[: _TITLE_WIDTH - 1]}…"
    queries = report.explained.values()
    return [_texts(titles.get(name, "") for name, _ in query.documents) for query in queries]


def _compressed(text: str) -> str:
    # most of it is digits, for which these are better than the defaults by 4 %
    deflate = zlib.compressobj(9, memLevel=7, strategy=zlib.Z_FILTERED)
    return b64encode(deflate.compress(text.encode()) + deflate.flush()).decode()


def _ranks(query: ExplainedQuery, values: Sequence[ExplainedValue]) -> str:
    """The rank of each of the query's documents in the run of these values."""
    documents = values[0].explanation.documents if values else ()
    ranks = {document.id: document.rank for document in documents}
    return _texts(str(ranks.get(name) or ABSENT) for name, _ in query.documents)


def _scores(query: ExplainedQuery, values: Sequence[ExplainedValue], digits: Digits) -> str:
    """Likewise its score, of those that are shown by any metric."""
    shown = chain(*(value.selection.documents for value in values))
    scores = {document.id: document.score for document in shown}
    present = (scores.get(name) for name, _ in query.documents)
    return _texts("" if score is None else number(score, digits) for score in present)


def _table(
    value: ExplainedValue, query: ExplainedQuery, digits: Digits, blocks: dict[str, int]
) -> dict[str, Any]:
    """An explanation. rows: which of the query's documents it shows. adds: what each of these documents adds.
    others: whether further ones add, as 0 or 1. sums: the fraction that gives the value. notes: what is not
    shown. blocks: what is below; new ones are added to the blocks of the page. And columns.
    """
    explanation = value.explanation
    documents = value.selection.documents
    ranks = explanation.first_ranks
    index = {name: d for d, (name, _) in enumerate(query.documents)}
    # the script prints differences of these, so they have more digits
    more_digits = digits if digits == "full" else digits + 3
    added = {document.id: number(adds, more_digits) for document, adds in explanation.contributions.items()}
    positions = [
        blocks.setdefault(json.dumps(_block(block)), len(blocks))
        for block in details(explanation, ranks, digits)
    ]
    of_columns = _columns(explanation, digits)
    columns = ((name, [texts.get(document, "") for document in documents]) for name, texts in of_columns)
    return {
        "rows": " ".join(str(index[document.id]) for document in documents),
        "adds": _texts(added.get(name, "").removeprefix("0") for name in index).rstrip(_SEPARATOR),
        "others": int(value.is_partial),
        "sums": fraction(explanation, digits) if explanation.is_sum else no_sum(explanation),
        "notes": notes(explanation, value.selection, ranks, digits),
        "blocks": positions,
        **{name: _texts(texts) for name, texts in columns if any(texts)},
    }


def _block(block: Block) -> Any:
    """A table or a text as the script has it."""
    if not isinstance(block, Grid):
        return block
    rows = [[cell.text for cell in row] for row in block.cells]
    left_columns = [c for c in range(len(block.head)) if block.is_left(c)]
    return {"title": block.title, "head": block.head, "rows": rows, "left": left_columns}


def _columns(explanation: Explanation, digits: Digits) -> Iterator[tuple[str, dict[Any, str]]]:
    """Columns besides those that every explanation has, and the texts of documents."""
    if explanation.positions is not None:
        positions = {document: explanation.place(document) for document in explanation.documents}
        yield "position", {document: str(position or ABSENT) for document, position in positions.items()}
    if explanation.is_sum:
        yield from _term_columns(explanation, digits)
    else:
        yield "value without", {change.document: number(change.value, digits) for change in explanation.changes}
        yield "change", {change.document: signed(change.change, digits) for change in explanation.changes}


def _term_columns(explanation: Explanation, digits: Digits) -> Iterator[tuple[str, dict[Any, str]]]:
    """Columns of the parts of a sum, and of what it loses against the ideal ranking."""
    terms = {term.document: term for term in explanation.terms or () if term.document is not None}
    parts: tuple[tuple[str, str], ...] = ()
    if any(term.gain is not None for term in terms.values()):  # as in DCG
        parts = (explanation.scaled, "scaled"), ("gain", "gain"), ("discount", "discount")
    elif not explanation.levels:
        parts = (("term", "value"),)
    for name, part in parts:
        numbers = ((document, getattr(term, part)) for document, term in terms.items())
        yield name, {document: number(value, digits) for document, value in numbers if value is not None}
    if explanation.has_losses:
        losses = explanation.losses
        yield "ideal rank", {loss.document: str(loss.ideal_position or ABSENT) for loss in losses}
        yield "loss", {loss.document: signed(loss.loss, digits) for loss in losses}
