"""Qrels × runs × metrics → Results."""

from __future__ import annotations

import os
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
from gradeval.tables.load import Run, RunTable, is_file, is_path, open_qrels, open_runs, source_of
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

    def evaluate_each(self, runs: Sequence[tuple[str | None, Any]]) -> Results:
        """Evaluate (name, run) pairs; a run that cannot be read is in Results.failed, beside the others."""
        check_labels(runs)
        outcomes = with_fewer(partial(self._outcomes, self._opened(runs)), self._jobs)
        done = [one for one in outcomes if isinstance(one, _Outcome)]
        names = names_of_runs([one.run for one in done])
        results = tuple(
            RunResult(
                name,
                one.run.path,
                one.run.sha256() if self._hashes else None,
                one.found.values,
                one.counted,
                one.found.texts,
                one.tie_range,
                self._options.ties or one.run.ties,
            )
            for name, one in zip(names, done, strict=True)
        )
        table, source = self._given.qrels, self._given.source
        noticed, found = [one.noticed for one in done], [one.found for one in done[:1]]
        counted = np.logical_or.reduce([one.counted for one in done]) if done else self._wanted
        notices = partial(self._notices, names, noticed, found, counted)
        return Results(
            table.path,
            source.sha256() if self._hashes and source else None,
            self._queries,
            self._specs,
            results,
            self._options.to_dict(),
            notices() if self._at_once else notices,
            tuple(one for one in outcomes if isinstance(one, FailedRun)),
        )

    def _notices(
        self,
        names: Sequence[str],
        noticed: Sequence[Callable[[], _Noticed]],
        scored: Sequence[Scored],
        counted: Bools,
    ) -> tuple[Notice, ...]:
        """The notices of all runs. scored: of the first, if there is one. counted: the queries of any, (Q,)."""

        def find(jobs: int) -> list[_Noticed]:
            return list(ordered_map(lambda find: find(), noticed, max(1, min(jobs, len(noticed)))))

        found = with_fewer(find, self._jobs)
        notices = list(self._given.qrels.notices)
        for one in scored:  # what is relevant does not depend on the run
            share = max(each.judged_share for each in found)
            judged = self._judged, self._specs, one.empty, counted
            notices += relevance_notices(*judged, self._options, share)
        for name, each in zip(names, found, strict=True):
            notices += (replace(notice, subject=name) for notice in each.notices)
        return tuple(notices)

    def _opened(self, runs: Sequence[tuple[str | None, Any]]) -> list[Run | FailedRun]:
        opened: list[Run | FailedRun] = []
        for name, run in runs:
            position = len(opened) + 1
            path = _path_of(run, name or f"run{position}")
            try:
                found = open_runs(name, run, self._given, self._options, self._prepare, position)
                opened += [one if isinstance(one, Run) else FailedRun(path, one) for one in found]
            except GradevalError as error:
                opened.append(FailedRun(path, error))
        return opened

    def _outcomes(self, opened: Sequence[Run | FailedRun], jobs: int) -> list[_Outcome | FailedRun]:
        concurrent_runs = max(1, min(jobs, len(opened)))

        def outcome(run: Run | FailedRun) -> _Outcome | FailedRun:
            if isinstance(run, FailedRun):
                return run
            try:
                each = jobs // concurrent_runs
                made = _evaluate(self._judged, run, self._specs, self._options, each, self._wanted)
                if not self._at_once:
                    return made
                noticed = made.noticed()
                return made._replace(noticed=lambda: noticed)
            except GradevalError as error:
                return FailedRun(run.path, error)

        return list(ordered_map(outcome, opened, concurrent_runs))


def evaluate_all(
    qrels: Any, runs: Sequence[tuple[str | None, Any]], specs: Sequence[Spec], options: Options, **how: Any
) -> Results:
    """Evaluate (name, run) pairs; a run that cannot be read is in Results.failed. how: for Evaluator.of().

    Raises GradevalError where the qrels or the options are wrong.
    """
    return Evaluator.of(qrels, specs, options, runs=runs, **how).evaluate_each(runs)


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

    notices: list[Notice]
    judged_share: float


class _Outcome(NamedTuple):
    """The values of a run, their range over the orders of ties, and the counted queries, (Q,).

    noticed: finds what else a user should know of the run, without its lines.
    """

    run: Run
    found: Scored
    tie_range: Floats | None
    counted: Bools
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
    qrels: Qrels, run: Run, specs: Sequence[Spec], options: Options, jobs: int, wanted: Bools
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
    rule = run.ties

    def noticed() -> _Noticed:
        notices = [*query_notices(qrels, reduced, wanted, options)]
        if options.ties is None:  # a user who names a rule has decided the order
            changes = ties
            if changes is None:
                changes = spread(qrels, reduced, counted, specs, found, judge, jobs, TRIALS)
            changed = tie_notices(qrels, specs, found, counted, changes, rule)
            # the range of a number is printed beside it, so only texts need a notice
            notices += (one for one in changed if not options.tie_range or one.low is None)
        notices += undefined_notices(qrels, specs, found, counted)
        cutoff = first_ranks(specs, options)
        share = judged_share(qrels, reduced, counted, cutoff)
        notices += judged_notices(share, cutoff, specs, qrels.scale, options)
        return _Noticed(notices, share)

    tie_range = None if ties is None else np.array(ties.ends(found.values))
    return _Outcome(run, found, tie_range, counted, noticed)


def names_of_runs(runs: Sequence[Run]) -> list[str]:
    """A unique name for each run; labels are kept."""
    others = [run for run in runs if run.name is None]
    labels = [run.name for run in runs if run.name is not None]
    made = iter(run_names([run.path for run in others], [run.short_name for run in others], labels))
    return [next(made) if run.name is None else run.name for run in runs]


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
