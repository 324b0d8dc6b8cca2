"""The documents that runs retrieve and the qrels lack: kept while a run is read, and those of runs joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradeval.arrays import Bytes, Floats, Ints, NDArray, cached_property
from gradeval.arrays.segments import Segments, offsets_of, ranges
from gradeval.arrays.strings import Ids
from gradeval.records import Record
from gradeval.tables.ranking import Ranked, RunLines, Wanted, unjudged_lines


class UnjudgedIds(Record, eq=False):
    """The U unjudged documents that are kept of a run: those of each of S queries together, by rank. They take
    the bytes of their ids, and about five more each.
    """

    query: Ints  # the index of each query, as of RunLines, (S,)
    bounds: Ints  # query s owns rows bounds[s]:bounds[s+1], (S+1,)
    rank: NDArray[np.int32]  # (U,)
    text: Bytes  # the ids, one after the other
    length: NDArray[Any]  # of each, (U,), in as few bytes as it takes

    @classmethod
    def of(cls, lines: RunLines, ranked: Ranked, wanted: Wanted, judged: int, ties: str) -> UnjudgedIds:
        """Of whole queries. The arguments are those of unjudged_lines()."""
        unjudged = unjudged_lines(lines, ranked, wanted, judged, ties)
        documents = lines.documents.take(unjudged.line)
        groups = Segments.of_equal(unjudged.query)
        return cls(
            lines.query[unjudged.query[groups.starts]],
            groups.offsets,
            unjudged.rank.astype(np.int32),
            documents.text(),
            documents.length.astype(np.min_scalar_type(documents.longest)),
        )

    @classmethod
    def joined(cls, parts: Sequence[UnjudgedIds]) -> UnjudgedIds:
        """One or more parts, which have different queries."""
        return cls(
            np.concatenate([part.query for part in parts]),
            offsets_of(np.concatenate([np.diff(part.bounds) for part in parts])),
            np.concatenate([part.rank for part in parts]),
            np.concatenate([part.text for part in parts]),
            np.concatenate([part.length for part in parts]),
        )

    @cached_property
    def _text_bounds(self) -> Ints:
        """The bytes of each query, (S+1,)."""
        return offsets_of(self.length)[self.bounds]

    @cached_property
    def _by_query(self) -> Ints:
        """The queries in order of their indices, (S,)."""
        return np.argsort(self.query)

    def counts(self, queries: int) -> Ints:
        """How many there are of each of the judged queries, (Q,)."""
        counts = np.zeros(queries, np.int64)
        is_judged = self.query < queries
        counts[self.query[is_judged]] = np.diff(self.bounds)[is_judged]
        return counts

    def of_queries(self, first: int = 0, end: int = 2**63 - 1) -> tuple[Ints, Ids, Ints]:
        """The documents of queries with an index of `first` or more and below `end`: query, id and rank."""
        indices = self.query[self._by_query]
        groups = self._by_query[np.searchsorted(indices, first) : np.searchsorted(indices, end)]
        counts = np.diff(self.bounds)[groups]
        rows = ranges(self.bounds[groups], counts)
        bounds = self._text_bounds
        parts = (self.text[bounds[s] : bounds[s + 1]] for s in groups.tolist())
        text = np.concatenate([self.text[:0], *parts])
        documents = Ids.of_bytes(text, self.length[rows].astype(np.int64))
        return self.query[groups].repeat(counts), documents, self.rank[rows].astype(np.int64)


class UnjudgedOfRuns(Record, eq=False):
    """The unjudged documents of R runs, each once: D of them, and the n lines of the runs that have them."""

    query: Ints  # of each document, (D,)
    documents: Ids  # (D,)
    document: Ints  # of each line, (n,)
    run: Ints  # the index of its run, (n,)
    rank: Ints  # (n,)

    @classmethod
    def of(cls, runs: Sequence[tuple[Ints, Ids, Ints]]) -> UnjudgedOfRuns:
        """runs: the query, the id and the rank of the documents of each. In order of first appearance."""
        query = np.concatenate([of_run[0] for of_run in runs])
        documents = Ids.joined([of_run[1].compact() for of_run in runs])
        first, document = documents.distinct(query)
        return cls(
            query[first],
            documents.take(first),
            document,
            run=np.arange(len(runs)).repeat([len(of_run[0]) for of_run in runs]),
            rank=np.concatenate([of_run[2] for of_run in runs]),
        )

    def ranks(self, runs: int) -> Floats:
        """The rank of each document in each of so many runs, (R, D), inf where none is known."""
        ranks = np.full((runs, len(self.query)), np.inf)
        ranks[self.run, self.document] = self.rank
        return ranks
