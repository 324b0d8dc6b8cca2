"""The values of several runs for the same queries, and how much of the runs was judged: what comparisons, gates
and batches are made of.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.errors import GradevalError, MetricError
from gradeval.evaluation.findings import Quantiles, apart, left_out_of_groups
from gradeval.evaluation.results import Results
from gradeval.evaluation.runs import Runs, SavedResult
from gradeval.notices import Kind, Notice
from gradeval.registry.spec import Spec, parse, usable
from gradeval.statistics.tests import paired_differences

LARGEST = 1e150
"""The largest magnitude of a value: sums of squares stay finite."""

JUDGED_APART = 0.05  # a larger difference in the share of judged documents is shown
_DEPTH = 10  # of Judged@k where no metric has a cutoff


@dataclass(frozen=True)
class ComparedMetric:
    """A metric. name: canonical; display: as tables show it. higher_is_better: None where neither is."""

    name: str
    display: str
    higher_is_better: bool | None = True

    @classmethod
    def of(cls, spec: Spec) -> ComparedMetric:
        return cls(str(spec), spec.display, spec.metric.higher_is_better)

    @property
    def sign(self) -> int:
        """The sign that makes better differences positive."""
        return -1 if self.higher_is_better is False else 1


@dataclass(frozen=True, eq=False)
class QueryValues:
    """The values of R runs for M metrics and Q queries.

    queries: ids in the order of the input. values: (R, M, Q), NaN where a value is undefined or a query does
    not count. paths: of the runs, as the user gave them.
    """

    queries: tuple[str, ...] = field(repr=False)
    runs: tuple[str, ...]
    paths: tuple[str, ...]
    metrics: tuple[ComparedMetric, ...]
    values: Floats = field(repr=False)

    def __post_init__(self) -> None:
        for column, of_runs in zip(self.metrics, np.moveaxis(self.values, 1, 0), strict=True):
            for run, values in zip(self.runs, of_runs, strict=True):
                if (np.abs(values) > LARGEST).any():
                    what = f"{column.name} of {run} has values beyond {LARGEST:g}, which cannot be compared"
                    raise MetricError(what)

    @classmethod
    def of(cls, results: Results, specs: Iterable[Spec]) -> QueryValues:
        """The values of these metrics, which have a number for each query."""
        places = [results.specs.index(spec) for spec in specs]
        size = (len(results.runs), len(places), len(results.queries))
        values = [[results.values(r, m) for m in places] for r in range(len(results.runs))]
        return cls(
            tuple(results.queries),
            tuple(run.name for run in results.runs),
            tuple(run.path for run in results.runs),
            tuple(ComparedMetric.of(results.specs[m]) for m in places),
            np.array(values, np.float64).reshape(size),
        )

    @property
    def by_id(self) -> Ints:
        """The positions of the queries in order of their ids as bytes, (Q,).

        Random signs belong to rows: in this order they do not depend on that of the input.
        """
        return order_of_ids(self.queries)

    @property
    def means(self) -> Floats:
        """The mean of each run and metric over the queries with a value, (R, M); NaN where there is none.

        Added one by one in the order of the queries, as an evaluation adds them.
        """
        defined = ~np.isnan(self.values)
        total = np.cumsum(np.where(defined, self.values, 0.0), axis=2)[..., -1:].sum(axis=2)
        with np.errstate(invalid="ignore"):
            means: Floats = total / defined.sum(axis=2)
        return means

    def differences(self, baseline: int, run: int) -> Floats:
        """run - baseline, (M, Q), NaN where either has no value."""
        return paired_differences(self.values[baseline], self.values[run])

    def select(self, which: Bools | Ints) -> QueryValues:
        """The same for some of the queries, or in another order."""
        positions = np.arange(len(self.queries))[which].tolist()
        queries = tuple(self.queries[q] for q in positions)
        return QueryValues(queries, self.runs, self.paths, self.metrics, self.values[..., positions])

    def run(self, named: str | int) -> int:
        """The position of a run, by its name, its path or its position. Raises GradevalError."""
        if isinstance(named, int):
            if -len(self.runs) <= named < len(self.runs):
                return named % len(self.runs)
            raise GradevalError(f"there is no run {named}: there are {len(self.runs)}")
        for names in (self.runs, self.paths):
            if named in names:
                return names.index(named)
        if named == "-" and "<stdin>" in self.paths:
            return self.paths.index("<stdin>")
        raise GradevalError(f"no run is named '{named}': there are {', '.join(self.runs)}")

    def metric(self, named: str | Spec) -> int:
        """The position of a metric, by any spelling. Raises MetricError."""
        names = [column.name for column in self.metrics]
        if str(named) in names:
            return names.index(str(named))
        specs = [str(spec) for spec in parse(named)] if isinstance(named, str) else []
        if len(specs) == 1 and specs[0] in names:
            return names.index(specs[0])
        raise MetricError(f"{named} was not compared", hint="there are " + ", ".join(names))


def order_of_ids(queries: Sequence[str]) -> Ints:
    """The positions of the queries in order of their ids as bytes, (Q,)."""
    ids = [query.encode("utf-8", "surrogateescape") for query in queries]
    return np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)


def lowest(values: Floats, by_id: Ints, count: int) -> list[int]:
    """The positions of the lowest values (Q,) that are not NaN, the lowest first; equal ones by id.

    by_id: the positions of the queries in order of their ids.
    """
    ordered = values[by_id]
    # rounding must not decide which of two equal values is the lower one
    rounded = np.round(ordered / (np.nanmax(np.abs(ordered), initial=0.0) or 1.0), 12)
    order = np.argsort(rounded, kind="stable")[:count]  # NaN sort last
    positions: list[int] = by_id[order[~np.isnan(rounded[order])]].tolist()
    return positions


def comparable(specs: Sequence[Spec]) -> list[Spec]:
    """The metrics that have a number for each query, whose mean is the metric's value."""
    return [spec for spec in specs if spec.metric.per_query and not spec.metric.text]


