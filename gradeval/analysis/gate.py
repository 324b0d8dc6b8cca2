"""May this be merged? Checks of a run, by itself and against a baseline, from results alone.

judge              results and checks -> GateReport
evaluate_to_gate   qrels, a run and a baseline, saved results among them -> the results to judge
first_checks       what a first file of checks is made from
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from gradeval.analysis.checks import (
    MAX_DROP,
    MAX_QUERY_DROP,
    NO_WORSE,
    NON_INFERIOR,
    REQUIRE,
    Check,
)
from gradeval.analysis.saved import Runs, check_metrics, evaluate_with_saved, saved_specs
from gradeval.analysis.stats.differences import mean_and_sd
from gradeval.analysis.stats.sampling import Sampling
from gradeval.analysis.stats.tests import paired_tests
from gradeval.analysis.values import ComparedMetric, QueryValues, comparable
from gradeval.arrays import Floats
from gradeval.errors import InputError, OptionError
from gradeval.formats.saved import SavedResult
from gradeval.formats.sources import Source
from gradeval.notices import ENOUGH_TO_GATE, Kind, Notice
from gradeval.options import Options
from gradeval.registry.spec import Spec, parse
from gradeval.results import Results
from gradeval.version import __version__

FORMAT_VERSION = 1
TOLERANCE = 1e-9  # values that are closer to each other are equal: rounding does not decide
ALPHA = 0.05  # of the intervals: one of a difference that is 0 in truth lies below 0 in ALPHA / 2 of cases
FULL_COVERAGE = 100.0  # percent
DEFAULT_METRICS = "nDCG@10 AP"  # of a first file of checks

Verdict = Literal["held", "failed", "inconclusive", "error"]
"""error: it could not be judged."""

_RUN, _BASELINE = 0, 1  # positions in Results.runs


@dataclass(frozen=True)
class WorstQuery:
    """A query that counts against a check. NaN where there is no value."""

    query: str
    value: float
    baseline_value: float = math.nan

    @property
    def difference(self) -> float:
        return self.value - self.baseline_value


@dataclass(frozen=True)
class CheckOutcome:
    """What a check found.

    value: what is compared with the bound: of REQUIRE and MAX_DROP the summary value or mean of the run, of
    NO_WORSE and NON_INFERIOR the difference from the baseline, of MAX_QUERY_DROP and of coverage a share from 0
    to 1. margin: how far the value is on the right side of the bound; of NO_WORSE and NON_INFERIOR, the end of
    the interval that decides. NaN where it could not be judged. reason: why it is no other verdict. n: queries
    with values. mean, baseline_mean: over the pairs of values; low, high: the interval of the difference; NaN
    where there are none. worst: the queries that count most against a check that did not hold.
    """

    check: Check
    verdict: Verdict
    value: float = math.nan
    bound: float = math.nan
    margin: float = math.nan
    reason: str = ""
    n: int = 0
    mean: float = math.nan
    baseline_mean: float = math.nan
    low: float = math.nan
    high: float = math.nan
    worst: tuple[WorstQuery, ...] = ()

    @property
    def is_share(self) -> bool:
        """Whether the value is a share of queries."""
        return self.check.kind == MAX_QUERY_DROP or self.check.spec is None

    @property
    def is_count(self) -> bool:
        """Whether the value is an integer."""
        spec = self.check.spec
        return self.check.kind == REQUIRE and spec is not None and spec.metric.is_count

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON has it: exact numbers, None for those that are not finite."""
        numbers = ("value", "bound", "margin", "mean", "baseline_mean", "low", "high")
        return {
            "check": str(self.check),
            "kind": self.check.kind,
            "metric": self.check.metric,
            "verdict": self.verdict,
            **{name: _exact(getattr(self, name)) for name in numbers},
            "n": self.n,
            "reason": self.reason,
            "worst": [
                {
                    "query": one.query,
                    "value": _exact(one.value),
                    "baseline_value": _exact(one.baseline_value),
                    "difference": _exact(one.difference),
                }
                for one in self.worst
            ],
        }


@dataclass(frozen=True)
class Coverage:
    """How many of the judged queries a run has. name, path: of the run."""

    name: str
    path: str
    queries: int
    judged: int

    @property
    def share(self) -> float:
        return self.queries / self.judged if self.judged else math.nan


