"""How other tools spell our metrics: their names, parameters and groups of measures, a table for each tool."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

# trec_eval: what stands after the dot, and what it prints
TO_OURS = str.maketrans(",=", "/:")  # separators of values, also in messages about them
TO_THEIRS = str.maketrans("/:", ",=")


RANX = "ranx"  # which takes the grades of RBP as gains without scaling them


class TrecMeasure(NamedTuple):
    """One of trec_eval's measures; all texts use its separators: 1=3,2=9 for our 1:3/2:9."""

    metric: str  # the name of our metric
    param: str = ""  # the parameter set after the dot, '' if none
    values: str = ""  # the default values
    # a value that contains commas, a list (utility.1,-1,0,0) or pairs (ndcg.1=3,2=9); otherwise commas separate
    # values, one measure each (P.5,10)
    example: str = ""
    # parameters that a pair can set (rbp.p=0.8), the first besides param also by its decimals alone, as in ranx
    # (rbp.95)
    named: tuple[str, ...] = ()
    decimals: int | None = None  # of the value in the printed name, None for all

    def read(self, values: str, separator: str) -> list[dict[str, str]]:
        """The parameters after the dot, as texts, for each metric; none for incomplete pairs."""
        if not self.example:
            return [{self.param: value} for value in values.split(",")]
        if "=" not in self.example:
            return [{self.param: values}]
        if self.is_by_decimals(values, separator):
            return [{self.named[0]: f"0.{values}"}]
        return self._read_pairs(values)

    def is_by_decimals(self, values: str, separator: str) -> bool:
        """Whether they are the decimals of the first named parameter, in the notation of RANX."""
        has_gains = bool(self.named) and self.param not in self.named
        return has_gains and separator == "." and values.isdigit()

    def _read_pairs(self, values: str) -> list[dict[str, str]]:
        """The named parameters, and the grade=gain pairs as the other one; none for incomplete pairs."""
        pairs = [pair.partition("=") for pair in values.split(",")]
        texts = {key: value for key, _, value in pairs if key in self.named}
        gains = [f"{key}={value}" for key, _, value in pairs if key not in self.named]
        if not all(equals for _, equals, _ in pairs) or (gains and self.param in self.named):
            return []
        if gains:
            texts[self.param] = ",".join(gains)
        return [texts]

    def written(self, name: str, texts: Mapping[str, str]) -> str | None:
        """The name that trec_eval prints with these parameters, None if it does not take them."""
        if not texts:
            return name
        unwritten = dict(texts)
        parts = [f"{key}={unwritten.pop(key)}" for key in self.named if key in unwritten]
        if self.param in unwritten:
            text = unwritten.pop(self.param).translate(TO_THEIRS)
            if "=" in self.example and "=" not in text:
                return None
            if self.decimals is not None and round(float(text), self.decimals) == float(text):
                text = f"{float(text):.{self.decimals}f}"  # as trec_eval prints it
            parts.append(text)
        return None if unwritten else f"{name}_{','.join(parts)}"


_CUTOFFS = "5,10,15,20,30,100,200,500,1000"
_RECALLS = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"
_MULTIPLES = "0.2,0.4,0.6,0.8,1,1.2,1.4,1.6,1.8,2"
_GAINS = "1=3,2=9"

