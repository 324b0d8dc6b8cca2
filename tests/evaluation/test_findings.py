"""Notices where a number could mislead: each where it is true, and nowhere else."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from cli.command import gradeval

from gradeval import OptionError, compare, evaluate
from gradeval.notices import Kind, Notice, lines
from gradeval.registry.metric import REGISTRY, load

Data = dict[str, dict[str, Any]]


def found(qrels: Data, run: Data, metrics: str = "AP", **options: Any) -> dict[Kind, list[Notice]]:
    kinds: dict[Kind, list[Notice]] = {}
    for notice in evaluate(qrels, run, metrics, **options).notices:
        kinds.setdefault(notice.kind, []).append(notice)
    return kinds


def ranking(*documents: str) -> dict[str, float]:
    return {document: -float(place) for place, document in enumerate(documents)}


class TestJudgedShare:
    QRELS: ClassVar[Data] = {"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 0}}
    RUN: ClassVar[Data] = {"1": ranking("a", "x", "y", "z"), "2": ranking("a", "b", "x", "y")}

    def test_the_mean_over_queries(self) -> None:
        [notice] = found(self.QRELS, self.RUN)[Kind.JUDGED_SHARE]
        assert notice.value == (1 / 4 + 2 / 4) / 2
        assert notice.informational
        assert str(notice) == (
            "run1: 38 % of the first 10 documents are judged; the others count as not relevant (see Judged@10, "
            "judged_only=True and bpref)"
        )

    @pytest.mark.parametrize(
        ("metrics", "cutoff", "share"),
        [
            ("AP", 10, 0.375),
            ("nDCG@1 AP", 1, None),
            ("nDCG@1 P@2", 2, 0.75),
            ("nDCG@20,100", 20, 0.375),
            ("nDCG@100", 10, 0.375),
        ],
    )
    def test_at_the_largest_small_cutoff(self, metrics: str, cutoff: int, share: float | None) -> None:
        notices = found(self.QRELS, self.RUN, metrics).get(Kind.JUDGED_SHARE, [])
        assert [(one.metric, one.value) for one in notices] == ([(f"Judged@{cutoff}", share)] if share else [])

    @pytest.mark.parametrize(
        ("metrics", "options"),
        [
            ("AP", {"judged_only": True}),
            ("AP(judged_only=true)", {}),
            ("AP", {"depth": 1}),
            ("bpref tau rankDCG num_ret unj@5", {}),
            ("AP Judged@10", {}),
        ],
    )
    def test_not_where_it_does_not_matter(self, metrics: str, options: dict[str, Any]) -> None:
        assert Kind.JUDGED_SHARE not in found(self.QRELS, self.RUN, metrics, **options)

    def test_queries_that_the_run_lacks_have_no_share(self) -> None:
        [notice] = found({**self.QRELS, "3": {"a": 1}}, self.RUN)[Kind.JUDGED_SHARE]
        assert notice.value == 0.375


class TestQrelsAsRun:
    QRELS: ClassVar[Data] = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1, "d": 0}}

    def test_a_warning(self) -> None:
        [notice] = found(self.QRELS, self.QRELS)[Kind.QRELS_AS_RUN]
        assert not notice.informational
        assert notice.count == 5
        assert str(notice) == (
            "run1: every document is judged and its score is its grade; is this the qrels file?"
        )

    def test_of_several_runs(self) -> None:
        [line] = lines([Notice(Kind.QRELS_AS_RUN, name, 5) for name in "ab"], 3)
        assert line == (
            "2 of 3 runs hold judged documents only, whose scores are their grades (a, b); are these qrels "
            "files?"
        )

    def test_of_a_part_and_of_one_grade(self) -> None:
        assert Kind.QRELS_AS_RUN in found(self.QRELS, {"1": {"a": 2, "c": 1}})
        ones = {"1": {"a": 1}, "2": {"b": 1}}
        assert Kind.QRELS_AS_RUN in found(ones, ones)

    def test_grades_are_those_of_the_file(self) -> None:
        qrels = {"1": {"a": 1.3, "b": 0.1}}
        assert Kind.QRELS_AS_RUN in found(qrels, qrels, zero_grade=0.1)
        assert Kind.QRELS_AS_RUN not in found(qrels, {"1": {"a": 1.2, "b": 0.0}}, zero_grade=0.1)

    @pytest.mark.parametrize(
        "run",
        [
            {"1": {"a": 3, "b": 0, "c": 1}},
            {"1": {"a": 2, "b": 0, "c": 1, "x": -1}},
            {"1": {"a": 2, "b": 0, "c": 1}, "other": {"a": 1}},
            {"1": {"c": 1, "a": 2, "b": 0.5}},
            {"2": {"a": 1}},
            {"1": {"c": 1}, "2": {"a": 1}},
        ],
        ids=["a score", "unjudged document", "unjudged query", "a last score", "one document", "a set"],
    )
    def test_not_where_judged_documents_are_ranked(self, run: Data) -> None:
        assert Kind.QRELS_AS_RUN not in found(self.QRELS, run)


class TestAllRelevant:
    STARS: ClassVar[Data] = {"u": {"a": 5, "b": 1, "c": 3}}
    RUN: ClassVar[Data] = {"u": ranking("b", "c", "a")}

    def test_ratings(self) -> None:
        notices = found(self.STARS, self.RUN, "nDCG AP P@2 rankDCG num_ret")[Kind.ALL_RELEVANT]
        assert [one.metric for one in notices] == ["nDCG", "AP", "P@2"]
        assert next(lines(notices)) == (
            "qrels: all 3 judged documents are relevant to nDCG and 2 other metrics: the lowest grade is 1; "
            "set the grade of a non-relevant document with --zero-grade, or the relevance threshold with -l"
        )

    @pytest.mark.parametrize("options", [{"rel": 0}, {"rel": -1}, {"rel": 1}])
    def test_a_threshold_that_all_grades_reach(self, options: dict[str, Any]) -> None:
        assert Kind.ALL_RELEVANT in found(self.STARS, self.RUN, "AP", **options)
        assert Kind.ALL_RELEVANT in found(self.STARS, self.RUN, "AP(rel=1)")

    @pytest.mark.parametrize(
        ("metrics", "options"),
        [("rankDCG tau", {}), ("AP", {"rel": 4}), ("AP nDCG", {"zero_grade": 1}), ("AP(rel=4)", {})],
    )
    def test_not_where_a_threshold_is_set_or_needed(self, metrics: str, options: dict[str, Any]) -> None:
        assert Kind.ALL_RELEVANT not in found(self.STARS, self.RUN, metrics, **options)

    def test_not_where_only_what_is_relevant_is_listed(self) -> None:
        """As in MS MARCO, and with two grades as in NFCorpus: what is not judged is not relevant."""
        assert Kind.ALL_RELEVANT not in found({"u": {"a": 1, "b": 1}}, {"u": ranking("a", "b")})
        assert Kind.ALL_RELEVANT not in found({"u": {"a": 1, "b": 2}}, {"u": ranking("a", "x", "y")})


class TestNoneRelevant:
    def test_a_threshold_that_no_grade_reaches(self) -> None:
        qrels = {"1": {"a": 3, "b": 0}}
        [notice] = found(qrels, {"1": ranking("a")}, "AP", rel=5)[Kind.NONE_RELEVANT]
        assert str(notice) == (
            "qrels: no judged document has grade 5, the threshold of AP, or a higher one (the highest grade is "
            "3)"
        )
        kinds = found(qrels, {"1": ranking("a")}, "nDCG AP(rel=3) AP(rel=4) P(rel=4)@1")
        assert [one.metric for one in kinds[Kind.NONE_RELEVANT]] == ["AP(rel=4)", "P(rel=4)@1"]
        assert Kind.NO_RELEVANT not in kinds

    def test_no_relevant_document_at_all(self) -> None:
        [*notices] = found({"1": {"a": 0}, "2": {"a": -1}}, {"1": ranking("a")}, "nDCG AP")[Kind.NONE_RELEVANT]
        assert [one.metric for one in notices] == ["nDCG", "AP"]
        assert next(lines(notices)) == (
            "qrels: no judged document is relevant (the highest grade is 0); nor is one for 1 other metric"
        )


class TestNoRelevant:
    """A query without a relevant document, beside one with."""

    QRELS: ClassVar[Data] = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 0, "b": 0}}
    RUN: ClassVar[Data] = {"1": ranking("b", "a", "c"), "2": ranking("a", "b")}
    KEEP_ZERO = "P@2 RR RR@5 ERR@5 set_P DCG CG gP Success@2 rbp iRBU INST(max_rel=2) num_rel utility"
    DIVIDE = (
        "AP AP@2 muAP nDCG nDCG(gain=exp)@2 nDCG(ideal=local) NDCNG nDCGphi R@2 F@2 set_recall set_F set_map "
        "set_relative_P relative_P@2 Rprec Rprec_mult@0.5 iprec_at_recall@0.5 11pt_avg bpref infAP gR nERR Q "
        "JKnDCG ndcg_rel Rndcg ndcg_p G binG Compat gm_map gm_bpref ERR_IA NRBP P_IA@2 StRecall@2 alpha_DCG "
        "nNRBP nERR_IA AP_IA alpha_nDCG"
    )

    def test_the_metrics_that_divide_by_what_is_relevant(self) -> None:
        load()
        named = {spec.partition("@")[0].partition("(")[0] for spec in self.DIVIDE.split()}
        assert named == {metric.name for metric in REGISTRY.values() if metric.needs_relevant}

    @pytest.mark.parametrize(("rule", "value"), [("0", 0.0), ("1", 1.0), ("skip", math.nan)])
    def test_their_value_is_what_the_rule_says(self, rule: str, value: float) -> None:
        plain = evaluate(self.QRELS, self.RUN, f"{self.DIVIDE} {self.KEEP_ZERO} rankDCG tau AUC")
        results = evaluate(self.QRELS, self.RUN, self.DIVIDE, no_relevant=rule)
        for spec in results.specs:
            of_rule, of_plain = results.values(0, spec), plain.values(0, spec)
            assert of_rule[0] == of_plain[0]
            np.testing.assert_equal(of_rule[1], value)
            assert of_plain[1] == 0
            if rule == "skip" and spec.metric.per_query:
                assert results.mean(0, spec) == of_plain[0]
        others = evaluate(self.QRELS, self.RUN, f"{self.KEEP_ZERO} rankDCG tau AUC", no_relevant=rule)
        for spec in others.specs:
            np.testing.assert_equal(others.values(0, spec), plain.values(0, spec))

    def test_a_query_that_the_run_lacks_or_misses_is_no_such_query(self) -> None:
        qrels: Data = {"1": {"a": 1}, "2": {"a": 1, "b": 0}, "3": {"a": 1}}
        run: Data = {"1": ranking("a"), "2": ranking("b", "x")}
        results = evaluate(qrels, run, self.DIVIDE, no_relevant=1)
        for spec in results.specs:
            assert list(results.values(0, spec)[1:]) == [0, 0], spec
        assert not [notice for notice in results.notices if notice.kind is Kind.NO_RELEVANT]

    def test_the_notice(self) -> None:
        kinds = found(self.QRELS, self.RUN, "AP nDCG P@2")
        assert [(one.metric, one.count, one.total, one.informational) for one in kinds[Kind.NO_RELEVANT]] == [
            ("AP", 1, 2, False),
            ("nDCG", 1, 2, False),
        ]
        assert next(lines(kinds[Kind.NO_RELEVANT])) == (
            "qrels: 1 query has no relevant document, counted as 0 in the mean of AP and of 1 other metric "
            "(see --no-relevant)"
        )
        kinds = found(self.QRELS, self.RUN, "AP(rel=2)", no_relevant="skip")
        [notice] = kinds[Kind.NO_RELEVANT]
        assert notice.informational and notice.queries == ("2",)
        assert str(notice) == "qrels: 1 query has no relevant document, excluded from the mean of AP(rel=2)"
        assert Kind.UNDEFINED not in kinds
        assert Kind.NO_RELEVANT not in found(self.QRELS, self.RUN, "AP", query_ids="1")

    def test_queries_that_the_run_lacks(self) -> None:
        """Each notice says what is counted."""
        run: Data = {"1": ranking("b", "a", "c")}
        for rule, fate in ((None, "counted as 0"), ("1", "evaluated with an empty ranking")):
            kinds = found(self.QRELS, run, "AP", no_relevant=rule)
            assert str(kinds[Kind.MISSING][0]) == f"run1: 1 judged query is not in the run, {fate}"
        assert Kind.NO_RELEVANT in kinds
        kinds = found(self.QRELS, run, "AP", no_relevant="1", queries="both")
        assert Kind.NO_RELEVANT not in kinds

    def test_wrong_values(self) -> None:
        with pytest.raises(OptionError, match="no_relevant must be 0 or 1 or skip, not '2'"):
            evaluate(self.QRELS, self.RUN, "AP", no_relevant=2)


class TestManyRuns:
    """One line for each kind, however many runs and metrics it is about."""

    def test_lines(self) -> None:
        qrels: Data = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1, "b": 1}, "3": {"a": 1}}
        runs: dict[str, Data] = {
            "none": {"1": {"x": 1.0}, "7": {"a": 1.0}},
            "tied": {
                "1": {"a": 1.0, "b": 1.0, "x": 0.5},
                "2": ranking("a", "b"),
                "9": {"a": 1.0},
                "8": {"a": 1.0},
            },
            "less": {"1": {"a": 2.0, "b": 1.0, "c": 1.0}, "2": ranking("b"), "3": ranking("a")},
        }
        results = evaluate(qrels, runs, "nDCG AP rankDCG")
        assert results.warnings == (
            "2 of 3 runs lack judged queries, up to 2 (none), counted as 0",
            "2 of 3 runs have unjudged queries, up to 2 (tied), ignored",
            "none: no document of the run is judged; check the document ids",
            "3 of 3 runs: rankDCG is undefined for up to 2 queries (none), excluded from its mean",
            "2 of 3 runs have tied scores whose order could change values, by up to 0.0935 in nDCG of tied; "
            "evaluate(..., tie_range=True) shows all",
            "runs differ in depth: tied 2 documents per query, none 1 (first deciles); nDCG, AP, rankDCG "
            "depend on it (depth=1)",
        )


class TestRanks:
    """A rank column that rises with the scores: a rank or a distance stands in the score column."""

    def of(self, tmp_path: Path, *rows: tuple[str, object, object]) -> list[Notice]:
        path = tmp_path / "run"
        path.write_text(
            "".join(f"{query} Q0 d{n} {rank} {score} t\n" for n, (query, rank, score) in enumerate(rows))
        )
        results = evaluate({"1": {"d0": 1}, "2": {"d3": 1}, "3": {"d5": 1}}, path, "AP", ties="trec")
        return [notice for notice in results.notices if notice.kind is Kind.RANKS]

    def test_a_rank_as_score(self, tmp_path: Path) -> None:
        [notice] = self.of(
            tmp_path, ("1", 1, 1), ("1", 2, 2), ("2", 1, 1), ("2", 2, 2), ("3", 1, 9), ("3", 2, 8)
        )
        assert (notice.count, notice.total, notice.informational) == (2, 3, False)
        assert str(notice) == (
            "run: the rank column contradicts the scores in 2 of the first 3 queries; documents are ranked by "
            "score, highest first; if the score column is a rank or a distance, negate it"
        )

    @pytest.mark.parametrize(
        "rows",
        [
            [("1", 1, 9), ("1", 2, 8), ("2", 1, 9), ("2", 2, 9)],
            [("1", 0, 1), ("1", 0, 2), ("2", 0, 1), ("2", 0, 2)],
            [("1", "x", 1), ("1", "y", 2), ("2", 1, 1)],
            [("1", 5, 1), ("2", 6, 2), ("3", 7, 3)],
            [("1", 2, 8), ("1", 1, 9), ("2", 3, 1), ("2", 4, 2)],
            [("1", 1, 1), ("1", 2, 1)],
        ],
    )
    def test_others(self, tmp_path: Path, rows: list[tuple[str, object, object]]) -> None:
        """Ranks that agree, that are all equal, no numbers, of one document each, or that half contradict."""
        assert self.of(tmp_path, *rows) == []

    def test_exchanged_columns(self, tmp_path: Path) -> None:
        rows = [("1", 15.5, 1), ("1", 15.2, 2), ("2", 9.5, 1), ("2", 9.25, 2), ("3", 1, 7)]
        assert [(one.count, one.total) for one in self.of(tmp_path, *rows)] == [(2, 2)]

    def test_in_a_run_whose_queries_are_scattered(self, tmp_path: Path) -> None:
        rows = [("1", 1, 1), ("2", 1, 1), ("1", 2, 2), ("2", 2, 2)]
        assert self.of(tmp_path, *rows) == []
        rows = [("1", 1, 1), ("1", 2, 2), ("2", 1, 1), ("2", 2, 2), ("1", 3, 3)]
        assert [(one.count, one.total) for one in self.of(tmp_path, *rows)] == [(2, 2)]


def written(folder: Path, **texts: str) -> list[str]:
    """The paths of files with these texts."""
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [str(folder / name) for name in texts]


class TestExtraFields:
    def of(self, folder: Path, *lines: str) -> list[str]:
        qrels, run = written(folder, q="1 0 a 1\n2 0 a 1\n", run="".join(f"{line}\n" for line in lines))
        return list(evaluate(qrels, run, "P@1").warnings)

    def test_a_tag_with_spaces(self, tmp_path: Path) -> None:
        usual, longer = "1 Q0 a 1 2 tag", "1 Q0 b 2 1 a tag"
        assert self.of(tmp_path, usual, "2 Q0 a 1 2") == []
        expected = "run: 1 line has more than 6 fields, the first is line 2; what follows the tag is ignored"
        assert self.of(tmp_path, usual, longer, "2 Q0 a 1 2 tag") == [expected]

    @pytest.mark.parametrize("last", ["1 Q0 c 3 0.5 a tag", "2 Q0 b 2 1 a tag"], ids=["scattered", "grouped"])
    def test_the_first_line_of_a_file_of_many_blocks(
        self, last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("gradeval.formats.sources.BLOCK", 40)
        monkeypatch.setattr("gradeval.formats.sources.Source.blocks.__defaults__", (40,))
        lines = ["1 Q0 a 1 2 tag", "1 Q0 b 2 1 tag", "2 Q0 a 1 2 a tag", last]
        expected = "run: 2 lines have more than 6 fields, the first is line 3; what follows the tag is ignored"
        assert self.of(tmp_path, *lines) == [expected]


class TestIdenticalIds:
    QRELS: ClassVar[Data] = {"q1": {"a": 1}, "q2": {"b": 1}, "a-long-query-id": {"a": 1, "b": 0}}
    RUN: ClassVar[Data] = {
        "q1": ranking("q1", "a"),
        "q2": ranking("b", "x", "q1", "q2"),
        "a-long-query-id": {"b": 1.0, "a-long-query-id": 5.0, "a": 5.0, "a-long-query-ie": 5.0},
        "q3": ranking("q3"),
    }

    def of(self, metrics: str, run: Data | None = None, **options: Any) -> list[tuple[str, ...]]:
        notices = found(self.QRELS, run or self.RUN, metrics, **options).get(Kind.IDENTICAL_IDS, [])
        return [tuple(one.queries) for one in notices]

    @pytest.mark.parametrize(
        ("metrics", "options", "queries"),
        [
            ("nDCG@3", {}, ("q1", "a-long-query-id")),
            ("nDCG@3 P@4", {}, ("q1", "q2", "a-long-query-id")),
            ("AP", {}, ("q1", "q2", "a-long-query-id")),
            ("AP", {"depth": 2}, ("q1", "a-long-query-id")),
            ("P@1 num_ret", {}, ("q1", "a-long-query-id")),
            ("AP", {"query_ids": ["q2"]}, ("q2",)),
        ],
    )
    def test_at_a_rank_that_counts(self, metrics: str, options: Any, queries: tuple[str, ...]) -> None:
        assert self.of(metrics, **options) == [queries]
        assert self.of(metrics, **options, ignore_identical_ids=True) == []

    @pytest.mark.parametrize(
        ("metrics", "options", "expected"),
        [
            ("nDCG@2", {"judged_only": True}, [("q1", "q3")]),
            ("nDCG(judged_only=true)@2", {}, [("q1", "q3")]),
            ("nDCG@1", {"judged_only": True}, [("q1",)]),
            ("nDCG@2", {"judged_only": True, "depth": 2}, [("q1",)]),
            ("nDCG@3 nDCG(judged_only=true)@1", {}, [("q1", "q2", "q3", "q4")]),
        ],
    )
    def test_where_unjudged_documents_are_removed(
        self, metrics: str, options: Any, expected: list[tuple[str, ...]]
    ) -> None:
        qrels = {"q1": {"q1": 0}, "q2": {"a": 1}, "q3": {"a": 1, "q3": 1}, "q4": {"q4": -1, "a": 1}}
        runs = {"q1": ranking("q1"), "q2": ranking("q2"), "q3": ranking("a", "x", "q3"), "q4": ranking("q4")}
        notices = found(qrels, runs, metrics, **options).get(Kind.IDENTICAL_IDS, [])
        assert [tuple(one.queries) for one in notices] == expected

    @pytest.mark.parametrize("ids", [False, True])
    def test_documents_without_ids(self, ids: bool, tmp_path: Path) -> None:
        """Those of a LETOR file are named by their places, and these are no ids."""
        lines = (f"{n % 2} qid:1 1:{n}{f' # {n}' * ids}\n" for n in range(1, 5))
        path, scores = written(tmp_path, letor="".join(lines), scores="4\n3\n2\n1\n")
        for run, options in ((path, {"features": 1}), (scores, {})):
            notices = evaluate(path, run, "AP", **options).notices
            assert (Kind.IDENTICAL_IDS in {one.kind for one in notices}) == ids
            values = evaluate(path, run, "num_ret", ignore_identical_ids=True, **options).runs[0].values
            assert values.tolist() == [[4 - ids]]
        notices = evaluate(path, {"1": ranking("1", "2")}, "AP").notices  # as convert writes its features
        assert (Kind.IDENTICAL_IDS in {one.kind for one in notices}) == ids

    def test_nothing_counts(self) -> None:
        assert self.of("num_ret num_q") == []
        assert self.of("AP", {"q1": ranking("a", "q2"), "q2": ranking("q1", "b")}) == []

    def test_the_lines(self) -> None:
        [notice] = found(self.QRELS, self.RUN, "nDCG@3")[Kind.IDENTICAL_IDS]
        hint = "ignore_identical_ids=True removes these, as BEIR does by default"
        ids = "'q1', 'a-long-query-id'"
        assert str(notice) == f"run1: 2 queries retrieve a document with the query's id ({ids}); {hint}"
        both = evaluate(self.QRELS, [self.RUN, {"q1": ranking("q1")}], "nDCG@3").warnings
        most = "in up to 2 queries (run1)"
        assert f"2 of 2 runs have documents with the id of their query, {most}; {hint}" in both

    def test_from_files(self, tmp_path: Path) -> None:
        lines = [f"{q} Q0 {d} 1 {s} t\n" for q, documents in self.RUN.items() for d, s in documents.items()]
        qrels = "".join(f"{q} 0 {d} {g}\n" for q, documents in self.QRELS.items() for d, g in documents.items())
        paths = written(tmp_path, q=qrels, run="".join(lines), scattered="".join(lines[::2] + lines[1::2]))
        for run in paths[1:]:
            [notice] = [
                one for one in evaluate(paths[0], run, "nDCG@3").notices if one.kind is Kind.IDENTICAL_IDS
            ]
            assert set(notice.queries) == {"q1", "a-long-query-id"}


class TestDepth:
    QRELS: ClassVar[Data] = {"1": {f"d{n}": int(n % 3 == 0) for n in range(30)}, "2": {"d0": 1, "d29": 2}}
    DEEP: ClassVar[Data] = {query: ranking(*(f"d{n}" for n in range(29))) for query in QRELS}
    SHORT: ClassVar[Data] = {query: ranking(*(f"d{n}" for n in range(10))) for query in QRELS}

    def metrics(self, metrics: str, *runs: Data, **options: Any) -> list[str]:
        notices = evaluate(self.QRELS, runs or (self.DEEP, self.SHORT), metrics, **options).notices
        return [one.metric for one in notices if one.kind is Kind.DEPTH]

    @pytest.mark.parametrize(
        ("metrics", "options", "expected"),
        [
            ("nDCG@10 AP R@20", {}, ["AP", "R@20"]),
            ("nDCG@10 AP R@20", {"depth": 10}, []),
            ("P@10 P@11 num_ret num_rel_ret num_q Judged@10,11", {}, ["P@11", "Judged@11"]),
            ("RR RR@10 Rprec bpref", {}, ["RR", "bpref"]),  # R documents are the first
            ("RBP(p=0.1) RBP(p=0.95)", {}, ["rbp(p=0.95)"]),  # 0.1^10 is not seen
            (
                "AP(rel=9) nDCG(gain=1:0/2:3) rankDCG",
                {},
                ["AP(rel=9)", "nDCG(gain=1:0/2:3)", "rankDCG"],
            ),
            ("nDCG@5", {"judged_only": True}, ["nDCG@5"]),  # whose documents may all be unjudged
        ],
    )
    def test_metrics_that_see_beyond_the_smallest(
        self, metrics: str, options: Any, expected: list[str]
    ) -> None:
        assert self.metrics(metrics, **options) == expected

    def test_a_tenth_more_is_no_difference(self) -> None:
        more = {query: ranking(*(f"d{n}" for n in range(11))) for query in self.QRELS}
        assert self.metrics("AP", more, self.SHORT) == []

    def test_the_line(self) -> None:
        results = evaluate(self.QRELS, {"bm25": self.DEEP, "other": self.SHORT}, "nDCG@10 AP R@20")
        said = "runs differ in depth: bm25 29 documents per query, other 10; AP, R@20 depend on it"
        assert f"{said} (depth=10)" in results.warnings
        assert f"{said} (-M 10)" in lines(results.notices)

    @pytest.mark.parametrize(
        ("deep", "said"),
        [
            (1, "deep 29 documents per query, other 10"),  # one deep query is no depth
            (4, "deep 29 documents per query, other 10 (first deciles)"),
            (17, "deep 29 documents per query, other 10 (first deciles)"),
            (19, None),  # as one shallow query is none
        ],
    )
    def test_of_most_or_some_queries(self, deep: int, said: str | None) -> None:
        qrels = {str(n): self.QRELS["1"] for n in range(20)}
        runs = {
            name: {query: (self.DEEP if int(query) < count else self.SHORT)["1"] for query in qrels}
            for name, count in (("deep", 20), ("other", deep))
        }
        found = [one.rule for one in evaluate(qrels, runs, "AP").notices if one.kind is Kind.DEPTH]
        assert found == ([] if said is None else [said])

    def test_comparisons_name_the_reason(self) -> None:
        """Not that unjudged documents favor older systems, since the share of judged ones differs by depth."""
        unjudged = {query: ranking(*run, *(f"x{n}" for n in range(500))) for query, run in self.DEEP.items()}
        runs = {"deep": unjudged, "short": self.SHORT}
        kinds = {one.kind for one in compare(self.QRELS, runs, "nDCG@100").notices}
        assert Kind.DEPTH in kinds and Kind.JUDGED_DIFFERS not in kinds
        kinds = {one.kind for one in compare(self.QRELS, runs, "nDCG@10").notices}
        assert Kind.DEPTH not in kinds

    def test_of_saved_results(self, tmp_path: Path) -> None:
        texts = {
            name: "".join(f"{q} Q0 {d} 1 {s} t\n" for q, of in run.items() for d, s in of.items())
            for name, run in (("deep", self.DEEP), ("short", self.SHORT))
        }
        judged = "".join(f"{q} 0 {d} {g}\n" for q, of in self.QRELS.items() for d, g in of.items())
        qrels, deep, short = written(tmp_path, q=judged, **texts)
        saved = gradeval("-f", "json", "-q", "-m", "AP", qrels, deep)
        [path] = written(tmp_path, saved=saved.out)
        expected = compare(qrels, [deep, short], "AP").notices
        assert [one for one in compare(qrels, [path, short], "AP").notices if one.kind is Kind.DEPTH] == [
            one for one in expected if one.kind is Kind.DEPTH
        ]
        assert Kind.DEPTH in {one.kind for one in expected}


class TestFewDocuments:
    QRELS: ClassVar[Data] = {str(query): {"a": 1, "b": 0, "c": 1} for query in range(4)}

    def of(self, *runs: Data, metrics: str = "nDCG@3 AP P@2", **options: Any) -> list[str]:
        results = evaluate(self.QRELS, runs, metrics, **options)
        return [one for one in results.warnings if "fewer documents" in one]

    def test_the_lines(self) -> None:
        run = {query: ranking("a", "x") for query in self.QRELS}
        one = "run1: fewer documents than the cutoff in 4 of 4 queries (nDCG@3)"
        assert self.of(run) == [one]
        assert self.of(run, metrics="nDCG@3,4") == [one[:-1] + " and 1 other metric)"]
        both = "2 of 2 runs have fewer documents than the cutoff, in up to 4 of 4 queries (nDCG@3 of run1)"
        assert self.of(run, run) == [both]
        assert (
            self.of(run, {query: ranking("a", "x", "b") for query in self.QRELS}) == []
        )  # they differ in depth

    def test_of_most_queries(self) -> None:
        half = {query: ranking("a", *"xyz"[: 3 * (query < "2")]) for query in self.QRELS}
        assert self.of(half) == []
        assert self.of({**half, "1": ranking("a")}) != []
        assert self.of({**half, "1": ranking("a")}, metrics="num_ret Judged@3 AP") == []

    def test_of_the_queries_of_the_run(self) -> None:
        assert self.of({"0": ranking("a")}) == [
            "run1: fewer documents than the cutoff in 1 of 1 query (nDCG@3 and 1 other metric)"
        ]

    def test_a_complete_ranking(self) -> None:
        assert self.of({query: ranking("a", "c", "b") for query in self.QRELS}, metrics="nDCG@10") == []

    def test_within_the_depth(self) -> None:
        run = {query: ranking("a", "x") for query in self.QRELS}
        assert self.of(run, depth=2) == []
