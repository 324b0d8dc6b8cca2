"""All documents of a query in the order of a run, and what each contributes to the value of a metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradeval.arrays import Floats, cached_property
from gradeval.arrays.numbers import ratio
from gradeval.arrays.strings import IdIndex, Ids
from gradeval.commands.explain.details import groups_of, levels_of, phi_of, scaled
from gradeval.commands.explain.documents import Document, Documents
from gradeval.commands.explain.leave_one_out import leave_one_out
from gradeval.commands.explain.result import Change, Explanation, Term
from gradeval.evaluation.outcome import prepared
from gradeval.formats.columns import Columns
from gradeval.options import Options
from gradeval.registry.pages import columns_of
from gradeval.registry.spec import Spec
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import Qrels
from gradeval.tables.reduction import Reduced, reduce_columns
from gradeval.tables.terms import DiscountedTerms, Terms


@dataclass(frozen=True, eq=False)
class Ranking:
    """All documents of a query.

    first: the row of the qrels of the first. documents: the judged ones, by row, then those retrieved only, by
    rank. others: how many these are.
    """

    first: int
    documents: Documents
    others: int

    @classmethod
    def of(cls, qrels: Qrels, q: int, reduced: Reduced, columns: Columns, ties: str, path: str) -> Ranking:
        """The documents of query q. columns: the rows of the run."""
        first, last = int(qrels.offsets[q]), int(qrels.offsets[q + 1])
        own = slice(first, last)
        ids = qrels.documents.take(own).compact()
        documents = Documents(ids, reduced.rank[own], reduced.score[own], qrels.grade[own])
        rows = columns.of_queries(IdIndex(qrels.queries.take(np.array([q]))))
        unjudged = np.flatnonzero(IdIndex(ids).find(rows.documents) < 0)
        if not len(unjudged):
            return cls(first, documents, 0)
        # ranked as the judged ones are: a table of judgments in which these are judged too, with grade 0
        more = rows.documents.take(unjudged).compact()
        everything = Qrels(
            qrels.path,
            qrels.queries.take(np.array([q])),
            np.array([0, len(ids) + len(more)]),
            Ids.joined([ids, more]),
            np.concatenate([documents.grade, np.zeros(len(more))]),
        )
        found = reduce_columns(rows, everything, ties, path)
        order = np.append(np.arange(len(ids)), len(ids) + np.argsort(found.rank[len(ids) :]))
        grade = np.append(documents.grade, np.full(len(more), np.nan))
        # the ranks of the judged ones are the same
        every = Documents(everything.documents.take(order), found.rank[order], found.score[order], grade)
        return cls(first, every, len(more))

    @cached_property
    def judged(self) -> list[Document]:
        """The judged ones, by row of the qrels from the first."""
        return self.documents.take(slice(len(self.documents) - self.others)).all

    @cached_property
    def unjudged(self) -> Documents:
        """Those retrieved only, by rank."""
        return self.documents.take(slice(len(self.documents) - self.others, None))

    def in_order(self, judgments: Judgments) -> Documents:
        """All documents: by rank, then those not retrieved by descending grade, as in the table."""
        rank, grade = self.documents.rank, self.documents.grade
        retrieved = np.argsort(rank, kind="stable")[: self.documents.retrieved]
        rows = judgments.document - self.first
        missed = rows[np.isinf(rank[rows])]
        return self.documents.take(np.append(retrieved, missed[np.argsort(-grade[missed], kind="stable")]))


def made_of(
    basis: Explanation, spec: Spec, whole: Judgments, options: Options, ranking: Ranking
) -> Explanation:
    """The explanation, with what its value is made of. whole: the table before options are applied."""
    judgments = prepared(whole, options)
    terms = spec.metric.terms(judgments, **spec.params)
    if spec.params.get("judged_only"):
        judgments = judgments.judged_only()
    names = [ranking.judged[row] for row in (judgments.document - ranking.first).tolist()]
    if options.judged_only or spec.params.get("judged_only"):
        found_at = enumerate(judgments.rank.tolist())
        basis = replace(basis, positions={names[row]: int(at) for row, at in found_at if np.isfinite(at)})
    if terms is None:
        changes = _changes(basis, spec, whole, options, ranking)
        return replace(basis, changes=changes, untried=len(basis.documents) - len(changes))
    params = {name: value for name, value in spec.given if name != "judged_only"}
    scaled_name, scale = scaled(spec.metric.name, judgments, params)
    normalizer = float(np.broadcast_to(terms.normalizer, 1)[0])

    def listed(some: Terms, judgments: Judgments | None) -> tuple[Term, ...]:
        return _terms(some, terms, names, judgments, scale if scaled_name else None)

    best = None if terms.ideal is None else terms.ideal()
    ideal = None if best is None else listed(best, None)
    is_mean = spec.metric.name == "muAP"
    total, base = float(terms.total[0]), float(np.broadcast_to(terms.base, 1)[0])
    added = listed(terms, judgments)
    if terms.unjudged and basis.positions is None:
        # documents that are not judged have no rows, but names here
        last = options.depth or math.inf
        others = [one for one in ranking.unjudged if (one.rank or 0) <= last]
        added += tuple(_unjudged(others, terms, total, normalizer))
        total, base = total + terms.unjudged * len(others), base + terms.unjudged * len(others)
    if spec.metric.name == "rankDCG":
        positions = {one.document: one.position for one in added if one.document and one.position}
        basis = replace(basis, positions=positions)
    return replace(
        basis,
        terms=added,
        total=total,
        base=base,
        scale=terms.scale,
        normalizer=normalizer,
        ideal=ideal,
        by_rank=() if basis.is_empty else _by_rank(terms, best, basis.cutoff or int(judgments.retrieved[0])),
        discounts=_discounts(terms, basis.cutoff or int(judgments.retrieved[0])),
        scaled=scaled_name,
        levels=levels_of(judgments, basis.ranked) if is_mean else (),
        phi=phi_of(judgments, params) if scaled_name == "φ" else None,
        groups=groups_of(ideal) if ideal and spec.metric.name == "rankDCG" else (),
    )


def _terms(
    terms: Terms,
    of: Terms,
    names: Sequence[Document],
    judgments: Judgments | None,
    scale: Callable[[Floats], Floats] | None,
) -> tuple[Term, ...]:
    """The terms as data. of: those of the run, whose normalizer divides both. judgments: of the run's terms."""
    value = np.broadcast_to(terms.value, terms.row.shape)
    columns = columns_of(judgments, terms) if judgments is not None else {}
    if isinstance(terms, DiscountedTerms):
        columns = {"position": terms.rank, "gain": terms.gain, "discount": terms.discount}
    elif judgments is not None:
        columns = {"position": judgments.rank[terms.row]}
    documents = [None if row < 0 else names[row] for row in terms.row.tolist()]
    if scale is not None:
        grade = np.array([0.0 if one is None else one.grade for one in documents], np.float64)
        columns = {**columns, "scaled": scale(grade)}
    running = np.cumsum(value)
    contribution = ratio(of.scale * value, float(np.broadcast_to(of.normalizer, 1)[0]))
    rows = zip(documents, value.tolist(), running.tolist(), contribution.tolist(), strict=True)
    lists = {name: column.tolist() for name, column in columns.items()}
    return tuple(
        Term(*row, **{name: _whole(name, column[i]) for name, column in lists.items()})
        for i, row in enumerate(rows)
    )


