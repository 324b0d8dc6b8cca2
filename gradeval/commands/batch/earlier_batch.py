"""The cells of an earlier batch, from its output in json or jsonl."""

from __future__ import annotations

import json
from typing import Any

from gradeval.formats.fields import read_text
from gradeval.formats.sources import Source


def read_cells(source: Source) -> list[dict[str, Any]]:
    """The cells, as JSON has them. Raises InputError, or ValueError where it is no JSON."""
    text = read_text(source).decode("utf-8")
    try:
        content = json.loads(text)
    except json.JSONDecodeError:
        rows = [json.loads(line) for line in text.split("\n") if line.strip()]
    else:
        rows = content.get("cells", [content])
    return [row for row in rows if "average" not in row]
