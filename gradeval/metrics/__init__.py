"""The metrics, a module a family. A metric is a pure function of Judgments; see registry.py."""

from __future__ import annotations

from functools import cache
from importlib import import_module

FAMILIES = (
    "average_precision",
    "dcg",
    "phi",
    "rankdcg",
    "precision",
    "recall_points",
    "gain_points",
    "rank_biased",
    "incomplete",
    "transformed",
    "generalized",
    "correlation",
    "utility",
    "cascade",
    "user_model",
    "ntcir",
    "overlap",
    "diagnosis",
    "counts",
    "text",
)


@cache
def load() -> None:
    """Fill the registry with our own families, in the order of the list."""
    for family in FAMILIES:
        import_module(f"{__name__}.{family}")


@cache
def load_plugins() -> tuple[str, ...]:
    """Add what other packages offer under the entry point group 'gradeval.metrics': modules that use @metric.

    Finding them takes longer than all our own metrics, so it is done only where a name is not one of ours,
    or all are listed. Returns a line for each plugin, metric or name that is left out; the others work.
    """
    load()
    from gradeval.metrics.plugins import load_all

    return load_all()
