"""What changed between rankings, without judgments: diff() makes a Diff."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.commands.compare.compare import QueryValues, comparable_metrics
from gradeval.commands.diff.moved import ChangedQuery, GradeLevels, MovedDocument, changed_query, moved_by_grade
from gradeval.commands.diff.options import DiffOptions
from gradeval.commands.diff.rankings import Baseline, Compared, ComparedRun, DiffedRuns, compare_rankings
from gradeval.errors import GradevalError, OptionError
from gradeval.evaluation.evaluation import OnErrors, check_errors, evaluate_all
from gradeval.evaluation.plan import Plan
from gradeval.evaluation.results import FailedRun, failed_to_dicts
from gradeval.evaluation.runs import separate_runs
from gradeval.formats.lines import read_texts
from gradeval.notices import MAX_QUERIES, NO_TITLE, Notice, NoticeKind
from gradeval.options import OF_RUNS, Options, takes
from gradeval.registry.spec import Metrics
from gradeval.render.document import exact
from gradeval.render.printable import Tabular, WithNoticeGroups, warned
from gradeval.tables.load import NOTHING_JUDGED, OpenedQrels, is_path, open_qrels, source_of
from gradeval.tables.qrels import Qrels
from gradeval.version import __version__, schema_of

if TYPE_CHECKING:
    from gradeval.keywords import DiffKeywords, Unpack

ALL = "all"  # the query id of the means


@dataclass(frozen=True, eq=False)
class RunDiff:
    """One run compared with the old one."""

    name: str
    path: str
    queries: Sequence[str]  # those in both, in the order of the old run
    values: Floats  # of each measure, (M, Q), NaN where one is undefined
    only_old: int  # how many queries only the old run has
    only_new: int
    worst: tuple[ChangedQuery, ...] = ()
    # of metrics, NEW - OLD: (K, J) for J judged queries
    judged_queries: Sequence[str] = ()
    differences: Floats = field(default_factory=lambda: np.empty((0, 0)))


@dataclass(frozen=True, eq=False, repr=False)
class Diff(WithNoticeGroups, Tabular):
    """What changed between an old run and others.

    >>> change = gradeval.diff("bm25.run", "dense.run")
    >>> change.value("RBO"), change.rows()
    """

    layout = "gradeval.commands.diff.layout"

    old: str  # the name of the old run
    path: str
    runs: tuple[RunDiff, ...]
    measures: tuple[str, ...]
    options: DiffOptions
    metrics: tuple[str, ...] = ()  # of the differences of values
    grades: tuple[str, ...] = ()  # by which the documents that moved are counted, as measures name them
    texts: Mapping[str, str] = field(default_factory=dict)  # of documents side by side
    inputs: Mapping[str, Any] = field(default_factory=dict)  # the qrels and the options, as JSON has them
    noticed: tuple[tuple[Notice, ...], ...] = ()
    failed: tuple[FailedRun, ...] = ()  # the runs that could not be read, and are left out

    @property
    def runs_read(self) -> int:
        return 1 + len(self.runs)

    def __repr__(self) -> str:
        names = ", ".join(run.name for run in self.runs)
        return f"Diff(old={self.old!r}, runs={names!r}, measures={len(self.measures)})"

    def columns(self, run: RunDiff) -> Iterator[tuple[str, Sequence[str], Floats]]:
        """The name of each measure, and of each metric, with its queries and its values."""
        for name, values in zip(self.measures, run.values, strict=True):
            yield name, run.queries, values
        for name, values in zip(self.metrics, run.differences, strict=True):
            yield name, run.judged_queries, values

    def rows(self, *, per_query: bool = False) -> list[dict[str, Any]]:
        """A dict for each run and measure: run, query ('all', or with per_query each), metric, value."""
        rows = []
        for run in self.runs:
            for metric, queries, values in self.columns(run):
                pairs = zip(queries, values.tolist(), strict=True) if per_query else [(ALL, mean(values))]
                rows += [{"run": run.name, "query": q, "metric": metric, "value": v} for q, v in pairs]
        return rows

    def value(self, metric: str, run: str | None = None) -> float:
        """The mean of a measure, of the first run by default. Raises GradevalError."""
        for row in self.rows():
            if row["metric"] == metric and run in (None, row["run"]):
                return float(row["value"])
        names = [compared.name for compared in self.runs]
        if run not in (None, *names):
            raise GradevalError(f"unknown run {run}: these are {', '.join(names)}")
        raise GradevalError(f"unknown measure {metric}: these are {', '.join((*self.measures, *self.metrics))}")

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """The object that the json format prints. Numbers are exact; what is undefined is None."""
        return {
            "gradeval": __version__,
            "schema": schema_of("diff"),
            "old": {"name": self.old, "path": self.path},
            **self.inputs,
            "settings": {
                "p": self.options.p,
                "rbo_ties": self.options.rbo_ties,
                "k": list(self.options.k),
                "depth": self.options.diff_depth,
            },
            "measures": list(self.measures),
            "metrics": list(self.metrics),
            "notices": [notice.to_dict() for notice in self.notices],
            "failed": failed_to_dicts(self.failed),
            "runs": [self._content(run, per_query) for run in self.runs],
        }

    def _content(self, run: RunDiff, per_query: bool) -> dict[str, Any]:
        columns = list(self.columns(run))
        undefined = {name: int(np.isnan(values).sum()) for name, _, values in columns}
        content: dict[str, Any] = {
            "name": run.name,
            "path": run.path,
            "queries": len(run.queries),
            "only_old": run.only_old,
            "only_new": run.only_new,
            "summary": exact({name: mean(values) for name, _, values in columns}),
            "undefined": {name: count for name, count in undefined.items() if count},
        }
        if per_query:
            tables: dict[str, dict[str, float]] = {}
            for name, queries, values in columns:
                for query, value in zip(queries, values.tolist(), strict=True):
                    tables.setdefault(query, {})[name] = value
            content["per_query"] = exact(tables)
        if self.options.worst:
            content["worst"] = [_side_by_side(query) for query in run.worst]
        return content


def _side_by_side(changed: ChangedQuery) -> dict[str, Any]:
    def documents(side: Sequence[MovedDocument]) -> list[dict[str, Any]]:
        return [{"rank": rank, **document._asdict()} for rank, document in enumerate(side, 1)]

    sides = {"old": documents(changed.old), "new": documents(changed.new)}
    return dict(exact({"query": changed.query, "RBO": changed.rbo, **sides}))


def mean(values: Floats) -> float:
    """Over the queries with a value, added one by one; NaN without any."""
    defined = values[~np.isnan(values)]
    return float(np.cumsum(defined)[-1]) / len(defined) if len(defined) else np.nan


@takes({**DiffOptions.table, **OF_RUNS})
def diff(
    old: Any,
    new: Any,
    metrics: Metrics | None = None,
    *,
    qrels: Any = None,
    text: Any = None,
    errors: OnErrors = "raise",
    **options: Unpack[DiffKeywords],
) -> Diff:
    """What changed between an old run and others, without judgments, over the queries in both.

        >>> change = gradeval.diff("old.run", "new.run")
        >>> assert change.value("RBO") > 0.95, change

    RBO, with its lowest and highest value whatever follows below the lists; overlap@k, jaccard@k and AO@k of
    the first k documents; Kendall's tau-b of the scores and the AP correlation tau_ap of the documents in both;
    same@1, same@k, same_set@k: whether the first k are the same, in order or as a set; and how many documents
    are new, lost, up and down in the first k. Means over queries are shares of queries, or numbers.

    old: a run as evaluate() takes one. new: one or several. qrels: as evaluate() takes them; then the documents
    that moved are counted by grade. metrics: with qrels, the differences NEW - OLD of these too.
    text: titles or texts of documents, {document: text} or a file as explain() takes. errors: 'keep' leaves
    runs that cannot be read in Diff.failed. query_ids: some of the old run's queries. depth is that of metrics.
    Raises InputError, OptionError, MetricError.
    Source: Webber, Moffat and Zobel, "A similarity measure for indefinite rankings", TOIS 2010; ties: Corsi and
    Urbano, "The treatment of ties in rank-biased overlap", SIGIR 2024.
    """
    check_errors(errors)
    runs = DiffedRuns.of(separate_runs(old), separate_runs(new))
    chosen = DiffOptions.of(options), Options.of(options, without=DiffOptions.table)
    made = diff_of(runs, *chosen, qrels=qrels, metrics=metrics, text=text)
    for failed in made.failed if errors == "raise" else ():
        raise failed.error
    return warned(made)


def diff_of(
    runs: DiffedRuns,
    options: DiffOptions,
    evaluation: Options,
    *,
    qrels: Any = None,
    metrics: Metrics | None = None,
    text: Any = None,
) -> Diff:
    """diff() with its options checked; it warns of nothing. Runs that cannot be read are in Diff.failed. Raises
    GradevalError for the old run, the qrels and the options, and where no other run can be read.
    """
    if metrics is not None and qrels is None:
        raise OptionError("metrics need qrels")
    runs = runs.opened()
    has_qrels = qrels is not None
    judged = open_qrels(qrels, evaluation) if has_qrels else NOTHING_JUDGED
    shown = max(options.k) if options.worst or has_qrels else 0
    compared = compare_rankings(runs, options, evaluation, judged=judged, shown=shown)
    baseline = compared.baseline
    levels = GradeLevels.of(judged.qrels) if has_qrels else None
    of_runs = [_run_diff(run, compared, options, judged.qrels, levels) for run in compared.runs]
    judged_by = {"qrels": judged.qrels.path} if has_qrels else {}
    made = Diff(
        baseline.name,
        baseline.qrels.path,
        tuple(run for _, run in of_runs),
        of_runs[0][0] if of_runs else (),
        options,
        grades=() if levels is None else tuple(levels.names),
        inputs={**judged_by, "options": evaluation.to_dict()},
        noticed=(tuple(_notices(compared, options)),),
        failed=tuple(compared.failed),
    )
    if metrics is not None:
        made = _with_metrics(made, runs, judged, metrics, evaluation)
    if not made.runs:
        raise made.failed[0].error
    return made if text is None else _with_texts(made, text)


def _run_diff(
    run: ComparedRun, compared: Compared, options: DiffOptions, qrels: Qrels, levels: GradeLevels | None
) -> tuple[tuple[str, ...], RunDiff]:
    """The names of the measures, and their values. levels: by which documents that moved are counted."""
    baseline = compared.baseline
    in_both = compared.in_both(run)
    counts = {} if levels is None else moved_by_grade(baseline, run, qrels, levels, options.k)
    values = np.concatenate([run.values, *(count[None] for count in counts.values())])[:, in_both]
    lowest = in_both[np.argsort(values[0], kind="stable")][: options.worst]
    return (*run.measures, *counts), RunDiff(
        run.name,
        run.path,
        [baseline.queries[q] for q in in_both.tolist()],
        values,
        only_old=len(compared.chosen) - len(in_both),
        only_new=run.new_queries,
        worst=tuple(changed_query(baseline, run, q, qrels) for q in lowest.tolist()),
    )


def _with_metrics(
    diff: Diff, runs: DiffedRuns, judged: OpenedQrels, metrics: Metrics, evaluation: Options
) -> Diff:
    """With the differences of metrics. Raises GradevalError for those of the old run."""
    specs, left_out = comparable_metrics(metrics)
    results = evaluate_all(Plan(specs, evaluation, is_part=True), judged, [runs.old, *runs.new])
    for failed in results.failed:
        if failed.path == diff.path:
            raise failed.error
    values = QueryValues.of(results, specs)
    unread = list(range(1, len(values.runs)))
    of_runs = []
    for run in diff.runs:
        r = next((r for r in unread if values.paths[r] == run.path), None)
        if r is not None:
            unread.remove(r)
            queries = list(values.queries)
            of_runs.append(replace(run, judged_queries=queries, differences=values.differences(0, r)))
    known_failed = {run.path for run in diff.failed}
    return replace(
        diff,
        runs=tuple(of_runs),
        metrics=tuple(metric.name for metric in values.metrics),
        noticed=((*diff.notices, *left_out, *results.notices),),
        failed=(*diff.failed, *(run for run in results.failed if run.path not in known_failed)),
    )


def _with_texts(diff: Diff, text: Any) -> Diff:
    """With the texts of the documents that are shown. text: that of diff()."""
    if not is_path(text):
        return replace(diff, texts=dict(text))
    worst = [changed for run in diff.runs for changed in run.worst]
    documents = {document.id for changed in worst for document in (*changed.old, *changed.new)}
    texts = read_texts(source_of(text), documents)
    notice = Notice(NoticeKind.NO_TITLES, source_of(text).name, 0, rule=NO_TITLE)
    notices = diff.notices if texts or not documents else (*diff.notices, notice)
    return replace(diff, texts=texts, noticed=(notices,))


def _notices(compared: Compared, options: DiffOptions) -> Iterator[Notice]:
    """Warnings about the lines of all runs, the depth, undefined values, and queries that only some have."""
    baseline = compared.baseline
    sides: list[Baseline | ComparedRun] = [baseline, *compared.runs]
    for side in sides:
        yield from side.notices.renamed(side.name)
        if side.cut:
            yield Notice(NoticeKind.CUT, side.name, side.cut, rule=f"{options.diff_depth:,}")
    for run in compared.runs:
        missing = compared.chosen[~run.in_both[compared.chosen]]
        if len(missing):
            ids = tuple(baseline.queries[q] for q in missing[:MAX_QUERIES].tolist())
            yield Notice(NoticeKind.ONLY_OLD, run.name, len(missing), queries=ids, rule=baseline.name)
        if count := run.new_queries:
            yield Notice(NoticeKind.ONLY_NEW, run.name, count, queries=run.new_ids, rule=baseline.name)
        for name, values in zip(run.measures, run.values[:, compared.in_both(run)], strict=True):
            if undefined := int(np.isnan(values).sum()):
                yield Notice(NoticeKind.UNDEFINED, run.name, undefined, name, informational=True)
