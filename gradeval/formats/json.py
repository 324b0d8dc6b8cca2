"""JSON objects {query: {document: number}}, as pytrec_eval, ranx and BEIR hold them, and MTEB's predictions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Bools, Bytes, Ints
from gradeval.arrays.strings import PAD, Ids
from gradeval.errors import InputError, described, first_names, named
from gradeval.formats.columns import Columns, Table
from gradeval.formats.diagnostics import LineProblems, Problem, shown
from gradeval.formats.memory import Nested, nested_columns, object_numbers
from gradeval.formats.scan import LF, binary_data, floats
from gradeval.formats.sources import Source
from gradeval.notices import many
from gradeval.options import Options

_SPACE = b" \t\r\n"
_NOT_CLOSED = "unexpected end of file: the JSON object is not closed"
_QUOTE, _BACKSLASH, _COLON, _COMMA, _OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = b'"\\:,{}[]'
_MINUS, _DOT = b"-."
_ZERO = np.uint8(ord("0"))
_STEP = np.zeros(256, np.int8)  # of the depth
_STEP[[_OPEN, _OPEN_LIST]], _STEP[[_CLOSE, _CLOSE_LIST]] = 1, -1
_BLANK: NDArray[np.int8] = np.zeros(256, np.int8)
_BLANK[list(_SPACE)] = 1
_BEGINNING = re.compile(rb"[ \t\r\n]*\{")
_CHUNK = 1 << 20  # whose arrays of strings and numbers stay small
_EXAMINED = 1 << 16  # bytes in which the object and its first key begin
_MTEB_KEY = "mteb_model_meta"
_KEY = rb'[ \t\r\n]*\{[ \t\r\n]*"(?:[^"\\]|\\.)*"[ \t\r\n]*:'
_NESTED = re.compile(_KEY * 2 + rb"[ \t\r\n]*\{", re.DOTALL)
# a saved result; the keys of JSON qrels and runs have objects and numbers
_SAVED = re.compile(rb'\s*\{\s*"(?:(?:gradeval|format)"\s*:\s*[^\s{]|.*"gradeval"\s*:\s*")', re.DOTALL)


class RepeatedKey(ValueError):
    """The key, as messages show it, that a JSON object has twice."""


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object_pairs_hook of json.loads; raises RepeatedKey where one of the values would be ignored."""
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKey(named(next(key for place, key in enumerate(keys) if key in keys[:place])))
    return members


def reason(error: json.JSONDecodeError) -> str:
    """The message without the words that lead to a place."""
    return error.msg.removesuffix(" at").removesuffix(" starting")


