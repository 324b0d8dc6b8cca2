"""Validations as text: a report to read, or everything as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradeval.errors import inert
from gradeval.render import check_format

if TYPE_CHECKING:
    from gradeval.analysis.validation import Validation

FORMATS = {
    "table": "what each file is and holds, and what is wrong with it, human-readable",
    "json": "one object with everything",
}


def render(validation: Validation, format: str = "table", *, colour: bool = False) -> str:
    """The validation in one of FORMATS, with '\\n' at the end of each line."""
    check_format(format, FORMATS)
    if format == "json":
        import json

        return inert(json.dumps(validation.to_dict(), indent=2, allow_nan=False) + "\n", r"\u00")
    from gradeval.render.validation.table import report

    return inert(report(validation, colour))
