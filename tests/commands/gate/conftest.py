"""gradeval gate as a shell calls it, on qrels of 60 queries and four runs of them."""

import shlex
from pathlib import Path

import pytest
from cli.command import Done, gradeval, query_ids, write_graded

QUERIES = query_ids(60)
CODES = {"gate held": 0, "gate failed": 1, "the gate could not decide": 2}


@pytest.fixture
def gate_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """qrels of 60 queries; the runs good, fair and poor of them, and part, which lacks 6 queries."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    write_graded(QUERIES, {"good": 3, "fair": 5, "poor": 40}, divisor=3)
    Path("part.run").write_text("".join(Path("good.run").read_text().splitlines(keepends=True)[54:]))
    return folder


def save(run: str, *args: str, metrics: str = "nDCG@10 AP RR num_q tau") -> None:
    done = gradeval("qrels", f"{run}.run", "-m", metrics, "-q", "-f", "json", "-o", f"{run}.json", *args)
    assert done.code == 0, done.err


def gate(line: str) -> Done:
    """A gate whose last line is the verdict, with the exit code of the verdict."""
    done = gradeval("gate", *shlex.split(line))
    last_lines = [text.splitlines()[-1] for text in (done.out, done.err) if text]
    [last, *_] = [line for line in last_lines if line.partition(":")[0] in CODES]
    assert CODES[last.partition(":")[0]] == done.code, done
    assert not (done.code == 2 and "held" in last)
    return done
