"""Text for people: what is escaped in messages and tables, a sentence for each kind of notice; records."""

import pickle
import unicodedata
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import pytest
from helpers import each, error_of, raises

import gradeval
from gradeval import pytrec_eval
from gradeval.errors import (
    GradevalError,
    InputError,
    InputErrors,
    OptionError,
    inert,
    named,
    printable,
    visible,
    visible_rows,
)
from gradeval.notices import EvaluationWarning, Notice, NoticeKind, lines
from gradeval.records import Record, fields_of

SURROGATE = "\udcff"  # a byte that is not UTF-8
CONTROL = [chr(code) for code in range(0x11000) if unicodedata.category(chr(code)) in ("Cc", "Zl", "Zp")]
MARKS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # they and three more turn text round
TURNING = [chr(code) for code in range(0x11000) if unicodedata.bidirectional(chr(code)) in MARKS] + [
    *"\u061c\u200e\u200f"
]


def test_what_a_terminal_or_an_editor_obeys() -> None:
    assert len(CONTROL) == 67 and len(TURNING) == 12
    for char in (*CONTROL, *TURNING):
        escaped = char.encode("unicode_escape").decode()
        assert visible(f"a{char}b") == printable(f"a{char}b") == f"a{escaped}b"
        assert visible_rows(f"a{char}b") == (f"a{char}b" if char in "\t\n" else f"a{escaped}b")
    for text in ("q1", "é µ", "検索", "\u0646\u200c\u0627", "a\u00a0b", SURROGATE, r"\x1b"):
        assert visible(text) == visible_rows(text) == text
    assert printable("a\u00a0b\u200c" + SURROGATE) == r"a\xa0b\u200c\udcff"  # not in a message


def test_ids_in_the_code_page_of_windows() -> None:
    assert named("caf\udce9 d") == r"'caf\xe9 d' ('café d' in cp1252)"
    for text in ("é", "\udc81", "é\udce9", "\ud800\udce9"):  # \x81 is no character of cp1252
        assert "cp1252" not in named(text)


@each(
    ("share", "shown"),
    [(0.3999, "39.9 %"), (0.4, "40 %"), (0.7 - 1e-16, "70 %"), (0.386, "39 %"), (0.0, "0 %")],
)
def test_shares_are_not_rounded_to_a_limit(share: float, shown: str) -> None:
    notice = Notice(NoticeKind.JUDGED_SHARE, "r", 0, "Judged@10", value=share)
    assert str(notice).startswith(f"r: {shown} of the first 10 documents")


@each(
    ("line", "shown"),
    [
        ("::error::x", r"\x3a:error::x"),
        (" \t\u3000::error::x", " \t\u3000" + r"\x3a:error::x"),
        ("a ::error::x b::c", "a ::error::x b::c"),  # a runner reads it at the start of a line only
        ("a\n::error::x", "a\n" + r"\x3a:error::x"),
        ("run ##[error]x", r"run \x23#[error]x"),
        ("###[error]x", r"#\x23#[error]x"),
        ("##vso[task.complete]", r"\x23#vso[task.complete]"),
        ("C# ## [x]", "C# ## [x]"),
    ],
)
def test_no_line_of_a_log_is_a_command_of_a_runner(line: str, shown: str) -> None:
    assert inert(line) == shown
    assert inert(line, r"\u00") == shown.replace(r"\x", r"\u00")


def test_an_error_is_one_line_and_several_have_one_each() -> None:
    path = "a\nb"
    first, second = InputError(path, "wrong\x1b", line=1), InputError(path, "no", hint="Try\r")
    assert str(first) == r"a\nb:1: wrong\x1b"
    assert str(second) == r"a\nb: no. Try\r"
    assert first.path == path
    assert str(InputErrors([first, second], 3)) == "\n".join([str(first), str(second), r"a\nb: 1 more error"])
    assert str(OptionError("x\u2028y")) == str(GradevalError("x\u2028y")) == r"x\u2028y"


