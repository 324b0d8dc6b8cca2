"""Groups of queries: a file with a query and a group on each line, separated by a tab."""

from __future__ import annotations

from gradeval.errors import InputError, named
from gradeval.formats.diagnostics import SHOWN, LineProblems, Problem, Problems, no_data
from gradeval.formats.fields import read_text
from gradeval.formats.sources import Source

_HEADS = ({"query", "qid", "query_id", "topic"}, {"group"})


def read_groups(source: Source) -> dict[str, list[str]]:
    """The queries of each group, both in order of the file. Raises InputError(s).

    A query may be in several groups. A first line 'query group' is a header; lines that are blank or begin
    with # are ignored.
    """
    groups: dict[str, list[str]] = {}
    problems: list[Problem] = []
    seen: set[tuple[str, str]] = set()
    lines = read_text(source).split(b"\n")
    is_first = True
    for number, line in enumerate(lines):
        text = line.decode("utf-8", "surrogateescape").rstrip("\r")
        if not text.strip(" \t") or text.startswith("#"):
            continue
        query, tab, group = (part.strip(" ") for part in text.partition("\t"))
        is_head = is_first and query.lower() in _HEADS[0] and group.lower() in _HEADS[1]
        is_first = False
        if is_head:
            continue
        if not (query and tab and group) or "\t" in group:
            fields = text.count("\t") + 1
            what = (
                f"{fields} field{'s' * (fields != 1)} where a line has 2 (query and group, with a tab between)"
            )
            if tab and fields == 2:
                what = "the query is missing" if not query else "the group is missing"
            problems.append(Problem(number, what))
        elif (query, group) in seen:
            problems.append(Problem(number, f"query {named(query)} is in group {named(group)} twice"))
        else:
            seen.add((query, group))
            groups.setdefault(group, []).append(query)
    if len(problems) > 1 and not any(b"\t" in line for line in lines):
        raise InputError(source.name, "no line has a tab", hint="Each line has a query, a tab and a group")
    if problems:
        found = Problems(source.name)
        found.add(LineProblems(tuple(problems[:SHOWN]), len(problems)))
        raise found.error()
    if not groups:
        raise no_data(source.name, len(lines) - 1)
    return groups
