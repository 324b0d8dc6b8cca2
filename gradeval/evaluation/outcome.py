"""The evaluation of one run: its values, and what a user should know of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, repeat
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import ranges
from gradeval.arrays.strings import Ids, Texts
from gradeval.errors import GradevalError, InputError, UnsuitableOptionError, first_names, named
from gradeval.evaluation.results import RunResult
from gradeval.evaluation.score import (
    TRIALS,
    Judge,
    Scored,
    Spread,
    score,
    spread,
    summarize,
    summarize_expected,
)
from gradeval.formats.columns import RankCheck
from gradeval.formats.sources import Source
from gradeval.notices import LEAST_CHANGE, MAX_QUERIES, Notice, NoticeKind, many
from gradeval.options import LaterIds, Options
from gradeval.records import Record
from gradeval.registry.invariants import UNJUDGED_IGNORED
from gradeval.registry.metric import Metric
from gradeval.registry.spec import Spec
from gradeval.tables.judgments import Judgments
from gradeval.tables.load import Run
from gradeval.tables.qrels import Qrels, counted_grades, is_relevant
from gradeval.tables.ranking import NO_TIES
from gradeval.tables.reduction import Reduced

SHOWN_IDS = 3  # of the queries of files that have none in common
_FEW = 1 << 13  # judgments that are scored before another thread has started


def with_weights(options: Options) -> Options:
    """The options, with the weights of queries read where they are those of a file. Raises InputError(s)."""
    if not isinstance(options.query_weights, str):
        return options
    from gradeval.formats.lines import read_weights  # imported only when needed

    return options.replace(query_weights=tuple(read_weights(Source(options.query_weights)).items()))


def with_ids(options: Options, qrels: Qrels) -> Options:
    """The options, with the query ids that are chosen when the judgments are known."""
    if not isinstance(options.query_ids, LaterIds):
        return options
    return options.replace(query_ids=options.query_ids.choose(Texts(qrels.queries), qrels.path))


def chosen_queries(qrels: Qrels, options: Options, *, is_part: bool = False) -> Bools:
    """Which queries are evaluated, (Q,). is_part: the qrels may lack query ids. Raises UnknownQueryError."""
    chosen = np.ones(len(qrels.queries), np.bool_)
    if options.query_ids is not None:
        chosen[:] = False
        chosen[qrels.positions(options.query_ids, is_part=is_part)] = True
    return chosen


def counted_queries(chosen: Bools, has_lines: Bools, options: Options) -> Bools:
    """Which of the chosen queries are printed and averaged, (Q,). has_lines: which queries the run has."""
    return chosen & has_lines if options.queries == "both" else chosen


def weights_of(queries: Sequence[str], chosen: Bools, options: Options, path: str = "") -> Floats | None:
    """The weights of the queries in means, (Q,), if any. path: of their file. Raises GradevalError."""
    if options.query_weights is None:
        return None
    known: dict[str, float] = dict(options.query_weights)  # type: ignore[arg-type]  # a file has been read
    lacking = [query for query in compress(queries, chosen) if query not in known]
    if lacking:
        count = many(len(lacking), "query has", "queries have")
        what = f"{count} no weight: {first_names(map(named, lacking), 5)}"
        hint = "A weight of 0 leaves a query out of the means"
        if path:
            raise InputError(path, what, hint=hint)
        raise UnsuitableOptionError("query_weights", f"query_weights: {what}. {hint}")
    return np.array([known.get(query, 0.0) for query in queries])


class Noticed(Record):
    """The notices of a run, its judged_share(), and how many queries are short of each cutoff, (M,)."""

    notices: tuple[Notice, ...]
    judged_share: float
    short: Ints


class Outcome(Record):
    """The result of a run. empty: that of without_relevant(). noticed: finds what a user should know of it; its
    argument yields for each run with notices of ties whether they have the expected value. of_queries: those of
    these notices that cost nothing, which are about its queries and ids.
    """

    result: RunResult
    empty: Bools
    noticed: Callable[..., Noticed]
    of_queries: tuple[Notice, ...] = ()


def known(noticed: Noticed, with_expected: Iterator[bool]) -> Noticed:
    """Outcome.noticed of an outcome whose notices were found: as a partial, it can be sent to a process."""
    return noticed


def without_relevant(qrels: Qrels, specs: Sequence[Spec], options: Options, jobs: int) -> Bools:
    """Which queries have nothing relevant to a metric that needs it, (M, Q), whatever the run."""
    rank = np.full(len(qrels.grade), np.inf)
    nothing = Reduced(rank, -rank, np.zeros(len(qrels.queries), np.int64), 0, NO_TIES)
    return Judge(qrels, nothing, options).scored(specs, jobs).empty


def no_common_query(
    path: str, other: str, ids: Sequence[str], other_ids: Sequence[str], hint: str = "Check the query ids"
) -> InputError:
    """The error of a file whose queries another file lacks, with the first ids of both."""
    if ids and other_ids:
        ours, theirs = (first_names(map(named, of_file), SHOWN_IDS) for of_file in (ids, other_ids))
        hint = f"{hint}: {ours} here, {theirs} in {other}"
        # data frames turn integers into floats, where one is missing
        if ids[0].endswith(".0") != other_ids[0].endswith(".0"):
            hint = f"Query ids are compared as text: {named(ids[0])} here, {named(other_ids[0])} in {other}"
    return InputError(path, f"it has no query in common with {other}", hint=hint)


def check_common(run: Run, reduced: Reduced, qrels: Qrels, chosen: Bools) -> None:
    """Raise InputError where a run has none of the chosen queries, with its first ones, of a block at most."""
    if not ((reduced.retrieved > 0) & chosen).any():
        table = run.opened()
        ids = next((Texts(table.columns(block).queries) for block in table.blocks()), ())
        judged = Texts(qrels.queries.take(np.flatnonzero(chosen)[: SHOWN_IDS + 1]))
        raise no_common_query(run.path, qrels.path, list(dict.fromkeys(ids))[: SHOWN_IDS + 1], judged)


def outcome_of(
    judge: Judge,
    name: str,
    path: str,
    run_rule: str,
    specs: Sequence[Spec],
    jobs: int,
    chosen: Bools,
    unlisted: Sequence[Spec] = (),
    per_query: bool = False,
) -> Outcome:
    """run_rule: the order of ties of the run. unlisted: metrics that the user does not see. per_query: whether
    the values of queries are what the user asks for, not the means alone.
    """
    qrels, reduced, options = judge.qrels, judge.reduced, judge.options
    jobs = jobs if len(qrels.grade) > _FEW else 1
    of_run = judge.scored(specs, jobs)
    has_lines = reduced.retrieved > 0
    counted = counted_queries(chosen, has_lines, options)
    ties = spread(judge, counted, specs, of_run, jobs) if options.tie_range else None
    result = RunResult(
        name,
        path,
        None,
        of_run.values,
        counted,
        of_run.texts,
        None if ties is None else np.array([*ties.ends, ties.expected()]),
        run_rule,
        depths=quantiles(depths_of(reduced, counted, options.depth)),
        interval=options.intervals,
        weights=weights_of(Texts(qrels.queries), chosen, options),
    )

    found_with_values = query_notices(qrels, reduced, specs, chosen, options)
    of_queries = tuple(notice.replace(subject=name) for notice in found_with_values)

    def noticed(with_expected: Iterator[bool] = repeat(True)) -> Noticed:  # noqa: B008  # it never ends
        notices = [*of_queries]
        if options.ties is None:  # a user who names a rule has decided the order
            changes = ties or spread(judge, counted, specs, of_run, jobs, TRIALS)
            if changes.changes.any():
                notices += seen_tie_notices(
                    qrels, specs, result, changes, per_query=per_query, with_expected=with_expected
                )
        notices += undefined_notices(qrels, specs, of_run, counted)
        cutoff = first_ranks(specs, options)
        share = judged_share(qrels, reduced, counted, cutoff)
        listed = [spec for spec in specs if spec not in unlisted]
        notices += judged_notices(share, cutoff, listed, qrels.scale, options)
        # of the queries that the run has: one that ranks all judged documents is complete
        in_run = counted & has_lines
        retrieved_above = np.append(0, np.cumsum(np.isfinite(reduced.rank)))
        is_complete = np.diff(retrieved_above[qrels.offsets]) == np.diff(qrels.offsets)
        retrieved = reduced.retrieved[in_run & ~is_complete]
        cutoffs = [(spec.cutoff or 0) if _is_graded(spec.metric) else 0 for spec in specs]
        fewest = [cutoff if options.depth is None else min(cutoff, options.depth) for cutoff in cutoffs]
        short = np.array([(retrieved < cutoff).sum() for cutoff in fewest], np.int64)
        notices += short_notices(specs, short, int(in_run.sum()))
        return Noticed(tuple(notice.replace(subject=name) for notice in notices), share, short)

    return Outcome(result, of_run.empty, noticed, of_queries)


FIRST_RANKS, MOST_FIRST_RANKS = 10, 20  # whose judged share is looked at: by default, and at most
ENOUGH_JUDGED, LEAST_JUDGED = 0.8, 0.4  # a smaller share is noted, or warned of


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
    if not chosen.any():
        return 1.0
    return float((judged[chosen] / np.minimum(reduced.retrieved[chosen], cutoff)).mean())


def judged_notices(
    share: float, cutoff: int, specs: Sequence[Spec], scale: Floats, options: Options
) -> Iterator[Notice]:
    """Where so little is judged that the metrics, which take the rest as not relevant, can mislead."""
    measure = f"Judged@{cutoff}"
    misled = (
        _is_graded(spec.metric)
        and not spec.metric.holds(UNJUDGED_IGNORED, spec.params, scale)
        and not spec.params.get("judged_only", options.judged_only)
        for spec in specs
    )
    if 0 < share < ENOUGH_JUDGED and measure not in map(str, specs) and any(misled):
        # where relevant documents alone are judged, as in MS MARCO, few are by design
        is_by_design = bool(scale[0] > 0)
        is_note = share >= LEAST_JUDGED or is_by_design
        yield Notice(NoticeKind.JUDGED_SHARE, "", 0, measure, value=share, informational=is_note)


def qrels_notices_for(qrels: Qrels, specs: Sequence[Spec]) -> tuple[Notice, ...]:
    """The notices of the qrels: of subtopics, only where a metric does not use them."""
    if any(_is_graded(spec.metric) and not spec.metric.of_subtopics for spec in specs):
        return qrels.notices
    return tuple(notice for notice in qrels.notices if notice.kind is not NoticeKind.SUBTOPICS)


def no_subtopics_notices(qrels: Qrels, specs: Sequence[Spec]) -> list[Notice]:
    lacking = [str(spec) for spec in specs if spec.metric.of_subtopics and qrels.subtopics is None]
    return [Notice(NoticeKind.NO_SUBTOPICS, qrels.path, len(qrels.queries), metric) for metric in lacking]


def unscaled_notices(path: str, scale: Floats, specs: Sequence[Spec]) -> list[Notice]:
    """Where the tool that spells a metric so has other values. path: of the qrels. scale: their grades."""
    highest = float(scale[-1])
    return [
        Notice(NoticeKind.UNSCALED_ELSEWHERE, path, 0, str(spec), rule=spec.unscaled_in, high=highest)
        for spec in specs
        if spec.unscaled_in and highest > 1
    ]


def relevance_notices(
    qrels: Qrels, specs: Sequence[Spec], empty: Bools, wanted: Bools, options: Options, share: float
) -> Iterator[Notice]:
    """Where everything is relevant, nothing, or nothing for some queries. share: the largest judged one."""
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
            yield Notice(NoticeKind.ALL_RELEVANT, qrels.path, len(qrels.grade), str(spec), low=lowest)
        elif needs and not reached.any():
            rule, highest = "" if level is None else f"{level:g}", float(scale[-1])
            yield Notice(
                NoticeKind.NONE_RELEVANT, qrels.path, int(wanted.sum()), str(spec), rule=rule, high=highest
            )
        elif queries.any():
            notice = _about(NoticeKind.NO_RELEVANT, qrels, queries, str(spec), rule=options.no_relevant_rule)
            of_qrels = {"subject": qrels.path, "total": int(wanted.sum())}
            yield notice.replace(**of_qrels, informational=options.no_relevant is not None)


def _about(kind: NoticeKind, qrels: Qrels, queries: Bools, metric: str = "", **fields: Any) -> Notice:
    """A notice about these queries, (Q,), with the ids of the first."""
    ids = tuple(Texts(qrels.queries.take(np.flatnonzero(queries)[:MAX_QUERIES])))
    return Notice(kind, "", int(queries.sum()), metric, ids, **fields)


def tie_notices(qrels: Qrels, specs: Sequence[Spec], result: RunResult, ties: Spread) -> list[Notice]:
    """Where the order of tied scores changes a value, however little."""
    of_orders = result.values, *ties.ends
    means = [summarize(specs, values, result.counted, result.weights) for values in of_orders]
    notices = []
    for m, (spec, *numbers) in enumerate(zip(specs, *means, strict=True)):
        value, low, high = map(_defined, numbers)
        changed = np.zeros(len(result.counted), bool)
        changed[ties.queries[ties.changes[m]]] = True
        # the range of a number is printed beside it, so only texts need a notice
        if changed.any() and (result.tie_range is None or low is None):
            undefined = 0 if spec.metric.text else int(ties.undefined[m].sum())
            notice = _about(NoticeKind.TIES, qrels, changed, str(spec), rule=result.ties, undefined=undefined)
            notices.append(notice.replace(value=value, low=low, high=high, at_most=bool(ties.whole[m])))
    return notices


def _defined(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


def seen_tie_notices(
    qrels: Qrels,
    specs: Sequence[Spec],
    result: RunResult,
    ties: Spread,
    *,
    per_query: bool,
    with_expected: Iterator[bool],
) -> list[Notice]:
    """Where the order of tied scores changes a mean so that it is seen; with per_query also a query's value.
    with_expected: yields whether the expected means are said too, where there is a notice.
    """
    low, high = ties.ends
    change = np.fmax(high - result.values, result.values - low)
    moved = [(of_queries >= LEAST_CHANGE).any() for of_queries in change]
    by_query = {*compress(map(str, specs), moved)} if per_query else set()
    notices = tie_notices(qrels, specs, result, ties)
    notices = [notice for notice in notices if notice.concerns_means or notice.metric in by_query]
    if not notices or not next(with_expected):
        return notices
    means = summarize_expected(specs, ties.expected(), result.values, result.counted, result.weights)
    expected = dict(zip(map(str, specs), map(_defined, means), strict=True))
    return [notice.replace(expected=expected[notice.metric]) for notice in notices]


def rank_notices(ranks: RankCheck, subject: str = "") -> Iterator[Notice]:
    if ranks.contradicting > ranks.compared / 2:
        rule = "scores" if ranks.of_scores else ""
        yield Notice(NoticeKind.RANKS, subject, ranks.contradicting, rule=rule, total=ranks.compared)
    if ranks.in_place:
        yield Notice(NoticeKind.BY_RANK, subject, 0, rule=ranks.in_place)


def query_notices(
    qrels: Qrels, reduced: Reduced, specs: Sequence[Spec], wanted: Bools, options: Options
) -> Iterator[Notice]:
    """What is seen from the queries and ids of a run, without its values. wanted: the chosen queries, (Q,)."""
    missing = wanted & (reduced.retrieved == 0)
    if missing.any():
        has_zeros = options.queries == "both" or options.no_relevant_rule == "0"
        yield _about(NoticeKind.MISSING, qrels, missing, rule=options.queries if has_zeros else "empty")
    yield from line_notices(reduced)
    if len(reduced.identical.query):
        yield from identical_notices(qrels, reduced, specs, wanted, options)
    if not np.isfinite(reduced.rank).any():
        yield Notice(NoticeKind.NOTHING_JUDGED, "", 0)
    yield from qrels_notices(qrels, reduced, options)


def line_notices(reduced: Reduced) -> Iterator[Notice]:
    """What is seen from the lines of a run, judged or not."""
    for kind, count, rule in (
        (NoticeKind.UNJUDGED, reduced.unjudged, ""),
        (NoticeKind.EXTRA_FIELDS, reduced.extra.lines, str(reduced.extra.first + 1)),
        (NoticeKind.COLLAPSED, *reduced.collapsed),
    ):
        if count:
            yield Notice(kind, "", count, rule=rule)
    yield from rank_notices(reduced.ranks)


def identical_notices(
    qrels: Qrels, reduced: Reduced, specs: Sequence[Spec], wanted: Bools, options: Options
) -> Iterator[Notice]:
    """Where a document with its query's id is in the ranks that count for a metric."""
    query, rank = reduced.identical.query, reduced.identical.rank.astype(np.float64)
    valued = [spec for spec in specs if not (spec.metric.text or spec.metric.is_count)]
    if all(spec.params.get("judged_only", options.judged_only) for spec in valued):
        # its rank among the judged documents, inf where it is not one of them: -J removes the others
        counts = np.diff(qrels.offsets)[query]
        starts, rows = np.cumsum(counts) - counts, ranges(qrels.offsets[query], counts)
        judged = np.where(qrels.grade[rows] >= 0, reduced.rank[rows], np.inf)  # the others count as unjudged
        is_identical = qrels.documents.same(rows, qrels.queries, np.repeat(query, counts))
        last = np.minimum.reduceat(np.where(is_identical, judged, np.inf), starts)
        to_last = np.isfinite(judged) & (judged <= np.repeat(last, counts))
        is_evaluated = np.isfinite(last) & (last <= (options.depth or math.inf))
        rank = np.where(is_evaluated, np.add.reduceat(to_last, starts, dtype=np.int64), np.inf)
    deepest = max((spec.cutoff or math.inf for spec in valued), default=0)
    identical = np.zeros(len(wanted), np.bool_)
    identical[query[rank <= min(deepest, options.depth or math.inf)]] = True
    if (identical & wanted).any():
        yield _about(NoticeKind.IDENTICAL_IDS, qrels, identical & wanted)


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
        yield Notice(NoticeKind.QRELS_AS_RUN, "", len(rows))


