"""The document of a batch: a table for each metric, systems as rows, collections and the average as columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from gradeval.commands.batch.cells import TEST
from gradeval.commands.batch.manifest import AVERAGE, POOL, Collection
from gradeval.commands.batch.result import Batch
from gradeval.commands.compare.layout import BETTER, WORSE, best_in_bold, labels, significance
from gradeval.errors import visible
from gradeval.registry.spec import Spec
from gradeval.render import Digits
from gradeval.render import document as doc
from gradeval.render.numbers import number


def document(batch: Batch, how: doc.RenderOptions, *, signature: bool = False) -> doc.Document:
    """signature: those of the means, in md, latex and json."""
    with_letters = how.format == "latex"

    def blocks() -> Iterator[doc.Block]:
        yield from _grids(batch, how.digits, with_letters)
        if sentences := _legend(batch, with_letters):
            yield doc.Sentences(sentences)
        if signature and how.format != "table":
            yield doc.Lines(list(map(visible, batch.signatures())))

    def records() -> Iterator[dict[str, Any]]:
        yield from (cell.to_dict() for cell in batch.cells.values())
        kind = "pool" if batch.pool else "macro"
        for system, values in batch.averages().items():
            yield {"average": kind, "system": system, "values": values}

    columns = _COLUMNS if batch.baseline is not None else _COLUMNS[:6]
    return doc.Document(
        blocks=blocks,
        rows=lambda: [doc.rows_of(columns, _rows(batch), how.digits)],
        content=lambda: {**batch.to_dict(), **({"signatures": batch.signatures()} if signature else {})},
        records=records,
        is_log=True,
    )


def _grids(batch: Batch, digits: Digits, with_letters: bool) -> Iterator[doc.Grid]:
    """A grid for each metric. with_letters: for significance, instead of triangles."""
    for spec in batch.specs:
        collections = batch.having(spec)
        head = ["system", *(visible(collection.name) for collection in collections)]
        columns = [labels(batch.systems, with_letters and batch.baseline is not None)]
        columns += [_column(batch, collection, spec, digits, with_letters) for collection in collections]
        if len(collections) > 1:
            means = [batch.average(system, spec) for system in batch.systems]
            head.append("all queries" if batch.pool else "average")
            cells = [doc.Cell(number(mean, digits)) for mean in means]
            columns.append(best_in_bold(cells, means, spec.metric.higher_is_better))
        yield doc.Grid(spec.display, tuple(head), list(zip(*columns, strict=True)))


def _column(
    batch: Batch, collection: Collection, spec: Spec, digits: Digits, with_letters: bool
) -> Sequence[doc.Cell]:
    cells = [batch.cells.get((collection.name, system)) for system in batch.systems]
    pairs = [cell.comparisons[str(spec)] for cell in cells if cell and str(spec) in cell.comparisons]
    marks = significance(batch.systems, pairs, with_letters)
    means = [batch.value(collection.name, system, spec) for system in batch.systems]
    texts = [
        doc.Cell(cell.status)
        if cell is not None and cell.status != "done"
        else doc.Cell(number(mean, digits), marks.get((system, str(spec)), ""))
        for system, cell, mean in zip(batch.systems, cells, means, strict=True)
    ]
    return best_in_bold(texts, means, spec.metric.higher_is_better)


def _legend(batch: Batch, with_letters: bool) -> list[str]:
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
    doc.Column("collection", "", doc.NAME),
    doc.Column("system", "", doc.NAME),
    doc.Column("metric", ""),
    doc.Column("value", "", doc.NUMBER),
    doc.Column("queries", ""),
    doc.Column("status", ""),
    doc.Column("baseline", "", doc.NAME),
    doc.Column("difference", "", doc.NUMBER),
    doc.Column("p", "", doc.PROBABILITY),
    doc.Column("p_corrected", "", doc.PROBABILITY),
    doc.Column("verdict", ""),
]


def _rows(batch: Batch) -> Iterator[dict[str, Any]]:
    """The rows for programs: each cell, then the averages."""
    empty = dict.fromkeys((column.name for column in _COLUMNS[6:]), "")
    specs = {collection.name: collection.specs for collection in batch.collections}
    for (collection, system), cell in batch.cells.items():
        for spec in specs[collection]:
            mean, n = cell.values.get(str(spec), (math.nan, 0))
            pair = cell.comparisons.get(str(spec))
            row = {"collection": collection, "system": system, "metric": spec, "status": cell.status}
            compared = empty if pair is None else {name: getattr(pair, name) for name in empty}
            yield {**row, "value": mean, "queries": n, **compared}
    for system in batch.systems if len(batch.collections) > 1 else ():
        for spec in batch.specs:
            cells = [batch.cells.get((collection.name, system)) for collection in batch.having(spec)]
            values = [cell.values[str(spec)] for cell in cells if cell and str(spec) in cell.values]
            yield {
                "collection": POOL if batch.pool else AVERAGE,
                "system": system,
                "metric": spec,
                "value": batch.average(system, spec),
                "queries": sum(value.n for value in values),
                "status": "done" if len(values) == len(cells) else "incomplete",
                **empty,
            }
