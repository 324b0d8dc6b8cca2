"""The list of metrics, and the page of each."""

import functools
import math
import re

import numpy as np
import pytest
from helpers import each, each_row, error_of, raises, with_needed

import gradeval
from gradeval.errors import MetricError
from gradeval.registry import catalogue, pages
from gradeval.registry.dialects import AMBIGUOUS, GROUPS, NAMES, names_of
from gradeval.registry.metric import REGISTRY, load
from gradeval.registry.pages import WIDTH, page, table
from gradeval.registry.spec import parse

load()


@pytest.fixture(autouse=True, scope="module")
def made_once():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_parts", "_example"):
            patch.setattr(pages, name, functools.cache(getattr(pages, name)))
        yield


def test_the_list_has_a_line_for_each_by_family():
    *blocks, groups, _ = [block.splitlines() for block in table().split("\n\n")]
    assert groups[1:] == [f"  {name:<21}  {group.about}" for name, group in GROUPS.items()]
    assert [block[0] for block in blocks] == sorted({one.group for one in REGISTRY.values()}, key=str.lower)
    listed = {line.split()[0]: block[0] for block in blocks for line in block[1:]}
    assert listed == {metric.name: metric.group for metric in REGISTRY.values()}
    assert all(REGISTRY[line.split()[0]].summary in line for block in blocks for line in block[1:])


@each("name", REGISTRY)
def test_page(name):
    metric, text = REGISTRY[name], page(name)
    assert text.startswith(name)
    formula, source = metric.about.split("Source: ")
    assert formula.partition("Returns ")[0] in text
    assert source in text
    assert "float64" not in text and "(Q,)" not in text
    for param in metric.params:
        assert f"\n  {'@k' if param.after_at else param.name + '='}" in text
    for invariant in metric.invariants:
        assert str(invariant) in " ".join(text.split())
    for other in (*metric.aliases, *names_of(metric.name)):
        assert other in text
    _, _, use, *_ = text.split("\n\n")
    lines = use.splitlines()
    [second] = [n for n, line in enumerate(lines) if line.startswith("Not when ")]
    assert lines[0].startswith("Use when ") and 1 <= second <= 2 and len(lines) - second <= 2
    assert all(line.startswith(" " * 9) for n, line in enumerate(lines) if n not in (0, second))
    assert re.search(rf"Example: gradeval (-q )?-m '{re.escape(metric.usage)}' qrels.txt my.run\n  ", text)
    assert all(len(line) <= WIDTH + 1 for line in text.splitlines())


@each("name", [*REGISTRY, *GROUPS])
def test_a_narrow_page(name):
    """It has the same words, in lines that fit, but for commands and words that are longer."""
    text = page(name, 60)
    assert text.split() == page(name).split()
    for line in text.splitlines():
        assert len(line) <= 60 or line.startswith("Example: ") or len(line.split()[-1]) > 40
    assert page(name, 200) == page(name)


QRELS = {"q": {"a": 1, "c": 3, "d": 0, "e": 2, "f": 2}}
RUN = {"q": {"a": 9, "b": 8, "c": 7, "d": 6, "e": 5}}
NUMBERS = [name for name, metric in REGISTRY.items() if not metric.text]


def shown(name: str) -> tuple[list[list[str]], str]:
    """The lines of the example, in words, and its value."""
    lines = [line.split() for line in page(name).partition("Example: ")[2].splitlines()[1:]]
    if lines[0][0] == "rank":
        return lines, next(line[1] for line in lines if line[0] == "value")
    assert " ".join(lines[0][1:]).startswith("for the example ranking: grades 1, unjudged, 3, 0, 2 by rank;")
    return [], lines[0][0]


def test_the_value_of_the_example_is_what_the_command_would_print():
    assert {"nDCG", "AP", "rankDCG", "rbp", "ERR", "P", "RR", "Compat", "gR", "tau"} <= set(SUMS)
    assert all("nan" not in pages.value_of(parse(metric.usage)[0]) for metric in REGISTRY.values())
    assert "\n  ideal: 7/1 + 3/1.5850 + 3/2 + 1/2.3219 = 10.8235" in page("nDCG")
    results = gradeval.evaluate(QRELS, RUN, [REGISTRY[name].usage for name in NUMBERS])
    examples = [float(shown(name)[1]) for name in NUMBERS]
    np.testing.assert_allclose(examples, [results.values(0, m)[0] for m in range(len(NUMBERS))], atol=5.1e-5)


SUMS = [name for name in NUMBERS if shown(name)[0]]


