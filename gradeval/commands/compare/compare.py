"""Is B better than A? Runs compared by their values for the same queries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, cached_property
from gradeval.arrays.threads import default_jobs
from gradeval.commands.compare.bounds import BoundedDifference, MissingJudgments, bounded_differences
from gradeval.commands.compare.coverage import Coverage, JudgedQueries, coverage, missing_notices
from gradeval.compare_options import COMPARED, MAXT, TUKEY, CompareOptions, Groups, Systems, split_options
from gradeval.errors import GradevalError, InputError, MetricError, OptionError, first_names
from gradeval.evaluation.bounds import check_bounds
from gradeval.evaluation.caveats import left_out_of_groups
from gradeval.evaluation.depths import apart
from gradeval.evaluation.evaluation import OnErrors, accepted, check_errors, evaluate_all, joined_errors
from gradeval.evaluation.groups import group_notices, positions_of_groups
from gradeval.evaluation.loaded import results_of
from gradeval.evaluation.outcome import no_common_query
from gradeval.evaluation.plan import Plan
from gradeval.evaluation.results import (
    FailedRun,
    Quantiles,
    Results,
    Runs,
    SavedResult,
    failed_to_dicts,
    notices_warned,
    specs_of,
)
from gradeval.evaluation.runs import path_of, separate_runs, with_saved
from gradeval.evaluation.saved import common_metrics
from gradeval.evaluation.score import weighted_means
from gradeval.file_formats import run_names
from gradeval.notices import ENOUGH_QUERIES, MAX_QUERIES, Notice, NoticeKind, Notices, lines
from gradeval.options import COMPARED_METRICS, Options, takes
from gradeval.records import grouped
from gradeval.registry.spec import Measure, Metrics, Spec, parse, usable
from gradeval.render.document import exact
from gradeval.render.printable import Tabular, WithNotices, warned
from gradeval.statistics import multiple, tests
from gradeval.statistics.intervals import UNBOUNDED, agreeing, queries_needed, smallest_effect_size
from gradeval.statistics.sampling import Sampling
from gradeval.statistics.weighted import Sample
from gradeval.version import document_head

if TYPE_CHECKING:
    from gradeval.keywords import Compare, Unpack

POWER = 0.8
SOURCES = ("system", "query", "interaction", "residual", "total")  # of the variance
MEAN_DIFFERENCE = "mean difference"  # what the intervals of most tests are of
ESTIMANDS = {name: test.estimand for name, test in tests.TESTS.items()} | {TUKEY: MEAN_DIFFERENCE}
TITLES = {name: test.title for name, test in tests.TESTS.items()} | {TUKEY: "randomized Tukey HSD test"}

NO_BASELINE = "the baseline could not be evaluated, so nothing is compared with it"
LARGEST = 1e150  # the largest magnitude of a value: sums of squares stay finite
JUDGED_APART = 0.05  # a larger difference in the share of judged documents is shown
_DEPTH = 10  # of Judged@k where no metric has a cutoff

Verdict = Literal["better", "worse", ""]
Pairs = tuple[tuple[int, int], ...]  # (baseline, run) of each comparison, as positions in the runs
Tested = tuple[str, str, "ComparedMetric", Sequence[float], tests.PairedSummary, tests.PairedOutcome]
"""A run, its baseline, the metric, the means of the baseline and the run, the differences, and their test."""


@dataclass(frozen=True)
class ComparedMetric:
    """A metric by which runs are compared."""

    name: str  # canonical
    display: str  # as tables show it
    higher_is_better: bool | None = True  # None where neither is
    bounds: tuple[float, float] = UNBOUNDED  # the lowest and the highest value that it can have

    @classmethod
    def of(cls, spec: Spec) -> ComparedMetric:
        return cls(str(spec), spec.display, spec.metric.higher_is_better, spec.metric.limits)

    @property
    def sign(self) -> int:
        """The sign that makes better differences positive."""
        return -1 if self.higher_is_better is False else 1


@dataclass(frozen=True, eq=False)
class Replicates:
    """The runs of a system, such as seeds of a training."""

    runs: tuple[str, ...]
    values: Floats = field(repr=False)  # (runs, M, Q)

    def select(self, positions: Ints) -> Replicates:
        """The same for some of the queries."""
        return replace(self, values=self.values[..., positions])

    def spread(self, weights: Floats | None) -> Floats:
        """The standard deviation of the means of the runs, by each metric, (M,); NaN for one run."""
        count = self.values.shape[-1]
        means = weighted_means(self.values, np.ones(count) if weights is None else weights)
        if len(self.runs) < 2:
            return np.full(means.shape[1], np.nan)
        deviation: Floats = np.std(means, axis=0, ddof=1)
        return deviation


@dataclass(frozen=True, eq=False)
class ComparedSystem:
    """A run that is compared, or a system of several."""

    name: str
    path: str  # as the user gave it
    coverage: Coverage | None = None  # None where it is unknown
    judged: JudgedQueries | None = None  # None where at most its coverage of all queries is known
    replicates: Replicates | None = None  # of a system

    def select(self, positions: Ints) -> ComparedSystem:
        """The same for some of the queries."""
        judged = self.judged and self.judged.select(positions)
        return replace(self, judged=judged, replicates=self.replicates and self.replicates.select(positions))

    def covering(self, name: str) -> ComparedSystem:
        """With the coverage of its own queries, where it is known. name: what is said of these queries."""
        if self.judged is None or self.coverage is None:
            return self
        return replace(self, coverage=self.judged.covered(self.coverage, self.coverage.unit + name))


@dataclass(frozen=True, eq=False)
class QueryValues:
    """The values of R runs for M metrics and Q queries."""

    queries: tuple[str, ...] = field(repr=False)
    compared: tuple[ComparedSystem, ...]
    metrics: tuple[ComparedMetric, ...]
    values: Floats = field(repr=False)  # (R, M, Q), NaN where one is undefined or a query does not count
    weights: Floats | None = field(repr=False, default=None)  # of the queries, (Q,); None: all count alike
    # of the differences of pairs, by the names of the baseline and the run; none where they are not asked for
    bounded: Mapping[tuple[str, str], BoundedDifference] = field(repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        for r, m in np.argwhere((np.abs(self.values) > LARGEST).any(axis=2)).tolist():
            name = f"{self.metrics[m].name} of {self.runs[r]}"
            raise MetricError(f"{name} has values beyond {LARGEST:g}, which cannot be compared")

    @classmethod
    def of(cls, results: Results, specs: Sequence[Spec]) -> QueryValues:
        """The values of these metrics, which have a number for each query."""
        places = [results.specs.index(spec) for spec in specs]
        values = [[results.values(r, m) for m in places] for r in range(len(results.runs))]
        return cls(
            queries=tuple(results.queries),
            compared=tuple(
                ComparedSystem(run.name, run.path, coverage(results, r), JudgedQueries.of(results, r))
                for r, run in enumerate(results.runs)
            ),
            metrics=tuple(map(ComparedMetric.of, specs)),
            values=np.array(values, np.float64).reshape(len(values), len(specs), len(results.queries)),
            weights=results.weights,
        )

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(run.name for run in self.compared)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        return tuple(run.path for run in self.compared)

    @cached_property
    def by_name(self) -> dict[str, ComparedMetric]:
        """The metrics by their names."""
        return {metric.name: metric for metric in self.metrics}

    @cached_property
    def replicates(self) -> tuple[Replicates, ...]:
        """Those of each system; nothing where runs are compared."""
        return tuple(run.replicates for run in self.compared if run.replicates is not None)

    @property
    def means(self) -> Floats:
        """The mean of each run and metric over the queries with a value, (R, M); NaN where there is none."""
        weights = np.ones(len(self.queries)) if self.weights is None else self.weights
        return weighted_means(self.values, weights)

    def differences(self, baseline: int, run: int) -> Floats:
        """run - baseline, (M, Q), NaN where either has no value."""
        return tests.paired_differences(self.values[baseline], self.values[run])

    def bounds(self, baseline: int, run: int) -> BoundedDifference | None:
        """Those of these differences, None where they are not asked for."""
        return self.bounded.get((self.runs[baseline], self.runs[run]))

    def shortfalls(self, percent: float) -> list[str]:
        """Why each run is not tested: it has fewer than this percentage of the judged queries; '' if not."""
        of_runs = (run.coverage for run in self.compared)
        return [of_run.shortfall(percent) if of_run and of_run.judged_queries else "" for of_run in of_runs]

    def ordered(self, runs: Sequence[int]) -> QueryValues:
        """The same with the runs in another order."""
        return replace(self, compared=tuple(self.compared[r] for r in runs), values=self.values[runs])

    def complete_in(self, runs: Sequence[int]) -> QueryValues:
        """The same, without the values by a metric of queries for which one of these runs has none."""
        is_incomplete = np.isnan(self.values[runs]).any(axis=0)
        return replace(self, values=np.where(is_incomplete, np.nan, self.values))

    def select(self, which: Bools | Ints) -> QueryValues:
        """The same for some of the queries, or in another order."""
        positions = np.arange(len(self.queries))[which]
        return replace(
            self,
            queries=tuple(self.queries[q] for q in positions.tolist()),
            compared=tuple(run.select(positions) for run in self.compared),
            values=self.values[..., positions],
            weights=None if self.weights is None else self.weights[positions],
            bounded={pair: bounds.taken(positions) for pair, bounds in self.bounded.items()},
        )

    def part(self, which: Bools | Ints, name: str) -> QueryValues:
        """Those of some of the queries, of which the runs have their own coverage where it is known. name: what
        is said of these queries.
        """
        part = self.select(which)
        return replace(part, compared=tuple(run.covering(name) for run in part.compared))

    def of_systems(self, systems: Systems) -> QueryValues:
        """The values of systems, each the mean of its runs for each query; a run without a system is one by
        itself. The coverage of a system is that of its run with the fewest queries. Raises GradevalError.
        """
        if not systems:
            return self
        system_of = {self.run(run): system for run, system in systems}
        runs_of = grouped((system_of.get(r, name), r) for r, name in enumerate(self.runs))
        compared = []
        values = []
        for name, runs in runs_of.items():
            fewest = min(
                (self.compared[r] for r in runs), key=lambda run: run.coverage.queries if run.coverage else 0
            )
            coverage = fewest.coverage and fewest.coverage._replace(name=name)
            replicates = Replicates(tuple(self.runs[r] for r in runs), self.values[runs])
            compared.append(ComparedSystem(name, name, coverage, fewest.judged, replicates))
            with np.errstate(invalid="ignore"):
                values.append(replicates.values.mean(axis=0))
        return replace(self, compared=tuple(compared), values=np.array(values))

    def weighing(self) -> QueryValues:
        """The same without the queries of weight 0, which count in nothing that is compared."""
        return self if self.weights is None else self.part(self.weights > 0, " with a weight above 0")

    def in_order_of_ids(self) -> QueryValues:
        """Of the ids as bytes: random signs belong to rows in this order."""
        ids = [query.encode("utf-8", "surrogateescape") for query in self.queries]
        return self.select(np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64))

    def run(self, named: str | int | None) -> int:
        """The position of a run, by its name, path or position; None: the first. Raises GradevalError."""
        named = 0 if named is None else named
        count = len(self.runs)
        if isinstance(named, int):
            if not -count <= named < count:
                raise GradevalError(f"there is no run {named}: there are {count}")
            return named % count
        names = [*self.runs, *self.paths, *("-" if path == "<stdin>" else path for path in self.paths)]
        if named not in names:
            raise GradevalError(f"no run is named '{named}': there are {', '.join(self.runs)}")
        return names.index(named) % count

    def metric(self, named: str | Spec | Measure) -> int:
        """The position of a metric, by any spelling. Raises MetricError."""
        names = list(self.by_name)
        spellings = [str(named)] if named in names else list(map(str, parse(str(named))))
        if len(spellings) == 1 and spellings[0] in names:
            return names.index(spellings[0])
        raise MetricError(f"{named} was not compared", hint="there are " + ", ".join(names))


def lowest(values: Floats, count: int) -> list[int]:
    """The positions of the lowest values (Q,), the lowest first, without NaN; equal ones as they stand."""
    # rounding must not decide which of two equal values is the lower one
    rounded = np.round(values / (np.nanmax(np.abs(values), initial=0.0) or 1.0), 12)
    order = np.argsort(rounded, kind="stable")[:count]  # NaN sort last
    positions: list[int] = order[~np.isnan(rounded[order])].tolist()
    return positions


def is_comparable(spec: Spec) -> bool:
    """Whether the metric has a number for each query, whose mean is the metric's value."""
    return spec.metric.per_query and not spec.metric.text


