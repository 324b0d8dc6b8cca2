"""One object with all documents, terms and exact numbers. ASCII, with null for what is not defined."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gradeval import __version__
from gradeval.analysis.explanation import Explanation
from gradeval.render.explanation import ExplanationRenderOptions

FORMAT_VERSION = 1


def render(explanations: Sequence[Explanation], options: ExplanationRenderOptions) -> str:
    content = {
        "gradeval": __version__,
        "format": FORMAT_VERSION,
        "explanations": [one.to_dict() for one in explanations],
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"
