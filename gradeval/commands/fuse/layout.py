"""The document of a fusion: the runs, and of weights that were tuned those of each fold, and their values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradeval.commands.compare import layout as of_comparison
from gradeval.commands.fuse.fuse import Fusion
from gradeval.commands.fuse.options import RRF, SUM
from gradeval.commands.fuse.tuning import Tuning
from gradeval.errors import visible
from gradeval.notices import many
from gradeval.render import document as doc
from gradeval.render.document import NAME, NUMBER, WORD, Column


def document(fusion: Fusion, options: doc.RenderOptions) -> doc.OutputDocument:
    tuning = fusion.tuning
    rows = [of_run._asdict() for of_run in fusion.runs]

    def blocks() -> Iterator[doc.Block]:
        yield doc.grid_of("Runs", _runs(fusion), rows, options.digits)
        if tuning is not None:
            names = visible(",".join(of_run.run for of_run in fusion.runs))
            grid = doc.grid_of(f"Weights of {names} by {tuning.metric}", _FOLDS, _folds(tuning), options.digits)
            yield grid.replace(left_columns=frozenset((0, 2)))
        yield doc.Sentences(list(_legend(fusion)))
        if tuning is not None:
            yield from (of_comparison.document(tuning.comparison, options).blocks or tuple)()

    def tables() -> Iterator[doc.Rows]:
        yield doc.rows_of(_runs(fusion), rows, options.digits)
        if tuning is not None:
            yield doc.rows_of(_FOLDS, _folds(tuning), options.digits)
            yield from (of_comparison.document(tuning.comparison, options).rows or tuple)()

    return doc.OutputDocument(blocks=blocks, rows=tables, content=fusion.to_dict, records=lambda: rows)


def _runs(fusion: Fusion) -> list[Column]:
    has_weights = fusion.options.method != SUM
    return [
        Column("run", "run", NAME),
        *([Column("weight", "weight", doc.ColumnKind(_weight, _weight))] if has_weights else []),
        Column("queries", "queries", WORD),
        Column("documents", "documents", WORD),
    ]


def _weight(weight: float, digits: Any) -> str:
    return f"{weight:.6g}"


_FOLDS = [
    Column("fold", "fold", key="name"),
    Column("queries", "queries", WORD),
    Column("weights", "weights", WORD),
    Column("value", "out of sample", NUMBER),
    Column("optimistic", "optimistic", NUMBER),
]


def _folds(tuning: Tuning) -> list[dict[str, Any]]:
    return [
        {**vars(fold), "weights": ",".join(_weight(weight, 0) for weight in fold.weights)}
        for fold in (*tuning.folds, tuning.whole)
    ]


def _legend(fusion: Fusion) -> Iterator[str]:
    chosen = fusion.options
    of_scores = f"{chosen.method} of scores, norm {chosen.normalization}"
    method = f"rrf, k {chosen.constant}" if chosen.method == RRF else of_scores
    counts = [many(fusion.queries, "query", "queries")]
    if fusion.documents is not None:
        counts.append(many(fusion.documents, "document", "documents"))
    yield f"Fused by {method}: {', '.join(counts)}."
    if fusion.tuning is not None:
        yield "Out of sample: the mean over the fold, whose queries had no part in the choice of its weights."
        yield "Optimistic: the mean over the queries that have chosen the weights."
