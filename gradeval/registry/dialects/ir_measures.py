"""ir_measures: its names of our metrics, the parameters of its measures, and its providers' order of ties."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

# As NAMES in other.py.
NAMES = {
    "AP@k": "AP@k",
    "MAP@k": "AP@k",
    "Accuracy@k": "Accuracy@k",
    "BPM@k": "BPM@k",
    "Bpref": "bpref",
    "Compat": "Compat",
    "ERR@k": "ERR@k",
    "infAP": "infAP",
    "INSQ": "INSQ",
    "INST": "INST",
    "IPrec@k": "iprec_at_recall(rounding=up)@k",
    "Judged@k": "Judged@k",
    "NERR8@k": "NERR8@k",
    "NERR9@k": "NERR9@k",
    "NERR10": "NERR10",
    "NERR11": "NERR11",
    "NumQ": "num_q",
    "NumRel": "num_rel",
    "NumRet": "num_ret",
    "NumRet(rel)": "num_rel_ret",
    "NumRelRet": "num_rel_ret",
    "P@k": "P@k",
    "Precision@k": "P@k",
    "R@k": "R@k",
    "Recall@k": "R@k",
    "RBP(p)@k": "rbp@k",
    "Rprec": "Rprec",
    "RR@k": "RR@k",
    "MRR@k": "RR@k",
    "SDCG@k": "SDCG@k",
    "SetAP": "set_map",
    "SetF": "set_F",
    "SetP": "set_P",
    "SetP(relative=False)": "set_P",
    "SetP(relative=True)": "set_relative_P",
    "SetR": "set_recall",
    "SetRelP": "set_relative_P",
    "Success@k": "Success@k",
    "nDCG@k": "nDCG@k",
    "NDCG@k": "nDCG@k",
}

_REL = {"rel": 1}
_BINARY = {"rel": 1, "judged_only": False}
_GAINS = {"min_rel": 0, "max_rel": None}

# The parameters of each besides the cutoff, with their defaults, which it does not print; None for no default.
MEASURES: dict[str, dict[str, Any]] = {
    "AP": _BINARY,
    "Accuracy": _REL,
    "BPM": {"T": 1.0, **_GAINS},
    "Bpref": _REL,
    "Compat": {"p": 0.95, "normalize": True},
    "ERR": {},
    "INSQ": {"T": 1.0, **_GAINS},
    "INST": {"T": 1.0, **_GAINS},
    "IPrec": _BINARY,
    "infAP": _REL,
    "Judged": {},
    "NERR8": _GAINS,
    "NERR9": _GAINS,
    "NERR10": {"p": 0.9, **_GAINS},
    "NERR11": {"T": 1.0, **_GAINS},
    "NumQ": {},
    "NumRel": _REL,
    "NumRet": {"rel": None},
    "P": _BINARY,
    "R": _BINARY,
    "RBP": {"p": 0.8, "rel": None},
    "RR": _BINARY,
    "Rprec": _BINARY,
    "SDCG": {"dcg": "log2", **_GAINS},
    "SetAP": _BINARY,
    "SetF": {"beta": 1.0, **_BINARY},
    "SetP": {"relative": False, **_BINARY},
    "SetR": _REL,
    "Success": _BINARY,
    "nDCG": {"dcg": "log2", "gains": None, "judged_only": False},
}
_SAME: dict[str, tuple[str, dict[str, Any]]] = {
    "BPref": ("Bpref", {}),
    "MAP": ("AP", {}),
    "MRR": ("RR", {}),
    "NDCG": ("nDCG", {}),
    "NumRelRet": ("NumRet", {"rel": 1}),
    "Precision": ("P", {}),
    "RPrec": ("Rprec", {}),
    "Recall": ("R", {}),
    "SetRelP": ("SetP", {"relative": True}),
}
_OWN_DEFAULTS = {"RBP": {"p": 0.8}}  # that differ from ours


def translated(text: str) -> tuple[str, str] | None:
    """A measure in our notation, and as ir_measures prints it; None if it is not one of ir_measures'."""
    read = _read(text)
    if read is None:
        return None
    name, params, at = read
    given = {**_OWN_DEFAULTS.get(name, {}), **params}
    for key, value in MEASURES[name].items():  # one at its default may not be a gradeval parameter
        if value is not None and given.get(key) == value and key not in _OWN_DEFAULTS.get(name, {}):
            del given[key]
    ours = name + ("(" + ",".join(f"{k}={v!r}" for k, v in given.items()) + ")" if given else "")
    return ours + ("" if at is None else f"@{at!r}"), _printed(name, params, at)