class Point(Record):
    x: int
    y: int = 0
    names: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Plain:
    x: int
    y: int = 0
    names: Mapping[str, int] | None = None


class Named(Point, kw_only=True):
    name: str


class Alone(Record, eq=False):
    x: int


@each("values, named", [((1,), {}), ((1, 2), {}), ((1,), {"y": 3}), ((), {"y": 4, "x": 5})])
def test_fields_are_those_of_a_dataclass(values: tuple[int, ...], named: dict[str, Any]) -> None:
    point, plain = Point(*values, **named), Plain(*values, **named)
    assert vars(point) == vars(plain) == fields_of(point)
    assert repr(point) == repr(plain).replace("Plain", "Point")
    assert point.__match_args__ == plain.__match_args__
    assert point == Point(*values, **named) and hash(point) == hash(Point(*values, **named))
    assert point.replace(y=9) == Point(point.x, 9) == pickle.loads(pickle.dumps(point.replace(y=9)))
    assert point == copy(point) != point.replace(x=7)


@each("values, named", [((), {}), ((1, 2, {}, 4), {}), ((1,), {"x": 1}), ((1,), {"z": 1}), ((), {"z": 1})])
def test_wrong_fields_are_type_errors(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    for kind in (Point, Plain):
        error_of(TypeError, kind, *values, **named)
    raises(TypeError, "z", Point(1).replace, z=1)  # type: ignore[call-arg]


def test_further_fields_no_changes_and_no_eq() -> None:
    point, first, second = Point(1), Alone(1), Alone(1)
    raises(AttributeError, "'x'", setattr, point, "x", 2)
    raises(AttributeError, "'x'", delattr, point, "x")
    assert first != second and first == first and len({first, second}) == 2
    named = Named(1, name="a")
    assert fields_of(named) == {"x": 1, "y": 0, "names": None, "name": "a"}
    assert named != Point(1) and Point(1) != named
    raises(TypeError, "x, y, names, name", Named, 1)  # type: ignore[call-arg]


def test_each_kind_has_a_sentence() -> None:
    odd = "{x} [a|b]"  # a name is no part of a template
    for kind in NoticeKind:
        for subjects in ([odd], [odd, "two.run"]):
            if kind is NoticeKind.EXCLUDED_METRICS and len(subjects) > 1:  # there is one
                continue
            notices = [Notice(kind, subject, 3, "AP@5", ("q1",), "rule", total=9) for subject in subjects]
            for in_python in (False, True):
                [line] = lines(notices, 2, in_python=in_python)
                rest = line.replace(odd, "")
                assert line and not {"{", "}", "[", "|"} & set(rest), (kind, line)
                assert not (in_python and ("--" in rest or " -" in rest)), (kind, line)
    notes = {kind for kind in NoticeKind if Notice(kind, "", 1).informational}
    of_runs = {
        NoticeKind.FEW_DOCUMENTS,
        NoticeKind.NOT_SEPARABLE,
        NoticeKind.COLLAPSED,
        NoticeKind.WEIGHTED,
        NoticeKind.UNKNOWN_WEIGHTED,
        NoticeKind.BY_RANK,
        NoticeKind.SAME_RANKING,
        NoticeKind.FORECAST,
    }
    of_qrels = {NoticeKind.SUBTOPICS, NoticeKind.UNLABELLED, NoticeKind.UNSCALED_ELSEWHERE, NoticeKind.MERGED}
    of_options = {NoticeKind.CUT, NoticeKind.EXCLUDED, NoticeKind.EXCLUDED_JUDGMENTS, NoticeKind.NO_BOUNDS}
    others = {NoticeKind.JUDGED_UNKNOWN, NoticeKind.IDS_UNKNOWN, NoticeKind.UNUSED_BASELINE}
    assert notes == {*of_qrels, *of_runs, *of_options, *others}


def said(kind: NoticeKind, *notices: dict[str, Any], runs: int = 4) -> str:
    [line] = lines([Notice(kind, **{"subject": "a", "count": 0, **values}) for values in notices], runs)
    return line


def test_the_notice_that_stands_for_several() -> None:
    """That of most queries, or with the lowest share or the largest range; and what it says of the others."""
    shares = [{"subject": name, "metric": "Judged@10", "value": of} for name, of in (("a", 0.5), ("b", 0.2))]
    start = "2 of 4 runs have few judged documents, down to 20 % of the first 10 documents (b);"
    assert said(NoticeKind.JUDGED_SHARE, *shares).startswith(start)
    ranges = [{"subject": name, "metric": "J", "low": 0.1, "high": of} for name, of in (("a", 0.2), ("b", 0.9))]
    start = "b: J of the runs differs, from 10.0 % to 90.0 % (and on 1 other collection): "
    assert said(NoticeKind.JUDGED_DIFFERS, *ranges).startswith(start)
    depths: list[dict[str, Any]] = [
        {"subject": name, "count": 2, "metric": metric, "rule": "x 9, y 3", "low": 3.0}
        for name in "ab"
        for metric in ("AP", "RR")
    ]
    expected = "a: runs differ in depth (and on 1 other collection): x 9, y 3; AP, RR depend on it (depth = 3)"
    assert said(NoticeKind.DEPTH, *depths) == expected
    assert (
        said(NoticeKind.DEPTH, depths[0]) == "a: runs differ in depth: x 9, y 3; AP depends on it (depth = 3)"
    )
    lacking = [{"subject": name, "count": n, "metric": "E", "rule": "both"} for name, n in (("a", 1), ("b", 2))]
    fate = "excluded, excluded for E (lower is better)"
    expected = f"2 of 4 runs lack queries of the other tables, up to 2 (b), {fate}"
    assert said(NoticeKind.MISSING_VALUES, *lacking) == expected
    without = [{"count": n, "metric": metric, "rule": "1"} for n, metric in ((1, "AP"), (4, "P@5"))]
    assert said(NoticeKind.NO_RELEVANT, *without) == (
        "a: up to 4 queries have no document that is relevant to P@5, counted as 1 in the mean of P@5 and of 1 "
        "other metric (see --no-relevant)"
    )
    reasons = [{"count": n, "rule": why} for n, why in ((1, "too few"), (3, "all equal"))]
    assert said(NoticeKind.NO_P, *reasons) == "no p-value for 1 comparison (too few), 3 comparisons (all equal)"


QRELS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1}, "3": {"a": 0}}
TIED = {"1": {"a": 1.0, "b": 1.0, "c": 1.0}, "2": {"a": 1.0}}


