"""gradeval with many runs: lists of them, JSON lines as they are made, the best of them, failures at once."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from helpers import each

from gradeval.evaluation import evaluate_all, evaluator
from gradeval.options import Options
from gradeval.registry.spec import parse
from gradeval.render import WRITERS

from .command import RUN, fails, gradeval


@pytest.fixture(autouse=True)
def files(folder: Path) -> Path:
    """The runs r0 to r4, each with another document of q1 first, in a folder of their own."""
    os.mkdir("runs")
    for i, first in enumerate("abcde"):
        text = RUN.replace("q1 Q0 b 1 9", f"q1 Q0 {first} 1 {90 + i}")
        again = f"q1 Q0 {first} {'3' if first == 'a' else '4'} 7"
        Path(f"runs/r{i}.run").write_text(text.replace(again, "q1 Q0 y 3 7"))
    return folder


def names(out: str) -> list[str]:
    return list(dict.fromkeys(line.split("\t")[0] for line in out.splitlines()[1:]))


# Lists of runs


def test_a_list_of_runs() -> None:
    Path("runs/list").write_text("# the runs\n\n  r1.run \r\nBest one=r0.run\nr2.run")
    done = gradeval("q", "r", "--runs-from", "runs/list", "-m", "AP", "--quiet")
    assert (done.code, done.err) == (0, "")
    assert names(done.out) == ["r", "r1", "Best one", "r2"]
    one_by_one = gradeval("q", "r", "runs/r1.run", "Best one=runs/r0.run", "runs/r2.run", "-m", "AP", "--quiet")
    assert done.out == one_by_one.out
    # lists that are refused
    once = "gradeval: '-' can be given once only: there is one standard input. Try 'gradeval --help'."
    for text, args, said in (
        ("# nothing\n\n", "list", "list: no runs given. Write a path, or NAME=path, on each line"),
        ("", "none", "none: no such file. Check the path"),
        ("#\nr # a\n", "list", "list:2: no such file 'r # a'. A comment is a line of its own"),
        ("-\n", "list -", once),
        ("a=r\na=q\n", "list", "gradeval: two runs have the label 'a': r and q"),
    ):  # fmt: skip
        Path("list").write_text(text)
        assert fails("q", "--runs-from", *args.split()) == said


# As they are made


def test_lines_come_in_the_order_of_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was printed when a run had been evaluated is there before the next one is."""
    shown: list[int] = []
    out, evaluate = Path("out"), evaluator.outcome_of
    out.touch()

    def watched(*args: object, **more: object) -> object:
        shown.append(len(out.read_text().splitlines()))
        return evaluate(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(evaluator, "outcome_of", watched)
    monkeypatch.setattr("gradeval.cli.output.write", lambda text, *_, **__: out.open("a").write(text))
    runs = [f"runs/r{i}.run" for i in range(5)]
    assert gradeval("q", *runs, "-m", "AP RR", "-f", "jsonl", "--quiet", "-j", "1").code == 0
    assert shown == [0, 2, 4, 6, 8]
    rows = map(json.loads, out.read_text().splitlines())
    expected = [(f"r{i}", metric) for i in range(5) for metric in ("AP", "RR")]
    assert [(row["run"], row["metric"]) for row in rows] == expected


# Failures


def test_a_failed_run_is_reported_at_once_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    evaluate = evaluator.outcome_of

    def watched(qrels: object, name: str, *args: object, **more: object) -> object:
        events.append(name)
        return evaluate(qrels, name, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(evaluator, "outcome_of", watched)
    monkeypatch.setattr("gradeval.cli.output.echo_error", events.append)
    Path("bad").write_text("q1 Q0 a 1 x t\n")
    done = gradeval("q", "r", "none", "bad", "runs/r1.run", "-m", "AP", "--quiet", "-j", "1")
    assert done.code == 2
    assert names(done.out) == ["r", "r1"]
    missing, wrong = "none: no such file. Check the path", "bad:1: the score 'x' is not a number"
    assert events == ["r", missing, "bad", wrong, "r1"]


# What is kept


@each("tie_range", [False, True])
def test_summaries_are_all_that_is_printed_of_them(tie_range: bool) -> None:
    """Results without the values of queries print as those that have them."""
    runs = [(None, f"runs/r{i}.run") for i in range(3)]
    specs, options = parse("num_q AP runid gm_map rankDCG tau num_ret"), Options(tie_range=tie_range)
    kept = evaluate_all("q", runs, specs, options)
    left = evaluate_all("q", runs, specs, options, keep_values=False)
    assert all(run.values.size == run.counted.size == 0 for run in left.runs)
    for format in WRITERS:
        assert left.render(format) == kept.render(format), format
    assert left.notices == kept.notices
    assert np.array_equal(left.means, kept.means, equal_nan=True)
