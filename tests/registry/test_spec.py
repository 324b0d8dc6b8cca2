"""The grammar of metric names: there, back, and what is refused."""

import pickle

import ir_measures
import pytest
from helpers import check_each, each, each_row, error_of, examples
from hypothesis import given
from hypothesis import strategies as st
from metrics import strategies

from gradeval.errors import MetricError
from gradeval.registry import dialects
from gradeval.registry.dialects import ABSENT
from gradeval.registry.metric import REGISTRY
from gradeval.registry.spec import Spec, fold, parse, parse_one


@examples(times=0.25)
@given(strategies.parameters)
def test_what_is_written_is_read_back(parameters):
    def check(metric):
        params = strategies.params_of(metric, parameters)
        ordered = [p.name for p in metric.params if p.name in params]
        kept = [(name, params[name]) for name in ordered if params[name] != metric.by_name[name].default]
        spec = Spec(metric, tuple(kept))
        texts = [str(spec), spec.display, spec.trec]
        if fold(metric.name) not in dialects.AMBIGUOUS:  # these are not taken in another spelling
            texts.append(str(spec).swapcase())
        for text in texts:
            assert parse(text) == [spec], text
        assert str(spec).isascii()
        assert pickle.loads(pickle.dumps(spec)) == spec
        assert repr(spec) == f"Spec({str(spec)!r})"

    check_each(REGISTRY.values(), check)


@each_row(
    ("nDCG@10", ["nDCG@10"]),
    ("nDCG@5,10", ["nDCG@5", "nDCG@10"]),
    ("nDCG( gain = EXP , discount=Letor )@10", ["nDCG(gain=exp,discount=letor)@10"]),
    ("nDCG(discount=letor,gain=exp)", ["nDCG(gain=exp,discount=letor)"]),
    ("nDCG(gain=linear,discount=log2,ideal=global)", ["nDCG"]),
    ("nDCG(cutoff=10)", ["nDCG@10"]),
    ("AP(rel=2)@100", ["AP(rel=2)@100"]),
    ("AP(rel=2.0) AP(rel=2e0)", ["AP(rel=2)"]),
    ("AP() ap MAP map", ["AP"]),
    ("nDCG(gain=0:0/1:1/2:10)", ["nDCG(gain=0:0/1:1/2:10)"]),
    ("nDCG(gain=exp,top=10/25/50)@10", ["nDCG(gain=exp,top=10/25/50)@10"]),
    ("nDCGphi(points=0:0/2.5:0.25/9:1)", ["nDCGphi(points=0:0/2.5:0.25/9:1)"]),
    ("µAP μap µMAP mumap MUAP", ["muAP"]),
    ("nDCGφ@10 nDCGϕ@10 NDCGPHI@10", ["nDCGphi@10"]),
    ("kendall τ spearman ρ", ["tau", "rho"]),
    ("AP,nDCG@5,10,P@5,  RR", ["AP", "nDCG@5", "nDCG@10", "P@5", "RR"]),
    (["AP", "RR AP"], ["AP", "RR"]),
    ("nDCG@010", ["nDCG@10"]),
    # as MTEB and BEIR write it
    ("ndcg_at_10 map_at_5,10", ["nDCG@10", "AP@5", "AP@10"]),
    ("recall_at_5 precision_at_5 mrr_at_5 hit_rate_at_5", ["R@5", "P@5", "RR@5", "Success@5"]),
    ("ndcg_at_10(gain=exp)", ["nDCG(gain=exp)@10"]),
    ("R_cap@5 recall_cap@5", ["relative_P@5"]),
    # groups of benchmarks
    ("trec-dl", ["nDCG@10", "AP(rel=2)", "RR(rel=2)", "R(rel=2)@100", "Judged@10"]),
    ("AP beir,P@5", ["AP", "nDCG@10", "R@100", "P@5"]),
    ("MSMARCO", ["RR@10", "R@1000"]),
    # objects of ir_measures, whose default p differs
    (["AP", ir_measures.nDCG @ 10], ["AP", "nDCG@10"]),
    (ir_measures.AP(rel=2), ["AP(rel=2)"]),
    (ir_measures.RBP @ 10, ["rbp(p=0.8)@10"]),
)
def test_ways_to_write_it(text, expected):
    assert [str(spec) for spec in parse(text)] == expected


CUTS = [5, 10, 15, 20, 30, 100, 200, 500, 1000]


