"""The contents of a report about runs: values, comparisons, coverage, and how each value comes about."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from gradeval.commands.compare.compare import (
    Comparison,
    QueryValues,
    compare_results,
    evaluate_to_compare,
    notices_of,
)
from gradeval.commands.explain.explain import Document, Explanation, Selection, open_to_explain, titles_of
from gradeval.commands.explain.explain import explained as explained_by
from gradeval.compare_options import COMPARISON, EXPLAINED, CompareOptions, split_options
from gradeval.errors import InputError, InputErrors, OptionError
from gradeval.evaluation.evaluator import complete, separate_runs, with_saved
from gradeval.evaluation.results import Results, Runs, SavedResult
from gradeval.notices import Notice
from gradeval.options import EXPECTED, OF_RUNS, OTHER, Options, takes, whole
from gradeval.registry.spec import Metrics, Spec, parse
from gradeval.render.document import WithNotices, library, warned
from gradeval.tables.load import is_path, open_qrels, source_of

if TYPE_CHECKING:
    from gradeval.keywords import Report as ReportOptions
    from gradeval.keywords import Unpack

DIFFERING = 10  # documents of a query that make the difference between runs
FURTHER = 5  # documents of an explanation below these ranks, and as many that were not retrieved
COVERAGE = "num_ret num_rel num_rel_ret"
JUDGED = "Judged@5,10,20,100"


class ExplainedValue(NamedTuple):
    """How one value comes about. explanation: with those documents only that are shown of the query. selection:
    those that are shown of this explanation. others: whether further documents add to the value.
    """

    explanation: Explanation
    selection: Selection
    others: bool = False


class ExplainedQuery(NamedTuple):
    """How the values of one query come about. documents: (id, grade) of those that are shown of any run by any
    metric. values: for each run, by each metric; nothing for a run of which only values are known.
    """

    documents: tuple[tuple[str, float | None], ...]
    values: tuple[tuple[ExplainedValue, ...], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Report(WithNotices):
    """The contents of a report.

    results: the values, with those of the coverage. values: those of the metrics to compare, for the queries
    that count for any run. comparison: None for one run. explained: query -> how its values come about, for
    some of the queries. titles: document -> text. title: of the page. command: that made it, '' if none did.
    saved: whether all runs are saved results, whose documents are not known. query_texts: query -> text, of
    those explained. interval: the method of the intervals of the means, 't' or 'bootstrap'; None: only one run
    has them, by t. specs: the metrics to compare.

    render() makes the page: HTML that needs nothing else. It requires jinja2 (gradeval[report]).
    """

    layout = "gradeval.commands.report.layout"
    default_format = "html"

    results: Results
    values: QueryValues
    comparison: Comparison | None
    options: CompareOptions
    explained: Mapping[str, ExplainedQuery] = field(repr=False)
    titles: Mapping[str, str] = field(repr=False, default_factory=dict)
    title: str = ""
    command: str = ""
    notices: tuple[Notice, ...] = ()
    saved: bool = False
    query_texts: Mapping[str, str] = field(repr=False, default_factory=dict)
    interval: str | None = None
    specs: tuple[Spec, ...] = ()

    @property
    def runs_read(self) -> int:
        return len(self.values.runs)

    def __repr__(self) -> str:
        counts = f"runs={len(self.values.runs)}, metrics={len(self.values.metrics)}"
        return f"Report({counts}, queries={len(self.values.queries)}, notices={len(self.warnings)})"

    __str__ = __repr__


_COMPARED = {name: row for name, row in CompareOptions.table.items() if row.section in (COMPARISON, OTHER)}


@takes({**_COMPARED, **OF_RUNS})
def report(
    qrels: Any,
    runs: Any,
    metrics: Metrics | None = None,
    *,
    text: Any = None,
    queries_text: Any = None,
    title: str = "",
    explain: int = EXPLAINED,
    interval: Literal["t", "bootstrap"] | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Unpack[ReportOptions],
) -> Report:
    """Everything about runs on one page: Report.render() makes it.

    qrels, runs, metrics: as compare() takes them; one run is enough. text: {document: text}, or a file of these
    (TSV or JSON lines), whose texts stand beside the ids. queries_text: the same of queries. title: of the
    page. explain: how many queries have their values explained document by document: those on which the runs
    differ most. interval: show the confidence interval of each mean, by the t distribution ('t') or by BCa
    ('bootstrap'). progress: is called with the queries explained and their number. options: those listed below.
    Raises GradevalError.
    """
    library("jinja2")  # before everything is computed
    if not isinstance(title, str):
        raise OptionError("title must be a string")
    explain = whole("explain", explain, 0, 10**9)
    compared_as, how = split_options(options)
    Options(interval=interval)
    # a pipe is read twice, from the copy that its Source has; other data are read once
    qrels = source_of(qrels) if is_path(qrels) else open_qrels(qrels, how)
    qrels, runs = with_saved(qrels, separate_runs(runs))
    more = parse(COVERAGE if how.judged_only else f"{COVERAGE} {JUDGED}")
    results, specs = evaluate_to_compare(qrels, runs, metrics, how, more=more, hashes=True)
    errors = [error for failed in results.failed for error in getattr(failed.error, "errors", [failed.error])]
    if len(results.failed) > 1 and all(isinstance(error, InputError) for error in errors):
        raise InputErrors(errors, sum(getattr(failed.error, "total", 1) for failed in results.failed))
    complete(results)
    if compared_as.all_pairs and len(results.runs) == 1:
        raise OptionError("there is 1 run, which has no pairs. Leave out --all-pairs (all_pairs=True)")
    counted = np.logical_or.reduce([run.counted for run in results.runs])
    values = QueryValues.of(results, specs).select(counted)
    comparison = compare_results(results, specs, compared_as) if len(results.runs) > 1 else None
    # all queries, or those where the runs differ most by the first metric, or, of one run, the worst
    first = values.values[:, 0]
    spread = np.fmin.reduce(first) - np.fmax.reduce(first)
    worth = spread if len(first) > 1 else values.metrics[0].sign * first[0]
    chosen = np.sort(np.argsort(worth, kind="stable")[:explain]).tolist()
    explained = _explained_queries(qrels, runs, [values.queries[q] for q in chosen], specs, how, progress)
    documents = {name for of_query in explained.values() for name, _ in of_query.documents}
    return warned(
        Report(
            results,
            values,
            comparison,
            compared_as,
            explained,
            titles_of(text, documents),
            title,
            notices=tuple(notices_of(results, values)) if comparison is None else comparison.notices,
            saved=all(isinstance(run, SavedResult) for _, run in runs),
            query_texts=titles_of(queries_text, set(explained)),
            interval=interval,
            specs=tuple(specs),
        )
    )


def _explained_queries(
    qrels: Any,
    runs: Runs,
    queries: Sequence[str],
    specs: Sequence[Spec],
    options: Options,
    progress: Callable[[int, int], None] | None,
) -> dict[str, ExplainedQuery]:
    """How the values of these queries come about; nothing where no documents are known."""
    with_documents = [(name, run) for name, run in runs if not isinstance(run, SavedResult)]
    # a mean over all orders of ties has no ranking to show
    if not queries or not with_documents or options.ties == EXPECTED:
        return {}
    explained: dict[str, ExplainedQuery] = {}
    judged, opened = open_to_explain(qrels, with_documents, options)
    of_queries = explained_by(judged, opened, judged.positions(queries), specs, options)
    for query, of_runs in zip(queries, of_queries, strict=True):
        if progress is not None:
            progress(len(explained), len(queries))
        remaining = iter(of_runs)
        each: list[Sequence[Explanation]] = []
        for _, run in runs:
            if isinstance(run, SavedResult):
                each += [[]] * len(run.runs)
            else:
                each += [next(remaining) for _ in range(len(options.features) or 1)]
        explained[query] = _explained(each)
    return explained


def _explained(of_runs: Sequence[Sequence[Explanation]]) -> ExplainedQuery:
    """of_runs: the explanations by each metric; none of a run of which only values are known."""
    values = [
        [ExplainedValue(each, each.selected(each.first_ranks, FURTHER)) for each in of_run]
        for of_run in of_runs
    ]
    shown = {document.id: document.grade for value in chain(*values) for document in value.selection.documents}
    # all explanations of a run have the same documents
    documents = [of_run[0].documents if of_run else () for of_run in of_runs]
    grades = {document.id: document.grade for document in chain(*documents)}
    for of_metric in zip(*filter(None, of_runs), strict=True):
        # the documents whose contributions differ most between runs; of two, those that make the difference
        added = [
            {document.id: adds for document, adds in explanation.contributions.items() if not math.isnan(adds)}
            for explanation in of_metric
        ]
        spread = {}
        for name in dict.fromkeys(chain(*added)):
            adds = [of_run.get(name, 0.0) for of_run in added]
            spread[name] = max(adds) - min(adds)
        largest = sorted(filter(spread.get, spread), key=lambda name: -spread[name])
        shown |= {name: grades[name] for name in largest[:DIFFERING]}
    explained = []
    for of_run, of_documents in zip(values, documents, strict=True):
        stay = tuple(document for document in of_documents if document.id in shown)
        explained.append(tuple(_shortened(value, stay) for value in of_run))
    return ExplainedQuery(tuple(shown.items()), tuple(explained))


def _shortened(value: ExplainedValue, documents: tuple[Document, ...]) -> ExplainedValue:
    """With these documents only, and without what a page does not show."""
    explanation = value.explanation
    # a term without a document says that the ideal ranking is not one of the documents
    shown, positions = {None, *documents}, explanation.positions
    terms, ideal = (
        None if of is None else tuple(term for term in of if term.document in shown)
        for of in (explanation.terms, explanation.ideal)
    )
    if positions is not None:
        positions = {document: positions[document] for document in documents if document in positions}
    changes = tuple(change for change in explanation.changes if change.document in shown)
    of_documents: dict[str, Any] = {"documents": documents, "positions": positions, "changes": changes}
    short = replace(explanation, **of_documents, terms=terms, ideal=ideal, by_rank=(), discounts=())
    others = any(adds for document, adds in explanation.contributions.items() if document not in shown)
    return ExplainedValue(short, value.selection, others)
