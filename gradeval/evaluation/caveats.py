"""What a user should know of an evaluation: its notices, as functions of what was evaluated.

Facts are those of one run, small enough to be sent from the process that evaluated it; the notices of all runs
follow from the facts of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, cached_property
from gradeval.arrays.segments import offsets_of
from gradeval.arrays.strings import Texts
from gradeval.arrays.threads import map_all
from gradeval.errors import first_names
from gradeval.evaluation.depths import Depths, cutoff_notices, is_graded, short_of_cutoffs, with_depths
from gradeval.evaluation.outcome import Evaluated
from gradeval.evaluation.plan import EvaluationSetting, Plan
from gradeval.evaluation.results import Results, RunResult, SavedResult, SavedRun
from gradeval.evaluation.score import Scored, summarize, summarize_expected
from gradeval.evaluation.ties import TRIALS, Spread, spread
from gradeval.formats.columns import RankCheck
from gradeval.notices import LEAST_CHANGE, MAX_QUERIES, MAX_SUBJECTS, OF_QRELS, Notice, NoticeKind, Notices
from gradeval.options import Options
from gradeval.records import Record, grouped
from gradeval.registry.invariants import UNJUDGED_IGNORED
from gradeval.registry.metric import NO_BOUNDS
from gradeval.registry.spec import Spec, is_num_q
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import Qrels, counted_grades, is_relevant
from gradeval.tables.reduction import Reduced


class Facts(Record):
    """What is known of one run when it has been evaluated."""

    notices: Notices
    judged_share: float  # of its first ranks
    short: Ints  # how many queries have fewer documents than the cutoff of each metric, (M,)
    ranking: int = 0  # the same number for runs with the same ranks of judged documents, 0 where unknown


def caveats(evaluated: Evaluated) -> Facts:
    plan, qrels, result = evaluated.setting.plan, evaluated.setting.qrels, evaluated.result
    cutoff = first_ranks(plan.specs, plan.options)
    share = 1.0  # by judgments that are assumed
    if qrels.assumed is None:
        share = judged_share(qrels, evaluated.reduced, result.counted, cutoff)
    short = short_of_cutoffs(plan.specs, qrels, evaluated.reduced, evaluated.in_run, plan.options.depth)
    notices = Notices(
        (
            *_query_notices(evaluated),
            *tie_caveats(evaluated),
            *undefined_notices(qrels, plan.specs, evaluated.scored, result.counted),
            *judged_notices(share, cutoff, plan.shown, qrels.scale, plan.options),
            *cutoff_notices(plan.specs, short, int(evaluated.in_run.sum())),
        )
    )
    return Facts(notices.renamed(result.name), share, short, ranking_key(evaluated.reduced))


def ranking_key(reduced: Reduced) -> int:
    """A number that runs share where they have the same judged documents at the same ranks; 0 without any."""
    if not np.isfinite(reduced.rank).any():
        return 0
    return hash((reduced.rank.tobytes(), reduced.retrieved.tobytes()))


class Outcome(Record):
    """What leaves the worker that evaluated a run."""

    result: RunResult
    empty: Bools  # that of without_relevant()
    facts: Facts

    @classmethod
    def of(cls, evaluated: Evaluated) -> Outcome:
        facts = caveats(evaluated)
        return cls(evaluated.result.replace(judged=facts.judged_share), evaluated.empty, facts)


class Together(Record, eq=False):
    """What the runs of an evaluation show together, beside the facts of each."""

    setting: EvaluationSetting
    depths: Depths  # of the documents that each has of a query
    counted: Bools  # the queries of any, (Q,)
    empty: Bools | None  # which queries have nothing relevant to each metric, (M, Q); None without a run


def caveats_of_all(facts: Sequence[Facts], runs: Together) -> Notices:
    """The notices of the qrels, of all runs, and of each."""
    plan, qrels = runs.setting.plan, runs.setting.qrels
    share = max((of_run.judged_share for of_run in facts), default=0.0)
    notices = [*qrels_notices_for(qrels, plan.specs)]
    if plan.options.query_weights is not None:
        notices.append(Notice(NoticeKind.WEIGHTED, "", int(runs.counted.sum()), rule=plan.weights_path))
        notices += _unknown_weighted(plan, Texts(qrels.queries))
    notices += no_subtopics_notices(qrels, plan.specs)
    if runs.empty is not None:
        notices += relevance_notices(qrels, plan.specs, runs.empty, runs.counted, plan.options, share=share)
    notices += bounds_notices(plan.shown, plan.options)
    notices += unscaled_notices(qrels.path, qrels.scale, plan.specs)
    notices += chain.from_iterable(of_run.notices for of_run in facts)
    notices += same_rankings(facts, [name for name, _ in runs.depths])
    return with_depths(notices, runs.depths, plan.specs, plan.options.to_dict())


def _unknown_weighted(plan: Plan, queries: Sequence[str]) -> Iterator[Notice]:
    """Where weights are of queries that are not judged."""
    weights: Iterable[tuple[str, float]] = plan.options.query_weights or ()  # type: ignore[assignment]
    judged = set(queries)
    unknown = [query for query, _ in weights if query not in judged]
    if unknown:
        first = tuple(unknown[:MAX_QUERIES])
        yield Notice(NoticeKind.UNKNOWN_WEIGHTED, "", len(unknown), rule=plan.weights_path, queries=first)


def bounds_notices(specs: Sequence[Spec], options: Options) -> Iterator[Notice]:
    """Where bounds were asked for, and a metric has none."""
    numeric = (spec for spec in specs if not (spec.metric.text or spec.metric.constant))
    names = [str(spec) for spec in numeric if options.bounds and spec.bounds == NO_BOUNDS]
    if names:
        yield Notice(NoticeKind.NO_BOUNDS, "", len(names), rule=first_names(names, MAX_SUBJECTS))


def same_rankings(facts: Sequence[Facts], names: Sequence[str]) -> Iterator[Notice]:
    """Where runs have the same ranks of judged documents: one may be a copy of another."""
    of_runs = zip(facts, names, strict=True)
    alike = grouped((of_run.ranking, name) for of_run, name in of_runs if of_run.ranking)
    for first, *copies in alike.values():
        if copies:
            rule = first_names(copies, MAX_SUBJECTS)
            yield Notice(NoticeKind.SAME_RANKING, first, len(copies) + 1, rule=rule)


class LaterCaveats:
    """The notices of runs that are kept as they were evaluated, found on first access."""

    def __init__(self, outcomes: Sequence[Outcome | Evaluated], runs: Together, jobs: int) -> None:
        self._outcomes = outcomes
        self._runs = runs
        self._jobs = jobs

    @cached_property
    def notices(self) -> Notices:
        return caveats_of_all(map_all(self._facts, self._outcomes, self._jobs), self._runs)

    @staticmethod
    def _facts(outcome: Outcome | Evaluated, jobs: int) -> Facts:
        return outcome.facts if isinstance(outcome, Outcome) else caveats(outcome)


def separability(results: Results, options: Options) -> Notices:
    """Where intervals were asked for, and neighbouring runs may differ by 0."""
    if options.interval is None or len(results.runs) < 2:
        return Notices()
    count, total = results.inseparable(options.interval, options.confidence)
    notice = Notice(NoticeKind.NOT_SEPARABLE, "", count, total=total, rule=f"{options.confidence:g}")
    return Notices([notice] if count else [])


FIRST_RANKS, MOST_FIRST_RANKS = 10, 20  # whose judged share is looked at: by default, and at most
ENOUGH_JUDGED, LEAST_JUDGED = 0.8, 0.4  # a smaller share is noted, or warned of


def first_ranks(specs: Sequence[Spec], options: Options) -> int:
    """The ranks that metrics look at first: the largest cutoff that is no larger than MOST_FIRST_RANKS."""
    cutoffs = [spec.params.get("cutoff", MOST_FIRST_RANKS + 1) for spec in specs]
    cutoff = max((k for k in cutoffs if k <= MOST_FIRST_RANKS), default=FIRST_RANKS)
    return cutoff if options.depth is None else min(cutoff, options.depth)


def judged_share(qrels: Qrels, reduced: Reduced, counted: Bools, cutoff: int) -> float:
    """The share of the first ranks that is judged: the mean of Judged@k over queries with documents."""
    first = offsets_of(reduced.rank <= cutoff)
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
        is_graded(spec.metric)
        and not spec.metric.holds(UNJUDGED_IGNORED, spec.params, scale)
        and not spec.params.get("judged_only", options.judged_only)
        for spec in specs
    )
    if 0 < share < ENOUGH_JUDGED and measure not in map(str, specs) and any(misled):
        # where relevant documents alone are judged, as in MS MARCO, few are by design
        is_by_design = bool(scale[0] > 0)
        is_note = share >= LEAST_JUDGED or is_by_design
        yield Notice(NoticeKind.JUDGED_SHARE, "", 0, measure, value=share, informational=is_note)


def qrels_notices_for(qrels: Qrels, specs: Sequence[Spec]) -> Notices:
    """The notices of the qrels: of subtopics, only where a metric does not use them."""
    if any(is_graded(spec.metric) and not spec.metric.of_subtopics for spec in specs):
        return qrels.notices
    return qrels.notices.without(NoticeKind.SUBTOPICS)


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
    qrels: Qrels, specs: Sequence[Spec], empty: Bools, wanted: Bools, options: Options, *, share: float
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
            rule = "" if level is None else f"{level:g}"
            highest = float(scale[-1])
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
    of_orders = result.values, *ties.extremes
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


def tie_caveats(evaluated: Evaluated) -> list[Notice]:
    """Where the order of ties changes a mean, or a query's value that the user sees, so that it is seen."""
    plan, result = evaluated.setting.plan, evaluated.result
    if plan.options.ties is not None:  # a user who names a rule has decided the order
        return []
    orders = evaluated.spread
    if orders is None:
        orders = spread(
            evaluated.judge, result.counted, plan.specs, evaluated.scored, evaluated.jobs, trials=TRIALS
        )
    if not orders.changes.any():
        return []
    notices = tie_notices(evaluated.setting.qrels, plan.specs, result, orders)
    by_query = _moved_by_query(evaluated, orders) if plan.shows_queries else set()
    notices = [notice for notice in notices if notice.concerns_means or notice.metric in by_query]
    if not (notices and plan.expected_of_ties):
        return notices
    means = summarize_expected(
        plan.specs, orders.expected(), result.values, result.counted, weights=result.weights
    )
    expected = dict(zip(map(str, plan.specs), map(_defined, means), strict=True))
    return [notice.replace(expected=expected[notice.metric]) for notice in notices]