@each_row(
    ("map ndcg recip_rank", ["AP", "nDCG", "RR"]),
    ("map_cut", [f"AP@{k}" for k in CUTS]),
    ("ndcg_cut", [f"nDCG@{k}" for k in CUTS]),
    ("map_cut.5,10 ndcg_cut_10 ndcg_cut(gain=exp)@5", ["AP@5", "AP@10", "nDCG@10", "nDCG(gain=exp)@5"]),
    ("ndcg.1=3,2=9.5", ["nDCG(gain=1:3/2:9.5)"]),
    ("P", [f"P@{k}" for k in CUTS]),
    ("P(rel=2)", [f"P(rel=2)@{k}" for k in CUTS]),
    ("P.5 P_5 P@5", ["P@5"]),
    ("recall", ["set_recall"]),  # as in ranx
    ("recall." + ",".join(map(str, CUTS)), [f"R@{k}" for k in CUTS]),
    ("recall(k=5) recall_100", ["R@5", "R@100"]),
    ("success success.3", ["Success@1", "Success@5", "Success@10", "Success@3"]),
    ("set_F.0.5 set_F_0.5 set_F.1", ["set_F(x=0.5)", "set_F"]),
    *((name, [name]) for name in "set_P set_recall set_F num_q num_ret num_rel num_rel_ret".split()),
)
def test_trec_eval_names(text, expected):
    assert [str(spec) for spec in parse(text)] == expected


@each_row(
    ("AP AP@5 AP(rel=2) nDCG nDCG@10 nDCG(gain=1:3/2:9) nDCG(gain=exp) P@5 R@5 RR",
     "map map_cut_5 AP(rel=2) ndcg ndcg_cut_10 ndcg_1=3,2=9 nDCG(gain=exp) P_5 recall_5 recip_rank"),
    ("RR@10 Success@1 set_F(x=0.5)", "RR@10 success_1 set_F_0.5"),
    ("iprec_at_recall@0.5,0.125 utility(weights=3/-2/0/0)",
     "iprec_at_recall_0.50 iprec_at_recall_0.125 utility_3,-2,0,0"),
)  # fmt: skip
def test_what_trec_eval_prints(text, printed):
    assert [spec.trec for spec in parse(text)] == printed.split()


# typos, then other notations that get a suggestion and are not parsed; F requires a cutoff, and Accuracy is the
# hit rate of sentence-transformers
MEANT = """
    nDGC@10 > nDCG@10, nDGC(gain=exp)@10 > nDCG(gain=exp)@10, ndgc_cut.5 > ndcg_cut.5, muAPP > muAP
    num_rle > num_rel, RankDGC > rankDCG, kendal > kendall, ndcg.10 > ndcg_cut.10, AP.10 > AP@10
    alphadccg@10 > alpha_DCG@10, preccision@5 > precision@5, nDCH@10 > nDCG@10, al_trec > all_trec
    official@10 > official, recip_rank.10 > recip_rank@10, beir@5 > beir

    nDCG_exp > nDCG(gain=exp), ndcg-exp@5 > nDCG(gain=exp)@5, map-l2 > AP(rel=2), P_l2@5 > P(rel=2)@5
    recall-rel2@5 > R(rel=2)@5, AP_rel=1.5 > AP(rel=1.5), rbp-p0.8 > rbp(p=0.8), hit@10 > Success@10
    hit(rel=2)@5 > Success(rel=2)@5, top_k_accuracy@5 > Success@5, mean_average_precision > AP
    nDCG_exp(judged_only=true)@5 > nDCG(gain=exp,judged_only=true)@5, f-measure@5 > F@5, f-measure > F@10
    hit_at_10 > Success@10, fscore > F@10, r-prec > Rprec, kendall_tau > tau, recip-rank@10 > RR@10
    ndcg10 > nDCG@10
    nDCG-10 > nDCG@10, ndcg10(gain=exp) > nDCG(gain=exp)@10, ndcg_burges10 > nDCG(gain=exp)@10, p5 > P@5
    accuracy@10 > Success@10 or Accuracy@10, accuracy_at_10 > Success@10 or Accuracy@10
    ACCURACY@5 > Success@5 or Accuracy@5, accuracy > Success@10 or Accuracy
    mrr10 > RR@10, recall100 > R@100, precision.10 > P@10, rbp-95 > rbp.95
"""
SUGGESTED = [pair.split(" > ") for line in MEANT.split("\n") for pair in line.strip().split(", ") if pair]
SUGGESTED += [("ndgc_cut.5,10", "ndcg_cut.5,10"), ("HR@5,10", "Success@5,10"), ("nDCG5,10", "nDCG@5,10")]
SUGGESTED += [("accuracy(rel=2)@1,5", "Success(rel=2)@1,5 or Accuracy(rel=2)@1,5")]


@each(("text", "meant"), SUGGESTED)
def test_suggestion(text, meant):
    with pytest.raises(MetricError) as caught:
        parse(text)
    assert caught.value.hint == f"did you mean {meant}?"
    assert str(caught.value).startswith(text)
    assert " or " in meant or parse(meant)


