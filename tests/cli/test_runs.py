"""gradeval with many runs: lists of them, JSON lines as they are made, failures at once; saved results."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from helpers import each

from gradeval.evaluation import evaluation
from gradeval.evaluation.evaluation import evaluate_all
from gradeval.evaluation.outcome import Evaluated, ReducedRun
from gradeval.evaluation.plan import EvaluationSetting, Plan
from gradeval.options import Options
from gradeval.registry.spec import parse
from gradeval.render import WRITERS

from .command import RUN, fails, gradeval


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    """The runs r0 to r4, each with another document of q1 first, in a folder of their own."""
    os.mkdir("runs")
    for i, first in enumerate("abcde"):
        text = RUN.replace("q1 Q0 b 1 9", f"q1 Q0 {first} 1 {90 + i}")
        again = f"q1 Q0 {first} {'3' if first == 'a' else '4'} 7"
        Path(f"runs/r{i}.run").write_text(text.replace(again, "q1 Q0 y 3 7"))


def names(out: str) -> list[str]:
    return list(dict.fromkeys(line.split("\t")[0] for line in out.splitlines()[1:]))


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


def test_lines_come_in_the_order_of_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was printed when a run had been evaluated is there before the next one is."""
    shown: list[int] = []
    out, evaluate = Path("out"), evaluation.evaluate_run
    out.touch()

    def watched(setting: EvaluationSetting, run: ReducedRun, jobs: int) -> Evaluated:
        shown.append(len(out.read_text().splitlines()))
        return evaluate(setting, run, jobs)

    monkeypatch.setattr(evaluation, "evaluate_run", watched)
    monkeypatch.setattr("gradeval.cli.job.write", lambda text, *_, **__: out.open("a").write(text))
    runs = [f"runs/r{i}.run" for i in range(5)]
    assert gradeval("q", *runs, "-m", "AP RR", "-f", "jsonl", "--quiet", "-j", "1").code == 0
    assert shown == [0, 2, 4, 6, 8]
    rows = map(json.loads, out.read_text().splitlines())
    expected = [(f"r{i}", metric) for i in range(5) for metric in ("AP", "RR")]
    assert [(row["run"], row["metric"]) for row in rows] == expected


def test_a_failed_run_is_reported_at_once_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    evaluate = evaluation.evaluate_run

    def watched(setting: EvaluationSetting, run: ReducedRun, jobs: int) -> Evaluated:
        events.append(run.name)
        return evaluate(setting, run, jobs)

    monkeypatch.setattr(evaluation, "evaluate_run", watched)
    monkeypatch.setattr("gradeval.cli.job.echo_error", events.append)
    Path("bad").write_text("q1 Q0 a 1 x t\n")
    done = gradeval("q", "r", "none", "bad", "runs/r1.run", "-m", "AP", "--quiet", "-j", "1")
    assert done.code == 2
    assert names(done.out) == ["r", "r1"]
    missing, wrong = "none: no such file. Check the path", "bad:1: the score 'x' is not a number"
    assert events == ["r", missing, wrong, "r1"]


@each("tie_range", [False, True])
def test_summaries_are_all_that_is_printed_of_them(tie_range: bool) -> None:
    """Results without the values of queries print as those that have them."""
    runs = [(None, f"runs/r{i}.run") for i in range(3)]
    specs, options = parse("num_q AP runid gm_map rankDCG tau num_ret"), Options(tie_range=tie_range)
    kept = evaluate_all(Plan(specs, options), "q", runs)
    left = evaluate_all(Plan(specs, options, keeps_values=False), "q", runs)
    assert all(run.values.size == run.counted.size == 0 for run in left.runs)
    for format in WRITERS:
        assert left.render(format) == kept.render(format), format
    assert left.notices == kept.notices
    assert np.array_equal(left.means, kept.means, equal_nan=True)


QRELS = "".join(f"q{q} 0 d{d} {(q * d) % 3}\n" for q in range(5) for d in range(5))


@pytest.fixture(autouse=True)
def saved_files(folder: Path) -> None:
    Path("qrels").write_text(QRELS)
    for shift, name in enumerate("abc"):
        queries = range(4 if name == "b" else 5)
        rows = (f"q{q} Q0 d{d} 1 {(d * 7 + q + 2 * shift) % 5} t\n" for q in queries for d in range(5))
        Path(f"{name}.run").write_text("".join(rows))
    save("b.json", "b.run")


def save(path: str, *runs: str, metrics: str = "num_q AP nDCG@3 P@2 gm_map relstring") -> None:
    assert gradeval("qrels", *runs, "-m", metrics, "-q", "-f", "json", "-o", path, "--quiet").code == 0


