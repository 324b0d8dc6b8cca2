"""JSON with lists of documents: runs, and judgments of Elasticsearch and OpenSearch."""

import json

from helpers import each, error_of

import gradeval

RUN = {"q": {"b": 3.0, "a": 2.0, "x": 1.0}, "r": {"a": 1.0}}
QRELS = {"q": {"a": 2, "b": 0}, "r": {"a": 1}}
METRICS = "nDCG RR num_ret num_rel"


def values(qrels, run):
    return gradeval.evaluate(qrels, run, METRICS).runs[0].values.tolist()


def of_search(document, rating, query, of=lambda requests: requests):
    """Judgments as a search engine has them, with these names of members."""
    return of(
        [
            {query: name, "ratings": [{"_index": "i", document: d, rating: g} for d, g in documents.items()]}
            for name, documents in QRELS.items()
        ]
    )


JUDGMENTS = {
    "Elasticsearch": of_search("_id", "rating", "id", lambda requests: {"requests": requests, "metric": {}}),
    "requests last": of_search("_id", "rating", "id", lambda requests: {"metric": {}, "requests": requests}),
    "OpenSearch": of_search("docId", "rating", "query"),
    "lists": {q: [{"doc_id": d, "grade": g} for d, g in of.items()] for q, of in QRELS.items()},
}
RUNS = {
    "objects": {q: [{"score": s, "doc_id": d} for d, s in of.items()] for q, of in RUN.items()},
    "Elasticsearch": {q: [{"_id": d, "_score": s} for d, s in of.items()] for q, of in RUN.items()},
    "ids": {q: [*of] for q, of in RUN.items()},
}


@each("indent", [None, 1])
@each("form", [*JUDGMENTS])
def test_judgments(form, indent, tmp_path) -> None:
    path = tmp_path / "qrels"
    path.write_text(json.dumps(JUDGMENTS[form], indent=indent))
    assert values(path, RUN) == values(QRELS, RUN)


@each("indent", [None, 1])
@each("form", [*RUNS])
def test_runs(form, indent, tmp_path) -> None:
    path = tmp_path / "run"
    path.write_text(json.dumps(RUNS[form], indent=indent))
    assert values(QRELS, path) == values(QRELS, RUN)


@each(
    ("text", "message"),
    [
        ('{"q": ["a",]}', ":1: not valid JSON"),
        ('{"q": ["a"], "q": ["b"]}', ": the key 'q' is in an object twice"),
        ('{"q": ["a"], "r": 1}', ": $['r']: 1 is not a list of documents"),
        ('{"q": ["a", null]}', ": $['q'][1]: the document id is missing"),
        ('{"q": [{"doc_id": "a", "score": "x"}]}', ": $['q'][0]: the score 'x' is not a number"),
        (
            '{"q": [{"doc_id": "a", "rank_": 1}]}',
            ": $['q'][0]: no document id and score; its members are 'doc_id', ",
        ),
        ('[{"query": "q", "ratings": [{"docId": "a", "rating": 1}]}]', ": these are judgments, not a run."),
        ('{"q": []}', ": no data"),
    ],
)
def test_errors(text, message, tmp_path) -> None:
    path = tmp_path / "run"
    path.write_text(text)
    assert error_of(gradeval.GradevalError, values, QRELS, path).startswith(f"{path}{message}")