def comparable_metrics(metrics: Metrics) -> tuple[list[Spec], Notices]:
    """The metrics that are comparable, and a notice of others of groups. Raises MetricError for any other."""
    why = "has no value for each query, so runs cannot be compared by it"
    specs, left_out = usable(metrics, is_comparable, lambda spec: MetricError(f"{spec} {why}"))
    return specs, left_out_of_groups(left_out)


def judged_mean(results: Results, r: int, spec: Spec) -> float:
    """The mean of Judged@k over the queries that the run has."""
    values = results.values(r, spec)
    defined = values[~np.isnan(values)]
    return share(results, r, math.fsum(defined.tolist()), len(defined))


def share(results: Results, r: int, total: float, n: int) -> float:
    """The mean over the queries that the run has, of n values with this total: 0 for a query that it lacks."""
    missing = sum(notice.count for notice in missing_notices(results, r) if notice.rule != "both")
    return total / (n - missing) if n > missing else math.nan


@dataclass(frozen=True, eq=False)
class Judged:
    """How much of each run was judged, over the queries that it has, by a metric such as Judged@10."""

    name: str
    means: Floats  # (R,), NaN where unknown
    by_depth: bool = False  # whether runs differ in depth within its ranks, which is said then

    @classmethod
    def of(cls, results: Results, mean: Callable[[Any, int, Spec], float] = judged_mean) -> Judged | None:
        """By the last such metric of the results, None if there is none. mean: of a run."""
        if not (specs := list(filter(is_judged, results.specs))):
            return None
        means = [mean(results, run, specs[-1]) for run in range(len(results.runs))]
        return cls.of_means(specs[-1], means, [run.depths for run in results.runs])

    @classmethod
    def of_means(cls, spec: Spec, means: Sequence[float], depths: Iterable[Quantiles | None]) -> Judged:
        difference = apart([("", of_run) for of_run in depths])
        by_depth = difference is not None and (spec.cutoff or math.inf) > difference.fewest
        return cls(str(spec), np.array(means), by_depth)

    def of_systems(self, results: Results, values: QueryValues) -> Judged:
        """The same of systems: the mean of their runs."""
        share = dict(zip((run.name for run in results.runs), self.means.tolist(), strict=True))
        means = [np.mean([share[run] for run in of_system.runs]) for of_system in values.replicates]
        return replace(self, means=np.array(means))

    @property
    def differs(self) -> bool:
        """Whether the runs differ in it by more than 5 points."""
        shares = self.means[~np.isnan(self.means)]
        return len(shares) > 1 and float(np.ptp(shares)) > JUDGED_APART

    def notices(self, runs: Sequence[str]) -> Iterator[Notice]:
        if self.differs and not self.by_depth:
            shares = self.means[~np.isnan(self.means)].tolist()
            low, high = min(shares), max(shares)
            yield Notice(NoticeKind.JUDGED_DIFFERS, "", len(shares), self.name, low=low, high=high)
        for run, share in zip(runs, self.means.tolist(), strict=True):
            if math.isnan(share):
                yield Notice(NoticeKind.JUDGED_UNKNOWN, run, 0, self.name)


