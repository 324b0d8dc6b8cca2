"""How ir_measures' providers order equal scores: what a metric's page says of it."""

from __future__ import annotations

from typing import NamedTuple


class Provider(NamedTuple):
    """One of those who compute for ir_measures.

    ties: its order of documents with equal scores. metrics: ours that it computes and where that can matter.
    """

    ties: str
    metrics: tuple[str, ...]


_AS_HERE = "by document id descending, as here"
_AS_RUN = "as they stand in the run"
_ASCENDING = "by document id ascending"
_READER = ("rbp", "BPM", "SDCG", "NERR8", "NERR9", "NERR10", "NERR11", "INST", "INSQ")
_RANKED = ("AP", "P", "RR", "Rprec", "nDCG")

# in the order in which it asks them; the last one only by name
PROVIDERS = {
    "pytrec_eval": Provider(
        f"{_AS_HERE}, but with scores as 32-bit floats",
        (*_RANKED, "R", "Success", "bpref", "infAP", "iprec_at_recall"),
    ),
    "cwl_eval": Provider(_AS_RUN, ("AP", "P", "RR", *_READER)),
    "compat": Provider(f"{_ASCENDING}, in the ideal ranking as in the qrels", ("Compat",)),
    "judged": Provider(_ASCENDING, ("Judged",)),
    "msmarco": Provider(_ASCENDING, ("RR",)),
    "gdeval": Provider(_AS_HERE, ("nDCG", "ERR")),
    "accuracy": Provider(_AS_RUN, ("Accuracy",)),
    "ranx": Provider("in an order that cannot be told", (*_RANKED, "R", "Success")),
    "trectools": Provider(_AS_RUN, (*_RANKED, "bpref", "rbp")),
}


def ties(metric: str) -> list[tuple[str, str]]:
    """(provider, its order of equal scores) for each that computes the metric."""
    return [(name, provider.ties) for name, provider in PROVIDERS.items() if metric in provider.metrics]
