"""What runs retrieve to a depth: the documents of each query, with their ranks in each run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import stable_order
from gradeval.arrays.strings import Ids
from gradeval.arrays.threads import ordered_map
from gradeval.evaluation.caveats import line_notices
from gradeval.notices import Notices
from gradeval.records import Record
from gradeval.tables.load import Run
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import first_rows
from gradeval.tables.reduction import reduce_columns


class RankedDocuments(Record, eq=False):
    """The first ranks of a run: n documents of S queries."""

    queries: Ids  # (S,)
    query: Ints  # of each document, (n,)
    documents: Ids  # (n,)
    rank: Floats  # (n,)
    notices: Notices  # about the lines of the run

    @classmethod
    def of(cls, run: Run, depth: int, jobs: int) -> RankedDocuments:
        """Raises InputError(s). Of each block only lines that may be in the first ranks are kept."""
        rows = run.rows(partial(first_rows, depth=depth, collapse=run.collapse), jobs)
        if run.collapse:
            rows = run.collapse.columns(rows)
        first, number = rows.queries.distinct()
        query = number.repeat(np.diff(rows.bounds))
        order = stable_order(query)
        query = query[order]
        queries, documents = rows.queries.take(first).compact(), rows.documents.take(order).compact()
        # ranked as judged documents are: by a table of judgments of all of them
        offsets = np.searchsorted(query, np.arange(len(first) + 1))
        everything = Qrels(run.path, queries, offsets, documents, np.zeros(len(query)))
        reduced = reduce_columns(rows, everything, run.ties, run.path)
        within = np.flatnonzero(reduced.rank <= depth)
        notices = Notices(line_notices(reduced))
        return cls(queries, query[within], documents.take(within).compact(), reduced.rank[within], notices)


class Retrieved(Record, eq=False):
    """The documents of several runs: D pairs of a query and a document, those judged first, with the n lines of
    the runs that have them.
    """

    queries: Ids  # those of the qrels, then those that only runs have, (Q,)
    query: Ints  # of each pair, (D,)
    documents: Ids  # likewise
    judged: int  # how many of the pairs are judged: those of the qrels, in their order
    pair: Ints  # of each line, (n,)
    run: Ints  # the index of its run, (n,)
    rank: Floats  # (n,)
    notices: Sequence[Notices]  # of each run

    @classmethod
    def of(cls, qrels: Qrels, runs: Sequence[Run], depth: int, jobs: int) -> Retrieved:
        """The pairs in order of first appearance. Raises InputError(s)."""
        ranked = list(ordered_map(lambda run: RankedDocuments.of(run, depth, 1), runs, jobs))
        names = Ids.joined([qrels.queries.compact(), *(run.queries for run in ranked)])
        first, number = names.distinct()
        begins = np.cumsum([len(qrels.queries), *(len(run.queries) for run in ranked)]).tolist()
        query_of_lines = [number[begin + run.query] for begin, run in zip(begins, ranked, strict=False)]
        query = np.concatenate([np.arange(len(qrels.queries)).repeat(np.diff(qrels.offsets)), *query_of_lines])
        documents = Ids.joined([qrels.documents.compact(), *(run.documents for run in ranked)])
        of_pairs, pair = documents.distinct_in(query)
        judged = len(qrels.documents)
        return cls(
            names.take(first),
            query[of_pairs],
            documents.take(of_pairs),
            judged,
            pair[judged:],
            run=np.arange(len(ranked)).repeat([len(run.query) for run in ranked]),
            rank=np.concatenate([np.empty(0), *(run.rank for run in ranked)]),
            notices=[run.notices for run in ranked],
        )
