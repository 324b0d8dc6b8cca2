"""The families of metrics: the modules of gradeval.metrics and their display names."""

from __future__ import annotations

from functools import cache
from importlib import import_module

FAMILIES = {
    "average_precision": "average precision",
    "dcg": "nDCG",
    "ndcg_phi": "nDCG",
    "rankdcg": "correlation and order",
    "precision": "precision and recall",
    "rprec": "precision and recall",
    "rndcg": "nDCG",
    "rbp": "user models",
    "bpref": "incomplete judgments",
    "gm_map": "average precision",
    "gp": "precision and recall",
    "correlation": "correlation and order",
    "utility": "utility",
    "err": "user models",
    "cwl": "user models",
    "q_measure": "NTCIR",
    "compat": "correlation and order",
    "judged": "incomplete judgments",
    "counts": "counts",
    "relstring": "text",
}


def family_of(module: str) -> str:
    """The display name of a module's family; for other packages, the module name."""
    name = module.rsplit(".", 1)[-1]
    return FAMILIES.get(name, name.replace("_", " "))


@cache
def load() -> None:
    """Import the built-in families, in the order of FAMILIES."""
    for family in FAMILIES:
        import_module(f"gradeval.metrics.{family}")
