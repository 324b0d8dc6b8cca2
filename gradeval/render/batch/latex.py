"""Tabulars for LaTeX with the booktabs package: letters name the systems that one is better than."""

from __future__ import annotations

from gradeval.analysis.batch_table import Batch
from gradeval.render.batch.layout import BatchRenderOptions, grids, legend
from gradeval.render.comparison.latex import draw
from gradeval.render.latex import escape


def render(batch: Batch, options: BatchRenderOptions) -> str:
    drawn = [draw(grid) for grid in grids(batch, options, with_letters=True)]
    sentences = legend(batch, with_letters=True)
    note = rf"\par{{\footnotesize {escape(' '.join(sentences))}}}" + "\n"
    return "\n".join([*drawn, *([note] if sentences else [])])