MEASURES = {  # in the order of its output
    "runid": TrecMeasure("runid"),
    "num_q": TrecMeasure("num_q"),
    "num_ret": TrecMeasure("num_ret"),
    "num_rel": TrecMeasure("num_rel"),
    "num_rel_ret": TrecMeasure("num_rel_ret"),
    "map": TrecMeasure("AP"),
    "gm_map": TrecMeasure("gm_map"),
    "Rprec": TrecMeasure("Rprec"),
    "bpref": TrecMeasure("bpref"),
    "recip_rank": TrecMeasure("RR"),
    "iprec_at_recall": TrecMeasure("iprec_at_recall", "recall", _RECALLS, decimals=2),
    "P": TrecMeasure("P", "cutoff", _CUTOFFS),
    "relstring": TrecMeasure("relstring", "length"),
    "recall": TrecMeasure("R", "cutoff", _CUTOFFS),
    "infAP": TrecMeasure("infAP"),
    "gm_bpref": TrecMeasure("gm_bpref"),
    "Rprec_mult": TrecMeasure("Rprec_mult", "multiple", _MULTIPLES, decimals=2),
    "utility": TrecMeasure("utility", "weights", example="1,-1,0,0"),
    "11pt_avg": TrecMeasure("11pt_avg", "points", example=_RECALLS),
    "binG": TrecMeasure("binG"),
    "G": TrecMeasure("G", "gain", example=_GAINS),
    "dcg": TrecMeasure("DCG", "gain", example=_GAINS),
    "ideal_dcg": TrecMeasure("ideal_dcg", "gain", example=_GAINS),
    "ndcg": TrecMeasure("nDCG", "gain", example=_GAINS),
    "ndcg_rel": TrecMeasure("ndcg_rel", "gain", example=_GAINS),
    "ndcg_p": TrecMeasure("ndcg_p", "gain", example=_GAINS),
    "Rndcg": TrecMeasure("Rndcg", "gain", example=_GAINS),
    "ndcg_cut": TrecMeasure("nDCG", "cutoff", _CUTOFFS),
    "map_cut": TrecMeasure("AP", "cutoff", _CUTOFFS),
    "relative_P": TrecMeasure("relative_P", "cutoff", _CUTOFFS),
    "success": TrecMeasure("Success", "cutoff", "1,5,10"),
    "set_P": TrecMeasure("set_P"),
    "set_relative_P": TrecMeasure("set_relative_P"),
    "set_recall": TrecMeasure("set_recall"),
    "set_map": TrecMeasure("set_map"),
    "set_F": TrecMeasure("set_F", "x"),
    "num_nonrel_judged_ret": TrecMeasure("num_nonrel_judged_ret"),
    "yaap": TrecMeasure("yaap"),
    "rbp": TrecMeasure("rbp", "gain", example=f"p=0.9,{_GAINS}", named=("p",)),
    "rbp_resid": TrecMeasure("rbp_resid", "p", example="p=0.9", named=("p",)),
    "unj": TrecMeasure("unj", "cutoff", "5,10,20"),
}
_BY_NAME = {name.lower(): measure for name, measure in MEASURES.items()}


def measure_of(name: str) -> TrecMeasure | None:
    return _BY_NAME.get(name.lower())


def names_of(metric: str) -> list[str]:
    """trec_eval's names of a gradeval metric."""
    return [name for name, measure in MEASURES.items() if measure.metric == metric]


def printed(metric: str, texts: Mapping[str, str]) -> str | None:
    """The name that trec_eval prints for a gradeval metric with these parameters, None if it has none."""
    return next(filter(None, (MEASURES[name].written(name, texts) for name in names_of(metric))), None)


# Names and parameters in other tools

Items = list[tuple[str, str | None]]
"""The parameters given with a name: key and value; the value is None for a text without '='."""