def judged_spec(specs: Sequence[Spec], runs: Runs) -> Spec:
    """Judged@k that all saved results among the runs have, or else with the deepest cutoff of the metrics."""
    saved = [set(run.metrics) for _, run in runs if isinstance(run, SavedResult)]
    names = [name for name in set.intersection(*saved) if name.startswith("Judged")] if saved else []
    deepest = max((spec.cutoff or 0 for spec in specs), default=0) or _DEPTH
    common = filter(is_judged, parse(names) if names else ())
    return max(list(common) or parse(f"Judged@{deepest}"), key=lambda spec: spec.cutoff or 0)


def is_judged(spec: Spec) -> bool:
    """Whether it is Judged@k, which says how far the values of other metrics can be compared."""
    return spec.metric.name == "Judged"


def metrics_to_test(specs: Sequence[Spec]) -> list[Spec]:
    """The metrics to test by default: those with a number for each query, but Judged@k if there are others."""
    metrics = list(filter(is_comparable, specs))
    return [spec for spec in metrics if not is_judged(spec)] or metrics


@dataclass(frozen=True)
class Power:
    """The smallest difference shown with power POWER, queries needed for the observed one; NaN without p."""

    smallest: float
    needed: float

    @classmethod
    def of(cls, summary: tests.PairedSummary, alpha: float) -> Power:
        """By the effective number of queries; those that are needed have weights as unequal as these."""
        if math.isnan(summary.effect_size):
            return cls(math.nan, math.nan)
        smallest = smallest_effect_size(summary.effective_n, alpha, POWER) * summary.sd
        needed = queries_needed(summary.effect_size, alpha, POWER)
        if math.isfinite(needed):
            needed = math.ceil(needed * (summary.n / summary.effective_n))
        return cls(smallest, needed)