def _moved_by_query(evaluated: Evaluated, orders: Spread) -> set[str]:
    """The metrics of which an order changes the value of a query so that it is seen."""
    values = evaluated.result.values
    low, high = orders.extremes
    change = np.fmax(high - values, values - low)
    moved = [(of_queries >= LEAST_CHANGE).any() for of_queries in change]
    return {*compress(map(str, evaluated.setting.plan.specs), moved)}


def rank_notices(ranks: RankCheck, subject: str = "") -> Iterator[Notice]:
    if ranks.contradicting > ranks.compared / 2:
        rule = "scores" if ranks.of_scores else ""
        yield Notice(NoticeKind.RANKS, subject, ranks.contradicting, rule=rule, total=ranks.compared)
    if ranks.in_place:
        yield Notice(NoticeKind.BY_RANK, subject, 0, rule=ranks.in_place)


def query_caveats(evaluated: Evaluated) -> Notices:
    """What is seen from the queries and ids of a run, without its values: it costs nothing."""
    return Notices(_query_notices(evaluated)).renamed(evaluated.result.name)


def _query_notices(evaluated: Evaluated) -> Iterator[Notice]:
    qrels, reduced, options = evaluated.setting.qrels, evaluated.reduced, evaluated.judge.options
    missing = evaluated.setting.chosen & ~evaluated.has_lines
    if missing.any():
        has_zeros = options.queries == "both" or options.no_relevant_rule == "0"
        yield _about(NoticeKind.MISSING, qrels, missing, rule=options.queries if has_zeros else "empty")
    yield from line_notices(reduced)
    if len(reduced.identical.query):
        yield from identical_notices(
            qrels, reduced, evaluated.setting.plan.specs, evaluated.setting.chosen, options
        )
    if not np.isfinite(reduced.rank).any():
        yield Notice(NoticeKind.NOTHING_JUDGED, "", 0)
    yield from qrels_notices(qrels, reduced, options)


