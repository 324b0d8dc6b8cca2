"""Attack: os.fork() while threads use an Evaluator: each child evaluates too, and ends with the same values."""

import os
import random
import signal
import threading
import time
import warnings

import gradeval

from .attack import Wrong

UNIT = "children"

METRICS = "AP nDCG@10 RR P@5 muAP tau ERR bpref Rndcg"
PATIENCE = 30  # seconds for a child, which takes a fraction of one


def make(rng: random.Random) -> tuple[int, int, int, bool, list[float]]:
    pauses = [rng.choice([0.0, 0.001, 0.01]) * rng.random() for _ in range(12)]
    return rng.choice([3, 40]), rng.choice([1, 3]), rng.choice([1, 2]), rng.random() < 0.7, pauses


def check(queries: int, threads: int, jobs: int, renews: bool, pauses: list[float]) -> int:
    """jobs: threads of an evaluation. renews: whether each has an evaluator of its own. pauses: before each
    fork, in seconds.
    """
    qrels = {f"q{q}": {f"d{d}": (q * 7 + d * 3) % 4 for d in range(40)} for q in range(queries)}
    run = {query: {f"d{d}": d * 17 % 40 / 40 for d in range(40)} for query in qrels}
    shared = gradeval.Evaluator(qrels, METRICS, jobs=jobs)

    def values() -> bytes:
        evaluator = gradeval.Evaluator(qrels, METRICS, jobs=jobs) if renews else shared
        results = evaluator.evaluate(run)
        results.notices  # which are found on first access
        return results.runs[0].values.tobytes()

    expected, is_over = values(), threading.Event()

    def work() -> None:
        while not is_over.is_set():
            values()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for thread in workers:
        thread.start()
    try:
        for pause in pauses:
            time.sleep(pause)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads
                child = os.fork()
            if not child:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(PATIENCE)
                code = 2
                try:
                    code = int(values() != expected)
                finally:
                    os._exit(code)
            if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
                hung = f"-{int(signal.SIGALRM)} where it hangs"
                raise Wrong(f"a child ends with {code}: 1 for other values, 2 for an error, {hung}")
    finally:
        is_over.set()
        for thread in workers:
            thread.join()
    return len(pauses)
