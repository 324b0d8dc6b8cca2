"""Files of documents and their titles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import each

from gradeval.commands.explain.explain import titles_of
from gradeval.errors import GradevalError

WANTED = {"d1", "d2"}


def read(tmp_path: Path, text: str) -> dict[str, str]:
    path = tmp_path / "t"
    path.write_text(text)
    return dict(titles_of(path, WANTED))


def test_tabs(tmp_path):
    text = "d3\tother\n\nd1\tA  title\tin two fields\r\nd2\t two \nd1\tlater\n"
    assert read(tmp_path, text) == {"d1": "A title in two fields", "d2": "two"}


@each("key", ["_id", "id", "doc_id", "docid", "docno", "pid"])
def test_json(tmp_path, key):
    first = {key: "d1", "title": "", "text": "first text"}
    lines = map(json.dumps, (first, {key: "d2", "title": "Two", "text": "x"}))
    assert read(tmp_path, "\n".join(lines)) == {"d1": "first text", "d2": "Two"}


def test_reading_stops_when_all_are_found(tmp_path):
    assert read(tmp_path, "d1\ta\nd2\tb\nno tab\n") == {"d1": "a", "d2": "b"}


def test_a_document_without_a_title_has_none(tmp_path):
    assert read(tmp_path, "d1\t\n") == {}
    assert read(tmp_path, "\n") == {}


@each(
    "text, message",
    [
        ("d1 title\n", "t:1: there is no tab after the document id"),
        ('{"id": "d1", "title": "a"}\nd2\tb\n', "t:2: this is not a JSON object, as the first line is"),
        ('{"title": "a"}\n', "t:1: the object has no id; its name is one of _id, id"),
        ('{"id": "d1", "titel": "a"}\n', "t:1: the object has no text; its name is one of title, text"),
        ("d1\ta\0\n", "t: binary data"),
    ],
)
def test_errors(tmp_path, text, message):
    with pytest.raises(GradevalError, match=message):
        read(tmp_path, text)


def test_many_errors_are_counted(tmp_path):
    with pytest.raises(GradevalError, match="t:20: reading stopped here"):
        read(tmp_path, "x\n" * 50)
