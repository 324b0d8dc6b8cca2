"""JSON objects {query: {document: number}}, as pytrec_eval, ranx and BEIR hold them, and MTEB's predictions.

A file is cut between queries at the braces outside strings. The strings and numbers of such a block are found
by array arithmetic where it has no other values; any other block is read value by value, so that errors name
the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from gradeval.arrays import Bytes, Ints
from gradeval.arrays.strings import PAD, Ids
from gradeval.errors import InputError
from gradeval.formats.columns import Columns, FileBlocks, Table
from gradeval.formats.diagnostics import LineProblems, Problem
from gradeval.formats.json_exact import exact_columns
from gradeval.formats.json_plain import plain_columns
from gradeval.formats.json_text import MORE, NOT_CLOSED, SPACE, STEP, Part, braces, not_utf8, string_quotes
from gradeval.formats.mteb import chosen_split, is_predictions, not_qrels
from gradeval.formats.saved import reject_saved
from gradeval.formats.scan import LF, binary_data
from gradeval.formats.sources import Source
from gradeval.options import Options

_BEGINNING = re.compile(rb"[ \t\r\n]*\{")
_FIRST_KEY = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*"((?:[^"\\]|\\.)*)"[ \t\r\n]*:[ \t\r\n]*(.?)', re.DOTALL)
_CHUNK = 1 << 20  # whose arrays of strings and numbers stay small
_EXAMINED = 1 << 16  # bytes in which the object and its first key begin
_NONE: Ints = np.empty(0, np.int64)


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


def first_value(text: bytes) -> str | None:
    """The first character of the first value of the object that a text begins with, None where it has none."""
    found = _FIRST_KEY.match(text)
    if found is None:
        return "" if re.match(rb"[ \t\r\n]*\{[ \t\r\n]*\}", text) else None
    return found[2].decode("latin-1")


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
        for read in chunks:
            chunk = read[to_skip:]
            skipped += int(np.count_nonzero(read[:to_skip] == LF))
            to_skip = max(0, to_skip - len(read))
            text = np.concatenate([pending, chunk]) if len(pending) else chunk
            quotes = string_quotes(text)
            at, depth = braces(text, quotes, 1)
            closed = np.flatnonzero(depth == 0)[:1]
            if len(closed):
                end = int(at[closed[0]])
                error = self._after(text[end + 1 :], chunks) if self.is_whole else None
                if first and error is None and not text[:end].tobytes().strip(SPACE.encode()):
                    raise InputError(self.name, "no data: the object is empty")
                yield _part(text[:end], quotes, skipped, first, True, error)
                return
            ends = at[(depth == 1) & (STEP[text[at]] < 0)]
            if not len(ends):
                pending = text
                continue
            cut = int(ends[-1]) + 1
            yield _part(text[:cut], quotes, skipped, first, False)
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
            return _failed(part, lines, binary_data(b"", line + part.skipped))
        wrong = not_utf8(text.tobytes())
        if wrong is not None:
            line = int(np.count_nonzero(text[: wrong[0]] == LF))
            return _failed(part, lines, Problem(line + part.skipped, wrong[1]))
        if part.error is not None and not part.size:
            return _failed(part, lines, part.error)
        columns = plain_columns(part, lines) or exact_columns(part, lines, self.number)
        if part.error is not None and not columns.problems.total:
            error = part.error._replace(line=lines if part.error.line == 0 else part.error.line)
            return _failed(part, lines, error)
        return columns.light() if self.number == "grade" else columns


def _part(
    text: Bytes, quotes: Ints, skipped: int, first: bool, last: bool, error: Problem | None = None
) -> Part:
    padded = np.concatenate([text, np.zeros(PAD, np.uint8)])
    return Part(
        padded, len(text), quotes[: int(np.searchsorted(quotes, len(text)))], skipped, first, last, error
    )


def _failed(part: Part, lines: int, problem: Problem) -> Columns:
    none = Ids.of([])
    columns = Columns(none, np.zeros(1, np.int64), none, np.empty(0), _NONE, lines, part.first, part.last)
    return columns._replace(problems=LineProblems((problem,), 1, final=True))