_AS_HERE = (
    "AP@k Accuracy@k BPM@k Compat ERR@k infAP INSQ INST Judged@k NERR8@k NERR9@k NERR10 NERR11 P@k R@k Rprec "
    "RR@k SDCG@k Success@k StRecall@k nDCG@k alpha_DCG@k alpha_nDCG@k ERR_IA@k nERR_IA@k NRBP nNRBP AP_IA "
    "P_IA@k"
)
# A name in the tool's notation -> the same in ours. '@k' on both sides is an optional cutoff. 'name(param)' is
# the name with that parameter, 'name(param=value)' with that value. Names equal to ours are listed for the
# pages only. trec_eval's names are in MEASURES.
NAMES: dict[str, dict[str, str]] = {
    "ir_measures": {
        **{name: name for name in _AS_HERE.split()},
        "MAP@k": "AP@k",
        "Bpref": "bpref",
        "IPrec@k": "iprec_at_recall(rounding=up)@k",
        "NumQ": "num_q",
        "NumRel": "num_rel",
        "NumRet": "num_ret",
        "NumRet(rel)": "num_rel_ret",
        "NumRelRet": "num_rel_ret",
        "Precision@k": "P@k",
        "Recall@k": "R@k",
        "RBP(p)@k": "rbp@k",
        "MRR@k": "RR@k",
        "SetAP": "set_map",
        "SetF": "set_F",
        "SetP": "set_P",
        "SetP(relative=False)": "set_P",
        "SetP(relative=True)": "set_relative_P",
        "SetR": "set_recall",
        "SetRelP": "set_relative_P",
        "NDCG@k": "nDCG@k",
        "MAP_IA": "AP_IA",
    },
    "ndeval": {
        "alpha-DCG@k": "alpha_DCG@k",
        "alpha-nDCG@k": "alpha_nDCG@k",
        "ERR-IA@k": "ERR_IA@k",
        "nERR-IA@k": "nERR_IA@k",
        "MAP-IA": "AP_IA",
        "P-IA@k": "P_IA@k",
        "strec@k": "StRecall@k",
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
        "recall": "set_recall",
        "recall@k": "R@k",
    },
    "BEIR": {"R_cap@k": "relative_P@k", "recall_cap@k": "relative_P@k"},
    "FreshStack": {"coverage@k": "StRecall(of=all)@k"},
    "scikit-learn": {
        "average_precision_score": "AP",
        "dcg_score": "DCG",
        "dcg_score(k)": "DCG",
        "ndcg_score": "nDCG",
        "ndcg_score(k)": "nDCG",
        "roc_auc_score": "AUC",
    },
    "SciPy": {"kendalltau": "tau", "pearsonr": "pearson", "spearmanr": "rho"},
    "NTCIREVAL": {"MSnDCG@k": "nDCG@k", "Q-measure": "Q", "I-rec@k": "StRecall@k"},
}

# metric -> its names in tools, for the pages only: they are parsed elsewhere, or mean another metric here
SAME_NAMES: dict[str, dict[str, str]] = {
    "AP": {"MTEB": "map_at_k", "LightGBM": "map@k (norm=min, with --ties input --no-relevant 1)"},
    "P": {"MTEB": "precision_at_k"},
    "R": {"MTEB": "recall_at_k"},
    "RR": {"MTEB": "mrr_at_k"},
    "unj": {"BEIR": "none: Hole@k is the share of the first k that is judged for no query"},
    "nDCG": {
        "MTEB": "ndcg_at_k",
        "LightGBM": "ndcg@k (gain=exp, with --ties input --no-relevant 1)",
        "XGBoost": "ndcg@k (gain=exp, with --ties input --no-relevant 1; ndcg_exp_gain=false: gain=linear)",
    },
    "Success": {
        "MTEB": "hit_rate_at_k",
        "sentence-transformers": "accuracy@k",
        "recommender systems": "Hit@k, HR@k",
    },
}
_OF_RANKINGS = (
    "it compares two rankings, without judgments: gradeval diff OLD NEW, and gradeval gate NEW --baseline OLD "
    "--require checks it"
)
# names of metrics that gradeval does not have, in lower case, without hyphens and underscores -> what there is
ABSENT = {
    **dict.fromkeys(("rbo", "overlap", "jaccard", "ao", "same", "sameset"), _OF_RANKINGS),
    "hole": "in BEIR it is the share of the first k that is judged for no query; unj@k is the share that is "
    "not judged for the query itself",
}
# a name in lower case -> the tool in which it is another metric than ours, and that metric; ours is meant by
# its exact name alone
AMBIGUOUS = {"accuracy": ("sentence-transformers", "Success")}


class Spelling(NamedTuple):
    """The gradeval parameter equivalent to one of another tool."""

    tool: str
    name: str
    param: str  # ours
    metric: str = ""  # the one it applies to, '' for any with this parameter
    words: Mapping[str, str] | None = None  # its values -> ours, None if they are equal
    example: str = ""  # a value in its notation


