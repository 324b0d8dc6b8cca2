"""Z-scores: the file, and what becomes of values and means."""

from math import exp, log

import numpy as np
import pytest
from helpers import each, error_of

from gradeval.errors import InputError
from gradeval.evaluation.results import Results, RunResult
from gradeval.evaluation.zscores import UNKNOWN, standardized
from gradeval.formats.lines import read_zscores
from gradeval.registry.spec import parse

NAN = float("nan")


def test_read(tmp_path):
    file = tmp_path / "z"
    file.write_bytes(b"\n q1\tmap 0.5  0.25\r\nq\xff map -1 0\nq1 P_5 1e-1 2\n\n")
    assert read_zscores(str(file)) == {
        ("q1", "map"): (0.5, 0.25),
        ("q\udcff", "map"): (-1, 0),
        ("q1", "P_5"): (0.1, 2),
    }


@each(
    ("text", "what"),
    [
        ("q map 1 2\nq map 1\n", ":2: 3 fields where a line has 4"),
        ("q\n", ":1: 1 field where"),
        ("q map 1 2 3\n", ":1: 5 fields"),
        ("q map x 2\n", ":1: 'x 2' are not two numbers"),
        ("q map nan 2\n", ":1: 'nan 2' are not two numbers"),
        ("q map ١ 2\n", ":1: '١ 2' are not two numbers"),
        ("q map 1_0 2\n", ":1: '1_0 2' are not two numbers"),
        ("q map 1 2\n\nq map 1 2\n", ":3: duplicate map of query 'q'"),
        ("\n\n", ": the file is empty"),
    ],
)
def test_bad_file(tmp_path, text, what):
    file = tmp_path / "z"
    file.write_text(text)
    assert error_of(InputError, read_zscores, str(file)).startswith(f"{file}{what}")


def results(metrics, values, texts=None):
    size = len(values[0])
    run = RunResult(
        "r", "r", None, np.array(values, float), np.array([True] * (size - 1) + [False]), texts or {}
    )
    return Results("q", None, tuple(f"q{n}" for n in range(1, size + 1)), tuple(parse(metrics)), (run,))


def test_values_and_means():
    before = results("AP num_ret", [[0.5, 0.25, 9], [4, 6, 9]])
    scores = {("q1", "map"): (0.25, 0.5), ("q2", "map"): (0.25, 0), ("q1", "num_ret"): (1, 2)}
    after = standardized(before, ["map", "num_ret"], scores, False)
    assert after.per_query(0, 0) == {"q1": 0.5, "q2": 0.0}
    assert after.per_query(0, 1) == {"q1": 1.5, "q2": UNKNOWN}
    assert after.means.tolist() == [[0.25, 1.5 + UNKNOWN]]
    assert not any(spec.metric.is_count for spec in after.specs)
    assert before.per_query(0, 0) == {"q1": 0.5, "q2": 0.25}
    known = {**scores, ("q2", "map"): (0.3, 0)}
    assert standardized(before, ["map", "num_ret"], known, False).per_query(0, 0)["q2"] == UNKNOWN


def test_a_geometric_mean_is_of_logarithms():
    before = results("gm_map", [[0.5, 0, 9]])
    scores = {("q1", "gm_map"): (-1, 2), ("q2", "gm_map"): (-10, 4)}
    after = standardized(before, ["gm_map"], scores, False)
    first, second = (log(0.5) + 1) / 2, (log(1e-5) + 10) / 4
    assert after.per_query(0, 0) == {"q1": pytest.approx(first), "q2": pytest.approx(second)}
    assert after.means.tolist() == [[pytest.approx(exp((first + second) / 2))]]


@each(("complete", "relevant"), [(False, 3 * UNKNOWN), (True, 6)])
def test_counts_that_stay(complete, relevant):
    before = results("num_q num_rel", [[1, 1, 1, 1], [1, 2, 3, 9]])
    after = standardized(before, ["num_q", "num_rel"], {("q", "map"): (1, 1)}, complete)
    assert after.means.tolist() == [[3, relevant]]


def test_texts_stay():
    before = results("relstring AP", [[NAN] * 2, [0.5] * 2], {0: ["10", "-"]})
    after = standardized(before, ["relstring", "map"], {("q1", "map"): (0.5, 0)}, False)
    assert after.texts(0, 0) == {"q1": "10"}
    assert after.per_query(0, 1) == {"q1": 0.0}
