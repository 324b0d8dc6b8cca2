"""Names for several measures of trec_eval, in the order in which it prints them."""

from __future__ import annotations

from typing import NamedTuple

MEASURES = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"),
    *("iprec_at_recall", "P", "relstring", "recall", "infAP", "gm_bpref", "Rprec_mult", "utility", "11pt_avg"),
    *("binG", "G", "dcg", "ideal_dcg", "ndcg", "ndcg_rel", "ndcg_p", "Rndcg", "ndcg_cut", "map_cut"),
    *("relative_P", "success", "set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    *("num_nonrel_judged_ret", "yaap", "rbp", "rbp_resid", "unj"),
)
_SEPARATE = {"dcg", "ideal_dcg", "ndcg_p", "yaap"}  # trec_eval has them, but in no group
_SET = {"set_P", "set_relative_P", "set_recall", "set_map", "set_F", "utility"}


class Group(NamedTuple):
    """What a name stands for: about says it in a line."""

    about: str
    measures: tuple[str, ...]


GROUPS = {
    "official": Group(
        "The measures that trec_eval prints where none is named.", MEASURES[: MEASURES.index("relstring")]
    ),
    "set": Group(
        "The measures of trec_eval for all that was retrieved, whatever its order.",
        tuple(name for name in MEASURES if name in {*MEASURES[:5], *_SET}),
    ),
    "all_trec": Group(
        f"All measures of trec_eval for qrels, without {', '.join(sorted(_SEPARATE))}.",
        tuple(name for name in MEASURES if name not in _SEPARATE),
    ),
}
