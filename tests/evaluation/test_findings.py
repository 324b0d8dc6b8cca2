"""Notices where a number could mislead: each where it is true, and nowhere else."""

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.command import gradeval
from helpers import each, each_row, raises

from gradeval import OptionError, compare, evaluate, explain
from gradeval.evaluation.depths import with_depths
from gradeval.notices import Notice, NoticeKind, lines
from gradeval.registry.metric import REGISTRY, load
from gradeval.registry.spec import parse

Data = dict[str, dict[str, Any]]


def found(qrels: Data, run: Any, metrics: str = "AP", **options: Any) -> defaultdict[NoticeKind, list[Notice]]:
    kinds = defaultdict(list)
    for notice in evaluate(qrels, run, metrics, **options).notices:
        kinds[notice.kind].append(notice)
    return kinds


def ranking(*documents: str) -> dict[str, float]:
    return {document: -float(place) for place, document in enumerate(documents)}


def written(folder: Path, **texts: str) -> list[str]:
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [str(folder / name) for name in texts]


def qrels_text(qrels: Data) -> str:
    return "".join(f"{q} 0 {d} {g}\n" for q, of in qrels.items() for d, g in of.items())


def run_lines(run: Data) -> list[str]:
    return [f"{q} Q0 {d} 1 {s} t\n" for q, of in run.items() for d, s in of.items()]


JUDGED: Data = {"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 0}}
HALF_JUDGED: Data = {"1": ranking("a", "x", "y", "z"), "2": ranking("a", "b", "x", "y")}


@each_row(
    ("AP", {}, 10, 0.375),
    ("nDCG@1 AP", {}, 1, None),
    ("nDCG@1 P@2", {}, 2, 0.75),
    ("nDCG@20,100", {}, 20, 0.375),
    # where it does not matter
    ("AP", {"judged_only": True}, 10, None),
    ("AP", {"depth": 1}, 10, None),
    ("bpref tau rankDCG num_ret unj@5", {}, 10, None),
    ("AP Judged@10", {}, 10, None),
)
def test_judged_share(metrics: str, options: dict[str, Any], cutoff: int, share: float | None) -> None:
    """The mean over the queries of the run, at the largest small cutoff."""
    for qrels in (JUDGED, JUDGED | {"3": {"a": 1}}):
        notices = found(qrels, HALF_JUDGED, metrics, **options)[NoticeKind.JUDGED_SHARE]
        assert [(one.metric, one.value) for one in notices] == ([(f"Judged@{cutoff}", share)] if share else [])
    if share == 0.375 and cutoff == 10:
        assert not notices[0].informational and str(notices[0]) == (
            "run1: 38 % of the first 10 documents are judged; the others count as not relevant (see Judged@10, "
            "bounds=True, judged_only=True, bpref, gradeval.pool)"
        )


@each_row((4, True), (3, False), (2, False))
def test_a_small_judged_share_is_a_warning(count: int, is_note: bool) -> None:
    """Below 40 %; not where relevant documents alone are judged, whatever the threshold is."""
    others = [f"x{n}" for n in range(10 - count)]
    run = {"1": ranking(*(f"d{n}" for n in range(count)), *others)}
    for lowest in (0, 1):
        qrels = {"1": {f"d{n}": 2 for n in range(count)} | {"z": lowest}}
        [notice] = found(qrels, run, rel=2)[NoticeKind.JUDGED_SHARE]
        assert (notice.value, notice.informational) == (count / 10, is_note or lowest > 0)
    [notice] = found(qrels, run, rel=2, zero_grade=1)[NoticeKind.JUDGED_SHARE]
    assert notice.informational == is_note


GRADED: Data = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1, "d": 0}}
ONES: Data = {"1": {"a": 1}, "2": {"b": 1}}
SHIFTED: Data = {"1": {"a": 1.3, "b": 0.1}}


