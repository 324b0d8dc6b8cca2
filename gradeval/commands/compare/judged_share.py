"""How much of the rankings of runs was judged: where they differ, unjudged documents decide."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gradeval.analysis.saved import Runs
from gradeval.arrays import Floats
from gradeval.commands.compare.values import missing_notices
from gradeval.evaluation.depth import APART, extremes
from gradeval.formats.saved import SavedResult
from gradeval.notices import Kind, Notice
from gradeval.registry.spec import Spec, parse
from gradeval.results import Results

JUDGED_APART = 0.05  # a larger difference in the share of judged documents is shown
_DEPTH = 10  # of Judged@k where no metric has a cutoff


@dataclass(frozen=True, eq=False)
class Judged:
    """How much of each run was judged. name: the metric, such as Judged@10. means: (R,), NaN where unknown.

    The means are over the queries that a run has: where it lacks one, nothing is unjudged. by_depth: whether
    the runs differ in depth within the ranks that are looked at, which is said then.
    """

    name: str
    means: Floats
    by_depth: bool = False

    @classmethod
    def of(cls, results: Results) -> Judged | None:
        """By the last such metric of the results, None if there is none."""
        spec = next((spec for spec in reversed(results.specs) if is_judged(spec)), None)
        if spec is None:
            return None
        means = np.array([judged_mean(results, run, spec) for run in range(len(results.runs))])
        return cls(str(spec), means, differs_by_depth([run.depth for run in results.runs], spec))

    @property
    def differs(self) -> bool:
        """Whether the runs differ in it by more than 5 points."""
        known = self.means[~np.isnan(self.means)]
        return len(known) > 1 and float(np.ptp(known)) > JUDGED_APART

    def notices(self, runs: Sequence[str]) -> Iterator[Notice]:
        """That the runs differ, if they do, and of which it is unknown. runs: their names."""
        if self.differs and not self.by_depth:
            known = self.means[~np.isnan(self.means)].tolist()
            yield Notice(Kind.JUDGED_DIFFERS, "", len(known), self.name, low=min(known), high=max(known))
        for run, share in zip(runs, self.means.tolist(), strict=True):
            if math.isnan(share):
                yield Notice(Kind.JUDGED_UNKNOWN, run, 0, self.name, informational=True)


def judged_mean(results: Results, r: int, spec: Spec) -> float:
    """The mean of Judged@k over the queries that the run has."""
    values = results.values(r, spec)
    known = values[~np.isnan(values)]
    return share(results, r, math.fsum(known.tolist()), len(known))


def share(results: Results, r: int, total: float, n: int) -> float:
    """The mean over the queries that the run has, of n values with this total: 0 for a query that it lacks."""
    missing = sum(notice.count for notice in missing_notices(results, r) if notice.rule != "both")
    return total / (n - missing) if n > missing else math.nan


def differs_by_depth(depths: Iterable[int | None], spec: Spec) -> bool:
    """Whether runs differ in depth within the cutoff of Judged@k."""
    deepest, shallowest = extremes([("", depth) for depth in depths])
    return deepest[1] > APART * shallowest[1] and (spec.cutoff or math.inf) > shallowest[1]


def judged_spec(specs: Sequence[Spec], runs: Runs) -> Spec:
    """Judged@k that all saved results among the runs have, or else with the deepest cutoff of the metrics."""
    saved = [set(run.metrics) for _, run in runs if isinstance(run, SavedResult)]
    if saved:
        names = sorted(name for name in set.intersection(*saved) if name.startswith("Judged"))
        common = [one for one in parse(names) if is_judged(one)] if names else []
        if common:
            return max(common, key=_cutoff)
    [spec] = parse(f"Judged@{max(map(_cutoff, specs), default=0) or _DEPTH}")
    return spec


def is_judged(spec: Spec) -> bool:
    """Whether it is Judged@k, which says how far the values of other metrics can be compared."""
    return spec.metric.name == "Judged"


def without_judged(specs: Sequence[Spec]) -> list[Spec]:
    """What to test where nobody chose: all but Judged@k, if there are others."""
    return [spec for spec in specs if not is_judged(spec)] or list(specs)


def _cutoff(spec: Spec) -> int:
    cutoff = None if spec.metric.at is None else spec.params.get(spec.metric.at.name)
    return cutoff if isinstance(cutoff, int) else 0
