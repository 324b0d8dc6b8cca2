"""Threads and processes: they change nothing, systems with too few are no hindrance; what is pickled."""

import json
import os
import pickle
import random
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from copy import copy
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.command import gradeval as command
from helpers import each

import gradeval
from gradeval import errors, evaluate, process
from gradeval.arrays.strings import Ids, Texts
from gradeval.errors import (
    GradevalError,
    InputError,
    InputErrors,
    MetricError,
    OptionError,
    UnknownQueryError,
    UnsuitableOptionError,
)
from gradeval.evaluation import evaluation
from gradeval.evaluation.evaluation import Evaluation, evaluate_all
from gradeval.evaluation.plan import Plan
from gradeval.evaluation.results import FailedRun, Results, RunResult
from gradeval.evaluation.score import score
from gradeval.formats import letor as letor_module
from gradeval.formats import trec
from gradeval.formats.columns import Columns
from gradeval.formats.sources import Source
from gradeval.notices import Notice, NoticeKind
from gradeval.options import Options
from gradeval.records import fields_of
from gradeval.registry.metric import REGISTRY, load
from gradeval.registry.spec import parse
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import Qrels


def test_jobs_and_blocks_change_nothing(tmp_path, monkeypatch):
    """Several runs at once, each by several threads or processes, in small blocks; one is shuffled, one
    missing. Nor do these change what a progress bar is told.
    """
    draw = random.Random(3)
    qrels = {f"q{q}": {f"d{draw.randrange(60)}": draw.randrange(4) for _ in range(12)} for q in range(30)}
    judged, *paths = (tmp_path / name for name in ("qrels", "a", "b", "c"))
    judged.write_text("".join(f"{q} 0 {d} {grade}\n" for q, of in qrels.items() for d, grade in of.items()))
    for path in paths:
        pairs = [(q, d) for q in [*qrels, "x"] for d in draw.sample(range(60), 25)]
        lines = [f"{q} Q0 d{d} 0 {draw.randrange(20) / 4} tag\n" for q, d in pairs]
        if path.name == "b":
            draw.shuffle(lines)
        path.write_text("".join(lines))

    def evaluated(jobs: int) -> tuple[Any, ...]:
        told: list[tuple[int, int]] = []
        qrels, *runs = (
            Source(path, lambda *sizes: told.append(sizes)) for path in (judged, *paths, tmp_path / "missing")
        )
        results = evaluate(qrels, runs, "AP nDCG@10 muAP num_ret", jobs=jobs, errors="keep")
        [failed] = results.failed
        return results.to_dict(per_query=True), str(failed.error), [*map(sum, zip(*told, strict=True))]

    whole = evaluated(jobs=1)
    monkeypatch.setattr(Source.blocks, "__defaults__", (500,))
    assert evaluated(jobs=1) == evaluated(jobs=4) == whole
    if process.ON_LINUX:
        forks: list[int] = []
        fork = os.fork
        monkeypatch.setattr(os, "fork", lambda: forks.append(fork()) or forks[-1])
        monkeypatch.setattr(process, "may_fork", True)
        monkeypatch.setattr(evaluation, "_WORTH_PROCESSES", 0)
        monkeypatch.setattr(threading, "active_count", lambda: 1)  # pytest-xdist has some
        for jobs in (2, 11):
            assert evaluated(jobs) == whole
        assert len(forks) == 2 + 4


