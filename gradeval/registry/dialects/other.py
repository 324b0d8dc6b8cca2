"""Equivalent metrics and parameters of other tools, and how their names are parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from gradeval.registry.dialects import ir_measures

Items = list[tuple[str, str | None]]
"""The parameters given with a name: key and value; the value is None for a text without '='."""

# A name in the tool's notation -> the same in ours. '@k' on both sides is an optional cutoff. 'name(param)' is
# the name with that parameter, 'name(param=value)' with that value. Names equal to ours are listed for the
# pages only. trec_eval's names are in trec_eval.py.
NAMES: dict[str, dict[str, str]] = {
    "ir_measures": ir_measures.NAMES,
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


# metric -> its names in tools, for the pages only: in gradeval these names mean another metric
SAME_NAMES: dict[str, dict[str, str]] = {
    "nDCG": {
        "LightGBM": "ndcg@k (gain=exp, with --ties input --no-relevant 1)",
        "XGBoost": "ndcg@k (gain=exp, with --ties input --no-relevant 1; ndcg_exp_gain=false: gain=linear)",
    }
}


class Spelling(NamedTuple):
    """The gradeval parameter that is equivalent to one of another tool.

    metric: the metric it applies to, '' for every metric with this parameter. words: its values -> ours, None
    if they are equal. example: a value whose notation differs from ours.
    """

    param: str
    metric: str = ""
    words: Mapping[str, str] | None = None
    example: str = ""


PARAMS = {
    "ir_measures": {
        "gains": Spelling("gain", example="{0:0,1:5}"),
        "dcg": Spelling("gain", words={"log2": "linear", "exp-log2": "exp"}),
        "beta": Spelling("x", "set_F"),
    },
    "NTCIREVAL": {"logb": Spelling("base", "JKnDCG")},
}


def spelling_of(metric: str, name: str) -> Spelling | None:
    """The gradeval parameter that is equivalent to another tool's, None if there is none."""
    found = (names[name] for names in PARAMS.values() if name in names)
    return next((one for one in found if one.metric in ("", metric)), None)


def spellings(metric: str, param: str) -> Iterator[tuple[str, str, Spelling]]:
    """(tool, name there, spelling) of a gradeval parameter."""
    for tool, names in PARAMS.items():
        for name, spelling in names.items():
            if spelling.param == param and spelling.metric in ("", metric):
                yield tool, name, spelling


class Alias(NamedTuple):
    """One line of NAMES; param and value: the parameter that it requires, if any."""

    tool: str
    spelled: str
    name: str
    param: str
    value: str
    cutoff: bool
    target: str


@cache
def aliases() -> tuple[Alias, ...]:
    """Every line of NAMES."""
    return tuple(_aliases())


def _aliases() -> Iterator[Alias]:
    for tool, names in NAMES.items():
        for spelled, target in names.items():
            match = re.fullmatch(r"([^(@]+)(?:\((\w+)(?:=(\w+))?\))?(@k)?", spelled)
            assert match is not None, spelled
            name, param, value, cutoff = match.groups(default="")
            yield Alias(tool, spelled, name, param, value, bool(cutoff), target.removesuffix("@k"))


def named(name: str) -> list[Alias]:
    """The lines for a name, the most specific first, ignoring case."""
    return sorted(
        (alias for alias in aliases() if alias.name.lower() == name.lower()),
        key=lambda alias: (not alias.value, not alias.param),
    )


def resolve(name: str, items: Items, with_cutoff: bool) -> tuple[str, Items]:
    """A name and its parameters in another tool's notation, in ours; other names are returned unchanged."""
    given = {key.lower(): (value or "").lower() for key, value in items}
    fitting = [
        alias
        for alias in named(name)
        if not alias.param
        or (alias.param in given and (not alias.value or given[alias.param] == alias.value.lower()))
    ]
    if not fitting:
        return name, items
    alias = next((one for one in fitting if one.param or one.cutoff == with_cutoff), fitting[0])
    target, _, inside = alias.target.rstrip(")").partition("(")
    meant: Items = [(key, value) for key, _, value in (one.partition("=") for one in inside.split(",") if one)]
    return target, meant + [one for one in items if not (alias.value and one[0].lower() == alias.param)]