def parse_json(text: bytes, name: str, line: int | None = None) -> Any:
    """The value of a JSON text without a key twice in an object. name, line: of messages. Raises InputError."""

    def refused(constant: str) -> NoReturn:
        raise InputError(name, f"{constant} is not JSON", line=line)

    try:
        return json.loads(text.decode("utf-8"), parse_constant=refused, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        raise InputError(name, f"not valid JSON ({reason(error)})", line=line or error.lineno) from None
    except RepeatedKey as error:
        raise InputError(name, f"{error} is in an object twice", line=line) from None
    except (ValueError, RecursionError) as error:  # bytes that are not UTF-8, an integer without end, [[[[…
        raise InputError(name, f"this JSON cannot be read ({type(error).__name__})", line=line) from None


def begins_saved(text: bytes) -> bool:
    return _SAVED.match(text[: 1 << 12]) is not None


def reject_saved(text: bytes, name: str, number: str) -> None:
    """Raise InputError where the text of a file of documents begins as saved results do."""
    if begins_saved(text):
        hint = f"Give the {'qrels' if number == 'grade' else 'run'} that it was made from"
        raise InputError(name, "a saved result has no documents", hint=hint)


def not_utf8(text: bytes) -> tuple[int, str] | None:
    """The first place that is not UTF-8, and what to say of it; None where all is."""
    if text.isascii():
        return None
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return error.start, f"not valid JSON: {text[error.start : error.end]!r} is not UTF-8"
    return None


def has_control_character(text: Bytes, quotes: Ints) -> bool:
    """Whether a string between these quotes has one as it is, not as an escape."""
    return bool((np.searchsorted(quotes, np.flatnonzero(text < ord(" "))) % 2).any())


def are_numbers(text: Bytes, start: Ints, length: Ints) -> bool:
    """Whether fields that float() reads, in the order of the text, are numbers of JSON.

    These do not begin with +, a point or 00, and have a digit behind a point.
    """
    points = np.flatnonzero(text[:-1] == _DOT)
    points = points[(text[points + 1] | 0x20) == ord("e")]
    field = np.searchsorted(start, points, "right") - 1
    if (text[start + length - 1] == _DOT).any() or (points < start[field] + length[field])[field >= 0].any():
        return False
    first = text[start]
    others = np.flatnonzero(first - _ZERO - 1 > 8)  # as bytes, which wrap around: all but 1, 2, … 9
    at = start[others] + (first[others] == _MINUS)
    digit = text[at] - _ZERO
    return bool(((digit <= 9) & ((digit > 0) | (text[at + 1] - _ZERO > 9))).all())


def table(source: Source, number: str, options: Options) -> Table:
    """Raises InputError where the file is no object, or an MTEB file needs a choice."""
    beginning = next(source.chunks(_EXAMINED)).tobytes()
    brace = _BEGINNING.match(beginning)
    if brace is None:
        what = "the file is empty" if not beginning.strip() else "this is not a JSON object"
        hint = "Needed is {query: {document: number}}; write a list of objects one a line: jq -c '.[]'"
        raise InputError(source.name, what, line=1, hint=hint)
    reject_saved(beginning, source.name, number)
    if _MTEB_KEY.encode() in beginning or _NESTED.match(beginning):
        text = b"".join(chunk.tobytes() for chunk in source.chunks())
        if _MTEB_KEY.encode() in text:
            return _mteb_table(parse_json(text, source.name), source.name, number, options.split)
    columns = partial(_columns, number=number)
    return Table.of(source, columns, blocks=partial(_parts, source, brace.end()))


def _mteb_table(content: dict[str, Any], name: str, number: str, chosen: str | None) -> Table:
    """Raises InputError."""
    if number == "grade":
        raise InputError(name, "this is a predictions file of MTEB, not qrels")
    splits = {
        (subset, split): run
        for subset, runs in content.items()
        for split, run in (runs.items() if subset != _MTEB_KEY and isinstance(runs, dict) else ())
    }
    wanted = [names for names in splits if chosen in (None, *names, "/".join(names))]
    if len(wanted) != 1:
        has = f"the file has {', '.join(named('/'.join(names)) for names in splits) or 'none'}"
        if wanted:
            raise InputError(name, f"several splits: {has}", hint="Choose one with --split SUBSET/SPLIT")
        raise InputError(name, f"no split {named(chosen)}: {has}" if chosen else f"no predictions: {has}")
    if not isinstance(splits[wanted[0]], dict):
        raise InputError(name, f"{described(splits[wanted[0]])} is not an object of queries")
    data = Nested(name, splits[wanted[0]], number)
    return Table(name, data.blocks, data.columns)


class _Part(NamedTuple):
    """Members of an object: whole queries with their documents.

    text: `size` bytes and PAD more. quotes: those around strings. skipped: lines before it that no part has.
    first, last: whether it has the first and the last member. problems: where its own text is valid.
    """

    text: Bytes
    size: int
    quotes: Ints
    skipped: int
    first: bool
    last: bool
    problems: LineProblems


def _parts(source: Source, offset: int) -> Iterator[_Part]:
    """offset: of the object's first member in the text."""
    chunks = source.chunks(_CHUNK)
    first, is_closed, skipped, seen = True, False, 0, set[bytes]()
    text = np.empty(0, np.uint8)
    for chunk in chunks:
        skipped += int(np.count_nonzero(chunk[:offset] == LF))
        text = np.concatenate([text, chunk[offset:]])
        offset = max(0, offset - len(chunk))
        quotes = _string_quotes(text)
        at, depth = _braces(text, quotes)
        ends = at[(depth == 1) & (_STEP[text[at]] < 0)]
        is_closed = bool((depth == 0).any())
        if not is_closed and not len(ends):
            continue
        end = int(at[depth == 0][0]) if is_closed else int(ends[-1]) + 1
        members, rest = text[:end], text[end:].copy()
        problems = _repeated(members, quotes, at[(depth == 2) & (text[at] == _OPEN) & (at < end)], seen)
        if is_closed and any(behind.tobytes().strip(_SPACE) for behind in chain([rest[1:]], chunks)):
            what = "there is more after the end of the JSON object"
            hint = "For an object a line, give --run-format jsonl or --qrels-format jsonl"
            line = skipped + int(np.count_nonzero(members == LF))
            problems = LineProblems.listed([Problem(line, what, hint)], final=True)
        elif is_closed and first and not members.tobytes().strip(_SPACE):
            raise InputError(source.name, "no data: the object is empty")
        padded = np.concatenate([members, np.zeros(PAD, np.uint8)])
        quotes = quotes[: int(np.searchsorted(quotes, end))]
        yield _Part(padded, end, quotes, skipped, first, is_closed, problems)
        if is_closed:
            return
        text, first, skipped = rest, False, 0
    line = skipped + int(np.count_nonzero(text == LF))
    problems = LineProblems.listed([Problem(line, _NOT_CLOSED, "Fetch the file again")], final=True)
    padded = np.concatenate([text, np.zeros(PAD, np.uint8)])
    yield _Part(padded, len(text), np.empty(0, np.int64), skipped, first, True, problems)


def _string_quotes(text: Bytes) -> Ints:
    quotes = np.flatnonzero(text == _QUOTE)
    if not len(quotes) or not (text == _BACKSLASH).any():
        return quotes
    backslashes = np.flatnonzero(text == _BACKSLASH)
    is_start = np.append(True, np.diff(backslashes) > 1)
    start = np.maximum.accumulate(np.where(is_start, backslashes, 0))  # of the run of each
    before = np.searchsorted(backslashes, quotes) - 1
    follows = (before >= 0) & (backslashes[before] == quotes - 1)
    is_quote: Bools = ~follows | ((quotes - start[before]) % 2 == 0)
    outside: Ints = quotes[is_quote]
    return outside


def _braces(text: Bytes, quotes: Ints) -> tuple[Ints, Ints]:
    """The braces and brackets outside strings, and the depth after each, where that before the text is 1."""
    at = np.flatnonzero(_STEP[text])
    at = at[np.searchsorted(quotes, at) % 2 == 0]
    return at, 1 + np.cumsum(_STEP[text[at]], dtype=np.int64)


def _repeated(text: Bytes, quotes: Ints, opens: Ints, seen: set[bytes]) -> LineProblems:
    """The keys that were seen before. opens: the braces behind keys; seen: gains these."""
    behind = np.searchsorted(quotes, opens)
    behind = behind[behind >= 2]  # other text is not valid, which its part reports
    bounds = zip((quotes[behind - 2] + 1).tolist(), quotes[behind - 1].tolist(), strict=True)
    whole, keys = text.tobytes(), list[bytes]()
    for start, end in bounds:
        key = whole[start:end]
        if b"\\" in key:
            with suppress(ValueError):  # which the part reports
                key = str(json.loads(b'"%b"' % key)).encode("utf-8", "surrogatepass")
        if key in seen:
            keys.append(key)
        seen.add(key)
    whats = [f"query {shown(key)} is in the object twice" for key in keys]
    return LineProblems.listed([Problem(None, what) for what in whats])


def _columns(part: _Part, number: str) -> Columns:
    text = part.text[: part.size].tobytes()
    lines = int(np.count_nonzero(part.text[: part.size] == LF)) + part.skipped
    problem, wrong = None, not_utf8(text)
    if (nul := text.find(b"\0")) >= 0:
        problem = binary_data(b"", text.count(b"\n", 0, nul) + part.skipped)
    elif wrong is not None:
        problem = Problem(text.count(b"\n", 0, wrong[0]) + part.skipped, wrong[1])
    if problem is not None:
        return Columns.failed(lines, part, problem)
    columns = _plain_columns(part, lines) or _exact_columns(part, lines, number)
    if part.problems.total and not columns.problems.total:
        columns = columns.without_rows(part.problems)
    return columns.light() if number == "grade" else columns


def _plain_columns(part: _Part, lines: int) -> Columns | None:
    """The rows of a part whose values are all numbers, None for another."""
    text, size, quotes = part.text, part.size, part.quotes
    if len(quotes) % 2 or not len(quotes) or has_control_character(text[:size], quotes):
        return None
    opening, closing = quotes[::2], quotes[1::2]
    if text[: opening[0]].tobytes().strip(_SPACE) != (b"" if part.first else b","):
        return None
    gap_end = np.append(opening[1:], size)
    colon = _skip(text, closing + 1, 1)
    if not (text[colon] == _COLON).all():
        return None
    value = _skip(text, colon + 1, 1)
    is_query = text[value] == _OPEN
    if not is_query[0] or is_query[-1]:
        return None
    queries, documents = np.flatnonzero(is_query), np.flatnonzero(~is_query)
    if (_skip(text, value[queries] + 1, 1) != gap_end[queries]).any() or is_query[queries + 1].any():
        return None
    tail = _skip(text, gap_end[documents] - 1, -1)
    if not (text[tail[:-1]] == _COMMA).all():
        return None
    tail[:-1] = _skip(text, tail[:-1] - 1, -1)
    closes = text[tail] == _CLOSE
    if (closes != np.append(is_query, True)[documents + 1]).any():
        return None
    ends = np.flatnonzero(closes)
    tail[ends] = _skip(text, tail[ends] - 1, -1)
    start = value[documents]
    length = tail + 1 - start
    if (length <= 0).any():
        return None
    number, bad = floats(Ids(text, start, length))
    if len(bad) or not are_numbers(text, start, length):
        return None
    ids = _decoded(text, size, opening, closing)
    if ids is None:
        return None
    bounds = np.append(np.searchsorted(documents, queries), len(documents))
    line = _line_of(part, opening[documents], lines)
    return Columns(ids.take(queries), bounds, ids.take(documents), number, line, lines, part.first, part.last)


def _line_of(part: _Part, places: Ints, lines: int) -> Ints:
    ends = np.flatnonzero(part.text[: part.size] == LF) if lines > part.skipped else places[:0]
    return np.searchsorted(ends, places) + part.skipped


def _skip(text: Bytes, at: Ints, step: int) -> Ints:
    """The first places from these on, forwards or backwards, without a space or a line end."""
    blank: NDArray[np.int8]
    while (blank := _BLANK[text[at]]).any():
        at = at + step * blank.astype(np.int64)
    return at


def _decoded(text: Bytes, size: int, opening: Ints, closing: Ints) -> Ids | None:
    """The strings between these quotes, None where one is not valid or has a NUL."""
    ids = Ids(text, opening + 1, closing - opening - 1)
    backslashes = np.flatnonzero(text[:size] == _BACKSLASH)
    if not len(backslashes):
        return ids
    rows = np.unique(np.searchsorted(opening, backslashes) - 1)
    try:
        strings = json.loads(b"[" + b",".join(b'"%b"' % string for string in ids.take(rows).tolist()) + b"]")
        decoded = [string.encode("utf-8", "surrogateescape") for string in strings]
    except ValueError:  # of JSON, or of UTF-8 or a lone surrogate
        return None
    if any(b"\0" in string for string in decoded):
        return None
    row = np.arange(len(ids))
    row[rows] = len(ids) + np.arange(len(rows))
    return Ids.joined([ids, Ids.of(decoded)]).take(row)


class _Object(tuple[tuple[str, Any], ...]):
    """The members of a JSON object, in which a key may be twice."""

    def __repr__(self) -> str:
        return repr(dict(self))


def _exact_columns(part: _Part, lines: int, number: str) -> Columns:
    """The rows of any part, which is UTF-8, as the json module reads it."""
    text = part.text[: part.size].tobytes().decode()
    opened = "{" if part.first else '{"":{}'
    try:
        members = json.loads(opened + text + "}", object_pairs_hook=_Object)[not part.first :]
    except json.JSONDecodeError as error:
        end = error.pos - len(opened)
        what = f"not valid JSON ({error.msg.removesuffix(' at')} at {named(text[end : end + 20])})"
        problem = Problem(text.count("\n", 0, max(end, 0)) + part.skipped, what)
        return Columns.failed(lines, part, problem.replace(what=_NOT_CLOSED) if end >= len(text) else problem)
    except RecursionError:
        return Columns.failed(lines, part, Problem(part.skipped, "the JSON is nested too deeply"))
    wrong = [
        Problem(None, f"$[{named(query)}]: {described(documents)} is not an object of documents")
        for query, documents in members
        if not isinstance(documents, _Object)
    ]
    members = [(query, documents) for query, documents in members if isinstance(documents, _Object)]
    queries = [query for query, documents in members if documents]
    if part.first and part.last and members and not (queries or wrong):
        has = f"{many(len(members), 'query has', 'queries have')} no documents"
        what = f"no data: {has}: {first_names(named(query) for query, _ in members)}"
        return Columns.failed(lines, part, Problem(part.skipped, what))
    bounds: Ints = np.cumsum([0, *(len(documents) for _, documents in members if documents)])
    rows = [*chain.from_iterable(documents for _, documents in members)]
    numbers = object_numbers([value for _, value in rows], number)

    def place(query: int, row: int) -> str:
        return f"$[{named(queries[query])}][{named(rows[row][0])}]"

    columns = nested_columns(queries, bounds, [document for document, _ in rows], numbers, place)
    problems = columns.problems.changed(lambda problem: problem.replace(line=None))
    if wrong:
        columns = columns.without_rows(problems := LineProblems.joined([problems, LineProblems.listed(wrong)]))
    # the lines of the documents, whose keys are at depth 2
    closing = part.quotes[1::2]
    at, depths = _braces(part.text[: part.size], part.quotes)
    depth = np.append(1, depths)[np.searchsorted(at, closing)]
    is_key = (depth == 2) & (part.text[_skip(part.text, closing + 1, 1)] == _COLON)
    line_of_row = _line_of(part, closing[is_key], lines)[: len(columns.value)]
    return columns.replace(line=line_of_row, lines=lines, first=part.first, last=part.last, problems=problems)
