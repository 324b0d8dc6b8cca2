"""Collections × systems: means, their averages over the collections, significance against a baseline."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from gradeval.arrays import cached_property
from gradeval.arrays.threads import default_jobs, ordered_map
from gradeval.commands.batch.manifest import AVERAGE, POOL, BatchCollection, Manifest, read_manifest
from gradeval.commands.compare import compare as comparison
from gradeval.commands.compare.coverage import not_tested
from gradeval.commands.compare.layout import BETTER, WORSE, labels, mean_cells, significance
from gradeval.compare_options import MIN_COVERAGE, CompareOptions
from gradeval.errors import (
    GradevalError,
    InputError,
    InputErrors,
    OptionError,
    UnsuitableOptionError,
    first_names,
    visible,
)
from gradeval.evaluation.depths import with_depths
from gradeval.evaluation.evaluation import evaluate_all
from gradeval.evaluation.plan import Plan, with_files
from gradeval.evaluation.results import (
    FailedRun,
    Quantiles,
    Results,
    Runs,
    SavedResult,
    position_of,
    signature_of,
)
from gradeval.evaluation.runs import with_saved
from gradeval.file_formats import LabelledRuns
from gradeval.formats.json import parse_json
from gradeval.formats.letor import group_sizes
from gradeval.formats.lines import read_text
from gradeval.formats.sources import Source, changed_error
from gradeval.notices import MAX_SUBJECTS, Notice, NoticeKind, Notices, lines
from gradeval.options import DEFAULT_TIES, Options, checked_path
from gradeval.registry.metric import Kind
from gradeval.registry.spec import Spec, parse
from gradeval.render import document as doc
from gradeval.render.printable import Tabular, WithNotices, warned
from gradeval.statistics.multiple import holm
from gradeval.tables.load import InputNames, check_names, input_names
from gradeval.version import __version__, document_head

CHECKSUM = "checksum"  # of a cell in JSON: the SHA-256 of the rest

Status = Literal["done", "missing", "failed"]
Key = tuple[str, str]  # (collection, system)


class CellValue(NamedTuple):
    """The summary of a metric."""

    mean: float  # NaN where no query has a value
    n: int  # how many queries have a value


NO_VALUE = CellValue(math.nan, 0)


@dataclass(frozen=True, eq=False)
class BatchCell:
    """A system on a collection. Metrics go by their canonical names."""

    collection: str
    system: str
    status: Status  # 'missing' without a run, 'failed' if it cannot be evaluated
    path: str  # of the run, as sha256, ties and depths
    sha256: str | None = None
    qrels_sha256: str | None = None  # of the files that it was judged by
    groups_sha256: str | None = None
    ties: str = DEFAULT_TIES
    options: Mapping[str, Any] = field(default_factory=dict)  # of the evaluation, as JSON types
    values: Mapping[str, CellValue] = field(default_factory=dict)  # by metric
    judged: Mapping[str, float] = field(default_factory=dict)  # by Judged@k: the share, NaN if unknown
    baseline: str | None = None
    baseline_sha256: str | None = None  # of the run compared with
    min_coverage: float | None = None  # in percent, with which they were compared
    comparisons: Mapping[str, comparison.PairComparison] = field(default_factory=dict)  # by metric
    notices: Sequence[Notice] = ()
    errors: tuple[str, ...] = ()
    depths: Quantiles | None = None

    @property
    def key(self) -> Key:
        return self.collection, self.system

    def signature(self, spec: Spec) -> str:
        """What decides the mean of a metric that it has, as Results.signature() says."""
        hashes = {"qrels": self.qrels_sha256, "groups": self.groups_sha256}
        return signature_of(spec, self.options, self.ties, hashes, self.values[str(spec)].n)

    def to_dict(self) -> dict[str, Any]:
        """The cell as in JSON. Its checksum shows --resume whether it was edited."""
        content = {
            "gradeval": __version__,
            **vars(self),
            "values": doc.exact({name: value._asdict() for name, value in self.values.items()}),
            "judged": doc.exact(dict(self.judged)),
            "comparisons": {name: pair.to_dict() for name, pair in self.comparisons.items()},
            "notices": [notice.to_dict() for notice in self.notices],
            "errors": list(self.errors),
        }
        return {**content, CHECKSUM: checksum(content)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> BatchCell:
        """The cell that to_dict wrote. Raises KeyError."""

        def numbers(values: Mapping[str, Any]) -> dict[str, Any]:
            return {name: math.nan if value is None else value for name, value in values.items()}

        before = None if content["baseline"] is None else CompareOptions.table["min_coverage"].before
        content = {"min_coverage": before, **content}
        parts: dict[str, Any] = {part.name: content[part.name] for part in fields(cls)}
        parts["values"] = {name: CellValue(**numbers(value)) for name, value in parts["values"].items()}
        parts["judged"] = numbers(parts["judged"])
        for name, pair in parts["comparisons"].items():
            del pair["relative_percent"]
            parts["comparisons"][name] = comparison.PairComparison(**numbers(pair))
        parts["notices"] = tuple(Notice.from_dict(notice, notice["subject"]) for notice in parts["notices"])
        parts["errors"] = tuple(parts["errors"])
        parts["depths"] = parts["depths"] and tuple(parts["depths"])
        return cls(**parts)


def checksum(content: Mapping[str, Any]) -> str:
    """The checksum of a cell in JSON: an edited value looks like any other."""
    unsigned = {name: value for name, value in content.items() if name != CHECKSUM}
    return hashlib.sha256(json.dumps(unsigned, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class Batch(WithNotices, Tabular):
    """Collections × systems.

    >>> batch = gradeval.batch("batch.toml")
    >>> batch.value("search", "bm25", "nDCG@10"), batch.to_dict()["cells"]
    """

    layout = "gradeval.commands.batch.batch"

    path: str  # of the manifest
    systems: tuple[str, ...]
    collections: tuple[BatchCollection, ...]
    cells: Mapping[Key, BatchCell] = field(repr=False)
    baseline: str | None = None  # the system that others are compared with
    pool: bool = False  # whether averages are over all queries together, not over collections
    order: tuple[Spec, ...] = ()  # metrics that come first
    alpha: float = 0.05  # the significance level

    @cached_property
    def specs(self) -> tuple[Spec, ...]:
        """The metrics of any collection, those in `order` first, in that order."""
        specs = [spec for collection in self.collections for spec in collection.specs]
        return tuple(dict.fromkeys([*(spec for spec in self.order if spec in specs), *specs]))

    def having(self, spec: Spec) -> tuple[BatchCollection, ...]:
        """The collections that the metric is computed for."""
        return tuple(collection for collection in self.collections if spec in collection.specs)

    def value(self, collection: str, system: str, metric: str | Spec) -> float:
        """The mean of a cell; NaN where it is missing or undefined."""
        spec = self.specs[position_of(metric, self.specs)]
        if (collection, system) not in self.cells:
            raise GradevalError(f"no cell of {system} on {collection}")
        return self.cells[collection, system].values.get(str(spec), NO_VALUE).mean

    def average(self, system: str, metric: str | Spec) -> float:
        """The average over the metric's collections, or over all of their queries; NaN if one lacks a value."""
        if system not in self.systems:
            raise GradevalError(f"no system {system}: the systems are {', '.join(self.systems)}")
        spec = self.specs[position_of(metric, self.specs)]
        values = self.values(system, spec)
        total = sum(value.n for value in values)
        if len(values) < len(self.having(spec)) or (self.pool and not (spec.metric.is_summed or total)):
            return math.nan
        if not self.pool:
            return math.fsum(value.mean for value in values) / len(values)
        if spec.metric.is_summed:
            return math.fsum(value.mean for value in values)
        if spec.metric.kind is Kind.GEOMETRIC:
            return math.exp(math.fsum(value.n * math.log(value.mean) for value in values) / total)
        return math.fsum(value.n * value.mean for value in values) / total

    def values(self, system: str, spec: Spec) -> list[CellValue]:
        """Those of the collections that have the metric, without cells that lack one."""
        cells = [self.cells.get((collection.name, system)) for collection in self.having(spec)]
        return [cell.values[str(spec)] for cell in cells if cell is not None and str(spec) in cell.values]

    @property
    def comparisons(self) -> dict[tuple[str, str, str], comparison.PairComparison]:
        """(collection, system, metric) -> the comparison with the baseline."""
        return {
            (*key, name): pair for key, cell in self.cells.items() for name, pair in cell.comparisons.items()
        }

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The notices; the subject of a notice about a run is COLLECTION/SYSTEM."""
        notices = [*self._missing_runs(), *self._lacks_baseline()]
        for collection in self.collections:
            notices += self._judged_apart(collection)
        for collection in self.collections:
            notices += self._of_cells(collection)
        for percent in dict.fromkeys(cell.min_coverage for cell in self.cells.values()):
            cells = [cell for cell in self.cells.values() if cell.min_coverage == percent]
            pairs = [pair for cell in cells for pair in cell.comparisons.values()]
            notices += comparison.without_p(pairs, percent or 0)
        return tuple(dict.fromkeys(notices))  # those of the qrels are in each of their cells

    def cells_of(self, collection: BatchCollection, *, done: bool = False) -> list[BatchCell]:
        """The cells of a collection. done: those only that have values."""
        cells = (cell for cell in self.cells.values() if cell.collection == collection.name)
        return [cell for cell in cells if not done or cell.status == "done"]

    def _missing_runs(self) -> Iterator[Notice]:
        missing = [cell for cell in self.cells.values() if cell.status == "missing"]
        if not missing:
            return
        reasons = (f"{cell.path} does not exist" if cell.path else "no path given" for cell in missing)
        cells = (f"{'/'.join(cell.key)} ({reason})" for cell, reason in zip(missing, reasons, strict=True))
        rule = first_names(cells, MAX_SUBJECTS)
        if len(self.collections) > 1:
            systems = first_names(dict.fromkeys(cell.system for cell in missing), MAX_SUBJECTS)
            rule += f"; no average of {systems}"
        yield Notice(NoticeKind.MISSING_RUNS, "", len(missing), rule=rule, total=len(self.cells))

    def _has_baseline(self, collection: BatchCollection) -> bool:
        return self.baseline in [cell.system for cell in self.cells_of(collection, done=True)]

    def _lacks_baseline(self) -> Iterator[Notice]:
        """Where there is something to compare, and no baseline."""
        lacking = [
            collection.name
            for collection in self.collections
            if self.cells_of(collection, done=True) and not self._has_baseline(collection)
        ]
        if self.baseline is not None and lacking:
            rule = first_names(lacking, MAX_SUBJECTS)
            total = len(self.collections)
            yield Notice(NoticeKind.NO_BASELINE, self.baseline, len(lacking), rule=rule, total=total)

    def _judged_apart(self, collection: BatchCollection) -> Iterator[Notice]:
        """Where systems that are compared differ in how much of them was judged, or that is unknown."""
        cells = self.cells_of(collection, done=True) if self._has_baseline(collection) else []
        for measure in dict.fromkeys(measure for cell in cells for measure in cell.judged):
            having = [cell for cell in cells if measure in cell.judged]
            [spec] = parse(measure)
            shares = [cell.judged[measure] for cell in having]
            judged = comparison.Judged.of_means(spec, shares, [cell.depths for cell in having])
            for notice in judged.notices(["/".join(cell.key) for cell in having]):
                yield notice.replace(subject=notice.subject or collection.name)

    def _of_cells(self, collection: BatchCollection) -> Iterator[Notice]:
        """Those of the cells, and that their runs differ in depth, each metric's with the collection."""
        cells = self.cells_of(collection)
        options = next((cell.options for cell in cells if cell.options), {})
        notices = (notice for cell in cells for notice in cell.notices)
        depths = [(cell.system, cell.depths) for cell in cells]
        for notice in with_depths(notices, depths, collection.specs, options):
            yield notice.replace(subject=collection.name) if notice.kind is NoticeKind.DEPTH else notice

    @property
    def runs_read(self) -> int:
        return len(self.cells)

    def __repr__(self) -> str:
        counts = f"systems={len(self.systems)}, collections={len(self.collections)}"
        return f"Batch(path={self.path!r}, {counts}, notices={len(self.warnings)})"

    def signatures(self) -> list[str]:
        """What decides the means, as Results.signature() says: a line for each metric of each collection, after
        its name; where systems differ in it, one for each of them, after COLLECTION/SYSTEM.
        """
        texts: list[str] = []
        for collection in self.collections:
            cells = self.cells_of(collection)
            for spec in collection.specs:
                of_cells = {
                    "/".join(cell.key): cell.signature(spec) for cell in cells if str(spec) in cell.values
                }
                if len({*of_cells.values()}) == 1:
                    of_cells = {collection.name: next(iter(of_cells.values()))}
                texts += (f"{name}: {text}" for name, text in of_cells.items())
        return texts

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each metric of each cell: its mean, how many queries have a value, and the comparison with
        the baseline. A cell without values has one, with its status.
        """
        rows = []
        for cell in self.cells.values():
            about = {name: getattr(cell, name) for name in ("collection", "system", "status")}
            for name, value in cell.values.items() or [("", NO_VALUE)]:
                pair = cell.comparisons.get(name)
                compared = {key: getattr(pair, key, None) for key in ("difference", "p_corrected", "verdict")}
                rows.append({**about, "metric": name, **value._asdict(), **compared})
        return rows

    def averages(self) -> dict[str, dict[str, float | None]]:
        """System -> metric -> average, as in JSON."""
        return {
            name: {str(spec): doc.exact(self.average(name, spec)) for spec in self.specs}
            for name in self.systems
        }

    def to_dict(self) -> dict[str, Any]:
        """The object that the json format prints. Numbers are exact, undefined is None."""
        return {
            **document_head("batch"),
            "manifest": self.path,
            "systems": list(self.systems),
            "collections": [
                {
                    "name": collection.name,
                    "qrels": collection.qrels,
                    "metrics": list(map(str, collection.specs)),
                }
                for collection in self.collections
            ],
            "baseline": self.baseline,
            "warnings": list(lines(self.notices, len(self.cells))),
            "cells": [cell.to_dict() for cell in self.cells.values()],
            "average": "pool" if self.pool else "macro",
            "averages": self.averages(),
        }


def batch(
    manifest: Any,
    *,
    baseline: str | None = None,
    pool: bool = False,
    resume: str | os.PathLike[str] | None = None,
    jobs: int = 0,
    min_coverage: float = MIN_COVERAGE,
) -> Batch:
    """Evaluate systems on collections.

        >>> gradeval.batch("batch.toml", baseline="bm25").to_pandas()

    manifest: the path of a TOML file, or a dict with the same content. baseline: a system to compare the
    others with, on each collection: the paired t-test with Holm's correction. pool: average over all queries
    together, instead of the mean of the collections. resume: an earlier output (json or jsonl): what it has
    with the same hashes, metrics and options is not evaluated again. jobs: threads or processes; 0: the
    processors. min_coverage: systems whose run, or that of the baseline, has fewer of a collection's judged
    queries than this percentage are not tested there. Runs that are missing or cannot be evaluated are cells
    with that status. Raises GradevalError.
    """
    if not isinstance(manifest, Mapping):
        checked_path("manifest", manifest)
    earlier = {} if resume is None else read_earlier(Source(checked_path("resume", resume)))
    read = read_manifest(manifest, baseline, min_coverage=min_coverage)
    return warned(evaluate_batch(read, earlier, pool, jobs))


def read_earlier(source: Source) -> dict[Key, BatchCell]:
    """The cells of an output in json or jsonl that are as they were written. Raises InputError."""
    try:
        cells = [
            BatchCell.from_dict(row)
            for row in _rows_of_output(source)
            if row["system"] and "average" not in row  # both have a system
            if row["gradeval"] == __version__ and row.get(CHECKSUM) == checksum(row)
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
        hint = "Save one with gradeval batch MANIFEST -f json -o FILE"
        raise InputError(source.name, "this is not an output of gradeval batch", hint=hint) from None
    return {cell.key: cell for cell in cells}


def _rows_of_output(source: Source) -> list[Any]:
    """The cells as in JSON, and further rows. Raises InputError, and ValueError for another file."""
    text = read_text(source)
    lines = [(number, line) for number, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    if not lines:  # as an interrupted command may leave it
        return []
    first = lines[0][1].strip()
    if not first.startswith(b"{"):
        raise ValueError
    if len(lines) > 1 and first.endswith(b"}"):
        return [parse_json(line, source.name, number) for number, line in lines]
    content = parse_json(text, source.name)
    rows: list[Any] = content.get("cells", [content])
    return rows


def evaluate_batch(
    manifest: Manifest,
    earlier: Mapping[Key, BatchCell],
    pool: bool,
    jobs: int,
    on_cell: Callable[[BatchCell], None] = lambda cell: None,
    on_collection: Callable[[Batch], None] | None = None,
    watched: Callable[[Any], Any] = lambda data: data,
) -> Batch:
    """Evaluate what a manifest says. earlier: cells that are kept if what they were made from is unchanged.
    on_cell: is shown each cell as soon as it is evaluated. on_collection: what is there after each collection.
    watched: makes qrels and runs such as tell of their reading.
    """
    for collection in manifest.collections:
        if pool and collection.options.query_weights is not None:
            averages = f"{collection.name}: averages over all queries together (pool)"
            hint = "Evaluate without query_weights (--query-weights)"
            raise OptionError(f"{averages} are of unweighted means. {hint}")
    _check_inputs(manifest)
    rows = [
        _CollectionCells(manifest, collection, jobs or default_jobs(), on_cell, watched)
        for collection in manifest.collections
    ]
    # all unchanged cells are known first, so that an interrupted batch loses none of them
    cells = {cell.key: cell for row in rows for cell in row.unchanged(earlier)}

    def result() -> Batch:
        """The cells so far, with p-values corrected for all comparisons of the table together, and verdicts."""
        keys = [(collection.name, system) for collection in manifest.collections for system in manifest.systems]
        compared = {key: dict(cells[key].comparisons) for key in keys if key in cells}
        pairs = [(of_cell, pair) for of_cell in compared.values() for pair in of_cell.values()]
        p_values = holm(np.array([pair.p for _, pair in pairs], np.float64)).tolist()
        for (of_cell, pair), p in zip(pairs, p_values, strict=True):
            [spec] = parse(pair.metric)
            gain = comparison.ComparedMetric.of(spec).sign * pair.difference
            verdict = comparison.verdict_of(gain if p < manifest.test.alpha else 0)
            of_cell[pair.metric] = replace(pair, p_corrected=p, verdict=verdict)
        return Batch(
            manifest.file.path,
            manifest.systems,
            manifest.collections,
            {key: replace(cells[key], comparisons=of_cell) for key, of_cell in compared.items()},
            baseline=manifest.baseline,
            pool=pool,
            order=manifest.specs,
            alpha=manifest.test.alpha,
        )

    for row in rows:
        systems = [system for system in manifest.systems if (row.name, system) not in cells]
        cells |= {cell.key: cell for cell in row.evaluated(systems)}
        if on_collection is not None:
            on_collection(result())
    return result()


def settings_of(options: Mapping[str, object]) -> dict[str, Any]:
    """The options of a cell, as JSON has them, with lists for tuples; each feature is a system of its own."""
    return {name: value for name, value in json.loads(json.dumps(options)).items() if name != "features"}


def _check_inputs(manifest: Manifest) -> None:
    """Raise InputError for a column or a split that no file of the collections it is given for can have."""
    inputs: dict[Options, list[InputNames | None]] = {}  # of the collections that have an option
    for collection in manifest.collections:
        options = collection.options
        runs = [*filter(os.path.exists, collection.runs.values())]
        runs += [collection.qrels] if manifest.features else []
        files = [("qrels", collection.qrels), *(("run", path) for path in runs)]
        settings = [Options(columns=(column,)) for column in options.columns]
        if options.split is not None:
            settings.append(Options(split=options.split))
        names = [input_names(*file, options) for file in files] if settings and runs else [None]
        for option in settings:
            inputs.setdefault(option, []).extend(names)
    for option, names in inputs.items():
        try:
            check_names(names, option)
        except UnsuitableOptionError as error:
            raise error.in_file(manifest.file.path, manifest.file.line_of(error.option, "options")) from None


class _CollectionCells:
    """The cells of one collection: those of an earlier output that are unchanged, the others evaluated."""

    def __init__(
        self,
        manifest: Manifest,
        collection: BatchCollection,
        jobs: int,
        on_cell: Callable[[BatchCell], None],
        watched: Callable[[Any], Any],
    ) -> None:
        self.manifest = manifest
        self.collection = collection
        self.on_cell = on_cell
        self.watched = watched
        self.features = manifest.features
        self.baseline = manifest.baseline
        self.name = collection.name
        self.qrels = collection.qrels
        self.specs = collection.specs
        self.options = with_files(collection.options.replace(jobs=jobs))
        self.compared = comparison.metrics_to_test(self.specs)
        self.settings = settings_of(self.options.to_dict())
        self.min_coverage = manifest.test.min_coverage
        self.paths = {system: collection.runs.get(system, collection.qrels) for system in manifest.systems}
        self.systems: Sequence[str] = ()  # that are evaluated
        self.cells: dict[str, BatchCell] = {}
        self.waiting: list[str] = []  # for their results, which come in this order
        self.of_baseline: Results | None = None

    def cell(self, system: str, status: Status, **fields: Any) -> BatchCell:
        return BatchCell(self.name, system, status, self.paths[system], **fields)

    def unchanged(self, earlier: Mapping[Key, BatchCell]) -> list[BatchCell]:
        """The cells of an earlier output that would come out the same."""
        cells = self._with_same_settings(earlier)
        if not cells:
            return []
        sha256 = self._hashes([cell.system for cell in cells])
        groups_sha256 = _sha256(lambda: group_sizes(Source(self.qrels), self.options.groups))
        return [
            replace(cell, path=self.paths[cell.system])
            for cell in cells
            if self._has_same_files(cell, sha256) and cell.groups_sha256 in (None, groups_sha256)
        ]

    def _with_same_settings(self, earlier: Mapping[Key, BatchCell]) -> list[BatchCell]:
        expected = "done", self.settings, {*map(str, self.specs)}
        cells = (earlier.get((self.name, system)) for system in self.manifest.systems)
        return [
            replace(cell, options=self.settings)
            for cell in cells
            if cell and (cell.status, settings_of(Options.of_saved(cell.options)), {*cell.values}) == expected
        ]

    def _hashes(self, systems: Sequence[str]) -> dict[str, str | None]:
        """The hashes of the qrels, of the runs of these systems and of the baseline's, by path."""
        with_baseline = [*systems, self.baseline] if self.baseline else systems
        paths = sorted({self.qrels, *(self.paths[system] for system in with_baseline)})
        hashes = ordered_map(lambda path: _sha256(lambda: Source(path)), paths, self.options.jobs)
        return dict(zip(paths, hashes, strict=True))

    def _has_same_files(self, cell: BatchCell, sha256: Mapping[str, str | None]) -> bool:
        """Whether a cell is of these files, and was compared with the same baseline in the same way."""
        compared_with: tuple[Any, ...] = (None, None, None)
        if self.baseline is not None and cell.system != self.baseline:
            baseline_sha256 = sha256[self.paths[self.baseline]]
            if baseline_sha256 is not None:
                compared_with = self.baseline, baseline_sha256, self.min_coverage
        hashes = sha256[self.paths[cell.system]], sha256[self.qrels]
        made_with = cell.baseline, cell.baseline_sha256, cell.min_coverage
        return (cell.sha256, cell.qrels_sha256, made_with) == (*hashes, compared_with)

    def exists(self, system: str) -> bool:
        return system in self.features or os.path.exists(self.paths[system])

    def done(self, results: Results) -> BatchCell:
        """The cell of a system, from the results of its run alone."""
        [run] = results.runs
        counts = [run.queries - results.undefined(0, spec) for spec in self.specs]
        means = [results.mean(0, spec) for spec in self.specs]
        values = dict(zip(map(str, self.specs), map(CellValue, means, counts), strict=True))
        judged = comparison.Judged.of(results)
        cell = f"{self.name}/{run.name}"
        notices = results.notices.of_metrics(values)  # not Judged@k, which is evaluated besides
        return self.cell(
            run.name,
            "done",
            sha256=run.sha256,
            qrels_sha256=results.qrels_sha256,
            groups_sha256=results.groups_sha256,
            ties=run.ties,
            options=self.settings,
            values=values,
            judged={} if judged is None else {judged.name: float(judged.means[0])},
            notices=notices.renamed(cell),
            depths=run.depths,
            **self._against_baseline(results),
        )

    def _against_baseline(self, results: Results) -> dict[str, Any]:
        """The fields of a cell about its comparison with the baseline, if there is one."""
        [run] = results.runs
        of_baseline = self.of_baseline
        if of_baseline is None or run.name == self.baseline or not self.compared:
            return {}
        notices = Notices((*of_baseline.notices, *results.notices))  # which have what the runs lack
        both = of_baseline.replace(runs=(*of_baseline.runs, run), given_notices=notices)
        by_query = comparison.QueryValues.of(both, self.compared).weighing()
        pairs = comparison.compare_values(by_query, self.manifest.test).comparisons
        return {
            "baseline": self.baseline,
            "baseline_sha256": of_baseline.runs[0].sha256,
            "min_coverage": self.min_coverage,
            "comparisons": {pair.metric: pair for pair in pairs},
        }

    def evaluated(self, systems: Sequence[str]) -> list[BatchCell]:
        """The cells of these systems, each shown as soon as it is known."""
        self.systems = systems
        existing = self.existing()
        if existing and self.baseline is not None and self.exists(self.baseline):
            # it comes first: the others are compared with it as soon as they are evaluated
            existing = list(dict.fromkeys([self.baseline, *existing]))
        runs = [(system, self.paths[system]) for system in existing if system not in self.features]
        numbers = {system: self.features[system] for system in existing if system in self.features}
        of_features = self.options.replace(features=tuple(numbers.values()))
        parts: list[tuple[list[str], Runs, Options]] = [
            ([system for system, _ in runs], runs, self.options),
            ([*numbers], [(None, self.qrels)], of_features),
        ]
        for part in reversed(parts) if self.baseline in self.features else parts:
            self.evaluate(*part)
        self.of_baseline = None  # to free its memory
        return list(self.cells.values())

    def existing(self) -> list[str]:
        """The systems with a run; the cells of the others are added."""
        existing = [system for system in self.systems if self.exists(system)]
        # with a run, the evaluation reports that there are no qrels
        if existing or self.qrels == "-" or os.path.exists(self.qrels):
            for system in self.systems:
                if system not in existing:
                    self.add(self.cell(system, "missing"))
        else:
            self.fail(self.systems, InputError(self.qrels, "no such file", hint="Check the path"))
        return existing

    def evaluate(self, systems: Sequence[str], runs: Runs, options: Options) -> None:
        """Add the cells of these systems, of which these are the runs; with the error where all fail."""
        if not systems:
            return
        self.waiting[:] = systems
        try:
            qrels, opened = with_saved(self.qrels, runs)
            judged = [] if options.judged_only else [comparison.judged_spec(self.compared, opened)]
            runs = [(name, _of_one_run(run)) for name, run in opened]
            plan = Plan(
                self.specs,
                options,
                extra=judged,
                shows_extra=False,
                keeps_values=False,
                hashes=True,
                is_part=True,
            )
            results = evaluate_all(plan, self.watched(qrels), self.watched(LabelledRuns(runs)), self.on_run)
        except GradevalError as error:  # of the qrels, or of options that do not suit them
            self.fail([*self.waiting], error)
            return
        names = {run.name for run in results.runs}
        # those about several runs are found from the cells
        of_qrels = tuple(notice for notice in results.notices if notice.subject not in {*names, ""})
        for name in names & self.cells.keys():
            self.cells[name] = replace(self.cells[name], notices=(*of_qrels, *self.cells[name].notices))

    def on_run(self, results: Results) -> None:
        """Add the cell of a run, as soon as it is evaluated or cannot be."""
        for failed in results.failed:
            self.fail(self.concerned(failed.path), failed.error)
        for run in results.runs:
            if run.name == self.baseline:
                self.of_baseline = results
            if self.of_baseline is not None and self.of_baseline.qrels_sha256 != results.qrels_sha256:
                # features and runs read the qrels each
                self.fail([run.name], changed_error(self.qrels))
            else:
                self.add(self.done(results))

    def concerned(self, path: str) -> list[str]:
        """The systems that the error of a run is about, which comes next."""
        feature = path.rpartition(":")[2]
        if self.waiting[0] not in self.features:
            return self.waiting[:1]
        # an error without a feature's name is about all that qrels lack
        return [feature] if feature in self.features else [*self.waiting]

    def add(self, cell: BatchCell) -> None:
        if cell.system in self.waiting:
            self.waiting.remove(cell.system)
        if cell.system in self.systems:
            self.cells[cell.system] = cell
            self.on_cell(cell)

    def fail(self, systems: Iterable[str], error: GradevalError) -> None:
        """Add the cells of systems that cannot be evaluated; the errors name a file."""
        file = self.manifest.file
        if isinstance(error, UnsuitableOptionError):
            line = file.line_of(error.option, self.collection.tables.get(error.option, ""))
            error = error.in_file(file.path, line, f"{self.name}: ")
        elif not isinstance(error, (InputError, InputErrors)):
            error = InputError(file.path, f"{self.name}: {error}")
        for system in systems:
            self.add(self.cell(system, "failed", errors=tuple(str(error).split("\n"))))


