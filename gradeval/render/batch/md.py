"""Tables for GitHub's Markdown, the best value of each collection bold."""

from __future__ import annotations

from gradeval.analysis.batch_table import Batch
from gradeval.render.batch.layout import BatchRenderOptions, grids, legend
from gradeval.render.md import draw, escape


def render(batch: Batch, options: BatchRenderOptions) -> str:
    drawn = [draw(grid) for grid in grids(batch, options, with_letters=False)]
    sentences = legend(batch, with_letters=False)
    return "\n".join([*drawn, *([escape(" ".join(sentences)) + "\n"] if sentences else [])])
