"""Scores of RankLib, which belong to the lines of a LETOR file."""

from __future__ import annotations

import pytest
from helpers import each

from gradeval import InputError, evaluate
from gradeval.errors import GradevalError

LETOR = b"1 qid:7 1:1\n0 qid:7 1:2\n2 qid:8 1:1\n"


def ranklib(folder, scores, kind=None):
    (folder / "letor").write_bytes(LETOR)
    (folder / "scores").write_bytes(scores)
    return evaluate(str(folder / "letor"), str(folder / "scores"), "AP P@1", run_format=kind)


def test_ranklib(tmp_path):
    lines = [b"7\t0\t0.5\n", b"7\t1\t1.5\n", b"8\t0\t-3\n"]
    expected = [[0.5, 1.0], [0.0, 1.0]]
    for order in ([0, 1, 2], [2, 0, 1]):
        results = ranklib(tmp_path, b"".join(lines[place] for place in order))
        assert [results.values("scores", metric).tolist() for metric in ("AP", "P@1")] == expected
    # tied scores stay in the order of the LETOR file
    assert ranklib(tmp_path, b"7\t0\t1\n7\t1\t1\n8\t0\t1\n").values("scores", "AP").tolist() == [1.0, 1.0]


@each(
    ("scores", "error"),
    [
        (b"7\t0\t1\n7\t1\t1\n", r"1 line of .* without a score; the first is in line 3"),
        (b"7\t0\t1.5\n7\t1\t1\n7\t2\t1\n", r":3: index 2 where query '7' has 2 lines in .*, from 0"),
        (b"7\t0\t1.5\n7\t1\t1\n9\t0\t1\n", r":3: query '9' is not in "),
        (b"7\t0\t1.5\n7\t1\t1\n7\t1\t2\n", r":3: index 1 of its query has a score already"),
        (b"7\t0\t1.5\n7\t1\tx\n", r":2: the score 'x' is not a number"),
        (b"7\t0\t1.5\n7\t1\t2\n7\tx\t3\n", r":3: the index 'x' is not a non-negative integer"),
    ],
)
def test_wrong_scores_of_ranklib(scores, error, tmp_path):
    with pytest.raises(GradevalError, match=error):
        ranklib(tmp_path, scores, "ranklib")


def test_ranklib_needs_letor(put):
    with pytest.raises(InputError, match="scores of RankLib need a LETOR file as qrels, but qrels is not one"):
        evaluate({"7": {"0": 1}}, put(b"7\t0\t0.5\n").path)
