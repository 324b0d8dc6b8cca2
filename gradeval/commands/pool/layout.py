"""The document of a pool: a row for each document, and for annotators an empty column of grades."""

from __future__ import annotations

from collections.abc import Iterator

from gradeval.commands.pool.pool import Pool
from gradeval.notices import many
from gradeval.render import Digits
from gradeval.render import document as doc
from gradeval.render.document import ABSENT, NAME, WORD, Column


def document(pool: Pool, options: doc.RenderOptions) -> doc.OutputDocument:
    rows = pool.rows()
    columns = _columns(pool, graded=options.format == "csv")

    def blocks() -> Iterator[doc.Block]:
        yield doc.grid_of("", columns, rows, options.digits, labels=2)
        yield doc.Sentences([_legend(pool)])

    return doc.OutputDocument(
        blocks=blocks,
        rows=lambda: [doc.rows_of(columns, [{**row, "grade": ""} for row in rows], options.digits)],
        records=lambda: [{**row, "grade": None} for row in rows],
    )


def _effect(value: float | None, digits: Digits) -> str:
    return "" if value is None else doc.number(value, digits if digits == "full" else digits + 2)


_EFFECT = doc.ColumnKind(_effect, lambda value, digits: _effect(value, digits) or ABSENT)


def _columns(pool: Pool, graded: bool) -> list[Column]:
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
    return [*columns, Column("grade", "", WORD)] if graded else columns


def _legend(pool: Pool) -> str:
    total = many(pool.unjudged, "unjudged document", "unjudged documents")
    queries = many(pool.queries, "query", "queries")
    shown = f"{len(pool.documents):,} of " if len(pool.documents) < pool.unjudged else ""
    return (
        f"{shown}{total} of {queries}, in the first {pool.options.pool_depth:,} ranks of "
        f"{many(len(pool.runs), 'run', 'runs')}, in the order {pool.options.order}."
    )
