"""Judgments without a label: an error that names the option, or left out and counted, in every format."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import each, each_row, error_of

import gradeval
from gradeval.tables.qrels import MERGE_HINT

HINT = "--unlabelled unjudged (in Python unlabelled='unjudged') leaves out judgments without a label"
ROWS: list[tuple[str, str, int | None]] = [("1", "a", 2), ("1", "b", None), ("2", "c", None), ("1", "d", 1)]
COUNTED = "{}: 2 judgments have no label; their documents are unjudged"


def table(label: str = "label", delimiter: str = ",") -> str:
    lines = (delimiter.join((query, document, str(grade or ""))) for query, document, grade in ROWS)
    return "\n".join([delimiter.join(("query-id", "corpus-id", label)), *lines, ""])


def written(form: str) -> str:
    objects = [{"query": query, "doc": document, "label": grade} for query, document, grade in ROWS]
    nested: dict[str, dict[str, Any]] = {"1": {}, "2": {}}
    for query, document, grade in ROWS:
        nested[query][document] = grade
    lists = {query: [{"id": id, "rating": grade} for id, grade in of.items()] for query, of in nested.items()}
    texts = {
        "csv": table(),
        "rating": table("rating"),
        "beir": table("score", "\t"),
        "jsonl": "".join(json.dumps(members) + "\n" for members in objects),
        "json": json.dumps(nested, indent=1),
        "lists": json.dumps(lists),
        "requests": json.dumps({"requests": [{"id": query, "ratings": of} for query, of in lists.items()]}),
        "lines of lists": "".join(json.dumps({"qid": q, "results": of}) + "\n" for q, of in lists.items()),
    }
    return texts[form]


def judged(qrels: Any, **options: Any) -> tuple[dict[str, list[str]], list[str]]:
    opened = gradeval.read_qrels(qrels, **options).qrels
    documents = {query: names for query, (_, names) in opened.judged.items()}
    return documents, [str(notice) for notice in opened.notices]


@each_row(
    ("csv", "3: the grade '' is not a number"), ("beir", "3: the grade '' is not a number"),
    ("jsonl", "2: the grade is missing"), ("json", " $['1']['b']: the grade is missing"),
    ("lists", " $['1'][1]: the grade is missing"), ("requests", " $['requests'][0]['ratings'][1]: the gr"),
    ("lines of lists", "1: $['results'][1]: the grade is missing"), ("rating", ""),
)  # fmt: skip
def test_files(form: str, error: str, tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text(written(form))
    left_out = {"1": ["a", "d"]}, [COUNTED.format(path)]
    assert judged(path, unlabelled="unjudged") == left_out
    if not error:
        assert judged(path) == left_out
        error = "3: the grade '' is not a number"
        assert error_of(gradeval.GradevalError, judged, path, unlabelled="error").startswith(f"{path}:{error}")
        return
    messages = error_of(gradeval.GradevalError, judged, path).splitlines()
    assert (len(messages), messages[0].endswith(HINT)) == (2, True)
    assert messages[0].startswith(f"{path}:{error}")


@each("form", ["dicts", "tuples", "pandas", "polars", "pyarrow"])
def test_data(form: str) -> None:
    columns = dict(zip(("query", "doc", "label"), map(list, zip(*ROWS, strict=True)), strict=True))
    data: Any = ROWS
    if form == "dicts":
        data = {"1": {"a": 2, "b": None, "d": 1}, "2": {"c": None}}
    elif form != "tuples":
        library = pytest.importorskip(form)
        data = library.table(columns) if form == "pyarrow" else library.DataFrame(columns)
    assert judged(data, unlabelled="unjudged") == ({"1": ["a", "d"]}, [COUNTED.format("qrels")])
    assert error_of(gradeval.GradevalError, judged, data).splitlines()[0].endswith(HINT)


def test_lines_after_what_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text('{"1": {"a": null,\n"b": 1,\n"c": 1,\n"b": 2}}')
    error = error_of(gradeval.InputError, judged, path, unlabelled="unjudged")
    assert error == f"{path}:4: document 'b' has grade 2 here and 1 before in line 2. {MERGE_HINT}"


@each("text", ['{"1": {"a": null}}', "query,doc,rating\n1,a,\n", '{"qid": "1", "doc": "a", "label": null}\n'])
def test_nothing_is_judged(text: str, tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text(text)
    message = f"{path}: nothing is judged: 1 judgment has no label. Judge some documents"
    assert error_of(gradeval.InputError, judged, path, unlabelled="unjudged") == message
    assert message.replace(": nothing", ": error: nothing") in str(
        gradeval.validate(path, unlabelled="unjudged")
    )


def test_validate_and_convert_count_them(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text(written("jsonl"))
    assert gradeval.validate(path, unlabelled="unjudged").files[0].facts.unrated == 2
    converted = gradeval.convert(path, tmp_path / "q.trec", role="qrels", unlabelled="unjudged")
    assert (converted.rows, converted.unlabelled) == (2, 2)
