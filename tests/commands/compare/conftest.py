"""Files to compare, in the current folder, and what gradeval compare prints of them."""

import csv
import io
from pathlib import Path

import pytest
from cli.command import Done, gradeval, query_ids, write_graded


@pytest.fixture
def compare_files(folder: Path) -> Path:
    """qrels of 30 queries; the runs good, fair and poor of them; and the files of folder."""
    write_graded(query_ids(30), {"good": 3, "fair": 5, "poor": 7})
    return folder


def compare(*args: object, stdin: str | None = None) -> Done:
    done = gradeval("compare", *args, stdin=stdin)
    assert done.code == 0, done.err
    return done


def rows(*args: object) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(compare(*args, "--quiet").out), delimiter="\t"))


def runs_of(*args: object) -> list[tuple[str, str]]:
    return [(row["baseline"], row["run"]) for row in rows(*args)]


def per_query(run: str, metric: str) -> dict[str, float]:
    done = gradeval("qrels", run, "-m", metric, "-q", "-n", "--digits", "full", "--quiet")
    lines = [line.split("\t") for line in done.out.splitlines()[1:]]
    return {query: float(value) for _, query, _, value in lines}
