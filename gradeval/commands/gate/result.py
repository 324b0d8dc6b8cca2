"""The report of a gate: the outcome of each check, the coverage of the runs, the verdict and exit code."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gradeval.commands.gate.checks import MAX_QUERY_DROP, REQUIRE, Check
from gradeval.notices import Notice
from gradeval.render.document import Printable
from gradeval.version import __version__

FORMAT_VERSION = 1
FULL_COVERAGE = 100.0  # percent

Verdict = Literal["held", "failed", "inconclusive", "error"]
"""error: it could not be judged."""


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
    """The outcome of a check.

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
        """The outcome as in JSON: exact numbers, None for those that are not finite."""
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
                    "query": query.query,
                    "value": _exact(query.value),
                    "baseline_value": _exact(query.baseline_value),
                    "difference": _exact(query.difference),
                }
                for query in self.worst
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
class GateReport(Printable):
    """The outcomes of all checks. coverage: of the run, and of the baseline if there is one.

    problems: errors that kept the checks from being judged at all, a line each. inputs: what was judged, as
    JSON can hold it.
    """

    layout = "gradeval.commands.gate.layout"

    outcomes: tuple[CheckOutcome, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    min_coverage: float = FULL_COVERAGE
    notices: tuple[Notice, ...] = ()
    problems: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> Counter[Verdict]:
        """How many checks have each verdict."""
        return Counter(outcome.verdict for outcome in self.outcomes)

    @property
    def exit_code(self) -> int:
        """0: all checks held. 1: some did not. 2: they could not all be judged, or there are none."""
        if self.problems or not self.outcomes or self.counts["error"]:
            return 2
        return 0 if self.counts["held"] == len(self.outcomes) else 1

    @property
    def verdict(self) -> Literal["held", "failed", "error"]:
        """The verdict of the gate, which the exit code reports."""
        return "error" if self.exit_code == 2 else "failed" if self.exit_code else "held"

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
                    "name": run.name,
                    "path": run.path,
                    "queries": run.queries,
                    "judged_queries": run.judged,
                    "coverage": _exact(run.share),
                }
                for role, run in zip(("run", "baseline"), self.coverage, strict=False)
            ],
            "checks": [outcome.to_dict() for outcome in self.outcomes],
            "problems": list(self.problems),
            "notices": [notice.to_dict() for notice in self.notices],
        }


def _exact(value: float) -> float | None:
    return value + 0.0 if math.isfinite(value) else None  # + 0.0 makes -0.0 a plain 0.0
