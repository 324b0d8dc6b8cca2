"""How many of the judged queries a run has: what it has of too few says nothing about all."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from gradeval.arrays import Bools, Ints
from gradeval.evaluation.results import Results
from gradeval.notices import MAX_SUBJECTS, NoticeKind, Notices
from gradeval.render.document import exact

TOLERANCE = 1e-9  # values that are closer to each other are equal: rounding does not decide


class Coverage(NamedTuple):
    """How many of the judged queries a run has."""

    name: str  # of the run, as the path
    path: str
    queries: int
    judged_queries: int
    unit: str = "judged queries"  # what is counted

    @property
    def share(self) -> float:
        return self.queries / self.judged_queries if self.judged_queries else math.nan

    def to_dict(self) -> dict[str, Any]:
        """The numbers as in JSON."""
        content = {name: value for name, value in self._asdict().items() if name != "unit"}
        return {**content, "coverage": exact(self.share)}

    def shortfall(self, percent: float, name: str = "") -> str:
        """That it has fewer than this percentage, '' if not. name: of the run in the sentence."""
        if at_least(100 * self.share, percent):
            return ""
        has = f"{self.queries:,} of {self.judged_queries:,} {self.unit} ({100 * self.share:.4g} %)"
        return f"{name or self.name} has {has}, fewer than --min-coverage {percent:g} %"


class JudgedQueries(NamedTuple):
    """Which of Q queries are judged and evaluated, and which of these a run lacks."""

    judged: Bools  # (Q,)
    missing: Bools  # (Q,)

    @classmethod
    def of(cls, results: Results, r: int) -> JudgedQueries | None:
        """Of a run; None where that is unknown, as of a saved result that lacks more than its notice names."""
        run = results.runs[r]
        return None if run.missing is None else cls(run.counted | run.missing, run.missing)

    def select(self, positions: Ints) -> JudgedQueries:
        """The same for some of the queries."""
        return JudgedQueries(self.judged[positions], self.missing[positions])

    def covered(self, coverage: Coverage, unit: str) -> Coverage:
        """The coverage of its run, of these queries alone."""
        judged = int(self.judged.sum())
        present = judged - int(self.missing.sum())
        return coverage._replace(queries=present, judged_queries=judged, unit=unit)


def at_least(value: float, bound: float) -> bool:
    """False for NaN."""
    return value >= bound - TOLERANCE


def coverage(results: Results, r: int) -> Coverage:
    """How many of the queries that are evaluated the run has, whichever of them count."""
    run = results.runs[r]
    if (judged_queries := JudgedQueries.of(results, r)) is not None:
        judged = int(judged_queries.judged.sum())
        return Coverage(run.name, run.path, judged - int(judged_queries.missing.sum()), judged)
    missing = excluded = 0  # with --queries both, the queries that are missing are not counted
    for notice in missing_notices(results, r):
        missing += notice.count
        excluded += notice.count if notice.rule == "both" else 0
    judged = run.queries + excluded
    return Coverage(run.name, run.path, max(judged - missing, 0), judged)


def coverage_of_runs(results: Results) -> tuple[Coverage, ...]:
    return tuple(coverage(results, r) for r in range(len(results.runs)))


def not_tested(shortfalls: Iterable[str], also: str = "") -> list[str]:
    """The sentence about what is not tested, none where all is. also: what else it is left out of."""
    reasons = list(dict.fromkeys(shortfalls))
    more = f"; and {len(reasons) - MAX_SUBJECTS:,} more" if len(reasons) > MAX_SUBJECTS else ""
    return [f"Not tested{also}: {'; '.join(reasons[:MAX_SUBJECTS])}{more}."] if reasons else []


def missing_notices(results: Results, r: int) -> Notices:
    """The notices of judged queries that a run lacks."""
    return results.notices.about(results.runs[r].name).only(NoticeKind.MISSING)
