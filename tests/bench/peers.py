"""Peers that are libraries, each as a whole process: `python peers.py NAME FILE…`."""

import sys
import time
from pathlib import Path

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def evaluate_with_pytrec_eval(qrels: Qrels, run: Run) -> None:
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut.10"})
    values = evaluator.evaluate(run)
    for metric in ("map", "ndcg_cut_10"):
        print(metric, format(sum(query[metric] for query in values.values()) / len(values), ".4f"))


def fuse_with_ranx(*paths: str) -> None:
    """The last path is where the fused run is written."""
    from ranx import Run as RanxRun
    from ranx import fuse

    runs = [RanxRun.from_file(path, kind="trec") for path in paths[:-1]]
    fuse(runs=runs, method="rrf").save(paths[-1], kind="trec")


def read(qrels_path: str, run_path: str) -> tuple[Qrels, Run]:
    """The way pytrec_eval's README reads files."""
    qrels: Qrels = {}
    with Path(qrels_path).open() as file:
        for line in file:
            query, _, document, grade = line.split()
            qrels.setdefault(query, {})[document] = int(grade)
    run: Run = {}
    with Path(run_path).open() as file:
        for line in file:
            query, _, document, _, score, _ = line.split()
            run.setdefault(query, {})[document] = float(score)
    return qrels, run


def main(name: str, *files: str) -> None:
    if name == "pytrec_eval":
        evaluate_with_pytrec_eval(*read(*files))
        return
    if name == "ranx":
        fuse_with_ranx(*files)
        return
    from sklearn.datasets import load_svmlight_file

    start = time.perf_counter()
    features, grades, queries = load_svmlight_file(*files, query_id=True)
    if name == "scikit-learn":  # only reads; says how long that took without the import
        print("reader", format(time.perf_counter() - start, ".3f"))
        return
    qrels: Qrels = {}  # of feature 1, for scikit-learn+pytrec_eval: what gradeval's values are compared with
    run: Run = {}
    columns = zip(queries.astype(str), grades.astype(int), features[:, 0].toarray().ravel(), strict=True)
    for number, (query, grade, score) in enumerate(columns):
        qrels.setdefault(query, {})[str(number)] = int(grade)
        run.setdefault(query, {})[str(number)] = float(score)
    evaluate_with_pytrec_eval(qrels, run)


if __name__ == "__main__":
    main(*sys.argv[1:])
