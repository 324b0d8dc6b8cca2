"""One object with everything: versions, inputs, options, and exact values. ASCII, with null for undefined."""

from __future__ import annotations

import json

from gradeval.render.layout import RenderOptions
from gradeval.results import Results


def render(results: Results, options: RenderOptions) -> str:
    content = results.to_dict(per_query=options.per_query, summary=options.summary)
    return json.dumps(content, indent=2, default=str) + "\n"
