"""Checks of a run, such as 'nDCG@10 >= 0.45': how they are written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gradeval.commands.gate.rankings import nearest_measure, ranking_measures
from gradeval.errors import MetricError, OptionError, described
from gradeval.options import parse_number
from gradeval.registry.spec import Spec, parse

COVERAGE = "coverage"  # the share of the judged queries that are in the run
REQUIRE, MAX_DROP, NO_WORSE, NON_INFERIOR = "require", "max-drop", "no-worse", "non-inferior"
MAX_QUERY_DROP = "max-query-drop"
_NUMBER = r"(?P<amount>[^\s%<>=]+)"
_PERCENT = r"(?P<percent>\s*%)?"
_SHARE = r"(?:\s+in\s+(?P<share>[^\s%]+)\s*%)?"
_METRICS = r"(?P<metrics>(?:[^\s\d.+-]\S*\s+)+)"  # words that are no numbers
_BY = "nDCG@10 0.01' or 'nDCG@10 2%", rf"{_METRICS}{_NUMBER}{_PERCENT}"
KINDS = {  # an example of each kind, and its form
    REQUIRE: (
        "nDCG@10 >= 0.45",
        rf"(?P<metrics>\S(?:.*?[^\s<>=])?)\s*(?P<operator>>=|<=|>|<)\s*{_NUMBER}{_PERCENT}{_SHARE}",
    ),
    MAX_DROP: _BY,
    NO_WORSE: ("nDCG@10", r"(?P<metrics>.+)"),
    NON_INFERIOR: _BY,
    MAX_QUERY_DROP: ("RR 0.5 in 5%", rf"{_METRICS}{_NUMBER}{_SHARE}"),
}
IS_TEXT = " is text and cannot be checked"
ALPHA = 0.05  # of the intervals: one of a difference that is 0 in truth lies below 0 in ALPHA / 2 of cases


@dataclass(frozen=True)
class Check:
    """One check of one metric."""

    kind: str  # one of KINDS
    spec: Spec | None  # None for coverage, and for measures of rankings
    operator: str = ""  # of REQUIRE
    amount: float = 0.0  # of REQUIRE the bound, of others that by which the metric may fall, in its unit
    is_relative: bool = False  # whether the amount is in percent of the baseline's mean
    # of MAX_QUERY_DROP, the percentage of queries that may fall by more; of rankings, the percentage for which
    # it must hold, 0 where it must for the mean
    share: float = 0.0
    group: str = ""  # of queries, '' for all
    measure: str = ""  # of rankings, against those of the baseline
    of_history: bool = False  # whether MAX_DROP compares with the median of a history

    @property
    def needs_baseline(self) -> bool:
        return (self.kind != REQUIRE or bool(self.measure)) and not self.of_history

    @property
    def low_is_better(self) -> bool:
        return self.spec is not None and self.spec.metric.higher_is_better is False

    @property
    def is_bound_of_mean(self) -> bool:
        """Whether the mean over all queries must not be worse than its bound."""
        if self.metric == COVERAGE or self.group or (self.measure and self.share):
            return False
        return self.kind == MAX_DROP or (bool(self.operator) and self.low_is_better is (self.sign < 0))

    @property
    def sign(self) -> int:
        """Of REQUIRE: 1 where the value must not be below the amount, -1 where it must not be above."""
        return 1 if self.operator in (">=", ">") else -1

    @property
    def is_of_share(self) -> bool:
        """Whether its value is a share of queries."""
        return self.share > 0 or self.kind == MAX_QUERY_DROP or self.metric == COVERAGE

    @property
    def metric(self) -> str:
        """The canonical name of the metric or measure, or 'coverage'."""
        return self.measure or (COVERAGE if self.spec is None else str(self.spec))

    @property
    def label(self) -> str:
        """The metric, and the group of queries if it is of one."""
        return f"{self.metric}[{self.group}]" if self.group else self.metric

    def __str__(self) -> str:
        if self.kind == REQUIRE:
            share = f" in {_text(self.share)}%" if self.share else ""
            return f"{self.label} {self.operator} {_text(self.amount)}{share}"
        words = [self.kind, self.label]
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
        raise OptionError(f"{kind} {described(text)} is not of the form '{example}'")

    def wrong(reason: str) -> OptionError:
        return OptionError(f"{kind} {described(text)}: {reason}")

    try:
        check = _without_metric(kind, match.groupdict())
    except ValueError:
        raise wrong(f"not a finite number, as in '{example}'") from None
    metrics, group = _split_group(match["metrics"])
    check = replace(check, group=group)
    names = metrics.lower()
    if reason := _invalid_numbers(check):
        raise wrong(reason)
    measures = ranking_measures(metrics)
    of_share = match.groupdict().get("share") is not None
    if reason := _unsuitable_to_measures(check, measures, of_share):
        raise wrong(reason)
    if measures:
        return [replace(check, measure=measure) for measure in measures]
    if kind == REQUIRE and names == COVERAGE:
        if reason := _unreachable(check, COVERAGE, (0, 1)):
            raise wrong(reason)
        return [check]
    if COVERAGE in names.split():  # without a cutoff it is no metric, unlike FreshStack's
        raise wrong(f"{COVERAGE} is checked by itself, with {REQUIRE}")
    return _of_metrics(check, metrics, wrong)


def _of_metrics(check: Check, metrics: str, wrong: Callable[[str], OptionError]) -> list[Check]:
    """The check of each of the metrics. wrong: makes the error of a reason."""
    try:
        specs = parse(metrics)
    except MetricError as error:
        if (near := nearest_measure(metrics)) and not error.hint.startswith("did you mean"):
            raise wrong(f"did you mean {near}?") from None
        raise
    for spec in specs:
        if spec.metric.text:
            raise OptionError(f"{spec}{IS_TEXT}")
        if reason := _unsuitable_metric(check, spec):
            raise wrong(reason)
    return [replace(check, spec=spec) for spec in specs]


def _unsuitable_to_measures(check: Check, measures: Sequence[str], of_share: bool) -> str:
    """Why these measures of rankings have no such check, or metrics have none, '' if they have. of_share:
    whether a share of the queries is written.
    """
    if not measures:
        is_wrong = check.kind == REQUIRE and of_share
        example = "such as 'overlap@10 >= 0.8 in 95%'"
        return f"only measures of rankings take a share of the queries, {example}" if is_wrong else ""
    if check.kind != REQUIRE:
        return f"measures of rankings already compare the run with its baseline; check them with {REQUIRE}"
    if of_share and not check.share:
        return "the share of queries must be above 0%"
    return _unreachable(check, measures[0], (0, 1))


def _split_group(metrics: str) -> tuple[str, str]:
    """The metrics, and the group of queries in brackets behind them, '' without one."""
    match = re.fullmatch(r"(.*?\S)\[([^\[\]]+)\]", metrics.strip(), re.DOTALL)
    return (match[1], match[2].strip()) if match else (metrics, "")


def _without_metric(kind: str, parts: Mapping[str, str | None]) -> Check:
    """The check of the parts of a text. Raises ValueError for what is no number."""
    amount, share = (parse_number(parts.get(name) or "0") + 0.0 for name in ("amount", "share"))
    is_relative = bool(parts.get("percent"))
    if kind == REQUIRE and is_relative:
        amount /= 100
        is_relative = False
    operator = parts.get("operator") or ""
    return Check(kind, None, operator, amount, is_relative=is_relative, share=share)


def _invalid_numbers(check: Check) -> str:
    """Why the numbers of a check are wrong of any metric, '' if they are not."""
    if check.kind != REQUIRE and check.amount < 0:
        return "the amount must not be below 0: improvement never fails"
    if not 0 <= check.share <= 100:
        return "the share of queries must be from 0% to 100%"
    return ""


def _unreachable(check: Check, name: str, limits: tuple[float, float]) -> str:
    """Why the bound of REQUIRE is no test of values between these limits, '' if it is one."""
    lowest, highest = limits
    reaches = {">": check.amount != highest, "<": check.amount != lowest}.get(check.operator, True)
    if lowest <= check.amount <= highest and reaches:
        return ""
    is_above = check.amount >= highest
    verdict = "never" if is_above == (check.sign > 0) else "always"
    percent = f". A percentage is written {_text(check.amount)}%" if is_above and highest == 1 else ""
    return f"{name} is from {lowest:g} to {highest:g}, so this {verdict} holds{percent}"


def _unsuitable_metric(check: Check, spec: Spec) -> str:
    """Why this kind of checks cannot be of the metric, '' if it can."""
    if check.kind == REQUIRE:
        return _unreachable(check, str(spec), spec.metric.limits)
    if not spec.metric.per_query:
        return f"{spec} has no value for each query, so runs cannot be compared by it. Use {REQUIRE}"
    if check.kind != NO_WORSE and check.amount >= _largest_fall(spec, check.is_relative):
        percent = check.amount if check.amount < 100 else 2.0
        example = "0.5 in 5%" if check.kind == MAX_QUERY_DROP else f"{_text(percent)}%"
        return f"{spec} cannot fall by more, so this never fails. Write '{spec} {example}'"
    return ""


def _largest_fall(spec: Spec, is_percent: bool) -> float:
    """The most by which the metric can fall: no run can fail 'nDCG@10 4', by which people mean 4 %."""
    lowest, highest = spec.metric.range
    if is_percent:
        return 100 if lowest == 0 and spec.metric.higher_is_better is not False else math.inf
    return math.inf if lowest is None or highest is None else highest - lowest
