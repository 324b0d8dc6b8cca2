"""Runs reduced to judgments once, and scored as often as a study changes the grades."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, cached_property
from gradeval.arrays.threads import default_jobs, ordered_map, with_fewer
from gradeval.errors import GRADE_RANGE, InputError, OptionError
from gradeval.evaluation.findings import (
    first_ranks,
    judged_notices,
    judged_share,
    query_notices,
    relevance_notices,
    tie_notices,
    undefined_notices,
)
from gradeval.evaluation.outcome import judgments_of
from gradeval.evaluation.runs import names_of_runs
from gradeval.evaluation.score import Scored, scored, summarize
from gradeval.evaluation.ties import TRIALS, spread
from gradeval.formats.columns import Columns
from gradeval.formats.sources import Source
from gradeval.notices import Notice
from gradeval.options import Options
from gradeval.registry.spec import Spec
from gradeval.tables.given_columns import check_columns
from gradeval.tables.judgments import Judgments
from gradeval.tables.load import Run, is_file, is_path, open_qrels, open_runs, source_of
from gradeval.tables.qrels import Qrels, out_of_range
from gradeval.tables.ranking import IdenticalIds, Ties
from gradeval.tables.reduction import Reduced, reduce_columns


@dataclass(frozen=True, eq=False)
class Collection:
    """Judgments, and where runs put the judged documents.

    names: of R runs. runs: each reduced to the judgments. rules: how tied scores of each are ordered.
    """

    qrels: Qrels
    names: tuple[str, ...]
    runs: tuple[Reduced, ...]
    rules: tuple[str, ...]
    options: Options

    @property
    def counted(self) -> Bools:
        """Which queries count for each run, (R, Q)."""
        retrieved = np.array([run.retrieved for run in self.runs])
        return retrieved > 0 if self.options.queries == "both" else np.ones(retrieved.shape, np.bool_)

    def scored(self, specs: Sequence[Spec]) -> list[Scored]:
        """The values of each run, in order."""
        jobs = self.options.jobs or default_jobs()
        shares = self.qrels.shares()
        parts = [(run, queries) for run in self.runs for queries in shares]

        def of_part(part: tuple[Reduced, slice]) -> Scored:
            run, queries = part
            return scored(judgments_of(self.qrels, run, queries, self.options, run.tag), specs)

        results = with_fewer(lambda jobs: list(ordered_map(of_part, parts, jobs)), jobs)
        return [
            Scored.joined(results[first : first + len(shares)]) for first in range(0, len(results), len(shares))
        ]

    def means(self, specs: Sequence[Spec], results: Sequence[Scored]) -> Floats:
        """The mean of each metric and run over the counted queries, as evaluate() has it, (M, R)."""
        runs = (
            summarize(specs, run.values, counted) for run, counted in zip(results, self.counted, strict=True)
        )
        return np.stack(list(runs), axis=1)

    @cached_property
    def order_of_ids(self) -> Ints:
        """The queries in order of their ids as bytes: what is random belongs to the ids, not to the file."""
        ids = self.qrels.queries.tolist()
        return np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)

    def rescaled(self, factor: float) -> Collection:
        """The same with all grades multiplied by the factor. Raises OptionError."""
        grade = self.qrels.grade * factor
        if len(out_of_range(grade)):
            raise OptionError(f"grades multiplied by {factor:g} are out of range: grades are {GRADE_RANGE}")
        return replace(self, qrels=replace(self.qrels, grade=grade))

    def judged_by(self, qrels: Qrels, grade: Floats, queries: Ints) -> Collection:
        """The same runs with other judgments of these queries, which are in ascending order.

        grade: that of each row, (N,), NaN where it is not judged.
        """
        query = np.repeat(np.arange(len(self.qrels.queries)), np.diff(self.qrels.offsets))
        rows = np.flatnonzero(~np.isnan(grade) & np.isin(query, queries))
        table = Qrels(
            qrels.path,
            self.qrels.queries.take(queries),
            np.append(np.searchsorted(query[rows], queries), len(rows)),
            self.qrels.documents.take(rows),
            grade[rows],
            qrels.notices,
        )
        position = np.full(len(query), -1)
        position[rows] = np.arange(len(rows))
        runs = []
        for run in self.runs:
            is_judged = position[run.ties.row] >= 0
            ties = Ties(position[run.ties.row[is_judged]], run.ties.first[is_judged], run.ties.last[is_judged])
            is_kept = np.isin(run.identical.query, queries)
            own = np.searchsorted(queries, run.identical.query[is_kept])
            runs.append(
                run._replace(
                    rank=run.rank[rows],
                    score=run.score[rows],
                    retrieved=run.retrieved[queries],
                    ties=ties,
                    identical=IdenticalIds(own, run.identical.rank[is_kept]),
                )
            )
        return replace(self, qrels=table, runs=tuple(runs))

    def notices(self, specs: Sequence[Spec], results: Sequence[Scored]) -> Iterator[Notice]:
        """Notices about the judgments, the runs and their values."""
        options, every = self.options, np.ones(len(self.qrels.queries), np.bool_)
        yield from self.qrels.notices
        cutoff = first_ranks(specs, options)
        shares = [judged_share(self.qrels, *run, cutoff) for run in zip(self.runs, self.counted, strict=True)]
        yield from relevance_notices(self.qrels, specs, results[0].empty, every, options, max(shares))
        rows = zip(self.names, self.runs, self.rules, self.counted, results, shares, strict=True)
        for name, run, rule, counted, of, share in rows:
            for notice in (
                *query_notices(self.qrels, run, specs, every, options),
                *self._tie_notices(run, rule, counted, specs, of),
                *undefined_notices(self.qrels, specs, of, counted),
                *judged_notices(share, cutoff, specs, self.qrels.scale, options),
            ):
                yield replace(notice, subject=name)

    def _tie_notices(
        self, run: Reduced, rule: str, counted: Bools, specs: Sequence[Spec], result: Scored
    ) -> Iterator[Notice]:
        """Where the order of tied scores decides a mean, unless the user has named a rule."""
        if self.options.ties is not None:
            return

        def judge(queries: Ints, rank: Floats) -> Judgments:
            return judgments_of(self.qrels, run._replace(rank=rank), queries, self.options, run.tag)

        jobs = self.options.jobs or default_jobs()
        ties = spread(self.qrels, run, counted, specs, result, judge, self.options.depth, jobs, TRIALS)
        yield from tie_notices(self.qrels, specs, result, counted, ties, rule)


def collect(
    qrels: Any,
    runs: Sequence[tuple[str | None, Any]],
    options: Options,
    *,
    others: Sequence[Any] = (),
    watch: Callable[[Source], None] | None = None,
) -> tuple[Collection, list[Qrels]]:
    """Read judgments and (name, run) pairs, and reduce the runs.

    others: further judgments; the collection then has the documents that any of them judges, and grades of 0.
    Returns the collection, and the judgments as read: qrels, then the others.
    Raises InputError for the first run that cannot be read, or where no query of a run is judged.
    """
    jobs = options.jobs or default_jobs()
    check_columns([qrels, *(run for _, run in runs)], options)
    own = is_path(qrels) and any(is_file(run, source_of(qrels).name) for _, run in runs)
    source = open_qrels(qrels, options, jobs, watch, own)
    plain = options.replace(qrels_format=None, qrels_feature=None, groups=None)
    read = [source.qrels, *(open_qrels(other, plain, jobs, watch).qrels for other in others)]
    judged = [table.shift_grades(options.zero_grade) for table in read]
    table = judged[0]
    if others:  # queries and documents in order of first appearance
        columns = (_columns(table, np.zeros(len(table.grade))) for table in read)
        table = replace(Qrels.of(read[0].path, columns), notices=())
    opened: list[Run] = []
    for name, run in runs:
        for of_file in open_runs(name, run, source, options, watch, position=len(opened) + 1):
            if isinstance(of_file, InputError):
                raise of_file
            opened.append(of_file)

    def reduced(jobs: int) -> list[Reduced]:
        concurrent_runs = max(1, min(jobs, len(opened)))
        each = jobs // concurrent_runs
        return [
            *ordered_map(lambda run: run.reduce(table, options.ties or run.ties, each), opened, concurrent_runs)
        ]

    reductions = with_fewer(reduced, jobs)
    for run, reduction in zip(opened, reductions, strict=True):
        if not (reduction.retrieved > 0).any():
            raise InputError(run.path, f"no query in common with {read[0].path}", hint="Check the query ids")
    names, rules = tuple(names_of_runs(opened)), tuple(options.ties or run.ties for run in opened)
    return Collection(table, names, tuple(reductions), rules, options), judged


def grades_in(table: Qrels, qrels: Qrels) -> Floats:
    """The grade that the judgments give each row of the table, (N,), NaN where they give none."""
    reduced = reduce_columns(_columns(qrels, qrels.grade), table, "input", qrels.path)
    return np.where(np.isfinite(reduced.rank), reduced.score, np.nan)


def _columns(qrels: Qrels, number: Floats) -> Columns:
    """The judgments as rows with these numbers."""
    rows = np.arange(len(number))
    return Columns(qrels.queries, qrels.offsets, qrels.documents, number, rows, len(rows))
