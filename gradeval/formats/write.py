"""Writes qrels and runs in any format: for each a function, and what it cannot hold.

To add a format: a row in file_formats.WRITTEN_FORMATS, and a Writer of its name here, whose function writes
batch by batch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.strings import Ids
from gradeval.errors import GradevalError
from gradeval.formats.csv import BEIR_COLUMNS
from gradeval.formats.diagnostics import LineProblems, shown

_BOM = b"\xef\xbb\xbf"


class Batch(NamedTuple):
    """Rows of whole queries. queries: their ids, (S,). bounds: query s owns rows bounds[s]:bounds[s+1].
    documents, value, rank (from 1), line (0-based in the file that was read): of each row, (n,). subtopic: of
    each row, where judgments have several.
    """

    queries: Ids
    bounds: Ints
    documents: Ids
    value: Floats
    rank: Ints
    line: Ints
    subtopic: Ids | None = None

    def take(self, rows: Ints) -> Batch:
        """These rows, which are of ascending queries; queries without a row are left out."""
        query = np.repeat(np.arange(len(self.queries)), np.diff(self.bounds))[rows]
        counts = np.bincount(query, minlength=len(self.queries))
        filled = np.flatnonzero(counts)
        bounds = np.append(0, np.cumsum(counts[filled]))
        return Batch(
            self.queries.take(filled),
            bounds,
            self.documents.take(rows),
            self.value[rows],
            self.rank[rows],
            self.line[rows],
            None if self.subtopic is None else self.subtopic.take(rows),
        )

    def columns(self) -> Iterator[tuple[bytes, list[bytes], Floats, Ints, list[bytes]]]:
        """The id, the documents, the values, the ranks and the subtopics, if any, of each query."""
        documents, bounds = self.documents.tolist(), self.bounds.tolist()
        subtopics = [] if self.subtopic is None else self.subtopic.tolist()
        for query, start, end in zip(self.queries.tolist(), bounds, bounds[1:], strict=False):
            ranks = self.rank[start:end]
            yield query, documents[start:end], self.value[start:end], ranks, subtopics[start:end]


class Content(NamedTuple):
    """Rows to write. role: 'qrels' or 'run'. tag: the run tag, for formats that have one. has_subtopics:
    whether the batches have subtopics.
    """

    role: str
    tag: bytes = b"gradeval"
    has_subtopics: bool = False


class Writer(NamedTuple):
    """write: writes all batches. refused: what of a batch the format cannot hold. is_compressible: whether it
    is text. has_subtopics: whether it has those of judgments.
    """

    write: Callable[[Iterator[Batch], Any, Content], None]
    refused: Callable[[Batch, Content], LineProblems]
    is_compressible: bool = True
    has_subtopics: bool = True


def _numbers(values: Floats, are_floats: bool = False) -> list[bytes]:
    """The shortest texts that read back equal. are_floats: with .0, as pytrec_eval needs the scores of JSON."""
    end = "" if are_floats else ".0"
    return [repr(value).removesuffix(end).encode() for value in values.tolist()]


def _trec(batches: Iterator[Batch], sink: Any, content: Content, space: bytes = b" ") -> None:
    for batch in batches:
        lines = []
        for query, documents, values, ranks, subtopics in batch.columns():
            numbers = _numbers(values)
            if content.role == "qrels":
                rows = zip(subtopics or [b"0"] * len(documents), documents, numbers, strict=True)
                lines += [space.join((query, *row)) + b"\n" for row in rows]
            else:
                lines += [
                    b"%b Q0 %b %d %b %b\n" % (query, document, rank, number, content.tag)
                    for document, rank, number in zip(documents, ranks.tolist(), numbers, strict=True)
                ]
        sink.write(b"".join(lines))


def _msmarco(batches: Iterator[Batch], sink: Any, content: Content) -> None:
    """Runs have ranks instead of scores, and are in their order; qrels are TREC's with tabs."""
    if content.role == "qrels":
        _trec(batches, sink, content, b"\t")
        return
    for batch in batches:
        query = np.repeat(np.arange(len(batch.queries)), np.diff(batch.bounds))
        ordered = batch.take(np.lexsort((batch.rank, query)))
        lines = [
            b"%b\t%b\t%d\n" % (query, document, rank)
            for query, documents, _, ranks, _ in ordered.columns()
            for document, rank in zip(documents, ranks.tolist(), strict=True)
        ]
        sink.write(b"".join(lines))


