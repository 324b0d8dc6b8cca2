"""Runs in memory, by query: the documents of all runs, and the part of the fused score that each run adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise, starmap

import numpy as np

from gradeval.arrays import Floats, Ints, cached_property
from gradeval.arrays.segments import Segments, offsets_of, ranges, ratio, stable_order
from gradeval.arrays.strings import Ids
from gradeval.arrays.threads import ordered_map
from gradeval.commands.fuse.options import MINMAX, NO_NORM, RRF, FuseOptions
from gradeval.errors import InputError, OptionError
from gradeval.formats.columns import Columns
from gradeval.records import Record
from gradeval.tables.load import Run, RunTable
from gradeval.tables.ranking import Collapse, Repeats, first_rows, ranked_rows

_BLOCK = 1 << 17  # about how many lines are fused at a time
# digits of fused scores, from the first of the largest of a query: sums of the same terms in another order may
# differ in the last of 16
_DIGITS = 13
_POWERS = np.array([float(10**exponent) for exponent in range(23)])  # those that are exact


class Rankings(Record, eq=False):
    """R runs in memory, each query's lines together."""

    names: Sequence[str]
    tables: Sequence[RunTable]
    queries: Ids  # those of any run, by first appearance, (Q,)
    group: Ints  # of each query in each run's columns, -1 where the run lacks it, (R, Q)

    @classmethod
    def of(cls, names: Sequence[str], runs: Sequence[Run], options: FuseOptions, jobs: int) -> Rankings:
        """Raises InputError(s)."""
        tables = [_read(run, options.depth, jobs) for run in runs]  # in turn, which takes less memory
        parts = [table.columns.queries.compact() for table in tables]
        first, number = Ids.joined(parts).distinct()
        group = np.full((len(tables), len(first)), -1)
        begin = 0
        for of_run, part in zip(group, parts, strict=True):
            of_run[number[begin : begin + len(part)]] = np.arange(len(part))
            begin += len(part)
        return cls(names, tables, Ids.joined(parts).take(first).compact(), group)

    @cached_property
    def lengths(self) -> Ints:
        """How many lines each run has of each query, (R, Q)."""
        lengths = [np.append(table.columns.lengths, 0) for table in self.tables]  # 0 at -1
        return np.array([of_run[group] for of_run, group in zip(lengths, self.group, strict=True)])

    def blocks(self, options: FuseOptions, jobs: int) -> Iterator[Candidates]:
        """The documents of all queries, some queries at a time. Raises InputError(s)."""
        share = np.cumsum(self.lengths.sum(axis=0)) // _BLOCK
        edges = [0, *(np.flatnonzero(np.diff(share)) + 1).tolist(), len(share)]
        return ordered_map(partial(self._candidates, options), list(starmap(slice, pairwise(edges))), jobs)

    def _candidates(self, options: FuseOptions, queries: slice) -> Candidates:
        """The documents of some queries."""
        lines = self._lines(queries).ranked(options.depth)
        first, document = lines.documents.distinct(lines.query)
        ids = self.queries.take(queries)
        self._check_repeats(lines, document, ids)
        return Candidates(
            queries,
            ids,
            Segments(np.searchsorted(lines.query[first], np.arange(len(ids) + 1))),
            lines.documents.take(first).compact(),
            document=document,
            run=lines.run,
            part=lines.parts(options),
        )

    def _lines(self, queries: slice) -> LinesOfRuns:
        """The lines of all runs of some queries, by query, and within it by run."""
        lengths = self.lengths[:, queries]
        columns = [table.columns for table in self.tables]
        rows = [
            ranges(of_run.bounds[group], length)
            for of_run, group, length in zip(columns, self.group[:, queries], lengths, strict=True)
        ]
        query = np.tile(np.arange(lengths.shape[1]), len(lengths)).repeat(lengths.ravel())
        order = stable_order(query)
        parts = list(zip(columns, rows, strict=True))
        return LinesOfRuns(
            Segments(offsets_of(lengths.T.ravel())),
            query[order],
            np.arange(len(lengths)).repeat(lengths.sum(axis=1))[order],
            np.concatenate(rows)[order],
            documents=Ids.joined([of_run.documents.take(row).compact() for of_run, row in parts]).take(order),
            score=np.concatenate([of_run.value[row] for of_run, row in parts])[order],
        )

    def _check_repeats(self, lines: LinesOfRuns, document: Ints, queries: Ids) -> None:
        """Raise InputError(s) where a run has a document of a query twice. document: of each line, a number."""
        pair = document * len(self.tables) + lines.run
        if not (np.bincount(pair) > 1).any():
            return
        _, first, number = np.unique(pair, return_index=True, return_inverse=True)
        first = first[number]
        again = np.flatnonzero(first != np.arange(len(pair)))
        table = self.tables[lines.run[again[0]]]
        again = again[lines.run[again] == lines.run[again[0]]]
        in_file = table.columns.line[lines.row]
        repeats = Repeats(
            in_file[again],
            in_file[first[again]],
            lines.documents.take(again),
            lines.query[again],
            queries=queries,
        )
        repeats.problems().check(table.path or "")


