"""The families of metrics: the modules of gradeval.metrics, and what each family is called."""

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
    """What the family of this module is called; the module's own name for those of other packages."""
    name = module.rsplit(".", 1)[-1]
    return FAMILIES.get(name, name.replace("_", " "))


@cache
def load() -> None:
    """Fill the registry with our own families, in the order of the list."""
    for family in FAMILIES:
        import_module(f"gradeval.metrics.{family}")
