"""The table of a batch: cells of collections × systems, and averages over the collections."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from gradeval.arrays import cached_property
from gradeval.commands.batch.manifest import Collection
from gradeval.commands.compare.result import Judged, PairComparison, differs_by_depth
from gradeval.errors import GradevalError, first_names
from gradeval.evaluation.outcome import with_depths
from gradeval.evaluation.results import position_of, signature_of
from gradeval.notices import MAX_SUBJECTS, Kind, Notice, lines
from gradeval.options import DEFAULT_TIES
from gradeval.registry.metric import Kind as MetricKind
from gradeval.registry.spec import Spec, parse
from gradeval.render.document import Tabular, WithNotices
from gradeval.render.numbers import exact
from gradeval.version import __version__

FORMAT_VERSION = 1
CHECKSUM = "checksum"  # of a cell in JSON: the SHA-256 of the rest

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
    groups_sha256: of the group sizes of qrels without qid. ties: the order of tied scores. judged: the share of
    judged documents, NaN where it is unknown, by the name of the metric that measures it. depths: quantiles of
    the documents of a query, None where they are unknown.
    """

    collection: str
    system: str
    path: str
    status: Status = "done"
    sha256: str | None = None
    qrels_sha256: str | None = None
    groups_sha256: str | None = None
    ties: str = DEFAULT_TIES
    options: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Value] = field(default_factory=dict)
    judged: Mapping[str, float] = field(default_factory=dict)
    baseline: str | None = None
    baseline_sha256: str | None = None
    comparisons: Mapping[str, PairComparison] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    errors: tuple[str, ...] = ()
    depths: tuple[int, int, int, int, int] | None = None

    @property
    def key(self) -> Key:
        return self.collection, self.system

    def signature(self, spec: Spec) -> str:
        """What decides the mean of a metric."""
        hashes = {"qrels": self.qrels_sha256, "groups": self.groups_sha256}
        return signature_of(spec, self.options, self.ties, hashes, self.values[str(spec)].n)

    def to_dict(self) -> dict[str, Any]:
        """The cell as in JSON. Its checksum shows --resume whether it was edited."""
        content = {
            "gradeval": __version__,
            **{name: getattr(self, name) for name in ("collection", "system", "status")},
            **vars(self),
            "values": exact({name: value._asdict() for name, value in self.values.items()}),
            "judged": exact(dict(self.judged)),
            "comparisons": {name: pair.to_dict() for name, pair in self.comparisons.items()},
            "notices": [notice.to_dict() for notice in self.notices],
            "errors": list(self.errors),
        }
        return {**content, CHECKSUM: checksum(content)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Cell:
        """The cell that to_dict wrote. Raises KeyError."""
        same: dict[str, Any] = {part.name: content[part.name] for part in fields(cls)}
        values = {name: Value(_number(value["mean"]), value["n"]) for name, value in same["values"].items()}
        comparisons = {name: PairComparison.from_dict(pair) for name, pair in same["comparisons"].items()}
        return replace(
            cls(**same),
            values=values,
            judged={name: _number(share) for name, share in same["judged"].items()},
            comparisons=comparisons,
            notices=tuple(Notice.from_dict(notice, notice["subject"]) for notice in same["notices"]),
            errors=tuple(same["errors"]),
            depths=same["depths"] and tuple(same["depths"]),
        )


def checksum(content: Mapping[str, Any]) -> str:
    """The checksum of a cell in JSON: an edited value looks like any other."""
    rest = {name: value for name, value in content.items() if name != CHECKSUM}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class Batch(WithNotices, Tabular):
    """Collections × systems. path: of the manifest. baseline: the system that others are compared with.

    cells: by (collection, system). pool: whether averages are over all queries together, instead of the mean of
    the collections. order: metrics that come first, in this order.
    """

    layout = "gradeval.commands.batch.layout"

    path: str
    systems: tuple[str, ...]
    collections: tuple[Collection, ...]
    cells: Mapping[Key, Cell] = field(repr=False)
    baseline: str | None = None
    pool: bool = False
    order: tuple[Spec, ...] = ()

    @cached_property
    def specs(self) -> tuple[Spec, ...]:
        specs = [spec for collection in self.collections for spec in collection.specs]
        return tuple(dict.fromkeys([*(spec for spec in self.order if spec in specs), *specs]))

    def having(self, spec: Spec) -> tuple[Collection, ...]:
        return tuple(collection for collection in self.collections if spec in collection.specs)

    def value(self, collection: str, system: str, metric: str | Spec) -> float:
        """The mean of a cell; NaN where it is missing or undefined."""
        spec = self.specs[position_of(metric, self.specs)]
        cell = self.cells.get((collection, system))
        if cell is None:
            raise GradevalError(f"no cell of {system} on {collection}")
        return cell.values[str(spec)].mean if str(spec) in cell.values else math.nan

    def average(self, system: str, metric: str | Spec) -> float:
        """The average over the collections that have the metric, or over all of their queries, from the summary
        of each; NaN if the system lacks a value for one.
        """
        spec = self.specs[position_of(metric, self.specs)]
        cells = [self.cells.get((collection.name, system)) for collection in self.having(spec)]
        if system not in self.systems:
            raise GradevalError(f"no system {system}: the systems are {', '.join(self.systems)}")
        values = [cell.values[str(spec)] for cell in cells if cell is not None and str(spec) in cell.values]
        if len(values) < len(cells):
            return math.nan
        if not self.pool:
            return math.fsum(value.mean for value in values) / len(values)
        if spec.metric.is_summed:
            return math.fsum(value.mean for value in values)
        total = sum(value.n for value in values)
        if not total or any(math.isnan(value.mean) for value in values):
            return math.nan
        if spec.metric.kind is MetricKind.GEOMETRIC:
            return math.exp(math.fsum(value.n * math.log(value.mean) for value in values) / total)
        return math.fsum(value.n * value.mean for value in values) / total

    @property
    def comparisons(self) -> dict[tuple[str, str, str], PairComparison]:
        """(collection, system, metric) -> the comparison with the baseline."""
        return {
            (*key, name): pair for key, cell in self.cells.items() for name, pair in cell.comparisons.items()
        }

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The notices; the subject of a notice about a run is COLLECTION/SYSTEM."""
        notices: list[Notice] = []
        done = [cell for cell in self.cells.values() if cell.status == "done"]
        if missing := [cell for cell in self.cells.values() if cell.status == "missing"]:
            reasons = (f"{cell.path} does not exist" if cell.path else "no path given" for cell in missing)
            cells = [f"{'/'.join(cell.key)} ({reason})" for cell, reason in zip(missing, reasons, strict=True)]
            rule = first_names(cells, MAX_SUBJECTS)
            if len(self.collections) > 1:
                systems = first_names(dict.fromkeys(cell.system for cell in missing), MAX_SUBJECTS)
                rule += f"; no average of {systems}"
            notices.append(Notice(Kind.MISSING_RUNS, "", len(missing), rule=rule, total=len(self.cells)))
        # where there is something to compare, and no baseline
        compared = [cell.collection for cell in done if cell.system == self.baseline]
        names = {cell.collection for cell in done} - {*compared}
        lacking = [collection.name for collection in self.collections if collection.name in names]
        if self.baseline is not None and lacking:
            rule = first_names(lacking, MAX_SUBJECTS)
            total = len(self.collections)
            notices.append(Notice(Kind.NO_BASELINE, self.baseline, len(lacking), rule=rule, total=total))
        # where the systems that are compared differ in how much of them was judged, or that is unknown
        for name in compared:
            of_collection = [cell for cell in done if cell.collection == name]
            for measure in dict.fromkeys(measure for cell in of_collection for measure in cell.judged):
                having = [cell for cell in of_collection if measure in cell.judged]
                [spec] = parse(measure)
                by_depth = differs_by_depth([cell.depths for cell in having], spec)
                judged = Judged(measure, np.array([cell.judged[measure] for cell in having]), by_depth)
                for notice in judged.notices([f"{name}/{cell.system}" for cell in having]):
                    notices.append(notice.replace(subject=notice.subject or name))
        # those of the cells, and that their runs differ in depth, each metric's with the collection
        for collection in self.collections:
            of_collection = [cell for (name, _), cell in self.cells.items() if name == collection.name]
            depths = [(cell.system, cell.depths) for cell in of_collection]
            options = next((cell.options for cell in of_collection if cell.options), {})
            of_cells = (notice for cell in of_collection for notice in cell.notices)
            for notice in with_depths(of_cells, depths, collection.specs, options):
                is_depth = notice.kind is Kind.DEPTH
                notices.append(notice.replace(subject=collection.name) if is_depth else notice)
        return tuple(dict.fromkeys(notices))

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
            cells = [cell for cell in self.cells.values() if cell.collection == collection.name]
            for spec in collection.specs:
                of_cells = {cell: cell.signature(spec) for cell in cells if str(spec) in cell.values}
                if len({*of_cells.values()}) == 1:
                    texts.append(f"{collection.name}: {next(iter(of_cells.values()))}")
                else:
                    texts += [f"{'/'.join(cell.key)}: {text}" for cell, text in of_cells.items()]
        return texts

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each metric of each cell: its mean, how many queries have a value, and the comparison with
        the baseline. A cell without values has one, with its status.
        """
        rows = []
        for cell in self.cells.values():
            about = {"collection": cell.collection, "system": cell.system, "status": cell.status}
            for name, value in cell.values.items() or [("", Value(math.nan, 0))]:
                pair = cell.comparisons.get(name)
                compared = {key: getattr(pair, key, None) for key in ("difference", "p_corrected", "verdict")}
                rows.append({**about, "metric": name, "mean": value.mean, "n": value.n, **compared})
        return rows

    def averages(self) -> dict[str, dict[str, float | None]]:
        """System -> metric -> average, as in JSON."""
        return {
            system: {str(spec): exact(self.average(system, spec)) for spec in self.specs}
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
                {"name": of.name, "qrels": of.qrels, "metrics": list(map(str, of.specs))}
                for of in self.collections
            ],
            "baseline": self.baseline,
            "warnings": list(lines(self.notices, len(self.cells))),
            "cells": [cell.to_dict() for cell in self.cells.values()],
            "average": "pool" if self.pool else "macro",
            "averages": self.averages(),
        }


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
