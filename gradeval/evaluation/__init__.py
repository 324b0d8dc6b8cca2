"""Qrels × runs × metrics → Results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gradeval.evaluation.evaluator import Evaluator, complete
from gradeval.evaluation.results import Results
from gradeval.evaluation.runs import separate_runs
from gradeval.options import DEFAULT_METRICS, Options
from gradeval.registry.spec import Spec, parse
from gradeval.tables.given_columns import check_columns


@Options.document
def evaluate(qrels: Any, runs: Any, metrics: str | Iterable[str] = DEFAULT_METRICS, **options: Any) -> Results:
    """Evaluate one or several runs.

    qrels: a path, a dict of dicts {query: {document: grade}}, tuples (query, document, grade), or a data frame.
    runs: one run (a path, {query: {document: score}}, tuples (query, document, score), or a data frame), a list
    of runs, a dict of runs by name, or a directory or a pattern such as 'runs/*.run'. Data frames are read by
    column name: query_id, doc_id, relevance or score, and other common names. metrics: names as on the command
    line, such as 'nDCG@5,10 AP(rel=2)', or a list of these.

    options: those listed below.

    Raises GradevalError: InputError for data, MetricError for metrics, OptionError for options.
    """
    return complete(evaluate_all(qrels, separate_runs(runs), parse(metrics), Options.of(**options)))


def evaluate_all(
    qrels: Any,
    runs: Sequence[tuple[str | None, Any]],
    specs: Sequence[Spec],
    options: Options,
    on_run: Callable[[Results], None] | None = None,
    keep_values: bool = True,
    is_part: bool = False,
    **how: Any,
) -> Results:
    """Evaluate (name, run) pairs; a run that cannot be read is in Results.failed. how: for Evaluator.of().

    on_run, keep_values: those of Evaluator.evaluate_each(). is_part: whether there are other runs, which may
    have the columns that options name.
    Raises GradevalError where the qrels or the options are wrong.
    """
    if not is_part:
        check_columns([qrels, *(run for _, run in runs)], options)
    return Evaluator.of(qrels, specs, options, runs=runs, **how).evaluate_each(runs, on_run, keep_values)