SPELLINGS = (
    Spelling("ir_measures", "gains", "gain", example="{0:0,1:5}"),
    Spelling("ir_measures", "dcg", "gain", words={"log2": "linear", "exp-log2": "exp"}),
    Spelling("ir_measures", "beta", "x", "set_F"),
    Spelling("NTCIREVAL", "logb", "base", "JKnDCG"),
)


def spellings(metric: str) -> list[Spelling]:
    """The parameters of other tools that a gradeval metric takes."""
    return [spelling for spelling in SPELLINGS if spelling.metric in ("", metric)]


class Alias(NamedTuple):
    """One line of NAMES; '' for what it has not."""

    tool: str
    spelled: str  # as in NAMES: name(param=value)@k
    name: str
    param: str  # the parameter that it requires
    value: str
    cutoff: str  # '@k'
    target: str  # ours: metric(given)
    metric: str
    given: str


@cache
def aliases() -> list[Alias]:
    lines = []
    for tool, names in NAMES.items():
        for spelled, ours in names.items():
            match = re.fullmatch(r"([^(@]+)(?:\((\w+)(?:=(\w+))?\))?(@k)?", spelled)
            assert match is not None, spelled
            target = ours.removesuffix("@k")
            metric, _, given = target.rstrip(")").partition("(")
            name, param, value, cutoff = match.groups("")
            row = tool, spelled, name, param, value
            lines.append(Alias(*row, cutoff=cutoff, target=target, metric=metric, given=given))
    return lines


def named(name: str) -> list[Alias]:
    """The lines for a name, the most specific first, ignoring case."""
    lines = (alias for alias in aliases() if alias.name.lower() == name.lower())
    return sorted(lines, key=lambda alias: (not alias.value, not alias.param))


def resolve(name: str, items: Items, with_cutoff: bool) -> tuple[str, Items]:
    """A name and its parameters in another tool's notation, in ours; other names are returned unchanged."""
    values = {key.lower(): (value or "").lower() for key, value in items}

    def fits(alias: Alias) -> bool:
        return not alias.param or (
            alias.param in values and (not alias.value or values[alias.param] == alias.value.lower())
        )

    fitting = [alias for alias in named(name) if fits(alias)]
    if not fitting:
        return name, items
    alias = next((alias for alias in fitting if alias.param or bool(alias.cutoff) == with_cutoff), fitting[0])
    pairs = (item.partition("=") for item in alias.given.split(",") if item)
    parameters = [item for item in items if not (alias.value and item[0].lower() == alias.param)]
    return alias.metric, [*((key, value) for key, _, value in pairs), *parameters]


# ir_measures: the parameters of its measures, as it prints them, and its providers' orders of ties

_REL = {"rel": 1}
_BINARY = {"rel": 1, "judged_only": False}
_RANGE = {"min_rel": 0, "max_rel": None}

# The parameters of each besides the cutoff, with their defaults, which it does not print; None for no default.
IR_MEASURES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("AP", "IPrec", "P", "R", "RR", "Rprec", "SetAP", "Success"), _BINARY),
    **dict.fromkeys(("ERR_IA", "nERR_IA", "AP_IA", "P_IA"), _BINARY),
    **dict.fromkeys(("Accuracy", "Bpref", "infAP", "NumRel", "SetR", "StRecall"), _REL),
    **{name: {"T": 1.0, **_RANGE} for name in ("BPM", "INSQ", "INST", "NERR11")},
    **dict.fromkeys(("NERR8", "NERR9"), _RANGE),
    **{name: {} for name in ("ERR", "Judged", "NumQ")},
    **{name: {**_BINARY, "alpha": 0.5} for name in ("alpha_DCG", "alpha_nDCG")},
    **{name: {"rel": 1, "alpha": 0.5, "beta": 0.5} for name in ("NRBP", "nNRBP")},
    "Compat": {"p": 0.95, "normalize": True},
    "NERR10": {"p": 0.9, **_RANGE},
    "NumRet": {"rel": None},
    "RBP": {"p": 0.8, "rel": None},
    "SDCG": {"dcg": "log2", **_RANGE},
    "SetF": {"beta": 1.0, **_BINARY},
    "SetP": {"relative": False, **_BINARY},
    "nDCG": {"dcg": "log2", "gains": None, "judged_only": False},
}
_SAME: dict[str, tuple[str, dict[str, Any]]] = {
    "BPref": ("Bpref", {}),
    "MAP": ("AP", {}),
    "MAP_IA": ("AP_IA", {}),
    "MRR": ("RR", {}),
    "NDCG": ("nDCG", {}),
    "NumRelRet": ("NumRet", {"rel": 1}),
    "Precision": ("P", {}),
    "RPrec": ("Rprec", {}),
    "Recall": ("R", {}),
    "SetRelP": ("SetP", {"relative": True}),
}


