"""Numbers as text, and which of them are the best."""

import numpy as np
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
    """Halves go where printf sends them, zero has no sign, and counts are whole whatever the digits."""
    for values, how, expected in (
        ((0.12345, 1, NAN, -0.5), {}, ["0.1235", "1.0000", "nan", "-0.5000"]),
        ((0.12345, 12345.6), {"digits": 0}, ["0", "12346"]),
        ((0.5, NAN), {"width": 6}, ["0.5000", "   nan"]),
        ((), {}, []),
        # 0.00005 is a little above a half as a double, 0.00015 a little below
        ((0.00005, 0.00015), {}, ["0.0001", "0.0001"]),
        ((-0.0, -0.00001, -0.00004999), {}, ["0.0000"] * 3),
        ((-0.0, -0.00001), {"digits": 0}, ["0", "0"]),
        ((-0.0, -1e-5), {"digits": "full"}, ["0.0", "-1e-05"]),
        ((3, 0, NAN), {"whole": True}, ["3", "0", "nan"]),
        ((3, 1e15), {"whole": True, "digits": "full"}, ["3", "1000000000000000"]),
        ((3,), {"whole": True, "width": 6}, ["3"]),
    ):
        assert texts(*values, **how) == expected


@given(st.lists(st.floats(-1e6, 1e6)), st.integers(0, 12))
def test_decimals_are_those_of_printf(values: list[float], digits: int) -> None:
    for text, value in zip(texts(*values, digits=digits), values, strict=True):
        assert float(text) == float(f"{value:.{digits}f}")
        assert not (text.startswith("-") and float(text) == 0)
    assert [float(text) for text in texts(*values, digits="full")] == values


def test_many_values_are_written_as_one() -> None:
    """What is looked up by units of the last decimal, against each value by itself."""
    draw = np.random.default_rng(4)
    halves = (draw.integers(0, 2000, 60) + 0.5) / 10.0 ** draw.integers(0, 8, 60)
    near = np.concatenate([np.nextafter(halves, 0), halves, np.nextafter(halves, np.inf)])
    odd = [np.nan, 0, -0.0, 1e9, 1e300]
    values = np.concatenate([near, -near, draw.random(80), draw.integers(0, 5, 80), odd])
    counts = draw.integers(0, 50, 80).astype(float)
    for digits in (0, 1, 2, 4, 6, 7, "full"):
        for signed in (False, True):
            how = {"digits": digits, "signed": signed, "width": 6}
            for chosen in (values, draw.permutation(values), np.repeat(values[:40], 9)):
                single = [decimals(np.array([value]), False, **how) for value in chosen.tolist()]
                assert decimals(chosen, False, **how) == [text for [text] in single]
            assert decimals(counts, True, digits=digits) == [str(int(count)) for count in counts]


def best(results, digits=4) -> set[tuple[int, int]]:
    [grid] = document(results, RenderOptions(digits=digits)).blocks()
    assert isinstance(grid, Grid)
    return {(r, c) for r, row in enumerate(grid.cells) for c, cell in enumerate(row) if cell.bold}


def test_the_best_of_each_column(make) -> None:
    """Ties are all best; counts and how much was judged are no contest; column 0 is the name."""
    for metrics, runs, expected in (
        ("AP nDCG@10 num_q", ([0.1, 0.9, 1], [0.2, 0.8, 1], [0.1, 0.9, 1]), {(1, 1), (0, 2), (2, 2)}),
        ("unj@5 AP", ([1, 0], [0, 1]), {(1, 2)}),
        ("AP rankDCG P@5", ([NAN, NAN, -1], [0.0, NAN, NAN]), {(1, 1), (0, 3)}),  # undefined is never best
        ("AP", ([0.5],), set()),
    ):
        results = make(metrics, {str(r): [[value] for value in run] for r, run in enumerate(runs)})
        assert best(results) == expected
    results = make("AP", {"a": [[0.12341]], "b": [[0.12342]]})
    assert best(results) == {(0, 1), (1, 1)}  # they read the same
    assert best(results, digits=5) == {(1, 1)}
    results = make("AP RR", {"a": [[0.1], [0.1]], "b": [[0.2], [0.2]], "c": [[0.1], [NAN]]})
    error = results.specs[0].metric.replace(higher_is_better=False)
    results = results.replace(specs=(Spec(error), results.specs[1]))
    assert best(results) == {(0, 1), (2, 1), (1, 2)}  # where lower is better
