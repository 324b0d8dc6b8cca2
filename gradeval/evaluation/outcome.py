"""The evaluation of one run: its values, and what a user should know of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.strings import Texts
from gradeval.arrays.threads import map_all
from gradeval.errors import InputError, MetricError, UnsuitableOptionError, first_names, named
from gradeval.evaluation.findings import (
    depths_of,
    first_ranks,
    judged_notices,
    judged_share,
    quantiles,
    query_notices,
    short_counts,
    short_notices,
    tie_notices,
    undefined_notices,
)
from gradeval.evaluation.results import RunResult
from gradeval.evaluation.score import Scored, scored, summarize
from gradeval.evaluation.ties import TRIALS, Spread, has_expected, spread
from gradeval.formats.columns import Columns
from gradeval.formats.sources import Source
from gradeval.notices import Kind, Notice, is_accepted, many
from gradeval.options import EXPECTED, NO_RELEVANT, LaterIds, Options
from gradeval.records import Record
from gradeval.registry.spec import Spec
from gradeval.tables.judgments import Judgments
from gradeval.tables.load import Run
from gradeval.tables.qrels import Ideal, Qrels
from gradeval.tables.ranking import NO_TIES
from gradeval.tables.reduction import Reduced

SHOWN_IDS = 3  # of the queries of files that have none in common
_FEW = 1 << 13  # judgments that are scored before another thread has started


Judge = Callable[[slice | Ints, Floats], Judgments]


def judgments_of(
    qrels: Qrels,
    reduced: Reduced,
    queries: slice | Ints,
    options: Options,
    tag: str,
    ties: tuple[Floats, Floats] | None = None,
) -> Judgments:
    """The table of these queries, prepared. ties: Ties.ends(), for values expected over the orders of ties."""
    judgments = Judgments.of(
        qrels,
        queries,
        reduced.rank,
        reduced.score,
        reduced.retrieved,
        options.rel,
        tag,
        NO_RELEVANT[options.no_relevant_rule],
    )
    return prepared(judgments if ties is None else judgments.with_ties(*ties), options)


def prepared(judgments: Judgments, options: Options) -> Judgments:
    """The table with the depth and the other options applied to it."""
    if options.depth is not None:  # trec_eval's order: ranks below the depth are removed before -J
        judgments = judgments.cut(options.depth)
    return judgments.judged_only() if options.judged_only else judgments


def with_weights(options: Options) -> Options:
    """The options, with the weights of queries read where they are those of a file. Raises InputError(s)."""
    if not isinstance(options.query_weights, str):
        return options
    from gradeval.formats.lines import read_weights  # imported only when needed

    weights = read_weights(Source(options.query_weights))
    return options.replace(query_weights=tuple(weights.items()))


def with_ids(options: Options, qrels: Qrels) -> Options:
    """The options, with the query ids that are chosen when the judgments are known."""
    if not isinstance(options.query_ids, LaterIds):
        return options
    return options.replace(query_ids=options.query_ids.choose(Texts(qrels.queries), qrels.path))


def chosen_queries(qrels: Qrels, options: Options, *, is_part: bool = False) -> Bools:
    """Which queries are evaluated, (Q,): every evaluation, explanation and saved result has it from here.

    is_part: whether the qrels are a part, which may lack some of the query ids. Raises UnknownQueryError.
    """
    chosen = np.ones(len(qrels.queries), np.bool_)
    if options.query_ids is not None:
        chosen[:] = False
        chosen[qrels.positions(options.query_ids, is_part=is_part)] = True
    return chosen


def counted_queries(chosen: Bools, has_lines: Bools, options: Options) -> Bools:
    """Which of the chosen queries are printed and averaged, (Q,). has_lines: which queries the run has."""
    return chosen & has_lines if options.queries == "both" else chosen


def weights_of(queries: Sequence[str], chosen: Bools, options: Options, path: str = "") -> Floats | None:
    """The weights of the queries in means, (Q,), None where they have none. path: of their file, if any.

    Raises InputError for the file, or UnsuitableOptionError.
    """
    if options.query_weights is None:
        return None
    known: dict[str, float] = dict(options.query_weights)  # type: ignore[arg-type]  # a file has been read
    pairs = zip(queries, chosen, strict=True)
    lacking = [query for query, is_chosen in pairs if is_chosen and query not in known]
    if lacking:
        count = many(len(lacking), "query has", "queries have")
        what = f"{count} no weight: {first_names(map(named, lacking), 5)}"
        hint = "A weight of 0 leaves a query out of the means"
        if path:
            raise InputError(path, what, hint=hint)
        raise UnsuitableOptionError("query_weights", f"query_weights: {what}. {hint}")
    return np.array([known.get(query, 0.0) for query in queries])


class Noticed(Record):
    """The notices of a run, the share of its first ranks that is judged, and depth.short_counts(), (M,)."""

    notices: tuple[Notice, ...]
    judged_share: float
    short: Ints


class Outcome(Record):
    """The result of a run.

    empty: which queries have nothing relevant to a metric that needs it, (M, Q). noticed: finds what else a
    user should know of the run, without its lines.
    """

    result: RunResult
    empty: Bools
    noticed: Callable[[], Noticed]


def judge_of(
    qrels: Qrels, reduced: Reduced, options: Options, tag: str = "", ideals: dict[bytes, Ideal] | None = None
) -> Judge:
    """Makes the judgments of some queries with the ranks of all rows: those of the run, or other ones.

    ideals: shared by the judgments of the same queries, by the bytes of their indices.
    """
    ties = reduced.ties.ends(reduced.rank) if options.ties == EXPECTED else None

    def judge(queries: slice | Ints, rank: Floats) -> Judgments:
        ranked = reduced if rank is reduced.rank else reduced.replace(rank=rank)
        judgments = judgments_of(qrels, ranked, queries, options, tag, ties)
        if ideals is not None and isinstance(queries, np.ndarray):
            judgments.__dict__["best"] = ideals.setdefault(queries.tobytes(), judgments.best)
        return judgments

    return judge


def score_queries(qrels: Qrels, judge: Judge, rank: Floats, specs: Sequence[Spec], jobs: int) -> Scored:
    """The values of all queries."""

    def found_of(queries: slice, jobs: int) -> Scored:
        return scored(judge(queries, rank), specs)

    return Scored.joined(map_all(found_of, qrels.shares, jobs))


def without_relevant(qrels: Qrels, specs: Sequence[Spec], options: Options, jobs: int) -> Bools:
    """Which queries have nothing relevant to a metric that needs it, (M, Q), whatever the run."""
    rank = np.full(len(qrels.grade), np.inf)
    retrieved = np.zeros(len(qrels.queries), np.int64)
    nothing = Reduced(rank, -rank, retrieved, 0, NO_TIES)
    return score_queries(qrels, judge_of(qrels, nothing, options), rank, specs, jobs).empty


def outcome_of(
    qrels: Qrels,
    name: str,
    run: Run,
    specs: Sequence[Spec],
    options: Options,
    jobs: int,
    chosen: Bools,
    unlisted: Sequence[Spec] = (),
) -> Outcome:
    """The outcome of a run. unlisted: metrics that the user does not see. Raises GradevalError."""
    reduced = run.reduce(qrels, jobs)
    if not ((reduced.retrieved > 0) & chosen).any():
        judged = Texts(qrels.queries.take(np.flatnonzero(chosen)[: SHOWN_IDS + 1]))
        raise no_common_query(run.path, qrels.path, first_queries(run), judged)
    tag = reduced.tag or run.name or run.short_name or run.path
    return outcome_of_reduced(
        qrels, name, run.path, reduced, run.ties, tag, specs, options, jobs, chosen, unlisted
    )


def no_common_query(
    path: str, other: str, ids: Sequence[str], other_ids: Sequence[str], hint: str = "Check the query ids"
) -> InputError:
    """The error of a file whose queries another file lacks. path, other: the paths, and names of the qrels.
    ids, other_ids: of their queries, of which the first are shown.
    """
    if ids and other_ids:
        own, theirs = (first_names(map(named, of_file), SHOWN_IDS) for of_file in (ids, other_ids))
        hint = f"{hint}: {own} here, {theirs} in {other}"
        # data frames turn integers into floats, where one is missing
        if ids[0].endswith(".0") != other_ids[0].endswith(".0"):
            hint = f"Query ids are compared as text: {named(ids[0])} here, {named(other_ids[0])} in {other}"
    return InputError(path, f"it has no query in common with {other}", hint=hint)


class _First(Exception):
    """The first queries of a run, which need not be read further."""

    def __init__(self, queries: list[str]) -> None:
        self.queries = queries


def first_queries(run: Run) -> list[str]:
    """The ids of the first queries of a run, of its first block at most."""

    def stop(block: Columns) -> Columns:
        raise _First(list(dict.fromkeys(Texts(block.queries)))[: SHOWN_IDS + 1])

    try:
        run.rows(stop, 1)
    except _First as first:
        return first.queries
    return []


def outcome_of_reduced(
    qrels: Qrels,
    name: str,
    path: str,
    reduced: Reduced,
    run_rule: str,
    tag: str,
    specs: Sequence[Spec],
    options: Options,
    jobs: int,
    chosen: Bools,
    unlisted: Sequence[Spec] = (),
) -> Outcome:
    """The outcome of what is kept of a run, which may lack all queries. run_rule: its order of ties."""
    ideals: dict[bytes, Ideal] = {}  # of queries whose ties are ordered in several ways
    judge = judge_of(qrels, reduced, options, tag, ideals)
    weights = weights_of(Texts(qrels.queries), chosen, options)
    has_lines = reduced.retrieved > 0
    jobs = jobs if len(qrels.grade) > _FEW else 1
    found = score_queries(qrels, judge, reduced.rank, specs, jobs)
    counted = counted_queries(chosen, has_lines, options)
    if options.ties == EXPECTED:  # the orders of ties, one by one
        judge = judge_of(qrels, reduced, options.replace(ties=None), tag, ideals)
    ties: Spread | None = None
    if options.tie_range:
        ties = spread(qrels, reduced, counted, specs, found, judge, options.depth, jobs)

    def expected_of(ties: Spread) -> Floats:
        """The values expected over the orders of ties, (M, Q); NaN for metrics without a closed form."""
        values = np.full(found.values.shape, np.nan)
        with suppress(MetricError):  # where the depth divides tied documents, and they are removed by -J
            expecting = judge_of(qrels, reduced, options.replace(ties=EXPECTED), tag, ideals)
            judged = expecting(ties.queries, reduced.rank)
            for m, spec in enumerate(specs):
                with suppress(MetricError):
                    if has_expected(spec):
                        expected = scored(judged, [spec]).values[0]
                        values[m] = found.values[m]
                        values[m, ties.queries] = expected
        return values

    def noticed() -> Noticed:
        notices = [*query_notices(qrels, reduced, specs, chosen, options)]
        if not is_accepted(Kind.TIES, options):  # a user who names a rule has decided the order
            changes = ties
            if changes is None:
                changes = spread(qrels, reduced, counted, specs, found, judge, options.depth, jobs, TRIALS)
            means = np.full(len(specs), np.nan)
            if changes.changes.any():
                means = summarize(specs, expected_of(changes), counted, weights)
            changed = tie_notices(qrels, specs, found, counted, changes, run_rule, means, weights)
            # the range of a number is printed beside it, so only texts need a notice
            notices += (one for one in changed if not options.tie_range or one.low is None)
        notices += undefined_notices(qrels, specs, found, counted)
        cutoff = first_ranks(specs, options)
        share = judged_share(qrels, reduced, counted, cutoff)
        listed = [spec for spec in specs if spec not in unlisted]
        notices += judged_notices(share, cutoff, listed, qrels.scale, options)
        short = short_counts(qrels, reduced, specs, counted, options.depth)
        notices += short_notices(specs, short, int((counted & has_lines).sum()))
        return Noticed(tuple(notice.replace(subject=name) for notice in notices), share, short)

    tie_range = None if ties is None else np.array([*ties.ends(found.values), expected_of(ties)])
    depths = quantiles(depths_of(reduced, counted, options.depth))
    result = RunResult(
        name,
        path,
        None,
        found.values,
        counted,
        found.texts,
        tie_range,
        run_rule,
        depths=depths,
        interval=options.intervals,
        weights=weights,
    )
    return Outcome(result, found.empty, noticed)