def translated(text: str) -> tuple[str, str] | None:
    """A measure in our notation, and as ir_measures prints it; None if it is not one of ir_measures'."""
    parts = _parts(text)
    if parts is None:
        return None
    written_name, params, at = parts
    name, preset = _SAME.get(written_name, (written_name, {}))
    params = preset | params
    at = params.pop("recall" if name == "IPrec" else "cutoff", at)
    if name not in IR_MEASURES or not set(params) <= set(IR_MEASURES[name]):
        return None
    # one at its default is not printed, and may not be a gradeval parameter
    printed = {key: repr(value) for key, value in params.items() if value != IR_MEASURES[name][key]}
    ours = ({"p": "0.8"} if name == "RBP" else {}) | printed  # the default of ours differs
    if isinstance(gains := params.get("gains"), dict):  # a gain equal to its grade is not printed
        pairs = (f"{grade}:{gain}" for grade, gain in sorted(gains.items()) if grade != gain)
        printed["gains"] = f"{{{','.join(pairs)}}}"

    def written(arguments: Mapping[str, str], cutoff: str) -> str:
        inside = ",".join(f"{key}={value}" for key, value in arguments.items())
        return name + (f"({inside})" if inside else "") + (f"@{cutoff}" if at is not None else "")

    return written(ours, repr(at)), written(printed, str(at))


def _parts(text: str) -> tuple[str, dict[str, Any], Any] | None:
    """The name, the parameters and the value behind '@' of NAME(param=value)@k; None for other texts."""
    import ast

    try:
        node = ast.parse(text.strip(), mode="eval").body
        at = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            at = ast.literal_eval(node.right)
            node = node.left
        params: dict[str, Any] = {}
        if isinstance(node, ast.Call) and not node.args:
            params = {word.arg or "": ast.literal_eval(word.value) for word in node.keywords}
            node = node.func
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return (node.id, params, at) if isinstance(node, ast.Name) else None


_AS_GRADEVAL = "by document id descending, as in gradeval"
_AS_RUN = "in the order of the run file"
_ASCENDING = "by document id ascending"
_USER_MODELS = ("rbp", "BPM", "SDCG", "NERR8", "NERR9", "NERR10", "NERR11", "INST", "INSQ")
_RANKED = ("AP", "P", "RR", "Rprec", "nDCG")
_OF_SUBTOPICS = ("ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall")

# the tools that compute measures for ir_measures, in the order in which it selects them (the last one only by
# name) -> their order of documents with equal scores, and the metrics that they compute and ties affect
PROVIDERS = {
    "pytrec_eval": (
        f"{_AS_GRADEVAL}, but with scores as 32-bit floats",
        (*_RANKED, "R", "Success", "bpref", "infAP", "iprec_at_recall"),
    ),
    "cwl_eval": (_AS_RUN, ("AP", "P", "RR", *_USER_MODELS)),
    "compat": (f"{_ASCENDING}, in the ideal ranking in the order of the qrels", ("Compat",)),
    "pyndeval": (_ASCENDING, _OF_SUBTOPICS),
    "judged": (_ASCENDING, ("Judged",)),
    "msmarco": (_ASCENDING, ("RR",)),
    "gdeval": (_AS_GRADEVAL, ("nDCG", "ERR")),
    "accuracy": (_AS_RUN, ("Accuracy",)),
    "ranx": ("undefined", (*_RANKED, "R", "Success")),
    "trectools": (_AS_RUN, (*_RANKED, "bpref", "rbp")),
}