@each_row(
    (GRADED, GRADED, {}, True),
    (ONES, ONES, {}, True),
    (SHIFTED, SHIFTED, {"zero_grade": 0.1}, True),  # grades are those of the file
    (SHIFTED, {"1": {"a": 1.2, "b": 0.0}}, {"zero_grade": 0.1}, False),
    (GRADED, {"1": {"a": 3, "b": 0, "c": 1}}, {}, False),
    (GRADED, {"1": {"a": 2, "b": 0, "c": 1, "x": -1}}, {}, False),
    (GRADED, {"1": {"c": 1, "a": 2, "b": 0.5}}, {}, False),
    (GRADED, {"2": {"a": 1}}, {}, False),  # one document
    (GRADED, {"1": {"c": 1}, "2": {"a": 1}}, {}, False),  # a set
)
def test_qrels_as_run(qrels: Data, run: Data, options: dict[str, Any], expected: bool) -> None:
    notices = found(qrels, run, **options)[NoticeKind.QRELS_AS_RUN]
    assert bool(notices) == expected
    if run is GRADED:
        assert (notices[0].informational, notices[0].count) == (False, 5)
        said = "run1: every document is judged and its score is its grade; is this the qrels file?"
        assert str(notices[0]) == said
    assert [*lines([Notice(NoticeKind.QRELS_AS_RUN, name, 5) for name in "ab"], 3)] == [
        "2 of 3 runs hold judged documents only, whose scores are their grades (a, b); are these qrels files?"
    ]


def test_gains_that_another_tool_does_not_scale() -> None:
    """rbp.95 in the spelling of ranx, whose value here is 0.26682563 (0.3.21)."""
    qrels, run = {"1": {"a": 1, "b": 3, "c": 2, "e": 0}}, {"1": ranking("a", "x", "b", "e", "c")}
    results = evaluate(qrels, run, "rbp.95 rbp.8 rbp(p=0.9)")
    assert results.mean(0, "rbp.95") == pytest.approx(0.26682563 / 3, rel=1e-7)
    said = (
        "qrels: gains of rbp(p=0.95){} are divided by the largest grade of each query (up to 3); ranx does not "
        "divide them"
    )
    assert [str(one) for one in results.notices if one.metric == "rbp(p=0.95)"] == [said.format("")]
    assert said.format(" and 1 other metric") in results.sentences(True)
    assert compare(qrels, [run, {"1": ranking("x", "a")}], "rbp.95").sentences(True)[0] == said.format("")
    assert explain(qrels, run, "rbp.95", "1")[0].notices == results.notices[:1]
    for metrics in ("rbp(p=0.95)", "rbp.p=0.95", "rbp.1=3,2=9"):
        assert NoticeKind.UNSCALED_ELSEWHERE not in found(qrels, run, metrics)
    assert NoticeKind.UNSCALED_ELSEWHERE not in found({"1": {"a": 1, "b": 0.5}}, run, "rbp.95")


STARS: Data = {"u": {"a": 5, "b": 1, "c": 3}}


@each_row(
    (STARS, "nDCG AP P@2 rankDCG num_ret", {}, "nDCG AP P@2"),
    *((STARS, "AP", {"rel": level}, "AP") for level in (0, 1)),
    (STARS, "AP(rel=1)", {}, "AP(rel=1)"),
    (STARS, "rankDCG tau", {}, ""),
    (STARS, "AP", {"rel": 4}, ""),
    (STARS, "AP(rel=4)", {}, ""),
    # where only what is relevant is listed, as in MS MARCO, and with two grades as in NFCorpus
    ({"u": {"a": 1, "b": 1}}, "AP", {}, ""),
    ({"u": {"a": 1, "b": 2}}, "AP", {}, ""),
)
def test_all_relevant(qrels: Data, metrics: str, options: dict[str, Any], named: str) -> None:
    run = {"u": ranking("b", "c", "a") if qrels is STARS else ranking("a", "x", "y")}
    notices = found(qrels, run, metrics, **options)[NoticeKind.ALL_RELEVANT]
    assert [one.metric for one in notices] == named.split()
    if len(notices) == 3:
        assert next(lines(notices)) == (
            "qrels: all 3 judged documents are relevant to nDCG and 2 other metrics: the lowest grade is 1; "
            "set the grade of a non-relevant document with --zero-grade, or the relevance threshold with -l"
        )