def comparable_metrics(
    metrics: str | Iterable[str], why: str = "so runs cannot be compared by it"
) -> tuple[list[Spec], tuple[Notice, ...]]:
    """The metrics that have a number for each query, and a notice of those of groups that have none.

    why: that one which is named itself is an error. Raises MetricError.
    """
    specs, left_out = usable(metrics, lambda spec: bool(comparable([spec])), lambda spec: _refused(spec, why))
    return specs, left_out_of_groups(left_out)


def _refused(spec: Spec, why: str) -> MetricError:
    return MetricError(f"{spec} has no value for each query, {why}")


def check_comparable(specs: Sequence[Spec], why: str = "so runs cannot be compared by it") -> None:
    """Raise MetricError for the first metric that has no number for each query. why: that is an error."""
    for spec in specs:
        if spec not in comparable([spec]):
            raise _refused(spec, why)


def missing_notices(results: Results, r: int) -> list[Notice]:
    """The notices of judged queries that a run lacks."""
    name = results.runs[r].name
    return [notice for notice in results.notices if notice.kind is Kind.MISSING and notice.subject == name]


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
        return cls(str(spec), means, differs_by_depth([run.depths for run in results.runs], spec))

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
                yield Notice(Kind.JUDGED_UNKNOWN, run, 0, self.name)


def judged_mean(results: Results, r: int, spec: Spec) -> float:
    """The mean of Judged@k over the queries that the run has."""
    values = results.values(r, spec)
    known = values[~np.isnan(values)]
    return share(results, r, math.fsum(known.tolist()), len(known))


def share(results: Results, r: int, total: float, n: int) -> float:
    """The mean over the queries that the run has, of n values with this total: 0 for a query that it lacks."""
    missing = sum(notice.count for notice in missing_notices(results, r) if notice.rule != "both")
    return total / (n - missing) if n > missing else math.nan


def differs_by_depth(depths: Iterable[Quantiles | None], spec: Spec) -> bool:
    """Whether runs differ in depth within the cutoff of Judged@k."""
    found = apart([("", of_run) for of_run in depths])
    return found is not None and (spec.cutoff or math.inf) > found[1][1]


def judged_spec(specs: Sequence[Spec], runs: Runs) -> Spec:
    """Judged@k that all saved results among the runs have, or else with the deepest cutoff of the metrics."""
    saved = [set(run.metrics) for _, run in runs if isinstance(run, SavedResult)]
    if saved:
        names = sorted(name for name in set.intersection(*saved) if name.startswith("Judged"))
        common = [spec for spec in parse(names) if is_judged(spec)] if names else []
        if common:
            return max(common, key=_cutoff)
    [spec] = parse(f"Judged@{max(map(_cutoff, specs), default=0) or _DEPTH}")
    return spec


def is_judged(spec: Spec) -> bool:
    """Whether it is Judged@k, which says how far the values of other metrics can be compared."""
    return spec.metric.name == "Judged"


def without_judged(specs: Sequence[Spec]) -> list[Spec]:
    """The metrics to test by default: all but Judged@k, if there are others."""
    return [spec for spec in specs if not is_judged(spec)] or list(specs)


def _cutoff(spec: Spec) -> int:
    cutoff = None if spec.metric.at is None else spec.params.get(spec.metric.at.name)
    return cutoff if isinstance(cutoff, int) else 0
