"""Qrels × runs × metrics → Results."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from gradeval.errors import OptionError, described
from gradeval.evaluation.evaluator import Evaluator, complete, separate_runs
from gradeval.evaluation.results import FailedRun, Results, Runs, SavedResult
from gradeval.formats.sources import Source, compression_of
from gradeval.notices import Kind, Notice
from gradeval.options import DEFAULT_METRICS, Options, takes
from gradeval.registry.spec import Metrics, Spec, parse
from gradeval.render.document import warned
from gradeval.tables.load import check_columns, is_path

if TYPE_CHECKING:
    from gradeval.keywords import Evaluate, Unpack


@takes(Options.table)
def evaluate(
    qrels: Any,
    runs: Any,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    errors: Literal["raise", "keep"] = "raise",
    **options: Unpack[Evaluate],
) -> Results:
    """Evaluate one or several runs.

    qrels: a path, a dict of dicts {query: {document: grade}}, tuples (query, document, grade) or
    (query, subtopic, document, grade), or a data frame.
    runs: one run (a path, {query: {document: score}}, tuples (query, document, score), or a data frame, where
    one with a column named run has several), a list of runs, a dict of runs by name, or a directory or a
    pattern such as 'runs/*.run'; a file of saved results (gradeval -f json -q) is a run too. Qrels and runs of
    ranx are read too. Data frames are read by column name: query_id, doc_id, relevance or
    score, and other common names. metrics: names as on the command line, such as 'nDCG@5,10 AP(rel=2)', or a
    list of these, of which any may be a measure of ir_measures.
    errors: 'keep' leaves runs that cannot be evaluated in Results.failed, and evaluates the others; where none
    can be, the error of the first is raised.

    options: those listed below. What a user should know about the results is warned of, once for each kind
    (EvaluationWarning), and in Results.notices.

    Raises GradevalError: InputError for data, MetricError for metrics, OptionError for options.
    """
    separate, specs, chosen = separate_runs(runs), parse(metrics), Options(**options)
    if errors not in ("raise", "keep"):
        raise OptionError(f"errors must be raise or keep, not {described(errors)}")
    results = evaluate_all(*with_saved(qrels, separate), specs, chosen)
    return warned(results if errors == "keep" and results.runs else complete(results))


def evaluate_all(
    qrels: Any,
    runs: Runs,
    specs: Sequence[Spec],
    options: Options,
    on_run: Callable[[Results], None] | None = None,
    keep_values: bool = True,
    is_part: bool = False,
    **how: Any,
) -> Results:
    """Evaluate (name, run) pairs; a run that cannot be read is in Results.failed. how: for Evaluator.of().

    A run may be a saved result that with_saved() has read; one that was made from other qrels, with other
    options or without one of the metrics is in Results.failed too. on_run, keep_values: those
    of Evaluator.evaluate_each(). is_part: whether there are other runs, which may have the columns that options
    name. Raises GradevalError where the qrels or the options are wrong.
    """
    if not is_part and not any(isinstance(run, (SavedResult, FailedRun)) for _, run in runs):
        check_columns([qrels, *(run for _, run in runs)], options)
    has_saved = any(isinstance(run, SavedResult) for _, run in runs)
    evaluator = Evaluator.of(qrels, specs, options, **{**how, "hashes": has_saved or how.get("hashes", False)})
    results = evaluator.evaluate_each(runs, on_run, keep_values or options.interval is not None)
    if options.interval is None or len(results.runs) < 2:
        return results
    count, total = results.inseparable(options.interval, options.confidence)
    notice = Notice(Kind.NOT_SEPARABLE, "", count, total=total, rule=f"{options.confidence:g}")
    return results.replace(notices=(*results.notices, notice)) if count else results


def with_saved(qrels: Any, runs: Runs) -> tuple[Any, Runs]:
    """The qrels and the runs, with each run file that holds saved results read as a SavedResult.

    Other files may come back as Sources, since a pipe that was looked at cannot be opened again. A damaged
    saved result comes back as a FailedRun; any other file that cannot be read is left to the evaluation to
    report. Raises InputError where the qrels are a saved result.
    """
    if not any(is_path(data) and _may_be_saved(data) for data in (qrels, *(run for _, run in runs))):
        return qrels, runs
    from gradeval.evaluation.saved import look_for_saved

    return look_for_saved(qrels, runs)


def _may_be_saved(path: str | bytes | os.PathLike[str] | Source) -> bool:
    """Whether a run may be a saved result: its beginning is JSON, or cannot be seen here."""
    if isinstance(path, Source):
        return True
    try:
        if not os.path.isfile(path):
            return path == "-" or os.path.exists(path)
        with open(path, "rb") as file:
            start = file.read(64)
    except Exception:  # a path may be of any class; reading it reports what is wrong
        return False
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" or bool(compression_of(start))