def test_none_relevant() -> None:
    qrels = {"1": {"a": 3, "b": 0}}
    [notice] = found(qrels, {"1": ranking("a")}, "AP", rel=5)[NoticeKind.NONE_RELEVANT]
    assert str(notice) == (
        "qrels: no judged document has grade 5, the threshold of AP, or a higher one (the highest grade is 3)"
    )
    kinds = found(qrels, {"1": ranking("a")}, "nDCG AP(rel=3) AP(rel=4) P(rel=4)@1")
    assert [one.metric for one in kinds[NoticeKind.NONE_RELEVANT]] == ["AP(rel=4)", "P(rel=4)@1"]
    assert NoticeKind.NO_RELEVANT not in kinds
    notices = found({"1": {"a": 0}, "2": {"a": -1}}, {"1": ranking("a")}, "nDCG AP")[NoticeKind.NONE_RELEVANT]
    assert [one.metric for one in notices] == ["nDCG", "AP"]
    assert next(lines(notices)) == (
        "qrels: no judged document is relevant (the highest grade is 0); nor is one for 1 other metric"
    )


# a query without a relevant document, beside one with
SOME_QRELS: Data = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 0, "b": 0}}
SOME_RUN: Data = {"1": ranking("b", "a", "c"), "2": ranking("a", "b")}
KEEP_ZERO = (
    "P@2 RR RR@5 ERR@5 set_P DCG CG gP Success@2 rbp iRBU INST(max_rel=2) num_rel utility rankDCG tau AUC"
)
load()
DIVIDE = "AP@2 nDCG(gain=exp)@2 nDCG(ideal=local) " + " ".join(
    metric.usage for metric in REGISTRY.values() if metric.is_ours and metric.needs_relevant
)


@each(("rule", "value"), [("0", 0.0), ("1", 1.0), ("skip", math.nan)])
def test_values_without_a_relevant_document(rule: str, value: float) -> None:
    named = {spec.partition("@")[0].partition("(")[0] for spec in DIVIDE.split()}
    assert named > set("AP muAP nDCG NDCNG nDCGphi R F Rprec bpref infAP Q ERR_IA alpha_nDCG".split())
    plain = evaluate(SOME_QRELS, SOME_RUN, f"{DIVIDE} {KEEP_ZERO}")
    results = evaluate(SOME_QRELS, SOME_RUN, DIVIDE, no_relevant=rule)
    for spec in results.specs:
        of_rule, of_plain = results.values(0, spec), plain.values(0, spec)
        np.testing.assert_equal(of_rule, [of_plain[0], value])
        assert of_plain[1] == 0
        if rule == "skip" and spec.metric.per_query:
            assert results.mean(0, spec) == of_plain[0]
    others = evaluate(SOME_QRELS, SOME_RUN, KEEP_ZERO, no_relevant=rule)
    for spec in others.specs:
        np.testing.assert_equal(others.values(0, spec), plain.values(0, spec))
    # a query that the run lacks or misses is no such query
    qrels: Data = {"1": {"a": 2}, "2": {"a": 2, "b": 0}, "3": {"a": 2}}
    results = evaluate(qrels, {"1": ranking("a"), "2": ranking("b", "x")}, DIVIDE, no_relevant=rule)
    assert all(list(results.values(0, spec)[1:]) == [0, 0] for spec in results.specs)
    assert not [notice for notice in results.notices if notice.kind is NoticeKind.NO_RELEVANT]


