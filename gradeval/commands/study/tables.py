"""Shared by studies: their tables, the metrics they take, and generated rankings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from typing import Any, ClassVar

import numpy as np

from gradeval.arrays import Floats
from gradeval.arrays.segments import Segments
from gradeval.errors import MetricError, OptionError, described, visible
from gradeval.evaluation.results import FailedRun, Results, failed_to_dicts
from gradeval.notices import Notice
from gradeval.registry.metric import Kind
from gradeval.registry.spec import Metrics, Spec, parse
from gradeval.render import Digits
from gradeval.render.document import Block, Grid, OutputDocument, RenderOptions, Rows, StyledLine, exact, plain
from gradeval.render.printable import WithNoticeGroups, library
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import SHARE
from gradeval.version import document_head

Value = str | bool | int | float | None
Row = tuple[Value, ...]

EXACT = ("at", "threshold", "grade", "grade2", "factor")  # columns of numbers that the user gave


@dataclass(frozen=True)
class StudyTable:
    """A table of values; None and NaN are undefined."""

    name: str  # one word
    title: str  # a description in one line
    columns: tuple[str, ...]
    rows: Sequence[Row]
    data: bool = True  # whether tsv, csv and json have it, with a row for each value
    shown: bool = True  # whether people see it

    def to_dicts(self) -> list[dict[str, Value]]:
        """The rows as objects, undefined values as None."""
        return [dict(zip(self.columns, map(exact, row), strict=True)) for row in self.rows]

    def to_pandas(self) -> Any:
        """A pandas.DataFrame of the rows."""
        return library("pandas").DataFrame(self.to_dicts())

    def to_polars(self) -> Any:
        """A polars.DataFrame of the rows."""
        return library("polars").DataFrame(self.to_dicts(), infer_schema_length=None)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Study(WithNoticeGroups):
    """The outcome of a study."""

    layout = "gradeval.commands.study.tables"

    kind: ClassVar[str] = "study"
    name: str  # the command's
    options: Mapping[str, Any]  # what it was made from, with its seed, as JSON can hold it
    tables: tuple[StudyTable, ...]  # that of findings first
    noticed: tuple[tuple[Notice, ...], ...] = ()  # in groups, each with a line for each kind
    runs_read: int = 0
    finding: str = ""  # what the tables show, in a sentence
    failed: tuple[FailedRun, ...] = ()  # the runs that could not be evaluated, and are left out

    def __repr__(self) -> str:
        tables = ", ".join(f"{name} ({len(table.rows)})" for name, table in self.data.items())
        counts = f"tables: {tables}, notices={len(self.warnings)}"
        return f"{type(self).__name__}({self.name}, metrics={self.options['metrics']}, {counts})"

    @property
    def data(self) -> dict[str, StudyTable]:
        """The tables of tsv, csv and json, by name."""
        return {table.name: table for table in self.tables if table.data}

    def table(self, name: str) -> StudyTable:
        """The table of this name. Raises OptionError."""
        if name not in self.data:
            raise OptionError(f"unknown table {described(name)}. Tables: {', '.join(self.data)}")
        return self.data[name]

    def to_dict(self) -> dict[str, Any]:
        """The object that the json format prints. Numbers are exact, undefined ones None."""
        return {
            **document_head(self.kind),
            self.kind: self.name,
            "options": dict(self.options),
            "notices": [notice.to_dict() for notice in self.notices],
            **({"failed": failed_to_dicts(self.failed)} if self.failed else {}),
            **({"finding": self.finding} if self.finding else {}),
            "tables": {name: table.to_dicts() for name, table in self.data.items()},
        }


def fields_of(
    name: str, results: Results, metrics: Iterable[Spec], notices: Iterable[Notice], **options: Any
) -> dict[str, Any]:
    """The fields of a study of evaluated runs. options: besides those of the evaluation."""
    about = {"metrics": list(map(str, metrics)), **options, "evaluation": dict(results.options)}
    noticed = {"noticed": (tuple(notices),), "runs_read": len(results.runs), "failed": results.failed}
    return {"name": name, "options": about, **noticed}


def document(study: Study, render_options: RenderOptions, *, table: str | None = None) -> OutputDocument:
    """table: which one tsv and csv print, by default the first."""

    def blocks() -> Iterator[Block]:
        yield from (
            _grid(shown_table, render_options.digits) for shown_table in study.tables if shown_table.shown
        )
        if study.finding:
            yield visible(study.finding)
        options = {name: value for name, value in study.options.items() if name != "evaluation" and value != []}
        about = "; ".join(f"{name.replace('_', ' ')} {_listed(value)}" for name, value in options.items())
        yield StyledLine(f"{study.name}: {visible(about)}", "dim")

    def rows() -> list[Rows]:
        chosen = study.table(next(iter(study.data)) if table is None else table)
        texts = [[*_texts(chosen, row, render_options.digits)] for row in chosen.rows]
        is_text = (any(isinstance(row[c], str) for row in chosen.rows) for c in range(len(chosen.columns)))
        return [Rows.of(chosen.columns, texts, compress(chosen.columns, is_text))]

    return OutputDocument(blocks=blocks, rows=rows, content=study.to_dict)


def _listed(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_listed, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _grid(table: StudyTable, digits: Digits) -> Grid:
    shown = [c for c, name in enumerate(table.columns) if name != "seed"]  # which is in the line below
    texts = ([*map(visible, _texts(table, row, digits))] for row in table.rows)
    rows = [[of_row[c] for c in shown] for of_row in texts]
    is_text = [all(isinstance(row[c], str) for row in table.rows) for c in shown]
    left_columns = frozenset(c for c, text in enumerate(is_text) if text)
    labels = max(1, [*is_text, False].index(False))
    return Grid(
        visible(table.title), tuple(visible(table.columns[c]) for c in shown), rows, labels, left_columns
    )


def _texts(table: StudyTable, row: Sequence[Value], digits: Digits) -> Iterator[str]:
    """The values of a row as text; '' for None."""
    for name, value in zip(table.columns, row, strict=True):
        if isinstance(value, bool):
            yield "yes" if value else "no"
        elif isinstance(value, float):
            is_full = digits == "full" or name in EXACT
            yield plain(value, "full").removesuffix(".0") if is_full else plain(value, digits)
        else:
            yield "" if value is None else str(value)


def spaced(count: int, most: int) -> list[int]:
    """At most so many positions of `count`, evenly spaced, with the first and the last."""
    positions: list[int] = np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int)).tolist()
    return positions


def is_averaged(spec: Spec) -> bool:
    """Whether the metric has a value for each query, whose mean is taken."""
    return spec.metric.kind is Kind.MEAN and spec.metric.per_query


def averaged_metrics(metrics: Metrics, orders_systems: bool = False) -> list[Spec]:
    """The metrics of a study. orders_systems: only those that systems can be ordered by. Raises MetricError."""
    specs = parse(metrics)
    for spec in specs:
        if not is_averaged(spec):
            raise MetricError(f"{spec}: a study needs metrics whose mean over queries is taken")
        if orders_systems and spec.metric.higher_is_better is None:
            raise MetricError(f"{spec}: neither high nor low values are better, so it orders no systems")
    return specs


def full_rankings(grade: Floats, scale: Floats | None = None, score: Floats | None = None) -> Judgments:
    """The table of Q rankings of n documents whose grades by rank are given, (Q, n). scale: the grades in use,
    by default those that occur. score: (Q, n), never rising with the rank; by default without ties.
    """
    queries, items = grade.shape
    rank = np.tile(np.arange(1.0, items + 1), queries)
    return Judgments(
        _equal_segments(queries, items),
        np.ascontiguousarray(grade, np.float64).reshape(-1),
        rank,
        -rank if score is None else score.reshape(-1),
        document=np.arange(queries * items),
        retrieved=np.full(queries, items),
        scale=scale,  # type: ignore[arg-type]  # None is what the table makes its own of
    )


@lru_cache(maxsize=4)  # what is computed from them serves all tables of this shape
def _equal_segments(queries: int, items: int) -> Segments:
    return Segments(np.arange(queries + 1) * items)


def shares(count: int, rows: int) -> Iterator[slice]:
    """`count` parts of this many rows each, in shares that fit a processor's cache."""
    step = max(1, SHARE // rows)
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
