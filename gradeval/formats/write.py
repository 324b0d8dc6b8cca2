"""Writes qrels and runs in any format: for each a function, and what it cannot hold.

To add a format: a row in file_formats.WRITTEN_FORMATS, and one in WRITERS, whose function writes batch by
batch. A batch is whole queries as Columns, with the rank of each row (from 1) and subtopics of judgments.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain, pairwise, repeat
from typing import Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats
from gradeval.arrays.strings import Ids, integer_ids
from gradeval.arrays.text import ROWS, decimal_fields, lines_of
from gradeval.errors import GradevalError, OptionError
from gradeval.file_formats import WRITTEN_FORMATS
from gradeval.formats.columns import Columns
from gradeval.formats.csv import BEIR_COLUMNS
from gradeval.formats.diagnostics import LineProblems, Problem, shown
from gradeval.formats.sources import COMPRESSIONS, UTF8_MARK


class Content(NamedTuple):
    """Rows to write."""

    role: str  # 'qrels' or 'run'
    tag: bytes = b"gradeval"  # of a run
    has_subtopics: bool = False  # whether the batches have some

    @property
    def names(self) -> tuple[str, ...]:
        """Those of columns."""
        names = "query_id", "doc_id", "relevance" if self.role == "qrels" else "score"
        return (*names, "subtopic") if self.has_subtopics else names


_ESCAPED = re.compile(rb'["\\\x00-\x1f]')  # in JSON
_Write = Callable[[Iterator[Columns], Any, Content], None]
_Refuse = Callable[[Columns, Content], LineProblems]
_Check = Callable[[bytes], object]


class FormatWriter(NamedTuple):
    """How a format is written."""

    roles: tuple[str, ...]  # 'qrels', 'run': those that it can be written as
    write: _Write  # writes all batches
    refused: _Refuse  # what of a batch the format cannot hold
    is_compressible: bool = True
    has_subtopics: bool = True  # of qrels

    def check_name(self, path: str, name: str) -> None:
        """Raise OptionError where the ending of a path compresses what is compressed. name: of the format."""
        if not self.is_compressible and os.path.splitext(path)[1].lower() in COMPRESSIONS:
            raise OptionError(f"{name} files are compressed within: leave out the ending of {path}")


class _Query(NamedTuple):
    """The rows of a query."""

    id: bytes
    documents: list[bytes]
    values: Floats
    ranks: Floats
    subtopics: list[bytes]  # of each document, or none

    def numbers(self, are_floats: bool = False) -> list[bytes]:
        """The shortest texts that read back equal. are_floats: with .0, as pytrec_eval needs scores of JSON."""
        end = "" if are_floats else ".0"
        return [repr(value).removesuffix(end).encode() for value in self.values.tolist()]


def _queries(batch: Columns) -> Iterator[_Query]:
    documents = batch.documents.tolist()
    ranks = batch.rank
    subtopics = batch.subtopic.tolist() if isinstance(batch.subtopic, Ids) else []
    assert ranks is not None
    for query, (a, b) in zip(batch.queries.tolist(), pairwise(batch.bounds.tolist()), strict=True):
        yield _Query(query, documents[a:b], batch.value[a:b], ranks[a:b], subtopics[a:b])


def _lines(of_query: Callable[[_Query, Content], list[bytes]]) -> _Write:
    """of_query: the lines of a query."""

    def write(batches: Iterator[Columns], sink: Any, content: Content) -> None:
        for batch in batches:
            sink.write(b"".join(line for query in _queries(batch) for line in of_query(query, content)))

    return write


def _trec_qrels(query: _Query, content: Content, space: bytes = b" ") -> list[bytes]:
    rows = zip(query.subtopics or repeat(b"0"), query.documents, query.numbers(), strict=False)
    return [space.join((query.id, *row)) + b"\n" for row in rows]


def _trec(batches: Iterator[Columns], sink: Any, content: Content) -> None:
    """Runs by column, in a fifth of the time."""
    if content.role == "qrels":
        _lines(_trec_qrels)(batches, sink, content)
        return
    end = b" %b\n" % content.tag
    for batch in batches:
        assert batch.rank is not None
        query = np.repeat(np.arange(len(batch.queries)), np.diff(batch.bounds))
        for first in range(0, len(query), ROWS):
            rows = slice(first, first + ROWS)
            queries, documents = batch.queries.take(query[rows]), batch.documents.take(rows)
            ranks = integer_ids(batch.rank[rows].astype(np.int64))
            numbers = decimal_fields(batch.value[rows])
            for lines in lines_of([queries, b" Q0 ", documents, b" ", ranks, b" ", *numbers, end]):
                sink.write(lines)


def _msmarco(query: _Query, content: Content) -> list[bytes]:
    """Runs have ranks instead of scores, and are in their order; qrels are TREC's with tabs."""
    if content.role == "qrels":
        return _trec_qrels(query, content, b"\t")
    documents = [query.documents[row] for row in np.argsort(query.ranks).tolist()]
    return [b"%b\t%b\t%d\n" % (query.id, document, rank) for rank, document in enumerate(documents, 1)]