def _of_one_run(run: Any) -> Any:
    """A saved result as one run, with the hash of its file, by which it is found to be unchanged."""
    if not isinstance(run, SavedResult):
        return run
    if len(run.runs) != 1:
        return FailedRun(run.path, InputError(run.path, f"it has {len(run.runs)} runs, and a system has one"))
    return run.replace(runs=(run.runs[0].replace(sha256=run.sha256),))


def _sha256(source: Callable[[], Source]) -> str | None:
    """None where the file cannot be read: it is evaluated again, which reports this where it matters."""
    with suppress(InputError):
        return source().sha256()
    return None


# --- the document: a table for each metric, systems as rows, collections and the average as columns


def document(batch: Batch, options: doc.RenderOptions, *, signature: bool = False) -> doc.OutputDocument:
    """signature: those of the means, in md, latex and json."""
    with_letters = options.format == "latex"  # for significance, instead of triangles

    def blocks() -> Iterator[doc.Block]:
        for spec in batch.specs:
            metric = comparison.ComparedMetric.of(spec)
            head = ["system"]
            columns = [labels(batch.systems, with_letters and batch.baseline is not None)]
            for collection in batch.having(spec):
                cells = [batch.cells[collection.name, system] for system in batch.systems]
                pairs = [cell.comparisons[metric.name] for cell in cells if metric.name in cell.comparisons]
                marks = significance(batch.systems, pairs, with_letters)
                means = {cell.system: cell.values.get(metric.name, NO_VALUE).mean for cell in cells}
                statuses = {cell.system: cell.status for cell in cells if cell.status != "done"}
                head.append(visible(collection.name))
                columns.append(mean_cells({**means, **statuses}, metric, options.digits, marks))
            if len(columns) > 2:
                averages = {system: batch.average(system, spec) for system in batch.systems}
                head.append("all queries" if batch.pool else "average")
                columns.append(mean_cells(averages, metric, options.digits, {}))
            yield doc.Grid(spec.display, tuple(head), list(zip(*columns, strict=True)))
        if sentences := _legend(batch, with_letters):
            yield doc.Sentences(sentences)
        if signature and options.format != "table":
            yield doc.Lines(list(map(visible, batch.signatures())))

    def records() -> Iterator[dict[str, Any]]:
        yield from (cell.to_dict() for cell in batch.cells.values())
        for system, values in batch.averages().items():
            yield {"average": "pool" if batch.pool else "macro", "system": system, "values": values}

    columns = _COLUMNS if batch.baseline is not None else _COLUMNS[:6]
    return doc.OutputDocument(
        blocks=blocks,
        rows=lambda: [doc.rows_of(columns, _rows(batch), options.digits)],
        content=lambda: {**batch.to_dict(), **({"signatures": batch.signatures()} if signature else {})},
        records=records,
        is_log=True,
    )


