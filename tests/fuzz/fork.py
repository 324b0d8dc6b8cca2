"""Attack: os.fork() while threads use an Evaluator: each child evaluates too, and ends with the same values."""

import os
import random
import signal
import threading
import time
import warnings
from dataclasses import dataclass

import numpy as np

import gradeval

from .attack import Wrong

UNIT = "children"

METRICS = "AP nDCG@10 RR P@5 muAP tau ERR bpref Rndcg"
PATIENCE = 30.0  # seconds for a child, which takes a fraction of one


@dataclass(frozen=True)
class Case:
    """pauses: before each fork, in seconds. jobs: threads of an evaluation. renews: whether each evaluation has
    an evaluator of its own.
    """

    seed: int
    queries: int
    threads: int
    jobs: int
    renews: bool
    pauses: list[float]


def make(rng: random.Random) -> Case:
    pauses = [rng.choice([0.0, 0.001, 0.01]) * rng.random() for _ in range(12)]
    numbers = rng.randrange(10**6), rng.choice([3, 40]), rng.choice([1, 3]), rng.choice([1, 2])
    return Case(*numbers, rng.random() < 0.7, pauses)


def check(case: Case) -> int:
    draw = np.random.default_rng(case.seed)
    ids = [f"d{d}" for d in range(40)]
    qrels = {
        f"q{q}": dict(zip(ids, draw.integers(0, 4, 40).tolist(), strict=True)) for q in range(case.queries)
    }
    run = {query: dict(zip(ids, draw.random(40).tolist(), strict=True)) for query in qrels}
    shared = gradeval.Evaluator(qrels, METRICS, jobs=case.jobs)

    def values() -> bytes:
        evaluator = gradeval.Evaluator(qrels, METRICS, jobs=case.jobs) if case.renews else shared
        results = evaluator.evaluate(run)
        results.notices  # which are found on first access
        return results.runs[0].values.tobytes()

    expected, is_over = values(), threading.Event()

    def work() -> None:
        while not is_over.is_set():
            values()

    threads = [threading.Thread(target=work) for _ in range(case.threads)]
    for thread in threads:
        thread.start()
    try:
        for pause in case.pauses:
            time.sleep(pause)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads
                child = os.fork()
            if not child:
                code = 2
                try:
                    code = int(values() != expected)
                finally:
                    os._exit(code)
            _wait(child)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    return len(case.pauses)


def _wait(child: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            if status:
                code = os.waitstatus_to_exitcode(status)
                raise Wrong(f"a child ends with {code}: 1 for other values, 2 for an error")
            return
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise Wrong("a child hangs")
