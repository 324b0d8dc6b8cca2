"""Peers that are libraries, each as a whole process: `python peers.py NAME FILE…`."""

import sys
import time
from pathlib import Path


def evaluate_with_pytrec_eval(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> None:
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut.10"})
    values = evaluator.evaluate(run)
    for metric in ("map", "ndcg_cut_10"):
        print(metric, format(sum(query[metric] for query in values.values()) / len(values), ".4f"))


def read(qrels_path: str, run_path: str) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """The way pytrec_eval's README reads files."""
    qrels: dict[str, dict[str, int]] = {}
    with Path(qrels_path).open() as file:
        for line in file:
            query, _, document, grade = line.split()
            qrels.setdefault(query, {})[document] = int(grade)
    run: dict[str, dict[str, float]] = {}
    with Path(run_path).open() as file:
        for line in file:
            query, _, document, _, score, _ = line.split()
            run.setdefault(query, {})[document] = float(score)
    return qrels, run


def pytrec_eval(qrels_path: str, run_path: str) -> None:
    evaluate_with_pytrec_eval(*read(qrels_path, run_path))


def scikit_learn(path: str) -> None:
    """Only reads; says how long that took without the import."""
    from sklearn.datasets import load_svmlight_file

    start = time.perf_counter()
    load_svmlight_file(path, query_id=True)
    print("reader", format(time.perf_counter() - start, ".3f"))


def scikit_learn_pytrec_eval(path: str) -> None:
    """Evaluates feature 1: what gradeval's values are compared with."""
    from sklearn.datasets import load_svmlight_file

    features, grades, queries = load_svmlight_file(path, query_id=True)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    scores = features[:, 0].toarray().ravel()
    columns = zip(queries.astype(str), grades.astype(int), scores, strict=True)
    for number, (query, grade, score) in enumerate(columns):
        qrels.setdefault(query, {})[str(number)] = int(grade)
        run.setdefault(query, {})[str(number)] = float(score)
    evaluate_with_pytrec_eval(qrels, run)


if __name__ == "__main__":
    name, *files = sys.argv[1:]
    {
        "pytrec_eval": pytrec_eval,
        "scikit-learn": scikit_learn,
        "scikit-learn+pytrec_eval": scikit_learn_pytrec_eval,
    }[name](*files)
