"""Shared by the formats: numbers as text, rows for long formats, sheets for wide formats."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from gradeval.arrays import Floats
from gradeval.errors import visible
from gradeval.render import Digits
from gradeval.results import Results
from gradeval.run_result import Column, RunResult

if TYPE_CHECKING:
    from gradeval.registry.spec import Spec

Row = tuple[str, ...]

ALL = "all"  # the query id of the summary


class RenderOptions(NamedTuple):
    """What to print, and how; colour and width are for table, spreadsheet is for csv.

    wide: whether queries are rows, and runs columns.
    """

    per_query: bool = False
    summary: bool = True
    digits: Digits = 4
    colour: bool = False
    width: int | None = None
    spreadsheet: bool = False
    wide: bool = False


class Block(NamedTuple):
    """Consecutive rows of one run: its queries, or its summary. cells: the texts of each column."""

    run: RunResult
    queries: list[str]
    columns: list[Column]
    cells: list[list[Any]]

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """A cell of each column."""
        return list(zip(*self.cells, strict=True))

    @property
    def specs(self) -> list[Spec]:
        return [column.spec for column in self.columns]

    def ranges(self, write: Callable[[Column], list[str]]) -> dict[tuple[int, int], str]:
        """(row, column) -> '[low, high]' where the texts differ; column 0 is the label."""
        return {
            (r, c): f"[{low}, {high}]"
            for c, column in enumerate(self.columns, 1)
            if column.ends
            for r, (value, low, high) in enumerate(with_ends(column, write))
            if not value == low == high
        }


class Sheet(NamedTuple):
    """A table to draw: each row is a label and values. best: the (row, column) of values to set in bold.
    ranges: (row, column) -> '[low, high]' of values that the order of ties changes. runs: whether the 'rows' or
    the 'columns' are runs, '' if none are.

    All text is safe for a terminal: it has no control characters or marks of direction.
    """

    title: str
    head: Row
    rows: list[Row]
    best: frozenset[tuple[int, int]]
    ranges: Mapping[tuple[int, int], str] = {}
    runs: Literal["rows", "columns", ""] = ""

    @property
    def turned(self) -> Sheet:
        """The summary of runs with a row for each metric."""
        labels, *columns = zip(self.head, *self.rows, strict=True)
        best = frozenset((c - 1, r + 1) for r, c in self.best)
        ranges = {(c - 1, r + 1): text for (r, c), text in self.ranges.items()}
        return Sheet(self.title, ("metric", *labels[1:]), columns, best, ranges, "columns")

    def range(self, row: int, column: int) -> str:
        """' [low, high]' after a value, '' if the order of ties does not change it."""
        return f" {self.ranges[row, column]}" if (row, column) in self.ranges else ""


def decimals(values: Floats, whole: bool, *, digits: Digits, width: int = 0, signed: bool = False) -> list[str]:
    """Values as text. Counts have no decimals. Zero has no sign; with signed, a rounded negative has."""
    values = values + 0.0  # makes -0.0 a plain 0.0
    if whole:
        return _of_distinct(values, lambda number: str(int(number)) if number == number else "nan")
    if digits == "full":
        return _of_distinct(values, repr)
    pattern = f"%{width}.{digits}f"

    def write(number: float) -> str:
        text = pattern % number
        return text if signed or text[0] != "-" or text.strip("-0.") else text[1:]

    return _rounded(values, digits, write)


_FEW = 100  # values that are written one by one
_UNITS = 10**6  # the most units of the last decimal for which texts are looked up


def _of_distinct(values: Floats, write: Callable[[float], str]) -> list[str]:
    """write(value) for each value, called once for equal ones where there seem to be many."""
    first = values[:_FEW].tolist()
    if len(values) <= _FEW or len(set(first)) > 0.9 * len(first):
        return list(map(write, values.tolist()))
    distinct, index = np.unique(values, return_inverse=True)
    return _looked_up(list(map(write, distinct.tolist())), index)


def _rounded(values: Floats, digits: int, write: Callable[[float], str]) -> list[str]:
    """write(value) for each value, which rounds to this many decimals.

    A value is first rounded to a number of units by arithmetic, and that number's text looked up. What is near
    to the middle of two such numbers, below 0, or large is written separately.
    """
    if len(values) <= _FEW or digits > 6:
        return _of_distinct(values, write)
    unit = 10.0**digits
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = values * unit
        nearest = np.rint(scaled)
        is_sure = (scaled >= 0) & (scaled < _UNITS) & (np.abs(scaled - nearest) < 0.49999)
    count = np.where(is_sure, nearest, 0).astype(np.int64)
    present = np.flatnonzero(np.bincount(count))
    index = np.empty(_UNITS + 1, np.int32)
    index[present] = np.arange(len(present))
    texts = _looked_up([write(number / unit) for number in present.tolist()], index[count])
    others = np.flatnonzero(~is_sure)
    for row, text in zip(others.tolist(), _of_distinct(values[others], write), strict=True):
        texts[row] = text
    return texts


def _looked_up(texts: list[str], index: Any) -> list[str]:
    found: list[str] = np.array(texts, object)[index].tolist()
    return found


def joined(columns: Sequence[Sequence[str] | str], count: int) -> str:
    """The text of `count` rows from the texts of each column; a string is the same in all rows."""
    pieces: list[str] = [""] * (count * len(columns))
    for place, column in enumerate(columns):
        pieces[place :: len(columns)] = [column] * count if isinstance(column, str) else column
    return "".join(pieces)


def rows_of(block: Block, starts: Sequence[str], label: Callable[[Spec], str], end: str) -> str:
    """The rows of a block, metric by metric: start, label of the metric, value, end. starts: of each query."""
    columns = [
        part
        for spec, texts in zip(block.specs, block.cells, strict=True)
        for part in (starts, label(spec), texts, end)
    ]
    return joined(columns, len(starts))


def texts_of(column: Column, *, escape: Callable[[str], str] = str, **how: Any) -> list[str]:
    """The values of a column as text. escape: for text values. how: the arguments of decimals()."""
    if column.texts is not None:
        return list(map(escape, column.texts))
    return decimals(column.values, column.spec.metric.is_count, **how)


def exact_texts(column: Column) -> list[str]:
    """The values of a column as JSON."""
    if column.texts is not None:
        return list(map(json.dumps, column.texts))
    write: Callable[[float], str] = repr
    if column.spec.metric.is_count:
        write = _integer
    return _of_distinct(column.values + 0.0, lambda number: write(number) if math.isfinite(number) else "null")


def _integer(number: float) -> str:
    return str(int(number))


def with_ends(column: Column, write: Callable[[Column], list[str]], absent: str = "") -> list[Row]:
    """(value, low, high) as text for each value of a column. absent: the low and high of text values."""
    values = write(column)
    ends = [write(end) for end in column.ends] or [[absent] * len(values)] * 2
    return list(zip(values, *ends, strict=True))


def blocks(results: Results, options: RenderOptions, cells: Callable[[Column], list[Any]]) -> Iterator[Block]:
    """For each run its queries and then its summary, as the options say. cells: formats a column."""
    for r, run in enumerate(results.runs):
        for is_wanted, per_query in ((options.per_query, True), (options.summary, False)):
            if is_wanted:
                columns = results.columns(r, per_query=per_query)
                queries = results.counted_queries(r) if per_query else [ALL]
                yield Block(run, queries, columns, list(map(cells, columns)))


def sheets(results: Results, options: RenderOptions) -> Iterator[Sheet]:
    """A sheet of queries for each run, then one of the summaries, as the options say."""
    cells = partial(texts_of, digits=options.digits, escape=visible)
    if options.wide:
        names = tuple(visible(run.name) for run in results.runs)
        several = len(results.specs) > 1
        for spec, by_query in side_by_side(results, options, cells):
            rows: list[Row] = [(visible(query), *texts) for query, texts in by_query]
            best = frozenset((r, c) for r, row in enumerate(rows) for c in _best_in_row(spec, row))
            yield Sheet(spec.display if several else "", ("query", *names), rows, best, runs="columns")
        return
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
        yield Sheet("", head, rows, _best(results, rows), ranges, "rows")


def side_by_side(
    results: Results, options: RenderOptions, cells: Callable[[Column], list[str]]
) -> Iterator[tuple[Spec, list[tuple[str, list[str]]]]]:
    """For each metric the rows of its queries and then its summary: the query, and the cell of each run.

    A cell is '' where the query is not counted for the run. cells: formats a column.
    """
    texts: dict[bool, list[dict[Spec, list[str]]]] = {
        per_query: [
            {column.spec: cells(column) for column in results.columns(r, per_query=per_query)}
            for r in range(len(results.runs))
        ]
        for per_query in (True, False)
    }
    counted = [results.counted_queries(r) for r in range(len(results.runs))]
    in_any = set().union(*counted)
    for spec in results.specs:
        rows: list[tuple[str, list[str]]] = []
        if options.per_query and spec.metric.per_query:
            of_runs = [
                dict(zip(queries, of[spec], strict=True))
                for queries, of in zip(counted, texts[True], strict=True)
            ]
            rows += [(q, [of.get(q, "") for of in of_runs]) for q in results.queries if q in in_any]
        if options.summary and spec.metric.has_summary:
            rows.append((ALL, ["".join(of[spec]) for of in texts[False]]))
        if rows:
            yield spec, rows


def _best_in_row(spec: Spec, row: Row) -> list[int]:
    """The columns of the best values of several runs; values with the same text are equally good."""
    higher_is_better = spec.metric.higher_is_better
    texts = [text for text in row[1:] if text not in ("", "nan")]
    if len(row) < 3 or higher_is_better is None or spec.metric.text or not texts:
        return []
    winner = (max if higher_is_better else min)(texts, key=float)
    return [c for c, text in enumerate(row[1:], 1) if text == winner]


def _best(results: Results, rows: list[Row]) -> frozenset[tuple[int, int]]:
    """The positions of the best values of several runs; values with the same text are equally good."""
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
    """A name with escapes for tabs and line ends, which would end its field or line."""
    return text.translate(_BREAKS)
