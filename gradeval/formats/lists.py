"""JSON with lists of documents: runs {query: [document, …]}, and judgments of Elasticsearch and OpenSearch.

{query: [{"doc_id": …, "score": …}, …]} are both; Elasticsearch's judgments are {"requests": [{"id", "ratings":
[{"_id", "rating"}, …]}, …]}, OpenSearch's [{"query", "ratings": [{"docId", "rating"}, …]}, …]. Such files are
read whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradeval.errors import InputError, described, first_names, named
from gradeval.formats.columns import Columns, Table
from gradeval.formats.csv import USUAL_NAMES, simplified, usual_columns
from gradeval.formats.diagnostics import LineProblems, Problem
from gradeval.formats.json import RepeatedKey, not_utf8, reason, unique_keys
from gradeval.formats.memory import DOCUMENT, QUERY, Objects, read_values
from gradeval.formats.sources import Source
from gradeval.options import Options


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
    path = "$"
    if isinstance(content, Mapping) and isinstance(content.get("requests"), list):
        path, content = "$['requests']", content["requests"]
    lists: list[tuple[str, Any, Any]] = []  # the path, for messages, the query and the documents of each
    if isinstance(content, Mapping):
        lists = [(f"{path}[{named(query)}]", query, documents) for query, documents in content.items()]
    elif number != "grade":
        raise InputError(name, "these are judgments, not a run", hint="The qrels come first, then the runs")
    else:
        for place, request in enumerate(content):
            members = request if isinstance(request, Mapping) else {}
            query = next((members[key] for key in ("id", "query") if key in members), None)
            if query is None or "ratings" not in members:
                what = f"{path}[{place}]: {described(request)} has no id or query, or no ratings"
                raise InputError(name, what)
            lists.append((f"{path}[{place}]['ratings']", query, members["ratings"]))
    paths: list[str] = []
    queries: list[Any] = []
    documents: list[Any] = []
    numbers: list[Any] = []
    for path, query, listed in lists:
        rows = _rows(name, path, listed, number)
        paths += (f"{path}[{place}]" for place in range(len(rows)))
        queries += [query] * len(rows)
        documents += (document for document, _ in rows)
        numbers += (value for _, value in rows)
    if not documents:
        raise InputError(name, "no data: there are no documents")
    values = [*map(Objects, (queries, documents, numbers))]
    columns = read_values(values, (QUERY, DOCUMENT, number), slice(None), True, True)
    problems = [
        Problem(None, f"{paths[problem.line or 0]}: {problem.what}") for problem in columns.problems.all()
    ]
    return columns.without_rows(LineProblems.listed(problems)) if problems else columns


def _rows(name: str, path: str, documents: Any, number: str) -> Sequence[tuple[Any, Any]]:
    """The documents of a list with their numbers: scores by place for a list of ids. Raises InputError."""
    if not isinstance(documents, list):
        raise InputError(name, f"{path}: {described(documents)} is not a list of documents")
    if number == "score" and not any(isinstance(document, Mapping) for document in documents):
        return [(document, -place) for place, document in enumerate(documents)]
    rows = []
    for place, document in enumerate(documents):
        members = document if isinstance(document, Mapping) else {}
        names = [*members]
        ids = usual_columns(names, "document", with_id=True)
        values = [name for name in names if simplified(name) in USUAL_NAMES[number][0]]  # no ranks
        if not ids or not values:
            has = f"its members are {first_names(map(named, names), 10)}" if names else described(document)
            raise InputError(name, f"{path}[{place}]: no document id and {number}; {has}")
        rows.append((members[names[ids[0]]], members[values[0]]))
    return rows
