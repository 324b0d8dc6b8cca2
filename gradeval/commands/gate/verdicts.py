"""Checks of a run, such as 'nDCG@10 >= 0.45': how they are written, and their verdicts.

parse_checks       text -> checks
evaluate_to_gate   the results of the run and its baseline
judge              results and checks -> GateReport
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from gradeval.commands.compare.compare import Judged, QueryValues, judged_spec, lowest, missing_notices
from gradeval.errors import InputError, MetricError, OptionError, first_names, named
from gradeval.evaluation.evaluator import evaluate_all
from gradeval.evaluation.results import Results, Runs, SavedResult
from gradeval.evaluation.saved import check_metrics
from gradeval.notices import ENOUGH_TO_GATE, Kind, Notice
from gradeval.options import Options, parse_number, weighted_error
from gradeval.registry.spec import Spec, is_num_q, parse
from gradeval.render.document import Printable
from gradeval.render.numbers import exact
from gradeval.statistics.sampling import Sampling
from gradeval.statistics.tests import paired_tests
from gradeval.version import __version__

FORMAT_VERSION = 1
COVERAGE = "coverage"  # the share of the judged queries that are in the run
REQUIRE, MAX_DROP, NO_WORSE, NON_INFERIOR = "require", "max-drop", "no-worse", "non-inferior"
MAX_QUERY_DROP = "max-query-drop"
_NUMBER = r"(?P<amount>[^\s%<>=]+)"
_PERCENT = r"(?P<percent>\s*%)?"
_METRICS = r"(?P<metrics>(?:[^\s\d.+-]\S*\s+)+)"  # words that are no numbers
_BY = "nDCG@10 0.01' or 'nDCG@10 2%", rf"{_METRICS}{_NUMBER}{_PERCENT}"
KINDS = {  # an example of each kind, and its form
    REQUIRE: (
        "nDCG@10 >= 0.45",
        rf"(?P<metrics>\S(?:.*?[^\s<>=])?)\s*(?P<operator>>=|<=|>|<)\s*{_NUMBER}{_PERCENT}",
    ),
    MAX_DROP: _BY,
    NO_WORSE: ("nDCG@10", r"(?P<metrics>.+)"),
    NON_INFERIOR: _BY,
    MAX_QUERY_DROP: ("RR 0.5 in 5%", rf"{_METRICS}{_NUMBER}(?:\s+in\s+(?P<share>[^\s%]+)\s*%)?"),
}
FULL_COVERAGE = 100.0  # percent
TOLERANCE = 1e-9  # values that are closer to each other are equal: rounding does not decide
MISSING_SHOWN = 5  # ids of queries that a run lacks
ALPHA = 0.05  # of the intervals: one of a difference that is 0 in truth lies below 0 in ALPHA / 2 of cases

RUN, BASELINE = 0, 1  # positions in Results.runs
_JUDGED = (Kind.JUDGED_SHARE, Kind.JUDGED_DIFFERS)  # which name Judged@k, whether it is checked or not

Verdict = Literal["held", "failed", "inconclusive", "error"]  # error: it could not be judged


@dataclass(frozen=True)
class Check:
    """One check of one metric.

    kind: one of KINDS. spec: the metric, None for coverage. operator, amount: of REQUIRE, the bound; of others
    the amount by which the metric may fall, in its unit or, if is_relative, in percent of the baseline's mean.
    share: of MAX_QUERY_DROP, the percentage of queries that may fall by more.
    """

    kind: str
    spec: Spec | None
    operator: str = ""
    amount: float = 0.0
    is_relative: bool = False
    share: float = 0.0

    @property
    def needs_baseline(self) -> bool:
        return self.kind != REQUIRE

    @property
    def metric(self) -> str:
        """The canonical name of the metric, or 'coverage'."""
        return COVERAGE if self.spec is None else str(self.spec)

    def __str__(self) -> str:
        if self.kind == REQUIRE:
            return f"{self.metric} {self.operator} {_text(self.amount)}"
        words = [self.kind, self.metric]
        if self.kind != NO_WORSE:
            words.append(_text(self.amount) + "%" * self.is_relative)
        if self.kind == MAX_QUERY_DROP:
            words.append(f"in {_text(self.share)}%")
        return " ".join(words)


def _text(number: float) -> str:
    return repr(number).removesuffix(".0")


def parse_checks(kind: str, text: str) -> list[Check]:
    """The checks of a text, one for each metric that it names. Raises OptionError, MetricError."""
    example, form = KINDS[kind]
    match = re.fullmatch(form, text.strip(), re.DOTALL)
    if match is None:
        raise OptionError(f"{kind} {named(text)} is not of the form '{example}'")

    def wrong(what: str) -> OptionError:
        return OptionError(f"{kind} {named(text)}: {what}")

    parts = match.groupdict()
    try:
        amount, share = (parse_number(parts.get(name) or "0") + 0.0 for name in ("amount", "share"))
    except ValueError:
        raise wrong(f"not a finite number, as in '{example}'") from None
    is_percent = bool(parts.get("percent"))
    if kind == REQUIRE and is_percent:
        amount, is_percent = amount / 100, False
    if kind != REQUIRE and amount < 0:
        raise wrong("the amount must not be below 0: improvement never fails")
    if not 0 <= share <= 100:
        raise wrong("the share of queries must be from 0% to 100%")
    if kind == REQUIRE and parts["metrics"].lower() == COVERAGE:
        if not 0 <= amount <= 1:
            raise wrong("coverage is a share from 0 to 1; write 95% or 0.95")
        return [Check(kind, None, parts["operator"], amount)]
    if COVERAGE in parts["metrics"].lower().split():  # without a cutoff it is no metric, unlike FreshStack's
        raise MetricError(COVERAGE, hint=f"{COVERAGE} is checked by itself, with {REQUIRE}")
    specs = parse(parts["metrics"])
    for spec in specs:
        check_number(spec)
        if kind == REQUIRE:
            continue
        if not spec.metric.per_query:
            what = f"{spec} has no value for each query, so runs cannot be compared by it"
            raise MetricError(what, hint=f"use {REQUIRE}")
        # no run can fail a check such as 'nDCG@10 4', by which people mean 4 %
        lowest, highest = spec.metric.range
        if is_percent:
            is_vain = amount >= 100 and lowest == 0 and spec.metric.higher_is_better is not False
        else:
            is_vain = lowest is not None and highest is not None and amount >= highest - lowest
        if is_vain and kind != NO_WORSE:
            write = "0.5 in 5%" if kind == MAX_QUERY_DROP else f"{_text(amount if amount < 100 else 2.0)}%"
            raise wrong(f"{spec} cannot fall by more, so this never fails. Write '{spec} {write}'")
    return [Check(kind, spec, parts.get("operator") or "", amount, is_percent, share) for spec in specs]


def check_number(spec: Spec) -> None:
    """Raise MetricError where a metric has text instead of numbers."""
    if spec.metric.text:
        raise MetricError(f"{spec} is text and cannot be checked")


class WorstQuery(NamedTuple):
    """A query that counts against a check. NaN where there is no value."""

    query: str
    value: float
    baseline_value: float = math.nan

    def to_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "difference": self.value - self.baseline_value}


@dataclass(frozen=True)
class CheckOutcome:
    """The outcome of a check.

    value: what is compared with the bound: of REQUIRE and MAX_DROP the value of the run, of NO_WORSE and
    NON_INFERIOR the difference from the baseline, of MAX_QUERY_DROP and of coverage a share from 0 to 1.
    margin: how far the value, or the end of the interval that decides, is on the right side of the bound.
    mean, baseline_mean: over the n pairs of values; low, high: the interval of the difference. reason: why it
    could not be judged. worst: the queries that count most against a check that did not hold. exceeds: whether
    the mean is better by more than the check tolerates below the baseline's. NaN where there is no number.
    """

    check: Check
    verdict: Verdict
    value: float = math.nan
    bound: float = math.nan
    margin: float = math.nan
    mean: float = math.nan
    baseline_mean: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    reason: str = ""
    worst: tuple[WorstQuery, ...] = ()
    exceeds: bool = False

    @property
    def is_share(self) -> bool:
        """Whether the value is a share of queries."""
        return self.check.kind == MAX_QUERY_DROP or self.check.spec is None

    @property
    def is_count(self) -> bool:
        spec = self.check.spec
        return self.check.kind == REQUIRE and spec is not None and spec.metric.is_count

    def to_dict(self) -> dict[str, Any]:
        """The outcome as in JSON: exact numbers, None for those that are not finite."""
        check = {"check": str(self.check), "kind": self.check.kind, "metric": self.check.metric}
        content: dict[str, Any] = {**check, "verdict": self.verdict, **vars(self), "check": str(self.check)}
        return dict(exact({**content, "worst": [query.to_dict() for query in self.worst]}))


class Coverage(NamedTuple):
    """How many of the judged queries a run has. name, path: of the run."""

    name: str
    path: str
    queries: int
    judged_queries: int

    @property
    def share(self) -> float:
        return self.queries / self.judged_queries if self.judged_queries else math.nan


@dataclass(frozen=True, eq=False)
class GateReport(Printable):
    """The outcomes of all checks. coverage: of the run, and of the baseline if there is one. problems: errors
    that kept the checks from being judged at all, a line each. inputs: what was judged, as JSON can hold it.
    subject: in words the run, the baseline, the qrels, and the options that are not default. updates: whether
    RUN becomes the baseline where all checks hold.
    """

    layout = "gradeval.commands.gate.layout"

    outcomes: tuple[CheckOutcome, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    min_coverage: float = FULL_COVERAGE
    notices: tuple[Notice, ...] = ()
    problems: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    subject: Mapping[str, str] = field(default_factory=dict)
    updates: bool = False

    @property
    def counts(self) -> Counter[Verdict]:
        return Counter(outcome.verdict for outcome in self.outcomes)

    @property
    def exit_code(self) -> int:
        """0: all checks held. 1: some did not. 2: they could not all be judged, or there are none."""
        if self.problems or not self.outcomes or self.counts["error"]:
            return 2
        return 0 if self.counts["held"] == len(self.outcomes) else 1

    def to_dict(self) -> dict[str, Any]:
        """The object that the json format prints."""
        return {
            "gradeval": __version__,
            "gate_format": FORMAT_VERSION,
            "name": self.name,
            **self.inputs,
            "verdict": ("held", "failed", "error")[self.exit_code],
            "exit_code": self.exit_code,
            "min_coverage_percent": self.min_coverage,
            "runs": [
                {"role": role, **run._asdict(), "coverage": exact(run.share)}
                for role, run in zip(("run", "baseline"), self.coverage, strict=False)
            ],
            "checks": [outcome.to_dict() for outcome in self.outcomes],
            "problems": list(self.problems),
            "notices": [notice.to_dict() for notice in self.notices],
        }


def evaluate_to_gate(qrels: Any, runs: Runs, checks: Sequence[Check], options: Options, **how: Any) -> Results:
    """The results of the run, then of the baseline, with all metrics of the checks; runs that could not be read
    are in Results.failed. qrels, runs: as with_saved gives them. how: of evaluate_all. Raises GradevalError.
    """
    if len(options.features) > 1:
        raise OptionError(f"there are {len(options.features)} features, and a gate judges one run. Choose one")
    for check in checks:
        if check.kind in (NO_WORSE, NON_INFERIOR) and options.query_weights is not None:
            raise weighted_error(f"'{check}': tests")
    specs = [*dict.fromkeys(check.spec for check in checks if check.spec is not None)]
    against = {check.spec for check in checks if check.needs_baseline}
    compared = [spec for spec in specs if spec in against]
    # it shows whether unjudged documents decide checks against a baseline
    judged = [judged_spec(compared, runs)] if compared and not options.judged_only else []
    run = runs[RUN][1]
    if isinstance(run, SavedResult):
        check_metrics(run, specs)
    optional = list(dict.fromkeys([*(specs or parse("num_q")), *judged]))
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
    percent = defined = FULL_COVERAGE if min_coverage is None else min_coverage
    bounds = [check.amount for check in checks if check.spec is None and check.operator in (">=", ">")]
    runs = range(len(results.runs))
    lacks = [_lacks(results, r, percent) for r in runs]
    if bounds and min_coverage is None:
        lacks[RUN], defined = "", 100 * max(bounds)
    outcomes = []
    for check in checks:
        outcome = (_against_baseline if check.needs_baseline else _require)(check, results, worst)
        undefined = "" if Kind.UNDEFINED in allow else _undefined(outcome, results, defined)
        if reason := outcome.reason or undefined or next(filter(None, lacks), ""):
            outcome = replace(outcome, verdict="error", reason=reason)
        outcomes.append(outcome)
    names = {"", *(str(check.spec) for check in checks)}
    notices = [notice for notice in results.notices if notice.metric in names or notice.kind in _JUDGED]
    fewest = min((outcome.n for outcome in outcomes if outcome.n), default=ENOUGH_TO_GATE)
    if fewest < ENOUGH_TO_GATE:
        notices.append(Notice(Kind.FEW_QUERIES, "", fewest, rule="gate"))
    if any(check.needs_baseline for check in checks) and (of_runs := Judged.of(results)) is not None:
        notices += of_runs.notices([run.name for run in results.runs])
    inputs = {"qrels": results.judged_by, "options": dict(results.options)}
    covered = tuple(coverage(results, r) for r in runs)
    return GateReport(tuple(outcomes), covered, percent, tuple(notices), inputs=inputs)


def _undefined(outcome: CheckOutcome, results: Results, percent: float) -> str:
    """Why the mean of the queries with values says nothing about all: they are fewer than this; '' if not."""
    check = outcome.check
    if check.spec is None or is_num_q(check.spec):
        return ""
    counted = np.logical_and.reduce([run.counted for run in results.runs[: 1 + check.needs_baseline]])
    skipped = sum(  # queries that --no-relevant skip excludes were chosen
        notice.count
        for notice in results.notices
        if notice.kind is Kind.NO_RELEVANT and notice.rule == "skip" and notice.metric == check.metric
    )
    undefined = int(counted.sum()) - outcome.n - skipped
    if undefined <= 0 or at_least(100 * (results.chosen - undefined) / results.chosen, percent):
        return ""
    return (
        f"{check.metric} is undefined for {undefined:,} of {results.chosen:,} judged queries, where "
        f"--min-coverage is {percent:g} %; --allow undefined excludes them"
    )


def check_baseline(results: Results, path: str, min_coverage: float | None) -> None:
    """Raise OptionError where the first run, as the baseline in this file, would let no gate decide."""
    if lacks := _lacks(results, RUN, FULL_COVERAGE if min_coverage is None else min_coverage):
        raise OptionError(f"--update-baseline {path}: {lacks}. No gate could decide by it: complete the run")


def _lacks(results: Results, r: int, percent: float) -> str:
    """Why a run is not judged: it has too few of the judged queries; '' if not."""
    run, missing = coverage(results, r), [id_ for of in missing_notices(results, r) for id_ in of.queries]
    if at_least(100 * run.share, percent):
        return ""
    name = f"the baseline {run.path}" if r == BASELINE else run.name
    return (
        f"{name} has {run.queries:,} of {run.judged_queries:,} judged queries "
        f"({100 * run.share:.4g} %), fewer than --min-coverage {percent:g} %"
        + (f"; it lacks {first_names(missing, MISSING_SHOWN)}" if missing else "")
    )


def coverage(results: Results, r: int) -> Coverage:
    """How many of the queries that are evaluated the run has."""
    run = results.runs[r]
    # with --queries both, the queries that are missing are not counted
    missing = sum(notice.count for notice in missing_notices(results, r) if notice.rule != "both")
    return Coverage(run.name, run.path, max(int(run.counted.sum()) - missing, 0), results.chosen)


def at_least(value: float, bound: float) -> bool:
    """False for NaN."""
    return value >= bound - TOLERANCE


def _require(check: Check, results: Results, worst: int) -> CheckOutcome:
    spec, n = check.spec, 0
    if spec is None:
        value = coverage(results, RUN).share
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
    queries = []
    if not holds and spec is None:  # some that are missing
        ids = [query for notice in missing_notices(results, RUN) for query in notice.queries]
        queries = [WorstQuery(query, math.nan) for query in ids[:worst]]
    elif not holds and spec is not None and spec.metric.per_query:
        by_id = QueryValues.of(results, [spec]).in_order_of_ids()
        for q in lowest(by_id.values[RUN, 0] * (1 if is_lower_bound else -1), worst):
            queries.append(WorstQuery(by_id.queries[q], *by_id.values[:, 0, q].tolist()))
    verdict: Verdict = "held" if holds else "failed"
    return CheckOutcome(check, verdict, value, check.amount, margin, n=n, worst=tuple(queries))


def _against_baseline(check: Check, results: Results, worst: int) -> CheckOutcome:
    """By the queries where both the run and the baseline have a value."""
    assert check.spec is not None
    values = QueryValues.of(results, [check.spec])
    [run, baseline], sign = values.values[:, 0], values.metrics[0].sign
    gains = sign * values.differences(BASELINE, RUN)[0]  # a loss is below 0
    paired = ~np.isnan(gains)
    pairs, amount = gains[paired], check.amount
    weights = results.runs[RUN].weights
    of_pairs = np.ones(len(pairs)) if weights is None else weights[paired]
    total = math.fsum(of_pairs.tolist())
    gain, mean, baseline_mean = (  # in any order of the queries the same
        math.fsum((of[paired] * of_pairs).tolist()) / total if total else math.nan
        for of in (gains, run, baseline)
    )
    if check.is_relative:
        amount *= abs(baseline_mean) / 100
    outcome = CheckOutcome(check, "error", n=len(pairs), mean=mean, baseline_mean=baseline_mean)
    reason = f"{check.metric} is undefined"
    if math.isnan(gain):
        of_weight = "" if weights is None else " with a weight above 0"
        return replace(outcome, reason=f"{reason}: no query{of_weight} has a value in both runs")
    if lost := int((np.isnan(run) & ~np.isnan(baseline) & results.runs[RUN].counted).sum()):
        queries = "query" if lost == 1 else "queries"
        return replace(outcome, reason=f"{reason} for {lost:,} {queries} where the baseline has a value")
    if check.kind == MAX_DROP:
        bound, margin = baseline_mean - sign * amount, amount + gain
        outcome = replace(outcome, value=mean, bound=bound, margin=margin)
    elif check.kind == MAX_QUERY_DROP:
        share, bound = float((pairs < -amount - TOLERANCE).mean()), check.share / 100
        outcome = replace(outcome, value=share, bound=bound, margin=bound - share)
    else:  # the interval must reach 0; for NON_INFERIOR, it must lie above minus the amount
        [test] = paired_tests("t", pairs[:, None], ALPHA, Sampling())
        outcome = replace(outcome, value=sign * gain, bound=0.0 - sign * amount)
        if math.isnan(test.low):
            return replace(outcome, reason=f"no interval: {test.reason}")
        low, high = (test.low, test.high) if sign > 0 else (-test.high, -test.low)
        margin = (test.low if check.kind == NON_INFERIOR else test.high) + amount
        outcome = replace(outcome, margin=margin, low=low, high=high)
    if at_least(outcome.margin, 0.0):
        exceeds = check.kind in (MAX_DROP, NON_INFERIOR) and gain > amount + TOLERANCE
        return replace(outcome, verdict="held", exceeds=exceeds)
    contains_bound = check.kind == NON_INFERIOR and at_least(test.high + amount, 0.0)
    by_id = values.in_order_of_ids()
    gains = sign * by_id.differences(BASELINE, RUN)[0]
    fell = [q for q in lowest(gains, worst) if gains[q] < 0]
    return replace(
        outcome,
        verdict="inconclusive" if contains_bound else "failed",
        worst=tuple(WorstQuery(by_id.queries[q], *by_id.values[:, 0, q].tolist()) for q in fell),
    )
