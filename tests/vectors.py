"""The conformance vectors: small inputs, options, and the values that the references of reference.py have.

python tests/vectors.py writes gradeval/registry/vectors.json; `gradeval metrics --vectors` prints it.
No kernel of gradeval has a part in the values: of gradeval are only the names of metrics and parameters, which
queries count as without a relevant document (Metric.needs_relevant), and the sources of the pages.
"""

import json
import math
from collections.abc import Iterator, Mapping
from itertools import groupby, permutations, product
from pathlib import Path
from typing import Any

from helpers import with_needed
from metrics.reference import DIVERSITY, NAN, REFERENCE, Topic, diversity, ranked

from gradeval.registry.metric import GEOMETRIC_MIN, REGISTRY, Kind, Metric
from gradeval.registry.pages import list_metrics
from gradeval.registry.spec import parse

FILE = Path(__file__).parents[1] / "gradeval" / "registry" / "vectors.json"
VERSION = 1  # of the format
BY_SCORE = ("tau", "rho", "pearson", "AUC", "rankDCG")  # tied scores are tied, for each by its own rule

Grades = dict[str, dict[str, float]]
Row = tuple[str, str, str, float]
"""query, subtopic, document, grade"""

# Queries are named after what they try. Unless said otherwise documents are a, b, c, … by rank.
QRELS: Grades = {
    "plain": {"a": 3, "b": 2, "c": 3, "d": 0, "e": 1, "f": 2},
    "unjudged": {"b": 1, "d": 2, "f": 1, "y": 4, "z": 0},
    "tied": {"a": 1, "b": 0, "c": 2, "d": 3, "e": 0},
    "tied-bytes": {"Z": 1, "a": 0, "é": 2, "z10": 0, "z9": 1},
    "negative-grades": {"a": -1, "b": 2, "c": -2, "d": 0, "e": 1},
    "real-grades": {"a": 0.5, "b": 2.25, "c": 1.5, "d": 0.1, "e": 3.75},
    "run-lacks-it": {"a": 1, "b": 0, "c": 3},
    "nothing-relevant": {"a": 0, "b": 0, "c": -1},
    "one-grade": {"a": 1, "b": 1, "c": 1, "d": 1},
    "one-document": {"a": 2, "b": 1, "c": 0},
    "nothing-judged": {"a": 1, "b": 2, "c": 0},
    "close-scores": {"a": 0, "b": 1, "c": 4, "d": 2},
    "long": {"a": 1, "c": 0, "d": 2, "e": 0, "g": 1, "k": 3, "m": 1, "n": 0, "x": 2, "y": 1},
}
RUN: Grades = {
    "plain": {"a": 6.5, "b": 5, "c": 4, "d": 3, "e": 2},
    "unjudged": {"a": 9, "b": 8, "c": 7, "d": 6, "e": 5, "f": 4},
    "tied": {"b": 2, "a": 2, "d": 1, "c": 2, "e": 1, "f": 1},
    "tied-bytes": {"é": 1, "z9": 1, "a": 1, "z10": 1, "Z": 1},
    "negative-grades": {"a": 5, "b": 4, "c": 3, "d": 2, "e": 1},
    "real-grades": {"d": 5, "a": 4, "e": 3, "b": 2, "c": 1},
    "nothing-relevant": {"a": 3, "b": 2, "c": 1},
    "one-grade": {"a": 4, "x": 3, "b": 2, "c": 1},
    "one-document": {"a": 1},
    "nothing-judged": {"x": 2, "y": 1},
    "close-scores": {"a": -1e-9, "b": 1e-9, "c": -12345678.25, "d": 0},
    "long": {letter: 20.0 - place for place, letter in enumerate("abcdefghijklmn")},
    "not-in-the-qrels": {"a": 1},
}
FEWER = (
    "plain",
    "unjudged",
    "tied",
    "negative-grades",
    "run-lacks-it",
    "nothing-relevant",
)  # tried with options
SUBTOPICS: list[Row] = [
    *(("three-subtopics", *row) for row in (("1", "a", 1), ("2", "b", 1), ("2", "d", 1), ("3", "c", 1))),
    *(("two-of-one", *row) for row in (("1", "a", 1), ("2", "a", 2), ("1", "b", 1), ("2", "c", 0))),
    *(("tied", *row) for row in (("1", "a", 1), ("2", "b", 3), ("1", "c", 2), ("3", "c", 0))),
    *(("run-lacks-it", *row) for row in (("1", "a", 1), ("2", "b", 1))),
    *(("nothing-relevant", *row) for row in (("1", "a", 0), ("2", "b", -1))),
    *(("long", "1", letter, 1) for letter in "acgx"),
    *(("long", "2", letter, 2) for letter in "cky"),
    *(("long", "3", letter, 1) for letter in "np"),
]
SUBTOPICS_RUN: Grades = {
    "three-subtopics": {"a": 4, "d": 3, "e": 2, "b": 1},
    "two-of-one": {"c": 3, "b": 2, "a": 1},
    "tied": {"a": 1, "b": 1, "c": 1},
    "nothing-relevant": {"a": 2, "b": 1},
    "long": {letter: 20.0 - place for place, letter in enumerate("abcdefghijklmn")},
}
COLLECTIONS: dict[str, dict[str, Any]] = {
    "documents": {"qrels": QRELS, "run": RUN},
    "options": {
        "qrels": {query: QRELS[query] for query in FEWER},
        "run": {query: RUN[query] for query in FEWER if query in RUN},
    },
    "subtopics": {"qrels": SUBTOPICS, "run": SUBTOPICS_RUN},
}

