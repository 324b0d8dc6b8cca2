"""Charts of characters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from gradeval.render.canvas import (
    ASCII,
    BLOCKS,
    HALVES,
    NO_STYLE,
    Canvas,
    Scale,
    beside,
    column_chart,
    labels,
    rounded,
    step_of,
    ticks,
    titled,
)

numbers = some.floats(-1e6, 1e6).map(lambda number: round(number, 6))


def column(*values):
    return np.array(values, np.float64)


def test_a_path_with_marks_and_axes():
    canvas = Canvas(9, 5, Scale(0, 4), Scale(0, 1))
    canvas.path(column(0, 4), column(0, 1), ("·", 0))
    canvas.marks([(0, 0), (4, 1)], ("o", 0))
    assert canvas.chart([0, 0.5, 1], [0, 2, 4], BLOCKS).lines() == [
        "  1.0 ┤       ·o",
        "      │      ·",
        "  0.5 ┤   ···",
        "      │  ·",
        "  0.0 ┤o·",
        "      └─────────",
        "       0   2   4",
    ]


def test_a_band():
    canvas = Canvas(3, 3, Scale(1, 3), Scale(0, 1))
    canvas.band(column(1, 2, 3), column(0, np.nan, 0.5), column(1, 1, 1), (":", 0))
    canvas.path(column(1, 2, 3), column(0.5, 0.5, np.nan), (".", 0))
    assert [line[7:] for line in canvas.chart([], [], ASCII).lines()] == [": :", "..:", ":", "---", ""]


def test_columns_of_eighths():
    y = column(1, 0.5, 0.24, 0.01, 0)
    assert column_chart(y, (0, 1), 1, 4, BLOCKS, (0, 1)).lines() == [
        " 1.00 ┤█",
        " 0.75 ┤█",
        " 0.50 ┤██",
        " 0.25 ┤███▁",
        " 0.00 └─────",
    ]


def test_columns_above_and_below():
    y = column(1, 0.5, -0.25, -0.75, -1)
    for glyphs, rows in (
        (HALVES, ["█", "██", "──", "  ▀██", "   ▀█"]),
        (ASCII, ["#", "##", "--", "  o##", "   o#"]),
    ):
        chart = column_chart(y, (-1, 1), 1, 4, glyphs, (0, 1))
        texts = [line[7:] for line in chart.lines()]
        assert [text[: len(row)] for text, row in zip(texts, rows, strict=True)] == rows
        styles = {style for row in chart.rows for character, style in row if character in "█▄▀#o"}
        assert styles == {0, 1}


def test_wide_columns_have_gaps():
    lines = column_chart(column(1, 1), (0, 1), 4, 1, BLOCKS, (0, 1)).lines()
    assert lines[0] == "    1 ┤███ ███"


def test_charts_beside_each_other():
    charts = [column_chart(column(*[1] * n), (0, 1), 1, n, BLOCKS, (0, 1)) for n in (1, 2)]
    titles = [titled(chart, ["a title"], "x") for chart in charts]
    assert beside(titles).lines() == [
        "a title    a title",
        "    1 ┤█     1.0 ┤██",
        "    0 └─     0.5 ┤██",
        "       x     0.0 └──",
        "                   x",
    ]


def test_wide_characters_take_two_columns():
    chart = column_chart(column(1), (0, 1), 1, 1, BLOCKS, (0, 1))
    assert beside([titled(chart, ["测试 wide"], ""), titled(chart, ["b"])]).lines()[0] == "测试 wide   b"
    assert beside([titled(chart, ["ascii 123"]), titled(chart, ["b"])]).lines()[0] == "ascii 123   b"


@given(numbers, numbers, some.integers(2, 20))
def test_ticks_are_few_and_within(one, other, most):
    low, high = sorted((one, other))
    for whole in (False, True):
        found = ticks(low, high, most, whole)
        assert len(found) <= most + 1
        slack = 1e-6 * max(abs(low), abs(high), 1e-300)
        assert all(low - slack <= value <= high + slack for value in found)
        assert not whole or all(value == round(value) for value in found)
    if high > low:
        assert step_of(high - low, most) * most >= (high - low) * (1 - 1e-6)
        ends = rounded(low, high, most, (None, None))
        assert ends[0] <= low + slack and ends[1] >= high - slack


def test_a_range_does_not_go_beyond_the_ends():
    assert rounded(0.01, 0.999, 10, (0.0, 1.0)) == (0.0, 1.0)
    assert rounded(0.93, 0.999, 2, (0.0, 1.0)) == (0.9, 1.0)
    assert rounded(0.5, 0.5, 4, (0.0, 1.0)) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "texts"),
    [((0, 1, 2), ["0", "1", "2"]), ((0.0, 0.25), ["0.00", "0.25"]), ((-0.0, -0.5), ["0.0", "-0.5"]), ((), [])],
)
def test_labels(values, texts):
    assert labels(values) == texts


@given(
    some.lists(some.floats(-1, 1).map(lambda number: round(number, 6)), min_size=1, max_size=30),
    some.integers(1, 8),
    some.integers(3, 20),
)
def test_any_columns_can_be_drawn(values, share, height):
    chart = column_chart(np.array(values), (min(values), max(values)), share, height, HALVES, (0, 1))
    assert len({len(row) for row in chart.rows}) == 1
    assert len(chart.rows) <= height + 3
    has = {character for row in chart.rows for character, style in row if style != NO_STYLE}
    assert bool(has) == any(values)