def undefined_notices(qrels: Qrels, specs: Sequence[Spec], scored: Scored, counted: Bools) -> Iterator[Notice]:
    for spec, row, empty in zip(specs, scored.values, scored.empty, strict=True):
        undefined = counted & np.isnan(row) & ~empty
        if undefined.any() and not spec.metric.text:
            yield _about(NoticeKind.UNDEFINED, qrels, undefined, str(spec))


def left_out_of_groups(names: Sequence[str]) -> tuple[Notice, ...]:
    """The notice of metrics that groups have, and that are left out."""
    if not names:
        return ()
    return (Notice(NoticeKind.EXCLUDED_METRICS, "", len(names), rule=", ".join(names), informational=True),)


APART = 1.1  # runs differ in depth where one has more than so many times the documents of another
_MOST = 0.5  # of its queries have fewer documents than a cutoff, where a run is noted
_SEEN = 1e-4  # the least change of a value that matters
_GRADES = (1.0, 2.0, 3.0, 4.0)  # of documents that are tried, and the threshold of the metric

Quantiles = tuple[int, int, int, int, int]
# of the documents per query: that a tenth of the queries is shallow is no accident
QUANTILES = ("first deciles", "lower quartiles", "medians", "upper quartiles", "last deciles")
_SHARES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
Depths = Sequence[tuple[str, Quantiles | None]]
"""The name of each run, and quantiles() of the documents that it has per query; None where they are unknown."""


