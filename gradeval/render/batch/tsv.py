"""A row for each system, collection and metric, separated by tabs."""

from __future__ import annotations

from gradeval.analysis.batch_table import Batch
from gradeval.render.batch.layout import BatchRenderOptions, head, plain_rows
from gradeval.render.layout import one_field


def render(batch: Batch, options: BatchRenderOptions) -> str:
    rows = [head(batch), *plain_rows(batch, options.digits)]
    return "".join("\t".join(map(one_field, row)) + "\n" for row in rows)
