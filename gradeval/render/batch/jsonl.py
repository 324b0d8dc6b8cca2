"""An object on each line: the cells, then the averages of each system. ASCII, exact, null for undefined."""

from __future__ import annotations

import json

from gradeval.analysis.batch_table import Batch
from gradeval.render.batch.layout import BatchRenderOptions


def render(batch: Batch, options: BatchRenderOptions) -> str:
    kind = "pool" if batch.pool else "macro"
    averages = (
        {"average": kind, "system": system, "values": values} for system, values in batch.averages().items()
    )
    rows = [*(cell.to_dict() for cell in batch.cells.values()), *averages]
    return "".join(json.dumps(row, default=str, allow_nan=False) + "\n" for row in rows)