@pytest.mark.skipif(not process.ON_LINUX, reason="processes are forked on Linux only")
def test_a_process_that_ends_takes_its_run_only(tmp_path, monkeypatch):
    """The others are printed, and kept by batch --resume."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(process, "may_fork", True)
    monkeypatch.setattr(evaluation, "_WORTH_PROCESSES", 1)
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # pytest-xdist has some
    names, parent, evaluated = ("a", "b", "c", "d"), os.getpid(), []
    Path("q").write_text("1 0 x 1\n")
    for name in names:
        Path(name).write_text("1 Q0 x 1 1 t\n")
    opened = Evaluation._opened_runs

    def killed(self, waiting, position):
        label = waiting.runs[position][0]
        if os.getpid() != parent and label == "b":
            os.kill(os.getpid(), signal.SIGKILL)
        evaluated.append(label)
        return opened(self, waiting, position)

    monkeypatch.setattr(Evaluation, "_opened_runs", killed)
    done = command("q", *(f"{name}={name}" for name in names), "-m", "AP", "-j2", "-f", "tsv")
    ended = "b: a process that evaluates runs has ended, and so it was not evaluated. Where memory is short, "
    assert done.code == 2 and done.lines[0] == ended + "--jobs 1 takes less of it"
    assert done.out.splitlines()[1:] == [f"{name}\tall\tAP\t1.0000" for name in ("a", "c", "d")]
    manifest = {"metrics": "AP", "qrels": "q", "runs": "{system}", "systems": names, "collections": ["all"]}
    Path("m.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in manifest.items()))
    batch = ("batch", "m.toml", "-j2", "-o", "out.json", "--resume", "--quiet")
    assert command(*batch).code == 2
    cells = json.loads(Path("out.json").read_text())["cells"]
    assert [cell["status"] for cell in cells] == ["done", "failed", "done", "done"]
    assert command(*batch).code == 0 and evaluated == ["b"]


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Evaluates files of several blocks and an iterator with so many threads, and gives the means."""
    judged, letor, run = (tmp_path / name for name in ("judged", "letor", "run"))
    judged.write_text("".join(f"{q} 0 d{d} {d % 3}\n" for _ in range(3) for q in range(5) for d in range(20)))
    letor.write_text("".join(f"{n % 3} qid:{n // 10} 1:{n % 7}\n" for n in range(40)))
    run.write_text("".join(f"{n % 5} Q0 d{n} 0 {n * 7 % 40} tag\n" for n in range(100)))
    monkeypatch.setattr(Source.blocks, "__defaults__", (60,))

    def evaluated(jobs):
        runs = [run, {"1": {"d2": 1.0}}, iter([("1", "d1", 1.0)])]
        trec = evaluate(judged, runs, "AP num_ret", jobs=jobs)
        return trec.means.tolist(), evaluate(letor, letor, "AP", features=1, jobs=jobs).means.tolist()

    return evaluated


def test_a_system_that_allows_no_threads(calls, monkeypatch):
    def start(thread):
        raise RuntimeError("can't start new thread")

    alone = calls(1)
    monkeypatch.setattr(threading.Thread, "start", start)
    assert calls(64) == alone


STEPS = [(trec, "qrels_columns"), (trec, "run_columns"), (letor_module, "_read_block")]


@each("module, name", STEPS)
def test_a_system_without_memory_for_several_threads(module, name, calls, monkeypatch):
    alone = calls(1)
    step = getattr(module, name)
    failed = []

    def limited(*args, **more):
        if not failed:
            failed.append(name)
            raise MemoryError
        return step(*args, **more)

    monkeypatch.setattr(module, name, limited)
    assert calls(8) == alone
    assert failed == [name]


