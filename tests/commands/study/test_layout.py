"""Studies as text."""

from gradeval.commands.study.tables import Study, Table

ROWS = [("a\tb", 1, 0.12345, True, 2.0, 7), ('c",\x1b[2J', 20, float("nan"), False, None, 7)]
STUDY = Study(
    name="example",
    options={"metrics": ["AP", "nDCG"], "alpha": 0.05, "seed": 7, "evaluation": {"rel": None}},
    tables=(
        Table("hidden", "Not shown", ("run", "value"), [("r", -0.0)], shown=False),
        Table("first", "What it is", ("run", "count", "value", "holds", "threshold", "seed"), ROWS),
        Table("wide", "Shown only", ("run", *map(str, range(12))), [("r", *[0.5] * 12)], data=False),
    ),
)


def test_table():
    text = STUDY.render("table", width=60)
    assert text == (
        "What it is\n"
        "run         count   value  holds  threshold\n"
        "───────────────────────────────────────────\n"
        "a\\tb            1  0.1235    yes          2\n"
        'c",\\x1b[2J     20     nan     no\n'
        "\nShown only\n"
        "run       0       1       2       3       4       5       6\n"
        "───────────────────────────────────────────────────────────\n"
        "r    0.5000  0.5000  0.5000  0.5000  0.5000  0.5000  0.5000\n"
        "\n"
        "run       7       8       9      10      11\n"
        "───────────────────────────────────────────\n"
        "r    0.5000  0.5000  0.5000  0.5000  0.5000\n"
        "\nexample: metrics AP, nDCG; alpha 0.05; seed 7\n"
    )
