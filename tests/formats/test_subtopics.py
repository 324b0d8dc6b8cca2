"""Judgments of subtopics: the same values from every format, frame and sequence of tuples."""

import json
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from helpers import each, error_of

import gradeval
from gradeval.formats import memory

METRICS = "alpha_nDCG@2 StRecall(of=all)@2 AP_IA nDCG"
# b is the best document by grade, and adds no subtopic to a
ROWS = [
    ("q", "s1", "a", 1), ("q", "s2", "a", 1), ("q", "s2", "b", 3), ("q", "s1", "b", 0), ("q", "s3", "c", 1),
    ("r", "a-long-subtopic", "a", 2), ("r", "s2", "b", 1),
]  # fmt: skip
RUN = {"q": {"b": 3.0, "a": 2.0, "c": 1.0}, "r": {"a": 2.0, "b": 1.0}}
Judgment = namedtuple("Judgment", "query_id doc_id relevance iteration")


def values(qrels, **options):
    results = gradeval.evaluate(qrels, RUN, METRICS, **options)
    return results.runs[0].values.tolist()


@pytest.fixture
def expected(tmp_path: Path):
    path = tmp_path / "expected"
    path.write_text(
        "".join(f"{query} {subtopic} {document} {grade}\n" for query, subtopic, document, grade in ROWS)
    )
    return values(path)


def table(name="subtopic", rows=ROWS):
    query, subtopic, document, grade = zip(*rows, strict=True)
    return {name: list(subtopic), "doc_id": list(document), "relevance": list(grade), "query_id": list(query)}


def delimited(columns, delimiter=",", quote=""):
    lines = [
        delimiter.join(columns),
        *(
            delimiter.join(f"{quote}{value}{quote}" for value in row)
            for row in zip(*columns.values(), strict=True)
        ),
    ]
    return "\n".join(lines) + "\n"


def objects(columns):
    return "".join(
        json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in zip(*columns.values(), strict=True)
    )


FILES = {
    "csv": delimited,
    "quoted csv": lambda columns: delimited(columns, quote='"'),
    "csv with a line end in a field": lambda columns: delimited(columns).replace(
        "a-long-subtopic", '"a-long\n-subtopic"'
    ),
    "tsv": lambda columns: delimited(columns, "\t"),
    "jsonl": objects,
    "jsonl with escapes": lambda columns: objects(columns).replace('"s1"', '"\\u00731"'),
}


@each("name", ["subtopic", "iteration", "aspect", "nugget", "Intent", "subtopic_id"])
@each("form", [*FILES])
def test_files(form, name, expected, tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text(FILES[form](table(name)))
    assert values(path) == expected


@each("ending", ["parquet", "arrow"])
def test_files_of_arrow(ending, expected, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    path, rows = tmp_path / f"qrels.{ending}", pyarrow.table(table())
    if ending == "parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(rows, path, row_group_size=2)
    else:
        import pyarrow.feather

        pyarrow.feather.write_feather(rows, path, chunksize=3)
    assert values(path) == expected


def numbered(rows):
    return [
        (query, int(subtopic[-1]) if subtopic[-1].isdigit() else 4, document, grade)
        for query, subtopic, document, grade in rows
    ]


FORMS = {
    "tuples": lambda: ROWS,
    "lists": lambda: [[*row] for row in ROWS],
    "numbered": lambda: numbered(ROWS),
    "named tuples": lambda: [
        Judgment(query, document, grade, subtopic) for query, subtopic, document, grade in ROWS
    ],
    "array with fields": lambda: np.array(ROWS, [("q", "U1"), ("nugget", "U20"), ("d", "U1"), ("g", "f8")]),
    "pandas": lambda: pytest.importorskip("pandas").DataFrame(table()),
    "pandas, numbered": lambda: pytest.importorskip("pandas").DataFrame(table(rows=numbered(ROWS))),
    "pandas, categories": lambda: pytest.importorskip("pandas").DataFrame(table()).astype("category"),
    "polars": lambda: pytest.importorskip("polars").DataFrame(table("aspect")),
    "pyarrow": lambda: pytest.importorskip("pyarrow").table(table()),
}


@each("rows", [1, 3, 100])
@each("form", [*FORMS])
def test_data_in_memory(form, rows, expected, monkeypatch) -> None:
    monkeypatch.setattr(memory, "BLOCK_ROWS", rows)
    assert values(FORMS[form]()) == expected


def test_the_column_can_be_named(expected, tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text(delimited({**table("facet"), "intent": ["x"] * len(ROWS)}))
    assert values(path, columns="subtopic=facet") == expected
    with pytest.raises(gradeval.InputError, match="no column named 'facett'; the columns are"):
        values(path, columns="subtopic=facett")


def test_a_column_of_another_role_is_no_subtopic(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text("query,nugget,grade\nq,a,1\nq,b,0\n")
    options = {"columns": "document=nugget"}
    assert gradeval.evaluate(path, {"q": {"b": 2.0, "a": 1.0}}, "RR", **options).mean(0, "RR") == 0.5


@each(
    ("qrels", "message"),
    [
        (
            lambda pandas: [*ROWS, ("q", "a", 1)],
            "qrels:8: each row must be (query, subtopic, document, number)",
        ),
        (lambda pandas: [("q", ["s"], "a", 1)], "qrels:1: the subtopic cannot be ['s']"),
        (lambda pandas: [("q", None, "a", 1)], "qrels:1: the subtopic is missing"),
        (
            lambda pandas: pandas.DataFrame(table(rows=[*ROWS, ("q", None, "z", 1)])),
            "qrels:8: the subtopic (column subtopic) is missing",
        ),
        (
            lambda pandas: [("q", "s", "a", 1), ("q", "s", "a", 2)],
            "qrels:2: document 'a' has grade 2 here and 1 before",
        ),
    ],
)
def test_errors(qrels, message) -> None:
    assert error_of(gradeval.InputError, values, qrels(pytest.importorskip("pandas"))).startswith(message)