def test_no_relevant() -> None:
    notices = found(SOME_QRELS, SOME_RUN, "AP nDCG P@2")[NoticeKind.NO_RELEVANT]
    assert [(one.metric, one.count, one.total) for one in notices] == [("AP", 1, 2), ("nDCG", 1, 2)]
    assert next(lines(notices)) == (
        "qrels: 1 query has no relevant document, counted as 0 in the mean of AP and of 1 other metric "
        "(see --no-relevant)"
    )
    kinds = found(SOME_QRELS, SOME_RUN, "AP(rel=2)", no_relevant="skip")
    [notice] = kinds[NoticeKind.NO_RELEVANT]
    assert notice.informational and notice.queries == ("2",)
    assert str(notice) == "qrels: 1 query has no relevant document, excluded from the mean of AP(rel=2)"
    assert NoticeKind.UNDEFINED not in kinds
    assert NoticeKind.NO_RELEVANT not in found(SOME_QRELS, SOME_RUN, "AP", query_ids="1")
    what = "no_relevant must be 0 or 1 or skip, not '2'"
    raises(OptionError, what, evaluate, SOME_QRELS, SOME_RUN, "AP", no_relevant=2)
    # queries that the run lacks: each notice says what is counted, in any of the runs
    run: Data = {"1": ranking("b", "a", "c")}
    for rule, fate in ((None, "counted as 0"), ("1", "evaluated with an empty ranking")):
        kinds = found(SOME_QRELS, run, "AP", no_relevant=rule)
        assert str(kinds[NoticeKind.MISSING][0]) == f"run1: 1 judged query is not in the run ('2'), {fate}"
    assert NoticeKind.NO_RELEVANT in kinds
    for runs, expected in ((run, False), ([run, SOME_RUN], True), ([SOME_RUN, run], True)):
        kinds = found(SOME_QRELS, runs, "AP", no_relevant="1", queries="both")
        assert (NoticeKind.NO_RELEVANT in kinds) == expected


def test_many_runs() -> None:
    qrels: Data = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1, "b": 1}, "3": {"a": 1}}
    tied = {"1": {"a": 1.0, "b": 1.0, "x": 0.5}, "2": ranking("a", "b"), "9": {"a": 1.0}, "8": {"a": 1.0}}
    runs: dict[str, Data] = {
        "none": {"1": {"x": 1.0}, "7": {"a": 1.0}},
        "tied": tied,
        "less": {"1": {"a": 2.0, "b": 1.0, "c": 1.0}, "2": ranking("b"), "3": ranking("a")},
    }
    results = evaluate(qrels, runs, "nDCG AP rankDCG")
    assert results.warnings == (
        "2 of 3 runs lack judged queries, up to 2 (none: '2', '3'), counted as 0",
        "2 of 3 runs have unjudged queries, up to 2 (tied), ignored",
        "none: no document of the run is judged; check the document ids",
        "3 of 3 runs: rankDCG is undefined for up to 2 queries (none), excluded from its mean",
        "2 of 3 runs have tied scores whose order could change values, by up to 0.0935 in nDCG of tied; "
        "evaluate(..., tie_range=True) shows all",
        "runs differ in depth: tied 2 documents per query, none 1 (first deciles); nDCG, AP, rankDCG "
        "depend on it (depth=1)",
    )


@each_row(
    ("1 1 1, 1 2 2, 2 1 1, 2 2 2, 3 1 9, 3 2 8", (2, 3)),
    ("1 15.5 1, 1 15.2 2, 2 9.5 1, 2 9.25 2, 3 1 7", (2, 2)),  # exchanged columns
    ("1 1 1, 1 2 2, 2 1 1, 2 2 2, 1 3 3", (2, 2)),
    ("1 1 1, 1 x 2, 1 2 3, 2 1 1, 2 x 2, 3 x 4", (1, 1)),  # the rows with ranks
    ("1 1 1, 2 1 1, 1 2 2, 2 2 2, 1 3 3, 2 3 3", (2, 2)),  # scattered queries
    # that agree, that are all equal, no numbers, of one document each, or that half contradict
    ("1 1 9, 1 2 8, 2 1 9, 2 2 9", None),
    ("1 0 1, 1 0 2, 2 0 1, 2 0 2", None),
    ("1 x 1, 1 y 2, 2 1 1", None),
    ("1 5 1, 2 6 2, 3 7 3", None),
    ("1 0.5 1, 2 7.5 1, 3 2.5 1", None),  # nor is a score of 1 a rank where it is the only one
    ("1 2 8, 1 1 9, 2 3 1, 2 4 2", None),
    ("1 1 1, 1 2 1", None),
)
def test_ranks(rows: str, counts: tuple[int, int] | None, tmp_path: Path) -> None:
    """A rank column that rises with the scores: a rank or a distance stands in the score column."""
    fields = [row.split() for row in rows.split(", ")]
    text = "".join(f"{query} Q0 d{n} {rank} {score} t\n" for n, (query, rank, score) in enumerate(fields))
    [path] = written(tmp_path, run=text)
    results = evaluate({"1": {"d0": 1}, "2": {"d3": 1}, "3": {"d5": 1}}, path, "AP", ties="trec")
    notices = [notice for notice in results.notices if notice.kind is NoticeKind.RANKS]
    assert [(one.count, one.total) for one in notices] == ([counts] if counts else [])
    if counts == (2, 3):
        assert str(notices[0]) == (
            "run: the rank column contradicts the scores in 2 of the first 3 queries; documents are ranked by "
            "score, highest first; if the score column is a rank or a distance, columns='rank=NAME' or "
            "distance=NAME reads it in a table; negate it in a TREC run"
        )