def _legend(batch: Batch, with_letters: bool) -> list[str]:
    sentences = []
    compared = batch.comparisons
    if compared and batch.baseline is not None:
        marks = f"{BETTER} {WORSE}: significantly better, worse than "
        if with_letters:
            marks = "Letters: significantly better than these systems, compared with "
        shortfalls = [
            f"{collection}: {pair.reason}" for (collection, _, _), pair in compared.items() if pair.is_short
        ]
        count = len(compared) - len(shortfalls)
        family = f"Holm correction for {count:,} comparison{'s' * (count != 1)}"
        test = f"paired t-test, two-sided; {family}; alpha = {batch.alpha:g}"
        if any(pair.is_tested for pair in compared.values()):
            sentences.append(f"{marks}{visible(batch.baseline)} on the same queries ({test}).")
        sentences += map(visible, not_tested(shortfalls))
    statuses = {cell.status for cell in batch.cells.values()}
    if len(batch.collections) > 1:
        average = "Average: the mean of the collections"
        if batch.pool:
            average = "All queries: the mean over the queries of all collections"
        lacking = "; none (-) for a system without a value for each" if statuses - {"done"} else ""
        sentences.append(f"{average}{lacking}.")
    words = {"missing": "there is no run", "failed": "the run cannot be evaluated"}
    return sentences + [f"{word.capitalize()}: {text}." for word, text in words.items() if word in statuses]


