"""gradeval compare: what it prints, and its rows."""

import csv
import io

from cli.command import Done, gradeval


def compare(*args: object, **more: object) -> Done:
    done = gradeval("compare", *args, **more)  # type: ignore[arg-type]
    assert done.code == 0, done.err
    return done


def rows(*args: object) -> list[dict[str, str]]:
    """The comparisons as tsv has them."""
    return list(csv.DictReader(io.StringIO(compare(*args, "--quiet").out), delimiter="\t"))


def per_query(run: str, metric: str) -> dict[str, float]:
    done = gradeval("qrels", run, "-m", metric, "-q", "-n", "--digits", "full", "--quiet")
    lines = [line.split("\t") for line in done.out.splitlines()[1:]]
    return {query: float(value) for _, query, _, value in lines}
