"""Collections × systems: means, their averages over the collections, significance against a baseline.

batch              a manifest -> Batch
evaluate_batch     the same for the command: cells as they are made, those of an earlier output kept
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from gradeval.analysis.compare import compare_results
from gradeval.analysis.comparison import PairComparison, Verdict
from gradeval.analysis.options import CompareOptions
from gradeval.analysis.stats.corrections import holm
from gradeval.analysis.values import ComparedMetric, comparable
from gradeval.arrays.threads import default_jobs, ordered_map
from gradeval.errors import GradevalError, InputError, InputErrors, MetricError, OptionError
from gradeval.evaluation import evaluate_all
from gradeval.formats.cells import read_cells
from gradeval.formats.manifest import Collection, Manifest, manifest_of, read_manifest
from gradeval.formats.sources import Source
from gradeval.notices import MAX_SUBJECTS, Kind, Notice, lines
from gradeval.options import DEFAULT_METRICS, Options
from gradeval.registry.metric import Kind as MetricKind
from gradeval.registry.spec import Spec, parse
from gradeval.results import FailedRun, Results
from gradeval.version import __version__

FORMAT_VERSION = 1
_TEST = CompareOptions(correction="none")  # the p-values are corrected over the whole table
ALPHA = _TEST.alpha

Status = Literal["done", "missing", "failed"]
Key = tuple[str, str]
"""(collection, system)."""


class Value(NamedTuple):
    """The summary of a metric. n: how many queries have a value. NaN where none has."""

    mean: float
    n: int


@dataclass(frozen=True, eq=False)
class Cell:
    """A system on a collection. status: 'missing' without a run, 'failed' if it cannot be evaluated.

    path, sha256: of the run. qrels_sha256: of the judgments. options: of the evaluation, as JSON types.
    values, comparisons: by the canonical name of the metric. baseline_sha256: of the run compared with.
    """

    collection: str
    system: str
    path: str
    status: Status = "done"
    sha256: str | None = None
    qrels_sha256: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Value] = field(default_factory=dict)
    comparisons: Mapping[str, PairComparison] = field(default_factory=dict)
    baseline: str | None = None
    baseline_sha256: str | None = None
    notices: tuple[Notice, ...] = ()
    errors: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The cell as JSON has it."""
        return {
            "gradeval": __version__,
            "collection": self.collection,
            "system": self.system,
            "status": self.status,
            "path": self.path,
            "sha256": self.sha256,
            "qrels_sha256": self.qrels_sha256,
            "options": dict(self.options),
            "values": {name: {"mean": _exact(of.mean), "n": of.n} for name, of in self.values.items()},
            "baseline": self.baseline,
            "baseline_sha256": self.baseline_sha256,
            "comparisons": {name: one.to_dict() for name, one in self.comparisons.items()},
            "notices": [notice.to_dict() for notice in self.notices],
            "errors": list(self.errors),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Cell:
        """The cell that to_dict wrote. Raises ValueError, TypeError, KeyError, AttributeError."""
        values = {str(name): Value(_number(of["mean"]), int(of["n"])) for name, of in content["values"].items()}
        return cls(
            str(content["collection"]),
            str(content["system"]),
            str(content["path"]),
            content["status"],
            content["sha256"],
            content["qrels_sha256"],
            dict(content["options"]),
            values,
            {str(name): PairComparison.from_dict(one) for name, one in content["comparisons"].items()},
            content["baseline"],
            content["baseline_sha256"],
            tuple(Notice.from_dict(one, str(one["subject"])) for one in content["notices"]),
        )


@dataclass(frozen=True, eq=False)
class BatchCollection:
    """A collection of a batch. specs: its metrics."""

    name: str
    qrels: str
    specs: tuple[Spec, ...]


@dataclass(frozen=True, eq=False)
class Batch:
    """Collections × systems. path: of the manifest. baseline: the system that others are compared with.

    cells: by (collection, system). pool: whether averages are over all queries together, instead of the mean of
    the collections.
    """

    path: str
    systems: tuple[str, ...]
    collections: tuple[BatchCollection, ...]
    cells: Mapping[Key, Cell] = field(repr=False)
    baseline: str | None = None
    pool: bool = False

    @cached_property
    def specs(self) -> tuple[Spec, ...]:
        """The metrics of all collections."""
        return tuple(dict.fromkeys(spec for collection in self.collections for spec in collection.specs))

    def having(self, spec: Spec) -> tuple[BatchCollection, ...]:
        """The collections that have the metric."""
        return tuple(one for one in self.collections if spec in one.specs)

    def value(self, collection: str, system: str, metric: str | Spec) -> float:
        """The mean of a cell; NaN where it is missing or undefined."""
        spec = self._spec(metric)
        cell = self.cells.get((collection, system))
        if cell is None:
            raise GradevalError(f"no cell of {system} on {collection}")
        return cell.values[str(spec)].mean if str(spec) in cell.values else math.nan

    def average(self, system: str, metric: str | Spec) -> float:
        """The average over the collections that have the metric; NaN if the system lacks a value for one."""
        spec = self._spec(metric)
        cells = [self.cells.get((one.name, system)) for one in self.having(spec)]
        if system not in self.systems:
            raise GradevalError(f"no system {system}: the systems are {', '.join(self.systems)}")
        values = [cell.values[str(spec)] for cell in cells if cell is not None and str(spec) in cell.values]
        return (pooled if self.pool else macro)(spec, values) if len(values) == len(cells) else math.nan

    @property
    def comparisons(self) -> dict[tuple[str, str, str], PairComparison]:
        """(collection, system, metric) -> the comparison with the baseline."""
        return {(*key, name): one for key, cell in self.cells.items() for name, one in cell.comparisons.items()}

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What a user should know; the subject of a notice about a run is COLLECTION/SYSTEM."""
        return tuple(
            dict.fromkeys([*self._missing(), *(one for cell in self.cells.values() for one in cell.notices)])
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notices as text, a line for each kind."""
        return tuple(lines(self.notices, len(self.cells)))

    def _missing(self) -> Iterator[Notice]:
        missing = [
            f"{cell.collection}/{cell.system}" for cell in self.cells.values() if cell.status == "missing"
        ]
        if missing:
            names = ", ".join(missing[:MAX_SUBJECTS]) + (", …" if len(missing) > MAX_SUBJECTS else "")
            yield Notice(Kind.MISSING_RUNS, "", len(missing), rule=names, total=len(self.cells))

    def _spec(self, metric: str | Spec) -> Spec:
        specs = parse(metric) if isinstance(metric, str) else [metric]
        if len(specs) != 1 or specs[0] not in self.specs:
            names = ", ".join(map(str, self.specs))
            raise MetricError(f"{metric} was not evaluated", hint=f"the metrics are {names}")
        return specs[0]

    def averages(self) -> dict[str, dict[str, float | None]]:
        """System -> metric -> average, as JSON has it."""
        return {
            system: {str(spec): _exact(self.average(system, spec)) for spec in self.specs}
            for system in self.systems
        }

    def to_dict(self) -> dict[str, Any]:
        """The object that the json format prints. Numbers are exact, undefined is None."""
        return {
            "gradeval": __version__,
            "format": FORMAT_VERSION,
            "manifest": self.path,
            "systems": list(self.systems),
            "collections": [
                {"name": one.name, "qrels": one.qrels, "metrics": list(map(str, one.specs))}
                for one in self.collections
            ],
            "baseline": self.baseline,
            "warnings": list(self.warnings),
            "cells": [cell.to_dict() for cell in self.cells.values()],
            "average": "pool" if self.pool else "macro",
            "averages": self.averages(),
        }

    def render(
        self, format: str = "table", *, digits: int | Literal["full"] = 4, spreadsheet: bool = False
    ) -> str:
        """The batch as text in one of the formats of gradeval.render.batch."""
        from gradeval.render.batch import render

        return render(self, format, digits=digits, spreadsheet=spreadsheet)

    def __str__(self) -> str:
        return self.render()


def macro(spec: Spec, values: Sequence[Value]) -> float:
    """The mean of the collections."""
    return math.fsum(one.mean for one in values) / len(values)


def pooled(spec: Spec, values: Sequence[Value]) -> float:
    """The summary over the queries of all collections together, from that of each."""
    if spec.metric.is_summed:
        return math.fsum(one.mean for one in values)
    total = sum(one.n for one in values)
    if not total or any(math.isnan(one.mean) for one in values):
        return math.nan
    if spec.metric.kind is MetricKind.GEOMETRIC:
        return math.exp(math.fsum(one.n * math.log(one.mean) for one in values) / total)
    return math.fsum(one.n * one.mean for one in values) / total


def batch(
    manifest: Any,
    *,
    baseline: str | None = None,
    pool: bool = False,
    resume: str | os.PathLike[str] | None = None,
    jobs: int = 0,
) -> Batch:
    """Evaluate systems on collections.

    manifest: the path of a TOML file, or a dict with the same content. baseline: a system to compare the others
    with, on each collection: the paired t-test with Holm's correction. pool: average over all queries together,
    instead of the mean of the collections. resume: an earlier output (json or jsonl): what it has with the same
    hashes, metrics and options is not evaluated again. Runs that are missing or cannot be evaluated are cells
    with that status. Raises GradevalError.
    """
    given = manifest_of(manifest) if isinstance(manifest, Mapping) else read_manifest(Source(manifest))
    earlier = read_earlier(Source(resume)) if resume is not None else {}
    return evaluate_batch(given, baseline=baseline, pool=pool, earlier=earlier, jobs=jobs)


def read_earlier(source: Source) -> dict[Key, Cell]:
    """The cells of an output in json or jsonl. Raises InputError."""
    try:
        cells = [Cell.from_dict(one) for one in read_cells(source) if one["gradeval"] == __version__]
    except (ValueError, TypeError, KeyError, AttributeError):
        hint = "Save one with gradeval batch MANIFEST -f json -o FILE"
        raise InputError(source.name, "this is not an output of gradeval batch", hint=hint) from None
    return {(cell.collection, cell.system): cell for cell in cells}


def evaluate_batch(
    manifest: Manifest,
    *,
    baseline: str | None = None,
    pool: bool = False,
    earlier: Mapping[Key, Cell] | None = None,
    jobs: int = 0,
    watch: Callable[[Source], None] | None = None,
    on_cell: Callable[[Cell], None] | None = None,
    on_collection: Callable[[Batch], None] | None = None,
) -> Batch:
    """Evaluate what a manifest says.

    earlier: cells that are kept if nothing that they were made from has changed. watch: is shown each source
    before it is read. on_cell: is shown each cell as soon as it is evaluated. on_collection: is shown what is
    there after each collection.
    """
    if baseline is not None and baseline not in manifest.systems:
        raise OptionError(f"no system {baseline} for the baseline: they are {', '.join(manifest.systems)}")
    specs = {one.name: _specs(manifest, one) for one in manifest.collections}
    collections = tuple(BatchCollection(one.name, one.qrels, specs[one.name]) for one in manifest.collections)
    sign = {str(spec): ComparedMetric.of(spec).sign for of in specs.values() for spec in of}
    works = [
        _Work(manifest, one, specs[one.name], baseline, jobs or default_jobs()) for one in manifest.collections
    ]
    # all that is kept is known first, so that what is interrupted loses none of it
    made = {
        (work.collection.name, system): cell
        for work in works
        for system, cell in work.unchanged(earlier or {}).items()
    }

    def result() -> Batch:
        keys = ((one.name, system) for one in collections for system in manifest.systems)
        cells = _corrected({key: made[key] for key in keys if key in made}, sign)
        return Batch(manifest.path, manifest.systems, collections, cells, baseline, pool)

    for work in works:
        name = work.collection.name
        systems = [one for one in manifest.systems if (name, one) not in made]
        made.update({(name, system): cell for system, cell in work.cells(systems, watch, on_cell).items()})
        if on_collection is not None:
            on_collection(result())
    return result()


def _specs(manifest: Manifest, collection: Collection) -> tuple[Spec, ...]:
    """The metrics of a collection: those with a summary that is a number."""
    if not collection.metrics:
        return tuple(comparable(parse(DEFAULT_METRICS)))
    try:
        specs = parse(collection.metrics)
        for spec in specs:
            if spec.metric.text or not spec.metric.has_summary:
                raise MetricError(f"{spec} has no summary value")
    except MetricError as error:
        raise InputError(manifest.path, f"metrics of {collection.name}: {error}") from None
    return tuple(specs)


class _Work:
    """The cells of one collection."""

    def __init__(
        self, manifest: Manifest, collection: Collection, specs: Sequence[Spec], baseline: str | None, jobs: int
    ) -> None:
        self.collection, self.specs, self.baseline, self.jobs = collection, specs, baseline, jobs
        self.manifest, self.features = manifest.path, manifest.features
        self.systems = manifest.systems
        self.options = replace(collection.options, jobs=jobs)
        self.compared = comparable(specs)

    def path(self, system: str) -> str:
        return self.collection.runs.get(system, self.collection.qrels)

    def exists(self, system: str) -> bool:
        """Whether there is a run, or a file to take the feature of."""
        return system in self.features or os.path.exists(self.path(system))

    def cell(self, system: str, **more: Any) -> Cell:
        return Cell(self.collection.name, system, self.path(system), **more)

    def unchanged(self, earlier: Mapping[Key, Cell]) -> dict[str, Cell]:
        """The earlier cells, by system, that would be the same again."""
        known = {one: earlier[key] for one in self.systems if (key := (self.collection.name, one)) in earlier}
        known = {one: cell for one, cell in known.items() if cell.status == "done" and self.is_same(cell)}
        if not known:
            return {}
        paths = {self.collection.qrels, *map(self.path, known)}
        if self.baseline is not None:
            paths.add(self.path(self.baseline))
        ordered = sorted(paths)
        hashes = dict(zip(ordered, ordered_map(_sha256, ordered, self.jobs), strict=True))
        of_baseline = None if self.baseline is None else hashes[self.path(self.baseline)]
        kept = {
            one: replace(cell, path=self.path(one))
            for one, cell in known.items()
            if cell.sha256 == hashes[self.path(one)] and cell.qrels_sha256 == hashes[self.collection.qrels]
        }
        if self.baseline is None or of_baseline is None:  # nothing to compare with
            return {one: _alone(cell) for one, cell in kept.items()}
        return {
            one: _alone(cell) if one == self.baseline else cell
            for one, cell in kept.items()
            if one == self.baseline or self.is_compared(cell, of_baseline)
        }

    def is_same(self, cell: Cell) -> bool:
        """Whether it was made with these metrics and options."""
        return cell.options == _settings(self.options) and {*map(str, self.specs)} == set(cell.values)

    def is_compared(self, cell: Cell, of_baseline: str) -> bool:
        """Whether it has the comparisons with the baseline, whose hash this is."""
        is_same = (cell.baseline, cell.baseline_sha256) == (self.baseline, of_baseline)
        return is_same and set(cell.comparisons) == {*map(str, self.compared)}

    def cells(
        self,
        systems: Sequence[str],
        watch: Callable[[Source], None] | None,
        on_cell: Callable[[Cell], None] | None,
    ) -> dict[str, Cell]:
        """The cells of these systems, evaluated."""
        found: dict[str, Cell] = {}
        of_baseline: Results | None = None

        def keep(cell: Cell) -> None:
            if cell.system in systems:
                found[cell.system] = cell
                if on_cell is not None:
                    on_cell(cell)

        def on_run(results: Results) -> None:
            nonlocal of_baseline
            for failed in results.failed:
                for system in self.failed_systems(failed, found):
                    keep(self.failed(system, failed.error))
            for run in results.runs:
                if run.name == self.baseline:
                    of_baseline = results
                keep(self.done(results, of_baseline))

        wanted = [one for one in systems if self.exists(one)]
        for system in systems:
            if system not in wanted:
                keep(self.cell(system, status="missing"))
        if wanted and self.baseline is not None and self.exists(self.baseline):
            # it comes first: the others are compared with it as soon as they are evaluated
            wanted = [self.baseline, *(one for one in wanted if one != self.baseline)]
        files = [one for one in wanted if one not in self.features]
        features = [one for one in wanted if one in self.features]
        parts: list[tuple[list[tuple[str | None, str]], Options]] = []
        if files:
            parts.append(([(one, self.path(one)) for one in files], self.options))
        if features:
            chosen = replace(self.options, features=tuple(self.features[one] for one in features))
            parts.append(([(None, self.collection.qrels)], chosen))
        if features and features[0] == self.baseline:
            parts.reverse()
        for runs, options in parts:
            try:
                results = evaluate_all(
                    self.collection.qrels,
                    runs,
                    self.specs,
                    options,
                    watch=watch,
                    hashes=True,
                    on_run=on_run,
                    keep_values=False,
                )
            except GradevalError as error:  # of the qrels, or of options that do not suit them
                for system in features if options.features else files:
                    keep(self.failed(system, error))
                continue
            names = {run.name for run in results.runs}
            of_qrels = tuple(one for one in results.notices if one.subject not in names)
            for name in names & found.keys():
                found[name] = replace(found[name], notices=(*of_qrels, *found[name].notices))
        return found

    def failed(self, system: str, error: GradevalError) -> Cell:
        """The cell of a system that cannot be evaluated; the errors name a file."""
        if not isinstance(error, (InputError, InputErrors)):
            error = InputError(self.manifest, f"{self.collection.name}: {error}")
        return self.cell(system, status="failed", errors=tuple(str(error).split("\n")))

    def failed_systems(self, failed: FailedRun, found: Mapping[str, Cell]) -> list[str]:
        """The systems that a failure is about: for features that the qrels lack, all of them."""
        by_path = [one for one in self.systems if one not in self.features and self.path(one) == failed.path]
        if by_path:
            return [one for one in by_path if one not in found][:1]
        feature = failed.path.rpartition(":")[2]
        lacking = [one for one in self.features if one not in found]
        return [feature] if feature in self.features else lacking

    def done(self, results: Results, of_baseline: Results | None) -> Cell:
        """The cell of the one run of the results."""
        [run] = results.runs
        values = {
            str(spec): Value(results.mean(0, spec), run.queries - results.undefined(0, spec))
            for spec in self.specs
        }
        comparisons = {}
        if of_baseline is not None and run.name != self.baseline and self.compared:
            both = replace(of_baseline, runs=(*of_baseline.runs, run), notices=())
            comparisons = {one.metric: one for one in compare_results(both, self.compared, _TEST).comparisons}
        place = f"{self.collection.name}/{run.name}"
        return self.cell(
            run.name,
            sha256=run.sha256,
            qrels_sha256=results.qrels_sha256,
            options=_settings(self.options),
            values=values,
            comparisons=comparisons,
            baseline=self.baseline if comparisons else None,
            baseline_sha256=of_baseline.runs[0].sha256 if comparisons and of_baseline is not None else None,
            notices=tuple(replace(one, subject=place) for one in results.notices),
        )


def _alone(cell: Cell) -> Cell:
    """The cell without comparisons."""
    return replace(cell, comparisons={}, baseline=None, baseline_sha256=None)


def _settings(options: Options) -> dict[str, Any]:
    """What decides the values, as JSON has it."""
    given = {name: of for name, of in options.to_dict().items() if name != "features"}
    settings: dict[str, Any] = json.loads(json.dumps(given))  # tuples are lists there
    return settings


def _sha256(path: str) -> str | None:
    try:
        return Source(path).sha256()
    except (InputError, OSError):  # it is evaluated again, which reports this
        return None


def _corrected(cells: Mapping[Key, Cell], sign: Mapping[str, int]) -> dict[Key, Cell]:
    """The cells with p-values corrected for all comparisons of the table together, and the verdicts.

    sign: of the metrics, -1 where lower is better.
    """
    compared = [(key, name, one) for key, cell in cells.items() for name, one in cell.comparisons.items()]
    p = holm(np.array([one.p for _, _, one in compared], np.float64)).tolist()
    found: dict[Key, dict[str, PairComparison]] = {key: {} for key in cells}
    for (key, name, one), p_corrected in zip(compared, p, strict=True):
        gain = sign[name] * one.difference if p_corrected < ALPHA else 0
        verdict: Verdict = "better" if gain > 0 else "worse" if gain < 0 else ""
        found[key][name] = replace(one, p_corrected=p_corrected, verdict=verdict)
    return {key: replace(cell, comparisons=found[key]) for key, cell in cells.items()}


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _exact(value: float) -> float | None:
    """A number as JSON can hold it."""
    return value + 0.0 if math.isfinite(value) else None