@each("options", ["-q", "-f jsonl --sort AP", "-q --wide", "--queries both"])
def test_a_saved_result_is_as_good_as_its_run(options: str) -> None:
    options = ("-m", "num_q AP P@2", *options.split())
    if "--queries" in options:
        gradeval("qrels", "b.run", *options, "-q", "-f", "json", "-o", "b.json", "--quiet")
    expected = gradeval("qrels", "a.run", "b.run", "c.run", *options)
    assert expected.code == 0 and expected.err
    assert gradeval("qrels", "a.run", "b.json", "c.run", *options) == expected


def test_groups_and_results_that_are_no_run() -> None:
    save("all.json", "b.run", metrics="all_trec")
    done, expected = (gradeval("qrels", name, "-m", "all_trec") for name in ("all.json", "b.run"))
    others = ("runid", "gm_map", "gm_bpref")
    lines = [line for line in expected.out.splitlines() if line.split("\t")[2] not in others]
    assert done.out.splitlines() == lines
    said = "no number for each query, excluded: runid, gm_map, relstring, gm_bpref [excluded_metrics]"
    assert f"note: 4 metrics of groups have {said}" in done.lines
    # results that are no run
    place = "this saved result is in the place of the qrels. The qrels come first, then runs and saved results"
    assert fails("b.json", "a.run") == f"b.json: {place}"
    # one of Spark has no values per query; whatever reads saved results says so
    content = json.loads(Path("b.json").read_text())
    content["qrels"]["sha256"] = None
    for run in content["runs"]:
        del run["per_query"]
    Path("spark.json").write_text(json.dumps(content))
    said = "spark.json: run 'b' has no values per query"
    for command in ("qrels spark.json", "compare qrels a.run spark.json", "report qrels spark.json -o r.html"):
        assert fails(*command.split()).startswith(said)
    said = "spark.json: a saved result has no documents. Give the run that it was made from"
    assert fails("explain", "qrels", "spark.json", "-m", "AP", "--query", "q1") == said


@each("arguments, error", [
    (["-m", "gm_map"], "gm_map cannot be taken from a saved result, which has numbers per query"),
    (["-m", "AP relstring"], "relstring cannot be taken from a saved result"),
    (["--ignore-identical-ids"], "it was made with --ignore-identical-ids false, and here it is true"),
    (["--columns", "grade=x"], "it was made with --columns default, and here it is grade=x"),
    (["--bounds", "-m", "AP"], "it has no bounds. Save results with --bounds, or give the run itself"),
    (["--tie-range", "-m", "AP"], "it has no values of other orders of ties. Give the run itself"),
])  # fmt: skip
def test_what_does_not_agree_is_an_error_beside_the_other_runs(arguments: list[str], error: str) -> None:
    done = gradeval("qrels", "b.json", "a.run", *arguments, "--quiet")
    assert done.code == 2
    [line] = done.lines
    assert line.startswith(f"b.json: {error}")
    metrics = [] if "-m" in arguments else ["-m", "num_q AP nDCG@3 P@2"]
    arguments = [] if "--columns" in arguments else arguments  # which no file but the result can have
    assert done.out == gradeval("qrels", "a.run", *arguments, *metrics, "--quiet").out


LETOR = "2 1:3 2:1\n0 1:2 2:5\n1 1:1 2:2\n0 1:0 2:4\n2 1:2 2:2\n"


def test_group_sizes_are_part_of_what_a_result_is_made_from() -> None:
    Path("x").write_text(LETOR)
    for name, sizes in {"x.query": "3\n2\n", "same": "3\n2\n", "other": "1\n4\n"}.items():
        Path(name).write_text(sizes)
    error = "it was made from other group sizes (SHA-256 "
    for saved, groups in (("s.json", []), ("given.json", ["--groups", "same"])):
        call = ("x", "--feature", "2", "-m", "AP", "--quiet", *groups, "-q", "-f", "json", "-o", saved)
        assert gradeval(*call).code == 0
        assert (
            gradeval("x", saved, "--quiet").code
            == gradeval("x", saved, "--quiet", "--groups", "same").code
            == 0
        )
        assert fails("x", saved, "--groups", "other").startswith(f"{saved}: {error}")
    Path("x.query").write_text("1\n4\n")
    assert fails("x", "s.json").startswith(f"s.json: {error}")
    assert gradeval("gate", "x", "s.json", "--require", "AP >= 0").code == 2
    assert fails("compare", "x", "s.json", "given.json", "--groups", "other").startswith(f"s.json: {error}")
    content = json.loads(Path("s.json").read_text())
    del content["qrels"]["groups_sha256"]  # as before there were any
    Path("s.json").write_text(json.dumps(content))
    assert "from other group sizes (no file" in fails("x", "s.json")