def quantiles(depths: Ints, counts: Ints | None = None) -> Quantiles | None:
    """Those of QUANTILES, by nearest rank; None of nothing. counts: of queries with each depth, if not 1."""
    if not len(depths):
        return None
    order = depths.argsort()
    before = np.arange(1, len(depths) + 1) if counts is None else counts[order].cumsum()
    places = before.searchsorted(before[-1] * _SHARES)
    quantiles: Quantiles = tuple(depths[order[places]].tolist())
    return quantiles


def depths_of(reduced: Reduced, counted: Bools, depth: int | None) -> Ints:
    """How many documents a run has of each of its queries. counted: (Q,). depth: that of the options."""
    retrieved = reduced.retrieved[counted & (reduced.retrieved > 0)]
    return retrieved if depth is None else np.minimum(retrieved, depth)


def _is_graded(metric: Metric) -> bool:
    """Whether its value says how good a ranking is."""
    return metric.higher_is_better is not None and not (metric.text or metric.is_count)


def short_notices(specs: Sequence[Spec], short: Ints, total: int) -> Iterator[Notice]:
    """Where most queries have fewer documents than the cutoff. short: the number, (M,). total: of how many."""
    for spec, count in zip(specs, short.tolist(), strict=True):
        if count > _MOST * total:
            yield Notice(NoticeKind.FEW_DOCUMENTS, "", count, str(spec), total=total)


