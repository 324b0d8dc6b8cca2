"""What the formats of batches share: a grid for each metric, rows, and the legend."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from gradeval.analysis.batch import ALPHA
from gradeval.analysis.batch_table import Batch, BatchCollection
from gradeval.errors import visible
from gradeval.formats.manifest import AVERAGE, POOL
from gradeval.registry.spec import Spec
from gradeval.render import Digits
from gradeval.render.comparison.layout import BETTER, WORSE, letters
from gradeval.render.comparison.rows import plain, significant
from gradeval.render.grids import Cell, Grid, number


class BatchRenderOptions(NamedTuple):
    """How to print; colour and width are for the table, spreadsheet is for csv."""

    digits: Digits = 4
    colour: bool = False
    width: int | None = None
    spreadsheet: bool = False


def grids(batch: Batch, options: BatchRenderOptions, with_letters: bool) -> Iterator[Grid]:
    """A grid for each metric. with_letters: for significance, instead of triangles."""
    names = letters(len(batch.systems))
    for spec in batch.specs:
        collections = batch.having(spec)
        with_average = len(collections) > 1
        marks = _letters(batch, spec) if with_letters else _triangles(batch, spec)
        columns = [_column(batch, one, spec, options.digits, marks) for one in collections]
        if with_average:
            means = [batch.average(system, spec) for system in batch.systems]
            columns.append(_bold(spec, means, [Cell(number(mean, options.digits)) for mean in means]))
        head = ["system", *(visible(one.name) for one in collections)]
        head += [_AVERAGES[batch.pool]] if with_average else []
        labels = [
            f"{visible(system)} ({letter})" if with_letters and batch.baseline is not None else visible(system)
            for system, letter in zip(batch.systems, names, strict=True)
        ]
        rows = [(Cell(label), *row) for label, row in zip(labels, zip(*columns, strict=True), strict=True)]
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


def legend(batch: Batch, with_letters: bool) -> list[str]:
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
        sentences.append(f"{what} on the same queries (paired t-test, two-sided; {family}; alpha = {ALPHA:g}).")
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


HEAD = (
    *("collection", "system", "metric", "value", "queries", "status"),
    *("baseline", "difference", "p", "p_corrected", "verdict"),
)


def plain_rows(batch: Batch, digits: Digits) -> Iterator[list[str]]:
    """The rows of tsv and csv: each cell, then the averages; the comparison only with a baseline."""
    for (collection, system), cell in batch.cells.items():
        [specs] = [one.specs for one in batch.collections if one.name == collection]
        for spec in specs:
            value = cell.values.get(str(spec))
            texts = ["nan", "0"] if value is None else [plain(value.mean, digits), str(value.n)]
            row = [collection, system, str(spec), *texts, cell.status]
            one = cell.comparisons.get(str(spec))
            if batch.baseline is not None:
                row += [""] * 5 if one is None else [one.baseline, plain(one.difference, digits)]
                row += [] if one is None else [*(significant(p, digits) for p in (one.p, one.p_corrected))]
                row += [] if one is None else [one.verdict]
            yield row
    for system in batch.systems if len(batch.collections) > 1 else ():
        for spec in batch.specs:
            cells = [batch.cells.get((one.name, system)) for one in batch.having(spec)]
            found = [of for cell in cells if cell is not None and (of := cell.values.get(str(spec)))]
            status = "done" if len(found) == len(cells) else "incomplete"
            value_text = plain(batch.average(system, spec), digits)
            row = [POOL if batch.pool else AVERAGE, system, str(spec), value_text]
            row += [str(sum(one.n for one in found)), status]
            yield row + [""] * (5 if batch.baseline is not None else 0)


def head(batch: Batch) -> tuple[str, ...]:
    return HEAD if batch.baseline is not None else HEAD[:6]
