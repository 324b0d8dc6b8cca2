"""The metrics, a module a family. A metric is a pure function of Judgments; see registry.py."""

from __future__ import annotations

from functools import cache


@cache
def load() -> None:
    """Fill the registry: our own families, then what other packages offer as 'gradeval.metrics'."""
    from gradeval.metrics import average_precision, dcg  # noqa: F401
