"""Tables for a terminal, with the sentences that go with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill

from gradeval.analysis.explanation import Explanation
from gradeval.render.explanation import ExplanationRenderOptions
from gradeval.render.explanation.cells import Lines
from gradeval.render.explanation.layout import blocks
from gradeval.render.grids import Grid
from gradeval.render.table import MIN_WIDTH, draw, heading

_WIDTH = 100


def render(explanations: Sequence[Explanation], options: ExplanationRenderOptions) -> str:
    return "\n".join(text for one in explanations for text in _drawn(one, options))


def _drawn(explanation: Explanation, options: ExplanationRenderOptions) -> Iterator[str]:
    width = max(min(options.width or _WIDTH, _WIDTH), MIN_WIDTH)
    title, *rest = blocks(explanation, options)
    yield heading(str(title), options.colour, options.width)
    for block in rest:
        if isinstance(block, Grid):
            yield from draw(block, options.colour, options.width)
        elif isinstance(block, Lines):
            yield "".join(f"{line}\n" for line in block.lines)
        else:
            yield fill(block, width, break_long_words=False, break_on_hyphens=False) + "\n"
