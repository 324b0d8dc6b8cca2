"""The list of metrics, and the page of each."""

from __future__ import annotations

import re

import pytest

import gradeval
from gradeval.registry import example
from gradeval.registry.dialects.other import NAMES
from gradeval.registry.dialects.trec_eval import names_of
from gradeval.registry.families import load
from gradeval.registry.groups import GROUPS
from gradeval.registry.metric import REGISTRY
from gradeval.registry.spec import parse
from gradeval.render.metrics import WIDTH, page, table

load()


def test_the_list_has_a_line_for_each_by_family():
    *blocks, groups, _ = [block.splitlines() for block in table().split("\n\n")]
    assert groups[1:] == [f"  {name:<21}  {group.about}" for name, group in GROUPS.items()]
    assert [block[0] for block in blocks] == sorted({metric.group for metric in REGISTRY.values()})
    listed = {line.split()[0]: block[0] for block in blocks for line in block[1:]}
    assert listed == {metric.name: metric.group for metric in REGISTRY.values()}
    assert all(REGISTRY[line.split()[0]].summary in line for block in blocks for line in block[1:])


@pytest.mark.parametrize("name", REGISTRY)
def test_page(name):
    metric, text = REGISTRY[name], page(name)
    assert text.startswith(name)
    assert metric.about in text
    for param in metric.params:
        assert f"\n  {'@k' if param.after_at else param.name + '='}" in text
    for invariant in metric.invariants:
        assert f"  {invariant}" in text
    for other in (*metric.aliases, *names_of(metric.name)):
        assert other in text
    assert re.search(rf"Example: gradeval (-q )?-m '{re.escape(metric.usage)}' qrels.txt my.run\n  ", text)
    assert all(len(line) <= WIDTH + 1 for line in text.splitlines())


@pytest.mark.parametrize("name", [name for name, metric in REGISTRY.items() if not metric.text])
def test_the_value_of_the_example_is_what_the_command_would_print(name):
    [shown] = re.findall(r"^  (\S+) for the example ranking: (.*)$", page(name), re.MULTILINE)
    assert shown[1] == "grades 1, unjudged, 3, 0, 2 by rank; not retrieved: 2"
    qrels = {"q": {"a": 1, "c": 3, "d": 0, "e": 2, "f": 2}}
    run = {"q": {"a": 9, "b": 8, "c": 7, "d": 6, "e": 5}}
    results = gradeval.evaluate(qrels, run, REGISTRY[name].usage)
    assert float(shown[0]) == pytest.approx(results.values(0, 0)[0], abs=5.1e-5)


def test_examples_say_something():
    """A value that is undefined would explain nothing."""
    assert all("nan" not in example.value_of(parse(metric.usage)[0]) for metric in REGISTRY.values())


def test_names_elsewhere():
    text = page("nDCG")
    assert "\nEquivalents:\n  trec_eval     ndcg.1=3,2=9, ndcg_cut.k\n  ir_measures   nDCG@k, NDCG@k\n" in text
    assert "  scikit-learn  ndcg_score, ndcg_score(k=…)\n" in text
    assert "ndcg_burges@k (gain=exp)" in text
    assert "set_F.x" in page("set_F")
    assert "  ir_measures  RBP(p=…)@k\n" in page("rbp")
    assert "  ir_measures  SetP, SetP(relative=False)\n" in page("set_P")
    assert "\nAliases: kendall\n" in page("tau")


@pytest.mark.parametrize(
    ("name", "takes"),
    [("rbp", "rbp.p=0.9,1=3,2=9"), ("rbp_resid", "rbp_resid.p=0.9"), ("utility", "utility.1,-1,0,0")],
)
def test_what_trec_eval_takes(name, takes):
    """Where it is more than a value, as it takes it."""
    assert f"\n  trec_eval    {takes}\n".replace(" " * 4, "  ") in page(name).replace(" " * 4, "  ")
    assert parse(takes)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        (
            "nDCG",
            "default linear; also gains={0:0,1:5}, dcg=log2 (linear), dcg=exp-log2 (exp) as in ir_measures",
        ),
        ("P", "required; also k="),
        ("set_F", "default 1; also beta= as in ir_measures"),
        ("JKnDCG", "default 2; also b=, beta=; also logb= as in NTCIREVAL"),
    ],
)
def test_parameters_elsewhere(name, other):
    assert other in " ".join(page(name).split())


def test_ties_elsewhere():
    assert page("RR").count("in the order of the run file") == 2
    assert "\nOrder of ties in ir_measures, by provider:\n  cwl_eval  in the order of the run file\n" in page(
        "INST"
    )
    assert "Equal scores" not in page("muAP") + page("set_P")


