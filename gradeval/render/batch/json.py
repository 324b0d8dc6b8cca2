"""One object with everything: inputs, options and exact values. ASCII, with null for what is not finite."""

from __future__ import annotations

import json

from gradeval.analysis.batch_table import Batch
from gradeval.render.batch.layout import BatchRenderOptions


def render(batch: Batch, options: BatchRenderOptions) -> str:
    return json.dumps(batch.to_dict(), indent=2, default=str, allow_nan=False) + "\n"
