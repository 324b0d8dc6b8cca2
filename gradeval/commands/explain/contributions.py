"""All documents of a query in the order of a run, and what each contributes to the value of a metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.arrays.numbers import ratio
from gradeval.arrays.segments import Segments, distinct
from gradeval.arrays.strings import IdIndex, Ids, Texts
from gradeval.commands.explain.result import (
    Change,
    Document,
    Explanation,
    Level,
    LevelGroup,
    Phi,
    Term,
)
from gradeval.evaluation.outcome import prepared
from gradeval.evaluation.score import score
from gradeval.formats.columns import Columns
from gradeval.metrics._kernels import exp2_gain
from gradeval.metrics.average_precision import average_precision
from gradeval.metrics.ndcg_phi import control_points, fitted_phi, named_points, phi_through
from gradeval.options import Options
from gradeval.registry.spec import Spec
from gradeval.tables.judgments import Judgments
from gradeval.tables.load import Run
from gradeval.tables.qrels import Qrels
from gradeval.tables.reduction import Reduced, reduce_columns
from gradeval.tables.terms import DiscountedTerms, Terms

_SAMPLES = 64  # of the curve of φ, between its ends
_AT_ONCE = 1 << 20  # judgments of the tables that are scored together, each without a document
_AT_MOST = 10**8  # judgments of all these tables: about 5 seconds


def documents_of(
    run: Run, qrels: Qrels, q: int, judgments: Judgments, reduced: Reduced, columns: Columns
) -> tuple[tuple[Document, ...], dict[int, Document]]:
    """All documents of query q, as Explanation.documents, and those that are judged by their rows in the qrels.

    judgments: of the query. reduced, columns: the run.
    """
    first, last = int(qrels.offsets[q]), int(qrels.offsets[q + 1])
    of_query = slice(first, last)
    ids, grade = qrels.documents.take(of_query).compact(), qrels.grade[of_query]
    rank, score = reduced.rank[of_query], reduced.score[of_query]
    query = qrels.queries.take(np.array([q]))
    rows = columns.of_queries(IdIndex(query))
    unjudged = np.flatnonzero(IdIndex(ids).find(rows.documents) < 0)
    if len(unjudged):
        # ranked as the judged ones are: a table of judgments in which these are judged too, with grade 0
        ids = Ids.joined([ids, rows.documents.take(unjudged).compact()])
        grades = np.append(grade, np.zeros(len(unjudged)))
        everything = Qrels(qrels.path, query, np.array([0, len(ids)]), ids, grades)
        ranked = reduce_columns(rows, everything, run.ties, run.path)
        rank, score = ranked.rank, ranked.score
        grade = np.append(grade, np.full(len(unjudged), np.nan))
    missed = judgments.document[np.isinf(judgments.rank)] - first
    retrieved = np.argsort(rank, kind="stable")[: np.count_nonzero(np.isfinite(rank))]
    order = np.append(retrieved, missed[np.argsort(-grade[missed], kind="stable")])
    documents = [
        Document(
            name,
            None if rank == math.inf else int(rank),
            None if rank == math.inf else score,
            None if math.isnan(grade) else grade,
        )
        for name, rank, score, grade in zip(
            Texts(ids), rank.tolist(), score.tolist(), grade.tolist(), strict=True
        )
    ]
    judged = dict(enumerate(documents[: last - first], first))
    return tuple(documents[row] for row in order.tolist()), judged


def made_of(
    basis: Explanation, spec: Spec, whole: Judgments, options: Options, judged: Mapping[int, Document]
) -> Explanation:
    """The explanation, with what its value is made of. whole: the table before options are applied. judged: as
    of documents_of().
    """
    name = spec.metric.name
    judgments = prepared(whole, options)
    terms = spec.metric.terms(judgments, **spec.params)
    if spec.params.get("judged_only"):
        judgments = judgments.judged_only()
    documents = [judged[row] for row in judgments.document.tolist()]
    if options.judged_only or spec.params.get("judged_only"):
        ranks = zip(documents, judgments.rank.tolist(), strict=True)
        basis = replace(basis, positions={document: int(rank) for document, rank in ranks if rank != np.inf})
    unjudged = [document for document in basis.documents if document.grade is None]
    if terms is None:
        without = leave_one_out(
            spec, whole, options, [judged[row] for row in whole.document.tolist()], unjudged
        )
        values = [(document, without[document]) for document in basis.documents if document in without]
        changes = tuple(Change(document, value, value - basis.value) for document, value in values)
        return replace(basis, changes=changes, untried=len(basis.documents) - len(changes))
    params = {key: value for key, value in spec.given if key != "judged_only"}
    # the scaled grades that the gains are made from: their name, and grades -> them
    scaled, scale = ("φ", _phi(judgments, params)) if name == "nDCGphi" else ("", None)
    if name == "NDCNG":
        highest = float(judgments.highest[0]) or 1.0
        scaled, scale = "grade/m", lambda grade: np.maximum(grade, 0.0) / highest
    best = None if terms.ideal is None else terms.ideal()
    ideal = None if best is None else _terms(best, terms, documents, None, scale)
    total, base = float(terms.total[0]), float(np.broadcast_to(terms.base, 1)[0])
    normalizer = float(np.broadcast_to(terms.normalizer, 1)[0])
    added = _terms(terms, terms, documents, judgments, scale)
    if (each := terms.unjudged) and basis.positions is None:
        # documents that are not judged have no rows, but names here
        lowest = options.depth or math.inf
        others = [document for document in unjudged if (document.rank or 0) <= lowest]
        adds = terms.scale * each / normalizer
        numbered = enumerate(others, 1)
        added += tuple(Term(other, each, total + n * each, adds, other.rank) for n, other in numbered)
        total, base = total + each * len(others), base + each * len(others)
    if name == "rankDCG":
        positions = {term.document: term.position for term in added if term.document and term.position}
        basis = replace(basis, positions=positions)
    last = basis.cutoff or int(judgments.retrieved[0])
    # for a DCG whose terms of 0 have no rows
    discount_at = terms.discount_at if isinstance(terms, DiscountedTerms) else None
    return replace(
        basis,
        terms=added,
        total=total,
        base=base,
        scale=terms.scale,
        normalizer=normalizer,
        ideal=ideal,
        by_rank=() if basis.is_empty else _by_rank(terms, best, last),
        discounts=() if discount_at is None else tuple(discount_at(np.arange(1.0, last + 1)).tolist()),
        scaled=scaled,
        levels=_levels(judgments, basis.ranked) if name == "muAP" else (),
        phi=phi_of(judgments, params) if name == "nDCGphi" else None,
        groups=_groups(ideal) if ideal and name == "rankDCG" else (),
    )


_Scale = Callable[[Floats], Floats]


def _terms(
    terms: Terms, run: Terms, documents: Sequence[Document], judgments: Judgments | None, scale: _Scale | None
) -> tuple[Term, ...]:
    """The terms as data. run: those whose normalizer divides all. judgments: None for the ideal ranking."""
    value = np.broadcast_to(terms.value, terms.row.shape)
    of_row = [None if row < 0 else documents[row] for row in terms.row.tolist()]
    position: Sequence[int | None]
    position = gain = discount = scaled = [None] * len(of_row)
    rank = None if judgments is None else judgments.rank[terms.row]
    if isinstance(terms, DiscountedTerms):
        rank, gain, discount = terms.rank, terms.gain.tolist(), terms.discount.tolist()
    if rank is not None:
        position = [None if at == math.inf else int(at) for at in rank.tolist()]
    if scale is not None:
        grades = [0.0 if document is None else document.grade for document in of_row]
        scaled = scale(np.array(grades, np.float64)).tolist()
    contribution = ratio(run.scale * value, float(np.broadcast_to(run.normalizer, 1)[0]))
    sums = value.tolist(), np.cumsum(value).tolist(), contribution.tolist()
    return tuple(map(Term, of_row, *sums, position, gain, discount, scaled))


def _by_rank(terms: Terms, ideal: Terms | None, last: int) -> tuple[float, ...]:
    """The value if the ranking were cut at each rank, for a DCG divided by the DCG of the ideal ranking."""
    if not (isinstance(terms, DiscountedTerms) and isinstance(ideal, DiscountedTerms)):
        return ()
    if isinstance(terms.base, np.ndarray):
        return ()
    dcg = np.zeros((2, last))
    for row, ranking in zip(dcg, (terms, ideal), strict=True):
        inside = ranking.rank <= last
        row[ranking.rank[inside].astype(np.int64) - 1] = ranking.value[inside]
    run, best = dcg.cumsum(axis=1)
    return tuple(ratio(terms.scale * run, best).tolist())


def _levels(judgments: Judgments, ranked: Sequence[Document]) -> tuple[Level, ...]:
    """The levels of µAP for a table of one query, the lowest first. ranked: the documents in rank order."""
    grades = distinct(judgments.grade[judgments.grade > 0]).tolist()
    by_rank = np.array([document.grade for document in ranked], np.float64)  # NaN where it is not judged
    return tuple(
        Level(
            grade,
            int(np.count_nonzero(judgments.grade >= grade)),
            float(average_precision(judgments, rel=grade).values()[0]),
            (grade - before) / grades[-1],
            np.where(by_rank >= grade, b"+", b"-").tobytes().decode(),
        )
        for before, grade in zip([0.0, *grades], grades, strict=False)
    )


def _groups(ideal: Sequence[Term]) -> tuple[LevelGroup, ...]:
    groups = []
    for level, members in groupby(ideal, key=lambda term: term.gain):
        terms = list(members)
        first, last = terms[0], terms[-1]
        if first.document is not None:
            grade, positions = first.document.grade or 0.0, (first.position or 0, last.position or 0)
            groups.append(LevelGroup(int(level or 0), grade, *positions, first.discount or 0.0))
    return tuple(groups)


def _phi(judgments: Judgments, params: dict[str, Any]) -> _Scale:
    if "points" in params:
        return lambda grade: phi_through(params["points"], grade)
    fitted = fitted_phi(judgments, params.get("variant", "paper"))
    return lambda grade: fitted(np.maximum(grade, 0.0), np.zeros(len(grade), np.int64))


def phi_of(judgments: Judgments, params: dict[str, Any], samples: int = _SAMPLES) -> Phi:
    """φ of nDCGφ for a table of one query. samples: of the curve."""
    phi = _phi(judgments, params)
    points: list[tuple[str, float, float]]
    if "points" in params:
        points, whisker = [("given", *point) for point in params["points"]], None
    else:
        variant = params.get("variant", "paper")
        points = [(name, *point) for name, point in named_points(judgments, variant)[0].items()]
        whisker = float(control_points(judgments, variant)[0][0, 2])
        if judgments.highest[0] <= 0:  # φ is 0 at every grade, which points would contradict
            points, whisker = [], None
    grades, ordered = distinct(judgments.grade)[::-1], np.sort(judgments.grade)
    counts = np.searchsorted(ordered, grades, "right") - np.searchsorted(ordered, grades)
    values = phi(grades)
    rows = zip(grades.tolist(), counts.tolist(), values.tolist(), exp2_gain(values).tolist(), strict=True)
    ends = (min(points[0][1], float(grades[-1])), points[-1][1]) if points else (0.0, 0.0)
    at = np.linspace(*ends, samples)
    curve = zip(at.tolist(), phi(at).tolist(), strict=True)
    return Phi(tuple(points), whisker, tuple(rows), tuple(curve))


def leave_one_out(
    spec: Spec, judgments: Judgments, options: Options, judged: list[Document], unjudged: list[Document]
) -> dict[Document, float]:
    """The value without each document: removed from the run and the judgments, with the ranks closed up.

    judgments: the table of the query, to which options are applied after a document was removed, so that
    documents below the depth move up. The scale of grades stays that of the whole qrels. Where that takes more
    than _AT_MOST judgments, only documents of the first ranks and the highest grades that were not retrieved
    are removed. judged: the document of each row. unjudged: those that were retrieved only, by rank.
    """
    unjudged_ranks = np.array([document.rank for document in unjudged], np.float64)
    ranks = judgments.rank[judgments.is_retrieved]
    # between two judged documents it does not matter which one is removed
    gap = np.searchsorted(ranks, unjudged_ranks)
    gaps, first, which = np.unique(gap, return_index=True, return_inverse=True)
    # judged documents from here on move up
    above = np.append(ranks, np.inf)[gaps] - 0.5
    count = len(judgments.rank)
    removed = np.concatenate([np.arange(count), np.full(len(above), -1)])
    rank = np.concatenate([judgments.rank, above])
    is_retrieved = np.concatenate([judgments.is_retrieved, np.ones(len(above), bool)])
    tried = np.arange(len(removed))
    most = max(2, _AT_MOST // max(1, count))
    if len(tried) > most:
        at = np.concatenate([judgments.rank, unjudged_ranks[first]])
        missed = np.flatnonzero(~judgments.is_retrieved)
        missed = missed[np.argsort(-judgments.grade[missed], kind="stable")][: most // 2]
        tried = np.unique(np.append(np.argsort(at, kind="stable")[: most - len(missed)], missed))
    step = max(1, _AT_ONCE // (count + 1))
    values: dict[int, float] = {}
    for some in (tried[a : a + step] for a in range(0, len(tried), step)):
        stays = np.arange(count) != removed[some][:, None]  # a query for each removal
        case, row = np.nonzero(stays)
        before = judgments.rank[row]
        table = judgments.replace(
            segments=Segments(np.append(0, np.cumsum(stays.sum(axis=1)))),
            grade=judgments.grade[row],
            rank=before - (before > rank[some][case]),
            score=judgments.score[row],
            document=judgments.document[row],
            retrieved=judgments.retrieved[0] - is_retrieved[some],
        )
        values.update(zip(some.tolist(), score(prepared(table, options), [spec])[0].tolist(), strict=True))
    cases = [*range(count), *(count + which).tolist()]
    documents = [*judged, *unjudged]
    return {document: values[case] for document, case in zip(documents, cases, strict=True) if case in values}
