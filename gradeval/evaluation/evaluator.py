"""Evaluation for Python: runs, one or many and in any form, with judgments that are read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gradeval.errors import OptionError, described
from gradeval.evaluation.caveats import query_caveats
from gradeval.evaluation.evaluation import (
    Evaluation,
    OnErrors,
    accepted,
    check_errors,
    complete,
    evaluate_all,
)
from gradeval.evaluation.outcome import Evaluated
from gradeval.evaluation.plan import Plan
from gradeval.evaluation.results import Results, Runs, notices_warned
from gradeval.evaluation.runs import separate_runs, with_saved
from gradeval.notices import EvaluationWarning, Notice, NoticeKind, sentences
from gradeval.options import DEFAULT_METRICS, Options, takes
from gradeval.registry.spec import Metrics, asked_names, parse, single_names
from gradeval.render.printable import of_kind, warn, warned

if TYPE_CHECKING:
    from gradeval.evaluation.training import Scores
    from gradeval.keywords import Evaluate, Unpack


@takes(Options.table)
def evaluate(
    qrels: Any,
    runs: Any,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    errors: OnErrors = "raise",
    **options: Unpack[Evaluate],
) -> Results:
    """Evaluate one or several runs.

        >>> results = gradeval.evaluate("qrels.txt", ["bm25.run", "dense.run"], "nDCG@10 AP")
        >>> results.run("bm25")["nDCG@10"]

    qrels: a path, a dict of dicts {query: {document: grade}}, tuples (query, document, grade) or
    (query, subtopic, document, grade), or a data frame.
    runs: one run (a path, {query: {document: score}}, tuples (query, document, score), or a data frame, where
    one with a column named run has several), a list of runs, a dict of runs by name, or a directory or a
    pattern such as 'runs/*.run'; a file of saved results (gradeval -f json -q) is a run too. Qrels and runs of
    ranx are read too, and responses of search engines, of which query_ids names the queries. Data frames are
    read by column name: query_id, doc_id, relevance or score, and other common names. metrics: names as on the
    command line, such as 'nDCG@5,10 AP(rel=2)', or a list of these, of which any may be a measure of
    ir_measures.
    errors: 'keep' leaves runs that cannot be evaluated in Results.failed, and evaluates the others; where none
    can be, the error of the first is raised.

    options: those listed below. What a user should know about the results is warned of, once for each kind
    (EvaluationWarning), and in Results.notices.

    Raises GradevalError: InputError for data, MetricError for metrics, OptionError for options.
    """
    separate = separate_runs(runs)
    names = single_names(metrics)
    plan = _plan_of(names, options)
    check_errors(errors)
    results = accepted(evaluate_all(plan, *with_saved(qrels, separate)), errors)
    return warned(results.replace(asked=asked_names(names)), notices_warned(qrels, runs))


def _plan_of(names: Sequence[str], options: Mapping[str, Any]) -> Plan:
    plan = Plan(parse(names), Options(**options), hashes_qrels=True)
    return plan.replace(keeps_unjudged=plan.options.bounds)


class Warner:
    """Warns the caller of an Evaluator, of each kind once, by several threads too. is_error: raises instead,
    each time, one EvaluationWarning for all that it notices.
    """

    def __init__(self, *, is_error: bool) -> None:
        self._is_error = is_error
        self._is_first = True
        self._warned: dict[NoticeKind, object] = {}  # by which call

    def warn(self, results: Results, evaluated: Sequence[Evaluated]) -> None:
        """Warn of the results: the first time of all notices, later of those that are found already, or cost
        nothing. evaluated: the runs in which the others are found.
        """
        notices: Iterable[Notice] = results.notices if self._is_first else results.given_notices
        if not self._is_first:
            notices = chain(notices, *map(query_caveats, evaluated))
        notices = of_kind(notices, informational=False)
        unknown = [notice for notice in notices if notice.kind not in self._warned]
        texts = dict(sentences(unknown, len(results.runs), in_python=True))
        if self._is_error and texts:
            raise EvaluationWarning("\n".join(texts.values()))
        call = object()
        for kind, text in texts.items():
            if self._warned.setdefault(kind, call) is call:  # else another thread has just warned of it
                try:
                    warn(text)
                except EvaluationWarning:  # raised by a filter of Python
                    del self._warned[kind]
                    raise
        self._is_first = False


class Evaluator:
    """Evaluates runs with judgments that are read once.

        >>> evaluator = gradeval.Evaluator("qrels.txt", "nDCG@10 AP")
        >>> evaluator.evaluate("bm25.run").mean(0, "AP")

    The arguments are those of evaluate(). Several threads can evaluate at once.

    warnings: 'once' warns of each kind once (EvaluationWarning), 'ignore' never; 'error' raises what it finds.
    Each call looks for what costs nothing, such as queries that a run lacks, documents without a judgment, or
    qrels given as a run; the first also for the rest, such as ties and the share of judged documents. All is in
    Results.notices and Results.warnings, which are found on first access, from the ranks of the judged
    documents, which the results keep until then.
    """

    @takes(Options.table)
    def __init__(
        self,
        qrels: Any,
        metrics: Metrics = DEFAULT_METRICS,
        *,
        warnings: Literal["once", "ignore", "error"] = "once",
        **options: Unpack[Evaluate],
    ) -> None:
        if warnings not in ("once", "ignore", "error"):
            raise OptionError(f"warnings must be once, ignore or error, not {described(warnings)}")
        names = single_names(metrics)
        self._evaluation = Evaluation(_plan_of(names, options), qrels)
        self._asked = asked_names(names)
        self._warner = None if warnings == "ignore" else Warner(is_error=warnings == "error")

    def __repr__(self) -> str:
        setting = self._evaluation.setting
        metrics = len(setting.plan.specs)
        queries = int(np.count_nonzero(setting.chosen))
        return f"Evaluator(qrels={setting.qrels.path!r}, metrics={metrics}, queries={queries})"

    def evaluate(self, runs: Any) -> Results:
        """Evaluate one or several runs, of any form that gradeval.evaluate() takes."""
        results, evaluated = self._evaluation.kept(separate_runs(runs))
        complete(results)
        self._warn(results, evaluated)
        return results.replace(asked=self._asked)

    def _warn(self, results: Results, evaluated: Sequence[Evaluated]) -> None:
        if self._warner is not None:
            self._warner.warn(results, evaluated)

    def evaluate_arrays(self, *, query: Any, document: Any, score: Any) -> Scores:
        """Evaluate rankings that are arrays of ids, as an index of vectors returns them.

            >>> score, document = index.search(vectors, 100)
            >>> evaluator.evaluate_arrays(query=query_ids, document=document, score=score)["R@100"]

        This is right for the first documents of a search: the qrels have the relevant ones that it did not
        find too. score_arrays() is for arrays that have all judged documents, with their grades.

        query: the id of each query, (Q,), each once. document, score: of each document found, (Q, K): numpy
        arrays, or anything with __array__ or __dlpack__. Ids are strings or integers, and compared as text: 7
        is the document '7'. -1 is no document, wherever it stands, as FAISS returns it. Documents are ranked by
        score, the highest first: of distances give the negative.

        Returns what score_arrays() returns, with the values and the means of evaluate() for the same run: a
        judged query that is not among the arrays has the value of a run without documents, mostly 0 (with
        queries='both' it is left out), and queries that are not judged are not counted. Its queries are the ids
        of those counted, as text, in the order of the qrels. Options of the Evaluator apply, such as ties.
        Raises GradevalError: InputError for arrays, MetricError for metrics without numbers, OptionError for an
        Evaluator with tie_range, bounds or interval, which the values of arrays do not have.
        """
        from gradeval.evaluation.training import Scores, numbers_only  # for those who have arrays only
        from gradeval.tables.documents import first_error, run_of_arrays

        options = self._evaluation.plan.options
        for name in ("tie_range", "bounds", "interval"):
            if getattr(options, name):
                message = f"{name}: values of arrays have no limits"
                raise OptionError(f"{message}. Evaluate them with an Evaluator without {name}")
        specs = numbers_only(self._evaluation.plan.specs)
        with first_error():
            results = self.evaluate(run_of_arrays(query, document, score))
        [result] = results.runs
        counted = np.flatnonzero(result.counted)
        return Scores(
            specs,
            result.values[:, counted],
            results.means[0],
            np.array(self._evaluation.setting.queries[:])[counted],
        )

    def evaluate_each(
        self, runs: Runs, on_run: Callable[[Results], None] | None = None, keep_values: bool = True
    ) -> Results:
        """Evaluate (name, run) pairs; a run that cannot be read is in Results.failed, next to the others.
        on_run: is shown the results of each run, in order, as soon as they are known. keep_values: whether the
        returned results have the values of the queries, not only the summaries. With on_run, or without
        keep_values, the notices are found with the values: nothing else is kept of a run. Warns as evaluate().
        """
        evaluated: list[Evaluated] = []
        if on_run is None and keep_values:
            results, evaluated = self._evaluation.kept(runs)
        else:
            results = self._evaluation.results(runs, on_run, keep_values)
        self._warn(results, evaluated)
        return results
