"""Judgments of subtopics: the same values from every format, frame and sequence of tuples."""

import json
import re
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from helpers import each, error_of, raises

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
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in ROWS))
    return values(path)


def table(name="subtopic", rows=ROWS):
    query, subtopic, document, grade = zip(*rows, strict=True)
    return {name: list(subtopic), "doc_id": list(document), "relevance": list(grade), "query_id": list(query)}


def lines(columns, delimiter=","):
    rows = columns, *zip(*columns.values(), strict=True)
    return "".join(delimiter.join(map(str, row)) + "\n" for row in rows)


def objects(columns):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return "".join(json.dumps(row) + "\n" for row in rows)


LONG, BROKEN = "a-long-subtopic", '"a-long\n-subtopic"'
FILES = {
    "csv": lines,
    "quoted csv": lambda columns: re.sub(r"[^,\n]+", r'"\g<0>"', lines(columns)),
    "csv with a line end in a field": lambda columns: lines(columns).replace(LONG, BROKEN),
    "tsv": lambda columns: lines(columns, "\t"),
    "jsonl": objects,
    "jsonl with escapes": lambda columns: objects(columns).replace('"s1"', '"\\u00731"'),
}


@each(("form", "name"), zip(FILES, "subtopic iteration aspect nugget Intent subtopic_id".split(), strict=True))
def test_files(form, name, expected, tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text(FILES[form](table(name)))
    assert values(path) == expected


def test_files_of_arrow(expected, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    parquet.write_table(pyarrow.table(table()), tmp_path / "qrels.parquet", row_group_size=2)
    feather.write_feather(pyarrow.table(table()), tmp_path / "qrels.arrow", chunksize=3)
    assert values(tmp_path / "qrels.parquet") == values(tmp_path / "qrels.arrow") == expected


def numbered(rows):
    return [(q, int(subtopic[-1]) if subtopic[-1].isdigit() else 4, d, grade) for q, subtopic, d, grade in rows]


@each("rows", [1, 3, 100])
def test_data_in_memory(rows, expected, monkeypatch) -> None:
    pandas, polars, pyarrow = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    forms = {
        "tuples": ROWS,
        "lists": [[*row] for row in ROWS],
        "numbered": numbered(ROWS),
        "named tuples": [Judgment(q, d, grade, subtopic) for q, subtopic, d, grade in ROWS],
        "array with fields": np.array(ROWS, [("q", "U1"), ("nugget", "U20"), ("d", "U1"), ("g", "f8")]),
        "pandas": pandas.DataFrame(table()),
        "pandas, numbered": pandas.DataFrame(table(rows=numbered(ROWS))),
        "pandas, categories": pandas.DataFrame(table()).astype("category"),
        "polars": polars.DataFrame(table("aspect")),
        "pyarrow": pyarrow.table(table()),
    }
    monkeypatch.setattr(memory, "BLOCK_ROWS", rows)
    assert {form: values(data) for form, data in forms.items()} == dict.fromkeys(forms, expected)


def test_the_column_can_be_named(expected, tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text(lines({**table("facet"), "intent": ["x"] * len(ROWS)}))
    assert values(path, columns="subtopic=facet") == expected
    what = "no column named 'facett'; the columns are"
    raises(gradeval.InputError, what, values, path, columns="subtopic=facett")
    path.write_text("query,nugget,grade\nq,a,1\nq,b,0\n")  # a column of another role
    run = {"q": {"b": 2.0, "a": 1.0}}
    assert gradeval.evaluate(path, run, "RR", columns={"document": "nugget"}).mean(0, "RR") == 0.5


def test_errors() -> None:
    missing = pytest.importorskip("pandas").DataFrame(table(rows=[*ROWS, ("q", None, "z", 1)]))
    for qrels, message in (
        ([*ROWS, ("q", "a", 1)], "qrels:8: each row must be (query, subtopic, document, number)"),
        ([("q", ["s"], "a", 1)], "qrels:1: the subtopic cannot be ['s']"),
        ([("q", None, "a", 1)], "qrels:1: the subtopic is missing"),
        (missing, "qrels:8: the subtopic (column subtopic) is missing"),
        ([("q", "s", "a", 1), ("q", "s", "a", 2)], "qrels:2: document 'a' has grade 2 here and 1 before"),
    ):
        assert error_of(gradeval.InputError, values, qrels).startswith(message)
