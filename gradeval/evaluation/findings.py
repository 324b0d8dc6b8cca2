"""The notices of an evaluation: missing queries, ties, undefined values, depth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import ranges
from gradeval.arrays.strings import Ids, Texts
from gradeval.errors import GradevalError
from gradeval.evaluation.score import Scored, score, summarize
from gradeval.evaluation.ties import Spread
from gradeval.notices import MAX_QUERIES, Kind, Notice, is_accepted
from gradeval.options import Options
from gradeval.registry.invariants import UNJUDGED_IGNORED
from gradeval.registry.metric import Metric
from gradeval.registry.spec import Spec
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import Qrels, counted_grades, is_relevant
from gradeval.tables.reduction import Reduced

FIRST_RANKS, MOST_FIRST_RANKS = 10, 20  # whose judged share is looked at: by default, and at most
ENOUGH_JUDGED = 0.8


def first_ranks(specs: Sequence[Spec], options: Options) -> int:
    """The ranks that metrics look at first: the largest cutoff that is no larger than MOST_FIRST_RANKS."""
    cutoffs = [spec.params.get("cutoff", MOST_FIRST_RANKS + 1) for spec in specs]
    cutoff = max((k for k in cutoffs if k <= MOST_FIRST_RANKS), default=FIRST_RANKS)
    return cutoff if options.depth is None else min(cutoff, options.depth)


def judged_share(qrels: Qrels, reduced: Reduced, counted: Bools, cutoff: int) -> float:
    """The share of the first ranks that is judged: the mean of Judged@k over queries with documents."""
    first = np.append(0, np.cumsum(reduced.rank <= cutoff))
    judged: Ints = np.diff(first[qrels.offsets])
    chosen = counted & (reduced.retrieved > 0)
    return (
        float((judged[chosen] / np.minimum(reduced.retrieved[chosen], cutoff)).mean()) if chosen.any() else 1.0
    )


def judged_notices(
    share: float, cutoff: int, specs: Sequence[Spec], scale: Floats, options: Options
) -> Iterator[Notice]:
    """Where so little is judged that the metrics, which take the rest as not relevant, can mislead."""
    measure = f"Judged@{cutoff}"
    misled = [
        _is_graded(spec.metric)
        and not spec.metric.holds(UNJUDGED_IGNORED, spec.params, scale)
        and not spec.params.get("judged_only", options.judged_only)
        for spec in specs
    ]
    if 0 < share < ENOUGH_JUDGED and any(misled) and measure not in map(str, specs):
        yield Notice(Kind.JUDGED_SHARE, "", 0, measure, value=share)


def qrels_notices_for(qrels: Qrels, specs: Sequence[Spec]) -> tuple[Notice, ...]:
    """The notices of the qrels: of subtopics, only where a metric does not use them."""
    if any(_is_graded(spec.metric) and not spec.metric.is_of_subtopics for spec in specs):
        return qrels.notices
    return tuple(notice for notice in qrels.notices if notice.kind is not Kind.SUBTOPICS)


def no_subtopics_notices(qrels: Qrels, specs: Sequence[Spec]) -> Iterator[Notice]:
    for spec in specs:
        if spec.metric.is_of_subtopics and qrels.subtopics is None:
            yield Notice(Kind.NO_SUBTOPICS, qrels.path, len(qrels.queries), str(spec))


def relevance_notices(
    qrels: Qrels, specs: Sequence[Spec], empty: Bools, wanted: Bools, options: Options, share: float
) -> Iterator[Notice]:
    """Where everything is relevant, nothing, or nothing for some queries.

    empty: for which queries each metric that needs a relevant document has none, (M, Q). share: the largest
    judged share of the runs.
    """
    scale = qrels.scale
    # implicit judgments list relevant documents alone: then nearly all that a run retrieves is unjudged
    is_explicit = share >= ENOUGH_JUDGED and len(scale) > 1
    for spec, queries in zip(specs, empty & wanted, strict=True):
        is_binary = "rel" in spec.metric.by_name
        level = spec.params.get("rel", options.rel) if is_binary else None
        reached = is_relevant(scale, level)
        needs = is_binary or spec.metric.needs_relevant
        if needs and is_explicit and reached.all():
            lowest = float(scale[0])
            yield Notice(Kind.ALL_RELEVANT, qrels.path, len(qrels.grade), str(spec), low=lowest)
        elif needs and not reached.any():
            rule, highest = "" if level is None else f"{level:g}", float(scale[-1])
            yield Notice(Kind.NONE_RELEVANT, qrels.path, int(wanted.sum()), str(spec), rule=rule, high=highest)
        elif queries.any():
            yield _about(
                Kind.NO_RELEVANT,
                qrels,
                queries,
                str(spec),
                subject=qrels.path,
                rule=options.no_relevant_rule,
                total=int(wanted.sum()),
                informational=is_accepted(Kind.NO_RELEVANT, options),
            )


def _about(
    kind: Kind, qrels: Qrels, queries: Bools, metric: str = "", *, subject: str = "", **fields: Any
) -> Notice:
    """A notice about these queries, (Q,), with the ids of the first."""
    ids = tuple(Texts(qrels.queries.take(np.flatnonzero(queries)[:MAX_QUERIES])))
    return Notice(kind, subject, int(queries.sum()), metric, ids, **fields)


def deepest(specs: Sequence[Spec], options: Options) -> float:
    """The last rank that counts for a metric, inf where all do, 0 where none does."""
    cutoffs = [spec.cutoff or math.inf for spec in specs if not (spec.metric.text or spec.metric.is_count)]
    return min(max(cutoffs, default=0), math.inf if options.depth is None else options.depth)


def identical_ranks(
    qrels: Qrels, reduced: Reduced, specs: Sequence[Spec], options: Options
) -> tuple[Ints, Floats]:
    """The queries that retrieved a document with their own id, and its rank: inf where -J removes it."""
    query, rank = reduced.identical.query, reduced.identical.rank
    counting = [spec for spec in specs if not (spec.metric.text or spec.metric.is_count)]
    if not len(query) or not all(spec.params.get("judged_only", options.judged_only) for spec in counting):
        return query, rank.astype(np.float64)
    counts = np.diff(qrels.offsets)[query]
    starts, rows = np.cumsum(counts) - counts, ranges(qrels.offsets[query], counts)
    rank_of = np.where(qrels.grade[rows] >= 0, reduced.rank[rows], np.inf)  # the others count as unjudged
    identical = np.where(qrels.documents.same(rows, qrels.queries, np.repeat(query, counts)), rank_of, np.inf)
    last = np.minimum.reduceat(identical, starts)
    to_last = np.isfinite(rank_of) & (rank_of <= np.repeat(last, counts))
    is_evaluated = np.isfinite(last) & (last <= (options.depth or math.inf))
    return query, np.where(is_evaluated, np.add.reduceat(to_last, starts, dtype=np.int64), np.inf)


def query_notices(
    qrels: Qrels, reduced: Reduced, specs: Sequence[Spec], wanted: Bools, options: Options
) -> Iterator[Notice]:
    missing = wanted & (reduced.retrieved == 0)
    if missing.any():
        has_zeros = options.queries == "both" or options.no_relevant_rule == "0"
        yield _about(Kind.MISSING, qrels, missing, rule=options.queries if has_zeros else "empty")
    if reduced.unjudged:
        yield Notice(Kind.UNJUDGED, "", reduced.unjudged)
    if reduced.extra.lines:
        yield Notice(Kind.EXTRA_FIELDS, "", reduced.extra.lines, rule=str(reduced.extra.first + 1))
    if reduced.collapsed.lines:
        yield Notice(Kind.COLLAPSED, "", reduced.collapsed.lines, rule=reduced.collapsed.what)
    ranks = reduced.ranks
    if ranks.contradicting > ranks.compared / 2:
        rule = "scores" if ranks.of_scores else ""
        yield Notice(Kind.RANKS, "", ranks.contradicting, rule=rule, total=ranks.compared)
    identical = np.zeros(len(wanted), np.bool_)
    query, rank = identical_ranks(qrels, reduced, specs, options)
    identical[query[rank <= deepest(specs, options)]] = True
    if (identical & wanted).any():
        yield _about(Kind.IDENTICAL_IDS, qrels, identical & wanted)
    if not np.isfinite(reduced.rank).any():
        yield Notice(Kind.NOTHING_JUDGED, "", 0)
    yield from qrels_notices(qrels, reduced, options)


def qrels_notices(qrels: Qrels, reduced: Reduced, options: Options) -> Iterator[Notice]:
    """Where the run seems to be the qrels file, which would be a perfect ranking."""
    rows = np.flatnonzero(np.isfinite(reduced.rank))
    if len(rows) < 2 or reduced.unjudged or len(rows) != reduced.retrieved.sum():
        return
    score, grade = counted_grades(reduced.score[rows], options), qrels.grade[rows]
    if score[0] != grade[0] or not (score == grade).all():
        return
    # a set of retrieved documents, each with the score 1, may happen to be relevant: then some are not in it
    judged = int(np.diff(qrels.offsets)[reduced.retrieved > 0].sum())
    if len(rows) == judged or score.min() < score.max():
        yield Notice(Kind.QRELS_AS_RUN, "", len(rows))


def tie_notices(
    qrels: Qrels,
    specs: Sequence[Spec],
    scored: Scored,
    counted: Bools,
    ties: Spread,
    rule: str,
    expected: Floats,
    weights: Floats | None = None,
) -> Iterator[Notice]:
    """rule: the order of ties of the values. expected: the summary values over all orders, (M,). weights: of
    the queries in means, (Q,).
    """
    if not ties.changes.any():
        return
    low, high = ties.ends(scored.values)
    ends = [summarize(specs, values, counted, weights).tolist() for values in (scored.values, low, high)]
    ends.append(expected.tolist())
    for m, (spec, *numbers) in enumerate(zip(specs, *ends, strict=True)):
        changed = np.zeros(len(counted), bool)
        changed[ties.queries[ties.changes[m]]] = True
        if changed.any():
            value, low_end, high_end, mean = (None if math.isnan(number) else number for number in numbers)
            yield _about(
                Kind.TIES,
                qrels,
                changed,
                str(spec),
                rule=rule,
                value=value,
                low=low_end,
                high=high_end,
                expected=mean,
                at_most=bool(ties.whole[m]),
                undefined=0 if spec.metric.text else int((ties.undefined[m] & counted[ties.queries]).sum()),
            )


def undefined_notices(qrels: Qrels, specs: Sequence[Spec], scored: Scored, counted: Bools) -> Iterator[Notice]:
    for spec, row, empty in zip(specs, scored.values, scored.empty, strict=True):
        undefined = counted & np.isnan(row) & ~empty
        if undefined.any() and not spec.metric.text:
            yield _about(Kind.UNDEFINED, qrels, undefined, str(spec))


def left_out_of_groups(names: Sequence[str]) -> tuple[Notice, ...]:
    """The notice of metrics that groups have, and that are left out."""
    if not names:
        return ()
    return (Notice(Kind.EXCLUDED_METRICS, "", len(names), rule=", ".join(names), informational=True),)


APART = 1.1  # runs differ in depth where one has more than so many times the documents of another
_MOST = 0.5  # of its queries have fewer documents than a cutoff, where a run is noted
_SEEN = 1e-4  # the least change of a value that matters
_GRADES = (1.0, 2.0, 3.0, 4.0)  # of documents that are tried, and the threshold of the metric

Quantiles = tuple[int, int, int, int, int]
_QUANTILES = {  # of the documents per query: that a tenth of the queries is shallow is no accident
    "first deciles": 0.1,
    "lower quartiles": 0.25,
    "medians": 0.5,
    "upper quartiles": 0.75,
    "last deciles": 0.9,
}
_SHARES = np.array([*_QUANTILES.values()])
Depths = Sequence[tuple[str, Quantiles | None]]
"""The name of each run, and quantiles() of the documents that it has per query; None where they are unknown."""


def quantiles(depths: Ints, counts: Ints | None = None) -> Quantiles | None:
    """Those of _QUANTILES, by nearest rank; None of nothing.

    depths: documents per query. counts: how many queries have so many, by default one.
    """
    if not len(depths):
        return None
    order = np.argsort(depths)
    before = np.arange(1, len(depths) + 1) if counts is None else counts[order].cumsum()
    places = before.searchsorted(before[-1] * _SHARES)
    first, lower, middle, upper, last = depths[order[places]].tolist()
    return first, lower, middle, upper, last


def quantiles_of(value: Any) -> Quantiles | None:
    """Those in JSON, None where it has none. Raises ValueError."""
    if value is None:
        return None
    is_list = isinstance(value, list) and len(value) == len(_QUANTILES) and all(type(n) is int for n in value)
    if not is_list or value != sorted(value) or not 1 <= value[0] <= value[-1] < 2**53:
        raise ValueError("not five numbers of documents in ascending order")
    first, lower, middle, upper, last = value
    return first, lower, middle, upper, last


def depths_of(reduced: Reduced, counted: Bools, depth: int | None) -> Ints:
    """How many documents a run has of each of its queries. counted: (Q,). depth: that of the options."""
    retrieved = reduced.retrieved[counted & (reduced.retrieved > 0)]
    return retrieved if depth is None else np.minimum(retrieved, depth)


def short_counts(
    qrels: Qrels, reduced: Reduced, specs: Sequence[Spec], counted: Bools, depth: int | None
) -> Ints:
    """For how many queries a run has fewer documents than the cutoff of a metric, (M,).

    Only those that the run has, and where it lacks judged documents: a run that ranks all of these is complete.
    """
    retrieved_above = np.append(0, np.cumsum(np.isfinite(reduced.rank)))
    is_complete = np.diff(retrieved_above[qrels.offsets]) == np.diff(qrels.offsets)
    retrieved = reduced.retrieved[counted & (reduced.retrieved > 0) & ~is_complete]
    limit = math.inf if depth is None else depth
    cutoffs = [spec.cutoff if _is_graded(spec.metric) else 0 for spec in specs]
    return np.array([(retrieved < min(cutoff or 0, limit)).sum() for cutoff in cutoffs], np.int64)


def _is_graded(metric: Metric) -> bool:
    """Whether its value says how good a ranking is."""
    return metric.higher_is_better is not None and not (metric.text or metric.is_count)


def short_notices(specs: Sequence[Spec], short: Ints, total: int) -> Iterator[Notice]:
    """Where most queries have fewer documents than the cutoff. short: short_counts(). total: of how many."""
    for spec, count in zip(specs, short.tolist(), strict=True):
        if count > _MOST * total:
            yield Notice(Kind.FEW_DOCUMENTS, "", count, str(spec), total=total)


def with_depths(
    notices: Iterable[Notice], runs: Depths, specs: Sequence[Spec], options: Mapping[str, Any]
) -> tuple[Notice, ...]:
    """The notices, and for each metric that sees what only deeper runs have, that runs differ in depth, in the
    place of those of each run. options: as in Results.
    """
    others = [notice for notice in notices if notice.kind is not Kind.DEPTH]
    ends = apart(runs)
    if ends is None:
        return tuple(others)
    (deepest, most), (shallowest, fewest), which = ends
    rule = f"{deepest} {most:,} documents per query, {shallowest} {fewest:,}{which}"
    seeing = [
        str(spec)
        for spec in specs
        if not (spec.metric.text or spec.metric.is_count) and sees_beyond(spec, fewest, options)
    ]
    return (
        *(other for other in others if not (other.kind is Kind.FEW_DOCUMENTS and other.metric in seeing)),
        *(
            Notice(Kind.DEPTH, "", len(runs), metric, rule=rule, low=float(fewest), high=float(most))
            for metric in seeing
        ),
    )


def apart(runs: Depths) -> tuple[tuple[str, int], tuple[str, int], str] | None:
    """The deepest and the shallowest run in the first quantile in which runs differ, and the quantile's name.

    One deep query is thus no depth, and a few shallow ones, as of rare terms, are no difference. The name is ''
    for runs whose queries have as many documents each; None without a difference.
    """
    known = [(name, depths) for name, depths in runs if depths is not None]
    for k, which in enumerate(_QUANTILES if known else ()):
        deepest, shallowest = (pick(known, key=lambda run: run[1][k]) for pick in (max, min))
        if deepest[1][k] > APART * shallowest[1][k]:
            is_same = all(depths[0] == depths[-1] for _, depths in (deepest, shallowest))
            ends = (deepest[0], deepest[1][k]), (shallowest[0], shallowest[1][k])
            return *ends, "" if is_same else f" ({which})"
    return None


def sees_beyond(spec: Spec, depth: int, options: Mapping[str, Any]) -> bool:
    """Whether a document behind this rank can change the value: tried, with a document at the next rank."""
    is_condensed = bool(spec.params.get("judged_only", options.get("judged_only")))  # later ones move up
    if spec.cutoff is not None and spec.cutoff <= depth and not is_condensed:
        return False
    level = options.get("rel")
    grades = sorted({*_GRADES, spec.params.get("rel") or level or 1.0})
    # for each grade, a query with one document of it behind the depth, and one with a first of it too; a
    # document of grade 0 was not retrieved, and the others are unjudged
    grade: Floats = np.array([of for each in grades for of in (0.0, each, 0.0, each, each, 0.0)])
    queries = 2 * len(grades)
    ids = Ids.of([b"%d" % n for n in range(len(grade))])
    qrels = Qrels("", ids.take(slice(queries)), 3 * np.arange(queries + 1), ids, grade)

    def values(is_retrieved: bool) -> Floats:
        rank = np.tile([1.0, depth + 1.0 if is_retrieved else np.inf, np.inf], queries)
        retrieved = np.full(queries, depth + is_retrieved)
        judgments = Judgments.of(qrels, slice(0, queries), rank, -rank, retrieved, level)
        return score(judgments.judged_only() if is_condensed else judgments, [spec])

    try:
        without, with_it = values(False), values(True)
    except GradevalError:  # not for these grades
        return True
    is_same = (np.isnan(without) & np.isnan(with_it)) | (np.abs(without - with_it) < _SEEN)
    return not is_same.all()
