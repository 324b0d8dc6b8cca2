"""One object with everything: versions, inputs, options, and exact values. ASCII, with null for undefined."""

from __future__ import annotations

import json

from gradeval.render.layout import Look
from gradeval.results import Results


def render(results: Results, look: Look) -> str:
    content = results.to_dict(per_query=look.per_query, summary=look.summary)
    return json.dumps(content, indent=2, default=str) + "\n"
