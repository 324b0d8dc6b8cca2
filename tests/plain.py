"""Reading and ranking once more: slow, in lists and dictionaries, sharing no code with gradeval's."""

import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from math import isfinite
from typing import Any
from unittest import mock

import numpy as np

from gradeval.arrays.strings import PAD
from gradeval.formats import sources
from gradeval.formats.sources import BLOCK, Block, Source
from gradeval.options import Options
from gradeval.tables.load import open_qrels
from gradeval.tables.qrels import Qrels

Line = tuple[bytes, bytes, float]
"""(query, document, score) of a run."""


class Cut(Source):
    """A source whose blocks have a size of the test's choosing."""

    def __init__(self, path: object, size: int = BLOCK) -> None:
        super().__init__(str(path))
        self.size = size

    def blocks(self, size: int = 0) -> Iterator[Block]:
        return super().blocks(self.size)


def read_trec_qrels(source: Source, jobs: int = 1) -> Qrels:
    return open_qrels(source, Options(qrels_format="trec", jobs=jobs)).qrels


class Halting(Cut):
    """A source that brings nothing for a while before each of its blocks, and at the end."""

    def blocks(self, size: int = 0) -> Iterator[Block]:
        nothing = Block(np.zeros(PAD, np.uint8), 0, False, False)
        for block in super().blocks():
            yield from (nothing, block)
        yield nothing


@contextmanager
def changing(
    path: str, change: Callable[[], object], is_due: Callable[[int, int], bool], most: int = 1 << 30
) -> Iterator[None]:
    """Within, change() is called once, behind a read of this file that is_due() accepts: its count of bytes, 0
    at the end, and its number, from 0. most: bytes of a read.
    """
    plain, waiting, numbers = sources._Stored.readinto, [change], count()

    def readinto(stored: Any, buffer: Any) -> int:
        if stored.source.path != path:
            return plain(stored, buffer)
        size = plain(stored, memoryview(buffer)[:most])
        if is_due(size, next(numbers)) and waiting:
            waiting.pop()()
        return size

    with mock.patch.object(sources._Stored, "readinto", readinto):
        yield


@contextmanager
def pipe(text: bytes) -> Iterator[str]:
    """The path of a pipe that brings this text."""
    reading, writing = os.pipe()

    def write() -> None:
        with suppress(BrokenPipeError), os.fdopen(writing, "wb") as file:
            file.write(text)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        thread.join()


def fields_of(text: bytes) -> list[list[bytes]]:
    lines = text.split(b"\n")
    return [re.findall(rb"[^ \t\r]+", line) for line in (lines if lines[-1] else lines[:-1])]


def data_of(text: bytes) -> list[tuple[int, list[bytes]]]:
    """(0-based line, fields) of each line that is neither blank nor a comment."""
    return [(n, fields) for n, fields in enumerate(fields_of(text)) if fields and fields[0][:1] != b"#"]


def number_of(text: bytes) -> float | None:
    if set(text) - set(b"0123456789+-.eE"):
        return None
    with suppress(ValueError):
        if isfinite(number := float(text)):
            return number
    return None


def gathered(run: Sequence[Line]) -> dict[bytes, list[tuple[bytes, float]]]:
    queries: dict[bytes, list[tuple[bytes, float]]] = {}
    for query, document, score in run:
        queries.setdefault(query, []).append((document, score))
    return queries


def ranking(lines: Sequence[tuple[bytes, float]], grades: Mapping[bytes, float], ties: str) -> list[bytes]:
    if ties != "input":
        lines = sorted(lines, reverse=True)
    if ties in ("best", "worst"):
        lines = sorted(lines, key=lambda line: grades.get(line[0], 0), reverse=ties == "best")
    return [document for document, _ in sorted(lines, key=lambda line: -line[1])]


def reduced(qrels: Mapping[bytes, Mapping[bytes, float]], run: Sequence[Line], ties: str) -> dict[str, object]:
    queries = gathered(run)
    found = {}
    tied = {}
    for query, grades in qrels.items():
        lines = queries.get(query, [])
        scores = dict(lines)
        for rank, document in enumerate(ranking(lines, grades, ties), 1):
            if document in grades:
                found[query, document] = (rank, scores[document])
        for document, score in lines:
            above = sum(other > score for _, other in lines)
            alike = sum(other == score for _, other in lines)
            if document in grades and alike > 1:
                tied[query, document] = (above + 1, above + alike)
    return {
        "found": found,
        "retrieved": [len(queries.get(query, [])) for query in qrels],
        "unjudged": len(queries.keys() - qrels.keys()),
        "tied": tied,
    }


def unjudged(
    qrels: Mapping[bytes, Mapping[bytes, float]], run: Sequence[Line], ties: str, wanted: Sequence[float]
) -> dict[bytes, list[tuple[int, bytes]]]:
    """The ranks of documents in the first ranks, and of so many more, up to a last rank, of judged queries."""
    first, more, last = wanted
    found = {}
    for query, lines in gathered(run).items():
        grades = qrels.get(query, {})
        ranked = enumerate(ranking(lines, grades, ties), 1)
        documents = [(rank, document) for rank, document in ranked if document not in grades and rank <= last]
        within = sum(rank <= first for rank, _ in documents)
        if query in qrels and within + more and documents:
            found[query] = documents[: int(within + more)]
    return found


def repeated(run: Sequence[Line]) -> list[tuple[int, int, bytes]]:
    """(line, line of the first time, document), 1-based, of each document that comes again for its query."""
    seen: dict[tuple[bytes, bytes], int] = {}
    again = []
    for number, (query, document, _) in enumerate(run, 1):
        first = seen.setdefault((query, document), number)
        if first != number:
            again.append((number, first, document))
    return again