def test_no_suggestion():
    """None is better than a wrong one."""
    for text in ("xyzzy", ".5x"):
        assert error_of(MetricError, parse, text).endswith(": 'gradeval metrics' lists the metrics")
    assert error_of(MetricError, parse, "hole@10").endswith(ABSENT["hole"])
    texts = "nDCG_foo AP-l num_q_l2 qqq-l2 --q"
    texts += " acc@1 AUX@1 RBO nap"  # another acronym, not a typo
    texts += " recip_rnkkk"  # three slips
    texts += " BMP@10 muAPP@5 R-Prec@5"  # what would be suggested does not parse
    texts += " F2 F-2@5 NERR12 num_rel10 bpref-10"  # digits that are no cutoff
    for text in texts.split():
        assert "did you mean" not in error_of(MetricError, parse, text), text


REFUSED = {  # why -> what
    "not of the form NAME(name=value,…)@k: for example nDCG(gain=exp)@10":
        "AP) AP( AP(rel=2 AP)( AP((rel=2)) AP(rel=2)x AP@5(rel=2) @10 (rel=2)",
    "cutoff must be a positive integer, not '": "nDCG@ nDCG@0 nDCG@5,,10 nDCG@10000000000000000",
    "not '6x'": "nDCG@5,6x", "not '٣'": "nDCG@٣", "cutoff must be a positive integer, not '5x'": "P.5x",
    "'exp' is not of the form name=value": "nDCG(exp)", "nDCG has no parameter 'gian'": "nDCG(gian=exp)",
    "is given more than once": "nDCG(gain=exp,gain=exp) nDCG(cutoff=5)@5 nDCG(gain=exp,gains={1:2})",
    "gain is given more than once": "nDCG(dcg='exp-log2',gain=exp)",
    "gain must be linear, exp, or grade:gain": "nDCG(gain=square)", "without repetition": "nDCG(gain=1:2/1:3)",
    "gain must be": "nDCG(gains={0:0,1}) nDCG(gains={0:0,1:5)@5 nDCG(gains={a:b})",
    "gain 0 for grades below 0": "nDCG(gain=-1:2)", "positions in increasing order": "nDCG(top=25/10)",
    "log2 or letor or zipf or none": "nDCG(discount=log3)", "ideal=max requires a cutoff": "nDCG(ideal=max)",
    "cutoff up to 1000000": "nDCG(ideal=max)@1000001 SDCG(max_rel=1)@1000001",
    "max_grade requires ideal=max": "nDCG(max_grade=4)@5",
    "max_grade and top are mutually exclusive": "nDCG(ideal=max,max_grade=4,top=5)@5",
    "at least two": "nDCGphi(points=0:0)", "never decreasing": "nDCGphi(points=0:0.5/1:0.25)",
    "between 0 and 1": "nDCGphi(points=0:0/1:2)",
    "points and variant are mutually exclusive": "nDCGphi(variant=released,points=0:0/1:1)",
    "rel must be a number >= 0, not '": "AP(rel=two) AP(rel=1_0) AP(rel=-1)@10 rbp(rel=-2) alpha_nDCG(rel=-2)",
    "a positive number": "set_F(x=0)", "a negative number": "scaled_utility(b=2)",
    "muAP takes no cutoff": "muAP@10", "rankDCG takes no value after '.'": "rankDCG.10",
    "num_q has no parameter 'rel'": "num_q(rel=1)", "R requires a cutoff": "R",
    "takes grade=gain pairs": "ndcg.x", "dcg must be log2 or exp-log2, not 'exp'": "nDCG(dcg='exp')",
    ": AP takes rel (a number >= 0), norm (relevant or min), cutoff (a positive integer), ": "AP(level=2)",
    ": muAP takes judged_only (true or false)": "muAP(rel=2)",
    "judged_only must be true or false, not '1'": "AP(judged_only=1)",
    "BPM requires max_rel": "BPM@10", "max_rel must be above 0": "BPM(max_rel=0)@10",
    "max_rel must be above min_rel": "BPM(max_rel=1,min_rel=1)@10", "base must be above 1": "JKnDCG(base=1)",
    "p must be a number strictly between 0 and 1": "iRBU(p=1)",
}  # fmt: skip


@each(("text", "what"), [(text, what) for what, texts in REFUSED.items() for text in texts.split()])
def test_refusal(text, what):
    error = error_of(MetricError, parse, text)
    assert what in error
    assert "\n" not in error
    assert "no metrics given" in error_of(MetricError, parse, "")


@examples(times=2)
@given(st.text("aAPnDCGµφ()@,.=:/_ 0159-x", max_size=14))
def test_any_text_is_a_metric_or_an_error_of_one_line(text):
    try:
        specs = parse(text)
    except MetricError as error:
        assert "\n" not in str(error)
    else:
        assert all(parse_one(str(spec)) == [spec] for spec in specs)