@each("name", SUMS)
def test_the_example_can_be_redone_by_hand(name):
    lines, value = shown(name)
    head = lines[0]
    documents = [line for line in lines if line[0].isdigit() or line[0] == "not"]
    assert [line[1] for line in documents if line[0].isdigit()] == ["1", "unjudged", "3", "0", "2"]
    total = 0.0
    for line in documents:
        cells = line[2 + (line[0] == "not") :]
        total += float(cells[-1]) if cells else 0.0
        if cells and "gain" in head:
            gain, discount, term = map(float, cells[-3:])
            assert gain / discount == pytest.approx(term, rel=2e-4, abs=1e-4)
    below = {line[0]: float(line[-1]) for line in lines if line[0] in ("sum", "minus", "times", "divided")}
    assert below["sum"] == pytest.approx(total, abs=5e-4)
    by_hand = (total - below.get("minus", 0)) * below.get("times", 1)
    divisor = below.get("divided", 1)
    assert float(value) == pytest.approx(by_hand / divisor if divisor else 0, abs=1e-3)
    for line in lines:
        if line[0] == "ideal:":
            terms, _, ideal = " ".join(line[1:]).partition(" = ")
            assert eval(terms.replace(" - ", " - 1 * ")) == pytest.approx(float(ideal), abs=1e-3)
            assert float(ideal) == pytest.approx(divisor, abs=1e-4)


@functools.cache
def without_relevant(grade: int, rule: str) -> gradeval.Results:
    """All metrics on a table without a relevant document, with this grade beside 0."""
    qrels, run = {"q": {"a": 0, "b": grade}}, {"q": {"a": 2, "x": 1}}
    return gradeval.evaluate(qrels, run, [with_needed(name) for name in NUMBERS], no_relevant=rule)


@each("name", NUMBERS)
def test_the_page_says_what_a_query_without_a_relevant_document_counts(name):
    [line] = re.findall(r"^A query without a relevant document: (.*?)\.$", page(name), re.M | re.S)
    for grade in (0, -1):
        found = {}
        for rule in ("0", "1", "skip"):
            value = without_relevant(grade, rule).values(0, NUMBERS.index(name))[0]
            found[rule] = None if math.isnan(value) else value
        if line.startswith("counts as 0; --no-relevant 1 or skip changes that"):
            assert found == {"0": 0, "1": 1, "skip": None}
        elif line.startswith("undefined if all its judged grades are equal"):
            assert found["0"] is None or grade == -1
        elif line.startswith("undefined"):
            assert set(found.values()) == {None}
        elif line.startswith("0;"):
            assert set(found.values()) == {0}
        else:
            assert line.startswith("evaluated as any other") and len(set(found.values())) == 1


GRADED = set("muAP DCG nDCG NDCNG nDCGphi rankDCG ERR Q rbp tau gP relstring".split())
BINARY = set("AP P R RR Rprec bpref num_q num_rel F".split())


def listed(**which) -> set[str]:
    return {line.split()[0] for line in table(**which).splitlines() if line.startswith("  ")}


def test_the_list_of_a_family_and_of_a_search():
    assert GRADED <= listed(graded=True) <= set(REGISTRY) - BINARY
    assert listed(family="ndcg") == {name for name, one in REGISTRY.items() if one.group == "nDCG"}
    assert listed(family="ndcg") > {"nDCG", "DCG", "NDCNG", "nDCGphi"}
    assert listed(family="incomplete") == {"bpref", "infAP", "unj", "Judged"}
    assert {"muAP", "gP", "gR"} <= listed(family="precision", graded=True) <= set(REGISTRY) - BINARY
    what = r"unknown family 'zz': the families are average precision, .*, nDCG, .*"
    raises(gradeval.MetricError, what, table, family="zz")
    raises(gradeval.MetricError, "no metric fits all of these: 'gradeval metrics' lists", table, word="zzz")
    raises(gradeval.MetricError, "jaccard: it compares two rankings, .* gradeval diff", table, word="jaccard")
    assert table(word="overlap").splitlines()[-1].startswith("overlap: it compares two rankings")
    assert listed(word="msndcg@k") == {"nDCG"}
    assert listed(word="KENDALL") == {"tau"}
    assert listed(word="xgboost") == {"nDCG"} and listed(word="LightGBM") == {"AP", "nDCG"}
    assert listed(word="logb") == {"JKnDCG"}  # a parameter of another tool
    assert listed(word="condensed") == set(REGISTRY)  # in the parameter judged_only, which all have
    assert "num_ret" not in listed(word="higher is better") >= {"AP", "nDCG"}
    assert "ERR" in listed(word="stops", graded=True) <= set(REGISTRY) - BINARY