def _letor(batches: Iterator[Batch], sink: Any, content: Content) -> None:
    """Grades are labels; scores are feature 1 of lines whose label is 0."""
    line = b"%b qid:%b # docid = %b\n" if content.role == "qrels" else b"0 qid:%b 1:%b # docid = %b\n"
    for batch in batches:
        lines = []
        for query, documents, values, *_ in batch.columns():
            for document, number in zip(documents, _numbers(values), strict=True):
                fields = (number, query) if content.role == "qrels" else (query, number)
                lines.append(line % (*fields, document))
        sink.write(b"".join(lines))


def _names(content: Content) -> tuple[str, ...]:
    names = "query_id", "doc_id", "relevance" if content.role == "qrels" else "score"
    return (*names, "subtopic") if content.has_subtopics else names


def _csv(
    delimiter: str, header: tuple[str, ...] | None = None, has_quotes: bool = True
) -> Callable[[Iterator[Batch], Any, Content], None]:
    characters = f'{delimiter}"\r\n'.encode()
    special = _is_one_of(characters)

    def quoted(field: bytes) -> bytes:
        is_plain = field.translate(None, characters) == field
        return field if is_plain else b'"%b"' % field.replace(b'"', b'""')

    def write(batches: Iterator[Batch], sink: Any, content: Content) -> None:
        sink.write(delimiter.join(header or _names(content)).encode() + b"\n")
        join = delimiter.encode().join
        for batch in batches:
            ids = (batch.queries, batch.documents, *([batch.subtopic] if batch.subtopic is not None else []))
            is_odd = has_quotes and any(special[column.text()].any() for column in ids)
            lines = []
            for query, documents, values, _, subtopics in batch.columns():
                columns = [[query] * len(documents), documents, _numbers(values)]
                columns += [subtopics] if subtopics else []
                if is_odd:
                    columns = [[quoted(text) for text in column] for column in columns]
                lines += [join(row) + b"\n" for row in zip(*columns, strict=True)]
            sink.write(b"".join(lines))

    return write


def _quoted(ids: list[bytes]) -> list[bytes]:
    """Ids as JSON strings."""
    return [
        json.dumps(text.decode(), ensure_ascii=False).encode() if _ESCAPED.search(text) else b'"%b"' % text
        for text in ids
    ]


_ESCAPED = re.compile(rb'["\\\x00-\x1f]')


def _json(batches: Iterator[Batch], sink: Any, content: Content) -> None:
    """A query a line."""
    before = b"{\n"
    for batch in batches:
        parts = []
        for query, documents, values, *_ in batch.columns():
            numbers = _numbers(values, content.role == "run")
            members = b", ".join(b"%b: %b" % pair for pair in zip(_quoted(documents), numbers, strict=True))
            parts.append(b"%b%b: {%b}" % (before, _quoted([query])[0], members))
            before = b",\n"
        sink.write(b"".join(parts))
    sink.write(b"\n}\n")


def _jsonl(batches: Iterator[Batch], sink: Any, content: Content) -> None:
    line = b"{" + b", ".join(b'"%b": %%b' % name.encode() for name in _names(content)) + b"}\n"
    for batch in batches:
        lines = []
        for query, documents, values, _, subtopics in batch.columns():
            [name] = _quoted([query])
            columns = [_quoted(documents), _numbers(values, content.role == "run")]
            columns += [_quoted(subtopics)] if subtopics else []
            lines += [line % (name, *row) for row in zip(*columns, strict=True)]
        sink.write(b"".join(lines))


def _arrow(opened: Callable[[Any, Any, Any], Any]) -> Callable[[Iterator[Batch], Any, Content], None]:
    """opened: (pyarrow, sink, schema) -> an object that writes tables, and is closed."""

    def write(batches: Iterator[Batch], sink: Any, content: Content) -> None:
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
        names = _names(content)
        types = (pyarrow.string(), pyarrow.string(), number, pyarrow.string())[: len(names)]
        schema = pyarrow.schema(list(zip(names, types, strict=True)))
        with opened(pyarrow, sink, schema) as file:
            for batch in chain([first], batches):
                rows = np.repeat(np.arange(len(batch.queries)), np.diff(batch.bounds))
                columns = [
                    text_column(pyarrow, batch.queries.take(rows)).cast(pyarrow.string()),
                    text_column(pyarrow, batch.documents).cast(pyarrow.string()),
                    pyarrow.array(batch.value).cast(number),
                ]
                if batch.subtopic is not None:
                    columns.append(text_column(pyarrow, batch.subtopic).cast(pyarrow.string()))
                file.write_table(pyarrow.Table.from_arrays(columns, schema=schema))

    return write