QRELS = {"q\udcff": {"a": 3, "b": 0, "c": 1}, "2": {"a": 1}, "3": {"z": 0}}
RUN = {"q\udcff": {"a": 0.2, "b": 0.9, "c": 0.2, "x": 0.1}, "3": {"z": 1.0}}
METRICS = "nDCG(gain=1:2/3:9)@5 relstring runid Q(beta=10) rankDCG num_q"


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal, to their last part; NaN is as NaN."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, GradevalError):
        return type(a) is type(b) and str(a) == str(b) and same(vars(a), vars(b))
    if isinstance(a, (Judgments, Results, RunResult, FailedRun)):
        return same(fields_of(a), fields_of(b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "offsets"):
        return same(a.offsets, b.offsets)
    return list(a) == list(b) if hasattr(a, "ids") else bool(a == b)


def results() -> Results:
    runs = [("mine", RUN), (None, "/no\udcff/such.run"), ("other", {"7": {"a": 1.0}})]
    return evaluate_all(Plan(parse(METRICS), Options(tie_range=True, rel=2)), QRELS, runs)


def judgments() -> Judgments:
    queries, documents = [b"a", b"a", b"b"], [b"1", b"2", b"1"]
    qrels = Qrels.of("qrels", [Columns.whole(Ids.of(queries), Ids.of(documents), np.array([2.0, 0, 1]))])
    rank, score = np.array([2.0, 1, np.inf]), np.array([0.5, 0.75, -np.inf])
    columns = rank, score, np.array([3, 0])
    return Judgments.of(qrels, slice(0, 2), *columns, relevance_level=2.0, tag="tag")


def test_specs_options_notices_and_ids() -> None:
    load()
    for metric in REGISTRY.values():
        for spec in parse(metric.usage):
            assert again(spec) == spec
            assert len(pickle.dumps(spec)) < 100 + len(str(spec))  # as their names
    options = Options(rel=2, query_ids=["a\udcff"], features="1,5-9", groups="x", tie_range=True)
    assert again(options) == options
    for kind in NoticeKind:
        notice = Notice(kind, "r\udcff", 3, "AP", ("q1", "q2"), "trec", 0.5, 0.25, 0.75, True)
        assert again(notice) == notice and str(again(notice)) == str(notice)
    texts = Texts(Ids.of([b"q\xff", b"a long id of a query"]))
    before = pickle.dumps(texts)
    assert list(again(texts)) == list(texts) == ["q\udcff", "a long id of a query"]
    assert pickle.dumps(texts) == before  # without their texts


def test_judgments_without_what_was_computed_from_them() -> None:
    table = judgments()
    before = len(pickle.dumps(table))
    specs = parse("AP nDCG@10 nDCGphi Rndcg relstring")
    values = score(table, specs)
    assert len(pickle.dumps(table)) == before
    assert same(again(table), table)
    assert same(score(again(table), specs), values)


def test_results() -> None:
    found = results()
    assert found.means.shape == (1, 6) and len(found.failed) == 2 and found.notices
    read = again(found)
    assert same(read, found) and same(read.runs[0], found.runs[0])
    assert same(read.means, found.means) and read.range(0, 3) == found.range(0, 3)
    assert read.to_dict(per_query=True) == found.to_dict(per_query=True)
    assert read.warnings == found.warnings and repr(read) == repr(found)


ERRORS = [
    GradevalError("one\x1b", "two"),
    InputError("a\nb", "wrong", line=3, hint="Try"),
    InputErrors([InputError("a", "wrong", line=1), InputError("a", "no")], 25, 30),
    errors.LowestFirstError("a", "a rank", hint="Try"),
    MetricError("nDGC", hint="did you mean nDCG?"),
    errors.NoExpectedValueError("no expected value"),
    OptionError("x"),
    UnsuitableOptionError("groups", "--groups x", "groups x"),
    UnknownQueryError(["q1", "q\udcff"], "qrels"),
]


def test_errors() -> None:
    classes = {value for value in vars(errors).values() if isinstance(value, type)}
    assert {type(error) for error in ERRORS} == {one for one in classes if issubclass(one, GradevalError)}
    for error in ERRORS:
        assert same(again(error), error)


@pytest.mark.slow
def test_processes() -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        table, specs = judgments(), parse("AP nDCG(gain=exp)@10")
        values = pool.submit(score, table, specs)
        found = pool.submit(evaluate_all, Plan(specs, Options(tie_range=True)), QRELS, [("mine", RUN)])
        wrong = pool.submit(gradeval.evaluate, QRELS, RUN, "nDGC@10")
        assert same(values.result(), score(table, specs))
        assert same(found.result(), evaluate_all(Plan(specs, Options(tie_range=True)), QRELS, [("mine", RUN)]))
        with pytest.raises(MetricError, match="did you mean nDCG@10") as caught:
            wrong.result()
        assert caught.value.hint == "did you mean nDCG@10?"
        assert same(pool.submit(copy, ERRORS).result(), ERRORS)
