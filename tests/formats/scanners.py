"""The two scanners of a run's lines on the same block."""

from typing import Any
from unittest import mock

import numpy as np

from gradeval.arrays.strings import PAD
from gradeval.formats import trec
from gradeval.formats.columns import Columns
from gradeval.formats.sources import Block
from gradeval.records import fields_of

BEHIND = b"9.#\n \0e7" * (PAD // 8)  # what a block may hold behind its last line


def quick_and_general(text: bytes, first: bool = True) -> tuple[Columns | None, Columns]:
    """The columns by each scanner, None where the quick one leaves the block to the other."""
    block = Block(np.frombuffer(text + BEHIND, np.uint8), len(text), first, False)
    quick = trec.run_columns(block) if trec.usual_run_columns(block) else None
    with mock.patch.object(trec, "usual_run_columns", lambda _: None):
        return quick, trec.run_columns(block)


def columns_of(columns: Columns) -> dict[str, Any]:
    """All that columns hold, as values that compare: numbers as their bits, problems with all their texts."""
    held = fields_of(columns)
    for name in ("queries", "documents"):
        held[name], held[f"keys of {name}"] = (
            getattr(columns, name).tolist(),
            getattr(columns, name).keys().tolist(),
        )
    held["value"] = columns.value.view(np.uint64).tolist()
    problems = columns.problems
    held["problems"] = (*list(fields_of(problems).values())[:-1], sorted(problems.all(), key=str))
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in held.items()}
