"""JSON objects {query: {document: number}}, as pytrec_eval, ranx and BEIR hold them, and MTEB's predictions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Bools, Bytes, Ints
from gradeval.arrays.segments import distinct
from gradeval.arrays.strings import PAD, Ids
from gradeval.errors import InputError, described, first_names, named
from gradeval.formats.columns import Columns, Table
from gradeval.formats.diagnostics import NOTHING, LineProblems, Problem, shown
from gradeval.formats.memory import object_ids, object_numbers
from gradeval.formats.scan import LF, binary_data, floats
from gradeval.formats.sources import Source
from gradeval.notices import many
from gradeval.options import Options

SPACE = " \t\r\n"
NOT_CLOSED = "unexpected end of file: the JSON object is not closed"
MORE = "there is more after the end of the JSON object"
QUOTE, BACKSLASH, COLON, COMMA, OPEN, CLOSE, _OPEN_LIST, _CLOSE_LIST = b'"\\:,{}[]'
_MINUS, _DOT = b"-."
_ZERO = np.uint8(ord("0"))
STEP = np.zeros(256, np.int8)  # of the depth
STEP[[OPEN, _OPEN_LIST]], STEP[[CLOSE, _CLOSE_LIST]] = 1, -1
_BLANK: NDArray[np.int8] = np.zeros(256, np.int8)
_BLANK[list(SPACE.encode())] = 1
_BEGINNING = re.compile(rb"[ \t\r\n]*\{")
_CHUNK = 1 << 20  # whose arrays of strings and numbers stay small
_EXAMINED = 1 << 16  # bytes in which the object and its first key begin
_NONE: Ints = np.empty(0, np.int64)
MTEB_KEY = b"mteb_model_meta"
_KEY = rb'[ \t\r\n]*\{[ \t\r\n]*"((?:[^"\\]|\\.)*)"[ \t\r\n]*:'
_FIRST_KEY, _NESTED = re.compile(_KEY, re.DOTALL), re.compile(_KEY * 2 + rb"[ \t\r\n]*\{", re.DOTALL)
# a saved result; the keys of JSON qrels and runs have objects and numbers
_SAVED = re.compile(rb'\s*\{\s*"(?:(?:gradeval|format)"\s*:\s*[^\s{]|.*"gradeval"\s*:\s*")', re.DOTALL)


class RepeatedKey(ValueError):
    """A key that a JSON object has twice."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object_pairs_hook of json.loads; raises RepeatedKey where one of the values would be ignored."""
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKey(next(key for place, key in enumerate(keys) if key in keys[:place]))
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
        raise InputError(name, f"{named(error.key)} is in an object twice", line=line) from None
    except (ValueError, RecursionError) as error:  # bytes that are not UTF-8, an integer without end, [[[[…
        raise InputError(name, f"this JSON cannot be read ({type(error).__name__})", line=line) from None


def begins_saved(text: bytes) -> bool:
    return _SAVED.match(text[: 1 << 12]) is not None


def reject_saved(text: bytes, name: str, number: str) -> None:
    """Raise InputError where the text of a file of documents begins as saved results do."""
    if begins_saved(text):
        hint = f"Give the {'qrels' if number == 'grade' else 'run'} that it was made from"
        raise InputError(name, "a saved result has no documents", hint=hint)


class Part(NamedTuple):
    """Members of an object: whole queries with their documents.

    text: `size` bytes and PAD more. quotes: those around strings. skipped: lines before the first member that
    no part has. first, last: whether it has the first and the last member. again: the members whose keys an
    earlier member has. error: what is wrong behind the last member, and a hint.
    """

    text: Bytes
    size: int
    quotes: Ints
    skipped: int
    first: bool
    last: bool
    again: LineProblems
    error: tuple[str, str] | None

    @classmethod
    def of(cls, text: Bytes, quotes: Ints, *rest: Any) -> Part:
        """Of a text without what follows it. quotes: those of more. rest: the fields from skipped on."""
        padded = np.concatenate([text, np.zeros(PAD, np.uint8)])
        return cls(padded, len(text), quotes[: int(np.searchsorted(quotes, len(text)))], *rest)


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


def string_quotes(text: Bytes) -> Ints:
    quotes = np.flatnonzero(text == QUOTE)
    if not len(quotes) or not (text == BACKSLASH).any():
        return quotes
    backslashes = np.flatnonzero(text == BACKSLASH)
    is_start = np.append(True, np.diff(backslashes) > 1)
    start = np.maximum.accumulate(np.where(is_start, backslashes, 0))  # of the run of each
    before = np.searchsorted(backslashes, quotes) - 1
    follows = (before >= 0) & (backslashes[before] == quotes - 1)
    is_quote: Bools = ~follows | ((quotes - start[before]) % 2 == 0)
    outside: Ints = quotes[is_quote]
    return outside


