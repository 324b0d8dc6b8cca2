"""trec_eval's measures: their metrics, the values after the dot, and the names in its output."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple


class Measure(NamedTuple):
    """One of trec_eval's measures; all texts use its separators: 1=3,2=9 for our 1:3/2:9.

    metric: the name of our metric. param: the parameter set after the dot, '' if none. values: the default
    values. example: a value that contains commas, a list (utility.1,-1,0,0) or pairs (ndcg.1=3,2=9);
    otherwise commas separate values, one measure each (P.5,10). named: parameters that a pair can set
    (rbp.p=0.8). digits: the one of these that can be given by its decimals alone, as in ranx (rbp.95).
    decimals: of the value in the printed name, None for all.
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
        """The text after the dot: an example, or the name of a single value."""
        return self.example or ("k" if self.param == "cutoff" else self.param)

    @property
    def pairs(self) -> str:
        """A description of the pairs it takes."""
        gains = [] if self.param in self.named else ["grade=gain pairs"]
        return " and ".join([*(f"{key}=" for key in self.named), *gains])

    def read(self, values: str, separator: str) -> list[dict[str, str]]:
        """The parameters after the dot, as texts: a dict for each metric.

        Raises ValueError for incomplete pairs.
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
        """The name that trec_eval prints with these parameters, None if it does not take them."""
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
        """A value with the decimals that trec_eval prints, if that is exact."""
        short = text if self.decimals is None else f"{float(text):.{self.decimals}f}"
        return short if self.decimals is None or float(short) == float(text) else text


_CUTOFFS = "5,10,15,20,30,100,200,500,1000"
_RECALLS = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"
_MULTIPLES = "0.2,0.4,0.6,0.8,1,1.2,1.4,1.6,1.8,2"
_GAINS = "1=3,2=9"

MEASURES = {  # in the order of its output
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
    """The measure of this name, ignoring case."""
    return _BY_NAME.get(name.lower())


@cache
def _names_by_metric() -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, measure in MEASURES.items():
        names.setdefault(measure.metric, []).append(name)
    return names


def names_of(metric: str) -> list[str]:
    """trec_eval's names of a gradeval metric."""
    return _names_by_metric().get(metric, [])


def printed(metric: str, texts: Mapping[str, str]) -> str | None:
    """The name that trec_eval prints for a gradeval metric with these parameters, None if it has none."""
    names = (MEASURES[name].written(name, texts) for name in names_of(metric))
    return next(filter(None, names), None)


def to_ours(text: str) -> str:
    """A value, or a message about it, with our separators."""
    return text.translate(str.maketrans(",=", "/:"))


def to_theirs(text: str) -> str:
    """A value, or a message about it, with trec_eval's separators."""
    return text.translate(str.maketrans("/:", ",="))
