"""Experiments about metrics and judgments: gradeval.study.swaps(...) and others."""

from gradeval.commands.study.agreement import agreement
from gradeval.commands.study.experiments import criteria, divergence, levels, swaps
from gradeval.commands.study.reuse import reuse

__all__ = ["agreement", "criteria", "divergence", "levels", "reuse", "swaps"]


def __dir__() -> list[str]:
    return __all__