def braces(text: Bytes, quotes: Ints, depth: int) -> tuple[Ints, Ints]:
    """The braces and brackets outside strings, and the depth after each. depth: before the text."""
    at = np.flatnonzero(STEP[text])
    at = at[np.searchsorted(quotes, at) % 2 == 0]
    return at, depth + np.cumsum(STEP[text[at]], dtype=np.int64)


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


def skip(text: Bytes, at: Ints, step: int) -> Ints:
    """The first places from these on, forwards or backwards, without a space or a line end."""
    blank: NDArray[np.int8]
    while (blank := _BLANK[text[at]]).any():
        at = at + step * blank.astype(np.int64)
    return at


def table(source: Source, number: str, options: Options) -> Table:
    """Raises InputError where the file is no object, or an MTEB file needs a choice."""
    beginning = next(source.chunks(_EXAMINED)).tobytes()
    brace = _BEGINNING.match(beginning)
    if brace is None:
        what = "the file is empty" if not beginning.strip() else "this is not a JSON object"
        hint = "Needed is {query: {document: number}}; write a list of objects one a line: jq -c '.[]'"
        raise InputError(source.name, what, line=1, hint=hint)
    reject_saved(beginning, source.name, number)
    first_key = _FIRST_KEY.match(beginning)
    begins_with_model = first_key is not None and first_key[1] == MTEB_KEY  # which MTEB writes first
    may_be_mteb = begins_with_model or _NESTED.match(beginning)
    keys, splits = _subsets(source) if may_be_mteb else (set(), {})
    if MTEB_KEY.decode() in keys:
        if number == "grade":
            raise InputError(source.name, "this is a predictions file of MTEB, not qrels")
        chosen = options.split
        wanted = [
            offset
            for (subset, split), offset in splits.items()
            if chosen is None or chosen in (subset, split, f"{subset}/{split}")
        ]
        if len(wanted) != 1:
            has = f"the file has {', '.join(named('/'.join(names)) for names in splits) or 'none'}"
            if wanted:
                hint = "Choose one with --split SUBSET/SPLIT"
                raise InputError(source.name, f"several splits: {has}", hint=hint)
            what = f"no split {named(chosen)}: {has}" if chosen else f"no predictions: {has}"
            raise InputError(source.name, what)
        file = _File(source, wanted[0], False, number)
    else:
        file = _File(source, brace.end(), True, number)
    return Table.of(source, file.columns, blocks=file.blocks)


class _File:
    """offset: of the object's members in the text. is_whole: whether nothing may follow the object."""

    def __init__(self, source: Source, offset: int, is_whole: bool, number: str) -> None:
        self.source, self.offset, self.is_whole, self.number = source, offset, is_whole, number

    def blocks(self) -> Iterator[Part]:
        chunks = self.source.chunks(_CHUNK)
        to_skip, skipped = self.offset, 0
        text = np.empty(0, np.uint8)
        first = True
        seen: set[bytes] = set()
        for chunk in chunks:
            skipped += int(np.count_nonzero(chunk[:to_skip] == LF))
            text = np.concatenate([text, chunk[to_skip:]])
            to_skip = max(0, to_skip - len(chunk))
            quotes = string_quotes(text)
            at, depth = braces(text, quotes, 1)
            closed = np.flatnonzero(depth == 0)[:1]
            ends = at[(depth == 1) & (STEP[text[at]] < 0)]
            if not len(closed) and not len(ends):
                continue
            end = int(at[closed[0]]) if len(closed) else int(ends[-1]) + 1
            error = None
            if len(closed) and self.is_whole:
                behind = chain([text[end + 1 :]], chunks)
                if any(following.tobytes().strip(SPACE.encode()) for following in behind):
                    error = MORE, "For an object a line, give --run-format jsonl or --qrels-format jsonl"
            if len(closed) and first and error is None and not text[:end].tobytes().strip(SPACE.encode()):
                raise InputError(self.source.name, "no data: the object is empty")
            opens = at[(depth == 2) & (text[at] == OPEN) & (at < end)]
            again = _again(text, quotes, opens, seen, skipped)
            yield Part.of(text[:end], quotes, skipped, first, len(closed) > 0, again, error)
            if len(closed):
                return
            text, first, skipped = text[end:].copy(), False, 0
        error = NOT_CLOSED, "Fetch the file again"
        yield Part.of(text, _NONE, skipped, first, True, NOTHING, error)

    def columns(self, part: Part) -> Columns:
        text = part.text[: part.size]
        lines = int(np.count_nonzero(text == LF)) + part.skipped
        raw = text.tobytes()
        if (nul := raw.find(b"\0")) >= 0:
            problem = binary_data(b"", raw.count(b"\n", 0, nul) + part.skipped)
            return Columns.failed(lines, part, problem)
        if (wrong := not_utf8(raw)) is not None:
            problem = Problem(raw.count(b"\n", 0, wrong[0]) + part.skipped, wrong[1])
            return Columns.failed(lines, part, problem)
        columns = plain_columns(part, lines) or exact_columns(part, lines, self.number)
        if part.again.total and not columns.problems.total:
            columns = columns.without_rows(part.again)
        if part.error is not None and not columns.problems.total:
            return Columns.failed(lines, part, Problem(lines, *part.error))
        return columns.light() if self.number == "grade" else columns


