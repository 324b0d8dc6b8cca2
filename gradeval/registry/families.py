"""The families of metrics: the modules of gradeval.metrics and their display names."""

from __future__ import annotations

from functools import cache
from importlib import import_module

FAMILIES = {
    "average_precision": "average precision",
    "dcg": "cumulated gain",
    "ndcg_phi": "nDCGphi",
    "rankdcg": "rankDCG",
    "precision": "precision and recall",
    "rprec": "precision at a recall level",
    "rndcg": "nDCG over several ranks",
    "rbp": "rank-biased precision",
    "bpref": "incomplete judgments",
    "gm_map": "transformed means",
    "gp": "generalized precision and recall",
    "correlation": "correlation",
    "utility": "utility",
    "err": "cascade models",
    "cwl": "C/W/L user models",
    "q_measure": "NTCIR",
    "compat": "compatibility",
    "judged": "diagnosis",
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
