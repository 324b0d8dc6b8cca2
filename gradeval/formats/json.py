"""JSON: objects {query: {document: number}}, as pytrec_eval, ranx and BEIR hold them, and MTEB's predictions;
JSON Lines: objects with a query, a document and a number, named as columns of CSV are; and lists of documents.

Runs {query: [document, …]} and {query: [{"doc_id": …, "score": …}, …]}, which may be judgments too, are lists;
Elasticsearch's judgments are {"requests": [{"id", "ratings": [{"_id", "rating"}, …]}, …]}, OpenSearch's
[{"query", "ratings": [{"docId", "rating"}, …]}, …]. Lists and MTEB's files are read whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np

from gradeval.arrays import Bools, Bytes, Floats, Ints
from gradeval.arrays.segments import offsets_of
from gradeval.arrays.strings import Ids, padded
from gradeval.errors import InputError, described, first_names, named
from gradeval.formats import memory
from gradeval.formats.columns import BlockTable, Columns, columns_of
from gradeval.formats.csv import (
    Chosen,
    are_columns,
    choose,
    chosen_of,
    chosen_table,
    query_column,
    usual_columns,
)
from gradeval.formats.detect import reject_saved
from gradeval.formats.diagnostics import NOTHING, LineProblems, Problem, no_data, shown
from gradeval.formats.format import Format, FormatWriter, format_of
from gradeval.formats.lines import read_lines
from gradeval.formats.scan import LF, DataLines, binary_data, floats, not_text
from gradeval.formats.sources import Block, Source
from gradeval.formats.write import Content, utf8_only
from gradeval.notices import many
from gradeval.options import Options

_SPACE = b" \t\r\n"
_NOT_CLOSED = "unexpected end of file: the JSON object is not closed"
_QUOTE, _BACKSLASH, _COLON, _COMMA, _OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = b'"\\:,{}[]'
_MINUS, _DOT = b"-."
_ZERO = np.uint8(ord("0"))
_STEP = np.zeros(256, np.int8)  # of the depth
_STEP[[_OPEN, _OPEN_LIST]] = 1
_STEP[[_CLOSE, _CLOSE_LIST]] = -1
_BLANK = np.zeros(256, np.int8)
_BLANK[list(_SPACE)] = 1
_BEGINNING = re.compile(rb"[ \t\r\n]*\{")
_CHUNK = 1 << 20  # whose arrays of strings and numbers stay small
_DIGITS = 500  # of an integer: with more than 309 it is beyond the floats
_FIXED, _STRING, _BARE = "fixed", "string", "bare"  # pieces of lines
_LIST_MEMBERS = ("hits", "results", "retrieved")  # of a query in JSON Lines
_ES_ID = "_id"  # of Elasticsearch's hits
_MTEB_KEY = "mteb_model_meta"
_KEY = rb'[ \t\r\n]*\{[ \t\r\n]*"(?:[^"\\]|\\.)*"[ \t\r\n]*:'
_NESTED = re.compile(_KEY * 2 + rb"[ \t\r\n]*\{", re.DOTALL)
# a member that a response has
_OF_RESPONSES = rb'"(?:hits|_shards|_clusters|aggregations|response(?:s|Header)?|error|metric_score)"'
_FIRST_KEY = rb'(?s)[ \t\r\n]*\{[ \t\r\n]*"((?:[^"\\]|\\.)*)"[ \t\r\n]*:[ \t\r\n]*(.?)'
_EMPTY = rb"[ \t\r\n]*\{[ \t\r\n]*\}"
_OBJECTS = rb"[ \t\r\n]*\[[ \t\r\n]*\{"
_RATINGS = rb'[ \t\r\n]*\[[ \t\r\n]*\{[^[\]]*"ratings"[ \t\r\n]*:[ \t\r\n]*\['
_REQUESTS = rb'"requests"[ \t\r\n]*:[ \t\r\n]*\['
_ESCAPED = rb'["\\\x00-\x1f]'
_BEFORE_STRING = re.compile(rb'"[ \t]*:[ \t]*"')  # between a key and its value
_BARE_VALUE = re.compile(rb'("[ \t]*:[ \t]*)([^ \t",{}[\]][^",{}[\]]*?)([ \t]*(?:,[ \t]*"|\}[ \t\r]*))')


class _Refused(ValueError):
    """What is wrong with a JSON text that the json module reads."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):  # one of the values would be ignored
        keys = [key for key, _ in pairs]
        again = next(key for index, key in enumerate(keys) if key in keys[:index])
        raise _Refused(f"the key {named(again)} is in the object twice")
    return members


def _constant(constant: str) -> NoReturn:
    raise _Refused(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)


def _why(error: Exception) -> str:
    """What is wrong with a text that was read as JSON."""
    if isinstance(error, json.JSONDecodeError):
        message = error.msg.removesuffix(" at").removesuffix(" starting")
        return f"not valid JSON ({message} in column {error.colno})"
    if isinstance(error, UnicodeDecodeError):
        return f"not valid JSON: {error.object[error.start : error.end]!r} is not UTF-8"
    if isinstance(error, RecursionError):
        return "the JSON is nested too deeply"
    return str(error) if isinstance(error, _Refused) else "this JSON has an integer that is too long"