# Groups of metrics under one name: trec_eval's, and what benchmarks report


class Group(NamedTuple):
    """A group of metrics: a description of one line, its members, source, when to use them and when not."""

    about: str
    measures: tuple[str, ...]
    source: str
    use: str
    not_use: str


_SAME_CUTOFFS = "Cutoffs are those of trec_eval."
_ALL = tuple(MEASURES)
_SEPARATE = {"dcg", "ideal_dcg", "ndcg_p", "yaap"}  # in trec_eval, but in none of its groups
_SET = {*_ALL[:5], "set_P", "set_relative_P", "set_recall", "set_map", "set_F", "utility"}

TREC_EVAL = {
    "official": Group(
        "The measures that trec_eval prints by default.",
        _ALL[: _ALL.index("relstring")],
        _SAME_CUTOFFS,
        "the output is to be compared with that of TREC, or of trec_eval without options.",
        "relevance is graded: none of these distinguishes grades above the threshold.",
    ),
    "set": Group(
        "trec_eval's measures of the retrieved set, independent of its order.",
        tuple(name for name in _ALL if name in _SET),
        _SAME_CUTOFFS,
        "the system returns a set without an order, as in filtering.",
        "the system ranks: the order has no effect.",
    ),
    "all_trec": Group(
        f"All measures of trec_eval for qrels, except {', '.join(sorted(_SEPARATE))}.",
        tuple(name for name in _ALL if name not in _SEPARATE),
        _SAME_CUTOFFS,
        "a run is to be searched for anything unusual.",
        "a few values are to be reported: choose these before looking at all.",
    ),
}

BENCHMARKS = {
    "basic": Group(
        "What most papers on ranking report: graded, binary, first relevant, precision and recall.",
        ("nDCG@10", "AP", "RR", "P@10", "R@100"),
        "Source: the metrics that tracks of TREC and benchmarks of retrieval have in common.",
        "a first look at a run is wanted, or a table that all readers know.",
        "a benchmark says which metrics it reports (trec-dl, beir, msmarco).",
    ),
    "trec-dl": Group(
        "TREC Deep Learning, passages: grades 0 to 3, of which 2 and 3 are relevant.",
        ("nDCG@10", "AP(rel=2)", "RR(rel=2)", "R(rel=2)@100", "Judged@10"),
        'Source: Craswell, Mitra, Yilmaz, Campos, "Overview of the TREC 2020 Deep Learning Track", TREC 2020: '
        "nDCG@10 is the main metric; grade 1 counts as non-relevant in binary metrics of the passage task. For "
        "the document task it counts as relevant: 'nDCG@10 AP RR R@100 Judged@10'.",
        "results on the passages of TREC Deep Learning are to be compared with published ones.",
        "the judgments are MS MARCO's own, with about one relevant passage for a query (msmarco).",
    ),
    "beir": Group(
        "BEIR: the main metric, and recall for rerankers.",
        ("nDCG@10", "R@100"),
        'Source: Thakur, Reimers, Rücklé, Srivastava, Gurevych, "BEIR: A Heterogeneous Benchmark for Zero-shot '
        'Evaluation of Information Retrieval Models", NeurIPS Datasets and Benchmarks 2021. BEIR reports a '
        "recall with a capped denominator for TREC-COVID; R@100 is not capped. By default it removes documents "
        "whose id is their query's: --ignore-identical-ids does the same.",
        "results are to be compared with those of BEIR.",
        "the judgments are so incomplete that new systems retrieve many unjudged documents (Judged@10).",
    ),
    "msmarco": Group(
        "MS MARCO passage ranking: the official metric, and recall of the first stage.",
        ("RR@10", "R@1000"),
        'Source: Bajaj et al., "MS MARCO: A Human Generated MAchine Reading COmprehension Dataset", 2016; '
        "MRR@10 is the metric of the leaderboard for passage ranking.",
        "judgments are MS MARCO's own, with about one relevant passage for a query.",
        "passages have grades (trec-dl).",
    ),
}

GROUPS = TREC_EVAL | BENCHMARKS
