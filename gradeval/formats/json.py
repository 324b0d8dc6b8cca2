"""JSON objects {query: {document: number}}, as pytrec_eval, ranx and BEIR hold them, and MTEB's predictions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from json.decoder import scanstring  # type: ignore[attr-defined]
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Bools, Bytes, Ints
from gradeval.arrays.strings import PAD, Ids
from gradeval.errors import InputError, described, named
from gradeval.formats.columns import Columns, FileBlocks, Table
from gradeval.formats.diagnostics import LineProblems, Problem, shown
from gradeval.formats.memory import object_ids, object_numbers
from gradeval.formats.scan import LF, binary_data, floats
from gradeval.formats.sources import Source
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


def begins_saved(text: bytes) -> bool:
    """Whether a file that begins so is a saved result, and not qrels or a run."""
    return _SAVED.match(text[: 1 << 12]) is not None


def reject_saved(text: bytes, name: str, number: str) -> None:
    """Raise InputError where the text of a file of documents begins as saved results do."""
    if begins_saved(text):
        hint = f"Give the {'qrels' if number == 'grade' else 'run'} that it was made from"
        raise InputError(name, "a saved result has no documents", hint=hint)


class Part(NamedTuple):
    """Members of an object: whole queries with their documents.

    text: `size` bytes and PAD more. quotes: those around strings. skipped: lines before the first member that
    no part has. first, last: whether it has the first and the last member. error: what follows it. again: the
    keys of members that an earlier member has, each with its place.
    """

    text: Bytes
    size: int
    quotes: Ints
    skipped: int
    first: bool
    last: bool
    error: Problem | None = None
    again: tuple[tuple[int, bytes], ...] = ()


def reason(error: json.JSONDecodeError) -> str:
    """The message without the words that lead to a place."""
    return error.msg.removesuffix(" at").removesuffix(" starting")


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
    """The quotes that begin and end strings."""
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
    """Whether fields that float() reads are numbers of JSON, which do not begin with +, a point or 00.

    After a point they have digits.
    """
    if (text[start + length - 1] == _DOT).any() or _have_bare_point(text, start, length):
        return False
    first = text[start]
    others = np.flatnonzero(first - _ZERO - 1 > 8)  # as bytes, which wrap around: all but 1, 2, … 9
    if not len(others):
        return True
    at = start[others] + (first[others] == _MINUS)
    digit = text[at] - _ZERO
    return bool(((digit <= 9) & ((digit > 0) | (text[at + 1] - _ZERO > 9))).all())


def _have_bare_point(text: Bytes, start: Ints, length: Ints) -> bool:
    """Whether an exponent follows a point in one of the fields, which are in the order of the text."""
    points = np.flatnonzero(text[:-1] == _DOT)
    points = points[(text[points + 1] | 0x20) == ord("e")]
    field = np.searchsorted(start, points, "right") - 1
    return bool((points < start[field] + length[field])[field >= 0].any())


def skip(text: Bytes, at: Ints, step: int) -> Ints:
    """The first places from these on, forwards or backwards, without a space or a line end."""
    blank: NDArray[np.int8]
    while (blank := _BLANK[text[at]]).any():
        at = at + step * blank.astype(np.int64)
    return at


def table(source: Source, number: str, options: Options) -> Table:
    """Raises InputError where the file is no object, or an MTEB file needs a choice."""
    beginning = next(source.chunks(_EXAMINED)).tobytes()
    found = _BEGINNING.match(beginning)
    if found is None:
        what = "the file is empty" if not beginning.strip() else "this is not a JSON object"
        hint = "Needed is {query: {document: number}}; write a list of objects one a line: jq -c '.[]'"
        raise InputError(source.name, what, line=1, hint=hint)
    reject_saved(beginning, source.name, number)
    offset, is_whole = found.end(), True
    if is_predictions(source, beginning):
        if number == "grade":
            raise not_qrels(source)
        offset, is_whole = chosen_split(source, options.split), False
    file = _File(source, offset, is_whole, number)
    return Table(file, file.columns)


class _File(FileBlocks):
    """offset: of the object's members in the text. is_whole: whether nothing may follow the object."""

    def __init__(self, source: Source, offset: int, is_whole: bool, number: str) -> None:
        super().__init__(source)
        self.offset, self.is_whole, self.number = offset, is_whole, number

    def blocks(self) -> Iterator[Part]:
        chunks = self.source.chunks(_CHUNK)
        to_skip, skipped = self.offset, 0
        pending = np.empty(0, np.uint8)
        first = True
        seen: set[bytes] = set()
        for read in chunks:
            chunk = read[to_skip:]
            skipped += int(np.count_nonzero(read[:to_skip] == LF))
            to_skip = max(0, to_skip - len(read))
            text = np.concatenate([pending, chunk]) if len(pending) else chunk
            quotes = string_quotes(text)
            at, depth = braces(text, quotes, 1)
            opens = at[(depth == 2) & (text[at] == OPEN)]
            closed = np.flatnonzero(depth == 0)[:1]
            if len(closed):
                end = int(at[closed[0]])
                error = self._after(text[end + 1 :], chunks) if self.is_whole else None
                if first and error is None and not text[:end].tobytes().strip(SPACE.encode()):
                    raise InputError(self.name, "no data: the object is empty")
                again = _again(text, quotes, opens[opens < end], seen)
                yield _part(text[:end], quotes, skipped, first, True, error, again)
                return
            ends = at[(depth == 1) & (STEP[text[at]] < 0)]
            if not len(ends):
                pending = text
                continue
            cut = int(ends[-1]) + 1
            again = _again(text, quotes, opens[opens < cut], seen)
            yield _part(text[:cut], quotes, skipped, first, False, again=again)
            pending, first, skipped = text[cut:].copy(), False, 0
        line = int(np.count_nonzero(pending == LF))
        error = Problem(line, NOT_CLOSED, "Fetch the file again")
        yield _part(pending, _NONE, skipped, first, True, error)

    def _after(self, rest: Bytes, chunks: Iterator[Bytes]) -> Problem | None:
        """The problem that something follows the object."""
        while not rest.tobytes().strip(SPACE.encode()):
            following = next(chunks, None)
            if following is None:
                return None
            rest = following
        hint = "For an object a line, give --run-format jsonl or --qrels-format jsonl"
        return Problem(0, MORE, hint)

    def columns(self, part: Part) -> Columns:
        text = part.text[: part.size]
        lines = int(np.count_nonzero(text == LF)) + part.skipped
        if not text.all():
            line = int(np.count_nonzero(text[: int(text.argmin())] == LF))
            return Columns.failed(lines, part.first, part.last, binary_data(b"", line + part.skipped))
        wrong = not_utf8(text.tobytes())
        if wrong is not None:
            line = int(np.count_nonzero(text[: wrong[0]] == LF))
            return Columns.failed(lines, part.first, part.last, Problem(line + part.skipped, wrong[1]))
        if part.error is not None and not part.size:
            return Columns.failed(lines, part.first, part.last, part.error)
        columns = plain_columns(part, lines) or exact_columns(part, lines, self.number)
        if part.again and not columns.problems.total:
            of_line = np.array([np.count_nonzero(text[:place] == LF) for place, _ in part.again], np.int64)
            again = [f"query {shown(key)} is in the object twice" for _, key in part.again]
            problems = LineProblems.of(of_line + part.skipped, lambda i: again[i])
            return columns.take(np.zeros(len(columns.value), bool))._replace(problems=problems)
        if part.error is not None and not columns.problems.total:
            error = part.error._replace(line=lines if part.error.line == 0 else part.error.line)
            return Columns.failed(lines, part.first, part.last, error)
        return columns.light() if self.number == "grade" else columns


