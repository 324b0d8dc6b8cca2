"""What Python programs may give to evaluate, and what they may not."""

from __future__ import annotations

import io
import pickle
import uuid
from pathlib import Path

import numpy as np
import pytest

from gradeval import GradevalError, evaluate
from gradeval.errors import InputErrors

QRELS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1}, "3": {"d": 1}}
RUN = {"1": {"b": 3.0, "x": 2.0, "a": 1.0}, "2": {"a": 5.0}, "9": {"a": 1.0}}


@pytest.mark.parametrize(
    "rows",
    [
        lambda query: [(np.int64(query), "a", 1)],
        lambda query: list(zip(np.array([query]), np.array(["a"]), np.array([1.0]), strict=True)),
        lambda query: np.array([[query, "a", 1]], dtype=object),
        lambda query: np.array([(query, "a", 1.0)], dtype=[("q", int), ("d", "U1"), ("s", float)]),
        lambda query: [(uuid.UUID(int=query), "a", 1)],
    ],
)
def test_rows_of_any_type(rows):
    assert evaluate(rows(1), rows(1), "AP").means.tolist() == [[1.0]]
    assert evaluate(rows(1), [rows(1), rows(1)], "AP").means.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: evaluate("a\0b", RUN),
        lambda: evaluate(QRELS, Path("a\0b")),
        lambda: evaluate(QRELS, []),
        lambda: evaluate(io.StringIO("1 0 a 1\n"), RUN),
        lambda: evaluate([("1", "a")], RUN),
        *[lambda names=names: evaluate(QRELS, RUN, names) for names in (None, 5, ["AP", 5], b"AP", [b"AP"])],
        lambda: evaluate(QRELS, RUN, query_ids=5),
        lambda: evaluate(QRELS, RUN, query_ids=["\ud800"]),
        lambda: evaluate(QRELS, RUN, features=1.5),
        lambda: evaluate(QRELS, RUN, groups=3),
        lambda: evaluate(QRELS, RUN, rel=10**400),
        lambda: evaluate(QRELS, RUN, depth=True),
        lambda: evaluate(QRELS, RUN, judged_only="no"),
        lambda: evaluate(QRELS, RUN, "AP").mean(5, 0),
        lambda: evaluate(QRELS, RUN, "AP").mean(0, -2),
        lambda: evaluate(QRELS, RUN, "AP").render("tsv", digits=True),
    ],
)
def test_what_cannot_be_is_an_error_of_ours(call):
    """And one that another process can send."""
    with pytest.raises(GradevalError) as caught:
        call()
    sent = pickle.loads(pickle.dumps(caught.value))
    assert (type(sent), str(sent), vars(sent)) == (type(caught.value), str(caught.value), vars(caught.value))


def test_errors_of_several_lines_can_be_sent(tmp_path):
    (tmp_path / "q").write_text("1 0 a x\n1 0 b y\n")
    with pytest.raises(InputErrors) as caught:
        evaluate(tmp_path / "q", RUN)
    sent = pickle.loads(pickle.dumps(caught.value))
    assert [str(error) for error in sent.errors] == str(caught.value).splitlines()
    assert [error.line for error in sent.errors] == [1, 2]


def test_numbers_of_numpy():
    options = {"rel": np.float32(1), "depth": np.int64(9), "jobs": np.int32(2), "judged_only": np.True_}
    results = evaluate(QRELS, RUN, "AP", query_ids=[b"1"], **options)
    assert results.options["depth"] == 9
    assert results.mean(np.int64(0), np.int64(-1)) == evaluate(
        QRELS, RUN, "AP(judged_only=true)", query_ids="1"
    ).mean(0, 0)
    with pytest.raises(ValueError, match="read-only"):
        results.means[0] = 7
