"""What the groups of commands, study and plot, have in common: formats, help, errors; and the sample data."""

import csv
import io
import json
from pathlib import Path

from cli.command import fails, gradeval

SEARCH = Path(__file__).resolve().parents[2] / "sample_data" / "search"
QRELS, RUNS = str(SEARCH / "qrels.txt"), [str(SEARCH / f"{name}.run") for name in ("bm25", "dense", "hybrid")]


def check_formats(*call: str) -> None:
    """Each table of JSON is the CSV of that name, and --table has it; the first is the default, in TSV too.

    call: a command of a group, then its arguments.
    """
    from gradeval.cli import app

    def out(*options: str) -> str:
        done = gradeval(*call, *options)
        assert done.code == 0, done.err
        return done.out

    content = json.loads(out("-f", "json"))
    assert content[call[0]] == call[1]
    params = app.get_command(None, call[0]).commands[call[1]].params
    [choices] = [param.type.choices for param in params if param.name == "table"]
    for name, rows in content["tables"].items():
        lines = list(csv.reader(io.StringIO(out("-f", "csv", "--table", name, "--digits", "full"))))
        for line, row in zip(lines[1:], rows, strict=True):
            assert lines[0] == list(row)
            assert all(_is_same(*cell) for cell in zip(line, row.values(), strict=True))
        assert name in choices
    first = next(iter(content["tables"]))
    tsv = [line.split("\t") for line in out("-f", "tsv").splitlines()]
    assert tsv == list(csv.reader(io.StringIO(out("-f", "csv", "--table", first))))


def check_help(group: str, *names: str) -> None:
    """Without a command the help lists these; each has examples."""
    done = gradeval(group)
    assert (done.code, done.out) == (2, "")
    for name in names:
        assert name in done.err
        text = gradeval(group, name, "--help").out
        assert f"gradeval {group} {name}" in text.split("Examples:")[1]


def check_error(*call: str, says: str) -> None:
    text = fails(*call)
    assert says in text
    assert "\n" not in text


def _is_same(text: str, value: object) -> bool:
    """Whether the text of a cell is a value of JSON; undefined ones have several."""
    if isinstance(value, float):
        return float(text) == value
    if isinstance(value, bool):
        return text == ("yes" if value else "no")
    return value is None or text == str(value)
