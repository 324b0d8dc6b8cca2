"""study reuse: do judgments favour the runs that were pooled for them? Each is evaluated without its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.commands.study.agreement import JudgedCollection, check_systems, collect, means_of
from gradeval.commands.study.options import REUSE_METRICS, ReuseOptions
from gradeval.commands.study.tables import Row, Study, StudyTable, averaged_metrics
from gradeval.errors import InputError, first_names, named
from gradeval.evaluation.caveats import judged_share
from gradeval.evaluation.evaluation import OnErrors, check_errors
from gradeval.evaluation.runs import separate_runs
from gradeval.formats.lines import read_run_groups
from gradeval.options import OF_RUNS, Options, takes
from gradeval.registry.spec import Metrics, Spec
from gradeval.render.printable import warned
from gradeval.statistics.agreement import kendall_tau, levels_of
from gradeval.tables.load import source_of
from gradeval.tables.qrels import is_relevant

if TYPE_CHECKING:
    from gradeval.keywords import ReuseKeywords, Unpack

_COLUMNS = (
    *("metric", "judged_share", "own", "own_relevant", "mean", "without", "difference"),
    *("rank", "rank_without", "tau"),
)


@takes({**ReuseOptions.table, **OF_RUNS})
def reuse(
    qrels: Any,
    runs: Any,
    metrics: Metrics = REUSE_METRICS,
    *,
    teams: Any = None,
    errors: OnErrors = "raise",
    **options: Unpack[ReuseKeywords],
) -> Study:
    """Whether a collection can be reused: what each run loses where its own judged documents are not judged.

        >>> print(gradeval.study.reuse("qrels.txt", ["bm25.run", "dense.run"], "nDCG@10"))

    Of each run: the judged documents that no other run has in its first pool_depth ranks are removed from the
    qrels, and all runs are evaluated again, as if it had not been pooled. A new system, whose documents were
    not pooled, loses about as much. judged_share: the judged share of its first pool_depth ranks; own,
    own_relevant: how many documents are removed; tau: of the orders of the runs before and after.

    qrels, runs, errors: as evaluate() takes them. metrics: names. teams: {run: team}, or a file of 'run TAB
    team' lines: then the documents are those that no run of another team has. Raises InputError, MetricError,
    OptionError. Source: Zobel, "How reliable are the results of large-scale information retrieval
    experiments?", SIGIR 1998.
    """
    specs = averaged_metrics(metrics, orders_systems=True)
    chosen = Options.of(options)
    depth = ReuseOptions.of(options).pool_depth
    check_errors(errors)
    collection, _, failed = collect(qrels, separate_runs(runs), chosen, errors=errors)
    check_systems(collection, failed)
    groups = _Teams.of([run.name for run in collection.runs], teams)
    rows = _rows(collection, specs, groups, depth)
    columns = ("run", *(("team",) if teams is not None else ()), *_COLUMNS)
    study = Study(
        name="reuse",
        options={
            "metrics": [str(spec) for spec in specs],
            "depth": depth,
            "evaluation": collection.options.to_dict(),
        },
        tables=(StudyTable("runs", "Each run without the judgments that it alone contributed", columns, rows),),
        noticed=(tuple(collection.qrels.notices),),
        runs_read=len(collection.runs),
        failed=tuple(failed),
        finding=_finding(specs, rows, columns),
    )
    return warned(study)


class _Teams(NamedTuple):
    """The teams of runs; each run is its own by default."""

    names: list[str]  # of the teams
    number: Ints  # of each run's team, (R,)
    is_given: bool

    @classmethod
    def of(cls, runs: Sequence[str], teams: Any) -> _Teams:
        """Raises InputError(s) for a run that is none of these."""
        team_of: Mapping[str, str] = {}
        if teams is not None:
            is_file = not isinstance(teams, Mapping)
            team_of = read_run_groups(source_of(teams), "team") if is_file else teams
            if unknown := [run for run in team_of if run not in runs]:
                path = source_of(teams).name if is_file else "teams"
                hint = f"The runs are {first_names(map(named, runs), 5)}"
                raise InputError(path, f"there is no run {named(unknown[0])}", hint=hint)
        of_runs = [str(team_of.get(run, run)) for run in runs]
        names = list(dict.fromkeys(of_runs))
        return cls(names, np.array([names.index(team) for team in of_runs]), teams is not None)


def _rows(collection: JudgedCollection, specs: Sequence[Spec], teams: _Teams, depth: int) -> list[Row]:
    """A row for each run and metric."""
    grade = collection.qrels.grade
    queries = np.flatnonzero(collection.chosen)
    is_evaluated = np.repeat(collection.chosen, np.diff(collection.qrels.offsets))
    has_own = np.array([run.reduced.rank <= depth for run in collection.runs])
    of_teams = np.array([has_own[teams.number == team].any(axis=0) for team in range(len(teams.names))])
    is_own = of_teams & (of_teams.sum(axis=0) == 1) & is_evaluated
    relevant = is_relevant(grade, collection.options.rel)
    shares = [judged_share(collection.qrels, run.reduced, collection.chosen, depth) for run in collection.runs]
    before = _means(collection, specs, grade, queries)
    rows = {}
    for team, own in enumerate(is_own):
        after = _means(collection, specs, np.where(own, np.nan, grade), queries)
        of_specs = [_Orders(spec, before[m], after[m]) for m, spec in enumerate(specs)]
        for run in np.flatnonzero(teams.number == team).tolist():
            label = (collection.runs[run].name, *((teams.names[team],) if teams.is_given else ()))
            counts = int(own.sum()), int((own & relevant).sum())
            rows[run] = [(*label, str(o.spec), shares[run], *counts, *o.of(run)) for o in of_specs]
    return [row for run in sorted(rows) for row in rows[run]]


def _means(collection: JudgedCollection, specs: Sequence[Spec], grade: Floats, queries: Ints) -> Floats:
    """The mean of each metric and run by these grades, NaN where not judged, (M, R)."""
    return means_of(specs, collection.judged_by(collection.qrels, grade, queries).evaluated(specs))


class _Orders(NamedTuple):
    """The means of the runs by a metric, before and after."""

    spec: Spec
    before: Floats
    after: Floats

    def of(self, run: int) -> Row:
        """The mean before and after, the difference, the rank before and after, and τ."""
        sign = 1 if self.spec.metric.higher_is_better else -1
        levels = [levels_of(sign * means) for means in (self.before, self.after)]
        ranks = [int((level > level[run]).sum()) + 1 for level in levels]
        before, after = float(self.before[run]), float(self.after[run])
        return (before, after, after - before, *ranks, kendall_tau(*levels))


def _finding(specs: Sequence[Spec], rows: Sequence[Row], columns: Sequence[str]) -> str:
    """The largest change of each metric, and how many runs change their rank."""
    tables = [dict(zip(columns, row, strict=True)) for row in rows]
    parts = []
    for spec in specs:
        of_metric = [row for row in tables if row["metric"] == str(spec)]
        changes = {str(row["run"]): float(row["difference"] or 0.0) for row in of_metric}
        largest = max(changes, key=lambda run: abs(changes[run]))
        moved = sum(row["rank"] != row["rank_without"] for row in of_metric)
        part = (
            f"{spec} changes by up to {changes[largest]:+.4f} ({largest}), and {moved} of {len(of_metric)} runs"
        )
        parts.append(f"{part} have another rank")
    return "; ".join(parts) + "."