def line_notices(reduced: Reduced) -> Iterator[Notice]:
    """What is seen from the lines of a run, judged or not."""
    for kind, count, rule in (
        (NoticeKind.UNJUDGED, reduced.unjudged, ""),
        (NoticeKind.EXTRA_FIELDS, reduced.extra.lines, str(reduced.extra.first + 1)),
        (NoticeKind.COLLAPSED, *reduced.collapsed),
        (NoticeKind.EXCLUDED, reduced.excluded, ""),
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
        table = Judgments.of(qrels, query, reduced.rank, reduced.score, reduced.retrieved)
        table = (table if options.depth is None else table.cut(options.depth)).judged_only()
        is_identical = qrels.documents.same(table.document, qrels.queries, query[table.query])
        rank = np.full(len(query), np.inf)
        rank[table.query[is_identical]] = table.rank[is_identical]
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
    score = counted_grades(reduced.score[rows], options)
    grade = qrels.grade[rows]
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


def left_out_of_groups(names: Sequence[str]) -> Notices:
    """The notice of metrics that groups have, and that are left out."""
    rule = ", ".join(names)
    notice = Notice(NoticeKind.EXCLUDED_METRICS, "", len(names), rule=rule, informational=True)
    return Notices([notice] if names else [])


def still_holds(notice: Notice, metrics: Sequence[str], plan: Plan) -> bool:
    """Whether a notice that was saved with a run is about these metrics, and is not found from the values."""
    if notice.kind is NoticeKind.FEW_DOCUMENTS:
        return notice.metric in metrics
    if notice.kind is NoticeKind.TIES:  # saved with -q, so that it may be about values of queries alone
        is_seen = plan.shows_queries or notice.concerns_means
        return notice.metric in metrics and plan.options.ties is None and is_seen
    return notice.kind not in (*OF_QRELS, NoticeKind.UNDEFINED, NoticeKind.JUDGED_SHARE)


def facts_of_saved(
    saved: SavedResult, run: SavedRun, setting: EvaluationSetting, result: RunResult, empty: Bools
) -> Facts:
    """Of a run of a saved result: what was saved about it that holds for these metrics, and what values show.
    result: the run as if it were evaluated. empty: that of without_relevant().
    """
    plan, qrels = setting.plan, setting.qrels
    has_values = [is_num_q(spec) or str(spec) in saved.metrics for spec in plan.specs]
    specs = [*compress(plan.specs, has_values)]
    names = [*map(str, specs)]
    scored = Scored(result.values[has_values], {}, empty[has_values])
    shown = [spec for spec in specs if spec in plan.shown]
    saved_about = saved.notices.about(run.name)
    of_shares = (
        judged_notices(
            notice.value or 0.0, int(notice.metric.partition("@")[2]), shown, qrels.scale, plan.options
        )
        for notice in saved_about.only(NoticeKind.JUDGED_SHARE)
    )
    notices = Notices(
        (
            *(notice for notice in saved_about if still_holds(notice, names, plan)),
            *undefined_notices(qrels, specs, scored, result.counted),
            *chain.from_iterable(of_shares),
        )
    )
    # where not all was relevant, the notice that all is shows that enough was judged; nothing else does
    share = 1.0 if saved.notices.only(NoticeKind.ALL_RELEVANT) else 0.0
    return Facts(notices.renamed(result.name), share, np.zeros(0, np.int64))


_ORDER = [*NoticeKind]
_IN_ONE_ORDER = (NoticeKind.NONE_RELEVANT, NoticeKind.NO_RELEVANT)  # by metric together with ALL_RELEVANT
_OF_SHARES = (NoticeKind.JUDGED_SHARE, NoticeKind.FEW_DOCUMENTS)  # which those of parts do not decide
_IN_ALL = (NoticeKind.NO_SUBTOPICS, NoticeKind.NOTHING_JUDGED)  # true of the whole where they are of each part


def merged_notices(of_parts: Sequence[Notices], specs: Sequence[Spec]) -> Notices:
    """The notices of parts of the queries: one for those of each kind, subject and metric, with counts added up
    and the first queries by id, in the order of an evaluation.
    """
    every = chain.from_iterable(of_parts)
    alike = grouped(((notice.kind.value, notice.subject, notice.metric), notice) for notice in every)
    notices = [
        group[0].replace(
            count=sum(notice.count for notice in group),
            total=sum(notice.total for notice in group),
            undefined=sum(notice.undefined for notice in group),
            queries=tuple(sorted(query for notice in group for query in notice.queries)[:MAX_QUERIES]),
        )
        for group in alike.values()
        if group[0].kind not in (*_OF_SHARES, *(() if len(group) == len(of_parts) else _IN_ALL))
    ]
    names = [*map(str, specs)]

    def order(notice: Notice) -> tuple[int, int]:
        kind = NoticeKind.ALL_RELEVANT if notice.kind in _IN_ONE_ORDER else notice.kind
        return _ORDER.index(kind), names.index(notice.metric) if notice.metric in names else -1

    return Notices(sorted(notices, key=order))
