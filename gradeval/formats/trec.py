"""TREC's qrels (query iter document grade) and runs (query Q0 document rank score tag)."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np

from gradeval.formats.problems import LastProblem, Problem, Problems, no_data, shown
from gradeval.formats.scan import Rows, floats, split, unreadable
from gradeval.formats.sources import Block, Source
from gradeval.ids import Ids
from gradeval.judgments import Qrels
from gradeval.parallel import ordered_map
from gradeval.segments import Floats, Ints

_FIELD = re.compile(rb"[^ \t\r]+")
_QRELS_LINE, _RUN_LINE = (re.compile(rb"[ \t]*(?:[^ \t]+[ \t]+){%d}[-+.\d]" % fields) for fields in (3, 4))


class Columns(NamedTuple):
    """The data lines of a block: ids and one number a line, and what is wrong with other lines.

    queries: the id of each group of neighbouring lines with one query, (S,). bounds: group s owns rows
    bounds[s]:bounds[s+1]. documents, number, line (0-based in the block): of each row, (n,).
    lines: how many lines the block has. tag: what the run calls itself in its last line here, None without one.
    """

    queries: Ids
    bounds: Ints
    documents: Ids
    number: Floats
    line: Ints
    lines: int
    problems: list[Problem]
    tag: bytes | None = None


def read_qrels(source: Source, jobs: int = 1) -> Qrels:
    """The judgments of a file. Raises InputError(s)."""
    problems = Problems(source.name)
    parts: list[Columns] = []
    before = 0
    for part in ordered_map(qrels_columns, source.blocks(), jobs):
        problems.add(part.problems, before)
        parts.append(part)
        before += part.lines
    problems.check()
    if not any(len(part.number) for part in parts):
        raise no_data(source.name, before)
    bounds = np.cumsum(np.concatenate([[0], *(np.diff(part.bounds) for part in parts)]))
    ids = Ids.joined([part.queries for part in parts])
    documents = Ids.joined([part.documents for part in parts])
    grade = np.concatenate([part.number for part in parts])
    lines = [(part.line, part.lines) for part in parts]
    del part, parts  # what comes now is made in the memory that they leave
    return Qrels.of(source.name, ids, bounds, documents, grade, lambda: _joined(lines), jobs=jobs)


def _joined(lines: list[tuple[Ints, int]]) -> Ints:
    """The lines of the rows of a file, from those of each block and how many the block has."""
    before = np.cumsum([0, *(count for _, count in lines)])
    return np.concatenate([line + by for (line, _), by in zip(lines, before[:-1], strict=True)])


def qrels_columns(block: Block) -> Columns:
    """The judgments of a block; number is the grade."""
    rows = split(block.bytes, block.size, (0, 2, 3), 4, 4)
    hint = "This looks like a run; the qrels come first, then the runs"
    problems = _odd(rows, block.first, "qrels have 4 (query iter document grade)", (5, 6), hint)
    read = _columns(block, rows, "grade", _QRELS_LINE, problems)
    return read._replace(queries=read.queries.light(), documents=read.documents.light())


def run_columns(block: Block) -> Columns:
    """The run lines of a block; number is the score. The tag may be missing; what follows it is ignored."""
    rows = split(block.bytes, block.size, (0, 2, 4), 5)
    hint = "This looks like qrels; the qrels come first, then the runs"
    problems = _odd(rows, block.first, "a run has 6 (query Q0 document rank score tag)", (4,), hint)
    return _columns(block, rows, "score", _RUN_LINE, problems)._replace(tag=_last_tag(block, rows))


def _last_tag(block: Block, rows: Rows) -> bytes | None:
    if not len(rows.line):
        return None
    from_document = block.bytes[rows.fields[1].start[-1] : block.size].tobytes()
    fields = _FIELD.findall(from_document.split(b"\n", 1)[0])
    return fields[3] if len(fields) > 3 else b""


def _odd(rows: Rows, is_first: bool, expected: str, others: tuple[int, ...], hint: str) -> list[Problem]:
    """The lines with too few or too many fields; the first speaks for all where all are of the other format.

    others: how many fields a line of the other format has.
    """
    problems = [
        Problem(line, f"{count} field{'s' * (count != 1)} where {expected}") for line, count in rows.odd
    ]
    if problems and is_first and not len(rows.line):
        counts = {count for _, count in rows.odd}
        if counts <= set(others):
            return [LastProblem(*problems[0][:2], hint)]
        if counts == {1}:
            return [LastProblem(*problems[0][:2], "Scores, one a line, go with a LETOR file as qrels")]
    return problems


def _columns(
    block: Block, rows: Rows, name: str, a_line: re.Pattern[bytes], problems: list[Problem]
) -> Columns:
    queries, documents, text = rows.fields
    number, bad = floats(text)
    problems += [Problem(int(rows.line[row]), not_a_number(name, text[row])) for row in bad.tolist()]
    wrong = unreadable(block.bytes[: block.size], rows, a_line)
    if wrong is not None:
        problems = [wrong]
    bounds = np.concatenate([[0], queries.changes(), [len(queries)]])
    if not len(queries):
        bounds = bounds[:1]
    return Columns(queries.take(bounds[:-1]), bounds, documents, number, rows.line, rows.lines, problems)


def not_a_number(name: str, field: bytes) -> str:
    """What is wrong with a field that is not a finite number."""
    try:
        kind = "number" if math.isfinite(float(field)) else "finite number"  # float() takes 1_0
    except ValueError:
        kind = "number"
    return f"the {name} {shown(field)} is not a {kind}"