_KINDS = {"collection": doc.NAME, "system": doc.NAME, "metric": doc.WORD, "value": doc.NUMBER}
_KINDS |= {"queries": doc.WORD, "status": doc.WORD, "baseline": doc.NAME, "difference": doc.NUMBER}
_KINDS |= {"p": doc.PROBABILITY, "p_corrected": doc.PROBABILITY, "verdict": doc.WORD, "reason": doc.WORD}
_COLUMNS = [doc.Column(name, "", kind) for name, kind in _KINDS.items()]


def _rows(batch: Batch) -> Iterator[dict[str, Any]]:
    """The rows for programs: each cell, then the averages."""
    names = list(_KINDS)
    specs = {collection.name: collection.specs for collection in batch.collections}
    for (collection, system), cell in batch.cells.items():
        for spec in specs[collection]:
            value = cell.values.get(str(spec), NO_VALUE)
            pair = cell.comparisons.get(str(spec))
            compared = (getattr(pair, name, "") for name in names[6:])
            yield dict(zip(names, (collection, system, spec, *value, cell.status, *compared), strict=True))
    for system in batch.systems if len(batch.collections) > 1 else ():
        for spec in batch.specs:
            values = batch.values(system, spec)
            status = "done" if len(values) == len(batch.having(spec)) else "incomplete"
            summary = batch.average(system, spec), sum(value.n for value in values), status
            row = (POOL if batch.pool else AVERAGE, system, spec, *summary)
            yield {**dict.fromkeys(names, ""), **dict(zip(names, row, strict=False))}
