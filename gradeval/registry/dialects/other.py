"""What other tools call our metrics, where they mean the same; and how such a name is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

# A name as the tool spells it -> the same in our spelling. '@k' on both sides stands for a cutoff, which may be
# missing. 'name(param)' is the name where that parameter is given, 'name(param=value)' where it has that value.
# Names that are ours anyway are here for the pages only. trec_eval's names are told by the metrics themselves.
TOOLS: dict[str, dict[str, str]] = {
    "ir_measures": {
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
    },
    "ranx": {
        "dcg@k": "DCG@k",
        "dcg_burges@k": "DCG(gain=exp)@k",
        "f1": "set_F",
        "f1@k": "F@k",
        "hit_rate@k": "Success@k",
        "hits@k": "num_rel_ret@k",
        "map@k": "AP@k",
        "mrr@k": "RR@k",
        "ndcg@k": "nDCG@k",
        "ndcg_burges@k": "nDCG(gain=exp)@k",
        "precision": "set_P",
        "precision@k": "P@k",
        "r-precision": "Rprec",
        "rbp.95": "rbp(p=0.95)",
        "recall@k": "R@k",
    },
    "scikit-learn": {
        "average_precision_score": "AP",
        "dcg_score": "DCG",
        "dcg_score(k)": "DCG",
        "ndcg_score": "nDCG",
        "ndcg_score(k)": "nDCG",
        "roc_auc_score": "AUC",
    },
    "SciPy": {
        "kendalltau": "tau",
        "pearsonr": "pearson",
        "spearmanr": "rho",
    },
    "NTCIREVAL": {
        "MSnDCG@k": "nDCG@k",
        "Q-measure": "Q",
    },
}


class Alias(NamedTuple):
    """One line of TOOLS: `param` and `value` are what must be given for it, if anything."""

    tool: str
    spelled: str
    name: str
    param: str
    value: str
    cutoff: bool
    target: str


_KEY = re.compile(r"([^(@]+)(?:\((\w+)(?:=(\w+))?\))?(@k)?")


@cache
def aliases() -> tuple[Alias, ...]:
    """Every line of TOOLS."""
    return tuple(_aliases())


def _aliases() -> Iterator[Alias]:
    for tool, names in TOOLS.items():
        for spelled, target in names.items():
            match = _KEY.fullmatch(spelled)
            assert match is not None, spelled
            name, param, value, cutoff = match.groups(default="")
            yield Alias(tool, spelled, name, param, value, bool(cutoff), target.removesuffix("@k"))


def named(name: str) -> list[Alias]:
    """The lines for a name, the most particular first. No case is told apart."""
    return sorted(
        (alias for alias in aliases() if alias.name.lower() == name.lower()),
        key=lambda alias: (not alias.value, not alias.param),
    )


def resolve(name: str, items: list[str], with_cutoff: bool) -> tuple[str, list[str]]:
    """A name in another tool's spelling, and its 'param=value' texts, in ours; as they are where it is none."""
    given = {key.strip().lower(): unquoted(value) for key, _, value in (one.partition("=") for one in items)}
    lines = named(name)
    fitting = [
        alias
        for alias in lines
        if not alias.param
        or (alias.param in given and (not alias.value or given[alias.param].lower() == alias.value.lower()))
    ]
    if not fitting:
        return name, items
    alias = next((one for one in fitting if one.param or one.cutoff == with_cutoff), fitting[0])
    target, _, inside = alias.target.rstrip(")").partition("(")
    if alias.value:
        items = [one for one in items if one.partition("=")[0].strip().lower() != alias.param]
    return target, [*filter(None, inside.split(",")), *items]


def split_items(inside: str) -> list[str]:
    """'a=1, b={0:0,1:5}, c="x,y"' -> its items: commas in quotes and braces part nothing."""
    items, start, closing = [], 0, ""
    for i, char in enumerate(inside):
        if closing:
            closing = "" if char == closing else closing
        elif char in "{'\"":
            closing = "}" if char == "{" else char
        elif char == ",":
            items.append(inside[start:i])
            start = i + 1
    return [*items, inside[start:]] if inside.strip() else []


def unquoted(value: str) -> str:
    """A value as it is written in Python, in our spelling: without quotes, {0:0,1:5} as 0:0/1:5."""
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    if value.startswith("{") and value.endswith("}"):
        return "/".join(sorted(("".join(one.split()) for one in value[1:-1].split(",")), key=_grade))
    return value


def _grade(pair: str) -> float:
    try:
        return float(pair.partition(":")[0])
    except ValueError:
        return 0.0  # whoever reads the value says what is wrong with it