def _part(
    text: Bytes,
    quotes: Ints,
    skipped: int,
    first: bool,
    last: bool,
    error: Problem | None = None,
    again: tuple[tuple[int, bytes], ...] = (),
) -> Part:
    padded = np.concatenate([text, np.zeros(PAD, np.uint8)])
    quotes = quotes[: int(np.searchsorted(quotes, len(text)))]
    return Part(padded, len(text), quotes, skipped, first, last, error, again)


def _again(text: Bytes, quotes: Ints, opens: Ints, seen: set[bytes]) -> tuple[tuple[int, bytes], ...]:
    """The keys that were seen before, each with its place. opens: the braces behind keys; seen: gains these."""
    behind = np.searchsorted(quotes, opens)
    behind = behind[behind >= 2]  # other text is not valid, which its part reports
    starts, whole = quotes[behind - 2].tolist(), text.tobytes()
    keys = [whole[start + 1 : end] for start, end in zip(starts, quotes[behind - 1].tolist(), strict=True)]
    if b"\\" in whole:
        keys = list(map(_unescaped, keys))
    if len(new := set(keys)) == len(keys) and seen.isdisjoint(new):
        seen |= new
        return ()
    found = []
    for start, key in zip(starts, keys, strict=True):
        if key in seen:
            found.append((start, key))
        seen.add(key)
    return tuple(found)


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
        strings = json.loads(b"[" + b",".join(b'"%b"' % one for one in ids.take(rows).tolist()) + b"]")
        decoded = [one.encode("utf-8", "surrogateescape") for one in strings]
    except ValueError:  # of JSON, or of UTF-8 or a lone surrogate
        return None
    if any(b"\0" in one for one in decoded):
        return None
    row = np.arange(len(ids))
    row[rows] = len(ids) + np.arange(len(rows))
    return Ids.joined([ids, Ids.of(decoded)]).take(row)


