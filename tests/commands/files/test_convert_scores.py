"""Scores of the lines of a LETOR file, converted to runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradeval
from gradeval.errors import GradevalError

LETOR = "1 qid:1 1:0.5 # docid = a\n0 qid:1 1:0.2 # docid = b\n2 qid:2 1:1 # docid = c\n"


@pytest.mark.parametrize(
    "scores", ["0.25\n0.75\n0.5\n", "2\t0\t0.5\n1\t0\t0.25\n1\t1\t0.75\n"], ids=["scores", "ranklib"]
)
def test_scores_of_letor_lines(tmp_path, scores):
    letor, source, target = tmp_path / "l", tmp_path / "s", tmp_path / "t.run"
    letor.write_text(LETOR)
    source.write_text(scores)
    assert gradeval.convert(source, target, qrels=letor, tag="model").queries == 2
    assert target.read_text() == "1 Q0 a 2 0.25 model\n1 Q0 b 1 0.75 model\n2 Q0 c 1 0.5 model\n"
    found, expected = (gradeval.evaluate(letor, one, "AP nDCG") for one in (target, source))
    assert found.runs[0].values.tolist() == expected.runs[0].values.tolist()


@pytest.mark.parametrize(
    ("source", "qrels", "message"),
    [
        (
            "0.5\n",
            None,
            "s: scores, one per line, need the LETOR file whose lines they are of. Give it with --qrels",
        ),
        ("1 Q0 a 1 1 t\n", LETOR, "qrels are for scores of LETOR lines only; s is of format trec"),
        ("0.5\n", "1 0 a 1\n", "l: this is not a LETOR file. scores, one per line, are of the lines of one"),
        ("0.5\n", LETOR, "s: there are 1 scores, but l has 3 lines of data"),
    ],
)
def test_scores_that_are_refused(tmp_path, monkeypatch, source, qrels, message):
    monkeypatch.chdir(tmp_path)
    Path("s").write_text(source)
    if qrels is not None:
        Path("l").write_text(qrels)
    with pytest.raises(GradevalError) as caught:
        gradeval.convert("s", "t.run", qrels=None if qrels is None else "l")
    assert str(caught.value).startswith(message)
    assert not Path("t.run").exists()