def with_depths(
    notices: Iterable[Notice], runs: Depths, specs: Sequence[Spec], options: Mapping[str, Any]
) -> tuple[Notice, ...]:
    """The notices, with DEPTH instead of FEW_DOCUMENTS for metrics that see what deeper runs have."""
    others = [notice for notice in notices if notice.kind is not NoticeKind.DEPTH]
    if (ends := apart(runs)) is None:
        return tuple(others)
    (deepest, most), (shallowest, fewest), which = ends
    rule = f"{deepest} {most:,} documents per query, {shallowest} {fewest:,}{which}"
    valued = [spec for spec in specs if not (spec.metric.text or spec.metric.is_count)]
    seeing = [str(spec) for spec in valued if sees_beyond(spec, fewest, options)]
    of_depth: dict[str, Any] = {"rule": rule, "low": float(fewest), "high": float(most)}
    return (
        *(other for other in others if not (other.kind is NoticeKind.FEW_DOCUMENTS and other.metric in seeing)),
        *(Notice(NoticeKind.DEPTH, "", len(runs), metric, **of_depth) for metric in seeing),
    )


def apart(runs: Depths) -> tuple[tuple[str, int], tuple[str, int], str] | None:
    """The deepest and the shallowest run in the first quantile in which runs differ, and the quantile's name,
    '' for runs whose queries have as many documents each; None without a difference. One deep query is thus no
    depth, and a few shallow ones, as of rare terms, are no difference.
    """
    known = [(name, depths) for name, depths in runs if depths is not None]
    for k, which in enumerate(QUANTILES if known else ()):
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
        judgments = Judgments.of(qrels, slice(0, queries), rank, -rank, retrieved, relevance_level=level)
        return score(judgments.judged_only() if is_condensed else judgments, [spec])

    try:
        without, with_it = values(False), values(True)
    except GradevalError:  # not for these grades
        return True
    is_same = (np.isnan(without) & np.isnan(with_it)) | (np.abs(without - with_it) < _SEEN)
    return not is_same.all()
