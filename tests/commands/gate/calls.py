"""gradeval gate as a shell calls it, on qrels of 60 queries and four runs of them."""

import shlex

from cli.command import Done, gradeval
from cli.graded import query_ids

QUERIES = query_ids(60)
CODES = {"gate held": 0, "gate failed": 1, "the gate could not decide": 2}


def save(run: str, *args: str, metrics: str = "nDCG@10 AP RR num_q tau") -> None:
    done = gradeval("qrels", f"{run}.run", "-m", metrics, "-q", "-f", "json", "-o", f"{run}.json", *args)
    assert done.code == 0, done.err


def gate(line: str) -> Done:
    """A gate as a shell calls it, whose last line is the verdict, with the exit code of the verdict."""
    done = gradeval("gate", *shlex.split(line))
    last_lines = [text.splitlines()[-1] for text in (done.out, done.err) if text]
    last = next(line for line in last_lines if line.partition(":")[0] in CODES)
    verdict = last.partition(":")[0]
    assert CODES[verdict] == done.code, done
    assert not (done.code == 2 and "held" in last)
    return done
