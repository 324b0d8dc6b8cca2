"""Responses of search engines as runs: of Elasticsearch and OpenSearch to _search, _msearch and _rank_eval, and
of Solr. A file is one, several as a list or one a line, or {query: response}; it is read whole.

A response does not name its query: where the file does not either, query_ids do, in order. Hits have ids and
scores; where none of a response has a score, as those sorted by a field, their order counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, starmap
from typing import Any, NamedTuple

from gradeval.errors import InputError, described, first_names, named
from gradeval.formats.columns import BlockTable
from gradeval.formats.csv import Chosen, check_has, chosen_table
from gradeval.formats.diagnostics import LineProblems, Problem
from gradeval.formats.format import QRELS_FIRST, Format
from gradeval.formats.json import Lists, lists_columns, names_of_members, parse_json, read_whole
from gradeval.formats.sources import Source
from gradeval.notices import many
from gradeval.options import OF_SCORES, LaterIds, Options

_ELASTIC = "Elasticsearch or OpenSearch"
_OF_SOLR = {"responseHeader", "grouped"}
# of a response
_MEMBERS = {"took", "timed_out", "_shards", "hits", "error", "aggregations", "response", *_OF_SOLR}
_SHOWN = 20  # members that an error names
_POSITION = "position"  # of a hit among those of its query, from 1
_NAME_ONE = (
    "Give the id of its query with --query-ids (query_ids=), where a command has this option, or add it: jq "
    """'{"QUERY": .}'"""
)
_NAME_ALL = (
    "Give the ids of their queries in order with --query-ids (query_ids=), where a command has this option, or "
    """add them: jq {}'[["QUERY1", "QUERY2"], {}] | transpose | map({{(.[0]): .[1]}}) | add'"""
)
_FORGIVE = "Search again, or use the hits that there are: jq 'del(.. | objects | .{})'"
_UNGROUP = "Search with group.main=true, or: jq '.response.docs = [.grouped[].groups[].doclist.docs[]]'"

_TEXT = rb'"(?:[^"\\]|\\.)*"'
_SCALARS = rb"(?:%b\s*:\s*(?:%b|[^\s\[{\",}][^,{}\[\]]*),\s*){0,12}" % (_TEXT, _TEXT)  # the first members
_HITS = rb'"hits"\s*:\s*\{[^{}\[\]]*(?:"total"\s*:\s*\{[^{}]*\}[^{}\[\]]*)?"hits"\s*:\s*\['
_OBJECT = rb"\s*:\s*\{\s*"
_ONE = rb"\{\s*%b(?:%b)" % (
    _SCALARS,
    b"|".join(
        (
            rb'"(?:_shards|_clusters)"' + _OBJECT + rb'"(?:total|successful|failed)"',
            _HITS,
            rb'"aggregations"' + _OBJECT + _TEXT + _OBJECT,
            rb'"responseHeader"' + _OBJECT + rb'"(?:zkConnected|status|QTime|params)"',
            rb'"response"' + _OBJECT + _SCALARS + rb'"(?:numFound|_shards|docs|hits)"',
            rb'"error"'
            + _OBJECT
            + rb'"(?:root_cause"\s*:\s*\[|metadata"\s*:\s*\[|(?:type|reason|msg)"\s*:\s*")',
        )
    ),
)
_SEVERAL = rb'\{\s*%b"responses"\s*:\s*\[\s*\{\s*"(?:took|timed_out|_shards|hits|error|status|aggregations)"'
_RANK_EVAL = (
    rb'\{\s*(?:"rank_eval"\s*:\s*\{\s*)?"metric_score"\s*:\s*[^\s{\[,]+\s*,\s*"(?:details|failures)"\s*:\s*\{'
)
_UNNAMED = re.compile(rb"\s*(?:(?:\[\s*)?%b|%b)" % (_ONE, _SEVERAL % _SCALARS), re.DOTALL)
_BEGINS = re.compile(
    rb"\s*(?:(?:\[\s*)?%b|%b|%b|\{\s*%b\s*:\s*%b)" % (_ONE, _SEVERAL % _SCALARS, _RANK_EVAL, _TEXT, _ONE),
    re.DOTALL,
)


def _detected(text: bytes, options: Options) -> str:
    """A file that begins with a response, or with several."""
    return "responses" if _BEGINS.match(text) else ""


def are_unnamed(source: Source) -> bool:
    """Whether the file begins with a response that does not name its query. Raises InputError."""
    return _UNNAMED.match(source.head) is not None


class _Responses(NamedTuple):
    """The responses of a file."""

    paths: list[str]  # of each in the file, for messages
    queries: Sequence[Any]  # their ids, none where the file does not name them
    contents: list[Any]  # of each
    names_missing: str = ""  # the hint where the ids are missing


def table(source: Source, number: str, options: Options) -> BlockTable:
    """The run of the responses. Raises InputError(s)."""
    responses = _responses_of(source)
    hits = []
    problems = []
    for path, response in zip(responses.paths, responses.contents, strict=True):
        of_response = _hits(response)
        if isinstance(of_response, Problem):
            message = f"{path}: {of_response.what}" if path != "$" else of_response.what
            problems.append(of_response.replace(what=message))
        else:
            hits.append(of_response)
    LineProblems.listed(problems).check(source.name)
    ids: Any = options.query_ids
    if not isinstance(ids, LaterIds):
        ids = _queries(responses, ids, source.name)
    if not any(hits):
        raise InputError(source.name, "no data: no response has hits")
    names = names_of_members(chain(*hits))
    chosen = _choose(names, dict(options.columns), source.name, _engine(responses.contents[0]))
    documents = [_ranked(of_response, chosen) for of_response in hits]

    def lists() -> Iterator[Lists]:
        given = ids.choose((), "", is_part=True) if isinstance(ids, LaterIds) else None
        queries = ids if given is None else _queries(responses, given, source.name)
        paths = [*map(_path_of_hits, responses.paths, responses.contents)]
        yield Lists(paths, queries, documents)

    return chosen_table(source, names, chosen, lists_columns, lists)


def _responses_of(source: Source) -> _Responses:
    """The responses of a JSON text, or of several, one a line."""
    text = read_whole(source)
    try:
        return _responses(parse_json(text, source.name))
    except InputError:
        lines = [(number, line) for number, line in enumerate(text.split(b"\n"), 1) if line.strip()]
        if len(lines) < 2 or not lines[0][1].rstrip().endswith(b"}"):
            raise
    contents = [parse_json(line, source.name, number) for number, line in lines]
    return _Responses(
        [f"line {number}" for number, _ in lines], (), contents, _NAME_ALL.format("-n ", "[inputs]")
    )


def _responses(content: Any) -> _Responses:
    if not isinstance(content, dict):
        return _unnamed(content if isinstance(content, list) else [content], "$", ".")
    if isinstance(content.get("responses"), list):
        return _unnamed(content["responses"], "$['responses']", ".responses")
    parts: dict[str, Any] = {"$": content}
    evaluated = content.get("rank_eval", content)
    if isinstance(evaluated, dict) and "metric_score" in evaluated:
        path = "$" if evaluated is content else "$['rank_eval']"
        parts = {f"{path}['{name}']": evaluated.get(name) for name in ("details", "failures")}
    elif not _MEMBERS.isdisjoint(content):
        return _Responses(["$"], (), [content], _NAME_ONE)
    objects = {path: part for path, part in parts.items() if isinstance(part, dict)}
    path_of = {query: f"{path}[{named(query)}]" for path, part in objects.items() for query in part}
    response_of = dict(chain.from_iterable(part.items() for part in objects.values()))
    return _Responses([*path_of.values()], [*response_of], [*response_of.values()])


def _unnamed(responses: list[Any], path: str, jq_path: str) -> _Responses:
    paths = [f"{path}[{position}]" for position in range(len(responses))]
    return _Responses(paths, (), responses, _NAME_ALL.format("", jq_path))


def _queries(responses: _Responses, query_ids: Any, name: str) -> list[Any]:
    """The ids of the queries. Raises InputError where these are unknown."""
    if not responses.names_missing:
        return [*responses.queries]
    count = len(responses.contents)
    engine = _engine(responses.contents[0]) if count else _ELASTIC
    if not isinstance(query_ids, tuple):
        message = f"this is a response of {engine}, which does not name its query"
        if count > 1:
            message = f"these are {count:,} responses of {engine}, which do not name their queries"
        raise InputError(name, message, hint=responses.names_missing)
    if len(query_ids) != count:
        ids = many(len(query_ids), "id", "ids")
        verb = "is" if count == 1 else "are"
        message = f"there {verb} {many(count, 'response', 'responses')} of {engine} and {ids} of queries"
        raise InputError(name, message, hint="Give --query-ids the id of each, in order")
    if len(set(query_ids)) < count:
        again = next(id for position, id in enumerate(query_ids) if id in query_ids[:position])
        raise InputError(
            name, f"query id {named(again)} is given twice", hint="A response is that of one query"
        )
    return [*query_ids]


def _engine(response: Any) -> str:
    """Which search engine answered, by the members of the response."""
    if not isinstance(response, dict):
        return _ELASTIC
    inner = response.get("response")
    has_docs = isinstance(inner, dict) and "docs" in inner
    return "Solr" if has_docs or not _OF_SOLR.isdisjoint(response) else _ELASTIC


def _hits(response: Any) -> list[Any] | Problem:
    """The hits of a response, or why it has none that can be used."""
    if not isinstance(response, dict):
        return Problem(None, f"{described(response)} is not a response")
    engine = _engine(response)
    if response.get("error"):
        return Problem(None, f"{engine} answered with an error: {_reason(response['error'])}")
    inner = response.get("response")
    if isinstance(inner, dict) and isinstance(inner.get("docs"), list):
        return list(inner["docs"])
    response = inner if isinstance(inner, dict) else response  # as of an asynchronous search
    if response.get("timed_out") is True:
        return Problem(None, "the search timed out, so that hits may be missing", _FORGIVE.format("timed_out"))
    shards = response.get("_shards")
    if isinstance(shards, dict) and shards.get("failed"):
        message = f"{described(shards['failed'])} of the index's shards failed, so that hits may be missing"
        return Problem(None, message, _FORGIVE.format("_shards"))
    hits = response.get("hits")
    hits = hits.get("hits") if isinstance(hits, dict) else hits
    if not isinstance(hits, list):
        return _without_hits(response, engine)
    if not hits and response.get("aggregations"):
        return _without_hits(response, engine)
    return [hit["hit"] if isinstance(hit, dict) and "hit" in hit else hit for hit in hits]  # of _rank_eval


def _path_of_hits(path: str, response: Any) -> str:
    """Where the hits of a response are, of which _hits() has found some. path: that of the response."""
    path = path if path.startswith("$") else f"{path}: $"
    inner = response.get("response")
    if isinstance(inner, dict):
        path += "['response']"
        if isinstance(inner.get("docs"), list):
            return f"{path}['docs']"
        response = inner
    return path + ("['hits']['hits']" if isinstance(response["hits"], dict) else "['hits']")


def _without_hits(response: Mapping[str, Any], engine: str) -> Problem:
    message = f"this is a response of {engine} without hits"
    if "grouped" in response:
        return Problem(None, f"{message}, since they are grouped", _UNGROUP)
    if "aggregations" in response:
        return Problem(None, f"{message}, with aggregations alone", "Search with a size above 0")
    return Problem(None, message, "Search again, with hits.hits if there is a filter_path")


def _reason(error: Any) -> str:
    """What an error says: of Elasticsearch its first cause, of Solr its message."""
    if not isinstance(error, dict):
        return described(error)
    causes = error.get("root_cause")
    cause = causes[0] if isinstance(causes, list) and causes and isinstance(causes[0], dict) else error
    texts = [str(cause[name]) for name in ("type", "reason", "msg") if cause.get(name)]
    return ": ".join(texts) or described(error)


def _choose(names: Sequence[str], by_role: Mapping[str, str], path: str, engine: str) -> Chosen:
    """The members of hits that are read. Raises InputError where a member of ids or of scores is missing."""
    for role in OF_SCORES:
        if role in by_role:
            check_has(names, by_role[role], path)
    document = by_role.get("document", "")
    if document not in names:
        usual = ("id", "_id") if engine == "Solr" else ("_id", "id")
        document = next((name for name in usual if name in names), usual[0])
        if names and document not in names:
            hint = "Name that of the ids: --columns document=NAME (columns={'document': NAME})"
            members = first_names(map(named, names), _SHOWN)
            message = f"the hits have no {named(document)}; their members are {members}"
            raise InputError(path, message, hint=hint)
    kind = next((role for role in OF_SCORES if by_role.get(role) in names), "score")
    score = by_role.get(kind, "_score" if "_score" in names else "score")
    return Chosen("", document, score, kind, rank=_POSITION)


def _ranked(hits: list[Any], chosen: Chosen) -> list[Any]:
    """The hits of a response as they are read, with their positions; by these, where none has a score."""
    sign = 1 if chosen.is_negated else -1
    has_scores = any(isinstance(hit, dict) and hit.get(chosen.number) is not None for hit in hits)

    def read(position: int, hit: Any) -> Any:
        if not isinstance(hit, dict) or chosen.document not in hit:
            return hit  # which is reported
        score = hit.get(chosen.number) if has_scores else sign * position
        return {chosen.document: hit[chosen.document], chosen.number: score, _POSITION: position}

    return [*starmap(read, enumerate(hits, 1))]


RESPONSES = Format(
    "responses",
    "it begins with a response of Elasticsearch, OpenSearch or Solr",
    table,
    _detected,
    no_qrels=("this is a response of a search engine, not qrels", QRELS_FIRST),
)
