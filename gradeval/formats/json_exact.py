"""The rows of any JSON text, read value by value, so that errors name the place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from operator import itemgetter
from typing import Any

import numpy as np

from gradeval.errors import described, named
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import LineProblems
from gradeval.formats.json_text import NOT_CLOSED, SPACE, Part, reason
from gradeval.formats.memory import object_ids, object_numbers


class _Invalid(Exception):
    """place: in the text. path: of the keys around it."""

    def __init__(self, what: str, place: int) -> None:
        self.what, self.place = what, place


def exact_columns(part: Part, lines: int, number: str) -> Columns:
    """The rows of any part, which is UTF-8, read value by value."""
    text = part.text[: part.size].tobytes().decode()
    queries: list[str] = []
    counts: list[int] = []
    documents: list[str] = []
    values: list[Any] = []
    places: list[int] = []
    wrong: list[tuple[int, str]] = []
    error = None
    try:
        for query, place, value in _members(text, part.first):
            if not isinstance(value, list):
                wrong.append((place, f"{_path(query)}: {described(value)} is not an object of documents"))
                continue
            if value:
                queries.append(query)
                counts.append(len(value))
            for document, at, one in value:
                documents.append(document)
                places.append(at)
                values.append(one)
    except _Invalid as invalid:
        error = invalid
    line_ends = np.array([end.start() for end in re.finditer("\n", text)], np.int64)
    line = np.searchsorted(line_ends, np.array(places, np.int64)) + part.skipped
    owner = np.repeat(np.arange(len(queries)), counts)
    bounds = np.append(0, np.cumsum(counts)).astype(np.int64)
    query_ids, wrong_query = object_ids(queries, "query id")
    document_ids, wrong_document = object_ids(documents, "document id")
    numbers, wrong_number = object_numbers(values, number)
    for i, query in enumerate(wrong_query.rows.tolist()):
        wrong.append((places[bounds[query]], f"{_path(queries[query])}: {wrong_query.what(i)}"))
    for each in (wrong_document, wrong_number):
        for i, row in enumerate(each.rows.tolist()):
            path = _path(queries[owner[row]], documents[row])
            wrong.append((places[row], f"{path}: {each.what(i)}"))
    if error is not None:
        wrong.append((error.place, error.what))
    columns = Columns(query_ids, bounds, document_ids, numbers, line, lines, part.first, part.last)
    if not wrong:
        return columns
    wrong.sort(key=itemgetter(0))
    of_line = np.searchsorted(line_ends, np.array([place for place, _ in wrong], np.int64)) + part.skipped
    problems = LineProblems.of(of_line, lambda i: wrong[i][1])._replace(final=error is not None)
    return columns.take(np.zeros(len(numbers), bool))._replace(problems=problems)


def _path(*keys: str) -> str:
    return "$" + "".join(f"[{named(key)}]" for key in keys)


def _members(text: str, is_first: bool) -> Iterator[tuple[str, int, Any]]:
    """(query, place, [(document, place, value)]) of each member; other values as json reads them."""
    at = _past(text, 0)
    while at < len(text):
        if not is_first:
            at = _past(text, _expect(text, at, ",", "a comma between members"))
        is_first = False
        place = at
        key, at = _key(text, at)
        if text[at : at + 1] != "{":
            value, at = _value(text, at)
            yield key, place, value if not isinstance(value, list) else str(value)
        else:
            documents = []
            at = _past(text, at + 1)
            if text[at : at + 1] == "}":
                at += 1
            else:
                while True:
                    of_document = at
                    document, at = _key(text, at)
                    value, at = _value(text, at)
                    documents.append((document, of_document, value))
                    at = _past(text, at)
                    if text[at : at + 1] == "}":
                        at += 1
                        break
                    at = _past(text, _expect(text, at, ",", "a comma between members"))
            yield key, place, documents
        at = _past(text, at)


def _past(text: str, at: int) -> int:
    while at < len(text) and text[at] in SPACE:
        at += 1
    return at


def _expect(text: str, at: int, char: str, what: str) -> int:
    if text[at : at + 1] == char:
        return at + 1
    if at >= len(text):
        raise _Invalid(NOT_CLOSED, at)
    raise _Invalid(f"not valid JSON: {what} is expected before {named(text[at : at + 20])}", at)


def _key(text: str, at: int) -> tuple[str, int]:
    """A key, and where its value begins."""
    at = _expect(text, at, '"', "a key in double quotes")
    try:
        key, at = scanstring(text, at)
    except json.JSONDecodeError as error:
        raise _Invalid(f"not valid JSON ({reason(error)})", error.pos) from None
    at = _expect(text, _past(text, at), ":", "a colon behind the key")
    return key, _past(text, at)


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        if at >= len(text):
            raise _Invalid(NOT_CLOSED, at) from None
        raise _Invalid(f"not valid JSON ({reason(error)})", error.pos) from None
    except RecursionError:
        raise _Invalid("the JSON is nested too deeply", at) from None


_DECODER = json.JSONDecoder()
