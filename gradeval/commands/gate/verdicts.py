"""A run and its baseline are evaluated by the metrics of checks, and each check gets its verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.commands.compare.values import ComparedMetric, Judged, QueryValues, judged_spec, missing_notices
from gradeval.commands.gate.checks import MAX_DROP, MAX_QUERY_DROP, NO_WORSE, NON_INFERIOR, Check
from gradeval.commands.gate.result import FULL_COVERAGE, CheckOutcome, Coverage, GateReport, WorstQuery
from gradeval.errors import InputError, OptionError
from gradeval.evaluation import evaluate_all
from gradeval.evaluation.results import Results
from gradeval.evaluation.runs import Runs, SavedResult
from gradeval.evaluation.saved import check_metrics
from gradeval.notices import ENOUGH_TO_GATE, Kind, Notice
from gradeval.options import Options
from gradeval.registry.spec import Spec, is_num_q, parse
from gradeval.statistics.sampling import Sampling
from gradeval.statistics.tests import mean_and_sd, paired_tests

TOLERANCE = 1e-9  # values that are closer to each other are equal: rounding does not decide
ALPHA = 0.05  # of the intervals: one of a difference that is 0 in truth lies below 0 in ALPHA / 2 of cases

RUN, BASELINE = 0, 1  # positions in Results.runs
_JUDGED = (Kind.JUDGED_SHARE, Kind.JUDGED_DIFFERS)  # which name Judged@k, whether it is checked or not


def evaluate_to_gate(qrels: Any, runs: Runs, checks: Sequence[Check], options: Options, **how: Any) -> Results:
    """The results of the run, then of the baseline, with all metrics of the checks.

    qrels, runs: as with_saved gives them. how: of evaluate_all. Runs that could not be read are in
    Results.failed. Raises GradevalError, also where a file has several runs.
    """
    if len(options.features) > 1:
        raise OptionError(f"there are {len(options.features)} features, and a gate judges one run. Choose one")
    specs = [*dict.fromkeys(check.spec for check in checks if check.spec is not None)]
    compared = [spec for spec in specs if any(check.spec == spec and check.needs_baseline for check in checks)]
    # it shows whether unjudged documents decide checks against a baseline
    judged = [judged_spec(compared, runs)] if compared and not options.judged_only else []
    run = runs[RUN][1]
    if isinstance(run, SavedResult):
        check_metrics(run, specs)
    optional = [*(specs or parse("num_q")), *judged]
    results = evaluate_all(qrels, runs, compared, options, optional=optional, **how)
    if not results.failed and len(results.runs) != len(runs):
        path, count = Counter(result.path for result in results.runs).most_common(1)[0]
        hint = "Save the results of one run"
        raise InputError(path, f"it has {count} runs, and a gate judges one", hint=hint)
    return results


def judge(
    results: Results,
    checks: Sequence[Check],
    *,
    min_coverage: float | None = None,
    allow: Collection[Kind] = (),
    worst: int = 5,
) -> GateReport:
    """Judge results of a run, and of its baseline if there is a second one.

    min_coverage: the percentage of the judged queries that each of them must have, and for which a metric must
    have a value unless allow has Kind.UNDEFINED; by default all, but of the run what a check of its coverage
    requires. worst: how many queries to list for each check that did not hold.
    """
    covered = tuple(coverage(results, r) for r in range(len(results.runs)))
    outcomes = [
        _against_baseline(check, results, worst)
        if check.needs_baseline
        else _require(check, results, covered[RUN], worst)
        for check in checks
    ]
    bounded, defined = covered, min_coverage
    if min_coverage is None:
        min_coverage = defined = FULL_COVERAGE
        bounds = [check.amount for check in checks if check.spec is None and check.operator in (">=", ">")]
        if bounds:
            bounded, defined = covered[BASELINE:], 100 * max(bounds)
    if Kind.UNDEFINED not in allow:
        outcomes = [_with_values(outcome, results, covered[RUN].judged, defined or 0.0) for outcome in outcomes]
    if lacking := next((run for run in bounded if not at_least(100 * run.share, min_coverage)), None):
        reason = (
            f"{lacking.name} has {lacking.queries:,} of {lacking.judged:,} judged queries "
            f"({100 * lacking.share:.4g} %), fewer than --min-coverage {min_coverage:g} %"
        )
        outcomes = [replace(outcome, verdict="error", reason=outcome.reason or reason) for outcome in outcomes]
    names = {str(check.spec) for check in checks}
    notices = [
        notice
        for notice in results.notices
        if not notice.metric or notice.metric in names or notice.kind in _JUDGED
    ]
    fewest = min((outcome.n for outcome in outcomes if outcome.n), default=ENOUGH_TO_GATE)
    if fewest < ENOUGH_TO_GATE:
        notices.append(Notice(Kind.FEW_QUERIES, "", fewest, rule="gate"))
    if any(check.needs_baseline for check in checks) and (judged := Judged.of(results)) is not None:
        notices += judged.notices([run.name for run in covered])
    inputs = {"qrels": results.judged_by, "options": dict(results.options)}
    return GateReport(tuple(outcomes), covered, min_coverage, tuple(notices), inputs=inputs)


def _with_values(outcome: CheckOutcome, results: Results, judged: int, percent: float) -> CheckOutcome:
    """The outcome; an error where fewer than this percentage of the judged queries have a value.

    The mean of the others says nothing about all. Queries that --no-relevant skip excludes were chosen.
    """
    check, spec = outcome.check, outcome.check.spec
    if spec is None or is_num_q(spec) or outcome.verdict == "error":
        return outcome
    counted = np.logical_and.reduce([run.counted for run in results.runs[: 1 + check.needs_baseline]])
    skipped = sum(
        notice.count
        for notice in results.notices
        if notice.kind is Kind.NO_RELEVANT and notice.rule == "skip" and notice.metric == check.metric
    )
    undefined = int(counted.sum()) - outcome.n - skipped
    if undefined <= 0 or at_least(100 * (judged - undefined) / judged, percent):
        return outcome
    reason = (
        f"{check.metric} is undefined for {undefined:,} of {judged:,} judged queries, where --min-coverage is "
        f"{percent:g} %; --allow undefined excludes them"
    )
    return replace(outcome, verdict="error", reason=reason)


def coverage(results: Results, r: int) -> Coverage:
    """How many of the queries that are evaluated the run has."""
    run, ids = results.runs[r], results.options.get("query_ids")
    judged = len(results.queries) if ids is None else len(set(ids))  # type: ignore[call-overload]
    # with --queries both, the queries that are missing are not counted
    missing = sum(notice.count for notice in missing_notices(results, r) if notice.rule != "both")
    return Coverage(run.name, run.path, max(int(run.counted.sum()) - missing, 0), judged)


def at_least(value: float, bound: float) -> bool:
    """False for NaN."""
    return value >= bound - TOLERANCE


def _require(check: Check, results: Results, covered: Coverage, worst: int) -> CheckOutcome:
    spec, n = check.spec, 0
    if spec is None:
        value = covered.share
    elif is_num_q(spec):
        value = float(results.runs[RUN].counted.sum())
    else:
        value, undefined = results.mean(RUN, spec), results.undefined(RUN, spec)
        n = int(results.runs[RUN].counted.sum()) - undefined
        if spec.metric.is_summed and undefined:
            value = math.nan
    if math.isnan(value):
        return CheckOutcome(check, "error", bound=check.amount, reason=f"{check.metric} is undefined", n=n)
    is_lower_bound = check.operator in (">=", ">")
    margin = value - check.amount if is_lower_bound else check.amount - value
    holds = margin > TOLERANCE if check.operator in (">", "<") else margin >= -TOLERANCE
    return CheckOutcome(
        check,
        "held" if holds else "failed",
        value,
        check.amount,
        margin,
        n=n,
        worst=() if holds else tuple(_lowest(check, results, worst, 1 if is_lower_bound else -1)),
    )


def _lowest(check: Check, results: Results, count: int, sign: int) -> Iterator[WorstQuery]:
    """The queries with the lowest values (sign -1: the highest); for coverage, some that are missing."""
    spec = check.spec
    if spec is None:
        ids = [query for notice in missing_notices(results, RUN) for query in notice.queries]
        yield from (WorstQuery(query, math.nan) for query in ids[:count])
        return
    if not spec.metric.per_query:
        return
    has_baseline = len(results.runs) > 1
    values = results.values(RUN, spec)
    of_baseline = results.values(BASELINE, spec) if has_baseline else np.full(len(values), np.nan)
    for q in _first(sign * values, results.queries, count):
        yield WorstQuery(results.queries[q], float(values[q]), float(of_baseline[q]))


def _first(values: Floats, queries: Sequence[str], count: int) -> list[int]:
    """The positions of the lowest values; those that are equal but for rounding in order of their ids."""
    defined = np.flatnonzero(~np.isnan(values)).tolist()
    scale = float(np.abs(values[defined]).max(initial=0.0)) or 1.0
    rounded = np.round(values / scale, 12).tolist()
    return sorted(defined, key=lambda q: (rounded[q], queries[q].encode("utf-8", "surrogateescape")))[:count]


@dataclass(frozen=True)
class _Pairs:
    """The values of one metric for the queries where both the run and the baseline have one.

    gains: differences with the sign of the metric's direction, so that a loss is below 0, (n,). lost: queries
    where the baseline alone has a value. all_gains: for every query of the results, NaN where there is no pair.
    """

    sign: int
    gains: Floats
    all_gains: Floats
    mean: float
    baseline_mean: float
    lost: int

    @classmethod
    def of(cls, results: Results, spec: Spec) -> _Pairs:
        values = QueryValues.of(results, [spec])
        run, baseline = values.values[:, 0]
        sign = ComparedMetric.of(spec).sign
        gains = sign * values.differences(BASELINE, RUN)[0]
        paired = ~np.isnan(gains)
        lost = np.isnan(run) & ~np.isnan(baseline) & results.runs[RUN].counted
        mean, baseline_mean = (mean_and_sd(of[paired])[0] for of in (run, baseline))
        return cls(sign, gains[paired], gains, mean, baseline_mean, int(lost.sum()))

    @property
    def n(self) -> int:
        return len(self.gains)

    @property
    def gain(self) -> float:
        """The mean of the gains."""
        return mean_and_sd(self.gains)[0]


def _against_baseline(check: Check, results: Results, worst: int) -> CheckOutcome:
    assert check.spec is not None
    pairs = _Pairs.of(results, check.spec)
    outcome = CheckOutcome(check, "error", n=pairs.n, mean=pairs.mean, baseline_mean=pairs.baseline_mean)
    if not pairs.n:
        return replace(outcome, reason=f"{check.metric} is undefined: no query has a value in both runs")
    if pairs.lost:
        of_queries = f"{pairs.lost:,} {'query' if pairs.lost == 1 else 'queries'}"
        reason = f"{check.metric} is undefined for {of_queries} where the baseline has a value"
        return replace(outcome, reason=reason)
    outcome = _JUDGES[check.kind](outcome, pairs)
    if outcome.verdict in ("held", "error"):
        return outcome
    run, baseline = (results.values(r, check.spec) for r in (RUN, BASELINE))
    fell = (q for q in _first(pairs.all_gains, results.queries, worst) if pairs.all_gains[q] < 0)
    queries = (WorstQuery(results.queries[q], float(run[q]), float(baseline[q])) for q in fell)
    return replace(outcome, worst=tuple(queries))


def _by_mean(outcome: CheckOutcome, pairs: _Pairs) -> CheckOutcome:
    """Whether the mean fell by no more than the amount."""
    check = outcome.check
    allowed = abs(pairs.baseline_mean) * check.amount / 100 if check.is_relative else check.amount
    return replace(
        outcome,
        verdict="held" if at_least(allowed + pairs.gain, 0.0) else "failed",
        value=pairs.mean,
        bound=pairs.baseline_mean - pairs.sign * allowed,
        margin=allowed + pairs.gain,
    )


def _by_interval(outcome: CheckOutcome, pairs: _Pairs) -> CheckOutcome:
    """Whether the interval of the mean gain (paired t-test) reaches 0; for NON_INFERIOR, whether it lies above
    minus the amount, or below it, where it has failed.
    """
    amount, is_shown = outcome.check.amount, outcome.check.kind == NON_INFERIOR
    [test] = paired_tests("t", pairs.gains[:, None], ALPHA, Sampling())
    outcome = replace(outcome, value=pairs.sign * pairs.gain, bound=0.0 - pairs.sign * amount)
    if math.isnan(test.low):
        return replace(outcome, reason=f"no interval: {test.reason}")
    low, high = (test.low, test.high) if pairs.sign > 0 else (-test.high, -test.low)
    outcome = replace(outcome, margin=(test.low if is_shown else test.high) + amount, low=low, high=high)
    if at_least(outcome.margin, 0.0):
        return replace(outcome, verdict="held")
    return replace(outcome, verdict="inconclusive" if at_least(test.high + amount, 0.0) else "failed")


def _by_query(outcome: CheckOutcome, pairs: _Pairs) -> CheckOutcome:
    """Whether no more than the share of the queries fell by more than the amount."""
    value = float((pairs.gains < -outcome.check.amount - TOLERANCE).mean())
    bound = outcome.check.share / 100
    return replace(
        outcome,
        verdict="held" if at_least(bound - value, 0.0) else "failed",
        value=value,
        bound=bound,
        margin=bound - value,
    )


_JUDGES: dict[str, Callable[[CheckOutcome, _Pairs], CheckOutcome]] = {
    MAX_DROP: _by_mean,
    NO_WORSE: _by_interval,
    NON_INFERIOR: _by_interval,
    MAX_QUERY_DROP: _by_query,
}