@each(
    "case",
    """recall: R set_recall F, ndcg_at_10: nDCG, hit@10: Success, hit rate: Success, α-nDCG: alpha_nDCG,
    nDCG_alpha: alpha_nDCG, coverage@20: StRecall, hole@10: unj, accuracy@10: Accuracy Success,
    I-rec@10: StRecall, reciprocal rank: RR, expected: ERR, precision: P set_P""".split(","),
)
def test_the_best_matches_come_first(case):
    """Names, then summaries, then the rest of the pages; whole words before parts."""
    word, _, first = case.strip().partition(": ")
    names = [line.split()[0] for line in table(word=word).splitlines() if line.startswith("  ")]
    assert names[: len(first.split())] == first.split()


def test_names_elsewhere():
    text = page("nDCG")
    assert "\nEquivalents:\n  trec_eval     ndcg.1=3,2=9, ndcg_cut.k\n  ir_measures   nDCG@k, NDCG@k\n" in text
    assert "ndcg_burges@k (gain=exp)" in text
    assert "  LightGBM      ndcg@k (gain=exp, with --ties input --no-relevant 1)\n" in text
    assert "  ir_measures  SetP, SetP(relative=False)\n" in page("set_P")
    assert "\nAliases: kendall\n" in page("tau")


@each(("tool", "name", "target"), [(tool, *line) for tool, names in NAMES.items() for line in names.items()])
def test_an_alias_is_what_it_stands_for(tool, name, target):
    """In every spelling: with a cutoff and without, as far as the metric can do without."""
    name = name.replace("(rel)", "(rel=2)").replace("(p)", "(p=0.5)").replace("(k)", "(k=10)")
    for given in re.findall(r"\((?:rel|p|k)=.*?\)", name):
        target = re.sub(r"^(\w+)", rf"\1{given}", target)
    if name[:3] in ("BPM", "INS", "NER", "SDC"):
        name, target = (re.sub(r"^(\w+)", r"\1(max_rel=3)", one) for one in (name, target))
    at = "@0.5" if "iprec" in target else "@10"
    assert parse(name.replace("@k", at)) == parse(target.replace("@k", at))
    if name.partition("@")[0].lower() not in AMBIGUOUS:  # these are not taken in another spelling
        assert parse(name.swapcase().replace("@K", at)) == parse(target.replace("@k", at))


@each_row(
    ("nDCG(dcg='exp-log2')@10", "nDCG(gain=exp)@10"),
    ('nDCG(dcg="log2")@10', "nDCG@10"),
    ("nDCG(dcg=exp-log2)@5,10", "nDCG(gain=exp)@5 nDCG(gain=exp)@10"),
    ("nDCG(gains={0:0,1:5})@10", "nDCG(gain=0:0/1:5)@10"),
    ("nDCG(gains={ 3: 7.5, 0 : 0, 1: 1 }, judged_only=True)", "nDCG(gain=0:0/1:1/3:7.5,judged_only=true)"),
    ("nDCG(dcg='log2',gains={1:2})", "nDCG(gain=1:2)"),
    ("AP(judged_only=True) AP(judged_only=TRUE) AP(JUDGED_ONLY=true)", "AP(judged_only=true)"),
    ("BPM(T=2.0,min_rel=1,max_rel=4)@10", "BPM(T=2,min_rel=1,max_rel=4)@10"),
    ("bpm(t=2, MAX_REL=4)@10", "BPM(T=2,max_rel=4)@10"),
    ("ndcg_burges(judged_only=true)@5", "nDCG(gain=exp,judged_only=true)@5"),
    ("precision precision@5 f1 f1@10", "set_P P@5 set_F F@10"),
    ("ndcg_score ndcg_score(k=10)", "nDCG nDCG@10"),
    ("JKnDCG(logb=4)@5 JKnDCG(beta=4)@5", "JKnDCG(base=4)@5"),
    ("IPrec@0.1,0.5", "iprec_at_recall(rounding=up)@0.1 iprec_at_recall(rounding=up)@0.5"),
    ("SetP(relative=True) SetRelP SetP(rel=2,relative=True)", "set_relative_P set_relative_P(rel=2)"),
    ("SetP(relative=False) SetP(relative=False,rel=2)", "set_P set_P(rel=2)"),
    ("NumRet NumRet(rel=2) NumRelRet", "num_ret num_rel_ret(rel=2) num_rel_ret"),
)
def test_spellings_of_other_tools(text, expected):
    assert " ".join(map(str, parse(text))) == expected
    assert parse(expected) == parse(text)


def test_the_list_of_the_text_of_modules():
    """It is that of the registry. test_import tries it without numpy."""
    for family in ("", "nDCG", "counts", "n"):
        assert catalogue.table(family) == pages.table(family)
    assert error_of(MetricError, catalogue.table, "?") == error_of(MetricError, pages.table, "?")
