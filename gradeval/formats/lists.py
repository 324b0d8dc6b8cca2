"""JSON with lists of documents: runs {query: [document, …]}, and judgments of Elasticsearch and OpenSearch.

{query: [{"doc_id": …, "score": …}, …]} are both; Elasticsearch's judgments are {"requests": [{"id", "ratings":
[{"_id", "rating"}, …]}, …]}, OpenSearch's [{"query", "ratings": [{"docId", "rating"}, …]}, …]. Such files are
read whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from gradeval.errors import InputError, described, first_names, named
from gradeval.formats.columns import Columns, Table
from gradeval.formats.csv import are_columns, document_member, number_member
from gradeval.formats.diagnostics import LineProblems, Problem
from gradeval.formats.json import RepeatedKey, not_utf8, reason, unique_keys
from gradeval.formats.memory import object_ids, object_numbers
from gradeval.formats.sources import Source
from gradeval.options import Options

_RATINGS = re.compile(rb'[ \t\r\n]*\[[ \t\r\n]*\{[^[\]]*"ratings"[ \t\r\n]*:[ \t\r\n]*\[')
_REQUESTS = re.compile(rb'.*"requests"[ \t\r\n]*:[ \t\r\n]*\[', re.DOTALL)


def is_of_lists(text: bytes, first_value: str | None) -> bool:
    """Whether a file with this beginning holds lists of documents.

    first_value: the first character of the first value, if the file is an object.
    """
    if first_value != "[":
        pattern = _RATINGS if first_value is None else _REQUESTS
        return first_value in (None, "{") and pattern.match(text) is not None
    try:
        first = json.loads(text.split(b"\n", 1)[0])
    except ValueError:
        return True
    return not are_columns([*first], {})  # then it is an object a line


def table(source: Source, number: str, options: Options) -> Table:
    def blocks() -> Iterator[bytes]:
        yield b"".join(chunk.tobytes() for chunk in source.chunks())

    return Table.of(source, lambda text: _columns(source.name, text, number), blocks=blocks)


def _columns(name: str, text: bytes, number: str) -> Columns:
    if (wrong := not_utf8(text)) is not None:
        raise InputError(name, wrong[1], line=text.count(b"\n", 0, wrong[0]) + 1)
    try:
        content = json.loads(text, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        raise InputError(name, f"not valid JSON ({reason(error)})", line=error.lineno) from None
    except RepeatedKey as error:
        raise InputError(name, f"the key {named(error.key)} is in an object twice") from None
    except RecursionError:
        raise InputError(name, "the JSON is nested too deeply") from None
    paths: list[str] = []
    queries: list[Any] = []
    documents: list[Any] = []
    numbers: list[Any] = []
    for path, query, listed in _lists(name, content, number):
        rows = _rows(name, path, listed, number)
        paths += (f"{path}[{place}]" for place in range(len(rows)))
        queries += [query] * len(rows)
        documents += (document for document, _ in rows)
        numbers += (value for _, value in rows)
    if not documents:
        raise InputError(name, "no data: there are no documents")
    query_ids, wrong_query = object_ids(queries, "query id")
    document_ids, wrong_document = object_ids(documents, "document id")
    values, wrong_number = object_numbers(numbers, number)
    columns = Columns.whole(query_ids, document_ids, values)
    problems = [
        Problem(None, f"{paths[problem.line or 0]}: {problem.what}")
        for problem in chain(wrong_query.all(), wrong_document.all(), wrong_number.all())
    ]
    return columns.without_rows(LineProblems.listed(problems)) if problems else columns


def _lists(name: str, content: Any, number: str) -> Iterator[tuple[str, Any, Any]]:
    """The path, for messages, the query and the documents of each list. Raises InputError."""
    path = "$"
    if isinstance(content, Mapping) and isinstance(content.get("requests"), list):
        path, content = "$['requests']", content["requests"]
    if isinstance(content, Mapping):
        for query, documents in content.items():
            yield f"{path}[{named(query)}]", query, documents
        return
    if number != "grade":
        raise InputError(name, "these are judgments, not a run", hint="The qrels come first, then the runs")
    for place, request in enumerate(content):
        here = f"{path}[{place}]"
        query = (
            next((request[key] for key in ("id", "query") if key in request), None)
            if isinstance(request, Mapping)
            else None
        )
        if query is None or "ratings" not in request:
            raise InputError(name, f"{here}: {described(request)} has no id or query, or no ratings")
        yield f"{here}['ratings']", query, request["ratings"]


def _rows(name: str, path: str, documents: Any, number: str) -> Sequence[tuple[Any, Any]]:
    """The documents of a list with their numbers: scores by place for a list of ids. Raises InputError."""
    if not isinstance(documents, list):
        raise InputError(name, f"{path}: {described(documents)} is not a list of documents")
    if number == "score" and not any(isinstance(document, Mapping) for document in documents):
        return [(document, -place) for place, document in enumerate(documents)]
    rows = []
    for place, document in enumerate(documents):
        members = document if isinstance(document, Mapping) else {}
        keys = document_member(members), number_member(members, number)
        if None in keys:
            has = f"its members are {first_names(map(named, members), 10)}" if members else described(document)
            raise InputError(name, f"{path}[{place}]: no document id and {number}; {has}")
        rows.append((members[keys[0]], members[keys[1]]))
    return rows