def text_column(pyarrow: Any, ids: Ids) -> Any:
    offsets = np.append(0, np.cumsum(ids.length)).astype(np.int64)
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(ids.text())]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), len(ids), buffers)


def _refusing(
    names: str = "",
    characters: bytes = b"",
    of_queries: bytes = b"",
    starts: tuple[bytes, ...] = (),
    all_starts: tuple[bytes, ...] = (),
    is_utf8: bool = False,
) -> Callable[[Batch, Content], LineProblems]:
    """Refuses empty ids, and those with one of the characters (of_queries: only query ids), that begin with one
    of all_starts (starts: only query ids), or with is_utf8 are not UTF-8. names: what messages call these.
    """

    def refused(batch: Batch, content: Content) -> LineProblems:
        columns = [
            ("query id", batch.queries, batch.line[batch.bounds[:-1]]),
            ("document id", batch.documents, batch.line),
        ]
        if batch.subtopic is not None:
            columns.append(("subtopic", batch.subtopic, batch.line))
        problems = []
        for name, ids, line in columns:
            is_bad: Bools = ids.length == 0
            text, is_query = ids.text(), name == "query id"
            if special := characters + (of_queries if is_query else b""):
                counts = np.append(0, np.cumsum(_is_one_of(special)[text]))
                ends = np.cumsum(ids.length)
                is_bad |= counts[ends] > counts[ends - ids.length]
            if beginnings := all_starts + (starts if is_query else ()):
                is_bad |= [id_.startswith(beginnings) for id_ in ids.tolist()]
            if is_utf8 and (text > 127).any():
                is_bad |= np.array(
                    [id_.decode("utf-8", "ignore").encode() != id_ for id_ in ids.tolist()], bool
                )
            rows = np.flatnonzero(is_bad)
            whats = [
                f"the {name} {shown(id_)} cannot be written: {f'no {names} there' if id_ else 'it is empty'}"
                for id_ in ids.take(rows).tolist()
            ]
            problems.append(LineProblems.of(line[rows], whats.__getitem__))
        return LineProblems.joined(problems)

    return refused


def _is_one_of(characters: bytes) -> Bools:
    """By byte."""
    table = np.zeros(256, bool)
    table[list(characters)] = True
    return table


def _refused_by_msmarco(batch: Batch, content: Content) -> LineProblems:
    if content.role == "run":
        return _NO_TABS(batch, content)
    real = np.flatnonzero(batch.value != np.rint(batch.value))
    of_grades = LineProblems.of(
        batch.line[real],
        lambda i: f"the grade {float(batch.value[real[i]])!r} cannot be written: MS MARCO's are integers",
    )
    return LineProblems.joined([_NO_SPACES(batch, content), of_grades])


_ANY = _refusing()
_UTF8 = _refusing("bytes that are not UTF-8", is_utf8=True)
_NO_TABS = _refusing("tabs or line ends", b"\t\r\n", starts=(_BOM,))
_NO_SPACES = _refusing("spaces, tabs or line ends, nor # at its beginning,", b" \t\r\n", starts=(b"#", _BOM))
_OF_LETOR = _refusing("spaces, tabs, line ends or #", b" \t\r\n", of_queries=b"#")
_OF_BEIR = _refusing("tabs or line ends, nor quotes at its beginning,", b"\t\r\n", all_starts=(b'"',))
_PARQUET = _arrow(lambda pyarrow, sink, schema: import_module("pyarrow.parquet").ParquetWriter(sink, schema))
_IPC = _arrow(lambda pyarrow, sink, schema: pyarrow.ipc.new_file(sink, schema))

TREC = Writer(_trec, _NO_SPACES)
LETOR = Writer(_letor, _OF_LETOR, has_subtopics=False)
BEIR = Writer(_csv("\t", BEIR_COLUMNS, has_quotes=False), _OF_BEIR, has_subtopics=False)
MSMARCO = Writer(_msmarco, _refused_by_msmarco)
CSV = Writer(_csv(","), _ANY)
TSV = Writer(_csv("\t"), _ANY)
JSON = Writer(_json, _UTF8, has_subtopics=False)
JSONL = Writer(_jsonl, _UTF8)
PARQUET = Writer(_PARQUET, _UTF8, is_compressible=False)
ARROW = Writer(_IPC, _UTF8, is_compressible=False)


def writer(name: str) -> Writer:
    """That of a format in WRITTEN_FORMATS."""
    named: Writer = globals()[name.upper()]
    return named
