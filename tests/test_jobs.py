"""Threads change nothing, and systems that have too few are no hindrance."""

import random
import threading

import pytest
from evaluation.test_evaluation import RUN, qrels_text, run_text
from helpers import each

from gradeval import evaluate
from gradeval.evaluation import evaluator, outcome
from gradeval.formats import letor as letor_module
from gradeval.formats import trec
from gradeval.formats.sources import Source


@pytest.mark.parametrize("jobs", [1, 4])
def test_jobs_and_blocks_change_nothing(jobs, tmp_path, monkeypatch):
    """Several runs at once, each by several threads, in small blocks, one of them shuffled."""
    draw = random.Random(3)
    qrels = {f"q{q}": {f"d{draw.randrange(60)}": draw.randrange(4) for _ in range(12)} for q in range(30)}
    paths = []
    for name in ("a", "b", "c"):
        run = {
            q: {f"d{d}": draw.randrange(20) / 4 for d in draw.sample(range(60), 25)} for q in [*qrels, "other"]
        }
        lines = run_text(run).splitlines(keepends=True)
        if name == "b":
            draw.shuffle(lines)
        paths.append(tmp_path / name)
        paths[-1].write_bytes(b"".join(lines))
    judged = tmp_path / "qrels"
    judged.write_bytes(qrels_text(qrels))
    whole = evaluate(judged, paths, "AP nDCG@10 muAP num_ret", jobs=1)
    monkeypatch.setattr(Source.blocks, "__defaults__", (500,))
    cut = evaluate(judged, paths, "AP nDCG@10 muAP num_ret", jobs=jobs)
    assert cut.to_dict(per_query=True) == whole.to_dict(per_query=True)


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Evaluates files of several blocks and an iterator with so many threads, and gives the means."""
    judged, letor, run = (tmp_path / name for name in ("judged", "letor", "run"))
    judged.write_bytes(qrels_text() * 50)
    letor.write_bytes(b"".join(b"%d qid:%d 1:%d\n" % (n % 3, n // 10, n % 7) for n in range(100)))
    run.write_bytes(run_text() + b"".join(b"3 Q0 d%d 0 %d tag\n" % (n, n) for n in range(100)))
    monkeypatch.setattr(Source.blocks, "__defaults__", (60,))

    def evaluated(jobs):
        trec = evaluate(judged, [run, RUN, iter([("1", "a", 1.0)])], "AP num_ret", jobs=jobs)
        return trec.means.tolist(), evaluate(letor, letor, "AP", features=1, jobs=jobs).means.tolist()

    return evaluated


def test_a_system_that_allows_no_threads(calls, monkeypatch):
    def start(thread):
        raise RuntimeError("can't start new thread")

    alone = calls(1)
    monkeypatch.setattr(threading.Thread, "start", start)
    assert calls(64) == alone


STEPS = [
    *((trec, "qrels_columns"), (trec, "run_columns"), (letor_module, "_read_block")),
    *((evaluator, "outcome_of"), (outcome, "scored")),
]


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