def parse_json(text: bytes, name: str, line: int | None = None) -> Any:
    """The value of a JSON text. name, line: of messages. Raises InputError, also for NaN or a repeated key."""
    try:
        return json.loads(text.decode("utf-8"), parse_constant=_constant, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise InputError(name, _why(error), line=line or getattr(error, "lineno", None)) from None


def _not_utf8(text: bytes) -> UnicodeDecodeError | None:
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError as error:
            return error
    return None


def _has_control_character(text: Bytes, quotes: Ints) -> bool:
    """Whether a string between these quotes has one as it is, not as an escape."""
    return bool((np.searchsorted(quotes, np.flatnonzero(text < ord(" "))) % 2).any())


def _are_numbers(text: Bytes, start: Ints, length: Ints) -> bool:
    """Whether fields that float() reads, in order, are JSON's: no +, no 00, digits around a point."""
    points = np.flatnonzero(text[:-1] == _DOT)
    points = points[(text[points + 1] | 0x20) == ord("e")]
    field = np.searchsorted(start, points, "right") - 1
    if (text[start + length - 1] == _DOT).any() or (points < start[field] + length[field])[field >= 0].any():
        return False
    first = text[start]
    doubtful = np.flatnonzero(first - _ZERO - 1 > 8)  # as bytes, which wrap around: all but 1, 2, … 9
    at = start[doubtful] + (first[doubtful] == _MINUS)
    digit = text[at] - _ZERO
    return bool(((digit <= 9) & ((digit > 0) | (text[at + 1] - _ZERO > 9))).all())


def read_whole(source: Source) -> bytes:
    return b"".join(chunk.tobytes() for chunk in source.chunks())


def table(source: Source, number: str, options: Options) -> BlockTable:
    """Raises InputError where the file is no object, or an MTEB file needs a choice."""
    beginning = source.head
    brace = _BEGINNING.match(beginning)
    if brace is None:
        message = "the file is empty" if not beginning.strip() else "this is not a JSON object"
        hint = "Needed is {query: {document: number}}; write a list of objects one a line: jq -c '.[]'"
        raise InputError(source.name, message, line=1, hint=hint)
    reject_saved(beginning, source.name, number)
    if _MTEB_KEY.encode() in beginning or _NESTED.match(beginning):
        text = read_whole(source)
        if _MTEB_KEY.encode() in text:
            return _mteb_table(parse_json(text, source.name), source.name, number, options.split)
    return BlockTable.of(
        source,
        partial(_columns, number=number, unlabelled=options.unlabelled),
        blocks=partial(_parts, source, brace.end()),
    )


def _mteb_table(content: dict[str, Any], name: str, number: str, chosen: str | None) -> BlockTable:
    """Raises InputError."""
    if number == "grade":
        raise InputError(name, "this is a predictions file of MTEB, not qrels")
    subsets = {name: runs for name, runs in content.items() if name != _MTEB_KEY and isinstance(runs, dict)}
    splits = {(subset, split): run for subset, runs in subsets.items() for split, run in runs.items()}
    wanted = [names for names in splits if chosen in (None, *names, "/".join(names))]
    if len(wanted) != 1:
        has = f"the file has {', '.join(named('/'.join(names)) for names in splits) or 'none'}"
        if wanted:
            raise InputError(name, f"several splits: {has}", hint="Choose one with --split SUBSET/SPLIT")
        raise InputError(name, f"no split {named(chosen)}: {has}" if chosen else f"no predictions: {has}")
    if not isinstance(splits[wanted[0]], dict):
        raise InputError(name, f"{described(splits[wanted[0]])} is not an object of queries")
    data = memory.Nested(name, splits[wanted[0]], number)
    return BlockTable(name, data.blocks, data.columns, has_splits=True)


class _Part(NamedTuple):
    """Whole queries of an object."""

    text: Bytes  # `size` bytes and PAD more
    size: int
    quotes: Ints  # those around strings
    skipped: int  # lines before it that no part has
    first: bool  # whether it has the first member
    last: bool
    problems: LineProblems  # where its text is valid


def _parts(source: Source, offset: int) -> Iterator[_Part]:
    """offset: of the object's first member in the text."""
    chunks = source.chunks(_CHUNK)
    first = True
    skipped = 0
    seen: set[bytes] = set()
    text = np.empty(0, np.uint8)
    for chunk in chunks:
        skipped += int(np.count_nonzero(chunk[:offset] == LF))
        text = np.concatenate([text, chunk[offset:]])
        offset = max(0, offset - len(chunk))
        quotes = _string_quotes(text)
        braces, depth = _braces(text, quotes)
        query_ends = braces[(depth == 1) & (_STEP[text[braces]] < 0)]
        is_closed = bool((depth == 0).any())
        if not is_closed and not len(query_ends):
            continue
        end = int(braces[depth == 0][0]) if is_closed else int(query_ends[-1]) + 1
        members, remaining = text[:end], text[end:].copy()
        opens = braces[(depth == 2) & (text[braces] == _OPEN) & (braces < end)]
        problems = _repeated(members, quotes, opens, seen, skipped)
        if is_closed and any(behind.tobytes().strip(_SPACE) for behind in chain([remaining[1:]], chunks)):
            message = "there is more after the end of the JSON object"
            hint = "For an object a line, give --run-format jsonl or --qrels-format jsonl"
            problems = _last_problem(members, skipped, message, hint)
        elif is_closed and first and not members.tobytes().strip(_SPACE):
            raise InputError(source.name, "no data: the object is empty")
        quotes = quotes[: int(np.searchsorted(quotes, end))]
        yield _Part(padded(members), end, quotes, skipped, first=first, last=is_closed, problems=problems)
        if is_closed:
            return
        text = remaining
        first = False
        skipped = 0
    problems = _last_problem(text, skipped, _NOT_CLOSED, "Fetch the file again")
    no_quotes = np.empty(0, np.int64)
    yield _Part(padded(text), len(text), no_quotes, skipped, first=first, last=True, problems=problems)


def _last_problem(text: Bytes, skipped: int, message: str, hint: str) -> LineProblems:
    """A problem behind the text, which ends the reading."""
    line = skipped + int(np.count_nonzero(text == LF))
    return LineProblems.listed([Problem(line, message, hint)], final=True)


def _string_quotes(text: Bytes) -> Ints:
    quotes = np.flatnonzero(text == _QUOTE)
    if not len(quotes) or not (text == _BACKSLASH).any():
        return quotes
    backslashes = np.flatnonzero(text == _BACKSLASH)
    is_start = np.append(True, np.diff(backslashes) > 1)
    start = np.maximum.accumulate(np.where(is_start, backslashes, 0))  # of the run of each
    before = np.searchsorted(backslashes, quotes) - 1
    follows = (before >= 0) & (backslashes[before] == quotes - 1)
    outside: Ints = quotes[~follows | ((quotes - start[before]) % 2 == 0)]
    return outside


def _braces(text: Bytes, quotes: Ints) -> tuple[Ints, Ints]:
    """The braces and brackets outside strings, and the depth after each, where that before the text is 1."""
    at = np.flatnonzero(_STEP[text])
    at = at[np.searchsorted(quotes, at) % 2 == 0]
    return at, 1 + np.cumsum(_STEP[text[at]], dtype=np.int64)


def _repeated(text: Bytes, quotes: Ints, opens: Ints, seen: set[bytes], skipped: int) -> LineProblems:
    """The keys that were seen before. opens: the braces behind keys. seen: gains these. skipped: of parts."""
    behind = np.searchsorted(quotes, opens)
    behind = behind[behind >= 2]  # other text is not valid, which its part reports
    bounds = zip((quotes[behind - 2] + 1).tolist(), quotes[behind - 1].tolist(), strict=True)
    whole = text.tobytes()
    problems = list[Problem]()
    for start, end in bounds:
        key = whole[start:end]
        if b"\\" in key:
            with suppress(ValueError):  # which the part reports
                key = str(json.loads(b'"%b"' % key)).encode("utf-8", "surrogatepass")
        if key in seen:
            line = skipped + whole.count(b"\n", 0, start)
            problems.append(Problem(line, f"query {shown(key)} is in the object twice"))
        seen.add(key)
    return LineProblems.listed(problems)


def _columns(part: _Part, number: str, unlabelled: str | None) -> Columns:
    text = part.text[: part.size].tobytes()
    lines = int(np.count_nonzero(part.text[: part.size] == LF)) + part.skipped
    if (nul := text.find(b"\0")) >= 0:
        problem = binary_data(b"", text.count(b"\n", 0, nul) + part.skipped)
        return Columns.failed(lines, part, problem)
    if (wrong := _not_utf8(text)) is not None:
        problem = Problem(text.count(b"\n", 0, wrong.start) + part.skipped, _why(wrong))
        return Columns.failed(lines, part, problem)
    columns = _plain_columns(part, lines) or _exact_columns(part, lines, number, unlabelled)
    if not columns.problems.total:
        columns = columns.without_rows(part.problems)
    return columns.light() if number == "grade" else columns


def _plain_columns(part: _Part, lines: int) -> Columns | None:
    """The rows of a part whose values are all numbers, None for another."""
    if not _has_plain_strings(part):
        return None
    text = part.text
    opening, closing = part.quotes[::2], part.quotes[1::2]
    colon = _skip(text, closing + 1, 1)
    if not (text[colon] == _COLON).all():
        return None
    start = _skip(text, colon + 1, 1)  # of the value behind each key
    is_query = text[start] == _OPEN
    if not is_query[0] or is_query[-1]:  # the last key must be a document's
        return None
    gap_end = np.append(opening[1:], part.size)  # where the next key begins
    queries = np.flatnonzero(is_query)
    # behind the brace of a query there is a key, which is a document's
    if (_skip(text, start[queries] + 1, 1) != gap_end[queries]).any() or is_query[queries + 1].any():
        return None
    documents = np.flatnonzero(~is_query)
    is_last = np.append(is_query, True)[documents + 1]  # the next key is a query's, or there is none
    number = _plain_numbers(text, start[documents], gap_end[documents], is_last)
    ids = None if number is None else _decoded(text, part.size, opening, closing)
    if number is None or ids is None:
        return None
    return Columns(
        ids.take(queries),
        np.append(np.searchsorted(documents, queries), len(documents)),
        ids.take(documents),
        number,
        line=_line_of(part, opening[documents], lines),
        lines=lines,
        first=part.first,
        last=part.last,
    )


def _has_plain_strings(part: _Part) -> bool:
    """Whether a part has strings, all closed and without control characters, and only a comma before them."""
    quotes = part.quotes
    if len(quotes) % 2 or not len(quotes) or _has_control_character(part.text[: part.size], quotes):
        return False
    return part.text[: quotes[0]].tobytes().strip(_SPACE) == (b"" if part.first else b",")


def _plain_numbers(text: Bytes, start: Ints, gap_end: Ints, is_last: Bools) -> Floats | None:
    """The numbers of documents; None where a value is none. start: of each. gap_end: where the next key begins.
    is_last: which documents are the last of their query.
    """
    tail = _skip(text, gap_end - 1, -1)
    if not (text[tail[:-1]] == _COMMA).all():
        return None
    tail[:-1] = _skip(text, tail[:-1] - 1, -1)
    if ((text[tail] == _CLOSE) != is_last).any():
        return None
    last = np.flatnonzero(is_last)
    tail[last] = _skip(text, tail[last] - 1, -1)
    length = tail + 1 - start
    if (length <= 0).any():
        return None
    number, bad = floats(Ids(text, start, length))
    return None if len(bad) or not _are_numbers(text, start, length) else number


def _line_of(part: _Part, places: Ints, lines: int) -> Ints:
    line_ends = np.flatnonzero(part.text[: part.size] == LF) if lines > part.skipped else places[:0]
    return np.searchsorted(line_ends, places) + part.skipped


def _skip(text: Bytes, at: Ints, step: int) -> Ints:
    """The first places from these on, forwards or backwards, without a space or a line end."""
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
    return ids.with_others(rows, Ids.of(decoded))


class _Object(tuple[tuple[str, Any], ...]):
    """The members of a JSON object, in which a key may be twice."""

    def __repr__(self) -> str:
        return repr(dict(self))


def _members_of(text: str) -> _Object:
    try:
        return _Object(json.loads(text, object_pairs_hook=_Object))
    except json.JSONDecodeError:
        raise
    except ValueError:  # of an integer with more digits than Python reads; the first are too large as well
        return _Object(json.loads(text, object_pairs_hook=_Object, parse_int=lambda text: int(text[:_DIGITS])))


def _exact_columns(part: _Part, lines: int, number: str, unlabelled: str | None) -> Columns:
    """The rows of any part, which is UTF-8, as the json module reads it."""
    members = _members_of_part(part)
    if isinstance(members, Problem):
        return Columns.failed(lines, part, members)
    wrong = [
        Problem(None, f"$[{named(query)}]: {described(value)} is not an object of documents")
        for query, value in members
        if not isinstance(value, _Object)
    ]
    objects = [(query, documents) for query, documents in members if isinstance(documents, _Object)]
    has_documents = any(documents for _, documents in objects)
    if part.first and part.last and objects and not (has_documents or wrong):
        has = f"{many(len(objects), 'query has', 'queries have')} no documents"
        message = f"no data: {has}: {first_names(named(query) for query, _ in objects)}"
        return Columns.failed(lines, part, Problem(part.skipped, message))
    columns = _columns_of_members(objects, number, unlabelled)
    problems = columns.problems.changed(lambda problem: problem.replace(line=None))
    problems += LineProblems.listed(wrong)
    columns = columns.without_rows(problems)
    line = _line_of(part, _document_keys(part), lines)[columns.line]
    return columns.replace(line=line, lines=lines, first=part.first, last=part.last, problems=problems)


def _members_of_part(part: _Part) -> list[tuple[str, Any]] | Problem:
    """The queries of a part with what they have, or why it is not valid."""
    text = part.text[: part.size].tobytes().decode()
    opened = "{" if part.first else '{"":{}'
    try:
        return [*_members_of(opened + text + "}")][not part.first :]
    except json.JSONDecodeError as error:
        end = error.pos - len(opened)
        message = f"not valid JSON ({error.msg.removesuffix(' at')} at {named(text[end : end + 20])})"
        line = text.count("\n", 0, max(end, 0)) + part.skipped
        return Problem(line, _NOT_CLOSED if end >= len(text) else message)
    except RecursionError as error:
        return Problem(part.skipped, _why(error))


def _columns_of_members(members: Sequence[tuple[str, _Object]], number: str, unlabelled: str | None) -> Columns:
    """The rows of queries with their documents."""
    queries = [query for query, documents in members if documents]
    bounds = offsets_of([len(documents) for _, documents in members if documents])
    rows = [*chain.from_iterable(documents for _, documents in members)]
    numbers = memory.object_numbers([value for _, value in rows], number)

    def path_of(query: int, row: int) -> str:
        return f"$[{named(queries[query])}][{named(rows[row][0])}]"

    names = [document for document, _ in rows]
    return memory.nested_columns(queries, bounds, names, numbers, path_of, unlabelled=unlabelled)


def _document_keys(part: _Part) -> Ints:
    """Where the keys of documents end: those at depth 2."""
    closing = part.quotes[1::2]
    at, depths = _braces(part.text[: part.size], part.quotes)
    depth = np.append(1, depths)[np.searchsorted(at, closing)]
    keys: Ints = closing[(depth == 2) & (part.text[_skip(part.text, closing + 1, 1)] == _COLON)]
    return keys


# --- JSON Lines


def _jsonl_table(source: Source, number: str, options: Options) -> BlockTable:
    """Raises InputError where the first object does not have the names."""
    line_number = 0
    for line_number, line in read_lines(source, source.blocks_from_head()):
        if line.strip(_SPACE):
            reject_saved(source.head, source.name, number)
            first = _object(line)
            if isinstance(first, str):
                raise InputError(source.name, first, line=line_number + 1)
            by_role = dict(options.columns)
            if member := list_member(first, by_role):
                return _nested_table(source, number, options, member)
            if _ES_ID in first and not usual_columns([*first], "document"):
                by_role.setdefault("document", _ES_ID)
            chosen = choose([*first], number, by_role, source.name)._replace(unlabelled=options.unlabelled)
            return chosen_table(source, [*first], chosen, _jsonl_columns)
    raise no_data(source.name, line_number)


_Read = dict[str, Any] | str
"""An object, or what is wrong where it should be."""


def _object(line: bytes) -> _Read:
    try:
        return _as_object(_DECODER.decode(line.decode()))
    except (ValueError, RecursionError) as error:
        return _why(error)


def _as_object(value: Any) -> _Read:
    return value if isinstance(value, dict) else f"{described(value)} is not a JSON object"


def _jsonl_columns(block: Block, chosen: Chosen) -> Columns:
    text = block.text.tobytes()
    lines = text.count(b"\n")
    if (problem := not_text(block)) is not None:
        return Columns.failed(lines, block, problem)
    fields = _plain_fields(block) if _not_utf8(text) is None else None
    columns = fields and _columns_of_fields(block, fields, chosen, lines)
    return columns or _exact_jsonl_columns(block, text, lines, chosen)


def _columns_of_fields(block: Block, fields: dict[str, Ids], chosen: Chosen, lines: int) -> Columns | None:
    """The rows of fields, None where an id is no string, a name is missing, or a value is wrong."""
    names = {*chosen.names, chosen.rank} if chosen.rank else {*chosen.names}
    if not names <= fields.keys():
        return None
    texts = [fields[name] for name in chosen.names]
    number = texts[2]
    are_strings = [text.block[text.start[0] - 1] == _QUOTE for text in texts]
    is_number = are_strings.pop(2) or _are_numbers(number.block, number.start, number.length)
    if not (all(are_strings) and is_number):
        return None
    rows = DataLines(tuple(texts), np.arange(lines), lines)
    columns = columns_of(block, rows, chosen.kind, None, NOTHING)
    if columns.problems.total:
        return None
    return columns.with_ranks(rows.replace(fields=(fields[chosen.rank],)), 0) if chosen.rank else columns


def _plain_fields(block: Block) -> dict[str, Ids] | None:
    """The text of the values by name where all lines have the keys of the first, written alike; None otherwise.
    Between its strings a line has fixed text, such as '": "', and numbers or other bare values.
    """
    edges = _edges(block)
    if edges is None:
        return None
    text = block.text
    pieces = _pieces([text[a:b].tobytes() for a, b in pairwise(edges[0].tolist())])
    values = {}
    for piece, start, end in zip(pieces, edges.T, edges.T[1:], strict=False):
        value_start = start + len(piece.before)
        value_end = end - len(piece.after)
        length = value_end - value_start
        is_empty_number = piece.kind == _BARE and (length <= 0).any()
        if is_empty_number or (piece.kind == _FIXED and length.any()):
            return None
        fixed = [(start + at, byte) for at, byte in enumerate(piece.before)]
        fixed += [(value_end + at, byte) for at, byte in enumerate(piece.after)]
        if any((text[places] != byte).any() for places, byte in fixed):
            return None
        if piece.key is not None:
            values[piece.key] = Ids(block.bytes, value_start, length)
    return values


def _edges(block: Block) -> Ints | None:
    """Where in each line its strings and what is between them begin and end, (lines, pieces + 1); None where
    the lines have not the same number of strings, or a string may not be plain.
    """
    text = block.text
    line_ends = np.flatnonzero(text == LF)
    quotes = np.flatnonzero(text == _QUOTE)
    count, remainder = divmod(len(quotes), max(len(line_ends), 1))
    if remainder or count < 2 or count % 2 or (text == _BACKSLASH).any():
        return None
    if np.count_nonzero(text < ord(" ")) > len(line_ends) and _has_control_character(text, quotes):
        return None
    starts = np.append(0, line_ends[:-1] + 1)
    edges = np.column_stack([starts, quotes.reshape(-1, count) + 1, line_ends])
    if (edges[:, 1] <= starts).any() or (edges[:, -2] > line_ends).any():
        return None
    edges[:, 2:-1:2] -= 1  # before the quote that closes a string
    return edges


class _Piece(NamedTuple):
    """A string of a line, or what is between two."""

    kind: str  # fixed text, or that of the value in it
    before: bytes = b""  # the fixed text of all lines
    after: bytes = b""  # likewise, behind the value
    key: str | None = None  # of the value, None where it has none, as in a list


def _pieces(first: Sequence[bytes]) -> list[_Piece]:
    """The pieces of a line, none where a key is in it twice. first: those of the first line, as text."""
    pieces = []
    keys: list[str | None] = [None]
    for index, text in enumerate(first):
        if index % 2 == 0:  # between strings
            bare = _BARE_VALUE.fullmatch(text) if index else None
            pieces.append(_Piece(_BARE, bare[1], bare[3], keys[-1]) if bare else _Piece(_FIXED, text))
        elif first[index + 1][1:].lstrip(b" \t")[:1] == b":":
            keys.append(text.decode())
            pieces.append(_Piece(_FIXED, text))
        else:
            is_member = _BEFORE_STRING.fullmatch(first[index - 1]) is not None
            pieces.append(_Piece(_STRING, key=keys[-1] if is_member else None))
    return pieces if len({*keys}) == len(keys) else []


def _exact_jsonl_columns(block: Block, text: bytes, lines: int, chosen: Chosen) -> Columns:
    """The columns of any block, read line by line."""
    written = text.split(b"\n")
    line = [number for number, row in enumerate(written) if row and row.strip(_SPACE)]
    try:
        values = _DECODER.decode(f"[{b','.join(written[number] for number in line).decode()}]")
        if len(values) != len(line):
            raise ValueError  # a line with two, or none
        objects = [*map(_as_object, values)]
    except (ValueError, RecursionError):
        objects = [_object(written[number]) for number in line]
    lines_of = np.array(line, np.int64)
    columns = _columns_of_objects(objects, chosen)
    columns = columns.replace(line=lines_of[columns.line], problems=columns.problems.in_lines(lines_of))
    return columns.replace(lines=lines, first=block.first, last=block.last)


def _columns_of_objects(
    objects: Sequence[Any], chosen: Chosen, queries: Sequence[Any] | None = None
) -> Columns:
    """The rows of what was read as objects, whose lines are the positions of these. queries: of the objects,
    where these have none.
    """
    rows, fields, wrong = _fields(objects, chosen.names)
    if queries is not None:
        fields.insert(0, [queries[row] for row in rows])
    ranks = memory.Objects([objects[row].get(chosen.rank) for row in rows]) if chosen.rank else None
    values = [*map(memory.Objects, fields)]
    columns = memory.read_values(values, chosen.labels, ranks=ranks, unlabelled=chosen.unlabelled)
    positions = np.array(rows, np.int64)
    problems = LineProblems.listed(wrong) + columns.problems.in_lines(positions)
    return columns.replace(line=positions[columns.line]).without_rows(problems)


def _fields(
    objects: Sequence[Any], names: Sequence[str]
) -> tuple[Sequence[int], list[list[Any]], list[Problem]]:
    """The positions of objects that have all names, the values by name, and what is wrong with the others."""
    try:
        return range(len(objects)), [[members[name] for members in objects] for name in names], []
    except (KeyError, TypeError):  # of a string, which says what is wrong
        reasons = [members if isinstance(members, str) else _lacking(members, names) for members in objects]
    rows = [row for row, reason in enumerate(reasons) if not reason]
    wrong = [Problem(row, reason) for row, reason in enumerate(reasons) if reason]
    return rows, [[objects[row][name] for row in rows] for name in names], wrong


def _lacking(members: dict[str, Any], names: Iterable[str]) -> str:
    """What is wrong with an object, which should have these names; '' where nothing is."""
    return next((f"the object has no {named(name)}" for name in names if name not in members), "")


# --- lists of documents


def list_member(members: Mapping[str, Any], by_role: Mapping[str, str]) -> str:
    """The member of a line of JSON Lines that is the list of its query's documents, '' where none is."""
    names = [*members]
    if usual_columns(names, "document") or by_role.get("document") in names:
        return ""
    has_query = usual_columns(names, "query") or usual_columns(names, "id") or by_role.get("query") in names
    lists = (name for name in _LIST_MEMBERS if isinstance(members.get(name), list))
    return next(lists, "") if has_query else ""


def _nested_table(source: Source, number: str, options: Options, member: str) -> BlockTable:
    """JSON Lines with a list of documents in each. Raises InputError."""
    query = ""
    for _, line in read_lines(source, source.blocks_from_head()):
        members = _object(line) if line.strip(_SPACE) else ""
        if isinstance(members, str):
            continue  # blank, or wrong, which reading it reports
        if not query:
            names = [*members]
            query = names[query_column(names, dict(options.columns).get("query"), source.name)]
        if documents := members.get(member):
            break
    else:
        raise InputError(source.name, "no data: there are no documents")
    names = names_of_members(documents)
    chosen = _chosen_of_lists(names, number, options, source.name)
    blocks = partial(_nested_blocks, source, query, member)
    return chosen_table(source, [query, *names], chosen, lists_columns, blocks)


def _nested_blocks(source: Source, query: str, member: str) -> Iterator[Lists]:
    """The lists of JSON Lines. query, member: the keys of the query's id and of its list in each line."""
    seen: set[Any] = set()
    for block in source.blocks():
        text = block.text.tobytes()
        line = []
        objects = []
        wrong = []
        for number, row in enumerate(text.split(b"\n")):
            if not row.strip(_SPACE):
                continue
            members = _object(row)
            reason = members if isinstance(members, str) else _lacking_list(members, query, member, seen)
            if reason or isinstance(members, str):
                wrong.append(Problem(number, reason))
            else:
                line.append(number)
                objects.append(members)
        queries, documents = ([members[name] for members in objects] for name in (query, member))
        lists = Lists([f"$['{member}']"] * len(line), queries, documents, line=line)
        problem = not_text(block)
        problems = LineProblems.listed([problem] if problem else wrong, problem is not None)
        lines = text.count(b"\n")
        yield lists._replace(lines=lines, first=block.first, last=block.last, problems=problems)


def _lacking_list(members: dict[str, Any], query: str, member: str, seen: set[Any]) -> str:
    """What is wrong with a line; '' where nothing is. seen: the queries so far, which gain this one."""
    if reason := _lacking(members, (query, member)):
        return reason
    if not isinstance(members[member], list):
        return f"$['{member}']: {described(members[member])} is not a list of documents"
    if further := [name for name in _LIST_MEMBERS if isinstance(members.get(name), list) and name != member]:
        return f"the documents may be '{member}' or '{further[0]}'. Remove one: jq -c 'del(.{further[0]})'"
    id = str(members[query])
    if id in seen:
        return f"query {named(id)} is in the file twice"
    seen.add(id)
    return ""


class Lists(NamedTuple):
    """The lists of a file, or of a block of JSON Lines."""

    paths: list[str]  # of each in the file, for messages
    queries: list[Any]  # their ids
    documents: list[list[Any]]  # of each
    names: Sequence[str] = ()  # of the members beside the lists
    line: Sequence[int] = ()  # of each, 0-based in the block; none where rows are numbered instead
    lines: int = 0  # how many the block has
    first: bool = True  # as of a block
    last: bool = True
    problems: LineProblems = NOTHING  # of lines without a list


def _lists_table(source: Source, number: str, options: Options) -> BlockTable:
    query = dict(options.columns).get("query")
    lists = _lists_of(parse_json(read_whole(source), source.name), source.name, number, query)
    for path, documents in zip(lists.paths, lists.documents, strict=True):
        if not isinstance(documents, list):
            raise InputError(source.name, f"{path}: {described(documents)} is not a list of documents")
    if not any(lists.documents):
        raise InputError(source.name, "no data: there are no documents")
    names = names_of_members(chain.from_iterable(lists.documents))
    chosen = _chosen_of_lists(names, number, options, source.name)
    return chosen_table(source, [*lists.names, *names], chosen, lists_columns, lambda: iter([lists]))


def _chosen_of_lists(names: Sequence[str], number: str, options: Options, path: str) -> Chosen:
    """names: of the members of documents, none where these are ids."""
    if not names:
        return Chosen("", "id", number, number, unlabelled=options.unlabelled)
    return chosen_of(names, number, options, path, in_lists=True)


def _lists_of(content: Any, name: str, number: str, query: str | None) -> Lists:
    """The lists of a file. query: the name that the user gave to the ids of queries. Raises InputError."""
    path = "$"
    requests = content
    if isinstance(content, dict):
        path = "$['requests']"
        requests = content.get("requests")
        if not isinstance(requests, list):
            return Lists([f"$[{named(id)}]" for id in content], [*content], [*content.values()])
    if not isinstance(requests, list):
        raise InputError(name, f"{described(content)} is not an object or a list")
    if number != "grade":
        raise InputError(name, "these are judgments, not a run", hint="The qrels come first, then the runs")
    return _of_requests(requests, path, query, name)


def _of_requests(requests: list[Any], path: str, query: str | None, name: str) -> Lists:
    """The ratings of a search engine, with the ids of their queries in one member of all requests."""
    names = names_of_members(requests)
    key = next((key for key in (query, "id", "query") if key in names), "id")
    for position, request in enumerate(requests):
        if not _is_object(request) or request.get(key) is None or "ratings" not in request:
            reason = f"{path}[{position}]: {described(request)} has no id or query, or no ratings"
            raise InputError(name, reason)
    paths = [f"{path}[{position}]['ratings']" for position in range(len(requests))]
    queries, ratings = ([request[member] for request in requests] for member in (key, "ratings"))
    return Lists(paths, queries, ratings, names)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def names_of_members(values: Iterable[Any]) -> list[str]:
    """The names of the members of those that are objects, in order."""
    return [*dict.fromkeys(chain.from_iterable(filter(_is_object, values)))]


def lists_columns(lists: Lists, chosen: Chosen) -> Columns:
    objects = [_objects_of(documents, chosen) for documents in lists.documents]
    bounds = offsets_of([*map(len, objects)])

    def at(problem: Problem) -> Problem:
        row = problem.line or 0
        query = int(np.searchsorted(bounds, row, "right")) - 1
        path = f"{lists.paths[query]}[{row - bounds[query]}]"
        line = lists.line[query] if lists.line else None
        return problem.replace(line=line, what=f"{path}: {problem.what}")

    queries = [query for query, rows in zip(lists.queries, objects, strict=True) for _ in rows]
    columns = _columns_of_objects([*chain.from_iterable(objects)], chosen, queries)
    columns = columns.replace(problems=columns.problems.changed(at))
    if not lists.lines:  # of a file read whole, whose rows have no lines
        return columns.replace(line=np.full(len(columns.value), -1), lines=len(queries))
    line = np.repeat(np.array(lists.line, np.int64), np.diff(bounds))[columns.line]
    columns = columns.replace(line=line, lines=lists.lines, first=lists.first, last=lists.last)
    return columns.without_rows(lists.problems + columns.problems)


def _objects_of(documents: list[Any], chosen: Chosen) -> list[_Read]:
    """The objects of a list; those of a run of ids have scores by their order."""
    if chosen.kind == "grade" or any(map(_is_object, documents)):
        return [*map(_as_object, documents)]
    step = 1 if chosen.is_negated else -1
    return [{chosen.document: id, chosen.number: step * rank} for rank, id in enumerate(documents)]


# --- the formats


def _detected(text: bytes, options: Options) -> str:
    of_responses = format_of("responses").detects if re.search(_OF_RESPONSES, text) else None
    if of_responses is not None and of_responses(text, options):
        return "responses"
    key = re.match(_FIRST_KEY, text)
    if key is None and not re.match(_EMPTY, text):
        if re.match(_RATINGS, text):
            return "lists"
        return "json" if re.match(_OBJECTS, text) else ""
    first = key[2] if key else b""  # the first character of the first value
    if first == b"[":
        try:  # an object a line may begin with a list too
            members = json.loads(text.split(b"\n", 1)[0])
            return "jsonl" if are_columns([*members], {}) or list_member(members, {}) else "lists"
        except ValueError:
            return "lists"
    if first == b"{":
        return "lists" if re.search(_REQUESTS, text) else "json"
    return "jsonl" if first else "json"


def _write_json(batches: Iterator[Columns], sink: Any, content: Content) -> None:
    """A query a line."""
    before = b"{\n"
    for batch in batches:
        documents = _quoted(batch.documents)
        numbers = _numbers(batch.value, content)
        for query, (a, b) in zip(_quoted(batch.queries), pairwise(batch.bounds.tolist()), strict=True):
            members = b", ".join([b"%b: %b" % pair for pair in zip(documents[a:b], numbers[a:b], strict=True)])
            sink.write(b"%b%b: {%b}" % (before, query, members))
            before = b",\n"
    sink.write(b"\n}\n")


def _write_objects(batches: Iterator[Columns], sink: Any, content: Content) -> None:
    """An object a line."""
    line = b"{" + b", ".join(b'"%b": %%b' % name.encode() for name in content.names) + b"}\n"
    for batch in batches:
        columns = [_quoted(batch.queries.take(batch.query)), _quoted(batch.documents)]
        columns.append(_numbers(batch.value, content))
        if isinstance(batch.subtopic, Ids):
            columns.append(_quoted(batch.subtopic))
        sink.write(b"".join(map(line.__mod__, zip(*columns, strict=True))))


def _numbers(values: Floats, content: Content) -> list[bytes]:
    """The shortest texts that read back equal; scores with .0, as pytrec_eval needs them."""
    end = "" if content.role == "run" else ".0"
    return [repr(value).removesuffix(end).encode() for value in values.tolist()]


def _quoted(ids: Ids) -> list[bytes]:
    """Ids as JSON strings."""
    return [
        json.dumps(text.decode(), ensure_ascii=False).encode() if re.search(_ESCAPED, text) else b'"%b"' % text
        for text in ids.tolist()
    ]


JSON = Format(
    "json",
    "it begins with a JSON object of objects",
    table,
    _detected,
    writer=lambda: FormatWriter(_write_json, _write_json, utf8_only, has_subtopics=False),
)
LISTS = Format("lists", "it begins with JSON whose first value is a list", _lists_table, _detected)
JSONL = Format(
    "jsonl",
    "it begins with a JSON object of values",
    _jsonl_table,
    _detected,
    writer=lambda: FormatWriter(_write_objects, _write_objects, utf8_only),
)
