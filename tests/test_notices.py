"""The rows of notices: a sentence for each kind, in the words of a shell and of Python."""

import warnings
from pathlib import Path
from typing import Any

import pytest

import gradeval
from gradeval.notices import EvaluationWarning, Kind, Notice, lines
from gradeval.options import Options


def test_each_kind_has_a_sentence() -> None:
    odd = "{x} [a|b]"  # a name is no part of a template
    for kind in Kind:
        for subjects in ([odd], [odd, "two.run"]):
            if kind is Kind.EXCLUDED_METRICS and len(subjects) > 1:  # there is one
                continue
            notices = [Notice(kind, subject, 3, "AP@5", ("q1",), "rule", total=9) for subject in subjects]
            for in_python in (False, True):
                [line] = lines(notices, 2, in_python=in_python)
                rest = line.replace(odd, "")
                assert line and not {"{", "}", "[", "|"} & set(rest), (kind, line)
                assert not (in_python and ("--" in rest or " -" in rest)), (kind, line)
    accepted_by = {kind.row.accepted_by for kind in Kind} - {""}  # which are options
    assert accepted_by == {"no_relevant", "ties"}
    assert all(getattr(Options(), name) is None for name in accepted_by)
    notes = {kind for kind in Kind if Notice(kind, "", 1).informational}
    of_runs = {Kind.JUDGED_SHARE, Kind.FEW_DOCUMENTS, Kind.NOT_SEPARABLE, Kind.COLLAPSED, Kind.WEIGHTED}
    assert notes == {Kind.SUBTOPICS, Kind.JUDGED_UNKNOWN, *of_runs}


def said(kind: Kind, *notices: dict[str, Any], runs: int = 4) -> str:
    [line] = lines([Notice(kind, **{"subject": "a", "count": 0, **values}) for values in notices], runs)
    return line


def test_the_notice_that_stands_for_several() -> None:
    """That of most queries, or with the lowest share or the largest range; and what it says of the others."""
    shares = [{"subject": name, "metric": "Judged@10", "value": of} for name, of in (("a", 0.5), ("b", 0.2))]
    start = "2 of 4 runs have few judged documents, down to 20 % of the first 10 documents (b);"
    assert said(Kind.JUDGED_SHARE, *shares).startswith(start)
    ranges = [{"subject": name, "metric": "J", "low": 0.1, "high": of} for name, of in (("a", 0.2), ("b", 0.9))]
    start = "b: J of the runs differs, from 10.0 % to 90.0 % (and on 1 other collection): "
    assert said(Kind.JUDGED_DIFFERS, *ranges).startswith(start)
    depths: list[dict[str, Any]] = [
        {"subject": name, "count": 2, "metric": metric, "rule": "x 9, y 3", "low": 3.0}
        for name in "ab"
        for metric in ("AP", "RR")
    ]
    expected = "a: runs differ in depth (and on 1 other collection): x 9, y 3; AP, RR depend on it (depth = 3)"
    assert said(Kind.DEPTH, *depths) == expected
    assert said(Kind.DEPTH, depths[0]) == "a: runs differ in depth: x 9, y 3; AP depends on it (depth = 3)"
    lacking = [{"subject": name, "count": n, "metric": "E", "rule": "both"} for name, n in (("a", 1), ("b", 2))]
    fate = "excluded, excluded for E (lower is better)"
    expected = f"2 of 4 runs lack queries of the other tables, up to 2 (b), {fate}"
    assert said(Kind.MISSING_VALUES, *lacking) == expected
    without = [{"count": n, "metric": metric, "rule": "1"} for n, metric in ((1, "AP"), (4, "P@5"))]
    assert said(Kind.NO_RELEVANT, *without) == (
        "a: up to 4 queries have no document that is relevant to P@5, counted as 1 in the mean of P@5 and of 1 "
        "other metric (see --no-relevant)"
    )
    reasons = [{"count": n, "rule": why} for n, why in ((1, "too few"), (3, "all equal"))]
    assert said(Kind.NO_P, *reasons) == "no p-value for 1 comparison (too few), 3 comparisons (all equal)"


QRELS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1}, "3": {"a": 0}}
TIED = {"1": {"a": 1.0, "b": 1.0, "c": 1.0}, "2": {"a": 1.0}}


def caught(function: Any, *args: Any, **options: Any) -> tuple[Any, list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        return function(*args, **options), messages


def test_python_is_warned_once_for_each_kind_where_it_calls() -> None:
    results, messages = caught(gradeval.evaluate, QRELS, {"x": TIED, "y": TIED}, "AP AP(rel=2)")
    assert [(one.category, one.filename) for one in messages] == [(EvaluationWarning, __file__)] * len(messages)
    assert [str(one.message) for one in messages] == results.sentences(False)
    kinds = {notice.kind for notice in results.notices if not notice.informational}
    assert len(messages) == len(kinds) == 3
    assert "evaluate(..., tie_range=True)" in str(messages[-1].message)
    assert gradeval.EvaluationWarning is EvaluationWarning and issubclass(EvaluationWarning, UserWarning)
    assert repr(results).endswith(f"notices={len(results.warnings)})") and "\n" not in repr(results)
    caveats = [f"warning: {text}\n" for text in results.warnings]
    assert str(results) == results.render() + "".join(caveats)


def test_what_is_not_warned_of() -> None:
    runs = {"x": TIED, "y": {"1": {"a": 1.0}, "2": {"a": 1.0}}}
    results, _ = caught(gradeval.evaluate, QRELS, runs, "AP")
    comparison, messages = caught(results.compare)
    assert [str(one.message).partition(";")[0] for one in messages] == ["only 3 queries"]
    _, messages = caught(gradeval.compare, QRELS, runs, "AP")
    assert [str(one.message) for one in messages] == comparison.sentences(False)
    results, messages = caught(gradeval.Evaluator(QRELS, "AP").evaluate, TIED)
    assert messages == [] and len(results.notices) == 3
    run = {"1": {"a": 3.0, "x": 2.0, "y": 1.0}}  # notes are printed
    results, messages = caught(gradeval.evaluate, {"1": {"a": 1, "b": 0}}, run, "AP@3 P@10")
    assert messages == [] and "note: " in str(results) and "warning: " not in str(results)


@pytest.mark.parametrize(
    "function",
    [
        lambda: gradeval.explain([("1", "a", 1), ("1", "a", 1)], TIED, "AP", "1"),
        lambda: gradeval.report(QRELS, {"a": TIED, "b": TIED}, "AP"),
        lambda: gradeval.plot.queries(QRELS, TIED, "AP"),
        lambda: gradeval.plot.curve(QRELS, TIED, "P", at="1,2"),
        lambda: gradeval.study.levels(QRELS, TIED),
        lambda: gradeval.study.divergence(QRELS, TIED, "AP RR"),
        lambda: gradeval.batch({"systems": ["s"], "collections": {"c": {"qrels": "q", "runs": "no"}}}),
    ],
)
def test_every_function_warns(function: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q").write_text("1 0 a 1\n")
    result, messages = caught(function)
    assert messages and [str(one.message) for one in messages] == result.sentences(False)
    assert {one.filename for one in messages} == {__file__}
    assert f"notices={len(result.warnings)}" in repr(result)
