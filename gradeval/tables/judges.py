"""Judgments of several judges in one table, by a column that names them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gradeval.formats.columns import Columns
from gradeval.formats.csv import check_has
from gradeval.options import OF_QRELS, Options
from gradeval.tables.load import OpenedQrels, is_path, judgment_columns, source_of
from gradeval.tables.qrels import Qrels

JUDGES = ("judge", "annotator", "rater", "assessor")  # names of the column, in lower case


def column_of_judges(qrels: Any, options: Options) -> str | None:
    """The column that names judges, of a file or a frame. Raises InputError."""
    is_table = is_path(qrels)
    names = list(judgment_columns(qrels, options).names) if is_table else _names_of_frame(qrels)
    if (column := dict(options.columns).get("judge")) is None:
        return next((name for name in names if name.lower() in JUDGES), None)
    check_has(names, column, source_of(qrels).name if is_table else "qrels")
    return column


def by_judge(qrels: Any, options: Options) -> list[Any]:
    """The judgments of each judge, in order of appearance, where a column of the table names several; else the
    qrels alone, as they are. Raises InputError(s).
    """
    if isinstance(qrels, OpenedQrels):
        return [qrels]
    if is_path(qrels):
        qrels = source_of(qrels)  # a pipe is read again from the copy that it has
    column = column_of_judges(qrels, options)
    if column is None or "subtopic" in dict(options.columns):
        return [qrels]
    # a judge is read as a subtopic is: a word beside each judgment
    with_judges = options.replace(columns=(*options.columns, ("subtopic", column)))
    table = judgment_columns(qrels, with_judges)
    rows = list(map(table.columns, table.blocks()))
    judges = dict.fromkeys(name for part in rows for name in part.subtopics.tolist())
    if len(judges) < 2:
        return [qrels]
    return [_judgments_of(judge, rows, options) for judge in judges]


def _names_of_frame(data: Any) -> list[str]:
    """The columns of a frame, nothing of other data."""
    names: Any = getattr(data, "column_names", None)
    if not isinstance(names, list):
        names = getattr(data, "columns", None)
    return [name for name in names if isinstance(name, str)] if isinstance(names, Iterable) else []


def _judgments_of(judge: bytes, rows: list[Columns], options: Options) -> OpenedQrels:
    """Those of one judge, which are named by it."""
    name = judge.decode("utf-8", "surrogateescape") or "''"
    parts = []
    for part in rows:
        is_own = np.array([name_of_row == judge for name_of_row in part.subtopics.tolist()], np.bool_)
        parts.append(part.take(is_own).replace(subtopic=None))
    as_read = Qrels.of(name, parts)
    return OpenedQrels(as_read, as_read.evaluated(options), read_with=options.of_reading(OF_QRELS))
