"""How much of the rankings of runs was judged: where they differ, unjudged documents decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gradeval.arrays import Floats
from gradeval.notices import Kind, Notice
from gradeval.registry.spec import Spec, parse
from gradeval.results import Results

JUDGED_APART = 0.05  # a larger difference in the share of judged documents is shown
_DEPTH = 10  # of Judged@k where no metric has a cutoff


@dataclass(frozen=True, eq=False)
class Judged:
    """How much of each run was judged. name: the metric, such as Judged@10. means: (R,), NaN where unknown."""

    name: str
    means: Floats

    @classmethod
    def of(cls, results: Results) -> Judged | None:
        """By the last such metric of the results, None if there is none."""
        spec = next((spec for spec in reversed(results.specs) if spec.metric.name == "Judged"), None)
        if spec is None:
            return None
        return cls(str(spec), np.array([results.mean(run, spec) for run in range(len(results.runs))]))

    @property
    def differs(self) -> bool:
        """Whether the runs differ in it by more than 5 points."""
        known = self.means[~np.isnan(self.means)]
        return len(known) > 1 and float(np.ptp(known)) > JUDGED_APART

    @property
    def notices(self) -> tuple[Notice, ...]:
        """That the runs differ, if they do."""
        if not self.differs:
            return ()
        known = self.means[~np.isnan(self.means)].tolist()
        return (Notice(Kind.JUDGED_DIFFERS, "", len(known), self.name, low=min(known), high=max(known)),)


def judged_spec(specs: Sequence[Spec]) -> Spec:
    """Judged@k with the deepest cutoff of the metrics."""
    cutoffs = [spec.params.get(spec.metric.at.name) for spec in specs if spec.metric.at is not None]
    depths = [cutoff for cutoff in cutoffs if isinstance(cutoff, int) and cutoff > 0]
    [spec] = parse(f"Judged@{max(depths, default=_DEPTH)}")
    return spec