# What is tried of each parameter; of a metric and a parameter in the table below it.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "cutoff": ("1", "3", "10"),
    "rel": ("2", "0.5"),
    "gain": ("exp", "0:0/1:1/2:10"),
    "top": ("1/3",),
    "discount": ("letor", "zipf", "none"),
    "ideal": ("local",),
    "norm": ("min",),
    "need": ("all",),
    "x": ("0.5",),
    "alpha": ("0.25",),
    "beta": ("0.8",),
    "of": ("all",),
    "variant": ("released",),
    "p": ("0.8",),
    "T": ("2",),
    "min_rel": ("1",),
    "max_rel": ("4",),
    "n": ("4",),
    "base": ("4",),
    "normalize": ("false",),
    "rounding": ("up",),
    "points": ("0.2/0.5/0.8",),
    "recall": ("0.1", "1"),
    "multiple": ("0.5", "2"),
    "weights": ("3/-2/-1/0.5",),
    "size": ("50",),
    "length": ("3",),
    "a": ("2",),
    "b": ("-1",),
    "s": ("5",),
    "max_grade": ("5",),
    "judged_only": ("true",),
}
OF_METRICS: dict[str, tuple[str, ...]] = {
    "nDCG.ideal": ("local", "max,cutoff=3"),
    "nDCG.max_grade": ("5,ideal=max,cutoff=3",),
    "AP.norm": ("min,cutoff=3",),
    "rbp.gain": ("exp", "binary"),
    "Q.beta": ("10",),
    "nDCGphi.points": ("0:0/2:0.5/4:1",),
}
OPTIONS: tuple[dict[str, Any], ...] = (
    {"rel": 2},
    {"depth": 3},
    {"judged_only": True},
    {"depth": 3, "judged_only": True},
    {"zero_grade": 1},
    {"ties": "input"},
    {"ties": "expected"},
    {"queries": "both"},
    {"no_relevant": "1"},
    {"no_relevant": "skip"},
    {"query_weights": {query: weight / 2 for weight, query in enumerate(FEWER)}},
)
TOGETHER: tuple[tuple[str, dict[str, Any]], ...] = (  # where the order of what is done decides
    ("nDCG(ideal=local)", {"depth": 3}),
    ("nDCG(ideal=max)@3", {"queries": "both"}),
)


def specs_of(metric: Metric) -> Iterator[str]:
    """The metric, then with each of its parameters."""
    plain = with_needed(metric.name)
    yield plain
    for param in metric.params:
        for text in OF_METRICS.get(f"{metric.name}.{param.name}", PARAMETERS[param.name]):
            first, *more = text.split(",")
            yield with_needed(metric.name, **{param.name: first}, **dict(part.split("=") for part in more))


def orders(run: Mapping[str, float]) -> Iterator[dict[str, float]]:
    """The run in each order of its tied documents, with scores that are all different."""
    groups = [list(group) for _, group in groupby(ranked(run), key=run.__getitem__)]
    for order in product(*(permutations(group) for group in groups)):
        documents = [document for group in order for document in group]
        yield {document: -float(place) for place, document in enumerate(documents)}


def judged_run(
    grades: Mapping[str, float], run: Mapping[str, float], options: Mapping[str, Any]
) -> dict[str, float]:
    """The documents of a query's run that count, with scores that rank them."""
    documents = ranked(run)
    if options.get("ties") == "input":
        documents = sorted(run, key=lambda document: -run[document])
        run = {document: -float(place) for place, document in enumerate(documents)}
    documents = documents[: options.get("depth")]
    if options.get("judged_only"):
        documents = [document for document in documents if grades.get(document, -1) >= 0]
    return {document: run[document] for document in documents}


def value_of(spec: Any, query: str, qrels: Any, run: Mapping[str, float], options: Mapping[str, Any]) -> Any:
    """The value of a query, and NaN where it is undefined. qrels: of all queries."""
    name, params = spec.metric.name, dict(spec.params)
    options = {**options, "judged_only": params.pop("judged_only", options.get("judged_only", False))}
    if isinstance(qrels, list):
        return of_subtopics(name, query, qrels, run, params, options)
    zero = options.get("zero_grade", 0)
    shifted = {other: {d: grade - zero for d, grade in grades.items()} for other, grades in qrels.items()}
    all_grades = [grade for grades in shifted.values() for grade in grades.values()]
    by_score = name in BY_SCORE and options.get("ties") == "input"
    ranking = judged_run(shifted[query], run, {**options, "ties": None} if by_score else options)
    topic = Topic(shifted[query], ranking, options.get("rel"), all_grades)
    if spec.metric.needs_relevant and not topic._good(params.get("rel")):
        return {"1": 1.0, "skip": NAN}.get(options.get("no_relevant", "0"), 0.0)
    if options.get("ties") != "expected" or name in BY_SCORE:
        return REFERENCE[name](topic, **params)
    values = [
        REFERENCE[name](Topic(shifted[query], order, options.get("rel"), all_grades), **params)
        for order in orders(ranking)
    ]
    return math.fsum(values) / len(values)


