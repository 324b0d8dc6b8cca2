"""How each kind of check is judged, from the results of a run and of its baseline."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradeval.arrays import Floats
from gradeval.commands.compare.values import ComparedMetric, QueryValues, missing_notices
from gradeval.commands.gate.checks import MAX_DROP, MAX_QUERY_DROP, NO_WORSE, NON_INFERIOR, REQUIRE, Check
from gradeval.commands.gate.result import CheckOutcome, Coverage, Verdict, WorstQuery
from gradeval.evaluation.results import Results
from gradeval.registry.spec import Spec, is_num_q
from gradeval.statistics.sampling import Sampling
from gradeval.statistics.tests import mean_and_sd, paired_tests

TOLERANCE = 1e-9  # values that are closer to each other are equal: rounding does not decide
ALPHA = 0.05  # of the intervals: one of a difference that is 0 in truth lies below 0 in ALPHA / 2 of cases

RUN, BASELINE = 0, 1  # positions in Results.runs


def at_least(value: float, bound: float) -> bool:
    """False for NaN."""
    return value >= bound - TOLERANCE


def _require(check: Check, results: Results, covered: Sequence[Coverage], worst: int) -> CheckOutcome:
    spec, n = check.spec, 0
    if spec is None:
        value = covered[RUN].share
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

    def interval(self) -> tuple[float, float, str]:
        """The interval of the mean gain by the paired t-test, and why there is none, or ''."""
        [outcome] = paired_tests("t", self.gains[:, None], ALPHA, Sampling())
        return outcome.low, outcome.high, outcome.reason if math.isnan(outcome.low) else ""

    def raw(self, low: float, high: float) -> tuple[float, float]:
        """The ends of an interval of gains, as an interval of differences."""
        return (low, high) if self.sign > 0 else (-high, -low)


def _compared(
    judge_pairs: Callable[[Check, _Pairs], CheckOutcome],
) -> Callable[[Check, Results, Sequence[Coverage], int], CheckOutcome]:
    """The outcome of a check against the baseline, with what all of them have in common."""

    def judged(check: Check, results: Results, covered: Sequence[Coverage], worst: int) -> CheckOutcome:
        assert check.spec is not None
        pairs = _Pairs.of(results, check.spec)
        about = {"n": pairs.n, "mean": pairs.mean, "baseline_mean": pairs.baseline_mean}
        reason = ""
        if not pairs.n:
            reason = f"{check.metric} is undefined: no query has a value in both runs"
        elif pairs.lost:
            queries = f"{pairs.lost:,} {'query' if pairs.lost == 1 else 'queries'}"
            reason = f"{check.metric} is undefined for {queries} where the baseline has a value"
        if reason:
            return CheckOutcome(check, "error", reason=reason, **about)  # type: ignore[arg-type]
        found = replace(judge_pairs(check, pairs), **about)  # type: ignore[arg-type]
        if found.verdict in ("held", "error"):
            return found
        run, baseline = (results.values(r, check.spec) for r in (RUN, BASELINE))
        return replace(
            found,
            worst=tuple(
                WorstQuery(results.queries[q], float(run[q]), float(baseline[q]))
                for q in _first(pairs.all_gains, results.queries, worst)
                if pairs.all_gains[q] < 0
            ),
        )

    return judged


@_compared
def _max_drop(check: Check, pairs: _Pairs) -> CheckOutcome:
    """Whether the mean fell by no more than the amount."""
    allowed = abs(pairs.baseline_mean) * check.amount / 100 if check.is_relative else check.amount
    margin = allowed + pairs.gain
    bound = pairs.baseline_mean - pairs.sign * allowed
    return CheckOutcome(check, "held" if at_least(margin, 0.0) else "failed", pairs.mean, bound, margin)


@_compared
def _no_worse(check: Check, pairs: _Pairs) -> CheckOutcome:
    """Whether the interval of the gain reaches 0 or lies above."""
    low, high, reason = pairs.interval()
    if reason:
        return _no_interval(check, pairs, 0.0, reason)
    verdict: Verdict = "held" if at_least(high, 0.0) else "failed"
    ends = pairs.raw(low, high)
    return CheckOutcome(check, verdict, pairs.sign * pairs.gain, 0.0, high, low=ends[0], high=ends[1])


@_compared
def _non_inferior(check: Check, pairs: _Pairs) -> CheckOutcome:
    """Whether the interval of the gain lies above minus the amount; it has failed where it lies below."""
    low, high, reason = pairs.interval()
    bound = -pairs.sign * check.amount
    if reason:
        return _no_interval(check, pairs, bound, reason)
    verdict: Verdict = "inconclusive"
    if at_least(low, -check.amount):
        verdict = "held"
    elif not at_least(high, -check.amount):
        verdict = "failed"
    ends = pairs.raw(low, high)
    margin = low + check.amount
    return CheckOutcome(check, verdict, pairs.sign * pairs.gain, bound, margin, low=ends[0], high=ends[1])


def _no_interval(check: Check, pairs: _Pairs, bound: float, reason: str) -> CheckOutcome:
    return CheckOutcome(check, "error", pairs.sign * pairs.gain, bound, reason=f"no interval: {reason}")


@_compared
def _max_query_drop(check: Check, pairs: _Pairs) -> CheckOutcome:
    """Whether no more than the share of the queries fell by more than the amount."""
    fell = int((pairs.gains < -check.amount - TOLERANCE).sum())
    value, bound = fell / pairs.n, check.share / 100
    margin = bound - value
    return CheckOutcome(check, "held" if at_least(margin, 0.0) else "failed", value, bound, margin)


JUDGES: dict[str, Callable[[Check, Results, Sequence[Coverage], int], CheckOutcome]] = {
    REQUIRE: _require,
    MAX_DROP: _max_drop,
    NO_WORSE: _no_worse,
    NON_INFERIOR: _non_inferior,
    MAX_QUERY_DROP: _max_query_drop,
}
