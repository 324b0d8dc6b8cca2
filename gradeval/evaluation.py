"""Qrels × runs × metrics → Results."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.strings import Texts
from gradeval.arrays.threads import default_jobs, ordered_map, with_fewer
from gradeval.errors import GradevalError, InputError, OptionError, UnknownQueryError, named
from gradeval.findings import (
    first_ranks,
    judged_notices,
    judged_share,
    query_notices,
    relevance_notices,
    tie_notices,
    undefined_notices,
)
from gradeval.formats.python import are_mappings, is_frame, one_of_each_type, readable
from gradeval.formats.sources import Source
from gradeval.notices import Notice
from gradeval.options import DEFAULT_METRICS, NO_RELEVANT, Options
from gradeval.registry.spec import Spec, parse
from gradeval.results import FailedRun, Results, RunResult
from gradeval.scoring import Scored, scored
from gradeval.tables.judgments import Judgments
from gradeval.tables.load import (
    Run,
    RunTable,
    feature_names,
    is_file,
    is_path,
    open_qrels,
    open_runs,
    source_of,
)
from gradeval.tables.qrels import Qrels
from gradeval.tables.reduced import Reduced
from gradeval.tables.run_names import run_files, run_names
from gradeval.ties import TRIALS, Spread, spread

_FEW = 1 << 13  # judgments that are scored before another thread has started
Judge = Callable[[slice | Ints, Floats], Judgments]


def evaluate(qrels: Any, runs: Any, metrics: str | Iterable[str] = DEFAULT_METRICS, **options: Any) -> Results:
    """Evaluate one or several runs.

    qrels: a path, a dict of dicts {query: {document: grade}}, tuples (query, document, grade), or a data frame.
    runs: one run (a path, {query: {document: score}}, tuples (query, document, score), or a data frame), a list
    of runs, a dict of runs by name, or a directory or a pattern such as 'runs/*.run'. Data frames are read by
    column name: query_id, doc_id, relevance or score, and other common names. metrics: names as on the command
    line, such as 'nDCG@5,10 AP(rel=2)', or a list of these.

    Options, each with its default:
    rel: the relevance threshold, the lowest grade that counts as relevant (None: any grade above 0).
    zero_grade: the grade that means non-relevant; subtracted from every grade first (0).
    depth: evaluate the first ranks of each query only, so many of them (None: all).
    judged_only: remove unjudged documents from the rankings first (False).
    ties: the order of tied scores, 'trec', 'input', 'best' or 'worst' (None: 'input' for features and scores
    of LETOR files, else 'trec', with a notice if another order could change a value).
    tie_range: find the lowest and the highest value over the orders of tied scores too (False).
    no_relevant: the value of metrics that divide by what is relevant, for a query without a relevant document:
    '0', '1' or 'skip' (None: '0', with a notice).
    by_level: add AP with each grade as the relevance threshold, before muAP (False).
    queries: average over all 'judged' queries, or those in 'both' qrels and run ('judged').
    query_ids: evaluate these queries only: a list, or a string such as '401,402' (None: all).
    qrels_format: 'trec', 'letor', 'beir', 'csv', 'tsv', 'json', 'jsonl', 'parquet' or 'arrow' (None: detected
    from the content).
    run_format: 'trec', 'letor', 'scores', 'ranklib', 'msmarco', 'beir', 'csv', 'tsv', 'json', 'jsonl',
    'parquet' or 'arrow' (None: detected from the content).
    features: the features of LETOR files that are runs: a list, or a string such as '1,5,9-12' (none).
    qrels_feature: the feature of a LETOR file that is the grade (None: its label).
    groups: the file of the sizes of queries, for SVMlight files without qid (None: FILE.query or FILE.group).
    columns: the names of columns of tables by role, such as 'query=user,document=item,grade=stars', or a dict;
    score is that of runs (none: usual names).
    split: the part of a predictions file of MTEB, as SPLIT or SUBSET/SPLIT (None: its only one).
    ignore_identical_ids: leave out documents of runs whose id is their query's (False).
    jobs: the number of threads (0: the number of processors).

    Raises GradevalError: InputError for data, MetricError for metrics, OptionError for options.
    """
    return complete(evaluate_all(qrels, separate_runs(runs), parse(metrics), Options.of(**options)))


def complete(results: Results) -> Results:
    """The results if all runs could be evaluated; raises the error of the first that could not."""
    for failed in results.failed:
        raise failed.error
    return results


class Evaluator:
    """Evaluates runs with judgments that are read once.

        >>> evaluator = gradeval.Evaluator("qrels.txt", "nDCG@10 AP")
        >>> evaluator.evaluate("bm25.run").mean(0, "AP")

    The arguments are those of evaluate(). Nothing changes after the construction, so that several threads can
    evaluate at once. The notices of its results are found when they are first looked at, from the ranks of the
    judged documents, which the results keep until then.
    """

    _at_once = False  # whether notices are found with the values

    def __init__(self, qrels: Any, metrics: str | Iterable[str] = DEFAULT_METRICS, **options: Any) -> None:
        self._open(qrels, parse(metrics), Options.of(**options))

    @classmethod
    def of(
        cls,
        qrels: Any,
        specs: Sequence[Spec],
        options: Options,
        *,
        runs: Sequence[tuple[str | None, Any]],
        watch: Callable[[Source], None] | None = None,
        hashes: bool = False,
        query_ids: Callable[[Iterable[str], str], tuple[str, ...]] | None = None,
    ) -> Evaluator:
        """An evaluator of these (name, run) pairs, which needs no more of the qrels than they do.

        Notices are found with the values, so that nothing else is kept of a run, however many there are.
        watch: is shown each source before it is read. hashes: whether to take the SHA-256 of the files.
        query_ids: chooses options.query_ids, given the ids of all judged queries and the name of the qrels.
        """
        evaluator = cls.__new__(cls)
        evaluator._at_once = True
        with_features = is_path(qrels) and any(is_file(run, source_of(qrels).name) for _, run in runs)
        evaluator._open(qrels, specs, options, watch, hashes, query_ids, with_features)
        return evaluator

    def _open(
        self,
        qrels: Any,
        specs: Sequence[Spec],
        options: Options,
        watch: Callable[[Source], None] | None = None,
        hashes: bool = False,
        query_ids: Callable[[Iterable[str], str], tuple[str, ...]] | None = None,
        with_features: bool = True,
    ) -> None:
        self._watch, self._hashes = watch, hashes
        self._jobs = options.jobs or default_jobs()
        self._given = open_qrels(qrels, options, self._jobs, self._prepare, with_features)
        table = self._given.qrels
        self._judged = table.shift_grades(options.zero_grade)
        self._specs = tuple(_with_levels(specs, self._judged) if options.by_level else specs)
        self._queries = Texts(table.queries)
        if query_ids is not None:
            options = replace(options, query_ids=query_ids(self._queries, table.path))
        self._options, self._wanted = options, _wanted(table, options.query_ids)

    def _prepare(self, source: Source) -> None:
        """Called with each source before it is read."""
        if self._hashes:
            source.hash_while_reading()
        if self._watch is not None:
            self._watch(source)

    def evaluate(self, runs: Any) -> Results:
        """Evaluate one or several runs, of any form that gradeval.evaluate() takes."""
        return complete(self.evaluate_each(separate_runs(runs)))

    def evaluate_each(
        self,
        runs: Sequence[tuple[str | None, Any]],
        on_run: Callable[[Results], None] | None = None,
        keep_values: bool = True,
    ) -> Results:
        """Evaluate (name, run) pairs; a run that cannot be read is in Results.failed, beside the others.

        on_run: is shown the results of each run by itself, in order, as soon as they are there. keep_values:
        whether the returned results have the values of the queries, not only the summaries. With on_run, or
        without keep_values, the notices are found with the values: nothing else is kept of a run.
        """
        check_labels(runs)
        at_once = self._at_once or on_run is not None or not keep_values
        planned = _planned(runs, self._options)
        names = iter(_names([one for of_run in planned for one in of_run]))
        name_of = [{path: next(names) for _, path, _ in of_run} for of_run in planned]

        def opened(position: int) -> list[_Opened]:
            label, run = runs[position]
            of_run = name_of[position]
            try:
                found = open_runs(label, run, self._given, self._options, self._prepare, position + 1)
            except GradevalError as error:
                return [FailedRun(_path_of(run, next(iter(of_run))), error)]
            return [
                (of_run.get(one.path) or next(iter(of_run.values())), one)
                if isinstance(one, Run)
                else FailedRun(_path_of(run, one.path), one)
                for one in found
            ]

        table, source = self._given.qrels, self._given.source
        sha256 = source.sha256() if self._hashes and source else None
        nothing = Results(table.path, sha256, self._queries, self._specs, (), self._options.to_dict())
        parts: list[Results] = []
        noticed: list[Callable[[], _Noticed]] = []
        empty: Bools | None = None
        counted = np.zeros(len(self._wanted), np.bool_)
        outcome = partial(self._outcome, at_once)
        for one in _each(len(runs), opened, outcome, self._jobs, sum(map(len, planned))):
            if isinstance(one, FailedRun):
                part = replace(nothing, failed=(one,))
            else:
                part = replace(nothing, runs=(one.result,), notices=one.noticed().notices if at_once else ())
                noticed.append(one.noticed)
                empty = one.empty if empty is None else empty
                counted |= one.result.counted
            if on_run is not None:
                on_run(part)
            parts.append(part if keep_values else part.summarized())
        notices = partial(self._notices, noticed, empty, counted)
        return nothing.joined(parts, notices() if at_once else notices)

    def _outcome(self, at_once: bool, one: _Opened, jobs: int) -> _Outcome | FailedRun:
        """at_once: whether the notices are found too, so that nothing else is kept of the run."""
        if isinstance(one, FailedRun):
            return one
        name, run = one
        try:
            outcome = _evaluate(self._judged, name, run, self._specs, self._options, jobs, self._wanted)
            if at_once:
                noticed = outcome.noticed()
                outcome = outcome._replace(noticed=lambda: noticed)
        except GradevalError as error:
            return FailedRun(run.path, error)
        if self._hashes:
            return outcome._replace(result=replace(outcome.result, sha256=run.sha256()))
        return outcome

    def _notices(
        self, noticed: Sequence[Callable[[], _Noticed]], empty: Bools | None, counted: Bools
    ) -> tuple[Notice, ...]:
        """The notices of all runs. empty: of one, None if there is none. counted: the queries of any, (Q,)."""

        def find(jobs: int) -> list[_Noticed]:
            return list(ordered_map(lambda find: find(), noticed, max(1, min(jobs, len(noticed)))))

        found = with_fewer(find, self._jobs)
        notices = list(self._given.qrels.notices)
        if empty is not None:  # what is relevant does not depend on the run
            share = max(each.judged_share for each in found)
            notices += relevance_notices(self._judged, self._specs, empty, counted, self._options, share)
        return (*notices, *(notice for each in found for notice in each.notices))


_Opened = tuple[str, Run] | FailedRun
"""A run with its name."""


class _Planned(NamedTuple):
    """A run that is expected of what was given, before it is opened."""

    label: str | None
    path: str
    short_name: str | None = None


def _planned(runs: Sequence[tuple[str | None, Any]], options: Options) -> list[list[_Planned]]:
    """The expected runs of each of the given: names are chosen before anything is read."""
    planned = []
    for position, (label, run) in enumerate(runs, 1):
        path = _path_of(run, label or f"run{position}")
        has_path = is_path(run) or (isinstance(run, RunTable) and run.path is not None)
        if is_path(run) and options.features:
            names = [feature_names(path, feature, label, options) for feature in options.features]
            planned.append([_Planned(label, path, short) for short, path, label in names])
        else:
            planned.append([_Planned(label if has_path else path, path)])
    return planned


def _each(
    count: int,
    opened: Callable[[int], list[_Opened]],
    outcome: Callable[[_Opened, int], _Outcome | FailedRun],
    jobs: int,
    expected: int,
) -> Iterator[_Outcome | FailedRun]:
    """The outcome of each run, in order; few runs are open at a time.

    With too little memory for `jobs` threads, one goes on with the runs whose outcomes are not there yet.
    """
    positions = deque(range(count))
    waiting: deque[_Opened] = deque()

    def drawn() -> Iterator[_Opened]:
        yield from tuple(waiting)
        while positions:
            found = opened(positions[0])  # it stays first if there is no memory for it
            positions.popleft()
            waiting.extend(found)
            yield from found

    def outcomes(jobs: int) -> Iterator[_Outcome | FailedRun]:
        concurrent_runs = max(1, min(jobs, expected))
        for one in ordered_map(lambda one: outcome(one, jobs // concurrent_runs), drawn(), concurrent_runs):
            waiting.popleft()
            yield one

    try:
        yield from outcomes(jobs)
        return
    except MemoryError:
        if jobs == 1:
            raise
    yield from outcomes(1)  # outside the handler, which keeps the threads' memory alive


def evaluate_all(
    qrels: Any,
    runs: Sequence[tuple[str | None, Any]],
    specs: Sequence[Spec],
    options: Options,
    on_run: Callable[[Results], None] | None = None,
    keep_values: bool = True,
    **how: Any,
) -> Results:
    """Evaluate (name, run) pairs; a run that cannot be read is in Results.failed. how: for Evaluator.of().

    on_run, keep_values: those of Evaluator.evaluate_each().
    Raises GradevalError where the qrels or the options are wrong.
    """
    return Evaluator.of(qrels, specs, options, runs=runs, **how).evaluate_each(runs, on_run, keep_values)


def judgments_of(
    qrels: Qrels, reduced: Reduced, queries: slice | Ints, options: Options, tag: str
) -> Judgments:
    """The table of these queries, prepared."""
    judgments = Judgments.of(
        qrels,
        queries,
        reduced.rank,
        reduced.score,
        reduced.retrieved,
        options.rel,
        tag,
        NO_RELEVANT[options.no_relevant_rule],
    )
    return prepared(judgments, options)


def prepared(judgments: Judgments, options: Options) -> Judgments:
    """The table with the depth and the other options applied to it."""
    if options.depth is not None:  # trec_eval's order: ranks below the depth are removed before -J
        judgments = judgments.cut(options.depth)
    return judgments.judged_only() if options.judged_only else judgments


class _Noticed(NamedTuple):
    """The notices of a run, and the share of its first ranks that is judged."""

    notices: tuple[Notice, ...]
    judged_share: float


class _Outcome(NamedTuple):
    """The result of a run.

    empty: which queries have nothing relevant to a metric that needs it, (M, Q). noticed: finds what else a
    user should know of the run, without its lines.
    """

    result: RunResult
    empty: Bools
    noticed: Callable[[], _Noticed]


def judge_of(qrels: Qrels, reduced: Reduced, options: Options, tag: str = "") -> Judge:
    """Makes the judgments of some queries with the ranks of all rows: those of the run, or other ones."""

    def judge(queries: slice | Ints, rank: Floats) -> Judgments:
        return judgments_of(qrels, reduced._replace(rank=rank), queries, options, tag)

    return judge


def score_queries(qrels: Qrels, judge: Judge, rank: Floats, specs: Sequence[Spec], jobs: int) -> Scored:
    """The values of all queries."""

    def found_of(queries: slice) -> Scored:
        return scored(judge(queries, rank), specs)

    return Scored.joined(with_fewer(lambda jobs: list(ordered_map(found_of, qrels.shares(), jobs)), jobs))


def _evaluate(
    qrels: Qrels, name: str, run: Run, specs: Sequence[Spec], options: Options, jobs: int, wanted: Bools
) -> _Outcome:
    reduced = run.reduce(qrels, options.ties or run.ties, jobs)
    has_lines = reduced.retrieved > 0
    if not (has_lines & wanted).any():
        raise InputError(run.path, f"it has no query in common with {qrels.path}", hint="Check the query ids")
    judge = judge_of(qrels, reduced, options, reduced.tag or run.name or run.short_name or run.path)
    jobs = jobs if len(qrels.grade) > _FEW else 1
    found = score_queries(qrels, judge, reduced.rank, specs, jobs)
    counted = wanted & has_lines if options.queries == "both" else wanted
    ties: Spread | None = None
    if options.tie_range:
        ties = spread(qrels, reduced, counted, specs, found, judge, jobs)
    run_rule = run.ties

    def noticed() -> _Noticed:
        notices = [*query_notices(qrels, reduced, wanted, options)]
        if options.ties is None:  # a user who names a rule has decided the order
            changes = ties
            if changes is None:
                changes = spread(qrels, reduced, counted, specs, found, judge, jobs, TRIALS)
            changed = tie_notices(qrels, specs, found, counted, changes, run_rule)
            # the range of a number is printed beside it, so only texts need a notice
            notices += (one for one in changed if not options.tie_range or one.low is None)
        notices += undefined_notices(qrels, specs, found, counted)
        cutoff = first_ranks(specs, options)
        share = judged_share(qrels, reduced, counted, cutoff)
        notices += judged_notices(share, cutoff, specs, qrels.scale, options)
        return _Noticed(tuple(replace(notice, subject=name) for notice in notices), share)

    tie_range = None if ties is None else np.array(ties.ends(found.values))
    rule = options.ties or run_rule
    result = RunResult(name, run.path, None, found.values, counted, found.texts, tie_range, rule)
    return _Outcome(result, found.empty, noticed)


def names_of_runs(runs: Sequence[Run]) -> list[str]:
    """A unique name for each run; labels are kept."""
    return _names([_Planned(run.name, run.path, run.short_name) for run in runs])


def _names(runs: Sequence[_Planned]) -> list[str]:
    labels = [run.label for run in runs if run.label is not None]
    others = [run for run in runs if run.label is None]
    made = iter(run_names([run.path for run in others], [run.short_name for run in others], labels))
    return [next(made) if run.label is None else run.label for run in runs]


def check_labels(runs: Sequence[tuple[str | None, Any]]) -> None:
    """Raise OptionError where two runs have the same label."""
    first: dict[str, Any] = {}
    for label, run in runs:
        if label is not None and label in first:
            both = f": {first[label]} and {run}" if is_path(run) and is_path(first[label]) else ""
            raise OptionError(f"two runs have the label {named(label)}{both}")
        if label is not None:
            first[label] = run


def _path_of(run: Any, name: str) -> str:
    """The path in Results.failed of a run that cannot be read; the name if it has none."""
    if isinstance(run, RunTable):
        return run.path or name
    try:
        return source_of(run).name if is_path(run) else name
    except InputError as error:
        return error.path


def _with_levels(specs: Sequence[Spec], qrels: Qrels) -> list[Spec]:
    """AP(rel=t) for each grade t above 0, before muAP (or first)."""
    grades = qrels.scale
    levels = [one for t in grades[grades > 0].tolist() for one in parse(f"AP(rel={t!r})")]
    names = [spec.metric.name for spec in specs]
    at = names.index("muAP") if "muAP" in names else 0
    return list(dict.fromkeys([*specs[:at], *levels, *specs[at:]]))


def _wanted(qrels: Qrels, ids: tuple[str, ...] | None) -> Bools:
    if ids is None:
        return np.ones(len(qrels.queries), bool)
    known = {query: position for position, query in enumerate(Texts(qrels.queries))}
    positions = [known.get(one, -1) for one in ids]
    unknown = [one for one, position in zip(ids, positions, strict=True) if position < 0]
    if unknown:
        raise UnknownQueryError(unknown, qrels.path)
    wanted = np.zeros(len(known), bool)
    wanted[positions] = True
    return wanted


def _is_row(item: Any) -> bool:
    """Whether it is (query, document, score), not a run: its first element is an id of any type."""
    if is_frame(item):
        return False
    if isinstance(item, np.void):  # of a record array
        item = item.item()
    if not isinstance(item, (tuple, list, np.ndarray)) or not len(item):
        return False
    first = item[0]
    return not isinstance(first, (tuple, list, Mapping, np.ndarray, np.void)) and not hasattr(first, "columns")


def _first_values(runs: Mapping[Any, Mapping[Any, Any]]) -> Iterable[Any]:
    """The first value of each mapping, one of each type."""
    return one_of_each_type(value for run in runs.values() for value in islice(run.values(), 1))


def separate_runs(runs: Any) -> list[tuple[str | None, Any]]:
    """(name, run) of each of the given runs. Raises InputError if there are none."""
    with readable("runs"):
        separate = list(_separate(runs))
    if not separate:
        raise InputError("runs", "no runs given")
    return separate


def _separate(runs: Any) -> Iterator[tuple[str | None, Any]]:
    """(name, run) of each of the given runs."""
    if is_path(runs) or is_frame(runs) or isinstance(runs, RunTable):
        yield from ((None, run) for run in _files(runs))
    elif isinstance(runs, Mapping):
        # {query: {document: score}} has no mappings in its mappings, of each of which the first value decides
        if not are_mappings(runs.values()) or any(isinstance(value, Mapping) for value in _first_values(runs)):
            yield from ((str(name), run) for name, run in runs.items())
        else:
            yield None, runs
    else:
        try:
            items = list(runs)
        except TypeError:
            hint = "Give a path, {query: {document: score}}, tuples, a data frame, or a list or dict of these"
            raise InputError("runs", f"a {type(runs).__name__} is not a run", hint=hint) from None
        if items and _is_row(items[0]):
            yield None, items
        else:
            yield from ((None, run) for item in items for run in _files(item))


def _files(run: Any) -> list[Any]:
    """The files of a directory or a pattern, or the run alone."""
    return run_files(run) if isinstance(run, (str, bytes, os.PathLike)) else [run]
