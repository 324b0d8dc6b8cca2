"""The rows of notices: a sentence for each kind, in the words of a shell and of Python."""

from __future__ import annotations

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
    assert notes == {Kind.SUBTOPICS, Kind.JUDGED_SHARE, Kind.FEW_DOCUMENTS, Kind.JUDGED_UNKNOWN}
