"""Qrels × runs × metrics → Results: runs, one or many and in any form, with judgments that are read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gradeval.arrays import Bools, Floats, cached_property
from gradeval.arrays.strings import Texts
from gradeval.arrays.threads import default_jobs, forked_map, map_all, ordered_map
from gradeval.errors import GradevalError, InputError, OptionError, described
from gradeval.evaluation import outcome
from gradeval.evaluation.outcome import Depths, Noticed, Outcome
from gradeval.evaluation.results import FailedRun, Results, RunResult, Runs, SavedResult
from gradeval.evaluation.runs import check_labels, names_by_path, path_of, separate_runs, with_saved
from gradeval.evaluation.score import Judge, check_expected
from gradeval.formats.sources import Source
from gradeval.notices import EvaluationWarning, Notice, NoticeKind, sentences
from gradeval.options import DEFAULT_METRICS, EXPECTED, Options, takes
from gradeval.registry.spec import Metrics, Spec, parse
from gradeval.render.document import of_kind, warn, warned
from gradeval.tables import load
from gradeval.tables.load import Run

if TYPE_CHECKING:
    from gradeval.evaluation.training import Scores
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
    """Evaluator.evaluate_each() for (name, run) pairs as with_saved() returns them. is_part: whether there are
    other runs, which may have the columns that options name. how: for Evaluator.of(). Raises GradevalError for
    the qrels or the options.
    """
    if not is_part and not any(isinstance(run, (SavedResult, FailedRun)) for _, run in runs):
        load.check_inputs([("qrels", qrels), *(("run", run) for _, run in runs)], options)
    has_saved = any(isinstance(run, SavedResult) for _, run in runs)
    evaluator = Evaluator.of(qrels, specs, options, **{**how, "hashes": has_saved or how.get("hashes", False)})
    results = evaluator.evaluate_each(runs, on_run, keep_values or options.interval is not None)
    if options.interval is None or len(results.runs) < 2:
        return results
    count, total = results.inseparable(options.interval, options.confidence)
    notice = Notice(NoticeKind.NOT_SEPARABLE, "", count, total=total, rule=f"{options.confidence:g}")
    return results.replace(notices=(*results.notices, notice)) if count else results


def complete(results: Results) -> Results:
    """The results if all runs could be evaluated; raises the error of the first that could not."""
    for failed in results.failed:
        raise failed.error
    return results


_ENDED = "a process that evaluates runs has ended, and so it was not evaluated"
_WORTH_PROCESSES = 1 << 23  # bytes besides the largest run; fewer are read before processes have begun


class Warner:
    """Warns the caller of an Evaluator, of each kind once, by several threads too. is_error: raises instead,
    each time, one EvaluationWarning for all that it found.
    """

    def __init__(self, *, is_error: bool) -> None:
        self._is_error, self._is_first = is_error, True
        self._warned: dict[NoticeKind, object] = {}  # by which call

    def warn(self, results: Results, of_queries: Sequence[Notice]) -> None:
        """Warn of the results: the first time of all notices, later of those found with the values."""
        notices = of_kind(results.notices if self._is_first else of_queries, informational=False)
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

    _warner: Warner | None = None

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
        self._open(qrels, parse(metrics), Options(**options), at_once=False)
        self._warner = None if warnings == "ignore" else Warner(is_error=warnings == "error")

    @classmethod
    def of(cls, qrels: Any, specs: Sequence[Spec], options: Options, **how: Any) -> Evaluator:
        """From parsed arguments. how: for _open()."""
        evaluator = cls.__new__(cls)
        evaluator._open(qrels, specs, options, **how)
        return evaluator

    def _open(
        self,
        qrels: Any,
        specs: Sequence[Spec],
        options: Options,
        *,
        at_once: bool = True,
        details: bool = True,
        hashes: bool = False,
        unlisted: Sequence[Spec] = (),
        per_query: bool = False,
        as_trec_eval: bool = False,
        optional: Sequence[Spec] = (),
    ) -> None:
        """at_once: find notices with the values, so that nothing else is kept of a run. details: notices of
        several runs have what only that of a single run prints. hashes: take the SHA-256 of the files.
        unlisted: metrics that the user does not see. per_query: the user asks for the values of queries, so
        that notices of ties are about them too. as_trec_eval: read lines of runs as trec_eval does. optional:
        metrics that a saved result may lack.
        """
        self._at_once, self._details, self._hashes = at_once, details, hashes
        self._unlisted, self._as_trec_eval = unlisted, as_trec_eval
        self._per_query = per_query
        self._optional = [spec for spec in optional if spec not in specs]
        specs = [*specs, *self._optional]
        self._weights_path = options.query_weights if isinstance(options.query_weights, str) else ""
        options = outcome.with_weights(options)
        if options.ties == EXPECTED:
            check_expected(specs)
        self._jobs = options.jobs or default_jobs()
        self._judged = load.open_qrels(qrels, options, hashes)
        self._qrels = self._judged.qrels
        self._specs = tuple(with_levels(specs, self._qrels.scale) if options.by_level else specs)
        self._queries = Texts(self._qrels.queries)
        self._options = options = outcome.with_ids(options, self._qrels)
        self._chosen = outcome.chosen_queries(self._qrels, options)
        # an error before runs are read
        outcome.weights_of(self._queries, self._chosen, options, self._weights_path)
        source, letor = self._judged.source, self._judged.letor
        self._nothing = Results(  # the results of no runs
            self._qrels.path,
            source.sha256() if hashes and source else None,
            self._queries,
            self._specs,
            (),
            options.to_dict(),
            groups_sha256=letor.groups.sha256() if hashes and letor and letor.groups else None,
            chosen=int(self._chosen.sum()),
        )

    def __repr__(self) -> str:
        metrics, queries = len(self._specs) - len(self._optional), int(np.count_nonzero(self._chosen))
        return f"Evaluator(qrels={self._qrels.path!r}, metrics={metrics}, queries={queries})"

    def evaluate(self, runs: Any) -> Results:
        """Evaluate one or several runs, of any form that gradeval.evaluate() takes."""
        results, of_queries = self._evaluated(separate_runs(runs))
        complete(results)
        if self._warner is not None:
            self._warner.warn(results, of_queries)
        return results

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
        Raises GradevalError: InputError for arrays, MetricError for metrics without numbers.
        """
        from gradeval.evaluation.training import Scores, numbers_only  # for those who have arrays only
        from gradeval.tables.documents import run_of_arrays

        specs = numbers_only(self._specs)
        results = self.evaluate(run_of_arrays(query, document, score))
        [result] = results.runs
        counted = np.flatnonzero(result.counted)
        return Scores(specs, result.values[:, counted], results.means[0], np.array(self._queries[:])[counted])

    def evaluate_each(
        self, runs: Runs, on_run: Callable[[Results], None] | None = None, keep_values: bool = True
    ) -> Results:
        """Evaluate (name, run) pairs; a run that cannot be read is in Results.failed, next to the others.
        on_run: is shown the results of each run, in order, as soon as they are known. keep_values: whether the
        returned results have the values of the queries, not only the summaries. With on_run, or without
        keep_values, the notices are found with the values: nothing else is kept of a run.
        """
        return self._evaluated(runs, on_run, keep_values)[0]

    def _evaluated(
        self, runs: Runs, on_run: Callable[[Results], None] | None = None, keep_values: bool = True
    ) -> tuple[Results, Sequence[Notice]]:
        """evaluate_each(), and Outcome.of_queries of all runs."""
        check_labels(runs)
        at_once = self._at_once or on_run is not None or not keep_values
        results: list[RunResult] = []
        failed: list[FailedRun] = []
        noticed: list[Callable[[], Noticed]] = []
        of_queries: list[Notice] = []
        empty: Bools | None = None
        counted = np.zeros(len(self._chosen), np.bool_)
        # the notices of ties of several runs become a line, which has no expected value
        with_expected = repeat(True) if self._details else chain([True], repeat(False))
        for run_outcome in self._outcomes(runs, at_once, with_expected):
            if isinstance(run_outcome, FailedRun):
                failed.append(run_outcome)
                part = self._nothing.replace(failed=(run_outcome,))
            else:
                noticed.append(partial(run_outcome.noticed, with_expected))
                run_notices = noticed[-1]().notices if at_once else ()
                part = self._nothing.replace(runs=(run_outcome.result,), notices=run_notices)
                of_queries += run_outcome.of_queries
                empty = run_outcome.empty  # the same of each run
                counted |= run_outcome.result.counted
            if on_run is not None:
                on_run(part)
            results += (part if keep_values else part.summarized()).runs
        depths = [(run.name, run.depths) for run in results]
        deferred = partial(self._notices, noticed, depths, empty, counted)
        notices = deferred() if at_once else deferred
        return self._nothing.replace(runs=tuple(results), failed=tuple(failed), notices=notices), of_queries

    def _outcomes(self, runs: Runs, at_once: bool, with_expected: Iterator[bool]) -> Iterator[_Found]:
        """What is found of each run, in order. Runs are evaluated by processes where these may be made."""
        runs = [(label, self._checked(run)) for label, run in runs]
        names = names_by_path(runs, self._options)
        concurrent_runs = max(1, min(self._jobs, sum(map(len, names))))
        evaluate = partial(self._outcome, at_once, with_expected, self._jobs // concurrent_runs)

        def opened(position: int) -> Sequence[_Opened]:
            return self._opened(*runs[position], names[position], position + 1)

        def in_process(position: int, tell: Callable[[int, int], None]) -> list[_Found]:
            Source.watch = tell if Source.watch is not None else None
            return [*ordered_map(evaluate, opened(position), -(-concurrent_runs // processes))]

        processes = min(self._jobs, len(runs)) if at_once else 1
        sizes = sorted(load.stored_size(run) for _, run in runs) if processes > 1 else []
        is_worth = sum(sizes[:-1]) >= _WORTH_PROCESSES
        if is_worth and (of_runs := forked_map(in_process, len(runs), processes, Source.watch)):
            return chain.from_iterable(
                _unfinished(runs[position][1], names[position]) if outcomes is None else outcomes
                for position, outcomes in enumerate(of_runs)
            )
        return ordered_map(evaluate, chain.from_iterable(map(opened, range(len(runs)))), concurrent_runs)

    def _opened(self, label: str | None, run: Any, name_of: dict[str, str], number: int) -> Sequence[_Opened]:
        """A run, or those of a file. name_of: their names, by path. number: among the runs, from 1."""
        if isinstance(run, FailedRun):
            return [run]
        first = next(iter(name_of))
        try:
            if isinstance(run, SavedResult):
                from gradeval.evaluation.saved import outcomes_of_saved

                evaluation = self._nothing, self._qrels, self._options, self._chosen
                shown = self._unlisted, self._per_query
                return outcomes_of_saved(run, [*name_of.values()], *evaluation, self._empty, *shown)
            several = load.open_runs(
                label, run, self._judged, self._options, self._hashes, number, self._as_trec_eval
            )
        except GradevalError as error:
            return [FailedRun(path_of(run, first), error)]
        return [
            (name_of.get(opened_run.path, name_of[first]), opened_run)
            if isinstance(opened_run, Run)
            else FailedRun(path_of(run, opened_run.path), opened_run)
            for opened_run in several
        ]

    def _checked(self, run: Any) -> Any:
        """The run, or a FailedRun for a saved result that was made otherwise than runs are evaluated here."""
        if not isinstance(run, SavedResult):
            return run
        from gradeval.evaluation.saved import check_made_alike

        try:
            check_made_alike(run, self._nothing, self._options, self._optional)
        except GradevalError as error:
            return FailedRun(run.path, error)
        return run

    @cached_property
    def _empty(self) -> Bools:
        """Which queries have nothing relevant to a metric that needs it, (M, Q), whatever the run."""
        return outcome.without_relevant(self._qrels, self._specs, self._options, self._jobs)

    def _outcome(self, at_once: bool, with_expected: Iterator[bool], jobs: int, opened: _Opened) -> _Found:
        if isinstance(opened, (Outcome, FailedRun)):
            return opened
        name, run = opened
        try:
            reduced = run.reduce(self._qrels, jobs)
            outcome.check_common(run, reduced, self._qrels, self._chosen)
            tag = reduced.tag or run.name or run.short_name or run.path
            judge = Judge(self._qrels, reduced, self._options, tag)
            run_outcome = outcome.outcome_of(
                judge,
                name,
                run.path,
                run.ties,
                self._specs,
                jobs=jobs,
                chosen=self._chosen,
                unlisted=self._unlisted,
                per_query=self._per_query,
            )
            if at_once:
                noticed = run_outcome.noticed(with_expected)
                run_outcome = run_outcome.replace(noticed=partial(outcome.known, noticed))
            if self._hashes and run.source is not None:
                result = run_outcome.result.replace(sha256=run.source.sha256())
                run_outcome = run_outcome.replace(result=result)
        except GradevalError as error:
            return FailedRun(run.path, error)
        return run_outcome

    def _notices(
        self, noticed: Sequence[Callable[[], Noticed]], depths: Depths, empty: Bools | None, counted: Bools
    ) -> tuple[Notice, ...]:
        """The notices of all runs. empty: of one, None if there is none. counted: the queries of any, (Q,)."""
        of_runs = map_all(lambda find, jobs: find(), noticed, self._jobs)
        share = max((of_run.judged_share for of_run in of_runs), default=0.0)
        notices = [*outcome.qrels_notices_for(self._qrels, self._specs)]
        if self._options.query_weights is not None:
            notices.append(Notice(NoticeKind.WEIGHTED, "", int(counted.sum()), rule=self._weights_path))
        notices += outcome.no_subtopics_notices(self._qrels, self._specs)
        if empty is not None:
            notices += outcome.relevance_notices(self._qrels, self._specs, empty, counted, self._options, share)
        notices += outcome.unscaled_notices(self._qrels.path, self._qrels.scale, self._specs)
        notices += (notice for of_run in of_runs for notice in of_run.notices)
        return outcome.with_depths(notices, depths, self._specs, self._options.to_dict())


_Found = Outcome | FailedRun
_Opened = tuple[str, Run] | _Found
"""A run with its name, or what is known of it already."""


def _unfinished(run: Any, name_of: dict[str, str]) -> Sequence[FailedRun]:
    """The run, or those of a file, whose process has ended. name_of: their names, by path."""
    if isinstance(run, FailedRun):
        return [run]
    hint = "Where memory is short, --jobs 1 takes less of it"
    errors = [InputError(path, _ENDED, hint=hint) for path in name_of]
    return [FailedRun(error.path, error) for error in errors]


def with_levels(specs: Sequence[Spec], grades: Floats) -> list[Spec]:
    """AP(rel=t) for each of the grades t above 0, before muAP (or first)."""
    levels = [spec for t in grades[grades > 0].tolist() for spec in parse(f"AP(rel={t!r})")]
    names = [spec.metric.name for spec in specs]
    at = names.index("muAP") if "muAP" in names else 0
    return list(dict.fromkeys([*specs[:at], *levels, *specs[at:]]))