class _Invalid(Exception):
    """place: in the text. path: of the keys around it."""

    def __init__(self, what: str, place: int) -> None:
        self.what, self.place = what, place


def exact_columns(part: Part, lines: int, number: str) -> Columns:
    """The rows of any part, which is UTF-8, read value by value."""
    text = part.text[: part.size].tobytes().decode()
    queries: list[str] = []
    counts: list[int] = []
    documents: list[str] = []
    values: list[Any] = []
    places: list[int] = []
    wrong: list[tuple[int, str]] = []
    error = None
    try:
        for query, place, value in _members(text, part.first):
            if not isinstance(value, list):
                wrong.append((place, f"{_path(query)}: {described(value)} is not an object of documents"))
                continue
            if value:
                queries.append(query)
                counts.append(len(value))
            for document, at, one in value:
                documents.append(document)
                places.append(at)
                values.append(one)
    except _Invalid as invalid:
        error = invalid
    line_ends = np.array([end.start() for end in re.finditer("\n", text)], np.int64)
    line = np.searchsorted(line_ends, np.array(places, np.int64)) + part.skipped
    owner = np.repeat(np.arange(len(queries)), counts)
    bounds = np.append(0, np.cumsum(counts)).astype(np.int64)
    query_ids, wrong_query = object_ids(queries, "query id")
    document_ids, wrong_document = object_ids(documents, "document id")
    numbers, wrong_number = object_numbers(values, number)
    for problem in wrong_query.all():
        number_of_query = problem.line or 0
        path = _path(queries[number_of_query])
        wrong.append((places[bounds[number_of_query]], f"{path}: {problem.what}"))
    for problem in chain(wrong_document.all(), wrong_number.all()):
        row = problem.line or 0
        path = _path(queries[owner[row]], documents[row])
        wrong.append((places[row], f"{path}: {problem.what}"))
    if error is not None:
        wrong.append((error.place, error.what))
    columns = Columns(query_ids, bounds, document_ids, numbers, line, lines, part.first, part.last)
    if not wrong:
        return columns
    wrong.sort(key=itemgetter(0))
    of_line = np.searchsorted(line_ends, np.array([place for place, _ in wrong], np.int64)) + part.skipped
    problems = LineProblems.of(of_line, lambda i: wrong[i][1])._replace(final=error is not None)
    return columns.take(np.zeros(len(numbers), bool))._replace(problems=problems)


def _path(*keys: str) -> str:
    return "$" + "".join(f"[{named(key)}]" for key in keys)


def _members(text: str, is_first: bool) -> Iterator[tuple[str, int, Any]]:
    """(query, place, [(document, place, value)]) of each member; other values as json reads them."""
    at = _past(text, 0)
    while at < len(text):
        if not is_first:
            at = _past(text, _expect(text, at, ",", "a comma between members"))
        is_first = False
        place = at
        key, at = _key(text, at)
        if text[at : at + 1] != "{":
            value, at = _value(text, at)
            yield key, place, value if not isinstance(value, list) else str(value)
        else:
            documents = []
            at = _past(text, at + 1)
            if text[at : at + 1] == "}":
                at += 1
            else:
                while True:
                    of_document = at
                    document, at = _key(text, at)
                    value, at = _value(text, at)
                    documents.append((document, of_document, value))
                    at = _past(text, at)
                    if text[at : at + 1] == "}":
                        at += 1
                        break
                    at = _past(text, _expect(text, at, ",", "a comma between members"))
            yield key, place, documents
        at = _past(text, at)