@dataclass(frozen=True)
class PairComparison:
    """One run against a baseline, by one metric, in its unit. NaN where there is no number."""

    run: str
    baseline: str
    metric: str
    n: int  # pairs of values
    baseline_mean: float  # over these pairs
    mean: float
    difference: float  # mean - baseline_mean
    sd: float  # the standard deviation of the differences
    low: float  # the interval of the estimate
    high: float
    estimate: float  # of PairedTest.estimand
    p: float  # two-sided, uncorrected
    p_corrected: float
    effect_size: float  # difference / sd
    won: int  # queries where the run is better, equal and worse
    tied: int
    lost: int
    verdict: Verdict  # of a significant difference
    method: str
    reason: str = ""  # why there is no p
    power: Power | None = None
    missing: MissingJudgments | None = None  # None where bounds are not asked for

    @property
    def is_short(self) -> bool:
        """Whether it is not tested since a run has too few of the judged queries."""
        return self.reason not in ("", *tests.REASONS)

    @property
    def is_tested(self) -> bool:
        return self.reason in ("", tests.NO_P)

    @property
    def relative(self) -> float:
        """The difference in percent of the baseline's mean, NaN where that is 0."""
        return 100 * self.difference / self.baseline_mean if self.baseline_mean else math.nan

    def to_dict(self) -> dict[str, Any]:
        """The comparison as in JSON: exact numbers, None for those that are not finite."""
        content: dict[str, Any] = exact({**self.fields(), "relative_percent": self.relative})
        power = content.pop("power")
        return content if power is None else {**content, "power": power}

    def fields(self) -> dict[str, Any]:
        """Its fields, those of `missing` among them."""
        fields = asdict(self)
        return fields | (fields.pop("missing") or {})


@dataclass(frozen=True, eq=False)
class Section:
    """The comparisons for a group of queries."""

    group: str | None  # None for all queries
    queries: int  # how many
    means: Floats = field(repr=False)  # (R, M)
    comparisons: tuple[PairComparison, ...] = field(repr=False)  # by pair of runs, then by metric
    anova: tuple[multiple.TwoWayAnova, ...] = field(repr=False)  # for each metric, if asked for
    shortfalls: tuple[str, ...] = ()  # why each run is not tested, '' if it is