def of_subtopics(
    name: str, query: str, rows: list[Row], run: Mapping[str, float], params: dict[str, Any], options: Any
) -> float:
    least = params.pop("rel", options.get("rel"))
    own = [row[1:] for row in rows if row[0] == query]
    ranking = ranked(judged_run({document: max(0.0, grade) for _, document, grade in own}, run, options))
    if options["judged_only"]:
        best = {d: max(grade for _, other, grade in own if other == d) for _, d, _ in own}
        ranking = [d for d in ranking if best[d] >= 0]
    relevant: dict[str, set[str]] = {subtopic: set() for subtopic, _, _ in own}
    for subtopic, document, grade in own:
        if grade > 0 if least is None else grade >= max(least, 0):
            relevant[subtopic].add(document)
    if not any(relevant.values()):
        return {"1": 1.0, "skip": NAN}.get(options.get("no_relevant", "0"), 0.0)
    return diversity(name, ranking, [*relevant.values()], len(relevant), **params)


def summary(metric: Metric, values: Mapping[str, float], weights: Mapping[str, float] | None) -> float | None:
    defined = {query: value for query, value in values.items() if not math.isnan(value)}
    total = 0.0
    if metric.is_summed:
        return float(sum(defined.values()))
    if metric.kind is Kind.GEOMETRIC:
        for value in defined.values():
            total += math.log(max(value, GEOMETRIC_MIN))
        return math.exp(total / len(defined))
    weight_of = {query: 1.0 if weights is None else weights[query] for query in defined}
    for query, value in defined.items():
        total += weight_of[query] * value
    return total / sum(weight_of.values()) if defined else None


def vector(text: str, collection: str, options: dict[str, Any]) -> dict[str, Any]:
    [spec] = parse(text)
    qrels, run = COLLECTIONS[collection]["qrels"], COLLECTIONS[collection]["run"]
    queries = dict.fromkeys(row[0] for row in qrels) if isinstance(qrels, list) else dict.fromkeys(qrels)
    counted = [query for query in queries if query in run or options.get("queries") != "both"]
    values = {query: value_of(spec, query, qrels, run.get(query, {}), options) for query in counted}
    mean = None if spec.metric.text else summary(spec.metric, values, options.get("query_weights"))
    return {
        "name": spec.metric.name,
        "metric": str(spec),
        "options": options,
        "collection": collection,
        "queries": {query: plain_number(value) for query, value in values.items()},
        "mean": plain_number(mean),
    }


def plain_number(value: Any) -> Any:
    """None for what is undefined; 0 rather than -0."""
    if not isinstance(value, float):
        return value
    return None if math.isnan(value) else value + 0.0


def vectors() -> Iterator[dict[str, Any]]:
    rows = {row["name"]: row for row in list_metrics()}
    for name in sorted(REFERENCE.keys() - {"runid"}, key=[*REGISTRY].index):  # a run of data has no tag
        metric = REGISTRY[name]
        is_of_subtopics = name in DIVERSITY
        for text in dict.fromkeys(str(parse(text)[0]) for text in specs_of(metric)):
            yield vector(text, "subtopics" if is_of_subtopics else "documents", {})
        if metric.kind is Kind.GEOMETRIC or is_of_subtopics:
            continue
        text = with_needed(name, cutoff="3") if "cutoff" in metric.by_name else with_needed(name)
        for options in OPTIONS:
            has_expected = rows[name]["expected_ties"] and not metric.text
            is_known = options.get("ties") != "expected" or has_expected
            if is_known and ("rel" not in options or "rel" in metric.by_name):
                yield vector(text, "options", options)
    for text, options in TOGETHER:
        yield vector(text, "options", options)


def document() -> str:
    """The text of the data file, a vector in a line."""
    rows = list(vectors())
    names = {row["name"] for row in rows}
    sources = {row["name"]: row["source"] for row in list_metrics() if row["name"] in names}
    collections = ",\n".join(f"{written(name)}: {written(data)}" for name, data in COLLECTIONS.items())
    lines = ",\n".join(map(written, rows))
    return (
        f'{{"version": {VERSION},\n"sources": {written(sources)},\n'
        f'"collections": {{\n{collections}\n}},\n"vectors": [\n{lines}\n]}}\n'
    )


def written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    FILE.write_text(document(), "utf-8")
