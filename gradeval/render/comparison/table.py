"""Tables for a terminal: means with marks of significance, then the differences, and a legend."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill

from gradeval.analysis.comparison import Comparison
from gradeval.render.comparison.layout import ComparisonRenderOptions, grids, legend
from gradeval.render.table import MIN_WIDTH, draw

_LEGEND_WIDTH = 100


def render(comparison: Comparison, options: ComparisonRenderOptions) -> str:
    drawn = [
        table
        for grid in grids(comparison, options, with_letters=False)
        for table in draw(grid, options.colour, options.width)
    ]
    sentences = legend(comparison, options, with_letters=False)
    if sentences:
        drawn.append(paragraphs(sentences, options.width))
    return "\n".join(drawn)


def paragraphs(sentences: Iterable[str], width: int | None) -> str:
    """A legend: a paragraph for each sentence."""
    width = max(min(width or _LEGEND_WIDTH, _LEGEND_WIDTH), MIN_WIDTH)
    return "".join(fill(sentence, width) + "\n" for sentence in sentences)
