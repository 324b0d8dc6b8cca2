"""Runs reduced to judgments once, and scored as often as a study changes the grades."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import Segments
from gradeval.arrays.strings import Texts
from gradeval.arrays.threads import default_jobs, map_all
from gradeval.evaluation.outcome import (
    Outcome,
    chosen_queries,
    first_queries,
    no_common_query,
    outcome_of_reduced,
    relevance_notices,
    with_ids,
)
from gradeval.evaluation.runs import names_of
from gradeval.formats.columns import Columns
from gradeval.notices import Kind, Notice
from gradeval.options import Options
from gradeval.registry.spec import Spec
from gradeval.tables.load import check_columns, open_all, open_qrels
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import IdenticalIds, Ties
from gradeval.tables.reduction import Reduced, reduce_columns


@dataclass(frozen=True, eq=False)
class Collection:
    """Judgments, and where runs put the judged documents.

    names: of R runs. runs: each reduced to the judgments. rules: how tied scores of each are ordered.
    chosen: which queries are evaluated, (Q,).
    """

    qrels: Qrels
    names: tuple[str, ...]
    runs: tuple[Reduced, ...]
    rules: tuple[str, ...]
    options: Options
    chosen: Bools

    def outcomes(self, specs: Sequence[Spec]) -> list[Outcome]:
        """The values of each run, in order, by each metric."""
        runs = list(zip(self.names, self.runs, self.rules, strict=True))

        def outcome(run: tuple[str, Reduced, str], jobs: int) -> Outcome:
            name, reduced, rule = run
            tag, options = reduced.tag, self.options
            return outcome_of_reduced(
                self.qrels, name, name, reduced, rule, tag, specs, options, jobs, self.chosen
            )

        return map_all(outcome, runs, self.options.jobs or default_jobs())

    def judged_by(self, qrels: Qrels, grade: Floats, queries: Ints) -> Collection:
        """The same runs with other judgments of these queries, which are in ascending order.

        grade: that of each row, (N,), NaN where it is not judged.
        """
        query = Segments(self.qrels.offsets).query
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
            query_of = np.searchsorted(queries, run.identical.query[is_kept])
            runs.append(
                run.replace(
                    rank=run.rank[rows],
                    score=run.score[rows],
                    retrieved=run.retrieved[queries],
                    ties=ties,
                    identical=IdenticalIds(query_of, run.identical.rank[is_kept]),
                )
            )
        return replace(self, qrels=table, runs=tuple(runs), chosen=np.ones(len(queries), np.bool_))

    def notices(self, specs: Sequence[Spec], outcomes: Sequence[Outcome]) -> Iterator[Notice]:
        """Notices about the judgments, the runs and their values."""
        of_runs = [outcome.noticed() for outcome in outcomes]
        share = max(noticed.judged_share for noticed in of_runs)
        yield from self.qrels.notices
        yield from relevance_notices(self.qrels, specs, outcomes[0].empty, self.chosen, self.options, share)
        of_all = chain.from_iterable(noticed.notices for noticed in of_runs)
        yield from (
            notice for notice in of_all if notice.kind is not Kind.FEW_DOCUMENTS
        )  # a note of evaluations


def collect(
    qrels: Any, runs: Sequence[tuple[str | None, Any]], options: Options, *, others: Sequence[Any] = ()
) -> tuple[Collection, list[Qrels]]:
    """Read judgments and (name, run) pairs, and reduce the runs.

    others: further judgments; the collection then has the documents that any of them judges, and grades of 0.
    Returns the collection, and the judgments as read: qrels, then the others.
    Raises InputError for the first run that cannot be read, or where no query of a run is judged.
    """
    check_columns([qrels, *(run for _, run in runs)], options)
    source = open_qrels(qrels, options)
    plain = options.replace(qrels_format=None, qrels_feature=None, groups=None)
    judged = [source.qrels, *(open_qrels(other, plain).qrels for other in others)]
    table = judged[0]
    if others:  # queries and documents in order of first appearance
        columns = (_columns(table, np.zeros(len(table.grade))) for table in judged)
        table = Qrels.of(judged[0].path, columns).replace(notices=())
    options = with_ids(options, table)
    chosen = chosen_queries(table, options)
    opened = open_all(runs, source, options)
    reductions = map_all(lambda run, jobs: run.reduce(table, jobs), opened, options.jobs or default_jobs())
    for run, reduction in zip(opened, reductions, strict=True):
        if not ((reduction.retrieved > 0) & chosen).any():
            raise no_common_query(run.path, table.path, first_queries(run), Texts(table.queries.take(chosen)))
    names, rules = tuple(names_of(opened)), tuple(run.ties for run in opened)
    return Collection(table, names, tuple(reductions), rules, options, chosen), judged


def grades_in(table: Qrels, qrels: Qrels) -> Floats:
    """The grade that the judgments give each row of the table, (N,), NaN where they give none."""
    reduced = reduce_columns(_columns(qrels, qrels.grade), table, "input", qrels.path)
    return np.where(np.isfinite(reduced.rank), reduced.score, np.nan)


def _columns(qrels: Qrels, number: Floats) -> Columns:
    """The judgments as rows with these numbers."""
    rows = np.arange(len(number))
    return Columns(qrels.queries, qrels.offsets, qrels.documents, number, rows, len(rows))