@pytest.mark.parametrize(
    ("tool", "name", "target"), [(tool, *line) for tool, names in NAMES.items() for line in names.items()]
)
def test_an_alias_is_what_it_stands_for(tool, name, target):
    """In every spelling: with a cutoff and without, as far as the metric can do without."""
    name = name.replace("(rel)", "(rel=2)").replace("(p)", "(p=0.5)").replace("(k)", "(k=10)")
    more = "max_rel=3" if name[:3] in ("BPM", "INS", "NER", "SDC") else ""
    for given in re.findall(r"\((?:rel|p|k)=.*?\)", name):
        target = re.sub(r"^(\w+)", rf"\1{given}", target)
    if more:
        name, target = (re.sub(r"^(\w+)", rf"\1({more})", one) for one in (name, target))
    at = "@0.5" if "iprec" in target else "@10"
    assert parse(name.replace("@k", at)) == parse(target.replace("@k", at))
    assert parse(name.swapcase().replace("@K", at)) == parse(target.replace("@k", at))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nDCG(dcg='exp-log2')@10", "nDCG(gain=exp)@10"),
        ('nDCG(dcg="log2")@10', "nDCG@10"),
        ("nDCG(dcg=exp-log2)@5,10", "nDCG(gain=exp)@5 nDCG(gain=exp)@10"),
        ("nDCG(gains={0:0,1:5})@10", "nDCG(gain=0:0/1:5)@10"),
        ("nDCG(gains={ 3: 7.5, 0 : 0, 1: 1 }, judged_only=True)", "nDCG(gain=0:0/1:1/3:7.5,judged_only=true)"),
        ("nDCG(dcg='log2',gains={1:2})", "nDCG(gain=1:2)"),
        ("AP(judged_only=True) AP(judged_only=TRUE) AP(JUDGED_ONLY=true)", "AP(judged_only=true)"),
        ("AP(judged_only=False)", "AP"),
        ("P(rel=2)@5", "P(rel=2)@5"),
        ("BPM(T=2.0,min_rel=1,max_rel=4)@10", "BPM(T=2,min_rel=1,max_rel=4)@10"),
        ("bpm(t=2, MAX_REL=4)@10", "BPM(T=2,max_rel=4)@10"),
        ("SetF(beta=0.5)", "set_F(x=0.5)"),
        ("Compat(p=0.8,normalize=False)", "Compat(p=0.8,normalize=false)"),
        ("ndcg_burges(judged_only=true)@5", "nDCG(gain=exp,judged_only=true)@5"),
        ("precision precision@5 f1 f1@10", "set_P P@5 set_F F@10"),
        ("ndcg_score ndcg_score(k=10)", "nDCG nDCG@10"),
        ("JKnDCG(logb=4)@5 JKnDCG(beta=4)@5", "JKnDCG(base=4)@5"),
        ("IPrec@0.1,0.5", "iprec_at_recall(rounding=up)@0.1 iprec_at_recall(rounding=up)@0.5"),
        ("RBP(p=0.8,rel=1)@10", "rbp(p=0.8,rel=1)@10"),
        ("SetP(relative=True) SetRelP SetP(rel=2,relative=True)", "set_relative_P set_relative_P(rel=2)"),
        ("SetP(relative=False) SetP(relative=False,rel=2)", "set_P set_P(rel=2)"),
        ("NumRet NumRet(rel=2) NumRelRet", "num_ret num_rel_ret(rel=2) num_rel_ret"),
    ],
)
def test_spellings_of_other_tools(text, expected):
    assert " ".join(map(str, parse(text))) == expected
    assert parse(expected) == parse(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("nDCG(dcg='exp')", "dcg must be log2 or exp-log2, not 'exp'"),
        ("nDCG(gains={0:0,1})", "gain must be"),
        ("nDCG(gains={0:0,0:1})", "increasing order"),
        ("nDCG(gains={a:b})", "gain must be"),
        ("nDCG(gains={0:0,1:5)@5", "gain must be"),
        ("nDCG(gain=exp,gains={1:2})", "gain is given more than once"),
        ("nDCG(dcg='exp-log2',gain=exp)", "gain is given more than once"),
        ("ndcg_burges(gain=linear)@5", "gain"),
        ("rbp(rel=1,gain=exp)", "rel and gain are mutually exclusive"),
        ("AP(judged_only=1)", "judged_only must be true or false, not '1'"),
        ("BPM@10", "BPM requires max_rel"),
        ("BPM(max_rel=0)@10", "max_rel must be above 0"),
        ("BPM(max_rel=1,min_rel=1)@10", "max_rel must be above min_rel"),
        ("SDCG(max_rel=1)@1000001", "cutoff up to 1000000"),
        ("JKnDCG(base=1)", "base must be above 1"),
        ("iRBU(p=1)", "p must be a number strictly between 0 and 1"),
    ],
)
def test_spellings_that_are_refused(text, what):
    with pytest.raises(gradeval.MetricError) as caught:
        parse(text)
    assert what in str(caught.value)
