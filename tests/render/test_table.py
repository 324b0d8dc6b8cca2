from gradeval.render.document import Cell, Grid
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
