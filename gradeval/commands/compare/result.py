"""A comparison of runs as data: what is printed, and what Python callers get."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

import numpy as np

from gradeval.arrays import Floats
from gradeval.commands.compare.options import TUKEY, CompareOptions
from gradeval.commands.compare.values import Judged, QueryValues
from gradeval.errors import GradevalError
from gradeval.notices import Notice, lines
from gradeval.registry.spec import Spec
from gradeval.render.document import Printable
from gradeval.render.numbers import exact
from gradeval.statistics.anova import TwoWayAnova
from gradeval.statistics.tests import TESTS
from gradeval.version import __version__

FORMAT_VERSION = 1
POWER = 0.8
SOURCES = ("system", "query", "residual", "total")  # of the variance
MEAN_DIFFERENCE = "mean difference"  # what the intervals of most tests are of

Verdict = Literal["better", "worse", ""]


@dataclass(frozen=True)
class Power:
    """The differences that the paired t-test could have shown, with power POWER at the significance level.

    smallest: the smallest true difference that these queries show, in the metric's unit. needed: how many
    queries show the observed one; infinite for a difference of 0. NaN where there is no p.
    """

    smallest: float
    needed: float


@dataclass(frozen=True)
class PairComparison:
    """One run against a baseline, by one metric.

    n: pairs of values. baseline_mean, mean: over these pairs. difference: mean - baseline_mean; sd: the
    standard deviation of the differences. low, high: the interval of the estimate, NaN where there is none;
    estimate: what it is of (PairedTest.estimand), the mean difference for most tests. p: two-sided,
    uncorrected; p_corrected: after the correction. NaN where there is none, and `reason` says why. effect_size:
    difference / sd. won, tied, lost: queries where the run is better, equal and worse. verdict: 'better' or
    'worse' where the difference is significant, else ''. Values and differences have the metric's unit.
    """

    run: str
    baseline: str
    metric: str
    n: int
    baseline_mean: float
    mean: float
    difference: float
    sd: float
    low: float
    high: float
    estimate: float
    p: float
    p_corrected: float
    effect_size: float
    won: int
    tied: int
    lost: int
    verdict: Verdict
    method: str
    reason: str = ""
    power: Power | None = None

    @property
    def relative(self) -> float:
        """The difference in percent of the baseline's mean, NaN where that is 0."""
        return 100 * self.difference / self.baseline_mean if self.baseline_mean else math.nan

    def to_dict(self) -> dict[str, Any]:
        """The comparison as in JSON: exact numbers, None for those that are not finite."""
        content = _exact_values(self)
        power = content.pop("power")
        content["relative_percent"] = exact(self.relative)
        if power is not None:
            content["power"] = _exact_values(power)
        return content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> PairComparison:
        """The comparison that to_dict wrote, without its power. Raises KeyError."""
        names = [part.name for part in fields(cls) if part.name != "power"]
        values: dict[str, Any] = {name: math.nan if content[name] is None else content[name] for name in names}
        return cls(**values)


@dataclass(frozen=True)
class Change:
    """The change of one query. rank: 1 for the largest change of this kind in this comparison.

    group: the group of queries that is compared, None for all.
    """

    kind: Literal["worst", "best"]
    run: str
    baseline: str
    metric: str
    rank: int
    query: str
    baseline_value: float
    value: float
    difference: float
    group: str | None = None


