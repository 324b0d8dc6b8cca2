"""The document of a batch: a table for each metric, systems as rows, collections and the average as columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradeval.commands.batch.batch import NO_VALUE, TEST, Batch
from gradeval.commands.batch.manifest import AVERAGE, POOL
from gradeval.commands.compare.compare import ComparedMetric
from gradeval.commands.compare.layout import BETTER, WORSE, labels, mean_cells, significance
from gradeval.errors import visible
from gradeval.render import document as doc


def document(batch: Batch, how: doc.RenderOptions, *, signature: bool = False) -> doc.Document:
    """signature: those of the means, in md, latex and json."""
    with_letters = how.format == "latex"  # for significance, instead of triangles

    def blocks() -> Iterator[doc.Block]:
        for spec in batch.specs:
            metric, head = ComparedMetric.of(spec), ["system"]
            columns = [labels(batch.systems, with_letters and batch.baseline is not None)]
            for collection in batch.having(spec):
                cells = [batch.cells[collection.name, system] for system in batch.systems]
                pairs = [of.comparisons[metric.name] for of in cells if metric.name in of.comparisons]
                marks = significance(batch.systems, pairs, with_letters)
                means: dict[str, float | str] = {
                    cell.system: cell.values.get(metric.name, NO_VALUE).mean for cell in cells
                }
                means.update((cell.system, cell.status) for cell in cells if cell.status != "done")
                head.append(visible(collection.name))
                columns.append(mean_cells(means, metric, how.digits, marks))
            if len(columns) > 2:
                averages = {system: batch.average(system, spec) for system in batch.systems}
                head.append("all queries" if batch.pool else "average")
                columns.append(mean_cells(averages, metric, how.digits, {}))
            yield doc.Grid(spec.display, tuple(head), list(zip(*columns, strict=True)))
        if sentences := _legend(batch, with_letters):
            yield doc.Sentences(sentences)
        if signature and how.format != "table":
            yield doc.Lines(list(map(visible, batch.signatures())))

    def records() -> Iterator[dict[str, Any]]:
        yield from (cell.to_dict() for cell in batch.cells.values())
        for system, values in batch.averages().items():
            yield {"average": "pool" if batch.pool else "macro", "system": system, "values": values}

    columns = _COLUMNS if batch.baseline is not None else _COLUMNS[:6]
    return doc.Document(
        blocks=blocks,
        rows=lambda: [doc.rows_of(columns, _rows(batch), how.digits)],
        content=lambda: {**batch.to_dict(), **({"signatures": batch.signatures()} if signature else {})},
        records=records,
        is_log=True,
    )


def _legend(batch: Batch, with_letters: bool) -> list[str]:
    sentences = []
    count = len(batch.comparisons)
    if count and batch.baseline is not None:
        what = f"{BETTER} {WORSE}: significantly better, worse than "
        if with_letters:
            what = "Letters: significantly better than these systems, compared with "
        family = f"Holm correction for {count:,} comparison{'s' * (count != 1)}"
        how = f"paired t-test, two-sided; {family}; alpha = {TEST.alpha:g}"
        sentences.append(f"{what}{visible(batch.baseline)} on the same queries ({how}).")
    statuses = {cell.status for cell in batch.cells.values()}
    if len(batch.collections) > 1:
        average = "Average: the mean of the collections"
        if batch.pool:
            average = "All queries: the mean over the queries of all collections"
        lacking = "; none (-) for a system without a value for each" if statuses - {"done"} else ""
        sentences.append(f"{average}{lacking}.")
    words = {"missing": "there is no run", "failed": "the run cannot be evaluated"}
    return sentences + [f"{word.capitalize()}: {what}." for word, what in words.items() if word in statuses]


_KINDS = {"collection": doc.NAME, "system": doc.NAME, "metric": doc.WORD, "value": doc.NUMBER}
_KINDS |= {"queries": doc.WORD, "status": doc.WORD, "baseline": doc.NAME, "difference": doc.NUMBER}
_KINDS |= {"p": doc.PROBABILITY, "p_corrected": doc.PROBABILITY, "verdict": doc.WORD}
_COLUMNS = [doc.Column(name, "", kind) for name, kind in _KINDS.items()]


def _rows(batch: Batch) -> Iterator[dict[str, Any]]:
    """The rows for programs: each cell, then the averages."""
    names = list(_KINDS)
    specs = {collection.name: collection.specs for collection in batch.collections}
    for (collection, system), cell in batch.cells.items():
        for spec in specs[collection]:
            value, pair = cell.values.get(str(spec), NO_VALUE), cell.comparisons.get(str(spec))
            compared = (getattr(pair, name, "") for name in names[6:])
            yield dict(zip(names, (collection, system, spec, *value, cell.status, *compared), strict=True))
    for system in batch.systems if len(batch.collections) > 1 else ():
        for spec in batch.specs:
            values = batch.values(system, spec)
            status = "done" if len(values) == len(batch.having(spec)) else "incomplete"
            summary = batch.average(system, spec), sum(value.n for value in values), status
            row = (POOL if batch.pool else AVERAGE, system, spec, *summary)
            yield {**dict.fromkeys(names, ""), **dict(zip(names, row, strict=False))}
