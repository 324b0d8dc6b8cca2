"""The unjudged documents that runs retrieve to a depth, for all queries, with their ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Ints
from gradeval.arrays.strings import Ids
from gradeval.arrays.threads import ordered_map
from gradeval.errors import InputError
from gradeval.formats.columns import BlockTable, Columns
from gradeval.records import Record
from gradeval.tables.load import Run
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import Wanted, query_indices
from gradeval.tables.reduction import Reduced
from gradeval.tables.retrieved import UnjudgedIds, UnjudgedOfRuns


class Retrieved(Record, eq=False):
    """The unjudged documents of several runs."""

    queries: Ids  # those of the qrels, then those that only runs have, (Q,)
    in_runs: Bools  # which of them a run has, (Q,)
    documents: UnjudgedOfRuns
    reduced: Sequence[Reduced]  # of each run

    @classmethod
    def of(cls, qrels: Qrels, runs: Sequence[Run], depth: int, jobs: int) -> Retrieved:
        """Queries in order of first appearance. Raises InputError(s)."""
        wanted = Wanted(depth, of_all_queries=True)
        read = list(ordered_map(partial(_NamedQueries.of, qrels, wanted), runs, jobs))
        names = Ids.joined([qrels.queries.compact(), *(run.queries for run in read)])
        first, number = names.distinct()
        begins = np.cumsum([len(qrels.queries), *(len(run.queries) for run in read)])
        in_runs = np.zeros(len(first), bool)
        in_runs[number[len(qrels.queries) :]] = True
        of_runs = []
        for begin, run in zip(begins, read, strict=False):
            query, *documents = run.documents.of_queries()
            of_runs.append((number[begin + run.positions(query)], *documents))
        return cls(names.take(first), in_runs, UnjudgedOfRuns.of(of_runs), [run.reduced for run in read])


class _NamedQueries(Record, eq=False):
    """A run with the ids of its queries."""

    path: str
    queries: Ids  # (S,)
    index: Ints  # of each, as those of its documents have it, (S,)
    reduced: Reduced
    documents: UnjudgedIds

    @classmethod
    def of(cls, qrels: Qrels, wanted: Wanted, run: Run) -> _NamedQueries:
        """Raises InputError(s)."""
        table = run.opened()
        # a reduced run has no ids of unjudged queries: they are kept of each block as it is read
        blocks: dict[int, Ids] = {}

        def numbered() -> Iterator[Any]:
            blocks.clear()  # a run in an unsuitable order is read again
            yield from enumerate(table.blocks())

        def columns(block: tuple[int, Any]) -> Columns:
            read = table.columns(block[1])
            blocks[block[0]] = read.queries.compact()
            return read

        named = BlockTable(table.name, numbered, columns, (), table.expected_size, is_whole=table.is_whole)
        reduced = run.replace(opened=lambda: named).reduce(qrels, 1, wanted)
        queries = Ids.joined([Ids.of([]), *(blocks[number] for number in sorted(blocks))])
        queries = queries.take(queries.distinct()[0]).compact()
        index = query_indices(qrels, queries, by_key=not table.is_whole)
        assert reduced.documents is not None
        return cls(run.path, queries, index, reduced, reduced.documents)

    def positions(self, query: Ints) -> Ints:
        """Which of the queries has each of these indices. Raises InputError where two have one."""
        order = np.argsort(self.index)
        at = np.searchsorted(self.index[order], query)
        positions: Ints = order[np.minimum(at, len(order) - 1)]
        if (self.index[positions] != query).any():
            raise InputError(self.path, "the ids of two queries have one key", hint="Rename one of them")
        return positions