@dataclass(frozen=True, eq=False)
class GateReport:
    """The outcomes of all checks. coverage: of the run, and of the baseline if there is one.

    problems: errors that kept the checks from being judged at all, a line each. inputs: what was judged, as
    JSON can hold it.
    """

    outcomes: tuple[CheckOutcome, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    min_coverage: float = FULL_COVERAGE
    notices: tuple[Notice, ...] = ()
    problems: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> Counter[Verdict]:
        """How many checks have each verdict."""
        return Counter(one.verdict for one in self.outcomes)

    @property
    def exit_code(self) -> int:
        """0: all checks held. 1: some did not. 2: they could not all be judged, or there are none."""
        if self.problems or not self.outcomes or self.counts["error"]:
            return 2
        return 0 if self.counts["held"] == len(self.outcomes) else 1

    @property
    def verdict(self) -> Literal["held", "failed", "error"]:
        """That of the gate, as the exit code has it."""
        verdicts: tuple[Literal["held"], Literal["failed"], Literal["error"]] = ("held", "failed", "error")
        return verdicts[self.exit_code]

    def to_dict(self) -> dict[str, Any]:
        """The object that the json format prints."""
        return {
            "gradeval": __version__,
            "gate_format": FORMAT_VERSION,
            **self.inputs,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "min_coverage_percent": self.min_coverage,
            "runs": [
                {
                    "role": role,
                    "name": one.name,
                    "path": one.path,
                    "queries": one.queries,
                    "judged_queries": one.judged,
                    "coverage": _exact(one.share),
                }
                for role, one in zip(("run", "baseline"), self.coverage, strict=False)
            ],
            "checks": [one.to_dict() for one in self.outcomes],
            "problems": list(self.problems),
            "notices": [notice.to_dict() for notice in self.notices],
        }


def _exact(value: float) -> float | None:
    return value + 0.0 if math.isfinite(value) else None  # + 0.0 makes -0.0 a plain 0.0


def first_checks(runs: Runs, specs: Sequence[Spec] | None) -> list[Check]:
    """What a first file of checks is made from: by default the metrics of a saved result, or DEFAULT_METRICS.

    runs: the run, and its baseline if there is one.
    """
    specs = specs or comparable(saved_specs(runs[:1]) or parse(DEFAULT_METRICS))
    kinds = [REQUIRE, NO_WORSE] if len(runs) > 1 else [REQUIRE]
    return [Check(kind, spec) for spec in specs for kind in kinds if kind == REQUIRE or spec.metric.per_query]


def check_baseline(checks: Sequence[Check], baseline: Any | None) -> None:
    """Raise OptionError where there are no checks, or one that lacks its baseline."""
    if not checks:
        raise OptionError("no checks given. Add --require 'nDCG@10 >= 0.45', or a file of checks with --config")
    for check in checks:
        if check.needs_baseline and baseline is None:
            raise OptionError(f"'{check}' compares with a baseline. Add --baseline RUN")


def evaluate_to_gate(
    qrels: Any,
    runs: Runs,
    checks: Sequence[Check],
    options: Options,
    *,
    watch: Callable[[Source], None] | None = None,
    hashes: bool = False,
    query_ids: Callable[[Iterable[str], str], tuple[str, ...]] | None = None,
) -> Results:
    """The results of the run, then of the baseline, with all metrics of the checks.

    qrels, runs: as saved.with_saved gives them. Runs that could not be read are in Results.failed. Raises
    GradevalError, also where a file has several runs.
    """
    specs = dict.fromkeys(check.spec for check in checks if check.spec is not None)
    compared = dict.fromkeys(check.spec for check in checks if check.spec is not None and check.needs_baseline)
    judged = runs[_RUN][1]
    if isinstance(judged, SavedResult):
        of_queries = [spec for spec in specs if not _is_num_q(spec)]
        summaries = [spec for spec in of_queries if not spec.metric.per_query]
        if summaries:
            what = f"{summaries[0]} cannot be judged from a saved result, which has values per query"
            raise InputError(judged.path, what, hint="Give the run itself")
        check_metrics(judged, of_queries)
    results = evaluate_with_saved(
        qrels,
        runs,
        list(compared),
        options,
        optional=list(specs) or parse("num_q"),
        watch=watch,
        hashes=hashes,
        query_ids=query_ids,
    )
    if not results.failed and len(results.runs) != len(runs):
        path, count = Counter(one.path for one in results.runs).most_common(1)[0]
        hint = "Choose one with --feature, or save the results of one run"
        raise InputError(path, f"it has {count} runs, and a gate judges one", hint=hint)
    return results


def _is_num_q(spec: Spec) -> bool:
    return spec.metric.name == "num_q"


def judge(
    results: Results, checks: Sequence[Check], *, min_coverage: float = FULL_COVERAGE, worst: int = 5
) -> GateReport:
    """Judge results of a run, and of its baseline if there is a second one.

    min_coverage: the percentage of the judged queries that each of them must have. worst: how many queries to
    list for each check that did not hold.
    """
    covered = tuple(coverage(results, r) for r in range(len(results.runs)))
    outcomes = [_JUDGES[check.kind](check, results, covered, worst) for check in checks]
    if lacking := next((one for one in covered if not _at_least(100 * one.share, min_coverage)), None):
        reason = (
            f"{lacking.name} has {lacking.queries:,} of {lacking.judged:,} judged queries "
            f"({100 * lacking.share:.4g} %), fewer than --min-coverage {min_coverage:g} %"
        )
        outcomes = [replace(one, verdict="error", reason=one.reason or reason, worst=()) for one in outcomes]
    notices = [*results.notices, *_few_queries(outcomes)]
    inputs = {
        "qrels": {"path": results.qrels, "sha256": results.qrels_sha256},
        "options": dict(results.options),
    }
    return GateReport(tuple(outcomes), covered, min_coverage, tuple(notices), inputs=inputs)


def _at_least(value: float, bound: float) -> bool:
    """False for NaN."""
    return value >= bound - TOLERANCE


def coverage(results: Results, r: int) -> Coverage:
    """How many of the queries that are evaluated the run has."""
    run, ids = results.runs[r], results.options.get("query_ids")
    judged = len(results.queries) if ids is None else len(set(ids))  # type: ignore[call-overload]
    # with --queries both, the queries that are missing are not counted
    missing = sum(notice.count for notice in _missing(results, r) if notice.rule != "both")
    return Coverage(run.name, run.path, max(int(run.counted.sum()) - missing, 0), judged)


def _missing(results: Results, r: int) -> list[Notice]:
    name = results.runs[r].name
    return [one for one in results.notices if one.kind is Kind.MISSING and one.subject == name]


def _few_queries(outcomes: Sequence[CheckOutcome]) -> Iterator[Notice]:
    counts = [one.n for one in outcomes if one.n]
    if counts and min(counts) < ENOUGH_TO_GATE:
        yield Notice(Kind.FEW_QUERIES, "", min(counts), rule="gate")


def _require(check: Check, results: Results, covered: Sequence[Coverage], worst: int) -> CheckOutcome:
    spec, n = check.spec, 0
    if spec is None:
        value = covered[_RUN].share
    elif _is_num_q(spec):
        value = float(results.runs[_RUN].counted.sum())
    else:
        value, undefined = results.mean(_RUN, spec), results.undefined(_RUN, spec)
        n = int(results.runs[_RUN].counted.sum()) - undefined
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
        ids = [query for notice in _missing(results, _RUN) for query in notice.queries]
        yield from (WorstQuery(query, math.nan) for query in ids[:count])
        return
    if not spec.metric.per_query:
        return
    has_baseline = len(results.runs) > 1
    values = results.values(_RUN, spec)
    of_baseline = results.values(_BASELINE, spec) if has_baseline else np.full(len(values), np.nan)
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
        gains = sign * values.differences(_BASELINE, _RUN)[0]
        paired = ~np.isnan(gains)
        lost = np.isnan(run) & ~np.isnan(baseline) & results.runs[_RUN].counted
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
        run, baseline = (results.values(r, check.spec) for r in (_RUN, _BASELINE))
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
    return CheckOutcome(check, "held" if _at_least(margin, 0.0) else "failed", pairs.mean, bound, margin)


@_compared
def _no_worse(check: Check, pairs: _Pairs) -> CheckOutcome:
    """Whether the interval of the gain reaches 0 or lies above."""
    low, high, reason = pairs.interval()
    if reason:
        return _no_interval(check, pairs, 0.0, reason)
    verdict: Verdict = "held" if _at_least(high, 0.0) else "failed"
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
    if _at_least(low, -check.amount):
        verdict = "held"
    elif not _at_least(high, -check.amount):
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
    return CheckOutcome(check, "held" if _at_least(margin, 0.0) else "failed", value, bound, margin)


_JUDGES: dict[str, Callable[[Check, Results, Sequence[Coverage], int], CheckOutcome]] = {
    REQUIRE: _require,
    MAX_DROP: _max_drop,
    NO_WORSE: _no_worse,
    NON_INFERIOR: _non_inferior,
    MAX_QUERY_DROP: _max_query_drop,
}
