"""trec_eval's own columns and names of measures: for each run its queries, then the summary.

trec_eval evaluates one run: before each of several runs there is a row runid with its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gradeval.render.layout import ALL, RenderOptions, blocks, joined, one_field, texts_of
from gradeval.results import Results


def render(results: Results, options: RenderOptions, labels: Sequence[str] | None = None) -> str:
    """labels: the first column of each metric; by default its name in trec_eval."""
    firsts = labels or [f"{spec.trec:<22}" for spec in results.specs]
    label = dict(zip(results.specs, firsts, strict=True))
    lines: list[str] = []
    named = len(results.runs) < 2 or any(spec.metric.name == "runid" for spec in results.specs)
    above = None
    cells = partial(texts_of, digits=options.digits, width=6, signed=True)
    for block in blocks(results, options, cells):
        if block.run is not above and not named:
            lines.append(f"{'runid':<22}\t{ALL}\t{one_field(block.run.name)}\n")
        above = block.run
        queries = list(map(one_field, block.queries))
        columns: list[str | list[str]] = []
        for spec, texts in zip(block.specs, block.cells, strict=True):
            quote = "" if spec.metric.has_summary else "'"  # of relstring
            columns += (label[spec] + "\t", queries, "\t" + quote, texts, quote + "\n")
        lines.append(joined(columns, len(queries)))
    return "".join(lines)
