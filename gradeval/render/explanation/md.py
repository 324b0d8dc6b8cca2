"""Tables for GitHub's Markdown, with the sentences that go with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradeval.analysis.explanation import Explanation
from gradeval.render.explanation import ExplanationRenderOptions
from gradeval.render.explanation.cells import Lines
from gradeval.render.explanation.layout import blocks
from gradeval.render.grids import Grid
from gradeval.render.md import draw, escape


def render(explanations: Sequence[Explanation], options: ExplanationRenderOptions) -> str:
    return "\n".join(text for one in explanations for text in _drawn(one, options))


def _drawn(explanation: Explanation, options: ExplanationRenderOptions) -> Iterator[str]:
    heading, *rest = blocks(explanation, options)
    yield f"### {escape(str(heading))}\n"
    for block in rest:
        if isinstance(block, Grid):
            yield draw(block)
        elif isinstance(block, Lines):
            yield "```\n" + "".join(f"{line}\n" for line in block.lines) + "```\n"
        else:
            yield escape(block) + "\n"
