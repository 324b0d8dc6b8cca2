"""What judgments of unjudged documents could make of the differences of a comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.commands.compare.coverage import TOLERANCE
from gradeval.errors import OptionError, first_names
from gradeval.evaluation.pairs import DifferenceBounds, Pair, difference_bounds, last_rank
from gradeval.evaluation.results import Results
from gradeval.notices import MAX_SUBJECTS, Notice, NoticeKind
from gradeval.registry.metric import EXACT, NO_BOUNDS, OUTER
from gradeval.registry.spec import Spec
from gradeval.statistics.weighted import Sample


@dataclass(frozen=True)
class MissingJudgments:
    """The bounds of a mean difference over the judgments that are missing, NaN where they are not known."""

    lower_bound: float = math.nan
    upper_bound: float = math.nan
    bounds: str | None = None  # exact: worlds have them; outer: no world is beyond them; None: not known
    unjudged: int | None = None  # documents whose judgments count; None where the bounds are not known
    unjudged_first: int | None = None  # those in the first ranks of a run
    unjudged_more: bool = False  # whether there may be more than these
    first_ranks: int | None = None  # how many ranks these are, None without a cutoff
    settled: int | None = None  # queries of whose difference no judgment can change the sign

    @property
    def reverse(self) -> MissingJudgments:
        """Those of the difference with its sign turned."""
        return replace(self, lower_bound=-self.upper_bound, upper_bound=-self.lower_bound)

    @property
    def is_open(self) -> bool:
        """Whether judgments can change the sign of the mean difference."""
        return sign(self.lower_bound) != sign(self.upper_bound)


NOT_KNOWN = MissingJudgments()


def sign(difference: float) -> int:
    """-1, 0 or 1; rounding does not decide."""
    return int(np.sign(difference)) if abs(difference) > TOLERANCE else 0


class BoundedDifference:
    """The bounds of the differences of a pair by the metrics that are compared, for each query."""

    def __init__(self, bounds: DifferenceBounds | None, first_ranks: Sequence[int | None]) -> None:
        """bounds: None where a run has no ids of unjudged documents. first_ranks: of each metric."""
        self._bounds, self._first_ranks = bounds, first_ranks

    def taken(self, queries: Ints) -> BoundedDifference:
        """Of some of the queries, in this order."""
        bounds = None if self._bounds is None else self._bounds.taken(queries)
        return BoundedDifference(bounds, self._first_ranks)

    def limits(self, m: int, differences: Floats) -> Floats:
        """The lowest and the highest difference of each query by a metric, (2, Q), NaN as the differences."""
        if self._bounds is None:
            return np.full((2, len(differences)), np.nan)
        low, high = self._bounds.limits[:, m] + 0.0 * differences
        return np.array([np.minimum(low, differences), np.maximum(high, differences)])

    def of(self, m: int, differences: Floats, weights: Floats | None) -> MissingJudgments:
        """Of the mean of the differences by a metric, (Q,), NaN for a query that does not count."""
        low, high = self.limits(m, differences)
        if self._bounds is None or np.isnan(low).all():
            return NOT_KNOWN
        is_counted = ~np.isnan(differences)
        settled = sum(sign(a) == sign(b) for a, b in zip(low[is_counted], high[is_counted], strict=True))
        return MissingJudgments(
            Sample.of(low, weights).mean,
            Sample.of(high, weights).mean,
            EXACT if self._bounds.is_exact[m] else OUTER,
            int(self._bounds.documents[m, is_counted].sum()),
            int(self._bounds.first[m, is_counted].sum()),
            unjudged_more=bool(self._bounds.has_more[m, is_counted].any()),
            first_ranks=self._first_ranks[m],
            settled=settled,
        )


def bounded_differences(
    results: Results, specs: Sequence[Spec], pairs: Sequence[Pair]
) -> tuple[dict[tuple[str, str], BoundedDifference], list[Notice]]:
    """Those of each pair of runs, by the names of the baseline and the run, and what is to be said of runs
    and metrics that have none. Raises OptionError where no pair has bounds.
    """
    setting, runs = results.setting, results.runs
    if setting is None or not any(runs[a].reduced and runs[b].reduced for a, b in pairs):
        raise _without_ids(results)
    position = {query: q for q, query in enumerate(setting.queries)}
    rows = np.array([position[query] for query in results.queries], np.int64)
    of_pairs = difference_bounds(setting, [run.reduced for run in runs], specs, pairs)
    first_ranks = [_first_ranks(spec, setting.plan.options.depth) for spec in specs]
    bounded = {
        (runs[a].name, runs[b].name): BoundedDifference(bounds, first_ranks).taken(rows)
        for (a, b), bounds in zip(pairs, of_pairs, strict=True)
    }
    notices = [Notice(NoticeKind.IDS_UNKNOWN, run.name, 1) for run in runs if run.reduced is None]
    if names := [str(spec) for spec in specs if spec.bounds == NO_BOUNDS]:
        notices.append(Notice(NoticeKind.NO_BOUNDS, "", len(names), rule=first_names(names, MAX_SUBJECTS)))
    return bounded, notices


def _without_ids(results: Results) -> OptionError:
    message = "results have no ids of unjudged documents, from which bounds of differences follow"
    hint = "Evaluate with bounds=True"
    if results.setting is not None:
        saved = [run.path for run in results.runs if run.reduced is None]
        message = f"{first_names(saved, MAX_SUBJECTS)}: {message}"
        hint = "Give the runs themselves"
    return OptionError(f"{message}. {hint}, or leave out --bounds (bounds=True)")


def _first_ranks(spec: Spec, depth: int | None) -> int | None:
    """How many ranks count, None for all."""
    last = min(last_rank(spec), depth or math.inf)
    return None if last == math.inf else int(last)
