"""Collections × systems: means, their averages over the collections, significance against a baseline.

batch              a manifest -> Batch
evaluate_batch     the same for the command: cells as they are made, those of an earlier output kept
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradeval.arrays.threads import default_jobs
from gradeval.commands.batch.cells import TEST, CollectionCells
from gradeval.commands.batch.earlier_batch import read_cells
from gradeval.commands.batch.manifest import Collection, Manifest, manifest_of, read_manifest
from gradeval.commands.batch.result import Batch, BatchCollection, Cell, Key
from gradeval.commands.compare.result import PairComparison, Verdict
from gradeval.commands.compare.values import ComparedMetric, comparable
from gradeval.errors import InputError, MetricError, OptionError
from gradeval.formats.sources import Source
from gradeval.options import DEFAULT_METRICS
from gradeval.registry.spec import Spec, parse
from gradeval.statistics.corrections import holm
from gradeval.version import __version__

ALPHA = TEST.alpha


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
        same = (one for one in read_cells(source) if one["gradeval"] == __version__ and "judged" in one)
        cells = [Cell.from_dict(one) for one in same]
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
    order = tuple(parse(manifest.metrics)) if manifest.metrics else ()
    sign = {str(spec): ComparedMetric.of(spec).sign for of in specs.values() for spec in of}
    works = [
        CollectionCells(manifest, one, specs[one.name], baseline, jobs or default_jobs())
        for one in manifest.collections
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
        return Batch(manifest.path, manifest.systems, collections, cells, baseline, pool, order)

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