def _unjudged(others: Sequence[Document], terms: Terms, total: float, normalizer: float) -> Iterator[Term]:
    """The terms of these documents. total: the sum before them."""
    value, adds = terms.unjudged, terms.scale * terms.unjudged / normalizer
    for place, one in enumerate(others, 1):
        yield Term(one, value, total + place * value, adds, position=one.rank)


def _whole(name: str, value: float) -> Any:
    """A position is an integer, or None for a document that was not retrieved."""
    if name != "position":
        return value
    return None if np.isinf(value) else int(value)


def _by_rank(terms: Terms, ideal: Terms | None, last: int) -> tuple[float, ...]:
    """The value if the ranking were cut at each rank, for a DCG divided by the DCG of the ideal ranking."""
    is_dcg = isinstance(terms, DiscountedTerms) and isinstance(ideal, DiscountedTerms)
    if not is_dcg or isinstance(terms.base, np.ndarray):
        return ()
    own, best = (_running(one, last) for one in (terms, ideal))
    return tuple(ratio(terms.scale * own, best).tolist())


def _discounts(terms: Terms, last: int) -> tuple[float, ...]:
    """The discount of each rank, for a DCG whose terms of 0 have no rows."""
    if not isinstance(terms, DiscountedTerms) or terms.discount_at is None:
        return ()
    return tuple(terms.discount_at(np.arange(1.0, last + 1)).tolist())


def _running(terms: Any, last: int) -> Floats:
    """The DCG at each rank."""
    at_rank = np.zeros(last)
    inside = terms.rank <= last
    at_rank[terms.rank[inside].astype(np.int64) - 1] = terms.value[inside]
    return np.cumsum(at_rank)


def _changes(
    basis: Explanation, spec: Spec, whole: Judgments, options: Options, ranking: Ranking
) -> tuple[Change, ...]:
    """What removing each document changes, of those that were tried."""
    judged, others = leave_one_out(spec, whole, options, ranking.unjudged.rank)
    rows = (whole.document - ranking.first).tolist()
    without = {ranking.judged[rows[row]]: value for row, value in judged.items()}
    unjudged = ranking.unjudged.all
    without |= {unjudged[place]: value for place, value in others.items()}
    return tuple(
        Change(one, without[one], without[one] - basis.value) for one in basis.documents if one in without
    )
