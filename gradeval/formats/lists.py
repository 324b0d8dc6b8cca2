"""JSON with lists of documents: runs {query: [document, …]}, and judgments of Elasticsearch and OpenSearch.

{query: [{"doc_id": …, "score": …}, …]} are both; Elasticsearch's judgments are {"requests": [{"id", "ratings":
[{"_id", "rating"}, …]}, …]}, OpenSearch's [{"query", "ratings": [{"docId", "rating"}, …]}, …]. Such files are
read whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from gradeval.arrays import Ints
from gradeval.errors import InputError, described, first_names, named
from gradeval.formats.columns import Columns, Table
from gradeval.formats.csv import USUAL_NAMES, simplified, usual_columns
from gradeval.formats.json import parse_json
from gradeval.formats.memory import nested_columns, object_numbers
from gradeval.formats.sources import Source
from gradeval.options import Options


def table(source: Source, number: str, options: Options) -> Table:
    def blocks() -> Iterator[bytes]:
        yield b"".join(chunk.tobytes() for chunk in source.chunks())

    return Table.of(source, lambda text: _columns(source.name, text, number), blocks=blocks)


def _columns(name: str, text: bytes, number: str) -> Columns:
    content, path = parse_json(text, name), "$"
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
    lists = [(path, query, _rows(name, path, documents, number)) for path, query, documents in lists]
    lists = [(path, query, rows) for path, query, rows in lists if rows]
    if not lists:
        raise InputError(name, "no data: there are no documents")
    paths, queries, rows_of_queries = zip(*lists, strict=True)
    bounds: Ints = np.cumsum([0, *map(len, rows_of_queries)])
    documents, values = zip(*chain.from_iterable(rows_of_queries), strict=True)

    def place_of(query: int, row: int) -> str:
        return f"{paths[query]}[{row - bounds[query]}]"

    columns = nested_columns(queries, bounds, documents, object_numbers(values, number), place_of)
    return columns.replace(problems=columns.problems.changed(lambda problem: problem.replace(line=None)))


def _rows(name: str, path: str, documents: Any, number: str) -> list[tuple[Any, Any]]:
    """The documents of a list with their numbers: scores by place for a list of ids. Raises InputError."""
    if not isinstance(documents, list):
        raise InputError(name, f"{path}: {described(documents)} is not a list of documents")
    if number == "score" and not any(isinstance(document, Mapping) for document in documents):
        return [(document, -place) for place, document in enumerate(documents)]
    rows = []
    for place, document in enumerate(documents):
        members = document if isinstance(document, Mapping) else {}
        keys = _keys(tuple(members), number)
        if keys is None:
            names = first_names(map(named, members), 10)
            has = f"its members are {names}" if names else described(document)
            raise InputError(name, f"{path}[{place}]: no document id and {number}; {has}")
        rows.append((members[keys[0]], members[keys[1]]))
    return rows


@cache
def _keys(names: tuple[str, ...], number: str) -> tuple[str, str] | None:
    """Those of the id and the number among the members of a document."""
    ids = usual_columns(names, "document", with_id=True)
    values = [name for name in names if simplified(name) in USUAL_NAMES[number][0]]  # no ranks
    return (names[ids[0]], values[0]) if ids and values else None
