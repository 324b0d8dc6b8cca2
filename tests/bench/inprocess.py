"""gradeval and its peers as libraries, in one process: `python inprocess.py QRELS RUN`.

Prints a line for each measurement, its name and its median of interleaved calls: seconds, or for a ratio what
the first takes of the second.
"""

import statistics
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import gradeval
from gradeval import pytrec_eval as dialect

SHAPES = {"64 x 100": 201, "1,024 x 100": 41, "500 x 5,000": 7}  # queries and documents of each -> calls
METRICS, MEASURES = "AP nDCG@10", {"map", "ndcg_cut.10"}
ROWS = 10**7


def interleaved(calls: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """The median seconds of each call."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeat):
        for name in list(calls)[:: -1 if turn % 2 else 1]:
            start = time.perf_counter()
            calls[name]()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in seconds.items()}


def say(name: str, value: float) -> None:
    print(f"{name}\t{value:.6f}", flush=True)


def of_dicts(qrels: Any, run: Any) -> None:
    import pytrec_eval

    found = interleaved(
        {
            "ours": lambda: gradeval.evaluate(qrels, run, METRICS),
            "theirs": lambda: pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run),
            "dialect": lambda: dialect.RelevanceEvaluator(qrels, MEASURES).evaluate(run),
        },
        5,
    )
    say("dicts", found["ours"])
    say("dicts, of pytrec_eval", found["ours"] / found["theirs"])
    say("gradeval.pytrec_eval, of pytrec_eval", found["dialect"] / found["theirs"])
    some = {query: dict(islice(documents.items(), 100)) for query, documents in islice(run.items(), 50)}
    judged = {query: qrels[query] for query in some}
    evaluator, peer = gradeval.Evaluator(judged, METRICS), pytrec_eval.RelevanceEvaluator(judged, MEASURES)
    query = next(iter(run))
    one = {query: dict(islice(run[query].items(), 10))}
    single = gradeval.Evaluator({query: qrels[query]}, METRICS)
    calls = {"ours": lambda: evaluator.evaluate(some), "theirs": lambda: peer.evaluate(some)}
    found = interleaved({**calls, "one": lambda: single.evaluate(one)}, 101)
    say("Evaluator, 50 x 100", found["ours"])
    say("Evaluator, 50 x 100, of pytrec_eval", found["ours"] / found["theirs"])
    say("Evaluator, one query of 10", found["one"])


def of_frames(qrels: Any, run: Any) -> None:
    import ir_measures
    import pandas

    names = ["query_id", "doc_id", "score"]
    judgments, rows = (
        [(query, document, number) for query, of in data.items() for document, number in of.items()]
        for data in (qrels, run)
    )
    frame = pandas.DataFrame(rows, columns=names)
    judged = pandas.DataFrame(judgments, columns=[*names[:2], "relevance"])
    calls: dict[str, Callable[[], object]] = {"pandas": lambda: gradeval.evaluate(judged, frame, METRICS)}
    if find_spec("polars"):
        import polars

        table = polars.DataFrame(rows, schema=names, orient="row")
        calls["polars"] = lambda: gradeval.evaluate(judged, table, METRICS)
    measures = [ir_measures.parse_measure(name) for name in METRICS.split()]
    theirs = interleaved({"": lambda: ir_measures.calc_aggregate(measures, judged, frame)}, 1)[""]
    for name, seconds in interleaved(calls, 5).items():
        say(name, seconds)
        say(f"{name}, of ir_measures", seconds / theirs)


def of_memory() -> None:
    """What the evaluation of ROWS rows from Arrow adds to the frame's own memory."""
    import polars

    def peak() -> float:
        """The largest resident set since it was reset, in MiB."""
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024

    numbers = polars.int_range(ROWS, eager=True)
    rank = polars.Series(np.arange(ROWS) % 1000)
    frame = polars.DataFrame(
        {
            "query_id": (numbers // 1000).cast(polars.String),
            "doc_id": "document-" + numbers.cast(polars.String),
            "score": 1000.0 - rank,
        }
    )
    judged = frame.filter(rank < 20).rename({"score": "relevance"}).with_columns(relevance=polars.lit(1.0))
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    gradeval.evaluate(judged, frame, METRICS)
    say("10^7 rows from Arrow, MiB added", peak() - before)


def by_hand(grade: Any, score: Any) -> dict[str, float]:
    """nDCG@10, RR@10 and R@100 as written for a training loop, with numpy alone; equal scores as they stand."""
    ranked = grade
    if score.shape[1] > 100:
        first = np.argpartition(-score, 99, axis=1)[:, :100]
        ranked, score = np.take_along_axis(grade, first, 1), np.take_along_axis(score, first, 1)
    ranked = np.take_along_axis(ranked, np.argsort(-score, axis=1, kind="stable"), 1)
    ideal = -np.sort(-(grade if grade.shape[1] < 11 else -np.partition(-grade, 9, axis=1)[:, :10]), axis=1)
    discount = 1 / np.log2(np.arange(2, 12))
    is_hit = ranked[:, :10] > 0
    values = {
        "nDCG@10": ranked[:, :10] @ discount / (ideal[:, :10] @ discount),
        "RR@10": np.where(is_hit.any(axis=1), 1 / (is_hit.argmax(axis=1) + 1), 0),
        "R@100": (ranked > 0).sum(axis=1) / (grade > 0).sum(axis=1),
    }
    return {metric: float(of_queries.mean()) for metric, of_queries in values.items()}


def of_arrays() -> None:
    """Batches of padded rows, all documents judged."""
    for shape, calls in SHAPES.items():
        size = [int(number.replace(",", "")) for number in shape.split(" x ")]
        rng = np.random.default_rng(1)
        arrays: dict[str, Any] = {"grade": rng.integers(0, 5, size).astype(float), "score": rng.random(size)}
        tools: dict[str, Callable[[], Any]] = {
            "ours": lambda: gradeval.score_arrays("nDCG@10 RR@10 R@100", **arrays),  # noqa: B023
            "numpy by hand": lambda: by_hand(**arrays),  # noqa: B023
        }
        if find_spec("sklearn"):
            from sklearn.metrics import ndcg_score

            tools["scikit-learn's nDCG@10"] = lambda: ndcg_score(arrays["grade"], arrays["score"], k=10)  # noqa: B023
        assert np.allclose([*tools["ours"]().values()], [*tools["numpy by hand"]().values()])
        seconds = interleaved(tools, calls)
        say(f"score_arrays, {shape}", seconds["ours"])
        for peer in [*tools][1:]:
            say(f"score_arrays, {shape}, of {peer}", seconds["ours"] / seconds[peer])


def main(qrels_path: str, run_path: str) -> None:
    from peers import read  # beside this script

    of_arrays()
    data = read(qrels_path, run_path)
    if find_spec("pytrec_eval"):
        of_dicts(*data)
    if find_spec("ir_measures") and find_spec("pandas"):
        of_frames(*data)
    del data
    if find_spec("polars") and Path("/proc/self/clear_refs").exists():
        of_memory()


if __name__ == "__main__":
    main(*sys.argv[1:])
