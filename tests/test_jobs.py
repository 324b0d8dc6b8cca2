"""Threads change nothing, and systems that have too few are no hindrance."""

import random
import threading

import pytest
from helpers import each

from gradeval import evaluate
from gradeval.evaluation import evaluator, outcome
from gradeval.formats import letor as letor_module
from gradeval.formats import trec
from gradeval.formats.sources import Source


def test_jobs_and_blocks_change_nothing(tmp_path, monkeypatch):
    """Several runs at once, each by several threads, in small blocks, one of them shuffled."""
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
    whole = evaluate(judged, paths, "AP nDCG@10 muAP num_ret", jobs=1)
    monkeypatch.setattr(Source.blocks, "__defaults__", (500,))
    for jobs in (1, 4):
        cut = evaluate(judged, paths, "AP nDCG@10 muAP num_ret", jobs=jobs)
        assert cut.to_dict(per_query=True) == whole.to_dict(per_query=True)


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Evaluates files of several blocks and an iterator with so many threads, and gives the means."""
    judged, letor, run = (tmp_path / name for name in ("judged", "letor", "run"))
    judged.write_text("".join(f"{q} 0 d{d} {d % 3}\n" for _ in range(9) for q in range(5) for d in range(20)))
    letor.write_text("".join(f"{n % 3} qid:{n // 10} 1:{n % 7}\n" for n in range(100)))
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
