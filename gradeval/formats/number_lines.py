"""A file of numbers, one per line: scores of the lines of a LETOR file, or the sizes of its queries."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.errors import InputError
from gradeval.formats.diagnostics import LineProblems, Problems, no_data, shown
from gradeval.formats.scan import bare_cr_pattern, floats, split, unreadable
from gradeval.formats.sources import Block, Source
from gradeval.formats.trec import hint_of_number, not_a_number

_BARE_CR = bare_cr_pattern(rb"[ \t]*[-+.\d]")


class _Numbers(NamedTuple):
    """The numbers of a block, and the line of each."""

    value: Floats
    line: Ints
    lines: int
    last: bool
    problems: LineProblems


def read_numbers(
    source: Source,
    name: str,
    lines: float = math.inf,
    integers: bool = False,
    problems: Problems | None = None,
) -> tuple[Floats, Ints]:
    """The numbers of a file, one per line, and the line of each. Raises InputError(s).

    integers: they must be non-negative integers. lines: the data lines of the LETOR file. problems: collects
    those of the lines. Reading stops where
    there are more scores, or more sizes above 0: it may be a pipe that never ends.
    """
    problems = problems or Problems(source.name)
    problems.role = name
    made = (_read_numbers(block, name, integers) for block in source.blocks())
    values: list[Floats] = []
    places: list[Ints] = []
    total = 0
    for before, part in problems.until_enough(made):
        values.append(part.value)
        places.append(part.line + before)
        total += np.count_nonzero(part.value) if integers else len(part.value)
        if total > lines and not part.last and not problems.found.total:
            what = f"more {name}s than the {lines:,} lines of data; reading stopped at line {problems.lines:,}"
            raise InputError(source.name, what, hint="Is this the right file?")
    problems.check()
    if not any(map(len, values)):
        raise no_data(source.name, problems.lines)
    return np.concatenate(values), np.concatenate(places)


def _read_numbers(block: Block, name: str, integers: bool) -> _Numbers:
    rows = split(block.bytes, block.size, (0,), 1, 1)
    text = rows.fields[0]
    value, bad = floats(text)
    wrong = unreadable(block, rows, _BARE_CR)
    if wrong is not None:
        return _Numbers(value, rows.line, rows.lines, block.last, wrong)
    found = [
        LineProblems.of(
            rows.odd, lambda i: f"{rows.odd_counts[i]} fields where one {name} per line is expected"
        ),
        LineProblems.of(
            rows.line[bad],
            lambda i: not_a_number(name, text[int(bad[i])]),
            lambda i: hint_of_number(text[int(bad[i])]),
        ),
    ]
    if integers:
        odd = np.flatnonzero(np.isfinite(value) & ((value < 0) | (value != np.floor(value))))
        not_integers = LineProblems.of(
            rows.line[odd], lambda i: f"the {name} {shown(text[int(odd[i])])} is not a non-negative integer"
        )
        found.append(not_integers)
    problems = LineProblems.joined(found).within(block, len(rows.line) + len(rows.odd))
    return _Numbers(value, rows.line, rows.lines, block.last, problems)