def _letor(query: _Query, content: Content) -> list[bytes]:
    """Grades are labels; scores are feature 1 of lines whose label is 0."""
    rows = zip(query.numbers(), query.documents, strict=True)
    if content.role == "qrels":
        return [b"%b qid:%b # docid = %b\n" % (label, query.id, document) for label, document in rows]
    return [b"0 qid:%b 1:%b # docid = %b\n" % (query.id, *row) for row in rows]


def _jsonl(query: _Query, content: Content) -> list[bytes]:
    line = b"{" + b", ".join(b'"%b": %%b' % name.encode() for name in content.names) + b"}\n"
    columns = [_quoted([query.id]) * len(query.documents), _quoted(query.documents)]
    columns += [query.numbers(content.role == "run"), *([_quoted(query.subtopics)] if query.subtopics else [])]
    return [line % row for row in zip(*columns, strict=True)]


def _quoted(ids: list[bytes]) -> list[bytes]:
    """Ids as JSON strings."""
    return [
        json.dumps(text.decode(), ensure_ascii=False).encode() if _ESCAPED.search(text) else b'"%b"' % text
        for text in ids
    ]


def _csv(delimiter: str, header: tuple[str, ...] | None = None, has_quotes: bool = True) -> _Write:
    characters = f'{delimiter}"\r\n'.encode()
    special = _is_one_of(characters + UTF8_MARK)
    join = delimiter.encode().join

    def quoted(field: bytes) -> bytes:
        # a byte order mark at the beginning of a line is an error
        is_plain = field.translate(None, characters) == field and not field.startswith(UTF8_MARK)
        return field if is_plain else b'"%b"' % field.replace(b'"', b'""')

    def write(batches: Iterator[Columns], sink: Any, content: Content) -> None:
        sink.write(delimiter.join(header or content.names).encode() + b"\n")
        for batch in batches:
            ids = [ids for ids in (batch.queries, batch.documents, batch.subtopic) if isinstance(ids, Ids)]
            is_odd = has_quotes and any(special[column.text()].any() for column in ids)
            lines = []
            for query in _queries(batch):
                columns = [[query.id] * len(query.documents), query.documents, query.numbers()]
                columns += [query.subtopics] if query.subtopics else []
                if is_odd:
                    columns = [[quoted(text) for text in column] for column in columns]
                lines += [join(row) + b"\n" for row in zip(*columns, strict=True)]
            sink.write(b"".join(lines))

    return write


def _json(batches: Iterator[Columns], sink: Any, content: Content) -> None:
    """A query a line."""
    before = b"{\n"
    for query in chain.from_iterable(map(_queries, batches)):
        numbers = query.numbers(content.role == "run")
        members = b", ".join(map(b"%b: %b".__mod__, zip(_quoted(query.documents), numbers, strict=True)))
        sink.write(b"%b%b: {%b}" % (before, _quoted([query.id])[0], members))
        before = b",\n"
    sink.write(b"\n}\n")


def _arrow(opened: Callable[[Any, Any, Any], Any]) -> _Write:
    """opened: (pyarrow, sink, schema) -> an object that writes tables, and is closed."""

    def write(batches: Iterator[Columns], sink: Any, content: Content) -> None:
        try:
            import pyarrow
        except ImportError:
            hint = "Run: pip install 'gradeval[arrow]'"
            raise GradevalError(f"Parquet and Arrow support (pyarrow) is not installed. {hint}") from None
        first = next(batches, None)
        if first is None:
            return
        is_integer = content.role == "qrels" and bool((first.value == np.rint(first.value)).all())
        number = pyarrow.int64() if is_integer and np.abs(first.value).max() < 2**53 else pyarrow.float64()
        text = pyarrow.string()
        schema = pyarrow.schema(list(zip(content.names, (text, text, number, text), strict=False)))
        with opened(pyarrow, sink, schema) as file:
            for batch in chain([first], batches):
                queries = batch.queries.take(np.repeat(np.arange(len(batch.queries)), np.diff(batch.bounds)))
                columns = [text_column(pyarrow, ids).cast(text) for ids in (queries, batch.documents)]
                columns.append(pyarrow.array(batch.value).cast(number))
                if isinstance(batch.subtopic, Ids):
                    columns.append(text_column(pyarrow, batch.subtopic).cast(text))
                file.write_table(pyarrow.Table.from_arrays(columns, schema=schema))

    return write


def text_column(pyarrow: Any, ids: Ids) -> Any:
    offsets = np.append(0, np.cumsum(ids.length)).astype(np.int64)
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(ids.text())]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), len(ids), buffers)


