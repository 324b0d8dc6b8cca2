"""Groups of metrics under one name: trec_eval's, and what benchmarks report."""

from __future__ import annotations

from typing import NamedTuple

from gradeval.registry.dialects.trec_eval import MEASURES


class Group(NamedTuple):
    """A group of metrics, with a description of one line, and what its page says about them.

    use, not_use: when to use them, and when not.
    """

    about: str
    measures: tuple[str, ...]
    source: str
    use: str
    not_use: str


_CUTOFFS = "Cutoffs are those of trec_eval."
_ALL = tuple(MEASURES)
_SEPARATE = {"dcg", "ideal_dcg", "ndcg_p", "yaap"}  # in trec_eval, but in none of its groups
_SET = {*_ALL[:5], "set_P", "set_relative_P", "set_recall", "set_map", "set_F", "utility"}

TREC_EVAL = {
    "official": Group(
        "The measures that trec_eval prints by default.",
        _ALL[: _ALL.index("relstring")],
        _CUTOFFS,
        "the output is to be compared with that of TREC, or of trec_eval without options.",
        "relevance is graded: none of these distinguishes grades above the threshold.",
    ),
    "set": Group(
        "trec_eval's measures of the retrieved set, independent of its order.",
        tuple(name for name in _ALL if name in _SET),
        _CUTOFFS,
        "the system returns a set without an order, as in filtering.",
        "the system ranks: the order has no effect.",
    ),
    "all_trec": Group(
        f"All measures of trec_eval for qrels, except {', '.join(sorted(_SEPARATE))}.",
        tuple(name for name in _ALL if name not in _SEPARATE),
        _CUTOFFS,
        "a run is to be searched for anything unusual.",
        "a few values are to be reported: choose these before looking at all.",
    ),
}

BENCHMARKS = {
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
        "recall with a capped denominator for TREC-COVID; R@100 is not capped.",
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
