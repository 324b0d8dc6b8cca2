"""The unjudged documents that a run retrieves. They have the ranks that no judged document has."""

from __future__ import annotations

import numpy as np

from gradeval.arrays import Floats, Ints, cached_property
from gradeval.arrays.segments import Segments, offsets_of, stable_order
from gradeval.records import Record
from gradeval.tables.judgments import Judgments


class Unjudged(Record, eq=False):
    """The U unjudged documents of Q queries in the first ranks, which may have any grade from 0 to the top."""

    segments: Segments  # the queries that they belong to
    rank: Floats  # of each, (U,); inf where another run has it in its first ranks, and this one does not
    below: Ints  # how many more there are, below the first ranks, (Q,)
    top: float  # the largest grade that a judge may give, as it counts

    @classmethod
    def of(cls, judgments: Judgments, last_rank: int | None, top: float) -> Unjudged:
        """The unjudged documents of a ranking. last_rank: the last of the first ranks, None for all."""
        retrieved = judgments.retrieved
        first = retrieved if last_rank is None else np.minimum(retrieved, last_rank)
        places = Segments(offsets_of(first))
        [rows] = (judgments.rank <= first[judgments.query]).nonzero()
        position = places.other_rows(judgments.query[rows], judgments.rank[rows].astype(np.int64))
        segments = places.take(position)
        below = retrieved - judgments.segments.number(judgments.is_retrieved) - segments.lengths
        return cls(segments, (places.place[position] + 1).astype(np.float64), below, top)

    @cached_property
    def number(self) -> Ints:
        """How many there are of each query, (Q,)."""
        return self.segments.lengths + self.below

    def within(self, cutoff: int | None) -> Ints:
        """How many of each query are in the first ranks, (Q,)."""
        return self.segments.number(self.rank <= (np.inf if cutoff is None else cutoff))

    def judged(self, judgments: Judgments, grade: float) -> Judgments:
        """The judgments completed by this grade for each document in the first ranks."""
        [rows] = np.isfinite(self.rank).nonzero()
        more = self.segments.take(rows)
        counts = offsets_of(judgments.segments.lengths + more.lengths)
        rank = np.concatenate([judgments.rank, self.rank[rows]])
        last = float(judgments.retrieved.max(initial=0)) + 1
        query = np.concatenate([judgments.query, more.query])
        order = stable_order(query, np.minimum(rank, last).astype(np.int64))
        nothing = np.full(len(rows), -1)
        return judgments.replace(
            segments=Segments(counts),
            grade=np.concatenate([judgments.grade, np.full(len(rows), grade)])[order],
            rank=rank[order],
            score=np.concatenate([judgments.score, -self.rank[rows]])[order],
            document=np.concatenate([judgments.document, nothing])[order],
        )
