"""trec_eval's measures: which metrics they are, what it takes after a dot, and how it prints their names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple


class Measure(NamedTuple):
    """One of trec_eval's measures; all texts have its separators, 1=3,2=9 where ours are 1:3/2:9.

    metric: ours. param: what is set after the dot, '' where nothing is. values: where none are given, these
    are meant. example: a value that has commas itself, a list (utility.1,-1,0,0) or pairs (ndcg.1=3,2=9); else
    commas separate values, a measure each (P.5,10). named: parameters that a pair can set (rbp.p=0.8). digits:
    the one of these whose decimals can stand there alone, as in ranx (rbp.95). decimals: how many it prints of
    the value, None for all.
    """

    metric: str
    param: str = ""
    values: str = ""
    example: str = ""
    named: tuple[str, ...] = ()
    digits: str = ""
    decimals: int | None = None

    @property
    def has_pairs(self) -> bool:
        return "=" in self.example

    @property
    def takes(self) -> str:
        """What stands after the dot: an example, or what a single value is called."""
        return self.example or ("k" if self.param == "cutoff" else self.param)

    @property
    def pairs(self) -> str:
        """What pairs it takes, in words."""
        gains = [] if self.param in self.named else ["grade=gain pairs"]
        return " and ".join([*(f"{key}=" for key in self.named), *gains])

    def read(self, values: str, separator: str) -> list[dict[str, str]]:
        """What stands after the dot as texts of parameters, a dict for each metric.

        Raises ValueError where there should be pairs.
        """
        if not self.example:
            return [{self.param: value} for value in values.split(",")]
        if not self.has_pairs:
            return [{self.param: values}]
        if self.digits and separator == "." and values.isdigit():
            return [{self.digits: f"0.{values}"}]
        given = [pair.partition("=") for pair in values.split(",")]
        texts = {key: value for key, _, value in given if key in self.named}
        gains = sorted((float(key), f"{key}={value}") for key, _, value in given if key not in self.named)
        if not all(equals for _, equals, _ in given) or (gains and self.param in self.named):
            raise ValueError("pairs are incomplete")
        if gains:
            texts[self.param] = ",".join(pair for _, pair in gains)
        return [texts]

    def written(self, name: str, texts: Mapping[str, str]) -> str | None:
        """The name that trec_eval prints with these parameters, None where it takes no such parameters."""
        if not texts:
            return name
        rest = dict(texts)
        parts = [f"{key}={rest.pop(key)}" for key in self.named if key in rest]
        if self.param in rest:
            text = to_theirs(rest.pop(self.param))
            if self.has_pairs and "=" not in text:
                return None
            parts.append(self.rounded(text))
        return None if rest else f"{name}_{','.join(parts)}"

    def rounded(self, text: str) -> str:
        """A value with the decimals that trec_eval prints, where that loses nothing."""
        short = text if self.decimals is None else f"{float(text):.{self.decimals}f}"
        return short if self.decimals is None or float(short) == float(text) else text


_CUTOFFS = "5,10,15,20,30,100,200,500,1000"
_RECALLS = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"
_MULTIPLES = "0.2,0.4,0.6,0.8,1,1.2,1.4,1.6,1.8,2"
_GAINS = "1=3,2=9"

MEASURES = {  # in the order in which it prints them
    "runid": Measure("runid"),
    "num_q": Measure("num_q"),
    "num_ret": Measure("num_ret"),
    "num_rel": Measure("num_rel"),
    "num_rel_ret": Measure("num_rel_ret"),
    "map": Measure("AP"),
    "gm_map": Measure("gm_map"),
    "Rprec": Measure("Rprec"),
    "bpref": Measure("bpref"),
    "recip_rank": Measure("RR"),
    "iprec_at_recall": Measure("iprec_at_recall", "recall", _RECALLS, decimals=2),
    "P": Measure("P", "cutoff", _CUTOFFS),
    "relstring": Measure("relstring", "length"),
    "recall": Measure("R", "cutoff", _CUTOFFS),
    "infAP": Measure("infAP"),
    "gm_bpref": Measure("gm_bpref"),
    "Rprec_mult": Measure("Rprec_mult", "multiple", _MULTIPLES, decimals=2),
    "utility": Measure("utility", "weights", example="1,-1,0,0"),
    "11pt_avg": Measure("11pt_avg", "points", example=_RECALLS),
    "binG": Measure("binG"),
    "G": Measure("G", "gain", example=_GAINS),
    "dcg": Measure("DCG", "gain", example=_GAINS),
    "ideal_dcg": Measure("ideal_dcg", "gain", example=_GAINS),
    "ndcg": Measure("nDCG", "gain", example=_GAINS),
    "ndcg_rel": Measure("ndcg_rel", "gain", example=_GAINS),
    "ndcg_p": Measure("ndcg_p", "gain", example=_GAINS),
    "Rndcg": Measure("Rndcg", "gain", example=_GAINS),
    "ndcg_cut": Measure("nDCG", "cutoff", _CUTOFFS),
    "map_cut": Measure("AP", "cutoff", _CUTOFFS),
    "relative_P": Measure("relative_P", "cutoff", _CUTOFFS),
    "success": Measure("Success", "cutoff", "1,5,10"),
    "set_P": Measure("set_P"),
    "set_relative_P": Measure("set_relative_P"),
    "set_recall": Measure("set_recall"),
    "set_map": Measure("set_map"),
    "set_F": Measure("set_F", "x"),
    "num_nonrel_judged_ret": Measure("num_nonrel_judged_ret"),
    "yaap": Measure("yaap"),
    "rbp": Measure("rbp", "gain", example=f"p=0.9,{_GAINS}", named=("p",), digits="p"),
    "rbp_resid": Measure("rbp_resid", "p", example="p=0.9", named=("p",)),
    "unj": Measure("unj", "cutoff", "5,10,20"),
}
_BY_NAME = {name.lower(): measure for name, measure in MEASURES.items()}


def measure_of(name: str) -> Measure | None:
    """The measure of this name, in whatever case."""
    return _BY_NAME.get(name.lower())


@cache
def _names_by_metric() -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, measure in MEASURES.items():
        names.setdefault(measure.metric, []).append(name)
    return names


def names_of(metric: str) -> list[str]:
    """What trec_eval calls a metric of ours."""
    return _names_by_metric().get(metric, [])


def printed(metric: str, texts: Mapping[str, str]) -> str | None:
    """The name that trec_eval prints for a metric of ours with these parameters, None where it has none."""
    names = (MEASURES[name].written(name, texts) for name in names_of(metric))
    return next(filter(None, names), None)


def to_ours(text: str) -> str:
    """A value, or what is said of it, with our separators."""
    return text.translate(str.maketrans(",=", "/:"))


def to_theirs(text: str) -> str:
    """A value, or what is said of it, with trec_eval's separators."""
    return text.translate(str.maketrans("/:", ",="))


class Group(NamedTuple):
    """What a name stands for: about says it in a line."""

    about: str
    measures: tuple[str, ...]


_ALL = tuple(MEASURES)
_OFFICIAL = _ALL[: _ALL.index("relstring")]
_SEPARATE = {"dcg", "ideal_dcg", "ndcg_p", "yaap"}  # trec_eval has them, but in no group
_SET = {*_ALL[:5], "set_P", "set_relative_P", "set_recall", "set_map", "set_F", "utility"}
GROUPS = {
    "official": Group(
        "The measures that trec_eval prints where none is named.", _ALL[: _ALL.index("relstring")]
    ),
    "set": Group(
        "The measures of trec_eval for all that was retrieved, whatever its order.",
        tuple(name for name in _ALL if name in _SET),
    ),
    "all_trec": Group(
        f"All measures of trec_eval for qrels, without {', '.join(sorted(_SEPARATE))}.",
        tuple(name for name in _ALL if name not in _SEPARATE),
    ),
}
