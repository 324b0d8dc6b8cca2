"""Groups of queries, such as head and tail: the results of each, and what is noted about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gradeval.arrays import Bools, Ints
from gradeval.compare_options import Groups
from gradeval.errors import InputError
from gradeval.evaluation.results import Results
from gradeval.notices import MAX_QUERIES, Notice, NoticeKind


def positions_of_groups(queries: Sequence[str], groups: Groups) -> dict[str, Ints]:
    """The positions among the queries of those of each group that has any, ascending. Raises InputError where
    there are groups and none has any.
    """
    position = {query: q for q, query in enumerate(queries)} if groups else {}
    chosen = {group: sorted(position[query] for query in ids if query in position) for group, ids in groups}
    present = {group: np.array(of_group, np.int64) for group, of_group in chosen.items() if of_group}
    if groups and not present:
        hint = "Check the query ids"
        raise InputError(
            getattr(groups, "path", "groups"),
            "none of their queries is among those that are evaluated",
            hint=hint,
        )
    return present


def results_of_groups(results: Results, groups: Groups) -> dict[str, Results]:
    """The results of the queries of each group that has any. Raises InputError where none has."""
    positions = positions_of_groups(results.queries, groups)
    return {group: results.taken(of_group) for group, of_group in positions.items()}


def group_notices(queries: Sequence[str], counted: Bools, groups: Groups) -> Iterator[Notice]:
    """The notices of queries that count and are in no group, and of queries of groups that are not evaluated.
    counted: which of the queries count, (Q,).
    """
    if not groups:
        return
    grouped = dict.fromkeys(query for _, ids in groups for query in ids)
    evaluated = set(queries)
    ungrouped = [queries[q] for q in np.flatnonzero(counted).tolist() if queries[q] not in grouped]
    unknown = [query for query in grouped if query not in evaluated]
    for kind, ids in (NoticeKind.UNGROUPED, ungrouped), (NoticeKind.UNKNOWN_GROUPED, unknown):
        if ids:
            yield Notice(kind, "", len(ids), queries=tuple(ids[:MAX_QUERIES]))
