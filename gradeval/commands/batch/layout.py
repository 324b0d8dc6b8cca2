"""What a batch prints: for each metric a table of systems as rows and collections as columns, with averages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gradeval.commands.batch.cells import TEST
from gradeval.commands.batch.manifest import AVERAGE, POOL
from gradeval.commands.batch.result import Batch, BatchCollection
from gradeval.commands.compare.layout import BETTER, WORSE, letters
from gradeval.errors import visible
from gradeval.registry.spec import Spec
from gradeval.render import Digits
from gradeval.render.document import (
    NAME,
    NUMBER,
    PROBABILITY,
    Block,
    Cell,
    Column,
    Document,
    Grid,
    RenderOptions,
    Sentences,
    rows_of,
)
from gradeval.render.numbers import number


def document(batch: Batch, how: RenderOptions) -> Document:
    with_letters = how.format == "latex"

    def blocks() -> Iterator[Block]:
        yield from _grids(batch, how.digits, with_letters)
        if sentences := _legend(batch, with_letters):
            yield Sentences(sentences)

    def records() -> Iterator[dict[str, Any]]:
        yield from (cell.to_dict() for cell in batch.cells.values())
        kind = "pool" if batch.pool else "macro"
        for system, values in batch.averages().items():
            yield {"average": kind, "system": system, "values": values}

    columns = _COLUMNS if batch.baseline is not None else _COLUMNS[:6]
    return Document(
        blocks=blocks,
        rows=lambda: [rows_of(columns, _rows(batch), how.digits)],
        content=batch.to_dict,
        records=records,
    )


def _grids(batch: Batch, digits: Digits, with_letters: bool) -> Iterator[Grid]:
    """A grid for each metric. with_letters: for significance, instead of triangles."""
    names = letters(len(batch.systems))
    for spec in batch.specs:
        collections = batch.having(spec)
        with_average = len(collections) > 1
        marks = _letters(batch, spec) if with_letters else _triangles(batch, spec)
        columns = [_column(batch, one, spec, digits, marks) for one in collections]
        if with_average:
            means = [batch.average(system, spec) for system in batch.systems]
            columns.append(_bold(spec, means, [Cell(number(mean, digits)) for mean in means]))
        head = ["system", *(visible(one.name) for one in collections)]
        head += [_AVERAGES[batch.pool]] if with_average else []
        labels = [
            f"{visible(system)} ({letter})" if with_letters and batch.baseline is not None else visible(system)
            for system, letter in zip(batch.systems, names, strict=True)
        ]
        rows = [(label, *row) for label, row in zip(labels, zip(*columns, strict=True), strict=True)]
        yield Grid(spec.display, tuple(head), rows)


_AVERAGES = {False: "average", True: "all queries"}


def _column(
    batch: Batch, collection: BatchCollection, spec: Spec, digits: Digits, marks: dict[tuple[str, str], str]
) -> list[Cell]:
    cells, means = [], []
    for system in batch.systems:
        key = collection.name, system
        cell, mean = batch.cells.get(key), batch.value(*key, spec)
        if cell is not None and cell.status != "done":
            cells.append(Cell(cell.status))
        else:
            cells.append(Cell(number(mean, digits), marks.get(key, "")))
        means.append(mean)
    return _bold(spec, means, cells)


def _bold(spec: Spec, means: list[float], cells: list[Cell]) -> list[Cell]:
    """The cells with the best of them in bold; values with the same text are equally good."""
    higher = spec.metric.higher_is_better
    known = [(mean, cell.text) for mean, cell in zip(means, cells, strict=True) if not math.isnan(mean)]
    if higher is None or len(known) < 2:
        return cells
    best = (max if higher else min)(known)[1]
    return [cell._replace(bold=cell.text == best) for cell in cells]


def _triangles(batch: Batch, spec: Spec) -> dict[tuple[str, str], str]:
    """(collection, system) -> whether it is significantly better or worse than the baseline."""
    marks = {"better": BETTER, "worse": WORSE, "": ""}
    return {
        (collection, system): marks[one.verdict]
        for (collection, system, metric), one in batch.comparisons.items()
        if metric == str(spec)
    }


def _letters(batch: Batch, spec: Spec) -> dict[tuple[str, str], str]:
    """(collection, system) -> the letters of the systems that it is significantly better than."""
    letter = dict(zip(batch.systems, letters(len(batch.systems)), strict=True))
    found: dict[tuple[str, str], list[str]] = {}
    for (collection, system, metric), one in batch.comparisons.items():
        if metric == str(spec) and one.verdict:
            pair = (system, one.baseline) if one.verdict == "better" else (one.baseline, system)
            found.setdefault((collection, pair[0]), []).append(letter[pair[1]])
    between = "," if len(letter) > 26 else ""
    return {key: between.join(names) for key, names in found.items()}


def _legend(batch: Batch, with_letters: bool) -> list[str]:
    """What the marks and the average mean, a sentence each."""
    sentences = []
    count = len(batch.comparisons)
    if count and batch.baseline is not None:
        baseline = visible(batch.baseline)
        what = (
            f"Letters: significantly better than these systems, compared with {baseline}"
            if with_letters
            else f"{BETTER} {WORSE}: significantly better, worse than {baseline}"
        )
        family = f"Holm correction for {count:,} comparison{'s' * (count != 1)}"
        how = f"paired t-test, two-sided; {family}; alpha = {TEST.alpha:g}"
        sentences.append(f"{what} on the same queries ({how}).")
    statuses = {cell.status for cell in batch.cells.values()}
    lacking = "missing" in statuses or "failed" in statuses
    if len(batch.collections) > 1:
        average = (
            "All queries: the mean over the queries of all collections"
            if batch.pool
            else "Average: the mean of the collections"
        )
        without = "; none (-) for a system without a value for each" if lacking else ""
        sentences.append(f"{average}{without}.")
    words = {"missing": "there is no run", "failed": "the run cannot be evaluated"}
    sentences += [f"{word.capitalize()}: {what}." for word, what in words.items() if word in statuses]
    return sentences


_COLUMNS = [
    Column("collection", "", NAME),
    Column("system", "", NAME),
    Column("metric", ""),
    Column("value", "", NUMBER),
    Column("queries", ""),
    Column("status", ""),
    Column("baseline", "", NAME),
    Column("difference", "", NUMBER),
    Column("p", "", PROBABILITY),
    Column("p_corrected", "", PROBABILITY),
    Column("verdict", ""),
]


def _rows(batch: Batch) -> Iterator[dict[str, Any]]:
    """The rows for programs: each cell, then the averages."""
    empty = dict.fromkeys((column.name for column in _COLUMNS[6:]), "")
    for (collection, system), cell in batch.cells.items():
        [specs] = [one.specs for one in batch.collections if one.name == collection]
        for spec in specs:
            value, one = cell.values.get(str(spec)), cell.comparisons.get(str(spec))
            row = {"collection": collection, "system": system, "metric": spec, "status": cell.status}
            mean, n = (math.nan, 0) if value is None else (value.mean, value.n)
            compared = empty if one is None else {name: getattr(one, name) for name in empty}
            yield {**row, "value": mean, "queries": n, **compared}
    for system in batch.systems if len(batch.collections) > 1 else ():
        for spec in batch.specs:
            cells = [batch.cells.get((one.name, system)) for one in batch.having(spec)]
            found = [of for cell in cells if cell is not None and (of := cell.values.get(str(spec)))]
            yield {
                "collection": POOL if batch.pool else AVERAGE,
                "system": system,
                "metric": spec,
                "value": batch.average(system, spec),
                "queries": sum(one.n for one in found),
                "status": "done" if len(found) == len(cells) else "incomplete",
                **empty,
            }
