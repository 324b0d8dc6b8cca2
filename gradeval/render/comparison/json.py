"""One object with everything: inputs, settings and exact numbers. ASCII, with null for what is not finite."""

from __future__ import annotations

import json

from gradeval.analysis.comparison import Comparison
from gradeval.render.comparison.layout import ComparisonRenderOptions


def render(comparison: Comparison, options: ComparisonRenderOptions) -> str:
    content = comparison.to_dict(per_query=options.per_query)
    return json.dumps(content, indent=2, default=str, allow_nan=False) + "\n"