@dataclass(frozen=True, eq=False)
class Comparison(WithNotices, Tabular):
    """Runs compared with a baseline, or all with each other.

    >>> comparison = gradeval.compare("qrels.txt", ["bm25.run", "dense.run"], "nDCG@10")
    >>> found = comparison.find("dense", "nDCG@10")
    >>> found.difference, found.p_corrected, comparison.rows()
    """

    layout = "gradeval.commands.compare.layout"

    values: QueryValues  # those of each query
    pairs: Pairs  # in the order of the comparisons
    options: CompareOptions
    sections: tuple[Section, ...]  # all queries, then each group
    # queries with the largest changes, each with its group (None for all queries), kind ('worst' or 'best'),
    # rank among those of its kind in the comparison, names and values
    changes: tuple[dict[str, Any], ...] = ()
    judged: Judged | None = None  # None where unknown, where runs hardly differ in it, or where it is compared
    notices: tuple[Notice, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)  # what was compared, as JSON has it
    failed: tuple[FailedRun, ...] = ()  # the runs that could not be evaluated, and are not compared

    @property
    def comparisons(self) -> tuple[PairComparison, ...]:
        """Those for all queries."""
        return self.sections[0].comparisons

    @property
    def runs_read(self) -> int:
        return len(self.values.runs)

    def find(
        self,
        run: str | int,
        metric: str | Spec | Measure,
        *,
        baseline: str | int | None = None,
        group: str | None = None,
    ) -> PairComparison:
        """One comparison. run, baseline: names or positions; metric: any spelling. Raises GradevalError."""
        names = self.values.runs
        wanted = names[self.values.run(run)]
        name = self.values.metrics[self.values.metric(metric)].name
        baselines = names if baseline is None else [names[self.values.run(baseline)]]
        for section in self.sections:
            for pair in section.comparisons if section.group == group else ():
                if (pair.run, pair.metric) == (wanted, name) and pair.baseline in baselines:
                    return pair
        raise GradevalError(f"there is no such comparison of {wanted}")

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """The object that the json format prints. Numbers are exact; what is not finite is None."""
        content = {
            **document_head("comparison", "comparison_format"),
            **self.inputs,
            "metrics": list(self.values.by_name),
            "warnings": list(lines(self.notices, self.runs_read)),
            "notices": [notice.to_dict() for notice in self.notices],
            "settings": self.settings(),
            **({"failed": failed_to_dicts(self.failed)} if self.failed else {}),
            "runs": self._runs_to_dicts(),
            **self._section_to_dict(self.sections[0]),
        }
        if groups := self.sections[1:]:
            content["groups"] = [{"group": part.group, **self._section_to_dict(part)} for part in groups]
        if self.options.worst or self.options.best:
            content["changes"] = [
                {name: value for name, value in change.items() if name != "group" or value is not None}
                for change in self.changes
            ]
        if per_query:
            by_query = map(self._by_run, self.values.values.transpose(2, 0, 1))
            content["per_query"] = dict(zip(self.values.queries, by_query, strict=True))
        return content

    def _by_run(self, numbers: Floats) -> dict[str, dict[str, Any]]:
        """{run: {metric: number}} of numbers (R, M)."""
        names = self.values.by_name
        rows = (dict(zip(names, row, strict=True)) for row in exact(numbers.tolist()))
        return dict(zip(self.values.runs, rows, strict=True))

    def _runs_to_dicts(self) -> list[dict[str, Any]]:
        values = self.values
        runs: list[dict[str, Any]] = [
            {"name": name, "path": path} for name, path in zip(values.runs, values.paths, strict=True)
        ]
        if self.judged is not None:
            for run, share in zip(runs, exact(self.judged.means.tolist()), strict=True):
                run[self.judged.name] = share
        for run, of_system in zip(runs, values.replicates, strict=False):
            spread = exact(of_system.spread(values.weights).tolist())
            of_metrics = dict(zip(values.by_name, spread, strict=True))
            run |= {"replicates": list(of_system.runs), "spread": of_metrics}
        return runs

    def _section_to_dict(self, section: Section) -> dict[str, Any]:
        content: dict[str, Any] = {"queries": section.queries, "means": self._by_run(section.means)}
        content["comparisons"] = [pair.to_dict() for pair in section.comparisons]
        if section.anova:
            content["anova"] = {}
            for metric, anova in zip(self.values.metrics, section.anova, strict=True):
                sources = {source: exact(vars(of_source)) for source, of_source in anova_sources(anova).items()}
                sizes = {"effect_sizes": exact(anova.effect_sizes.tolist()), "reason": anova.reason}
                content["anova"][metric.name] = {"queries": anova.queries, **sources, **sizes}
        return content

    def settings(self) -> dict[str, Any]:
        """The settings that the numbers depend on. family: how many p-values are corrected together."""
        baseline = None if self.options.all_pairs else self.values.runs[self.pairs[0][0]]
        corrected = self.comparisons if self.options.used_correction != "none" else ()
        family = sum(not math.isnan(pair.p_corrected) for pair in corrected)
        about = {"baseline": baseline, "estimand": ESTIMANDS[self.options.test], "family": family}
        return {**self.options.to_dict(), **about}

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each comparison: its group (None for all queries) and the fields of PairComparison."""
        return [{"group": part.group, **pair.fields()} for part in self.sections for pair in part.comparisons]

    def __repr__(self) -> str:
        runs, metrics, queries = map(len, (self.values.runs, self.values.metrics, self.values.queries))
        counts = f"runs={runs}, metrics={metrics}, queries={queries}"
        return f"Comparison({counts}, test={self.options.test!r}, notices={len(self.warnings)})"


@takes(COMPARED)
def compare(
    qrels: Any,
    runs: Any = None,
    metrics: Metrics | None = None,
    *,
    errors: OnErrors = "raise",
    **options: Unpack[Compare],
) -> Comparison:
    """Compare runs with a baseline, or all with each other.

        >>> gradeval.compare("qrels.txt", ["bm25.run", "dense.run"], "nDCG@10").find("dense", "nDCG@10").p
        >>> gradeval.compare(results, metrics="nDCG@10")

    qrels, runs: as evaluate() takes them; a run may also be Results, or a file of saved ones (Results.save(),
    gradeval -f json -q). Without runs, qrels are results alone: Results, a file of saved ones, or a list of
    these, whose runs are compared. metrics: names; by default those that all results have, or else nDCG@10 and
    AP. errors: as of evaluate(); 'keep' leaves runs that cannot be evaluated in Comparison.failed, unless the
    baseline is one of them. Raises GradevalError.
    """
    check_errors(errors)
    compared_as, evaluation = split_options(options)
    if runs is None:
        results = results_of(qrels, evaluation)
        return warned(compare_results(results, specs_of(results, metrics), compared_as), results.notices)
    bounds = compared_as.bounds
    separate = separate_runs(runs)
    results, compared = evaluate_to_compare(qrels, separate, metrics, evaluation, bounds=bounds)
    if errors == "keep":
        check_baseline(results, separate, compared_as)
    results = accepted(results, errors if len(results.runs) > 1 else "raise")
    return warned(compare_results(results, compared, compared_as), notices_warned(qrels, runs))


def evaluate_to_compare(
    qrels: Any,
    runs: Runs | None,
    metrics: Metrics | None,
    options: Options,
    *,
    more: Sequence[Spec] = (),
    hashes: bool = False,
    shows_queries: bool = False,
    bounds: bool = False,
) -> tuple[Results, list[Spec]]:
    """The results, with Judged@k and `more` too; and the metrics to compare. runs: None where the qrels are
    results. hashes, shows_queries: of Plan. bounds: whether those of differences are wanted.
    """
    if bounds:
        options.replace(bounds=True)  # which is an error with options that leave no bounds
    if runs is None:
        results = results_of(qrels, options)
        compared = specs_of(results, metrics) or metrics_to_test(results.specs)
        comparable_metrics(list(map(str, compared)))
        return results.with_metrics(more), compared
    specs, left_out = ([], Notices()) if metrics is None else comparable_metrics(metrics)
    qrels, opened = with_saved(qrels, runs)
    if not specs:  # none given, or groups without any: those that all saved results have, or the default ones
        left_out = Notices()
        if any(isinstance(run, SavedResult) for _, run in opened):
            specs, left_out = common_metrics(opened, is_judged)
        specs = metrics_to_test(specs or parse(COMPARED_METRICS))
    if bounds:
        check_bounds(specs)
    judged = [] if options.judged_only else [judged_spec(specs, opened)]
    extra = [*(spec for spec in more if spec not in judged), *judged]
    plan = Plan(specs, options, extra=extra, shows_queries=shows_queries, hashes=hashes, keeps_unjudged=bounds)
    results = evaluate_all(plan, qrels, opened)
    return results.replace(given_notices=Notices((*results.notices, *left_out))), specs


def lacks_baseline(results: Results, runs: Runs, options: CompareOptions) -> str:
    """The path of the baseline, one of the (label, run) pairs, where it could not be evaluated; else ''."""
    if options.all_pairs or len(runs) < 2 or not results.failed:
        return ""
    paths = [path_of(run, label or f"run{position}") for position, (label, run) in enumerate(runs, 1)]
    pairs = zip(runs, paths, strict=True)
    names = run_names((label, path, None) for (label, _), path in pairs)
    by_name = {**dict(zip(names, paths, strict=True)), **dict(zip(paths, paths, strict=True))}
    baseline = paths[0] if options.baseline is None else by_name.get(str(options.baseline), "")
    return baseline if baseline in [failed.path for failed in results.failed] else ""


def check_baseline(results: Results, runs: Runs, options: CompareOptions) -> None:
    """Raise the errors of the runs that could not be evaluated where the baseline is one of them."""
    baseline = lacks_baseline(results, runs, options)
    if baseline:
        raise joined_errors(results.failed, InputError(baseline, NO_BASELINE))


def without_relevant(results: Results, spec: Spec) -> set[str]:
    """The queries without a document that is relevant to the metric, where these are known."""
    if results.without_relevant is None:
        return set()
    empty = results.without_relevant[results.specs.index(spec)]
    return {results.queries[q] for q in np.flatnonzero(empty).tolist()}


def compare_results(results: Results, specs: Sequence[Spec] | None, options: CompareOptions) -> Comparison:
    """specs: by default all metrics of the results that have a number for each query, but Judged@k."""
    results.check_values()
    if results.weights is not None:
        options.check_weights()
    if specs is None:
        specs = metrics_to_test(results.specs)
    elif specs:
        comparable_metrics(list(map(str, specs)))
    values = QueryValues.of(results, specs)
    unknown = list[Notice]()
    if options.bounds:
        bounded, unknown = bounded_differences(results, specs, pairs_of(values, options))
        values = replace(values, bounded=bounded)
    values = values.weighing()
    judged = Judged.of(results)
    if options.replicates:
        values = values.of_systems(options.replicates)
        judged = None if judged is None else judged.of_systems(results, values)
    has_value = [~np.isnan(of_run).all(axis=0) for of_run in values.values]
    for baseline, run in pairs_of(values, options):
        first, second = has_value[baseline], has_value[run]
        if first.any() and second.any() and not (first & second).any():
            other, ids = ([values.queries[q] for q in np.flatnonzero(of_run)] for of_run in (first, second))
            hint = "Check the query ids, or average over --queries judged"
            raise no_common_query(values.paths[run], values.runs[baseline], ids, other, hint)
    inputs = {"qrels": results.judged_by, "options": dict(results.options)}
    notices = [*notices_of(results, values), *unknown]
    comparison = compare_values(values, options, notices, judged=judged, inputs=inputs)
    return replace(comparison, failed=results.failed)


def notices_of(results: Results, values: QueryValues) -> Notices:
    return results.notices.of_metrics({*values.by_name})


def compare_values(
    values: QueryValues,
    options: CompareOptions,
    notices: Sequence[Notice] = (),
    *,
    judged: Judged | None = None,
    inputs: Mapping[str, Any] | None = None,
    sections: tuple[Section, ...] = (),
) -> Comparison:
    """notices: what is known of the values. sections: the comparisons made elsewhere. Raises GradevalError."""
    if options.sort is not None:
        values, options, judged = _sorted(values, options, judged)
    pairs = pairs_of(values, options)
    parts = parts_by_group(values, options.by)
    changes: list[dict[str, Any]] = []
    if not sections:
        by_id = {group: part.in_order_of_ids() for group, part in parts.items()}
        sections = tuple(_section(group, by_id[group], parts[group].means, pairs, options) for group in parts)
        notices = [*notices, *_of_few_queries(by_id, pairs)]
        for group, part in by_id.items():
            changes += ({**change, "group": group} for change in _changes(part, pairs, options))
    else:
        notices = [*notices, *_of_few_pairs({None: min(pair.n for pair in sections[0].comparisons)})]
    compared = chain.from_iterable(section.comparisons for section in sections)
    all_notices = [*notices, *without_p(compared, options.min_coverage)]
    counted = np.asarray(~np.isnan(values.values).all(axis=(0, 1)))
    all_notices += group_notices(values.queries, counted, options.by)
    if judged is not None:
        all_notices += judged.notices(values.runs)
        # it is shown beside the comparisons only where runs differ in it, and where it is not among them
        if not judged.differs or judged.name in values.by_name:
            judged = None
    return Comparison(
        values=values,
        pairs=pairs,
        options=options,
        sections=sections,
        changes=tuple(changes),
        judged=judged,
        notices=tuple(all_notices),
        inputs=inputs or {},
    )


def _sorted(
    values: QueryValues, options: CompareOptions, judged: Judged | None
) -> tuple[QueryValues, CompareOptions, Judged | None]:
    """With the runs by the mean of a metric, undefined ones last; the baseline is the run that it was."""
    sort = options.sort or ""
    m = values.metric(sort.removeprefix("-"))
    sign = values.metrics[m].sign * (-1 if sort.startswith("-") else 1)
    order = np.argsort(-sign * values.means[:, m], kind="stable").tolist()
    if not options.all_pairs:
        options = options.replace(baseline=order.index(values.run(options.baseline)))
    if judged is not None:
        judged = replace(judged, means=judged.means[order])
    return values.ordered(order), options, judged


def _section(
    group: str | None, values: QueryValues, means: Floats, pairs: Pairs, options: CompareOptions
) -> Section:
    """The comparisons for the queries of a group, None: for all. values: with the queries in order of their
    ids. means: of the runs, added up in the order of the qrels.
    """
    counted = int((~np.isnan(values.values)).any(axis=(0, 1)).sum())
    metrics = range(len(values.metrics)) if options.anova else ()
    shortfalls = tuple(values.shortfalls(options.min_coverage))
    anova = (_anova(values, m, shortfalls) for m in metrics)
    return Section(
        group, counted, means, tuple(_compared(values, pairs, options)), tuple(anova), shortfalls=shortfalls
    )


def _of_few_queries(parts: Mapping[str | None, QueryValues], pairs: Pairs) -> Iterator[Notice]:
    """The notices of parts of the queries with few pairs of values, by the effective number of queries."""
    sizes = {
        group: min(
            Sample.of(column, part.weights).effective_n for pair in pairs for column in part.differences(*pair)
        )
        for group, part in parts.items()
    }
    is_weighted = parts[None].weights is not None
    return _of_few_pairs(sizes, "weighted" if is_weighted else "")


def _of_few_pairs(sizes: Mapping[str | None, float], rule: str = "") -> Iterator[Notice]:
    """sizes: the fewest queries of a comparison, of all queries (None) and of groups."""
    if sizes[None] < ENOUGH_QUERIES:
        yield Notice(NoticeKind.FEW_QUERIES, "", int(sizes[None]), rule=rule)
    if small := [group for group, n in sizes.items() if group is not None and n < ENOUGH_QUERIES]:
        yield Notice(NoticeKind.SMALL_GROUPS, "", len(small), rule=first_names(small, MAX_QUERIES))


def without_p(pairs: Iterable[PairComparison], min_coverage: float) -> Iterator[Notice]:
    """The notices of comparisons that have no p, though the test has one."""
    few = f"a run has fewer queries than --min-coverage {min_coverage:g} %"
    reasons: Counter[str] = Counter()
    for pair in pairs:
        if math.isnan(pair.p) and math.isnan(pair.p_corrected):
            reasons[few if pair.is_short else pair.reason] += 1
    del reasons[tests.NO_P]
    for reason, count in reasons.items():
        yield Notice(NoticeKind.NO_P, "", count, rule=reason)


def pairs_of(values: QueryValues, options: CompareOptions) -> Pairs:
    """Raises GradevalError where there is no pair."""
    count = len(values.runs)
    if count < 2 and values.replicates:
        raise OptionError("the replicates are all of one system. Give runs of two systems or more")
    if count < 2:
        raise OptionError(f"there is {count or 'no'} run. Give two runs or more")
    if options.all_pairs:
        return tuple(combinations(range(count), 2))
    baseline = values.run(options.baseline)
    return tuple((baseline, run) for run in range(count) if run != baseline)


def parts_by_group(values: QueryValues, groups: Groups) -> dict[str | None, QueryValues]:
    """All queries, then those of each group. Raises InputError where no group has a query of the values."""
    of_groups = positions_of_groups(values.queries, groups)
    parts: dict[str | None, QueryValues] = {None: values}
    for group, positions in of_groups.items():
        parts[group] = values.part(positions, f" of {group}")
    return parts


def _compared(values: QueryValues, pairs: Pairs, options: CompareOptions) -> Iterator[PairComparison]:
    """The comparisons by pair, then by metric. values: with the queries in order of their ids."""
    shortfalls = values.shortfalls(options.min_coverage)
    reasons = [shortfalls[baseline] or shortfalls[run] for baseline, run in pairs]
    tested = [pair for pair, reason in zip(pairs, reasons, strict=True) if not reason]
    if options.test == TUKEY:
        values = values.complete_in(sorted(set(chain(*tested))))
    outcomes = iter(_outcomes(values, tested, options) if tested else ())
    for (baseline, run), reason in zip(pairs, reasons, strict=True):
        for m, (metric, column) in enumerate(
            zip(values.metrics, values.differences(baseline, run), strict=True)
        ):
            summary = tests.summarize(column, values.weights)
            outcome, p = (tests.untested(summary.mean, reason), math.nan) if reason else next(outcomes)
            paired = np.where(np.isnan(column), np.nan, values.values[[baseline, run], m])
            means = [Sample.of(of_run, values.weights).mean for of_run in paired]
            names = values.runs[run], values.runs[baseline], metric
            pair = pair_comparison((*names, means, summary, outcome), p, options)
            if (bounds := values.bounds(baseline, run)) is not None:
                pair = replace(pair, missing=bounds.of(m, column, values.weights))
            yield pair


def _outcomes(
    values: QueryValues, pairs: Sequence[tuple[int, int]], options: CompareOptions
) -> Iterable[tuple[tests.PairedOutcome, float]]:
    """The outcome of the test and its p, corrected, of each pair and metric."""
    sampling = Sampling(options.samples, options.seed, options.jobs or default_jobs())
    if options.test == TUKEY:
        return _tukey_outcomes(values, pairs, options.alpha, sampling)
    differences = np.concatenate([values.differences(*pair) for pair in pairs]).T
    outcomes = tests.paired_tests(options.test, differences, options.alpha, sampling, values.weights)
    if options.used_correction == MAXT:
        corrected = multiple.maxt(differences, sampling, values.weights)
    else:
        p_values = np.array([outcome.p for outcome in outcomes])
        corrected = multiple.CORRECTIONS[options.used_correction](p_values)
    return zip(outcomes, corrected.tolist(), strict=True)


def _tukey_outcomes(
    values: QueryValues, pairs: Sequence[tuple[int, int]], alpha: float, sampling: Sampling
) -> Iterator[tuple[tests.PairedOutcome, float]]:
    """Of the runs in the pairs, metric by metric, by the queries where all of these have a value."""
    runs = sorted(set(chain(*pairs)))
    by_metric = values.values[runs].transpose(1, 2, 0)
    hsd = [multiple.randomized_tukey_hsd(of_metric, alpha, sampling) for of_metric in by_metric]
    for baseline, run in pairs:
        cell = runs.index(run), runs.index(baseline)
        for of_metric, column in zip(hsd, values.differences(baseline, run), strict=True):
            outcome = tests.without_p(Sample.of(column))
            p = math.nan
            if outcome is None:
                difference = float(of_metric.differences[cell])
                p = float(of_metric.p[cell])
                bounds = difference - of_metric.margin, difference + of_metric.margin
                interval = agreeing(bounds, p, alpha, difference)
                outcome = tests.PairedOutcome(math.nan, *interval, difference, of_metric.method)
            yield outcome, p


def _anova(values: QueryValues, m: int, shortfalls: Sequence[str]) -> multiple.TwoWayAnova:
    """The analysis of variance of the values of a metric; NaN for runs that are not tested."""
    tested = [r for r, reason in enumerate(shortfalls) if not reason]
    of_metric = values.values[:, m]
    if len(tested) < 2:
        return multiple.two_way_anova(of_metric.T[:0]).replace(reason=next(filter(None, shortfalls)))
    if any(len(of_system.runs) > 1 for of_system in values.replicates):
        if len({len(values.replicates[r].runs) for r in tested}) > 1:
            raise OptionError(
                "the analysis of variance needs equally many runs of each system. Leave out --anova"
            )
        anova = multiple.replicated_anova([values.replicates[r].values[:, m] for r in tested])
    else:
        anova = multiple.two_way_anova(of_metric[tested].T)
    means = np.full(len(of_metric), np.nan)
    effect_sizes = np.full((len(of_metric), len(of_metric)), np.nan)
    means[tested] = anova.means
    effect_sizes[np.ix_(tested, tested)] = anova.effect_sizes
    return anova.replace(means=means, effect_sizes=effect_sizes)


def anova_sources(anova: multiple.TwoWayAnova) -> dict[str, multiple.VarianceSource]:
    """The rows of the analysis, by name; the interaction of systems and queries only with replicates."""
    sources = {name: getattr(anova, name) for name in SOURCES}
    return {name: source for name, source in sources.items() if source is not None}


def verdict_of(gain: float) -> Verdict:
    """gain: the difference where it is significant, else 0; above 0 where that is better."""
    if gain > 0:
        return "better"
    return "worse" if gain < 0 else ""


def pair_comparison(tested: Tested, p_corrected: float, options: CompareOptions) -> PairComparison:
    run, baseline, metric, (baseline_mean, mean), summary, outcome = tested
    # significant where the corrected p is below alpha; of the bootstrap, where the interval leaves out 0
    if options.test == "bootstrap":
        significant = not outcome.low <= 0 <= outcome.high and outcome.low < outcome.high
    else:
        significant = p_corrected < options.alpha
    gain = metric.sign * outcome.estimate if significant else 0.0
    is_tested = not math.isnan(outcome.low)
    power = None
    if options.power:
        power = Power.of(summary, options.alpha) if is_tested else Power(math.nan, math.nan)
    won, lost = summary.wins, summary.losses
    if metric.sign < 0:
        won, lost = lost, won
    return PairComparison(
        run=run,
        baseline=baseline,
        metric=metric.name,
        n=summary.n,
        baseline_mean=baseline_mean,
        mean=mean,
        difference=summary.mean,
        sd=summary.sd,
        p_corrected=p_corrected,
        effect_size=summary.effect_size if is_tested else math.nan,
        won=won,
        tied=summary.ties,
        lost=lost,
        verdict=verdict_of(gain),
        power=power,
        **vars(outcome),
    )


def _changes(values: QueryValues, pairs: Pairs, options: CompareOptions) -> Iterator[dict[str, Any]]:
    """values: with the queries in order of their ids."""
    kinds = {"worst": (options.worst, 1), "best": (options.best, -1)}
    of_pairs = product(pairs, enumerate(values.metrics), kinds.items()) if options.worst or options.best else ()
    for (baseline, run), (m, metric), (kind, (count, direction)) in of_pairs:
        differences = tests.paired_differences(values.values[baseline, m], values.values[run, m])
        gains = direction * metric.sign * differences
        for rank, q in enumerate((q for q in lowest(gains, count) if gains[q] < 0), 1):
            names = {"run": values.runs[run], "baseline": values.runs[baseline], "metric": metric.name}
            old, new = values.values[[baseline, run], m, q].tolist()
            of_query = {"query": values.queries[q], "baseline_value": old, "value": new}
            yield {"kind": kind, **names, "rank": rank, **of_query, "difference": float(differences[q])}