def _is_one_of(characters: bytes) -> Bools:
    table = np.zeros(256, bool)
    table[list(characters)] = True
    return table


def _refusing(
    names: str = "",
    characters: bytes = b"",
    wrong: _Check = lambda _: False,
    wrong_query: _Check = lambda _: False,
) -> _Refuse:
    """Refuses empty and wrong ids. names: of what these have. characters: a wrong id has one of them."""
    may_be_wrong = _is_one_of(characters)

    def refused(batch: Columns, content: Content) -> LineProblems:
        columns = [
            ("query id", batch.queries, batch.line[batch.bounds[:-1]]),
            ("document id", batch.documents, batch.line),
            ("subtopic", batch.subtopic, batch.line),
        ]
        problems = []
        for name, ids, line in columns:
            if not isinstance(ids, Ids) or (ids.length.all() and not may_be_wrong[ids.text()].any()):
                continue
            for row, text in enumerate(ids.tolist()):
                if not text or wrong(text) or (name == "query id" and wrong_query(text)):
                    why = f"no {names} there" if text else "it is empty"
                    message = f"the {name} {shown(text)} cannot be written: {why}"
                    problems.append(Problem(int(line[row]), message))
        return LineProblems.listed(problems)

    return refused


def _refused_by_msmarco(batch: Columns, content: Content) -> LineProblems:
    if content.role == "run":
        return _NO_TABS(batch, content)
    real = np.flatnonzero(batch.value != np.rint(batch.value))
    message = "the grade {!r} cannot be written: MS MARCO's are integers"
    of_grades = LineProblems.of(batch.line[real], lambda i: message.format(float(batch.value[real[i]])))
    return LineProblems.joined([_NO_SPACES(batch, content), of_grades])


_UTF8 = _refusing(
    "bytes that are not UTF-8",
    bytes(range(128, 256)),
    lambda text: text.decode("utf-8", "ignore").encode() != text,
)
_TABS = re.compile(rb"[\t\r\n]").search
_NO_TABS = _refusing("tabs or line ends", b"\t\r\n" + UTF8_MARK, _TABS, re.compile(UTF8_MARK).match)
_SPACES = re.compile(rb"[ \t\r\n]").search
_NO_SPACES = _refusing(
    "spaces, tabs or line ends, nor # at its beginning,",
    b" \t\r\n#" + UTF8_MARK,
    _SPACES,
    re.compile(b"#|" + UTF8_MARK).match,
)
_OF_LETOR = _refusing("spaces, tabs, line ends or #", b" \t\r\n#", _SPACES, re.compile(b"#").search)
_OF_BEIR = _refusing(
    "tabs or line ends, nor quotes at its beginning,",
    b'\t\r\n"' + UTF8_MARK,
    re.compile(rb'[\t\r\n]|\A"').search,
    re.compile(UTF8_MARK).match,
)
_PARQUET = _arrow(lambda pyarrow, sink, schema: import_module("pyarrow.parquet").ParquetWriter(sink, schema))
_IPC = _arrow(lambda pyarrow, sink, schema: pyarrow.ipc.new_file(sink, schema))

_BOTH = "qrels", "run"
WRITERS = {  # of the formats in WRITTEN_FORMATS
    "trec": FormatWriter(_BOTH, _trec, _NO_SPACES),
    "letor": FormatWriter(_BOTH, _lines(_letor), _OF_LETOR, has_subtopics=False),
    "beir": FormatWriter(("qrels",), _csv("\t", BEIR_COLUMNS, has_quotes=False), _OF_BEIR, has_subtopics=False),
    "msmarco": FormatWriter(_BOTH, _lines(_msmarco), _refused_by_msmarco),
    "csv": FormatWriter(_BOTH, _csv(","), _refusing()),
    "tsv": FormatWriter(_BOTH, _csv("\t"), _refusing()),
    "json": FormatWriter(_BOTH, _json, _UTF8, has_subtopics=False),
    "jsonl": FormatWriter(_BOTH, _lines(_jsonl), _UTF8),
    "parquet": FormatWriter(_BOTH, _PARQUET, _UTF8, is_compressible=False),
    "arrow": FormatWriter(_BOTH, _IPC, _UTF8, is_compressible=False),
}


def format_by_ending(path: str, otherwise: str = "") -> str:
    """The format that the ending of a file's name means, before that of its compression. otherwise: of a name
    with another ending, '' where that is an OptionError.
    """
    stem, ending = os.path.splitext(path.lower())
    if ending in COMPRESSIONS:
        ending = os.path.splitext(stem)[1]
    for name, endings in WRITTEN_FORMATS.items():
        if ending in endings:
            return name
    if otherwise:
        return otherwise
    raise OptionError(f"the ending of {path} means no format: choose one of {', '.join(WRITTEN_FORMATS)}")