def _past(text: str, at: int) -> int:
    while at < len(text) and text[at] in SPACE:
        at += 1
    return at


def _expect(text: str, at: int, char: str, what: str) -> int:
    if text[at : at + 1] == char:
        return at + 1
    if at >= len(text):
        raise _Invalid(NOT_CLOSED, at)
    raise _Invalid(f"not valid JSON: {what} is expected before {named(text[at : at + 20])}", at)


def _key(text: str, at: int) -> tuple[str, int]:
    """A key, and where its value begins."""
    at = _expect(text, at, '"', "a key in double quotes")
    try:
        key, at = scanstring(text, at)
    except json.JSONDecodeError as error:
        raise _Invalid(f"not valid JSON ({reason(error)})", error.pos) from None
    at = _expect(text, _past(text, at), ":", "a colon behind the key")
    return key, _past(text, at)


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        if at >= len(text):
            raise _Invalid(NOT_CLOSED, at) from None
        raise _Invalid(f"not valid JSON ({reason(error)})", error.pos) from None
    except RecursionError:
        raise _Invalid("the JSON is nested too deeply", at) from None


_DECODER = json.JSONDecoder()


def is_predictions(source: Source, beginning: bytes) -> bool:
    """Whether a JSON file is one of MTEB: it has the key of the model, which MTEB writes first."""
    first = _FIRST_KEY.match(beginning)
    if first is not None and first[1] == MTEB_KEY:
        return True
    return _NESTED.match(beginning) is not None and MTEB_KEY.decode() in _subsets(source)[0]


def not_qrels(source: Source) -> InputError:
    """The error of a predictions file that is given as qrels. Raises that of one that is cut off."""
    _subsets(source)
    return InputError(source.name, "this is a predictions file of MTEB, not qrels")


def chosen_split(source: Source, split: str | None) -> int:
    """The offset of the queries of a split in MTEB's file. Raises InputError where a choice is needed."""
    _, splits = _subsets(source)
    names = [f"{subset}/{name}" for subset, name in splits]
    wanted = [
        offset
        for (subset, name), offset in splits.items()
        if split is None or split in (subset, name, f"{subset}/{name}")
    ]
    if len(wanted) == 1:
        return wanted[0]
    has = f"the file has {', '.join(map(named, names))}" if names else "the file has none"
    if wanted:
        raise InputError(source.name, f"several splits: {has}", hint="Choose one with --split SUBSET/SPLIT")
    raise InputError(source.name, f"no split {named(split)}: {has}" if split else f"no predictions: {has}")


def _subsets(source: Source) -> tuple[set[str], dict[tuple[str, str], int]]:
    """The keys of the file, and the offset of the members of each (subset, split). Raises InputError where the
    object is not closed, or is not the only one.
    """
    keys: set[str] = set()
    found: dict[tuple[str, str], int] = {}
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
            key = _key_before(text, quotes, place)
            if level == 2:
                keys.add(key)
                subset = key
            elif subset != MTEB_KEY.decode():
                found[subset, key] = base + place + 1
        if len(at):
            depth, kept = int(depths[-1]), int(at[-1]) + 1
            is_closed = depth == 0
            base += kept
            text = text[kept:].copy()
        pending = text
    if not is_closed:
        raise InputError(source.name, NOT_CLOSED, line=lines + 1, hint="Fetch the file again")
    if pending.tobytes().strip(SPACE.encode()):
        raise InputError(source.name, MORE)
    return keys, found


def _key_before(text: Bytes, quotes: Ints, place: int) -> str:
    """The last string before a place."""
    at = int(np.searchsorted(quotes, place))
    if at < 2:
        return ""
    key = text[int(quotes[at - 2]) : int(quotes[at - 1]) + 1].tobytes().decode("utf-8", "surrogateescape")
    try:
        return str(json.loads(key))
    except ValueError:
        return key
