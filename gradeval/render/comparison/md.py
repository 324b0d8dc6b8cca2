"""Tables for GitHub's Markdown, the best mean of each metric bold."""

from __future__ import annotations

from gradeval.analysis.comparison import Comparison
from gradeval.render.comparison.layout import ComparisonRenderOptions, grids, legend
from gradeval.render.md import draw, escape


def render(comparison: Comparison, options: ComparisonRenderOptions) -> str:
    drawn = [draw(grid) for grid in grids(comparison, options, with_letters=False)]
    sentences = legend(comparison, options, with_letters=False)
    if sentences:
        drawn.append(escape(" ".join(sentences)) + "\n")
    return "\n".join(drawn)
