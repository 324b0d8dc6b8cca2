"""trec_eval's own columns and names of measures: for each run its queries, then the summary."""

from __future__ import annotations

from functools import partial

from gradeval.render.layout import Look, blocks, column, one_field
from gradeval.results import Results


def render(results: Results, look: Look) -> str:
    lines: list[str] = []
    for block in blocks(results, look, partial(column, digits=look.digits, width=6)):
        names = [f"{spec.trec:<22}\t" for spec in block.specs]
        quotes = ["'" if spec.metric.says == "queries" else "" for spec in block.specs]  # of relstring
        for query, row in zip(block.queries, block.rows, strict=False):
            middle = one_field(query) + "\t"
            lines += [
                f"{name}{middle}{quote}{text}{quote}\n"
                for name, quote, text in zip(names, quotes, row, strict=True)
            ]
    return "".join(lines)