@dataclass(frozen=True, eq=False)
class Section:
    """The comparisons for all queries, or for those of one group.

    group: its name, None for all queries. queries: how many. means: (R, M). comparisons: by pair of runs, then
    by metric. anova: for each metric, if asked for.
    """

    group: str | None
    queries: int
    means: Floats = field(repr=False)
    comparisons: tuple[PairComparison, ...] = field(repr=False)
    anova: tuple[TwoWayAnova, ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Comparison(Printable):
    """Runs compared with a baseline, or all with each other.

    values: those of each query. pairs: (baseline, run), positions in values.runs, in the order of the
    comparisons. sections: all queries, then each group. changes: the queries with the largest changes. judged:
    None where that is unknown, the runs hardly differ in it, or it is compared itself. inputs: what was
    compared, as JSON can hold it.
    """

    layout = "gradeval.commands.compare.layout"

    values: QueryValues
    pairs: tuple[tuple[int, int], ...]
    options: CompareOptions
    sections: tuple[Section, ...]
    changes: tuple[Change, ...] = ()
    judged: Judged | None = None
    notices: tuple[Notice, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, int]:
        """The fewest and the most queries that a mean of a run and metric is over."""
        counts = (~np.isnan(self.values.values)).sum(axis=2)
        return int(counts.min()), int(counts.max())

    @property
    def comparisons(self) -> tuple[PairComparison, ...]:
        """Those for all queries."""
        return self.sections[0].comparisons

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notices as text, a line for each kind."""
        return tuple(lines(self.notices, len(self.values.runs), in_python=True))

    def find(
        self,
        run: str | int,
        metric: str | Spec,
        *,
        baseline: str | int | None = None,
        group: str | None = None,
    ) -> PairComparison:
        """One comparison. run, baseline: names or positions; metric: any spelling. Raises GradevalError."""
        names = self.values.runs
        wanted, name = names[self.values.run(run)], self.values.metrics[self.values.metric(metric)].name
        against = None if baseline is None else names[self.values.run(baseline)]
        for section in self.sections:
            for pair in section.comparisons if section.group == group else ():
                if (pair.run, pair.metric) == (wanted, name) and against in (None, pair.baseline):
                    return pair
        raise GradevalError(f"there is no such comparison of {wanted}")

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """The object that the json format prints. Numbers are exact; what is not finite is None."""
        names = [column.name for column in self.values.metrics]
        whole, *groups = [self._section(section) for section in self.sections]
        content: dict[str, Any] = {
            "gradeval": __version__,
            "comparison_format": FORMAT_VERSION,
            **self.inputs,
            "metrics": names,
            "warnings": list(lines(self.notices, len(self.values.runs))),
            "notices": [notice.to_dict() for notice in self.notices],
            "settings": self.settings(),
            "runs": [
                {"name": name, "path": path}
                for name, path in zip(self.values.runs, self.values.paths, strict=True)
            ],
            **whole,
        }
        if self.judged is not None:
            for run, share in zip(content["runs"], self.judged.means.tolist(), strict=True):
                run[self.judged.name] = exact(share)
        if groups:
            content["groups"] = groups
        if self.options.worst or self.options.best:
            content["changes"] = [
                {name: value for name, value in asdict(change).items() if name != "group" or value is not None}
                for change in self.changes
            ]
        if per_query:
            numbers = self.values.values.transpose(2, 0, 1).tolist()
            content["per_query"] = {
                query: {
                    run: dict(zip(names, map(exact, row), strict=True))
                    for run, row in zip(self.values.runs, of_runs, strict=True)
                }
                for query, of_runs in zip(self.values.queries, numbers, strict=True)
            }
        return content

    @property
    def family(self) -> int:
        """How many p-values for all queries are corrected together, 0 where they are not."""
        if self.options.used_correction == "none":
            return 0
        return sum(not math.isnan(pair.p_corrected) for pair in self.comparisons)

    def settings(self) -> dict[str, Any]:
        """The settings that the numbers depend on, except the values."""
        baseline = None if self.options.all_pairs else self.values.runs[self.pairs[0][0]]
        return {
            **self.options.to_dict(),
            "baseline": baseline,
            "estimand": estimand(self.options.test),
            "family": self.family,
        }

    def _section(self, section: Section) -> dict[str, Any]:
        names = [column.name for column in self.values.metrics]
        content: dict[str, Any] = {} if section.group is None else {"group": section.group}
        content["queries"] = section.queries
        content["means"] = {
            run: dict(zip(names, map(exact, row), strict=True))
            for run, row in zip(self.values.runs, section.means.tolist(), strict=True)
        }
        content["comparisons"] = [pair.to_dict() for pair in section.comparisons]
        if section.anova:
            content["anova"] = {
                name: {
                    "queries": anova.queries,
                    **{source: _exact_values(getattr(anova, source)) for source in SOURCES},
                    "effect_sizes": [[exact(value) for value in row] for row in anova.effect_sizes.tolist()],
                    "reason": anova.reason,
                }
                for name, anova in zip(names, section.anova, strict=True)
            }
        return content

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each comparison: its group (None for all queries) and the fields of PairComparison."""
        sections = [(section.group, section.comparisons) for section in self.sections]
        return [{"group": group, **asdict(pair)} for group, pairs in sections for pair in pairs]

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each comparison, as rows() has them."""
        from gradeval.evaluation.frames import of_rows

        return of_rows(self.rows())

    def __repr__(self) -> str:
        counts = f"runs={len(self.values.runs)}, metrics={len(self.values.metrics)}"
        return f"Comparison({counts}, queries={len(self.values.queries)}, test={self.options.test!r})"


def estimand(test: str) -> str:
    """The estimand of the interval of a test."""
    return MEAN_DIFFERENCE if test == TUKEY else TESTS[test].estimand


def title(test: str) -> str:
    """A test's name in full."""
    return "randomized Tukey HSD test" if test == TUKEY else TESTS[test].title


def _exact_values(record: Any) -> dict[str, Any]:
    """The fields of a dataclass as JSON can hold them."""
    return {name: exact(value) for name, value in vars(record).items()}
