"""The document of a pool: a row for each document, and for annotators an empty column of grades."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gradeval.commands.pool.pool import Pool
from gradeval.notices import many
from gradeval.render import Digits
from gradeval.render import document as doc
from gradeval.render.document import ABSENT, NAME, WORD, Column


def document(pool: Pool, options: doc.RenderOptions) -> doc.OutputDocument:
    def blocks() -> Iterator[doc.Block]:
        yield doc.grid_of("", _columns(pool), pool.rows(), options.digits, labels=2)
        yield doc.Sentences([closing(pool)])

    return doc.OutputDocument(
        blocks=blocks,
        rows=lambda: [_table(pool, options)],
        records=lambda: ({**row, "grade": None} for row in pool.rows()),
    )


def _table(pool: Pool, options: doc.RenderOptions) -> doc.Rows:
    """By column: a pool may have millions of documents."""
    columns = [column for column in _columns(pool) if column.name]
    head = [column.name for column in columns]
    names = frozenset(c for c, column in enumerate(columns) if column.kind.is_name)
    if options.format == "csv":
        head.append("grade")
    values: list[Sequence[Any]] = list(zip(*pool.documents, strict=True))
    if not values:
        return doc.Rows(head, [])
    if pool.texts is not None:
        values.append([pool.texts.get(row.document, "") for row in pool.documents])
    texts: list[doc.Text] = [
        [column.kind.plain(value, options.digits) for value in of_column]
        for column, of_column in zip(columns, values, strict=True)
    ]
    return doc.Rows(head, [[[*texts, ""][: len(head)]]], names)


def _effect(value: float | None, digits: Digits) -> str:
    return "" if value is None else doc.number(value, digits if digits == "full" else digits + 2)


_EFFECT = doc.ColumnKind(_effect, lambda value, digits: _effect(value, digits) or ABSENT)


def _columns(pool: Pool) -> list[Column]:
    has_effects = any(row.effect is not None for row in pool.documents)
    columns = [
        Column("query", "query", NAME),
        Column("document", "document", NAME),
        Column("best_rank", "best rank", WORD),
        Column("runs", "runs", WORD),
        Column("effect", "effect" if has_effects else "", _EFFECT),
    ]
    if pool.texts is not None:
        columns.append(Column("text", "text", NAME))
    return columns


def closing(pool: Pool) -> str:
    """The line below the table: how many documents there are, and which."""
    total = many(pool.unjudged, "unjudged document", "unjudged documents")
    queries = many(pool.queries, "query", "queries")
    shown = f"{len(pool.documents):,} of " if len(pool.documents) < pool.unjudged else ""
    return (
        f"{shown}{total} of {queries}, in the first {pool.options.pool_depth:,} ranks of "
        f"{many(len(pool.runs), 'run', 'runs')}, in the order {pool.options.order}."
    )
