"""The default order of tied scores: as in the file for LETOR's features and scores, else trec's."""

from pathlib import Path

import pytest
from helpers import each

from gradeval import Results, evaluate
from gradeval.notices import Kind

GRADES = (0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 3)
"""Of twelve documents: by number descending, as by trec's rule, 12 comes first; as bytes, 9 would."""


def dcg(*grades: int) -> float:
    from math import log2

    return sum(grade / log2(rank + 1) for rank, grade in enumerate(grades, 1))


def value(results: Results) -> float:
    return results.mean(0, "DCG")


@pytest.fixture
def letor(tmp_path: Path) -> Path:
    path = tmp_path / "letor"
    path.write_text("".join(f"{grade} qid:1 1:5\n" for grade in GRADES))
    return path


@each("kind", ["features", "scores"])
def test_letor(letor: Path, kind: str) -> None:
    scores = letor.with_name("scores")
    scores.write_text("1\n" * len(GRADES))
    run, more = (letor, {"features": 1}) if kind == "features" else (scores, {})
    assert value(evaluate(letor, run, "DCG", ties="input", **more)) == dcg(*GRADES)
    assert value(evaluate(letor, run, "DCG", ties="trec", **more)) == dcg(*GRADES[::-1])
    results = evaluate(letor, run, "DCG", **more)
    assert value(results) == dcg(*GRADES)
    assert results.runs[0].ties == "input"
    assert [notice.rule for notice in results.notices if notice.kind is Kind.TIES] == ["input"]


def test_ids_of_a_letor_file_compare_as_bytes(letor: Path) -> None:
    """Where a document has an id, and a run in TREC's format names documents by their positions."""
    letor.write_text("".join(f"{grade} qid:1 1:5 # {n}\n" for n, grade in enumerate(GRADES, 1)))
    order = sorted(range(1, 13), key=str, reverse=True)
    by_bytes = dcg(*(GRADES[n - 1] for n in order))
    assert value(evaluate(letor, letor, "DCG", features=1, ties="trec")) == by_bytes
    run = letor.with_name("run")
    run.write_text("".join(f"1 Q0 {n} 1 5 t\n" for n in range(1, 13)))
    results = evaluate(letor, run, "DCG")
    assert value(results) == by_bytes
    assert results.runs[0].ties == "trec"
