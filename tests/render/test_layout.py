from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradeval.evaluation.layout import document
from gradeval.registry.spec import Spec
from gradeval.render.document import Grid, RenderOptions
from gradeval.render.numbers import decimals

NAN = float("nan")


def texts(*values: float, whole: bool = False, digits=4, width: int = 0) -> list[str]:
    return decimals(np.array(values, float), whole, digits=digits, width=width)


def test_numbers() -> None:
    assert texts(0.12345, 1, NAN, -0.5) == ["0.1235", "1.0000", "nan", "-0.5000"]
    assert texts(0.12345, 12345.6, digits=0) == ["0", "12346"]
    assert texts(0.5, NAN, width=6) == ["0.5000", "   nan"]
    assert texts() == []


def test_half_goes_where_printf_sends_it() -> None:
    # 0.00005 is a little above a half as a double, 0.00015 a little below
    assert texts(0.00005, 0.00015) == ["0.0001", "0.0001"]


@pytest.mark.parametrize("value", [-0.0, -0.00001, -0.00004999])
def test_zero_has_no_sign(value: float) -> None:
    assert texts(value) == ["0.0000"]
    assert texts(value, digits=0) == ["0"]


def test_negative_zero_in_full() -> None:
    assert texts(-0.0, -1e-5, digits="full") == ["0.0", "-1e-05"]


def test_counts_are_whole_whatever_the_digits() -> None:
    assert texts(3, 0, NAN, whole=True) == ["3", "0", "nan"]
    assert texts(3, 1e15, whole=True, digits="full") == ["3", "1000000000000000"]
    assert texts(3, whole=True, width=6) == ["3"]


@given(st.lists(st.floats(allow_nan=False)))
def test_full_reads_back_equal(values: list[float]) -> None:
    assert [float(text) for text in texts(*values, digits="full")] == values


@given(st.lists(st.floats(-1e6, 1e6)), st.integers(0, 12))
def test_decimals_are_those_of_printf(values: list[float], digits: int) -> None:
    for text, value in zip(texts(*values, digits=digits), values, strict=True):
        assert float(text) == float(f"{value:.{digits}f}")
        assert not (text.startswith("-") and float(text) == 0)


def best(results, digits=4) -> set[tuple[int, int]]:
    [grid] = document(results, RenderOptions(digits=digits)).blocks()
    assert isinstance(grid, Grid)
    return {(r, c) for r, row in enumerate(grid.cells) for c, cell in enumerate(row) if cell.bold}


def test_best_of_each_column(make) -> None:
    runs = {"a": [[0.1], [0.9], [1]], "b": [[0.2], [0.8], [1]], "c": [[0.1], [0.9], [1]]}
    # column 0 is the name; ties are all best; counts are no contest
    assert best(make("AP nDCG@10 num_q", runs)) == {(1, 1), (0, 2), (2, 2)}


def test_values_that_read_the_same_are_equally_good(make) -> None:
    results = make("AP", {"a": [[0.12341]], "b": [[0.12342]]})
    assert best(results) == {(0, 1), (1, 1)}
    assert best(results, digits=5) == {(1, 1)}


def test_how_much_was_judged_is_no_contest(make) -> None:
    assert best(make("unj@5 AP", {"a": [[1], [0]], "b": [[0], [1]]})) == {(1, 2)}


def test_the_lowest_is_best_where_lower_is_better(make) -> None:
    results = make("AP RR", {"a": [[0.1], [0.1]], "b": [[0.2], [0.2]], "c": [[0.1], [NAN]]})
    error = replace(results.specs[0].metric, higher_is_better=False)
    results = replace(results, specs=(Spec(error), results.specs[1]))
    assert best(results) == {(0, 1), (2, 1), (1, 2)}


def test_undefined_is_never_best(make) -> None:
    runs = {"a": [[NAN], [NAN], [-1]], "b": [[0.0], [NAN], [NAN]]}
    assert best(make("AP rankDCG P@5", runs)) == {(1, 1), (0, 3)}


def test_a_single_run_has_no_best(make) -> None:
    assert best(make("AP", {"a": [[0.5]]})) == set()