USUAL, LONGER = "1 Q0 a 1 2 tag", "1 Q0 b 2 1 a tag"


@each(
    ("rows", "count", "first"),
    [
        ([USUAL, "2 Q0 a 1 2"], 0, 0),
        ([USUAL, LONGER, "2 Q0 a 1 2 tag"], 1, 2),
        ([USUAL, "1 Q0 b 2 1 tag", "2 Q0 a 1 2 a tag", "1 Q0 c 3 0.5 a tag"], 2, 3),  # scattered
        ([USUAL, "1 Q0 b 2 1 tag", "2 Q0 a 1 2 a tag", "2 Q0 b 2 1 a tag"], 2, 3),
    ],
)
@each("size", [40, 1 << 20])
def test_extra_fields(
    rows: list[str], count: int, first: int, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradeval.formats.sources.BLOCK", size)
    monkeypatch.setattr("gradeval.formats.sources.Source.blocks.__defaults__", (size,))
    qrels, run = written(tmp_path, q="1 0 a 1\n2 0 a 1\n", run="".join(f"{row}\n" for row in rows))
    have = "1 line has" if count == 1 else f"{count} lines have"
    said = f"run: {have} more than 6 fields, the first is line {first}; what follows the tag is ignored"
    assert evaluate(qrels, run, "P@1").warnings == ((said,) if count else ())


OWN_QRELS: Data = {"q1": {"a": 1}, "q2": {"b": 1}, "a-long-query-id": {"a": 1, "b": 0}}
OWN_RUN: Data = {
    "q1": ranking("q1", "a"),
    "q2": ranking("b", "x", "q1", "q2"),
    "a-long-query-id": {"b": 1.0, "a-long-query-id": 5.0, "a": 5.0, "a-long-query-ie": 5.0},
    "q3": ranking("q3"),
}
OTHERS_QRELS: Data = {"q1": {"q1": 0}, "q2": {"a": 1}, "q3": {"a": 1, "q3": 1}, "q4": {"q4": -1, "a": 1}}
OTHERS_RUN: Data = {q: ranking(*["a", "x"] * (q == "q3"), q) for q in ("q1", "q2", "q3", "q4")}
JUDGED_ONLY = {"judged_only": True}


@each_row(
    ("nDCG@3", {}, "q1 a-long-query-id"),
    ("nDCG@3 P@4", {}, "q1 q2 a-long-query-id"),
    ("AP", {"depth": 2}, "q1 a-long-query-id"),
    ("AP", {"query_ids": ["q2"]}, "q2"),
    ("num_ret num_q", {}, ""),
    # where unjudged documents are removed
    ("nDCG@2", JUDGED_ONLY, "q1 q3"),
    ("nDCG(judged_only=true)@2", {}, "q1 q3"),
    ("nDCG@1", JUDGED_ONLY, "q1"),
    ("nDCG@2", {**JUDGED_ONLY, "depth": 2}, "q1"),
    ("nDCG@2", {**JUDGED_ONLY, "depth": 3}, "q1 q3"),
    ("nDCG@3 nDCG(judged_only=true)@1", {}, "q1 q2 q3 q4"),
)
def test_identical_ids(metrics: str, options: Any, expected: str) -> None:
    qrels, run = (OTHERS_QRELS, OTHERS_RUN) if "judged_only" in f"{metrics} {options}" else (OWN_QRELS, OWN_RUN)
    notices = found(qrels, run, metrics, **options)[NoticeKind.IDENTICAL_IDS]
    assert [query for one in notices for query in one.queries] == expected.split()
    assert NoticeKind.IDENTICAL_IDS not in found(qrels, run, metrics, **options, ignore_identical_ids=True)
    assert NoticeKind.IDENTICAL_IDS not in found(
        qrels, {"q1": ranking("a", "q2"), "q2": ranking("q1", "b")}, "AP"
    )


@each("ids", [False, True])
def test_documents_without_ids(ids: bool, tmp_path: Path) -> None:
    """Those of a LETOR file are named by their places, and these are no ids."""
    text = "".join(f"{n % 2} qid:1 1:{n}{f' # {n}' * ids}\n" for n in range(1, 5))
    path, scores = written(tmp_path, letor=text, scores="4\n3\n2\n1\n")
    for run, options in ((path, {"features": 1}), (scores, {}), ({"1": ranking("1", "2")}, {})):
        notices = evaluate(path, run, "AP", **options).notices
        assert (NoticeKind.IDENTICAL_IDS in {one.kind for one in notices}) == ids
        if not isinstance(run, dict):
            values = evaluate(path, run, "num_ret", ignore_identical_ids=True, **options).runs[0].values
            assert values.tolist() == [[4 - ids]]


def test_lines_of_identical_ids(tmp_path: Path) -> None:
    hint = "ignore_identical_ids=True removes these, as BEIR does by default"
    text = run_lines(OWN_RUN)
    scattered = "".join(text[::2] + text[1::2])
    qrels, *runs = written(tmp_path, q=qrels_text(OWN_QRELS), run="".join(text), scattered=scattered)
    for run in (*runs, OWN_RUN):
        [notice] = found(qrels, run, "nDCG@3")[NoticeKind.IDENTICAL_IDS]
        assert set(notice.queries) == {"q1", "a-long-query-id"}
    [notice] = found(OWN_QRELS, OWN_RUN, "nDCG@3")[NoticeKind.IDENTICAL_IDS]
    ids = "'q1', 'a-long-query-id'"
    assert str(notice) == f"run1: 2 queries retrieve a document with the query's id ({ids}); {hint}"
    both = evaluate(OWN_QRELS, [OWN_RUN, {"q1": ranking("q1")}], "nDCG@3").warnings
    most = "in up to 2 queries (run1)"
    assert f"2 of 2 runs have documents with the id of their query, {most}; {hint}" in both


DEEP_QRELS: Data = {"1": {f"d{n}": int(n % 3 == 0) for n in range(30)}, "2": {"d0": 1, "d29": 2}}
DEEP, SHORT, MORE = (
    {query: ranking(*(f"d{n}" for n in range(depth))) for query in DEEP_QRELS} for depth in (29, 10, 11)
)


@each_row(
    ("nDCG@10 AP R@20", {}, ["AP", "R@20"]),
    ("nDCG@10 AP R@20", {"depth": 10}, []),
    ("P@10 P@11 num_ret num_rel_ret num_q Judged@10,11", {}, ["P@11", "Judged@11"]),
    ("RR RR@10 Rprec bpref", {}, ["RR", "bpref"]),  # R documents are the first
    ("RBP(p=0.1) RBP(p=0.95)", {}, ["rbp(p=0.95)"]),  # 0.1^10 is not seen
    ("AP(rel=9) nDCG(gain=1:0/2:3) rankDCG", {}, ["AP(rel=9)", "nDCG(gain=1:0/2:3)", "rankDCG"]),
    ("nDCG@5", {"judged_only": True}, ["nDCG@5"]),  # whose documents may all be unjudged
)
def test_depth(metrics: str, options: Any, expected: list[str]) -> None:
    notices = found(DEEP_QRELS, (DEEP, SHORT), metrics, **options)[NoticeKind.DEPTH]
    assert [one.metric for one in notices] == expected
    assert NoticeKind.DEPTH not in found(DEEP_QRELS, (MORE, SHORT), "AP")  # a tenth more is no difference


def test_lines_of_depths(tmp_path: Path) -> None:
    results = evaluate(DEEP_QRELS, {"bm25": DEEP, "other": SHORT}, "nDCG@10 AP R@20")
    said = "runs differ in depth: bm25 29 documents per query, other 10; AP, R@20 depend on it"
    assert f"{said} (depth=10)" in results.warnings
    assert f"{said} (-M 10)" in lines(results.notices)
    [notice] = [one for one in results.notices if one.metric == "AP" and one.kind is NoticeKind.DEPTH]
    same = [("bm25", (9,) * 5), ("other", (9,) * 5)]  # joined with others, they are looked at again
    assert with_depths([notice], same, parse("AP"), {}) == ()
    again = [("bm25", (29,) * 5), ("other", (10,) * 5)]
    assert with_depths([notice], again, parse("AP"), results.options) == (notice,)
    # of saved results
    texts = {name: "".join(run_lines(run)) for name, run in (("deep", DEEP), ("short", SHORT))}
    qrels, deep, short = written(tmp_path, q=qrels_text(DEEP_QRELS), **texts)
    [path] = written(tmp_path, saved=gradeval("-f", "json", "-q", "-m", "AP", qrels, deep).out)
    both = (
        [one for one in compare(qrels, [run, short], "AP").notices if one.kind is NoticeKind.DEPTH]
        for run in (deep, path)
    )
    expected, of_saved = both
    assert expected and expected == of_saved
    # comparisons name the reason, not that unjudged documents favor older systems
    unjudged = {query: ranking(*run, *(f"x{n}" for n in range(500))) for query, run in DEEP.items()}
    for metric, depth in (("nDCG@100", True), ("nDCG@10", False)):
        kinds = {one.kind for one in compare(DEEP_QRELS, {"deep": unjudged, "short": SHORT}, metric).notices}
        assert (NoticeKind.DEPTH in kinds) == depth and not (depth and NoticeKind.JUDGED_DIFFERS in kinds)


def test_depth_of_most_or_some_queries() -> None:
    """One deep query is no depth, as one shallow query is none."""
    qrels = {str(n): DEEP_QRELS["1"] for n in range(20)}
    deep = dict.fromkeys(qrels, DEEP["1"])
    said = "deep 29 documents per query, other 10"
    for count, rules in (
        (1, [said]),
        (4, [f"{said} (first deciles)"]),
        (17, [f"{said} (first deciles)"]),
        (19, []),
    ):
        other = {query: (DEEP if int(query) < count else SHORT)["1"] for query in qrels}
        notices = found(qrels, {"deep": deep, "other": other}, "AP")[NoticeKind.DEPTH]
        assert [one.rule for one in notices] == rules


FOUR: Data = {str(query): {"a": 1, "b": 0, "c": 1} for query in range(4)}
TWO_EACH = {query: ranking("a", "x") for query in FOUR}
HALF = {query: ranking("a", *"xyz"[: 3 * (query < "2")]) for query in FOUR}
OF_FOUR = "run1: fewer documents than the cutoff in 4 of 4 queries (nDCG@3"
OF_ONE = "run1: fewer documents than the cutoff in 1 of 1 query (nDCG@3 and 1 other metric)"
BOTH = "2 of 2 runs have fewer documents than the cutoff, in up to 4 of 4 queries (nDCG@3 of run1)"


@each_row(
    ([TWO_EACH], "nDCG@3 AP P@2", {}, [f"{OF_FOUR})"]),
    ([TWO_EACH], "nDCG@3,4", {}, [f"{OF_FOUR} and 1 other metric)"]),
    ([TWO_EACH] * 2, "nDCG@3", {}, [BOTH]),
    ([TWO_EACH], "nDCG@3", {"depth": 2}, []),
    ([TWO_EACH, {query: ranking("a", "x", "b") for query in FOUR}], "nDCG@3", {}, []),  # unlike depths
    ([HALF], "nDCG@3 P@2", {}, []),  # not most queries
    ([{**HALF, "1": ranking("a")}], "nDCG@3", {}, [OF_FOUR.replace("4 of 4", "3 of 4") + ")"]),
    ([{"0": ranking("a")}], "nDCG@3 P@2", {}, [OF_ONE]),  # of the queries of the run
    ([{query: ranking("a", "c", "b") for query in FOUR}], "nDCG@10", {}, []),  # complete rankings
)
def test_few_documents(runs: list[Data], metrics: str, options: Any, expected: list[str]) -> None:
    warnings = evaluate(FOUR, runs, metrics, **options).warnings
    assert [one for one in warnings if "fewer documents" in one] == expected
