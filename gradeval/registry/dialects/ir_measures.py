"""The measures of ir_measures as it spells them: read into Specs, and written as it writes them."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from gradeval.registry.spec import Spec, parse_one

_REL = {"rel": 1}
_BINARY = {"rel": 1, "judged_only": False}
_GAINS = {"min_rel": 0, "max_rel": None}

# What each takes besides the cutoff, with its defaults, which it does not print; None where there is none.
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
_OWN_DEFAULTS = {"RBP": {"p": 0.8}}  # where ours is another


class Measure(NamedTuple):
    """A metric, and its name as ir_measures prints it."""

    name: str
    spec: Spec


def parse_measures(texts: tuple[str, ...]) -> list[Measure]:
    """The measures that the texts name, each once; names that are only ours too. Raises MetricError."""
    return list(dict.fromkeys(one for text in texts for name in _names(text) for one in _measures(name)))


def _names(text: str) -> list[str]:
    """'AP nDCG(gains={0: 0})@5' -> the single names; unlike theirs, a name may have spaces in parentheses."""
    names, depth = [""], 0
    for char in text:
        depth = max(depth + (char == "(") - (char == ")"), 0)
        if char.isspace() and not depth:
            names.append("")
        else:
            names[-1] += char
    return [name for name in names if name]


def _measures(text: str) -> list[Measure]:
    read = _read(text)
    if read is None:
        return [Measure(str(spec), spec) for spec in parse_one(text)]
    name, params, at = read
    given = {**_OWN_DEFAULTS.get(name, {}), **params}
    for key, value in MEASURES[name].items():  # a default of theirs may be no parameter of ours
        if value is not None and given.get(key) == value and key not in _OWN_DEFAULTS.get(name, {}):
            del given[key]
    ours = name + ("(" + ",".join(f"{k}={v!r}" for k, v in given.items()) + ")" if given else "")
    [spec] = parse_one(ours + ("" if at is None else f"@{at!r}"))
    return [Measure(_written(name, params, at), spec)]


def _read(text: str) -> tuple[str, dict[str, Any], Any] | None:
    """Name, parameters and what stands after '@'; None where it is no measure of ir_measures."""
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


def _written(name: str, params: dict[str, Any], at: Any) -> str:
    defaults = MEASURES[name]
    inside = ",".join(f"{key}={_value(value)}" for key, value in params.items() if value != defaults[key])
    return name + (f"({inside})" if inside else "") + ("" if at is None else f"@{at}")


def _value(value: Any) -> str:
    if isinstance(value, dict):  # a gain that is the grade itself is not printed
        return "{" + ",".join(f"{grade}:{gain}" for grade, gain in sorted(value.items()) if grade != gain) + "}"
    return repr(value)
