"""What the formats share: numbers as text, rows for long formats, and sheets for wide ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradeval.arrays import Floats
from gradeval.errors import visible
from gradeval.results import (
    Digits,
    Results,
    RunResult,
    counted_queries,
    counted_texts,
    first_text,
    per_query_metrics,
    summary_metrics,
)

if TYPE_CHECKING:
    from gradeval.registry.spec import Spec

Column = Callable[[Floats, bool], list[str]]
Word = Callable[[str], str]
Row = tuple[str, ...]

ALL = "all"  # stands where a query would, in rows of the summary


class Look(NamedTuple):
    """What is printed, and how; colour and width are for the table, spreadsheet is for csv."""

    per_query: bool = False
    summary: bool = True
    digits: Digits = 4
    colour: bool = False
    width: int | None = None
    spreadsheet: bool = False


class Block(NamedTuple):
    """Rows of one run that stand together: its queries, or its summary. A row has a text for each spec."""

    run: RunResult
    specs: list[Spec]
    queries: list[str]
    rows: list[Row]


class Sheet(NamedTuple):
    """A table to draw: each row a label and its values; best: the (row, column) of values to set bold.

    Nothing in it can steer a terminal, or turn the direction of what stands beside it.
    """

    title: str
    head: Row
    rows: list[Row]
    best: frozenset[tuple[int, int]]


def column(values: Floats, whole: bool, *, digits: Digits, width: int = 0, signed: bool = False) -> list[str]:
    """Values as text; counts have no decimals, and zero has no sign, or only where it is rounded (signed)."""
    numbers = (values + 0.0).tolist()  # + 0.0 makes -0.0 a plain 0.0
    if whole:
        return [str(int(number)) if number == number else "nan" for number in numbers]
    if digits == "full":
        return [repr(number) for number in numbers]
    pattern = f"%{width}.{digits}f"
    texts = [pattern % number for number in numbers]
    return texts if signed else [text if text[0] != "-" or text.strip("-0.") else text[1:] for text in texts]


def query_block(results: Results, r: int, text: Column, word: Word = str) -> Block:
    """The counted queries of one run."""
    run = results.runs[r]
    shown = per_query_metrics(results)
    texts = [
        [word(one) for one in counted_texts(run, m)]
        if m in run.texts
        else text(run.values[m, run.counted], results.specs[m].metric.is_count)
        for m in shown
    ]
    specs = [results.specs[m] for m in shown]
    return Block(run, specs, counted_queries(results, run), list(zip(*texts, strict=True)))


def summary_block(results: Results, r: int, text: Column, word: Word = str) -> Block:
    """The one row of a run's means and sums."""
    run, means = results.runs[r], results.means[r]
    shown = summary_metrics(results)
    specs = [results.specs[m] for m in shown]
    row = tuple(
        word(first_text(run, m)) if m in run.texts else text(means[[m]], spec.metric.is_count)[0]
        for m, spec in zip(shown, specs, strict=True)
    )
    return Block(run, specs, [ALL], [row])


def blocks(results: Results, look: Look, text: Column, word: Word = str) -> Iterator[Block]:
    """Run by run, its queries and then its summary, as far as they are wanted.

    text: writes numbers. word: writes what is text already.
    """
    for r in range(len(results.runs)):
        if look.per_query:
            yield query_block(results, r, text, word)
        if look.summary:
            yield summary_block(results, r, text, word)


def sheets(results: Results, look: Look) -> Iterator[Sheet]:
    """A sheet of queries for each run, and then one summary of all, as far as they are wanted."""
    text = partial(column, digits=look.digits)
    runs = range(len(results.runs))
    if look.per_query:
        for r in runs:
            block = query_block(results, r, text, visible)
            head = ("query", *(spec.display for spec in block.specs))
            rows = [(visible(query), *row) for query, row in zip(block.queries, block.rows, strict=False)]
            yield Sheet(visible(block.run.name), head, rows, frozenset())
    if look.summary:
        head = ("run", *(results.specs[m].display for m in summary_metrics(results)))
        rows = [
            (visible(results.runs[r].name), *summary_block(results, r, text, visible).rows[0]) for r in runs
        ]
        yield Sheet("", head, rows, _best(results, rows))


def _best(results: Results, rows: list[Row]) -> frozenset[tuple[int, int]]:
    """Where the best values stand, if runs compete for them; values that read the same are equally good."""
    best = set()
    for c, m in enumerate(summary_metrics(results) if len(rows) > 1 else (), 1):
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
