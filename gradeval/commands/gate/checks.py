"""The checks of a gate as users write them, such as 'nDCG@10 >= 0.45', on the command line and in files."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gradeval.errors import MetricError, OptionError, named
from gradeval.options import parse_number
from gradeval.registry.spec import Spec, parse

COVERAGE = "coverage"  # the share of the judged queries that are in the run
REQUIRE, MAX_DROP, NO_WORSE, NON_INFERIOR, MAX_QUERY_DROP = KINDS = (
    "require",
    "max-drop",
    "no-worse",
    "non-inferior",
    "max-query-drop",
)
OPERATORS = (">=", "<=", ">", "<")
EXAMPLES = {
    REQUIRE: "nDCG@10 >= 0.45",
    MAX_DROP: "nDCG@10 0.01' or 'nDCG@10 2%",
    NO_WORSE: "nDCG@10",
    NON_INFERIOR: "nDCG@10 0.01' or 'nDCG@10 2%",
    MAX_QUERY_DROP: "RR 0.5 in 5%",
}
_NUMBER = r"(?P<amount>[^\s%<>=]+)"
_PERCENT = r"(?P<percent>\s*%)?"
_METRICS = r"(?P<metrics>(?:[^\s\d.+-]\S*\s+)+)"  # words that are no numbers
_FORMS = {
    REQUIRE: rf"(?P<metrics>\S(?:.*?[^\s<>=])?)\s*(?P<operator>{'|'.join(OPERATORS)})\s*{_NUMBER}{_PERCENT}",
    MAX_DROP: rf"{_METRICS}{_NUMBER}{_PERCENT}",
    NO_WORSE: r"(?P<metrics>.+)",
    NON_INFERIOR: rf"{_METRICS}{_NUMBER}{_PERCENT}",
    MAX_QUERY_DROP: rf"{_METRICS}{_NUMBER}(?:\s+in\s+(?P<share>[^\s%]+)\s*%)?",
}


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
    match = re.fullmatch(_FORMS[kind], text.strip(), re.DOTALL)
    if match is None:
        raise OptionError(f"{kind} {named(text)} is not of the form '{EXAMPLES[kind]}'")

    def wrong(what: str) -> OptionError:
        return OptionError(f"{kind} {named(text)}: {what}")

    parts = match.groupdict()
    numbers = []
    for number in (parts.get("amount") or "0", parts.get("share") or "0"):
        try:
            numbers.append(parse_number(number) + 0.0)
        except ValueError:
            raise wrong(f"{named(number)} is not a finite number, as in '{EXAMPLES[kind]}'") from None
    amount, share = numbers
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