def _read(text: str) -> tuple[str, dict[str, Any], Any] | None:
    """Name, parameters and the value after '@'; None if it is not a measure of ir_measures."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
        at = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            at, node = ast.literal_eval(node.right), node.left
        params: dict[str, Any] = {}
        if isinstance(node, ast.Call) and not node.args:
            params = {word.arg or "": ast.literal_eval(word.value) for word in node.keywords}
            node = node.func
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(node, ast.Name):
        return None
    name, more = _SAME.get(node.id, (node.id, {}))
    if name not in MEASURES:
        return None
    at_name = "recall" if name == "IPrec" else "cutoff"
    params = {**more, **params}
    at = params.pop(at_name, at)
    return (name, params, at) if set(params) <= set(MEASURES[name]) else None


def _printed(name: str, params: dict[str, Any], at: Any) -> str:
    defaults = MEASURES[name]
    inside = ",".join(f"{key}={_value(value)}" for key, value in params.items() if value != defaults[key])
    return name + (f"({inside})" if inside else "") + ("" if at is None else f"@{at}")


def _value(value: Any) -> str:
    if isinstance(value, dict):  # a gain equal to its grade is not printed
        return "{" + ",".join(f"{grade}:{gain}" for grade, gain in sorted(value.items()) if grade != gain) + "}"
    return repr(value)


class Provider(NamedTuple):
    """One of the tools that compute measures for ir_measures.

    ties: its order of documents with equal scores. metrics: those that it computes and ties affect.
    """

    ties: str
    metrics: tuple[str, ...]


_AS_GRADEVAL = "by document id descending, as in gradeval"
_AS_RUN = "in the order of the run file"
_ASCENDING = "by document id ascending"
_USER_MODELS = ("rbp", "BPM", "SDCG", "NERR8", "NERR9", "NERR10", "NERR11", "INST", "INSQ")
_RANKED = ("AP", "P", "RR", "Rprec", "nDCG")

# in the order in which it selects them; the last one only by name
PROVIDERS = {
    "pytrec_eval": Provider(
        f"{_AS_GRADEVAL}, but with scores as 32-bit floats",
        (*_RANKED, "R", "Success", "bpref", "infAP", "iprec_at_recall"),
    ),
    "cwl_eval": Provider(_AS_RUN, ("AP", "P", "RR", *_USER_MODELS)),
    "compat": Provider(f"{_ASCENDING}, in the ideal ranking in the order of the qrels", ("Compat",)),
    "judged": Provider(_ASCENDING, ("Judged",)),
    "msmarco": Provider(_ASCENDING, ("RR",)),
    "gdeval": Provider(_AS_GRADEVAL, ("nDCG", "ERR")),
    "accuracy": Provider(_AS_RUN, ("Accuracy",)),
    "ranx": Provider("undefined", (*_RANKED, "R", "Success")),
    "trectools": Provider(_AS_RUN, (*_RANKED, "bpref", "rbp")),
}


def ties(metric: str) -> list[tuple[str, str]]:
    """(provider, its order of ties) for each that computes the metric."""
    return [(name, provider.ties) for name, provider in PROVIDERS.items() if metric in provider.metrics]
