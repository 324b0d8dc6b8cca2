"""Tables for a terminal: systems as rows, collections as columns, and a legend."""

from __future__ import annotations

from gradeval.analysis.batch_table import Batch
from gradeval.render.batch.layout import BatchRenderOptions, grids, legend
from gradeval.render.comparison.table import paragraphs
from gradeval.render.table import draw


def render(batch: Batch, options: BatchRenderOptions) -> str:
    drawn = [
        table
        for grid in grids(batch, options, with_letters=False)
        for table in draw(grid, options.colour, options.width)
    ]
    sentences = legend(batch, with_letters=False)
    return "\n".join([*drawn, *([paragraphs(sentences, options.width)] if sentences else [])])
