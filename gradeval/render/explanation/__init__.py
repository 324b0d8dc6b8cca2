"""Explanations as text: one module a format, and the table of them.

A format's module has render(explanations, options) -> str. It orders and writes numbers, and computes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from gradeval.render import Digits, module_of

if TYPE_CHECKING:
    from gradeval.analysis.explanation import Explanation

FORMATS = {
    "table": "the documents and what each adds, human-readable",
    "md": "the same tables for GitHub's Markdown",
    "json": "one object with all documents and exact numbers",
}
RANKS = 10  # shown by default of a metric without a cutoff
MOST_BY_DEFAULT = 20  # however large the cutoff is
MOST_RANKS = 1000


class ExplanationRenderOptions(NamedTuple):
    """What is printed, and how; colour and width are for the table."""

    ranks: int | None = None
    loss: bool = False
    digits: Digits = 4
    colour: bool = False
    width: int | None = None


# Modules are imported when they are used, so that the help does not wait for numpy.
def render(
    explanations: Sequence[Explanation],
    format: str = "table",
    *,
    ranks: int | None = None,
    loss: bool = False,
    digits: Digits = 4,
    colour: bool = False,
    width: int | None = None,
) -> str:
    """The explanations in one of FORMATS, with '\\n' at the end of each line.

    ranks: how many are shown, and how many documents that are not among them; by default the cutoff of the
    metric, up to 20, or 10. loss: what each document costs. The other arguments are those of render.render.
    """
    module = module_of(format, FORMATS, __name__)
    options = ExplanationRenderOptions(ranks, loss, digits, colour, width)
    text: str = module.render(explanations, options)
    return text