def caught(function: Any, *args: Any, **options: Any) -> tuple[Any, list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        return function(*args, **options), messages


def test_python_is_warned_once_for_each_kind_where_it_calls() -> None:
    other = {**TIED, "1": {**TIED["1"], "far": -9.0}}
    results, messages = caught(gradeval.evaluate, QRELS, {"x": TIED, "y": other}, "AP AP(rel=2)")
    assert [(one.category, one.filename) for one in messages] == [(EvaluationWarning, __file__)] * len(messages)
    assert [str(one.message) for one in messages] == results.sentences(False)
    kinds = {notice.kind for notice in results.notices if not notice.informational}
    assert len(messages) == len(kinds) == 4
    assert any("evaluate(..., tie_range=True)" in str(one.message) for one in messages)
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
    run = {"1": {"a": 3.0, "b": 2.0, "x": 1.0}}  # notes are printed
    results, messages = caught(gradeval.evaluate, {"1": {"a": 1, "b": 0}}, run, "AP@3 P@10")
    assert messages == [] and "note: " in str(results) and "warning: " not in str(results)


COMPLETE = {"1": {"a": 4.0, "c": 3.0, "b": 1.0}, "2": {"a": 2.0}}
TIED_AND_SHORT = {"1": TIED["1"]}
NOT_JUDGED = {"1": {"x": 1.0}, "2": {"y": 1.0}}
JUDGED = {query: grades for query, grades in QRELS.items() if query != "3"}


def kinds_warned_of(evaluator: gradeval.Evaluator, run: Any) -> set[str]:
    """The kinds of the results of which there was a warning, each once, where the evaluator was called."""
    results, messages = caught(evaluator.evaluate, run)
    assert [one.filename for one in messages] == [__file__] * len(messages)
    said = [str(one.message) for one in messages]
    kinds = [notice.kind.value for text in said for notice in results.notices if str(notice) == text]
    assert len(kinds) == len(said) == len(set(kinds))
    return set(kinds)


def test_an_evaluator_warns_of_each_kind_once() -> None:
    """Of ties in the first call, which looks for all; of the queries and ids in each."""
    evaluator = gradeval.Evaluator(JUDGED, "AP")
    runs = (TIED_AND_SHORT, TIED_AND_SHORT, NOT_JUDGED, COMPLETE, JUDGED, JUDGED)
    found = [kinds_warned_of(evaluator, run) for run in runs]
    assert found == [{"ties", "missing"}, set(), {"nothing_judged"}, set(), {"qrels_as_run"}, set()]
    evaluator = gradeval.Evaluator(JUDGED, "AP", warnings="once")
    assert [kinds_warned_of(evaluator, run) for run in (COMPLETE, TIED, TIED_AND_SHORT)] == [
        set(),
        set(),
        {"missing"},
    ]
    evaluator = gradeval.Evaluator(JUDGED, "AP", warnings="ignore")
    assert not any(kinds_warned_of(evaluator, run) for run in runs)
    what = "warnings must be once, ignore or error, not 'never'"
    raises(OptionError, what, gradeval.Evaluator, JUDGED, warnings="never")


def test_the_warnings_of_an_evaluator_as_errors() -> None:
    """Each time, until nothing is found; those of a filter of Python one by one."""
    evaluator = gradeval.Evaluator(JUDGED, "AP", warnings="error")
    for _ in range(2):
        error = error_of(EvaluationWarning, evaluator.evaluate, TIED_AND_SHORT)
        assert [line.partition(": ")[2][:4] for line in str(error).splitlines()] == ["1 ju", "ties"]
    assert evaluator.evaluate(COMPLETE).mean(0, "AP") == 1.0
    evaluator.evaluate(TIED)
    error_of(EvaluationWarning, evaluator.evaluate, TIED_AND_SHORT)
    evaluator = gradeval.Evaluator(JUDGED, "AP")
    with warnings.catch_warnings():
        warnings.simplefilter("error", EvaluationWarning)
        for _ in range(2):
            error_of(EvaluationWarning, evaluator.evaluate, TIED_AND_SHORT)
    assert kinds_warned_of(evaluator, TIED_AND_SHORT) == {"ties", "missing"}


def test_threads_warn_once_together() -> None:
    evaluator = gradeval.Evaluator(JUDGED, "AP", jobs=1)
    with ThreadPool(8) as pool:
        _, messages = caught(pool.map, evaluator.evaluate, [TIED_AND_SHORT] * 64)
    assert len(messages) == len({str(one.message) for one in messages}) == 2
    copied = pickle.loads(pickle.dumps(evaluator))
    assert kinds_warned_of(copied, NOT_JUDGED) == {"nothing_judged"}


def test_pytrec_eval_is_silent() -> None:
    _, messages = caught(pytrec_eval.RelevanceEvaluator(JUDGED, {"map"}).evaluate, TIED_AND_SHORT)
    assert messages == []


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


@pytest.mark.parametrize(
    "function",
    [
        lambda: gradeval.batch(5),
        lambda: gradeval.batch("m.toml", resume=5),
        lambda: gradeval.validate(5),
        lambda: gradeval.validate(QRELS, 5),
        lambda: gradeval.evaluate(QRELS, TIED, "AP").save(5),
        lambda: gradeval.gate(QRELS, TIED, require=[5]),
        lambda: gradeval.gate(QRELS, TIED, config=5),
    ],
)
def test_objects_that_are_no_paths_and_no_texts(function) -> None:
    raises(gradeval.OptionError, "must be (a path|strings), not 5", function)
