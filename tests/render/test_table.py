"""Tables for people: columns, names, numbers as text, and which of them are the best."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gradeval.evaluation.layout import document
from gradeval.registry.spec import Spec
from gradeval.render.document import Cell, Grid, RenderOptions
from gradeval.render.numbers import decimals
from gradeval.render.table import draw, shortened

NAN = float("nan")
BOLD, DIM, END = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def test_colour_marks_the_best(make) -> None:
    results = make("num_q muAP P@5", {"a": [[1], [0.5], [0.2]], "b": [[1], [0.25], [0.2]]})
    assert results.render("table", colour=True) == (
        "run  num_q     µAP     P@5\n"
        f"{DIM}──────────────────────────{END}\n"
        f"a        1  {BOLD}0.5000{END}  {BOLD}0.2000{END}\n"
        f"b        1  0.2500  {BOLD}0.2000{END}\n"
    )


def test_metrics_that_do_not_fit_go_to_a_further_table(make) -> None:
    metrics = [f"nDCG@{k}" for k in range(1, 21)]
    others = {f"best{n:04}": [[0.5]] * 20 for n in range(9)}  # too many to be columns
    results = make(" ".join(metrics), {"bm25": [[k / 100] for k in range(20)], **others})
    text = results.render("table", width=60, colour=True)
    plain = text.replace(BOLD, "").replace(DIM, "").replace(END, "")
    assert plain == results.render("table", width=60)
    assert max(map(len, plain.splitlines())) <= 60
    tables = [table.splitlines() for table in plain.split("\n\n")]
    assert len(tables) == 4
    assert [name for table in tables for name in table[0].split()[1:]] == metrics
    assert [v for table in tables for v in table[2].split()[1:]] == [f"{k / 100:.4f}" for k in range(20)]
    assert text.count(BOLD) == 20 * 9


def test_shortened() -> None:
    for names, room, short in (
        (["abcdefghij"], 5, ["ab…ij"]),
        (["abcdefghij"], 6, ["abc…ij"]),
        (["abcdefghij", "abc"], 10, ["abcdefghij", "abc"]),
        (["ab1cdefg", "ab2cdefg"], 5, ["ab1…fg", "ab2…fg"]),  # one more, so that they stay different
        (["検索検索検索"], 7, ["検索…索"]),
        ([], 5, []),
    ):
        assert shortened(names, room) == short


def test_titles_and_columns_of_grids_fit_where_they_can() -> None:
    head = ("metric", "the other metric", "a long number", "another one")
    grid = Grid("Agreement of the orders of systems by two metrics", head, [tuple(map(Cell, "abcd"))], labels=2)
    tables = list(draw(grid, False, 40))
    assert tables[0].startswith("Agreement of the orders of systems by\ntwo metrics\n")
    assert len(tables) == 2 and max(len(line) for table in tables for line in table.splitlines()) <= 40


def test_names_are_text(make) -> None:
    """They cannot steer the terminal, and are no markup."""
    results = make("AP", {"a\x1b[31m\n": [[0.5]]}, queries=["q\x07\x9b\u202e\u2028"])
    text = results.render("table", per_query=True)
    assert text.startswith("a\\x1b[31m\\n\nquery")
    assert "q\\x07\\x9b\\u202e\\u2028  0.5000" in text
    text = make("AP", {"[bold]:smile:": [[0.5]]}).render("table", colour=True)
    assert "[bold]:smile:  0.5000" in text


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
