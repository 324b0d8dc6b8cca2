"""JSON Lines: an object a line with a query, a document and a grade or score, named as columns of CSV are."""

from __future__ import annotations

import json
import re
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from gradeval.arrays.strings import Ids
from gradeval.errors import InputError, described, named
from gradeval.formats.columns import Columns, Table, columns_of, of_one_run
from gradeval.formats.csv import Chosen, choose
from gradeval.formats.diagnostics import NOTHING, LineProblems, Problem
from gradeval.formats.json import (
    RepeatedKey,
    are_numbers,
    has_control_character,
    not_utf8,
    reason,
    reject_saved,
    unique_keys,
)
from gradeval.formats.memory import DOCUMENT, QUERY, RUN_NAMES, SUBTOPIC, Objects, read_values
from gradeval.formats.scan import LF, DataLines, not_text
from gradeval.formats.sources import Block, Source
from gradeval.options import Options

_BLANK = b" \t\r\n"
_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys)
_QUOTE, _BACKSLASH = b'"\\'
_BARE = re.compile(rb'("[ \t]*:[ \t]*)([^ \t",{}[\]][^",{}[\]]*?)([ \t]*(?:,[ \t]*"|\}[ \t\r]*))')


def table(source: Source, number: str, options: Options) -> Table:
    """Raises InputError where the first object does not have the names."""
    before = 0
    for block in source.blocks():
        for place, line in enumerate(block.bytes[: block.size].tobytes().split(b"\n")):
            if not line.strip(_BLANK) or block.too_long:
                continue
            reject_saved(block.bytes[: block.size].tobytes(), source.name, number)
            first = _object(line)
            if isinstance(first, str):
                raise InputError(source.name, first, line=before + place + 1)
            chosen = choose([*first], number, dict(options.columns), source.name)
            columns = partial(_columns, chosen=chosen, number=number)
            return of_one_run(Table.of(source, columns, [*first]), chosen.run)
        before += int(np.count_nonzero(block.bytes[: block.size] == LF))
    raise InputError(source.name, "the file is empty" if not before else "no data: all lines are blank")


def _object(line: bytes) -> dict[str, Any] | str:
    """The object of a line, or what is wrong with it."""
    wrong = not_utf8(line)
    if wrong is not None:
        return wrong[1]
    try:
        value = _DECODER.decode(line.decode())
    except json.JSONDecodeError as error:
        return f"not valid JSON ({reason(error)} in column {error.colno})"
    except RepeatedKey as error:
        return f"the key {error} is in the object twice"
    except RecursionError:
        return "the JSON is nested too deeply"
    return value if isinstance(value, dict) else f"{described(value)} is not a JSON object"


def _columns(block: Block, chosen: Chosen, number: str) -> Columns:
    text = block.bytes[: block.size].tobytes()
    lines = text.count(b"\n")
    if (problem := not_text(block)) is not None:
        return Columns.failed(lines, block, problem)
    fields = _plain(block) if not_utf8(text) is None else None
    if fields is not None and set(chosen.names) <= fields.keys():  # strings for ids, and a number
        texts = [fields[name] for name in chosen.names]
        numbers = texts[2]
        are_strings = [text.block[text.start[0] - 1] == _QUOTE for text in texts]
        is_number = are_strings[2] or are_numbers(numbers.block, numbers.start, numbers.length)
        if all(are_strings[:2] + are_strings[3:]) and is_number:
            rows = DataLines(tuple(texts), np.arange(lines), lines)
            columns = columns_of(block, rows, number, None, NOTHING)
            if not columns.problems.total:
                return chosen.finished(columns, number)
    columns = _exact_columns(block, text, lines, chosen, "rank" if chosen.by_rank else number)
    return chosen.finished(columns, number)


def _plain(block: Block) -> dict[str, Ids] | None:
    """The text of the values by name where all lines have the keys of the first, written alike; None otherwise.

    Between its strings a line has fixed text, such as '": "', and numbers or other bare values.
    """
    text = block.bytes[: block.size]
    ends = np.flatnonzero(text == LF)
    quotes = np.flatnonzero(text == _QUOTE)
    count, rest = divmod(len(quotes), max(len(ends), 1))
    if rest or count < 2 or count % 2 or (text == _BACKSLASH).any():
        return None
    if np.count_nonzero(text < ord(" ")) > len(ends) and has_control_character(text, quotes):
        return None
    starts = np.append(0, ends[:-1] + 1)
    edges = np.column_stack([starts, quotes.reshape(-1, count) + 1, ends])
    if (edges[:, 1] <= starts).any() or (edges[:, -2] > ends).any():
        return None
    edges[:, 2:-1:2] -= 1  # before the quote that closes a string
    first = [text[a:b].tobytes() for a, b in pairwise(edges[0].tolist())]  # between, string, between, …
    values: dict[str, Ids] = {}
    keys: set[str] = set()
    key = ""
    for place, part in enumerate(first):
        start, end = edges[:, place], edges[:, place + 1]
        before, after, is_value = part, b"", False
        if place % 2 and first[place + 1][1:].lstrip(b" \t")[:1] != b":":
            before, is_value = b"", True
        elif place % 2:
            key = part.decode()
            if key in keys:  # of one object, or of a nested one too
                return None
            keys.add(key)
        elif place and (bare := _BARE.fullmatch(part)):
            before, after, is_value = bare[1], bare[3], True
        length = end - start - len(before) - len(after)
        if (length <= 0).any() if is_value and place % 2 == 0 else not is_value and length.any():
            return None
        for at, byte in enumerate(before):
            if not (text[start + at] == byte).all():
                return None
        for at, byte in enumerate(after):
            if not (text[end - len(after) + at] == byte).all():
                return None
        if is_value:
            values[key] = Ids(block.bytes, start + len(before), length)
    return values


def _exact_columns(block: Block, text: bytes, lines: int, chosen: Chosen, number: str) -> Columns:
    """The columns of any block, read line by line."""
    names = chosen.names
    written = text.split(b"\n")
    line = [place for place, row in enumerate(written) if row and row.strip(_BLANK)]
    wrong: list[Problem] = []
    try:
        objects = _DECODER.decode(f"[{b','.join(written[place] for place in line).decode()}]")
        fields = [[members[name] for members in objects] for name in names]
        if len(objects) != len(line):
            raise ValueError  # a line with two, or none
    except (ValueError, KeyError, TypeError, RecursionError):
        fields, rows, line = [[] for _ in names], line, []
        for place in rows:
            members = _object(written[place])
            missing = [name for name in names if name not in members]
            if isinstance(members, str) or missing:
                what = members if isinstance(members, str) else f"the object has no {named(missing[0])}"
                wrong.append(Problem(place, what))
                continue
            line.append(place)
            for field, name in zip(fields, names, strict=True):
                field.append(members[name])
    labels = (QUERY, DOCUMENT, number, SUBTOPIC if chosen.subtopic else RUN_NAMES)
    columns = read_values([*map(Objects, fields)], labels, slice(None), block.first, block.last)
    wrong += (problem.replace(line=line[problem.line or 0]) for problem in columns.problems.all())
    if wrong:
        return columns.without_rows(LineProblems.listed(wrong)).replace(lines=lines)
    return columns.replace(line=np.array(line, np.int64), lines=lines)
