"""What the formats share: numbers as text, rows for long formats, and sheets for wide ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval.arrays import Floats
from gradeval.errors import visible
from gradeval.render import Digits
from gradeval.results import Column, Results, RunResult

if TYPE_CHECKING:
    from gradeval.registry.spec import Spec

Row = tuple[str, ...]

ALL = "all"  # stands where a query would, in rows of the summary


class RenderOptions(NamedTuple):
    """What is printed, and how; colour and width are for the table, spreadsheet is for csv."""

    per_query: bool = False
    summary: bool = True
    digits: Digits = 4
    colour: bool = False
    width: int | None = None
    spreadsheet: bool = False


class Block(NamedTuple):
    """Rows of one run that stand together: its queries, or its summary. A row has a cell for each column."""

    run: RunResult
    queries: list[str]
    columns: list[Column]
    rows: list[tuple[Any, ...]]

    @property
    def specs(self) -> list[Spec]:
        return [column.spec for column in self.columns]

    def ranges(self, write: Callable[[Column], list[str]]) -> dict[tuple[int, int], str]:
        """(row, column) -> '[low, high]' where they differ as text, with the label as column 0."""
        return {
            (r, c): f"[{low}, {high}]"
            for c, column in enumerate(self.columns, 1)
            if column.ends
            for r, (value, low, high) in enumerate(with_ends(column, write))
            if not value == low == high
        }


class Sheet(NamedTuple):
    """A table to draw: each row a label and its values; best: the (row, column) of values to set bold. ranges:
    (row, column) -> '[low, high]' of values that the order of ties changes.

    Nothing in it can steer a terminal, or turn the direction of what stands beside it.
    """

    title: str
    head: Row
    rows: list[Row]
    best: frozenset[tuple[int, int]]
    ranges: Mapping[tuple[int, int], str]

    def range(self, row: int, column: int) -> str:
        """' [low, high]' beside a value; nothing where the order of ties does not change it."""
        return f" {self.ranges[row, column]}" if (row, column) in self.ranges else ""


def decimals(values: Floats, whole: bool, *, digits: Digits, width: int = 0, signed: bool = False) -> list[str]:
    """Values as text; counts have no decimals, and zero has no sign, or only where it is rounded (signed)."""
    numbers = (values + 0.0).tolist()  # + 0.0 makes -0.0 a plain 0.0
    if whole:
        return [str(int(number)) if number == number else "nan" for number in numbers]
    if digits == "full":
        return [repr(number) for number in numbers]
    pattern = f"%{width}.{digits}f"
    texts = [pattern % number for number in numbers]
    return texts if signed else [text if text[0] != "-" or text.strip("-0.") else text[1:] for text in texts]


def texts_of(column: Column, *, word: Callable[[str], str] = str, **how: Any) -> list[str]:
    """A column's values as text; word: writes those that are text already. how: for decimals()."""
    if column.texts is not None:
        return list(map(word, column.texts))
    return decimals(column.values, column.spec.metric.is_count, **how)


def with_ends(column: Column, write: Callable[[Column], list[str]], absent: str = "") -> list[Row]:
    """Of each value of a column: the value, the lowest and the highest, as text. absent: of texts' ends."""
    values = write(column)
    ends = [write(end) for end in column.ends] or [[absent] * len(values)] * 2
    return list(zip(values, *ends, strict=True))


def blocks(results: Results, options: RenderOptions, cells: Callable[[Column], list[Any]]) -> Iterator[Block]:
    """Run by run, its queries and then its summary, as far as they are wanted. cells: writes a column."""
    for r, run in enumerate(results.runs):
        for is_wanted, per_query in ((options.per_query, True), (options.summary, False)):
            if is_wanted:
                columns = results.columns(r, per_query=per_query)
                queries = results.counted_queries(r) if per_query else [ALL]
                rows = list(zip(*map(cells, columns), strict=True))
                yield Block(run, queries, columns, rows)


def sheets(results: Results, options: RenderOptions) -> Iterator[Sheet]:
    """A sheet of queries for each run, and then one summary of all, as far as they are wanted."""
    cells = partial(texts_of, digits=options.digits, word=visible)
    for block in blocks(results, options._replace(summary=False), cells):
        head = ("query", *(spec.display for spec in block.specs))
        rows = [(visible(query), *row) for query, row in zip(block.queries, block.rows, strict=False)]
        yield Sheet(visible(block.run.name), head, rows, frozenset(), block.ranges(cells))
    if options.summary:
        head = ("run", *(spec.display for spec in results.specs if spec.metric.has_summary))
        summaries = list(blocks(results, options._replace(per_query=False), cells))
        rows = [(visible(block.run.name), *row) for block in summaries for row in block.rows or [()]]
        found = (block.ranges(cells).items() for block in summaries)
        ranges = {(r, c): text for r, items in enumerate(found) for (_, c), text in items}
        yield Sheet("", head, rows, _best(results, rows), ranges)


def _best(results: Results, rows: list[Row]) -> frozenset[tuple[int, int]]:
    """Where the best values stand, if runs compete for them; values that read the same are equally good."""
    best = set()
    shown = [m for m, spec in enumerate(results.specs) if spec.metric.has_summary]
    for c, m in enumerate(shown if len(rows) > 1 else (), 1):
        means = results.means[:, m]
        higher_is_better = results.specs[m].metric.higher_is_better
        if higher_is_better is not None and not np.isnan(means).all():
            winner = rows[int(np.nanargmax(means) if higher_is_better else np.nanargmin(means))][c]
            best |= {(r, c) for r, row in enumerate(rows) if row[c] == winner}
    return frozenset(best)


_BREAKS = str.maketrans({"\t": r"\t", "\n": r"\n", "\r": r"\r"})


def one_field(text: str) -> str:
    """A name that cannot end its field or its line: file names can hold tabs and line ends."""
    return text.translate(_BREAKS)