def _read(run: Run, depth: int | None, jobs: int) -> RunTable:
    """The lines of a run, those of a query together, as they are fused. Raises InputError(s)."""
    rows = run.rows(partial(_kept, depth, run.collapse), jobs)
    if not len(rows.value):
        raise InputError(run.path, "no data: the run is empty")
    if run.collapse:
        rows = run.collapse.columns(rows)
    first, number = rows.queries.distinct()
    if len(first) < len(rows.queries):
        query = number.repeat(rows.lengths)
        order = stable_order(query)
        rows = rows.replace(
            queries=rows.queries.take(first),
            bounds=np.searchsorted(query[order], np.arange(len(first) + 1)),
            documents=rows.documents.take(order),
            value=rows.value[order],
            line=rows.line[order],
        )
    return RunTable(run.path, rows)


def _kept(depth: int | None, collapse: Collapse, block: Columns) -> Columns:
    """The lines of a block that may be in the first ranks."""
    return block.light() if depth is None else first_rows(block, depth, collapse)


class LinesOfRuns(Record, eq=False):
    """The n lines of some queries in all runs."""

    lists: Segments  # of each query and run, by query
    query: Ints  # of each line, (n,)
    run: Ints
    row: Ints  # in the columns of the run
    documents: Ids
    score: Floats
    rank: Floats = np.empty(0)  # in the run, from 1

    def ranked(self, depth: int | None) -> LinesOfRuns:
        """With their ranks, and the first ones only."""
        rank = np.empty(len(self.score))
        rank[ranked_rows(self.lists, self.score, self.documents)] = self.lists.place + 1.0
        if depth is None:
            return self.replace(rank=rank)
        within = np.flatnonzero(rank <= depth)
        return LinesOfRuns(
            self.lists.take(within),
            self.query[within],
            self.run[within],
            self.row[within],
            documents=self.documents.take(within),
            score=self.score[within],
            rank=rank[within],
        )

    def parts(self, options: FuseOptions) -> Floats:
        """What each line adds to the score of its document, before weights, (n,)."""
        if options.method == RRF:
            return 1 / (options.constant + self.rank)
        if options.normalization == NO_NORM:
            return self.score
        lists, score = self.lists, self.score
        low, high = lists.min(score), lists.max(score)
        if options.normalization == MINMAX:
            return ratio(score - low[lists.query], (high - low)[lists.query], empty=1.0)
        mean = lists.sum(score) / np.maximum(lists.lengths, 1)
        deviation = score - mean[lists.query]
        spread = np.sqrt(lists.sum(deviation**2) / np.maximum(lists.lengths, 1))
        return ratio(deviation, np.where(high > low, spread, 0.0)[lists.query])


class Candidates(Record, eq=False):
    """The D documents of S queries in any run, with the n lines that have them."""

    position: slice  # of the queries among all
    queries: Ids  # (S,)
    segments: Segments  # which documents each has
    documents: Ids  # (D,)
    document: Ints  # of each line, (n,)
    run: Ints  # likewise
    part: Floats  # what the line adds to its document's score, before weights

    def ranked(self, weights: Floats, top: int | None = None) -> Columns:
        """The fused lines by rank, and the first ones only. weights: of all queries and runs, (Q, R)."""
        query = self.segments.query
        with np.errstate(over="ignore", invalid="ignore"):
            parts = self.part * weights[self.position][query[self.document], self.run]
            sums: Floats = np.bincount(self.document, parts, len(query)).astype(np.float64, copy=False)
        if not np.isfinite(sums).all():
            raise OptionError("the scores are too large to be added: choose the method rrf")
        score = rounded(sums, self.segments)
        order = ranked_rows(self.segments, score, self.documents)
        columns = Columns(
            self.queries,
            self.segments.offsets,
            self.documents.take(order),
            score[order],
            line=np.arange(len(order)),
            lines=len(order),
            rank=(self.segments.place + 1).astype(np.float64),
        )
        return columns if top is None else columns.take(self.segments.place < top)


def rounded(values: Floats, segments: Segments) -> Floats:
    """Values to 13 digits of the largest of their query, (N,): equal sums in another order are equal then."""
    largest = segments.max(np.abs(values))
    with np.errstate(divide="ignore"):
        decimals = (_DIGITS - np.ceil(np.log10(largest))).clip(0, len(_POWERS)).astype(np.int64)
    factor = np.append(_POWERS, 0.0)[decimals][segments.query]
    return np.where(factor > 0, np.rint(values * factor) / np.maximum(factor, 1.0), values)
