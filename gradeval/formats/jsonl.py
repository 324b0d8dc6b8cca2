"""JSON Lines: an object a line with a query, a document and a grade or score, named as columns of CSV are."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from gradeval.arrays import Bytes, Ints
from gradeval.arrays.strings import Ids
from gradeval.errors import InputError, described, named
from gradeval.formats.columns import Columns, Table, grouped
from gradeval.formats.csv import Chosen, choose
from gradeval.formats.diagnostics import LineProblems, Problem
from gradeval.formats.json import are_numbers, has_control_character, not_utf8, reason, reject_saved
from gradeval.formats.lines import RepeatedKey, unique_keys
from gradeval.formats.memory import object_ids, object_numbers
from gradeval.formats.scan import LF, binary_data, floats
from gradeval.formats.sources import TOO_LONG, Block, Source
from gradeval.options import Options

_BLANK = b" \t\r\n"
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
            return Table(source, partial(_columns, chosen=chosen, number=number), tuple(first))
        before += int(np.count_nonzero(block.bytes[: block.size] == LF))
    raise InputError(source.name, "the file is empty" if not before else "no data: all lines are blank")


def _object(line: bytes) -> dict[str, Any] | str:
    """The object of a line, or what is wrong with it."""
    wrong = not_utf8(line)
    if wrong is not None:
        return wrong[1]
    try:
        value = json.loads(line.decode(), object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        return f"not valid JSON ({reason(error)} in column {error.colno})"
    except RepeatedKey as error:
        return f"the key {named(error.key)} is in the object twice"
    except RecursionError:
        return "the JSON is nested too deeply"
    return value if isinstance(value, dict) else f"{described(value)} is not a JSON object"


def _columns(block: Block, chosen: Chosen, number: str) -> Columns:
    raw = block.bytes[: block.size]
    text = raw.tobytes()
    lines = text.count(b"\n")
    if block.too_long:
        return Columns.failed(lines, block.first, block.last, Problem(0, TOO_LONG, "Is this the right file?"))
    if b"\0" in text:
        return Columns.failed(
            lines, block.first, block.last, binary_data(text[:4], text.count(b"\n", 0, text.index(b"\0")))
        )
    plain = _plain(block) if not_utf8(text) is None else None
    if plain is not None and set(chosen[:3]) <= plain.keys():
        queries, documents, numbers = (plain[name] for name in chosen[:3])
        values, bad = floats(numbers)
        is_number = not _is_bare(numbers) or are_numbers(numbers.block, numbers.start, numbers.length)
        if is_number and not len(bad) and not (_is_bare(queries) or _is_bare(documents)):
            values = -values if chosen.by_rank else values
            columns = Columns(
                *grouped(queries), documents, values, np.arange(lines), lines, block.first, block.last
            )
            return columns.light() if number == "grade" else columns
    rows = text.split(b"\n")[:-1]
    line = np.arange(lines)
    if b"\n\n" in text or text[:1] in _BLANK or b"\n\r" in text or b"\n " in text:
        kept = [at for at, row in enumerate(rows) if row.strip(_BLANK)]
        rows, line = [rows[at] for at in kept], np.array(kept, np.int64)
    try:
        joined = b",".join(rows).decode()
        objects = json.loads(f"[{joined}]", object_pairs_hook=unique_keys)
        fields = [[one[name] for one in objects] for name in chosen[:3]]
        if len(objects) != len(rows) or not set(map(type, objects)) <= {dict}:
            raise ValueError  # a line with two, or none
    except (ValueError, KeyError, TypeError, RecursionError):
        return _one_by_one(block, rows, line, chosen, number, lines)
    return _of_fields(block, fields, line, chosen, number, lines, LineProblems())


def _is_bare(ids: Ids) -> bool:
    """Whether these values are no strings, so that they are not their text."""
    return len(ids) > 0 and ids.block[ids.start[0] - 1] != _QUOTE


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
    found: dict[str, Ids] = {}
    keys: set[str] = set()
    key = ""
    for place, part in enumerate(first):
        start, end = edges[:, place], edges[:, place + 1]
        if place % 2:
            is_key = first[place + 1][1:].lstrip(b" \t")[:1] == b":"
            if not is_key:
                found[key] = Ids(block.bytes, start, end - start)
                continue
            key = part.decode()
            if key in keys:  # of one object, or of a nested one too
                return None
            keys.add(key)
            if not _all_are(text, start, end, part):
                return None
            continue
        between = _BARE.fullmatch(part) if place else None
        if between is None:
            if not _all_are(text, start, end, part):
                return None
            continue
        before, after = len(between[1]), len(between[3])
        value = Ids(block.bytes, start + before, end - start - before - after)
        if (value.length <= 0).any() or not _all_are(text, start, start + before, between[1]):
            return None
        if not _all_are(text, end - after, end, between[3]):
            return None
        found[key] = value
    return found


def _all_are(text: Bytes, start: Ints, end: Ints, part: bytes) -> bool:
    """Whether the text at all these places is this one."""
    if (end - start != len(part)).any():
        return False
    return all(bool((text[start + at] == byte).all()) for at, byte in enumerate(part))


def _one_by_one(
    block: Block, rows: Sequence[bytes], line: Ints, chosen: Chosen, number: str, lines: int
) -> Columns:
    """The columns of a block in which a line is wrong."""
    fields: list[list[Any]] = [[], [], []]
    good: list[int] = []
    wrong: dict[int, str] = {}
    for at, row in enumerate(rows):
        value = _object(row)
        if isinstance(value, str):
            wrong[at] = value
            continue
        missing = [name for name in chosen[:3] if name not in value]
        if missing:
            wrong[at] = f"the object has no {named(missing[0])}"
            continue
        good.append(at)
        for field, name in zip(fields, chosen[:3], strict=True):
            field.append(value[name])
    texts = [*wrong.values()]
    problems = LineProblems.of(line[np.array([*wrong], np.int64)], texts.__getitem__)
    return _of_fields(block, fields, line[np.array(good, np.int64)], chosen, number, lines, problems)


def _of_fields(
    block: Block,
    fields: Sequence[Sequence[Any]],
    line: Ints,
    chosen: Chosen,
    number: str,
    lines: int,
    problems: LineProblems,
) -> Columns:
    queries, wrong_query = object_ids(fields[0], "query id")
    documents, wrong_document = object_ids(fields[1], "document id")
    values, wrong_number = object_numbers(fields[2], "rank" if chosen.by_rank else number)
    values = -values if chosen.by_rank else values
    columns = Columns(*grouped(queries), documents, values, line, lines, block.first, block.last)
    found = LineProblems.joined([wrong_query, wrong_document, wrong_number])
    found = found.changed(lambda one: one._replace(line=int(line[one.line or 0])))
    problems = LineProblems.joined([problems, found])
    if problems.total:
        return columns.take(np.zeros(len(values), bool))._replace(problems=problems)
    return columns.light() if number == "grade" else columns
