"""A row for each value: run, query, metric and value, separated by tabs."""

from __future__ import annotations

from functools import partial

from gradeval.render.layout import RenderOptions, blocks, one_field, texts_of
from gradeval.results import Results


def render(results: Results, options: RenderOptions) -> str:
    lines = ["run\tquery\tmetric\tvalue\n"]
    for block in blocks(results, options, partial(texts_of, digits=options.digits, word=one_field)):
        run = one_field(block.run.name)
        names = [f"\t{spec}\t" for spec in block.specs]
        for query, row in zip(block.queries, block.rows, strict=False):
            start = f"{run}\t{one_field(query)}"
            lines += [f"{start}{name}{text}\n" for name, text in zip(names, row, strict=True)]
    return "".join(lines)
