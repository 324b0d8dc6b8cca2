"""The command run in this process: what it returns and what it prints."""

import io
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from math import log2
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from gradeval.cli import run

# q1: ranks b x c a (c before a, whose score is the same, by document id); q2: e a f; q3 is not in the run, and
# q4 not in the qrels.
QRELS = """\
q1 0 a 3
q1 0 b 0
q1 0 c 1
q1 0 d 2
q2 0 a 1
q2 0 e 0
q2 0 f -1
q3 0 z 1
"""
RUN = """\
q1 Q0 b 1 9 tag
q1 Q0 x 2 8 tag
q1 Q0 a 3 7 tag
q1 Q0 c 4 7 tag
q2 Q0 e 1 5 tag
q2 Q0 a 2 4 tag
q2 Q0 f 3 3 tag
q4 Q0 a 1 1 tag
"""
LETOR = """\
2 qid:1 1:3 2:1 # a
0 qid:1 1:2 2:5 # b
1 qid:2 1:1 2:2 # c
0 qid:2 1:4 2:0 # d
"""


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()


class Stream(io.TextIOWrapper):
    def __init__(self, terminal: bool = False) -> None:
        self.kept = io.BytesIO()
        self.isatty = lambda: terminal
        super().__init__(self.kept, encoding="utf-8", errors="backslashreplace", write_through=True)

    @property
    def text(self) -> str:
        return self.kept.getvalue().decode("utf-8", "surrogateescape")


def gradeval(
    *args: object,
    stdin: Path | str | None = None,
    terminal: bool = False,
    errors_on_terminal: bool = False,
    together: bool = False,
) -> Done:
    """Run the command. stdin: the file it reads as standard input. terminal, errors_on_terminal: whether stdout
    and stderr are one. together: whether both are one stream.
    """
    out = Stream(terminal)
    err = out if together else Stream(errors_on_terminal)
    with (
        open(stdin or os.devnull) as file,
        mock.patch.object(sys, "stdin", file if stdin else sys.stdin),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = run([str(arg) for arg in args])
    assert "Traceback" not in err.text
    return Done(code, out.text, err.text)


def values(*args: object, run: str = "r") -> dict[tuple[str, str], float]:
    done = gradeval(*args, "--digits", "full", "-f", "tsv")
    assert done.code == 0, done.err
    head, *rows = (line.split("\t") for line in done.out.splitlines())
    assert head == ["run", "query", "metric", "value"] and {row[0] for row in rows} <= {run}
    return {(query, metric): float(value) for _, query, metric, value in rows}


def mean_of(*args: object, query: str = "all", metric: str = "AP") -> float:
    return values("q", "r", "-m", metric, *args)[query, metric]


def dcg(*gains: float) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1))


def fails(*args: object, stdin: Path | str | None = None) -> str:
    """What a call says that fails: exit code 2, nothing on stdout."""
    done = gradeval(*args, stdin=stdin)
    assert (done.code, done.out) == (2, "")
    return done.err.rstrip("\n")


def query_ids(count: int) -> list[str]:
    return [f"q{q:02}" for q in range(count)]


def write_graded(queries: Sequence[str], noise: Mapping[str, int], divisor: int = 1) -> None:
    """qrels of grades 0 to 3; for each name a run, whose scores are the grades, noise / divisor and d / 10."""

    def grade(q: int, d: int) -> int:
        return (q * 7 + d * 3) % 4

    rows = [(query, q, d) for q, query in enumerate(queries) for d in range(9)]
    Path("qrels").write_text("".join(f"{query} 0 d{d} {grade(q, d)}\n" for query, q, d in rows))
    for name, most in noise.items():
        scores = (grade(q, d) + (q * d * most) % (2 * most + 1) / divisor + d / 10 for _, q, d in rows)
        lines = (f"{query} Q0 d{d} 1 {score} t\n" for (query, _, d), score in zip(rows, scores, strict=True))
        Path(f"{name}.run").write_text("".join(lines))