def _again(text: Bytes, quotes: Ints, opens: Ints, seen: set[bytes], skipped: int) -> LineProblems:
    """The keys that were seen before. opens: the braces behind keys; seen: gains these."""
    behind = np.searchsorted(quotes, opens)
    behind = behind[behind >= 2]  # other text is not valid, which its part reports
    starts, whole = quotes[behind - 2], text.tobytes()
    ends = quotes[behind - 1].tolist()
    keys = [_unescaped(whole[start + 1 : end]) for start, end in zip(starts.tolist(), ends, strict=True)]
    if len(new := set(keys)) == len(keys) and seen.isdisjoint(new):
        seen |= new
        return NOTHING
    rows = [row for row, key in enumerate(keys) if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
    line = np.searchsorted(np.flatnonzero(text == LF), starts[rows]) + skipped
    return LineProblems.of(line, lambda i: f"query {shown(keys[rows[i]])} is in the object twice")


def _unescaped(key: bytes) -> bytes:
    if b"\\" not in key:
        return key
    try:
        return str(json.loads(b'"%b"' % key)).encode("utf-8", "surrogatepass")
    except ValueError:
        return key


def plain_columns(part: Part, lines: int) -> Columns | None:
    """The rows of a part whose values are all numbers, None for another."""
    text, size, quotes = part.text, part.size, part.quotes
    if len(quotes) % 2 or not len(quotes) or has_control_character(text[:size], quotes):
        return None
    opening, closing = quotes[::2], quotes[1::2]
    between = text[: opening[0]].tobytes().strip(SPACE.encode())
    if between != (b"" if part.first else b","):
        return None
    gap_end = np.append(opening[1:], size)
    colon = skip(text, closing + 1, 1)
    if not (text[colon] == COLON).all():
        return None
    value = skip(text, colon + 1, 1)
    is_query = text[value] == OPEN
    if not is_query[0] or is_query[-1]:
        return None
    queries, documents = np.flatnonzero(is_query), np.flatnonzero(~is_query)
    if (skip(text, value[queries] + 1, 1) != gap_end[queries]).any() or is_query[queries + 1].any():
        return None
    tail = skip(text, gap_end[documents] - 1, -1)
    if not (text[tail[:-1]] == COMMA).all():
        return None
    tail[:-1] = skip(text, tail[:-1] - 1, -1)
    closes = text[tail] == CLOSE
    if (closes != np.append(is_query, True)[documents + 1]).any():
        return None
    ends = np.flatnonzero(closes)
    tail[ends] = skip(text, tail[ends] - 1, -1)
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
    place = np.searchsorted(documents, queries)
    ends_of_lines = np.flatnonzero(text[:size] == LF) if lines > part.skipped else _NONE
    line = np.searchsorted(ends_of_lines, opening[documents]) + part.skipped
    bounds = np.append(place, len(documents))
    return Columns(ids.take(queries), bounds, ids.take(documents), number, line, lines, part.first, part.last)


def _decoded(text: Bytes, size: int, opening: Ints, closing: Ints) -> Ids | None:
    """The strings between these quotes, None where one is not valid or has a NUL."""
    ids = Ids(text, opening + 1, closing - opening - 1)
    backslashes = np.flatnonzero(text[:size] == BACKSLASH)
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


def exact_columns(part: Part, lines: int, number: str) -> Columns:
    """The rows of any part, which is UTF-8, as the json module reads it."""
    text = part.text[: part.size].tobytes().decode()
    opened = "{" if part.first else '{"":{}'
    try:
        members = json.loads(opened + text + "}", object_pairs_hook=_Object)[not part.first :]
    except json.JSONDecodeError as error:
        place = error.pos - len(opened)
        where = f"{error.msg.removesuffix(' at')} at {named(text[place : place + 20])}"
        what = NOT_CLOSED if place >= len(text) else f"not valid JSON ({where})"
        problem = Problem(text.count("\n", 0, max(place, 0)) + part.skipped, what)
        return Columns.failed(lines, part, problem)
    except RecursionError:
        problem = Problem(part.skipped, "the JSON is nested too deeply")
        return Columns.failed(lines, part, problem)
    # the lines of the queries, at depth 1, and those of the documents
    closing = part.quotes[1::2]
    at, depths = braces(part.text[: part.size], part.quotes, 1)
    depth = np.append(1, depths)[np.searchsorted(at, closing)]
    depth[part.text[skip(part.text, closing + 1, 1)] != COLON] = 0
    line_of_key = np.searchsorted(np.flatnonzero(part.text[: part.size] == LF), closing) + part.skipped
    line_of_query, line = line_of_key[depth == 1].tolist(), line_of_key[depth == 2]
    sizes = [len(documents) if isinstance(documents, _Object) else 0 for _, documents in members]
    starts: Ints = np.cumsum([0, *sizes])
    wrong = [  # each with the row at which it is
        (row, Problem(at, f"{_path(query)}: {described(documents)} is not an object of documents"))
        for row, at, (query, documents) in zip(starts.tolist(), line_of_query, members, strict=False)
        if not isinstance(documents, _Object)
    ]
    if part.first and part.last and members and not wrong and not any(sizes):
        has = f"{many(len(members), 'query has', 'queries have')} no documents"
        what = f"no data: {has}: {first_names(named(query) for query, _ in members)}"
        return Columns.failed(lines, part, Problem(part.skipped, what))
    members = [member for member, size in zip(members, sizes, strict=True) if size]
    queries, rows = [query for query, _ in members], [*chain.from_iterable(rows for _, rows in members)]
    bounds = distinct(starts)
    query_ids, wrong_query = object_ids(queries, "query id")
    document_ids, wrong_document = object_ids([document for document, _ in rows], "document id")
    values, wrong_number = object_numbers([value for _, value in rows], number)
    for problem in wrong_query.all():
        query = problem.line or 0
        row = int(bounds[query])
        wrong.append((row, Problem(int(line[row]), f"{_path(queries[query])}: {problem.what}")))
    for problem in chain(wrong_document.all(), wrong_number.all()):
        row = problem.line or 0
        path = _path(queries[int(np.searchsorted(bounds, row, "right")) - 1], rows[row][0])
        wrong.append((row, Problem(int(line[row]), f"{path}: {problem.what}")))
    columns = Columns(query_ids, bounds, document_ids, values, line, lines, part.first, part.last)
    if not wrong:
        return columns
    wrong.sort(key=itemgetter(0))
    return columns.without_rows(LineProblems.listed([problem for _, problem in wrong]))


def _path(*keys: str) -> str:
    return "$" + "".join(f"[{named(key)}]" for key in keys)


def _subsets(source: Source) -> tuple[set[str], dict[tuple[str, str], int]]:
    """The keys of the file, and the offset of the members of each (subset, split). Raises InputError where the
    object is not closed, or is not the only one.
    """
    keys: set[str] = set()
    splits: dict[tuple[str, str], int] = {}
    pending, base, depth, subset = np.empty(0, np.uint8), 0, 0, ""
    lines, is_closed = 0, False
    for chunk in source.chunks():
        lines += int(np.count_nonzero(chunk == LF))
        text = np.concatenate([pending, chunk])
        quotes = string_quotes(text)
        at, depths = braces(text, quotes, depth)
        if len(at) and (is_closed or (depths[:-1] < 1).any()):
            raise InputError(source.name, MORE)
        opens = (depths <= 3) & (depths >= 2) & (text[at] == OPEN)
        for place, level in zip(at[opens].tolist(), depths[opens].tolist(), strict=True):
            behind = int(np.searchsorted(quotes, place))
            written = text[quotes[behind - 2] + 1 : quotes[behind - 1]].tobytes() if behind > 1 else b""
            key = _unescaped(written).decode("utf-8", "surrogateescape")
            if level == 2:
                keys.add(key)
                subset = key
            elif subset != MTEB_KEY.decode():
                splits[subset, key] = base + place + 1
        if len(at):
            depth, end = int(depths[-1]), int(at[-1]) + 1
            is_closed = depth == 0
            base += end
            text = text[end:].copy()
        pending = text
    if not is_closed:
        raise InputError(source.name, NOT_CLOSED, line=lines + 1, hint="Fetch the file again")
    if pending.tobytes().strip(SPACE.encode()):
        raise InputError(source.name, MORE)
    return keys, splits
