"""The rows of notices: a sentence for each kind, in the words of a shell and of Python."""

from __future__ import annotations

from typing import Any

from gradeval.notices import ROWS, Kind, Notice, lines
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


def test_what_accepts_a_notice_is_an_option() -> None:
    accepted_by = {row.accepted_by for row in ROWS.values()} - {""}
    assert accepted_by == {"no_relevant", "ties"}
    assert all(getattr(Options(), name) is None for name in accepted_by)


def test_a_note_is_informational() -> None:
    notes = {kind for kind in Kind if Notice(kind, "", 1).informational}
    of_runs = {Kind.JUDGED_SHARE, Kind.FEW_DOCUMENTS, Kind.NOT_SEPARABLE}
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
