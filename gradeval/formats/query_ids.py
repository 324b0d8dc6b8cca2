"""A file of query ids, any number on a line."""

from __future__ import annotations

from collections.abc import Set

from gradeval.errors import named
from gradeval.formats.diagnostics import SHOWN, LineProblems, Problem, Problems
from gradeval.formats.fields import read_fields
from gradeval.formats.sources import Source


def read_query_ids(source: Source, judged: Set[str], qrels: str) -> tuple[str, ...]:
    """The different ids of a file, in order. Raises InputError(s), as where one is not judged.

    judged: the queries of the qrels. Reading stops after SHOWN others: it may be a pipe that never ends.
    """
    ids: dict[str, None] = {}
    problems = Problems(source.name)
    for line, fields in read_fields(source):
        new = [one for one in dict.fromkeys(fields) if one not in ids]
        unknown = [Problem(line, f"query {named(one)} is not in {qrels}") for one in new if one not in judged]
        problems.add(LineProblems(tuple(unknown), len(unknown)))
        if problems.found.total >= SHOWN:
            problems.end = line + 1
            break
        ids.update(dict.fromkeys(new))
    problems.check()
    return tuple(ids)
